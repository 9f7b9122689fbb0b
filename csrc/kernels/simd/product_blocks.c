/* How threads share a matrix product: Notes [Panels] and [Ways] in kernels/simd/product_gemm.h. */
#include "product_blocks.h"
#include "common.h"

static const double PACK_NS = 0.2; /* a number packed */
static const double THIN_NS = 0.1; /* a number of the matrix that few rows are multiplied with */

/* ---- few rows ---- */
typedef struct {
    const rl_gemm_plan *plan;
    const rl_gemm *g;
    const char *rows;
    char *sums;
    int64_t group; /* columns of an item */
} thin_job;

static void thin_columns(void *ctx, int64_t begin, int64_t end, int thread) {
    const thin_job *j = ctx;
    (void)thread;
    rl_gemm_thin(j->plan, j->g, j->rows, j->sums, begin * j->group, simd_min(j->g->n, end * j->group));
}

static rl_status thin_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm *g) {
    thin_job j = {.plan = plan, .g = g, .group = plan->way == RL_WAY_DOTS ? 4 : 64};
    if (rl_gemm_thin_copies(plan, g)) {
        char *rows = k->svc->scratch(k, RL_COUNT(g->m, g->k, plan->size), 1);
        if (!rows) return RL_FAIL;
        rl_gemm_thin_copy(plan, g, rows);
        j.rows = rows;
    }
    if (!plan->direct && !(j.sums = k->svc->scratch(k, RL_COUNT(g->m, g->n, plan->size), 1))) return RL_FAIL;
    k->svc->parallel(k, simd_ceil_div(g->n, j.group), THIN_NS * (double)(j.group * g->k), thin_columns, &j);
    return RL_OK;
}

/* ---- tiles ---- */
typedef struct {
    const rl_gemm_plan *plan;
    const rl_gemm *g;
    rl_gemm_packed packed;
    char *to_a, *to_b;              /* what is packed now, or NULL */
    int64_t m0, m1, p0, p1;         /* rows and panels of this block */
    int64_t mb, pb, across, strips; /* of a piece; pieces side by side; strips of the block */
    char *room;
    int64_t room_step;
} block_job;

/* the panels, then the strips */
static void pack_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const block_job *j = ctx;
    const rl_gemm *g = j->g;
    const int64_t mr = j->plan->kit->mr, nr = j->plan->kit->nr, panels = j->to_b ? j->p1 - j->p0 : 0;
    const int64_t size = j->plan->size, item = j->plan->in.from_item;
    (void)thread;
    if (begin < panels) {
        const int64_t stop = simd_min(end, panels);
        rl_gemm_pack_panels(j->plan, g, j->p0 + begin, j->p0 + stop, j->to_b + begin * nr * g->k * size);
        begin = stop;
    }
    for (; begin < end; begin++) {
        const int64_t strip = begin - panels, row = j->m0 + strip * mr;
        rl_gemm_pack(&j->plan->in, j->plan->size, j->to_a + strip * mr * g->k * size, mr,
                     (const char *)g->a + row * g->a_row * item, g->a_row, g->a_col,
                     simd_min(mr, j->m1 - row), g->k);
    }
}

static void piece_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const block_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        const int64_t m = j->m0 + i / j->across * j->mb, p = j->p0 + i % j->across * j->pb;
        rl_gemm_piece(j->plan, j->g, &j->packed, m, simd_min(j->m1, m + j->mb), p, simd_min(j->p1, p + j->pb),
                      j->room + thread * j->room_step);
    }
}

/* Pieces of up to RL_GEMM_MB rows and plan->pb panels, smaller ones until every thread gets a few, even ones
 * so that a short last row of them leaves no thread waiting. */
static void pieces_cut(block_job *j, int64_t threads) {
    const int64_t rows = j->m1 - j->m0, panels = j->p1 - j->p0, mr = j->plan->kit->mr;
    const int64_t wanted = threads > 1 ? 4 * threads : 1;
    j->mb = simd_min(RL_GEMM_MB, simd_ceil_div(rows, mr) * mr);
    j->pb = simd_min(j->plan->pb, panels);
    while (simd_ceil_div(rows, j->mb) * simd_ceil_div(panels, j->pb) < wanted && j->pb > 2)
        j->pb = simd_ceil_div(j->pb, 2);
    while (simd_ceil_div(rows, j->mb) * simd_ceil_div(panels, j->pb) < wanted && j->mb > 2 * mr)
        j->mb = simd_ceil_div(j->mb, 2 * mr) * mr;
    j->mb = simd_ceil_div(simd_ceil_div(rows, simd_ceil_div(rows, j->mb)), mr) * mr;
    j->across = simd_ceil_div(panels, j->pb);
}

static void block_run(rl_call *k, block_job *j, int64_t threads, double ns) {
    const int64_t mr = j->plan->kit->mr, nr = j->plan->kit->nr, rows = j->m1 - j->m0;
    const int64_t strips = simd_ceil_div(rows, mr), panels = j->to_b ? j->p1 - j->p0 : 0;
    pieces_cut(j, threads);
    j->packed.m0 = j->m0, j->packed.a = j->to_a;
    if (j->to_b) j->packed.b = j->to_b, j->packed.p0 = j->p0;
    if (j->to_a || j->to_b)
        k->svc->parallel(k, panels + (j->to_a ? strips : 0), PACK_NS * (double)(nr * j->g->k), pack_items, j);
    const int64_t pieces = simd_ceil_div(rows, j->mb) * j->across;
    ns *= (double)rows * (double)((j->p1 - j->p0) * nr) * (double)j->g->k / (double)pieces;
    k->svc->parallel(k, pieces, threads > 1 ? ns : 0, piece_items, j);
}

/* What is packed at once is at most some 64 MiB of each, unless k alone asks for more. */
enum { PACKED_MOST = 64 << 20 };
static int64_t lines_at_once(int64_t lines, int64_t unit, int64_t line_bytes) {
    const int64_t most = PACKED_MOST / line_bytes / unit * unit;
    return simd_min(lines, most > unit ? most : unit);
}

static rl_status tiles_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm *g) {
    const rl_gemm_kit *kit = plan->kit;
    const int64_t panels = simd_ceil_div(g->n, kit->nr), line = g->k * plan->size;
    const double ns = RL_GEMM_NS * plan->size / 4;
    const bool one = rl_is_serial(k, 1, ns * (double)g->m * (double)g->n * (double)g->k);
    const int64_t threads = one ? 1 : k->threads;
    const int64_t wide = plan->packs_b ? lines_at_once(panels, plan->pb, kit->nr * line) : panels;
    const bool ahead = plan->packs_a && panels > plan->pb;
    const int64_t tall = ahead ? lines_at_once(g->m, RL_GEMM_MB, line) : g->m;
    block_job j = {.plan = plan, .g = g, .packed = {.b = g->panels}};
    j.room_step = rl_gemm_room_piece(plan, g, ahead, plan->pb);
    if (j.room_step && !(j.room = k->svc->scratch(k, RL_COUNT(j.room_step, threads), 1))) return RL_FAIL;
    if (plan->packs_b && !(j.to_b = k->svc->scratch(k, RL_COUNT(wide, kit->nr, g->k, plan->size), 1)))
        return RL_FAIL;
    rl_count a = rl_count_times(rl_count_round_up(RL_COUNT(tall), kit->mr), g->k);
    if (ahead && !(j.to_a = k->svc->scratch(k, rl_count_times(a, plan->size), 1))) return RL_FAIL;
    char *const to_b = j.to_b;
    for (j.p0 = 0; j.p0 < panels; j.p0 = j.p1) {
        j.p1 = simd_min(panels, j.p0 + wide);
        j.to_b = to_b;
        for (j.m0 = 0; j.m0 < g->m; j.m0 = j.m1) {
            j.m1 = simd_min(g->m, j.m0 + tall);
            block_run(k, &j, threads, ns);
            j.to_b = NULL; /* they serve all rows */
        }
    }
    return RL_OK;
}

/* Panels of B for many products. */
void rl_gemm_pack_shared(rl_call *k, const rl_gemm_plan *plan, const rl_gemm *g, void *to) {
    const int64_t nr = plan->kit->nr;
    block_job j = {.plan = plan, .g = g, .to_b = to, .p1 = simd_ceil_div(g->n, nr)};
    k->svc->parallel(k, j.p1, PACK_NS * (double)(nr * g->k), pack_items, &j);
}

/* ---- a long k under a small C ---- */
enum { LONG_K = 8192, BLOCK_K = 4096, BLOCKS_MOST = 64, SMALL_C = 65536 };
typedef struct {
    rl_gemm_plan plan;
    const rl_gemm *g;
    int64_t depth, blocks, item;
    char *sums, *room;
    int64_t room_step;
} long_job;

static rl_gemm long_block(const long_job *j, int64_t i) {
    rl_gemm g = *j->g;
    g.k = simd_min(j->depth, g.k - i * j->depth);
    g.a = (const char *)g.a + i * j->depth * g.a_col * j->item;
    g.b = (const char *)g.b + i * j->depth * g.b_row * j->item;
    g.c = j->sums + i * g.m * g.n * j->plan.size, g.c_row = g.n, g.c_col = 1;
    g.c_dtype = j->plan.inner;
    g.x = NULL, g.alpha = 1;
    return g;
}

static void long_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    const long_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        rl_gemm g = long_block(j, i);
        rl_gemm_plan plan = j->plan;
        if (plan.swapped) rl_gemm_swap(&g);
        plan.kb = rl_gemm_depth(&plan, g.k);
        rl_gemm_alone(&plan, &g, j->room + thread * j->room_step);
    }
}

#define ADD_BLOCKS(name, T)                                                                                  \
    static void name(T *to, int64_t n, int64_t blocks) {                                                     \
        for (int64_t b = 1; b < blocks; b++)                                                                 \
            for (int64_t i = 0; i < n; i++) to[i] += to[b * n + i];                                          \
    }
ADD_BLOCKS(add_floats, float)
ADD_BLOCKS(add_doubles, double)

static rl_status long_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm *g) {
    long_job j = {.g = g, .item = plan->in.from_item, .plan = *plan};
    j.depth = simd_max(BLOCK_K, simd_ceil_div(g->k, BLOCKS_MOST));
    j.blocks = simd_ceil_div(g->k, j.depth);
    j.sums = k->svc->scratch(k, RL_COUNT(j.blocks, g->m, g->n, plan->size), 1);
    if (!j.sums) return RL_FAIL;
    rl_gemm first = long_block(&j, 0);
    if (!rl_gemm_plan_make(k, &first, &j.plan)) return RL_UNSUPPORTED;
    j.plan.kb = RL_GEMM_KB; /* at least that of any block */
    const rl_count room = rl_gemm_room(&j.plan, &first);
    const double ns = RL_GEMM_NS * (double)(g->m * g->n) * (double)j.depth;
    const int64_t threads = rl_is_serial(k, j.blocks, ns) ? 1 : k->threads;
    j.room = k->svc->scratch(k, rl_count_times(room, threads), 1);
    if (!j.room) return RL_FAIL;
    j.room_step = room.n;
    k->svc->parallel(k, j.blocks, threads == 1 ? 0 : ns, long_blocks, &j);
    if (plan->size == 4)
        add_floats((float *)j.sums, g->m * g->n, j.blocks);
    else
        add_doubles((double *)j.sums, g->m * g->n, j.blocks);
    rl_gemm_finish(plan, g, j.sums, g->n, 0, g->m, 0, g->n);
    return RL_OK;
}

bool rl_gemm_is_long(const rl_gemm *g) {
    return rl_is_float(g->dtype) && g->k >= LONG_K && g->m <= SMALL_C / g->n && !g->panels;
}

rl_status rl_gemm_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm *g) {
    if (rl_gemm_is_long(g)) return long_run(k, plan, g);
    return plan->way == RL_WAY_TILES ? tiles_run(k, plan, g) : thin_run(k, plan, g);
}
