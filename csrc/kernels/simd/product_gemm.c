/* Which way a product goes, and what one thread does of it: Notes [Panels] and [Ways] in
 * kernels/simd/product_gemm.h. */
#include "product_gemm.h"
#include "product_blocks.h"
#include "product_thin.h"
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "product_gemm_impl.inc"
#define WHOLE         uint32_t
#define WHOLE_NAME(f) V_NAME(f##_u32)
#include "product_whole_impl.inc"
#define WHOLE         uint64_t
#define WHOLE_NAME(f) V_NAME(f##_u64)
#include "product_whole_impl.inc"
#define SIMD_DOUBLE
#include "isa.h"
#include "product_gemm_impl.inc"
#undef SIMD_DOUBLE
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "product_gemm_impl.inc"
#define WHOLE         uint32_t
#define WHOLE_NAME(f) V_NAME(f##_u32)
#include "product_whole_impl.inc"
#define WHOLE         uint64_t
#define WHOLE_NAME(f) V_NAME(f##_u64)
#include "product_whole_impl.inc"
#define SIMD_DOUBLE
#include "isa.h"
#include "product_gemm_impl.inc"
#undef SIMD_DOUBLE

enum { KITS = 4 };
RL_CHOOSER
const rl_gemm_kit *rl_gemm_kit_get(const rl_call *k, int inner) {
    static const rl_gemm_kit *const kits[] = {&kit_avx2,   &kit_avx2_f64,   &kit_u32_avx2,   &kit_u64_avx2,
                                              &kit_avx512, &kit_avx512_f64, &kit_u32_avx512, &kit_u64_avx512};
    const int at = inner == RL_F32 ? 0 : inner == RL_F64 ? 1 : inner == RL_I32 ? 2 : 3;
    if (!(k->svc->isa & RL_ISA_AVX2)) return NULL;
    return kits[at + (k->svc->isa & RL_ISA_AVX512 ? KITS : 0)];
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
    const rl_gemm_kit *kit = rl_gemm_kit_get(k, inner);
    rl_gemm *const g = &plan->g;
    if (!kit || problem->k == 0) return false;
    *plan = (rl_gemm_plan){.g = *problem, .kit = kit, .size = (int)rl_itemsize(inner), .inner = inner};
    strides_settle(g);
    plan->swapped = !whole && better_swapped(g);
    plan->in = simd_mover_between(k, inner, g->dtype);
    plan->out = simd_mover_between(k, g->c_dtype, inner);
    plan->back = simd_mover_between(k, inner, g->c_dtype);
    if (plan->swapped) gemm_swap(g);
    plan->way = g->panels || whole ? RL_WAY_TILES : way_of(g->m, g->n, g->k, g->b_row, g->b_col);
    const bool plain = g->dtype == inner, tiles = plan->way == RL_WAY_TILES;
    plan->col_bias = tiles && g->at.x && g->x_row == 0 && g->x_col == 1 && g->beta == 1;
    plan->direct = g->c_dtype == inner && g->alpha == 1 && (!g->at.x || plan->col_bias) &&
                   (g->c_col == 1 || plan->way == RL_WAY_DOTS);
    if (!plan->direct) plan->col_bias = false;
    plan->packs_b = tiles && !g->panels && (!plain || whole || g->b_col != 1 || repays_b(k, g, plan->size));
    plan->packs_a = tiles && (!plain || whole || (g->m >= kit->mr && repays_a(g, kit->nr)));
    plan->kb = simd_ceil_div(g->k, simd_ceil_div(g->k, plan->packs_a ? RL_GEMM_KB : LOOSE_KB));
    plan->pb = simd_min(plan->packs_a ? 2 * PIECE_PANELS : PIECE_PANELS, simd_ceil_div(g->n, kit->nr));
    if (!tiles) plan->thin = rl_thin_body_of(k, g->dtype, plan->way == RL_WAY_DOTS);
    return true;
}
#else
const rl_gemm_kit *rl_gemm_kit_get(const rl_call *k, int inner) {
    (void)k, (void)inner;
    return NULL;
}
bool rl_gemm_plan_make(const rl_call *k, const rl_gemm *problem, rl_gemm_plan *plan) {
    (void)k, (void)problem, (void)plan;
    return false;
}
#endif

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
        simd_move(&plan->out, (char *)at->c + (i0 * g->c_row + j0) * item, item, from, size,
                  (i1 - i0) * from_row);
        return;
    }
    for (int64_t i = i0; i < i1; i++, from += from_row * size)
        for (int64_t j = j0; j < j1; j += FINISH) {
            const int64_t n = simd_min(FINISH, j1 - j);
            const char *line = from + (j - j0) * size;
            if (at->x)
                simd_move(&plan->back, more, size, (const char *)at->x + (i * g->x_row + j * g->x_col) * item,
                          g->x_col * item, n);
            if (weighs && size == 4)
                weigh_floats((float *)sums, (const float *)line, at->x ? (const float *)more : NULL, g->alpha,
                             g->beta, n);
            else if (weighs)
                weigh_doubles(sums, (const double *)line, at->x ? more : NULL, g->alpha, g->beta, n);
            simd_move(&plan->out, (char *)at->c + (i * g->c_row + j * g->c_col) * item, g->c_col * item,
                      weighs ? (const char *)sums : line, size, n);
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
    const int64_t size = plan->size, nr = plan->kit->nr;
    const int64_t next = packed->b ? nr * g->k : nr, first = packed->b ? p->k * nr : 0;
    const char *b = packed->b ? packed->b + ((p0 - packed->p0) * g->k + k0) * nr * size
                              : (const char *)at->b + (k0 * g->b_row + p0 * nr) * size;
    for (int64_t i = p0; i < p1; i++, b += next * size, to += nr * size) {
        p->cols = (int)simd_min(nr, g->n - i * nr);
        p->b_next = i + 1 < p1 ? next : first - (p1 - 1 - p0) * next;
        p->b = b, p->c = to;
        if (plan->col_bias) p->col_bias = (const char *)at->x + i * nr * size;
        plan->kit->panel(p);
    }
}

void rl_gemm_piece(const rl_gemm_plan *plan, const rl_gemm_data *at, const rl_gemm_packed *packed, int64_t m0,
                   int64_t m1, int64_t p0, int64_t p1, char *room, rl_gemm_parts parts) {
    const rl_gemm *g = &plan->g;
    const int64_t size = plan->size, mr = plan->kit->mr, nr = plan->kit->nr, item = plan->in.from_item;
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
    return rl_count_times(rl_count_round_up(RL_COUNT(plan->g.n), plan->kit->nr), plan->g.k);
}

void rl_gemm_pack_panels(const rl_gemm_plan *plan, const void *b, int64_t i0, int64_t i1, char *to) {
    const rl_gemm *g = &plan->g;
    const int64_t nr = plan->kit->nr, item = plan->in.from_item, step = nr * g->k * plan->size;
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
void rl_gemm_thin(const rl_gemm_plan *plan, const rl_gemm_data *at, const char *rows, char *sums, int64_t j0,
                  int64_t j1) {
    const rl_gemm *g = &plan->g;
    rl_thin t = {.rows = g->m, .k = g->k, .w = at->b, .c = at->c, .c_row = g->c_row, .c_col = g->c_col};
    t.w_row = plan->way == RL_WAY_DOTS ? g->b_col : g->b_row;
    t.x = rows ? (const void *)rows : at->a, t.x_row = rows ? g->k : g->a_row;
    if (!plan->direct) t.c = sums, t.c_row = g->n, t.c_col = 1;
    rl_thin_body_get(plan->thin)(&t, j0, j1);
    if (!plan->direct) rl_gemm_finish(plan, at, sums + j0 * plan->size, g->n, 0, g->m, j0, j1);
}

RL_CHOOSER
bool rl_gemm_thin_copies(const rl_gemm_plan *plan) {
    return plan->in.convert || plan->g.a_col != 1;
}

rl_count rl_gemm_thin_count(const rl_gemm_plan *plan) {
    return rl_gemm_thin_copies(plan) ? RL_COUNT(plan->g.m, plan->g.k) : RL_COUNT(0);
}

rl_count rl_gemm_sums_count(const rl_gemm_plan *plan) {
    return plan->direct ? RL_COUNT(0) : RL_COUNT(plan->g.m, plan->g.n);
}

void rl_gemm_thin_copy(const rl_gemm_plan *plan, const void *a, char *to) {
    const rl_gemm *g = &plan->g;
    const int64_t item = plan->in.from_item;
    for (int64_t i = 0; i < g->m; i++)
        simd_move(&plan->in, to + i * g->k * plan->size, plan->size, (const char *)a + i * g->a_row * item,
                  g->a_col * item, g->k);
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
        p.a =
            rl_count_times(rl_count_times(rl_count_round_up(RL_COUNT(rows), plan->kit->mr), plan->kb), size);
    if (!plan->direct) p.c = RL_COUNT(rows, pb, plan->kit->nr, size);
    return p;
}

/* panels of a piece when one thread does all of them: A is packed once where it can be */
RL_CHOOSER
static int64_t panels_alone(const rl_gemm_plan *plan) {
    return plan->direct ? simd_ceil_div(plan->g.n, plan->kit->nr) : plan->pb;
}

static part_bytes alone_bytes(const rl_gemm_plan *plan) {
    if (plan->way == RL_WAY_TILES) {
        part_bytes p = piece_bytes(plan, false, panels_alone(plan));
        if (plan->packs_b) p.b = rl_count_times(rl_gemm_panels_count(plan), plan->size);
        return p;
    }
    return (part_bytes){.a = rl_count_times(rl_gemm_thin_count(plan), plan->size),
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

rl_gemm_parts rl_gemm_piece_layout(rl_layout *l, const rl_gemm_plan *plan, bool ahead) {
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
        char *rows = rl_gemm_thin_copies(plan) ? room + parts.a : NULL;
        if (rows) rl_gemm_thin_copy(plan, at->a, rows);
        rl_gemm_thin(plan, at, rows, room + parts.c, 0, g->n);
        return;
    }
    const int64_t panels = simd_ceil_div(g->n, plan->kit->nr), pb = panels_alone(plan);
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
