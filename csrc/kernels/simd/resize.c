/* Rows of resizing in vectors. */
#include "common.h"
#include "kernels/shared/resize.h"
#include "cast_copy.h"
#include <string.h>

/* ---- rows of resizing in vectors: Note [Taps] in kernels/shared/resize.h ---- */
/* Note [Steps of a row]
 * `lanes` outputs of a row at a time are made in steps: a step has an input element and a weight for each.
 * How far these elements lie apart decides how they are fetched. A lane that has no more elements takes part
 * with weight 0, and what it fetched is cleared first: 0 times infinity is no number. */
enum { STEP_TURN, STEP_AMONG, STEP_GATHER };
typedef struct {
    int64_t from;
    uint8_t kind, gaps;
} resize_step;
typedef struct {
    int64_t blocks, *first; /* steps of block i: first[i] to first[i + 1] */
    resize_step *step;
    int32_t *index; /* `lanes` for each step, from step.from on */
    float *weight;
} resize_steps;

typedef struct {
    rl_taps taps[3];
    resize_steps steps;     /* of a row of single elements; else only the weights of taps[2] */
    simd_cast_copy in, out; /* to float32 and back */
    bool moves;             /* it is not float32 */
    bool copies;            /* places with channels, each of them one of the input */
    const char *from;
    char *to;
    int64_t inner;              /* elements of one place that lie side by side: channels, or one */
    int64_t row_in, row_out;    /* elements of a row */
    int64_t from_item, room_in; /* room_in: floats of `sums`, with what is read behind them */
    rl_rooms rooms;             /* of each thread, whose rows begin at ... */
    int64_t sums, other, made;  /* ... */
} resize_job;

/* Resizing of contiguous and of channels-last tensors: float32, halves, and bytes that are only copied. */
#define ISA_IMPL "resize_impl.inc"
#include "kernels/simd/foreach_isa.h"

/* ---- Note [Steps of a row] ---- */
static int64_t block_steps(const rl_taps *t, int64_t block, int lanes) {
    int64_t most = 0;
    for (int64_t i = block * lanes; i < simd_min(t->out, (block + 1) * lanes); i++)
        most = simd_max(most, rl_taps_count(t, i));
    return most;
}

/* step number `nth` of a block */
static void step_make(const rl_taps *t, int64_t block, int64_t nth, int lanes, resize_step *step,
                      int32_t *index, float *weight) {
    int64_t at[16], low = INT64_MAX, high = 0;
    for (int lane = 0; lane < lanes; lane++) {
        const int64_t i = simd_min(block * lanes + lane, t->out - 1), count = rl_taps_count(t, i);
        const bool has = nth < count;
        at[lane] = t->start[i] + (has ? nth : simd_max(0, count - 1));
        weight[lane] = has ? (float)t->weight[t->first[i] + nth] : 0;
        step->gaps |= !has;
        low = simd_min(low, at[lane]);
        high = simd_max(high, at[lane]);
    }
    step->from = low;
    step->kind = high - low < lanes ? STEP_TURN : high - low < 2 * lanes ? STEP_AMONG : STEP_GATHER;
    for (int lane = 0; lane < lanes; lane++) index[lane] = (int32_t)(at[lane] - low);
}

static rl_status steps_make(rl_call *k, const rl_taps *t, int lanes, resize_steps *s) {
    s->blocks = simd_ceil_div(t->out, lanes);
    s->first = k->svc->scratch(k, rl_count_plus(RL_COUNT(s->blocks), 1), sizeof *s->first);
    if (!s->first) return RL_FAIL;
    s->first[0] = 0;
    for (int64_t i = 0; i < s->blocks; i++) s->first[i + 1] = s->first[i] + block_steps(t, i, lanes);
    const int64_t all = s->first[s->blocks];
    s->step = k->svc->scratch(k, rl_count_plus(RL_COUNT(all), 1), sizeof *s->step);
    s->index = k->svc->scratch(k, rl_count_plus(RL_COUNT(all, lanes), 1), sizeof *s->index);
    s->weight = k->svc->scratch(k, rl_count_plus(RL_COUNT(all, lanes), 1), sizeof *s->weight);
    if (!s->step || !s->index || !s->weight) return RL_FAIL;
    for (int64_t i = 0; i < s->blocks; i++)
        for (int64_t at = s->first[i]; at < s->first[i + 1]; at++) {
            s->step[at] = (resize_step){.gaps = 0};
            step_make(t, i, at - s->first[i], lanes, &s->step[at], s->index + at * lanes,
                      s->weight + at * lanes);
        }
    return RL_OK;
}

/* for places with channels */
static rl_status weights_make(rl_call *k, const rl_taps *t, resize_steps *s) {
    const int64_t all = t->first[t->out];
    s->weight = k->svc->scratch(k, rl_count_plus(RL_COUNT(all), 1), sizeof *s->weight);
    for (int64_t i = 0; s->weight && i < all; i++) s->weight[i] = (float)t->weight[i];
    return s->weight ? RL_OK : RL_FAIL;
}

/* ---- the kernels ---- */
RL_CHOOSER
static bool resize_suits(const rl_call *k, const rl_view *x) {
    const bool bytes = x->dtype == RL_U8 && rl_resize_of(k)->mode <= RL_RESIZE_EXACT;
    return k->svc->isa && k->out[0]->numel > 0 && x->numel < INT32_MAX &&
           (x->dtype == RL_F32 || rl_is_half(x->dtype) || bytes);
}

enum { LANES = 16 };
static rl_layout rows_layout(const rl_call *k, resize_job *job) {
    rl_layout l = rl_layout_begin(k);
    /* loads run over the end of the sums */
    job->room_in = (job->row_in + 3 * LANES) / LANES * LANES;
    job->sums = rl_layout_add(&l, RL_COUNT(job->room_in), sizeof(float));
    job->other = rl_layout_add(&l, RL_COUNT(job->row_in), sizeof(float));
    job->made = rl_layout_add(&l, RL_COUNT(job->row_out), sizeof(float));
    return l;
}

/* planes of rows of places with `inner` elements each, of argument 0 at `from` */
static rl_status resize_run(rl_call *k, const void *from, int64_t inner) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    static const simd_body rows[] = ISA_TABLE(resize_rows);
    static const int lanes[] = ISA_TABLE(RESIZE_LANES);
    resize_job job = {.inner = inner, .from = from, .to = rl_data(out, RL_WRITE)};
    if (rl_resize_taps(k, job.taps) != RL_OK) return RL_FAIL;
    const rl_taps *t = job.taps;
    if ((inner > 1 ? weights_make(k, &t[2], &job.steps)
                   : steps_make(k, &t[2], lanes[k->svc->isa], &job.steps)) != RL_OK)
        return RL_FAIL;
    job.copies = inner > 1 && t[0].copies && t[1].copies && t[2].copies;
    job.moves = x->dtype != RL_F32;
    job.in = simd_cast_copy_between(k, RL_F32, x->dtype);
    job.out = simd_cast_copy_between(k, x->dtype, RL_F32);
    job.from_item = rl_itemsize(x->dtype);
    job.row_in = t[2].in * inner;
    job.row_out = t[2].out * inner;
    const rl_layout l = rows_layout(k, &job);
    if (!k->svc->rooms(k, &l, simd_max(1, k->threads), &job.rooms)) return RL_FAIL;
    const double ns = 0.04 * ((double)job.row_in * (double)(t[0].most * t[1].most) +
                              3 * (double)job.row_out * (double)t[2].most);
    k->svc->parallel(k, out->numel / job.row_out, 20 + (job.moves ? 3 : 1) * ns, rows[k->svc->isa], &job);
    return RL_OK;
}

RL_CHOOSER
RL_KERNEL(simd_resize) {
    const rl_view *x = k->arg[0].u.t;
    if (!resize_suits(k, x)) return RL_UNSUPPORTED;
    if (rl_is_contiguous(x)) return resize_run(k, rl_const_data(x), 1);
    if (x->dtype != RL_F32) return RL_UNSUPPORTED;
    const float *from = rl_plain_input(k, x);
    return from ? resize_run(k, from, 1) : RL_FAIL;
}

/* do the elements lie side by side in the order N, depth, height, width, C? */
RL_CHOOSER
static bool lies_nhwc(const rl_view *v) {
    int64_t step = 1;
    for (int i = 0; i < v->ndim; i++) {
        const int d = i == 0 ? 1 : i == v->ndim - 1 ? 0 : v->ndim - i;
        if (v->shape[d] != 1 && v->strides[d] != step) return false;
        step *= v->shape[d];
    }
    return true;
}

RL_CHOOSER
RL_KERNEL(simd_resize_nhwc) {
    const rl_view *x = k->arg[0].u.t;
    if (!resize_suits(k, x) || !lies_nhwc(x)) return RL_UNSUPPORTED;
    return resize_run(k, rl_const_data(x), x->shape[1]);
}
