/* copy_: on one GPU any strides, broadcast and cast; between devices dense memory of one dtype, which the
 * dispatcher sees to. */
#include "copy.cuh"
#include "elementwise.cuh"

/* ---- equal dtypes: only the size of an element matters ---- */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) copy_bits(cuda_iter w, T *to, const T *from) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_iter_seek(w, i, at);
        to[at[0]] = from[at[1]];
    }
}

/* ---- casts: neighbours together where both sides are one strip ---- */
template <class To>
__global__ void __launch_bounds__(CUDA_THREADS)
    copy_cast(cuda_iter w, To *to, const void *from, int from_dtype) {
    enum { V = 4, TILE = CUDA_THREADS * V };
    for (int64_t first = blockIdx.x * (int64_t)TILE; first < w.numel; first += gridDim.x * (int64_t)TILE) {
        if (w.is_flat && w.step[1][0] == 1 && first + TILE <= w.numel) {
            const int64_t i = first + threadIdx.x * V;
            cuda_vector<To, V> v;
            cuda_load_vector(from_dtype, from, i, v.at);
            cuda_put<To, V>(to + i, v);
            continue;
        }
        CUDA_EACH_APART(i, first, w.numel, TILE) {
            int64_t at[2];
            cuda_iter_seek(w, i, at);
            to[at[0]] = cuda_load<To>(from_dtype, from, at[1]);
        }
    }
}
template <class To>
static void launch_cast(const cuda_iter &w, void *to, const void *from, int from_dtype, cudaStream_t s) {
    CUDA_LAUNCH((copy_cast<To>), cuda_blocks_of((w.numel + 3) / 4), CUDA_THREADS, s, w, (To *)to, from,
                from_dtype);
}

template <class T> static void launch_bits(const cuda_iter &w, void *to, const void *from, cudaStream_t s) {
    CUDA_LAUNCH((copy_bits<T>), cuda_iter_blocks(&w), CUDA_THREADS, s, w, (T *)to, (const T *)from);
}

static void move_bits(const cuda_iter &w, void *to, const void *from, int64_t item, cudaStream_t s) {
    switch (item) {
#define X(bytes, T)                                                                                          \
    case bytes: launch_bits<T>(w, to, from, s); break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
}

rl_status cuda_cast_copy(rl_call *k, const cuda_iter &w, void *to, int to_dtype, const void *from,
                         int from_dtype) {
    const cudaStream_t s = cuda_stream_of(k);
    if (to_dtype != from_dtype && (rl_is_converted(to_dtype) || rl_is_converted(from_dtype)))
        return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    if (to_dtype == from_dtype) {
        const int64_t item = rl_itemsize(to_dtype);
        if (w.is_flat && w.step[1][0] == 1)
            cudaMemcpyAsync(to, from, (size_t)(w.numel * item), cudaMemcpyDeviceToDevice, s);
        else if (!cuda_cast_copy_transposed(k, w, to, from, item))
            move_bits(w, to, from, item, s);
        return rl_cuda_end(k);
    }
    switch (to_dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag: launch_cast<T>(w, to, from, from_dtype, s); break;
        CUDA_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

rl_status cuda_cast_copy_views(rl_call *k, const rl_view *to, const rl_view *from) {
    const rl_view *views[2] = {to, from};
    cuda_iter w;
    if (!cuda_iter_make_along(&w, views, 2)) return RL_UNSUPPORTED;
    return cuda_cast_copy(k, w, rl_data(to, RL_WRITE), to->dtype, rl_const_data(from), from->dtype);
}

bool cuda_dims_iter(cuda_iter *w, cuda_dims *dims, int nops) {
    rl_view view[CUDA_OPS] = {};
    const rl_view *views[CUDA_OPS] = {};
    for (int op = 0; op < nops; op++) {
        view[op].ndim = (uint8_t)dims->ndim;
        view[op].numel = dims->numel;
        view[op].shape = dims->size;
        view[op].strides = dims->step[op];
        views[op] = &view[op];
    }
    if (!cuda_iter_make_along(w, views, nops)) return false;
    for (int op = 0; op < nops; op++)
        for (int d = 0; d < w->ndim; d++) w->is_narrow = w->is_narrow && w->step[op][d] >= 0;
    return true;
}

rl_status cuda_cast_copy_dims(rl_call *k, cuda_dims *dims, void *to, int to_dtype, const void *from,
                              int from_dtype) {
    cuda_iter w;
    if (!cuda_dims_iter(&w, dims, 2)) return RL_UNSUPPORTED;
    return cuda_cast_copy(k, w, to, to_dtype, from, from_dtype);
}

rl_status cuda_start(rl_call *k) {
    const rl_view *to = k->out[0], *from = rl_in(k, 0);
    return rl_const_data(to) == rl_const_data(from) ? RL_OK : cuda_cast_copy_views(k, to, from);
}

const void *cuda_gapless(rl_call *k, const rl_view *v) {
    int64_t steps[RL_MAX_DIMS], step = 1;
    rl_view gapless = *v;
    cuda_iter w;
    if (rl_is_contiguous(v)) return rl_const_data(v);
    gapless.strides = steps;
    for (int d = v->ndim - 1; d >= 0; d--) steps[d] = step, step *= v->shape[d];
    const rl_view *views[2] = {&gapless, v};
    void *to = k->svc->scratch(k, RL_COUNT(v->numel, rl_itemsize(v->dtype)), 1);
    if (!to) return nullptr;
    if (!cuda_iter_make(&w, views, 2)) {
        rl_fail(k, RL_NOTIMPL, "%s: CUDA kernels walk over at most %d dimensions", k->name, CUDA_DIMS);
        return nullptr;
    }
    return cuda_cast_copy(k, w, to, v->dtype, rl_const_data(v), v->dtype) == RL_OK ? to : nullptr;
}

static rl_status copy_between(rl_call *k, const rl_view *to, const rl_view *from) {
    if (to->dtype != from->dtype || to->numel != from->numel || !rl_is_contiguous(to) ||
        !rl_is_contiguous(from))
        return RL_UNSUPPORTED;
    const rl_place target = {rl_data(to, RL_WRITE), to->device, to->device_index},
                   source = {rl_data(from, RL_READ), from->device, from->device_index};
    const bool async = k->n_arg > 2 && rl_int(k, 2); /* non_blocking of copy_ */
    const size_t bytes = (size_t)(to->numel * rl_itemsize(to->dtype));
    return rl_cuda_move(&target, &source, bytes, async) == RL_OK ? RL_OK : rl_cuda_fail(k);
}

static rl_status copy(rl_call *k, const rl_view *to, const rl_view *from) {
    return cuda_same_place(to, from) ? cuda_cast_copy_views(k, to, from) : copy_between(k, to, from);
}

CUDA_KERNEL(cuda_copy) {
    return copy(k, k->out[0], rl_in(k, 1));
}
CUDA_KERNEL(cuda_clone) {
    return copy(k, k->out[0], rl_in(k, 0));
}

/* Transposed copies: neighbours in the source are not neighbours in the target.
 *
 * Note [Transposed copies]
 * Rows of one are columns of the other, so a plain iterator would touch a cache line for each element of one
 * side. A block moves a tile through shared memory: lanes read along the source and write along the target.
 *
 *     from   row: step 1, col: from_step          to   row: to_step, col: step 1
 *
 * All other dims number the planes. */
enum { SIDE = 32, LINES = CUDA_THREADS / SIDE, LEAST = 16 }; /* shorter sides would leave lanes idle */
typedef struct {
    cuda_iter planes;
    int64_t rows, cols, to_step, from_step;
    int64_t across, of_plane, tiles;
} transposition;

template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) copy_transposed(transposition t, T *to, const T *from) {
    CUDA_SHARED(T, tile, [SIDE][SIDE + 1]); /* columns start in other banks each */
    const int lane = threadIdx.x % SIDE, line = threadIdx.x / SIDE;
    for (int64_t n = blockIdx.x; n < t.tiles; n += gridDim.x) {
        const int64_t plane = n / t.of_plane, here = n - plane * t.of_plane;
        const int64_t row = here / t.across * SIDE, col = here % t.across * SIDE;
        int64_t at[2];
        cuda_iter_seek(t.planes, plane, at);
        CUDA_UNROLL
        for (int i = line; i < SIDE; i += LINES)
            if (row + lane < t.rows && col + i < t.cols)
                tile[i][lane] = from[at[1] + row + lane + (col + i) * t.from_step];
        __syncthreads();
        CUDA_UNROLL
        for (int i = line; i < SIDE; i += LINES)
            if (row + i < t.rows && col + lane < t.cols)
                to[at[0] + (row + i) * t.to_step + col + lane] = tile[lane][i];
        __syncthreads(); /* before the next tile comes */
    }
}

/* false: no two dims lie so */
static bool transpose_make(transposition *t, const cuda_iter &w) {
    const int col = w.ndim - 1;
    int row = -1;
    for (int d = 0; d < col; d++)
        if (w.step[1][d] == 1 && w.size[d] >= LEAST) row = d;
    if (row < 0 || w.step[0][col] != 1 || w.step[1][col] == 1 || w.size[col] < LEAST) return false;
    *t = {};
    t->rows = w.size[row], t->cols = w.size[col];
    t->to_step = w.step[0][row], t->from_step = w.step[1][col];
    t->planes.nops = 2;
    t->planes.numel = w.numel / t->rows / t->cols;
    for (int d = 0; d < col; d++) {
        if (d == row) continue;
        const int to = t->planes.ndim++;
        t->planes.size[to] = w.size[d];
        for (int op = 0; op < 2; op++) t->planes.step[op][to] = w.step[op][d];
    }
    t->planes.is_flat = t->planes.ndim < 2;
    t->planes.is_narrow = w.is_narrow;
    t->across = (t->cols + SIDE - 1) / SIDE;
    t->of_plane = (t->rows + SIDE - 1) / SIDE * t->across;
    t->tiles = t->planes.numel * t->of_plane;
    return true;
}

bool cuda_cast_copy_transposed(rl_call *k, const cuda_iter &w, void *to, const void *from, int64_t item) {
    transposition t;
    if (!transpose_make(&t, w)) return false;
    const unsigned blocks = cuda_blocks_each(t.tiles);
    switch (item) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH_BLOCKS((copy_transposed<T>), blocks, CUDA_THREADS, 0, cuda_stream_of(k), t, (T *)to,     \
                           (const T *)from);                                                                 \
        return true;
        CUDA_SIZES(X)
#undef X
    default: return false;
    }
}
