/* Tiles of a product's operands in the memory of a block, whatever strides they come by. */
#ifndef RL_CUDA_PRODUCT_TILE_H
#define RL_CUDA_PRODUCT_TILE_H
#include "gemm.h"

/* M rows, N columns, K of the depth. The tables hold what an index gives to an offset, -1 beyond the end;
 * once the sums are made they hold the places of the output and of what is added to it. */
template <class T, int M, int N, int K> struct __align__(32) product_tile {
    enum { ROWS = M, COLS = N, DEPTH = K, PAD = 16 / sizeof(T) };
    typedef T element;
    T a[K][M + PAD], b[K][N + PAD]; /* rows of 16 bytes and more, for vectors; of other banks each */
    int64_t row[M], col[N], depth_a[K], depth_b[K], row_extra[M], col_extra[N];
    product_place col_place[N], depth_place[K];
};

/* where a block is */
struct product_corner {
    int64_t split, batch, row, col, depth, end; /* end: of the depth */
    int64_t at[PRODUCT_OPERANDS];
};
static inline __host__ __device__ int64_t product_tiles_of(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}
template <class Tile> __host__ __device__ int64_t product_tiles_in(const product &p) {
    return product_tiles_of(p.row.n, Tile::ROWS) * product_tiles_of(p.col.n, Tile::COLS) * p.batch.n *
           p.splits;
}
template <class Tile> __device__ void product_seek(const product &p, int64_t tile, product_corner &c) {
    const int64_t down = product_tiles_of(p.row.n, Tile::ROWS),
                  across = product_tiles_of(p.col.n, Tile::COLS);
    int64_t rest = tile / down;
    c.row = (tile - rest * down) * Tile::ROWS;
    tile = rest / across;
    c.col = (rest - tile * across) * Tile::COLS;
    c.split = tile / p.batch.n;
    c.batch = tile - c.split * p.batch.n;
    c.depth = c.split * p.part;
    c.end = c.depth + p.part < p.depth.n ? c.depth + p.part : p.depth.n;
    product_batch_seek(p.batch, c.batch, c.at);
}

/* ---- tables ---- */
template <class Tile, bool GATHERED>
__device__ void product_mark(const product &p, Tile &s, const product_corner &c) {
    int64_t digit[PRODUCT_DIGITS];
    for (int i = threadIdx.x; i < Tile::ROWS; i += blockDim.x) {
        product_split(p.row, c.row + i, digit);
        s.row[i] = c.row + i < p.row.n ? product_at(p.row, PRODUCT_A, digit) : -1;
    }
    for (int i = threadIdx.x; i < Tile::COLS; i += blockDim.x) {
        product_split(p.col, c.col + i, digit);
        s.col[i] = c.col + i < p.col.n ? product_at(p.col, PRODUCT_B, digit) : -1;
        if (GATHERED) product_col_place(p.gather, digit, s.col_place[i]);
    }
}
template <class Tile, bool GATHERED>
__device__ void product_mark_depth(const product &p, Tile &s, int64_t depth, int64_t end) {
    int64_t digit[PRODUCT_DIGITS];
    for (int i = threadIdx.x; i < Tile::DEPTH; i += blockDim.x) {
        product_split(p.depth, depth + i, digit);
        s.depth_a[i] = depth + i < end ? product_at(p.depth, PRODUCT_A, digit) : -1;
        s.depth_b[i] = depth + i < end ? product_at(p.depth, PRODUCT_B, digit) : -1;
        if (GATHERED) product_depth_place(p.gather, digit, s.depth_place[i]);
    }
}
template <class Tile>
__device__ void product_mark_output(const product &p, Tile &s, const product_corner &c) {
    int64_t digit[PRODUCT_DIGITS];
    for (int i = threadIdx.x; i < Tile::ROWS; i += blockDim.x) {
        product_split(p.row, c.row + i, digit);
        s.row[i] = c.row + i < p.row.n ? product_at(p.row, PRODUCT_OUT, digit) : -1;
        s.row_extra[i] = product_at(p.row, PRODUCT_EXTRA, digit);
    }
    for (int i = threadIdx.x; i < Tile::COLS; i += blockDim.x) {
        product_split(p.col, c.col + i, digit);
        s.col[i] = c.col + i < p.col.n ? product_at(p.col, PRODUCT_OUT, digit) : -1;
        s.col_extra[i] = product_at(p.col, PRODUCT_EXTRA, digit);
    }
}

/* ---- elements, from the device's memory by way of registers ---- */
template <class Tile, int THREADS> struct product_registers {
    enum { A = Tile::ROWS * Tile::DEPTH / THREADS, B = Tile::COLS * Tile::DEPTH / THREADS };
    typename Tile::element a[A], b[B];
};
/* element `i` of a tile of SIDE by DEPTH: lanes go along what lies together in memory */
template <int SIDE, int DEPTH> struct product_index {
    int side, depth;
    __device__ product_index(int i, bool by_depth)
        : side(by_depth ? i / DEPTH : i % SIDE), depth(by_depth ? i % DEPTH : i / SIDE) {}
};

template <class Tile, int THREADS, bool GATHERED>
__device__ __forceinline__ void product_fetch(const product &p, const Tile &s, const product_corner &c,
                                              product_registers<Tile, THREADS> &x) {
    typedef typename Tile::element T;
    typedef product_registers<Tile, THREADS> Batch;
    const T *a = (const T *)p.a + c.at[PRODUCT_A], *b = (const T *)p.b + c.at[PRODUCT_B];
    CUDA_UNROLL
    for (int j = 0; j < Batch::A; j++) {
        const product_index<Tile::ROWS, Tile::DEPTH> at(threadIdx.x + j * THREADS, p.a_by_depth);
        const int64_t row = s.row[at.side], depth = s.depth_a[at.depth];
        x.a[j] = (row | depth) < 0 ? T() : a[row + depth];
    }
    CUDA_UNROLL
    for (int j = 0; j < Batch::B; j++) {
        const product_index<Tile::COLS, Tile::DEPTH> at(threadIdx.x + j * THREADS, p.b_by_depth);
        const int64_t col = s.col[at.side], depth = s.depth_b[at.depth];
        const int64_t place =
            GATHERED ? product_gathered(p.gather, s.col_place[at.side], s.depth_place[at.depth]) : 0;
        x.b[j] = (col | depth | place) < 0 ? T() : b[col + depth + place];
    }
}
template <class Tile, int THREADS>
__device__ __forceinline__ void product_keep(const product &p, Tile &s,
                                             const product_registers<Tile, THREADS> &x) {
    typedef product_registers<Tile, THREADS> Batch;
    CUDA_UNROLL
    for (int j = 0; j < Batch::A; j++) {
        const product_index<Tile::ROWS, Tile::DEPTH> at(threadIdx.x + j * THREADS, p.a_by_depth);
        s.a[at.depth][at.side] = x.a[j];
    }
    CUDA_UNROLL
    for (int j = 0; j < Batch::B; j++) {
        const product_index<Tile::COLS, Tile::DEPTH> at(threadIdx.x + j * THREADS, p.b_by_depth);
        s.b[at.depth][at.side] = x.b[j];
    }
}

/* Calls multiply() for each step along the depth, with the tiles of that step in s; the next ones are on
 * their way meanwhile. */
template <class Tile, int THREADS, bool GATHERED, class Multiply>
__device__ __forceinline__ void product_along(const product &p, Tile &s, const product_corner &c,
                                              Multiply multiply) {
    product_registers<Tile, THREADS> x;
    product_mark<Tile, GATHERED>(p, s, c);
    for (int64_t depth = c.depth;; depth += Tile::DEPTH) {
        if (depth < c.end) product_mark_depth<Tile, GATHERED>(p, s, depth, c.end);
        __syncthreads(); /* the tables are there, and the tiles of the step before */
        if (depth < c.end) product_fetch<Tile, THREADS, GATHERED>(p, s, c, x);
        if (depth > c.depth) multiply();
        __syncthreads();
        if (depth >= c.end) break;
        product_keep<Tile, THREADS>(p, s, x);
    }
    product_mark_output(p, s, c);
    __syncthreads();
}

/* the sum for one place of the tile */
template <class Tile, class C>
__device__ __forceinline__ void product_put(const product &p, const Tile &s, const product_corner &c, int row,
                                            int col, C sum) {
    typedef typename Tile::element T;
    if ((s.row[row] | s.col[col]) < 0) return;
    if (p.sums) {
        ((C *)p.sums)[product_sum_at(p, c.split, c.batch, c.row + row, c.col + col)] = sum;
        return;
    }
    C x = (C)p.alpha * sum;
    if (p.extra)
        x += (C)p.beta *
             cuda_cast<C>(((const T *)p.extra)[c.at[PRODUCT_EXTRA] + s.row_extra[row] + s.col_extra[col]]);
    ((T *)p.out)[c.at[PRODUCT_OUT] + s.row[row] + s.col[col]] = cuda_cast<T>(x);
}
#endif
