/* Joining values over a warp and over a block. A value is a number or a small struct of them, a join how two
 * become one: commutative, with a neutral value for threads that have nothing. */
#ifndef RL_CUDA_BLOCK_REDUCE_H
#define RL_CUDA_BLOCK_REDUCE_H
#include "launch.cuh"

enum { CUDA_WARP = 32, CUDA_FULL_MASK = -1 };

/* ---- joins ---- */
struct cuda_sum {
    __device__ float operator()(float a, float b) const { return a + b; }
    __device__ double operator()(double a, double b) const { return a + b; }
    __device__ int64_t operator()(int64_t a, int64_t b) const { return (int64_t)((uint64_t)a + (uint64_t)b); }
};
/* NaN beats every number */
struct cuda_largest {
    template <class C> __device__ C operator()(C a, C b) const { return a > b || a != a ? a : b; }
};
struct cuda_smallest {
    template <class C> __device__ C operator()(C a, C b) const { return a < b || a != a ? a : b; }
};

/* ---- the mean so far, the squares around it, how many there were (Welford, 1962) ---- */
template <class C> struct cuda_moments {
    C mean, square, count;
};
template <class C> __device__ cuda_moments<C> cuda_moments_take(const cuda_moments<C> &v, C x) {
    const C count = v.count + 1, gap = x - v.mean, mean = v.mean + gap / count;
    return {mean, v.square + gap * (x - mean), count};
}
template <class C>
__device__ cuda_moments<C> cuda_moments_join(const cuda_moments<C> &a, const cuda_moments<C> &b) {
    const C count = a.count + b.count, gap = b.mean - a.mean;
    if (a.count == 0 || b.count == 0) return a.count == 0 ? b : a;
    return {a.mean + gap * (b.count / count), a.square + b.square + gap * gap * (a.count * b.count / count),
            count};
}

/* ---- exchanges of values of any size ---- */
template <class V> union cuda_words {
    static_assert(sizeof(V) % sizeof(unsigned) == 0, "a value is made of words");
    V value;
    unsigned word[sizeof(V) / sizeof(unsigned)];
};
/* what the lane `by` away has; what the lane `by` below has, within neighbours of `width` lanes; what lane
 * `from` of them has */
#define CUDA_EXCHANGE(name, shuffle)                                                                         \
    template <class V> __device__ V name(V v, int by, int width = CUDA_WARP) {                               \
        cuda_words<V> x;                                                                                     \
        x.value = v;                                                                                         \
        for (size_t i = 0; i < sizeof(V) / sizeof(unsigned); i++)                                            \
            x.word[i] = shuffle((unsigned)CUDA_FULL_MASK, x.word[i], by, width);                             \
        return x.value;                                                                                      \
    }
CUDA_EXCHANGE(cuda_shuffle_xor, __shfl_xor_sync)
CUDA_EXCHANGE(cuda_shuffle_up, __shfl_up_sync)
CUDA_EXCHANGE(cuda_shuffle_from, __shfl_sync)
#undef CUDA_EXCHANGE

/* ---- over a warp: all 32 lanes take part, and neighbours of `width` lanes (a power of 2) join ---- */
template <class V, class Join> __device__ V cuda_warp_join(V v, Join join, int width = CUDA_WARP) {
    for (int by = width / 2; by > 0; by /= 2) v = join(v, cuda_shuffle_xor(v, by));
    return v;
}

/* ---- over a block of whole warps along x: every thread gets the same answer ---- */
template <class V, class Join> __device__ V cuda_block_join(V v, Join join) {
    CUDA_SHARED(V, of_warp, [CUDA_WARP]);
    const int lane = threadIdx.x % CUDA_WARP, warp = threadIdx.x / CUDA_WARP;
    v = cuda_warp_join(v, join);
    __syncthreads(); /* of_warp may still be read, from the join before */
    if (lane == 0) of_warp[warp] = v;
    __syncthreads();
    v = of_warp[0];
    for (int i = 1; i < (int)(blockDim.x / CUDA_WARP); i++) v = join(v, of_warp[i]);
    return v;
}

/* ---- running joins, of which a thread's own is the last: the join need not be commutative ---- */
template <class V, class Join> __device__ V cuda_warp_scan(V v, Join join, int width = CUDA_WARP) {
    for (int by = 1; by < width; by *= 2) {
        const V below = cuda_shuffle_up(v, by, width);
        if ((int)(threadIdx.x % width) >= by) v = join(below, v);
    }
    return v;
}
/* ... with that of the whole block */
template <class V, class Join> __device__ V cuda_block_scan(V v, Join join, V *total) {
    CUDA_SHARED(V, of_warp, [CUDA_WARP]);
    const int lane = threadIdx.x % CUDA_WARP, warp = threadIdx.x / CUDA_WARP;
    v = cuda_warp_scan(v, join);
    __syncthreads(); /* of_warp may still be read, from the scan before */
    if (lane == CUDA_WARP - 1) of_warp[warp] = v;
    __syncthreads();
    V below = of_warp[0];
    for (int i = 1; i < warp; i++) below = join(below, of_warp[i]);
    *total = of_warp[0];
    for (int i = 1; i < (int)(blockDim.x / CUDA_WARP); i++) *total = join(*total, of_warp[i]);
    return warp ? join(below, v) : v;
}
#endif
