/* state_dict: every module puts its own state under its prefix, then its children theirs. */
#include "args.h"
#include "docs.h"
#include "helpers.h"
#include "map.h"
#include "methods.h"
#include "paths.h"
#include "state.h"

static PyObject *kw_state_dict; /* ("destination", "prefix", "keep_vars") */

/* ---- one module ---- */
static PyObject *save_detached(PyObject *value, int keep) {
    if (keep) return Py_NewRef(value);
    if (Py_TYPE(value) == rl_parameter_type || Py_TYPE(value) == rl_tensor_type)
        return rl_tensor_detach(value);
    return PyObject_CallMethodNoArgs(value, rl_name.detach);
}

static int save_set(PyObject *destination, PyObject *key, PyObject *value) {
    if (PyODict_CheckExact(destination)) return PyODict_SetItem(destination, key, value);
    return PyObject_SetItem(destination, key, value);
}

static int save_put(PyObject *destination, rl_place *place, PyObject *name, PyObject *value, int keep) {
    RL_OWNED PyObject *key = rl_place_key(place, name);
    RL_OWNED PyObject *saved = key ? save_detached(value, keep) : NULL;
    return saved ? save_set(destination, key, saved) : -1;
}

static int save_members(PyObject *m, PyObject *state, PyObject *destination, rl_place *place, int keep) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, rl_state_at(state), state) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        if (Py_IsNone(it.value)) continue;
        int skipped = state == rl_name._buffers ? rl_state_is_fleeting(m, it.key) : 0;
        if (skipped < 0) return -1;
        if (!skipped && save_put(destination, place, it.key, it.value, keep) < 0) return -1;
    }
    return more;
}

/* torch asks the class alone, and compares with what Module has now */
static int save_has_extra_state(PyObject *m) {
    PyTypeObject *type = Py_TYPE(m);
    uint32_t ours = rl_module_facts_get(type)->ours & rl_module_facts_get(rl_module_type)->ours;
    return !(ours >> RL_M_get_extra_state & 1) && _PyType_Lookup(type, rl_name.get_extra_state) !=
                                                      _PyType_Lookup(rl_module_type, rl_name.get_extra_state);
}

static int save_own(PyObject *m, PyObject *destination, rl_place *place, int keep) {
    if (save_members(m, rl_name._parameters, destination, place, keep) < 0 ||
        save_members(m, rl_name._buffers, destination, place, keep) < 0)
        return -1;
    if (!save_has_extra_state(m)) return 0;
    RL_OWNED PyObject *key = rl_place_key(place, rl_name._extra_state);
    RL_OWNED PyObject *extra = key ? PyObject_CallMethodNoArgs(m, rl_name.get_extra_state) : NULL;
    return extra ? PyObject_SetItem(destination, key, extra) : -1;
}

static PyObject *save_to_state_dict(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"_save_to_state_dict", 3, 3, {"destination", "prefix", "keep_vars"}};
    PyObject *bound[3];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    RL_PLACE place = {.prefix = Py_NewRef(bound[1])};
    int keep = PyObject_IsTrue(bound[2]);
    if (keep < 0 || save_own(m, bound[0], &place, keep) < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- the tree ---- */
/* destination._metadata, owned; NULL without an error where there is none */
static PyObject *save_all_metadata(PyObject *destination) {
    if (PyDict_CheckExact(destination)) return NULL; /* has no attributes */
    if (PyODict_CheckExact(destination)) {
        PyObject *dict = rl_module_dict(destination);
        return Py_XNewRef(dict ? PyDict_GetItemWithError(dict, rl_name._metadata) : NULL);
    }
    PyObject *all = PyObject_GetAttr(destination, rl_name._metadata);
    if (all == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
    return all;
}

/* {"version": m._version}, also noted in destination._metadata where there is one */
static PyObject *save_metadata(PyObject *m, PyObject *destination, rl_place *place) {
    RL_OWNED PyObject *version = PyObject_GetAttr(m, rl_name._version);
    RL_OWNED PyObject *local = version ? PyDict_New() : NULL;
    if (local == NULL || PyDict_SetItem(local, rl_name.version, version) < 0) return NULL;
    RL_OWNED PyObject *all = save_all_metadata(destination);
    if (all == NULL) return PyErr_Occurred() ? NULL : rl_give(&local);
    PyObject *path = rl_place_path(place);
    return path && save_set(all, path, local) == 0 ? rl_give(&local) : NULL;
}

static int save_pre_hooks(PyObject *m, rl_place *place, PyObject *keep_vars) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, RL_AT_state_dict_pre, rl_name._state_dict_pre_hooks) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        PyObject *args[] = {m, rl_place_prefix(place), keep_vars};
        RL_OWNED PyObject *done = args[1] ? PyObject_Vectorcall(it.value, args, 3, NULL) : NULL;
        if (done == NULL) return -1;
    }
    return more;
}

/* Hooks may put another dict in place of *destination, unless they came through the public method. */
static int save_post_hooks(PyObject *m, PyObject **destination, rl_place *place, PyObject *local) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, RL_AT_state_dict, rl_name._state_dict_hooks) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        PyObject *args[] = {m, *destination, rl_place_prefix(place), local};
        RL_OWNED PyObject *answer = args[2] ? PyObject_Vectorcall(it.value, args, 4, NULL) : NULL;
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

static int save_call_own(PyObject *m, PyObject *destination, rl_place *place, PyObject *keep_vars) {
    if (rl_module_ours(m, RL_M__save_to_state_dict)) {
        int keep = PyObject_IsTrue(keep_vars);
        return keep < 0 ? -1 : save_own(m, destination, place, keep);
    }
    PyObject *args[] = {destination, rl_place_prefix(place), keep_vars};
    RL_OWNED PyObject *done = args[1] ? rl_method_call(m, rl_name._save_to_state_dict, args, 3, NULL) : NULL;
    return done ? 0 : -1;
}

static PyObject *save_walk(PyObject *m, PyObject *destination, rl_place *place, PyObject *keep_vars);
static PyObject *save_child(PyObject *child, PyObject *destination, rl_place *place, PyObject *keep_vars) {
    if (rl_module_ours(child, RL_M_state_dict)) return save_walk(child, destination, place, keep_vars);
    PyObject *args[] = {destination, rl_place_prefix(place), keep_vars};
    return args[1] ? rl_method_call(child, rl_name.state_dict, args, 3, kw_state_dict) : NULL;
}

static int save_children(rl_map_iter *it, PyObject *destination, rl_place *place, PyObject *keep_vars) {
    int more;
    while ((more = rl_map_iter_next(it)) > 0) {
        if (Py_IsNone(it->value)) continue;
        RL_PLACE below;
        if (rl_place_enter(&below, place, it->key) < 0) return -1;
        RL_OWNED PyObject *done = save_child(it->value, destination, &below, keep_vars);
        if (done == NULL) return -1;
    }
    return more;
}

static int save_below(PyObject *m, PyObject *destination, rl_place *place, PyObject *keep_vars) {
    RL_MAP_ITER it;
    if (rl_map_iter_of(&it, m, RL_AT_modules, rl_name._modules) < 0) return -1;
    if (Py_EnterRecursiveCall(" while collecting the state of a module")) return -1;
    int done = save_children(&it, destination, place, keep_vars);
    Py_LeaveRecursiveCall();
    return done;
}

static PyObject *save_walk(PyObject *m, PyObject *destination, rl_place *place, PyObject *keep_vars) {
    RL_OWNED PyObject *result = Py_NewRef(destination);
    RL_OWNED PyObject *local = save_metadata(m, destination, place);
    if (local == NULL || save_pre_hooks(m, place, keep_vars) < 0 ||
        save_call_own(m, destination, place, keep_vars) < 0 ||
        save_below(m, destination, place, keep_vars) < 0 || save_post_hooks(m, &result, place, local) < 0)
        return NULL;
    return rl_give(&result);
}

/* ---- state_dict(*args, destination=None, prefix="", keep_vars=False) ---- */
static int save_bind(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **bound) {
    static const rl_signature sig = {"state_dict", 0, 3, {"destination", "prefix", "keep_vars"}};
    if (rl_method_bind(&sig, args + nargs, 0, kwnames, bound) < 0) return -1;
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
    RL_PLACE place = {.prefix = Py_NewRef(bound[1] ? bound[1] : rl_name.empty)};
    return save_walk(m, destination, &place, bound[2] ? bound[2] : Py_False);
}

PyMethodDef rl_module_save_methods[] = {
    {"state_dict", (PyCFunction)(void (*)(void))save_state_dict, METH_FASTCALL | METH_KEYWORDS,
     rl_module_state_dict_doc},
    {"_save_to_state_dict", (PyCFunction)(void (*)(void))save_to_state_dict, METH_FASTCALL | METH_KEYWORDS,
     "_save_to_state_dict($self, /, destination, prefix, keep_vars)\n--\n\n"},
    {NULL, NULL, 0, NULL}};
