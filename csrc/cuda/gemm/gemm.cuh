/* GEMM, convolutions included: the description that host and kernels share. */
#ifndef RL_CUDA_GEMM_H
#define RL_CUDA_GEMM_H
#include "cuda/device.h"
#include "cuda/strided_iterator.cuh"

/* Note [CUDA GEMM]
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
enum { GEMM_DIGITS = 4, GEMM_PLANE = 3 };
enum { GEMM_OUT, GEMM_A, GEMM_B, GEMM_EXTRA, GEMM_OPERANDS };

struct gemm_axis {
    int64_t n; /* below 2^31 where there are several digits */
    int first; /* the digits before this one have size 1 */
    int64_t size[GEMM_DIGITS], step[GEMM_OPERANDS][GEMM_DIGITS];
};

/* dims that all operands stretch to; one operand has a row of steps as in an axis */
struct gemm_batch {
    int ndim;
    int64_t n, size[CUDA_DIMS], step[GEMM_OPERANDS][CUDA_DIMS];
    double inverse[CUDA_DIMS]; /* of the sizes */
};

/* Coordinate i: col digit * col[i] + shift[i] + depth digit * depth[i], by divisor[i]. Its digit is i + 1 of
 * four, or i, where channels that lie together are the last one. */
struct gemm_gather {
    bool is_used, divides;
    int col_from, depth_from; /* 1 or 0 */
    int col[GEMM_PLANE], depth[GEMM_PLANE], shift[GEMM_PLANE], divisor[GEMM_PLANE], size[GEMM_PLANE];
    int64_t step[GEMM_PLANE];
};

struct gemm {
    int dtype;
    const void *a, *b, *extra; /* no b: ones; no extra: nothing is added */
    void *out;
    gemm_axis row, col, depth;
    double row_inverse, col_inverse; /* of their n */
    gemm_batch batch;
    gemm_gather gather;
    double alpha, beta;
    int64_t integer_alpha, integer_beta; /* for integers */
    bool tf32;                           /* float32 may round its factors to 10 bits */
    bool a_by_depth, b_by_depth;         /* along which side neighbours in memory lie */
    bool a_is_vector, b_is_vector; /* ... as many of them as a vector has, from each multiple of that on */
    bool out_by_row;               /* the output's */
    int64_t splits, part;          /* of the depth; how much of it one of them takes */
    void *sums;                    /* [split][batch][row][col], or NULL: straight to the output */
};

/* ---- on the host ---- */
/* Fills in dtype and what stands for "nothing special". */
void cuda_gemm_begin(gemm *p, const rl_view *out);
/* digit `d` of an axis; steps of the operands in the order of GEMM_OUT ... */
void cuda_gemm_digit(gemm_axis *x, int d, int64_t size, int64_t out, int64_t a, int64_t b, int64_t extra);
/* a batch of the dims of w, whose operands are GEMM_OUT ... */
void cuda_gemm_batch(gemm *p, const cuda_iter &w);
/* `may_alias`: an operand may lie where the output does. RL_UNSUPPORTED: nothing was written. */
rl_status cuda_gemm_run(rl_call *k, gemm *p, bool may_alias);

/* how a product is done; each answers false if it does not serve this one */
bool cuda_gemm_tiles(const gemm &p, bool large, cudaStream_t stream);  /* float32, float64 */
bool cuda_gemm_half(const gemm &p, bool large, cudaStream_t stream);   /* float16, on tensor cores */
bool cuda_gemm_bfloat(const gemm &p, bool large, cudaStream_t stream); /* bfloat16, likewise */
bool cuda_gemm_tf32(const gemm &p, bool large, cudaStream_t stream);   /* float32, where p.tf32 */
void cuda_gemm_lanes(const gemm &p, cudaStream_t stream);              /* a warp for each output */
void cuda_gemm_each(const gemm &p, cudaStream_t stream);               /* a thread for each output */
void cuda_gemm_finish(const gemm &p, cudaStream_t stream);

/* ---- in kernels ---- */
/* i / n for i below 2^52: a division of 64 bits is a call, and spills what its caller holds */
static __device__ __forceinline__ int64_t gemm_divide(int64_t i, int64_t n, double inverse) {
    const int64_t guess = (int64_t)((double)i * inverse), rest = i - guess * n;
    return guess + (rest >= n) - (rest < 0);
}
static __device__ __forceinline__ void gemm_batch_seek(const gemm_batch &b, int64_t i,
                                                       int64_t (&at)[GEMM_OPERANDS]) {
    CUDA_UNROLL
    for (int op = 0; op < GEMM_OPERANDS; op++) at[op] = 0;
    CUDA_ROLLED
    for (int d = b.ndim - 1; d >= 0; d--) {
        const int64_t rest = gemm_divide(i, b.size[d], b.inverse[d]), here = i - rest * b.size[d];
        CUDA_UNROLL
        for (int op = 0; op < GEMM_OPERANDS; op++) at[op] += here * b.step[op][d];
        i = rest;
    }
}
static __device__ __forceinline__ void gemm_split(const gemm_axis &x, int64_t i,
                                                  int64_t (&digit)[GEMM_DIGITS]) {
    CUDA_UNROLL
    for (int d = GEMM_DIGITS - 1; d >= 0; d--) {
        int64_t here = i, rest = 0;
        if (d > x.first) {
            rest = (uint32_t)i / (uint32_t)x.size[d];
            here = (uint32_t)i - (uint32_t)rest * (uint32_t)x.size[d];
        }
        digit[d] = here;
        i = rest;
    }
}
static __device__ __forceinline__ int64_t gemm_at(const gemm_axis &x, int operand,
                                                  const int64_t (&digit)[GEMM_DIGITS]) {
    int64_t at = 0;
    CUDA_UNROLL
    for (int d = 0; d < GEMM_DIGITS; d++) at += digit[d] * x.step[operand][d];
    return at;
}

/* Coordinates of a column or a depth, in whole steps of the divisors. What is left of a column's asks for
 * what is left of a depth's, and is counted as the step that both make. */
struct gemm_place {
    int at[GEMM_PLANE], rest[GEMM_PLANE];
};
enum { GEMM_NOWHERE = -(1 << 30) }; /* a coordinate that is outside whatever is added */

/* answers the part of the offset that is the coordinates' */
static __device__ __forceinline__ int64_t gemm_place_set(const gemm_gather &g, const int *scale,
                                                         const int *shift, int from,
                                                         const int64_t (&digit)[GEMM_DIGITS],
                                                         gemm_place &place) {
    int64_t offset = 0;
    CUDA_UNROLL
    for (int i = 0; i < GEMM_PLANE; i++) {
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
static __device__ __forceinline__ int64_t gemm_col_place(const gemm_gather &g,
                                                         const int64_t (&digit)[GEMM_DIGITS],
                                                         gemm_place &place) {
    return gemm_place_set(g, g.col, g.shift, g.col_from, digit, place);
}
static __device__ __forceinline__ int64_t gemm_depth_place(const gemm_gather &g,
                                                           const int64_t (&digit)[GEMM_DIGITS],
                                                           gemm_place &place) {
    return gemm_place_set(g, g.depth, nullptr, g.depth_from, digit, place);
}
/* Is a gathered element there: inside, and not between the steps? */
static __device__ __forceinline__ bool gemm_is_inside(const gemm_gather &g, const gemm_place &col,
                                                      const gemm_place &depth) {
    bool is_inside = true;
    CUDA_UNROLL
    for (int i = 0; i < GEMM_PLANE; i++) {
        is_inside = is_inside && (unsigned)(col.at[i] + depth.at[i]) < (unsigned)g.size[i];
        if (g.divides) is_inside = is_inside && col.rest[i] == depth.rest[i];
    }
    return is_inside;
}

template <class C> __device__ C gemm_add(C sum, C a, C b) {
    return sum + a * b;
}
template <> __device__ inline int64_t gemm_add(int64_t sum, int64_t a, int64_t b) {
    return (int64_t)((uint64_t)sum + (uint64_t)a * (uint64_t)b);
}
template <class C> __device__ C gemm_alpha(const gemm &p) {
    return (C)p.alpha;
}
template <> __device__ inline int64_t gemm_alpha(const gemm &p) {
    return p.integer_alpha;
}
template <class C> __device__ C gemm_beta(const gemm &p) {
    return (C)p.beta;
}
template <> __device__ inline int64_t gemm_beta(const gemm &p) {
    return p.integer_beta;
}

/* elements of the dtypes that compute in C */
template <class C> __device__ C gemm_load(int dtype, const void *p, int64_t i) {
    return cuda_load<C>(dtype, p, i);
}
template <> __device__ inline double gemm_load(int, const void *p, int64_t i) {
    return ((const double *)p)[i];
}
template <> __device__ inline float gemm_load(int dtype, const void *p, int64_t i) {
    if (dtype == RL_F32) return ((const float *)p)[i];
    return dtype == RL_F16 ? cuda_cast<float>(((const __half *)p)[i])
                           : cuda_cast<float>(((const __nv_bfloat16 *)p)[i]);
}
template <class C>
__device__ __forceinline__ void gemm_store(const gemm &p, C sum, int64_t out, int64_t extra) {
    C x = gemm_add<C>((C)0, gemm_alpha<C>(p), sum);
    if (p.extra) x = gemm_add<C>(x, gemm_beta<C>(p), gemm_load<C>(p.dtype, p.extra, extra));
    cuda_store<C>(p.dtype, p.out, out, x);
}
static __device__ __forceinline__ int64_t gemm_sum_at(const gemm &p, int64_t split, int64_t batch,
                                                      int64_t row, int64_t col) {
    return ((split * p.batch.n + batch) * p.row.n + row) * p.col.n + col;
}
#endif
