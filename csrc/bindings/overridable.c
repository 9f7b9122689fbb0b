/* Methods of Tensor written in Python, which classes and modes may answer: `_overridable(function)` asks them
 * first. For Python it is the function: what is asked of it, the function is asked. */
#include "bindings.h"
#include <structmember.h>

typedef struct {
    PyObject_HEAD vectorcallfunc call;
    PyObject *function;
} overridable;
static PyTypeObject *overridable_type;

static PyObject *overridable_call(PyObject *self, PyObject *const *args, size_t n_flags, PyObject *kwnames) {
    const Py_ssize_t n = PyVectorcall_NARGS(n_flags);
    if (n && rl_is_overridden(args[0])) return rl_override_call(self, NULL, args, n, kwnames);
    return PyObject_Vectorcall(((overridable *)self)->function, args, n_flags, kwnames);
}
static PyObject *overridable_bind(PyObject *self, PyObject *object, PyObject *type) {
    (void)type;
    return object ? PyMethod_New(self, object) : Py_NewRef(self);
}
/* pickled as Tensor's member of that name, as methods in C are */
static PyObject *overridable_reduce(PyObject *self, PyObject *protocol) {
    (void)protocol;
    RL_OWNED PyObject *builtins = PyImport_ImportModule("builtins");
    RL_OWNED PyObject *get = builtins ? PyObject_GetAttrString(builtins, "getattr") : NULL;
    RL_OWNED PyObject *name =
        get ? PyObject_GetAttrString(((overridable *)self)->function, "__name__") : NULL;
    return name ? Py_BuildValue("O(OO)", get, rl_tensor_type, name) : NULL;
}
static PyMethodDef overridable_methods[] = {{"__reduce_ex__", overridable_reduce, METH_O, NULL},
                                            {NULL, NULL, 0, NULL}};

static PyObject *overridable_attribute(PyObject *self, PyObject *name) {
    PyObject *function = ((overridable *)self)->function;
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) return Py_NewRef(function);
    if (PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0)
        return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(function, name);
}
static PyObject *overridable_repr(PyObject *self) {
    return PyObject_Repr(((overridable *)self)->function);
}
static int overridable_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((overridable *)self)->function);
    return 0;
}
static int overridable_clear(PyObject *self) {
    Py_CLEAR(((overridable *)self)->function);
    return 0;
}
static void overridable_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    overridable_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef overridable_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(overridable, call), READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
static PyType_Slot overridable_slots[] = {
    {Py_tp_call, PyVectorcall_Call},         {Py_tp_descr_get, overridable_bind},
    {Py_tp_getattro, overridable_attribute}, {Py_tp_repr, overridable_repr},
    {Py_tp_traverse, overridable_traverse},  {Py_tp_clear, overridable_clear},
    {Py_tp_dealloc, overridable_dealloc},    {Py_tp_members, overridable_members},
    {Py_tp_methods, overridable_methods},    {0, NULL}};
static PyType_Spec overridable_spec = {"rushlight._C._Overridable", sizeof(overridable), 0,
                                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                           Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                       overridable_slots};

static PyObject *make_overridable(PyObject *m, PyObject *function) {
    (void)m;
    overridable *o = PyObject_GC_New(overridable, overridable_type);
    if (!o) return NULL;
    o->call = overridable_call;
    o->function = Py_NewRef(function);
    PyObject_GC_Track((PyObject *)o);
    return (PyObject *)o;
}

static PyMethodDef functions[] = {
    {"_overridable", make_overridable, METH_O,
     "_overridable(function)\n--\n\nA method of Tensor that `__torch_function__` of "
     "classes and modes may answer."},
    {NULL, NULL, 0, NULL}};

int rl_overridable_init(PyObject *m) {
    overridable_type = (PyTypeObject *)PyType_FromSpec(&overridable_spec);
    return overridable_type ? PyModule_AddFunctions(m, functions) : -1;
}
