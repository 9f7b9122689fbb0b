/* load_state_dict. Where torch filters the whole dict anew for each child, its entries are handed down in
 * pieces, or in one pass dealt out to the children by their next name: what each module's
 * _load_from_state_dict sees is the same.
 *
 *   load_walk(m, share of m) ──► own entries ──► load_walk(child, its share) ... ──► post hooks of m
 *                                └ m._load_from_state_dict(dict of the share), unless all is plain */
#include "module.h"

/* ---- Module._load_from_state_dict ---- */
enum { ARG_DICT, ARG_PREFIX, ARG_METADATA, ARG_STRICT, ARG_MISSING, ARG_UNEXPECTED, ARG_ERRORS, ARG_COUNT };

static int load_pre_hooks(PyObject *m, PyObject *const *arg) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, RL_AT_load_pre, rl_name._load_state_dict_pre_hooks) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        RL_OWNED PyObject *done = PyObject_Vectorcall(it.value, arg, ARG_COUNT, NULL);
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
    const rl_load_job *job = rl_load_job_find(arg[ARG_ERRORS]);
    if (strict && PyList_Append(arg[ARG_MISSING], key) < 0) return -1;
    if (job == NULL || job->ties == NULL) return 0;
    RL_OWNED PyObject *done = PyObject_CallMethod(job->ties, "lack", "OOO", m, name, param);
    return done ? 0 : -1;
}

static int load_entries(PyObject *m, PyObject *const *arg, PyObject *local, int strict) {
    RL_OWNED PyObject *flag = PyObject_CallMethodObjArgs(arg[ARG_METADATA], rl_name.get,
                                                         rl_name.assign_to_params_buffers, Py_False, NULL);
    int assign = flag ? PyObject_IsTrue(flag) : -1, more;
    RL_MAP_ITER it;
    if (assign < 0 || rl_map_iter_begin(&it, local) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        RL_OWNED PyObject *key = rl_path_append(arg[ARG_PREFIX], it.key), *value = NULL;
        int has = key ? rl_map_find(arg[ARG_DICT], key, &value) : -1;
        if (has > 0)
            has = rl_load_entry(m, it.key, it.value, key, value, assign, arg[ARG_ERRORS]);
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
    int has = rl_map_find(arg[ARG_DICT], key, &value);
    if (has < 0) return -1;
    if (takes && has) {
        RL_OWNED PyObject *done = PyObject_CallMethodOneArg(m, rl_name.set_extra_state, value);
        return done ? 0 : -1;
    }
    if (!strict || takes == has) return 0;
    return PyList_Append(arg[takes ? ARG_MISSING : ARG_UNEXPECTED], key);
}

static int load_find_unexpected(PyObject *m, PyObject *const *arg, PyObject *local, PyObject *extra_key) {
    RL_OWNED PyObject *modules = rl_state_get(m, rl_name._modules);
    RL_OWNED PyObject *keys = modules ? PyObject_GetIter(arg[ARG_DICT]) : NULL;
    if (keys == NULL) return -1;
    for (PyObject *next; (next = PyIter_Next(keys)) != NULL;) {
        RL_OWNED PyObject *key = next;
        int dotted;
        Py_ssize_t end = rl_key_name_end(key, arg[ARG_PREFIX], &dotted);
        if (end == -2) return -1;
        if (end == -1 || PyUnicode_Compare(key, extra_key) == 0) continue;
        RL_OWNED PyObject *name = PyUnicode_Substring(key, PyUnicode_GET_LENGTH(arg[ARG_PREFIX]), end);
        int known = name ? rl_map_has(dotted ? modules : local, name) : -1;
        if (known < 0 || (!known && PyList_Append(arg[ARG_UNEXPECTED], key) < 0)) return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int load_own(PyObject *m, PyObject *const *arg) {
    int strict = PyObject_IsTrue(arg[ARG_STRICT]);
    if (strict < 0 || load_pre_hooks(m, arg) < 0) return -1;
    if (!PyUnicode_Check(arg[ARG_PREFIX]) || !PyList_Check(arg[ARG_MISSING]) ||
        !PyList_Check(arg[ARG_UNEXPECTED]) || !PyList_Check(arg[ARG_ERRORS])) {
        PyErr_SetString(
            PyExc_TypeError,
            "Module._load_from_state_dict() needs a str as prefix and lists for keys and messages");
        return -1;
    }
    RL_OWNED PyObject *local = PyDict_New();
    if (local == NULL || load_collect(m, rl_name._parameters, local) < 0 ||
        load_collect(m, rl_name._buffers, local) < 0 || load_entries(m, arg, local, strict) < 0)
        return -1;
    RL_OWNED PyObject *extra_key = rl_path_append(arg[ARG_PREFIX], rl_name._extra_state);
    if (extra_key == NULL || load_extra_state(m, arg, extra_key, strict) < 0) return -1;
    return strict ? load_find_unexpected(m, arg, local, extra_key) : 0;
}

static PyObject *load_from_state_dict(PyObject *m, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *kwnames) {
    static const rl_signature sig = {"_load_from_state_dict",
                                     ARG_COUNT,
                                     ARG_COUNT,
                                     {"state_dict", "prefix", "local_metadata", "strict", "missing_keys",
                                      "unexpected_keys", "error_msgs"}};
    PyObject *bound[ARG_COUNT];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    if (load_own(m, bound) < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- the tree ---- */
static PyObject *load_local_metadata(const rl_load_job *job, PyObject *prefix) {
    RL_OWNED PyObject *local = PyDict_New();
    if (local == NULL) return NULL;
    if (job->metadata) {
        RL_OWNED PyObject *key = rl_path_strip(prefix);
        PyObject *known =
            key ? PyObject_CallMethodObjArgs(job->metadata, rl_name.get, key, local, NULL) : NULL;
        if (known == NULL) return NULL;
        Py_SETREF(local, known);
    }
    int assign = PyObject_IsTrue(job->assign);
    if (assign < 0 || (assign && PyObject_SetItem(local, rl_name.assign_to_params_buffers, job->assign) < 0))
        return NULL;
    return rl_give(&local);
}

static int load_call_own(const rl_load_job *job, PyObject *m, PyObject *keys, PyObject *prefix) {
    RL_OWNED PyObject *local = load_local_metadata(job, prefix);
    if (local == NULL) return -1;
    PyObject *arg[ARG_COUNT] = {keys, prefix, local, Py_True, job->missing, job->unexpected, job->errors};
    if (rl_module_ours(m, RL_M__load_from_state_dict)) return load_own(m, arg);
    RL_OWNED PyObject *done = rl_method_call(m, rl_name._load_from_state_dict, arg, ARG_COUNT, NULL);
    return done ? 0 : -1;
}

/* Is there nothing in the metadata that says assign=True, for this load or left behind by one before? */
static int load_copies(const rl_load_job *job, rl_place *place) {
    if (job->assign != Py_False) return 0;
    if (job->metadata == NULL) return 1;
    if (!PyODict_CheckExact(job->metadata) && !PyDict_CheckExact(job->metadata)) return 0;
    PyObject *path = rl_place_path(place);
    PyObject *local = path ? PyDict_GetItemWithError(job->metadata, path) : NULL;
    if (local == NULL) return PyErr_Occurred() ? -1 : 1;
    return PyDict_CheckExact(local) && PyDict_Contains(local, rl_name.assign_to_params_buffers) == 0;
}

/* 1: Module's own method would only copy the entries of `share` */
static int load_is_plain(const rl_load_job *job, PyObject *m, rl_place *place) {
    const uint32_t methods = 1u << RL_M__load_from_state_dict;
    if (!(rl_module_facts_get(Py_TYPE(m))->ours >> RL_M_set_extra_state & 1)) return 0;
    if (!rl_module_all_ours(m, methods)) return 0;
    PyObject *dict = rl_module_dict(m), *hooks = NULL;
    if (dict) hooks = rl_state_peek(dict, RL_AT_load_pre, rl_name._load_state_dict_pre_hooks);
    if (hooks == NULL) return PyErr_Occurred() ? -1 : 0;
    return PyODict_CheckExact(hooks) && PyDict_GET_SIZE(hooks) == 0 ? load_copies(job, place) : 0;
}

/* Copies the next entries into m's `state`; a kernel may run without the GIL, so nothing is taken for
 * granted. */
static int load_members(const rl_load_job *job, PyObject *m, PyObject *state, const rl_entry **at,
                        const rl_entry *end) {
    RL_MAP_ITER it = {.map = NULL};
    int more = 0;
    if (*at == end) return 0;
    if (rl_map_iter_of(&it, m, rl_state_at(state), state) < 0) return -1;
    while (*at < end && (more = rl_map_iter_next(&it)) > 0) {
        if (Py_IsNone(it.value)) continue;
        int skipped = state == rl_name._buffers ? rl_state_is_fleeting(m, it.key) : 0;
        if (skipped < 0) return -1;
        if (skipped) continue;
        const rl_entry *e = (*at)++;
        if (rl_tensor_check(it.value) && rl_load_bytes((rl_tensor *)it.value, (rl_tensor *)e->value))
            continue;
        if (rl_load_entry(m, it.key, it.value, e->key, e->value, 0, job->errors) < 0) return -1;
    }
    return more < 0 ? -1 : 0;
}

/* OrderedDict(state_dict), with its _metadata */
static PyObject *load_copy_dict(const rl_load_job *job) {
    RL_OWNED PyObject *copy = PyObject_CallOneArg((PyObject *)&PyODict_Type, job->whole);
    if (copy && job->metadata && PyObject_SetAttr(copy, rl_name._metadata, job->metadata) < 0) return NULL;
    return rl_give(&copy);
}

/* *lies: the share is listed as the tree below m asks for it, and the children's pieces begin at *lies */
static int load_self(const rl_load_job *job, PyObject *m, rl_share *share, rl_place *place, Py_ssize_t skip,
                     Py_ssize_t *lies) {
    *lies = rl_share_fits(share, m, skip);
    int plain = *lies < 0 ? 0 : load_is_plain(job, m, place);
    if (plain < 0) return -1;
    if (plain) {
        const rl_entry *at = share->at, *end = at + *lies;
        return load_members(job, m, rl_name._parameters, &at, end) < 0 ||
                       load_members(job, m, rl_name._buffers, &at, end) < 0
                   ? -1
                   : 0;
    }
    if (skip == 0 && (share->dict = load_copy_dict(job)) == NULL) return -1;
    PyObject *dict = rl_share_dict(share), *prefix = dict ? rl_place_prefix(place) : NULL;
    if (prefix == NULL || load_call_own(job, m, dict, prefix) < 0) return -1;
    if (rl_share_list(share, dict) < 0) return -1; /* whoever saw the dict may have changed it */
    *lies = rl_share_fits(share, m, skip);
    return 0;
}

static int load_post_hooks(const rl_load_job *job, PyObject *m) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, RL_AT_load_post, rl_name._load_state_dict_post_hooks) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        PyObject *args[] = {m, job->result};
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

static int load_walk(const rl_load_job *job, PyObject *m, rl_share *share, rl_place *place);
static int load_children(const rl_load_job *job, rl_map_iter *it, rl_share *share, rl_place *place,
                         Py_ssize_t skip, Py_ssize_t lies) {
    RL_OWNED PyObject *shares = NULL;
    int more;
    while ((more = rl_map_iter_next(it)) > 0) {
        RL_PLACE below = {.path = NULL};
        RL_SHARE piece = {.at = NULL};
        if (lies >= 0) rl_share_cut(share, &lies, skip, it->key, &piece);
        if (Py_IsNone(it->value)) continue;
        if (rl_place_enter(&below, place, it->key) < 0) return -1;
        if (lies < 0 && rl_share_deal(share, place, &shares, it->key, &below, &piece) < 0) return -1;
        if (load_walk(job, it->value, &piece, &below) < 0) return -1;
    }
    return more;
}

static int load_below(const rl_load_job *job, PyObject *m, rl_share *share, rl_place *place, Py_ssize_t skip,
                      Py_ssize_t lies) {
    RL_MAP_ITER it;
    if (rl_map_iter_of(&it, m, RL_AT_modules, rl_name._modules) < 0) return -1;
    if (Py_EnterRecursiveCall(" while loading the state of a module")) return -1;
    int done = load_children(job, &it, share, place, skip, lies);
    Py_LeaveRecursiveCall();
    return done;
}

static int load_walk(const rl_load_job *job, PyObject *m, rl_share *share, rl_place *place) {
    /* the root has no path but an empty prefix */
    Py_ssize_t skip = place->path ? PyUnicode_GET_LENGTH(place->path) + 1 : 0, lies;
    if (load_self(job, m, share, place, skip, &lies) < 0) return -1;
    if (load_below(job, m, share, place, skip, lies) < 0) return -1;
    return load_post_hooks(job, m);
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

static int load_report(const rl_load_job *job, PyObject *m, int strict) {
    if (strict && (load_report_keys(job->errors, job->unexpected, "Unexpected") < 0 ||
                   load_report_keys(job->errors, job->missing, "Missing") < 0))
        return -1;
    if (PyList_GET_SIZE(job->errors) == 0) return 0;
    RL_OWNED PyObject *name = PyType_GetName(Py_TYPE(m));
    RL_OWNED PyObject *joint = PyUnicode_FromString("\n\t");
    RL_OWNED PyObject *all = joint ? PyUnicode_Join(joint, job->errors) : NULL;
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

static int load_tree(rl_load_job *job, PyObject *m, int strict) {
    RL_SHARE share = {.at = NULL};
    RL_PLACE place = {.prefix = Py_NewRef(rl_name.empty)};
    if (rl_share_list(&share, job->whole) < 0) return -1;
    rl_load_job_begin(job);
    int done = load_walk(job, m, &share, &place);
    rl_load_job_end(job);
    if (done < 0 || load_report(job, m, strict) < 0) return -1;
    if (job->ties == NULL) return 0;
    RL_OWNED PyObject *settled = PyObject_CallMethod(job->ties, "settle", NULL);
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
    rl_load_job job = {bound[0], missing,    unexpected, errors, metadata, bound[2] ? bound[2] : Py_False,
                       result,   mismatched, ties,       NULL};
    return load_tree(&job, m, strict) < 0 ? NULL : rl_give(&result);
}

PyMethodDef rl_module_load_methods[] = {
    {"load_state_dict", (PyCFunction)(void (*)(void))load_state_dict, METH_FASTCALL | METH_KEYWORDS,
     "load_state_dict($self, /, state_dict, strict=True, assign=False, *, mismatched='raise')\n--\n\n"
     "Copy what a state dict holds into the parameters and buffers; answers with the keys that did not "
     "match. "
     "mismatched='report' puts entries of another size into the answer's mismatched_keys, as (key, size in "
     "the state dict, size here), instead of raising. assign=True takes the tensors over; parameters that "
     "are tied stay tied."},
    {"_load_from_state_dict", (PyCFunction)(void (*)(void))load_from_state_dict,
     METH_FASTCALL | METH_KEYWORDS,
     "_load_from_state_dict($self, /, state_dict, prefix, local_metadata, strict, missing_keys, "
     "unexpected_keys, "
     "error_msgs)\n--\n\n"},
    {NULL, NULL, 0, NULL}};
