/* Derivatives of sampling at the places of a grid. */
#include "formula.h"

/* (input, grid, mode, padding, corners) */
#define SAMPLER(id)                                                                                          \
    FORMULA(id) {                                                                                            \
        TO(0, OP(id##_input, G, X(1), rl_vjp_size(g, 0), X(2), X(3), X(4)));                                 \
        TO(1, OP(id##_grid, G, X(0), X(1), X(2), X(3), X(4)));                                               \
    }                                                                                                        \
    FORMULA(id##_input) { /* (grad_output, grid, input_size, mode, padding, corners) */                      \
        TO(0, OP(id, G, X(1), X(3), X(4), X(5)));                                                            \
        TO(1, OP(id##_grid, X(0), G, X(1), X(3), X(4), X(5)));                                               \
    }                                                                                                        \
    FORMULA(                                                                                                 \
        id##_grid) { /* (grad_output, input, grid, mode, padding, corners): G is a direction of the grid */  \
        TO(0, OP(id##_along, X(1), X(2), X(3), X(4), X(5), G));                                              \
        TO(1, OP(id##_input_along, X(0), X(2), rl_vjp_size(g, 1), X(3), X(4), X(5), G));                     \
        TO(2, OP(id##_grid_along, X(0), X(1), X(2), X(3), X(4), X(5), G));                                   \
    }
SAMPLER(grid_sampler_2d)
SAMPLER(grid_sampler_3d)

FORMULA(affine_grid_generator) { /* (theta, size, corners) */
    TO(0, OP(affine_grid_generator_backward, G, X(1), X(2)));
}
FORMULA(affine_grid_generator_backward) { /* (grad, size, corners) */
    TO(0, OP(affine_grid_generator, G, X(1), X(2)));
}
