/* Matrix products: GEMM, and GEMV for a few rows. */
#ifndef RL_KERNELS_SIMD_GEMM_GEMM_H
#define RL_KERNELS_SIMD_GEMM_GEMM_H
#include "kernel_abi/kernel.h"
#include "kernels/simd/cast_copy.h"

/* The GEMM under matmul, linear, addmm and convolution.
 *
 * Note [Panels]
 *   C (m x n) = alpha A (m x k) B (k x n) + beta X. B is cut into panels of nr columns, A into strips of mr
 *   rows:
 *                 ┌ panel ┐                  one tile of C (mr x nr) lives in registers while k runs:
 *           k     │ nr    │                  per step it wants nr numbers of B (contiguous) and one
 *        ┌─────┐  │       │                  number of each row of A (any strides).
 *     mr │strip│  │   B   │  k               packed panel: [k][nr], anything beyond n
 *        ├─────┤  │       │                  packed strip: [k][mr]
 *        │  A  │  └───────┘
 *
 *   A piece is RL_GEMM_MB rows and a few panels; a thread finishes it before the next: all of k, in blocks,
 *   then alpha, X and the conversion of halves, which are packed as float32. Integers
 *   are packed as int32 or int64, and always.
 *
 * Note [GEMM algorithms]
 *   A GEMM with few rows (a GEMV) is bound by reading B once, and reads B in place (gemm.h): as dot products
 *   where k is contiguous, else row after row. A GEMM with few columns is computed as its transpose. A small
 *   C with a long k is summed over blocks of k (split-K). Sizes and strides alone choose the algorithm and
 *   the order of additions: neither threads nor the position in a batch change a result. */
/* Rows of C for one panel and one block of k; elements are those of the ukernel. */
typedef struct {
    int64_t rows, k;
    int cols;      /* valid columns, 1 .. nr */
    bool packed_a; /* strips [k][mr]; a_row and a_col are not used then */
    bool add;      /* C holds the sum so far; else it starts from the biases */
    const void *a, *b;
    int64_t a_strip, a_row, a_col, b_step;
    int64_t a_next, b_next, c_next; /* from here to what will be wanted next, or 0 */
    void *c;
    int64_t c_step;
    const void *row_bias, *col_bias; /* may be NULL */
} rl_panel;

typedef struct {
    int mr, nr;
    void (*panel)(const rl_panel *p);
} rl_gemm_ukernel;
/* of RL_F32, RL_F64, RL_I32 or RL_I64; NULL without an instruction set */
const rl_gemm_ukernel *rl_gemm_ukernel_get(const rl_call *k, int inner);

/* Where the matrices of one product lie; of a batch each has its own. */
typedef struct {
    const void *a, *b;
    void *c;
    const void *x; /* may be NULL, and may be c */
} rl_gemm_data;

/* Element (i, j) of C lies at c[i * c_row + j * c_col], and so on. */
typedef struct {
    int64_t m, n, k;
    int dtype, c_dtype; /* of a and b; of c and x: the same, or what the product is computed in */
    int64_t a_row, a_col, b_row, b_col;
    const void *panels; /* B packed before, or NULL; c_col is 1 then */
    int64_t c_row, c_col;
    double alpha, beta;
    int64_t x_row, x_col;
    rl_gemm_data at;
} rl_gemm;

enum { RL_WAY_TILES, RL_WAY_DOTS, RL_WAY_ROWS };
enum { RL_GEMM_FEW = 4 }; /* rows that gemm.h takes at once */
/* A problem and what its sizes, strides and dtypes decide: made once, and nothing is run that was not
 * planned. It serves all products of a batch, which differ in their rl_gemm_data alone. */
typedef struct {
    rl_gemm
        g; /* as it is computed: strides that say nothing are settled, and A and B may have changed places */
    const rl_gemm_ukernel *ukernel;
    simd_cast_copy in, out, back; /* to what it is computed in, from that to C, and from X to that */
    int inner, size;              /* the dtype that it is computed in, and its bytes */
    int way, gemv;                /* thin: which body of gemm.h */
    bool swapped, packs_a, packs_b, direct;
    int64_t kb, pb; /* depth of a block, panels of a piece */
    bool col_bias;  /* X is one row, added by the tiles */
} rl_gemm_plan;

enum {
    RL_GEMM_MB = 144,
    RL_GEMM_KB = 256
}; /* rows and depth of a packed block of A; MB is a multiple of mr */
static const double RL_GEMM_NS = 0.012; /* a multiplication and an addition, in vectors */

/* false without an instruction set, or when k is 0 */
bool rl_gemm_plan_make(const rl_call *k, const rl_gemm *problem, rl_gemm_plan *plan);
/* What one thread wants for a product, as parts of its room; one room serves any of n plans. */
typedef struct {
    int64_t a, b, c; /* rows or strips of A, panels of B, sums */
} rl_gemm_parts;
rl_gemm_parts rl_gemm_alone_layout(rl_layout *l, const rl_gemm_plan *plans, int n);
/* All of it on this thread. */
void rl_gemm_alone(const rl_gemm_plan *plan, const rl_gemm_data *at, char *room, rl_gemm_parts parts);
/* All of it, by svc->parallel. RL_FAIL when there is no scratch memory. */
rl_status rl_gemm_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm_data *at);
/* Is it added up from blocks of k? rl_gemm_alone does not. */
bool rl_gemm_is_long(const rl_gemm_plan *plan);
/* The elements of panels of B for many products, and how several threads pack them. */
rl_count rl_gemm_panels_count(const rl_gemm_plan *plan);
void rl_gemm_pack_shared(rl_call *k, const rl_gemm_plan *plan, void *to);
/* rows [i0, i1) and columns [j0, j1) of C from those of the product at `from` */
void rl_gemm_finish(const rl_gemm_plan *plan, const rl_gemm_data *at, const char *from, int64_t from_row,
                    int64_t i0, int64_t i1, int64_t j0, int64_t j1);

/* ---- packing: pack.c ---- */
/* to[j * step + i] = from[i * row + j] for i < rows, j < n: rows become columns. */
void rl_gemm_transpose(float *to, int64_t step, const float *from, int64_t row, int64_t rows, int64_t n);
/* Strips of rows x k numbers: element (i, kk) is a[i * row + kk * col]. */
void rl_gemm_pack_a(float *to, int mr, const float *a, int64_t rows, int64_t k, int64_t row, int64_t col);
/* One strip or panel of what a mover reads: element (i, j) of `from`, for i < lanes and j < n, goes to
 * to[j * step + i]; `to` has `size` bytes an element. */
void rl_gemm_pack(const simd_cast_copy *in, int size, char *to, int64_t step, const char *from, int64_t outer,
                  int64_t inner, int64_t lanes, int64_t n);
/* `whole` panels, `step` bytes from one to the next, of a matrix whose rows are dense */
void rl_gemm_pack_rows(int size, char *to, int64_t step, int64_t nr, const char *from, int64_t row,
                       int64_t whole, int64_t n);

/* `whole` strips, one behind the other, of n columns whose elements are dense, `row` elements from one to the
 * next */
void rl_gemm_pack_strips(int size, char *to, int64_t mr, const char *from, int64_t row, int64_t whole,
                         int64_t n);

static inline float *rl_gemm_scratch(rl_call *k, rl_count floats) {
    return (float *)k->svc->scratch(k, floats, sizeof(float));
}

/* ---- products with a few rows: no packing, each number of the matrix is read once ---- */
/* c[i * c_row + j * c_col] = sum over depth of x[i * x_row + depth] * w(depth, j), i < rows, where x and c
 * are what it is computed in. For dots w(depth, j) = w[j * w_row + depth], and any c_col; for rows it is
 * w[depth * w_row + j], and c_col is 1. */
typedef struct {
    int64_t rows, k;
    const void *x, *w;
    int64_t x_row, w_row;
    void *c;
    int64_t c_row, c_col;
} rl_gemv;

/* columns [j0, j1) */
typedef void (*rl_gemv_body)(const rl_gemv *t, int64_t j0, int64_t j1);
/* The body for matrices of a dtype, for dots or rows. */
rl_gemv_body rl_gemv_body_get(int body);
int rl_gemv_body_of(const rl_call *k, int dtype, bool dots);
#endif
