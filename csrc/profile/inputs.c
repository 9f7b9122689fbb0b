/* What a call was given, in words while it is recorded and as a list afterwards. */
#include "session.h"
#include "core/dtype.h"
#include <string.h>

static int64_t head_of(const rl_slot *s, int64_t dtype, int64_t n) {
    return s->tag | dtype << 8 | n << 16;
}
enum { TAG = 0xff, DTYPE_SHIFT = 8, N_SHIFT = 16 };

static size_t text_words(size_t n) {
    return (n + 7) / 8;
}

/* ---- recorded: into `to`, or counted where that is NULL ---- */
static size_t put_tensor(int64_t *to, const rl_view *v) {
    const rl_slot s = {.tag = v ? RL_TENSOR : RL_NONE};
    if (to) {
        *to = head_of(&s, v ? v->dtype : 0, v ? v->ndim : 0);
        if (v && v->ndim) memcpy(to + 1, v->shape, v->ndim * sizeof *to);
    }
    return 1 + (v ? v->ndim : 0u);
}

static size_t put_words(int64_t *to, const rl_slot *s, const void *words, size_t bytes, int64_t n) {
    if (to) {
        *to = head_of(s, 0, n);
        if (bytes) memcpy(to + 1, words, bytes);
    }
    return 1 + text_words(bytes);
}

static size_t put_slot(int64_t *to, const rl_slot *s) {
    size_t n = 1;
    switch (s->tag) {
    case RL_TENSOR: return put_tensor(to, s->u.t);
    case RL_TENSORS:
        if (to) *to = head_of(s, 0, s->n);
        for (int i = 0; i < s->n; i++) n += put_tensor(to ? to + n : NULL, s->u.ts[i]);
        return n;
    case RL_INT:
    case RL_TRUTH:
    case RL_FLOAT: return put_words(to, s, &s->u.i, sizeof s->u.i, 1);
    case RL_INTS: return put_words(to, s, s->u.ints, (size_t)s->n * sizeof *s->u.ints, s->n);
    case RL_TEXT: {
        const size_t length = strlen(s->u.s);
        return put_words(to, s, s->u.s, length, (int64_t)length);
    }
    default:
        if (to) *to = RL_NONE;
        return 1;
    }
}

const int64_t *rl_inputs_keep(const rl_slot *args, int n) {
    size_t words = 0, at = 0;
    for (int i = 0; i < n; i++) words += put_slot(NULL, &args[i]);
    int64_t *kept = rl_text_room(words * sizeof *kept);
    for (int i = 0; kept && i < n; i++) at += put_slot(kept + at, &args[i]);
    return kept;
}

/* ---- afterwards ---- */
static PyObject *numbers(const int64_t *words, int64_t n) {
    RL_OWNED PyObject *list = PyList_New(n);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *number = PyLong_FromLongLong(words[i]);
        if (!number) return NULL;
        PyList_SET_ITEM(list, i, number);
    }
    return rl_give(&list);
}

static PyObject *get_slot(const int64_t **at);

static PyObject *get_list(const int64_t **at, int64_t n) {
    RL_OWNED PyObject *list = PyList_New(n);
    if (list) PyObject_GC_UnTrack(list); /* nobody may see its NULLs */
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *each = get_slot(at);
        if (!each) return NULL;
        PyList_SET_ITEM(list, i, each);
    }
    if (list) PyObject_GC_Track(list);
    return rl_give(&list);
}

static PyObject *get_value(const int64_t *words, int tag, int64_t n) {
    double number;
    if (tag == RL_INT) return PyLong_FromLongLong(*words);
    if (tag == RL_TRUTH) return PyBool_FromLong(*words != 0);
    if (tag == RL_INTS || tag == RL_TENSOR) return numbers(words, n);
    if (tag == RL_TEXT) return PyUnicode_DecodeUTF8((const char *)words, n, "replace");
    if (tag != RL_FLOAT) return Py_NewRef(Py_None);
    memcpy(&number, words, sizeof number);
    return PyFloat_FromDouble(number);
}

/* (type, value) of the argument at *at, which goes on to the next */
static PyObject *get_slot(const int64_t **at) {
    const int64_t head = *(*at)++, n = head >> N_SHIFT;
    const int tag = (int)(head & TAG);
    const char *type = tag == RL_TENSOR                                                        ? NULL
                       : tag == RL_TENSORS                                                     ? "TensorList"
                       : tag == RL_INTS                                                        ? "ScalarList"
                       : tag == RL_INT || tag == RL_TRUTH || tag == RL_FLOAT || tag == RL_TEXT ? "Scalar"
                                                                                               : "";
    if (tag == RL_TENSORS) {
        RL_OWNED PyObject *list = get_list(at, n);
        return list ? Py_BuildValue("(sO)", type, list) : NULL;
    }
    RL_OWNED PyObject *value = get_value(*at, tag, n);
    if (!value) return NULL;
    *at += tag == RL_TEXT ? (int64_t)text_words((size_t)n) : n;
    return Py_BuildValue("(sO)", type ? type : rl_dtype_name((int)(head >> DTYPE_SHIFT & TAG)), value);
}

PyObject *rl_inputs_list(const int64_t *inputs, int n) {
    return get_list(&inputs, inputs ? n : 0);
}
