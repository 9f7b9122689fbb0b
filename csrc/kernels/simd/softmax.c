/* Softmax over the last dimension, of contiguous float32. */
#include "common.h"
#ifdef RL_SIMD_X86
typedef void (*row_fn)(const float *, const float *, float *, int64_t);
typedef struct {
    row_fn row;
    const float *a, *b; /* b: of gradients */
    float *to;
    int64_t n;
} row_job;
static const double ROW_NS = 0.8; /* a number */
#define SIMD_BITS 256
#include "isa.h"
#include "vector_math_body.h"
#include "vector_sums_body.h"
#include "softmax_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_math_body.h"
#include "vector_sums_body.h"
#include "softmax_body.h"

static void row_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const row_job *j = ctx;
    (void)thread;
    for (int64_t i = begin * j->n; i < end * j->n; i += j->n)
        j->row(j->a + i, j->b ? j->b + i : NULL, j->to + i, j->n);
}

static rl_status row_run(rl_call *k, int arguments, row_fn avx2, row_fn avx512) {
    const rl_view *a = rl_in(k, 0), *b = arguments == 2 ? rl_in(k, 1) : NULL, *out = k->out[0];
    if (!(k->svc->isa & RL_ISA_AVX2) || !rl_is_plain(a) || !rl_is_plain(out) || (b && !rl_is_plain(b)) ||
        out->ndim == 0 || k->attr[0] != out->ndim - 1 || out->numel == 0)
        return RL_UNSUPPORTED;
    row_job j = {.row = k->svc->isa & RL_ISA_AVX512 ? avx512 : avx2, .a = rl_const_data(a)};
    j.b = b ? rl_const_data(b) : NULL, j.to = rl_data(out, RL_WRITE), j.n = out->shape[out->ndim - 1];
    k->svc->parallel(k, out->numel / j.n, ROW_NS * (double)j.n, row_part, &j);
    return RL_OK;
}

#define ROWS(kernel, arguments, name)                                                                        \
    RL_KERNEL(simd_##kernel) {                                                                               \
        return row_run(k, arguments, name##_avx2, name##_avx512);                                            \
    }
ROWS(softmax, 1, softmax_row)
ROWS(log_softmax, 1, log_softmax_row)
ROWS(softmax_backward, 2, softmax_back_row)
ROWS(log_softmax_backward, 2, log_softmax_back_row)
#else
#define REFUSES(kernel)                                                                                      \
    RL_KERNEL(simd_##kernel) {                                                                               \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
REFUSES(softmax)
REFUSES(log_softmax)
REFUSES(softmax_backward)
REFUSES(log_softmax_backward)
#endif
