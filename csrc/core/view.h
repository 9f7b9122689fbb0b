/* Shapes and strides. */
#ifndef RL_CORE_VIEW_H
#define RL_CORE_VIEW_H
#include "contract/kernel.h"

rl_status rl_view_dims(rl_view *v,
                       int ndim); /* room for ndim dims; v->shape and v->strides may be stale before */
void rl_view_clear(rl_view *v);   /* gives back a long dims block; not the storage */
rl_status rl_view_copy(rl_view *to, const rl_view *from); /* all but the storage reference count */
int64_t rl_dims_numel(const int64_t *shape, int ndim);    /* -1 when it does not fit in int64 */
/* false when a stride does not fit, which only a shape without elements can bring about */
bool rl_dims_contiguous(const int64_t *shape, int ndim, int64_t *strides);
void rl_dims_channels_last(const int64_t shape[4], int64_t strides[4]);
/* stride times n, or the stride itself where nobody walks that far: kernels count all strides in bytes */
#define RL_MOST_STRIDE ((int64_t)1 << 47)
int64_t rl_stride_scaled(int64_t stride, int64_t n);
enum { RL_FORMAT_CONTIGUOUS, RL_FORMAT_CHANNELS_LAST, RL_FORMAT_PRESERVE };
bool rl_is_channels_last(const rl_view *v);
rl_status rl_dims_broadcast(const rl_view *a, const rl_view *b, int64_t *shape, int *ndim);
rl_status rl_dim_wrap(int64_t *dim, int ndim); /* PyTorch's "Dimension out of range" */
/* Would [offset, shape, strides] stay inside nbytes? PyTorch's setStorage text when not. */
rl_status rl_view_check_bounds(const int64_t *shape, const int64_t *strides, int ndim, int64_t offset,
                               int dtype, size_t nbytes);
#endif
