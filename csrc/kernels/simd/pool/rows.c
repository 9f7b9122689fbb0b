/* Average and max pooling, row by row.
 *
 * Note [Rows of windows]
 *   A row of outputs sees the same rows of the input. First what these have above each other goes to a line,
 *   a column by itself, then windows are taken along that line, V_WIDTH of them at once:
 *
 *     rows of the input    ┌──────────────┐
 *                          └──────────────┘
 *     line         pad, pad, columns ..., pad      outputs: ROWS_ONE, ROWS_TWO at steps of 1 and 2,
 *                  ╰ window ╯╰ window ╯                     ROWS_TABLE at any places
 *
 *   A table names, for each output, the elements of its window in the line; what is missing is the line's
 *   element 0. Few wide windows are taken one by one (ROWS_WIDE), those of 2 x 2 without a line. */
#include "pool.h"
typedef enum { ROWS_PAIRS, ROWS_ONE, ROWS_TWO, ROWS_TABLE, ROWS_WIDE } rows_way;
typedef struct {
    pool_job job;
    rows_way way;
    int64_t lead; /* elements of the line in front of column 0 */
    const int32_t *table;
    int64_t table_row, rounds;
    void *counts; /* what means divide by along the line */
} rows_job;
#define ISA_IMPL "kernels/simd/pool/rows_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

static int64_t widest(const pool_job *j) {
    const rl_pool_plan *g = &j->plan;
    int64_t most = 1;
    for (int64_t o = 0; o < g->out[2]; o++)
        most = simd_max(most, simd_ceil_div(g->spans[2][o].end - g->spans[2][o].start, g->dilation[2]));
    return most;
}

/* false: no memory */
static bool table_make(rl_call *k, rows_job *r) {
    const rl_pool_plan *g = &r->job.plan;
    r->table_row = g->out[2] + POOL_SLACK;
    int32_t *table = k->svc->scratch(k, RL_COUNT(r->table_row, r->rounds), sizeof *table);
    if (!table) return false;
    for (int64_t t = 0; t < r->rounds; t++)
        for (int64_t o = 0; o < r->table_row; o++) {
            int64_t at = o < g->out[2] ? g->spans[2][o].start + t * g->dilation[2] : 0;
            bool there = o < g->out[2] && at < g->spans[2][o].end;
            table[t * r->table_row + o] = there ? (int32_t)(r->lead + at) : 0;
        }
    r->table = table;
    return true;
}

/* false: none serves */
RL_CHOOSER
static bool way_choose(rows_job *r) {
    enum { LONGEST = 4096 }; /* a window along a line */
    pool_job *j = &r->job;
    const rl_pool_plan *g = &j->plan;
    int64_t most = widest(j);
    bool steps = j->even && j->stride[2] <= 2 && j->kernel[2] <= LONGEST &&
                 (j->kernel[2] - 1) * g->dilation[2] + j->pad[2] <= LONGEST;
    bool pairs = j->even && g->size[0] == 1 && g->dilation[1] == 1 && g->dilation[2] == 1;
    for (int i = 1; i < 3; i++)
        pairs = pairs && j->kernel[i] == 2 && j->stride[i] == 2 && !j->pad[i] && 2 * g->out[i] <= g->size[i];
    bool few = g->dilation[2] == 1 && (most > POOL_ROUNDS || (g->out[2] <= 2 && most > 8));
    r->way = pairs                   ? ROWS_PAIRS
             : few && g->out[2] <= 2 ? ROWS_WIDE
             : steps                 ? (j->stride[2] == 1 ? ROWS_ONE : ROWS_TWO)
             : most <= POOL_ROUNDS   ? ROWS_TABLE
                                     : ROWS_WIDE;
    r->rounds = most;
    r->lead = r->way == ROWS_TABLE ? 1 : j->pad[2];
    j->line = r->way == ROWS_PAIRS || r->way == ROWS_WIDE ? 0
              : r->way == ROWS_TABLE
                  ? g->size[2] + 1 + POOL_SLACK
                  : simd_max(g->size[2] + r->lead,
                             (g->out[2] - 1) * j->stride[2] + (j->kernel[2] - 1) * g->dilation[2] + 1) +
                        POOL_SLACK;
    return r->way != ROWS_WIDE || g->dilation[2] == 1;
}

RL_CHOOSER
static rl_status rows_run(rl_call *k, bool adaptive, bool max) {
    rows_job r = {0};
    pool_job *j = &r.job;
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    rl_status read = simd_pool_read(k, j, x, out, adaptive);
    if (read != RL_OK) return read;
    if (!way_choose(&r)) return RL_UNSUPPORTED;
    if (r.way == ROWS_TABLE && !table_make(k, &r)) return RL_FAIL;
    if (!max && !(r.counts = simd_pool_counts(k, j, 2))) return RL_FAIL;
    int64_t rows = j->planes * j->plan.out[0] * j->plan.out[1];
    double ns = POOL_NS * (double)j->plan.volume / (double)(j->plan.out[0] * j->plan.out[1]);
    if (simd_pool_begin(k, j, x, out) != RL_OK) return RL_FAIL;
    pool_bodies all = max ? POOL_BODIES(rows_max) : POOL_BODIES(rows_mean);
    k->svc->parallel(k, rows, ns + (double)j->plan.out[2], pool_body_of(j, all), &r);
    return simd_pool_end(k, j, out);
}

RL_KERNEL(simd_max_pool) {
    return rows_run(k, false, true);
}
RL_KERNEL(simd_avg_pool) {
    return rows_run(k, false, false);
}
RL_KERNEL(simd_adaptive_avg_pool) {
    return rows_run(k, true, false);
}
