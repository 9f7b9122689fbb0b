/* Arguments and results of half precision as blocks of float32, for kernels that compute in that. */
#ifndef RL_KERNELS_SIMD_FLOATS_H
#define RL_KERNELS_SIMD_FLOATS_H
#include "common.h"
#include "moves.h"

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
/* Where the results from `first` on are to be written: to[] of them, each its own memory or, of halves,
 * scratch. The end puts those where they belong. */
rl_status simd_results_begin(rl_call *k, int first, float **to);
rl_status simd_results_end(rl_call *k, int first, float *const *to);

/* Note [Strips]
 * Large halves that lie side by side are computed with a few rows at a time: a thread makes float32 of them
 * in a buffer of its own, which stays in its cache, so that no memory is read or written but theirs. */
typedef struct {
    char *at;
    int item;         /* bytes of a number */
    simd_mover mover; /* to float32, or from it */
} simd_strip;
/* Is it half precision, side by side? */
static inline bool simd_is_strip(const rl_view *v) {
    return (v->dtype == RL_BF16 || v->dtype == RL_F16) && rl_is_contiguous(v);
}
simd_strip simd_strip_begin(const rl_call *k, const rl_view *v, int mode); /* RL_READ or RL_WRITE */
/* n numbers from place i on */
static inline void simd_strip_read(const simd_strip *s, float *to, int64_t i, int64_t n) {
    simd_move(&s->mover, to, sizeof *to, s->at + i * s->item, s->item, n);
}
static inline void simd_strip_write(const simd_strip *s, const float *from, int64_t i, int64_t n) {
    simd_move(&s->mover, s->at + i * s->item, s->item, from, sizeof *from, n);
}
#endif
