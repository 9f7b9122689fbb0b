/* Products, convolutions included: what host and kernels know of one. */
#ifndef RL_CUDA_GEMM_H
#define RL_CUDA_GEMM_H
#include "device.h"
#include "walk.h"

/* Note [CUDA product]
 *
 *     out[batch][row][col] = alpha * sum over depth of a(row, depth) * b(depth, col) + beta * extra[...]
 *
 * A row, a column and a depth are numbers of up to four digits, each of which steps through the operands by
 * itself: an axis. So an axis may be several dims of a tensor, and a convolution is a product, too:
 *
 *                 rows              columns           depth             a          b
 *   forward       output channels   images, places    channels, taps    weight     input, gathered
 *   by input      input channels    images, places    outputs, taps     weight     gradient, gathered
 *   by weight     output channels   channels, taps    images, places    gradient   input, gathered
 *
 * Groups are batches. Of a gathered b the last three digits of column and depth add up to coordinates, and
 * an element outside counts as zero: no patch is ever stored.
 *
 * Where there are too few tiles for a device the depth is split: each part writes sums of its own to
 * scratch, and product_finish adds them in their order, so that results do not vary between runs. */
enum { PRODUCT_DIGITS = 4, PRODUCT_PLANE = 3 };
enum { PRODUCT_OUT, PRODUCT_A, PRODUCT_B, PRODUCT_EXTRA, PRODUCT_OPERANDS };

struct product_axis {
    int64_t n;
    int first; /* the digits before this one have size 1 */
    int64_t size[PRODUCT_DIGITS], step[PRODUCT_OPERANDS][PRODUCT_DIGITS];
};

/* coordinate i: col digit * col[i] + shift[i] + depth digit * depth[i], by divisor[i] */
struct product_gather {
    bool is_used, divides;
    int col[PRODUCT_PLANE], depth[PRODUCT_PLANE], shift[PRODUCT_PLANE], divisor[PRODUCT_PLANE],
        size[PRODUCT_PLANE];
    int64_t step[PRODUCT_PLANE];
};

struct product {
    int dtype;
    const void *a, *b, *extra; /* no b: ones; no extra: nothing is added */
    void *out;
    product_axis row, col, depth;
    cuda_walk batch; /* operands as PRODUCT_OUT ... */
    product_gather gather;
    double alpha, beta;
    int64_t whole_alpha, whole_beta; /* for integers */
    bool a_by_depth, b_by_depth;     /* along which side neighbours in memory lie */
    int64_t splits, part;            /* of the depth; how much of it one of them takes */
    void *sums;                      /* [split][batch][row][col], or NULL: straight to the output */
};

/* ---- on the host ---- */
/* Fills in dtype and what stands for "nothing special". */
void cuda_product_begin(product *p, const rl_view *out);
/* digit `d` of an axis; steps of the operands in the order of PRODUCT_OUT ... */
void cuda_product_digit(product_axis *x, int d, int64_t size, int64_t out, int64_t a, int64_t b,
                        int64_t extra);
/* `may_alias`: an operand may lie where the output does. RL_UNSUPPORTED: nothing was written. */
rl_status cuda_product_run(rl_call *k, product *p, bool may_alias);

/* how a product is done; each answers false if it does not serve this one */
bool cuda_product_tiles(const product &p, bool large, cudaStream_t stream);  /* float32, float64 */
bool cuda_product_tensor(const product &p, bool large, cudaStream_t stream); /* float16, bfloat16 */
void cuda_product_lanes(const product &p, cudaStream_t stream);              /* a warp for each output */
void cuda_product_each(const product &p, cudaStream_t stream);               /* a thread for each output */
void cuda_product_finish(const product &p, cudaStream_t stream);

/* ---- in kernels ---- */
static __device__ __forceinline__ void product_split(const product_axis &x, int64_t i,
                                                     int64_t (&digit)[PRODUCT_DIGITS]) {
    CUDA_UNROLL
    for (int d = PRODUCT_DIGITS - 1; d >= 0; d--) {
        digit[d] = 0;
        if (d == x.first) digit[d] = i;
        if (d <= x.first) continue;
        const int64_t rest = i / x.size[d];
        digit[d] = i - rest * x.size[d];
        i = rest;
    }
}
static __device__ __forceinline__ int64_t product_at(const product_axis &x, int operand,
                                                     const int64_t (&digit)[PRODUCT_DIGITS]) {
    int64_t at = 0;
    CUDA_UNROLL
    for (int d = 0; d < PRODUCT_DIGITS; d++) at += digit[d] * x.step[operand][d];
    return at;
}

/* a gathered element's part of its offset, or -1: it is outside */
static __device__ __forceinline__ int64_t product_gathered(const product_gather &g,
                                                           const int (&col)[PRODUCT_PLANE],
                                                           const int (&depth)[PRODUCT_PLANE]) {
    int64_t offset = 0;
    bool is_inside = true;
    CUDA_UNROLL
    for (int i = 0; i < PRODUCT_PLANE; i++) {
        int at = col[i] + depth[i];
        if (g.divides) {
            is_inside = is_inside && at % g.divisor[i] == 0;
            at = at < 0 ? at : at / g.divisor[i];
        }
        is_inside = is_inside && (unsigned)at < (unsigned)g.size[i];
        offset += at * g.step[i];
    }
    return is_inside ? offset : -1;
}
static __device__ __forceinline__ void
product_col_place(const product_gather &g, const int64_t (&digit)[PRODUCT_DIGITS], int (&at)[PRODUCT_PLANE]) {
    CUDA_UNROLL
    for (int i = 0; i < PRODUCT_PLANE; i++) at[i] = (int)digit[i + 1] * g.col[i] + g.shift[i];
}
static __device__ __forceinline__ void product_depth_place(const product_gather &g,
                                                           const int64_t (&digit)[PRODUCT_DIGITS],
                                                           int (&at)[PRODUCT_PLANE]) {
    CUDA_UNROLL
    for (int i = 0; i < PRODUCT_PLANE; i++) at[i] = (int)digit[i + 1] * g.depth[i];
}

template <class C> __device__ C product_add(C sum, C a, C b) {
    return sum + a * b;
}
template <> __device__ inline int64_t product_add(int64_t sum, int64_t a, int64_t b) {
    return (int64_t)((uint64_t)sum + (uint64_t)a * (uint64_t)b);
}
template <class C> __device__ C product_alpha(const product &p) {
    return (C)p.alpha;
}
template <> __device__ inline int64_t product_alpha(const product &p) {
    return p.whole_alpha;
}
template <class C> __device__ C product_beta(const product &p) {
    return (C)p.beta;
}
template <> __device__ inline int64_t product_beta(const product &p) {
    return p.whole_beta;
}

/* one output; `at`: offsets of the operands */
template <class C>
__device__ __forceinline__ void product_store(const product &p, C sum, int64_t out, int64_t extra) {
    C x = product_add<C>((C)0, product_alpha<C>(p), sum);
    if (p.extra) x = product_add<C>(x, product_beta<C>(p), cuda_load<C>(p.dtype, p.extra, extra));
    cuda_store<C>(p.dtype, p.out, out, x);
}
static __device__ __forceinline__ int64_t product_sum_at(const product &p, int64_t split, int64_t batch,
                                                         int64_t row, int64_t col) {
    return ((split * p.batch.numel + batch) * p.row.n + row) * p.col.n + col;
}
#endif
