/* The tables of Note [Taps]. */
#include "resize.h"
#include "resize_impl.inc"

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
    t->weight = k->svc->scratch(k, all, sizeof *t->weight);
    return t->weight ? RL_OK : RL_FAIL;
}

static rl_status taps_make(rl_call *k, rl_taps *t, const rl_resize_dim *d) {
    if (taps_begin(k, t, d->in, d->out) != RL_OK) return RL_FAIL;
    for (int64_t i = 0; i < d->out; i++) {
        const rl_resize_run r = run_of(d, i);
        t->start[i] = r.start < d->in ? r.start : d->in - 1;
        t->first[i + 1] = r.count;
    }
    if (taps_sum(k, t) != RL_OK) return RL_FAIL;
    for (int64_t i = 0; i < d->out; i++) {
        const rl_resize_run r = run_of(d, i);
        weigh(d, &r, t->weight + t->first[i]);
    }
    t->copies = d->identity || d->mode <= RL_RESIZE_EXACT;
    return RL_OK;
}

/* Starts and ends of runs never go back, so that the outputs of an input element are a run, too. */
static rl_status taps_transpose(rl_call *k, rl_taps *t) {
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

rl_status rl_resize_taps(rl_call *k, rl_taps taps[3]) {
    for (int i = 0; i < 3; i++) {
        const rl_resize_dim d = resize_dim(k, i);
        if (taps_make(k, &taps[i], &d) != RL_OK) return RL_FAIL;
        if (rl_resize_of(k)->back && taps_transpose(k, &taps[i]) != RL_OK) return RL_FAIL;
    }
    return RL_OK;
}
