/* Steps of optimisers over whole lists of parameters: one row over all of their elements. Note [Steps] */
#include "kernels/shared/optim.h"

#include "common.h"
#include <string.h>

#define ISA_IMPL "optim_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

static const double STEP_NS = 0.4; /* an element */
typedef void (*step_row)(const double *numbers, void *const *lists, int64_t n);
typedef struct {
    const rl_call *k;
    const rl_step_plan *plan;
    const double *numbers;
    const int64_t *ends;  /* how many elements the parameters up to each have */
    const step_row *rows; /* by dtype */
} step_job;

/* elements [begin, end) of parameter i */
static void step_part(const step_job *j, int i, int64_t begin, int64_t end) {
    const int64_t item = rl_itemsize(j->k->arg[0].u.ts[i]->dtype);
    void *at[RL_STEP_LISTS];
    for (int l = 0; l < j->plan->lists; l++) {
        const rl_value *list = &j->k->arg[l];
        at[l] = list->n ? (char *)rl_data(list->u.ts[i], l == 1 ? RL_READ : RL_WRITE) + begin * item : NULL;
    }
    j->rows[j->k->arg[0].u.ts[i]->dtype](j->numbers + (int64_t)i * RL_STEP_NUMBERS, at, end - begin);
}

static void step_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const step_job *j = ctx;
    int first = 0, behind = j->k->arg[0].n;
    (void)thread;
    while (first < behind) { /* the parameter that element `begin` belongs to */
        int middle = first + (behind - first) / 2;
        if (j->ends[middle] <= begin)
            first = middle + 1;
        else
            behind = middle;
    }
    for (int i = first; begin < end; i++) {
        const int64_t start = i ? j->ends[i - 1] : 0, stop = j->ends[i] < end ? j->ends[i] : end;
        if (begin < stop) step_part(j, i, begin - start, stop - start);
        begin = stop;
    }
}

/* Do all tensors of parameter i lie in memory in one order, without gaps? */
static bool step_is_flat(const rl_call *k, const rl_step_plan *plan, const step_row *rows, int i) {
    const rl_view *p = k->arg[0].u.ts[i];
    if (!rows[p->dtype] || (p->numel && !rl_is_dense(p))) return false;
    for (int l = 1; l < plan->lists; l++)
        for (int d = 0; d < p->ndim && k->arg[l].n; d++)
            if (p->shape[d] > 1 && k->arg[l].u.ts[i]->strides[d] != p->strides[d]) return false;
    return true;
}

RL_CHOOSER
static rl_status step_lists(rl_call *k, const rl_step_plan *plan, const step_row rows[][RL_NDTYPES]) {
    step_job j = {.k = k, .plan = plan, .rows = rows[k->svc->isa]};
    int64_t all = 0, *ends;
    if (!k->svc->isa) return RL_UNSUPPORTED;
    for (int i = 0; i < k->arg[0].n; i++)
        if (!step_is_flat(k, plan, j.rows, i)) return RL_UNSUPPORTED;
    if (!(ends = k->svc->scratch(k, RL_COUNT(k->arg[0].n), sizeof *ends))) return RL_FAIL;
    for (int i = 0; i < k->arg[0].n; i++) ends[i] = all += k->arg[0].u.ts[i]->numel;
    j.ends = ends;
    if (!(j.numbers = rl_step_numbers(k, plan))) return RL_FAIL;
    k->svc->parallel(k, all, STEP_NS, step_chunk, &j);
    return RL_OK;
}

#define STEP_ROWS(isa, torch, has, name)                                                                     \
    [RL_ISA_##isa] = {[RL_F32] = row_##name##_##isa,                                                         \
                      [RL_F64] = row_##name##_##isa##_f64,                                                   \
                      [RL_F16] = row_##name##_half_##isa,                                                    \
                      [RL_BF16] = row_##name##_bfloat_##isa},
#define STEP_KERNEL(name)                                                                                    \
    RL_KERNEL(simd_##name) {                                                                                 \
        static const step_row rows[RL_ISA_END][RL_NDTYPES] = {RL_EACH_ISA(STEP_ROWS, name)};                 \
        return step_lists(k, &rl_step_##name, rows);                                                         \
    }
STEP_KERNEL(sgd)
STEP_KERNEL(adam)
STEP_KERNEL(adadelta)
STEP_KERNEL(adagrad)
STEP_KERNEL(adamax)
STEP_KERNEL(asgd)
STEP_KERNEL(nadam)
STEP_KERNEL(radam)
STEP_KERNEL(rmsprop)
STEP_KERNEL(rprop)
