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

template <class T, int R> using tile = gemm_tile<T, SIDE * R, SIDE * R, 16>;
template <class Tile> struct finish {
    gemm_output<Tile> output;
    typename Tile::element
        stage[SIDE * Tile::COLS]; /* a row of each thread row: neighbours are written by neighbours */
};

template <class T, int R, bool GATHERED>
__global__ void __launch_bounds__(THREADS, (GATHERED && R == 8) ? 1 : 2) gemm_tiles(gemm p) {
    typedef gemm_shared<tile<T, R>, GATHERED> Shared;
    typedef finish<tile<T, R>> Finish;
    CUDA_SHARED(Shared, s, );
    static_assert(sizeof s.a + sizeof s.b >= sizeof(Finish), "it fits into the tiles");
    const int down = threadIdx.x / SIDE, across = threadIdx.x % SIDE;
    T sum[R][R] = {};
    product_along<gemm_as_it_is<T>, THREADS, GATHERED>(p, s, [&](int turn) {
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
    gemm_mark_output(p, s, f.output);
    CUDA_UNROLL
    for (int i = 0; i < R; i++) {
        if (i > 0) __syncthreads();
        CUDA_UNROLL
        for (int j = 0; j < R; j++) f.stage[down * Shared::COLS + part_of(across, j)] = sum[i][j];
        __syncthreads();
        CUDA_ROLLED
        for (int e = threadIdx.x; e < SIDE * Shared::COLS; e += THREADS)
            gemm_put(p, s, f.output, part_of(e / Shared::COLS, i), e % Shared::COLS, f.stage[e]);
    }
}

template <class T, int R> static void launch(const gemm &p, cudaStream_t stream) {
    const unsigned blocks = (unsigned)gemm_tiles_in<tile<T, R>>(p);
    if (p.gather.is_used)
        CUDA_LAUNCH_BLOCKS((gemm_tiles<T, R, true>), blocks, THREADS, 0, stream, p);
    else
        CUDA_LAUNCH_BLOCKS((gemm_tiles<T, R, false>), blocks, THREADS, 0, stream, p);
}

bool cuda_gemm_tiles(const gemm &p, bool large, cudaStream_t stream) {
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
template <class C> struct gemm_sum {
    const gemm &p;
    int64_t a, b;
    gemm_place col;

    __device__ void add(C &sum, const int64_t (&digit)[GEMM_DIGITS]) const {
        const C x = gemm_load<C>(p.dtype, p.a, a + gemm_at(p.depth, GEMM_A, digit));
        sum = gemm_add<C>(sum, x, factor(digit));
    }
    __device__ C factor(const int64_t (&digit)[GEMM_DIGITS]) const {
        int64_t place = 0;
        if (!p.b) return (C)1;
        if (p.gather.is_used) {
            gemm_place depth;
            place = gemm_depth_place(p.gather, digit, depth);
            if (!gemm_is_inside(p.gather, col, depth)) return (C)0;
        }
        return gemm_load<C>(p.dtype, p.b, b + place + gemm_at(p.depth, GEMM_B, digit));
    }
};

/* output number i: where it and what is added lie; what its sum is made of */
template <class C>
static __device__ gemm_sum<C> output_seek(const gemm &p, int64_t i, int64_t &out, int64_t &extra) {
    int64_t at[GEMM_OPERANDS], row[GEMM_DIGITS], col[GEMM_DIGITS];
    gemm_sum<C> s = {p, 0, 0, {}};
    const int64_t line = gemm_divide(i, p.col.n, p.col_inverse);
    const int64_t batch = gemm_divide(line, p.row.n, p.row_inverse);
    gemm_split(p.col, i - line * p.col.n, col);
    gemm_split(p.row, line - batch * p.row.n, row);
    gemm_batch_seek(p.batch, batch, at);
    s.a = at[GEMM_A] + gemm_at(p.row, GEMM_A, row);
    s.b = at[GEMM_B] + gemm_at(p.col, GEMM_B, col);
    s.b += gemm_col_place(p.gather, col, s.col);
    out = at[GEMM_OUT] + gemm_at(p.row, GEMM_OUT, row) + gemm_at(p.col, GEMM_OUT, col);
    extra = at[GEMM_EXTRA] + gemm_at(p.row, GEMM_EXTRA, row) + gemm_at(p.col, GEMM_EXTRA, col);
    return s;
}
static __device__ __host__ inline int64_t output_count(const gemm &p) {
    return p.batch.n * p.row.n * p.col.n;
}

template <class C> __global__ void __launch_bounds__(CUDA_THREADS, 4) gemm_each(gemm p) {
    CUDA_EACH_OF(i, output_count(p)) {
        int64_t out, extra, d[GEMM_DIGITS];
        const gemm_sum<C> s = output_seek<C>(p, i, out, extra);
        const int64_t *size = p.depth.size;
        C sum = 0;
        for (d[0] = 0; d[0] < size[0]; d[0]++)
            for (d[1] = 0; d[1] < size[1]; d[1]++)
                for (d[2] = 0; d[2] < size[2]; d[2]++)
                    for (d[3] = 0; d[3] < size[3]; d[3]++) s.add(sum, d);
        if (p.sums)
            ((C *)p.sums)[i] = sum;
        else
            gemm_store(p, sum, out, extra);
    }
}

/* ---- a warp for each output, or for a part of its depth ---- */
template <class C> __global__ void __launch_bounds__(CUDA_THREADS) gemm_lanes(gemm p) {
    const int lane = threadIdx.x % CUDA_WARP;
    const int64_t outputs = output_count(p), warps = (int64_t)gridDim.x * (CUDA_THREADS / CUDA_WARP);
    int64_t task = blockIdx.x * (int64_t)(CUDA_THREADS / CUDA_WARP) + threadIdx.x / CUDA_WARP;
    for (; task < outputs * p.splits; task += warps) {
        int64_t out, extra, digit[GEMM_DIGITS];
        const int64_t split = task / outputs, begin = split * p.part;
        const int64_t end = begin + p.part < p.depth.n ? begin + p.part : p.depth.n;
        const gemm_sum<C> s = output_seek<C>(p, task - split * outputs, out, extra);
        C sum = 0;
        for (int64_t d = begin + lane; d < end; d += CUDA_WARP) {
            gemm_split(p.depth, d, digit);
            s.add(sum, digit);
        }
        sum = cuda_warp_join(sum, cuda_sum());
        if (lane != 0) continue;
        if (p.sums)
            ((C *)p.sums)[task] = sum;
        else
            gemm_store(p, sum, out, extra);
    }
}

/* ---- the sums of all parts, in their order ---- */
template <class C> __global__ void __launch_bounds__(CUDA_THREADS) gemm_finish(gemm p) {
    const int64_t outputs = output_count(p);
    CUDA_EACH_OF(i, outputs) {
        int64_t out, extra;
        C sum = 0;
        for (int64_t split = 0; split < p.splits; split++)
            sum = gemm_add<C>(sum, 1, ((const C *)p.sums)[split * outputs + i]);
        output_seek<C>(p, i, out, extra);
        gemm_store(p, sum, out, extra);
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

void cuda_gemm_each(const gemm &p, cudaStream_t stream) {
    const unsigned blocks = cuda_blocks_of(output_count(p));
    LAUNCH(ALONE, gemm_each, blocks);
}
void cuda_gemm_lanes(const gemm &p, cudaStream_t stream) {
    const int64_t most = INT64_MAX / CUDA_WARP / p.splits, outputs = output_count(p);
    const unsigned blocks =
        cuda_blocks_of(outputs < most ? outputs * p.splits * CUDA_WARP : (int64_t)CUDA_BLOCKS * CUDA_THREADS);
    LAUNCH(TOGETHER, gemm_lanes, blocks);
}
void cuda_gemm_finish(const gemm &p, cudaStream_t stream) {
    const unsigned blocks = cuda_blocks_of(output_count(p));
    LAUNCH(ALONE, gemm_finish, blocks);
}
