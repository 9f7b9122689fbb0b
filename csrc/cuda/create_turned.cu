/* Copies that turn dims around: neighbours in the source are none in the target.
 *
 * Note [Turned copies]
 * Rows of the one are columns of the other, so that a plain walk would touch a line of memory for each
 * element of one side. A block moves a tile by way of its own memory: lanes read along the source, and write
 * along the target.
 *
 *     from   row: step 1, col: from_step          to   row: to_step, col: step 1
 *
 * All other dims number the planes. */
#include "moves.h"

enum { SIDE = 32, LINES = CUDA_THREADS / SIDE, LEAST = 16 }; /* shorter sides would leave lanes idle */
typedef struct {
    cuda_walk planes;
    int64_t rows, cols, to_step, from_step;
    int64_t across, of_plane, tiles;
} turn;

template <class T> __global__ void __launch_bounds__(CUDA_THREADS) copy_turned(turn t, T *to, const T *from) {
    CUDA_SHARED(T, tile, [SIDE][SIDE + 1]); /* columns start in other banks each */
    const int lane = threadIdx.x % SIDE, line = threadIdx.x / SIDE;
    for (int64_t n = blockIdx.x; n < t.tiles; n += gridDim.x) {
        const int64_t plane = n / t.of_plane, here = n - plane * t.of_plane;
        const int64_t row = here / t.across * SIDE, col = here % t.across * SIDE;
        int64_t at[2];
        cuda_walk_seek(t.planes, plane, at);
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
static bool turn_make(turn *t, const cuda_walk &w) {
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

bool cuda_move_turned(rl_call *k, const cuda_walk &w, void *to, const void *from, int64_t item) {
    turn t;
    if (!turn_make(&t, w)) return false;
    const unsigned blocks = cuda_blocks_each(t.tiles);
    switch (item) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH_BLOCKS((copy_turned<T>), blocks, CUDA_THREADS, 0, cuda_stream_of(k), t, (T *)to,         \
                           (const T *)from);                                                                 \
        return true;
        CUDA_SIZES(X)
#undef X
    default: return false;
    }
}
