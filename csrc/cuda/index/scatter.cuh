/* Elements that go to places which an index names. */
#ifndef RL_CUDA_SCATTER_H
#define RL_CUDA_SCATTER_H
#include "index.cuh"

/* Note [CUDA scattering]
 * Threads run in no order, yet of several elements for one place the last one wins, as on the CPU. So first
 * each claim, one for each number of the index, leaves its own number at its slot if that is the largest
 * there; then elements go to their places where their claim has won.
 *
 *     claims    [ 0 | 1 | 2 | 3 ]  index  [ 5 | 2 | 5 | 0 ]     slots  [ 3 |   | 1 |   |   | 2 ]
 *
 * Sums go in any order, one atomic step for each element; those of floats with deterministic algorithms by
 * Note [CUDA sums in order]. */
enum { SCATTER_TARGET, SCATTER_INDEX, SCATTER_SOURCE, SCATTER_SLOT, SCATTER_CLAIM, SCATTER_OPS };
typedef struct {
    cuda_dims all, claims; /* operands as above: all elements; the claims, which need no source */
    cuda_indices places, slots;
    int64_t n_slots; /* 0: no two elements have one place */
    int64_t first;   /* of the source */
} cuda_scattering;

/* How the elements of a call go to `to`, a target of any strides; no source: all get one element. */
typedef rl_status (*cuda_scatter_way)(rl_call *k, cuda_scattering *s, const rl_view *to,
                                      const rl_view *source);

/* Out[0] takes the elements at `from`, the source's or one for all. */
rl_status cuda_scatter_set(rl_call *k, cuda_scatter_way way, const rl_view *source, const void *from);
/* ... or one element at all places of the source's */
rl_status cuda_scatter_fill(rl_call *k, cuda_scatter_way way, const rl_view *source, uint64_t bits);
/* ... or joins them with its own by one of RL_JOIN_*: those of a sum times argument alpha_arg, if there is
 * one */
rl_status cuda_scatter_join(rl_call *k, cuda_scatter_way way, const rl_view *source, const void *from,
                            int join, int alpha_arg);
/* a plan by itself, into elements of a dtype that has atomics: int32, int64 or a float */
typedef struct {
    const void *from;
    int from_dtype, join;
    double alpha;
    int64_t integer_alpha;
    bool shares; /* two elements of the target may be one */
} cuda_joining;
rl_status cuda_join_run(rl_call *k, cuda_scattering *s, void *to, int dtype, const cuda_joining &j);
/* ... of floats, in the order of the source */
rl_status cuda_join_in_order(rl_call *k, const cuda_scattering *s, void *to, int dtype,
                             const cuda_joining &j);
/* operand 0 of the walk is divided by counts, operand 1: integers are rounded down, counts below 2 do nothing
 */
rl_status cuda_divide(rl_call *k, const cuda_iter &w, void *to, int dtype, const int64_t *counts);
/* May two elements of v be one? true where that is not plain. */
bool cuda_shares_memory(const rl_view *v);
/* scratch of n zeros; NULL: RL_FAIL */
void *cuda_zeros(rl_call *k, int64_t n, int dtype);
/* v's shape without gaps; `strides` has room */
rl_view cuda_gapless_like(const rl_view *v, int dtype, int64_t *strides);
/* counts, int64 without gaps in the shape of out[0]: 1 more for each element that goes there */
rl_status cuda_scatter_count(rl_call *k, cuda_scatter_way way, const rl_view *source, int64_t *counts);

static inline int64_t cuda_alpha_of(const cuda_joining &j, int64_t) {
    return j.integer_alpha;
}
template <class C> static inline C cuda_alpha_of(const cuda_joining &j, C) {
    return (C)j.alpha;
}
template <class C> __device__ C cuda_joined(int join, C a, C b) {
    switch (join) {
    case RL_JOIN_MUL: return a * b;
    case RL_JOIN_MAX: return a != a || a > b ? a : b;
    case RL_JOIN_MIN: return a != a || a < b ? a : b;
    default: return a + b;
    }
}
template <> __device__ inline int64_t cuda_joined(int join, int64_t a, int64_t b) {
    switch (join) {
    case RL_JOIN_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case RL_JOIN_MAX: return a > b ? a : b;
    case RL_JOIN_MIN: return a < b ? a : b;
    default: return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}
#endif
