/* Views that a kernel walks beside those of its call. */
#include "dims.h"

static void use_arrays(cuda_dims *d) {
    d->view.shape = d->shape;
    d->view.strides = d->strides;
    d->view.numel = 1;
    for (int i = 0; i < d->view.ndim; i++) d->view.numel *= d->shape[i];
}

void cuda_dims_copy(cuda_dims *d, const rl_view *v) {
    cuda_dims_pick(d, v, ~(uint64_t)0);
}

void cuda_dims_pick(cuda_dims *d, const rl_view *v, uint64_t mask) {
    int n = 0;
    for (int i = 0; i < v->ndim; i++) {
        if (!(mask >> i & 1)) continue;
        d->shape[n] = v->shape[i];
        d->strides[n++] = v->strides[i];
    }
    d->view = *v;
    d->view.ndim = (uint8_t)n;
    use_arrays(d);
}

void cuda_dims_spread(cuda_dims *d, const rl_view *v, const rl_view *like, uint64_t mask) {
    int own = 0;
    d->view = *v;
    d->view.ndim = like->ndim;
    for (int i = 0; i < like->ndim; i++) {
        const bool is_own = mask >> i & 1 && own < v->ndim;
        d->shape[i] = like->shape[i];
        d->strides[i] = is_own && v->shape[own] != 1 ? v->strides[own] : 0;
        own += is_own;
    }
    use_arrays(d);
}

void cuda_dims_number(cuda_dims *d, const rl_view *like, uint64_t mask) {
    int64_t step = 1;
    cuda_dims_copy(d, like);
    for (int i = like->ndim - 1; i >= 0; i--) {
        const bool is_in = mask >> i & 1;
        d->strides[i] = is_in ? step : 0;
        if (is_in) step *= like->shape[i];
    }
}

void cuda_dims_split(cuda_dims *d, int dim, int64_t outer) {
    const int64_t inner = d->shape[dim] / outer;
    for (int i = d->view.ndim++; i > dim + 1; i--) {
        d->shape[i] = d->shape[i - 1];
        d->strides[i] = d->strides[i - 1];
    }
    d->shape[dim + 1] = inner;
    d->strides[dim + 1] = d->strides[dim];
    d->shape[dim] = outer;
    d->strides[dim] *= inner;
}
