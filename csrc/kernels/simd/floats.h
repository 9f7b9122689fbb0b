/* Arguments and results of half precision as blocks of float32, for kernels that compute in that. */
#ifndef RL_KERNELS_SIMD_FLOATS_H
#define RL_KERNELS_SIMD_FLOATS_H
#include "common.h"

/* Is it absent, or float32, bfloat16 or float16? */
static inline bool simd_is_floats(const rl_view *v) {
    return !v || v->dtype == RL_F32 || v->dtype == RL_BF16 || v->dtype == RL_F16;
}
/* Is each result contiguous and one of those? */
bool simd_makes_floats(const rl_call *k);

/* Its numbers side by side: its own memory where they lie so, else a copy in scratch. NULL (reported) without
 * memory. */
const float *simd_floats_of(rl_call *k, const rl_view *v);
/* The same of any dtype that kernels compute with. */
const void *simd_block_of(rl_call *k, const rl_view *v, int dtype);
/* The results of a kernel from such a block of `dtype`, in the order of their dims. */
void simd_block_put(rl_call *k, const rl_view *out, const void *from, int dtype);
/* Where the results are to be written: to[] of them, each its own memory or, of halves, scratch. The end puts
 * those where they belong. */
rl_status simd_results_begin(rl_call *k, float **to);
rl_status simd_results_end(rl_call *k, float *const *to);
#endif
