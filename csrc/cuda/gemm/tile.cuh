/* Tiles of a GEMM's operands in shared memory, from any strides. */
#ifndef RL_CUDA_TILE_H
#define RL_CUDA_TILE_H
#include "gemm.cuh"

/* One operand's part of a tile. ALONG: neighbours lie along the depth, else along the side. Rows begin at
 * other banks each, and at a multiple of 16 bytes: vectors go in and out. */
template <class T, int SIDE, int DEPTH, bool ALONG> struct gemm_part {
    enum { VECTOR = 16 / sizeof(T), STRIDE = (ALONG ? DEPTH : SIDE) + VECTOR };
    cuda_vector<T, VECTOR> rows[(ALONG ? SIDE : DEPTH) * STRIDE / VECTOR];
    static __device__ __forceinline__ int index(int side, int depth) {
        return ALONG ? side * STRIDE + depth : depth * STRIDE + side;
    }
    __device__ __forceinline__ T *at(int side, int depth) { return (T *)rows + index(side, depth); }
    __device__ __forceinline__ const T *at(int side, int depth) const {
        return (const T *)rows + index(side, depth);
    }
};

/* M rows, N columns, K of the depth, twice: one is multiplied while the other is filled. The tables hold what
 * an index gives to an offset, -1 beyond the end; `row` and `col` are the output's once the sums are made. */
template <class T, int M, int N, int K, bool A_ALONG = false, bool B_ALONG = false>
struct __align__(32) gemm_tile {
    enum { ROWS = M, COLS = N, DEPTH = K, VECTOR = 16 / sizeof(T) };
    typedef T element;
    gemm_part<T, M, K, A_ALONG> a[2];
    gemm_part<T, N, K, B_ALONG> b[2];
    int64_t row[M], col[N], depth_a[2][K], depth_b[2][K];
};
/* where a block is: kept for the block, since a thread has no registers for it while it multiplies */
struct gemm_corner {
    int64_t split, batch, row, col, depth, end; /* end: of the depth */
    int64_t at[GEMM_OPERANDS];
};
/* ... and where a gathered operand's elements are */
template <class Tile> struct gemm_places {
    gemm_place col[Tile::COLS], depth[2][Tile::DEPTH];
};
struct gemm_no_places {};
template <class Tile, bool GATHERED> struct __align__(32) gemm_shared : Tile {
    gemm_corner corner;
    typename std::conditional<GATHERED, gemm_places<Tile>, gemm_no_places>::type place;
};
/* what lies in the tiles' place once the sums are made; the rest of it is the kernel's */
template <class Tile> struct gemm_output {
    int64_t row_extra[Tile::ROWS], col_extra[Tile::COLS];
};

static inline __host__ __device__ int64_t gemm_tiles_of(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}
template <class Tile> __host__ __device__ int64_t gemm_tiles_in(const gemm &p) {
    return gemm_tiles_of(p.row.n, Tile::ROWS) * gemm_tiles_of(p.col.n, Tile::COLS) * p.batch.n * p.splits;
}
template <class Tile> __device__ void gemm_seek(const gemm &p, int64_t tile, gemm_corner &c) {
    const int64_t down = gemm_tiles_of(p.row.n, Tile::ROWS), across = gemm_tiles_of(p.col.n, Tile::COLS);
    int64_t rest = tile / down;
    c.row = (tile - rest * down) * Tile::ROWS;
    tile = rest / across;
    c.col = (rest - tile * across) * Tile::COLS;
    c.split = tile / p.batch.n;
    c.batch = tile - c.split * p.batch.n;
    c.depth = c.split * p.part;
    c.end = c.depth + p.part < p.depth.n ? c.depth + p.part : p.depth.n;
    gemm_batch_seek(p.batch, c.batch, c.at);
}

/* ---- tables ---- */
template <bool GATHERED, class Shared> __device__ void gemm_mark(const gemm &p, Shared &s) {
    const gemm_corner &c = s.corner;
    int64_t digit[GEMM_DIGITS];
    for (int i = threadIdx.x; i < Shared::ROWS; i += blockDim.x) {
        gemm_split(p.row, c.row + i, digit);
        s.row[i] = c.row + i < p.row.n ? gemm_at(p.row, GEMM_A, digit) : -1;
    }
    for (int i = threadIdx.x; i < Shared::COLS; i += blockDim.x) {
        const bool is_there = c.col + i < p.col.n;
        gemm_split(p.col, c.col + i, digit);
        s.col[i] = is_there ? gemm_at(p.col, GEMM_B, digit) : -1;
        if constexpr (GATHERED) {
            s.col[i] += gemm_col_place(p.gather, digit, s.place.col[i]);
            if (!is_there) s.place.col[i].at[0] = GEMM_NOWHERE;
        }
    }
}
template <bool GATHERED, class Shared>
__device__ void gemm_mark_depth(const gemm &p, Shared &s, int turn, int64_t depth, int64_t end) {
    int64_t digit[GEMM_DIGITS];
    for (int i = threadIdx.x; i < Shared::DEPTH; i += blockDim.x) {
        const bool is_there = depth + i < end;
        gemm_split(p.depth, depth + i, digit);
        s.depth_a[turn][i] = is_there ? gemm_at(p.depth, GEMM_A, digit) : -1;
        s.depth_b[turn][i] = is_there ? gemm_at(p.depth, GEMM_B, digit) : -1;
        if constexpr (GATHERED) {
            s.depth_b[turn][i] += gemm_depth_place(p.gather, digit, s.place.depth[turn][i]);
            if (!is_there) s.place.depth[turn][i].at[0] = GEMM_NOWHERE;
        }
    }
}
template <class Shared, class Output> __device__ void gemm_mark_output(const gemm &p, Shared &s, Output &o) {
    const gemm_corner &c = s.corner;
    int64_t digit[GEMM_DIGITS];
    for (int i = threadIdx.x; i < Shared::ROWS; i += blockDim.x) {
        gemm_split(p.row, c.row + i, digit);
        s.row[i] = c.row + i < p.row.n ? gemm_at(p.row, GEMM_OUT, digit) : -1;
        o.row_extra[i] = gemm_at(p.row, GEMM_EXTRA, digit);
    }
    for (int i = threadIdx.x; i < Shared::COLS; i += blockDim.x) {
        gemm_split(p.col, c.col + i, digit);
        s.col[i] = c.col + i < p.col.n ? gemm_at(p.col, GEMM_OUT, digit) : -1;
        o.col_extra[i] = gemm_at(p.col, GEMM_EXTRA, digit);
    }
}

/* ---- elements, from the device's memory by way of registers ---- */
template <class T, int SIDE, int DEPTH, int THREADS> struct gemm_registers {
    enum { V = 16 / sizeof(T), VECTORS = SIDE * DEPTH / V / THREADS, ELEMENTS = VECTORS * V };
    static_assert(VECTORS > 0 && VECTORS * V * THREADS == SIDE * DEPTH, "each thread has as many");
    cuda_vector<T, V> at[VECTORS];
};
/* where vector `i` of a tile begins, or element `i` for V of 1: lanes go along what lies together in memory
 */
template <int SIDE, int DEPTH, int V> struct gemm_index {
    int side, depth;
    __device__ __forceinline__ gemm_index(int i, bool by_depth)
        : side(by_depth ? i / (DEPTH / V) : i % (SIDE / V) * V),
          depth(by_depth ? i % (DEPTH / V) * V : i / (SIDE / V)) {}
};

/* `is_vector`: V neighbours from a multiple of V on lie side by side in memory, if the last of them exists */
template <class T, int SIDE, int DEPTH, int THREADS>
__device__ __forceinline__ void gemm_fetch(gemm_registers<T, SIDE, DEPTH, THREADS> &x, const T *from,
                                           const int64_t *sides, const int64_t *depths, bool by_depth,
                                           bool is_vector) {
    enum { V = 16 / sizeof(T) };
    CUDA_UNROLL
    for (int j = 0; j < x.VECTORS; j++) {
        const gemm_index<SIDE, DEPTH, V> at(threadIdx.x + j * THREADS, by_depth);
        const int64_t side = sides[at.side], depth = depths[at.depth];
        const int64_t last = by_depth ? depths[at.depth + V - 1] : sides[at.side + V - 1];
        if (is_vector && (side | depth | last) >= 0) {
            x.at[j] = cuda_get<T, V>(from + side + depth);
            continue;
        }
        CUDA_UNROLL
        for (int e = 0; e < V; e++) {
            const int64_t here = by_depth ? depths[at.depth + e] : sides[at.side + e];
            const int64_t other = by_depth ? side : depth;
            x.at[j].at[e] = (here | other) < 0 ? T() : from[here + other];
        }
    }
}
/* element by element, of neighbours in neighbouring threads */
template <class T, int SIDE, int DEPTH, int THREADS, class Shared>
__device__ __forceinline__ void gemm_gather_each(gemm_registers<T, SIDE, DEPTH, THREADS> &x, const gemm &p,
                                                 const Shared &s, int turn, const T *from) {
    CUDA_UNROLL
    for (int j = 0; j < x.ELEMENTS; j++) {
        const gemm_index<SIDE, DEPTH, 1> at(threadIdx.x + j * THREADS, p.b_by_depth);
        const int64_t offset = s.col[at.side] + s.depth_b[turn][at.depth];
        const bool is_there = gemm_is_inside(p.gather, s.place.col[at.side], s.place.depth[turn][at.depth]);
        x.at[j / x.V].at[j % x.V] = is_there ? from[offset] : T();
    }
}
/* ... or of channels that lie side by side and have one place */
template <class T, int SIDE, int DEPTH, int THREADS, class Shared>
__device__ __forceinline__ void gemm_gather_vectors(gemm_registers<T, SIDE, DEPTH, THREADS> &x, const gemm &p,
                                                    const Shared &s, int turn, const T *from) {
    enum { V = 16 / sizeof(T) };
    CUDA_UNROLL
    for (int j = 0; j < x.VECTORS; j++) {
        const gemm_index<SIDE, DEPTH, V> at(threadIdx.x + j * THREADS, p.b_by_depth);
        const int64_t offset = s.col[at.side] + s.depth_b[turn][at.depth];
        if (gemm_is_inside(p.gather, s.place.col[at.side], s.place.depth[turn][at.depth]))
            x.at[j] = cuda_get<T, V>(from + offset);
        else
            x.at[j] = {};
    }
}

/* ---- ... to the tile, as Convert has them ---- */
template <class T> struct gemm_as_it_is {
    __device__ __forceinline__ T operator()(T x) const { return x; }
};
template <class Convert, class T, int SIDE, int DEPTH, int THREADS, bool ALONG>
__device__ __forceinline__ void gemm_keep(gemm_part<T, SIDE, DEPTH, ALONG> &part,
                                          gemm_registers<T, SIDE, DEPTH, THREADS> &x, bool by_depth) {
    enum { V = 16 / sizeof(T) };
    CUDA_UNROLL
    for (int j = 0; j < x.VECTORS; j++) {
        const gemm_index<SIDE, DEPTH, V> at(threadIdx.x + j * THREADS, by_depth);
        CUDA_UNROLL
        for (int e = 0; e < V; e++) x.at[j].at[e] = Convert()(x.at[j].at[e]);
        if (by_depth == ALONG) {
            cuda_put<T, V>(part.at(at.side, at.depth), x.at[j]);
            continue;
        }
        CUDA_UNROLL
        for (int e = 0; e < V; e++)
            *part.at(at.side + (by_depth ? 0 : e), at.depth + (by_depth ? e : 0)) = x.at[j].at[e];
    }
}
template <class Convert, class T, int SIDE, int DEPTH, int THREADS, bool ALONG>
__device__ __forceinline__ void gemm_keep_each(gemm_part<T, SIDE, DEPTH, ALONG> &part,
                                               const gemm_registers<T, SIDE, DEPTH, THREADS> &x,
                                               bool by_depth) {
    CUDA_UNROLL
    for (int j = 0; j < x.ELEMENTS; j++) {
        const gemm_index<SIDE, DEPTH, 1> at(threadIdx.x + j * THREADS, by_depth);
        *part.at(at.side, at.depth) = Convert()(x.at[j / x.V].at[j % x.V]);
    }
}

/* Calls multiply(turn) for each step along the depth, with its tiles in a[turn] and b[turn]. Meanwhile those
 * of the next step are on their way, and the tables of the one after are made, so that one barrier a step
 * is enough: what is written was read before the last one. */
template <class Convert, int THREADS, bool GATHERED, class Shared, class Multiply>
__device__ __forceinline__ void product_along(const gemm &p, Shared &s, Multiply multiply) {
    typedef typename Shared::element T;
    enum { DEPTH = Shared::DEPTH };
    gemm_registers<T, Shared::ROWS, DEPTH, THREADS> a;
    gemm_registers<T, Shared::COLS, DEPTH, THREADS> b;
    if (threadIdx.x == 0) gemm_seek<Shared>(p, blockIdx.x, s.corner);
    __syncthreads();
    const T *const from_a = (const T *)p.a + s.corner.at[GEMM_A];
    const T *const from_b = (const T *)p.b + s.corner.at[GEMM_B];
    const int64_t begin = s.corner.depth, end = s.corner.end;
    gemm_mark<GATHERED>(p, s);
    gemm_mark_depth<GATHERED>(p, s, 0, begin, end);
    __syncthreads();
    int turn = 0; /* of the tiles to fill */
    for (int64_t depth = begin;; depth += DEPTH, turn ^= 1) {
        if (depth < end) {
            gemm_fetch(a, from_a, s.row, s.depth_a[turn], p.a_by_depth, p.a_is_vector);
            if constexpr (!GATHERED)
                gemm_fetch(b, from_b, s.col, s.depth_b[turn], p.b_by_depth, p.b_is_vector);
            else if (p.b_is_vector)
                gemm_gather_vectors(b, p, s, turn, from_b);
            else
                gemm_gather_each(b, p, s, turn, from_b);
        }
        if (depth + DEPTH < end) gemm_mark_depth<GATHERED>(p, s, turn ^ 1, depth + DEPTH, end);
        if (depth > begin) multiply(turn ^ 1);
        if (depth >= end) break;
        gemm_keep<Convert>(s.a[turn], a, p.a_by_depth);
        if (!GATHERED || p.b_is_vector)
            gemm_keep<Convert>(s.b[turn], b, p.b_by_depth);
        else
            gemm_keep_each<Convert>(s.b[turn], b, p.b_by_depth);
        __syncthreads();
    }
}

/* the sum for one place of the tile */
template <class Shared, class Output, class C>
__device__ __forceinline__ void gemm_put(const gemm &p, const Shared &s, const Output &o, int row, int col,
                                         C sum) {
    typedef typename Shared::element T;
    const gemm_corner &c = s.corner;
    if ((s.row[row] | s.col[col]) < 0) return;
    if (p.sums) {
        ((C *)p.sums)[gemm_sum_at(p, c.split, c.batch, c.row + row, c.col + col)] = sum;
        return;
    }
    C x = (C)p.alpha * sum;
    if (p.extra)
        x += (C)p.beta *
             cuda_cast<C>(((const T *)p.extra)[c.at[GEMM_EXTRA] + o.row_extra[row] + o.col_extra[col]]);
    ((T *)p.out)[c.at[GEMM_OUT] + s.row[row] + s.col[col]] = cuda_cast<T>(x);
}
#endif
