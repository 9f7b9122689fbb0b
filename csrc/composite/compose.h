/* The vocabulary of composites, in addition to call/values.h.
 *
 * COMPOSED(fliplr) {
 *     return OP(flip, X(0), INT(1));
 * }
 *   X(i)              argument i as it came; GIVEN(i): is it something else than None?
 *   NTH(list, i)      a tensor of a Tensor[] argument, which has list.n of them
 *   TUPLE(op, ...)    an operator's tuple, as it is; PART(tuple, i): one of its tensors
 *   RESULTS(a, b)     several results; EACH(list, make, number): a list of make(g, x, number) of each x
 *   RAISE(type, format, ...)   fails
 *
 * COMPOSED_AS_IT_IS(id) makes the Python object itself, or raises and answers NULL: for views, which are
 * called often and mostly are one call, and for tuples that are results of one node. */
#ifndef RL_COMPOSITE_COMPOSE_H
#define RL_COMPOSITE_COMPOSE_H
#include "call/call.h"
#define VALUES g
#include "call/values.h"

typedef V (*rl_making)(rl_values *g, rl_op_call *b);
PyObject *rl_composed(rl_op_call *b, rl_making make);
V rl_composed_tuple(rl_values *g, int op, const V *args, int n);
V rl_composed_results(rl_values *g, const V *results, int n);
typedef V (*rl_each)(rl_values *g, V x, int64_t number);
#define COMPOSED(id)                                                                                         \
    static V made_##id(rl_values *g, rl_op_call *b);                                                         \
    PyObject *compose_##id(rl_op_call *b);                                                                   \
    PyObject *compose_##id(rl_op_call *b) {                                                                  \
        return rl_composed(b, made_##id);                                                                    \
    }                                                                                                        \
    static V made_##id(rl_values *g __attribute__((unused)), rl_op_call *b __attribute__((unused)))

#define COMPOSED_AS_IT_IS(id)                                                                                \
    PyObject *compose_##id(rl_op_call *b);                                                                   \
    PyObject *compose_##id(rl_op_call *b)

#define X(i)           (b->k.arg[i])
#define GIVEN(i)       (b->k.arg[i].tag != RL_NONE)
#define NTH(list, i)   ((V){.tag = RL_TENSOR, .u.t = (list).u.ts[i]})
#define TUPLE(op, ...) rl_composed_tuple(VALUES, RL_OP_##op, RL_VALUE_LIST(__VA_ARGS__))
#define PART(tuple, i)                                                                                       \
    ((V){.tag = RL_TENSOR, .u.t = &((rl_tensor *)PyTuple_GET_ITEM((PyObject *)(tuple).u.o, i))->v})
#define DEVICE_OF(x)                                                                                         \
    INT(rl_value_tensor(x)->device * 256 + rl_value_tensor(x)->device_index + 1) /* for an argument Device?  \
                                                                                  */
V rl_composed_each(rl_values *g, V list, rl_each make, int64_t number);
#define RESULTS(...)             rl_composed_results(VALUES, RL_VALUE_LIST(__VA_ARGS__))
#define EACH(list, make, number) rl_composed_each(VALUES, list, make, number)
#define RAISE(...)               rl_values_raise(VALUES, __VA_ARGS__)

/* ---- tensors as Python objects ---- */
static inline V rl_value_of(PyObject *tensor) {
    return (V){.tag = RL_TENSOR, .u.t = &((rl_tensor *)tensor)->v};
}
static inline PyObject *tensor_of(rl_op_call *b, int arg) {
    return (PyObject *)RL_TENSOR_OF(b->k.arg[arg].u.t);
}
static inline rl_view *view_of(PyObject *t) {
    return &((rl_tensor *)t)->v;
}

/* ---- composite/index.c ---- */
PyObject *rl_composite_flat(PyObject *x);
PyObject *rl_composite_pick(PyObject *x, int64_t dim, PyObject *index); /* index_select() */
int rl_composite_dense(rl_view *held, PyObject *t, int dtype); /* a look at t's numbers, for RL_RAW code */
int rl_composite_numbers(const rl_view *held, int64_t *to);    /* ... copied, of int64; -1: raised */
#endif
