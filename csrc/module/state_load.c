/* load_state_dict. Where torch filters the whole dict anew for each child, its entries are handed down in
 * pieces, or in one pass dealt out to the children by their next name: what each module's
 * _load_from_state_dict sees is the same.
 *
 *   load_walk(m, share of m) ──► own entries ──► load_walk(child, its share) ... ──► post hooks of m
 *                                └ m._load_from_state_dict(dict of the share), unless all is plain */
#include "state_load.h"
#include "args.h"
#include "docs.h"
#include "helpers.h"
#include "map.h"
#include "methods.h"
#include "state.h"

/* ---- the tree ---- */
static PyObject *load_local_metadata(const rl_state_load *load, PyObject *prefix) {
    RL_OWNED PyObject *local = PyDict_New();
    if (local == NULL) return NULL;
    if (load->metadata) {
        RL_OWNED PyObject *key = rl_path_strip(prefix);
        PyObject *known =
            key ? PyObject_CallMethodObjArgs(load->metadata, rl_name.get, key, local, NULL) : NULL;
        if (known == NULL) return NULL;
        Py_SETREF(local, known);
    }
    int assign = PyObject_IsTrue(load->assign);
    if (assign < 0 || (assign && PyObject_SetItem(local, rl_name.assign_to_params_buffers, load->assign) < 0))
        return NULL;
    return rl_give(&local);
}

static int load_call_own(const rl_state_load *load, PyObject *m, PyObject *keys, PyObject *prefix) {
    RL_OWNED PyObject *local = load_local_metadata(load, prefix);
    if (local == NULL) return -1;
    PyObject *arg[RL_STATE_ARG_COUNT] = {keys,          prefix,           local,       Py_True,
                                         load->missing, load->unexpected, load->errors};
    if (rl_module_ours(m, RL_M__load_from_state_dict)) return rl_state_load_own(m, arg);
    RL_OWNED PyObject *done = rl_method_call(m, rl_name._load_from_state_dict, arg, RL_STATE_ARG_COUNT, NULL);
    return done ? 0 : -1;
}

/* Is there nothing in the metadata that says assign=True, for this load or left behind by one before? */
static int load_copies(const rl_state_load *load, rl_place *place) {
    if (load->assign != Py_False) return 0;
    if (load->metadata == NULL) return 1;
    if (!PyODict_CheckExact(load->metadata) && !PyDict_CheckExact(load->metadata)) return 0;
    PyObject *path = rl_place_path(place);
    PyObject *local = path ? PyDict_GetItemWithError(load->metadata, path) : NULL;
    if (local == NULL) return PyErr_Occurred() ? -1 : 1;
    return PyDict_CheckExact(local) && PyDict_Contains(local, rl_name.assign_to_params_buffers) == 0;
}

/* 1: Module's own method would only copy the entries of `share` */
static int load_is_plain(const rl_state_load *load, PyObject *m, rl_place *place) {
    const uint32_t methods = 1u << RL_M__load_from_state_dict;
    if (!(rl_module_facts_get(Py_TYPE(m))->ours >> RL_M_set_extra_state & 1)) return 0;
    if (!rl_module_all_ours(m, methods)) return 0;
    PyObject *dict = rl_module_dict(m), *hooks = NULL;
    if (dict) hooks = rl_state_peek(dict, RL_AT_load_pre, rl_name._load_state_dict_pre_hooks);
    if (hooks == NULL) return PyErr_Occurred() ? -1 : 0;
    return PyODict_CheckExact(hooks) && PyDict_GET_SIZE(hooks) == 0 ? load_copies(load, place) : 0;
}

/* Copies the next entries into m's `state`; a kernel may run without the GIL, so nothing is taken for
 * granted. */
static int load_members(const rl_state_load *load, PyObject *m, PyObject *state, const rl_state_entry **at,
                        const rl_state_entry *end) {
    RL_MAP_ITER it = {.map = NULL};
    int more = 0;
    if (*at == end) return 0;
    if (rl_map_iter_of(&it, m, rl_state_at(state), state) < 0) return -1;
    while (*at < end && (more = rl_map_iter_next(&it)) > 0) {
        if (Py_IsNone(it.value)) continue;
        int skipped = state == rl_name._buffers ? rl_state_is_fleeting(m, it.key) : 0;
        if (skipped < 0) return -1;
        if (skipped) continue;
        const rl_state_entry *e = (*at)++;
        const int done =
            rl_tensor_check(it.value) ? rl_state_load_bytes((rl_tensor *)it.value, (rl_tensor *)e->value) : 0;
        if (done < 0) return -1;
        if (done) continue;
        if (rl_state_load_entry(m, it.key, it.value, e->key, e->value, 0, load->errors) < 0) return -1;
    }
    return more < 0 ? -1 : 0;
}

/* OrderedDict(state_dict), with its _metadata */
static PyObject *load_copy_dict(const rl_state_load *load) {
    RL_OWNED PyObject *copy = PyObject_CallOneArg((PyObject *)&PyODict_Type, load->whole);
    if (copy && load->metadata && PyObject_SetAttr(copy, rl_name._metadata, load->metadata) < 0) return NULL;
    return rl_give(&copy);
}

/* *lies: the share is listed as the tree below m asks for it, and the children's pieces begin at *lies */
static int load_self(const rl_state_load *load, PyObject *m, rl_state_share *share, rl_place *place,
                     Py_ssize_t skip, Py_ssize_t *lies) {
    *lies = rl_state_share_fits(share, m, skip);
    int plain = *lies < 0 ? 0 : load_is_plain(load, m, place);
    if (plain < 0) return -1;
    if (plain) {
        const rl_state_entry *at = share->at, *end = at + *lies;
        return load_members(load, m, rl_name._parameters, &at, end) < 0 ||
                       load_members(load, m, rl_name._buffers, &at, end) < 0
                   ? -1
                   : 0;
    }
    if (skip == 0 && (share->dict = load_copy_dict(load)) == NULL) return -1;
    PyObject *dict = rl_state_share_dict(share), *prefix = dict ? rl_place_prefix(place) : NULL;
    if (prefix == NULL || load_call_own(load, m, dict, prefix) < 0) return -1;
    if (rl_state_share_list(share, dict) < 0) return -1; /* whoever saw the dict may have changed it */
    *lies = rl_state_share_fits(share, m, skip);
    return 0;
}

static int load_post_hooks(const rl_state_load *load, PyObject *m) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, RL_AT_load_post, rl_name._load_state_dict_post_hooks) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        PyObject *args[] = {m, load->result};
        RL_OWNED PyObject *answer = PyObject_Vectorcall(it.value, args, 2, NULL);
        if (answer == NULL) return -1;
        if (Py_IsNone(answer)) continue;
        PyErr_SetString(
            PyExc_AssertionError,
            "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
            "new values, if incompatible_keys need to be modified, it should be done inplace.");
        return -1;
    }
    return more;
}

static int load_walk(const rl_state_load *load, PyObject *m, rl_state_share *share, rl_place *place);
static int load_children(const rl_state_load *load, rl_map_iter *it, rl_state_share *share, rl_place *place,
                         Py_ssize_t skip, Py_ssize_t lies) {
    RL_OWNED PyObject *shares = NULL;
    int more;
    while ((more = rl_map_iter_next(it)) > 0) {
        RL_PLACE below = {.path = NULL};
        RL_STATE_SHARE piece = {.at = NULL};
        if (lies >= 0) rl_state_share_cut(share, &lies, skip, it->key, &piece);
        if (Py_IsNone(it->value)) continue;
        if (rl_place_enter(&below, place, it->key) < 0) return -1;
        if (lies < 0 && rl_state_share_deal(share, place, &shares, it->key, &below, &piece) < 0) return -1;
        if (load_walk(load, it->value, &piece, &below) < 0) return -1;
    }
    return more;
}

static int load_below(const rl_state_load *load, PyObject *m, rl_state_share *share, rl_place *place,
                      Py_ssize_t skip, Py_ssize_t lies) {
    RL_MAP_ITER it;
    if (rl_map_iter_of(&it, m, RL_AT_modules, rl_name._modules) < 0) return -1;
    if (Py_EnterRecursiveCall(" while loading the state of a module")) return -1;
    int done = load_children(load, &it, share, place, skip, lies);
    Py_LeaveRecursiveCall();
    return done;
}

static int load_walk(const rl_state_load *load, PyObject *m, rl_state_share *share, rl_place *place) {
    /* the root has no path but an empty prefix */
    Py_ssize_t skip = place->path ? PyUnicode_GET_LENGTH(place->path) + 1 : 0, lies;
    if (load_self(load, m, share, place, skip, &lies) < 0) return -1;
    if (load_below(load, m, share, place, skip, lies) < 0) return -1;
    return load_post_hooks(load, m);
}

/* ---- the report ---- */
/* errors.insert(0, 'Missing key(s) in state_dict: "a", "b". ') */
static int load_report_keys(PyObject *errors, PyObject *keys, const char *what) {
    RL_OWNED PyObject *list = NULL;
    if (PyList_GET_SIZE(keys) == 0) return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); i++) {
        PyObject *longer = list ? PyUnicode_FromFormat("%U, \"%S\"", list, PyList_GET_ITEM(keys, i))
                                : PyUnicode_FromFormat("\"%S\"", PyList_GET_ITEM(keys, i));
        if (longer == NULL) return -1;
        Py_XSETREF(list, longer);
    }
    RL_OWNED PyObject *text = PyUnicode_FromFormat("%s key(s) in state_dict: %U. ", what, list);
    return text ? PyList_Insert(errors, 0, text) : -1;
}

static int load_report(const rl_state_load *load, PyObject *m, int strict) {
    if (strict && (load_report_keys(load->errors, load->unexpected, "Unexpected") < 0 ||
                   load_report_keys(load->errors, load->missing, "Missing") < 0))
        return -1;
    if (PyList_GET_SIZE(load->errors) == 0) return 0;
    RL_OWNED PyObject *name = PyType_GetName(Py_TYPE(m));
    RL_OWNED PyObject *joint = PyUnicode_FromString("\n\t");
    RL_OWNED PyObject *all = joint ? PyUnicode_Join(joint, load->errors) : NULL;
    if (name && all)
        PyErr_Format(PyExc_RuntimeError, "Error(s) in loading state_dict for %U:\n\t%U", name, all);
    return -1;
}

/* ---- load_state_dict(state_dict, strict=True, assign=False) ---- */
static int load_check_mapping(PyObject *state_dict) {
    if (PyDict_Check(state_dict)) return 0;
    RL_OWNED PyObject *abc = PyImport_ImportModule("collections.abc");
    RL_OWNED PyObject *mapping = abc ? PyObject_GetAttrString(abc, "Mapping") : NULL;
    int is = mapping ? PyObject_IsInstance(state_dict, mapping) : -1;
    if (is == 0)
        PyErr_Format(PyExc_TypeError, "Expected state_dict to be dict-like, got %S.", Py_TYPE(state_dict));
    return is > 0 ? 0 : -1;
}

/* *metadata: state_dict._metadata, owned, or NULL */
static int load_get_metadata(PyObject *state_dict, PyObject **metadata) {
    *metadata = PyObject_GetAttr(state_dict, rl_name._metadata);
    if (*metadata == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
        PyErr_Clear();
    } else if (Py_IsNone(*metadata))
        Py_CLEAR(*metadata);
    return 0;
}

static PyObject *load_new_result(PyObject *missing, PyObject *unexpected, PyObject *mismatched) {
    RL_OWNED PyObject *home = PyImport_ImportModule("rushlight.nn.modules.module");
    if (home == NULL) return NULL;
    if (mismatched) return PyObject_CallMethod(home, "_ReportedKeys", "OOO", missing, unexpected, mismatched);
    return PyObject_CallMethod(home, "_IncompatibleKeys", "OO", missing, unexpected);
}

/* 1 for "report", 0 for "raise" */
static int load_reports(PyObject *mismatched) {
    if (mismatched == NULL) return 0;
    if (PyUnicode_Check(mismatched)) {
        if (PyUnicode_CompareWithASCIIString(mismatched, "raise") == 0) return 0;
        if (PyUnicode_CompareWithASCIIString(mismatched, "report") == 0) return 1;
    }
    PyErr_Format(PyExc_ValueError, "mismatched should be 'raise' or 'report', got %R", mismatched);
    return -1;
}

/* *ties: owned, or NULL where no parameter of the tree stands in two places */
static int load_find_ties(PyObject *m, PyObject **ties) {
    RL_OWNED PyObject *home = PyImport_ImportModule("rushlight.nn.modules._ties");
    RL_OWNED PyObject *found = home ? PyObject_CallMethod(home, "find", "O", m) : NULL;
    if (found && !Py_IsNone(found)) *ties = rl_give(&found);
    return PyErr_Occurred() ? -1 : 0;
}

static int load_tree(rl_state_load *load, PyObject *m, int strict) {
    RL_STATE_SHARE share = {.at = NULL};
    RL_PLACE place = {.prefix = Py_NewRef(rl_name.empty)};
    if (rl_state_share_list(&share, load->whole) < 0) return -1;
    rl_state_load_begin(load);
    int done = load_walk(load, m, &share, &place);
    rl_state_load_end(load);
    if (done < 0 || load_report(load, m, strict) < 0) return -1;
    if (load->ties == NULL) return 0;
    RL_OWNED PyObject *settled = PyObject_CallMethod(load->ties, "settle", NULL);
    return settled ? 0 : -1;
}

static PyObject *load_state_dict(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature torchs = {"load_state_dict", 1, 3, {"state_dict", "strict", "assign"}};
    static const rl_signature ours = {
        "load_state_dict", 1, 4, {"state_dict", "strict", "assign", "mismatched"}};
    PyObject *bound[4];
    if (rl_method_bind(nargs > 3 ? &torchs : &ours, args, nargs, kwnames, bound) < 0 ||
        load_check_mapping(bound[0]) < 0)
        return NULL;
    int strict = bound[1] ? PyObject_IsTrue(bound[1]) : 1, assign = bound[2] ? PyObject_IsTrue(bound[2]) : 0;
    int reports = load_reports(bound[3]);
    if (strict < 0 || assign < 0 || reports < 0) return NULL;
    RL_OWNED PyObject *missing = PyList_New(0), *unexpected = PyList_New(0), *errors = PyList_New(0);
    RL_OWNED PyObject *mismatched = reports ? PyList_New(0) : NULL, *metadata = NULL, *ties = NULL;
    if (!missing || !unexpected || !errors || (reports && !mismatched)) return NULL;
    int known = load_get_metadata(bound[0], &metadata);
    RL_OWNED PyObject *result = known == 0 ? load_new_result(missing, unexpected, mismatched) : NULL;
    if (result == NULL || (assign && load_find_ties(m, &ties) < 0)) return NULL;
    rl_state_load load = {bound[0], missing,    unexpected, errors, metadata, bound[2] ? bound[2] : Py_False,
                          result,   mismatched, ties,       NULL};
    return load_tree(&load, m, strict) < 0 ? NULL : rl_give(&result);
}

#define LOAD_FN (PyCFunction)(void (*)(void)) load_state_dict
PyMethodDef rl_module_load_methods[] = {
    {"load_state_dict", LOAD_FN, METH_FASTCALL | METH_KEYWORDS, rl_module_load_state_dict_doc},
    {NULL, NULL, 0, NULL}};
