/* Shape rules of grid_sample and affine_grid. */
#include "shape.h"

static rl_status rank_differs(const rl_view *x, const rl_view *grid, int rank) {
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    return rl_error_set(RL_RUNTIME,
                        "grid_sampler(): expected %dD input and grid with same number of dimensions, but got "
                        "input with sizes %s and grid with sizes %s",
                        rank, rl_dims_text(one, x->shape, x->ndim),
                        rl_dims_text(two, grid->shape, grid->ndim));
}

/* PyTorch's checks, in its order; rank: dims of the operator's pictures */
static rl_status grid_check(const rl_view *x, const rl_view *grid, int rank, int64_t mode) {
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    rl_dims_text(one, x->shape, x->ndim);
    rl_dims_text(two, grid->shape, grid->ndim);
    if (!x->ndim || !grid->ndim) return rank_differs(x, grid, rank);
    if (x->shape[0] != grid->shape[0])
        return rl_error_set(RL_RUNTIME,
                            "grid_sampler(): expected grid and input to have same batch size, but got input "
                            "with sizes %s and grid with sizes %s",
                            one, two);
    if (grid->shape[grid->ndim - 1] != x->ndim - 2)
        return rl_error_set(
            RL_RUNTIME,
            "grid_sampler(): expected grid to have size %d in last dimension, but got grid with "
            "sizes %s",
            x->ndim - 2, two);
    for (int d = 2; d < x->ndim; d++)
        if (x->shape[d] == 0)
            return rl_error_set(
                RL_RUNTIME,
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                "has sizes %s with dimension %d being empty",
                one, d);
    if (x->ndim != rank || grid->ndim != rank) return rank_differs(x, grid, rank);
    if (rank == 5 && (int)mode == 2) /* as kernels and PyTorch read it */
        return rl_error_set(RL_RUNTIME, "grid_sampler(): bicubic interpolation only supports 4D input");
    return RL_OK;
}

/* what the samples look like */
static void samples_dims(const rl_view *x, const rl_view *grid, int64_t *shape) {
    shape[0] = x->shape[0], shape[1] = x->shape[1];
    for (int d = 2; d < x->ndim; d++) shape[d] = grid->shape[d - 1];
}

static rl_status grad_fits(const rl_call *k, const rl_view *x, const rl_view *grid) {
    rl_view want = {.ndim = x->ndim, .shape = want.small};
    samples_dims(x, grid, want.shape);
    return rl_dims_same(&want, k->arg[0].u.t) ? RL_OK : rl_gradient_differs(k, &want);
}

/* the direction behind align_corners, if there is one */
static rl_status direction_fits(const rl_call *k, const rl_view *grid, int at) {
    const rl_view *direction = k->n_arg > at ? rl_in(k, at) : NULL;
    if (!direction || rl_dims_same(direction, grid)) return RL_OK;
    return rl_gradient_differs(k, grid);
}

static rl_status samples_shape(rl_call *k, int rank) { /* (input, grid, mode, padding, corners, direction) */
    const rl_view *x = k->arg[0].u.t, *grid = k->arg[1].u.t;
    int64_t shape[5];
    if (grid_check(x, grid, rank, k->arg[2].u.i) != RL_OK || direction_fits(k, grid, 5) != RL_OK)
        return RL_FAIL;
    samples_dims(x, grid, shape);
    return rl_out_dims(k, 0, shape, rank);
}

static rl_status input_shape(rl_call *k, int rank) { /* (grad_output, grid, input_size, mode, ...) */
    const rl_view *grid = k->arg[1].u.t;
    rl_view x;
    if (rl_sizes_read(k, 2, &x) != RL_OK || grid_check(&x, grid, rank, k->arg[3].u.i) != RL_OK ||
        grad_fits(k, &x, grid) != RL_OK || direction_fits(k, grid, 6) != RL_OK)
        return RL_FAIL;
    return rl_out_dims(k, 0, x.shape, rank);
}

static rl_status places_shape(rl_call *k, int rank) { /* (grad_output, input, grid, mode, ...) */
    const rl_view *x = k->arg[1].u.t, *grid = k->arg[2].u.t;
    if (grid_check(x, grid, rank, k->arg[3].u.i) != RL_OK || grad_fits(k, x, grid) != RL_OK ||
        direction_fits(k, grid, 6) != RL_OK)
        return RL_FAIL;
    return rl_out_dims(k, 0, grid->shape, rank);
}

RL_SHAPE(grid_sampler_2d) {
    return samples_shape(k, 4);
}
RL_SHAPE(grid_sampler_3d) {
    return samples_shape(k, 5);
}
RL_SHAPE(grid_sampler_2d_input) {
    return input_shape(k, 4);
}
RL_SHAPE(grid_sampler_3d_input) {
    return input_shape(k, 5);
}
RL_SHAPE(grid_sampler_2d_grid) {
    return places_shape(k, 4);
}
RL_SHAPE(grid_sampler_3d_grid) {
    return places_shape(k, 5);
}

/* ---- affine grids: (theta or gradient, size, align_corners) ---- */
static rl_status affine_sizes(const rl_call *k, rl_view *grid) {
    rl_view size;
    if (k->arg[1].tag != RL_INTS || (k->arg[1].n != 4 && k->arg[1].n != 5))
        return rl_error_set(RL_RUNTIME, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
    if (rl_sizes_read(k, 1, &size) != RL_OK) return RL_FAIL;
    *grid = (rl_view){.ndim = size.ndim};
    grid->small[0] = size.shape[0];
    for (int d = 2; d < size.ndim; d++) grid->small[d - 1] = size.shape[d];
    grid->small[size.ndim - 1] = size.ndim - 2;
    return RL_OK;
}

RL_SHAPE(affine_grid_generator) {
    const rl_view *theta = k->arg[0].u.t;
    rl_view grid;
    char text[RL_DIMS_TEXT];
    if (affine_sizes(k, &grid) != RL_OK) return RL_FAIL;
    const int dims = grid.ndim - 2;
    if (theta->ndim != 3)
        return rl_error_set(RL_INDEX,
                            "Dimension out of range (expected to be in range of [%d, %d], but got 2)",
                            -theta->ndim, theta->ndim - 1);
    if (theta->shape[0] != grid.small[0] || theta->shape[2] != dims + 1)
        return rl_error_set(
            RL_RUNTIME,
            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %d] but got: "
            "[%lld, %lld].",
            (long long)grid.small[0], dims + 1, (long long)theta->shape[0], (long long)theta->shape[2]);
    if (theta->shape[1] != dims)
        return rl_error_set(RL_RUNTIME, "affine_grid_generator: %d rows are needed in matrices of sizes %s",
                            dims, rl_dims_text(text, theta->shape, 3));
    return rl_out_dims(k, 0, grid.small, grid.ndim);
}

RL_SHAPE(affine_grid_generator_backward) {
    rl_view grid;
    if (affine_sizes(k, &grid) != RL_OK) return RL_FAIL;
    grid.shape = grid.small;
    if (!rl_dims_same(&grid, k->arg[0].u.t)) return rl_gradient_differs(k, &grid);
    const int64_t dims = grid.ndim - 2, shape[3] = {grid.small[0], dims, dims + 1};
    if (rl_out_dims(k, 0, shape, 3) != RL_OK) return RL_FAIL;
    k->out[0]->strides[1] = 1; /* columns side by side, as in PyTorch's product */
    k->out[0]->strides[2] = dims;
    return RL_OK;
}
