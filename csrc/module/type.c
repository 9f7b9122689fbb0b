/* The Module type: its creation, what is known of its subclasses, its state and pickling. */
#include "module.h"

PyTypeObject *rl_module_type;
rl_module_names rl_name;
static PyObject *type_original[RL_M_COUNT]; /* Module's own descriptors, borrowed from below */
static PyObject *type_call, *type_getattribute, *type_class;
static ternaryfunc slot_call;      /* CPython's slots, which look the Python method up */
static getattrofunc slot_getattro; /* slot_tp_getattr_hook */

static PyObject *const *type_method_name(int method) {
    return &rl_name.train + method; /* the methods follow one another in rl_module_names */
}

/* ---- Note [Facts] ---- */
static rl_module_facts type_facts[256];

static void facts_fill(rl_module_facts *f, PyTypeObject *type) {
    *f = (rl_module_facts){.type = type};
    f->is_module = PyType_IsSubtype(type, rl_module_type) != 0;
    f->plain_get = _PyType_Lookup(type, rl_name.__getattribute__) == type_getattribute;
    if (f->is_module) {
        for (int i = 0; i < RL_M_COUNT; i++)
            if (_PyType_Lookup(type, *type_method_name(i)) == type_original[i]) f->ours |= 1u << i;
        f->plain_call = _PyType_Lookup(type, rl_name.__call__) == type_call;
        f->plain_training = _PyType_Lookup(type, rl_name.training) == NULL;
        PyObject *forward = _PyType_Lookup(type, rl_name.forward);
        if (forward && f->plain_get && PyType_HasFeature(Py_TYPE(forward), Py_TPFLAGS_METHOD_DESCRIPTOR))
            f->forward = forward;
    }
    f->version = type->tp_version_tag;
}

const rl_module_facts *rl_module_facts_get(PyTypeObject *type) {
    uintptr_t at = (uintptr_t)type;
    rl_module_facts *f = &type_facts[(at >> 4 ^ at >> 12) & 255];
    int known = f->type == type && f->version == type->tp_version_tag && f->version != 0;
#if PY_VERSION_HEX < 0x030D0000 /* later versions say it with the tag alone */
    known = known && PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG);
#endif
    if (RL_LIKELY(known)) return f;
    facts_fill(f, type);
    return f;
}

int rl_module_all_ours(PyObject *m, uint32_t methods) {
    const rl_module_facts *f = rl_module_facts_get(Py_TYPE(m));
    if ((f->ours & methods) != methods || !f->plain_get) return 0;
    PyObject *dict = rl_module_dict(m);
    for (; dict && methods; methods &= methods - 1) {
        if (PyDict_GetItemWithError(dict, *type_method_name(__builtin_ctz(methods)))) return 0;
        if (PyErr_Occurred()) {
            PyErr_Clear(); /* a key's own __eq__ raised; the ordinary look-up meets it again */
            return 0;
        }
    }
    return 1;
}

void rl_module_adopt(PyTypeObject *type) {
    if (type->tp_call == slot_call && rl_module_facts_get(type)->plain_call) type->tp_call = rl_module_call;
#if PY_VERSION_HEX < 0x030C0000
    /* From 3.12 on CPython's hook raises nothing on a miss and its interpreter specialises on it. */
    if (type->tp_getattro == slot_getattro) {
        const rl_module_facts *f = rl_module_facts_get(type);
        if (f->plain_get)
            type->tp_getattro =
                f->ours >> RL_M___getattr__ & 1 ? rl_module_getattro : rl_module_getattro_user;
    }
#endif
}

int rl_module_check(PyObject *o) {
    if (PyType_IsSubtype(Py_TYPE(o), rl_module_type)) return 1;
    /* A proxy or mock may answer to __class__; ordinary objects cannot. */
    if (Py_TYPE(o)->tp_getattro == PyObject_GenericGetAttr &&
        _PyType_Lookup(Py_TYPE(o), rl_name.__class__) == type_class)
        return 0;
    return PyObject_IsInstance(o, (PyObject *)rl_module_type);
}

PyObject *rl_module_state_get(PyObject *m, PyObject *name) {
    PyObject *dict = rl_module_dict(m);
    if (dict) {
        PyObject *value = PyDict_GetItemWithError(dict, name);
        if (value) return Py_NewRef(value);
        if (PyErr_Occurred()) return NULL;
    }
    return PyObject_GetAttr(m, name);
}

/* ---- torch.typename ---- */
static PyObject *typename_attr(PyObject *o, PyObject *name) { /* NULL without an error: not a str, or none */
    PyObject *value = PyObject_GetAttr(o, name);
    if (value && PyUnicode_Check(value)) return value;
    Py_XDECREF(value);
    PyErr_Clear();
    return NULL;
}

PyObject *rl_module_typename(PyObject *o) {
    if (rl_tensor_check(o)) return PyObject_CallMethodNoArgs(o, rl_name.type);
    RL_OWNED PyObject *module = typename_attr(o, rl_name.__module__);
    RL_OWNED PyObject *name = typename_attr(o, rl_name.__qualname__);
    if (name == NULL) name = typename_attr(o, rl_name.__name__);
    if (name == NULL) {
        Py_XSETREF(module, typename_attr((PyObject *)Py_TYPE(o), rl_name.__module__));
        name = PyType_GetQualName(Py_TYPE(o));
        if (name == NULL) return NULL;
    }
    if (module == NULL || PyUnicode_GET_LENGTH(module) == 0 ||
        PyUnicode_CompareWithASCIIString(module, "builtins") == 0)
        return rl_give(&name);
    return PyUnicode_FromFormat("%U.%U", module, name);
}

/* ---- state ---- */
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

/* dict[name] = value, which is consumed, also when it is NULL because it could not be made */
static int state_put_steal(PyObject *dict, PyObject *name, PyObject *value) {
    RL_OWNED PyObject *owned = value;
    return owned ? PyDict_SetItem(dict, name, owned) : -1;
}

static int state_fill(PyObject *dict) { /* in torch's order, which __dict__ shows */
    PyObject *const hooks_before[] = {rl_name._backward_pre_hooks, rl_name._backward_hooks};
    PyObject *const hooks_after[] = {rl_name._forward_hooks,
                                     rl_name._forward_hooks_with_kwargs,
                                     rl_name._forward_hooks_always_called,
                                     rl_name._forward_pre_hooks,
                                     rl_name._forward_pre_hooks_with_kwargs,
                                     rl_name._state_dict_hooks,
                                     rl_name._state_dict_pre_hooks,
                                     rl_name._load_state_dict_pre_hooks,
                                     rl_name._load_state_dict_post_hooks};
    if (PyDict_SetItem(dict, rl_name.training, Py_True) < 0 ||
        state_put_steal(dict, rl_name._parameters, PyDict_New()) < 0 ||
        state_put_steal(dict, rl_name._buffers, PyDict_New()) < 0 ||
        state_put_steal(dict, rl_name._non_persistent_buffers_set, PySet_New(NULL)) < 0)
        return -1;
    for (size_t i = 0; i < sizeof hooks_before / sizeof *hooks_before; i++)
        if (state_put_steal(dict, hooks_before[i], PyODict_New()) < 0) return -1;
    if (PyDict_SetItem(dict, rl_name._is_full_backward_hook, Py_None) < 0) return -1;
    for (size_t i = 0; i < sizeof hooks_after / sizeof *hooks_after; i++)
        if (state_put_steal(dict, hooks_after[i], PyODict_New()) < 0) return -1;
    return state_put_steal(dict, rl_name._modules, PyDict_New());
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
    PyObject *m = rl_args_self("__init__", args, nargs);
    (void)unused;
    if (m == NULL) return NULL;
    args++, nargs--;
    rl_module_adopt(Py_TYPE(m));
    int go_on = 0, given = nargs > 0 || (kwnames && PyTuple_GET_SIZE(kwnames));
    RL_OWNED PyObject *super_init = PyObject_GetAttr(m, rl_name.call_super_init);
    if (super_init == NULL || (go_on = PyObject_IsTrue(super_init)) < 0) return NULL;
    if (given && super_init == Py_False && init_refuse_arguments(m, nargs, kwnames) < 0) return NULL;
    RL_OWNED PyObject *dict = PyObject_GenericGetDict(m, NULL);
    if (dict == NULL || state_fill(dict) < 0) return NULL;
    if (go_on && init_next(m, args, nargs, kwnames) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *type_getstate(PyObject *m, PyObject *unused) {
    (void)unused;
    RL_OWNED PyObject *dict = PyObject_GetAttr(m, rl_name.__dict__);
    if (dict == NULL) return NULL;
    RL_OWNED PyObject *state = PyDict_Copy(dict);
    if (state == NULL || rl_map_remove(state, rl_name._compiled_call_impl) < 0) return NULL;
    return rl_give(&state);
}

/* What modules saved by an older version lack. */
static int state_back_fill(PyObject *m, PyObject *dict) {
    PyObject *const hooks[] = {rl_name._forward_pre_hooks,          rl_name._forward_pre_hooks_with_kwargs,
                               rl_name._forward_hooks_with_kwargs,  rl_name._forward_hooks_always_called,
                               rl_name._state_dict_hooks,           rl_name._state_dict_pre_hooks,
                               rl_name._load_state_dict_pre_hooks,  rl_name._load_state_dict_post_hooks,
                               rl_name._non_persistent_buffers_set, rl_name._is_full_backward_hook,
                               rl_name._backward_pre_hooks};
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        int has = PyDict_Contains(dict, hooks[i]);
        if (has < 0) return -1;
        if (has) continue;
        RL_OWNED PyObject *fresh = hooks[i] == rl_name._non_persistent_buffers_set ? PySet_New(NULL)
                                   : hooks[i] == rl_name._is_full_backward_hook    ? Py_NewRef(Py_None)
                                                                                   : PyODict_New();
        if (fresh == NULL || PyObject_SetAttr(m, hooks[i], fresh) < 0) return -1;
    }
    return 0;
}

static PyObject *type_setstate(PyObject *m, PyObject *state) {
    rl_module_adopt(Py_TYPE(m));
    RL_OWNED PyObject *dict = PyObject_GenericGetDict(m, NULL);
    RL_OWNED PyObject *done = dict ? PyObject_CallMethod(dict, "update", "O", state) : NULL;
    if (done == NULL || state_back_fill(m, dict) < 0) return NULL;
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
PyMethodDef rl_module_type_methods[] = {
    {"__getstate__", type_getstate, METH_NOARGS, "__getstate__($self, /)\n--\n\n"},
    {"__setstate__", type_setstate, METH_O, "__setstate__($self, state, /)\n--\n\n"},
    {"get_extra_state", type_get_extra_state, METH_NOARGS,
     "get_extra_state($self, /)\n--\n\nReturn what else belongs into the state dict; override it together "
     "with set_extra_state."},
    {"set_extra_state", type_set_extra_state, METH_O,
     "set_extra_state($self, state, /)\n--\n\nTake back what get_extra_state returned."},
    {NULL, NULL, 0, NULL}};

/* ---- creation ---- */
static int names_init(void) {
#define X(name)                                                                                              \
    if ((rl_name.name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    RL_MODULE_NAMES(X)
    RL_MODULE_METHODS(X)
#undef X
    rl_name.empty = PyUnicode_InternFromString("");
    return rl_name.empty ? 0 : -1;
}

/* What Python finds through a type slot stays a plain descriptor, which is quicker there. */
static int type_add_methods(PyMethodDef *methods) {
    for (PyMethodDef *d = methods; d->ml_name; d++) {
        int special = strncmp(d->ml_name, "__", 2) == 0;
        RL_OWNED PyObject *method = special ? PyDescr_NewMethod(rl_module_type, d) : rl_module_method_new(d);
        if (method == NULL || PyObject_SetAttrString((PyObject *)rl_module_type, d->ml_name, method) < 0)
            return -1;
    }
    return 0;
}

/* inspect.signature of a class cannot see through a method descriptor as its __init__ (Python 3.13). */
static int type_add_init(void) {
    RL_OWNED PyObject *function = PyCFunction_New(&type_init_def, NULL);
    RL_OWNED PyObject *method = function ? PyInstanceMethod_New(function) : NULL;
    return method ? PyObject_SetAttr((PyObject *)rl_module_type, rl_name.__init__, method) : -1;
}

static const char type_doc[] =
    "Base class for all neural network modules: your models subclass it and define forward().";

/* The first __doc__ stays behind as the signature of classes without an __init__; people read the second. */
static int type_set_doc(void) {
    RL_OWNED PyObject *doc = PyUnicode_FromString(type_doc);
    return doc ? PyObject_SetAttrString((PyObject *)rl_module_type, "__doc__", doc) : -1;
}

static int type_new(void) {
    PyMethodDef *const rooms[] = {rl_module_type_methods, rl_module_attr_methods, rl_module_register_methods,
                                  rl_module_call_methods, rl_module_iter_methods, rl_module_walk_methods,
                                  rl_module_save_methods, rl_module_load_methods};
    rl_module_type = (PyTypeObject *)PyObject_CallFunction(
        (PyObject *)&PyType_Type, "s(O){s:s,s:s,s:O,s:i,s:O,s:O}", "Module", (PyObject *)&PyBaseObject_Type,
        "__module__", "rushlight.nn.modules.module", "__doc__", "Module(*args, **kwargs)\n--\n\n",
        "dump_patches", Py_False, "_version", 1, "call_super_init", Py_False, "_compiled_call_impl", Py_None);
    if (rl_module_type == NULL) return -1;
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        if (type_add_methods(rooms[i]) < 0) return -1;
    return type_set_doc() < 0 ? -1 : type_add_init();
}

int rl_module_init(PyObject *m) {
    if (names_init() < 0 || rl_module_hooks_init(m) < 0 || rl_module_iter_init(m) < 0 ||
        rl_module_method_init() < 0 || type_new() < 0)
        return -1;
    for (int i = 0; i < RL_M_COUNT; i++)
        type_original[i] = Py_XNewRef(_PyType_Lookup(rl_module_type, *type_method_name(i)));
    type_call = Py_XNewRef(_PyType_Lookup(rl_module_type, rl_name.__call__));
    type_getattribute = _PyType_Lookup(&PyBaseObject_Type, rl_name.__getattribute__);
    type_class = _PyType_Lookup(&PyBaseObject_Type, rl_name.__class__);
    slot_call = rl_module_type->tp_call;
    slot_getattro = rl_module_type->tp_getattro;
    rl_module_adopt(rl_module_type);
    return PyModule_AddObjectRef(m, "Module", (PyObject *)rl_module_type);
}
