/* The arithmetic of Note [Taps], PyTorch's: that of float32 but for float64 and bytes. Whoever includes this
 * may say RESIZE_TARGET, where its functions run. */
#ifndef RL_KERNELS_SHARED_RESIZE_BODY_H
#define RL_KERNELS_SHARED_RESIZE_BODY_H
#include "contract/resize.h"
#include <math.h>
#ifndef RESIZE_TARGET
#define RESIZE_TARGET
#endif

typedef struct {
    rl_resize_mode mode;
    bool wide, corners, snaps, identity;
    int64_t in, out;
    double unit; /* input elements for an output one */
} rl_resize_dim;
/* A run of input elements, and what their weights follow from: the middle of the filter, or for two and four
 * elements the one below it and how far it is from there. */
typedef struct {
    int64_t start, count, low;
    double part, middle;
} rl_resize_run;

/* the result of one operation on numbers of the dim's precision */
RESIZE_TARGET static double rounded(const rl_resize_dim *d, double x) {
    return d->wide ? x : (double)(float)x;
}

/* x as an index below `end`; anything may have come out of a wild factor */
RESIZE_TARGET static int64_t index_below(double x, int64_t end) {
    if (!(x > 0)) return 0;
    return x < (double)end ? (int64_t)x : end - 1;
}

RESIZE_TARGET static double unit_of(const rl_resize_dim *d, double factor) {
    if (d->corners) return d->out > 1 ? rounded(d, (double)(d->in - 1) / (double)(d->out - 1)) : 0;
    return rounded(d, factor > 0 ? 1 / factor : (double)d->in / (double)d->out);
}

/* the input place of output element i; the product is not rounded, as in a fused operation */
RESIZE_TARGET static double place_of(const rl_resize_dim *d, int64_t i) {
    if (d->corners) return rounded(d, d->unit * (double)i);
    return rounded(d, fma(d->unit, (double)i + 0.5, -0.5));
}

RESIZE_TARGET static int64_t nearest(const rl_resize_dim *d, int64_t i) {
    const bool exact = d->mode == RL_RESIZE_EXACT;
    double at;
    if (d->snaps && !exact && d->in == d->out) return i;
    if (d->snaps && !exact && d->out == 2 * d->in) return i / 2;
    if (!exact || d->snaps) {
        at = d->unit * ((double)i + (exact ? 0.5 : 0));
    } else {
        at = place_of(d, i);
        at = (at > 0 ? at : 0) + 0.5;
    }
    return index_below(floorf((float)at), d->in);
}

/* ---- filters ---- */
RESIZE_TARGET static double cubic(double x, double a) {
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
RESIZE_TARGET static double sinc(double x) {
    return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}
RESIZE_TARGET static double filter(rl_resize_mode mode, double x) {
    switch (mode) {
    case RL_RESIZE_LINEAR_AA: return fabs(x) < 1 ? 1 - fabs(x) : 0;
    case RL_RESIZE_CUBIC_AA: return cubic(x, -0.5);
    case RL_RESIZE_LANCZOS_AA: return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
    default: return cubic(x, -0.75);
    }
}

/* half the width of the filter, in input elements */
RESIZE_TARGET static double reach_of(const rl_resize_dim *d) {
    double half = d->mode == RL_RESIZE_LINEAR_AA ? 1 : d->mode == RL_RESIZE_CUBIC_AA ? 2 : 3;
    return d->unit > 1 ? rounded(d, half * d->unit) : half;
}

/* ---- runs ---- */
RESIZE_TARGET static rl_resize_run
run_smooth(const rl_resize_dim *d,
           int64_t i) { /* linear and cubic: two or four elements, as far as there are */
    const int64_t side = d->mode == RL_RESIZE_CUBIC;
    double place = place_of(d, i);
    if (place < 0 && !side) place = 0;
    int64_t low = place < 0 ? -1 : index_below(place, d->in);
    double part = place - (double)low;
    int64_t start = low > side ? low - side : 0, end = low + side + 2 < d->in ? low + side + 2 : d->in;
    return (rl_resize_run){start, end - start, low, part > 0 ? part < 1 ? part : 1 : 0, 0};
}

RESIZE_TARGET static rl_resize_run run_antialiased(const rl_resize_dim *d, int64_t i) {
    const double center = rounded(d, d->unit * ((double)i + 0.5)), reach = reach_of(d);
    int64_t start = index_below(rounded(d, rounded(d, center - reach) + 0.5), d->in + 1);
    int64_t end = index_below(rounded(d, rounded(d, center + reach) + 0.5), d->in + 1);
    return (rl_resize_run){start, end > start ? end - start : 0, 0, 0, center};
}

RESIZE_TARGET static rl_resize_run run_of(const rl_resize_dim *d, int64_t i) {
    if (d->identity) return (rl_resize_run){i, 1, i, 0, 0};
    if (d->mode <= RL_RESIZE_EXACT) return (rl_resize_run){nearest(d, i), 1, 0, 0, 0};
    return d->mode <= RL_RESIZE_CUBIC ? run_smooth(d, i) : run_antialiased(d, i);
}

/* ---- weights ---- */
RESIZE_TARGET static void weigh_cubic(const rl_resize_dim *d, const rl_resize_run *r, double *weight) {
    for (int64_t j = 0; j < r->count; j++) weight[j] = 0;
    for (int64_t j = -1; j < 3; j++) { /* beyond the edge is the edge */
        int64_t at = r->low + j, inside = at < 0 ? 0 : at < d->in ? at : d->in - 1;
        weight[inside - r->start] += filter(d->mode, r->part - (double)j);
    }
}

RESIZE_TARGET static void weigh_antialiased(const rl_resize_dim *d, const rl_resize_run *r, double *weight) {
    const double step = d->unit > 1 ? rounded(d, 1 / d->unit) : 1;
    double total = 0;
    for (int64_t j = 0; j < r->count; j++) {
        double x = rounded(d, rounded(d, (double)(j + r->start) - r->middle) + 0.5);
        weight[j] = filter(d->mode, rounded(d, x * step));
        total += weight[j];
    }
    for (int64_t j = 0; total != 0 && j < r->count; j++) weight[j] /= total;
}

RESIZE_TARGET static void weigh(const rl_resize_dim *d, const rl_resize_run *r, double *weight) {
    if (d->identity || d->mode <= RL_RESIZE_EXACT) {
        weight[0] = 1;
    } else if (d->mode == RL_RESIZE_LINEAR) {
        weight[0] = r->count > 1 ? 1 - r->part : 1;
        if (r->count > 1) weight[1] = r->part;
    } else if (d->mode == RL_RESIZE_CUBIC) {
        weigh_cubic(d, r, weight);
    } else {
        weigh_antialiased(d, r, weight);
    }
}

/* ---- the dims of a call ---- */
/* Does the dim stay as it is, whatever the factor says? PyTorch's gradients answer otherwise. */
static bool stays(const rl_call *k, const rl_resize_dim *d) {
    const rl_resize *r = rl_resize_of(k);
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    if (d->in != d->out || d->mode <= RL_RESIZE_EXACT) return false;
    if (d->mode == RL_RESIZE_CUBIC && r->back)
        return x->shape[2] == out->shape[2] && x->shape[3] == out->shape[3];
    return d->mode == RL_RESIZE_LINEAR || x->dtype == RL_U8 || (d->mode > RL_RESIZE_CUBIC && !r->back);
}

/* depth, height or width: i is 0 to 2 */
static rl_resize_dim resize_dim(const rl_call *k, int i) {
    const rl_resize *r = rl_resize_of(k);
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const bool nearest = r->mode <= RL_RESIZE_EXACT, bytes = x->dtype == RL_U8 && !nearest;
    const bool lacks = i < 3 - r->spatial;
    const int at = x->ndim - 3 + i;
    rl_resize_dim d;
    d.mode = (rl_resize_mode)r->mode;
    d.corners = r->corners != 0;
    d.snaps = r->snaps != 0;
    d.in = lacks ? 1 : (r->back ? out : x)->shape[at];
    d.out = lacks ? 1 : (r->back ? x : out)->shape[at];
    d.wide = bytes || (x->dtype == RL_F64 && !(nearest && r->snaps));
    d.identity = lacks || stays(k, &d);
    d.unit = unit_of(&d, r->factor[i]);
    return d;
}
#endif
