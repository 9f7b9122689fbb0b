/* Copies, and conversions of dtypes that nothing computes with. */
#include "common.h"
#include "kernels/shared/strided_iterator.h"
#include "cast_copy.h"
#include "transpose.h"

/* Transposed copies between views of one dtype: rows of one side are columns of the other. */
/* Note [Transposed copies]
 *
 *     to    [ row ][ col ]   columns side by side      a thread takes a block of ROWS x COLS elements,
 *     from  [ row ][ col ]   rows side by side         of which tiles of N x N go through registers */
typedef void (*transpose_block)(char *to, int64_t row, const char *from, int64_t col, int64_t rows,
                                int64_t cols);

#define TRANSPOSE(bits, N)                                                                                   \
    static void loose_##bits(char *to, int64_t row, const char *from, int64_t col, int64_t rows,             \
                             int64_t cols) {                                                                 \
        typedef uint##bits##_t T;                                                                            \
        for (int64_t r = 0; r < rows; r++, to += row, from += sizeof(T))                                     \
            for (int64_t c = 0; c < cols; c++) ((T *)to)[c] = *(const T *)(from + c * col);                  \
    }                                                                                                        \
    static void transpose_##bits(char *to, int64_t row, const char *from, int64_t col, int64_t rows,         \
                                 int64_t cols) {                                                             \
        const int64_t item = bits / 8, whole = cols / N * N;                                                 \
        for (; rows >= N; rows -= N, to += N * row, from += N * item) {                                      \
            for (int64_t c = 0; c < whole; c += N)                                                           \
                simd_transpose_tile_##bits(to + c * item, row, from + c * col, col);                         \
            loose_##bits(to + whole * item, row, from + whole * col, col, N, cols - whole);                  \
        }                                                                                                    \
        loose_##bits(to, row, from, col, rows, cols);                                                        \
    }
TRANSPOSE(8, 16)
TRANSPOSE(16, 8)
TRANSPOSE(32, 4)
TRANSPOSE(64, 2)

enum { ROWS = 64, COLS = 256 };
typedef struct {
    rl_iter planes;
    transpose_block turn;
    int64_t item, rows, cols, row,
        col;              /* row, col: bytes from one row of `to`, column of `from`, to the next */
    int64_t down, across; /* blocks of a plane */
} transpose_job;

static void transpose_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const transpose_job *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t plane = i / (j->down * j->across), r = i / j->across % j->down * ROWS,
                c = i % j->across * COLS;
        char *p[2] = {j->planes.base[0], j->planes.base[1]};
        rl_iter_seek(&j->planes, plane, p);
        j->turn(p[0] + r * j->row + c * j->item, j->row, p[1] + c * j->col + r * j->item, j->col,
                simd_min(ROWS, j->rows - r), simd_min(COLS, j->cols - c));
    }
}

RL_CHOOSER
static rl_status transposed_copy(rl_call *k, const rl_view *to, const rl_view *from) {
    static const transpose_block turns[9] = {
        [1] = transpose_8, [2] = transpose_16, [4] = transpose_32, [8] = transpose_64};
    transpose_job j = {.item = rl_itemsize(to->dtype)};
    rl_iter *w = &j.planes;
    if (!k->svc->isa || to->dtype != from->dtype || j.item > 8 || to->numel == 0 || rl_is_contiguous(from))
        return RL_UNSUPPORTED;
    rl_iter_begin(w, to, RL_WRITE);
    rl_iter_add(w, from);
    rl_iter_sort(w, 0);
    rl_iter_merge(w);
    int last = w->ndim - 1, side = last - 1;
    while (side >= 0 && w->stride[1][side] != j.item) side--;
    if (side < 0 || w->stride[0][last] != j.item || w->stride[1][last] == 0) return RL_UNSUPPORTED;
    j.rows = w->size[side], j.cols = w->size[last];
    j.row = w->stride[0][side], j.col = w->stride[1][last];
    j.down = simd_ceil_div(j.rows, ROWS), j.across = simd_ceil_div(j.cols, COLS);
    j.turn = turns[j.item];
    rl_iter_drop(w, 1ull << side | 1ull << last);
    int64_t blocks = w->numel * j.down * j.across;
    k->svc->parallel(k, blocks, 0.3 * (double)to->numel / (double)blocks, transpose_part, &j);
    return RL_OK;
}

RL_KERNEL(simd_transpose_copy) {
    return transposed_copy(k, k->out[0], k->arg[1].u.t);
}
RL_KERNEL(simd_transpose_clone) {
    return transposed_copy(k, k->out[0], k->arg[0].u.t);
}

/* ---- copies from one dtype to another: Note [Cast copies] in kernels/simd/cast_copy.h ---- */

static void convert_loop(char *const *p, const int64_t *step, int64_t n, const void *cast_copy) {
    simd_cast_copy_run(cast_copy, p[0], step[0], p[1], step[1], n);
}

RL_CHOOSER
static rl_status convert_run(rl_call *k, const rl_view *to, const rl_view *from) {
    if (!k->svc->isa || to->dtype == from->dtype || rl_is_converted(to->dtype) ||
        rl_is_converted(from->dtype))
        return RL_UNSUPPORTED;
    const simd_cast_copy cast_copy = simd_cast_copy_between(k, to->dtype, from->dtype);
    rl_iter w;
    rl_iter_begin(&w, to, RL_WRITE);
    rl_iter_add(&w, from);
    rl_iter_sort(&w, 0);
    rl_iter_merge(&w);
    rl_iter_parallel(k, &w, 0.3, convert_loop, &cast_copy);
    return RL_OK;
}

RL_KERNEL(simd_convert_copy) {
    return convert_run(k, k->out[0], k->arg[1].u.t);
}
RL_KERNEL(simd_convert_clone) {
    return convert_run(k, k->out[0], k->arg[0].u.t);
}
