/* Views of batches, channels and up to three spaces: pictures, sounds, volumes. */
#ifndef RL_CUDA_PLANES_H
#define RL_CUDA_PLANES_H
#include "device.h"
#include "strided_iterator.cuh"

/* Note [Quotients]
 * 64-bit divisions are calls on a GPU, around which registers are spilled. n / by with what the host says
 * about `by` is a product that may be one off, for all n below 2^52; no memory has more elements. */
static inline double cuda_inverse(int64_t by) {
    return by ? 1 / (double)by : 0;
}
__device__ inline int64_t cuda_quotient(int64_t n, int64_t by, double inverse) { /* n >= 0 */
    if ((uint64_t)(n | by) >> 32 == 0) return (uint32_t)n / (uint32_t)by;
    const int64_t q = (int64_t)((double)n * inverse), rest = n - q * by;
    return rest < 0 ? q - 1 : rest < by ? q : q + 1;
}
__device__ inline int64_t cuda_remainder(int64_t *n, int64_t by, double inverse) { /* *n: the quotient */
    const int64_t q = cuda_quotient(*n, by, inverse), rest = *n - q * by;
    *n = q;
    return rest;
}

/* Note [Planes]
 * A view as (N, C, D, H, W): what it lacks has size 1 and step 0. Thread i visits element i in an order that
 * follows the memory: channels innermost where they lie side by side. */
enum { CUDA_BATCH, CUDA_CHANNEL, CUDA_SPACE };
typedef struct {
    int64_t numel, size[5], step[5];
    double inverse[5]; /* of the sizes */
    bool last;         /* channels are innermost */
} cuda_planes;
typedef struct {
    int64_t at[5];
} cuda_place;

/* `spatial`: how many of three spaces the view has. false: it has other dims, too. */
static inline bool cuda_planes_of(const rl_view *v, int spatial, cuda_planes *p) {
    const int lead = v->ndim - spatial;
    if (lead < 0 || lead > 2 || spatial > 3) return false;
    p->numel = v->numel;
    for (int i = 0; i < 5; i++) {
        const int d = i < CUDA_SPACE ? i - (2 - lead) : v->ndim - 5 + i;
        const bool lacks = i < CUDA_SPACE ? d < 0 : i - CUDA_SPACE < 3 - spatial;
        p->size[i] = lacks ? 1 : v->shape[d];
        p->step[i] = lacks ? 0 : v->strides[d];
        p->inverse[i] = cuda_inverse(p->size[i]);
    }
    p->last = p->step[CUDA_CHANNEL] == 1 && p->step[4] != 1;
    return true;
}

/* the same places, side by side in scratch */
static inline cuda_planes cuda_planes_dense(const cuda_planes *like) {
    cuda_planes p = *like;
    int64_t step = 1;
    for (int i = 4; i >= 0; step *= p.size[i--]) p.step[i] = step;
    p.last = false;
    return p;
}

/* the coordinate along dim d; *i: what is left for the dims outside */
__device__ inline int64_t cuda_planes_step(const cuda_planes &p, int d, int64_t *i) {
    return cuda_remainder(i, p.size[d], p.inverse[d]);
}
__device__ inline cuda_place cuda_planes_seek(const cuda_planes &p, int64_t i) {
    cuda_place here;
    if (p.last) here.at[CUDA_CHANNEL] = cuda_planes_step(p, CUDA_CHANNEL, &i);
    for (int d = 4; d >= CUDA_SPACE; d--) here.at[d] = cuda_planes_step(p, d, &i);
    if (!p.last) here.at[CUDA_CHANNEL] = cuda_planes_step(p, CUDA_CHANNEL, &i);
    here.at[CUDA_BATCH] = i;
    return here;
}
__device__ inline int64_t cuda_planes_first(const cuda_planes &p, const cuda_place &here) { /* of its plane */
    return here.at[CUDA_BATCH] * p.step[CUDA_BATCH] + here.at[CUDA_CHANNEL] * p.step[CUDA_CHANNEL];
}
__device__ inline int64_t cuda_planes_offset(const cuda_planes &p, int64_t d, int64_t h, int64_t w) {
    return d * p.step[2] + h * p.step[3] + w * p.step[4];
}
__device__ inline int64_t cuda_planes_at(const cuda_planes &p, const cuda_place &here) {
    return cuda_planes_first(p, here) + cuda_planes_offset(p, here.at[2], here.at[3], here.at[4]);
}
/* the number of a place among those of its plane */
__device__ inline int64_t cuda_planes_number(const cuda_planes &p, int64_t d, int64_t h, int64_t w) {
    return (d * p.size[3] + h) * p.size[4] + w;
}

/* ==== sums that atomics make: in scratch, in the compute type, then stored as the result ==== */
/* scratch of zeros; NULL: RL_FAIL */
static inline void *cuda_zeroed(rl_call *k, int64_t n, size_t itemsize) {
    void *p = k->svc->scratch(k, RL_COUNT(n), itemsize);
    if (!p || rl_cuda_begin(k, k->out[0]) != RL_OK) return nullptr;
    if (cudaMemsetAsync(p, 0, (size_t)n * itemsize, (cudaStream_t)k->stream) == cudaSuccess) return p;
    rl_cuda_end(k);
    return nullptr;
}

/* where the plane of a place begins when planes lie one behind the other */
__device__ inline int64_t cuda_planes_dense_first(const cuda_planes &p, const cuda_place &here) {
    return (here.at[CUDA_BATCH] * p.size[CUDA_CHANNEL] + here.at[CUDA_CHANNEL]) * p.size[2] * p.size[3] *
           p.size[4];
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    cuda_store_sums(cuda_planes out, int dtype, const C *sums, void *to) {
    CUDA_EACH(i, out) {
        const cuda_place here = cuda_planes_seek(out, i);
        const int64_t number = cuda_planes_number(out, here.at[2], here.at[3], here.at[4]);
        cuda_store(dtype, to, cuda_planes_at(out, here), sums[cuda_planes_dense_first(out, here) + number]);
    }
}
#endif
