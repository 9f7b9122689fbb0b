/* What the kernels of pooling read of a call. */
#include "pool.h"

/* Windows of adaptive pooling are equal where the output divides the input. */
RL_CHOOSER
static bool windows_read(pool_job *j, const rl_window *a, bool adaptive) {
    bool even = true;
    for (int i = 0; i < 3; i++) {
        const rl_pool_plan *g = &j->plan;
        even = even && (!adaptive || g->size[i] % g->out[i] == 0);
        int64_t each = g->size[i] / g->out[i];
        j->kernel[i] = adaptive ? each : a->kernel[i];
        j->stride[i] = adaptive ? each : a->stride[i];
        j->pad[i] = adaptive ? 0 : a->before[i];
    }
    return even;
}

RL_CHOOSER
rl_status simd_pool_read(rl_call *k, pool_job *j, const rl_view *input, const rl_view *output,
                         bool adaptive) {
    if (!k->svc->isa || input->numel == 0 || output->numel == 0) return RL_UNSUPPORTED;
    j->computes = input->dtype == RL_F64 ? RL_F64 : RL_F32;
    if (j->computes == RL_F32 && !simd_is_floats(input)) return RL_UNSUPPORTED;
    j->k = k;
    j->item = (size_t)rl_itemsize(j->computes);
    if (rl_pool_plan_read(k, &j->plan, input, output, adaptive) != RL_OK) return RL_FAIL;
    RL_UNREACHED("as many places would take gigabytes")
    if (j->plan.volume >= INT32_MAX / 2 || j->plan.places >= INT32_MAX / 2) return RL_UNSUPPORTED;
    j->planes = input->numel / j->plan.volume;
    j->even = windows_read(j, rl_window_of(k), adaptive);
    return RL_OK;
}

static rl_layout pool_layout(const rl_call *k, pool_job *j) {
    rl_layout l = rl_layout_begin(k);
    j->line_at = rl_layout_add(&l, RL_COUNT(j->line), (int64_t)j->item);
    j->woven_at = rl_layout_add(&l, RL_COUNT(j->woven), (int64_t)j->item);
    return l;
}

rl_status simd_pool_begin(rl_call *k, pool_job *j, const rl_view *from, const rl_view *to) {
    const rl_layout l = pool_layout(k, j);
    if ((j->line || j->woven) && !k->svc->rooms(k, &l, simd_max(1, k->threads), &j->rooms)) return RL_FAIL;
    j->in = simd_block_of(k, from, j->computes);
    j->out =
        to->dtype == j->computes ? rl_data(to, RL_WRITE) : k->svc->scratch(k, RL_COUNT(to->numel), j->item);
    return j->in && j->out ? RL_OK : RL_FAIL;
}
rl_status simd_pool_end(rl_call *k, pool_job *j, const rl_view *to) {
    if (to->dtype != j->computes) simd_block_put(k, to, j->out, j->computes);
    return RL_OK;
}

void *simd_pool_counts(rl_call *k, const pool_job *j, int i) {
    int64_t n = j->plan.out[i];
    void *counts = k->svc->scratch(k, rl_count_plus(RL_COUNT(n), POOL_SLACK), j->item);
    for (int64_t o = 0; counts && o < n + POOL_SLACK; o++) {
        int64_t count = o < n ? rl_pool_count(k, &j->plan, i, o) : 1;
        if (j->computes == RL_F64)
            ((double *)counts)[o] = (double)count;
        else
            ((float *)counts)[o] = (float)count;
    }
    return counts;
}

/* Where a window begins, in the padding or not: in order, which what it sees first is not with dilation. */
static int64_t corner(const pool_job *j, int i, int64_t o) {
    return j->plan.adaptive ? j->plan.spans[i][o].start : o * j->stride[i] - j->pad[i];
}
pool_seen *simd_pool_seen(rl_call *k, const pool_job *j, int i) {
    const rl_pool_plan *g = &j->plan;
    const rl_span *spans = g->spans[i];
    pool_seen *seen = k->svc->scratch(k, RL_COUNT(g->size[i]), sizeof *seen);
    int64_t first = 0, last = 0;
    for (int64_t x = 0; seen && x < g->size[i]; x++) {
        while (first < g->out[i] && spans[first].end <= x) first++;
        while (last < g->out[i] && corner(j, i, last) <= x) last++;
        seen[x] = (pool_seen){first, last};
    }
    return seen;
}
