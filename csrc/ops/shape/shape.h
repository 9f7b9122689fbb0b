/* What the files of shape rules share. */
#ifndef RL_OPS_SHAPE_SHAPE_H
#define RL_OPS_SHAPE_SHAPE_H
#include "kernel_abi/kernel.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include "ops/shapes.h"
#include <string.h>

#define RL_SHAPE(name)                                                                                       \
    rl_status shape_##name(rl_call *k);                                                                      \
    rl_status shape_##name(rl_call *k)

/* ---- rules that others end with: ops/shape/common.c ---- */
rl_status shape_like(rl_call *k);

/* Gives output i a contiguous shape; refuses negative and overflowing ones with PyTorch's texts. */
rl_status rl_out_dims(rl_call *k, int i, const int64_t *shape, int ndim);
/* The same for an operator that works element by element: its dims lie in memory as those of the tensors
 * among its arguments do (Note [Order of dims] in core/view.h). */
rl_status rl_out_elementwise(rl_call *k, int i, const int64_t *shape, int ndim);
/* ... as those of these do */
rl_status rl_out_permuted(rl_call *k, int i, const int64_t *shape, int ndim, const rl_view *const *in, int n);
/* The n numbers of an int[n] argument, of which one stands for all; refuses lists of another length. */
rl_status rl_ints_list(const rl_call *k, int arg, int n, int64_t *to);
static inline rl_status rl_ints_read(const rl_call *k, int arg, int n, int64_t *to) {
    if (k->arg[arg].tag != RL_INT) return rl_ints_list(k, arg, n, to);
    for (int i = 0; i < n; i++) to[i] = k->arg[arg].u.i;
    return RL_OK;
}
/* output i gets the dims of argument 0 */
static inline rl_status rl_out_as_input(rl_call *k, int i) {
    return rl_out_dims(k, i, rl_tensor_arg(k, 0)->shape, rl_tensor_arg(k, 0)->ndim);
}
/* ... and, if it is dense, its strides: it is copied first, or another tensor like it is filled */
static inline rl_status rl_out_like_input(rl_call *k, int i) {
    if (rl_out_as_input(k, i) != RL_OK) return RL_FAIL;
    rl_strides_as(k->out[i], k->arg[0].u.t);
    return RL_OK;
}
rl_status rl_take_format(rl_view *out, int64_t format); /* channels_last for 4 dims, channels_last_3d for 5 */
rl_status rl_size_out(rl_call *k, int arg); /* output 0 gets the dims that an int[] argument says */
rl_status rl_stretches(rl_call *k, const rl_view *from, const char *what); /* to the shape of argument 0 */
/* attr[0]: the dimension of argument 0 that an argument names */
static inline rl_status rl_dim_read(rl_call *k, int arg) {
    k->attr[0] = k->arg[arg].u.i;
    return rl_dim_wrap(&k->attr[0], rl_tensor_arg(k, 0)->ndim);
}
static inline int64_t rl_size_along(const rl_view *v, int64_t dim) { /* a number has one element along any */
    return v->ndim ? v->shape[dim] : 1;
}
static inline bool rl_dims_same(const rl_view *v, const rl_view *w) {
    return v->ndim == w->ndim && memcmp(v->shape, w->shape, (size_t)v->ndim * sizeof *v->shape) == 0;
}

/* ---- gradients ---- */
rl_status rl_gradient_differs(const rl_call *k, const rl_view *want);
/* a view that has only dims: of an int[] argument */
rl_status rl_sizes_read(const rl_call *k, int arg, rl_view *v);
/* the forward operator's call: k's arguments without the gradient */
rl_call rl_call_forward(const rl_call *k, const char *name, rl_view *out);
/* The gradient must look like the forward's answer; this operator's looks like the forward's input. */
rl_status rl_gradient_as_input(rl_call *k, const rl_view *expected);

/* ---- of one family ---- */
/* Strides under which x reads as `shape`; RL_UNSUPPORTED where none do. */
rl_status rl_view_restride(const rl_view *x, const int64_t *shape, int ndim, int64_t *strides);
rl_status shape_select(rl_call *k);
rl_status shape_slice(rl_call *k);
rl_status shape_diagonal(rl_call *k);
rl_status shape_as_strided(rl_call *k);
int64_t rl_diagonal_length(int64_t rows, int64_t cols, int64_t offset);
#endif
