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
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "kernels/simd/vmath/math_impl.inc"
#include "distance_impl.inc"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "kernels/simd/vmath/math_impl.inc"
#include "distance_impl.inc"
#undef SIMD_BITS
#define SIMD_DOUBLE
#define SIMD_BITS 256
#include "isa.h"
#include "distance_impl.inc"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "distance_impl.inc"

typedef void (*body)(void *, int64_t, int64_t, int);
#define OF(name, isa)                                                                                        \
    [RL_P_SUM] = name##_RL_P_SUM##isa, [RL_P_SQUARE] = name##_RL_P_SQUARE##isa,                              \
    [RL_P_LINF] = name##_RL_P_LINF##isa
#define POWER_OF(name, isa) [RL_P_POWER] = name##_RL_P_POWER##isa
#define COUNT_OF(name, isa) [RL_P_COUNT] = name##_RL_P_COUNT##isa
#define TASKS_OF(isa)       OF(distance_tasks, isa), COUNT_OF(distance_tasks, isa)

/* by whether they are doubles, by instruction set, by order; NULL: left to the next kernel */
static const body tasks[2][2][RL_P_ORDERS] = {
    {{TASKS_OF(_avx2), POWER_OF(distance_tasks, _avx2)},
     {TASKS_OF(_avx512), POWER_OF(distance_tasks, _avx512)}},
    {{TASKS_OF(_avx2_f64)}, {TASKS_OF(_avx512_f64)}},
};
static const body rows[2][2][RL_P_ORDERS] = {
    {{OF(slope_rows, _avx2), POWER_OF(slope_rows, _avx2)},
     {OF(slope_rows, _avx512), POWER_OF(slope_rows, _avx512)}},
    {{OF(slope_rows, _avx2_f64)}, {OF(slope_rows, _avx512_f64)}},
};

static body body_of(const rl_call *k, const body table[2][2][RL_P_ORDERS], const rl_distances *d) {
    const int dtype = d->first->dtype;
    if (!(k->svc->isa & RL_ISA_AVX2) || (dtype != RL_F32 && dtype != RL_F64)) return NULL;
    return table[dtype == RL_F64][(k->svc->isa & RL_ISA_AVX512) != 0][d->order];
}

RL_CHOOSER
static rl_status forward(rl_call *k, rl_distances d) {
    const body run = body_of(k, tasks, &d);
    const int64_t item = rl_itemsize(d.first->dtype),
                  columns = (k->svc->isa & RL_ISA_AVX512 ? 128 : 64) / item;
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
    const body run = body_of(k, rows, &d);
    distance_job s = {.d = d};
    if (!run || d.first->strides[d.first->ndim - 1] != 1 || d.second->strides[d.second->ndim - 1] != 1)
        return RL_UNSUPPORTED;
    if (d.result->numel == 0) return RL_OK;
    const double one = 1 + (double)d.width * (d.order == RL_P_POWER ? 1 : 0.05);
    k->svc->parallel(k, d.batches * d.rows, one * (double)d.others, run, &s);
    return RL_OK;
}
#else
static rl_status forward(rl_call *k, rl_distances d) {
    (void)k, (void)d;
    return RL_UNSUPPORTED;
}
#define backward forward
#endif

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
