/* Distances between rows, many at once. */
#include "common.h"
#include "kernels/shared/distance.h"

/* ---- distances between rows, many at once: Note [Distances] in kernels/shared/distance.h ---- */
/* Note [Distance tiles]
 *
 *              panel: NR rows of second, turned,     a task is one panel against CHUNK rows of first;
 *                     DEPTH numbers at a time        a tile of rows by NR distances stays in registers
 *   first      ┌───┬───┬
 *   CHUNK rows │   │   │
 *              ├───┼───┼ */
enum { DISTANCE_ROWS = 4, DISTANCE_DEPTH = 512, DISTANCE_CHUNK = 256 };

typedef struct {
    rl_distances d;
    rl_rooms rooms; /* a panel for each thread */
    int64_t chunks, panels;
} distance_job;

/* ---- distances between rows and their gradients, by vectors ---- */
#define ISA_IMPL "distance_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

#define OF(name, isa)                                                                                        \
    [RL_P_SUM] = name##_RL_P_SUM_##isa, [RL_P_SQUARE] = name##_RL_P_SQUARE_##isa,                            \
    [RL_P_LINF] = name##_RL_P_LINF_##isa
#define TASKS_OF(isa)   OF(distance_tasks, isa), [RL_P_COUNT] = distance_tasks_RL_P_COUNT_##isa
#define TASKS(isa, ...) [RL_ISA_##isa] = {TASKS_OF(isa), [RL_P_POWER] = distance_tasks_RL_P_POWER_##isa},
#define TASKS_OF_DOUBLES(isa, ...) [RL_ISA_##isa] = {TASKS_OF(isa##_f64)},
#define ROWS(isa, ...) [RL_ISA_##isa] = {OF(slope_rows, isa), [RL_P_POWER] = slope_rows_RL_P_POWER_##isa},
#define ROWS_OF_DOUBLES(isa, ...) [RL_ISA_##isa] = {OF(slope_rows, isa##_f64)},

/* by whether they are doubles, by instruction set, by order; NULL: left to the next kernel */
static const simd_body tasks[2][RL_ISA_END][RL_P_ORDERS] = {{RL_EACH_ISA(TASKS, )},
                                                            {RL_EACH_ISA(TASKS_OF_DOUBLES, )}};
static const simd_body rows[2][RL_ISA_END][RL_P_ORDERS] = {{RL_EACH_ISA(ROWS, )},
                                                           {RL_EACH_ISA(ROWS_OF_DOUBLES, )}};
static const int64_t columns_of[] = ISA_TABLE(DISTANCE_COLUMNS); /* floats of a panel */

static simd_body body_of(const rl_call *k, const simd_body table[2][RL_ISA_END][RL_P_ORDERS],
                         const rl_distances *d) {
    const int dtype = d->first->dtype;
    if (dtype != RL_F32 && dtype != RL_F64) return NULL;
    return table[dtype == RL_F64][k->svc->isa][d->order];
}

RL_CHOOSER
static rl_status forward(rl_call *k, rl_distances d) {
    const simd_body run = body_of(k, tasks, &d);
    const int64_t item = rl_itemsize(d.first->dtype), columns = columns_of[k->svc->isa] * 4 / item;
    distance_job s = {.d = d};
    if (!run) return RL_UNSUPPORTED;
    if (d.result->numel == 0) return RL_OK;
    s.chunks = simd_ceil_div(d.rows, DISTANCE_CHUNK), s.panels = simd_ceil_div(d.others, columns);
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(DISTANCE_DEPTH, columns), item, &s.rooms)) return RL_FAIL;
    const double one = (double)(d.width + 4) * (d.order == RL_P_POWER ? 1 : 0.04);
    k->svc->parallel(k, d.batches * s.chunks * s.panels,
                     one * (double)(simd_min(d.rows, DISTANCE_CHUNK) * columns), run, &s);
    return RL_OK;
}

RL_CHOOSER
static rl_status backward(rl_call *k, rl_distances d) {
    const simd_body run = body_of(k, rows, &d);
    distance_job s = {.d = d};
    if (!run || d.first->strides[d.first->ndim - 1] != 1 || d.second->strides[d.second->ndim - 1] != 1)
        return RL_UNSUPPORTED;
    if (d.result->numel == 0) return RL_OK;
    const double one = 1 + (double)d.width * (d.order == RL_P_POWER ? 1 : 0.05);
    k->svc->parallel(k, d.batches * d.rows, one * (double)d.others, run, &s);
    return RL_OK;
}

RL_KERNEL(simd_cdist) {
    return forward(k, rl_distances_of(k, 0, false, k->n_arg > 2 ? rl_num(k, 2) : 2));
}
RL_KERNEL(simd_cdist_backward) {
    return backward(k, rl_distances_of(k, 1, false, rl_num(k, 3)));
}
RL_KERNEL(simd_pdist) {
    return forward(k, rl_distances_of(k, 0, true, rl_num(k, 1)));
}
RL_KERNEL(simd_pdist_backward) {
    return backward(k, rl_distances_of(k, 1, true, rl_num(k, 2)));
}
