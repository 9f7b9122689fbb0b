/* Dropout: Note [Draws] in random.c. */
#include "random.h"

/* the result, the input and, for the derivative, what each element was multiplied with */
static void scale(const rl_random *r, char *const *p, const int64_t *step, int64_t n, double *keep) {
    double x[RL_DRAWS];
    rl_row_doubles(r->dtype, p[1], step[1], n, x);
    for (int64_t i = 0; i < n; i++) x[i] *= keep[i];
    rl_row_put_doubles(r->dtype, p[0], step[0], n, x);
    if (r->mask) rl_row_put_doubles(r->dtype, p[2], step[2], n, keep);
}

static void drop_some(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    uint8_t truth[RL_DRAWS];
    double keep[RL_DRAWS];
    rl_draw_truths(r->g, r->range, truth, n);
    for (int64_t i = 0; i < n; i++) keep[i] = truth[i] ? r->high : 0;
    scale(r, p, step, n, keep);
}

/* p == 1 draws nothing; NaN and infinities become NaN */
static void drop_all(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double keep[RL_DRAWS] = {0};
    scale(r, p, step, n, keep);
}

/* does the view cover its memory without gaps, in some order of dims? Then so does PyTorch's mask. */
static bool dense(const rl_walk *w, int op, int64_t item) {
    for (int d = w->ndim - 1; d >= 0; d--) {
        if (w->size[d] == 1) continue;
        if (w->stride[op][d] != item) return false;
        item *= w->size[d];
    }
    return true;
}

RL_KERNEL(ref_dropout) {
    const rl_view *x = k->arg[0].u.t;
    const double p = rl_num(k, 1);
    rl_random r = {.draw = p == 1 ? drop_all : drop_some, .range = rl_truth_limit(1 - p)};
    if (p == 0 || !k->arg[2].u.i || x->numel == 0) {
        rl_view_cast(k, k->out[0], x);
        return RL_OK;
    }
    rl_walk w, sorted;
    char keep[8];
    if (rl_random_begin(k, &r) != RL_OK) return RL_FAIL;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, x);
    r.mask = k->n_out == 2;
    if (r.mask) {
        rl_walk_add(&w, k->out[1]);
        w.base[2] = rl_data(k->out[1], RL_WRITE);
    }
    rl_row_put_double(x->dtype, keep, p == 1 ? 0 : 1 / (1 - p));
    r.high = rl_row_double(x->dtype, keep);
    sorted = w;
    rl_walk_sort(&sorted, 1);
    if (dense(&sorted, 1, rl_itemsize(x->dtype))) w = sorted;
    rl_random_walk(&r, &w);
    return RL_OK;
}

/* ---- native_dropout: the mask is drawn in the order of its memory ---- */
static void mask_some(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    uint8_t truth[RL_DRAWS];
    double x[RL_DRAWS];
    rl_draw_truths(r->g, r->range, truth, n);
    rl_row_doubles(r->dtype, p[1], step[1], n, x);
    for (int64_t i = 0; i < n; i++) {
        x[i] = x[i] * truth[i] * r->high;
        *(uint8_t *)(p[2] + i * step[2]) = truth[i];
    }
    rl_row_put_doubles(r->dtype, p[0], step[0], n, x);
}

RL_KERNEL(ref_native_dropout) { /* (input, p, train) */
    const rl_view *x = k->arg[0].u.t;
    const double left = 1 - rl_num(k, 1), scale = left == 0 ? 0 : 1 / left;
    rl_random r = {.draw = mask_some};
    const uint8_t kept = 1;
    char number[8];
    rl_walk w;
    if (x->numel == 0) return RL_OK;
    if (k->arg[2].tag != RL_NONE && !k->arg[2].u.i) {
        rl_view_cast(k, k->out[0], x);
        return rl_view_fill(k, k->out[1], &kept);
    }
    r.range = rl_truth_limit(left);
    rl_row_put_double(x->dtype, number, scale);
    r.high = rl_row_double(x->dtype, number);
    if (rl_random_begin(k, &r) != RL_OK) return RL_FAIL;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, x);
    rl_walk_add(&w, k->out[1]);
    w.base[2] = rl_data(k->out[1], RL_WRITE);
    rl_walk_sort(&w, 0);
    rl_random_walk(&r, &w);
    return RL_OK;
}
