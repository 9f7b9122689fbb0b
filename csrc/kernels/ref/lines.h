/* What goes along one dimension: sorting, running sums. */
#ifndef RL_KERNELS_REF_LINES_H
#define RL_KERNELS_REF_LINES_H
#include "kernels/shared/along.h"
#include "loops.h"

/* Note [Lines]
 * A line is the elements along the dimension, widened to double or int64: NaN counts as the largest number.
 *     values, order    what a line is and where its elements stood
 *     other, places    room for a merge */
typedef union {
    double d;
    int64_t i;
} rl_element;
typedef struct {
    rl_element *values, *other;
    int64_t *order, *places;
} rl_line;
typedef struct rl_line_job rl_line_job;
struct rl_line_job {
    rl_along along;
    int dtype; /* of the input */
    bool floats, descending, ignores_nan;
    int64_t n, keep, place; /* elements of a line, of the output's; which one is asked for */
    const int64_t *step;    /* byte steps along the operands */
    rl_rooms rooms;         /* a line for each thread, whose parts begin at ... */
    int64_t values, other, order, places;
    void (*run)(const rl_line_job *job, rl_line *l, char *const *p);
};
/* job->run over every line of argument 0 along attr[0], into the outputs. */
rl_status rl_lines_run(rl_call *k, rl_line_job *job);
#endif
