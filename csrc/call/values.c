/* Operators called one after the other: see values.h. */
#define VALUES g
#include "values.h"
#include <stdarg.h>
#include <string.h>

/* shapes are read before anyone asks whether a call failed: any dimension of it is 0 */
static int64_t no_dims[RL_MAX_DIMS];
const rl_view rl_value_nothing = {.shape = no_dims, .strides = no_dims, .dtype = RL_F32};

int rl_value_list(V v, int64_t *room, int most) {
    if (v.tag == RL_INT) *room = v.u.i;
    if (v.tag != RL_INTS) return v.tag == RL_INT;
    int n = v.n < most ? v.n : most;
    if (n) memcpy(room, v.u.ints, (size_t)n * sizeof *room);
    return n;
}
V rl_value_shape(V v, int64_t room[RL_MAX_DIMS]) {
    int n = rl_value_ndim(v);
    if (n) memcpy(room, rl_value_tensor(v)->shape, (size_t)n * sizeof *room);
    return INTS(room, n);
}

V rl_values_own_steal(rl_values *g, PyObject *made) {
    if (!made) {
        g->failed = true;
        return NONE;
    }
    if (g->n_made < (int)Py_ARRAY_LENGTH(g->made)) {
        g->made[g->n_made++] = made;
    } else {
        if (!g->more && !(g->more = PyList_New(0))) g->failed = true;
        if (g->more && PyList_Append(g->more, made) < 0) g->failed = true;
        Py_DECREF(made);
        if (g->failed) return NONE;
    }
    return (V){.tag = RL_TENSOR, .u.t = &((rl_tensor *)made)->v};
}

void rl_values_drop(rl_values *g) {
    while (g->n_made) Py_DECREF(g->made[--g->n_made]);
    Py_CLEAR(g->more);
}

V rl_values_raise(rl_values *g, PyObject *type, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!g->failed) PyErr_FormatV(type, format, args);
    va_end(args);
    g->failed = true;
    return NONE;
}

static bool is_complete(rl_values *g, int op, const V *args, int n) {
    for (int i = 0; i < n; i++) {
        if (RL_LIKELY(args[i].tag != RL_NONE)) continue;
        const rl_arg *a = &rl_schemas[op].arg[i];
        if (a->optional || a->has_fallback) continue;
        rl_values_raise(g, PyExc_RuntimeError, "%s calls %s without its argument %d", g->what,
                        rl_operators[op].name, i);
        return false;
    }
    return true;
}

static PyObject *run(rl_values *g, int op, const V *args, int n) {
    return !g->failed && is_complete(g, op, args, n) ? rl_op_run(op, (rl_value *)args, n) : NULL;
}

V rl_values_op(rl_values *g, int op, const V *args, int n, int result) {
    RL_OWNED PyObject *made = run(g, op, args, n);
    if (made && PyTuple_Check(made)) Py_SETREF(made, Py_NewRef(PyTuple_GET_ITEM(made, result)));
    return rl_values_own_steal(g, rl_move(&made));
}
void rl_values_op_all(rl_values *g, int op, const V *args, int n, V *results, int n_results) {
    RL_OWNED PyObject *made = run(g, op, args, n);
    if (!made) g->failed = true;
    for (int i = 0; i < n_results; i++)
        results[i] = g->failed ? NONE : rl_values_own_steal(g, Py_NewRef(PyTuple_GET_ITEM(made, i)));
}
V rl_values_op_inplace(rl_values *g, int op, const V *args, int n) {
    if (g->failed) return NONE;
    return rl_values_own_steal(g, rl_op_run_inplace(op, (rl_value *)args, n));
}

V rl_values_join(rl_values *g, V a, V b, int64_t dim) {
    if (g->failed) return NONE;
    if (a.tag != RL_TENSOR || b.tag != RL_TENSOR)
        return rl_values_raise(g, PyExc_RuntimeError, "%s joins what is no tensor", g->what);
    V both = {.tag = RL_TENSORS, .n = 2, .u.ts = (rl_view *[]){a.u.t, b.u.t}};
    return OP(cat, both, INT(dim));
}

bool rl_values_boolean(rl_values *g, V x) {
    RL_OWNED PyObject *number = g->failed ? NULL : rl_scalar_get(x.u.t);
    int truth = number ? PyObject_IsTrue(number) : -1;
    g->failed |= truth < 0;
    return truth > 0;
}

V rl_values_item(rl_values *g, V x) {
    V number = NONE;
    RL_OWNED PyObject *object = g->failed ? NULL : rl_scalar_get(x.u.t);
    if (!object || rl_scalar_value(object, &number) < 0) g->failed = true;
    return number;
}

void *rl_values_room(rl_values *g, int64_t n, size_t size) {
    if (g->failed) return NULL;
    if (n < 0 || n > PTRDIFF_MAX / (int64_t)size / 2) {
        rl_values_raise(g, PyExc_MemoryError, "no memory for %lld values", (long long)n);
        return NULL;
    }
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n * (Py_ssize_t)size);
    rl_values_own_steal(g, bytes);
    return g->failed ? NULL : PyBytes_AS_STRING(bytes);
}
