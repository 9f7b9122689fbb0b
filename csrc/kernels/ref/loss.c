/* Losses and their gradients, summed in double. Reductions: 0 none, 1 mean, 2 sum. */
#include "loops.h"

enum { NONE, MEAN, SUM };

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
