/* The generator behind every random operator: mt19937 as PyTorch's CPU generator draws it
 * (Matsumoto and Nishimura, 1998). Header only, so that kernels draw without calling the core. Kernels of a
 * device draw from a function of seed and counter, and only move `offset`: Note [Device draws] in
 * cuda/random/philox.cuh. */
#ifndef RL_KERNEL_ABI_RANDOM_H
#define RL_KERNEL_ABI_RANDOM_H
#include <stdbool.h>
#include <stdint.h>

enum { RL_MT_N = 624, RL_MT_M = 397 };
#define RL_DEFAULT_SEED 67280421310721ULL

typedef struct rl_generator {
    uint64_t seed, offset;
    int left; /* draws before the state must be stirred again */
    uint32_t next;
    uint32_t state[RL_MT_N];
    double normal; /* the second value of the last Box-Muller pair */
    float normal_float;
    bool has_normal, has_normal_float;
} rl_generator;

static inline void rl_generator_seed(rl_generator *g, uint64_t seed) {
    g->seed = seed;
    g->offset = 0;
    g->state[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < RL_MT_N; i++) {
        uint32_t last = g->state[i - 1];
        g->state[i] = 1812433253u * (last ^ (last >> 30)) + i;
    }
    g->left = 1;
    g->next = 0;
    g->has_normal = g->has_normal_float = false;
    g->normal = 0;
    g->normal_float = 0;
}

/* Does every draw stay inside the state? */
static inline bool rl_generator_is_valid(const rl_generator *g) {
    if (g->left < 1 || g->left > RL_MT_N || g->next > RL_MT_N) return false;
    return g->left == 1 || g->next + (uint32_t)g->left <= RL_MT_N + 1;
}

static inline uint32_t rl_mt_twist(uint32_t u, uint32_t v) {
    return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ ((0u - (v & 1)) & 0x9908b0dfu);
}

/* always_inline, so that these loops become vectors of what the calling function may use */
#define RL_RANDOM_INLINE static inline __attribute__((always_inline))

/* The next 624 words. None of the loops reads what an earlier turn of it wrote, but 227 words back. */
RL_RANDOM_INLINE void rl_generator_stir(rl_generator *g) {
    enum { N = RL_MT_N, M = RL_MT_M };
    uint32_t *p = g->state;
    g->left = N;
    g->next = 0;
    for (int i = 0; i < N - M; i++) p[i] = p[i + M] ^ rl_mt_twist(p[i], p[i + 1]);
    for (int i = N - M; i < N - 1; i++) p[i] = p[i + M - N] ^ rl_mt_twist(p[i], p[i + 1]);
    p[N - 1] = p[M - 1] ^ rl_mt_twist(p[N - 1], p[0]);
}

static inline uint32_t rl_mt_temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

static inline uint32_t rl_random32(rl_generator *g) {
    if (--g->left == 0) rl_generator_stir(g);
    return rl_mt_temper(g->state[g->next++]);
}

/* The next n words of the stream. */
RL_RANDOM_INLINE void rl_random_words(rl_generator *g, uint32_t *to, int64_t n) {
    while (n > 0) {
        if (g->left == 1) {
            rl_generator_stir(g);
            g->left = RL_MT_N + 1; /* one more than is there: a draw counts down first */
        }
        const int there = g->left - 1, m = n < there ? (int)n : there;
        const uint32_t *from = g->state + g->next;
        for (int i = 0; i < m; i++) to[i] = rl_mt_temper(from[i]);
        g->next += (uint32_t)m;
        g->left -= m;
        to += m;
        n -= m;
    }
}

static inline uint64_t rl_random64(rl_generator *g) { /* high word first */
    uint64_t high = rl_random32(g);
    return high << 32 | rl_random32(g);
}
#endif
