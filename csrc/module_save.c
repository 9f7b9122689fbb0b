/* state_dict: every module puts its own state under its prefix, then its children theirs. */
#include "module.h"

static PyObject *kw_state_dict; /* ("destination", "prefix", "keep_vars") */

/* ---- one module ---- */
static PyObject *save_detached(PyObject *value, int keep) {
    if (keep) return Py_NewRef(value);
    if (Py_TYPE(value) == rl_parameter_type || Py_TYPE(value) == rl_tensor_type)
        return rl_tensor_detach(value);
    return PyObject_CallMethodNoArgs(value, rl_name.detach);
}

static int save_put(PyObject *destination, PyObject *prefix, PyObject *name, PyObject *value, int keep) {
    RL_OWNED PyObject *key = rl_path_append(prefix, name);
    RL_OWNED PyObject *saved = key ? save_detached(value, keep) : NULL;
    return saved ? PyObject_SetItem(destination, key, saved) : -1;
}

static int save_members(PyObject *m, PyObject *state, PyObject *destination, PyObject *prefix, int keep) {
    RL_OWNED PyObject *skip = NULL;
    RL_ITEMS it;
    int more;
    if (rl_items_of(&it, m, state) < 0) return -1;
    while ((more = rl_items_next(&it)) > 0) {
        if (Py_IsNone(it.value)) continue;
        if (state == rl_name._buffers) {
            Py_XSETREF(skip, rl_module_state_get(m, rl_name._non_persistent_buffers_set));
            int skipped = skip ? PySequence_Contains(skip, it.key) : -1;
            if (skipped < 0) return -1;
            if (skipped) continue;
        }
        if (save_put(destination, prefix, it.key, it.value, keep) < 0) return -1;
    }
    return more;
}

/* torch asks the class alone, and compares with what Module has now */
static int save_has_extra_state(PyObject *m) {
    PyTypeObject *type = Py_TYPE(m);
    return _PyType_Lookup(type, rl_name.get_extra_state) !=
           _PyType_Lookup(rl_module_type, rl_name.get_extra_state);
}

static int save_own(PyObject *m, PyObject *destination, PyObject *prefix, int keep) {
    if (save_members(m, rl_name._parameters, destination, prefix, keep) < 0 ||
        save_members(m, rl_name._buffers, destination, prefix, keep) < 0)
        return -1;
    if (!save_has_extra_state(m)) return 0;
    RL_OWNED PyObject *key = rl_path_append(prefix, rl_name._extra_state);
    RL_OWNED PyObject *extra = key ? PyObject_CallMethodNoArgs(m, rl_name.get_extra_state) : NULL;
    return extra ? PyObject_SetItem(destination, key, extra) : -1;
}

static PyObject *save_to_state_dict(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"_save_to_state_dict", 3, 3, {"destination", "prefix", "keep_vars"}};
    PyObject *bound[3];
    if (rl_args_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    int keep = PyObject_IsTrue(bound[2]);
    if (keep < 0 || save_own(m, bound[0], bound[1], keep) < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- the tree ---- */
/* {"version": m._version}, also noted in destination._metadata where there is one */
static PyObject *save_metadata(PyObject *m, PyObject *destination, PyObject *prefix) {
    RL_OWNED PyObject *version = PyObject_GetAttr(m, rl_name._version);
    RL_OWNED PyObject *local = version ? PyDict_New() : NULL;
    if (local == NULL || PyDict_SetItem(local, rl_name.version, version) < 0) return NULL;
    if (!PyDict_CheckExact(destination)) { /* a plain dict has no attributes */
        RL_OWNED PyObject *all = PyObject_GetAttr(destination, rl_name._metadata);
        if (all) {
            RL_OWNED PyObject *key = rl_path_strip(prefix);
            if (key == NULL || PyObject_SetItem(all, key, local) < 0) return NULL;
        } else if (PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Clear();
        else
            return NULL;
    }
    return rl_give(&local);
}

static int save_pre_hooks(PyObject *m, PyObject *prefix, PyObject *keep_vars) {
    RL_ITEMS it;
    int more;
    if (rl_items_of(&it, m, rl_name._state_dict_pre_hooks) < 0) return -1;
    while ((more = rl_items_next(&it)) > 0) {
        PyObject *args[] = {m, prefix, keep_vars};
        RL_OWNED PyObject *done = PyObject_Vectorcall(it.value, args, 3, NULL);
        if (done == NULL) return -1;
    }
    return more;
}

/* Hooks may put another dict in place of *destination, unless they came through the public method. */
static int save_post_hooks(PyObject *m, PyObject **destination, PyObject *prefix, PyObject *local) {
    RL_ITEMS it;
    int more;
    if (rl_items_of(&it, m, rl_name._state_dict_hooks) < 0) return -1;
    while ((more = rl_items_next(&it)) > 0) {
        PyObject *args[] = {m, *destination, prefix, local};
        RL_OWNED PyObject *answer = PyObject_Vectorcall(it.value, args, 4, NULL);
        if (answer == NULL) return -1;
        if (Py_IsNone(answer)) continue;
        RL_OWNED PyObject *mark = PyObject_GetAttr(it.value, rl_name._from_public_api);
        if (mark == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
        PyErr_Clear();
        int public = mark ? PyObject_IsTrue(mark) : 0;
        if (public < 0) return -1;
        if (public) {
            PyErr_SetString(PyExc_RuntimeError, "state_dict post-hook must return None");
            return -1;
        }
        Py_SETREF(*destination, rl_give(&answer));
    }
    return more;
}

static int save_call_own(PyObject *m, PyObject *destination, PyObject *prefix, PyObject *keep_vars) {
    if (rl_module_ours(m, RL_M__save_to_state_dict)) {
        int keep = PyObject_IsTrue(keep_vars);
        return keep < 0 ? -1 : save_own(m, destination, prefix, keep);
    }
    PyObject *args[] = {destination, prefix, keep_vars};
    RL_OWNED PyObject *done = rl_method_call(m, rl_name._save_to_state_dict, args, 3, NULL);
    return done ? 0 : -1;
}

static PyObject *save_walk(PyObject *m, PyObject *destination, PyObject *prefix, PyObject *keep_vars);
static int save_children(PyObject *m, PyObject *destination, PyObject *prefix, PyObject *keep_vars) {
    RL_ITEMS it;
    int more;
    if (rl_items_of(&it, m, rl_name._modules) < 0) return -1;
    while ((more = rl_items_next(&it)) > 0) {
        if (Py_IsNone(it.value)) continue;
        RL_OWNED PyObject *below = rl_path_enter(prefix, it.key);
        if (below == NULL) return -1;
        PyObject *args[] = {destination, below, keep_vars};
        RL_OWNED PyObject *done = rl_module_ours(it.value, RL_M_state_dict)
                                      ? save_walk(it.value, destination, below, keep_vars)
                                      : rl_method_call(it.value, rl_name.state_dict, args, 3, kw_state_dict);
        if (done == NULL) return -1;
    }
    return more;
}

static PyObject *save_walk(PyObject *m, PyObject *destination, PyObject *prefix, PyObject *keep_vars) {
    RL_OWNED PyObject *result = Py_NewRef(destination);
    RL_OWNED PyObject *local = save_metadata(m, destination, prefix);
    if (local == NULL || save_pre_hooks(m, prefix, keep_vars) < 0) return NULL;
    if (save_call_own(m, destination, prefix, keep_vars) < 0) return NULL;
    if (Py_EnterRecursiveCall(" while collecting the state of a module")) return NULL;
    int done = save_children(m, destination, prefix, keep_vars);
    Py_LeaveRecursiveCall();
    if (done < 0 || save_post_hooks(m, &result, prefix, local) < 0) return NULL;
    return rl_give(&result);
}

/* ---- state_dict(*args, destination=None, prefix="", keep_vars=False) ---- */
static int save_bind(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **bound) {
    static const rl_signature sig = {"state_dict", 0, 3, {"destination", "prefix", "keep_vars"}};
    if (rl_args_bind(&sig, args + nargs, 0, kwnames, bound) < 0) return -1;
    if (nargs == 0) return 0;
    if (PyErr_WarnEx(
            PyExc_FutureWarning,
            "Positional args are being deprecated, use kwargs instead. Refer to "
            "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for "
            "details.",
            1) < 0)
        return -1;
    if (bound[0] == NULL || Py_IsNone(bound[0])) bound[0] = args[0];
    if (nargs > 1 && (bound[1] == NULL || (PyUnicode_Check(bound[1]) && PyUnicode_GET_LENGTH(bound[1]) == 0)))
        bound[1] = args[1];
    if (nargs > 2 && (bound[2] == NULL || bound[2] == Py_False)) bound[2] = args[2];
    return 0;
}

static PyObject *save_new_destination(void) {
    RL_OWNED PyObject *destination = PyODict_New();
    RL_OWNED PyObject *metadata = destination ? PyODict_New() : NULL;
    if (metadata == NULL || PyObject_SetAttr(destination, rl_name._metadata, metadata) < 0) return NULL;
    return rl_give(&destination);
}

static PyObject *save_state_dict(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *bound[3];
    if (save_bind(args, nargs, kwnames, bound) < 0) return NULL;
    if (kw_state_dict == NULL) {
        kw_state_dict = PyTuple_Pack(3, rl_name.destination, rl_name.prefix, rl_name.keep_vars);
        if (kw_state_dict == NULL) return NULL;
    }
    RL_OWNED PyObject *destination =
        bound[0] && !Py_IsNone(bound[0]) ? Py_NewRef(bound[0]) : save_new_destination();
    if (destination == NULL) return NULL;
    return save_walk(m, destination, bound[1] ? bound[1] : rl_name.empty, bound[2] ? bound[2] : Py_False);
}

PyMethodDef rl_module_save_methods[] = {
    {"state_dict", (PyCFunction)(void (*)(void))save_state_dict, METH_FASTCALL | METH_KEYWORDS,
     "state_dict($self, /, *args, destination=None, prefix='', keep_vars=False)\n--\n\nReturn an ordered "
     "dict of "
     "all parameters and persistent buffers by dotted name."},
    {"_save_to_state_dict", (PyCFunction)(void (*)(void))save_to_state_dict, METH_FASTCALL | METH_KEYWORDS,
     "_save_to_state_dict($self, /, destination, prefix, keep_vars)\n--\n\n"},
    {NULL, NULL, 0, NULL}};
