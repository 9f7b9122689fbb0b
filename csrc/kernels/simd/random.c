/* Normal numbers of contiguous float32, a block of 16 in two vectors: the bits of the reference kernel, which
 * asks for fused multiply-add as well. */
#include "common.h"
#include "kernels/shared/random_normal.h"
#include <string.h>

enum { BLOCK = 16, BLOCKS = RL_NORMAL_BLOCKS };

static ISA_BASELINE void uniforms(rl_generator *g, float *to, int64_t n) {
    uint32_t words[BLOCK * BLOCKS];
    rl_random_words(g, words, n);
    for (int64_t i = 0; i < n; i++) to[i] = (float)(int32_t)(words[i] & 0xffffff) * 0x1p-24f;
}

/* A block that is not full draws for its elements, then 16 more for the last 16 of all. */
static ISA_BASELINE void normals(rl_generator *g, float *to, int64_t n, float mean, float deviation) {
    float u[BLOCK * BLOCKS];
    const int64_t rest = n % BLOCK;
    for (int64_t left = n - rest, m; left > 0; left -= m, to += m) {
        m = simd_min(left, BLOCK * BLOCKS);
        uniforms(g, u, m);
        rl_normal_blocks(u, m / BLOCK, mean, deviation, to);
    }
    if (!rest) return;
    uniforms(g, u, rest);
    uniforms(g, u, BLOCK);
    rl_normal_blocks(u, 1, mean, deviation, to + rest - BLOCK);
}

static rl_generator *generator_of(const rl_call *k) {
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tag == RL_RNG) return k->arg[i].u.g;
    return NULL;
}

RL_CHOOSER
static rl_status normal_fill(rl_call *k, double mean, double deviation) {
    const rl_view *out = k->out[0];
    rl_generator *g = generator_of(k);
    if (!k->svc->isa || !rl_is_plain(out) || out->numel < BLOCK) return RL_UNSUPPORTED;
    normals(g, rl_data(out, RL_WRITE), out->numel, (float)mean, (float)deviation);
    return RL_OK;
}

/* The numbers of a mean or deviation; NULL where one number is all, or without memory. */
static const float *numbers_of(rl_call *k, int arg) {
    const rl_view *v = rl_in(k, arg);
    return v ? rl_plain_input(k, v) : NULL;
}

RL_CHOOSER
static bool suits(const rl_call *k, int arg) {
    const rl_view *v = rl_in(k, arg), *out = k->out[0];
    return !v || (v->dtype == RL_F32 && v->ndim == out->ndim &&
                  memcmp(v->shape, out->shape, (size_t)v->ndim * sizeof *v->shape) == 0);
}

/* times and plus are steps of their own, each of which rounds */
RL_CHOOSER
static rl_status normal_tensors(rl_call *k) {
    const int64_t n = k->out[0]->numel;
    float *to = rl_data(k->out[0], RL_WRITE);
    if (!k->svc->isa || !suits(k, 0) || !suits(k, 1) || n < BLOCK) return RL_UNSUPPORTED;
    const float *mean = numbers_of(k, 0), *std = numbers_of(k, 1), number = mean ? 0 : (float)rl_num(k, 0);
    bool odd = false;
    if ((rl_in(k, 0) && !mean) || (rl_in(k, 1) && !std)) return RL_FAIL;
    for (int64_t i = 0; std && i < n; i++) odd |= !(std[i] >= 0);
    if (odd) return rl_fail(k, RL_RUNTIME, "normal expects all elements of std >= 0.0");
    normal_fill(k, 0, std ? 1 : rl_num(k, 1)); /* which takes what was let through here */
    for (int64_t i = 0; std && i < n; i++) to[i] *= std[i];
    for (int64_t i = 0; i < n; i++) to[i] += mean ? mean[i] : number;
    return RL_OK;
}

RL_KERNEL(simd_normal) {
    return normal_fill(k, rl_num(k, 1), rl_num(k, 2));
}
RL_KERNEL(simd_normal_size) { /* (mean, std, size) */
    return normal_fill(k, rl_num(k, 0), rl_num(k, 1));
}
RL_KERNEL(simd_randn) {
    return normal_fill(k, 0, 1);
}
RL_KERNEL(simd_normal_tensors) { /* (mean, std), one of which may be a number */
    return normal_tensors(k);
}
