/* scatter and its kin: Note [Scattering]. */
#include "index_scatter.h"
#include <string.h>

static void scatter_row(const rl_scattering *s, char *to, int64_t to_step, char *from, int64_t from_step,
                        int64_t n) {
    if (s->join == RL_JOIN_SET)
        rl_strip_copy(s->item)((char *const[2]){to, from}, (const int64_t[2]){to_step, from_step}, n, NULL);
    else
        rl_strip_combine(s->join, s->dtype)((char *const[3]){to, to, from},
                                            (const int64_t[3]){to_step, to_step, from_step}, n, &s->numbers);
}

static void scatter_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    rl_scattering *s = (rl_scattering *)ctx;
    int64_t offset[RL_PLACES];
    if (n <= 0) return;
    if (step[1] == 0 && step[0] != 0) { /* one index for all, each to a place of its own */
        if (rl_places_read(&s->places, p[1], 0, 1, offset))
            scatter_row(s, p[0] + *offset, step[0], p[2], step[2], n);
        return;
    }
    const rl_places_joiner join = s->join == RL_JOIN_SET ? NULL : rl_places_join(s->join, s->dtype);
    for (int64_t i = 0, read; i < n; i += read) {
        const rl_run to = {p[0] + i * step[0], step[0]}, from = {p[2] + i * step[2], step[2]};
        read = rl_places_read(&s->places, p[1] + i * step[1], step[1], n - i < RL_PLACES ? n - i : RL_PLACES,
                              offset);
        if (join)
            join(to, offset, from, read, &s->numbers);
        else
            rl_places_put(s->item, to, offset, from, read);
        if (__atomic_load_n(&s->places.faulty, __ATOMIC_RELAXED)) return;
    }
}

void rl_scatter_begin(rl_call *k, rl_scattering *s, const int64_t *dims, int ndim) {
    const rl_view *to = k->out[0];
    rl_walk *w = &s->walk;
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

void rl_scatter_element(rl_scattering *s, void *element) {
    rl_walk *w = &s->walk;
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
    rl_walk part = job->s->walk;
    const int d = job->split;
    const int64_t n = part.size[d], from = n * begin / job->parts, to = n * end / job->parts;
    (void)thread;
    if (from == to) return;
    for (int i = 0; i < part.nops; i++) part.base[i] += from * part.stride[i][d];
    part.numel = part.numel / n * (to - from);
    part.size[d] = to - from;
    rl_walk_merge(&part);
    rl_walk_range(&part, 0, part.numel, scatter_strip, job->s);
}

/* Without a place to go to the first index is wrong, however many there are. */
rl_status rl_scatter_run(rl_call *k, rl_scattering *s) {
    rl_walk *w = &s->walk;
    scatter_job job = {s, -1, k->threads};
    if (w->numel == 0) return RL_OK;
    if (w->numel < 0) return rl_fail(k, RL_MEMORY, "%s", "numel: integer multiplication overflow");
    for (int d = 0; d < w->ndim; d++)
        if (d != s->dim && (job.split < 0 || w->size[d] > w->size[job.split])) job.split = d;
    if (s->places.size == 0 || s->meets || job.split < 0) {
        rl_walk_merge(w);
        rl_walk_range(w, 0, s->places.size ? w->numel : 1, scatter_strip, s);
        return RL_OK;
    }
    const double ns = 2 * RL_REF_NS * (double)w->numel;
    if (rl_is_serial(k, 1, ns)) job.parts = 1;
    k->svc->parallel(k, job.parts, ns / (double)job.parts, scatter_part, &job);
    return RL_OK;
}

rl_status rl_scatter_fault(rl_call *k, const rl_scattering *s, rl_error kind, const char *name) {
    if (!s->places.faulty) return RL_OK;
    return rl_fail(k, kind, "%sindex %lld is out of bounds for dimension %lld with size %lld", name,
                   (long long)s->places.fault, (long long)k->attr[0], (long long)s->places.size);
}

/* ---- an index for each element ---- */
rl_status rl_scatter_by_index(rl_call *k, rl_scattering *s, const rl_view *source, void *element) {
    const rl_view *index = k->arg[2].u.t;
    rl_scatter_begin(k, s, index->shape, index->ndim);
    rl_walk_add(&s->walk, index);
    if (element)
        rl_scatter_element(s, element);
    else
        rl_walk_add(&s->walk, source);
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
