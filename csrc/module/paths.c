/* Dotted names, and a module's place in a state dict. */
#include "paths.h"

/* prefix + dot + name, quick for ASCII as names of parameters nearly always are */
static PyObject *path_concat(PyObject *prefix, const char *dot, PyObject *name) {
    if (!PyUnicode_Check(prefix) || !PyUnicode_Check(name)) {
        if (PyUnicode_Check(prefix) && *dot == 0) return PyUnicode_Concat(prefix, name);
        return PyErr_Format(PyExc_TypeError, "can only concatenate str (not \"%.200s\") to str",
                            Py_TYPE(PyUnicode_Check(prefix) ? name : prefix)->tp_name);
    }
    if (!PyUnicode_IS_COMPACT_ASCII(prefix) || !PyUnicode_IS_COMPACT_ASCII(name))
        return PyUnicode_FromFormat("%U%s%U", prefix, dot, name);
    Py_ssize_t np = PyUnicode_GET_LENGTH(prefix), nn = PyUnicode_GET_LENGTH(name);
    Py_ssize_t nd = *dot != 0;
    PyObject *path = PyUnicode_New(np + nd + nn, 127);
    if (path == NULL) return NULL;
    char *to = (char *)PyUnicode_1BYTE_DATA(path);
    memcpy(to, PyUnicode_1BYTE_DATA(prefix), (size_t)np);
    if (nd) to[np] = *dot;
    memcpy(to + np + nd, PyUnicode_1BYTE_DATA(name), (size_t)nn);
    return path;
}

static int path_is_empty(PyObject *prefix) {
    return PyUnicode_Check(prefix) && PyUnicode_GET_LENGTH(prefix) == 0;
}

PyObject *rl_path_join(PyObject *prefix, PyObject *name) {
    if (path_is_empty(prefix) && PyUnicode_CheckExact(name)) return Py_NewRef(name);
    return path_concat(prefix, path_is_empty(prefix) ? "" : ".", name);
}

PyObject *rl_path_append(PyObject *prefix, PyObject *name) {
    if (path_is_empty(prefix) && PyUnicode_CheckExact(name)) return Py_NewRef(name);
    return path_concat(prefix, "", name);
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
    if (place->prefix == NULL) place->prefix = path_concat(place->path, ".", rl_name.empty);
    return place->prefix;
}

PyObject *rl_place_key(const rl_place *place, PyObject *name) {
    return place->prefix ? rl_path_append(place->prefix, name) : path_concat(place->path, ".", name);
}

int rl_place_enter(rl_place *below, const rl_place *place, PyObject *name) {
    *below = (rl_place){.path = rl_place_key(place, name)};
    return below->path ? 0 : -1;
}
