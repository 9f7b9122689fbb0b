/* Derivatives of resizing. */
#include "formula.h"

FORMULA(upsample_nearest2d) { /* (input, output_size, scales) */
    TO(0, OP(upsample_nearest2d_backward, G, X(1), rl_vjp_size(g, 0), MAYBE(2), MAYBE(3)));
}
FORMULA(upsample_nearest2d_backward) { /* (grad_output, output_size, input_size, scales) */
    TO(0, OP(upsample_nearest2d, G, X(1), MAYBE(3), MAYBE(4)));
}
FORMULA(upsample_bilinear2d) { /* (input, output_size, align_corners, scales) */
    TO(0, OP(upsample_bilinear2d_backward, G, X(1), rl_vjp_size(g, 0), X(2), MAYBE(3), MAYBE(4)));
}
FORMULA(upsample_bilinear2d_backward) { /* (grad_output, output_size, input_size, align_corners, scales) */
    TO(0, OP(upsample_bilinear2d, G, X(1), X(3), MAYBE(4), MAYBE(5)));
}
