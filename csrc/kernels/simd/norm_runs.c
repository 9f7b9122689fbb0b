/* Passes of the norms over contiguous runs, compiled for each vector width; vectors of weights. */
#include "norm.h"
#ifdef RL_SIMD_X86
#define SIMD_BITS 256
#include "isa.h"
#include "vector_sums_impl.inc"
#include "norm_sums_impl.inc"
#include "norm_runs_impl.inc"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_sums_impl.inc"
#include "norm_sums_impl.inc"
#include "norm_runs_impl.inc"

RL_CHOOSER
const rl_norm_runs *rl_norm_runs_get(const rl_call *k) {
    if (!(k->svc->isa & RL_ISA_AVX2)) return NULL;
    return k->svc->isa & RL_ISA_AVX512 ? &runs_avx512 : &runs_avx2;
}

const float *rl_norm_vector(rl_call *k, const rl_view *v, int64_t n, float missing) {
    if (v) return simd_floats_of(k, v);
    float *all = k->svc->scratch(k, RL_COUNT(n), sizeof *all);
    for (int64_t i = 0; all && i < n; i++) all[i] = missing;
    return all;
}
#endif
