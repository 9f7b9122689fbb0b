/* From which numbers random integers are drawn, whoever draws them. */
#ifndef RL_KERNELS_SHARED_RANDOM_RANGE_H
#define RL_KERNELS_SHARED_RANDOM_RANGE_H
#include "kernel_abi/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int64_t from;
    uint64_t range; /* 0: all 2^64 numbers */
    bool is_wide;   /* a number takes 64 bits */
} rl_random_range;

/* attr[0], attr[1]: from and to; open: the last exact number of the dtype stands for to, and is drawn, too.
 * RL_FAIL where the dtype does not hold them. */
rl_status rl_random_between(rl_call *k, bool open, rl_random_range *r);
/* ... of random_(): attr[2] is 1: from, but no to; 2: neither */
rl_status rl_random_of_dtype(rl_call *k, rl_random_range *r);
/* ... from 0 to `high` */
rl_status rl_random_below(rl_call *k, int64_t high, rl_random_range *r);
/* Does the dtype hold a permutation of n numbers? */
rl_status rl_random_holds(rl_call *k, int dtype, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
