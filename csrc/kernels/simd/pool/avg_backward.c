/* Gradients of average pooling.
 *
 * Note [Rows of gradients]
 *   A row of the input is seen by some rows of outputs, each input of it by some outputs side by side, since
 *   windows begin and end in order. Their gradients, divided by what the means were divided by, are added
 *   above each other to a line, and then along it: at steps of 1 and 2 as the windows lie, else at places
 * that a table names. Nothing is written twice. */
#include "pool.h"
typedef enum {
    AVG_BACKWARD_FILL,
    AVG_BACKWARD_ONE,
    AVG_BACKWARD_TWO,
    AVG_BACKWARD_TABLE,
    AVG_BACKWARD_EACH
} avg_backward_way;
typedef struct {
    pool_job job;
    avg_backward_way way;
    pool_seen *seen[3]; /* by an input: the outputs */
    void *counts[3];
    int64_t left; /* elements of a thread's line in front of output 0: zeros */
    const int32_t *table;
    int64_t table_row, rounds;
} avg_backward_job;
#define ISA_IMPL "kernels/simd/pool/avg_backward_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

static bool table_make(rl_call *k, avg_backward_job *s) {
    const rl_pool_plan *g = &s->job.plan;
    s->table_row = g->size[2] + POOL_SLACK;
    int32_t *table = k->svc->scratch(k, RL_COUNT(s->table_row, s->rounds), sizeof *table);
    for (int64_t t = 0; table && t < s->rounds; t++)
        for (int64_t x = 0; x < s->table_row; x++) {
            int64_t o = x < g->size[2] ? s->seen[2][x].first + t : 0;
            table[t * s->table_row + x] =
                x < g->size[2] && o < s->seen[2][x].last ? (int32_t)(s->left + o) : 0;
        }
    s->table = table;
    return table;
}

/* false: no memory */
RL_CHOOSER
static bool way_choose(rl_call *k, avg_backward_job *s) {
    enum { LONGEST = 4096 };
    pool_job *j = &s->job;
    const rl_pool_plan *g = &j->plan;
    bool steps = j->even && j->stride[2] <= 2 && j->kernel[2] <= LONGEST;
    bool whole = g->out[2] == 1 && g->spans[2][0].end >= g->size[2];
    s->way = whole                      ? AVG_BACKWARD_FILL
             : steps                    ? (j->stride[2] == 1 ? AVG_BACKWARD_ONE : AVG_BACKWARD_TWO)
             : s->rounds <= POOL_ROUNDS ? AVG_BACKWARD_TABLE
                                        : AVG_BACKWARD_EACH;
    s->left = steps ? simd_max(1, j->kernel[2]) : 1;
    int64_t ends = simd_max(g->out[2], g->size[2] + (steps ? j->pad[2] : 0)) + POOL_SLACK;
    j->line = s->left + ends;
    j->woven = s->way == AVG_BACKWARD_TWO ? g->size[2] + j->pad[2] + 2 * POOL_SLACK : 0;
    return s->way != AVG_BACKWARD_TABLE || table_make(k, s);
}

RL_CHOOSER
static rl_status avg_backward_run(rl_call *k, bool adaptive) {
    avg_backward_job s = {0};
    pool_job *j = &s.job;
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    rl_status read = simd_pool_read(k, j, out, grad, adaptive);
    if (read != RL_OK) return read;
    for (int i = 0; i < 3; i++) {
        s.seen[i] = simd_pool_seen(k, j, i);
        s.counts[i] = simd_pool_counts(k, j, i);
        if (!s.seen[i] || !s.counts[i]) return RL_FAIL;
    }
    s.rounds = 1;
    for (int64_t x = 0; x < j->plan.size[2]; x++)
        s.rounds = simd_max(s.rounds, s.seen[2][x].last - s.seen[2][x].first);
    if (!way_choose(k, &s) || simd_pool_begin(k, j, grad, out) != RL_OK) return RL_FAIL;
    int64_t rows = j->planes * j->plan.size[0] * j->plan.size[1];
    k->svc->parallel(k, rows, 10 + POOL_NS * (double)j->plan.size[2],
                     pool_body_of(j, POOL_BODIES(avg_backward_items)), &s);
    return simd_pool_end(k, j, out);
}

RL_KERNEL(simd_avg_pool_back) {
    return avg_backward_run(k, false);
}
RL_KERNEL(simd_adaptive_avg_pool_back) {
    return avg_backward_run(k, true);
}
