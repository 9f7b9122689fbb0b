/* The entries of a state dict on their way down a tree. state_dict() lists what a module has itself and then
 * its children's in their order, so that what belongs to one module lies in one piece:
 *
 *   weight  bias  a.weight  a.b.weight  a.b.bias  c.weight
 *   └─ own ────┘  └─ a ────────────────────────┘  └─ c ──┘
 *
 * A share that lies so is handed down by its bounds, and nobody sees a dict. For everything else, and for
 * everybody who looks, a share is the dict that PyTorch would have filtered for this module. */
#include "state_keys.h"
#include "map.h"
#include "state.h"

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

void rl_state_share_end(rl_state_share *s) {
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

int rl_state_share_list(rl_state_share *s, PyObject *dict) {
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
PyObject *rl_state_share_dict(rl_state_share *s) {
    if (s->dict) return s->dict;
    RL_OWNED PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && i < s->n; i++)
        if (PyDict_SetItem(dict, s->at[i].key, s->at[i].value) < 0) return NULL;
    return s->dict = rl_give(&dict);
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

Py_ssize_t rl_state_share_fits(const rl_state_share *s, PyObject *m, Py_ssize_t skip) {
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

void rl_state_share_cut(const rl_state_share *s, Py_ssize_t *at, Py_ssize_t skip, PyObject *name,
                        rl_state_share *piece) {
    key_name part;
    Py_ssize_t end = name_get(name, &part) ? share_child_end(s, *at, skip, &part) : *at;
    *piece = (rl_state_share){.at = s->at + *at, .n = end - *at};
    *at = end;
}

/* ---- dealing a dict out ---- */
Py_ssize_t rl_state_key_end(PyObject *key, PyObject *prefix, int *dotted) {
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
        Py_ssize_t end = rl_state_key_end(it.key, prefix, &dotted);
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
    return more < 0 ? NULL : rl_give(&shares);
}

/* A child whose name holds a dot: {k: v for k, v in keys.items() if k.startswith(below)} */
static PyObject *dict_filter(PyObject *keys, PyObject *below) {
    RL_OWNED PyObject *share = PyDict_New();
    RL_MAP_ITER it;
    int more;
    if (share == NULL || rl_map_iter_begin(&it, keys) < 0) return NULL;
    while ((more = rl_map_iter_next(&it)) > 0) {
        int dotted;
        Py_ssize_t end = rl_state_key_end(it.key, below, &dotted);
        if (end == -2 || (end >= 0 && PyDict_SetItem(share, it.key, it.value) < 0)) return NULL;
    }
    return more < 0 ? NULL : rl_give(&share);
}

static PyObject *dict_share(PyObject *keys, PyObject *shares, PyObject *name, PyObject *below) {
    if (PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1) >= 0) return dict_filter(keys, below);
    PyObject *share = PyDict_GetItemWithError(shares, name);
    if (share) return Py_NewRef(share);
    return PyErr_Occurred() ? NULL : PyDict_New();
}

int rl_state_share_deal(rl_state_share *share, rl_place *place, PyObject **shares, PyObject *name,
                        rl_place *below, rl_state_share *piece) {
    PyObject *keys = rl_state_share_dict(share), *prefix = keys ? rl_place_prefix(place) : NULL;
    PyObject *child_prefix = prefix ? rl_place_prefix(below) : NULL;
    if (child_prefix == NULL) return -1;
    if (*shares == NULL && (*shares = dict_deal(keys, prefix)) == NULL) return -1;
    *piece = (rl_state_share){.dict = dict_share(keys, *shares, name, child_prefix)};
    return piece->dict ? rl_state_share_list(piece, piece->dict) : -1;
}
