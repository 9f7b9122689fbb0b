/* Elements that go to places of the flat tensor, and tensors in a part's place. */
#include "scatter.h"

typedef struct {
    int ndim;
    int64_t size[RL_MAX_DIMS], step[RL_MAX_DIMS];
} flat_dims;

/* where an element of the flat tensor lies; -1 for none */
__global__ void __launch_bounds__(CUDA_THREADS)
    find_offsets(int64_t n, cuda_places flat, flat_dims dims, int64_t *offsets) {
    CUDA_EACH_OF(i, n) {
        int64_t rest, offset = 0;
        const bool known = cuda_place(flat, i, &rest);
        CUDA_ROLLED
        for (int d = dims.ndim - 1; d >= 0; d--) {
            offset += rest % dims.size[d] * dims.step[d];
            rest /= dims.size[d];
        }
        offsets[i] = known ? offset : -1;
    }
}

/* argument 1 names places of the flat target; the source is a vector without gaps */
static rl_status by_flat(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    const rl_view *index = rl_in(k, 1);
    const int64_t n = index->numel;
    const void *at = cuda_gapless(k, index);
    int64_t *offsets = (int64_t *)k->svc->scratch(k, RL_COUNT(n), sizeof *offsets);
    flat_dims dims;
    (void)source;
    s->all = cuda_dims_none();
    cuda_dims_add(&s->all, n, 0, 1, 1, 0, 1);
    s->claims = s->all;
    s->first = 0;
    s->n_slots = n == 1 ? 0 : to->numel;
    if (!at || !offsets || rl_cuda_begin(k, k->out[0]) != RL_OK ||
        cuda_places_flat(k, &s->slots, at, to->numel) != RL_OK ||
        cuda_places_flat(k, &s->places, offsets, INT64_MAX) != RL_OK)
        return RL_FAIL;
    s->slots.wraps = true;
    dims.ndim = to->ndim;
    for (int d = 0; d < to->ndim; d++) dims.size[d] = to->shape[d], dims.step[d] = to->strides[d];
    CUDA_LAUNCH((find_offsets), cuda_blocks_of(n), CUDA_THREADS, cuda_stream_of(k), n, s->slots, dims,
                offsets);
    return rl_cuda_end(k);
}

/* (input, index, source, bool accumulate) */
CUDA_KERNEL(cuda_put) {
    const rl_view *source = rl_in(k, 2), *out = k->out[0];
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || source->numel == 0 || out->numel == 0) return status;
    const void *from = cuda_gapless(k, source);
    return rl_int(k, 3) ? cuda_scatter_join(k, by_flat, source, from, RL_JOIN_ADD, -1)
                        : cuda_scatter_set(k, by_flat, source, from);
}

/* (input, src, ...): out's dims and strides without attr[1] and attr[2], with a step of attr[4] along attr[3]
 */
CUDA_KERNEL(cuda_part_scatter) {
    const rl_view *src = rl_in(k, 1), *out = k->out[0];
    const int64_t one = k->attr[1], two = k->attr[2];
    cuda_dims dims = cuda_dims_none();
    int n = 0;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || src->numel == 0) return status;
    for (int d = 0; d < out->ndim; d++) {
        if (d == one || d == two) continue;
        const bool steps = d == k->attr[3] && src->shape[n] > 1; /* else it may be of any size */
        cuda_dims_add(&dims, src->shape[n], out->strides[d] * (steps ? k->attr[4] : 1), src->strides[n]);
        n++;
    }
    if (two >= 0) cuda_dims_add(&dims, src->shape[n], out->strides[one] + out->strides[two], src->strides[n]);
    char *to = (char *)rl_data(out, RL_WRITE) + k->attr[0] * rl_itemsize(out->dtype);
    return cuda_move_dims(k, &dims, to, out->dtype, rl_const_data(src), src->dtype);
}
