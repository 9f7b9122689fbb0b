/* Rows of resizing in vectors: Note [Taps] in kernels/shared/resize.h. */
#ifndef RL_KERNELS_SIMD_RESIZE_H
#define RL_KERNELS_SIMD_RESIZE_H
#include "common.h"
#include "kernels/shared/resize.h"
#include "moves.h"

/* Note [Steps of a row]
 * `lanes` outputs of a row at a time are made in steps: a step has an input element and a weight for each.
 * How far these elements lie apart decides how they are fetched. A lane that has no more elements takes part
 * with weight 0, and what it fetched is cleared first: 0 times infinity is no number. */
enum { STEP_TURN, STEP_AMONG, STEP_GATHER };
typedef struct {
    int64_t from;
    uint8_t kind, gaps;
} resize_step;
typedef struct {
    int64_t blocks, *first; /* steps of block i: first[i] to first[i + 1] */
    resize_step *step;
    int32_t *index; /* `lanes` for each step, from step.from on */
    float *weight;
} resize_steps;

typedef struct {
    rl_taps taps[3];
    resize_steps steps; /* of a row of single elements; else only the weights of taps[2] */
    simd_mover in, out; /* to float32 and back */
    bool moves;         /* it is not float32 */
    bool copies;        /* places with channels, each of them one of the input */
    const char *from;
    char *to;
    int64_t inner;              /* elements of one place that lie side by side: channels, or one */
    int64_t row_in, row_out;    /* elements of a row */
    int64_t from_item, room_in; /* room_in: floats of `sums`, with what is read behind them */
    rl_rooms rooms;             /* of each thread, whose rows begin at ... */
    int64_t sums, other, made;  /* ... */
} resize_job;
#endif
