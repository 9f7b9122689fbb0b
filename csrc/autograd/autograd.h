/* The autograd engine and the derivatives. They stand above tensor_*, which records the history that they
 * walk; every formula is written with the operators that users call, so it is differentiable again.
 *
 *   Tensor.backward ─► task: count what each node waits for ─► ready, highest sequence first
 *                          ─► hooks ─► formula of the operator ─► reduce to the input's shape ─► next nodes
 */
#ifndef RL_GRAD_H
#define RL_GRAD_H
#include "core/view.h"
#include "call/call.h"
#include "history/node.h"
#include "ops/table.h"

/* ---- formulas ----
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

/* ---- autograd/engine.c ---- */
typedef struct {
    const rl_edge *roots; /* n_roots, with their gradients: borrowed */
    PyObject *const *root_grads;
    int n_roots;
    const rl_edge *targets; /* autograd.grad(): where gradients are wanted; NULL: accumulate in all leaves */
    PyObject **found;       /* n_targets owned results; NULL with accumulate */
    int n_targets;
    bool keep_graph, create_graph, accumulate;
} rl_backward;
int rl_backward_run(rl_backward *run); /* autograd/nested.c */
int rl_backward_run_here(rl_backward *run);
int64_t rl_backward_id(void);              /* of the innermost run of this thread; -1: none */
bool rl_backward_reaches_all(void);        /* false while it looks for the gradients of some tensors alone */
int rl_backward_runs(const rl_node *node); /* does that run come to this node? */
/* -1 when `grad` cannot be the gradient of what meta describes; may replace it (reduced, cast) */
int rl_grad_conform(const rl_meta *meta, PyObject **grad, const char *function, int index);

/* ---- autograd/hooks.c ---- */
int rl_hooks_before(rl_node *node, PyObject **grads); /* tensor hooks, retain_grad; may replace */
int rl_hooks_prehooks(rl_node *node, PyObject **grads);
int rl_hooks_accumulated(rl_tensor *leaf);
int rl_hooks_after(rl_node *node, PyObject **results, PyObject *const *grads);

/* ---- autograd/accumulate.c ---- */
PyObject *rl_grad_zeros(const rl_meta *like);
int rl_grad_add(PyObject **sum,
                PyObject *grad_steal); /* *sum += grad, in place when nobody else can see it */

/* ---- autograd/function.c, autograd/function_ctx.c: autograd.Function ---- */
/* A Function's node is the ctx of its forward and backward. It is made before forward runs, so meta and saved
 * come later and lie in a block of their own:
 *   node │ edge[] │ rl_function │ is_tensor[n_args]          block: meta[] │ saved[] │ shapes │
 * is_tensor[n_out] */
typedef struct {
    PyObject *to_save, *dirty, *fixed, *needs, *for_forward; /* tuples or NULL; fixed: not differentiable */
    void *block;
    uint8_t *gives_tensor; /* which results are tensors; in the block */
    int32_t n_args;
    bool materialize, cleared; /* cleared: clear_saved_tensors_on_access has done its work */
    uint8_t is_tensor[];       /* which arguments are */
} rl_function;
extern PyTypeObject *rl_function_type;
extern const rl_node_kind rl_function_kind;
rl_function *rl_function_of(const rl_node *node);
rl_node *rl_function_new(PyTypeObject *type, int n_edge, int n_args);
/* Makes the block for these results and n_saved tensors. */
int rl_function_results(rl_node *node, PyObject *const *results, int n, int n_saved);
int rl_function_type_init(PyObject *m, PyMethodDef *methods); /* methods: apply */
int rl_function_init(PyObject *m);

int rl_grad_leaf_init(void);
void rl_grad_pieces_init(void);
#endif
