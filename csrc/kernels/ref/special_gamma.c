/* The gamma function's kin: kernels/shared/special_gamma.h. */
#include "kernels/shared/special_gamma.h"
#include "special.h"

SPECIAL_UNARY(lgamma, 25, special_lgamma)
SPECIAL_UNARY(digamma, 40, special_digamma)
SPECIAL_BINARY(special_zeta, 300, zeta)

/* ---- derivatives of digamma: n stands in c->i[0], n! with its sign in c->d[0] ---- */
RL_EACH_FLOAT(RL_UNARY_KEEP, x_trigamma, (C)trigamma((double)a))
RL_EACH_FLOAT(RL_UNARY_KEEP, x_polygamma, (C)(c->d[0] * zeta((double)c->i[0] + 1, (double)a)))

/* polygamma(n, x), and x.polygamma(n): the tensor stands first while it is computed */
RL_KERNEL(ref_polygamma) {
    static const rl_strip strips[3][RL_NDTYPES] = {{RL_EACH_FLOAT(RL_ENTRY, x_digamma)},
                                                   {RL_EACH_FLOAT(RL_ENTRY, x_trigamma)},
                                                   {RL_EACH_FLOAT(RL_ENTRY, x_polygamma)}};
    const bool turned = k->arg[0].tag != RL_TENSOR;
    const int64_t n = rl_int(k, !turned);
    const rl_slot first = k->arg[0];
    rl_numbers numbers = {.d = {(n % 2 ? 1 : -1) * tgamma((double)n + 1)}, .i = {n}};
    if (turned) k->arg[0] = k->arg[1];
    rl_status status = rl_special_each(k, 1, strips[n < 2 ? n : 2], n < 2 ? 40 : 300, &numbers);
    k->arg[0] = first;
    return status;
}

/* ---- log of the gamma function of matrices: p in c->i[0] ---- */
RL_EACH_FLOAT(RL_UNARY_KEEP, x_mvlgamma, (C)mvlgamma((double)a, c->i[0]))
RL_KERNEL(ref_mvlgamma) {
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_mvlgamma)};
    rl_numbers numbers = {.i = {rl_int(k, 1)}};
    return rl_special_each(k, 1, strips, 25 * (double)numbers.i[0], &numbers);
}
