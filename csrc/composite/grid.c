/* grid_sample: samples images at the points of a grid. */
#include "compose.h"

COMPOSED(grid_sampler) {
    if (NDIM(X(0)) == 4) return OP(grid_sampler_2d, X(0), X(1), X(2), X(3), X(4));
    return OP(grid_sampler_3d, X(0), X(1), X(2), X(3), X(4));
}
