/* Box and Muller's normal numbers, in float32 to the bit as PyTorch's AVX2 kernel computes them.
 *
 * Logarithm, sine and cosine are those of the Cephes library (S. L. Moshier), rounded where a machine with
 * fused multiply-add rounds. They are good for what a block needs and no more: uniform numbers that are
 * multiples of 2^-24. Always inline: vectors where the calling function has them, fmaf() elsewhere, the same
 * bits. */
#ifndef RL_KERNELS_SHARED_RANDOM_NORMAL_H
#define RL_KERNELS_SHARED_RANDOM_NORMAL_H
#include "kernel_abi/kernel.h"
#include <math.h>
#include <string.h>

RL_RANDOM_INLINE uint32_t normal_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
RL_RANDOM_INLINE float normal_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* log x, x in [2^-24, 1] */
RL_RANDOM_INLINE float normal_log(float x) {
    const uint32_t bits = normal_bits(x), half = (bits & 0x7fffffu) | 0x3f000000u; /* of [0.5, 1) */
    const uint32_t low = 0u - (half < 0x3f3504f3u);                                /* below sqrt(0.5) */
    const float e = (float)((int32_t)(bits >> 23) - 126) - normal_float(low & 0x3f800000u);
    const float m = normal_float(half) - 1.0f + normal_float(low & half);
    const float z = m * m;
    float y = fmaf(7.0376836292e-2f, m, -1.1514610310e-1f);
    y = fmaf(y, m, 1.1676998740e-1f);
    y = fmaf(y, m, -1.2420140846e-1f);
    y = fmaf(y, m, 1.4249322787e-1f);
    y = fmaf(y, m, -1.6668057665e-1f);
    y = fmaf(y, m, 2.0000714765e-1f);
    y = fmaf(y, m, -2.4999993993e-1f);
    y = fmaf(y, m, 3.3333331174e-1f) * m;
    y = fmaf(-z, 0.5f, fmaf(y, z, e * -2.12194440e-4f));
    return fmaf(e, 0.693359375f, m + y);
}

/* sine and cosine of x >= 0 */
RL_RANDOM_INLINE void normal_turn(float x, float *sine, float *cosine) {
    const int32_t octant = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
    const float turns = (float)octant;
    x = fmaf(turns, -0.78515625f, x);
    x = fmaf(turns, -2.4187564849853515625e-4f, x);
    x = fmaf(turns, -3.77489497744594108e-8f, x);
    const float z = x * x;
    float c = fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = fmaf(c, z, 4.166664568298827e-2f) * z;
    c = fmaf(c, z, -(z * 0.5f)) + 1.0f;
    float s = fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = fmaf(fmaf(s, z, -1.6666654611e-1f) * z, x, x);
    const uint32_t odd = 0u - (uint32_t)(octant >> 1 & 1), swap = (normal_bits(s) ^ normal_bits(c)) & odd;
    *sine = normal_float(normal_bits(s) ^ swap ^ ((uint32_t)(octant & 4) << 29));
    *cosine = normal_float(normal_bits(c) ^ swap ^ ((uint32_t)(~(octant - 2) & 4) << 29));
}

/* Blocks of 16 uniform numbers, 8 radii and 8 angles, become 16 normal ones each; at most RL_NORMAL_BLOCKS of
 * them; u may be z. The radii of all blocks stand together in between, as do the angles: long loops become
 * vectors. */
enum { RL_NORMAL_BLOCKS = 32 };
RL_RANDOM_INLINE void rl_normal_blocks(const float *u, int64_t blocks, float mean, float deviation,
                                       float *z) {
    float radius[8 * RL_NORMAL_BLOCKS], s[8 * RL_NORMAL_BLOCKS], c[8 * RL_NORMAL_BLOCKS];
    const int64_t n = 8 * blocks;
    for (int64_t i = 0; i < blocks; i++) {
        memcpy(radius + 8 * i, u + 16 * i, 8 * sizeof *u);
        memcpy(s + 8 * i, u + 16 * i + 8, 8 * sizeof *u);
    }
    for (int64_t i = 0; i < n; i++) radius[i] = sqrtf(-2.0f * normal_log(1.0f - radius[i]));
    for (int64_t i = 0; i < n; i++) {
        float sine, cosine;
        normal_turn(6.28318530717958647692f * s[i], &sine, &cosine);
        s[i] = fmaf(radius[i] * sine, deviation, mean);
        c[i] = fmaf(radius[i] * cosine, deviation, mean);
    }
    for (int64_t i = 0; i < blocks; i++) {
        memcpy(z + 16 * i, c + 8 * i, 8 * sizeof *z);
        memcpy(z + 16 * i + 8, s + 8 * i, 8 * sizeof *z);
    }
}
#endif
