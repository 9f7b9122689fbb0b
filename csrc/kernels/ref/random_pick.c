/* Categories by their weights, each as often as it comes: multinomial() with replacement. */
#include "random.h"
#include <math.h>

/* Sums of the first weights, divided by that of all: in float32, float64 for float64. NULL or what is wrong.
 */
static const char *sums_of(const double *weight, int64_t n, bool wide, double *sums) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weight[i] >= 0)) return "invalid multinomial distribution (encountering probability entry < 0)";
        if (!(weight[i] < INFINITY))
            return "invalid multinomial distribution (encountering probability entry = infinity or NaN)";
        sum = wide ? sum + weight[i] : (float)(sum + weight[i]);
        sums[i] = sum;
    }
    if (!(sum > 0)) return "invalid multinomial distribution (sum of probabilities <= 0)";
    for (int64_t i = 0; i < n; i++) sums[i] = wide ? sums[i] / sum : (float)(sums[i] / sum);
    sums[n - 1] = 1;
    return NULL;
}

/* the first place whose sum is not below u; as many steps for every u */
static int64_t place_of(const double *sums, int64_t n, double u) {
    const double *low = sums;
    while (n > 1) {
        const int64_t half = n / 2;
        low += low[half - 1] < u ? half : 0;
        n -= half;
    }
    return low - sums;
}

static void pick(rl_generator *g, const double *sums, int64_t n, int64_t *to, int64_t picks) {
    double u[RL_DRAWS];
    for (int64_t m; picks > 0; picks -= m, to += m) {
        m = picks < RL_DRAWS ? picks : RL_DRAWS;
        rl_draw_doubles(g, u, m);
        for (int64_t i = 0; i < m; i++) to[i] = place_of(sums, n, u[i]);
    }
}

RL_KERNEL(ref_multinomial) { /* (weights, num_samples); the categories are the last dim */
    const rl_view *x = rl_in(k, 0);
    const int64_t n = x->shape[x->ndim - 1], rows = x->ndim == 2 ? x->shape[0] : 1, picks = k->arg[1].u.i;
    const int64_t item = rl_itemsize(x->dtype), step = x->strides[x->ndim - 1] * item;
    rl_random r = {.g = NULL};
    if (rl_random_begin(k, &r) != RL_OK) return RL_FAIL;
    double *weight = k->svc->scratch(k, RL_COUNT(n), sizeof *weight);
    double *sums = weight ? k->svc->scratch(k, RL_COUNT(n), sizeof *sums) : NULL;
    if (!sums) return RL_FAIL;
    const char *from = rl_const_data(x);
    int64_t *to = rl_data(k->out[0], RL_WRITE);
    for (int64_t row = 0; row < rows; row++, to += picks) {
        rl_row_doubles(x->dtype, from + (x->ndim == 2 ? row * x->strides[0] * item : 0), step, n, weight);
        const char *fault = sums_of(weight, n, x->dtype == RL_F64, sums);
        if (fault) return rl_fail(k, RL_RUNTIME, "%s", fault);
        pick(r.g, sums, n, to, picks);
    }
    return RL_OK;
}
