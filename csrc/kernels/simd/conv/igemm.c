/* Convolution as an implicit GEMM: the plan, its input and weights, tiles, and what one thread does.
 * Note [Implicit GEMM] in kernels/simd/conv/igemm.h. */
#include "kernels/simd/common.h"
#include "kernel_abi/window.h"
#include "igemm.h"
#include <string.h>

/* Prepares input and weights of an implicit GEMM convolution. Note [Implicit GEMM] in
 * kernels/simd/conv/igemm.h. */
RL_CHOOSER
bool rl_igemm_read(const rl_call *k, const rl_view *in, const rl_view *weight, const rl_view *bias,
                   const rl_view *out, bool transposed, rl_igemm_problem *p) {
    const rl_window *a = rl_window_of(k);
    const int n = (int)a->spatial, lead = in->ndim - n;
    if (!rl_is_float(in->dtype) || !in->numel || !weight->numel || !out->numel) return false;
    *p = (rl_igemm_problem){.in = in, .weight = weight, .bias = bias, .out = out, .transposed = transposed};
    p->images = lead == 2 ? in->shape[0] : 1, p->groups = a->groups;
    p->image = lead == 2 ? in->strides[0] : 0, p->channel = in->strides[lead - 1];
    p->channels = in->shape[lead - 1] / a->groups, p->outputs = out->shape[lead - 1] / a->groups;
    int64_t all = p->images | in->shape[lead - 1] | out->shape[lead - 1];
    for (int i = 0; i < 3; i++) {
        const int at = i - (3 - n);
        p->size[i] = at < 0 ? 1 : in->shape[lead + at];
        p->step[i] = at < 0 ? 0 : in->strides[lead + at];
        p->places[i] = at < 0 ? 1 : out->shape[lead + at];
        p->kernel[i] = at < 0 ? 1 : weight->shape[2 + at];
        p->stride[i] = a->stride[i], p->dilation[i] = a->dilation[i], p->before[i] = a->before[i];
        all |= p->size[i] | p->places[i] | p->kernel[i] | p->stride[i] | p->dilation[i] | p->before[i];
    }
    return all <= INT32_MAX;
}

double rl_igemm_work(const rl_igemm_problem *p) {
    const int64_t *places = p->transposed ? p->size : p->places;
    double work = (double)p->images * (double)(p->groups * p->outputs) * (double)p->channels;
    for (int d = 0; d < 3; d++) work *= (double)places[d] * (double)p->kernel[d];
    return work;
}

/* ---- the prepared input ---- */
/* Element `at` of the kernel in dimension d reads input place q * step + the answer for place q of `phase`.
 */
static int64_t tap_offset(const rl_igemm_problem *p, int d, int64_t at, int64_t *phase) {
    const int64_t shift = at * p->dilation[d] - p->before[d], stride = p->stride[d];
    *phase = p->transposed ? (shift % stride + stride) % stride : 0;
    return p->transposed ? (*phase - shift) / stride : shift;
}

static void plan_extents(rl_igemm_plan *plan) {
    const rl_igemm_problem *p = plan->p;
    for (int d = 0; d < 3; d++) {
        int64_t least = INT64_MAX, most = INT64_MIN, phase;
        plan->spread[d] = p->transposed ? p->stride[d] : 1;
        plan->step[d] = p->transposed ? 1 : p->stride[d];
        plan->weave[d] = simd_min(plan->spread[d], p->places[d]);
        plan->grid[d] = simd_ceil_div(p->places[d], plan->spread[d]);
        for (int64_t i = 0; i < p->kernel[d]; i++) {
            const int64_t offset = tap_offset(p, d, i, &phase);
            if (phase >= plan->weave[d]) continue;
            least = simd_min(least, offset), most = simd_max(most, offset);
        }
        if (least > most) least = most = 0;
        plan->lo[d] = simd_max(0, -least);
        plan->extent[d] = plan->lo[d] + (plan->grid[d] - 1) * plan->step[d] + simd_max(0, most) + 1;
        plan->copies |= plan->lo[d] > 0 || plan->extent[d] > p->size[d];
    }
    plan->split = plan->step[2];
    plan->column = simd_ceil_div(plan->extent[2], plan->split);
}

enum { MAX_PADDING = 8, SMALL_IMAGE = 1 << 18 };
/* false when the prepared input would be far larger than what it is made of and for */
static bool plan_steps(rl_igemm_plan *plan) {
    const rl_igemm_problem *p = plan->p;
    const int64_t line = plan->split * plan->column;
    plan->copies |= p->in->dtype != plan->inner || plan->split > 1 || (p->step[2] != 1 && p->size[2] > 1);
    if (!plan->copies) {
        plan->row = p->step[1], plan->slab = p->step[0], plan->channel = p->channel, plan->image = p->image;
        return true;
    }
    const rl_count image = RL_COUNT(p->groups, p->channels, plan->extent[0], plan->extent[1], line);
    const int64_t seen = p->in->numel / p->images + p->out->numel / p->images;
    if (image.n < 0 || image.n / MAX_PADDING > seen + SMALL_IMAGE) return false;
    plan->row = line, plan->slab = plan->extent[1] * line, plan->channel = plan->extent[0] * plan->slab;
    plan->image = image.n;
    return true;
}

typedef struct {
    const rl_igemm_plan *plan;
    simd_cast_copy in;
    char *to;
    int64_t first;
} prepare_job;

static void prepare_row(const prepare_job *j, char *to, const char *from) {
    const rl_igemm_plan *plan = j->plan;
    const rl_igemm_problem *p = plan->p;
    const int64_t split = plan->split, column = plan->column, size = plan->size;
    const int64_t step = p->step[2] * j->in.from_item;
    for (int64_t phase = 0; phase < split; phase++, to += column * size) {
        /* number i of a phase is column i * split + phase - lo: inside for i in [lo, hi) */
        const int64_t shift = phase - plan->lo[2];
        int64_t lo = shift < 0 ? simd_ceil_div(-shift, split) : 0;
        int64_t hi = simd_ceil_div(simd_max(0, p->size[2] - shift), split);
        lo = simd_min(lo, column), hi = simd_max(lo, simd_min(hi, column));
        memset(to, 0, (size_t)(lo * size));
        simd_cast_copy_run(&j->in, to + lo * size, size, from + (lo * split + shift) * step, split * step,
                           hi - lo);
        memset(to + hi * size, 0, (size_t)((column - hi) * size));
    }
}

/* item = image * channels + channel */
static void prepare_planes(void *ctx, int64_t begin, int64_t end, int thread) {
    const prepare_job *j = ctx;
    const rl_igemm_plan *plan = j->plan;
    const rl_igemm_problem *p = plan->p;
    const int64_t channels = p->groups * p->channels, item = j->in.from_item;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const char *from = rl_const_data(p->in);
        char *to = j->to + i * plan->channel * plan->size;
        from += ((j->first + i / channels) * p->image + i % channels * p->channel) * item;
        for (int64_t line = 0; line < plan->extent[0] * plan->extent[1];
             line++, to += plan->row * plan->size) {
            const int64_t z = line / plan->extent[1] - plan->lo[0], y = line % plan->extent[1] - plan->lo[1];
            if (z < 0 || z >= p->size[0] || y < 0 || y >= p->size[1])
                memset(to, 0, (size_t)(plan->row * plan->size));
            else
                prepare_row(j, to, from + (z * p->step[0] + y * p->step[1]) * item);
        }
    }
}

const char *rl_igemm_input(rl_call *k, const rl_igemm_plan *plan, int64_t first, int64_t count, char *to) {
    prepare_job j = {.plan = plan, .to = to, .first = first};
    const rl_igemm_problem *p = plan->p;
    if (!plan->copies) return (const char *)rl_const_data(p->in) + first * p->image * plan->size;
    j.in = simd_cast_copy_between(k, plan->inner, p->in->dtype);
    k->svc->parallel(k, count * p->groups * p->channels, 0.2 * (double)plan->channel, prepare_planes, &j);
    return to;
}

enum { MAX_COPIED = 1 << 20 }; /* numbers of input made ready at a time, unless one image has more */
int64_t rl_igemm_round(const rl_call *k, const rl_igemm_plan *plan) {
    if (!plan->copies) return plan->p->images;
    return simd_min(plan->p->images, simd_max(k->threads, MAX_COPIED / plan->image));
}

/* ---- phases and taps ---- */
enum { MAX_PHASES = 4096 };
static int64_t phases_of(const rl_igemm_plan *plan) {
    return plan->weave[0] * plan->weave[1] * plan->weave[2];
}

/* its phase, or -1 when no output place is in it */
static int64_t tap_place(const rl_igemm_plan *plan, int64_t tap, int64_t *offset) {
    const rl_igemm_problem *p = plan->p;
    const int64_t at[3] = {tap / p->kernel[2] / p->kernel[1], tap / p->kernel[2] % p->kernel[1],
                           tap % p->kernel[2]};
    int64_t number = 0, phase, where[3];
    for (int d = 0; d < 3; d++) {
        where[d] = tap_offset(p, d, at[d], &phase) + plan->lo[d];
        if (phase >= plan->weave[d]) return -1;
        number = number * plan->weave[d] + phase;
    }
    *offset = where[0] * plan->slab + where[1] * plan->row + where[2] % plan->split * plan->column +
              where[2] / plan->split;
    return number;
}

static bool plan_taps(rl_call *k, rl_igemm_plan *plan) {
    const rl_igemm_problem *p = plan->p;
    const int64_t phases = phases_of(plan), taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
    const int64_t mr = plan->ukernel->mr, strips = simd_ceil_div(p->outputs, mr);
    int64_t offset, first = 0, elements = 0;
    plan->phase = k->svc->scratch(k, RL_COUNT(phases), sizeof *plan->phase);
    plan->tap = k->svc->scratch(k, RL_COUNT(taps), sizeof *plan->tap);
    if (!plan->phase || !plan->tap) return false;
    memset(plan->phase, 0, (size_t)phases * sizeof *plan->phase);
    for (int64_t i = 0; i < taps; i++) {
        const int64_t phase = tap_place(plan, i, &offset);
        if (phase >= 0) plan->phase[phase].taps++;
    }
    for (int64_t i = 0; i < phases; i++) {
        rl_igemm_phase *phase = &plan->phase[i];
        phase->first = first, phase->strips = elements;
        phase->group = strips * mr * p->channels * phase->taps;
        first += phase->taps, elements += phase->group * p->groups;
        phase->taps = 0;
    }
    for (int64_t i = 0; i < taps; i++) {
        const int64_t at = tap_place(plan, i, &offset);
        if (at < 0) continue;
        rl_igemm_phase *phase = &plan->phase[at];
        plan->tap[phase->first + phase->taps++] = (rl_igemm_tap){i, offset};
    }
    return true;
}

/* ---- weights ---- */
typedef struct {
    const rl_igemm_plan *plan;
    const char *from;
    char *to;
    int64_t strips, group, out, in; /* strips of a group; steps of the weight */
} weight_job;

/* item = (phase * groups + group) * strips + strip */
#define PACK_STRIPS(name, T)                                                                                 \
    static void name(void *ctx, int64_t begin, int64_t end, int thread) {                                    \
        const weight_job *j = ctx;                                                                           \
        const rl_igemm_plan *plan = j->plan;                                                                 \
        const int64_t mr = plan->ukernel->mr;                                                                \
        (void)thread;                                                                                        \
        for (int64_t i = begin; i < end; i++) {                                                              \
            const rl_igemm_phase *phase = &plan->phase[i / j->strips / plan->p->groups];                     \
            const rl_igemm_tap *tap = plan->tap + phase->first;                                              \
            const int64_t group = i / j->strips % plan->p->groups, strip = i % j->strips;                    \
            const int64_t lanes = simd_min(mr, plan->p->outputs - strip * mr);                               \
            const T *from = (const T *)j->from + group * j->group + strip * mr * j->out;                     \
            T *to = (T *)j->to + phase->strips + group * phase->group +                                      \
                    strip * mr * plan->p->channels * phase->taps;                                            \
            for (int64_t c = 0; c < plan->p->channels; c++, from += j->in)                                   \
                for (int64_t t = 0; t < phase->taps; t++, to += mr) {                                        \
                    const T *w = from + tap[t].kernel;                                                       \
                    for (int64_t o = 0; o < lanes; o++) to[o] = w[o * j->out];                               \
                    for (int64_t o = lanes; o < mr; o++) to[o] = 0;                                          \
                }                                                                                            \
        }                                                                                                    \
    }
PACK_STRIPS(pack_floats, float)
PACK_STRIPS(pack_doubles, double)

const char *rl_igemm_plain(rl_call *k, const rl_view *v, int inner) {
    const simd_cast_copy m = simd_cast_copy_between(k, inner, v->dtype);
    if (!m.convert && rl_is_contiguous(v)) return rl_const_data(v);
    char *to = k->svc->scratch(k, RL_COUNT(v->numel, m.to_item), 1), *at = to;
    if (!to) return NULL;
    const char *from = rl_const_data(v);
    if (rl_is_contiguous(v)) {
        simd_cast_copy_run(&m, to, m.to_item, from, m.from_item, v->numel);
        return to;
    }
    const int last = v->ndim - 1;
    int64_t index[RL_MAX_DIMS] = {0}, row = v->shape[last];
    for (int64_t done = 0; done < v->numel; done += row, at += row * m.to_item) {
        simd_cast_copy_run(&m, at, m.to_item, from, v->strides[last] * m.from_item, row);
        for (int d = last - 1; d >= 0; d--) {
            from += v->strides[d] * m.from_item;
            if (++index[d] < v->shape[d]) break;
            from -= v->strides[d] * v->shape[d] * m.from_item;
            index[d] = 0;
        }
    }
    return to;
}

/* What makes two plans have the same strips; 0 when it does not fit. */
static uint64_t weights_key(const rl_igemm_plan *plan) {
    enum { KEY_IGEMM = 0x24, SMALL = 8 };
    const rl_igemm_problem *p = plan->p;
    uint64_t key = (uint64_t)KEY_IGEMM << 8 | (unsigned)plan->ukernel->mr;
    if (p->groups >= 1 << 16) return 0;
    key = key << 16 | (uint64_t)p->groups;
    for (int d = 0; d < 3; d++) {
        const int64_t stride = plan->spread[d];
        if (stride > SMALL || plan->weave[d] < stride) return 0; /* some taps may reach no place at all */
        const int64_t before = p->before[d] % stride, dilation = p->dilation[d] % stride;
        key = key * SMALL + (uint64_t)(stride - 1);
        key = key * SMALL + (uint64_t)before;
        key = key * SMALL + (uint64_t)dilation;
    }
    return key * 2 + p->transposed;
}

bool rl_igemm_pack_weights(rl_call *k, rl_igemm_plan *plan) {
    const rl_igemm_problem *p = plan->p;
    const int64_t phases = phases_of(plan), mr = plan->ukernel->mr;
    const int64_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2], strips = simd_ceil_div(p->outputs, mr);
    const rl_count bytes = RL_COUNT(p->groups, strips, mr, p->channels, taps, plan->size);
    const uint64_t key = weights_key(plan);
    if (p->bias && !(plan->bias = rl_igemm_plain(k, p->bias, plan->inner))) return false;
    if (key && (plan->weights = k->svc->packed_find(k, p->weight, key))) return true;
    weight_job j = {.plan = plan, .strips = strips, .group = p->channels * p->outputs * taps};
    j.out = p->transposed ? taps : p->channels * taps;
    j.in = p->transposed ? p->outputs * taps : taps;
    j.from = rl_igemm_plain(k, p->weight, plan->inner);
    if (!j.from) return false;
    if (key) j.to = k->svc->packed_new(k, p->weight, key, bytes, 1);
    const bool kept = j.to != NULL;
    if (!kept) j.to = k->svc->scratch(k, bytes, 1);
    if (!j.to) return false;
    k->svc->parallel(k, phases * p->groups * j.strips, (double)(mr * p->channels * taps) / (double)phases,
                     plan->size == 4 ? pack_floats : pack_doubles, &j);
    if (kept) k->svc->packed_ready(k, p->weight, key);
    plan->weights = j.to;
    return true;
}

RL_CHOOSER
rl_status rl_igemm_plan_make(rl_call *k, const rl_igemm_problem *p, rl_igemm_plan *plan) {
    const int inner = p->in->dtype == RL_F64 ? RL_F64 : RL_F32;
    *plan = (rl_igemm_plan){.p = p, .inner = inner, .size = (int)rl_itemsize(inner)};
    plan->ukernel = rl_gemm_ukernel_get(k, inner);
    plan->isa = k->svc->isa;
    plan_extents(plan);
    const int64_t phases = plan->weave[0] * plan->weave[1] * plan->weave[2]; /* of places: it fits */
    if (phases > MAX_PHASES || !plan_steps(plan)) return RL_UNSUPPORTED;
    return plan_taps(k, plan) ? RL_OK : RL_FAIL;
}

/* ---- tiles of patches: Note [Implicit GEMM] in kernels/simd/conv/igemm.h ---- */
RL_CHOOSER
rl_igemm_cut rl_igemm_cut_make(const rl_igemm_plan *plan, int64_t images) {
    const int64_t nr = plan->ukernel->nr, most = RL_IGEMM_TILE / nr * nr;
    rl_igemm_cut cut = {.places = plan->grid[0] * plan->grid[1] * plan->grid[2]};
    cut.spans = cut.places < most / 2 && images > 1;
    const int64_t all = cut.spans ? images * cut.places : cut.places;
    cut.tile = simd_ceil_div(simd_ceil_div(all, simd_ceil_div(all, most)), nr) * nr;
    return cut;
}

int64_t rl_igemm_tiles(const rl_igemm_cut *cut, int64_t images) {
    return cut->spans ? simd_ceil_div(images * cut->places, cut->tile)
                      : simd_ceil_div(cut->places, cut->tile) * images;
}

/* runs of places that lie side by side in the prepared input */
static void tile_runs(const rl_igemm_plan *plan, const rl_igemm_cut *cut, rl_igemm_tile *t) {
    const int64_t *grid = plan->grid, floats = plan->size / 4;
    t->runs = 0;
    for (int64_t done = 0, n; done < t->count; done += n) {
        const int64_t at = t->first + done, x = at % grid[2], y = at / grid[2] % grid[1];
        const int64_t z = at / grid[2] / grid[1] % grid[0], image = t->image + at / cut->places;
        const int64_t from =
            image * plan->image + z * plan->step[0] * plan->slab + y * plan->step[1] * plan->row + x;
        n = simd_min(grid[2] - x, t->count - done);
        rl_igemm_span *last = t->runs ? &t->run[t->runs - 1] : NULL;
        if (last && last->from + last->n == from * floats)
            last->n += n * floats;
        else
            t->run[t->runs++] = (rl_igemm_span){from * floats, n * floats};
    }
}

void rl_igemm_tile_make(const rl_igemm_plan *plan, const rl_igemm_cut *cut, int64_t images, int64_t number,
                        rl_igemm_tile *t) {
    const int64_t all = cut->spans ? images * cut->places : cut->places;
    const int64_t each = simd_ceil_div(all, cut->tile); /* tiles of an image, or of all together */
    t->image = number / each, t->first = number % each * cut->tile;
    t->count = simd_min(cut->tile, all - t->first);
    tile_runs(plan, cut, t);
}

#define ISA_IMPL "kernels/simd/conv/igemm_impl.inc"
#include "kernels/simd/foreach_isa.h"

void rl_igemm_fill(const rl_igemm_plan *plan, const rl_igemm_tile *t, const rl_igemm_phase *phase,
                   const char *in, int64_t k0, int64_t n, char *to, int64_t step) {
    static void (*const fills[])(float *, int64_t, const float *, const int64_t *, int64_t,
                                 const rl_igemm_span *, int64_t) = ISA_TABLE(igemm_fill);
    const rl_igemm_tap *tap = plan->tap + phase->first;
    const int64_t floats = plan->size / 4;
    int64_t offsets[RL_GEMM_KB], channel = k0 / phase->taps, at = k0 % phase->taps;
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = (channel * plan->channel + tap[at].offset) * floats;
        if (++at == phase->taps) at = 0, channel++;
    }
    fills[plan->isa]((float *)to, step * floats, (const float *)in, offsets, n, t->run, t->runs);
}

/* Runs an implicit GEMM convolution: the work of one thread, and how threads share it: Note [Implicit GEMM]
 * in kernels/simd/conv/igemm.h. */
enum { LOOSE_ROWS = 24 };    /* rows up to which an input as it lies is read without a copy */
enum { MAX_SUMS = 1 << 17 }; /* of a part of the output channels */

typedef struct {
    const rl_igemm_plan *plan;
    const char *in; /* prepared, of this round */
    char *out;
    simd_cast_copy back;
    rl_igemm_cut cut;
    int64_t images, part, parts; /* of this round; output channels of a part */
    rl_rooms rooms;
    int64_t seen, line, sums; /* parts of a room: patches of a tile, a woven row, sums */
    bool direct;              /* sums go straight to the output */
} igemm_job;

/* ---- the product of a tile ---- */
/* sums of a part of the output channels by the tile, for one phase; `group` is (image, group) of the tile */
static void tile_gemm(const igemm_job *j, const rl_igemm_tile *t, const rl_igemm_phase *phase, int64_t group,
                      int64_t o0, int64_t rows, char *seen, char *sums, int64_t sums_step) {
    const rl_igemm_plan *plan = j->plan;
    const rl_igemm_problem *p = plan->p;
    const int64_t depth = p->channels * phase->taps, size = plan->size, nr = plan->ukernel->nr;
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
            rl_igemm_fill(plan, t, phase, in, k0, panel.k, seen, j->cut.tile);
        panel.a = weights + k0 * plan->ukernel->mr * size, panel.a_strip = plan->ukernel->mr * depth;
        panel.row_bias = bias;
        panel.b_step = loose ? plan->channel : j->cut.tile, panel.c_step = sums_step;
        panel.a_next = panel.a_strip;
        for (int64_t n = 0; n < t->count; n += nr) {
            panel.cols = (int)simd_min(nr, t->count - n);
            panel.b_next = n + nr < t->count ? nr : -n;
            panel.b = from + n * size;
            panel.c = sums + n * size;
            plan->ukernel->panel(&panel);
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
static void tile_put(const igemm_job *j, const rl_igemm_tile *t, int64_t z, int64_t y, int64_t group,
                     int64_t o0, int64_t rows, const char *sums, char *line) {
    const rl_igemm_plan *plan = j->plan;
    const rl_igemm_problem *p = plan->p;
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
            simd_cast_copy_run(&j->back, to + ox * item, item, from, size, wide);
        }
    }
}

/* item = ((tile * groups + group) * phases of rows + phase) * parts + part of the output channels */
static void igemm_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const igemm_job *j = ctx;
    const rl_igemm_plan *plan = j->plan;
    const rl_igemm_problem *p = plan->p;
    const int64_t phases = plan->weave[0] * plan->weave[1], ways = plan->weave[2], size = plan->size;
    char *room = rl_room(&j->rooms, thread), *seen = room + j->seen, *line = room + j->line;
    rl_igemm_tile t;
    for (int64_t i = begin; i < end; i++) {
        const int64_t part = i % j->parts, phase = i / j->parts % phases, o0 = part * j->part;
        const int64_t group = i / j->parts / phases % p->groups, tile = i / j->parts / phases / p->groups;
        const int64_t rows = simd_min(j->part, p->outputs - o0);
        rl_igemm_tile_make(plan, &j->cut, j->images, tile, &t);
        char *sums = room + j->sums;
        if (j->direct)
            sums =
                j->out + (((t.image * p->groups + group) * p->outputs + o0) * j->cut.places + t.first) * size;
        for (int64_t w = 0; w < ways; w++)
            tile_gemm(j, &t, &plan->phase[phase * ways + w], group, o0, rows, seen,
                      sums + w * rows * j->cut.tile * size, j->direct ? j->cut.places : j->cut.tile);
        if (!j->direct)
            tile_put(j, &t, phase / plan->weave[1], phase % plan->weave[1], group, o0, rows, sums, line);
    }
}

/* how output channels are cut */
RL_CHOOSER
static void parts_cut(igemm_job *j, int64_t threads) {
    const rl_igemm_plan *plan = j->plan;
    const int64_t mr = plan->ukernel->mr, strips = simd_ceil_div(plan->p->outputs, mr);
    const int64_t rows = plan->weave[0] * plan->weave[1] * plan->p->groups;
    int64_t parts = 1;
    if (threads > 1)
        parts = simd_min(simd_max(1, strips / 4),
                         simd_ceil_div(3 * threads, rl_igemm_tiles(&j->cut, j->images) * rows));
    j->part = simd_ceil_div(strips, parts) * mr;
    if (!j->direct)
        j->part = simd_min(j->part, simd_max(1, MAX_SUMS / (plan->weave[2] * j->cut.tile * mr)) * mr);
    j->parts = simd_ceil_div(plan->p->outputs, j->part);
}

/* a thread's room */
static rl_layout igemm_layout(const rl_call *k, igemm_job *j) {
    const rl_igemm_plan *plan = j->plan;
    const int64_t ways = plan->weave[2], tile = j->cut.tile, rows = simd_min(j->part, plan->p->outputs);
    rl_layout l = rl_layout_begin(k);
    j->seen = rl_layout_add(&l, RL_COUNT(RL_GEMM_KB, tile), plan->size);
    j->line = rl_layout_add(&l, RL_COUNT(ways, tile), plan->size);
    j->sums = rl_layout_add(&l, j->direct ? RL_COUNT(0) : RL_COUNT(ways, rows, tile), plan->size);
    return l;
}

rl_status rl_igemm_conv(rl_call *k, const rl_igemm_problem *p) {
    rl_igemm_plan plan;
    rl_status made = rl_igemm_plan_make(k, p, &plan);
    if (made != RL_OK) return made;
    if (!rl_igemm_pack_weights(k, &plan)) return RL_FAIL;
    const double work = RL_GEMM_NS * rl_igemm_work(p) * plan.size / 4;
    const int64_t threads = rl_is_serial(k, 1, work) ? 1 : k->threads, round = rl_igemm_round(k, &plan);
    igemm_job j = {.plan = &plan, .images = round, .cut = rl_igemm_cut_make(&plan, round)};
    j.back = simd_cast_copy_between(k, p->out->dtype, plan.inner);
    j.direct =
        !j.cut.spans && p->out->dtype == plan.inner && plan.weave[0] * plan.weave[1] * plan.weave[2] == 1;
    parts_cut(&j, threads);
    const rl_layout l = igemm_layout(k, &j);
    if (!k->svc->rooms(k, &l, threads, &j.rooms)) return RL_FAIL;
    char *prepared = NULL;
    if (plan.copies) prepared = k->svc->scratch(k, RL_COUNT(round, plan.image, plan.size), 1);
    if (plan.copies && !prepared) return RL_FAIL;
    const int64_t answer = p->groups * p->outputs * p->places[0] * p->places[1] * p->places[2];
    for (int64_t first = 0; first < p->images; first += round) {
        j.images = simd_min(round, p->images - first);
        j.out = (char *)rl_data(p->out, RL_WRITE) + first * answer * j.back.to_item;
        j.in = rl_igemm_input(k, &plan, first, j.images, prepared);
        const int64_t items =
            rl_igemm_tiles(&j.cut, j.images) * p->groups * plan.weave[0] * plan.weave[1] * j.parts;
        const double share = (double)j.images / (double)p->images / (double)items;
        k->svc->parallel(k, items, threads == 1 ? 0 : work * share, igemm_items, &j);
    }
    return RL_OK;
}

/* Convolutions and gradients that the faster algorithms leave: one to three dimensions, transposed or not,
 * any floating dtype. Note [Implicit GEMM] in kernels/simd/conv/igemm.h. */
RL_CHOOSER
static rl_status by_igemm(rl_call *k, const rl_view *bias, bool transposed) {
    rl_igemm_problem p;
    if (!k->svc->isa || !rl_igemm_read(k, rl_in(k, 0), rl_in(k, 1), bias, k->out[0], transposed, &p))
        return RL_UNSUPPORTED;
    return rl_igemm_conv(k, &p);
}

RL_KERNEL(simd_conv_igemm) {
    return by_igemm(k, rl_in(k, 2), false);
}
RL_KERNEL(simd_conv_transpose) {
    return by_igemm(k, rl_in(k, 2), true);
}

/* the gradient of a convolution by its input is a transposed one */
RL_KERNEL(simd_conv_input_igemm) {
    return by_igemm(k, NULL, true);
}
