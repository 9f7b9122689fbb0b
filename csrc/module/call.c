/* Calling a module: no hooks means four dict sizes, then straight into forward. */
#include "internal.h"

/* `self.name` as a truth value, when it is not the usual dict in the usual place */
static int call_truth(PyObject *m, PyObject *name) {
    RL_OWNED PyObject *hooks = rl_state_get(m, name);
    return hooks ? PyObject_IsTrue(hooks) : -1;
}

/* Users change, replace and unpickle the hook dicts behind our back, so nothing is remembered of them. */
static inline int call_has_hooks(PyObject *m) {
    PyObject *const names[] = {rl_name._backward_hooks, rl_name._backward_pre_hooks, rl_name._forward_hooks,
                               rl_name._forward_pre_hooks};
    static const uint8_t at[] = {RL_AT_backward, RL_AT_backward_pre, RL_AT_forward, RL_AT_forward_pre};
    PyObject *dict = rl_module_dict(m);
    for (int i = 0; i < 4; i++) {
        PyObject *hooks = dict ? rl_state_peek(dict, at[i], names[i]) : NULL;
        if (RL_LIKELY(hooks && (PyODict_CheckExact(hooks) || PyDict_CheckExact(hooks)))) {
            if (PyDict_GET_SIZE(hooks)) return 1;
            continue;
        }
        if (hooks == NULL && PyErr_Occurred()) return -1;
        int some = call_truth(m, names[i]);
        if (some) return some;
        dict = rl_module_dict(m); /* the look-up may have run user code */
    }
    return (PyDict_GET_SIZE(rl_module_hooks.backward_pre_hooks) |
            PyDict_GET_SIZE(rl_module_hooks.backward_hooks) | PyDict_GET_SIZE(rl_module_hooks.forward_hooks) |
            PyDict_GET_SIZE(rl_module_hooks.forward_pre_hooks)) != 0;
}

static PyObject *call_run(PyObject *m, PyObject *args, PyObject *kwargs) {
    rl_forward f;
    PyObject *result;
    if (rl_forward_get(m, &f) < 0) return NULL;
    int some = call_has_hooks(m);
    if (some == 0)
        result = rl_forward_call(&f, m, args, kwargs);
    else
        result = some < 0 ? NULL : rl_module_call_hooked(m, &f, args, kwargs);
    Py_DECREF(f.callable);
    return result;
}

PyObject *rl_module_call(PyObject *m, PyObject *args, PyObject *kwargs) {
    if (RL_UNLIKELY(!(rl_module_facts_get(Py_TYPE(m))->ours >> RL_M__call_impl & 1))) {
        RL_OWNED PyObject *impl = PyObject_GetAttr(m, rl_name._call_impl);
        return impl ? PyObject_Call(impl, args, kwargs) : NULL;
    }
    return call_run(m, args, kwargs);
}

/* ---- the same as descriptors: super().__call__(x), Module.__call__(m, x), inspect.signature(m) ---- */
static PyObject *call_tuple(PyObject *const *args, Py_ssize_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple && i < n; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    return tuple;
}

static PyObject *call_dict(PyObject *const *values, PyObject *kwnames) {
    RL_OWNED PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(kwnames, i), values[i]) < 0) return NULL;
    return rl_move(&dict);
}

static PyObject *call_vector(ternaryfunc call, PyObject *m, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames) {
    RL_OWNED PyObject *tuple = call_tuple(args, nargs), *kwargs = NULL;
    if (tuple == NULL) return NULL;
    if (kwnames && PyTuple_GET_SIZE(kwnames) && (kwargs = call_dict(args + nargs, kwnames)) == NULL)
        return NULL;
    return call(m, tuple, kwargs);
}

static PyObject *call_call(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    rl_module_adopt(Py_TYPE(m));
    return call_vector(rl_module_call, m, args, nargs, kwnames);
}
static PyObject *call_impl(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return call_vector(call_run, m, args, nargs, kwnames);
}

static PyObject *call_forward(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    (void)args, (void)nargs, (void)kwnames;
    RL_OWNED PyObject *name = PyType_GetName(Py_TYPE(m));
    if (name)
        PyErr_Format(PyExc_NotImplementedError, "Module [%U] is missing the required \"forward\" function",
                     name);
    return NULL;
}

#define CALL_FLAGS (METH_FASTCALL | METH_KEYWORDS)
PyMethodDef rl_module_call_methods[] = {
    {"__call__", (PyCFunction)(void (*)(void))call_call, CALL_FLAGS, rl_module_call_doc},
    {"_wrapped_call_impl", (PyCFunction)(void (*)(void))call_call, CALL_FLAGS,
     "_wrapped_call_impl($self, /, *args, **kwargs)\n--\n\n"},
    {"_call_impl", (PyCFunction)(void (*)(void))call_impl, CALL_FLAGS,
     "_call_impl($self, /, *args, **kwargs)\n--\n\n"},
    {"forward", (PyCFunction)(void (*)(void))call_forward, CALL_FLAGS, rl_module_forward_doc},
    {NULL, NULL, 0, NULL}};
