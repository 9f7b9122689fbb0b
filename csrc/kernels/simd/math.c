/* Element by element on one contiguous float32 tensor; also in place. */
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "vector_math_body.h"
#include "math_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_math_body.h"
#include "math_body.h"

typedef void (*unary_fn)(const float *, float *, int64_t);
typedef struct {
    unary_fn f;
    const float *from;
    float *to;
} unary_job;

static void unary_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    unary_job *j = ctx;
    (void)thread;
    j->f(j->from + begin, j->to + begin, end - begin);
}

static rl_status unary_run(rl_call *k, unary_fn avx2, unary_fn avx512, int64_t grain) {
    const rl_view *in = rl_in(k, 0), *out = k->out[0];
    if (!(k->svc->isa & RL_ISA_AVX2) || !in || in->dtype != RL_F32 || out->dtype != RL_F32 ||
        in->numel != out->numel || !rl_is_contiguous(in) || !rl_is_contiguous(out))
        return RL_UNSUPPORTED;
    unary_job j = {k->svc->isa & RL_ISA_AVX512 ? avx512 : avx2, rl_const_data(in), rl_data(out, RL_WRITE)};
    if (out->numel <= grain)
        j.f(j.from, j.to, out->numel);
    else
        k->svc->parallel(k, out->numel, grain, unary_chunk, &j);
    return RL_OK;
}
#define UNARY(name, grain)                                                                                   \
    RL_KERNEL(simd_##name) {                                                                                 \
        return unary_run(k, unary_##name##_avx2, unary_##name##_avx512, grain);                              \
    }
#else
#define UNARY(name, grain)                                                                                   \
    RL_KERNEL(simd_##name) {                                                                                 \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
#endif

/* Elements per thread below which waking another one costs more than it saves. */
enum { GRAIN_MOVE = 65536, GRAIN_MATH = 16384 };
UNARY(relu, GRAIN_MOVE)
UNARY(neg, GRAIN_MOVE)
UNARY(abs, GRAIN_MOVE)
UNARY(sqrt, GRAIN_MOVE)
UNARY(exp, GRAIN_MATH)
UNARY(tanh, GRAIN_MATH)
UNARY(sigmoid, GRAIN_MATH)
UNARY(silu, GRAIN_MATH)
