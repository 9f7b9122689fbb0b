/* Steps of optimisers over whole lists of float32 parameters. */
#include "contract/kernel.h"
#include "common.h"

typedef struct {
    float rate, momentum, fresh, decay; /* fresh: 1 - dampening */
    bool nesterov, maximize;
} sgd_numbers;

#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "optim_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "optim_body.h"

static const double STEP_NS = 0.4; /* a number */
typedef struct {
    const sgd_numbers *numbers;
    void (*row)(const sgd_numbers *, float *, const float *, float *, int64_t);
    float *p, *b;
    const float *g;
} sgd_job;

static void sgd_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const sgd_job *j = ctx;
    (void)thread;
    j->row(j->numbers, j->p + begin, j->g + begin, j->b ? j->b + begin : NULL, end - begin);
}

static bool sgd_plain(const rl_slot *list) {
    for (int i = 0; i < list->n; i++)
        if (list->u.ts[i]->dtype != RL_F32 || !rl_is_contiguous(list->u.ts[i])) return false;
    return true;
}

/* (params, grads, buffers, lr, momentum, dampening, weight_decay, nesterov, maximize) */
RL_KERNEL(simd_sgd) {
    rl_slot *p = &k->arg[0], *g = &k->arg[1], *b = &k->arg[2];
    if (!(k->svc->isa & RL_ISA_AVX2) || !sgd_plain(p) || !sgd_plain(g) || !sgd_plain(b))
        return RL_UNSUPPORTED;
    sgd_numbers s = {(float)rl_num(k, 3), (float)rl_num(k, 4), (float)(1 - rl_num(k, 5)),
                     (float)rl_num(k, 6), rl_int(k, 7) != 0,   rl_int(k, 8) != 0};
    sgd_job j = {.numbers = &s, .row = k->svc->isa & RL_ISA_AVX512 ? sgd_row_avx512 : sgd_row_avx2};
    for (int i = 0; i < p->n; i++) {
        int64_t n = p->u.ts[i]->numel;
        j.p = rl_data(p->u.ts[i], RL_WRITE);
        j.g = rl_const_data(g->u.ts[i]);
        j.b = b->n ? rl_data(b->u.ts[i], RL_WRITE) : NULL;
        k->svc->parallel(k, n, STEP_NS, sgd_chunk, &j);
    }
    return RL_OK;
}
#else
RL_KERNEL(simd_sgd) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
