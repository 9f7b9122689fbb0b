/* Shape rules of new tensors: sizes, sequences, random numbers. */
#include "shape.h"

static rl_status size_out(rl_call *k, int arg) {
    const rl_slot *s = &k->arg[arg];
    return s->tag == RL_INTS ? rl_out_dims(k, 0, s->u.ints, s->n) : rl_out_dims(k, 0, &s->u.i, 1);
}

RL_SHAPE(size) {
    return size_out(k, 0);
}

RL_SHAPE(zeros) {
    for (int i = 0; i < k->arg[0].n; i++)
        if (k->arg[0].tag == RL_INTS && k->arg[0].u.ints[i] < 0)
            return rl_error_set(RL_RUNTIME, "zeros: Dimension size must be non-negative.");
    return size_out(k, 0);
}

static rl_status whole_number(const rl_slot *s, int64_t *i) {
    if (s->tag == RL_FLOAT && !(s->u.d >= -0x1p63 && s->u.d < 0x1p63))
        return rl_error_set(RL_RUNTIME, "value cannot be converted to type int64_t without overflow");
    *i = s->tag == RL_FLOAT ? (int64_t)s->u.d : s->u.i;
    return RL_OK;
}

/* int64 counts in whole numbers, which a double would round */
static rl_status arange_whole(rl_call *k, const rl_slot *const *given) {
    int64_t bound[3], size;
    for (int i = 0; i < 3; i++)
        if (whole_number(given[i], &bound[i]) != RL_OK) return RL_FAIL;
    if (bound[2] == 0) return rl_error_set(RL_VALUE, "step must be nonzero");
    __int128 span = (__int128)bound[1] - bound[0], step = bound[2], n = span / step + (span % step != 0);
    if (span && (span < 0) != (step < 0)) n = -1; /* too near to each other for doubles to tell */
    if (n < 0 || n > INT64_MAX) return rl_error_set(RL_RUNTIME, "invalid size, possible overflow?");
    size = (int64_t)n;
    return rl_out_dims(k, 0, &size, 1);
}

RL_SHAPE(arange) { /* attr[0]: where start stands, -1 for 0; attr[1]: step */
    bool bounds = k->arg[1].tag == RL_INT || k->arg[1].tag == RL_FLOAT || k->arg[1].tag == RL_TRUTH;
    static const rl_slot nothing = {.tag = RL_INT, .u.i = 0}, one = {.tag = RL_INT, .u.i = 1};
    const rl_slot *given[3] = {bounds ? &k->arg[0] : &nothing, &k->arg[bounds], bounds ? &k->arg[2] : &one};
    double number[3];
    k->attr[0] = bounds ? 0 : -1;
    k->attr[1] = bounds ? 2 : -1;
    for (int i = 0; i < 3; i++) number[i] = given[i]->tag == RL_FLOAT ? given[i]->u.d : (double)given[i]->u.i;
    double start = number[0], end = number[1], step = number[2], n = (end - start) / step;
    if (!(step > 0 || step < 0)) return rl_error_set(RL_RUNTIME, "step must be nonzero");
    if (!(start - start == 0 && end - end == 0))
        return rl_error_set(RL_RUNTIME, "unsupported range: %g -> %g", start, end);
    if ((step > 0 && end < start) || (step < 0 && end > start))
        return rl_error_set(RL_RUNTIME, "upper bound and lower bound inconsistent with step sign");
    if (k->out[0]->dtype == RL_I64) return arange_whole(k, given);
    for (int i = 0; i < 3 && !rl_is_float(k->out[0]->dtype); i++)
        if (given[i]->tag == RL_FLOAT && whole_number(given[i], &(int64_t){0}) != RL_OK) return RL_FAIL;
    if (!(n < 0x1p63)) return rl_error_set(RL_RUNTIME, "invalid size, possible overflow?");
    int64_t size = (int64_t)n;
    if ((double)size < n) size++;
    return rl_out_dims(k, 0, &size, 1);
}

RL_SHAPE(linspace) {
    if (k->arg[2].u.i < 0) return rl_error_set(RL_RUNTIME, "number of steps must be non-negative");
    return size_out(k, 2);
}

RL_SHAPE(eye) {
    int64_t shape[2] = {k->arg[0].u.i, k->arg[1].tag == RL_NONE ? k->arg[0].u.i : k->arg[1].u.i};
    if (shape[0] < 0)
        return rl_error_set(RL_RUNTIME, "n must be greater or equal to 0, got %lld", (long long)shape[0]);
    if (shape[1] < 0)
        return rl_error_set(RL_RUNTIME, "m must be greater or equal to 0, got %lld", (long long)shape[1]);
    return rl_out_dims(k, 0, shape, 2);
}

RL_SHAPE(randint) { /* attr[0], attr[1]: low and high */
    bool low = k->arg[1].tag == RL_INT;
    /* randint(high, (3,)) and randint(low, high, (3,)): a bare int is never the size */
    k->attr[0] = low ? k->arg[0].u.i : 0;
    k->attr[1] = low ? k->arg[1].u.i : k->arg[0].u.i;
    if (k->attr[0] >= k->attr[1])
        return rl_error_set(RL_RUNTIME,
                            "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                            (long long)k->attr[0], (long long)k->attr[1]);
    return size_out(k, low ? 2 : 1);
}

RL_SHAPE(randperm) {
    return size_out(k, 0);
}

static rl_status fills_itself(rl_call *k) {
    return rl_out_dims(k, 0, k->arg[0].u.t->shape, k->arg[0].u.t->ndim);
}

RL_SHAPE(uniform) {
    double from = rl_num(k, 1), to = rl_num(k, 2);
    if (!(from <= to))
        return rl_error_set(
            RL_RUNTIME, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from, to);
    return fills_itself(k);
}

RL_SHAPE(normal) {
    if (!(rl_num(k, 2) >= 0))
        return rl_error_set(RL_RUNTIME, "normal expects std >= 0.0, but found std %g", rl_num(k, 2));
    return fills_itself(k);
}

RL_SHAPE(bernoulli) {
    double p = rl_num(k, 1);
    if (!(p >= 0 && p <= 1))
        return rl_error_set(RL_RUNTIME, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    return fills_itself(k);
}

/* attr[0], attr[1]: from and to; attr[2]: 1 when the dtype's largest stands for to, 2 when for both */
RL_SHAPE(random_all) {
    k->attr[0] = k->attr[1] = 0;
    k->attr[2] = 2;
    return fills_itself(k);
}
RL_SHAPE(random) { /* (from, to or None), or (to) alone */
    bool both = k->n_arg == 4;
    k->attr[0] = both ? k->arg[1].u.i : 0;
    k->attr[1] = both ? k->arg[2].u.i : k->arg[1].u.i;
    k->attr[2] = both && k->arg[2].tag == RL_NONE;
    if (!k->attr[2] && k->attr[0] >= k->attr[1])
        return rl_error_set(RL_RUNTIME,
                            "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                            (long long)k->attr[0], (long long)k->attr[1]);
    return fills_itself(k);
}
