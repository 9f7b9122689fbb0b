/* The Module type: __init__, pickling, methods that Python shows as functions, put together from what the
 * other files bring. */
#include "internal.h"
#include "module.h"
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

/* A method of `type` that Python shows as a function. */
static PyObject *module_method_new(PyTypeObject *type, PyMethodDef *def) {
    RL_OWNED PyObject *descr = PyDescr_NewMethod(type, def);
    RL_OWNED PyObject *self = descr ? method_type->tp_alloc(method_type, 0) : NULL;
    if (self == NULL) return NULL;
    module_method *method = (module_method *)self;
    method->enter = method_enter;
    method->call = PyVectorcall_Function(descr);
    method->descr = rl_move(&descr);
    return rl_move(&self);
}

static int module_method_init(void) {
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

/* ---- the type ---- */
/* ---- __init__ and pickling ---- */
static int init_refuse_arguments(PyObject *m, Py_ssize_t nargs, PyObject *kwnames) {
    RL_OWNED PyObject *name = PyType_GetName(Py_TYPE(m));
    if (name == NULL) return -1;
    if (kwnames && PyTuple_GET_SIZE(kwnames)) {
        PyErr_Format(PyExc_TypeError, "%U.__init__() got an unexpected keyword argument '%U'", name,
                     PyTuple_GET_ITEM(kwnames, 0));
        return -1;
    }
    if (nargs == 0) return 0;
    PyErr_Format(PyExc_TypeError, "%U.__init__() takes 1 positional argument but %zd were given", name,
                 nargs + 1);
    return -1;
}

/* call_super_init: the next __init__ of the MRO gets the arguments */
static int init_next(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    RL_OWNED PyObject *super =
        PyObject_CallFunctionObjArgs((PyObject *)&PySuper_Type, (PyObject *)rl_module_type, m, NULL);
    RL_OWNED PyObject *init = super ? PyObject_GetAttr(super, rl_name.__init__) : NULL;
    RL_OWNED PyObject *done = init ? PyObject_Vectorcall(init, args, (size_t)nargs, kwnames) : NULL;
    return done ? 0 : -1;
}

static PyObject *type_init(PyObject *unused, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *m = rl_method_self("__init__", args, nargs);
    (void)unused;
    if (m == NULL) return NULL;
    args++, nargs--;
    rl_module_adopt(Py_TYPE(m));
    int go_on = 0, given = nargs > 0 || (kwnames && PyTuple_GET_SIZE(kwnames));
    RL_OWNED PyObject *super_init = PyObject_GetAttr(m, rl_name.call_super_init);
    if (super_init == NULL || (go_on = PyObject_IsTrue(super_init)) < 0) return NULL;
    if (given && super_init == Py_False && init_refuse_arguments(m, nargs, kwnames) < 0) return NULL;
    RL_OWNED PyObject *dict = PyObject_GenericGetDict(m, NULL);
    if (dict == NULL || rl_state_fill(dict) < 0) return NULL;
    if (go_on && init_next(m, args, nargs, kwnames) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *type_getstate(PyObject *m, PyObject *unused) {
    (void)unused;
    RL_OWNED PyObject *dict = PyObject_GetAttr(m, rl_name.__dict__);
    if (dict == NULL) return NULL;
    RL_OWNED PyObject *state = PyDict_Copy(dict);
    if (state == NULL || rl_map_remove(state, rl_name._compiled_call_impl) < 0) return NULL;
    return rl_move(&state);
}

static PyObject *type_setstate(PyObject *m, PyObject *state) {
    rl_module_adopt(Py_TYPE(m));
    RL_OWNED PyObject *dict = PyObject_GenericGetDict(m, NULL);
    RL_OWNED PyObject *done = dict ? PyObject_CallMethod(dict, "update", "O", state) : NULL;
    if (done == NULL || rl_state_back_fill(m, dict) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *extra_state_refuse(const char *which) {
    return PyErr_Format(
        PyExc_RuntimeError,
        "Reached a code path in Module.%s_extra_state() that should never be called. Please file an "
        "issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to "
        "report this bug.",
        which);
}
static PyObject *type_get_extra_state(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return extra_state_refuse("get");
}
static PyObject *type_set_extra_state(PyObject *m, PyObject *state) {
    (void)m, (void)state;
    return extra_state_refuse("set");
}

static PyMethodDef type_init_def = {"__init__", (PyCFunction)(void (*)(void))type_init,
                                    METH_FASTCALL | METH_KEYWORDS,
                                    "__init__(self, /, *args, **kwargs)\n--\n\n"};
static PyMethodDef type_methods[] = {
    {"__getstate__", type_getstate, METH_NOARGS, "__getstate__($self, /)\n--\n\n"},
    {"__setstate__", type_setstate, METH_O, "__setstate__($self, state, /)\n--\n\n"},
    {"get_extra_state", type_get_extra_state, METH_NOARGS, rl_module_get_extra_state_doc},
    {"set_extra_state", type_set_extra_state, METH_O, rl_module_set_extra_state_doc},
    {NULL, NULL, 0, NULL}};

/* ---- creation ---- */
/* What Python finds through a type slot stays a plain descriptor, which is quicker there. */
static int type_add_methods(PyTypeObject *type, PyMethodDef *methods) {
    for (PyMethodDef *d = methods; d->ml_name; d++) {
        int special = strncmp(d->ml_name, "__", 2) == 0;
        RL_OWNED PyObject *method = special ? PyDescr_NewMethod(type, d) : module_method_new(type, d);
        if (method == NULL || PyObject_SetAttrString((PyObject *)type, d->ml_name, method) < 0) return -1;
    }
    return 0;
}

/* inspect.signature of a class cannot see through a method descriptor as its __init__ (Python 3.13). */
static int type_add_init(PyTypeObject *type) {
    RL_OWNED PyObject *function = PyCFunction_New(&type_init_def, NULL);
    RL_OWNED PyObject *method = function ? PyInstanceMethod_New(function) : NULL;
    return method ? PyObject_SetAttr((PyObject *)type, rl_name.__init__, method) : -1;
}

/* The first __doc__ stays behind as the signature of classes without an __init__; people read the second. */
static int type_set_doc(PyTypeObject *type) {
    RL_OWNED PyObject *doc = PyUnicode_FromString(rl_module_doc);
    return doc ? PyObject_SetAttrString((PyObject *)type, "__doc__", doc) : -1;
}

static PyTypeObject *type_new(void) {
    PyMethodDef *const groups[] = {
        type_methods,           rl_module_attr_methods, rl_module_register_methods,
        rl_module_call_methods, rl_module_iter_methods, rl_module_walk_methods,
        rl_module_save_methods, rl_module_load_methods, rl_module_load_own_methods};
    PyTypeObject *type = (PyTypeObject *)PyObject_CallFunction(
        (PyObject *)&PyType_Type, "s(O){s:s,s:s,s:O,s:i,s:O,s:O}", "Module", (PyObject *)&PyBaseObject_Type,
        "__module__", "rushlight.nn.modules.module", "__doc__", "Module(*args, **kwargs)\n--\n\n",
        "dump_patches", Py_False, "_version", 1, "call_super_init", Py_False, "_compiled_call_impl", Py_None);
    if (type == NULL) return NULL;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (type_add_methods(type, groups[i]) < 0) return NULL;
    return type_set_doc(type) < 0 || type_add_init(type) < 0 ? NULL : type;
}

int rl_module_init(PyObject *m) {
    static const rl_module_slots slots = {rl_module_call, rl_module_getattro, rl_module_getattro_user};
    if (rl_module_names_init() < 0 || rl_module_hooks_init(m) < 0 || rl_module_iter_init(m) < 0 ||
        module_method_init() < 0)
        return -1;
    PyTypeObject *type = type_new();
    if (type == NULL) return -1;
    rl_module_facts_init(type, &slots);
    rl_module_adopt(type);
    return PyModule_AddObjectRef(m, "Module", (PyObject *)type);
}
