/* Goes along the lists of a call, one tensor after the other, through the dispatcher. */
#include "walk.h"
#include <math.h>

/* ---- the lists fit each other ---- */
/* how many tensors there are; -1: raised */
static int32_t common_length(const rl_bound *b) {
    int32_t n = -1;
    for (int i = 0; i < b->k.n_arg; i++) {
        const rl_slot *s = &b->k.arg[i];
        if (s->tag != RL_TENSORS) continue;
        if (n < 0) n = s->n;
        if (n == 0) {
            PyErr_SetString(PyExc_RuntimeError, "Tensor list must have at least one tensor.");
            return -1;
        }
        if (s->n != n) {
            PyErr_Format(PyExc_RuntimeError,
                         "Tensor lists must have the same number of tensors, got %d and %d", (int)n,
                         (int)s->n);
            return -1;
        }
    }
    for (int i = 0; i < b->k.n_arg; i++) {
        if (b->k.arg[i].tag != RL_OBJECT || b->k.arg[i].n == n) continue;
        PyErr_SetString(PyExc_RuntimeError, "Tensor list must have same number of elements as scalar list.");
        return -1;
    }
    return n;
}

/* ---- along them ---- */
static int number(PyObject *o, rl_slot *at) {
    const int rc = rl_scalar_slot(o, at);
    if (rc == 0) PyErr_SetString(PyExc_TypeError, "scalars must be numbers");
    return rc == 1 ? 0 : -1;
}

/* what stands at place i of an argument: 0, or -1 raised */
static int element(const rl_slot *s, int32_t i, rl_slot *at) {
    if (s->tag == RL_TENSORS)
        *at = (rl_slot){.tag = RL_TENSOR, .u.t = s->u.ts[i]};
    else if (s->tag == RL_OBJECT)
        return number(PyTuple_GET_ITEM((PyObject *)s->u.o, i), at);
    else
        *at = *s;
    return 0;
}

static PyObject *run_at(const rl_bound *b, int op, bool inplace, int32_t i) {
    rl_slot args[RL_MAX_ARGS];
    for (int j = 0; j < b->k.n_arg; j++)
        if (element(&b->k.arg[j], i, &args[j]) < 0) return NULL;
    return inplace ? rl_op_run_inplace(op, args, b->k.n_arg) : rl_op_run(op, args, b->k.n_arg);
}

PyObject *rl_foreach_walk(rl_bound *b, int op, bool inplace) {
    const int32_t n = common_length(b);
    RL_OWNED PyObject *results = n < 0 ? NULL : inplace ? Py_NewRef(Py_None) : PyTuple_New(n);
    for (int32_t i = 0; results && i < n; i++) {
        PyObject *made = run_at(b, op, inplace, i);
        if (!made) return NULL;
        if (inplace)
            Py_DECREF(made);
        else
            PyTuple_SET_ITEM(results, i, made);
    }
    return rl_give(&results);
}

/* ---- arguments that are not what the operator takes ---- */
int rl_foreach_scalar(rl_bound *b) {
    const rl_view *v = b->k.arg[1].u.t;
    if (v->ndim == 0) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "scalar tensor expected to be 0 dim but it has %d dimensions and %lld elements.", v->ndim,
                 (long long)v->numel);
    return -1;
}

int rl_foreach_packed(rl_bound *b) {
    const rl_view *v = b->k.arg[3].u.t;
    const int n = b->k.arg[0].n;
    if (v->ndim != 1) {
        PyErr_Format(PyExc_RuntimeError,
                     "Expected packed scalar Tensor to be of dimension 1. Got %d instead.", v->ndim);
        return -1;
    }
    if (v->shape[0] != n) {
        PyErr_Format(PyExc_RuntimeError,
                     "Expected length of scalars to match input of length %d but got %lld "
                     "instead.",
                     n, (long long)v->shape[0]);
        return -1;
    }
    RL_OWNED PyObject *list = PyObject_CallMethod((PyObject *)RL_TENSOR_OF(v), "tolist", NULL);
    PyObject *numbers = list ? PySequence_Tuple(list) : NULL;
    if (rl_bound_keep_steal(b, numbers) < 0) return -1;
    b->k.arg[3] = (rl_slot){.tag = RL_OBJECT, .n = (int32_t)PyTuple_GET_SIZE(numbers), .u.o = numbers};
    return 0;
}

int rl_foreach_zero(rl_bound *b) {
    b->k.arg[b->k.n_arg++] = (rl_slot){.tag = RL_INT, .u.i = 0};
    return 0;
}

/* -1 and the text, when a tensor of the list has no elements */
static int refuse_empty(const rl_bound *b, const char *text) {
    for (int32_t i = 0; i < b->k.arg[0].n; i++) {
        if (b->k.arg[0].u.ts[i]->numel) continue;
        PyErr_SetString(PyExc_RuntimeError, text);
        return -1;
    }
    return 0;
}

/* (input, ord, dtype) to (input, ord, dim, keepdim, dtype) */
int rl_foreach_powsum(rl_bound *b) {
    b->k.arg[4] = b->k.arg[2];
    b->k.arg[2] = b->k.arg[3] = (rl_slot){.tag = RL_NONE};
    b->k.n_arg = 5;
    return 0;
}

int rl_foreach_norm(rl_bound *b) {
    const rl_slot order = b->k.arg[1];
    if (order.tag == RL_FLOAT && order.u.d == INFINITY &&
        refuse_empty(b, "_foreach_norm cannot compute the infinity norm on an empty tensor because the "
                        "operation does not have an identity") < 0)
        return -1;
    return rl_foreach_powsum(b);
}

int rl_foreach_max(rl_bound *b) {
    return refuse_empty(b,
                        "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements "
                        "is undefined.");
}

int rl_foreach_mm(rl_bound *b) {
    if (b->k.arg[0].n == b->k.arg[1].n) return 0;
    PyErr_SetString(PyExc_RuntimeError, "_foreach_mm: self and mat2 must have the same number of tensors");
    return -1;
}
