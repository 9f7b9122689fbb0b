/* Convolutions in one to three dimensions, any of them, as an implicit GEMM: patches of the input are packed
 * tile by tile as the product wants them. */
#ifndef RL_KERNELS_SIMD_CONV_IGEMM_H
#define RL_KERNELS_SIMD_CONV_IGEMM_H
#include "kernel_abi/kernel.h"
#include "kernels/simd/gemm/gemm.h"

/* Convolution as an implicit GEMM: multiplies the weights by tiles of the im2col matrix, which are packed on
 * the fly. It takes one to three dimensions, transposed or not, of any floating dtype.
 *
 * Note [Implicit GEMM]
 *   The input is prepared once: converted to floats or doubles, padded, its columns split into phases (Note
 *   [Taps] in kernels/simd/conv/direct.c), so that the input of a tap lies one offset away from that of the
 *   first tap, for all output pixels. A tile of the im2col matrix is then copied run by run:
 *
 *       place    0 1 2 3 4 5 6 ...        a run: places side by side in a row of the output
 *       tap 0    a b c d│g h i            rows of the tile: (channel, tap), RL_GEMM_KB of them at a time
 *       tap 1    b c d e│h i j            the tile may hold places of several small images
 *
 *   A transposed convolution with stride s is s convolutions with stride 1 for each dimension, each with the
 *   taps that reach output places q * s + r from whole inputs: a phase r. Nothing is multiplied by zero, and
 *   no sum is read back from memory. The column phases of a tile are computed together and interleaved into
 *   its rows.
 */
typedef struct {
    const rl_view *in, *weight, *bias, *out;   /* bias may be NULL */
    bool transposed;                           /* weight is (in, out / groups, ...) */
    int64_t images, groups, channels, outputs; /* of a group */
    int64_t size[3], places[3], kernel[3], stride[3], dilation[3], before[3];
    int64_t image, channel, step[3]; /* of the input, in elements */
} rl_igemm_problem;

/* False when it is not one of floats with something to compute. */
bool rl_igemm_read(const rl_call *k, const rl_view *in, const rl_view *weight, const rl_view *bias,
                   const rl_view *out, bool transposed, rl_igemm_problem *p);
/* The output is contiguous. RL_UNSUPPORTED: without an instruction set, or where the padding is out of all
 * proportion. */
rl_status rl_igemm_conv(rl_call *k, const rl_igemm_problem *p);

/* The plan of an implicit GEMM convolution: the layout of its prepared input and weights. Note
 * [Implicit GEMM] in kernels/simd/conv/igemm.h. */
typedef struct {
    int64_t taps, first;   /* its taps are tap[first ...] */
    int64_t strips, group; /* elements: where its weights begin; those of a group */
} rl_igemm_phase;
typedef struct {
    int64_t kernel, offset; /* number in the kernel; from the prepared input of a place, in elements */
} rl_igemm_tap;

typedef struct {
    const rl_igemm_problem *p;
    const rl_gemm_ukernel *ukernel;
    int inner, size;             /* the dtype that it is computed in, and its bytes */
    int64_t grid[3], step[3];    /* places of a phase; input places from one to the next */
    int64_t weave[3], spread[3]; /* phases; places of the output from one place of a phase to the next */
    int64_t lo[3], extent[3];    /* of the prepared input: padding in front, places in all */
    int64_t split, column;       /* phases of its columns, and how far apart they are */
    int64_t row, slab, channel, image; /* its steps in elements */
    bool copies;                       /* it is a copy, not the input itself */
    int isa;
    rl_igemm_phase *phase; /* by (depth, row, column) */
    rl_igemm_tap *tap;
    const char *weights, *bias; /* strips of Note [Panels]; NULL without bias */
} rl_igemm_plan;

/* RL_UNSUPPORTED: Note [Implicit GEMM] does not suit. The plan has no weights yet. */
rl_status rl_igemm_plan_make(rl_call *k, const rl_igemm_problem *p, rl_igemm_plan *plan);
/* False (reported) without memory. */
bool rl_igemm_pack_weights(rl_call *k, rl_igemm_plan *plan);
/* How many images are made ready at a time. */
int64_t rl_igemm_round(const rl_call *k, const rl_igemm_plan *plan);
/* Images [first, first + count) of the input, made ready at `to` or, unless the plan copies, as they lie. */
const char *rl_igemm_input(rl_call *k, const rl_igemm_plan *plan, int64_t first, int64_t count, char *to);
/* A view as one block of another dtype: its own memory, or a copy; NULL (reported) without memory. */
const char *rl_igemm_plain(rl_call *k, const rl_view *v, int dtype);
double rl_igemm_work(const rl_igemm_problem *p); /* multiply-adds */

/* ---- tiles: kernels/simd/conv/igemm.c ---- */
enum { RL_IGEMM_TILE = 160 };
typedef struct {
    int64_t places, tile; /* of a phase of an image; of a tile */
    bool spans;           /* a tile may have several images */
} rl_igemm_cut;
typedef struct {
    int64_t from, n; /* floats */
} rl_igemm_span;
typedef struct {
    int64_t image, first, count; /* places first ... of image `image`, or of all images from it on */
    int64_t runs;
    rl_igemm_span run[RL_IGEMM_TILE];
} rl_igemm_tile;
rl_igemm_cut rl_igemm_cut_make(const rl_igemm_plan *plan, int64_t images);
int64_t rl_igemm_tiles(const rl_igemm_cut *cut, int64_t images);
void rl_igemm_tile_make(const rl_igemm_plan *plan, const rl_igemm_cut *cut, int64_t images, int64_t number,
                        rl_igemm_tile *t);
/* Rows [k0, k0 + n) of a tile of `phase`; `in` is the prepared input of its group, rows are `step` apart. */
void rl_igemm_fill(const rl_igemm_plan *plan, const rl_igemm_tile *t, const rl_igemm_phase *phase,
                   const char *in, int64_t k0, int64_t n, char *to, int64_t step);
#endif
