/* What is known of a module: Note [Facts] of its type, its __dict__, names that are looked up. */
#include "internal.h"

/* ---- types ---- */
PyTypeObject *rl_module_type;
static PyObject *facts_original[RL_M_COUNT]; /* Module's own descriptors, owned */
static PyObject *facts_call, *facts_getattribute, *facts_class;
static ternaryfunc python_call; /* CPython's slots, which look the Python method up */
static getattrofunc python_getattro;
static rl_module_slots quick;

static PyObject *const *facts_method_name(int method) {
    return &rl_name.train + method; /* the methods follow one another in rl_module_names */
}

static rl_module_facts facts_known[256];

static void facts_fill(rl_module_facts *f, PyTypeObject *type) {
    *f = (rl_module_facts){.type = type};
    f->is_module = PyType_IsSubtype(type, rl_module_type) != 0;
    f->plain_get = _PyType_Lookup(type, rl_name.__getattribute__) == facts_getattribute;
    if (f->is_module) {
        for (int i = 0; i < RL_M_COUNT; i++)
            if (_PyType_Lookup(type, *facts_method_name(i)) == facts_original[i]) f->ours |= 1u << i;
        f->plain_call = _PyType_Lookup(type, rl_name.__call__) == facts_call;
        f->plain_training = _PyType_Lookup(type, rl_name.training) == NULL;
        PyObject *forward = _PyType_Lookup(type, rl_name.forward);
        if (forward && f->plain_get && PyType_HasFeature(Py_TYPE(forward), Py_TPFLAGS_METHOD_DESCRIPTOR))
            f->forward = forward;
    }
    f->version = type->tp_version_tag;
}

const rl_module_facts *rl_module_facts_get(PyTypeObject *type) {
    uintptr_t at = (uintptr_t)type;
    rl_module_facts *f = &facts_known[(at >> 4 ^ at >> 12) & 255];
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
        if (PyDict_GetItemWithError(dict, *facts_method_name(__builtin_ctz(methods)))) return 0;
        if (PyErr_Occurred()) {
            PyErr_Clear(); /* a key's own __eq__ raised; the ordinary look-up meets it again */
            return 0;
        }
    }
    return 1;
}

void rl_module_adopt(PyTypeObject *type) {
    if (type->tp_call == python_call && rl_module_facts_get(type)->plain_call) type->tp_call = quick.call;
#if PY_VERSION_HEX < 0x030C0000
    /* From 3.12 on CPython's hook raises nothing on a miss and its interpreter specialises on it. */
    if (type->tp_getattro == python_getattro) {
        const rl_module_facts *f = rl_module_facts_get(type);
        if (f->plain_get)
            type->tp_getattro = f->ours >> RL_M___getattr__ & 1 ? quick.getattro : quick.getattro_user;
    }
#endif
}

int rl_module_check(PyObject *o) {
    if (PyType_IsSubtype(Py_TYPE(o), rl_module_type)) return 1;
    /* A proxy or mock may answer to __class__; ordinary objects cannot. */
    if (Py_TYPE(o)->tp_getattro == PyObject_GenericGetAttr &&
        _PyType_Lookup(Py_TYPE(o), rl_name.__class__) == facts_class)
        return 0;
    return PyObject_IsInstance(o, (PyObject *)rl_module_type);
}

void rl_module_facts_init(PyTypeObject *type, const rl_module_slots *slots) {
    rl_module_type = type;
    quick = *slots;
    for (int i = 0; i < RL_M_COUNT; i++)
        facts_original[i] = Py_XNewRef(_PyType_Lookup(type, *facts_method_name(i)));
    facts_call = Py_XNewRef(_PyType_Lookup(type, rl_name.__call__));
    facts_getattribute = _PyType_Lookup(&PyBaseObject_Type, rl_name.__getattribute__);
    facts_class = _PyType_Lookup(&PyBaseObject_Type, rl_name.__class__);
    python_call = type->tp_call;
    python_getattro = type->tp_getattro;
}

/* ---- the __dict__ of a module ---- */
PyObject *rl_state_get(PyObject *m, PyObject *name) {
    PyObject *dict = rl_module_dict(m);
    if (dict) {
        PyObject *value = PyDict_GetItemWithError(dict, name);
        if (value) return Py_NewRef(value);
        if (PyErr_Occurred()) return NULL;
    }
    return PyObject_GetAttr(m, name);
}

/* name in m._non_persistent_buffers_set */
int rl_state_is_fleeting(PyObject *m, PyObject *name) {
    RL_OWNED PyObject *fleeting = rl_state_get(m, rl_name._non_persistent_buffers_set);
    if (fleeting == NULL) return -1;
    if (PySet_CheckExact(fleeting) && PySet_GET_SIZE(fleeting) == 0) return 0;
    return PySequence_Contains(fleeting, name);
}

/* ---- what __init__ and __setstate__ put into it ---- */
/* dict[name] = value, which is consumed, also when it is NULL because it could not be made */
static int state_put_steal(PyObject *dict, PyObject *name, PyObject *value) {
    RL_OWNED PyObject *owned = value;
    return owned ? PyDict_SetItem(dict, name, owned) : -1;
}

int rl_state_fill(PyObject *dict) { /* in torch's order, which __dict__ shows */
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

int rl_state_back_fill(PyObject *m, PyObject *dict) {
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

/* ---- the interned names ---- */
rl_module_names rl_name;

int rl_module_names_init(void) {
#define X(name)                                                                                              \
    if ((rl_name.name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    RL_MODULE_NAMES(X)
    RL_MODULE_METHODS(X)
#undef X
    rl_name.empty = PyUnicode_InternFromString("");
    return rl_name.empty ? 0 : -1;
}
