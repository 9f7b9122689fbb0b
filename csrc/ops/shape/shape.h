/* What the files of shape rules share. */
#ifndef RL_CORE_SHAPE_H
#define RL_CORE_SHAPE_H
#include "contract/kernel.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include "ops/shapes.h"
#include <string.h>

#define RL_SHAPE(name)                                                                                       \
    rl_status shape_##name(rl_call *k);                                                                      \
    rl_status shape_##name(rl_call *k)

rl_status shape_like(rl_call *k); /* ops/shape/view.c */
/* Gives output i a contiguous shape; refuses negative and overflowing ones with PyTorch's texts. */
rl_status rl_out_dims(rl_call *k, int i, const int64_t *shape, int ndim);
rl_status rl_view_move(rl_view *v, int64_t count, int64_t stride);
/* The n numbers of an int[n] argument, of which one stands for all; refuses lists of another length. */
rl_status rl_ints_list(const rl_call *k, int arg, int n, int64_t *to);
static inline rl_status rl_ints_read(const rl_call *k, int arg, int n, int64_t *to) {
    if (k->arg[arg].tag != RL_INT) return rl_ints_list(k, arg, n, to);
    for (int i = 0; i < n; i++) to[i] = k->arg[arg].u.i;
    return RL_OK;
}
/* Shape rules that say it in PyTorch's words of a pooling row: an int[n] argument called `what`. */
rl_status rl_pool_list(const rl_call *k, int arg, const char *what, int n);
/* The checks, attr[] and output dims of a convolution in n dimensions whose other arguments k has. */
rl_status rl_conv_expected(rl_call *k, const rl_view *x, const rl_view *w, int n, rl_view *out);
rl_status rl_conv_pads(const int64_t *pads, int n); /* none negative, none too large */
/* how many windows fit, below 1: none */
/* The part of a kernel that can reach elements: kernels of max pooling walk no further, however large it is.
 */
int64_t rl_pool_reach(int64_t kernel, int64_t size, int64_t pad, int64_t dilation);
int64_t rl_pool_places(int64_t size, int64_t pad, int64_t kernel, int64_t stride, int64_t dilation,
                       bool ceil_mode);
/* A pooling row in n dimensions, attr[] as ops/shape/pool.c says; dilation_arg 0: none. */
rl_status rl_pool_shape(rl_call *k, int n, int dilation_arg, bool ceil_mode);
/* For kernels that go along one dim: refuses, with PyTorch's text, what is neither absent, a vector nor one
 * element. */
rl_status rl_one_dim(const rl_view *v);
#endif
