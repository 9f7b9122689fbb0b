/* Where an output index of resizing and padding finds its input: the rows and their gradients share it. */
#ifndef RL_REF_SPREAD_H
#define RL_REF_SPREAD_H
#include "loops.h"

/* `arg` holds the scale factor of the dimension, or nothing */
int64_t rl_resize_nearest(const rl_call *k, int arg, int64_t size, int64_t out, int64_t at);
/* the lower neighbour, and the weight of the higher one */
int64_t rl_resize_linear(const rl_call *k, int dtype, bool corners, int arg, int64_t size, int64_t out,
                         int64_t at, double *weight);
/* the input index of output index i, -1 in constant padding; mode: 0 constant 1 reflect 2 replicate 3
 * circular */
int64_t rl_pad_source(int64_t i, int64_t before, int64_t size, int mode);
#endif
