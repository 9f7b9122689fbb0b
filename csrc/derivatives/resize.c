/* Derivatives of resizing: an operator and its gradient are linear, each the other's derivative. */
#include "vjp.h"

/* what follows the sizes, the first of them as argument `at`: factors, one for each dim */
#define FACTORS1(at) MAYBE(at)
#define FACTORS2(at) MAYBE(at), MAYBE((at) + 1)
#define FACTORS3(at) MAYBE(at), MAYBE((at) + 1), MAYBE((at) + 2)
/* ... or align_corners and these */
#define SMOOTH1(at) X(at), FACTORS1((at) + 1)
#define SMOOTH2(at) X(at), FACTORS2((at) + 1)
#define SMOOTH3(at) X(at), FACTORS3((at) + 1)

/* (input, output_size, ...) and (grad_output, output_size, input_size, ...) */
#define RESIZE(id, REST)                                                                                     \
    VJP(id) {                                                                                                \
        GRAD_OF(0, OP(id##_backward, G, X(1), rl_vjp_size(g, 0), REST(2)));                                  \
    }                                                                                                        \
    VJP(id##_backward) {                                                                                     \
        GRAD_OF(0, OP(id, G, X(1), REST(3)));                                                                \
    }
RESIZE(upsample_nearest1d, FACTORS1)
RESIZE(upsample_nearest2d, FACTORS2)
RESIZE(upsample_nearest3d, FACTORS3)
RESIZE(upsample_nearest_exact1d, FACTORS1)
RESIZE(upsample_nearest_exact2d, FACTORS2)
RESIZE(upsample_nearest_exact3d, FACTORS3)
RESIZE(upsample_linear1d, SMOOTH1)
RESIZE(upsample_bilinear2d, SMOOTH2)
RESIZE(upsample_trilinear3d, SMOOTH3)
RESIZE(upsample_bicubic2d, SMOOTH2)
RESIZE(upsample_bilinear2d_aa, SMOOTH2)
RESIZE(upsample_bicubic2d_aa, SMOOTH2)
RESIZE(upsample_lanczos2d_aa, SMOOTH2)
