/* Module._load_from_state_dict: one module takes its own entries. */
#include "args.h"
#include "map.h"
#include "methods.h"
#include "state.h"
#include "state_load.h"

static int load_pre_hooks(PyObject *m, PyObject *const *arg) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, RL_AT_load_pre, rl_name._load_state_dict_pre_hooks) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        RL_OWNED PyObject *done = PyObject_Vectorcall(it.value, arg, RL_STATE_ARG_COUNT, NULL);
        if (done == NULL) return -1;
    }
    return more;
}

/* local: the module's entries by name, None and non-persistent ones left out */
static int load_collect(PyObject *m, PyObject *state, PyObject *local) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, rl_state_at(state), state) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        if (Py_IsNone(it.value)) continue;
        int skipped = state == rl_name._buffers ? rl_state_is_fleeting(m, it.key) : 0;
        if (skipped < 0 || (!skipped && PyDict_SetItem(local, it.key, it.value) < 0)) return -1;
    }
    return more;
}

/* The state dict has nothing for this one; it may be tied to one that gets a new value. */
static int load_lacks(PyObject *m, PyObject *name, PyObject *param, PyObject *key, int strict,
                      PyObject *const *arg) {
    const rl_state_load *load = rl_state_load_find(arg[RL_STATE_ARG_ERRORS]);
    if (strict && PyList_Append(arg[RL_STATE_ARG_MISSING], key) < 0) return -1;
    if (load == NULL || load->ties == NULL) return 0;
    RL_OWNED PyObject *done = PyObject_CallMethod(load->ties, "lack", "OOO", m, name, param);
    return done ? 0 : -1;
}

static int load_entries(PyObject *m, PyObject *const *arg, PyObject *local, int strict) {
    RL_OWNED PyObject *flag = PyObject_CallMethodObjArgs(arg[RL_STATE_ARG_METADATA], rl_name.get,
                                                         rl_name.assign_to_params_buffers, Py_False, NULL);
    int assign = flag ? PyObject_IsTrue(flag) : -1, more;
    RL_MAP_ITER it;
    if (assign < 0 || rl_map_iter_begin(&it, local) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        RL_OWNED PyObject *key = rl_path_append(arg[RL_STATE_ARG_PREFIX], it.key), *value = NULL;
        int has = key ? rl_map_find(arg[RL_STATE_ARG_DICT], key, &value) : -1;
        if (has > 0)
            has = rl_state_load_entry(m, it.key, it.value, key, value, assign, arg[RL_STATE_ARG_ERRORS]);
        else if (has == 0)
            has = load_lacks(m, it.key, it.value, key, strict, arg);
        if (has < 0) return -1;
    }
    return more;
}

static int load_extra_state(PyObject *m, PyObject *const *arg, PyObject *key, int strict) {
    int takes = _PyType_Lookup(Py_TYPE(m), rl_name.set_extra_state) !=
                _PyType_Lookup(rl_module_type, rl_name.set_extra_state);
    RL_OWNED PyObject *value = NULL;
    int has = rl_map_find(arg[RL_STATE_ARG_DICT], key, &value);
    if (has < 0) return -1;
    if (takes && has) {
        RL_OWNED PyObject *done = PyObject_CallMethodOneArg(m, rl_name.set_extra_state, value);
        return done ? 0 : -1;
    }
    if (!strict || takes == has) return 0;
    return PyList_Append(arg[takes ? RL_STATE_ARG_MISSING : RL_STATE_ARG_UNEXPECTED], key);
}

static int load_find_unexpected(PyObject *m, PyObject *const *arg, PyObject *local, PyObject *extra_key) {
    RL_OWNED PyObject *modules = rl_state_get(m, rl_name._modules);
    RL_OWNED PyObject *keys = modules ? PyObject_GetIter(arg[RL_STATE_ARG_DICT]) : NULL;
    if (keys == NULL) return -1;
    for (PyObject *next; (next = PyIter_Next(keys)) != NULL;) {
        RL_OWNED PyObject *key = next;
        int dotted;
        Py_ssize_t end = rl_state_key_end(key, arg[RL_STATE_ARG_PREFIX], &dotted);
        if (end == -2) return -1;
        if (end == -1 || PyUnicode_Compare(key, extra_key) == 0) continue;
        RL_OWNED PyObject *name =
            PyUnicode_Substring(key, PyUnicode_GET_LENGTH(arg[RL_STATE_ARG_PREFIX]), end);
        int known = name ? rl_map_has(dotted ? modules : local, name) : -1;
        if (known < 0 || (!known && PyList_Append(arg[RL_STATE_ARG_UNEXPECTED], key) < 0)) return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

int rl_state_load_own(PyObject *m, PyObject *const *arg) {
    int strict = PyObject_IsTrue(arg[RL_STATE_ARG_STRICT]);
    if (strict < 0 || load_pre_hooks(m, arg) < 0) return -1;
    if (!PyUnicode_Check(arg[RL_STATE_ARG_PREFIX]) || !PyList_Check(arg[RL_STATE_ARG_MISSING]) ||
        !PyList_Check(arg[RL_STATE_ARG_UNEXPECTED]) || !PyList_Check(arg[RL_STATE_ARG_ERRORS])) {
        PyErr_SetString(
            PyExc_TypeError,
            "Module._load_from_state_dict() needs a str as prefix and lists for keys and messages");
        return -1;
    }
    RL_OWNED PyObject *local = PyDict_New();
    if (local == NULL || load_collect(m, rl_name._parameters, local) < 0 ||
        load_collect(m, rl_name._buffers, local) < 0 || load_entries(m, arg, local, strict) < 0)
        return -1;
    RL_OWNED PyObject *extra_key = rl_path_append(arg[RL_STATE_ARG_PREFIX], rl_name._extra_state);
    if (extra_key == NULL || load_extra_state(m, arg, extra_key, strict) < 0) return -1;
    return strict ? load_find_unexpected(m, arg, local, extra_key) : 0;
}

static PyObject *load_from_state_dict(PyObject *m, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *kwnames) {
    static const rl_signature sig = {"_load_from_state_dict",
                                     RL_STATE_ARG_COUNT,
                                     RL_STATE_ARG_COUNT,
                                     {"state_dict", "prefix", "local_metadata", "strict", "missing_keys",
                                      "unexpected_keys", "error_msgs"}};
    PyObject *bound[RL_STATE_ARG_COUNT];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    if (rl_state_load_own(m, bound) < 0) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef rl_module_load_own_methods[] = {
    {"_load_from_state_dict", (PyCFunction)(void (*)(void))load_from_state_dict,
     METH_FASTCALL | METH_KEYWORDS,
     "_load_from_state_dict($self, /, state_dict, prefix, local_metadata, strict, missing_keys, "
     "unexpected_keys, "
     "error_msgs)\n--\n\n"},
    {NULL, NULL, 0, NULL}};
