/* Where an output index of resizing finds its input: the operators and their gradients share it. */
#ifndef RL_KERNELS_REF_RESIZE_H
#define RL_KERNELS_REF_RESIZE_H
#include "loops.h"

/* `arg` holds the scale factor of the dimension, or nothing */
int64_t rl_resize_nearest(const rl_call *k, int arg, int64_t size, int64_t out, int64_t at);
/* the lower neighbour, and the weight of the higher one */
int64_t rl_resize_linear(const rl_call *k, int dtype, bool corners, int arg, int64_t size, int64_t out,
                         int64_t at, double *weight);
#endif
