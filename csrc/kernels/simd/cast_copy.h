/* Cast copies: copies a row of elements to other memory, and converts its dtype. */
#ifndef RL_KERNELS_SIMD_CAST_COPY_H
#define RL_KERNELS_SIMD_CAST_COPY_H
#include "common.h"

/* n elements that lie side by side, in other memory than before */
typedef void (*simd_convert)(void *to, const void *from, int64_t n);
/* Note [Cast copies]
 * Halves convert to other dtypes by way of float32: `convert` writes float32 to a buffer, and `then` converts
 * that to the target dtype. Without `convert` the elements are only copied. */
typedef struct {
    simd_convert convert, then;
    int to_item, from_item; /* bytes of an element */
} simd_cast_copy;

/* between any two dtypes that kernels compute with */
simd_cast_copy simd_cast_copy_between(const rl_call *k, int to, int from);
/* The steps are bytes; from_step 0 repeats one element. */
void simd_cast_copy_run(const simd_cast_copy *m, void *to, int64_t to_step, const void *from,
                        int64_t from_step, int64_t n);
#endif
