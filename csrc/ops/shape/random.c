/* Shape rules of random numbers. */
#include "shape.h"

RL_SHAPE(randint) { /* attr[0], attr[1]: low and high */
    bool low = k->arg[1].tag == RL_INT;
    /* randint(high, (3,)) and randint(low, high, (3,)): a bare int is never the size */
    k->attr[0] = low ? k->arg[0].u.i : 0;
    k->attr[1] = low ? k->arg[1].u.i : k->arg[0].u.i;
    if (k->attr[0] >= k->attr[1])
        return rl_error_set(RL_RUNTIME,
                            "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                            (long long)k->attr[0], (long long)k->attr[1]);
    return rl_size_out(k, low ? 2 : 1);
}

RL_SHAPE(randperm) {
    return rl_size_out(k, 0);
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

RL_SHAPE(dropout) {
    double p = rl_num(k, 1);
    if (!(p >= 0 && p <= 1))
        return rl_error_set(RL_RUNTIME, "dropout probability has to be between 0 and 1, but got %g", p);
    for (int i = k->n_out - 1; i > 0; i--) /* the mask */
        if (rl_out_like_input(k, i) != RL_OK) return RL_FAIL;
    return rl_out_like_input(k, 0);
}
