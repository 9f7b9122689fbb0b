/* Keys in order, and the lines of a tensor by them: Note [CUDA sorting]. */
#ifndef RL_CUDA_SORT_H
#define RL_CUDA_SORT_H
#include "device.h"
#include "strided_iterator.cuh"

typedef struct {
    uint64_t *key;
    int64_t *order; /* what goes with each: where an element stood */
} cuda_keys;
enum { CUDA_KEY_ROOMS = 2 };

/* Room for n keys, twice: the first is to be filled. */
rl_status cuda_keys_room(rl_call *k, cuda_keys *room, int64_t n);
/* Lines of n keys, `all` together, become sorted, equal ones in the order in which they stood; answers which
 * room has them. After rl_cuda_begin. */
cuda_keys cuda_keys_sort(const rl_call *k, const cuda_keys *room, int64_t all, int64_t n);

/* The lines of argument 0 along a dim, or with -1 all its elements as one, sorted by what they are. */
typedef struct {
    int64_t dim, n;            /* n: of a line */
    int64_t step[RL_MAX_DIMS]; /* of the lines, along the dims of the input */
    bool is_float;
    cuda_keys sorted;
} cuda_sorting;
rl_status cuda_sort_lines(rl_call *k, cuda_sorting *s, int64_t dim, bool descends);

/* ---- integers that sort as elements do; NaN is the largest ---- */
#define CUDA_KEY_LAST UINT64_MAX
__device__ inline uint64_t cuda_key_of(double x) {
    if (x != x) return CUDA_KEY_LAST;
    const uint64_t bits = (uint64_t)__double_as_longlong(x == 0 ? 0.0 : x), sign = UINT64_C(1) << 63;
    return bits & sign ? ~bits : bits | sign;
}
__device__ inline uint64_t cuda_key_of(int64_t x) {
    return (uint64_t)x ^ UINT64_C(1) << 63;
}
__device__ inline uint64_t cuda_key_load(int dtype, bool is_float, const void *p, int64_t i) {
    return is_float ? cuda_key_of(cuda_load<double>(dtype, p, i))
                    : cuda_key_of(cuda_load<int64_t>(dtype, p, i));
}

/* how many of n sorted keys come before this one, which equal ones do if `equal` */
__device__ inline int64_t cuda_keys_before(const uint64_t *keys, int64_t n, uint64_t key, bool equal) {
    int64_t low = 0;
    while (low < n) {
        const int64_t middle = low + (n - low) / 2;
        if (keys[middle] < key || (equal && keys[middle] == key))
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}
#endif
