/* Views that a kernel walks beside those of its call: with fewer dims, or shared along some. */
#ifndef RL_CUDA_DIMS_H
#define RL_CUDA_DIMS_H
#include "contract/kernel.h"

typedef struct {
    rl_view view; /* its arrays are these: never copy the struct */
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS];
} cuda_dims;

/* v with arrays that may be changed */
void cuda_dims_copy(cuda_dims *d, const rl_view *v);
/* the dims of v that are in the mask */
void cuda_dims_pick(cuda_dims *d, const rl_view *v, uint64_t mask);
/* the dims of `like`, those in the mask by those of v, the others shared; sizes of 1 stretch */
void cuda_dims_spread(cuda_dims *d, const rl_view *v, const rl_view *like, uint64_t mask);
/* the dims of `like`, where an element's offset is its number among those of the mask, row by row */
void cuda_dims_number(cuda_dims *d, const rl_view *like, uint64_t mask);
/* the dim becomes two, the outer one of `outer` steps */
void cuda_dims_split(cuda_dims *d, int dim, int64_t outer);
#endif
