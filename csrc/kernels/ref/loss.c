/* Losses and their gradients, summed in double. Reductions: 0 none, 1 mean, 2 sum. */
#include "loops.h"
#include <string.h>

enum { NONE, MEAN, SUM };

/* ---- negative log likelihood; attr[0]: images, attr[1]: classes, attr[2]: places of an image ---- */
typedef struct {
    const rl_view *target, *weight;
    int64_t ignore, classes;
    rl_walk places; /* of the target */
    int64_t at;     /* the class that nll_weight read */
} nll;

static void nll_begin(const rl_call *k, int target, nll *l) {
    l->target = k->arg[target].u.t;
    l->weight = rl_in(k, target + 1);
    l->ignore = k->arg[target + 3].u.i;
    l->classes = k->attr[1];
    rl_walk_begin(&l->places, l->target, RL_READ);
    rl_walk_merge(&l->places);
}

/* the weight of place i; negative (-1 ignored, -2 out of bounds) when there is none to read: l->at says which
 */
static double nll_weight(nll *l, int64_t i) {
    char *p = l->places.base[0];
    rl_walk_seek(&l->places, i, &p);
    rl_row_ints(l->target->dtype, p, 0, 1, &l->at);
    return l->at == l->ignore || l->at < 0 || l->at >= l->classes ? 0
           : l->weight                                            ? rl_vector_at(l->weight, l->at)
                                                                  : 1;
}

/* where the target class of place i stands, NULL when it is ignored; fails when there is no such class */
static rl_status nll_find(rl_call *k, nll *l, const rl_view *x, char *base, int64_t i, char **found) {
    int64_t item = rl_itemsize(x->dtype), places = k->attr[2], image = i / places, place = i % places;
    *found = NULL;
    if (l->at == l->ignore) return RL_OK;
    if (l->at < 0 || l->at >= l->classes)
        return rl_fail(k, RL_INDEX, "Target %lld is out of bounds.", (long long)l->at);
    char *p = base + l->at * x->strides[x->ndim == 1 ? 0 : 1] * item;
    if (x->ndim > 1) p += image * x->strides[0] * item;
    for (int d = x->ndim - 1; d > 1; d--) {
        p += place % x->shape[d] * x->strides[d] * item;
        place /= x->shape[d];
    }
    *found = p;
    return RL_OK;
}

RL_KERNEL(ref_nll_loss) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    int64_t reduction = k->arg[3].u.i, n = k->attr[0] * k->attr[2];
    int dtype = x->dtype;
    bool each = reduction == NONE && x->ndim > 1;
    double sum = 0, total = 0;
    char *to = rl_data(out, RL_WRITE), *base = rl_data(x, RL_READ);
    nll l;
    nll_begin(k, 1, &l);
    for (int64_t i = 0; i < n; i++) {
        double weight = nll_weight(&l, i), value = 0;
        char *p;
        if (nll_find(k, &l, x, base, i, &p) != RL_OK) return RL_FAIL;
        if (p) value = -weight * rl_row_double(dtype, p);
        if (each)
            rl_row_put_double(dtype, to + i * rl_itemsize(dtype), value);
        else if (p)
            sum += value, total += weight;
    }
    if (!each) rl_row_put_double(dtype, to, reduction == MEAN ? sum / total : sum);
    rl_row_put_double(dtype, rl_data(k->out[1], RL_WRITE), total);
    return RL_OK;
}

RL_KERNEL(ref_nll_loss_backward) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t, *out = k->out[0];
    int64_t reduction = k->arg[4].u.i, n = k->attr[0] * k->attr[2];
    int dtype = x->dtype;
    double total = rl_vector_at(k->arg[6].u.t, 0);
    char *to = rl_data(out, RL_WRITE);
    rl_walk places;
    nll l;
    nll_begin(k, 2, &l);
    memset(to, 0, (size_t)(out->numel * rl_itemsize(dtype)));
    rl_walk_begin(&places, grad, RL_READ);
    rl_walk_merge(&places);
    bool each = reduction == NONE && x->ndim > 1;
    for (int64_t i = 0; i < n; i++) {
        double weight = nll_weight(&l, i);
        char *p, *from = places.base[0];
        if (nll_find(k, &l, out, to, i, &p) != RL_OK) return RL_FAIL;
        if (!p) continue;
        if (each) rl_walk_seek(&places, i, &from);
        double g = rl_row_double(dtype, from);
        rl_row_put_double(dtype, p, -weight * (reduction == MEAN ? g / total : g));
    }
    return RL_OK;
}

/* ---- squared differences ---- */
typedef struct {
    int dtype;
    double factor, sum;
} mse;
enum { PART = 256 };

/* operands: anything of the dims, input, target */
static void mse_sum(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    mse *m = (mse *)ctx;
    double a[PART], b[PART];
    for (int64_t at = 0, count; at < n; at += count) {
        count = n - at < PART ? n - at : PART;
        rl_row_doubles(m->dtype, p[1] + at * step[1], step[1], count, a);
        rl_row_doubles(m->dtype, p[2] + at * step[2], step[2], count, b);
        for (int64_t i = 0; i < count; i++) m->sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
}

/* operands: output, input, target, gradient */
static void mse_each(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const mse *m = ctx;
    double a[PART], b[PART], g[PART];
    for (int64_t at = 0, count; at < n; at += count) {
        count = n - at < PART ? n - at : PART;
        rl_row_doubles(m->dtype, p[1] + at * step[1], step[1], count, a);
        rl_row_doubles(m->dtype, p[2] + at * step[2], step[2], count, b);
        if (m->factor) rl_row_doubles(m->dtype, p[3] + at * step[3], step[3], count, g);
        for (int64_t i = 0; i < count; i++) {
            double d = a[i] - b[i];
            a[i] = m->factor ? m->factor * d * g[i] : d * d;
        }
        rl_row_put_doubles(m->dtype, p[0] + at * step[0], step[0], count, a);
    }
}

/* the dims that a and b stretch to, as a view without memory of its own */
static rl_view common_dims(const rl_view *a, const rl_view *b, int64_t *shape, int64_t *strides) {
    rl_view v = *a;
    v.ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    v.shape = shape, v.strides = strides, v.numel = 1;
    for (int d = 0; d < v.ndim; d++) {
        int da = d - (v.ndim - a->ndim), db = d - (v.ndim - b->ndim);
        shape[d] = da >= 0 && a->shape[da] != 1 ? a->shape[da] : db >= 0 ? b->shape[db] : 1;
        strides[d] = 0;
        v.numel *= shape[d];
    }
    return v;
}

RL_KERNEL(ref_mse_loss) {
    const rl_view *x = k->arg[0].u.t, *y = k->arg[1].u.t, *out = k->out[0];
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS], reduction = k->arg[2].u.i;
    mse m = {.dtype = x->dtype};
    rl_view all = reduction == NONE ? *out : common_dims(x, y, shape, strides);
    rl_walk w;
    rl_walk_begin(&w, &all, reduction == NONE ? RL_WRITE : RL_READ);
    rl_walk_add(&w, x);
    rl_walk_add(&w, y);
    rl_walk_merge(&w);
    if (reduction == NONE) {
        rl_walk_parallel(k, &w, RL_REF_NS, mse_each, &m);
        return RL_OK;
    }
    if (all.numel) rl_walk_range(&w, 0, all.numel, mse_sum, &m);
    rl_row_put_double(out->dtype, rl_data(out, RL_WRITE),
                      reduction == MEAN ? m.sum / (double)all.numel : m.sum);
    return RL_OK;
}

RL_KERNEL(ref_mse_loss_backward) {
    const rl_view *out = k->out[0];
    mse m = {.dtype = out->dtype, .factor = 2};
    rl_walk w;
    if (out->numel == 0) return RL_OK;
    if (k->arg[3].u.i == MEAN) m.factor /= (double)out->numel;
    rl_walk_begin(&w, out, RL_WRITE);
    rl_walk_add(&w, k->arg[1].u.t);
    rl_walk_add(&w, k->arg[2].u.t);
    rl_walk_add(&w, k->arg[0].u.t);
    rl_walk_merge(&w);
    rl_walk_parallel(k, &w, RL_REF_NS, mse_each, &m);
    return RL_OK;
}
