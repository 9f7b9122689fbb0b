/* The lines of a tensor along one dimension, and one result for each. */
#ifndef RL_KERNELS_SHARED_ALONG_H
#define RL_KERNELS_SHARED_ALONG_H
#include "strided_iterator.h"

/* attr[0] of the call is the dimension of argument 0, -1: its elements in their order are one line. Outputs
 * have that dimension, of any length, or lack it. */
typedef struct {
    rl_iter lines;      /* operands: the outputs, then the input; without the dimension */
    int in;             /* the input's operand */
    int64_t n, step[3]; /* elements of a line; byte steps along it of these operands */
} rl_along;
/* `lines` is empty where there is nothing to answer. RL_FAIL: no memory */
rl_status rl_along_begin(rl_call *k, rl_along *a);
/* the addresses of a line */
static inline void rl_along_at(const rl_along *a, int64_t line, char *p[RL_ITER_OPS]) {
    for (int op = 0; op <= a->in; op++) p[op] = a->lines.base[op];
    rl_iter_seek(&a->lines, line, p);
}
#endif
