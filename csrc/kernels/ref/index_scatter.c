/* scatter, index_add, index_copy, index_fill, and scatter and index_reduce. */
#include "index.h"
#include <math.h>
#include <string.h>

/* ---- elements that go to places which an index names, along one dimension ---- */
/* Note [Scattering]
 *     operands of the walk: the target at index 0 of the dimension, index, source
 * Elements go in order, so that of two for one place the last one wins, and sums have one order. Threads
 * share the work by another dimension: what two of them write never meets. */
typedef struct {
    rl_iter iter;
    int64_t dim;       /* of the walk: the one that is named */
    int64_t *counts;   /* stands for the target: as many int64, without gaps; or NULL */
    bool meets;        /* the target has elements that share memory: one thread writes */
    rl_indices places; /* in the target */
    int64_t item;
    int join, dtype;
    rl_numbers numbers;
} rl_scattering;

/* The operators that join by a reduction, with the elements of the target or without them. */
typedef rl_status (*rl_scatter_way)(rl_call *k, rl_scattering *s, const rl_view *source, void *element);
static rl_status rl_scatter_reduce(rl_call *k, rl_scatter_way way, bool include_self);

/* ---- scatter and its kin: Note [Scattering] ---- */
static void scatter_row(const rl_scattering *s, char *to, int64_t to_step, char *from, int64_t from_step,
                        int64_t n) {
    if (s->join == RL_JOIN_SET)
        rl_inner_loop_copy(s->item)((char *const[2]){to, from}, (const int64_t[2]){to_step, from_step}, n,
                                    NULL);
    else
        rl_inner_loop_combine(s->join, s->dtype)(
            (char *const[3]){to, to, from}, (const int64_t[3]){to_step, to_step, from_step}, n, &s->numbers);
}

static void scatter_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    rl_scattering *s = (rl_scattering *)ctx;
    int64_t offset[RL_INDEX_RUN];
    if (n <= 0) return;
    if (step[1] == 0 && step[0] != 0) { /* one index for all, each to a place of its own */
        if (rl_indices_read(&s->places, p[1], 0, 1, offset))
            scatter_row(s, p[0] + *offset, step[0], p[2], step[2], n);
        return;
    }
    const rl_indices_joiner join = s->join == RL_JOIN_SET ? NULL : rl_indices_join(s->join, s->dtype);
    for (int64_t i = 0, read; i < n; i += read) {
        const rl_run to = {p[0] + i * step[0], step[0]}, from = {p[2] + i * step[2], step[2]};
        read = rl_indices_read(&s->places, p[1] + i * step[1], step[1],
                               n - i < RL_INDEX_RUN ? n - i : RL_INDEX_RUN, offset);
        if (join)
            join(to, offset, from, read, &s->numbers);
        else
            rl_indices_put(s->item, to, offset, from, read);
        if (__atomic_load_n(&s->places.faulty, __ATOMIC_RELAXED)) return;
    }
}

/* Into out[0] or counts, over `dims`; then two operands more, and it may run. */
static void rl_scatter_begin(rl_call *k, rl_scattering *s, const int64_t *dims, int ndim) {
    const rl_view *to = k->out[0];
    rl_iter *w = &s->iter;
    int64_t step[RL_MAX_DIMS], gapless = sizeof *s->counts;
    s->dtype = s->counts ? RL_I64 : to->dtype;
    s->item = rl_itemsize(s->dtype);
    s->meets = !s->counts && rl_view_overlaps(to);
    for (int d = to->ndim - 1; d >= 0; gapless *= to->shape[d--])
        step[d] = s->counts ? gapless : to->strides[d] * s->item;
    s->dim = k->attr[0];
    s->places.size = to->ndim ? to->shape[s->dim] : 1;
    s->places.step = to->ndim ? step[s->dim] : 0;
    s->places.wide = rl_tensor_arg(k, 2)->dtype == RL_I64;
    w->nops = 1;
    w->ndim = ndim;
    w->numel = rl_count_product(dims, ndim).n;
    w->base[0] = s->counts ? (char *)s->counts : rl_data(to, RL_WRITE);
    for (int d = 0; d < ndim; d++) {
        w->size[d] = dims[d];
        w->stride[0][d] = d == s->dim || !to->ndim ? 0 : step[d];
    }
}

/* an operand of one element */
static void rl_scatter_element(rl_scattering *s, void *element) {
    rl_iter *w = &s->iter;
    for (int d = 0; d < w->ndim; d++) w->stride[w->nops][d] = 0;
    w->base[w->nops++] = element;
}

/* ---- running ---- */
typedef struct {
    rl_scattering *s;
    int split; /* the dimension that threads share, in so many parts: */
    int64_t parts;
} scatter_job;

static void scatter_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const scatter_job *job = ctx;
    rl_iter part = job->s->iter;
    const int d = job->split;
    const int64_t n = part.size[d], from = n * begin / job->parts, to = n * end / job->parts;
    (void)thread;
    if (from == to) return;
    for (int i = 0; i < part.nops; i++) part.base[i] += from * part.stride[i][d];
    part.numel = part.numel / n * (to - from);
    part.size[d] = to - from;
    rl_iter_merge(&part);
    rl_iter_range(&part, 0, part.numel, scatter_loop, job->s);
}

/* Without a place to go to the first index is wrong, however many there are. */
static rl_status rl_scatter_run(rl_call *k, rl_scattering *s) {
    rl_iter *w = &s->iter;
    scatter_job job = {s, -1, k->threads};
    if (w->numel == 0) return RL_OK;
    if (w->numel < 0) return rl_fail(k, RL_MEMORY, "%s", "numel: integer multiplication overflow");
    for (int d = 0; d < w->ndim; d++)
        if (d != s->dim && (job.split < 0 || w->size[d] > w->size[job.split])) job.split = d;
    if (s->places.size == 0 || s->meets || job.split < 0) {
        rl_iter_merge(w);
        rl_iter_range(w, 0, s->places.size ? w->numel : 1, scatter_loop, s);
        return RL_OK;
    }
    const double ns = 2 * RL_REF_NS * (double)w->numel;
    if (rl_is_serial(k, 1, ns)) job.parts = 1;
    k->svc->parallel(k, job.parts, ns / (double)job.parts, scatter_part, &job);
    return RL_OK;
}

static rl_status rl_scatter_fault(rl_call *k, const rl_scattering *s, rl_error kind, const char *name) {
    if (!s->places.faulty) return RL_OK;
    return rl_fail(k, kind, "%sindex %lld is out of bounds for dimension %lld with size %lld", name,
                   (long long)s->places.fault, (long long)k->attr[0], (long long)s->places.size);
}

/* ---- an index for each element ---- */
/* The index is argument 2: one number for each element ... */
static rl_status rl_scatter_by_index(rl_call *k, rl_scattering *s, const rl_view *source, void *element) {
    const rl_view *index = k->arg[2].u.t;
    rl_scatter_begin(k, s, index->shape, index->ndim);
    rl_iter_add(&s->iter, index);
    if (element)
        rl_scatter_element(s, element);
    else
        rl_iter_add(&s->iter, source);
    if (rl_scatter_run(k, s) != RL_OK) return RL_FAIL;
    return rl_scatter_fault(k, s, RL_RUNTIME, "");
}

RL_KERNEL(ref_scatter) {
    rl_scattering s = {.join = (int)k->attr[1], .numbers = {.d = {1}, .i = {1}}};
    const rl_view *source = rl_in(k, 3);
    uint64_t element;
    if (!source && rl_element_from(k, 3, k->out[0]->dtype, &element) != RL_OK) return RL_FAIL;
    rl_view_start(k);
    if (rl_tensor_arg(k, 2)->numel == 0) return RL_OK;
    return rl_scatter_by_index(k, &s, source, source ? NULL : &element);
}

RL_KERNEL(ref_scatter_reduce) {
    return rl_scatter_reduce(k, rl_scatter_by_index, k->arg[5].u.i);
}

/* A vector of indices along one dimension, and slices that go there: index_add, index_copy, index_fill,
 * index_reduce. */
/* ... or a vector of them, for slices of the source. Without a source all get the element. */
static rl_status rl_scatter_by_vector(rl_call *k, rl_scattering *s, const rl_view *source, void *element) {
    const rl_view *index = k->arg[2].u.t, *shaped = source ? source : k->out[0];
    const int ndim = shaped->ndim ? shaped->ndim : 1; /* a number takes them one after the other */
    int64_t dims[RL_MAX_DIMS], dim = k->attr[0];
    for (int d = 0; d < shaped->ndim; d++) dims[d] = d == dim ? index->numel : shaped->shape[d];
    if (shaped->ndim == 0) dims[0] = index->numel;
    if (rl_count_product(dims, ndim).n < 0) /* of an expanded tensor */
        return rl_fail(k, RL_RUNTIME, "numel: integer multiplication overflow");
    rl_scatter_begin(k, s, dims, ndim);
    rl_scatter_element(s, rl_data(index, RL_READ));
    s->iter.stride[1][shaped->ndim ? dim : 0] =
        index->ndim ? index->strides[0] * rl_itemsize(index->dtype) : 0;
    if (element)
        rl_scatter_element(s, element);
    else
        rl_iter_add(&s->iter, source);
    return rl_scatter_run(k, s);
}

RL_KERNEL(ref_index_add) {
    rl_scattering s = {.join = RL_JOIN_ADD, .numbers = {.d = {rl_num(k, 4)}, .i = {rl_int(k, 4)}}};
    rl_view_start(k);
    if (rl_scatter_by_vector(k, &s, k->arg[3].u.t, NULL) != RL_OK) return RL_FAIL;
    if (s.places.faulty && k->out[0]->ndim <= 1) return rl_fail(k, RL_INDEX, "index out of range in self");
    return rl_scatter_fault(k, &s, RL_RUNTIME, "");
}

RL_KERNEL(ref_index_copy) {
    rl_scattering s = {.join = RL_JOIN_SET};
    rl_view_start(k);
    if (rl_scatter_by_vector(k, &s, k->arg[3].u.t, NULL) != RL_OK) return RL_FAIL;
    return rl_scatter_fault(k, &s, RL_INDEX, "index_copy_(): ");
}

RL_KERNEL(ref_index_fill) {
    rl_scattering s = {.join = RL_JOIN_SET, .places.wraps = true};
    uint64_t element;
    if (rl_element_from(k, 3, k->out[0]->dtype, &element) != RL_OK) return RL_FAIL;
    rl_view_start(k);
    if (rl_scatter_by_vector(k, &s, NULL, &element) != RL_OK) return RL_FAIL;
    return rl_scatter_fault(k, &s, RL_INDEX, "");
}

static rl_status reduce_by_vector(rl_call *k, rl_scattering *s, const rl_view *source, void *element) {
    if (rl_scatter_by_vector(k, s, source, element) != RL_OK) return RL_FAIL;
    return s->places.faulty ? rl_fail(k, RL_INDEX, "index out of range in self") : RL_OK;
}

RL_KERNEL(ref_index_reduce) {
    return rl_scatter_reduce(k, reduce_by_vector, k->arg[5].u.i);
}

/* scatter_reduce and index_reduce: what is joined with the elements of the target, or without them. */
/* What joining leaves as it is. */
static void neutral_element(int join, int dtype, void *element) {
    static const int64_t lowest[RL_NDTYPES] = {
        [RL_I8] = INT8_MIN, [RL_I16] = INT16_MIN, [RL_I32] = INT32_MIN, [RL_I64] = INT64_MIN};
    static const int64_t highest[RL_NDTYPES] = {[RL_U8] = UINT8_MAX,  [RL_I8] = INT8_MAX,
                                                [RL_I16] = INT16_MAX, [RL_I32] = INT32_MAX,
                                                [RL_I64] = INT64_MAX, [RL_BOOL] = 1};
    if (rl_is_float(dtype))
        rl_row_put_double(dtype, element,
                          join == RL_JOIN_MAX   ? -INFINITY
                          : join == RL_JOIN_MIN ? INFINITY
                                                : join == RL_JOIN_MUL);
    else
        rl_row_put_ints(dtype, element, 0, 1,
                        join == RL_JOIN_MAX   ? &lowest[dtype]
                        : join == RL_JOIN_MIN ? &highest[dtype]
                                              : &(int64_t){join == RL_JOIN_MUL});
}

/* operands: sum, how many (int64) */
typedef struct {
    int dtype;
} mean_job;

static void mean_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    int dtype = ((const mean_job *)ctx)->dtype;
    for (int64_t i = 0; i < n; i++) {
        int64_t count = *(const int64_t *)(p[1] + i * step[1]), sum;
        char *to = p[0] + i * step[0];
        if (count < 2) continue;
        if (rl_is_float(dtype)) {
            rl_row_put_double(dtype, to, rl_row_double(dtype, to) / (double)count);
        } else {
            rl_row_ints(dtype, to, 0, 1, &sum);
            sum = sum / count - (sum % count < 0);
            rl_row_put_ints(dtype, to, 0, 1, &sum);
        }
    }
}

/* Counts the elements that go to each place, and divides by it. */
static rl_status divide_by_counts(rl_call *k, rl_scatter_way way, bool include_self) {
    const rl_view *out = k->out[0], *source = k->arg[3].u.t;
    int64_t *count = k->svc->scratch(k, RL_COUNT(out->numel), sizeof *count), one = 1, stride = sizeof one;
    rl_scattering s = {.counts = count, .join = RL_JOIN_ADD, .numbers = {.i = {1}}};
    mean_job job = {out->dtype};
    rl_iter places;
    if (!count) return RL_FAIL;
    for (int64_t i = 0; i < out->numel; i++) count[i] = include_self;
    if (way(k, &s, source, &one) != RL_OK) return RL_FAIL;
    rl_iter_begin(&places, out, RL_WRITE);
    places.nops = 2;
    places.base[1] = (char *)count;
    for (int d = out->ndim - 1; d >= 0; stride *= out->shape[d--]) places.stride[1][d] = stride;
    rl_iter_merge(&places);
    rl_iter_parallel(k, &places, RL_REF_NS, mean_loop, &job);
    return RL_OK;
}

static rl_status rl_scatter_reduce(rl_call *k, rl_scatter_way way, bool include_self) {
    const rl_view *out = k->out[0], *source = k->arg[3].u.t;
    const int join = (int)k->attr[1];
    rl_scattering start = {.join = RL_JOIN_SET}, s = {.join = join, .numbers = {.d = {1}, .i = {1}}};
    uint64_t element;
    rl_view_start(k);
    if (rl_tensor_arg(k, 2)->numel == 0) return RL_OK;
    neutral_element(join, out->dtype, &element);
    if (!include_self && way(k, &start, source, &element) != RL_OK) return RL_FAIL;
    if (way(k, &s, source, NULL) != RL_OK) return RL_FAIL;
    return join == RL_JOIN_MEAN && out->numel ? divide_by_counts(k, way, include_self) : RL_OK;
}
