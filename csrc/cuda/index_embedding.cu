/* The gradient of embedding(): rows that are added up in the table. */
#include "scatter.h"

/* elements of `to`, a table of rows without gaps, or of one number for each row */
static rl_status rows_plan(rl_call *k, cuda_scattering *s, int64_t rows, int64_t width) {
    const rl_view *grad = rl_in(k, 0), *index = rl_in(k, 1);
    const bool counts = width == 0;
    s->all = cuda_dims_none();
    s->first = 0;
    for (int d = 0; d < index->ndim; d++)
        cuda_dims_add(&s->all, index->shape[d], 0, index->strides[d], counts ? 0 : grad->strides[d]);
    if (!counts) cuda_dims_add(&s->all, width, 1, 0, grad->strides[grad->ndim - 1]);
    if (cuda_places_of(k, &s->places, index, k->out[0], 0) != RL_OK) return RL_FAIL;
    s->places.size = rows;
    s->places.step = counts ? 1 : width;
    s->places.skips = true;
    s->places.skipped = rl_int(k, 3);
    return RL_OK;
}

/* each row divided by how often it came */
static rl_status divide_rows(rl_call *k, void *sums, int dtype, int64_t rows, int64_t width) {
    int64_t *counts = (int64_t *)cuda_zeros(k, rows, RL_I64);
    const void *one = cuda_bits_there(k, 1, RL_I64);
    cuda_dims all = cuda_dims_none();
    cuda_scattering s;
    cuda_walk w;
    if (!counts || !one || rows_plan(k, &s, rows, 0) != RL_OK ||
        cuda_join_run(k, &s, counts, RL_I64, {one, RL_I64, RL_JOIN_ADD, 1, 1, false}) != RL_OK)
        return RL_FAIL;
    cuda_dims_add(&all, rows, width, 1);
    cuda_dims_add(&all, width, 1, 0);
    return cuda_dims_walk(&w, &all, 2) ? cuda_divide(k, w, sums, dtype, counts) : RL_UNSUPPORTED;
}

/* (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq); halves are added up in float */
CUDA_KERNEL(cuda_embedding_backward) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    const int64_t rows = out->shape[0], width = out->shape[1];
    const int dtype = rl_itemsize(out->dtype) == 2 ? (int)RL_F32 : out->dtype;
    const uint64_t zero[2] = {0, 0};
    cuda_scattering s;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (grad->numel == 0 || out->numel == 0) return cuda_fill_view(k, out, zero);
    const bool in_place = dtype == out->dtype && rl_is_contiguous(out);
    void *sums = in_place ? rl_data(out, RL_WRITE) : cuda_zeros(k, out->numel, dtype);
    if (!sums || (in_place && cuda_fill_view(k, out, zero) != RL_OK)) return RL_FAIL;
    rl_status status = rows_plan(k, &s, rows, width);
    if (status == RL_OK)
        status =
            cuda_join_run(k, &s, sums, dtype, {rl_const_data(grad), grad->dtype, RL_JOIN_ADD, 1, 1, false});
    if (status == RL_OK && rl_int(k, 4)) status = divide_rows(k, sums, dtype, rows, width);
    if (status != RL_OK || in_place) return status;
    cuda_dims all = cuda_dims_none();
    cuda_dims_add(&all, rows, out->strides[0], width);
    cuda_dims_add(&all, width, out->strides[1], 1);
    return cuda_move_dims(k, &all, rl_data(out, RL_WRITE), out->dtype, sums, dtype);
}
