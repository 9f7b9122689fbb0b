/* Scattered elements that join in their own order: Note [CUDA sums in order]. */
#include "order.h"
#include "scatter.h"

/* operands: target, index */
__global__ void __launch_bounds__(CUDA_THREADS)
    name_targets(cuda_walk claims, cuda_places places, cuda_keys to) {
    CUDA_EACH(i, claims) {
        int64_t at[2], place;
        cuda_walk_seek(claims, i, at);
        const bool known = cuda_place(places, at[SCATTER_INDEX], &place);
        to.key[i] = known ? (uint64_t)(at[SCATTER_TARGET] + place) : CUDA_NO_TARGET;
        to.order[i] = i;
    }
}

rl_status cuda_order_sort(rl_call *k, const cuda_keys *room, int64_t n, cuda_keys *sorted) {
    *sorted = cuda_keys_sort(k, room, n, n);
    return rl_cuda_end(k);
}

template <class T, class C> struct joins_in_order {
    typedef C value_type;
    struct column {
        int64_t target, source;
    };
    cuda_walk claims, rest; /* operands: target, index, source */
    T *to;
    const void *from;
    int from_dtype, how;
    C alpha;
    __device__ column find(int64_t e) const {
        int64_t at[SCATTER_SLOT];
        cuda_walk_seek(rest, e, at);
        return {at[SCATTER_TARGET], at[SCATTER_SOURCE]};
    }
    __device__ C value(int64_t i, const column &c) const {
        int64_t at[SCATTER_SLOT];
        cuda_walk_seek(claims, i, at);
        const C x = cuda_load<C>(from_dtype, from, at[SCATTER_SOURCE] + c.source);
        return how == RL_JOIN_ADD ? alpha * x : x;
    }
    __device__ C join(C a, C b) const { return cuda_joined<C>(how, a, b); }
    __device__ void put(uint64_t target, const column &c, C sum) const {
        T *there = &to[(int64_t)target + c.target];
        *there = cuda_cast<T>(join(cuda_cast<C>(*there), sum));
    }
};

/* the dims that decide where elements go, and those of what goes there together */
static void split(const cuda_scattering *s, bool shares, cuda_dims *claims, cuda_dims *rest) {
    *claims = *rest = cuda_dims_none();
    for (int d = 0; d < s->all.ndim; d++) {
        const int64_t target = s->all.step[SCATTER_TARGET][d], index = s->all.step[SCATTER_INDEX][d];
        const bool claims_place = shares || target == 0 || index != 0 || s->all.step[SCATTER_CLAIM][d] != 0;
        cuda_dims_add(claims_place ? claims : rest, s->all.size[d], target, index,
                      s->all.step[SCATTER_SOURCE][d]);
    }
}

rl_status cuda_join_in_order(rl_call *k, const cuda_scattering *s, void *to, int dtype,
                             const cuda_joining &j) {
    const void *from = (const char *)j.from + s->first * rl_itemsize(j.from_dtype);
    cuda_keys room[CUDA_KEY_ROOMS], sorted;
    cuda_dims claims, rest;
    cuda_walk named, others;
    split(s, j.shares, &claims, &rest);
    if (!cuda_dims_walk(&named, &claims, SCATTER_SLOT) || !cuda_dims_walk(&others, &rest, SCATTER_SLOT))
        return RL_UNSUPPORTED;
    const int64_t n = named.numel;
    if (cuda_keys_room(k, room, n) != RL_OK || rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((name_targets), cuda_walk_blocks(&named), CUDA_THREADS, cuda_stream_of(k), named, s->places,
                room[0]);
    if (cuda_order_sort(k, room, n, &sorted) != RL_OK) return RL_FAIL;
    switch (dtype) {
#define X(tag, T, C)                                                                                         \
    case tag: {                                                                                              \
        const joins_in_order<T, C> f = {                                                                     \
            named, others, (T *)to, from, j.from_dtype, j.join, cuda_alpha_of(j, (C)0)};                     \
        return cuda_order_join(k, f, sorted, n, others.numel);                                               \
    }
        CUDA_FLOAT_TYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
}
