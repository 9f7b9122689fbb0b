/* Products, convolutions included: what host and kernels know of one. */
#ifndef RL_CUDA_GEMM_H
#define RL_CUDA_GEMM_H
#include "cuda/device.h"
#include "cuda/walk.cuh"

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
 * Groups are batches. Of a gathered b three digits of column and depth add up to coordinates, and an element
 * outside counts as zero: no patch is ever stored.
 *
 * Where there are too few tiles for a device the depth is split: each part writes sums of its own to
 * scratch, and product_finish adds them in their order, so that results do not vary between runs. */
enum { PRODUCT_DIGITS = 4, PRODUCT_PLANE = 3 };
enum { PRODUCT_OUT, PRODUCT_A, PRODUCT_B, PRODUCT_EXTRA, PRODUCT_OPERANDS };

struct product_axis {
    int64_t n; /* below 2^31 where there are several digits */
    int first; /* the digits before this one have size 1 */
    int64_t size[PRODUCT_DIGITS], step[PRODUCT_OPERANDS][PRODUCT_DIGITS];
};

/* dims that all operands stretch to; one operand has a row of steps as in an axis */
struct product_batch {
    int ndim;
    int64_t n, size[CUDA_DIMS], step[PRODUCT_OPERANDS][CUDA_DIMS];
    double inverse[CUDA_DIMS]; /* of the sizes */
};

/* Coordinate i: col digit * col[i] + shift[i] + depth digit * depth[i], by divisor[i]. Its digit is i + 1 of
 * four, or i, where channels that lie together are the last one. */
struct product_gather {
    bool is_used, divides;
    int col_from, depth_from; /* 1 or 0 */
    int col[PRODUCT_PLANE], depth[PRODUCT_PLANE], shift[PRODUCT_PLANE], divisor[PRODUCT_PLANE],
        size[PRODUCT_PLANE];
    int64_t step[PRODUCT_PLANE];
};

struct product {
    int dtype;
    const void *a, *b, *extra; /* no b: ones; no extra: nothing is added */
    void *out;
    product_axis row, col, depth;
    double row_inverse, col_inverse; /* of their n */
    product_batch batch;
    product_gather gather;
    double alpha, beta;
    int64_t whole_alpha, whole_beta; /* for integers */
    bool tf32;                       /* float32 may round its factors to 10 bits */
    bool a_by_depth, b_by_depth;     /* along which side neighbours in memory lie */
    bool a_is_vector, b_is_vector;   /* ... as many of them as a vector has, from each multiple of that on */
    bool out_by_row;                 /* the output's */
    int64_t splits, part;            /* of the depth; how much of it one of them takes */
    void *sums;                      /* [split][batch][row][col], or NULL: straight to the output */
};

/* ---- on the host ---- */
/* Fills in dtype and what stands for "nothing special". */
void cuda_product_begin(product *p, const rl_view *out);
/* digit `d` of an axis; steps of the operands in the order of PRODUCT_OUT ... */
void cuda_product_digit(product_axis *x, int d, int64_t size, int64_t out, int64_t a, int64_t b,
                        int64_t extra);
/* a batch of the dims of w, whose operands are PRODUCT_OUT ... */
void cuda_product_batch(product *p, const cuda_walk &w);
/* `may_alias`: an operand may lie where the output does. RL_UNSUPPORTED: nothing was written. */
rl_status cuda_product_run(rl_call *k, product *p, bool may_alias);

/* how a product is done; each answers false if it does not serve this one */
bool cuda_product_tiles(const product &p, bool large, cudaStream_t stream);  /* float32, float64 */
bool cuda_product_half(const product &p, bool large, cudaStream_t stream);   /* float16, on tensor cores */
bool cuda_product_bfloat(const product &p, bool large, cudaStream_t stream); /* bfloat16, likewise */
bool cuda_product_tf32(const product &p, bool large, cudaStream_t stream);   /* float32, where p.tf32 */
void cuda_product_lanes(const product &p, cudaStream_t stream);              /* a warp for each output */
void cuda_product_each(const product &p, cudaStream_t stream);               /* a thread for each output */
void cuda_product_finish(const product &p, cudaStream_t stream);

/* ---- in kernels ---- */
/* i / n for i below 2^52: a division of 64 bits is a call, and spills what its caller holds */
static __device__ __forceinline__ int64_t product_divide(int64_t i, int64_t n, double inverse) {
    const int64_t guess = (int64_t)((double)i * inverse), rest = i - guess * n;
    return guess + (rest >= n) - (rest < 0);
}
static __device__ __forceinline__ void product_batch_seek(const product_batch &b, int64_t i,
                                                          int64_t (&at)[PRODUCT_OPERANDS]) {
    CUDA_UNROLL
    for (int op = 0; op < PRODUCT_OPERANDS; op++) at[op] = 0;
    CUDA_ROLLED
    for (int d = b.ndim - 1; d >= 0; d--) {
        const int64_t rest = product_divide(i, b.size[d], b.inverse[d]), here = i - rest * b.size[d];
        CUDA_UNROLL
        for (int op = 0; op < PRODUCT_OPERANDS; op++) at[op] += here * b.step[op][d];
        i = rest;
    }
}
static __device__ __forceinline__ void product_split(const product_axis &x, int64_t i,
                                                     int64_t (&digit)[PRODUCT_DIGITS]) {
    CUDA_UNROLL
    for (int d = PRODUCT_DIGITS - 1; d >= 0; d--) {
        int64_t here = i, rest = 0;
        if (d > x.first) {
            rest = (uint32_t)i / (uint32_t)x.size[d];
            here = (uint32_t)i - (uint32_t)rest * (uint32_t)x.size[d];
        }
        digit[d] = here;
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

/* Coordinates of a column or a depth, in whole steps of the divisors. What is left of a column's asks for
 * what is left of a depth's, and is counted as the step that both make. */
struct product_place {
    int at[PRODUCT_PLANE], rest[PRODUCT_PLANE];
};
enum { PRODUCT_NOWHERE = -(1 << 30) }; /* a coordinate that is outside whatever is added */

/* answers the part of the offset that is the coordinates' */
static __device__ __forceinline__ int64_t product_place_set(const product_gather &g, const int *scale,
                                                            const int *shift, int from,
                                                            const int64_t (&digit)[PRODUCT_DIGITS],
                                                            product_place &place) {
    int64_t offset = 0;
    CUDA_UNROLL
    for (int i = 0; i < PRODUCT_PLANE; i++) {
        const int by = g.divisor[i], here = (int)(from ? digit[i + 1] : digit[i]);
        const int x = here * scale[i] + (shift ? shift[i] : 0);
        const int down = by == 1 ? x : x >= 0 ? x / by : -((by - 1 - x) / by);
        const int rest = x - down * by;
        const bool carries = shift && rest != 0;
        place.at[i] = down + carries;
        place.rest[i] = carries ? by - rest : rest;
        offset += place.at[i] * g.step[i];
    }
    return offset;
}
static __device__ __forceinline__ int64_t product_col_place(const product_gather &g,
                                                            const int64_t (&digit)[PRODUCT_DIGITS],
                                                            product_place &place) {
    return product_place_set(g, g.col, g.shift, g.col_from, digit, place);
}
static __device__ __forceinline__ int64_t product_depth_place(const product_gather &g,
                                                              const int64_t (&digit)[PRODUCT_DIGITS],
                                                              product_place &place) {
    return product_place_set(g, g.depth, nullptr, g.depth_from, digit, place);
}
/* Is a gathered element there: inside, and not between the steps? */
static __device__ __forceinline__ bool product_is_inside(const product_gather &g, const product_place &col,
                                                         const product_place &depth) {
    bool is_inside = true;
    CUDA_UNROLL
    for (int i = 0; i < PRODUCT_PLANE; i++) {
        is_inside = is_inside && (unsigned)(col.at[i] + depth.at[i]) < (unsigned)g.size[i];
        if (g.divides) is_inside = is_inside && col.rest[i] == depth.rest[i];
    }
    return is_inside;
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

/* elements of the dtypes that compute in C */
template <class C> __device__ C product_load(int dtype, const void *p, int64_t i) {
    return cuda_load<C>(dtype, p, i);
}
template <> __device__ inline double product_load(int, const void *p, int64_t i) {
    return ((const double *)p)[i];
}
template <> __device__ inline float product_load(int dtype, const void *p, int64_t i) {
    if (dtype == RL_F32) return ((const float *)p)[i];
    return dtype == RL_F16 ? cuda_cast<float>(((const __half *)p)[i])
                           : cuda_cast<float>(((const __nv_bfloat16 *)p)[i]);
}
template <class C>
__device__ __forceinline__ void product_store(const product &p, C sum, int64_t out, int64_t extra) {
    C x = product_add<C>((C)0, product_alpha<C>(p), sum);
    if (p.extra) x = product_add<C>(x, product_beta<C>(p), product_load<C>(p.dtype, p.extra, extra));
    cuda_store<C>(p.dtype, p.out, out, x);
}
static __device__ __forceinline__ int64_t product_sum_at(const product &p, int64_t split, int64_t batch,
                                                         int64_t row, int64_t col) {
    return ((split * p.batch.n + batch) * p.row.n + row) * p.col.n + col;
}
#endif
