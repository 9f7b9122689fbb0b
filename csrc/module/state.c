/* Filling and reading the __dict__ of a module. */
#include "state.h"

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
