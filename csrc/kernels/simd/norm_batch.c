/* Batch normalisation of contiguous float32 planes, forward and backward: a thread takes whole channels. Sums
 * of a plane are float, sums of planes double. */
#include "common.h"
#ifdef RL_SIMD_X86
#include <math.h>
typedef struct {
    double (*sum)(const float *x, int64_t n);
    double (*squares)(const float *x, int64_t n, float center);
    void (*apply)(const float *x, float *to, int64_t n, float center, float scale, float shift);
    void (*dots)(const float *grad, const float *x, int64_t n, float center, double to[2]);
    void (*back)(const float *grad, const float *x, float *to, int64_t n, float center, float scale,
                 float slope, float shift);
} plane_kit;
#define SIMD_BITS 256
#include "isa.h"
#include "vector_sums_body.h"
#include "norm_batch_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_sums_body.h"
#include "norm_batch_body.h"

enum { SHORT = 8 };                /* shorter planes are left to others */
static const double NORM_NS = 0.4; /* a number */
typedef struct {
    const rl_call *k;
    const plane_kit *kit;
    const float *x, *grad;
    float *to;
    int64_t samples, channels, plane;
    const rl_view *weight, *bias, *mean, *var; /* mean, var: running, or saved for backward */
    float *kept[2];                            /* two more results, or NULL */
    bool train;
    double momentum, eps;
} norm_job;

static float *element(const rl_view *v, int64_t c, int mode) {
    return (float *)rl_data(v, mode) + c * v->strides[v->ndim - 1];
}

static void running_move(const rl_view *v, int64_t c, double momentum, double value) {
    float *p = element(v, c, RL_WRITE);
    *p = (float)((1 - momentum) * (double)*p + momentum * value);
}

static void norm_channels(void *ctx, int64_t begin, int64_t end, int thread) {
    const norm_job *j = ctx;
    double n = (double)(j->samples * j->plane);
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        double mean = 0, var = 0;
        int64_t step = j->channels * j->plane, at = c * j->plane;
        if (j->train) {
            for (int64_t i = 0; i < j->samples; i++) mean += j->kit->sum(j->x + at + i * step, j->plane);
            mean /= n;
            for (int64_t i = 0; i < j->samples; i++)
                var += j->kit->squares(j->x + at + i * step, j->plane, (float)mean);
            var /= n;
            if (j->mean) running_move(j->mean, c, j->momentum, mean);
            if (j->var) running_move(j->var, c, j->momentum, var * n / (n - 1));
        } else {
            mean = (double)*element(j->mean, c, RL_READ), var = (double)*element(j->var, c, RL_READ);
        }
        double scale = 1 / sqrt(var + j->eps);
        if (j->kept[0] && j->train) j->kept[0][c] = (float)mean, j->kept[1][c] = (float)scale;
        if (j->weight) scale *= (double)*element(j->weight, c, RL_READ);
        float shift = j->bias ? *element(j->bias, c, RL_READ) : 0;
        for (int64_t i = 0; i < j->samples; i++)
            j->kit->apply(j->x + at + i * step, j->to + at + i * step, j->plane, (float)mean, (float)scale,
                          shift);
    }
}

/* Note [Lines] in kernels/ref/norm_backward.c has the formulas */
static void back_channels(void *ctx, int64_t begin, int64_t end, int thread) {
    const norm_job *j = ctx;
    double n = (double)(j->samples * j->plane);
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        double sums[2] = {0, 0}, scale = (double)*element(j->var, c, RL_READ);
        float mean = *element(j->mean, c, RL_READ);
        int64_t step = j->channels * j->plane, at = c * j->plane;
        double weight = j->weight ? (double)*element(j->weight, c, RL_READ) : 1;
        if (!j->train) scale = 1 / sqrt(scale + j->eps);
        for (int64_t i = 0; i < j->samples; i++)
            j->kit->dots(j->grad + at + i * step, j->x + at + i * step, j->plane, mean, sums);
        j->kept[0][c] = (float)(sums[1] * scale), j->kept[1][c] = (float)sums[0];
        double a = weight * scale, slope = j->train ? a * sums[1] * scale * scale / n : 0;
        double shift = j->train ? a * sums[0] / n : 0;
        for (int64_t i = 0; i < j->samples; i++)
            j->kit->back(j->grad + at + i * step, j->x + at + i * step, j->to + at + i * step, j->plane, mean,
                         (float)a, (float)slope, (float)shift);
    }
}

static bool norm_read(const rl_call *k, int input, int weight, norm_job *j) {
    const rl_view *x = rl_in(k, input);
    if (!(k->svc->isa & RL_ISA_AVX2) || !rl_is_plain(x) || x->numel == 0 || x->ndim < 3) return false;
    *j = (norm_job){.k = k, .samples = x->shape[0], .channels = x->shape[1], .weight = rl_in(k, weight)};
    j->kit = k->svc->isa & RL_ISA_AVX512 ? &kit_avx512 : &kit_avx2;
    j->plane = x->numel / (j->samples * j->channels);
    j->x = rl_const_data(x);
    return j->plane >= SHORT && (!j->weight || j->weight->dtype == RL_F32);
}

static bool all_float(const rl_view *a, const rl_view *b) {
    return (!a || a->dtype == RL_F32) && (!b || b->dtype == RL_F32);
}

RL_KERNEL(simd_batch_norm) {
    norm_job j;
    if (!norm_read(k, 0, 1, &j)) return RL_UNSUPPORTED;
    j.bias = rl_in(k, 2), j.mean = rl_in(k, 3), j.var = rl_in(k, 4), j.train = k->arg[5].u.i != 0;
    j.momentum = rl_num(k, 6), j.eps = rl_num(k, 7);
    if (!all_float(j.mean, j.var) || !all_float(j.bias, NULL)) return RL_UNSUPPORTED;
    j.to = rl_data(k->out[0], RL_WRITE);
    for (int i = 1; k->n_out == 3 && i < 3; i++) j.kept[i - 1] = rl_data(k->out[i], RL_WRITE);
    k->svc->parallel(k, j.channels, NORM_NS * (double)(j.samples * j.plane), norm_channels, &j);
    return RL_OK;
}

RL_KERNEL(simd_batch_norm_back) {
    norm_job j;
    const rl_view *grad = rl_in(k, 0);
    if (!norm_read(k, 1, 2, &j) || !rl_is_plain(grad)) return RL_UNSUPPORTED;
    j.train = k->arg[7].u.i != 0, j.eps = rl_num(k, 8);
    j.mean = rl_in(k, j.train ? 5 : 3), j.var = rl_in(k, j.train ? 6 : 4);
    if (!j.mean || !j.var || !j.mean->numel || !j.var->numel || !all_float(j.mean, j.var))
        return RL_UNSUPPORTED;
    j.grad = rl_const_data(grad), j.to = rl_data(k->out[0], RL_WRITE);
    for (int i = 1; i < 3; i++) j.kept[i - 1] = rl_data(k->out[i], RL_WRITE);
    k->svc->parallel(k, j.channels, NORM_NS * (double)(j.samples * j.plane), back_channels, &j);
    return RL_OK;
}
#else
RL_KERNEL(simd_batch_norm) {
    (void)k;
    return RL_UNSUPPORTED;
}
RL_KERNEL(simd_batch_norm_back) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
