/* Walking mappings as Python's for loops do, and the few mapping operations on dicts that users may have
 * replaced by subclasses of their own. */
#include "map.h"
#include "state.h"

static int map_is_plain(PyObject *map) {
    return PyDict_CheckExact(map) || PyODict_CheckExact(map);
}

/* ---- pairs of a mapping ---- */
void rl_map_iter_end(rl_map_iter *it) {
    Py_CLEAR(it->map);
    Py_CLEAR(it->iter);
    Py_CLEAR(it->key);
    Py_CLEAR(it->value);
}

int rl_map_iter_traverse(const rl_map_iter *it, visitproc visit, void *arg) {
    Py_VISIT(it->map);
    Py_VISIT(it->iter);
    Py_VISIT(it->key);
    Py_VISIT(it->value);
    return 0;
}

int rl_map_iter_begin(rl_map_iter *it, PyObject *map) {
    *it = (rl_map_iter){0};
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

int rl_map_iter_of(rl_map_iter *it, PyObject *m, Py_ssize_t at, PyObject *name) {
    PyObject *dict = rl_module_dict(m), *known = dict ? rl_state_peek(dict, at, name) : NULL;
    *it = (rl_map_iter){0};
    if (RL_LIKELY(known != NULL)) {
        RL_OWNED PyObject *map = Py_NewRef(known);
        return rl_map_iter_begin(it, map);
    }
    RL_OWNED PyObject *map = PyErr_Occurred() ? NULL : PyObject_GetAttr(m, name);
    return map ? rl_map_iter_begin(it, map) : -1;
}

/* `for key, value in iter`, with the texts of Python's unpacking */
static int map_iter_unpack(rl_map_iter *it, PyObject *pair) {
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

int rl_map_iter_next(rl_map_iter *it) {
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
    return map_iter_unpack(it, pair);
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
