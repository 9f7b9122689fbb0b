/* Half-precision arguments and results as blocks of float32, for kernels that compute in float32. */
#ifndef RL_KERNELS_SIMD_FLOATS_H
#define RL_KERNELS_SIMD_FLOATS_H
#include "common.h"
#include "cast_copy.h"

/* Is it absent, or float32, bfloat16 or float16? */
static inline bool simd_is_floats(const rl_view *v) {
    return !v || v->dtype == RL_F32 || rl_is_half(v->dtype);
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

/* Note [Rows of halves]
 * A kernel computes on large contiguous half tensors a few rows at a time: each thread converts its rows to
 * float32 in a buffer that stays in its cache, so no other memory is read or written. */
typedef struct {
    char *at;
    int item;                 /* bytes of a number */
    simd_cast_copy cast_copy; /* to float32, or from it */
} simd_half_rows;
/* Is it half precision, side by side? */
static inline bool simd_is_half_rows(const rl_view *v) {
    return rl_is_half(v->dtype) && rl_is_contiguous(v);
}
simd_half_rows simd_half_rows_begin(const rl_call *k, const rl_view *v, int mode); /* RL_READ or RL_WRITE */
/* n numbers from place i on */
static inline void simd_half_rows_read(const simd_half_rows *s, float *to, int64_t i, int64_t n) {
    simd_cast_copy_run(&s->cast_copy, to, sizeof *to, s->at + i * s->item, s->item, n);
}
static inline void simd_half_rows_write(const simd_half_rows *s, const float *from, int64_t i, int64_t n) {
    simd_cast_copy_run(&s->cast_copy, s->at + i * s->item, s->item, from, sizeof *from, n);
}
#endif
