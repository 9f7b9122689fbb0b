/* Elements that are not zero, and those that a mask picks, fills, or pours others into. */
#include "cuda/block_reduce.cuh"
#include "cuda/copy.cuh"

/* Elements that are not zero, numbered in row-major order.
 *
 * Note [CUDA ranks]
 *     elements   [ tile 0 | tile 1 | tile 2 ... ]     a block of threads for each tile
 *     counts     [   n0   |   n1   |   n2   ... ]     of those not zero; then added up: where a tile's own
 * begin Within a tile the lanes of a warp vote, and the warps of the block add up. */
enum { CUDA_TILE_STEPS = 8, CUDA_TILE = CUDA_TILE_STEPS * CUDA_THREADS };
typedef struct {
    const void *at;
    int item;         /* bytes of an element */
    uint64_t telling; /* the bits that tell: all but the signs of floats */
} cuda_truths;
typedef struct {
    unsigned tiles;
    int64_t *begin; /* of each tile, and of what would follow them: how many there are */
} cuda_ranks;

static __device__ inline bool cuda_truth(const cuda_truths &t, int64_t i) {
    switch (t.item) {
    case 1: return ((const uint8_t *)t.at)[i] != 0;
    case 2: return ((const uint16_t *)t.at)[i] & t.telling;
    case 4: return ((const uint32_t *)t.at)[i] & t.telling;
    default: return ((const uint64_t *)t.at)[i] & t.telling;
    }
}

/* The number of this thread's element among those of the block that are `chosen`, from *next on, which moves
 * on behind them. All threads of the block take part. */
static __device__ inline int64_t cuda_block_rank(bool chosen, int64_t *next) {
    CUDA_SHARED(int, of_warp, [CUDA_THREADS / CUDA_WARP]);
    const int lane = threadIdx.x % CUDA_WARP, warp = threadIdx.x / CUDA_WARP;
    const unsigned votes = __ballot_sync((unsigned)CUDA_FULL_MASK, chosen);
    int64_t rank = *next + __popc(votes & ((1u << lane) - 1));
    __syncthreads(); /* of_warp may still be read, from the step before */
    if (lane == 0) of_warp[warp] = __popc(votes);
    __syncthreads();
    for (int i = 0; i < CUDA_THREADS / CUDA_WARP; i++) {
        if (i < warp) rank += of_warp[i];
        *next += of_warp[i];
    }
    return rank;
}

/* for each element of the block's tile, those behind the end included; `step` is any name */
#define CUDA_EACH_OF_TILE(i, step)                                                                           \
    for (int64_t step = 0, i = blockIdx.x * (int64_t)CUDA_TILE + threadIdx.x; step < CUDA_TILE_STEPS;        \
         step++, i += CUDA_THREADS)

/* ---- Note [CUDA ranks] ---- */
template <int N>
__global__ void __launch_bounds__(CUDA_THREADS) count_tiles(cuda_iter w, cuda_truths asked, int64_t *counts) {
    int64_t n = 0;
    CUDA_EACH_OF_TILE(i, step) {
        int64_t at[N];
        if (i >= w.numel) break;
        cuda_iter_seek(w, i, at);
        n += cuda_truth(asked, at[N - 1]);
    }
    n = cuda_block_join(n, cuda_sum());
    if (threadIdx.x == 0) counts[blockIdx.x] = n;
}

/* counts become where each begins; one block */
__global__ void __launch_bounds__(CUDA_THREADS) add_up(int64_t *counts, int64_t n) {
    CUDA_SHARED(int64_t, of_warp, [CUDA_THREADS / CUDA_WARP]);
    const int lane = threadIdx.x % CUDA_WARP, warp = threadIdx.x / CUDA_WARP;
    int64_t before = 0;
    for (int64_t first = 0; first < n; first += CUDA_THREADS) {
        const int64_t i = first + threadIdx.x, own = i < n ? counts[i] : 0;
        int64_t sum = own;
        for (int by = 1; by < CUDA_WARP; by *= 2) {
            const int64_t other = __shfl_up_sync((unsigned)CUDA_FULL_MASK, sum, by);
            if (lane >= by) sum += other;
        }
        __syncthreads(); /* of_warp may still be read */
        if (lane == CUDA_WARP - 1) of_warp[warp] = sum;
        __syncthreads();
        for (int j = 0; j < warp; j++) sum += of_warp[j];
        if (i < n) counts[i] = before + sum - own;
        for (int j = 0; j < CUDA_THREADS / CUDA_WARP; j++) before += of_warp[j];
    }
    if (threadIdx.x == 0) counts[n] = before;
}

static cuda_truths cuda_truths_of(const rl_view *v) {
    const int item = (int)rl_itemsize(v->dtype);
    return {rl_const_data(v), item, rl_is_float(v->dtype) ? UINT64_MAX >> (65 - 8 * item) : UINT64_MAX};
}

/* operand `op` of the walk is asked; after rl_cuda_begin */
static rl_status cuda_ranks_make(rl_call *k, cuda_ranks *r, const cuda_iter &w, int op,
                                 const cuda_truths &asked) {
    const int64_t tiles = (w.numel + CUDA_TILE - 1) / CUDA_TILE;
    const cudaStream_t s = cuda_stream_of(k);
    if (tiles > INT32_MAX) return rl_fail(k, RL_NOTIMPL, "%s: too many elements", k->name);
    r->tiles = (unsigned)tiles;
    r->begin = (int64_t *)k->svc->scratch(k, RL_COUNT(tiles + 1), sizeof *r->begin);
    if (!r->begin) return RL_FAIL;
    if (op == 0)
        CUDA_LAUNCH_BLOCKS((count_tiles<1>), r->tiles, CUDA_THREADS, 0, s, w, asked, r->begin);
    else
        CUDA_LAUNCH_BLOCKS((count_tiles<2>), r->tiles, CUDA_THREADS, 0, s, w, asked, r->begin);
    CUDA_LAUNCH_BLOCKS((add_up), 1, CUDA_THREADS, 0, s, r->begin, tiles);
    return rl_cuda_end(k);
}

/* ---- what is not zero ---- */
CUDA_KERNEL(cuda_nonzero_count) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const uint64_t zero[2] = {0, 0};
    cuda_dims one = cuda_dims_none();
    cuda_ranks r;
    cuda_iter w;
    if (x->numel == 0) return cuda_fill_view(k, out, zero);
    if (!cuda_iter_make(&w, &x, 1)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK || cuda_ranks_make(k, &r, w, 0, cuda_truths_of(x)) != RL_OK)
        return RL_FAIL;
    return cuda_cast_copy_dims(k, &one, rl_data(out, RL_WRITE), RL_I64, r.begin + r.tiles, RL_I64);
}

typedef struct {
    int ndim;
    int64_t size[RL_MAX_DIMS];
} places_shape;

__global__ void __launch_bounds__(CUDA_THREADS)
    write_places(cuda_iter w, cuda_truths asked, const int64_t *begin, places_shape shape, int64_t *to,
                 int64_t place, int64_t step, int64_t room) {
    int64_t next = begin[blockIdx.x];
    CUDA_EACH_OF_TILE(i, n) {
        int64_t at[1], rest = i;
        bool chosen = false;
        if (i < w.numel) {
            cuda_iter_seek(w, i, at);
            chosen = cuda_truth(asked, at[0]);
        }
        const int64_t rank = cuda_block_rank(chosen, &next);
        if (!chosen || rank >= room) continue;
        for (int d = shape.ndim - 1; d >= 0; rest /= shape.size[d--])
            to[rank * place + d * step] = rest % shape.size[d];
    }
}

/* (input, int size, int fill_value): as many places as there is room for, then the fill value */
CUDA_KERNEL(cuda_nonzero_static) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const uint64_t missing[2] = {(uint64_t)rl_int(k, 2), 0};
    places_shape shape;
    cuda_ranks r;
    cuda_iter w;
    if (out->numel == 0) return RL_OK;
    if (x->numel && !cuda_iter_make(&w, &x, 1)) return RL_UNSUPPORTED;
    const rl_status status = cuda_fill_view(k, out, missing);
    if (status != RL_OK || x->numel == 0) return status;
    const cuda_truths asked = cuda_truths_of(x);
    if (cuda_ranks_make(k, &r, w, 0, asked) != RL_OK) return RL_FAIL;
    shape.ndim = x->ndim;
    for (int d = 0; d < x->ndim; d++) shape.size[d] = x->shape[d];
    CUDA_LAUNCH_BLOCKS((write_places), r.tiles, CUDA_THREADS, 0, cuda_stream_of(k), w, asked, r.begin, shape,
                       (int64_t *)rl_data(out, RL_WRITE), out->strides[0], out->strides[1], out->shape[0]);
    return rl_cuda_end(k);
}

/* ---- what a mask picks; operands: input, mask ---- */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    select_elements(cuda_iter w, cuda_truths mask, const int64_t *begin, T *to, int64_t room, const T *from) {
    int64_t next = begin[blockIdx.x];
    CUDA_EACH_OF_TILE(i, step) {
        int64_t at[2] = {0, 0};
        bool chosen = false;
        if (i < w.numel) {
            cuda_iter_seek(w, i, at);
            chosen = cuda_truth(mask, at[1]);
        }
        const int64_t rank = cuda_block_rank(chosen, &next);
        if (chosen && rank < room) to[rank] = from[at[0]];
    }
}

/* the dims that two views stretch to together */
static bool iter_together(cuda_iter *w, const rl_view *a, const rl_view *b) {
    const int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS];
    rl_view whole = *a;
    whole.ndim = (uint8_t)ndim, whole.shape = shape, whole.strides = strides, whole.numel = 1;
    for (int d = 0; d < ndim; d++) {
        const int in_a = d - (ndim - a->ndim), in_b = d - (ndim - b->ndim);
        const int64_t of_a = in_a < 0 ? 1 : a->shape[in_a], of_b = in_b < 0 ? 1 : b->shape[in_b];
        shape[d] = of_a != 1 ? of_a : of_b;
        strides[d] = of_a != 1 ? a->strides[in_a] : 0;
        whole.numel *= shape[d];
    }
    const rl_view *views[2] = {&whole, b};
    return cuda_iter_make(w, views, 2);
}

/* (input, mask, int size) */
CUDA_KERNEL(cuda_masked_select) {
    const rl_view *x = rl_in(k, 0), *mask = rl_in(k, 1), *out = k->out[0];
    const uint64_t zero[2] = {0, 0};
    cuda_ranks r;
    cuda_iter w;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (!iter_together(&w, x, mask)) return RL_UNSUPPORTED;
    const cuda_truths asked = cuda_truths_of(mask);
    if (cuda_fill_view(k, out, zero) != RL_OK || cuda_ranks_make(k, &r, w, 1, asked) != RL_OK) return RL_FAIL;
    switch (rl_itemsize(out->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH_BLOCKS((select_elements<T>), r.tiles, CUDA_THREADS, 0, cuda_stream_of(k), w, asked,      \
                           r.begin, (T *)rl_data(out, RL_WRITE), out->numel, (const T *)rl_const_data(x));   \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

/* ---- what a mask is poured into; operands: target, mask ---- */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    pour_elements(cuda_iter w, cuda_truths mask, const int64_t *begin, T *to, const T *from, int64_t given,
                  unsigned *fault) {
    int64_t next = begin[blockIdx.x];
    CUDA_EACH_OF_TILE(i, step) {
        int64_t at[2] = {0, 0};
        bool chosen = false;
        if (i < w.numel) {
            cuda_iter_seek(w, i, at);
            chosen = cuda_truth(mask, at[1]);
        }
        const int64_t rank = cuda_block_rank(chosen, &next);
        if (!chosen) continue;
        if (rank < given)
            to[at[0]] = from[rank];
        else
            cuda_fault(fault, CUDA_FAULT_VALUE);
    }
}

CUDA_KERNEL(cuda_masked_scatter) {
    const rl_view *mask = rl_in(k, 1), *source = rl_in(k, 2), *out = k->out[0];
    const rl_view *views[2] = {out, mask};
    cuda_ranks r;
    cuda_iter w;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (!cuda_iter_make(&w, views, 2)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK) return status;
    const cuda_truths asked = cuda_truths_of(mask);
    const void *from = source->numel ? cuda_gapless(k, source) : nullptr;
    if ((source->numel && !from) || rl_cuda_begin(k, out) != RL_OK ||
        cuda_ranks_make(k, &r, w, 1, asked) != RL_OK)
        return RL_FAIL;
    unsigned *fault = rl_cuda_fault(k);
    if (!fault) return RL_FAIL;
    switch (rl_itemsize(out->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH_BLOCKS((pour_elements<T>), r.tiles, CUDA_THREADS, 0, cuda_stream_of(k), w, asked,        \
                           r.begin, (T *)rl_data(out, RL_WRITE), (const T *)from, source->numel, fault);     \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

/* ---- filling; operands: target, mask, input ---- */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    fill_masked(cuda_iter w, T *to, cuda_truths mask, const T *from, const T *value) {
    CUDA_EACH(i, w) {
        int64_t at[3];
        cuda_iter_seek(w, i, at);
        to[at[0]] = cuda_truth(mask, at[1]) ? *value : from[at[2]];
    }
}

CUDA_KERNEL(cuda_masked_fill) {
    const rl_view *x = rl_in(k, 0), *mask = rl_in(k, 1), *out = k->out[0];
    const rl_view *views[3] = {out, mask, x};
    cuda_iter w;
    if (!cuda_all_here(k, 2) || rl_view_expanded(out)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (!cuda_iter_make_along(&w, views, 3)) return RL_UNSUPPORTED;
    const void *value = cuda_element_there(k, 2, out->dtype);
    if (!value || rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (rl_itemsize(out->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((fill_masked<T>), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w,              \
                    (T *)rl_data(out, RL_WRITE), cuda_truths_of(mask), (const T *)rl_const_data(x),          \
                    (const T *)value);                                                                       \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}
