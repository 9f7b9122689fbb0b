/* Derivatives of sampling at the places of a grid. */
#include "vjp.h"

/* (input, grid, mode, padding, corners) */
#define SAMPLER(id)                                                                                          \
    VJP(id) {                                                                                                \
        GRAD_OF(0, OP(id##_input, G, X(1), rl_vjp_size(g, 0), X(2), X(3), X(4)));                            \
        GRAD_OF(1, OP(id##_grid, G, X(0), X(1), X(2), X(3), X(4)));                                          \
    }                                                                                                        \
    VJP(id##_input) { /* (grad_output, grid, input_size, mode, padding, corners) */                          \
        GRAD_OF(0, OP(id, G, X(1), X(3), X(4), X(5)));                                                       \
        GRAD_OF(1, OP(id##_grid, X(0), G, X(1), X(3), X(4), X(5)));                                          \
    }                                                                                                        \
    VJP(id##_grid) { /* (grad_output, input, grid, mode, padding, corners): G is a direction of the grid */  \
        GRAD_OF(0, OP(id##_along, X(1), X(2), X(3), X(4), X(5), G));                                         \
        GRAD_OF(1, OP(id##_input_along, X(0), X(2), rl_vjp_size(g, 1), X(3), X(4), X(5), G));                \
        GRAD_OF(2, OP(id##_grid_along, X(0), X(1), X(2), X(3), X(4), X(5), G));                              \
    }
SAMPLER(grid_sampler_2d)
SAMPLER(grid_sampler_3d)

VJP(affine_grid_generator) { /* (theta, size, corners) */
    GRAD_OF(0, OP(affine_grid_generator_backward, G, X(1), X(2)));
}
VJP(affine_grid_generator_backward) { /* (grad, size, corners) */
    GRAD_OF(0, OP(affine_grid_generator, G, X(1), X(2)));
}
