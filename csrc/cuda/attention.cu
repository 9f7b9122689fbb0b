/* Flash attention (Dao et al., 2022) and its gradients, by warps: a warp has one query, or one key, and takes
 * 32 of the others at a time, so that no matrix of weights is kept. */
#include "block_reduce.cuh"
#include "cuda/gemm/gemm.cuh"

enum { QUERY, KEY, VALUE, MASK, OUT, LSE, GRAD, BY_QUERY, BY_KEY, BY_VALUE, MATRICES };
enum { BATCH_DIMS = 6, PIECES = 4, GROUP = PIECES * CUDA_WARP }; /* a lane sums PIECES columns */

struct matrix {
    void *at; /* NULL: there is none */
    int dtype;
    int64_t batch[BATCH_DIMS], row, col;
};
struct attention {
    matrix m[MATRICES];
    int ndim;
    int64_t size[BATCH_DIMS], batches, rows, keys, width, wide;
    double scale;
    bool causal;
};

/* ---- elements ---- */
struct offsets {
    int64_t at[MATRICES];
};
static __device__ __forceinline__ offsets batch_seek(const attention &a, int64_t batch) {
    offsets o = {};
    CUDA_ROLLED
    for (int d = a.ndim - 1; d >= 0; d--) {
        const int64_t rest = batch / a.size[d], here = batch - rest * a.size[d];
        CUDA_UNROLL
        for (int i = 0; i < MATRICES; i++) o.at[i] += here * a.m[i].batch[d];
        batch = rest;
    }
    return o;
}
template <class C>
static __device__ __forceinline__ C element(const attention &a, const offsets &o, int i, int64_t row,
                                            int64_t col) {
    return gemm_load<C>(a.m[i].dtype, a.m[i].at, o.at[i] + row * a.m[i].row + col * a.m[i].col);
}
template <class C>
static __device__ __forceinline__ void put(const attention &a, const offsets &o, int i, int64_t row,
                                           int64_t col, C x) {
    cuda_store<C>(a.m[i].dtype, a.m[i].at, o.at[i] + row * a.m[i].row + col * a.m[i].col, x);
}

/* row `i` of matrix x times row `j` of matrix y */
template <class C>
static __device__ C dot(const attention &a, const offsets &o, int x, int64_t i, int y, int64_t j, int64_t n) {
    C sum = 0;
    CUDA_ROLLED
    for (int64_t c = 0; c < n; c++) sum += element<C>(a, o, x, i, c) * element<C>(a, o, y, j, c);
    return sum;
}

template <class C> static __device__ C score(const attention &a, const offsets &o, int64_t i, int64_t j) {
    if (a.causal && j > i) return (C)-INFINITY;
    const C x = (C)a.scale * dot<C>(a, o, QUERY, i, KEY, j, a.width);
    const matrix &mask = a.m[MASK];
    if (!mask.at) return x;
    const C m = cuda_load<C>(mask.dtype, mask.at, o.at[MASK] + i * mask.row + j * mask.col);
    if (mask.dtype != RL_BOOL) return x + m;
    return m == 0 ? (C)-INFINITY : x;
}

/* Adds rows first to first + 31 of a matrix, each by the weight that its lane has, to columns from `col` on.
 */
template <class C>
static __device__ __forceinline__ void add_rows(const attention &a, const offsets &o, int i, int64_t first,
                                                C weight, int64_t col, int64_t cols, C (&sum)[PIECES]) {
    CUDA_ROLLED
    for (int lane = 0; lane < CUDA_WARP; lane++) {
        const C by = __shfl_sync((unsigned)CUDA_FULL_MASK, weight, lane);
        if (by == 0) continue;
        CUDA_UNROLL
        for (int piece = 0; piece < PIECES; piece++)
            if (col + piece * CUDA_WARP < cols)
                sum[piece] += by * element<C>(a, o, i, first + lane, col + piece * CUDA_WARP);
    }
}
template <class C>
static __device__ __forceinline__ void put_row(const attention &a, const offsets &o, int i, int64_t row,
                                               int64_t col, int64_t cols, const C (&sum)[PIECES], C by) {
    CUDA_UNROLL
    for (int piece = 0; piece < PIECES; piece++)
        if (col + piece * CUDA_WARP < cols) put<C>(a, o, i, row, col + piece * CUDA_WARP, sum[piece] * by);
}

/* for each row of each batch, and each group of columns of the results, a warp */
struct warp_task {
    int64_t row, col, batch;
};
static __device__ __forceinline__ warp_task task_of(int64_t n, int64_t rows, int64_t groups) {
    const int64_t line = n / groups, batch = line / rows;
    return {line - batch * rows, (n - line * groups) * GROUP + threadIdx.x % CUDA_WARP, batch};
}
static __host__ __device__ inline int64_t groups_of(int64_t cols) {
    return cols <= GROUP ? 1 : (cols + GROUP - 1) / GROUP;
}
#define EACH_TASK(n, count)                                                                                  \
    for (int64_t n = blockIdx.x * (int64_t)(CUDA_THREADS / CUDA_WARP) + threadIdx.x / CUDA_WARP;             \
         n < (count); n += (int64_t)gridDim.x * (CUDA_THREADS / CUDA_WARP))

/* ---- forward ---- */
template <class C> __global__ void __launch_bounds__(CUDA_THREADS) attention_forward(attention a) {
    const int64_t groups = groups_of(a.wide);
    EACH_TASK(n, a.batches * a.rows * groups) {
        const warp_task task = task_of(n, a.rows, groups);
        const offsets o = batch_seek(a, task.batch);
        const int64_t seen = a.causal && task.row + 1 < a.keys ? task.row + 1 : a.keys;
        C most = (C)-INFINITY, total = 0, sum[PIECES] = {};
        for (int64_t first = 0; first < seen; first += CUDA_WARP) {
            const int64_t j = first + threadIdx.x % CUDA_WARP;
            const C x = j < seen ? score<C>(a, o, task.row, j) : (C)-INFINITY;
            const C top = cuda_largest()(cuda_warp_join(x, cuda_largest()), most);
            const C keep = most == (C)-INFINITY ? (C)0 : exp(most - top);
            const C weight = x == (C)-INFINITY ? (C)0 : exp(x - top);
            total = total * keep + cuda_warp_join(weight, cuda_sum());
            CUDA_UNROLL
            for (int piece = 0; piece < PIECES; piece++) sum[piece] *= keep;
            add_rows(a, o, VALUE, first, weight, task.col, a.wide, sum);
            most = top;
        }
        put_row(a, o, OUT, task.row, task.col, a.wide, sum, total == 0 ? (C)0 : 1 / total);
        if (task.col == 0) put<C>(a, o, LSE, task.row, 0, total == 0 ? (C)0 : most + log(total));
    }
}

/* ---- backward ---- */
/* the weight of key j for query i, and the gradient by their score */
template <class C>
static __device__ void weigh(const attention &a, const offsets &o, int64_t i, int64_t j, C &weight,
                             C &slope) {
    const C x = score<C>(a, o, i, j);
    weight = exp(x - element<C>(a, o, LSE, i, 0));
    slope = 0;
    if (weight == 0) return;
    const C mean = dot<C>(a, o, GRAD, i, OUT, i, a.wide);
    slope = weight * (dot<C>(a, o, GRAD, i, VALUE, j, a.wide) - mean) * (C)a.scale;
}

template <class C> __global__ void __launch_bounds__(CUDA_THREADS) attention_by_query(attention a) {
    const int64_t groups = groups_of(a.width);
    EACH_TASK(n, a.batches * a.rows * groups) {
        const warp_task task = task_of(n, a.rows, groups);
        const offsets o = batch_seek(a, task.batch);
        C sum[PIECES] = {};
        for (int64_t first = 0; first < a.keys; first += CUDA_WARP) {
            const int64_t j = first + threadIdx.x % CUDA_WARP;
            C weight = 0, slope = 0;
            if (j < a.keys) weigh(a, o, task.row, j, weight, slope);
            add_rows(a, o, KEY, first, slope, task.col, a.width, sum);
        }
        put_row(a, o, BY_QUERY, task.row, task.col, a.width, sum, (C)1);
    }
}
template <class C> __global__ void __launch_bounds__(CUDA_THREADS, 2) attention_by_key(attention a) {
    const int64_t groups = groups_of(a.width > a.wide ? a.width : a.wide);
    EACH_TASK(n, a.batches * a.keys * groups) {
        const warp_task task = task_of(n, a.keys, groups);
        const offsets o = batch_seek(a, task.batch);
        C by_key[PIECES] = {}, by_value[PIECES] = {};
        for (int64_t first = 0; first < a.rows; first += CUDA_WARP) {
            const int64_t i = first + threadIdx.x % CUDA_WARP;
            C weight = 0, slope = 0;
            if (i < a.rows) weigh(a, o, i, task.row, weight, slope);
            add_rows(a, o, QUERY, first, slope, task.col, a.width, by_key);
            add_rows(a, o, GRAD, first, weight, task.col, a.wide, by_value);
        }
        put_row(a, o, BY_KEY, task.row, task.col, a.width, by_key, (C)1);
        put_row(a, o, BY_VALUE, task.row, task.col, a.wide, by_value, (C)1);
    }
}

/* ---- what a call says ---- */
/* The last `inner` dims of v are row and column, or row; it stretches to the query's batches. */
static void matrix_set(attention *a, int i, const rl_view *v, int inner, const rl_view *query,
                       bool is_result = false) {
    matrix *m = &a->m[i];
    *m = {};
    if (!v) return;
    m->at = rl_data(v, is_result ? RL_WRITE : RL_READ);
    m->dtype = v->dtype;
    for (int d = 0; d < a->ndim; d++) {
        const int dim = d - (query->ndim - 2) + v->ndim - inner;
        m->batch[d] = dim < 0 || v->shape[dim] == 1 ? 0 : v->strides[dim];
    }
    const int row = v->ndim - inner, col = row + 1;
    m->row = row < 0 || v->shape[row] == 1 ? 0 : v->strides[row];
    m->col = inner < 2 || v->ndim < 1 || v->shape[col] == 1 ? 0 : v->strides[col];
}

static bool attention_read(const rl_call *k, attention *a, int first, int rest) {
    const rl_view *query = rl_in(k, first), *out = k->out[0];
    for (int i = 0; i < k->n_arg; i++) {
        const rl_view *v = rl_in(k, i);
        if (v && (v->device != out->device || v->device_index != out->device_index)) return false;
    }
    *a = {};
    a->ndim = query->ndim - 2;
    if (a->ndim > BATCH_DIMS) return false;
    a->batches = 1;
    for (int d = 0; d < a->ndim; d++) a->batches *= a->size[d] = query->shape[d];
    a->rows = query->shape[query->ndim - 2], a->width = query->shape[query->ndim - 1];
    a->keys = rl_in(k, first + 1)->shape[query->ndim - 2];
    a->wide = rl_in(k, first + 2)->shape[query->ndim - 1];
    a->causal = rl_int(k, rest) != 0;
    a->scale = k->arg[rest + 2].tag != RL_NONE ? rl_num(k, rest + 2) : 1 / sqrt((double)a->width);
    if (a->width == 0) a->scale = 0;
    for (int i = 0; i < 3; i++) matrix_set(a, QUERY + i, rl_in(k, first + i), 2, query);
    matrix_set(a, MASK, rl_in(k, rest + 1), 2, query);
    return true;
}

static unsigned blocks_of(int64_t warps) {
    return cuda_blocks_of(warps < INT64_MAX / CUDA_WARP ? warps * CUDA_WARP : INT64_MAX - CUDA_THREADS);
}
#define LAUNCH(kernel, count)                                                                                \
    if ((count) == 0)                                                                                        \
        ;                                                                                                    \
    else if (a.m[QUERY].dtype == RL_F64)                                                                     \
        CUDA_LAUNCH_BLOCKS((kernel<double>), blocks_of(count), CUDA_THREADS, 0, stream, a);                  \
    else                                                                                                     \
        CUDA_LAUNCH_BLOCKS((kernel<float>), blocks_of(count), CUDA_THREADS, 0, stream, a)

CUDA_KERNEL(cuda_attention) {
    attention a;
    const rl_view *query = rl_in(k, 0);
    const cudaStream_t stream = (cudaStream_t)k->stream;
    if (!attention_read(k, &a, 0, 4)) return RL_UNSUPPORTED;
    matrix_set(&a, OUT, k->out[0], 2, query, true);
    matrix_set(&a, LSE, k->out[1], 1, query, true);
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    LAUNCH(attention_forward, a.batches * a.rows * groups_of(a.wide));
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_attention_back) {
    attention a;
    const rl_view *query = rl_in(k, 1);
    const cudaStream_t stream = (cudaStream_t)k->stream;
    if (!attention_read(k, &a, 1, 7)) return RL_UNSUPPORTED;
    matrix_set(&a, GRAD, rl_in(k, 0), 2, query);
    matrix_set(&a, OUT, rl_in(k, 4), 2, query);
    matrix_set(&a, LSE, rl_in(k, 5), 1, query);
    for (int i = 0; i < 3; i++) matrix_set(&a, BY_QUERY + i, k->out[i], 2, query, true);
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    LAUNCH(attention_by_query, a.batches * a.rows * groups_of(a.width));
    LAUNCH(attention_by_key, a.batches * a.keys * groups_of(a.width > a.wide ? a.width : a.wide));
    return rl_cuda_end(k);
}
