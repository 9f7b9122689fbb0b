/* Products without tensor cores: by tiles of float32 and float64, of whose sums each of 256 threads keeps
 * R x R in registers; without tiles where rows or columns are few, groups have few channels, of integers. */
#include "cuda/block_reduce.cuh"
#include "gemm.cuh"
#include "tile.cuh"

/* ==== by tiles ==== */
enum { SIDE = 16, THREADS = SIDE * SIDE, NEIGHBOURS = 4 };

/* number i of thread t along a side: groups of four neighbours, which are one vector */
static __device__ constexpr int part_of(int t, int i) {
    return i / NEIGHBOURS * (SIDE * NEIGHBOURS) + t * NEIGHBOURS + i % NEIGHBOURS;
}

template <class T, int R> using tile = product_tile<T, SIDE * R, SIDE * R, 16>;
template <class Tile> struct finish {
    product_output<Tile> output;
    typename Tile::element
        stage[SIDE * Tile::COLS]; /* a row of each thread row: neighbours are written by neighbours */
};

template <class T, int R, bool GATHERED>
__global__ void __launch_bounds__(THREADS, (GATHERED && R == 8) ? 1 : 2) product_tiles(product p) {
    typedef product_shared<tile<T, R>, GATHERED> Shared;
    typedef finish<tile<T, R>> Finish;
    CUDA_SHARED(Shared, s, );
    static_assert(sizeof s.a + sizeof s.b >= sizeof(Finish), "it fits into the tiles");
    const int down = threadIdx.x / SIDE, across = threadIdx.x % SIDE;
    T sum[R][R] = {};
    product_along<product_as_it_is<T>, THREADS, GATHERED>(p, s, [&](int turn) {
        CUDA_UNROLL
        for (int d = 0; d < Shared::DEPTH; d++) {
            T a[R], b[R];
            CUDA_UNROLL
            for (int i = 0; i < R; i++)
                a[i] = *s.a[turn].at(part_of(down, i), d), b[i] = *s.b[turn].at(part_of(across, i), d);
            CUDA_UNROLL
            for (int e = 0; e < R * R; e++) sum[e / R][e % R] += a[e / R] * b[e % R];
        }
    });
    Finish &f = *(Finish *)(void *)s.a;
    __syncthreads(); /* nobody multiplies any more */
    product_mark_output(p, s, f.output);
    CUDA_UNROLL
    for (int i = 0; i < R; i++) {
        if (i > 0) __syncthreads();
        CUDA_UNROLL
        for (int j = 0; j < R; j++) f.stage[down * Shared::COLS + part_of(across, j)] = sum[i][j];
        __syncthreads();
        CUDA_ROLLED
        for (int e = threadIdx.x; e < SIDE * Shared::COLS; e += THREADS)
            product_put(p, s, f.output, part_of(e / Shared::COLS, i), e % Shared::COLS, f.stage[e]);
    }
}

template <class T, int R> static void launch(const product &p, cudaStream_t stream) {
    const unsigned blocks = (unsigned)product_tiles_in<tile<T, R>>(p);
    if (p.gather.is_used)
        CUDA_LAUNCH_BLOCKS((product_tiles<T, R, true>), blocks, THREADS, 0, stream, p);
    else
        CUDA_LAUNCH_BLOCKS((product_tiles<T, R, false>), blocks, THREADS, 0, stream, p);
}

bool cuda_product_tiles(const product &p, bool large, cudaStream_t stream) {
    if (p.dtype == RL_F64)
        launch<double, 4>(p, stream);
    else if (p.dtype == RL_F32 && large)
        launch<float, 8>(p, stream);
    else if (p.dtype == RL_F32)
        launch<float, 4>(p, stream);
    else
        return false;
    return true;
}

/* ==== without tiles ==== */
/* ---- a thread for each output ---- */
template <class C> struct product_sum {
    const product &p;
    int64_t a, b;
    product_place col;

    __device__ void add(C &sum, const int64_t (&digit)[PRODUCT_DIGITS]) const {
        const C x = product_load<C>(p.dtype, p.a, a + product_at(p.depth, PRODUCT_A, digit));
        sum = product_add<C>(sum, x, factor(digit));
    }
    __device__ C factor(const int64_t (&digit)[PRODUCT_DIGITS]) const {
        int64_t place = 0;
        if (!p.b) return (C)1;
        if (p.gather.is_used) {
            product_place depth;
            place = product_depth_place(p.gather, digit, depth);
            if (!product_is_inside(p.gather, col, depth)) return (C)0;
        }
        return product_load<C>(p.dtype, p.b, b + place + product_at(p.depth, PRODUCT_B, digit));
    }
};

/* output number i: where it and what is added lie; what its sum is made of */
template <class C>
static __device__ product_sum<C> output_seek(const product &p, int64_t i, int64_t &out, int64_t &extra) {
    int64_t at[PRODUCT_OPERANDS], row[PRODUCT_DIGITS], col[PRODUCT_DIGITS];
    product_sum<C> s = {p, 0, 0, {}};
    const int64_t line = product_divide(i, p.col.n, p.col_inverse);
    const int64_t batch = product_divide(line, p.row.n, p.row_inverse);
    product_split(p.col, i - line * p.col.n, col);
    product_split(p.row, line - batch * p.row.n, row);
    product_batch_seek(p.batch, batch, at);
    s.a = at[PRODUCT_A] + product_at(p.row, PRODUCT_A, row);
    s.b = at[PRODUCT_B] + product_at(p.col, PRODUCT_B, col);
    s.b += product_col_place(p.gather, col, s.col);
    out = at[PRODUCT_OUT] + product_at(p.row, PRODUCT_OUT, row) + product_at(p.col, PRODUCT_OUT, col);
    extra = at[PRODUCT_EXTRA] + product_at(p.row, PRODUCT_EXTRA, row) + product_at(p.col, PRODUCT_EXTRA, col);
    return s;
}
static __device__ __host__ inline int64_t output_count(const product &p) {
    return p.batch.n * p.row.n * p.col.n;
}

template <class C> __global__ void __launch_bounds__(CUDA_THREADS, 4) product_each(product p) {
    CUDA_EACH_OF(i, output_count(p)) {
        int64_t out, extra, d[PRODUCT_DIGITS];
        const product_sum<C> s = output_seek<C>(p, i, out, extra);
        const int64_t *size = p.depth.size;
        C sum = 0;
        for (d[0] = 0; d[0] < size[0]; d[0]++)
            for (d[1] = 0; d[1] < size[1]; d[1]++)
                for (d[2] = 0; d[2] < size[2]; d[2]++)
                    for (d[3] = 0; d[3] < size[3]; d[3]++) s.add(sum, d);
        if (p.sums)
            ((C *)p.sums)[i] = sum;
        else
            product_store(p, sum, out, extra);
    }
}

/* ---- a warp for each output, or for a part of its depth ---- */
template <class C> __global__ void __launch_bounds__(CUDA_THREADS) product_lanes(product p) {
    const int lane = threadIdx.x % CUDA_WARP;
    const int64_t outputs = output_count(p), warps = (int64_t)gridDim.x * (CUDA_THREADS / CUDA_WARP);
    int64_t task = blockIdx.x * (int64_t)(CUDA_THREADS / CUDA_WARP) + threadIdx.x / CUDA_WARP;
    for (; task < outputs * p.splits; task += warps) {
        int64_t out, extra, digit[PRODUCT_DIGITS];
        const int64_t split = task / outputs, begin = split * p.part;
        const int64_t end = begin + p.part < p.depth.n ? begin + p.part : p.depth.n;
        const product_sum<C> s = output_seek<C>(p, task - split * outputs, out, extra);
        C sum = 0;
        for (int64_t d = begin + lane; d < end; d += CUDA_WARP) {
            product_split(p.depth, d, digit);
            s.add(sum, digit);
        }
        sum = cuda_warp_join(sum, cuda_sum());
        if (lane != 0) continue;
        if (p.sums)
            ((C *)p.sums)[task] = sum;
        else
            product_store(p, sum, out, extra);
    }
}

/* ---- the sums of all parts, in their order ---- */
template <class C> __global__ void __launch_bounds__(CUDA_THREADS) product_finish(product p) {
    const int64_t outputs = output_count(p);
    CUDA_EACH_OF(i, outputs) {
        int64_t out, extra;
        C sum = 0;
        for (int64_t split = 0; split < p.splits; split++)
            sum = product_add<C>(sum, 1, ((const C *)p.sums)[split * outputs + i]);
        output_seek<C>(p, i, out, extra);
        product_store(p, sum, out, extra);
    }
}

/* one of three, by the compute type */
#define LAUNCH(launch, kernel, blocks)                                                                       \
    if (p.dtype == RL_F64)                                                                                   \
        launch(kernel<double>, blocks);                                                                      \
    else if (rl_is_float(p.dtype))                                                                           \
        launch(kernel<float>, blocks);                                                                       \
    else                                                                                                     \
        launch(kernel<int64_t>, blocks)
#define ALONE(kernel, blocks)    CUDA_LAUNCH((kernel), blocks, CUDA_THREADS, stream, p)
#define TOGETHER(kernel, blocks) CUDA_LAUNCH_BLOCKS((kernel), blocks, CUDA_THREADS, 0, stream, p)

void cuda_product_each(const product &p, cudaStream_t stream) {
    const unsigned blocks = cuda_blocks_of(output_count(p));
    LAUNCH(ALONE, product_each, blocks);
}
void cuda_product_lanes(const product &p, cudaStream_t stream) {
    const int64_t most = INT64_MAX / CUDA_WARP / p.splits, outputs = output_count(p);
    const unsigned blocks =
        cuda_blocks_of(outputs < most ? outputs * p.splits * CUDA_WARP : (int64_t)CUDA_BLOCKS * CUDA_THREADS);
    LAUNCH(TOGETHER, product_lanes, blocks);
}
void cuda_product_finish(const product &p, cudaStream_t stream) {
    const unsigned blocks = cuda_blocks_of(output_count(p));
    LAUNCH(ALONE, product_finish, blocks);
}
