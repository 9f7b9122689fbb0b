/* One element of each line, found by sorting it: medians, and the most frequent one. */
#include "moves.h"
#include "reduce.h"
#include "sort.h"

/* Where the lines of an input go; operands: values, indices, the lines, the input at place 0 of each */
typedef struct {
    cuda_walk lines;
    int64_t n, step; /* of a line; of the input along it, where it is no line of all elements */
    cuda_walk whole; /* else: all elements, row by row */
    bool is_float, is_whole, ignores_nan;
    const uint64_t *key;
    const int64_t *order;
    int64_t *indices; /* or NULL */
} picking;

template <class T>
static __device__ void put_pick(const picking &p, const int64_t (&at)[4], int64_t place, T *values,
                                const T *from) {
    const int64_t stood = p.order[at[2] + place];
    int64_t offset[1] = {at[3] + stood * p.step};
    if (p.is_whole) cuda_walk_seek(p.whole, stood, offset);
    values[at[0]] = from[offset[0]];
    if (p.indices) p.indices[at[1]] = stood;
}

/* the lower of the two in the middle; NaN are behind all numbers */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) pick_medians(picking p, T *values, const T *from) {
    CUDA_EACH(i, p.lines) {
        int64_t at[4];
        cuda_walk_seek(p.lines, i, at);
        const int64_t numbers = p.is_float ? cuda_keys_before(p.key + at[2], p.n, CUDA_KEY_LAST, false) : p.n;
        const bool is_number = numbers == p.n || (numbers && p.ignores_nan);
        put_pick(p, at, is_number ? (numbers - 1) / 2 : numbers, values, from);
    }
}

/* ---- the longest run, and of several the first ---- */
struct key_run {
    int64_t length, at; /* at: its last element */
};
struct longest_run {
    __device__ key_run operator()(const key_run &a, const key_run &b) const {
        return b.length > a.length || (b.length == a.length && b.at < a.at) ? b : a;
    }
};

/* a block for each line: a thread measures the runs that end at its elements */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) pick_modes(picking p, T *values, const T *from) {
    for (int64_t line = blockIdx.x; line < p.lines.numel; line += gridDim.x) {
        int64_t at[4];
        cuda_walk_seek(p.lines, line, at);
        const uint64_t *key = p.key + at[2];
        key_run best = {0, p.n};
        for (int64_t i = threadIdx.x; i < p.n; i += CUDA_THREADS) {
            const bool is_nan = p.is_float && key[i] == CUDA_KEY_LAST; /* each is another one */
            if (!is_nan && i + 1 < p.n && key[i + 1] == key[i]) continue;
            const int64_t first = is_nan ? i : cuda_keys_before(key, i, key[i], false);
            best = longest_run()(best, {i - first + 1, i});
        }
        best = cuda_block_join(best, longest_run());
        if (threadIdx.x == 0) put_pick(p, at, best.at, values, from);
    }
}

enum { MEDIANS, MODES };
static rl_status pick(rl_call *k, int what, int64_t dim, bool ignores_nan) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0], *indices = k->n_out > 1 ? k->out[1] : nullptr;
    const cudaStream_t stream = cuda_stream_of(k);
    cuda_dims dims = cuda_dims_none();
    cuda_sorting s;
    picking p = {};
    const rl_status status = cuda_sort_lines(k, &s, dim, false);
    if (status != RL_OK) return status;
    for (int d = 0, to = 0; dim >= 0 && d < x->ndim; d++) {
        const bool along = d == dim;
        if (along && out->ndim < x->ndim) continue; /* a dim that is left out */
        cuda_dims_add(&dims, along ? 1 : x->shape[d], out->strides[to], indices ? indices->strides[to] : 0,
                      s.step[d], x->strides[d]);
        to++;
    }
    if (!cuda_dims_walk(&p.lines, &dims, 4) || !cuda_walk_make(&p.whole, &x, 1)) return RL_UNSUPPORTED;
    p.n = s.n;
    p.step = x->ndim && dim >= 0 ? x->strides[dim] : 0;
    p.is_float = s.is_float;
    p.is_whole = dim < 0;
    p.ignores_nan = ignores_nan;
    p.key = s.sorted.key;
    p.order = s.sorted.order;
    p.indices = indices ? (int64_t *)rl_data(indices, RL_WRITE) : nullptr;
    const unsigned lines = cuda_blocks_each(p.lines.numel);
    switch (rl_itemsize(x->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        if (what == MEDIANS)                                                                                 \
            CUDA_LAUNCH((pick_medians<T>), cuda_walk_blocks(&p.lines), CUDA_THREADS, stream, p,              \
                        (T *)rl_data(out, RL_WRITE), (const T *)rl_const_data(x));                           \
        else                                                                                                 \
            CUDA_LAUNCH_BLOCKS((pick_modes<T>), lines, CUDA_THREADS, 0, stream, p,                           \
                               (T *)rl_data(out, RL_WRITE), (const T *)rl_const_data(x));                    \
        break;
        CUDA_SIZES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

/* of no elements: NaN, as integers have it that are made of one */
static rl_status median_of_none(rl_call *k) {
    const rl_view *out = k->out[0];
    const uint64_t least = out->dtype == RL_I64   ? UINT64_C(1) << 63
                           : out->dtype == RL_I32 ? UINT64_C(1) << 31
                                                  : 0;
    const uint64_t bits = rl_is_float(out->dtype) ? cuda_number_bits(out->dtype, __builtin_nan("")) : least;
    const uint64_t element[2] = {bits, 0};
    return cuda_fill_view(k, out, element);
}

static rl_status median(rl_call *k, bool ignores_nan) {
    const bool is_whole = k->n_out == 1;
    if (!cuda_same_place(rl_in(k, 0), k->out[0])) return RL_UNSUPPORTED;
    if (is_whole && rl_in(k, 0)->numel == 0) return median_of_none(k);
    if (k->out[0]->numel == 0) return RL_OK;
    return pick(k, MEDIANS, is_whole ? -1 : k->attr[0], ignores_nan);
}
CUDA_KERNEL(cuda_median) {
    return median(k, false);
}
CUDA_KERNEL(cuda_nanmedian) {
    return median(k, true);
}
CUDA_KERNEL(cuda_mode) {
    if (!cuda_same_place(rl_in(k, 0), k->out[0])) return RL_UNSUPPORTED;
    return k->out[0]->numel == 0 ? RL_OK : pick(k, MODES, k->attr[0], false);
}
