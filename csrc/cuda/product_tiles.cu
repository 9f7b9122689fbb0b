/* Products of float32 and float64 by tiles: each of 256 threads keeps R x R sums in registers. */
#include "product_tile.h"

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
