/* The tables of Note [Taps], in PyTorch's arithmetic: that of float32 but for float64 and bytes. */
#include "resize.h"
#include <math.h>

typedef struct {
    rl_resize_mode mode;
    bool wide, corners, snaps, identity;
    int64_t in, out;
    double unit; /* input elements for an output one */
} dim;
/* A run of input elements, and what their weights follow from: the middle of the filter, or for two and four
 * elements the one below it and how far it is from there. */
typedef struct {
    int64_t start, count, low;
    double part, middle;
} run;

/* the result of one operation on numbers of the dim's precision */
static double rounded(const dim *d, double x) {
    return d->wide ? x : (double)(float)x;
}

/* x as an index below `end`; anything may have come out of a wild factor */
static int64_t index_below(double x, int64_t end) {
    if (!(x > 0)) return 0;
    return x < (double)end ? (int64_t)x : end - 1;
}

static double unit_of(const dim *d, double factor) {
    if (d->corners) return d->out > 1 ? rounded(d, (double)(d->in - 1) / (double)(d->out - 1)) : 0;
    return rounded(d, factor > 0 ? 1 / factor : (double)d->in / (double)d->out);
}

/* the input place of output element i; the product is not rounded, as in a fused operation */
static double place_of(const dim *d, int64_t i) {
    if (d->corners) return rounded(d, d->unit * (double)i);
    return rounded(d, fma(d->unit, (double)i + 0.5, -0.5));
}

static int64_t nearest(const dim *d, int64_t i) {
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
static double cubic(double x, double a) {
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
static double sinc(double x) {
    return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}
static double filter(rl_resize_mode mode, double x) {
    switch (mode) {
    case RL_RESIZE_LINEAR_AA: return fabs(x) < 1 ? 1 - fabs(x) : 0;
    case RL_RESIZE_CUBIC_AA: return cubic(x, -0.5);
    case RL_RESIZE_LANCZOS_AA: return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
    default: return cubic(x, -0.75);
    }
}

/* half the width of the filter, in input elements */
static double reach_of(const dim *d) {
    double half = d->mode == RL_RESIZE_LINEAR_AA ? 1 : d->mode == RL_RESIZE_CUBIC_AA ? 2 : 3;
    return d->unit > 1 ? rounded(d, half * d->unit) : half;
}

/* ---- runs ---- */
static run run_smooth(const dim *d,
                      int64_t i) { /* linear and cubic: two or four elements, as far as there are */
    const int64_t side = d->mode == RL_RESIZE_CUBIC;
    double place = place_of(d, i);
    if (place < 0 && !side) place = 0;
    int64_t low = place < 0 ? -1 : index_below(place, d->in);
    double part = place - (double)low;
    int64_t start = low > side ? low - side : 0, end = low + side + 2 < d->in ? low + side + 2 : d->in;
    return (run){start, end - start, low, part > 0 ? part < 1 ? part : 1 : 0, 0};
}

static run run_antialiased(const dim *d, int64_t i) {
    const double center = rounded(d, d->unit * ((double)i + 0.5)), reach = reach_of(d);
    int64_t start = index_below(rounded(d, rounded(d, center - reach) + 0.5), d->in + 1);
    int64_t end = index_below(rounded(d, rounded(d, center + reach) + 0.5), d->in + 1);
    return (run){start, end > start ? end - start : 0, 0, 0, center};
}

static run run_of(const dim *d, int64_t i) {
    if (d->identity) return (run){i, 1, i, 0, 0};
    if (d->mode <= RL_RESIZE_EXACT) return (run){nearest(d, i), 1, 0, 0, 0};
    return d->mode <= RL_RESIZE_CUBIC ? run_smooth(d, i) : run_antialiased(d, i);
}

/* ---- weights ---- */
static void weigh_cubic(const dim *d, const run *r, double *weight) {
    for (int64_t j = 0; j < r->count; j++) weight[j] = 0;
    for (int64_t j = -1; j < 3; j++) { /* beyond the edge is the edge */
        int64_t at = r->low + j, inside = at < 0 ? 0 : at < d->in ? at : d->in - 1;
        weight[inside - r->start] += filter(d->mode, r->part - (double)j);
    }
}

static void weigh_antialiased(const dim *d, const run *r, double *weight) {
    const double step = d->unit > 1 ? rounded(d, 1 / d->unit) : 1;
    double total = 0;
    for (int64_t j = 0; j < r->count; j++) {
        double x = rounded(d, rounded(d, (double)(j + r->start) - r->middle) + 0.5);
        weight[j] = filter(d->mode, rounded(d, x * step));
        total += weight[j];
    }
    for (int64_t j = 0; total != 0 && j < r->count; j++) weight[j] /= total;
}

static void weigh(const dim *d, const run *r, double *weight) {
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

/* ---- tables ---- */
static rl_status taps_begin(rl_call *k, rl_taps *t, int64_t in, int64_t out) {
    *t = (rl_taps){.in = in, .out = out};
    t->start = k->svc->scratch(k, RL_COUNT(out), sizeof *t->start);
    t->first = k->svc->scratch(k, rl_count_plus(RL_COUNT(out), 1), sizeof *t->first);
    return t->start && t->first ? RL_OK : RL_FAIL;
}

/* first[] has the lengths of the runs one place on: sums of them, and room for so many weights */
static rl_status taps_sum(rl_call *k, rl_taps *t) {
    rl_count all = {0};
    t->first[0] = 0;
    for (int64_t i = 0; i < t->out; i++) {
        if (t->first[i + 1] > t->most) t->most = t->first[i + 1];
        all = rl_count_plus(all, t->first[i + 1]);
        t->first[i + 1] = all.n;
    }
    t->weight = k->svc->scratch(k, rl_count_plus(all, 1), sizeof *t->weight);
    return t->weight ? RL_OK : RL_FAIL;
}

static rl_status taps_make(rl_call *k, rl_taps *t, const dim *d) {
    if (taps_begin(k, t, d->in, d->out) != RL_OK) return RL_FAIL;
    for (int64_t i = 0; i < d->out; i++) {
        run r = run_of(d, i);
        t->start[i] = r.start < d->in ? r.start : d->in - 1;
        t->first[i + 1] = r.count;
    }
    if (taps_sum(k, t) != RL_OK) return RL_FAIL;
    for (int64_t i = 0; i < d->out; i++) {
        run r = run_of(d, i);
        weigh(d, &r, t->weight + t->first[i]);
    }
    t->copies = d->identity || d->mode <= RL_RESIZE_EXACT;
    return RL_OK;
}

/* Starts and ends of runs never go back, so that the outputs of an input element are a run, too. */
static rl_status taps_turn(rl_call *k, rl_taps *t) {
    const rl_taps f = *t;
    if (taps_begin(k, t, f.out, f.in) != RL_OK) return RL_FAIL;
    for (int64_t at = 0; at < f.in; at++) t->start[at] = t->first[at + 1] = 0;
    for (int64_t i = 0; i < f.out; i++)
        for (int64_t at = f.start[i], n = rl_taps_count(&f, i); n > 0; n--, at++) {
            if (!t->first[at + 1]) t->start[at] = i;
            t->first[at + 1] = i - t->start[at] + 1;
        }
    if (taps_sum(k, t) != RL_OK) return RL_FAIL;
    for (int64_t i = 0; i < f.out; i++)
        for (int64_t j = 0; j < rl_taps_count(&f, i); j++) {
            const int64_t at = f.start[i] + j;
            t->weight[t->first[at] + i - t->start[at]] = f.weight[f.first[i] + j];
        }
    return RL_OK;
}

/* Does the dim stay as it is, whatever the factor says? PyTorch's gradients answer otherwise. */
static bool stays(const rl_call *k, const dim *d) {
    const rl_resize *r = rl_resize_of(k);
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    if (d->in != d->out || d->mode <= RL_RESIZE_EXACT) return false;
    if (d->mode == RL_RESIZE_CUBIC && r->back)
        return x->shape[2] == out->shape[2] && x->shape[3] == out->shape[3];
    return d->mode == RL_RESIZE_LINEAR || x->dtype == RL_U8 || (d->mode > RL_RESIZE_CUBIC && !r->back);
}

rl_status rl_resize_taps(rl_call *k, rl_taps taps[3]) {
    const rl_resize *r = rl_resize_of(k);
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const bool nearest = r->mode <= RL_RESIZE_EXACT, bytes = x->dtype == RL_U8 && !nearest;
    for (int i = 0; i < 3; i++) {
        const int at = x->ndim - 3 + i;
        const bool lacks = i < 3 - r->spatial;
        dim d = {.mode = (rl_resize_mode)r->mode, .corners = r->corners != 0, .snaps = r->snaps != 0};
        d.in = lacks ? 1 : (r->back ? out : x)->shape[at];
        d.out = lacks ? 1 : (r->back ? x : out)->shape[at];
        d.wide = bytes || (x->dtype == RL_F64 && !(nearest && r->snaps));
        d.identity = lacks || stays(k, &d);
        d.unit = unit_of(&d, r->factor[i]);
        if (taps_make(k, &taps[i], &d) != RL_OK) return RL_FAIL;
        if (r->back && taps_turn(k, &taps[i]) != RL_OK) return RL_FAIL;
    }
    return RL_OK;
}
