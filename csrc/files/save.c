/* The pickle: plain values are written here, everything else as Python describes it. */
#include "writer.h"
#include <string.h>

enum { BATCH = 1000 }; /* items between two APPENDS or SETITEMS, as pickle does */

/* ---- plain values ---- */
static int save_long(saver *s, PyObject *o) {
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return value == -1 && PyErr_Occurred() ? -1 : rl_save_int(s, value);
    RL_OWNED PyObject *bits = PyObject_CallMethod(o, "bit_length", NULL);
    long long n = bits ? PyLong_AsLongLong(bits) / 8 + 1 : -1;
    if (n < 0) return -1;
    RL_OWNED PyObject *name = PyUnicode_FromString("to_bytes"), *size = PyLong_FromLongLong(n);
    RL_OWNED PyObject *order = PyUnicode_FromString("little"), *words = PyTuple_New(1);
    if (!name || !size || !order || !words) return -1;
    PyTuple_SET_ITEM(words, 0, PyUnicode_FromString("signed"));
    PyObject *args[4] = {o, size, order, Py_True};
    RL_OWNED PyObject *bytes =
        PyTuple_GET_ITEM(words, 0) ? PyObject_VectorcallMethod(name, args, 3, words) : NULL;
    if (!bytes) return -1;
    const char *at = PyBytes_AS_STRING(bytes);
    /* -(2 ** 8k) needs no byte for its sign */
    if (overflow < 0 && n > 1 && at[n - 1] == -1 && at[n - 2] < 0) n--;
    if (n < 256 ? rl_save_number(s, (char)0x8a, (uint64_t)n, 1)
                : rl_save_number(s, (char)0x8b, (uint64_t)n, 4))
        return -1;
    return rl_save_bytes(s, at, n);
}

static int save_float(saver *s, double value) {
    uint64_t bits;
    char bytes[9] = {'G'};
    memcpy(&bits, &value, 8);
    for (int i = 0; i < 8; i++) bytes[i + 1] = (char)(bits >> (56 - 8 * i));
    return rl_save_bytes(s, bytes, 9);
}

static int save_str(saver *s, PyObject *o) {
    Py_ssize_t n;
    RL_OWNED PyObject *odd = NULL;
    const char *text = PyUnicode_AsUTF8AndSize(o, &n);
    if (!text) { /* surrogates */
        PyErr_Clear();
        odd = PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass");
        if (!odd) return -1;
        text = PyBytes_AS_STRING(odd), n = PyBytes_GET_SIZE(odd);
    }
    return rl_save_utf8(s, text, n) || rl_save_put(s, o, o) ? -1 : 0;
}

/* ---- containers ---- */
static int save_tuple(saver *s, PyObject *o) {
    static const char small[] = {')', (char)0x85, (char)0x86, (char)0x87};
    Py_ssize_t n = PyTuple_GET_SIZE(o);
    if (n == 0) return rl_save_op(s, ')');
    if (n > 3 && rl_save_op(s, '(')) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (rl_save_object(s, PyTuple_GET_ITEM(o, i))) return -1;
    }
    if (rl_written_find(&s->memo, o) >= 0) { /* it holds itself and was written on the way down */
        for (Py_ssize_t i = 0; i < (n > 3 ? 1 : n); i++) {
            if (rl_save_op(s, n > 3 ? '1' : '0')) return -1;
        }
        return rl_save_memo(s, o) < 0 ? -1 : 0;
    }
    return rl_save_op(s, n > 3 ? 't' : small[n]) || rl_save_put(s, o, o) ? -1 : 0;
}

static int save_list(saver *s, PyObject *o) {
    if (rl_save_op(s, ']') || rl_save_put(s, o, o)) return -1;
    if (PyList_GET_SIZE(o) == 1) {
        RL_OWNED PyObject *item = Py_NewRef(PyList_GET_ITEM(o, 0));
        return rl_save_object(s, item) || rl_save_op(s, 'a') ? -1 : 0;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o);) {
        if (rl_save_op(s, '(')) return -1;
        for (Py_ssize_t end = i + BATCH; i < end && i < PyList_GET_SIZE(o); i++) {
            RL_OWNED PyObject *item = Py_NewRef(PyList_GET_ITEM(o, i));
            if (rl_save_object(s, item)) return -1;
        }
        if (rl_save_op(s, 'e')) return -1;
    }
    return 0;
}

static int save_pair(saver *s, PyObject *key, PyObject *value) {
    RL_OWNED PyObject *k = Py_NewRef(key), *v = Py_NewRef(value);
    return rl_save_object(s, k) || rl_save_object(s, v) ? -1 : 0;
}

static int save_dict(saver *s, PyObject *o) {
    PyObject *key, *value;
    Py_ssize_t at = 0, size = PyDict_GET_SIZE(o), left = size;
    if (rl_save_op(s, '}') || rl_save_put(s, o, o)) return -1;
    if (size == 1) {
        PyDict_Next(o, &at, &key, &value);
        return save_pair(s, key, value) || rl_save_op(s, 's') ? -1 : 0;
    }
    int batch = size ? BATCH : 0;
    while (batch == BATCH) {
        if (rl_save_op(s, '(')) return -1;
        for (batch = 0; batch < BATCH && left > 0 && PyDict_Next(o, &at, &key, &value); batch++, left--) {
            if (save_pair(s, key, value)) return -1;
            if (PyDict_GET_SIZE(o) != size) {
                PyErr_SetString(PyExc_RuntimeError, "dictionary changed size during iteration");
                return -1;
            }
        }
        if (rl_save_op(s, 'u')) return -1;
    }
    return 0;
}

static int save_item(saver *s, PyObject *item, bool pairs) {
    if (!pairs) return rl_save_object(s, item);
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 2) {
        PyErr_SetString(PyExc_TypeError, "dict items iterator must return 2-tuples");
        return -1;
    }
    return rl_save_object(s, PyTuple_GET_ITEM(item, 0)) || rl_save_object(s, PyTuple_GET_ITEM(item, 1)) ? -1
                                                                                                        : 0;
}

/* what an object's description iterates over: elements of a list, or pairs of a dict */
static int save_items(saver *s, PyObject *from, bool pairs) {
    RL_OWNED PyObject *it = PyObject_GetIter(from);
    int n = it ? BATCH : -1;
    while (n == BATCH) {
        RL_OWNED PyObject *first = PyIter_Next(it);
        RL_OWNED PyObject *next = first ? PyIter_Next(it) : NULL;
        if (!first || PyErr_Occurred()) break;
        if (next && rl_save_op(s, '(')) return -1;
        if (save_item(s, first, pairs)) return -1;
        if (!next) return rl_save_op(s, pairs ? 's' : 'a');
        for (n = 1; next;) {
            if (save_item(s, next, pairs)) return -1;
            Py_CLEAR(next);
            if (++n < BATCH) next = PyIter_Next(it);
        }
        if (PyErr_Occurred() || rl_save_op(s, pairs ? 'u' : 'e')) return -1;
    }
    return n < 0 || PyErr_Occurred() ? -1 : 0;
}

static int save_ordered(saver *s, PyObject *o) {
    if (rl_save_name(s, s->ordered_type, "collections", "OrderedDict") || rl_save_op(s, ')') ||
        rl_save_op(s, 'R') || rl_save_put(s, o, o))
        return -1;
    RL_OWNED PyObject *items = PyObject_CallMethod(o, "items", NULL);
    if (!items || save_items(s, items, true)) return -1;
    RL_OWNED PyObject *state = PyObject_GenericGetDict(o, NULL);
    if (!state) return -1;
    if (PyDict_GET_SIZE(state) == 0) return 0;
    return rl_save_object(s, state) || rl_save_op(s, 'b') ? -1 : 0;
}

/* ---- what Python describes ---- */
static int save_global(saver *s, PyObject *o, PyObject *text) {
    const char *full = PyUnicode_AsUTF8(text), *line = full ? strchr(full, '\n') : NULL;
    if (!line) return PyErr_Occurred() ? -1 : (PyErr_SetString(PyExc_TypeError, "a name without module"), -1);
    if (rl_save_op(s, 'c') || rl_save_bytes(s, full, (int64_t)strlen(full)) || rl_save_op(s, '\n')) return -1;
    return rl_save_put(s, o, o);
}

/* (function, arguments[, state[, list items[, dict items[, setter]]]]), as __reduce_ex__ answers */
static int save_reduced(saver *s, PyObject *o, PyObject *parts) {
    PyObject *part[6] = {NULL};
    for (Py_ssize_t i = 0; i < 6 && i < PyTuple_GET_SIZE(parts); i++) {
        part[i] = PyTuple_GET_ITEM(parts, i) == Py_None ? NULL : PyTuple_GET_ITEM(parts, i);
    }
    if (!part[0] || !part[1] || !PyTuple_Check(part[1])) {
        PyErr_SetString(PyExc_TypeError, "second item of the tuple returned by __reduce__ must be a tuple");
        return -1;
    }
    if (part[0] == s->newobj && PyTuple_GET_SIZE(part[1]) > 0) {
        RL_OWNED PyObject *rest = PyTuple_GetSlice(part[1], 1, PY_SSIZE_T_MAX);
        if (!rest || rl_save_object(s, PyTuple_GET_ITEM(part[1], 0)) || rl_save_object(s, rest) ||
            rl_save_op(s, (char)0x81))
            return -1;
    } else if (rl_save_object(s, part[0]) || rl_save_object(s, part[1]) || rl_save_op(s, 'R')) {
        return -1;
    }
    if (rl_written_find(&s->memo, o) >= 0) { /* it came up again among its own arguments */
        return rl_save_op(s, '0') || rl_save_memo(s, o) < 0 ? -1 : 0;
    }
    if (rl_save_put(s, o, o)) return -1;
    if (part[3] && save_items(s, part[3], false)) return -1;
    if (part[4] && save_items(s, part[4], true)) return -1;
    if (!part[2]) return 0;
    if (!part[5]) return rl_save_object(s, part[2]) || rl_save_op(s, 'b') ? -1 : 0;
    return rl_save_object(s, part[5]) || rl_save_object(s, o) || rl_save_object(s, part[2]) ||
                   rl_save_op(s, (char)0x86) || rl_save_op(s, 'R') || rl_save_op(s, '0')
               ? -1
               : 0;
}

static int save_described(saver *s, PyObject *o) {
    PyObject *args[3] = {o, PyLong_FromLong(s->protocol), Py_NewRef(s->legacy ? Py_True : Py_False)};
    RL_OWNED PyObject *protocol = args[1], *legacy = args[2];
    RL_OWNED PyObject *what = protocol && legacy ? PyObject_Vectorcall(s->describe, args, 3, NULL) : NULL;
    if (!what) return -1;
    if (PyUnicode_Check(what)) return save_global(s, o, what);
    if (!PyTuple_Check(what) || PyTuple_GET_SIZE(what) < 2) {
        PyErr_SetString(PyExc_TypeError, "__reduce__ must return a string or tuple");
        return -1;
    }
    if (!PyUnicode_Check(PyTuple_GET_ITEM(what, 0))) return save_reduced(s, o, what);
    /* ("storage", a tensor over all of it, typed or not) */
    PyObject *flat = PyTuple_GET_ITEM(what, 1);
    if (PyTuple_GET_SIZE(what) != 3 || !rl_tensor_check(flat)) {
        PyErr_SetString(PyExc_TypeError, "a storage is described by a tensor");
        return -1;
    }
    const rl_view *v = &((rl_tensor *)flat)->v;
    return rl_save_storage(s, v->storage, PyTuple_GET_ITEM(what, 2) == Py_True ? v->dtype : -1);
}

static int save_any(saver *s, PyObject *o) {
    PyTypeObject *type = Py_TYPE(o);
    if (type == &PyUnicode_Type) return save_str(s, o);
    if (type == &PyDict_Type) return save_dict(s, o);
    if (type == &PyTuple_Type) return save_tuple(s, o);
    if (type == &PyList_Type) return save_list(s, o);
    if ((PyObject *)type == s->ordered_type) return save_ordered(s, o);
    if (rl_tensor_check(o)) {
        int done = rl_save_tensor(s, o);
        if (done) return done < 0 ? -1 : 0;
    }
    return save_described(s, o);
}

int rl_save_object(saver *s, PyObject *o) {
    if (o == Py_None) return rl_save_op(s, 'N');
    if (o == Py_True) return rl_save_op(s, (char)0x88);
    if (o == Py_False) return rl_save_op(s, (char)0x89);
    if (PyLong_CheckExact(o)) return save_long(s, o);
    if (PyFloat_CheckExact(o)) return save_float(s, PyFloat_AS_DOUBLE(o));
    int known = rl_save_memo(s, o);
    if (known) return known < 0 ? -1 : 0;
    if (Py_EnterRecursiveCall(" while pickling an object")) return -1;
    int failed = save_any(s, o);
    Py_LeaveRecursiveCall();
    return failed;
}

/* ---- what Python calls ---- */
static int save_import(saver *s) {
    RL_OWNED PyObject *copyreg = PyImport_ImportModule("copyreg");
    RL_OWNED PyObject *collections = PyImport_ImportModule("collections");
    if (!copyreg || !collections) return -1;
    s->newobj = PyObject_GetAttrString(copyreg, "__newobj__");
    s->ordered_type = PyObject_GetAttrString(collections, "OrderedDict");
    s->list = PyList_New(0);
    return s->newobj && s->ordered_type && s->list ? 0 : -1;
}

static PyObject *save_pickle(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o, *result = NULL;
    int legacy;
    saver s = {0};
    if (!PyArg_ParseTuple(args, "OipO:_save_pickle", &o, &s.protocol, &legacy, &s.describe)) return NULL;
    s.legacy = legacy;
    if (!save_import(&s) && !rl_save_number(&s, (char)0x80, (uint64_t)s.protocol, 1) &&
        !rl_save_object(&s, o) && !rl_save_op(&s, '.')) {
        result = Py_BuildValue("(y#O)", s.at, (Py_ssize_t)s.n, s.list);
    }
    PyMem_Free(s.at);
    rl_written_free(&s.memo);
    rl_written_free(&s.storages);
    Py_XDECREF(s.newobj);
    Py_XDECREF(s.ordered_type);
    Py_XDECREF(s.list);
    return result;
}

PyMethodDef rl_save_methods[] = {
    {"_save_pickle", save_pickle, METH_VARARGS,
     PyDoc_STR("_save_pickle(obj, protocol, legacy, describe)\n--\n\n"
               "Answers the pickle and a list of (key, bytes, number of elements) of its storages.")},
    {NULL, NULL, 0, NULL}};
