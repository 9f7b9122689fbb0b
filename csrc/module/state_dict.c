/* state_dict and load_state_dict. */
#include "internal.h"

typedef struct {
    PyObject *key, *value;
} rl_state_entry;
typedef struct {
    const rl_state_entry *at; /* in `list`, or in the list of a share above; NULL: only `dict` */
    Py_ssize_t n;
    rl_state_entry *list; /* owned, as its entries are */
    PyObject *dict;       /* owned; NULL until somebody needs it */
} rl_state_share;
static void state_share_end(rl_state_share *s);

#define RL_STATE_SHARE __attribute__((cleanup(state_share_end))) rl_state_share

/* ---- the entries of a state dict on their way down a tree ----
 * state_dict() lists what a module has itself and then
 * its children's in their order, so that what belongs to one module lies in one piece:
 *
 *   weight  bias  a.weight  a.b.weight  a.b.bias  c.weight
 *   └─ own ────┘  └─ a ────────────────────────┘  └─ c ──┘
 *
 * A share that lies so is handed down by its bounds, and nobody sees a dict. For everything else, and for
 * everybody who looks, a share is the dict that PyTorch would have filtered for this module. */
static void list_drop(rl_state_entry *list, Py_ssize_t n) {
    for (Py_ssize_t i = 0; list && i < n; i++) {
        Py_DECREF(list[i].key);
        Py_DECREF(list[i].value);
    }
    PyMem_Free(list);
}

static void share_unlist(rl_state_share *s) {
    rl_state_entry *list = s->list;
    Py_ssize_t n = s->list ? s->n : 0;
    s->list = NULL;
    s->at = NULL;
    s->n = 0;
    list_drop(list, n);
}

static void state_share_end(rl_state_share *s) {
    share_unlist(s);
    Py_CLEAR(s->dict);
}

/* ---- lists ---- */
static int list_fill_dict(rl_state_share *s, PyObject *dict) {
    PyObject *key, *value;
    for (Py_ssize_t pos = 0; PyDict_Next(dict, &pos, &key, &value); s->n++)
        s->list[s->n] = (rl_state_entry){Py_NewRef(key), Py_NewRef(value)};
    return 0;
}

/* The order of an OrderedDict is its own, so it goes by its iterator. */
static int list_fill_ordered(rl_state_share *s, PyObject *dict, Py_ssize_t capacity) {
    RL_OWNED PyObject *keys = PyObject_GetIter(dict);
    for (PyObject *key; keys && (key = PyIter_Next(keys)) != NULL;) {
        PyObject *value = s->n < capacity ? PyDict_GetItemWithError(dict, key) : NULL;
        if (value == NULL) {
            Py_DECREF(key);
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_RuntimeError, "dictionary changed size during iteration");
            return -1;
        }
        s->list[s->n++] = (rl_state_entry){key, Py_NewRef(value)};
    }
    return keys && !PyErr_Occurred() ? 0 : -1;
}

static int list_is_ascii(const rl_state_entry *list, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (!PyUnicode_CheckExact(list[i].key) || !PyUnicode_IS_COMPACT_ASCII(list[i].key)) return 0;
    return 1;
}

/* Lists what the dict has now, if it can be listed. */
static int state_share_list(rl_state_share *s, PyObject *dict) {
    share_unlist(s);
    if (!PyDict_CheckExact(dict) && !PyODict_CheckExact(dict)) return 0;
    Py_ssize_t capacity = PyDict_GET_SIZE(dict);
    if ((s->list = PyMem_New(rl_state_entry, capacity ? capacity : 1)) == NULL) return PyErr_NoMemory(), -1;
    s->at = s->list;
    int done = PyDict_CheckExact(dict) ? list_fill_dict(s, dict) : list_fill_ordered(s, dict, capacity);
    if (done < 0 || !list_is_ascii(s->list, s->n)) share_unlist(s);
    return done;
}

/* ---- dicts ---- */
/* borrowed */
static PyObject *state_share_dict(rl_state_share *s) {
    if (s->dict) return s->dict;
    RL_OWNED PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && i < s->n; i++)
        if (PyDict_SetItem(dict, s->at[i].key, s->at[i].value) < 0) return NULL;
    return s->dict = rl_move(&dict);
}

/* ---- how a list lies ---- */
typedef struct {
    const char *text;
    Py_ssize_t n;
} key_name;

/* 0 for names that dotted keys cannot be told apart by */
static int name_get(PyObject *o, key_name *name) {
    if (!PyUnicode_CheckExact(o) || !PyUnicode_IS_COMPACT_ASCII(o)) return 0;
    *name = (key_name){(const char *)PyUnicode_1BYTE_DATA(o), PyUnicode_GET_LENGTH(o)};
    return name->n > 0 && memchr(name->text, '.', (size_t)name->n) == NULL;
}

/* Does the key go on with the name after its first `skip` characters, and then with `end`? */
static int key_goes_on(PyObject *key, Py_ssize_t skip, const key_name *name, char end) {
    const char *text = (const char *)PyUnicode_1BYTE_DATA(key);
    Py_ssize_t left = PyUnicode_GET_LENGTH(key) - skip;
    if (left < name->n || (end ? left == name->n : left > name->n)) return 0;
    return memcmp(text + skip, name->text, (size_t)name->n) == 0 && (!end || text[skip + name->n] == end);
}

static Py_ssize_t share_child_end(const rl_state_share *s, Py_ssize_t at, Py_ssize_t skip,
                                  const key_name *name) {
    while (at < s->n && key_goes_on(s->at[at].key, skip, name, '.')) at++;
    return at;
}

/* Can the value be copied without running anybody's code or meeting an error worth a report? */
static int entry_is_plain(PyObject *param, PyObject *value) {
    PyTypeObject *const types[] = {Py_TYPE(param), Py_TYPE(value)};
    for (int i = 0; i < 2; i++)
        if (types[i] != rl_tensor_type && types[i] != rl_parameter_type) return 0;
    const rl_view *a = &((rl_tensor *)param)->v, *b = &((rl_tensor *)value)->v;
    return a->device == RL_CPU && b->device == RL_CPU && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, sizeof(int64_t) * a->ndim) == 0;
}

/* Moves *at over the entries of m's `state`, which must stand there as m has them. */
static int share_takes_members(const rl_state_share *s, PyObject *map, PyObject *fleeting, Py_ssize_t skip,
                               Py_ssize_t *at) {
    PyObject *o, *value;
    key_name name;
    for (Py_ssize_t pos = 0; PyDict_Next(map, &pos, &o, &value);) {
        if (Py_IsNone(value)) continue;
        int skipped = fleeting && PySet_GET_SIZE(fleeting) ? PySet_Contains(fleeting, o) : 0;
        if (skipped < 0) PyErr_Clear(); /* the long way meets it again */
        if (skipped > 0) continue;
        if (skipped || *at == s->n || !name_get(o, &name) || !key_goes_on(s->at[*at].key, skip, &name, 0) ||
            !entry_is_plain(value, s->at[*at].value))
            return 0;
        ++*at;
    }
    return 1;
}

static PyObject *state_exact(PyObject *dict, Py_ssize_t at, PyObject *name) {
    PyObject *map = rl_state_peek(dict, at, name);
    if (map == NULL) PyErr_Clear();
    return map && PyDict_CheckExact(map) ? map : NULL;
}

/* When the list is, after `skip` characters, just what m and then its children ask for: how many entries
 * are m's own. Otherwise -1, never with an exception. */
static Py_ssize_t state_share_fits(const rl_state_share *s, PyObject *m, Py_ssize_t skip) {
    PyObject *dict = rl_module_dict(m), *name, *child;
    if (s->at == NULL || dict == NULL) return -1;
    PyObject *parameters = state_exact(dict, RL_AT_parameters, rl_name._parameters);
    PyObject *buffers = state_exact(dict, RL_AT_buffers, rl_name._buffers);
    PyObject *modules = state_exact(dict, RL_AT_modules, rl_name._modules);
    PyObject *fleeting = rl_state_peek(dict, RL_AT_fleeting, rl_name._non_persistent_buffers_set);
    Py_ssize_t at = 0;
    if (!parameters || !buffers || !modules || !fleeting || !PySet_CheckExact(fleeting)) return -1;
    if (!share_takes_members(s, parameters, NULL, skip, &at) ||
        !share_takes_members(s, buffers, fleeting, skip, &at))
        return -1;
    Py_ssize_t own = at;
    for (Py_ssize_t pos = 0; PyDict_Next(modules, &pos, &name, &child);) {
        key_name part;
        if (!name_get(name, &part)) return -1;
        at = share_child_end(s, at, skip, &part);
    }
    return at == s->n ? own : -1;
}

/* The next piece, which is the child's of this name; borrows the entries. */
static void state_share_cut(const rl_state_share *s, Py_ssize_t *at, Py_ssize_t skip, PyObject *name,
                            rl_state_share *piece) {
    key_name part;
    Py_ssize_t end = name_get(name, &part) ? share_child_end(s, *at, skip, &part) : *at;
    *piece = (rl_state_share){.at = s->at + *at, .n = end - *at};
    *at = end;
}

/* ---- dealing a dict out ---- */
/* Where the name after the prefix ends; -1 when the key does not start with the prefix, -2 on an error. */
static Py_ssize_t state_key_end(PyObject *key, PyObject *prefix, int *dotted) {
    if (!PyUnicode_Check(key)) {
        RL_OWNED PyObject *starts = PyObject_CallMethodOneArg(key, rl_name.startswith, prefix);
        if (starts) PyErr_SetString(PyExc_TypeError, "the keys of a state_dict must be str");
        return -2;
    }
    Py_ssize_t n = PyUnicode_GET_LENGTH(key), np = PyUnicode_GET_LENGTH(prefix);
    if (np) {
        Py_ssize_t starts = PyUnicode_Tailmatch(key, prefix, 0, n, -1);
        if (starts <= 0) return starts < 0 ? -2 : -1;
    }
    Py_ssize_t dot = PyUnicode_FindChar(key, '.', np, n, 1);
    if (dot == -2) return -2;
    *dotted = dot >= 0;
    return *dotted ? dot : n;
}

/* {child name: {key: value}} of all keys that go on below the prefix */
static PyObject *dict_deal(PyObject *keys, PyObject *prefix) {
    RL_OWNED PyObject *shares = PyDict_New();
    RL_MAP_ITER it;
    int more;
    if (shares == NULL || rl_map_iter_begin(&it, keys) < 0) return NULL;
    while ((more = rl_map_iter_next(&it)) > 0) {
        int dotted;
        Py_ssize_t end = state_key_end(it.key, prefix, &dotted);
        if (end == -2) return NULL;
        if (end == -1 || !dotted) continue;
        RL_OWNED PyObject *name = PyUnicode_Substring(it.key, PyUnicode_GET_LENGTH(prefix), end);
        PyObject *share = name ? PyDict_GetItemWithError(shares, name) : NULL;
        if (share == NULL) {
            RL_OWNED PyObject *fresh = PyErr_Occurred() ? NULL : PyDict_New();
            if (fresh == NULL || PyDict_SetItem(shares, name, fresh) < 0) return NULL;
            share = fresh; /* `shares` holds it */
        }
        if (PyDict_SetItem(share, it.key, it.value) < 0) return NULL;
    }
    return more < 0 ? NULL : rl_move(&shares);
}

/* A child whose name holds a dot: {k: v for k, v in keys.items() if k.startswith(below)} */
static PyObject *dict_filter(PyObject *keys, PyObject *below) {
    RL_OWNED PyObject *share = PyDict_New();
    RL_MAP_ITER it;
    int more;
    if (share == NULL || rl_map_iter_begin(&it, keys) < 0) return NULL;
    while ((more = rl_map_iter_next(&it)) > 0) {
        int dotted;
        Py_ssize_t end = state_key_end(it.key, below, &dotted);
        if (end == -2 || (end >= 0 && PyDict_SetItem(share, it.key, it.value) < 0)) return NULL;
    }
    return more < 0 ? NULL : rl_move(&share);
}

static PyObject *dict_share(PyObject *keys, PyObject *shares, PyObject *name, PyObject *below) {
    if (PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1) >= 0) return dict_filter(keys, below);
    PyObject *share = PyDict_GetItemWithError(shares, name);
    if (share) return Py_NewRef(share);
    return PyErr_Occurred() ? NULL : PyDict_New();
}

/* The share of the child `name` at `below`, by the dict of the share at `place`; *shares starts as NULL. */
static int state_share_deal(rl_state_share *share, rl_state_place *place, PyObject **shares, PyObject *name,
                            rl_state_place *below, rl_state_share *piece) {
    PyObject *keys = state_share_dict(share), *prefix = keys ? rl_state_place_prefix(place) : NULL;
    PyObject *child_prefix = prefix ? rl_state_place_prefix(below) : NULL;
    if (child_prefix == NULL) return -1;
    if (*shares == NULL && (*shares = dict_deal(keys, prefix)) == NULL) return -1;
    *piece = (rl_state_share){.dict = dict_share(keys, *shares, name, child_prefix)};
    return piece->dict ? state_share_list(piece, piece->dict) : -1;
}

/* ---- state_dict ----
 * every module puts its own state under its prefix, then its children theirs. */
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

static int save_put(PyObject *destination, rl_state_place *place, PyObject *name, PyObject *value, int keep) {
    RL_OWNED PyObject *key = rl_state_place_key(place, name);
    RL_OWNED PyObject *saved = key ? save_detached(value, keep) : NULL;
    return saved ? save_set(destination, key, saved) : -1;
}

static int save_members(PyObject *m, PyObject *state, PyObject *destination, rl_state_place *place,
                        int keep) {
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

static int save_own(PyObject *m, PyObject *destination, rl_state_place *place, int keep) {
    if (save_members(m, rl_name._parameters, destination, place, keep) < 0 ||
        save_members(m, rl_name._buffers, destination, place, keep) < 0)
        return -1;
    if (!save_has_extra_state(m)) return 0;
    RL_OWNED PyObject *key = rl_state_place_key(place, rl_name._extra_state);
    RL_OWNED PyObject *extra = key ? PyObject_CallMethodNoArgs(m, rl_name.get_extra_state) : NULL;
    return extra ? PyObject_SetItem(destination, key, extra) : -1;
}

static PyObject *save_to_state_dict(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"_save_to_state_dict", 3, 3, {"destination", "prefix", "keep_vars"}};
    PyObject *bound[3];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    RL_STATE_PLACE place = {.prefix = Py_NewRef(bound[1])};
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
static PyObject *save_metadata(PyObject *m, PyObject *destination, rl_state_place *place) {
    RL_OWNED PyObject *version = PyObject_GetAttr(m, rl_name._version);
    RL_OWNED PyObject *local = version ? PyDict_New() : NULL;
    if (local == NULL || PyDict_SetItem(local, rl_name.version, version) < 0) return NULL;
    RL_OWNED PyObject *all = save_all_metadata(destination);
    if (all == NULL) return PyErr_Occurred() ? NULL : rl_move(&local);
    PyObject *path = rl_state_place_path(place);
    return path && save_set(all, path, local) == 0 ? rl_move(&local) : NULL;
}

static int save_pre_hooks(PyObject *m, rl_state_place *place, PyObject *keep_vars) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, RL_AT_state_dict_pre, rl_name._state_dict_pre_hooks) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        PyObject *args[] = {m, rl_state_place_prefix(place), keep_vars};
        RL_OWNED PyObject *done = args[1] ? PyObject_Vectorcall(it.value, args, 3, NULL) : NULL;
        if (done == NULL) return -1;
    }
    return more;
}

/* Hooks may put another dict in place of *destination, unless they came through the public method. */
static int save_post_hooks(PyObject *m, PyObject **destination, rl_state_place *place, PyObject *local) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_of(&it, m, RL_AT_state_dict, rl_name._state_dict_hooks) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        PyObject *args[] = {m, *destination, rl_state_place_prefix(place), local};
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
        Py_SETREF(*destination, rl_move(&answer));
    }
    return more;
}

static int save_call_own(PyObject *m, PyObject *destination, rl_state_place *place, PyObject *keep_vars) {
    if (rl_module_ours(m, RL_M__save_to_state_dict)) {
        int keep = PyObject_IsTrue(keep_vars);
        return keep < 0 ? -1 : save_own(m, destination, place, keep);
    }
    PyObject *args[] = {destination, rl_state_place_prefix(place), keep_vars};
    RL_OWNED PyObject *done = args[1] ? rl_method_call(m, rl_name._save_to_state_dict, args, 3, NULL) : NULL;
    return done ? 0 : -1;
}

static PyObject *save_walk(PyObject *m, PyObject *destination, rl_state_place *place, PyObject *keep_vars);
static PyObject *save_child(PyObject *child, PyObject *destination, rl_state_place *place,
                            PyObject *keep_vars) {
    if (rl_module_ours(child, RL_M_state_dict)) return save_walk(child, destination, place, keep_vars);
    PyObject *args[] = {destination, rl_state_place_prefix(place), keep_vars};
    return args[1] ? rl_method_call(child, rl_name.state_dict, args, 3, kw_state_dict) : NULL;
}

static int save_children(rl_map_iter *it, PyObject *destination, rl_state_place *place, PyObject *keep_vars) {
    int more;
    while ((more = rl_map_iter_next(it)) > 0) {
        if (Py_IsNone(it->value)) continue;
        RL_STATE_PLACE below;
        if (rl_state_place_enter(&below, place, it->key) < 0) return -1;
        RL_OWNED PyObject *done = save_child(it->value, destination, &below, keep_vars);
        if (done == NULL) return -1;
    }
    return more;
}

static int save_below(PyObject *m, PyObject *destination, rl_state_place *place, PyObject *keep_vars) {
    RL_MAP_ITER it;
    if (rl_map_iter_of(&it, m, RL_AT_modules, rl_name._modules) < 0) return -1;
    if (Py_EnterRecursiveCall(" while collecting the state of a module")) return -1;
    int done = save_children(&it, destination, place, keep_vars);
    Py_LeaveRecursiveCall();
    return done;
}

static PyObject *save_walk(PyObject *m, PyObject *destination, rl_state_place *place, PyObject *keep_vars) {
    RL_OWNED PyObject *result = Py_NewRef(destination);
    RL_OWNED PyObject *local = save_metadata(m, destination, place);
    if (local == NULL || save_pre_hooks(m, place, keep_vars) < 0 ||
        save_call_own(m, destination, place, keep_vars) < 0 ||
        save_below(m, destination, place, keep_vars) < 0 || save_post_hooks(m, &result, place, local) < 0)
        return NULL;
    return rl_move(&result);
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
    return rl_move(&destination);
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
    RL_STATE_PLACE place = {.prefix = Py_NewRef(bound[1] ? bound[1] : rl_name.empty)};
    return save_walk(m, destination, &place, bound[2] ? bound[2] : Py_False);
}

PyMethodDef rl_module_save_methods[] = {
    {"state_dict", (PyCFunction)(void (*)(void))save_state_dict, METH_FASTCALL | METH_KEYWORDS,
     rl_module_state_dict_doc},
    {"_save_to_state_dict", (PyCFunction)(void (*)(void))save_to_state_dict, METH_FASTCALL | METH_KEYWORDS,
     "_save_to_state_dict($self, /, destination, prefix, keep_vars)\n--\n\n"},
    {NULL, NULL, 0, NULL}};

/* ---- load_state_dict ----
 * what all modules of a load share, and what each of them does. */
/* A call of load_state_dict() under way. */
typedef struct rl_state_load {
    PyObject *whole;                         /* the state dict as it was given */
    PyObject *missing, *unexpected, *errors; /* lists that the modules append to */
    PyObject *metadata;                      /* of the whole state dict, or NULL */
    PyObject *assign;
    PyObject *result;     /* _IncompatibleKeys(missing, unexpected) */
    PyObject *mismatched; /* list of (key, shape given, shape here); NULL: these are errors */
    PyObject *ties;       /* nn.modules._tied_parameters.Ties, or NULL */
    struct rl_state_load *outer;
} rl_state_load;

/* Module._load_from_state_dict(m, *arg) */
enum {
    RL_STATE_ARG_DICT,
    RL_STATE_ARG_PREFIX,
    RL_STATE_ARG_METADATA,
    RL_STATE_ARG_STRICT,
    RL_STATE_ARG_MISSING,
    RL_STATE_ARG_UNEXPECTED,
    RL_STATE_ARG_ERRORS,
    RL_STATE_ARG_COUNT
};

/* ---- load_state_dict, one entry ----
 * does it fit, and then copy it or take it over. */
/* Note [Loads under way]: users override _load_from_state_dict and call it themselves, so its arguments
 * are PyTorch's and say nothing of the last two. The list `errors` tells which load a call belongs to. */
static rl_state_load *loads;

/* NULL for lists of somebody else */
static const rl_state_load *state_load_find(PyObject *errors) {
    const rl_state_load *load = loads;
    while (load && load->errors != errors) load = load->outer;
    return load;
}

static void state_load_begin(rl_state_load *load) {
    load->outer = loads;
    loads = load;
}

static void state_load_end(rl_state_load *load) { /* threads may leave in another order than they came */
    rl_state_load **at = &loads;
    while (*at != load) at = &(*at)->outer;
    *at = load->outer;
}

/* ---- one entry ---- */
static int load_note_steal(PyObject *errors, PyObject *text) {
    RL_OWNED PyObject *owned = text;
    return owned ? PyList_Append(errors, owned) : -1;
}

/* "... an exception occurred : ('...',)."; anything but an Exception goes on */
static int load_note_raised(PyObject *errors, PyObject *key, PyObject *param, PyObject *input) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    RL_OWNED PyObject *raised = rl_raised_take();
    RL_OWNED PyObject *have = PyObject_CallMethodNoArgs(param, rl_name.size);
    RL_OWNED PyObject *given = have ? PyObject_CallMethodNoArgs(input, rl_name.size) : NULL;
    RL_OWNED PyObject *args = given ? PyObject_GetAttrString(raised, "args") : NULL;
    if (args == NULL) return -1;
    return load_note_steal(
        errors,
        PyUnicode_FromFormat("While copying the parameter named \"%U\", whose dimensions in the model are "
                             "%S and whose dimensions in the checkpoint are %S, an exception occurred "
                             ": %S.",
                             key, have, given, args));
}

/* Does it wait for its shape? Only subclasses of Parameter and Tensor can. */
static int load_is_lazy(PyObject *t) {
    PyTypeObject *type = Py_TYPE(t);
    if (type == rl_parameter_type || type == rl_tensor_type) return 0;
    return _PyType_Lookup(type, rl_name.materialize) != NULL;
}

static PyObject *load_shape(PyObject *t) {
    int plain = rl_tensor_check(t) && !load_is_lazy(t);
    return plain ? rl_tensor_shape((rl_tensor *)t) : PyObject_GetAttr(t, rl_name.shape);
}

/* Checkpoints of 0.3 hold scalars as [1]: *input = (*input)[0]. Then 1 when the shapes agree. */
static int load_fit_shape(PyObject *param, PyObject **input, PyObject **have, PyObject **given) {
    if (load_is_lazy(param)) return 1;
    if (rl_tensor_check(param) && rl_tensor_check(*input) && !load_is_lazy(*input)) {
        const rl_view *a = &((rl_tensor *)param)->v, *b = &((rl_tensor *)*input)->v;
        if (a->ndim == b->ndim && memcmp(a->shape, b->shape, sizeof(int64_t) * a->ndim) == 0) return 1;
    }
    if ((*have = load_shape(param)) == NULL || (*given = load_shape(*input)) == NULL) return -1;
    Py_ssize_t nh = PyObject_Size(*have), ng = nh < 0 ? -1 : PyObject_Size(*given);
    if (ng < 0) return -1;
    if (nh == 0 && ng == 1) {
        RL_OWNED PyObject *first = PySequence_GetItem(*given, 0);
        long n = first ? PyLong_AsLong(first) : -1;
        if (n == -1 && PyErr_Occurred()) return -1;
        if (n == 1) {
            RL_OWNED PyObject *zero = PyLong_FromLong(0);
            PyObject *scalar = zero ? PyObject_GetItem(*input, zero) : NULL; /* tensors are no sequences */
            if (scalar == NULL) return -1;
            Py_SETREF(*input, scalar);
            Py_SETREF(*given, load_shape(scalar));
            if (*given == NULL) return -1;
        }
    }
    return PyObject_RichCompareBool(*have, *given, Py_EQ);
}

static int load_warn_meta(PyObject *key, PyObject *param, PyObject *input) {
    if (!rl_tensor_check(param) || !rl_tensor_check(input)) return 0;
    if (((rl_tensor *)param)->v.device != RL_META || ((rl_tensor *)input)->v.device == RL_META) return 0;
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1,
        "for %U: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
        "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in "
        "the state dictionary to their corresponding key in the module instead of copying them "
        "in place?)",
        key);
}

/* Small copies that need no kernel; the dispatcher gives way to other threads for the large ones. */
enum { LOAD_SMALL = 1 << 16 };
/* Copies where no kernel is needed: 1 when that was all; 0: it takes state_load_entry, to the same end. */
static int state_load_bytes(rl_tensor *to, rl_tensor *from) {
    int64_t bytes = to->v.numel * rl_itemsize(to->v.dtype);
    if (to->v.device != RL_CPU || from->v.device != RL_CPU) return 0;
    if (to->v.dtype != from->v.dtype || to->v.numel != from->v.numel || bytes > LOAD_SMALL || to->inference ||
        !rl_is_contiguous(&to->v) || !rl_is_contiguous(&from->v))
        return 0;
    RL_RAW;
    const void *source = rl_host_data(&from->v);
    if (!source && bytes) return -1;
    rl_write_begin(to->v.storage);
    if (bytes) memmove(rl_data(&to->v, RL_WRITE), source, (size_t)bytes);
    rl_write_end(to->v.storage);
    rl_version_bump(to);
    return 1;
}

/* with no_grad(): param.copy_(input) */
static int load_copy(PyObject *param, PyObject *input) {
    int before = rl_tls.grad, done;
    rl_tls.grad = 0;
    if ((Py_TYPE(param) == rl_parameter_type || Py_TYPE(param) == rl_tensor_type) && rl_tensor_check(input))
        done = rl_tensor_copy((rl_tensor *)param, (rl_tensor *)input);
    else {
        RL_OWNED PyObject *copied = PyObject_CallMethodOneArg(param, rl_name.copy_, input);
        done = copied ? 0 : -1;
    }
    rl_tls.grad = before;
    return done;
}

/* assign=True: setattr(m, name, input), as a Parameter with the old one's requires_grad */
static int load_assign(const rl_state_load *load, PyObject *m, PyObject *name, PyObject *param,
                       PyObject *input) {
    RL_OWNED PyObject *fresh = Py_NewRef(input);
    if (rl_parameter_check(param)) {
        RL_OWNED PyObject *grad = PyObject_GetAttr(param, rl_name.requires_grad);
        if (grad == NULL) return -1;
        if (rl_parameter_check(input)) {
            RL_OWNED PyObject *done = PyObject_CallMethodOneArg(input, rl_name.requires_grad_, grad);
            if (done == NULL) return -1;
        } else {
            PyObject *made = PyObject_CallFunctionObjArgs((PyObject *)rl_parameter_type, input, grad, NULL);
            if (made == NULL) return -1;
            Py_SETREF(fresh, made);
        }
    }
    if (load && load->ties) {
        PyObject *kept = PyObject_CallMethod(load->ties, "keep", "OO", param, fresh);
        if (kept == NULL) return -1;
        Py_SETREF(fresh, kept);
    }
    return PyObject_SetAttr(m, name, fresh);
}

/* mismatched="report": noted for the result */
static int load_note_mismatch(const rl_state_load *load, PyObject *key, PyObject *given, PyObject *have) {
    RL_OWNED PyObject *entry = PyTuple_Pack(3, key, given, have);
    return entry ? PyList_Append(load->mismatched, entry) : -1;
}

/* Puts `value` into m.name, which holds `param`; what does not fit is noted, -1 is for exceptions. */
static int state_load_entry(PyObject *m, PyObject *name, PyObject *param, PyObject *key, PyObject *value,
                            int assign, PyObject *errors) {
    const rl_state_load *load = state_load_find(errors);
    RL_OWNED PyObject *input = Py_NewRef(value), *have = NULL, *given = NULL;
    int like = rl_tensor_check(input) ? 1 : rl_hasattr(input, rl_name.__torch_function__);
    if (like < 0) return -1;
    if (!like)
        return load_note_steal(
            errors, PyUnicode_FromFormat("While copying the parameter named \"%U\", expected torch.Tensor or "
                                         "Tensor-like object from checkpoint but received %S",
                                         key, Py_TYPE(input)));
    int fits = load_fit_shape(param, &input, &have, &given);
    if (fits < 0) return -1;
    if (!fits && load && load->mismatched) return load_note_mismatch(load, key, given, have);
    if (!fits)
        return load_note_steal(
            errors,
            PyUnicode_FromFormat("size mismatch for %U: copying a param with shape %S from checkpoint, the "
                                 "shape in current model is %S.",
                                 key, given, have));
    if (!assign && load_warn_meta(key, param, input) < 0) return -1;
    if ((assign ? load_assign(load, m, name, param, input) : load_copy(param, input)) == 0) return 0;
    return load_note_raised(errors, key, param, input);
}

/* ---- Module._load_from_state_dict ----
 * one module takes its own entries. */
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
    const rl_state_load *load = state_load_find(arg[RL_STATE_ARG_ERRORS]);
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
            has = state_load_entry(m, it.key, it.value, key, value, assign, arg[RL_STATE_ARG_ERRORS]);
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
        Py_ssize_t end = state_key_end(key, arg[RL_STATE_ARG_PREFIX], &dotted);
        if (end == -2) return -1;
        if (end == -1 || PyUnicode_Compare(key, extra_key) == 0) continue;
        RL_OWNED PyObject *name =
            PyUnicode_Substring(key, PyUnicode_GET_LENGTH(arg[RL_STATE_ARG_PREFIX]), end);
        int known = name ? rl_map_has(dotted ? modules : local, name) : -1;
        if (known < 0 || (!known && PyList_Append(arg[RL_STATE_ARG_UNEXPECTED], key) < 0)) return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int state_load_own(PyObject *m, PyObject *const *arg) {
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
    if (state_load_own(m, bound) < 0) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef rl_module_load_own_methods[] = {
    {"_load_from_state_dict", (PyCFunction)(void (*)(void))load_from_state_dict,
     METH_FASTCALL | METH_KEYWORDS,
     "_load_from_state_dict($self, /, state_dict, prefix, local_metadata, strict, missing_keys, "
     "unexpected_keys, "
     "error_msgs)\n--\n\n"},
    {NULL, NULL, 0, NULL}};

/* ---- load_state_dict ----
 * Where torch filters the whole dict anew for each child, its entries are handed down in
 * pieces, or in one pass dealt out to the children by their next name: what each module's
 * _load_from_state_dict sees is the same.
 *
 *   load_walk(m, share of m) ──► own entries ──► load_walk(child, its share) ... ──► post hooks of m
 *                                └ m._load_from_state_dict(dict of the share), unless all is plain */
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
    return rl_move(&local);
}

static int load_call_own(const rl_state_load *load, PyObject *m, PyObject *keys, PyObject *prefix) {
    RL_OWNED PyObject *local = load_local_metadata(load, prefix);
    if (local == NULL) return -1;
    PyObject *arg[RL_STATE_ARG_COUNT] = {keys,          prefix,           local,       Py_True,
                                         load->missing, load->unexpected, load->errors};
    if (rl_module_ours(m, RL_M__load_from_state_dict)) return state_load_own(m, arg);
    RL_OWNED PyObject *done = rl_method_call(m, rl_name._load_from_state_dict, arg, RL_STATE_ARG_COUNT, NULL);
    return done ? 0 : -1;
}

/* Is there nothing in the metadata that says assign=True, for this load or left behind by one before? */
static int load_copies(const rl_state_load *load, rl_state_place *place) {
    if (load->assign != Py_False) return 0;
    if (load->metadata == NULL) return 1;
    if (!PyODict_CheckExact(load->metadata) && !PyDict_CheckExact(load->metadata)) return 0;
    PyObject *path = rl_state_place_path(place);
    PyObject *local = path ? PyDict_GetItemWithError(load->metadata, path) : NULL;
    if (local == NULL) return PyErr_Occurred() ? -1 : 1;
    return PyDict_CheckExact(local) && PyDict_Contains(local, rl_name.assign_to_params_buffers) == 0;
}

/* 1: Module's own method would only copy the entries of `share` */
static int load_is_plain(const rl_state_load *load, PyObject *m, rl_state_place *place) {
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
            rl_tensor_check(it.value) ? state_load_bytes((rl_tensor *)it.value, (rl_tensor *)e->value) : 0;
        if (done < 0) return -1;
        if (done) continue;
        if (state_load_entry(m, it.key, it.value, e->key, e->value, 0, load->errors) < 0) return -1;
    }
    return more < 0 ? -1 : 0;
}

/* OrderedDict(state_dict), with its _metadata */
static PyObject *load_copy_dict(const rl_state_load *load) {
    RL_OWNED PyObject *copy = PyObject_CallOneArg((PyObject *)&PyODict_Type, load->whole);
    if (copy && load->metadata && PyObject_SetAttr(copy, rl_name._metadata, load->metadata) < 0) return NULL;
    return rl_move(&copy);
}

/* *lies: the share is listed as the tree below m asks for it, and the children's pieces begin at *lies */
static int load_self(const rl_state_load *load, PyObject *m, rl_state_share *share, rl_state_place *place,
                     Py_ssize_t skip, Py_ssize_t *lies) {
    *lies = state_share_fits(share, m, skip);
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
    PyObject *dict = state_share_dict(share), *prefix = dict ? rl_state_place_prefix(place) : NULL;
    if (prefix == NULL || load_call_own(load, m, dict, prefix) < 0) return -1;
    if (state_share_list(share, dict) < 0) return -1; /* whoever saw the dict may have changed it */
    *lies = state_share_fits(share, m, skip);
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

static int load_walk(const rl_state_load *load, PyObject *m, rl_state_share *share, rl_state_place *place);
static int load_children(const rl_state_load *load, rl_map_iter *it, rl_state_share *share,
                         rl_state_place *place, Py_ssize_t skip, Py_ssize_t lies) {
    RL_OWNED PyObject *shares = NULL;
    int more;
    while ((more = rl_map_iter_next(it)) > 0) {
        RL_STATE_PLACE below = {.path = NULL};
        RL_STATE_SHARE piece = {.at = NULL};
        if (lies >= 0) state_share_cut(share, &lies, skip, it->key, &piece);
        if (Py_IsNone(it->value)) continue;
        if (rl_state_place_enter(&below, place, it->key) < 0) return -1;
        if (lies < 0 && state_share_deal(share, place, &shares, it->key, &below, &piece) < 0) return -1;
        if (load_walk(load, it->value, &piece, &below) < 0) return -1;
    }
    return more;
}

static int load_below(const rl_state_load *load, PyObject *m, rl_state_share *share, rl_state_place *place,
                      Py_ssize_t skip, Py_ssize_t lies) {
    RL_MAP_ITER it;
    if (rl_map_iter_of(&it, m, RL_AT_modules, rl_name._modules) < 0) return -1;
    if (Py_EnterRecursiveCall(" while loading the state of a module")) return -1;
    int done = load_children(load, &it, share, place, skip, lies);
    Py_LeaveRecursiveCall();
    return done;
}

static int load_walk(const rl_state_load *load, PyObject *m, rl_state_share *share, rl_state_place *place) {
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
    RL_OWNED PyObject *home = PyImport_ImportModule("rushlight.nn.modules._tied_parameters");
    RL_OWNED PyObject *found = home ? PyObject_CallMethod(home, "find", "O", m) : NULL;
    if (found && !Py_IsNone(found)) *ties = rl_move(&found);
    return PyErr_Occurred() ? -1 : 0;
}

static int load_tree(rl_state_load *load, PyObject *m, int strict) {
    RL_STATE_SHARE share = {.at = NULL};
    RL_STATE_PLACE place = {.prefix = Py_NewRef(rl_name.empty)};
    if (state_share_list(&share, load->whole) < 0) return -1;
    state_load_begin(load);
    int done = load_walk(load, m, &share, &place);
    state_load_end(load);
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
    return load_tree(&load, m, strict) < 0 ? NULL : rl_move(&result);
}

#define LOAD_FN (PyCFunction)(void (*)(void)) load_state_dict
PyMethodDef rl_module_load_methods[] = {
    {"load_state_dict", LOAD_FN, METH_FASTCALL | METH_KEYWORDS, rl_module_load_state_dict_doc},
    {NULL, NULL, 0, NULL}};
