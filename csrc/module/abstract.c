/* Objects as Python code sees them: mappings, arguments of calls, attributes and methods by name. */
#include "internal.h"

/* ---- mappings: walking them as for loops do, and the few operations on dicts ----
 * users may have replaced these by subclasses of their own */
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

/* ---- arguments, bound by Python's rules and with its texts ---- */
static int args_too_many(const rl_signature *sig, Py_ssize_t given) {
    /* Python counts self */
    if (sig->required == sig->count)
        PyErr_Format(PyExc_TypeError, "Module.%s() takes %d positional argument%s but %zd were given",
                     sig->function, sig->count + 1, sig->count ? "s" : "", given + 1);
    else
        PyErr_Format(PyExc_TypeError,
                     "Module.%s() takes from %d to %d positional arguments but %zd were given", sig->function,
                     sig->required + 1, sig->count + 1, given + 1);
    return -1;
}

static int args_missing(const rl_signature *sig, PyObject **out) {
    RL_OWNED PyObject *list = NULL;
    int missing = 0, left;
    for (int i = 0; i < sig->required; i++) missing += out[i] == NULL;
    left = missing;
    for (int i = 0; i < sig->required; i++) {
        if (out[i]) continue;
        const char *joint = left == missing ? "" : left > 1 ? ", " : missing > 2 ? ", and " : " and ";
        PyObject *longer =
            PyUnicode_FromFormat("%S%s'%s'", list ? list : rl_name.empty, joint, sig->names[i]);
        if (longer == NULL) return -1;
        Py_XSETREF(list, longer);
        left--;
    }
    PyErr_Format(PyExc_TypeError, "Module.%s() missing %d required positional argument%s: %U", sig->function,
                 missing, missing == 1 ? "" : "s", list);
    return -1;
}

static int args_keyword(const rl_signature *sig, PyObject *key, PyObject *value, PyObject **out) {
    for (int i = 0; i < sig->count; i++) {
        if (PyUnicode_CompareWithASCIIString(key, sig->names[i]) != 0) continue;
        if (out[i]) {
            PyErr_Format(PyExc_TypeError, "Module.%s() got multiple values for argument '%U'", sig->function,
                         key);
            return -1;
        }
        out[i] = value;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "Module.%s() got an unexpected keyword argument '%U'", sig->function, key);
    return -1;
}

int rl_method_bind(const rl_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                   PyObject **out) {
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (int i = 0; i < sig->count; i++) out[i] = i < nargs ? args[i] : NULL;
    for (Py_ssize_t i = 0; i < named; i++)
        if (args_keyword(sig, PyTuple_GET_ITEM(kwnames, i), args[nargs + i], out) < 0) return -1;
    if (nargs > sig->count) return args_too_many(sig, nargs);
    for (int i = 0; i < sig->required; i++)
        if (out[i] == NULL) return args_missing(sig, out);
    return 0;
}

PyObject *rl_method_self(const char *function, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs > 0 && PyType_IsSubtype(Py_TYPE(args[0]), rl_module_type)) return args[0];
    return PyErr_Format(PyExc_TypeError, "Module.%s() needs a Module as its first argument", function);
}

/* ---- attributes, methods by name, exceptions ---- */
int rl_hasattr(PyObject *o, PyObject *name) {
    RL_OWNED PyObject *value = PyObject_GetAttr(o, name);
    if (value) return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

PyObject *rl_method_call(PyObject *o, PyObject *method, PyObject *const *args, size_t n, PyObject *names) {
    PyObject *stack[8];
    stack[0] = o;
    for (size_t i = 0; i < n; i++) stack[i + 1] = args[i];
    size_t positional = 1 + n - (size_t)(names ? PyTuple_GET_SIZE(names) : 0);
    return PyObject_VectorcallMethod(method, stack, positional, names);
}

PyObject *rl_raised_take(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (type == NULL) return NULL;
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace && PyException_SetTraceback(value, trace) < 0) PyErr_Clear();
    Py_DECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

void rl_raised_put_steal(PyObject *exception) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
#endif
}

/* ---- torch.typename ---- */
static PyObject *typename_attr(PyObject *o, PyObject *name) { /* NULL without an error: not a str, or none */
    PyObject *value = PyObject_GetAttr(o, name);
    if (value && PyUnicode_Check(value)) return value;
    Py_XDECREF(value);
    PyErr_Clear();
    return NULL;
}

PyObject *rl_typename(PyObject *o) {
    if (rl_tensor_check(o)) return PyObject_CallMethodNoArgs(o, rl_name.type);
    RL_OWNED PyObject *module = typename_attr(o, rl_name.__module__);
    RL_OWNED PyObject *name = typename_attr(o, rl_name.__qualname__);
    if (name == NULL) name = typename_attr(o, rl_name.__name__);
    if (name == NULL) {
        Py_XSETREF(module, typename_attr((PyObject *)Py_TYPE(o), rl_name.__module__));
        name = PyType_GetQualName(Py_TYPE(o));
        if (name == NULL) return NULL;
    }
    if (module == NULL || PyUnicode_GET_LENGTH(module) == 0 ||
        PyUnicode_CompareWithASCIIString(module, "builtins") == 0)
        return rl_move(&name);
    return PyUnicode_FromFormat("%U.%U", module, name);
}
