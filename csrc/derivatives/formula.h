/* What formulas are written with.
 *
 * FORMULA(mul) {
 *     TO(0, OP(mul, G, X(1)));       the gradient of argument 0: grad * other
 *     TO(1, OP(mul, G, X(0)));
 * }
 * A value is a slot: a tensor or a number. Tensors made on the way belong to the call and are dropped when it
 * ends. After a failure every OP answers nothing at once, so that formulas need no checks.
 *
 *   X(i)        argument i: a tensor, number, list or text
 *   MAYBE(i)    ... or NONE where the call had None; OP takes that where its operator does
 *   GIVEN(i)    had the call something else than None? Reads nothing
 *   TEXT(i)     argument i as a C string
 *   OUT(i)      result i
 *   NDIM(x), SIZE(x, d), NUMEL(x), SHAPE(x, room)   of a tensor; 0 and an empty list after a failure
 *
 * To read what is not there raises: None by X, and a tensor that the operator does not save for the gradients
 * that are wanted. So a value that only one gradient needs is read inside of its TO. */
#ifndef RL_DERIVATIVES_FORMULA_H
#define RL_DERIVATIVES_FORMULA_H
#include "autograd/autograd.h"

typedef struct {
    rl_node *node;
    PyObject *const *grads; /* of the results, NULL: undefined */
    PyObject **results;     /* for the edges */
    PyObject *more;         /* a list, when `made` is full */
    PyObject *made[24];
    int n_made;
    bool failed;
} rl_vjp;
typedef rl_slot V;
typedef void (*rl_formula)(rl_vjp *g);
#define FORMULA(name)                                                                                        \
    void rl_formula_##name(rl_vjp *g);                                                                       \
    void rl_formula_##name(rl_vjp *g)

void rl_vjp_end(rl_vjp *g);                         /* drops what was made on the way */
bool rl_vjp_wants(const rl_vjp *g, int arg);        /* does a gradient go to this argument? */
void rl_vjp_pass(rl_vjp *g, int arg, V value);      /* here it is; RL_NONE: none */
void rl_vjp_pass_nth(rl_vjp *g, int edge, V value); /* by edge: for Tensor[] arguments */
bool rl_vjp_wants_nth(const rl_vjp *g, int edge);
V rl_vjp_grad(rl_vjp *g, int result); /* zeros when undefined */
bool rl_vjp_has_grad(const rl_vjp *g, int result);
V rl_vjp_arg(rl_vjp *g, int arg);
V rl_vjp_maybe(rl_vjp *g, int arg);
bool rl_vjp_given(const rl_vjp *g, int arg);
const char *rl_vjp_text(rl_vjp *g, int arg);                          /* "" after a failure */
V rl_vjp_list(rl_vjp *g, int arg, rl_view *room[RL_MAX_DIMS]);        /* the saved tensors; NULL for None */
const int64_t *rl_vjp_layout(rl_vjp *g, int n);                       /* n numbers of the saved layout */
V rl_vjp_out(rl_vjp *g, int result);                                  /* a saved result */
V rl_vjp_op(rl_vjp *g, int op, const V *args, int n);                 /* runs an operator on values */
V rl_vjp_op_nth(rl_vjp *g, int op, const V *args, int n, int result); /* ... and picks one result */
void rl_vjp_op_all(rl_vjp *g, int op, const V *args, int n, V *results, int n_results); /* all of them */
V rl_vjp_own(rl_vjp *g, PyObject *tensor_steal); /* a value that lives as long as the call */
V rl_vjp_scaled(rl_vjp *g, V value,
                V factor);   /* value * factor; a factor that is absent or 1 costs nothing */
void rl_vjp_fail(rl_vjp *g); /* an exception is set */
/* What the argument looked like; only for one that a gradient goes to. */
const rl_meta *rl_vjp_like(rl_vjp *g, int arg);
const rl_meta *rl_vjp_like_nth(rl_vjp *g, int edge);
V rl_vjp_size(rl_vjp *g, int arg);  /* its shape as an int list */
V rl_vjp_zeros(rl_vjp *g, int arg); /* zeros that look like it */
V rl_vjp_zeros_as(rl_vjp *g, const rl_meta *like);
V rl_vjp_zero_of(rl_vjp *g, V x);                /* one zero of x's dtype, where x is */
V rl_vjp_join(rl_vjp *g, V a, V b, int64_t dim); /* cat() */
bool rl_vjp_any(rl_vjp *g, V truths);            /* looks at the values */
double rl_vjp_num(rl_vjp *g, int arg);
int64_t rl_vjp_int(rl_vjp *g, int arg);
int rl_value_list(V v, int64_t *room, int most); /* a list or a single number as a list; how many */
V rl_value_shape(V v, int64_t room[RL_MAX_DIMS]);
static inline int rl_value_ndim(V v) {
    return v.tag == RL_TENSOR ? v.u.t->ndim : 0;
}
static inline int64_t rl_value_numel(V v) {
    return v.tag == RL_TENSOR ? v.u.t->numel : 0;
}
static inline int64_t rl_value_offset(V v) {
    return v.tag == RL_TENSOR ? v.u.t->offset : 0;
}
static inline int64_t rl_value_size(V v, int64_t dim) {
    int n = rl_value_ndim(v);
    dim += dim < 0 ? n : 0;
    return dim >= 0 && dim < n ? v.u.t->shape[dim] : 0;
}

static inline V rl_value_num(double d) {
    return (V){.tag = RL_FLOAT, .u.d = d};
}
static inline V rl_value_int(int64_t i) {
    return (V){.tag = RL_INT, .u.i = i};
}
static inline V rl_value_truth(bool b) {
    return (V){.tag = RL_TRUTH, .u.i = b};
}
static inline V rl_value_ints(int64_t *ints, int n) {
    return (V){.tag = RL_INTS, .n = n, .u.ints = ints};
}
static inline V rl_value_word(const char *text) {
    return (V){.tag = RL_TEXT, .u.s = text};
}
static inline V rl_value_dtype(int dtype) {
    return (V){.tag = RL_DTYPE, .u.i = dtype};
}
static inline double rl_number(V v) {
    return v.tag == RL_FLOAT ? v.u.d : (double)v.u.i;
}
#define G            rl_vjp_grad(g, 0)
#define X(i)         rl_vjp_arg(g, i)
#define MAYBE(i)     rl_vjp_maybe(g, i)
#define GIVEN(i)     rl_vjp_given(g, i)
#define TEXT(i)      rl_vjp_text(g, i)
#define NDIM(x)      rl_value_ndim(x)
#define SIZE(x, d)   rl_value_size(x, d)
#define NUMEL(x)     rl_value_numel(x)
#define SHAPE(x, to) rl_value_shape(x, to)
#define OUT(i)       rl_vjp_out(g, i)
#define NUM(d)       rl_value_num(d)
#define INT(i)       rl_value_int(i)
#define TRUTH(b)     rl_value_truth(b)
#define INTS(p, n)   rl_value_ints(p, n)
#define WORD(s)      rl_value_word(s)
#define DTYPE(d)     rl_value_dtype(d)
#define NONE         ((V){.tag = RL_NONE})
#define OP(op, ...)  rl_vjp_op(g, RL_OP_##op, (V[]){__VA_ARGS__}, sizeof((V[]){__VA_ARGS__}) / sizeof(V))
#define OP_NTH(nth, op, ...)                                                                                 \
    rl_vjp_op_nth(g, RL_OP_##op, (V[]){__VA_ARGS__}, sizeof((V[]){__VA_ARGS__}) / sizeof(V), nth)
#define PLUS(x, d)  OP(add, x, NUM(d))
#define TIMES(x, d) OP(mul, x, NUM(d))
#define ZEROS       OP(zeros_like, G)
#define OPS(results, n, op, ...)                                                                             \
    rl_vjp_op_all(g, RL_OP_##op, (V[]){__VA_ARGS__}, sizeof((V[]){__VA_ARGS__}) / sizeof(V), results, n)
#define TO(arg, value)                                                                                       \
    do {                                                                                                     \
        if (rl_vjp_wants(g, arg)) rl_vjp_pass(g, arg, value);                                                \
    } while (0)
#endif
