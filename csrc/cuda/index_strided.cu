/* as_strided_scatter: memory laid anew, since parts may reach what the input steps over. Of several elements
 * at one place the last wins. */
#include "scatter.h"

/* operands: the memory, the part; both row by row */
__global__ void __launch_bounds__(CUDA_THREADS) claim_memory(cuda_walk w, unsigned long long *winner) {
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_walk_seek(w, i, at);
        atomicMax(&winner[at[0]], (unsigned long long)i + 1);
    }
}
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    pour_winners(cuda_walk w, T *to, const T *from, const unsigned long long *winner) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_walk_seek(w, i, at);
        if (winner[at[0]] == (unsigned long long)i + 1) to[at[0]] = from[at[1]];
    }
}

/* how far the last element lies from the first */
static int64_t reach_of(const rl_view *v) {
    int64_t far = 0;
    for (int d = 0; d < v->ndim; d++) far += (v->shape[d] - 1) * v->strides[d];
    return far;
}

static rl_status pour(rl_call *k, const rl_view *part, const rl_view *src, void *to) {
    const rl_view *views[2] = {part, src};
    const cudaStream_t s = cuda_stream_of(k);
    unsigned long long *winner = (unsigned long long *)cuda_zeros(k, reach_of(part) + 1, RL_I64);
    cuda_walk w;
    if (!winner || rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    if (!cuda_walk_make(&w, views, 2)) return RL_UNSUPPORTED;
    CUDA_LAUNCH((claim_memory), cuda_walk_blocks(&w), CUDA_THREADS, s, w, winner);
    switch (rl_itemsize(src->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((pour_winners<T>), cuda_walk_blocks(&w), CUDA_THREADS, s, w, (T *)to,                    \
                    (const T *)rl_const_data(src), (const unsigned long long *)winner);                      \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

static rl_status lay(rl_call *k, const rl_view *part, void *to, const rl_view *from, const void *at) {
    cuda_dims dims = cuda_dims_none();
    for (int d = 0; d < part->ndim; d++)
        cuda_dims_add(&dims, part->shape[d], part->strides[d], from->strides[d]);
    return cuda_move_dims(k, &dims, to, part->dtype, at, from->dtype);
}
static rl_status write_part(rl_call *k, const rl_view *part, void *to, const rl_view *from) {
    return cuda_shares_memory(part) ? pour(k, part, from, to) : lay(k, part, to, from, rl_const_data(from));
}

/* (input, src, size, stride, storage_offset); attr[0]: where the part begins, from the input's first element
 */
CUDA_KERNEL(cuda_strided_scatter) {
    const rl_view *x = rl_in(k, 0), *src = rl_in(k, 1), *out = k->out[0];
    rl_view part = *src;
    if (!cuda_all_here(k) || src->dtype != out->dtype) return RL_UNSUPPORTED;
    if (out->numel == 0 || src->numel == 0) return cuda_start(k);
    part.strides = k->arg[3].u.ints;
    const int64_t offset = k->attr[0], all = reach_of(x), end = offset + reach_of(&part);
    const int64_t low = offset < 0 ? offset : 0, high = end > all ? end : all;
    const int64_t item = rl_itemsize(out->dtype);
    char *memory = (char *)k->svc->scratch(k, RL_COUNT(high - low + 1, item), 1);
    if (!memory) return RL_FAIL;
    char *whole = memory - low * item;
    rl_status status = write_part(k, x, whole, x);
    if (status == RL_OK) status = write_part(k, &part, whole + offset * item, src);
    return status == RL_OK ? lay(k, out, rl_data(out, RL_WRITE), x, whole) : status;
}
