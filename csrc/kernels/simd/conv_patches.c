/* What one thread does of a convolution by patches, and how threads share it: Note [Patches] in
 * kernels/simd/conv_patches.h. */
#include "conv_patches.h"
#include "common.h"
#include "conv_patches_plan.h"

#ifdef RL_SIMD_X86
enum { LOOSE_ROWS = 24 };     /* rows up to which an input as it lies is read without a copy */
enum { SUMS_MOST = 1 << 17 }; /* of a part of the output channels */

typedef struct {
    const rl_patch_plan *plan;
    const char *in; /* prepared, of this round */
    char *out;
    simd_mover back;
    rl_patch_cut cut;
    int64_t images, part, parts; /* of this round; output channels of a part */
    rl_rooms rooms;
    int64_t seen, line, sums; /* parts of a room: patches of a tile, a woven row, sums */
    bool direct;              /* sums go straight to the output */
} patch_job;

/* ---- the product of a tile ---- */
/* sums of a part of the output channels by the tile, for one phase; `group` is (image, group) of the tile */
static void tile_product(const patch_job *j, const rl_patch_tile *t, const rl_patch_phase *phase,
                         int64_t group, int64_t o0, int64_t rows, char *seen, char *sums, int64_t sums_step) {
    const rl_patch_plan *plan = j->plan;
    const rl_patches *p = plan->p;
    const int64_t depth = p->channels * phase->taps, size = plan->size, nr = plan->kit->nr;
    const int64_t pieces = simd_ceil_div(depth, RL_GEMM_KB), kb = pieces ? simd_ceil_div(depth, pieces) : 1;
    const char *in = j->in + group * p->channels * plan->channel * size;
    const char *weights = plan->weights + (phase->strips + group * phase->group + o0 * depth) * size;
    const char *bias = plan->bias ? plan->bias + (group * p->outputs + o0) * size : NULL;
    int64_t k0 = 0;
    do {
        rl_panel panel = {.rows = rows, .k = simd_min(kb, depth - k0), .packed_a = true, .add = k0 > 0};
        const bool loose = rows <= LOOSE_ROWS && phase->taps == 1 && t->runs == 1;
        const char *from = seen;
        if (loose)
            from = in + (k0 * plan->channel + plan->tap[phase->first].offset) * size + t->run[0].from * 4;
        else if (panel.k)
            rl_patch_fill(plan, t, phase, in, k0, panel.k, seen, j->cut.tile);
        panel.a = weights + k0 * plan->kit->mr * size, panel.a_strip = plan->kit->mr * depth;
        panel.row_bias = bias;
        panel.b_step = loose ? plan->channel : j->cut.tile, panel.c_step = sums_step;
        panel.a_next = panel.a_strip;
        for (int64_t n = 0; n < t->count; n += nr) {
            panel.cols = (int)simd_min(nr, t->count - n);
            panel.b_next = n + nr < t->count ? nr : -n;
            panel.b = from + n * size;
            panel.c = sums + n * size;
            plan->kit->panel(&panel);
        }
        k0 += kb;
    } while (k0 < depth);
}

/* ---- from sums to the output ---- */
#define WEAVE(name, T)                                                                                       \
    static void name(T *to, const T *from, int64_t step, int64_t ways, int64_t n) {                          \
        if (ways == 2) {                                                                                     \
            const T *other = from + step;                                                                    \
            for (int64_t i = 0; i < n; i++) to[2 * i] = from[i], to[2 * i + 1] = other[i];                   \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t w = 0; w < ways; w++, from += step)                                                     \
            for (int64_t i = 0; i < n; i++) to[i * ways + w] = from[i];                                      \
    }
WEAVE(weave_floats, float)
WEAVE(weave_doubles, double)

/* rows of sums of a tile, for all column phases, to where they belong; (z, y) is the phase */
static void tile_put(const patch_job *j, const rl_patch_tile *t, int64_t z, int64_t y, int64_t group,
                     int64_t o0, int64_t rows, const char *sums, char *line) {
    const rl_patch_plan *plan = j->plan;
    const rl_patches *p = plan->p;
    const int64_t *grid = plan->grid, *spread = plan->spread, *places = p->places;
    const int64_t size = plan->size, item = j->back.to_item, ways = plan->weave[2];
    for (int64_t done = 0, n; done < t->count; done += n) {
        const int64_t at = t->first + done, x = at % grid[2], image = t->image + at / j->cut.places;
        const int64_t oy = at / grid[2] % grid[1] * spread[1] + y;
        const int64_t oz = at / grid[2] / grid[1] % grid[0] * spread[0] + z, ox = x * ways;
        n = simd_min(grid[2] - x, t->count - done);
        if (oz >= places[0] || oy >= places[1]) continue;
        char *to =
            j->out + ((((image * p->groups + group) * p->outputs + o0) * places[0] + oz) * places[1] + oy) *
                         places[2] * item;
        const int64_t wide = simd_min(n * ways, places[2] - ox);
        for (int64_t o = 0; o < rows; o++, to += places[0] * places[1] * places[2] * item) {
            const char *from = sums + (o * j->cut.tile + done) * size;
            if (ways > 1) {
                if (size == 4)
                    weave_floats((float *)line, (const float *)from, rows * j->cut.tile, ways, n);
                else
                    weave_doubles((double *)line, (const double *)from, rows * j->cut.tile, ways, n);
                from = line;
            }
            simd_move(&j->back, to + ox * item, item, from, size, wide);
        }
    }
}

/* item = ((tile * groups + group) * phases of rows + phase) * parts + part of the output channels */
static void patch_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const patch_job *j = ctx;
    const rl_patch_plan *plan = j->plan;
    const rl_patches *p = plan->p;
    const int64_t phases = plan->weave[0] * plan->weave[1], ways = plan->weave[2], size = plan->size;
    char *room = rl_room(&j->rooms, thread), *seen = room + j->seen, *line = room + j->line;
    rl_patch_tile t;
    for (int64_t i = begin; i < end; i++) {
        const int64_t part = i % j->parts, phase = i / j->parts % phases, o0 = part * j->part;
        const int64_t group = i / j->parts / phases % p->groups, tile = i / j->parts / phases / p->groups;
        const int64_t rows = simd_min(j->part, p->outputs - o0);
        rl_patch_tile_make(plan, &j->cut, j->images, tile, &t);
        char *sums = room + j->sums;
        if (j->direct)
            sums =
                j->out + (((t.image * p->groups + group) * p->outputs + o0) * j->cut.places + t.first) * size;
        for (int64_t w = 0; w < ways; w++)
            tile_product(j, &t, &plan->phase[phase * ways + w], group, o0, rows, seen,
                         sums + w * rows * j->cut.tile * size, j->direct ? j->cut.places : j->cut.tile);
        if (!j->direct)
            tile_put(j, &t, phase / plan->weave[1], phase % plan->weave[1], group, o0, rows, sums, line);
    }
}

/* how output channels are cut */
RL_CHOOSER
static void parts_cut(patch_job *j, int64_t threads) {
    const rl_patch_plan *plan = j->plan;
    const int64_t mr = plan->kit->mr, strips = simd_ceil_div(plan->p->outputs, mr);
    const int64_t rows = plan->weave[0] * plan->weave[1] * plan->p->groups;
    int64_t parts = 1;
    if (threads > 1)
        parts = simd_min(simd_max(1, strips / 4),
                         simd_ceil_div(3 * threads, rl_patch_tiles(&j->cut, j->images) * rows));
    j->part = simd_ceil_div(strips, parts) * mr;
    if (!j->direct)
        j->part = simd_min(j->part, simd_max(1, SUMS_MOST / (plan->weave[2] * j->cut.tile * mr)) * mr);
    j->parts = simd_ceil_div(plan->p->outputs, j->part);
}

/* a thread's room */
static rl_layout patch_layout(const rl_call *k, patch_job *j) {
    const rl_patch_plan *plan = j->plan;
    const int64_t ways = plan->weave[2], tile = j->cut.tile, rows = simd_min(j->part, plan->p->outputs);
    rl_layout l = rl_layout_begin(k);
    j->seen = rl_layout_add(&l, RL_COUNT(RL_GEMM_KB, tile), plan->size);
    j->line = rl_layout_add(&l, RL_COUNT(ways, tile), plan->size);
    j->sums = rl_layout_add(&l, j->direct ? RL_COUNT(0) : RL_COUNT(ways, rows, tile), plan->size);
    return l;
}

rl_status rl_patches_run(rl_call *k, const rl_patches *p) {
    rl_patch_plan plan;
    rl_status made = rl_patch_plan_make(k, p, &plan);
    if (made != RL_OK) return made;
    if (!rl_patch_weights(k, &plan)) return RL_FAIL;
    const double work = RL_GEMM_NS * rl_patch_work(p) * plan.size / 4;
    const int64_t threads = rl_is_serial(k, 1, work) ? 1 : k->threads, round = rl_patch_round(k, &plan);
    patch_job j = {.plan = &plan, .images = round, .cut = rl_patch_cut_make(&plan, round)};
    j.back = simd_mover_between(k, p->out->dtype, plan.inner);
    j.direct =
        !j.cut.spans && p->out->dtype == plan.inner && plan.weave[0] * plan.weave[1] * plan.weave[2] == 1;
    parts_cut(&j, threads);
    const rl_layout l = patch_layout(k, &j);
    if (!k->svc->rooms(k, &l, threads, &j.rooms)) return RL_FAIL;
    char *prepared = NULL;
    if (plan.copies) prepared = k->svc->scratch(k, RL_COUNT(round, plan.image, plan.size), 1);
    if (plan.copies && !prepared) return RL_FAIL;
    const int64_t answer = p->groups * p->outputs * p->places[0] * p->places[1] * p->places[2];
    for (int64_t first = 0; first < p->images; first += round) {
        j.images = simd_min(round, p->images - first);
        j.out = (char *)rl_data(p->out, RL_WRITE) + first * answer * j.back.to_item;
        j.in = rl_patch_input(k, &plan, first, j.images, prepared);
        const int64_t items =
            rl_patch_tiles(&j.cut, j.images) * p->groups * plan.weave[0] * plan.weave[1] * j.parts;
        const double share = (double)j.images / (double)p->images / (double)items;
        k->svc->parallel(k, items, threads == 1 ? 0 : work * share, patch_items, &j);
    }
    return RL_OK;
}
#else
rl_status rl_patches_run(rl_call *k, const rl_patches *p) {
    (void)k, (void)p;
    return RL_UNSUPPORTED;
}
#endif
