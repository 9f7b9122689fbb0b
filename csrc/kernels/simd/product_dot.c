/* Matrix times a few vectors: bound by reading the matrix once. */
#include "product_dot.h"
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "vector_sums_body.h"
#include "product_dot_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_sums_body.h"
#include "product_dot_body.h"

static const double DOT_NS = 0.1; /* a matrix element */
typedef void (*dot_body)(void *, int64_t, int64_t, int);

static rl_status dot_share(rl_call *k, int64_t groups, int64_t each, dot_body body, const void *job) {
    k->svc->parallel(k, groups, DOT_NS * (double)each, body, (void *)job);
    return RL_OK;
}

rl_status rl_dot_run(rl_call *k, const rl_dot *d) {
    if (!(k->svc->isa & RL_ISA_AVX2)) return RL_UNSUPPORTED;
    dot_body body = k->svc->isa & RL_ISA_AVX512 ? dot_groups_avx512 : dot_groups_avx2;
    return dot_share(k, simd_ceil_div(d->n, 4), 4 * d->k, body, d);
}

rl_status rl_fan_run(rl_call *k, const rl_fan *f) {
    if (!(k->svc->isa & RL_ISA_AVX2)) return RL_UNSUPPORTED;
    bool wide = k->svc->isa & RL_ISA_AVX512;
    int64_t columns = wide ? 128 : 64;
    return dot_share(k, simd_ceil_div(f->n, columns), columns * f->k * f->rows,
                     wide ? fan_groups_avx512 : fan_groups_avx2, f);
}
#else
rl_status rl_dot_run(rl_call *k, const rl_dot *d) {
    (void)k, (void)d;
    return RL_UNSUPPORTED;
}
rl_status rl_fan_run(rl_call *k, const rl_fan *f) {
    (void)k, (void)f;
    return RL_UNSUPPORTED;
}
#endif
