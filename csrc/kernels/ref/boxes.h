/* Gradients of operators whose outputs are weighted sums over boxes of the input: Note [Boxes] in
 * kernels/ref/boxes.c. */
#ifndef RL_KERNELS_REF_BOXES_H
#define RL_KERNELS_REF_BOXES_H
#include "pool.h"

typedef struct {
    int64_t start, end;
    double weight, last;
} rl_box;

typedef struct {
    rl_walk planes; /* of the gradient */
    int dtype;
    int64_t out[3], size[3], step[3], volume; /* step: bytes, of the gradient */
    rl_box *boxes[3];
    double factor;
    char *to;
    rl_rooms rooms; /* a plane of the input for each thread */
} rl_box_job;

/* Room for the boxes; what an operator lacks has size 1. The caller fills boxes of dimension i (0 to 2). */
rl_status rl_box_begin(rl_call *k, rl_box_job *job);
rl_status rl_box_run(rl_call *k, rl_box_job *job);
#endif
