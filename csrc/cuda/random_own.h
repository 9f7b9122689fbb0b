/* Draws of an element that takes as many as it needs: a stream of its own in Note [Device draws].
 *
 * A call reserves `reach` counters. Draw r has counter r % reach, and a subsequence of its own for each turn
 * around them, which no other element has: so what one call draws is never drawn by another. */
#ifndef RL_CUDA_RANDOM_OWN_H
#define RL_CUDA_RANDOM_OWN_H
#include "device.h"
#include "philox.h"

struct cuda_own_draws {
    enum { TURN = 40 }; /* bits of an element's number */
    uint64_t seed, counter, element;
    unsigned reach, drawn;
    __device__ void words(uint32_t *to) {
        const uint64_t turn = drawn / reach;
        cuda_philox(seed, counter + drawn % reach, element | turn << TURN, to);
        drawn++;
    }
    __device__ double unit() { /* of (0, 1] */
        uint32_t four[4];
        words(four);
        return cuda_unit(four[0], four[1]);
    }
    __device__ void units(double *u, double *v) {
        uint32_t four[4];
        words(four);
        *u = cuda_unit(four[0], four[1]);
        *v = cuda_unit(four[2], four[3]);
    }
    __device__ double normal() {
        uint32_t four[4];
        double two[2];
        words(four);
        cuda_normals(four, two);
        return two[0];
    }
};
static __device__ inline cuda_own_draws cuda_own_begin(const cuda_draws &d, unsigned reach, int64_t i) {
    return {d.words->seed, cuda_draws_counter(d), (uint64_t)i, reach, 0};
}
#endif
