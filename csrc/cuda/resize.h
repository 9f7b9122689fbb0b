/* Tables of resizing on the device. */
#ifndef RL_CUDA_RESIZE_H
#define RL_CUDA_RESIZE_H
#include "planes.h"

/* Of one dim: Note [Taps]. Output i is made of the inputs start[i] to end[i], weight + i * most says how much
 * of each; where the table is turned around for a gradient, input i is part of the outputs first_of_input[i]
 * to end_of_input[i]. Without start: the dim stays as it is. */
typedef struct {
    int64_t *start, *end, *first_of_input, *end_of_input, most;
    double *weight;
    bool is_turned;
} resize_taps;

/* of depth, height or width (0 to 2), in the order of the call's stream */
rl_status cuda_resize_taps(rl_call *k, int i, resize_taps *t);
/* filters over bytes */
rl_status cuda_resize_bytes(rl_call *k, const cuda_planes &in, const cuda_planes &out,
                            const resize_taps taps[3]);
#endif
