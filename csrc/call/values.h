/* Operators called one after the other: what formulas of derivatives and composites are written with.
 *
 *     OP(mul, OP(sub, X(0), X(1)), NUM(0.5))
 *
 * A value is a tensor, a number, a list or a string. The rl_values of the call own the intermediate tensors
 * and release them when it ends. After a failure every OP returns nothing at once, so a chain of calls needs
 * no checks; a loop asks FAILED. Code that reads a tensor itself asks rl_value_tensor.
 *
 *   OP(op, ...)             runs an operator; of several results the first
 *   OP_NTH(nth, op, ...)    ... the nth
 *   OPS(results, n, op, ...)   ... n of them
 *   IN_PLACE(op, x, ...)    op_(x, ...)
 *   NUM INT BOOLEAN INTS TENSORS STRING DTYPE NONE      numbers, lists, strings as values
 *   NDIM(x), SIZE(x, d), NUMEL(x), SHAPE(x, room)   of a tensor; 0 and an empty list after a failure
 *   KIND(x)                 its dtype, or -1
 *
 * Whoever includes this says what VALUES is, a pointer to the rl_values of the call. */
#ifndef RL_CALL_VALUES_H
#define RL_CALL_VALUES_H
#include "call.h"

typedef rl_value V;
typedef struct {
    const char *what;   /* for the error of a call without a required argument */
    PyObject *more;     /* a list, when `made` is full */
    PyObject *made[24]; /* owned */
    int n_made;
    bool failed; /* with an exception set */
} rl_values;

void rl_values_drop(rl_values *g);                   /* what was made on the way */
V rl_values_own_steal(rl_values *g, PyObject *made); /* lives as long as the call; NULL: it failed */
V rl_values_op(rl_values *g, int op, const V *args, int n, int result);
void rl_values_op_all(rl_values *g, int op, const V *args, int n, V *results, int n_results);
V rl_values_op_inplace(rl_values *g, int op, const V *args, int n);
V rl_values_join(rl_values *g, V a, V b, int64_t dim);      /* cat() */
bool rl_values_boolean(rl_values *g, V x);                  /* of one element; looks at it */
V rl_values_item(rl_values *g, V x);                        /* ... as a number */
void *rl_values_room(rl_values *g, int64_t n, size_t size); /* n things; NULL: it failed */
V rl_values_raise(rl_values *g, PyObject *type, const char *format, ...);

int rl_value_list(V v, int64_t *room, int most); /* a list or a single number as a list; how many */
/* the numbers of a list, or the single one; NULL: neither */
static inline const int64_t *rl_value_numbers(const V *v) {
    return v->tag == RL_INTS ? v->u.ints : v->tag == RL_INT ? &v->u.i : NULL;
}
static inline int rl_value_length(V v) {
    return v.tag == RL_INTS ? v.n : v.tag == RL_INT;
}
V rl_value_shape(V v, int64_t room[RL_MAX_DIMS]);
/* The tensor that a value is; of any other, as after a failure, one without elements and memory. */
extern const rl_view rl_value_nothing;
static inline const rl_view *rl_value_tensor(V v) {
    return v.tag == RL_TENSOR ? v.u.t : &rl_value_nothing;
}
static inline int rl_value_ndim(V v) {
    return rl_value_tensor(v)->ndim;
}
static inline int64_t rl_value_numel(V v) {
    return rl_value_tensor(v)->numel;
}
static inline int64_t rl_value_offset(V v) {
    return rl_value_tensor(v)->offset;
}
static inline int64_t rl_value_size(V v, int64_t dim) {
    int n = rl_value_ndim(v);
    dim += dim < 0 ? n : 0;
    return dim >= 0 && dim < n ? rl_value_tensor(v)->shape[dim] : 0;
}

/* what a tensor's elements are; -1 of anything else */
static inline int rl_value_kind(V v) {
    return v.tag == RL_TENSOR ? rl_value_tensor(v)->dtype : -1;
}

static inline V rl_value_num(double d) {
    return (V){.tag = RL_FLOAT, .u.d = d};
}
static inline V rl_value_int(int64_t i) {
    return (V){.tag = RL_INT, .u.i = i};
}
static inline V rl_value_boolean(bool b) {
    return (V){.tag = RL_BOOLEAN, .u.i = b};
}
static inline V rl_value_ints(int64_t *ints, int n) {
    return (V){.tag = RL_INTS, .n = n, .u.ints = ints};
}
static inline V rl_value_tensors(rl_view **tensors, int n) {
    return (V){.tag = RL_TENSORS, .n = n, .u.ts = tensors};
}
static inline V rl_value_string(const char *text) {
    return (V){.tag = RL_STRING, .u.s = text};
}
static inline V rl_value_dtype(int dtype) {
    return (V){.tag = RL_DTYPE, .u.i = dtype};
}
static inline double rl_number(V v) {
    return v.tag == RL_FLOAT ? v.u.d : (double)v.u.i;
}
#define NDIM(x)                  rl_value_ndim(x)
#define SIZE(x, d)               rl_value_size(x, d)
#define NUMEL(x)                 rl_value_numel(x)
#define KIND(x)                  rl_value_kind(x)
#define SHAPE(x, to)             rl_value_shape(x, to)
#define NUM(d)                   rl_value_num(d)
#define INT(i)                   rl_value_int(i)
#define BOOLEAN(b)               rl_value_boolean(b)
#define INTS(p, n)               rl_value_ints(p, n)
#define TENSORS(room, n)         rl_value_tensors(room, n)
#define STRING(s)                rl_value_string(s)
#define DTYPE(d)                 rl_value_dtype(d)
#define NONE                     ((V){.tag = RL_NONE})
#define RL_VALUE_LIST(...)       (V[]){__VA_ARGS__}, (int)(sizeof((V[]){__VA_ARGS__}) / sizeof(V))
#define OP(op, ...)              rl_values_op(VALUES, RL_OP_##op, RL_VALUE_LIST(__VA_ARGS__), 0)
#define OP_NTH(nth, op, ...)     rl_values_op(VALUES, RL_OP_##op, RL_VALUE_LIST(__VA_ARGS__), nth)
#define OPS(results, n, op, ...) rl_values_op_all(VALUES, RL_OP_##op, RL_VALUE_LIST(__VA_ARGS__), results, n)
#define IN_PLACE(op, ...)        rl_values_op_inplace(VALUES, RL_OP_##op, RL_VALUE_LIST(__VA_ARGS__))
#define PLUS(x, d)               OP(add, x, NUM(d))
#define TIMES(x, d)              OP(mul, x, NUM(d))
#define JOIN(a, b, dim)          rl_values_join(VALUES, a, b, dim)
#define ITEM(x)                  rl_values_item(VALUES, x)
#define FAILED                   (VALUES->failed)
#endif
