/* Padding, and the gradient of the kinds that repeat the input. */
#include "loops.h"
#include <string.h>

enum { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* A dim of the input, and what is put in front of it and behind it; less than nothing crops. */
typedef struct {
    int64_t size, before, after;
    int mode;
} pad_side;

/* where output index i comes from, or -1 for the constant */
static int64_t pad_source(const pad_side *d, int64_t i) {
    const int64_t at = i - d->before, size = d->size;
    if (d->mode == PAD_CIRCULAR) { /* what is left after cropping repeats */
        const int64_t first = d->before < 0 ? -d->before : 0,
                      left = size - first + (d->after < 0 ? d->after : 0);
        return at < first ? at + left : at >= first + left ? at - left : at;
    }
    if (at >= 0 && at < size) return at;
    switch (d->mode) {
    case PAD_REFLECT: return at < 0 ? -at : 2 * (size - 1) - at;
    case PAD_REPLICATE: return at < 0 ? 0 : size - 1;
    default: return -1;
    }
}

/* Rows go along the dim in which the output's elements lie side by side: first come those before the input's,
 * `low` of them, then the input's up to `high`, then those behind it. */
typedef struct {
    const char *from;
    char *to;
    int last; /* the dim of the rows; the others come in the order of the output's memory */
    int64_t size[RL_MAX_DIMS], step[RL_MAX_DIMS];
    int64_t *source[RL_MAX_DIMS]; /* byte offsets for each index of each dim; INT64_MIN: the constant */
    int64_t low, high, input_step, item;
    rl_strip copy;
    uint64_t constant;
} pad_job;

#define EDGE(T)                                                                                              \
    {                                                                                                        \
        T number;                                                                                            \
        memcpy(&number, &job->constant, sizeof number);                                                      \
        for (int64_t i = begin; i < end; i++)                                                                \
            *(T *)(to + i * step) = source[i] == INT64_MIN ? number : *(const T *)(from + source[i]);        \
        break;                                                                                               \
    }
static void pad_edge(const pad_job *job, char *to, const char *from, int64_t begin, int64_t end) {
    const int64_t *source = job->source[job->last], step = job->step[job->last];
    switch (job->item) {
    case 1: EDGE(uint8_t)
    case 2: EDGE(uint16_t)
    case 4: EDGE(uint32_t)
    default: EDGE(uint64_t)
    }
}

static void pad_row(const pad_job *job, char *to, const char *from) {
    const int64_t steps[2] = {job->step[job->last], from ? job->input_step : 0};
    if (!from) {
        job->copy((char *const[2]){to, (char *)&job->constant}, steps, job->size[job->last], NULL);
        return;
    }
    pad_edge(job, to, from, 0, job->low);
    if (job->low < job->high) {
        char *p[2] = {to + job->low * steps[0], (char *)from + job->source[job->last][job->low]};
        if (steps[0] == job->item && steps[1] == job->item)
            memcpy(p[0], p[1], (size_t)((job->high - job->low) * job->item));
        else
            job->copy(p, steps, job->high - job->low, NULL);
    }
    pad_edge(job, to, from, job->high, job->size[job->last]);
}

/* Where a row begins follows from where the dims before dim d lead to. */
typedef struct {
    char *to[RL_MAX_DIMS + 1];
    const char *from[RL_MAX_DIMS + 1]; /* NULL: among constants */
    int64_t index[RL_MAX_DIMS];
} pad_place;

static void place_follow(const pad_job *job, pad_place *place, int d) {
    for (; d < job->last; d++) {
        const int64_t offset = job->source[d][place->index[d]];
        place->to[d + 1] = place->to[d] + place->index[d] * job->step[d];
        place->from[d + 1] = place->from[d] && offset != INT64_MIN ? place->from[d] + offset : NULL;
    }
}

static void pad_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const pad_job *job = ctx;
    pad_place place = {.to = {job->to}, .from = {job->from}};
    int64_t rest = begin;
    int d;
    (void)thread;
    for (d = job->last - 1; d >= 0; rest /= job->size[d--]) place.index[d] = rest % job->size[d];
    place_follow(job, &place, 0);
    for (int64_t row = begin; row < end; row++) {
        pad_row(job, place.to[job->last], place.from[job->last]);
        for (d = job->last - 1; d >= 0 && ++place.index[d] == job->size[d]; d--) place.index[d] = 0;
        if (d >= 0) place_follow(job, &place, d);
    }
}

/* dim d of the output, `before` elements added in front of it, becomes dim `at` of the job */
static rl_status pad_dim(rl_call *k, pad_job *job, int at, int d, int64_t before, int64_t after) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const int64_t n = out->shape[d], size = x->shape[d];
    job->size[at] = n;
    job->step[at] = out->strides[d] * job->item;
    job->source[at] = k->svc->scratch(k, RL_COUNT(n), sizeof(int64_t));
    if (!job->source[at]) return RL_FAIL;
    const pad_side side = {size, before, after, (int)k->attr[0]};
    for (int64_t i = 0; i < n; i++) {
        int64_t source = pad_source(&side, i);
        job->source[at][i] = source < 0 ? INT64_MIN : source * x->strides[d] * job->item;
    }
    job->low = before < 0 ? 0 : before < n ? before : n; /* of the last dim to come here */
    job->high = before + size < job->low ? job->low : before + size < n ? before + size : n;
    job->input_step = x->strides[d] * job->item;
    return RL_OK;
}

RL_KERNEL(ref_pad) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const rl_slot *pad = &k->arg[1];
    int n = pad->tag == RL_INTS ? pad->n : 0, order[RL_MAX_DIMS];
    pad_job job = {.last = out->ndim - 1, .item = rl_itemsize(x->dtype)};
    job.copy = rl_strip_copy(job.item);
    if (k->arg[3].tag != RL_NONE && rl_element_from(k, 3, x->dtype, &job.constant) != RL_OK) return RL_FAIL;
    if (out->numel == 0) return RL_OK;
    if (out->ndim == 0) {
        rl_view_cast(k, out, x);
        return RL_OK;
    }
    for (int d = 0; d < out->ndim; d++) {
        int at = d;
        for (; at > 0 && out->strides[order[at - 1]] < out->strides[d]; at--) order[at] = order[at - 1];
        order[at] = d;
    }
    for (int at = 0; at < out->ndim; at++) {
        int argument = 2 * (out->ndim - 1 - order[at]);
        const bool padded = argument < n;
        if (pad_dim(k, &job, at, order[at], padded ? pad->u.ints[argument] : 0,
                    padded ? pad->u.ints[argument + 1] : 0) != RL_OK)
            return RL_FAIL;
    }
    job.from = rl_const_data(x);
    job.to = rl_data(out, RL_WRITE);
    int64_t width = job.size[job.last];
    k->svc->parallel(k, out->numel / width, 20 + RL_REF_NS * (double)width, pad_rows, &job);
    return RL_OK;
}

/* ---- the gradient: (grad_output, input_size, pad, mode, channels_last) ---- */
enum { PAD_DIMS = 3 };

/* Dims that lack padding stand in front with size 1; of one that has it, outputs o of input index i stand at
 * from[first[i]] to from[first[i + 1]]. */
typedef struct {
    pad_side side;
    int64_t out, *first, *from;
} pad_back_dim;

/* sums of halves are made in float */
#define SUM(D, T, C, LOAD, STORE, name)                                                                      \
    static void name##_add_##D(char *sums, const char *grad, int64_t n) {                                    \
        C *to = (C *)sums;                                                                                   \
        const T *from = (const T *)grad;                                                                     \
        for (int64_t i = 0; i < n; i++) to[i] += LOAD(from[i]);                                              \
    }                                                                                                        \
    static void name##_put_##D(char *out, const char *sums, int64_t n) {                                     \
        T *to = (T *)out;                                                                                    \
        const C *from = (const C *)sums;                                                                     \
        for (int64_t i = 0; i < n; i++) to[i] = STORE(from[i]);                                              \
    }
RL_EACH_FLOAT(SUM, pad)
typedef struct {
    void (*add)(char *sums, const char *grad, int64_t n), (*put)(char *out, const char *sums, int64_t n);
    int64_t item; /* bytes of a sum */
} pad_sums;

typedef struct {
    pad_back_dim dim[PAD_DIMS];
    const char *grad;
    char *to;
    int64_t planes_grad; /* bytes of a plane */
    int64_t inner, item; /* elements that lie side by side in a place: channels or one */
    pad_sums sums;
    bool in_place;
    rl_rooms rooms; /* a row of sums for each thread, if they are not made in place */
} pad_back_job;

static rl_status back_dim(rl_call *k, pad_back_dim *d) {
    const int64_t size = d->side.size;
    d->first = k->svc->scratch(k, rl_count_plus(RL_COUNT(size), 2), sizeof *d->first);
    d->from = k->svc->scratch(k, RL_COUNT(d->out), sizeof *d->from);
    if (!d->first || !d->from) return RL_FAIL;
    for (int64_t i = 0; i < size + 2; i++) d->first[i] = 0;
    for (int64_t o = 0; o < d->out; o++) d->first[pad_source(&d->side, o) + 2]++;
    for (int64_t i = 2; i < size + 2; i++) d->first[i] += d->first[i - 1];
    for (int64_t o = 0; o < d->out; o++) d->from[d->first[pad_source(&d->side, o) + 1]++] = o;
    return RL_OK;
}

/* a row of the gradient goes into one of the input */
static void back_row(const pad_back_job *job, char *sums, const char *grad) {
    const pad_back_dim *d = &job->dim[PAD_DIMS - 1];
    const int64_t bytes = job->inner * job->item, place = job->inner * job->sums.item, size = d->side.size;
    const int64_t before = d->side.before > 0 ? d->side.before : 0, first = before - d->side.before;
    const int64_t end = d->side.after < 0 ? size + d->side.after : size; /* of what was not cropped */
    if (first < end) job->sums.add(sums + first * place, grad + before * bytes, (end - first) * job->inner);
    for (int64_t o = 0; o < d->out; o++) {
        if (o == before && first < end) o += end - first;
        if (o < d->out) job->sums.add(sums + pad_source(&d->side, o) * place, grad + o * bytes, job->inner);
    }
}

static void back_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const pad_back_job *job = ctx;
    const pad_back_dim *deep = &job->dim[0], *high = &job->dim[1], *wide = &job->dim[2];
    const int64_t row_to = wide->side.size * job->inner * job->item,
                  row_grad = wide->out * job->inner * job->item;
    const int64_t row_sums = wide->side.size * job->inner * job->sums.item;
    for (int64_t row = begin; row < end; row++) {
        const int64_t h = row % high->side.size, d = row / high->side.size % deep->side.size;
        const char *plane = job->grad + row / high->side.size / deep->side.size * job->planes_grad;
        char *to = job->to + row * row_to;
        char *sums = job->in_place ? to : rl_room(&job->rooms, thread);
        memset(sums, 0, (size_t)row_sums);
        for (int64_t i = deep->first[d]; i < deep->first[d + 1]; i++)
            for (int64_t j = high->first[h]; j < high->first[h + 1]; j++)
                back_row(job, sums, plane + (deep->from[i] * high->out + high->from[j]) * row_grad);
        if (!job->in_place) job->sums.put(to, sums, wide->side.size * job->inner);
    }
}

/* the gradient in memory of its own, in the result's order */
static const char *pad_dense(rl_call *k, const rl_view *grad, bool last) {
    int64_t step = rl_itemsize(grad->dtype);
    char *to = k->svc->scratch(k, RL_COUNT(grad->numel), step);
    const rl_strip copy = rl_strip_copy(step);
    rl_walk w;
    if (!to || !grad->numel) return to;
    rl_walk_begin(&w, grad, RL_READ);
    rl_walk_add(&w, grad);
    w.base[0] = to;
    if (last) w.stride[0][1] = step, step *= grad->shape[1];
    for (int d = grad->ndim - 1; d >= 0; d--)
        if (d != 1 || !last) w.stride[0][d] = step, step *= grad->shape[d];
    rl_walk_sort(&w, 0);
    rl_walk_merge(&w);
    rl_walk_parallel(k, &w, RL_REF_NS, copy, NULL);
    return to;
}

/* do the elements lie side by side, C behind the dims of space if `last`? */
static bool lies_so(const rl_view *v, bool last) {
    int64_t step = last ? v->shape[1] : 1;
    if (!last) return rl_is_contiguous(v);
    if (v->shape[1] != 1 && v->strides[1] != 1) return false;
    for (int d = v->ndim - 1; d >= 0; d--) {
        if (d == 1) continue;
        if (v->shape[d] != 1 && v->strides[d] != step) return false;
        step *= v->shape[d];
    }
    return true;
}

RL_KERNEL(ref_pad_back) {
#define SUMS(D, T, C, LOAD, STORE, name) [RL_##D] = {name##_add_##D, name##_put_##D, sizeof(C)},
    static const pad_sums sums[RL_NDTYPES] = {RL_EACH_FLOAT(SUMS, pad)};
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    const rl_slot *pad = &k->arg[2];
    const bool last = k->arg[4].u.i != 0 && out->ndim >= 4;
    const int spatial = pad->n / 2, lead = out->ndim - spatial;
    pad_back_job job = {.inner = 1, .item = rl_itemsize(out->dtype), .sums = sums[out->dtype]};
    if (out->numel == 0) return RL_OK;
    for (int i = 0; i < PAD_DIMS; i++) {
        const int at = i - (PAD_DIMS - spatial), side = 2 * (PAD_DIMS - 1 - i);
        job.dim[i] = (pad_back_dim){.side = {1, 0, 0, (int)k->attr[0]}, .out = 1};
        if (at >= 0) {
            job.dim[i].side =
                (pad_side){out->shape[lead + at], pad->u.ints[side], pad->u.ints[side + 1], (int)k->attr[0]};
            job.dim[i].out = grad->shape[lead + at];
        }
        if (back_dim(k, &job.dim[i]) != RL_OK) return RL_FAIL;
    }
    if (last) job.inner = out->shape[1];
    job.planes_grad = job.item * job.inner;
    for (int i = 0; i < PAD_DIMS; i++) job.planes_grad *= job.dim[i].out;
    job.in_place = job.sums.item == job.item;
    const rl_count row = RL_COUNT(job.dim[PAD_DIMS - 1].side.size, job.inner);
    if (!job.in_place && !rl_thread_rooms(k, k->threads, row, job.sums.item, &job.rooms)) return RL_FAIL;
    job.to = rl_data(out, RL_WRITE);
    job.grad = rl_const_data(grad);
    if (!lies_so(grad, last) && !(job.grad = pad_dense(k, grad, last))) return RL_FAIL;
    const int64_t rows = out->numel / (out->shape[out->ndim - 1] * job.inner);
    k->svc->parallel(k, rows, 20 + RL_REF_NS * 2 * (double)(grad->numel / rows), back_rows, &job);
    return RL_OK;
}
