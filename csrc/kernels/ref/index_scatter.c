/* Elements that go to places which an index names: scatter and its kin along one dimension, put and take in
 * the flat tensor, masked_scatter. They go in order, so that of two for one place the last one wins. */
#include "loops.h"
#include <math.h>
#include <string.h>

/* ---- along one dimension; operands of the walk: target at index 0 of it, index, source ---- */
typedef struct {
    int64_t size, step, item; /* of the target along the dimension */
    bool wide, wraps;         /* index is int64; negative ones count from the end */
    rl_strip combine;         /* NULL: the source replaces */
    rl_numbers numbers;
    bool faulty;
    int64_t fault; /* the first index out of range */
} scattering;

static bool scatter_to(scattering *s, const char *index, int64_t *offset) {
    /* read once, checked, used */
    int64_t given = s->wide ? __atomic_load_n((const int64_t *)index, __ATOMIC_RELAXED)
                            : __atomic_load_n((const int32_t *)index, __ATOMIC_RELAXED);
    int64_t at = s->wraps && given < 0 ? given + s->size : given;
    if (at < 0 || at >= s->size) {
        if (!s->faulty) s->fault = given;
        s->faulty = true;
        return false;
    }
    *offset = at * s->step;
    return true;
}

static void scatter_run(const scattering *s, char *to, int64_t to_step, char *from, int64_t from_step,
                        int64_t n) {
    if (s->combine)
        s->combine((char *const[3]){to, to, from}, (const int64_t[3]){to_step, to_step, from_step}, n,
                   &s->numbers);
    else
        rl_strip_copy(s->item)((char *const[2]){to, from}, (const int64_t[2]){to_step, from_step}, n, NULL);
}

static void scatter_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    scattering *s = (scattering *)ctx;
    int64_t offset;
    if (step[1] == 0) { /* one index for all */
        if (scatter_to(s, p[1], &offset)) scatter_run(s, p[0] + offset, step[0], p[2], step[2], n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        if (scatter_to(s, p[1] + i * step[1], &offset))
            scatter_run(s, p[0] + i * step[0] + offset, 0, p[2] + i * step[2], 0, 1);
}

/* The walk over `dims`, with the target at index 0 of dim. */
static void target_walk(rl_call *k, rl_walk *w, scattering *s, const int64_t *dims, int ndim) {
    const rl_view *to = k->out[0];
    int64_t dim = k->attr[0];
    s->item = rl_itemsize(to->dtype);
    s->size = to->ndim ? to->shape[dim] : 1;
    s->step = to->ndim ? to->strides[dim] * s->item : 0;
    w->nops = 1;
    w->ndim = ndim;
    w->numel = rl_count_product(dims, ndim).n;
    w->base[0] = rl_data(to, RL_WRITE);
    for (int d = 0; d < ndim; d++) {
        w->size[d] = dims[d];
        w->stride[0][d] = d == dim || !to->ndim ? 0 : to->strides[d] * s->item;
    }
}

static void add_element(rl_walk *w, void *element) {
    for (int d = 0; d < w->ndim; d++) w->stride[w->nops][d] = 0;
    w->base[w->nops++] = element;
}

/* Without a place to go to the first index is wrong, however many there are. */
static rl_status scatter_walk(rl_call *k, rl_walk *w, const scattering *s) {
    if (w->numel == 0) return RL_OK;
    if (w->numel < 0) return rl_fail(k, RL_MEMORY, "%s", "numel: integer multiplication overflow");
    rl_walk_merge(w);
    rl_walk_range(w, 0, s->size ? w->numel : 1, scatter_strip, s);
    return RL_OK;
}

static rl_status scatter_fault(rl_call *k, const scattering *s, rl_error kind, const char *name) {
    if (!s->faulty) return RL_OK;
    return rl_fail(k, kind, "%sindex %lld is out of bounds for dimension %lld with size %lld", name,
                   (long long)s->fault, (long long)k->attr[0], (long long)s->size);
}

/* ---- index_add, index_copy, index_fill: a vector of indices, slices of the source ---- */
static rl_status by_vector(rl_call *k, scattering *s, const rl_view *source, void *element) {
    const rl_view *index = k->arg[2].u.t, *shaped = source ? source : k->out[0];
    int64_t dims[RL_MAX_DIMS], dim = k->attr[0];
    rl_walk w;
    for (int d = 0; d < shaped->ndim; d++) dims[d] = d == dim ? index->numel : shaped->shape[d];
    if (shaped->ndim == 0) dims[0] = index->numel; /* a number takes them one after the other */
    int64_t all = 1;
    for (int d = 0; d < (shaped->ndim ? shaped->ndim : 1); d++) /* of an expanded tensor */
        if (__builtin_mul_overflow(all, dims[d], &all))
            return rl_fail(k, RL_RUNTIME, "numel: integer multiplication overflow");
    rl_view_start(k);
    target_walk(k, &w, s, dims, shaped->ndim ? shaped->ndim : 1);
    s->wide = index->dtype == RL_I64;
    add_element(&w, rl_data(index, RL_READ));
    w.stride[1][shaped->ndim ? dim : 0] = index->ndim ? index->strides[0] * rl_itemsize(index->dtype) : 0;
    if (element)
        add_element(&w, element);
    else
        rl_walk_add(&w, source);
    return scatter_walk(k, &w, s);
}

RL_KERNEL(ref_index_add) {
    scattering s = {.combine = rl_strip_combine(RL_JOIN_ADD, k->out[0]->dtype),
                    .numbers = {.d = {rl_num(k, 4)}, .i = {rl_int(k, 4)}}};
    if (by_vector(k, &s, k->arg[3].u.t, NULL) != RL_OK) return RL_FAIL;
    if (s.faulty && k->out[0]->ndim <= 1) return rl_fail(k, RL_INDEX, "index out of range in self");
    return scatter_fault(k, &s, RL_RUNTIME, "");
}

RL_KERNEL(ref_index_copy) {
    scattering s = {.combine = NULL};
    if (by_vector(k, &s, k->arg[3].u.t, NULL) != RL_OK) return RL_FAIL;
    return scatter_fault(k, &s, RL_INDEX, "index_copy_(): ");
}

RL_KERNEL(ref_index_fill) {
    scattering s = {.wraps = true};
    uint64_t element;
    if (rl_element_from(k, 3, k->out[0]->dtype, &element) != RL_OK) return RL_FAIL;
    if (by_vector(k, &s, NULL, &element) != RL_OK) return RL_FAIL;
    return scatter_fault(k, &s, RL_INDEX, "");
}

/* ---- scatter ---- */
static rl_status by_index(rl_call *k, scattering *s, void *element) {
    const rl_view *index = k->arg[2].u.t;
    rl_walk w;
    target_walk(k, &w, s, index->shape, index->ndim);
    s->wide = index->dtype == RL_I64;
    rl_walk_add(&w, index);
    if (element)
        add_element(&w, element);
    else
        rl_walk_add(&w, k->arg[3].u.t);
    if (scatter_walk(k, &w, s) != RL_OK) return RL_FAIL;
    return scatter_fault(k, s, RL_RUNTIME, "");
}

RL_KERNEL(ref_scatter) {
    const rl_view *out = k->out[0];
    scattering s = {.combine = rl_strip_combine((int)k->attr[1], out->dtype),
                    .numbers = {.d = {1}, .i = {1}}};
    uint64_t element;
    bool number = k->arg[3].tag != RL_TENSOR;
    if (number && rl_element_from(k, 3, out->dtype, &element) != RL_OK) return RL_FAIL;
    rl_view_start(k);
    return k->arg[2].u.t->numel ? by_index(k, &s, number ? &element : NULL) : RL_OK;
}

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

static void mean_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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
static rl_status divide_by_counts(rl_call *k, bool include_self) {
    const rl_view *out = k->out[0], *index = k->arg[2].u.t;
    int64_t *count = k->svc->scratch(k, RL_COUNT(out->numel), sizeof *count), one = 1, stride = sizeof one;
    scattering s = {.combine = rl_strip_combine(RL_JOIN_ADD, RL_I64),
                    .numbers = {.i = {1}},
                    .wide = index->dtype == RL_I64};
    rl_walk w, places;
    if (!count) return RL_FAIL;
    for (int64_t i = 0; i < out->numel; i++) count[i] = include_self;
    rl_walk_begin(&places, out, RL_WRITE);
    places.nops = 2;
    places.base[1] = (char *)count;
    for (int d = out->ndim - 1; d >= 0; stride *= out->shape[d--]) places.stride[1][d] = stride;
    target_walk(k, &w, &s, index->shape, index->ndim);
    w.base[0] = (char *)count;
    for (int d = 0; d < w.ndim && d < out->ndim; d++)
        w.stride[0][d] = d == k->attr[0] ? 0 : places.stride[1][d];
    s.step = out->ndim ? places.stride[1][k->attr[0]] : 0;
    rl_walk_add(&w, index);
    add_element(&w, &one);
    if (scatter_walk(k, &w, &s) != RL_OK) return RL_FAIL;
    mean_job job = {out->dtype};
    rl_walk_merge(&places);
    rl_walk_parallel(k, &places, RL_REF_NS, mean_strip, &job);
    return scatter_fault(k, &s, RL_RUNTIME, "");
}

RL_KERNEL(ref_scatter_reduce) {
    const rl_view *out = k->out[0];
    int join = (int)k->attr[1];
    bool include_self = k->arg[5].u.i;
    scattering s = {.numbers = {.d = {1}, .i = {1}}};
    uint64_t element;
    rl_view_start(k);
    if (k->arg[2].u.t->numel == 0) return RL_OK;
    neutral_element(join, out->dtype, &element);
    if (!include_self && by_index(k, &s, &element) != RL_OK) return RL_FAIL;
    s.combine = rl_strip_combine(join, out->dtype);
    if (by_index(k, &s, NULL) != RL_OK) return RL_FAIL;
    return join == RL_JOIN_MEAN ? divide_by_counts(k, include_self) : RL_OK;
}

/* ---- the flat tensor: the offset of element i of a view of any strides ---- */
static int64_t flat_offset(const rl_walk *w, int64_t i) {
    char *p[RL_WALK_OPS] = {w->base[0]};
    rl_walk_seek(w, i, p);
    return p[0] - w->base[0];
}

/* operands: result, index */
typedef struct {
    rl_walk x;
    int64_t item;
    bool faulty;
    int64_t fault;
} flat_job;

static bool flat_index(flat_job *job, const char *index, int64_t *at) {
    int64_t given = __atomic_load_n((const int64_t *)index, __ATOMIC_RELAXED);
    *at = given < 0 ? given + job->x.numel : given;
    if (*at >= 0 && *at < job->x.numel) return true;
    if (!job->faulty) job->fault = given;
    job->faulty = true;
    return false;
}

static rl_status flat_fault(rl_call *k, const flat_job *job) {
    if (!job->faulty) return RL_OK;
    return rl_fail(k, RL_INDEX, "out of range: tried to access index %lld on a tensor of %lld elements.",
                   (long long)job->fault, (long long)job->x.numel);
}

static void take_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    flat_job *job = (flat_job *)ctx;
    int64_t at;
    for (int64_t i = 0; i < n; i++)
        if (flat_index(job, p[1] + i * step[1], &at))
            memcpy(p[0] + i * step[0], job->x.base[0] + flat_offset(&job->x, at), (size_t)job->item);
}

RL_KERNEL(ref_take) {
    flat_job job = {.item = rl_itemsize(k->out[0]->dtype)};
    rl_walk w;
    if (k->out[0]->numel == 0) return RL_OK;
    rl_walk_begin(&job.x, k->arg[0].u.t, RL_READ);
    rl_walk_merge(&job.x);
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, k->arg[1].u.t);
    rl_walk_merge(&w);
    rl_walk_range(&w, 0, w.numel, take_strip, &job);
    return flat_fault(k, &job);
}

RL_KERNEL(ref_put) {
    const rl_view *index = k->arg[1].u.t, *source = k->arg[2].u.t;
    static const rl_numbers once = {.d = {1}, .i = {1}};
    flat_job job = {.item = rl_itemsize(source->dtype)};
    rl_strip combine = rl_strip_combine(k->arg[3].u.i ? RL_JOIN_ADD : RL_JOIN_SET, source->dtype);
    rl_walk places, from;
    rl_view_start(k);
    if (index->numel == 0) return RL_OK;
    rl_walk_begin(&job.x, k->out[0], RL_WRITE);
    rl_walk_begin(&places, index, RL_READ);
    rl_walk_begin(&from, source, RL_READ);
    rl_walk_merge(&job.x);
    rl_walk_merge(&places);
    rl_walk_merge(&from);
    for (int64_t i = 0, at; i < index->numel; i++) {
        if (!flat_index(&job, places.base[0] + flat_offset(&places, i), &at)) continue;
        char *to = job.x.base[0] + flat_offset(&job.x, at), *element = from.base[0] + flat_offset(&from, i);
        if (combine)
            combine((char *const[3]){to, to, element}, (const int64_t[3]){0}, 1, &once);
        else
            memcpy(to, element, (size_t)job.item);
    }
    return flat_fault(k, &job);
}

/* ---- masks ---- */
/* In place, elements that share memory go in order: what one thread keeps another may have filled. */
RL_KERNEL(ref_masked_fill) {
    rl_walk w;
    uint64_t element;
    if (rl_element_from(k, 2, k->out[0]->dtype, &element) != RL_OK) return RL_FAIL;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, k->arg[1].u.t);
    w.nops = 3;
    w.base[2] = (char *)&element;
    for (int d = 0; d < w.ndim; d++) w.stride[2][d] = 0;
    rl_walk_add(&w, k->arg[0].u.t);
    rl_strip select = rl_strip_select(rl_itemsize(k->out[0]->dtype));
    if (k->out[0]->storage != k->arg[0].u.t->storage || w.numel == 0 || !rl_view_overlaps(k->out[0])) {
        rl_walk_each(k, &w, RL_REF_NS, select, NULL);
    } else {
        rl_walk_merge(&w);
        rl_walk_range(&w, 0, w.numel, select, NULL);
    }
    return RL_OK;
}

/* ---- masked_scatter; operands: result, input, mask ---- */
typedef struct {
    rl_walk source;
    int64_t next, item;
} pouring;

static void pour_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    pouring *s = (pouring *)ctx;
    for (int64_t i = 0; i < n; i++) {
        const char *from = p[1] + i * step[1];
        if (p[2][i * step[2]]) {
            if (s->next < s->source.numel) from = s->source.base[0] + flat_offset(&s->source, s->next);
            s->next++;
        }
        if (from != p[0] + i * step[0]) memcpy(p[0] + i * step[0], from, (size_t)s->item);
    }
}

RL_KERNEL(ref_masked_scatter) {
    pouring s = {.item = rl_itemsize(k->out[0]->dtype)};
    rl_walk w;
    if (k->out[0]->numel == 0) return RL_OK;
    rl_walk_begin(&s.source, k->arg[2].u.t, RL_READ);
    rl_walk_merge(&s.source);
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, k->arg[0].u.t);
    rl_walk_add(&w, k->arg[1].u.t);
    rl_walk_merge(&w);
    rl_walk_range(&w, 0, w.numel, pour_strip, &s);
    if (s.next <= s.source.numel) return RL_OK;
    return rl_fail(k, RL_RUNTIME, "Number of elements of source < number of ones in mask");
}
