/* Shapes and strides. */
#ifndef RL_CORE_VIEW_H
#define RL_CORE_VIEW_H
#include "kernel_abi/kernel.h"

rl_status rl_view_dims(rl_view *v,
                       int ndim); /* room for ndim dims; v->shape and v->strides may be stale before */
void rl_view_clear(rl_view *v);   /* gives back a long dims block; not the storage */
rl_status rl_view_copy(rl_view *to, const rl_view *from); /* all but the storage reference count */
int64_t rl_dims_numel(const int64_t *shape, int ndim);    /* -1 when it does not fit in int64 */
/* false when a stride does not fit, which only a shape without elements can bring about */
bool rl_dims_contiguous(const int64_t *shape, int ndim, int64_t *strides);
/* channels (dim 1) lie side by side, then the places from the last dim on, then dim 0 */
void rl_dims_channels_last(const int64_t *shape, int ndim, int64_t *strides);
/* Note [Order of dims]
 * The strides of a dense tensor of this shape, with elements, whose dims lie in memory as those of the views
 * do, which stretch to it. The first view that can tell says which of two dims is the inner one: none can in
 * which it has stride 0 (stretched, or repeated). Dims that nobody orders stay as they stand. */
void rl_dims_ordered(const rl_view *const *views, int n, const int64_t *shape, int ndim, int64_t *strides);
/* `like` is as large: the strides of a dense tensor in its order */
void rl_strides_as(rl_view *v, const rl_view *like);
/* stride times n, or the stride itself where nobody walks that far: kernels count all strides in bytes */
#define RL_MAX_STRIDE ((int64_t)1 << 47)
int64_t rl_stride_scaled(int64_t stride, int64_t n);
enum { RL_FORMAT_CONTIGUOUS, RL_FORMAT_CHANNELS_LAST, RL_FORMAT_CHANNELS_LAST_3D, RL_FORMAT_PRESERVE };
bool rl_is_channels_last(const rl_view *v);             /* of four dims, dense */
bool rl_is_in_format(const rl_view *v, int64_t format); /* dense, with its dims in that order */
/* Do the dims of a batch of images or volumes lie so, with gaps perhaps? Where all could be said of it, no.
 */
bool rl_looks_channels_last(const rl_view *v);
rl_status rl_dims_broadcast(const rl_view *a, const rl_view *b, int64_t *shape, int *ndim);
rl_status rl_dim_wrap(int64_t *dim, int ndim); /* PyTorch's "Dimension out of range" */
/* Would [offset, shape, strides] stay inside nbytes? PyTorch's setStorage text when not. */
rl_status rl_view_check_bounds(const int64_t *shape, const int64_t *strides, int ndim, int64_t offset,
                               int dtype, size_t nbytes);
#endif
