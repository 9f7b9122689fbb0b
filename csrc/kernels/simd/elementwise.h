/* What the files of element-wise kernels share: loops over one or two contiguous float32 operands, in which
 * the second may be one number. V_UNARY and V_BINARY stand in texts that are compiled once for each vector
 * width. */
#ifndef RL_KERNELS_SIMD_ELEMENTWISE_H
#define RL_KERNELS_SIMD_ELEMENTWISE_H
#include "common.h"

/* ---- kernels over strips ---- */
#define V_UNARY(name, expression)                                                                            \
    V_TARGET static void V_NAME(unary_##name)(const float *from, float *to, int64_t n) {                     \
        int64_t i = 0;                                                                                       \
        for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                             \
            VF x = v_load(from + i);                                                                         \
            v_store(to + i, expression);                                                                     \
        }                                                                                                    \
        if (i < n) {                                                                                         \
            VM m = v_tail(n - i);                                                                            \
            VF x = v_load_tail(from + i, m);                                                                 \
            v_store_tail(to + i, m, expression);                                                             \
        }                                                                                                    \
    }

/* a side of a single element comes as a step of 0 */
#define V_BINARY(name, expression)                                                                           \
    V_TARGET static void V_NAME(binary_##name)(const float *left, const float *right, float *to, int64_t n,  \
                                               int step_a, int step_b, float number) {                       \
        VF s = v_set(number), a = v_zero(), b = v_zero();                                                    \
        int64_t i = 0;                                                                                       \
        (void)s;                                                                                             \
        if (n == 0) return;                                                                                  \
        if (!step_a) a = v_set(*left);                                                                       \
        if (!step_b) b = v_set(*right);                                                                      \
        if (step_a && step_b) {                                                                              \
            for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                         \
                a = v_load(left + i), b = v_load(right + i);                                                 \
                v_store(to + i, expression);                                                                 \
            }                                                                                                \
        } else if (step_a) {                                                                                 \
            for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                         \
                a = v_load(left + i);                                                                        \
                v_store(to + i, expression);                                                                 \
            }                                                                                                \
        } else {                                                                                             \
            for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                         \
                if (step_b) b = v_load(right + i);                                                           \
                v_store(to + i, expression);                                                                 \
            }                                                                                                \
        }                                                                                                    \
        if (i < n) {                                                                                         \
            VM m = v_tail(n - i);                                                                            \
            if (step_a) a = v_load_tail(left + i, m);                                                        \
            if (step_b) b = v_load_tail(right + i, m);                                                       \
            v_store_tail(to + i, m, expression);                                                             \
        }                                                                                                    \
    }

/* ---- calls: also in place ---- */
#ifdef RL_SIMD_X86
typedef void (*unary_fn)(const float *, float *, int64_t);
typedef struct {
    unary_fn f;
    const float *from;
    float *to;
} unary_job;

static inline void unary_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    unary_job *j = ctx;
    (void)thread;
    j->f(j->from + begin, j->to + begin, end - begin);
}

static inline rl_status unary_run(rl_call *k, unary_fn avx2, unary_fn avx512, double ns) {
    const rl_view *in = rl_in(k, 0), *out = k->out[0];
    if (!(k->svc->isa & RL_ISA_AVX2) || !in || in->dtype != RL_F32 || out->dtype != RL_F32 ||
        in->numel != out->numel || !rl_is_contiguous(in) || !rl_is_contiguous(out))
        return RL_UNSUPPORTED;
    unary_job j = {k->svc->isa & RL_ISA_AVX512 ? avx512 : avx2, rl_const_data(in), rl_data(out, RL_WRITE)};
    k->svc->parallel(k, out->numel, ns, unary_chunk, &j);
    return RL_OK;
}

typedef void (*binary_fn)(const float *, const float *, float *, int64_t, int, int, float);
typedef struct {
    binary_fn f;
    const float *a, *b;
    float *to;
    int step_a, step_b;
    float number; /* alpha */
    float room[2];
} binary_job;

static inline void binary_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    binary_job *j = ctx;
    (void)thread;
    j->f(j->a + j->step_a * begin, j->b + j->step_b * begin, j->to + begin, end - begin, j->step_a, j->step_b,
         j->number);
}

static inline bool binary_same_shape(const rl_view *a, const rl_view *b) {
    if (a->ndim != b->ndim || a->numel != b->numel) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

/* one element in every place, as the gradient of a sum is */
static inline bool binary_repeats(const rl_view *v) {
    for (int d = 0; d < v->ndim; d++)
        if (v->shape[d] != 1 && v->strides[d] != 0) return false;
    return v->numel > 0;
}

/* Finds side i: memory of out's shape (step 1) or one value copied to `room` (step 0). A copy, because
 * in-place calls may overwrite the element while other chunks still want it. */
static inline bool binary_side(const rl_call *k, int i, const float **p, int *step, float *room) {
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

static inline rl_status binary_run(rl_call *k, binary_fn avx2, binary_fn avx512, float number) {
    const rl_view *out = k->out[0];
    binary_job j = {.f = k->svc->isa & RL_ISA_AVX512 ? avx512 : avx2, .number = number};
    if (!(k->svc->isa & RL_ISA_AVX2) || !rl_is_plain(out) ||
        !binary_side(k, 0, &j.a, &j.step_a, &j.room[0]) || !binary_side(k, 1, &j.b, &j.step_b, &j.room[1]))
        return RL_UNSUPPORTED;
    j.to = rl_data(out, RL_WRITE);
    k->svc->parallel(k, out->numel, 0.3, binary_chunk, &j);
    return RL_OK;
}

#define UNARY(name, ns)                                                                                      \
    RL_KERNEL(simd_##name) {                                                                                 \
        return unary_run(k, unary_##name##_avx2, unary_##name##_avx512, ns);                                 \
    }
#define BINARY(name)                                                                                         \
    RL_KERNEL(simd_##name) {                                                                                 \
        return binary_run(k, binary_##name##_avx2, binary_##name##_avx512, 1.0f);                            \
    }
#else
#define UNARY(name, ns)                                                                                      \
    RL_KERNEL(simd_##name) {                                                                                 \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
#define BINARY(name)                                                                                         \
    RL_KERNEL(simd_##name) {                                                                                 \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
#endif

#define NS_MOVE 0.15 /* an element */
#define NS_MATH 0.6
#endif
