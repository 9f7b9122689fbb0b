/* Convolutions of NHWC (channels-last) tensors.
 *
 * Note [NHWC convolution]
 *   The channels of a pixel are contiguous, so a row of the kernel reads one run of numbers, kw * C long
 *   (without dilation), and pixels are the rows of a GEMM with the weights packed in panels (Note
 * [Panels] in kernels/simd/gemm/gemm.h):
 *
 *       output (places, outputs) = seen (places, kh x run) * weights (kh x run, outputs)
 *
 *   The pixels of an output row are equally far apart in the input, so A is used in place, a run at a time.
 *   Where rows or runs are short, a tile of A is copied first, so that it has enough rows and a long enough
 *   k.
 */
#ifndef RL_KERNELS_SIMD_CONV_NHWC_H
#define RL_KERNELS_SIMD_CONV_NHWC_H
#include "igemm.h"
#include "kernels/simd/gemm/gemm.h"

typedef struct {
    const rl_igemm_problem *p;
    int inner, size; /* the dtype that it is computed in, and its bytes */
    int64_t lo[3], extent[3];
    int64_t pixel, row, slab, image; /* steps of the prepared input, in elements */
    bool copies;                     /* it is a copy, not the input itself */
} rl_nhwc_input;

bool rl_lies_nhwc(const rl_view *v, int spatial); /* dense, channels innermost */
/* How the input lies once it is padded; false when that would be out of all proportion. */
bool rl_nhwc_input_make(const rl_igemm_problem *p, rl_nhwc_input *in);
/* Images [first, first + count), made ready at `to` or, unless it is copied, as they lie. */
const char *rl_nhwc_input_fill(rl_call *k, const rl_nhwc_input *in, int64_t first, int64_t count, char *to);
int64_t rl_nhwc_round(const rl_call *k, const rl_nhwc_input *in); /* images at a time */
#endif
