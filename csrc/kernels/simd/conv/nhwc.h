/* Convolutions whose tensors lie channels last.
 *
 * Note [Channels of places]
 *   All channels of a place lie side by side, so that a row of the kernel sees one run of numbers, kw * C
 * long (without dilation), and places are the rows of a product with the weights packed in panels (Note
 * [Panels] in kernels/simd/gemm/gemm.h):
 *
 *       output (places, outputs) = seen (places, kh x run) * weights (kh x run, outputs)
 *
 *   Places of a row of the output are equally far apart in the input, and A is used where it lies, a run at a
 *   time. Where rows or runs are short a tile of it is copied first, so that it has enough rows and depth.
 */
#ifndef RL_KERNELS_SIMD_CONV_NHWC_H
#define RL_KERNELS_SIMD_CONV_NHWC_H
#include "igemm.h"
#include "kernels/simd/gemm/gemm.h"

typedef struct {
    const rl_patches *p;
    int inner, size; /* the dtype that it is computed in, and its bytes */
    int64_t lo[3], extent[3];
    int64_t pixel, row, slab, image; /* steps of the prepared input, in elements */
    bool copies;                     /* it is a copy, not the input itself */
} rl_last_input;

bool rl_lies_last(const rl_view *v, int spatial); /* dense, channels innermost */
/* How the input lies once it is padded; false when that would be out of all proportion. */
bool rl_last_input_make(const rl_patches *p, rl_last_input *in);
/* Images [first, first + count), made ready at `to` or, unless it is copied, as they lie. */
const char *rl_last_input_fill(rl_call *k, const rl_last_input *in, int64_t first, int64_t count, char *to);
int64_t rl_last_round(const rl_call *k, const rl_last_input *in); /* images at a time */
#endif
