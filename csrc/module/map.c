/* Walking mappings and children as Python's for loops do, and the few mapping operations on
 * dicts that users may have replaced by subclasses of their own. */
#include "module.h"

static int map_is_plain(PyObject *map) {
    return PyDict_CheckExact(map) || PyODict_CheckExact(map);
}

/* ---- pairs of a mapping ---- */
void rl_items_end(rl_items *it) {
    Py_CLEAR(it->map);
    Py_CLEAR(it->iter);
    Py_CLEAR(it->key);
    Py_CLEAR(it->value);
}

int rl_items_begin(rl_items *it, PyObject *map) {
    *it = (rl_items){0};
    if (map_is_plain(map) && PyDict_GET_SIZE(map) == 0) return 0;
    if (PyDict_CheckExact(map)) {
        it->map = Py_NewRef(map);
        it->used = PyDict_GET_SIZE(map);
        return 0;
    }
    RL_OWNED PyObject *items = PyObject_CallMethodNoArgs(map, rl_name.items);
    if (items == NULL) return -1;
    it->iter = PyObject_GetIter(items);
    return it->iter ? 0 : -1;
}

int rl_items_of(rl_items *it, PyObject *m, Py_ssize_t at, PyObject *name) {
    PyObject *dict = rl_module_dict(m), *known = dict ? rl_state_peek(dict, at, name) : NULL;
    *it = (rl_items){0};
    if (RL_LIKELY(known != NULL)) {
        RL_OWNED PyObject *map = Py_NewRef(known);
        return rl_items_begin(it, map);
    }
    RL_OWNED PyObject *map = PyErr_Occurred() ? NULL : PyObject_GetAttr(m, name);
    return map ? rl_items_begin(it, map) : -1;
}

/* `for key, value in iter`, with the texts of Python's unpacking */
static int items_unpack(rl_items *it, PyObject *pair) {
    RL_OWNED PyObject *two = PySequence_Fast(pair, "cannot unpack non-iterable object");
    if (two == NULL) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(two);
    if (n != 2) {
        if (n > 2)
            PyErr_SetString(PyExc_ValueError, "too many values to unpack (expected 2)");
        else
            PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected 2, got %zd)", n);
        return -1;
    }
    Py_XSETREF(it->key, Py_NewRef(PySequence_Fast_GET_ITEM(two, 0)));
    Py_XSETREF(it->value, Py_NewRef(PySequence_Fast_GET_ITEM(two, 1)));
    return 1;
}

int rl_items_next(rl_items *it) {
    if (it->map) {
        PyObject *key, *value;
        if (PyDict_GET_SIZE(it->map) != it->used) {
            PyErr_SetString(PyExc_RuntimeError, "dictionary changed size during iteration");
            return -1;
        }
        if (!PyDict_Next(it->map, &it->pos, &key, &value)) return 0;
        Py_XSETREF(it->key, Py_NewRef(key));
        Py_XSETREF(it->value, Py_NewRef(value));
        return 1;
    }
    if (it->iter == NULL) return 0;
    RL_OWNED PyObject *pair = PyIter_Next(it->iter);
    if (pair == NULL) return PyErr_Occurred() ? -1 : 0;
    return items_unpack(it, pair);
}

/* ---- children ---- */
void rl_children_end(rl_children *c) {
    if (c->child == NULL && rl_children_none(c)) return;
    rl_items_end(&c->items);
    Py_CLEAR(c->foreign);
    rl_seen_end(&c->seen);
    Py_CLEAR(c->child);
}

int rl_children_begin(rl_children *c, PyObject *m) {
    *c = (rl_children){0};
    if (rl_module_all_ours(m, RL_CHILDREN_METHODS))
        return rl_items_of(&c->items, m, RL_AT_modules, rl_name._modules);
    RL_OWNED PyObject *children = PyObject_CallMethodNoArgs(m, rl_name.children);
    if (children == NULL) return -1;
    c->foreign = PyObject_GetIter(children);
    return c->foreign ? 0 : -1;
}

int rl_children_next(rl_children *c) {
    if (c->foreign) {
        Py_XSETREF(c->child, PyIter_Next(c->foreign));
        return c->child ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    for (;;) {
        int more = rl_items_next(&c->items);
        if (more <= 0) return more;
        if (Py_IsNone(c->items.value)) continue;
        int fresh = rl_seen_add(&c->seen, c->items.value);
        if (fresh < 0) return -1;
        if (!fresh) continue;
        Py_XSETREF(c->child, Py_NewRef(c->items.value));
        return 1;
    }
}

/* ---- mappings ---- */
int rl_map_has(PyObject *map, PyObject *key) {
    if (map_is_plain(map)) return PyDict_GET_SIZE(map) ? PyDict_Contains(map, key) : 0;
    return PySequence_Contains(map, key);
}

int rl_map_find(PyObject *map, PyObject *key, PyObject **found) {
    if (map_is_plain(map)) {
        if (PyDict_GET_SIZE(map) == 0) return 0;
        *found = Py_XNewRef(PyDict_GetItemWithError(map, key));
        return *found ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    int has = PySequence_Contains(map, key);
    if (has <= 0) return has;
    *found = PyObject_GetItem(map, key);
    return *found ? 1 : -1;
}

int rl_map_set(PyObject *map, PyObject *key, PyObject *value) {
    return PyDict_CheckExact(map) ? PyDict_SetItem(map, key, value) : PyObject_SetItem(map, key, value);
}

int rl_map_remove(PyObject *map, PyObject *key) {
    if (PyAnySet_CheckExact(map)) return PySet_Discard(map, key) < 0 ? -1 : 0;
    int has = rl_map_has(map, key);
    if (has <= 0) return has;
    if (PyDict_Check(map)) return PyObject_DelItem(map, key);
    RL_OWNED PyObject *done = PyObject_CallMethodOneArg(map, rl_name.discard, key);
    return done ? 0 : -1;
}

int rl_map_empty(PyObject *map) {
    if (map_is_plain(map)) return PyDict_GET_SIZE(map) == 0;
    return PyObject_Not(map);
}

/* ---- dotted names ---- */
/* prefix + dot + name + end, quick for ASCII as names of parameters nearly always are */
static PyObject *path_concat(PyObject *prefix, const char *dot, PyObject *name, const char *end) {
    if (!PyUnicode_Check(prefix) || !PyUnicode_Check(name)) {
        if (PyUnicode_Check(prefix) && *dot == 0) return PyUnicode_Concat(prefix, name);
        return PyErr_Format(PyExc_TypeError, "can only concatenate str (not \"%.200s\") to str",
                            Py_TYPE(PyUnicode_Check(prefix) ? name : prefix)->tp_name);
    }
    if (!PyUnicode_IS_COMPACT_ASCII(prefix) || !PyUnicode_IS_COMPACT_ASCII(name))
        return PyUnicode_FromFormat("%U%s%U%s", prefix, dot, name, end);
    Py_ssize_t np = PyUnicode_GET_LENGTH(prefix), nn = PyUnicode_GET_LENGTH(name);
    Py_ssize_t nd = *dot != 0, ne = *end != 0;
    PyObject *path = PyUnicode_New(np + nd + nn + ne, 127);
    if (path == NULL) return NULL;
    char *to = (char *)PyUnicode_1BYTE_DATA(path);
    memcpy(to, PyUnicode_1BYTE_DATA(prefix), (size_t)np);
    if (nd) to[np] = *dot;
    memcpy(to + np + nd, PyUnicode_1BYTE_DATA(name), (size_t)nn);
    if (ne) to[np + nd + nn] = *end;
    return path;
}

static int path_is_empty(PyObject *prefix) {
    return PyUnicode_Check(prefix) && PyUnicode_GET_LENGTH(prefix) == 0;
}

PyObject *rl_path_join(PyObject *prefix, PyObject *name) {
    if (path_is_empty(prefix) && PyUnicode_CheckExact(name)) return Py_NewRef(name);
    return path_concat(prefix, path_is_empty(prefix) ? "" : ".", name, "");
}
PyObject *rl_path_enter(PyObject *prefix, PyObject *name) {
    return path_concat(prefix, "", name, ".");
}
PyObject *rl_path_append(PyObject *prefix, PyObject *name) {
    if (path_is_empty(prefix) && PyUnicode_CheckExact(name)) return Py_NewRef(name);
    return path_concat(prefix, "", name, "");
}

PyObject *rl_path_strip(PyObject *prefix) {
    if (PyUnicode_Check(prefix)) {
        Py_ssize_t n = PyUnicode_GET_LENGTH(prefix);
        return PyUnicode_Substring(prefix, 0, n > 0 ? n - 1 : 0);
    }
    return PySequence_GetSlice(prefix, 0, -1);
}

/* ---- places ---- */
PyObject *rl_place_path(rl_place *place) {
    if (place->path == NULL) place->path = rl_path_strip(place->prefix);
    return place->path;
}

PyObject *rl_place_prefix(rl_place *place) {
    if (place->prefix == NULL) place->prefix = path_concat(place->path, ".", rl_name.empty, "");
    return place->prefix;
}

PyObject *rl_place_key(const rl_place *place, PyObject *name) {
    return place->prefix ? rl_path_append(place->prefix, name) : path_concat(place->path, ".", name, "");
}

int rl_place_enter(rl_place *below, const rl_place *place, PyObject *name) {
    *below = (rl_place){.path = rl_place_key(place, name)};
    return below->path ? 0 : -1;
}
