/* What composites are written with. */
#ifndef RL_COMPOSITE_SLOTS_H
#define RL_COMPOSITE_SLOTS_H
#include "call/call.h"

#define COMPOSE(id)                                                                                          \
    PyObject *compose_##id(rl_bound *b);                                                                     \
    PyObject *compose_##id(rl_bound *b)

static inline rl_slot tensor_slot(PyObject *t) {
    return (rl_slot){.tag = RL_TENSOR, .u.t = &((rl_tensor *)t)->v};
}
static inline rl_slot int_slot(int64_t i) {
    return (rl_slot){.tag = RL_INT, .u.i = i};
}
static inline rl_slot float_slot(double d) {
    return (rl_slot){.tag = RL_FLOAT, .u.d = d};
}
static inline rl_slot truth_slot(bool on) {
    return (rl_slot){.tag = RL_TRUTH, .u.i = on};
}
static inline rl_slot ints_slot(const int64_t *ints, int n) {
    return (rl_slot){.tag = RL_INTS, .n = n, .u.ints = (int64_t *)ints};
}
static inline PyObject *tensor_of(rl_bound *b, int arg) {
    return (PyObject *)RL_TENSOR_OF(b->k.arg[arg].u.t);
}
static inline rl_view *view_of(PyObject *t) {
    return &((rl_tensor *)t)->v;
}

/* composite/index.c */
PyObject *rl_composite_flat(PyObject *x);
PyObject *rl_composite_pick(PyObject *x, int64_t dim, PyObject *index); /* index_select() */
int rl_composite_dense(rl_view *held, PyObject *t, int dtype); /* a look at t's numbers, for RL_RAW code */
int rl_composite_numbers(const rl_view *held, int64_t *to);    /* ... copied, of int64; -1: raised */
#endif
