/* The base of every reference kernel: the list of dtypes with their compute types, and rows of elements that
 * are loaded into a wide type or stored from one. */
#ifndef RL_KERNELS_REF_LOOPS_H
#define RL_KERNELS_REF_LOOPS_H
#include "kernels/shared/strided_iterator.h"

/* X(token, C type, compute type, load, store, ...): halves compute in float, integers in int64. */
#define RL_AS_IS(x) (x)
#define RL_EACH_FLOAT(X, ...)                                                                                \
    X(F16, rl_half, float, rl_from_half, rl_to_half, __VA_ARGS__)                                            \
    X(F32, float, float, RL_AS_IS, RL_AS_IS, __VA_ARGS__)                                                    \
    X(F64, double, double, RL_AS_IS, RL_AS_IS, __VA_ARGS__)                                                  \
    X(BF16, rl_bfloat, float, rl_from_bfloat, rl_to_bfloat, __VA_ARGS__)
#define RL_EACH_INT(X, ...)                                                                                  \
    X(U8, uint8_t, int64_t, RL_AS_IS, (uint8_t), __VA_ARGS__)                                                \
    X(I8, int8_t, int64_t, RL_AS_IS, (int8_t), __VA_ARGS__)                                                  \
    X(I16, int16_t, int64_t, RL_AS_IS, (int16_t), __VA_ARGS__)                                               \
    X(I32, int32_t, int64_t, RL_AS_IS, (int32_t), __VA_ARGS__)                                               \
    X(I64, int64_t, int64_t, RL_AS_IS, RL_AS_IS, __VA_ARGS__)
#define RL_JUST_BOOL(X, ...) X(BOOL, uint8_t, int64_t, 0 !=, 0 !=, __VA_ARGS__)

/* int64 arithmetic that wraps */
#define RL_WRAP(a, op, b) ((int64_t)((uint64_t)(a)op(uint64_t)(b)))

static const double RL_REF_NS = 0.3; /* what kernels here take for an element at least */

/* ---- rows: n elements, `step` bytes apart, of any dtype ---- */
void rl_row_floats(int dtype, const char *p, int64_t step, int64_t n, float *to);
void rl_row_doubles(int dtype, const char *p, int64_t step, int64_t n, double *to);
void rl_row_ints(int dtype, const char *p, int64_t step, int64_t n, int64_t *to);
void rl_row_put_doubles(int dtype, char *p, int64_t step, int64_t n, const double *from);
void rl_row_put_ints(int dtype, char *p, int64_t step, int64_t n, const int64_t *from);
static inline double rl_row_double(int dtype, const char *p) {
    double x;
    rl_row_doubles(dtype, p, 0, 1, &x);
    return x;
}
static inline void rl_row_put_double(int dtype, char *p, double x) {
    rl_row_put_doubles(dtype, p, 0, 1, &x);
}
/* the values of a vector of any stride */
static inline double rl_vector_at(const rl_view *v, int64_t i) {
    int64_t stride = v->ndim ? v->strides[v->ndim - 1] * rl_itemsize(v->dtype) : 0;
    return rl_row_double(v->dtype, (const char *)rl_const_data(v) + i * stride);
}

/* ---- copying (kernels/ref/factory.c) ---- */
rl_inner_loop rl_inner_loop_copy(int64_t itemsize);
typedef struct {
    int to, from; /* dtypes */
} rl_cast_pair;
void rl_inner_loop_cast(char *const *p, const int64_t *step, int64_t n, const void *cast_pair);
void rl_inner_loop_convert(char *const *p, const int64_t *step, int64_t n, const void *cast_pair);
rl_inner_loop rl_inner_loop_between(int to,
                                    int from); /* the one of these that suits; its context is a cast_pair */
/* to = from, cast and stretched */
void rl_view_cast(rl_call *k, const rl_view *to, const rl_view *from);
/* A number argument or a 0-dim tensor as one element of dtype; PyTorch's text when it does not fit. */
rl_status rl_element_from(rl_call *k, int arg, int dtype, void *element);
rl_status rl_view_fill(rl_call *k, const rl_view *to, const void *element);
/* May two of its indices mean one element? (kernels/ref/view_back.c) */
bool rl_view_overlaps(const rl_view *v);
/* out, mask, where true, where false: elements of this size (kernels/ref/arith.c) */
rl_inner_loop rl_inner_loop_select(int64_t itemsize);
/* out[0] gets the elements of argument 0, unless it is that tensor */
void rl_view_start(rl_call *k);

/* ---- element-wise kernels (kernels/ref/arith.c): out = loop(args 0 .. n_in - 1) ---- */
typedef struct {
    double d[3];
    int64_t i[2];
    int fault; /* set by inner loops, answered with ZeroDivisionError and the like */
} rl_numbers;
/* loops: by the dtype of the first argument; each writes the dtype of the result */
rl_status rl_eltwise(rl_call *k, int n_in, const rl_inner_loop *loops, rl_numbers *numbers);

/* inner loops of three operands: target, the target again, what is added to it (times numbers->d, ->i) ... */
rl_inner_loop rl_inner_loop_combine(int join, int dtype); /* NULL for RL_JOIN_SET; RL_JOIN_MEAN adds */

/* One inner loop for each dtype. The expressions see a, b (compute type C) and c (const rl_numbers *). */
#define RL_LOOP_NAME(token, name) [RL_##token] = name##_##token,
#define RL_UNARY_LOOP(D, T, C_, LOAD, STORE, name, OUT, PUT, expr)                                           \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        typedef C_ C;                                                                                        \
        const rl_numbers *c = ctx;                                                                           \
        (void)c;                                                                                             \
        if (step[0] == sizeof(OUT) && step[1] == sizeof(T)) {                                                \
            OUT *o = (OUT *)p[0];                                                                            \
            const T *x = (const T *)p[1];                                                                    \
            RL_IVDEP for (int64_t i = 0; i < n; i++) {                                                       \
                const C a = LOAD(x[i]);                                                                      \
                o[i] = PUT(expr);                                                                            \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C a = LOAD(*(const T *)(p[1] + i * step[1]));                                              \
            *(OUT *)(p[0] + i * step[0]) = PUT(expr);                                                        \
        }                                                                                                    \
    }
#define RL_BINARY_LOOP(D, T, C_, LOAD, STORE, name, OUT, PUT, expr)                                          \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        typedef C_ C;                                                                                        \
        const rl_numbers *c = ctx;                                                                           \
        (void)c;                                                                                             \
        if (step[0] == sizeof(OUT) && step[1] == sizeof(T) && step[2] == sizeof(T)) {                        \
            OUT *o = (OUT *)p[0];                                                                            \
            const T *x = (const T *)p[1], *y = (const T *)p[2];                                              \
            RL_IVDEP for (int64_t i = 0; i < n; i++) {                                                       \
                const C a = LOAD(x[i]), b = LOAD(y[i]);                                                      \
                o[i] = PUT(expr);                                                                            \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C a = LOAD(*(const T *)(p[1] + i * step[1])), b = LOAD(*(const T *)(p[2] + i * step[2]));  \
            *(OUT *)(p[0] + i * step[0]) = PUT(expr);                                                        \
        }                                                                                                    \
    }
#define RL_UNARY_KEEP(D, T, C, LOAD, STORE, name, expr)                                                      \
    RL_UNARY_LOOP(D, T, C, LOAD, STORE, name, T, STORE, expr)
#define RL_UNARY_BOOL(D, T, C, LOAD, STORE, name, expr)                                                      \
    RL_UNARY_LOOP(D, T, C, LOAD, STORE, name, uint8_t, (uint8_t), expr)
#define RL_BINARY_KEEP(D, T, C, LOAD, STORE, name, expr)                                                     \
    RL_BINARY_LOOP(D, T, C, LOAD, STORE, name, T, STORE, expr)
#define RL_BINARY_BOOL(D, T, C, LOAD, STORE, name, expr)                                                     \
    RL_BINARY_LOOP(D, T, C, LOAD, STORE, name, uint8_t, (uint8_t), expr)
/* the entries of a table rl_inner_loop name[RL_NDTYPES] */
#define RL_ENTRY(D, T, C, LOAD, STORE, name) RL_LOOP_NAME(D, name)
#endif
