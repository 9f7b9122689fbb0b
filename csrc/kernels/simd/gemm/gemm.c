/* GEMM: which way a product goes, what one thread does of it, and how threads share it.
 * Notes [Panels] and [GEMM algorithms] in kernels/simd/gemm/gemm.h. */
#include "gemm.h"
#include "kernels/simd/common.h"

/* What is packed before a piece begins. */
typedef struct {
    const char *a; /* strips from row m0 on, of all of k; NULL: a piece packs its own, or none are packed */
    const char *b; /* panels from p0 on, of all of k; NULL: B is used where it lies */
    int64_t m0, p0;
} rl_gemm_packed;

static void rl_gemm_gemv_copy(const rl_gemm_plan *plan, const void *a, char *to);

#define ISA_IMPL "kernels/simd/gemm/gemm_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

RL_CHOOSER
const rl_gemm_ukernel *rl_gemm_ukernel_get(const rl_call *k, int inner) {
    static const rl_gemm_ukernel *const ukernels[][RL_ISA_END] = {
        ISA_TABLE(&ukernel), ISA_TABLE_F64(&ukernel), ISA_TABLE(&ukernel_u32), ISA_TABLE(&ukernel_u64)};
    const int at = inner == RL_F32 ? 0 : inner == RL_F64 ? 1 : inner == RL_I32 ? 2 : 3;
    return ukernels[at][k->svc->isa];
}

/* ---- the way ---- */
static void gemm_swap(rl_gemm *g) {
    const rl_gemm o = *g;
    g->m = o.n, g->n = o.m;
    g->at.a = o.at.b, g->a_row = o.b_col, g->a_col = o.b_row;
    g->at.b = o.at.a, g->b_row = o.a_col, g->b_col = o.a_row;
    g->c_row = o.c_col, g->c_col = o.c_row;
    g->x_row = o.x_col, g->x_col = o.x_row;
}

enum { DOT_DEPTH = 32, ROW_COLUMNS = 32 }; /* from so many on a way is worth its beginning and end */
RL_CHOOSER
static int way_of(int64_t m, int64_t n, int64_t k, int64_t b_row, int64_t b_col) {
    if (m > RL_GEMM_FEW) return RL_WAY_TILES;
    if (b_row == 1 && (k >= DOT_DEPTH || m == 1)) return RL_WAY_DOTS;
    return b_col == 1 && n >= ROW_COLUMNS ? RL_WAY_ROWS : RL_WAY_TILES;
}

RL_CHOOSER
static bool better_swapped(const rl_gemm *g) {
    const bool few = g->m <= RL_GEMM_FEW;
    if (g->panels) return false;
    if (g->n <= RL_GEMM_FEW && (!few || g->n < g->m))
        return way_of(g->n, g->m, g->k, g->a_col, g->a_row) != RL_WAY_TILES;
    return !few && g->c_col != 1 && g->c_row == 1;
}

/* the stride of a dimension with one element says nothing: let it be what suits */
RL_CHOOSER
static void strides_settle(rl_gemm *g) {
    if (g->k == 1) g->a_col = g->b_row = 1;
    if (g->m == 1) g->c_row = g->n * g->c_col, g->a_row = g->k * g->a_col;
    if (g->n == 1) g->b_col = g->b_row == 1 ? g->k : 1, g->c_col = 1;
}

/* Packing costs a pass over memory. B of dense rows is packed when several strips of A use it and it does not
 * fit the second cache, of which several threads have more and for which they would wait for each other; A of
 * dense rows when it is large, and of others when more than one panel uses it. */
enum { PIECE_PANELS = 8, PACK_B_ROWS = 48, PACK_B_BYTES = 400 << 10, PACK_A_SIZE = 1800, LOOSE_KB = 384 };
RL_CHOOSER
static bool repays_b(const rl_call *k, const rl_gemm *g, int size) {
    const int64_t most = k->threads > 1 ? 5 * PACK_B_BYTES / 2 : PACK_B_BYTES;
    return g->m >= PACK_B_ROWS && g->n > most / size / g->k;
}
RL_CHOOSER
static bool repays_a(const rl_gemm *g, int nr) {
    if (g->a_col != 1) return g->n > nr;
    return g->n >= PACK_A_SIZE && g->k >= PACK_A_SIZE;
}

RL_CHOOSER
bool rl_gemm_plan_make(const rl_call *k, const rl_gemm *problem, rl_gemm_plan *plan) {
    const bool whole = !rl_is_float(problem->dtype);
    const int inner = whole                      ? problem->dtype == RL_I64 ? RL_I64 : RL_I32
                      : problem->dtype == RL_F64 ? RL_F64
                                                 : RL_F32;
    const rl_gemm_ukernel *ukernel = rl_gemm_ukernel_get(k, inner);
    rl_gemm *const g = &plan->g;
    if (!ukernel) return false;
    *plan =
        (rl_gemm_plan){.g = *problem, .ukernel = ukernel, .size = (int)rl_itemsize(inner), .inner = inner};
    strides_settle(g);
    plan->swapped = !whole && better_swapped(g);
    plan->in = simd_cast_copy_between(k, inner, g->dtype);
    plan->out = simd_cast_copy_between(k, g->c_dtype, inner);
    plan->back = simd_cast_copy_between(k, inner, g->c_dtype);
    if (plan->swapped) gemm_swap(g);
    plan->way = g->panels || whole ? RL_WAY_TILES : way_of(g->m, g->n, g->k, g->b_row, g->b_col);
    const bool plain = g->dtype == inner, tiles = plan->way == RL_WAY_TILES;
    plan->col_bias = tiles && g->at.x && g->x_row == 0 && g->x_col == 1 && g->beta == 1;
    plan->direct = g->c_dtype == inner && g->alpha == 1 && (!g->at.x || plan->col_bias) &&
                   (g->c_col == 1 || plan->way == RL_WAY_DOTS);
    if (!plan->direct) plan->col_bias = false;
    plan->packs_b = tiles && !g->panels && (!plain || whole || g->b_col != 1 || repays_b(k, g, plan->size));
    plan->packs_a = tiles && (!plain || whole || (g->m >= ukernel->mr && repays_a(g, ukernel->nr)));
    plan->kb = simd_ceil_div(g->k, simd_ceil_div(g->k, plan->packs_a ? RL_GEMM_KB : LOOSE_KB));
    plan->pb = simd_min(plan->packs_a ? 2 * PIECE_PANELS : PIECE_PANELS, simd_ceil_div(g->n, ukernel->nr));
    if (!tiles) plan->gemv = rl_gemv_body_of(k, g->dtype, plan->way == RL_WAY_DOTS);
    return true;
}

/* ---- the end of a piece ---- */
enum { FINISH = 256 };
#define WEIGH(name, T)                                                                                       \
    static void name(T *to, const T *from, const T *x, double alpha, double beta, int64_t n) {               \
        const T a = (T)alpha, b = (T)beta;                                                                   \
        for (int64_t i = 0; i < n; i++) to[i] = x ? a * from[i] + b * x[i] : a * from[i];                    \
    }
WEIGH(weigh_floats, float)
WEIGH(weigh_doubles, double)

void rl_gemm_finish(const rl_gemm_plan *plan, const rl_gemm_data *at, const char *from, int64_t from_row,
                    int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
    const rl_gemm *g = &plan->g;
    const int64_t size = plan->size, item = plan->out.to_item;
    const bool weighs = at->x || g->alpha != 1;
    double sums[FINISH], more[FINISH];
    if (!weighs && g->c_col == 1 && g->c_row == j1 - j0 && from_row == j1 - j0) { /* one block */
        simd_cast_copy_run(&plan->out, (char *)at->c + (i0 * g->c_row + j0) * item, item, from, size,
                           (i1 - i0) * from_row);
        return;
    }
    for (int64_t i = i0; i < i1; i++, from += from_row * size)
        for (int64_t j = j0; j < j1; j += FINISH) {
            const int64_t n = simd_min(FINISH, j1 - j);
            const char *line = from + (j - j0) * size;
            if (at->x)
                simd_cast_copy_run(&plan->back, more, size,
                                   (const char *)at->x + (i * g->x_row + j * g->x_col) * item,
                                   g->x_col * item, n);
            if (weighs && size == 4)
                weigh_floats((float *)sums, (const float *)line, at->x ? (const float *)more : NULL, g->alpha,
                             g->beta, n);
            else if (weighs)
                weigh_doubles(sums, (const double *)line, at->x ? more : NULL, g->alpha, g->beta, n);
            simd_cast_copy_run(&plan->out, (char *)at->c + (i * g->c_row + j * g->c_col) * item,
                               g->c_col * item, weighs ? (const char *)sums : line, size, n);
        }
}

/* ---- tiles ---- */
/* Up to this depth C is written row by row, as most of the work is that; so many panels ahead it is sent for.
 */
enum { SHALLOW = 64, AHEAD = 4 };

/* The rows of p, against panels [p0, p1); C is at `to`, the block of k begins at k0. */
static void piece_rows(const rl_gemm_plan *plan, const rl_gemm_data *at, const rl_gemm_packed *packed,
                       rl_panel *p, char *to, int64_t p0, int64_t p1, int64_t k0) {
    const rl_gemm *g = &plan->g;
    const int64_t size = plan->size, nr = plan->ukernel->nr;
    const int64_t next = packed->b ? nr * g->k : nr, first = packed->b ? p->k * nr : 0;
    const char *b = packed->b ? packed->b + ((p0 - packed->p0) * g->k + k0) * nr * size
                              : (const char *)at->b + (k0 * g->b_row + p0 * nr) * size;
    for (int64_t i = p0; i < p1; i++, b += next * size, to += nr * size) {
        p->cols = (int)simd_min(nr, g->n - i * nr);
        p->b_next = i + 1 < p1 ? next : first - (p1 - 1 - p0) * next;
        p->b = b, p->c = to;
        if (plan->col_bias) p->col_bias = (const char *)at->x + i * nr * size;
        plan->ukernel->panel(p);
    }
}

/* rows [m0, m1), at most RL_GEMM_MB, of panels [p0, p1) */
static void rl_gemm_piece(const rl_gemm_plan *plan, const rl_gemm_data *at, const rl_gemm_packed *packed,
                          int64_t m0, int64_t m1, int64_t p0, int64_t p1, char *room, rl_gemm_parts parts) {
    const rl_gemm *g = &plan->g;
    const int64_t size = plan->size, mr = plan->ukernel->mr, nr = plan->ukernel->nr,
                  item = plan->in.from_item;
    const bool shallow = g->k <= SHALLOW && p1 - p0 > 2;
    const int64_t high = shallow ? mr : m1 - m0;
    const bool ahead = packed->a != NULL;
    char *const strips = room + parts.a, *const sums = room + parts.c;
    for (int64_t k0 = 0; k0 < g->k; k0 += plan->kb) {
        const int64_t depth = simd_min(plan->kb, g->k - k0);
        const char *a = (const char *)at->a + (m0 * g->a_row + k0 * g->a_col) * item;
        rl_panel p = {.k = depth, .packed_a = plan->packs_a, .add = k0 > 0};
        p.a_row = g->a_row, p.a_col = g->a_col;
        p.c_step = plan->direct ? g->c_row : simd_min(g->n, p1 * nr) - p0 * nr;
        p.a_next = ahead ? mr * depth : 0, p.c_next = shallow ? AHEAD * nr : 0;
        if (ahead) {
            p.a = packed->a + ((m0 - packed->m0) * g->k + k0 * mr) * size, p.a_strip = mr * g->k;
        } else if (plan->packs_a) {
            const int64_t whole = plan->in.convert || g->a_row != 1 ? 0 : (m1 - m0) / mr;
            p.a = strips, p.a_strip = mr * depth;
            rl_gemm_pack_strips(plan->size, strips, mr, a, g->a_col, whole, depth);
            for (int64_t r = whole * mr; r < m1 - m0; r += mr)
                rl_gemm_pack(&plan->in, plan->size, strips + r * depth * size, mr, a + r * g->a_row * item,
                             g->a_row, g->a_col, simd_min(mr, m1 - m0 - r), depth);
        } else {
            p.a = a, p.a_strip = mr * g->a_row;
        }
        p.b_step = packed->b ? nr : g->b_row;
        char *to = plan->direct ? (char *)at->c + (m0 * g->c_row + p0 * nr) * size : sums;
        for (int64_t r = 0; r < m1 - m0; r += high, to += high * p.c_step * size) {
            p.rows = simd_min(high, m1 - m0 - r);
            piece_rows(plan, at, packed, &p, to, p0, p1, k0);
            p.a = (const char *)p.a + p.a_strip * size;
        }
    }
    if (!plan->direct)
        rl_gemm_finish(plan, at, sums, simd_min(g->n, p1 * nr) - p0 * nr, m0, m1, p0 * nr,
                       simd_min(g->n, p1 * nr));
}

rl_count rl_gemm_panels_count(const rl_gemm_plan *plan) {
    return rl_count_times(rl_count_round_up(RL_COUNT(plan->g.n), plan->ukernel->nr), plan->g.k);
}

/* panels [i0, i1) of all of k, of B at `b` */
static void rl_gemm_pack_panels(const rl_gemm_plan *plan, const void *b, int64_t i0, int64_t i1, char *to) {
    const rl_gemm *g = &plan->g;
    const int64_t nr = plan->ukernel->nr, item = plan->in.from_item, step = nr * g->k * plan->size;
    const char *from = (const char *)b + i0 * nr * g->b_col * item;
    if (!plan->in.convert && g->b_col == 1) { /* the whole ones, row after row */
        const int64_t whole = simd_min(i1, g->n / nr) - i0;
        if (whole > 0) {
            rl_gemm_pack_rows(plan->size, to, step, nr, from, g->b_row, whole, g->k);
            i0 += whole, to += whole * step, from += whole * nr * item;
        }
    }
    for (; i0 < i1; i0++, to += step, from += nr * g->b_col * item)
        rl_gemm_pack(&plan->in, plan->size, to, nr, from, g->b_col, g->b_row, simd_min(nr, g->n - i0 * nr),
                     g->k);
}

/* ---- few rows ---- */
/* columns [j0, j1) of a product with few rows; `rows` is A as rl_gemm_gemv_copy leaves it, or NULL */
static void rl_gemm_gemv(const rl_gemm_plan *plan, const rl_gemm_data *at, const char *rows, char *sums,
                         int64_t j0, int64_t j1) {
    const rl_gemm *g = &plan->g;
    rl_gemv t = {.rows = g->m, .k = g->k, .w = at->b, .c = at->c, .c_row = g->c_row, .c_col = g->c_col};
    t.w_row = plan->way == RL_WAY_DOTS ? g->b_col : g->b_row;
    t.x = rows ? (const void *)rows : at->a, t.x_row = rows ? g->k : g->a_row;
    if (!plan->direct) t.c = sums, t.c_row = g->n, t.c_col = 1;
    rl_gemv_body_get(plan->gemv)(&t, j0, j1);
    if (!plan->direct) rl_gemm_finish(plan, at, sums + j0 * plan->size, g->n, 0, g->m, j0, j1);
}

RL_CHOOSER
static bool rl_gemm_gemv_copies(const rl_gemm_plan *plan) {
    return plan->in.convert || plan->g.a_col != 1;
}

/* elements of that copy, */
static rl_count rl_gemm_gemv_count(const rl_gemm_plan *plan) {
    return rl_gemm_gemv_copies(plan) ? RL_COUNT(plan->g.m, plan->g.k) : RL_COUNT(0);
}

/* and of the sums of a product that is finished later */
static rl_count rl_gemm_sums_count(const rl_gemm_plan *plan) {
    return plan->direct ? RL_COUNT(0) : RL_COUNT(plan->g.m, plan->g.n);
}

static void rl_gemm_gemv_copy(const rl_gemm_plan *plan, const void *a, char *to) {
    const rl_gemm *g = &plan->g;
    const int64_t item = plan->in.from_item;
    for (int64_t i = 0; i < g->m; i++)
        simd_cast_copy_run(&plan->in, to + i * g->k * plan->size, plan->size,
                           (const char *)a + i * g->a_row * item, g->a_col * item, g->k);
}

/* ---- one thread ---- */
/* bytes of the parts of a room */
typedef struct {
    rl_count a, b, c;
} part_bytes;

static part_bytes piece_bytes(const rl_gemm_plan *plan, bool ahead, int64_t pb) {
    const int64_t rows = simd_min(RL_GEMM_MB, plan->g.m), size = plan->size;
    part_bytes p = {.b = RL_COUNT(0), .a = RL_COUNT(0), .c = RL_COUNT(0)};
    if (plan->packs_a && !ahead)
        p.a = rl_count_times(rl_count_times(rl_count_round_up(RL_COUNT(rows), plan->ukernel->mr), plan->kb),
                             size);
    if (!plan->direct) p.c = RL_COUNT(rows, pb, plan->ukernel->nr, size);
    return p;
}

/* panels of a piece when one thread does all of them: A is packed once where it can be */
RL_CHOOSER
static int64_t panels_alone(const rl_gemm_plan *plan) {
    return plan->direct ? simd_ceil_div(plan->g.n, plan->ukernel->nr) : plan->pb;
}

static part_bytes alone_bytes(const rl_gemm_plan *plan) {
    if (plan->way == RL_WAY_TILES) {
        part_bytes p = piece_bytes(plan, false, panels_alone(plan));
        if (plan->packs_b) p.b = rl_count_times(rl_gemm_panels_count(plan), plan->size);
        return p;
    }
    return (part_bytes){.a = rl_count_times(rl_gemm_gemv_count(plan), plan->size),
                        .b = RL_COUNT(0),
                        .c = rl_count_times(rl_gemm_sums_count(plan), plan->size)};
}

/* too many (-1) is more than any */
static rl_count count_max(rl_count a, rl_count b) {
    return (uint64_t)a.n > (uint64_t)b.n ? a : b;
}

static rl_gemm_parts parts_add(rl_layout *l, part_bytes p) {
    rl_gemm_parts parts;
    parts.a = rl_layout_add(l, p.a, 1);
    parts.b = rl_layout_add(l, p.b, 1);
    parts.c = rl_layout_add(l, p.c, 1);
    return parts;
}

/* What pieces want of a room; `ahead`: strips are packed before. */
static rl_gemm_parts rl_gemm_piece_layout(rl_layout *l, const rl_gemm_plan *plan, bool ahead) {
    return parts_add(l, piece_bytes(plan, ahead, plan->pb));
}

rl_gemm_parts rl_gemm_alone_layout(rl_layout *l, const rl_gemm_plan *plans, int n) {
    part_bytes most = alone_bytes(&plans[0]);
    for (int i = 1; i < n; i++) {
        const part_bytes p = alone_bytes(&plans[i]);
        most = (part_bytes){count_max(most.a, p.a), count_max(most.b, p.b), count_max(most.c, p.c)};
    }
    return parts_add(l, most);
}

void rl_gemm_alone(const rl_gemm_plan *plan, const rl_gemm_data *at, char *room, rl_gemm_parts parts) {
    const rl_gemm *g = &plan->g;
    if (plan->way != RL_WAY_TILES) {
        char *rows = rl_gemm_gemv_copies(plan) ? room + parts.a : NULL;
        if (rows) rl_gemm_gemv_copy(plan, at->a, rows);
        rl_gemm_gemv(plan, at, rows, room + parts.c, 0, g->n);
        return;
    }
    const int64_t panels = simd_ceil_div(g->n, plan->ukernel->nr), pb = panels_alone(plan);
    rl_gemm_packed packed = {.b = g->panels};
    if (plan->packs_b) {
        rl_gemm_pack_panels(plan, at->b, 0, panels, room + parts.b);
        packed.b = room + parts.b;
    }
    for (int64_t m = 0; m < g->m; m += RL_GEMM_MB)
        for (int64_t p = 0; p < panels; p += pb)
            rl_gemm_piece(plan, at, &packed, m, simd_min(g->m, m + RL_GEMM_MB), p, simd_min(panels, p + pb),
                          room, parts);
}

/* ---- how threads share a matrix product: Notes [Panels] and [GEMM algorithms] in kernels/simd/gemm/gemm.h
 * ---- */
static const double PACK_NS = 0.2; /* a number packed */
static const double GEMV_NS = 0.1; /* a number of the matrix that few rows are multiplied with */

/* ---- few rows ---- */
typedef struct {
    const rl_gemm_plan *plan;
    const rl_gemm_data *at;
    const char *rows;
    char *sums;
    int64_t group; /* columns of an item */
} gemv_job;

static void gemv_columns(void *ctx, int64_t begin, int64_t end, int thread) {
    const gemv_job *j = ctx;
    (void)thread;
    rl_gemm_gemv(j->plan, j->at, j->rows, j->sums, begin * j->group, simd_min(j->plan->g.n, end * j->group));
}

static rl_status gemv_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm_data *at) {
    const rl_gemm *g = &plan->g;
    const size_t size = (size_t)plan->size;
    gemv_job j = {.plan = plan, .at = at, .group = plan->way == RL_WAY_DOTS ? 4 : 64};
    if (rl_gemm_gemv_copies(plan)) {
        char *rows = k->svc->scratch(k, rl_gemm_gemv_count(plan), size);
        if (!rows) return RL_FAIL;
        rl_gemm_gemv_copy(plan, at->a, rows);
        j.rows = rows;
    }
    if (!plan->direct && !(j.sums = k->svc->scratch(k, rl_gemm_sums_count(plan), size))) return RL_FAIL;
    k->svc->parallel(k, simd_ceil_div(g->n, j.group), GEMV_NS * (double)(j.group * g->k), gemv_columns, &j);
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
    const int64_t mr = j->plan->ukernel->mr, nr = j->plan->ukernel->nr, panels = j->to_b ? j->p1 - j->p0 : 0;
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
    const int64_t rows = j->m1 - j->m0, panels = j->p1 - j->p0, mr = j->plan->ukernel->mr;
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
    const int64_t mr = j->plan->ukernel->mr, nr = j->plan->ukernel->nr, rows = j->m1 - j->m0;
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
enum { MAX_PACKED = 64 << 20 };
RL_CHOOSER
static int64_t lines_at_once(int64_t lines, int64_t unit, int64_t line_bytes) {
    const int64_t most = MAX_PACKED / line_bytes / unit * unit;
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
    if (plan->packs_b && !(j->to_b = k->svc->scratch(k, RL_COUNT(wide, plan->ukernel->nr, plan->g.k), size)))
        return false;
    const rl_count a = rl_count_times(rl_count_round_up(RL_COUNT(tall), plan->ukernel->mr), plan->g.k);
    return !ahead || (j->to_a = k->svc->scratch(k, a, size));
}

static rl_status tiles_run(rl_call *k, const rl_gemm_plan *plan, const rl_gemm_data *at) {
    const rl_gemm_ukernel *ukernel = plan->ukernel;
    const rl_gemm *g = &plan->g;
    const int64_t panels = simd_ceil_div(g->n, ukernel->nr), line = g->k * plan->size;
    const double ns = RL_GEMM_NS * plan->size / 4;
    const bool one = rl_is_serial(k, 1, ns * (double)g->m * (double)g->n * (double)g->k);
    const int64_t threads = one ? 1 : k->threads;
    const int64_t wide = plan->packs_b ? lines_at_once(panels, plan->pb, ukernel->nr * line) : panels;
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
    const int64_t nr = plan->ukernel->nr;
    block_job j = {.plan = plan, .at = &plan->g.at, .to_b = to, .p1 = simd_ceil_div(plan->g.n, nr)};
    k->svc->parallel(k, j.p1, PACK_NS * (double)(nr * plan->g.k), pack_items, &j);
}

/* ---- a long k under a small C ---- */
enum { LONG_K = 8192, BLOCK_K = 4096, MAX_BLOCKS = 64, SMALL_C = 65536 };
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
    long_job j = {.depth = simd_max(BLOCK_K, simd_ceil_div(g->k, MAX_BLOCKS)), .at = *at};
    j.blocks = simd_ceil_div(g->k, j.depth);
    const rl_gemm block = long_block(plan, j.depth), last = long_block(plan, g->k - (j.blocks - 1) * j.depth);
    rl_gemm_plan_make(k, &block, &j.plans[0]);
    rl_gemm_plan_make(k, &last, &j.plans[1]);
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
    return plan->way == RL_WAY_TILES ? tiles_run(k, plan, at) : gemv_run(k, plan, at);
}
