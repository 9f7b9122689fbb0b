/* Element by element on two contiguous float32 tensors of one shape, or on a tensor and one number. */
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "vector_math_body.h"
#include "arith_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_math_body.h"
#include "arith_body.h"

enum { GRAIN = 32768 }; /* elements per thread below which waking another one does not pay */
typedef void (*binary_fn)(const float *, const float *, float *, int64_t, int, int, float);
typedef struct {
    binary_fn f;
    const float *a, *b;
    float *to;
    int step_a, step_b;
    float number; /* alpha */
    float room[2];
} binary_job;

static void binary_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    binary_job *j = ctx;
    (void)thread;
    j->f(j->a + j->step_a * begin, j->b + j->step_b * begin, j->to + begin, end - begin, j->step_a, j->step_b,
         j->number);
}

static bool binary_same_shape(const rl_view *a, const rl_view *b) {
    if (a->ndim != b->ndim || a->numel != b->numel) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

/* Finds side i: memory of out's shape (step 1) or one value copied to `room` (step 0). A copy, because
 * in-place calls may overwrite the element while other chunks still want it. */
/* one element in every place, as the gradient of a sum is */
static bool binary_repeats(const rl_view *v) {
    for (int d = 0; d < v->ndim; d++)
        if (v->shape[d] != 1 && v->strides[d] != 0) return false;
    return v->numel > 0;
}

static bool binary_side(const rl_call *k, int i, const float **p, int *step, float *room) {
    const rl_view *v = rl_in(k, i), *out = k->out[0];
    *step = 0;
    *p = room;
    if (!v) {
        uint8_t tag = k->arg[i].tag;
        *room = (float)rl_num(k, i);
        return tag == RL_FLOAT || tag == RL_INT || tag == RL_TRUTH;
    }
    if (v->dtype != RL_F32) return false;
    if (v->numel == 1 || (binary_repeats(v) && binary_same_shape(v, out))) {
        *room = *(const float *)rl_const_data(v);
        return true;
    }
    *p = rl_const_data(v);
    *step = 1;
    return binary_same_shape(v, out) && rl_is_contiguous(v);
}

static rl_status binary_run(rl_call *k, binary_fn avx2, binary_fn avx512, float number) {
    const rl_view *out = k->out[0];
    binary_job j = {.f = k->svc->isa & RL_ISA_AVX512 ? avx512 : avx2, .number = number};
    if (!(k->svc->isa & RL_ISA_AVX2) || !rl_is_plain(out) ||
        !binary_side(k, 0, &j.a, &j.step_a, &j.room[0]) || !binary_side(k, 1, &j.b, &j.step_b, &j.room[1]))
        return RL_UNSUPPORTED;
    j.to = rl_data(out, RL_WRITE);
    if (out->numel <= GRAIN)
        j.f(j.a, j.b, j.to, out->numel, j.step_a, j.step_b, number);
    else
        k->svc->parallel(k, out->numel, GRAIN, binary_chunk, &j);
    return RL_OK;
}

static double binary_alpha(const rl_call *k) {
    return k->arg[2].tag == RL_NONE ? 1.0 : rl_num(k, 2);
}

RL_KERNEL(simd_add) {
    double alpha = binary_alpha(k);
    if (alpha == 1.0) return binary_run(k, binary_add_avx2, binary_add_avx512, 1.0f);
    return binary_run(k, binary_axpy_avx2, binary_axpy_avx512, (float)alpha);
}
RL_KERNEL(simd_sub) {
    double alpha = binary_alpha(k);
    if (alpha == 1.0) return binary_run(k, binary_sub_avx2, binary_sub_avx512, 1.0f);
    return binary_run(k, binary_axpy_avx2, binary_axpy_avx512, (float)-alpha);
}
RL_KERNEL(simd_div) {
    if (k->arg[2].tag != RL_NONE) return RL_UNSUPPORTED;
    return binary_run(k, binary_div_avx2, binary_div_avx512, 1.0f);
}
RL_KERNEL(simd_threshold_backward) {
    return binary_run(k, binary_threshold_backward_avx2, binary_threshold_backward_avx512,
                      (float)rl_num(k, 2));
}
#define BINARY(name)                                                                                         \
    RL_KERNEL(simd_##name) {                                                                                 \
        return binary_run(k, binary_##name##_avx2, binary_##name##_avx512, 1.0f);                            \
    }
BINARY(mul)
BINARY(maximum)
BINARY(minimum)
BINARY(sigmoid_backward)
BINARY(tanh_backward)
BINARY(silu_backward)
#else
#define BINARY(name)                                                                                         \
    RL_KERNEL(simd_##name) {                                                                                 \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(maximum)
BINARY(minimum)
BINARY(threshold_backward)
BINARY(sigmoid_backward)
BINARY(tanh_backward)
BINARY(silu_backward)
#endif
