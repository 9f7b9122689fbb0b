/* How threads share a matrix product: Notes [Panels] and [Ways] in kernels/simd/product_gemm.h. */
#include "product_blocks.h"
#include "common.h"

static const double PACK_NS = 0.2; /* a number packed */
static const double THIN_NS = 0.1; /* a number of the matrix that few rows are multiplied with */

/* ---- few rows ---- */
typedef struct {
    const rl_gemm_plan *plan;
    const rl_gemm_data *at;
    const char *rows;
    char *sums;
    int64_t group; /* columns of an item */
} thin_job;

static void thin_columns(void *ctx, int64_t begin, int64_t end, int thread) {
    const thin_job *j = ctx;
    (void)thread;
    rl_gemm_thin(j->plan, j->at, j->rows, j->sums, begin * j->group, simd_min(j->plan->g.n, end * j->group));
}

static rl_status thin_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm_data *at) {
    const rl_gemm *g = &plan->g;
    const size_t size = (size_t)plan->size;
    thin_job j = {.plan = plan, .at = at, .group = plan->way == RL_WAY_DOTS ? 4 : 64};
    if (rl_gemm_thin_copies(plan)) {
        char *rows = k->svc->scratch(k, rl_gemm_thin_count(plan), size);
        if (!rows) return RL_FAIL;
        rl_gemm_thin_copy(plan, at->a, rows);
        j.rows = rows;
    }
    if (!plan->direct && !(j.sums = k->svc->scratch(k, rl_gemm_sums_count(plan), size))) return RL_FAIL;
    k->svc->parallel(k, simd_ceil_div(g->n, j.group), THIN_NS * (double)(j.group * g->k), thin_columns, &j);
    return RL_OK;
}

/* ---- tiles ---- */
typedef struct {
    const rl_gemm_plan *plan;
    const rl_gemm_data *at;
    rl_gemm_packed packed;
    char *to_a, *to_b;              /* what is packed now, or NULL */
    int64_t m0, m1, p0, p1;         /* rows and panels of this block */
    int64_t mb, pb, across, strips; /* of a piece; pieces side by side; strips of the block */
    rl_rooms rooms;
    rl_gemm_parts parts;
} block_job;

/* the panels, then the strips */
static void pack_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const block_job *j = ctx;
    const rl_gemm *g = &j->plan->g;
    const int64_t mr = j->plan->kit->mr, nr = j->plan->kit->nr, panels = j->to_b ? j->p1 - j->p0 : 0;
    const int64_t size = j->plan->size, item = j->plan->in.from_item;
    (void)thread;
    if (begin < panels) {
        const int64_t stop = simd_min(end, panels);
        rl_gemm_pack_panels(j->plan, j->at->b, j->p0 + begin, j->p0 + stop,
                            j->to_b + begin * nr * g->k * size);
        begin = stop;
    }
    for (; begin < end; begin++) {
        const int64_t strip = begin - panels, row = j->m0 + strip * mr;
        rl_gemm_pack(&j->plan->in, j->plan->size, j->to_a + strip * mr * g->k * size, mr,
                     (const char *)j->at->a + row * g->a_row * item, g->a_row, g->a_col,
                     simd_min(mr, j->m1 - row), g->k);
    }
}

static void piece_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const block_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        const int64_t m = j->m0 + i / j->across * j->mb, p = j->p0 + i % j->across * j->pb;
        rl_gemm_piece(j->plan, j->at, &j->packed, m, simd_min(j->m1, m + j->mb), p,
                      simd_min(j->p1, p + j->pb), rl_room(&j->rooms, thread), j->parts);
    }
}

/* Pieces of up to RL_GEMM_MB rows and plan->pb panels, smaller ones until every thread gets a few, even ones
 * so that a short last row of them leaves no thread waiting. */
RL_CHOOSER
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
        k->svc->parallel(k, panels + (j->to_a ? strips : 0), PACK_NS * (double)(nr * j->plan->g.k),
                         pack_items, j);
    const int64_t pieces = simd_ceil_div(rows, j->mb) * j->across;
    ns *= (double)rows * (double)((j->p1 - j->p0) * nr) * (double)j->plan->g.k / (double)pieces;
    k->svc->parallel(k, pieces, threads > 1 ? ns : 0, piece_items, j);
}

/* What is packed at once is at most some 64 MiB of each, unless k alone asks for more. */
enum { PACKED_MOST = 64 << 20 };
RL_CHOOSER
static int64_t lines_at_once(int64_t lines, int64_t unit, int64_t line_bytes) {
    const int64_t most = PACKED_MOST / line_bytes / unit * unit;
    return simd_min(lines, most > unit ? most : unit);
}

/* All that tiles_run asks for: panels and strips of a block, and a room for each thread. */
static bool tiles_memory(rl_call *k, block_job *j, int64_t wide, int64_t tall, int64_t threads) {
    const rl_gemm_plan *plan = j->plan;
    const size_t size = (size_t)plan->size;
    const bool ahead = tall > 0;
    rl_layout l = rl_layout_begin(k);
    j->parts = rl_gemm_piece_layout(&l, plan, ahead);
    if (l.size.n && !k->svc->rooms(k, &l, threads, &j->rooms)) return false;
    if (plan->packs_b && !(j->to_b = k->svc->scratch(k, RL_COUNT(wide, plan->kit->nr, plan->g.k), size)))
        return false;
    const rl_count a = rl_count_times(rl_count_round_up(RL_COUNT(tall), plan->kit->mr), plan->g.k);
    return !ahead || (j->to_a = k->svc->scratch(k, a, size));
}

static rl_status tiles_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm_data *at) {
    const rl_gemm_kit *kit = plan->kit;
    const rl_gemm *g = &plan->g;
    const int64_t panels = simd_ceil_div(g->n, kit->nr), line = g->k * plan->size;
    const double ns = RL_GEMM_NS * plan->size / 4;
    const bool one = rl_is_serial(k, 1, ns * (double)g->m * (double)g->n * (double)g->k);
    const int64_t threads = one ? 1 : k->threads;
    const int64_t wide = plan->packs_b ? lines_at_once(panels, plan->pb, kit->nr * line) : panels;
    const bool ahead = plan->packs_a && panels > plan->pb;
    const int64_t tall = ahead ? lines_at_once(g->m, RL_GEMM_MB, line) : g->m;
    block_job j = {.plan = plan, .at = at, .packed = {.b = g->panels}};
    if (!tiles_memory(k, &j, wide, ahead ? tall : 0, threads)) return RL_FAIL;
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
void rl_gemm_pack_shared(rl_call *k, const rl_gemm_plan *plan, void *to) {
    const int64_t nr = plan->kit->nr;
    block_job j = {.plan = plan, .at = &plan->g.at, .to_b = to, .p1 = simd_ceil_div(plan->g.n, nr)};
    k->svc->parallel(k, j.p1, PACK_NS * (double)(nr * plan->g.k), pack_items, &j);
}

/* ---- a long k under a small C ---- */
enum { LONG_K = 8192, BLOCK_K = 4096, BLOCKS_MOST = 64, SMALL_C = 65536 };
typedef struct {
    rl_gemm_plan plans[2]; /* of a block of `depth` of k, and of what is left of k for the last one */
    int64_t depth, blocks;
    rl_gemm_data at;        /* of the first block, in the order of the whole problem */
    int64_t a_step, b_step; /* bytes from a block to the next */
    rl_rooms sums;          /* of each block */
    rl_rooms rooms;
    rl_gemm_parts parts;
} long_job;

/* A block of k as a problem of its own; the strides of its sums are those of dense rows. */
static rl_gemm long_block(const rl_gemm_plan *plan, int64_t depth) {
    rl_gemm g = plan->g;
    g.k = depth;
    g.c_row = g.n, g.c_col = 1;
    g.c_dtype = plan->inner;
    g.at.x = NULL, g.alpha = 1;
    return g;
}

static void long_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    const long_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        const rl_gemm_plan *plan = &j->plans[i == j->blocks - 1];
        const char *a = (const char *)j->at.a + i * j->a_step, *b = (const char *)j->at.b + i * j->b_step;
        const rl_gemm_data at = {
            .a = plan->swapped ? b : a, .b = plan->swapped ? a : b, .c = rl_room(&j->sums, i)};
        rl_gemm_alone(plan, &at, rl_room(&j->rooms, thread), j->parts);
    }
}

/* all into the first one */
#define ADD_BLOCKS(name, T)                                                                                  \
    static void name(const rl_rooms *sums, int64_t n, int64_t blocks) {                                      \
        T *to = (T *)rl_room(sums, 0);                                                                       \
        for (int64_t b = 1; b < blocks; b++) {                                                               \
            const T *from = (const T *)rl_room(sums, b);                                                     \
            for (int64_t i = 0; i < n; i++) to[i] += from[i];                                                \
        }                                                                                                    \
    }
ADD_BLOCKS(add_floats, float)
ADD_BLOCKS(add_doubles, double)

RL_CHOOSER
static rl_status long_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm_data *at) {
    const rl_gemm *g = &plan->g;
    long_job j = {.depth = simd_max(BLOCK_K, simd_ceil_div(g->k, BLOCKS_MOST)), .at = *at};
    j.blocks = simd_ceil_div(g->k, j.depth);
    const rl_gemm block = long_block(plan, j.depth), last = long_block(plan, g->k - (j.blocks - 1) * j.depth);
    if (!rl_gemm_plan_make(k, &block, &j.plans[0]) || !rl_gemm_plan_make(k, &last, &j.plans[1]))
        return RL_UNSUPPORTED;
    if (!rl_thread_rooms(k, j.blocks, RL_COUNT(g->m, g->n), plan->size, &j.sums)) return RL_FAIL;
    j.a_step = j.depth * g->a_col * plan->in.from_item, j.b_step = j.depth * g->b_row * plan->in.from_item;
    const double ns = RL_GEMM_NS * (double)(g->m * g->n) * (double)j.depth;
    const int64_t threads = rl_is_serial(k, j.blocks, ns) ? 1 : k->threads;
    rl_layout l = rl_layout_begin(k);
    j.parts = rl_gemm_alone_layout(&l, j.plans, 2);
    if (l.size.n && !k->svc->rooms(k, &l, threads, &j.rooms)) return RL_FAIL;
    k->svc->parallel(k, j.blocks, threads == 1 ? 0 : ns, long_blocks, &j);
    (plan->size == 4 ? add_floats : add_doubles)(&j.sums, g->m * g->n, j.blocks);
    rl_gemm_finish(plan, at, rl_room(&j.sums, 0), g->n, 0, g->m, 0, g->n);
    return RL_OK;
}

RL_CHOOSER
bool rl_gemm_is_long(const rl_gemm_plan *plan) {
    const rl_gemm *g = &plan->g;
    return rl_is_float(g->dtype) && g->k >= LONG_K && g->m <= SMALL_C / g->n && !g->panels;
}

RL_CHOOSER
rl_status rl_gemm_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm_data *at) {
    if (rl_gemm_is_long(plan)) return long_run(k, plan, at);
    return plan->way == RL_WAY_TILES ? tiles_run(k, plan, at) : thin_run(k, plan, at);
}
