/* The vocabulary of VJPs, in addition to call/values.h.
 *
 * VJP(mul) {
 *     GRAD_OF(0, OP(mul, G, X(1)));       the gradient of argument 0: grad * other
 *     GRAD_OF(1, OP(mul, G, X(0)));
 * }
 *   X(i)        argument i: a tensor, number, list or string
 *   MAYBE(i)    ... or NONE where the call had None; OP takes that where its operator does
 *   GIVEN(i)    had the call something else than None? Reads nothing
 *   STRING_ARG(i)  argument i as a C string
 *   OUT(i)      result i
 *
 * To read what is not there raises: None by X, and a tensor that the operator does not save for the gradients
 * that are wanted. So read a value that only one gradient needs inside its GRAD_OF. */
#ifndef RL_DERIVATIVES_VJP_H
#define RL_DERIVATIVES_VJP_H
#include "vjp.h"
#include "autograd/autograd.h"
#include "call/values.h"

#define VALUES          (&g->v)
#define RL_MAX_UNPACKED 8

typedef struct {
    rl_node *node;
    PyObject *const *grads; /* of the results, NULL: undefined */
    PyObject **results;     /* for the edges */
    rl_values v;            /* what the formula made on the way */
    /* saved tensors that hooks packed: these are asked once for each, however often the formula reads it */
    struct {
        rl_view *tensor;
        int saved;
    } unpacked[RL_MAX_UNPACKED];
    int n_unpacked;
} rl_vjp;
typedef void (*rl_formula)(rl_vjp *g);
#define VJP(name)                                                                                            \
    void rl_formula_##name(rl_vjp *g);                                                                       \
    void rl_formula_##name(rl_vjp *g)

bool rl_vjp_wants(const rl_vjp *g, int arg);        /* does a gradient go to this argument? */
void rl_vjp_pass(rl_vjp *g, int arg, V value);      /* here it is; RL_NONE: none */
void rl_vjp_pass_nth(rl_vjp *g, int edge, V value); /* by edge: for Tensor[] arguments */
bool rl_vjp_wants_nth(const rl_vjp *g, int edge);
V rl_vjp_grad(rl_vjp *g, int result); /* zeros when undefined */
bool rl_vjp_has_grad(const rl_vjp *g, int result);
V rl_vjp_arg(rl_vjp *g, int arg);
V rl_vjp_maybe(rl_vjp *g, int arg);
bool rl_vjp_given(const rl_vjp *g, int arg);
const char *rl_vjp_string(rl_vjp *g, int arg);                 /* "" after a failure */
V rl_vjp_list(rl_vjp *g, int arg, rl_view *room[RL_MAX_DIMS]); /* the saved tensors; NULL for None */
const int64_t *rl_vjp_layout(rl_vjp *g, int n);                /* n numbers of the saved layout */
V rl_vjp_out(rl_vjp *g, int result);                           /* a saved result */
V rl_vjp_scaled(rl_vjp *g, V value,
                V factor);   /* value * factor; a factor that is absent or 1 costs nothing */
void rl_vjp_fail(rl_vjp *g); /* an exception is set */
/* What the argument looked like; only for one that a gradient goes to. */
const rl_tensor_meta *rl_vjp_like(rl_vjp *g, int arg);
const rl_tensor_meta *rl_vjp_like_nth(rl_vjp *g, int edge);
V rl_vjp_size(rl_vjp *g, int arg);  /* its shape as an int list */
V rl_vjp_zeros(rl_vjp *g, int arg); /* zeros that look like it */
V rl_vjp_zeros_as(rl_vjp *g, const rl_tensor_meta *like);
V rl_vjp_zero_of(rl_vjp *g, V x);     /* one zero of x's dtype, where x is */
bool rl_vjp_any(rl_vjp *g, V truths); /* looks at the values */
double rl_vjp_num(rl_vjp *g, int arg);
int64_t rl_vjp_int(rl_vjp *g, int arg);
#define G             rl_vjp_grad(g, 0)
#define X(i)          rl_vjp_arg(g, i)
#define MAYBE(i)      rl_vjp_maybe(g, i)
#define GIVEN(i)      rl_vjp_given(g, i)
#define STRING_ARG(i) rl_vjp_string(g, i)
#define OUT(i)        rl_vjp_out(g, i)
#define ZEROS         OP(zeros_like, G)
#define GRAD_OF(arg, value)                                                                                  \
    do {                                                                                                     \
        if (rl_vjp_wants(g, arg)) rl_vjp_pass(g, arg, value);                                                \
    } while (0)

/* ---- what formulas of several families share: derivatives/common.c ---- */
static inline int64_t rl_dim_wrapped(int64_t d, int64_t n) {
    return d < 0 ? d + n : d;
}

/* The operator of this node once more, with G in the place of its first argument: it is linear in that. */
V rl_vjp_again(rl_vjp *g);
/* G in equal parts to the elements of argument 0 that are result 0, one of them all. */
V rl_vjp_shared(rl_vjp *g);
V rl_vjp_both(rl_vjp *g); /* G times the gradient that came into the operator */
/* Passes G on to the diagonal that lies in argument 0 (derivatives/view.c). */
void rl_vjp_diagonal(rl_vjp *g, int64_t shift, int64_t dim1, int64_t dim2);

/* ---- what a reduction took together: derivatives/reduce.c ---- */
/* What a reduction of argument 0 took together: dims as a mask and as a list, and how many elements. */
typedef struct {
    uint64_t mask;
    int64_t dims[RL_MAX_DIMS];
    int n;
    double count;
    bool kept;
} rl_span;

rl_span rl_span_of(rl_vjp *g, int dim_arg, bool kept);
/* a reduced tensor with its lost dims as 1 */
V rl_span_restored(rl_vjp *g, const rl_span *s, V x);
V rl_span_dims(const rl_span *s);
#endif
