/* Module's methods as Python shows functions: m.modules is a bound method whose __func__ is Module.modules.
 * Calls go on to the method descriptor that this wraps, without a bound method in between. */
#include "methods.h"
#include "names.h"
#include <structmember.h>

typedef struct {
    PyObject_HEAD vectorcallfunc enter, call;
    PyObject *descr;
} module_method;
static PyTypeObject *method_type;

static PyObject *method_enter(PyObject *self, PyObject *const *args, size_t nargs, PyObject *kwnames) {
    module_method *method = (module_method *)self;
    return method->call(method->descr, args, nargs, kwnames);
}

static PyObject *method_bind(PyObject *self, PyObject *o, PyObject *type) {
    (void)type;
    return o == NULL || Py_IsNone(o) ? Py_NewRef(self) : PyMethod_New(self, o);
}

/* Name, signature and the rest are the descriptor's. */
static PyObject *method_getattro(PyObject *self, PyObject *name) {
    PyObject *value = PyObject_GetAttr(((module_method *)self)->descr, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    PyErr_Clear();
    return PyObject_GenericGetAttr(self, name);
}

/* inspect asks past method_getattro. */
static PyObject *method_get_doc(PyObject *self, void *unused) {
    (void)unused;
    return PyObject_GetAttrString(((module_method *)self)->descr, "__doc__");
}

static PyObject *method_repr(PyObject *self) {
    RL_OWNED PyObject *name = PyObject_GetAttr(self, rl_name.__qualname__);
    return name ? PyUnicode_FromFormat("<function %U at %p>", name, self) : NULL;
}

static void method_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_CLEAR(((module_method *)self)->descr);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *rl_module_method_new(PyTypeObject *type, PyMethodDef *def) {
    RL_OWNED PyObject *descr = PyDescr_NewMethod(type, def);
    RL_OWNED PyObject *self = descr ? method_type->tp_alloc(method_type, 0) : NULL;
    if (self == NULL) return NULL;
    module_method *method = (module_method *)self;
    method->enter = method_enter;
    method->call = PyVectorcall_Function(descr);
    method->descr = rl_give(&descr);
    return rl_give(&self);
}

int rl_module_method_init(void) {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(module_method, enter), READONLY, NULL},
        {NULL, 0, 0, 0, NULL}};
    static PyGetSetDef getset[] = {{"__doc__", method_get_doc, NULL, NULL, NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};
    static PyType_Slot slots[] = {{Py_tp_call, PyVectorcall_Call},
                                  {Py_tp_descr_get, method_bind},
                                  {Py_tp_getattro, method_getattro},
                                  {Py_tp_repr, method_repr},
                                  {Py_tp_dealloc, method_dealloc},
                                  {Py_tp_members, members},
                                  {Py_tp_getset, getset},
                                  {0, NULL}};
    static PyType_Spec spec = {"rushlight._C._ModuleMethod", sizeof(module_method), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                   Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE |
                                   Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               slots};
    method_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return method_type ? 0 : -1;
}
