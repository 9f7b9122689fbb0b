/* Convolutions by patches: input and weights made ready. Note [Patches] in kernels/simd/conv_patches.h. */
#include "common.h"
#include "contract/window.h"
#include "conv_patches_plan.h"
#include <string.h>

RL_CHOOSER
bool rl_patches_read(const rl_call *k, const rl_view *in, const rl_view *weight, const rl_view *bias,
                     const rl_view *out, bool transposed, rl_patches *p) {
    const rl_window *a = rl_window_of(k);
    const int n = (int)a->spatial, lead = in->ndim - n;
    if (!rl_is_float(in->dtype) || weight->dtype != in->dtype || out->dtype != in->dtype || !in->numel ||
        !weight->numel || !out->numel || (bias && bias->dtype != in->dtype))
        return false;
    *p = (rl_patches){.in = in, .weight = weight, .bias = bias, .out = out, .transposed = transposed};
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

double rl_patch_work(const rl_patches *p) {
    const int64_t *places = p->transposed ? p->size : p->places;
    double work = (double)p->images * (double)(p->groups * p->outputs) * (double)p->channels;
    for (int d = 0; d < 3; d++) work *= (double)places[d] * (double)p->kernel[d];
    return work;
}

#ifdef RL_SIMD_X86
/* ---- the prepared input ---- */
/* Element `at` of the kernel in dimension d reads input place q * step + the answer for place q of `phase`.
 */
static int64_t tap_offset(const rl_patches *p, int d, int64_t at, int64_t *phase) {
    const int64_t shift = at * p->dilation[d] - p->before[d], stride = p->stride[d];
    *phase = p->transposed ? (shift % stride + stride) % stride : 0;
    return p->transposed ? (*phase - shift) / stride : shift;
}

static void plan_extents(rl_patch_plan *plan) {
    const rl_patches *p = plan->p;
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

enum { PADDING_MOST = 8, SMALL_IMAGE = 1 << 18 };
/* false when the prepared input would be far larger than what it is made of and for */
static bool plan_steps(rl_patch_plan *plan) {
    const rl_patches *p = plan->p;
    const int64_t line = plan->split * plan->column;
    plan->copies |= p->in->dtype != plan->inner || plan->split > 1 || (p->step[2] != 1 && p->size[2] > 1);
    if (!plan->copies) {
        plan->row = p->step[1], plan->slab = p->step[0], plan->channel = p->channel, plan->image = p->image;
        return true;
    }
    const rl_count image = RL_COUNT(p->groups, p->channels, plan->extent[0], plan->extent[1], line);
    const int64_t seen = p->in->numel / p->images + p->out->numel / p->images;
    if (image.n < 0 || image.n / PADDING_MOST > seen + SMALL_IMAGE) return false;
    plan->row = line, plan->slab = plan->extent[1] * line, plan->channel = plan->extent[0] * plan->slab;
    plan->image = image.n;
    return true;
}

typedef struct {
    const rl_patch_plan *plan;
    simd_mover in;
    char *to;
    int64_t first;
} prepare_job;

static void prepare_row(const prepare_job *j, char *to, const char *from) {
    const rl_patch_plan *plan = j->plan;
    const rl_patches *p = plan->p;
    const int64_t split = plan->split, column = plan->column, size = plan->size;
    const int64_t step = p->step[2] * j->in.from_item;
    for (int64_t phase = 0; phase < split; phase++, to += column * size) {
        /* number i of a phase is column i * split + phase - lo: inside for i in [lo, hi) */
        const int64_t shift = phase - plan->lo[2];
        int64_t lo = shift < 0 ? simd_ceil_div(-shift, split) : 0;
        int64_t hi = simd_ceil_div(simd_max(0, p->size[2] - shift), split);
        lo = simd_min(lo, column), hi = simd_max(lo, simd_min(hi, column));
        memset(to, 0, (size_t)(lo * size));
        simd_move(&j->in, to + lo * size, size, from + (lo * split + shift) * step, split * step, hi - lo);
        memset(to + hi * size, 0, (size_t)((column - hi) * size));
    }
}

/* item = image * channels + channel */
static void prepare_planes(void *ctx, int64_t begin, int64_t end, int thread) {
    const prepare_job *j = ctx;
    const rl_patch_plan *plan = j->plan;
    const rl_patches *p = plan->p;
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

const char *rl_patch_input(rl_call *k, const rl_patch_plan *plan, int64_t first, int64_t count, char *to) {
    prepare_job j = {.plan = plan, .to = to, .first = first};
    const rl_patches *p = plan->p;
    if (!plan->copies) return (const char *)rl_const_data(p->in) + first * p->image * plan->size;
    j.in = simd_mover_between(k, plan->inner, p->in->dtype);
    k->svc->parallel(k, count * p->groups * p->channels, 0.2 * (double)plan->channel, prepare_planes, &j);
    return to;
}

enum { COPIED_MOST = 1 << 20 }; /* numbers of input made ready at a time, unless one image has more */
int64_t rl_patch_round(const rl_call *k, const rl_patch_plan *plan) {
    if (!plan->copies) return plan->p->images;
    return simd_min(plan->p->images, simd_max(k->threads, COPIED_MOST / plan->image));
}

/* ---- phases and taps ---- */
enum { PHASES_MOST = 4096 };
static int64_t phases_of(const rl_patch_plan *plan) {
    return plan->weave[0] * plan->weave[1] * plan->weave[2];
}

/* its phase, or -1 when no output place is in it */
static int64_t tap_place(const rl_patch_plan *plan, int64_t tap, int64_t *offset) {
    const rl_patches *p = plan->p;
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

static bool plan_taps(rl_call *k, rl_patch_plan *plan) {
    const rl_patches *p = plan->p;
    const int64_t phases = phases_of(plan), taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
    const int64_t mr = plan->kit->mr, strips = simd_ceil_div(p->outputs, mr);
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
        rl_patch_phase *phase = &plan->phase[i];
        phase->first = first, phase->strips = elements;
        phase->group = strips * mr * p->channels * phase->taps;
        first += phase->taps, elements += phase->group * p->groups;
        phase->taps = 0;
    }
    for (int64_t i = 0; i < taps; i++) {
        const int64_t at = tap_place(plan, i, &offset);
        if (at < 0) continue;
        rl_patch_phase *phase = &plan->phase[at];
        plan->tap[phase->first + phase->taps++] = (rl_patch_tap){i, offset};
    }
    return true;
}

/* ---- weights ---- */
typedef struct {
    const rl_patch_plan *plan;
    const char *from;
    char *to;
    int64_t strips, group, out, in; /* strips of a group; steps of the weight */
} weight_job;

/* item = (phase * groups + group) * strips + strip */
#define PACK_STRIPS(name, T)                                                                                 \
    static void name(void *ctx, int64_t begin, int64_t end, int thread) {                                    \
        const weight_job *j = ctx;                                                                           \
        const rl_patch_plan *plan = j->plan;                                                                 \
        const int64_t mr = plan->kit->mr;                                                                    \
        (void)thread;                                                                                        \
        for (int64_t i = begin; i < end; i++) {                                                              \
            const rl_patch_phase *phase = &plan->phase[i / j->strips / plan->p->groups];                     \
            const rl_patch_tap *tap = plan->tap + phase->first;                                              \
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

const char *rl_patch_plain(rl_call *k, const rl_view *v, int inner) {
    const simd_mover m = simd_mover_between(k, inner, v->dtype);
    if (!m.convert && rl_is_contiguous(v)) return rl_const_data(v);
    char *to = k->svc->scratch(k, RL_COUNT(v->numel, m.to_item), 1), *at = to;
    if (!to) return NULL;
    const char *from = rl_const_data(v);
    if (rl_is_contiguous(v)) {
        simd_move(&m, to, m.to_item, from, m.from_item, v->numel);
        return to;
    }
    const int last = v->ndim - 1;
    int64_t index[RL_MAX_DIMS] = {0}, row = v->shape[last];
    for (int64_t done = 0; done < v->numel; done += row, at += row * m.to_item) {
        simd_move(&m, at, m.to_item, from, v->strides[last] * m.from_item, row);
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
static uint64_t weights_key(const rl_patch_plan *plan) {
    enum { KEY_PATCHES = 0x24, SMALL = 8 };
    const rl_patches *p = plan->p;
    uint64_t key = (uint64_t)KEY_PATCHES << 8 | (unsigned)plan->kit->mr;
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

bool rl_patch_weights(rl_call *k, rl_patch_plan *plan) {
    const rl_patches *p = plan->p;
    const int64_t phases = phases_of(plan), mr = plan->kit->mr;
    const int64_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2], strips = simd_ceil_div(p->outputs, mr);
    const rl_count bytes = RL_COUNT(p->groups, strips, mr, p->channels, taps, plan->size);
    const uint64_t key = weights_key(plan);
    if (p->bias && !(plan->bias = rl_patch_plain(k, p->bias, plan->inner))) return false;
    if (key && (plan->weights = k->svc->packed_find(k, p->weight, key))) return true;
    weight_job j = {.plan = plan, .strips = strips, .group = p->channels * p->outputs * taps};
    j.out = p->transposed ? taps : p->channels * taps;
    j.in = p->transposed ? p->outputs * taps : taps;
    j.from = rl_patch_plain(k, p->weight, plan->inner);
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
rl_status rl_patch_plan_make(rl_call *k, const rl_patches *p, rl_patch_plan *plan) {
    const int inner = p->in->dtype == RL_F64 ? RL_F64 : RL_F32;
    *plan = (rl_patch_plan){.p = p, .inner = inner, .size = (int)rl_itemsize(inner)};
    plan->kit = rl_gemm_kit_get(k, inner);
    plan->avx512 = k->svc->isa & RL_ISA_AVX512;
    if (!plan->kit) return RL_UNSUPPORTED;
    plan_extents(plan);
    const rl_count phases = RL_COUNT(plan->weave[0], plan->weave[1], plan->weave[2]);
    if (phases.n < 0 || phases.n > PHASES_MOST || !plan_steps(plan)) return RL_UNSUPPORTED;
    return plan_taps(k, plan) ? RL_OK : RL_FAIL;
}
#else
rl_status rl_patch_plan_make(rl_call *k, const rl_patches *p, rl_patch_plan *plan) {
    (void)k, (void)p, (void)plan;
    return RL_UNSUPPORTED;
}
#endif
