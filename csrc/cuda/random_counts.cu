/* Counts: Poisson and binomial distributions. The same as on the CPU, of other draws; PyTorch's are curand's.
 */
#include "random_own.h"

enum { POISSON_REACH = 5, BINOMIAL_REACH = 11 }; /* as far as PyTorch moves the offset on */

typedef struct {
    void *out;
    const void *given, *chance; /* rates, or counts and their chances */
    int dtype;
    unsigned *fault;
} counts;

/* ---- Poisson ---- */
/* how many uniform numbers it takes until their product is below e^-rate */
static __device__ double poisson_few(cuda_own_draws &g, double rate) {
    const double least = exp(-rate);
    double product = g.unit(), found = 0;
    for (; product > least; found++) product *= g.unit();
    return found;
}
/* Transformed rejection (W. Hoermann, 1993: PTRS), from 10 on */
static __device__ double poisson_many(cuda_own_draws &g, double rate) {
    const double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u, v;
        g.units(&u, &v);
        u -= 0.5;
        const double us = 0.5 - fabs(u), count = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= sure) return count;
        if (count < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
            -rate + count * log_rate - lgamma(count + 1))
            return count;
    }
}

__global__ void __launch_bounds__(CUDA_THREADS) poissons(cuda_draws d, cuda_walk w, counts c) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_own_draws g = cuda_own_begin(d, POISSON_REACH, i);
        cuda_walk_seek(w, i, at);
        const double rate = cuda_load<double>(c.dtype, c.given, at[1]);
        double found = 0;
        if (!(rate >= 0))
            cuda_fault(c.fault, CUDA_FAULT_VALUE);
        else if (rate > 0x1p62) /* counts are int64 in PyTorch */
            found = -0x1p63;
        else if (rate > 0)
            found = rate >= 10 ? poisson_many(g, rate) : poisson_few(g, rate);
        cuda_store<double>(c.dtype, c.out, at[0], found);
    }
}

/* ---- binomial ---- */
/* what Stirling's approximation leaves of log(k!), k from 0 */
static __device__ double stirling_rest(double k) {
    double less = 0;
    for (; k <= 9; k++) less += (k + 1.5) * log1p(1 / (k + 1)) - 1; /* rest(k) - rest(k + 1) */
    const double square = (k + 1) * (k + 1);
    return less + (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}
/* how many geometric steps fit into count */
static __device__ double binomial_few(cuda_own_draws &g, double count, double chance) {
    const double miss = log1p(-chance);
    double steps = 0, found = -1;
    for (; steps <= count; found++) {
        const double step = ceil(log(g.unit()) / miss);
        steps += step < 1 ? 1 : step;
    }
    return found;
}
/* Transformed rejection (W. Hoermann, 1993: BTRS), where count * chance >= 10 */
static __device__ double binomial_many(cuda_own_draws &g, double n, double chance) {
    const double deviation = sqrt(n * chance * (1 - chance)), m = floor((n + 1) * chance);
    const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * chance;
    const double c = n * chance + 0.5, sure = 0.92 - 4.2 / b, odds = chance / (1 - chance);
    const double alpha = (2.83 + 5.1 / b) * deviation;
    for (;;) {
        double u, v;
        g.units(&u, &v);
        u -= 0.5;
        const double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + c);
        if (k < 0 || k > n) continue;
        if (us >= 0.07 && v <= sure) return k;
        const double most = (m + 0.5) * log((m + 1) / (odds * (n - m + 1))) +
                            (n + 1) * log((n - m + 1) / (n - k + 1)) +
                            (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) + stirling_rest(m) +
                            stirling_rest(n - m) - stirling_rest(k) - stirling_rest(n - k);
        if (log(v * alpha / (a / (us * us) + b)) <= most) return k;
    }
}
static __device__ double binomial_of(cuda_own_draws &g, double count, double chance) {
    if (count <= 0 || chance <= 0) return 0;
    if (chance >= 1) return count;
    if (!(count < (double)INFINITY) || chance != chance) return (double)NAN;
    const double p = chance <= 0.5 ? chance : 1 - chance;
    const double found = count * p >= 10 ? binomial_many(g, count, p) : binomial_few(g, count, p);
    return chance <= 0.5 ? found : count - found;
}

__global__ void __launch_bounds__(CUDA_THREADS) binomials(cuda_draws d, cuda_walk w, counts c) {
    CUDA_EACH(i, w) {
        int64_t at[3];
        cuda_own_draws g = cuda_own_begin(d, BINOMIAL_REACH, i);
        cuda_walk_seek(w, i, at);
        const double count = floor(cuda_load<double>(c.dtype, c.given, at[1]));
        cuda_store<double>(c.dtype, c.out, at[0],
                           binomial_of(g, count, cuda_load<double>(c.dtype, c.chance, at[2])));
    }
}

/* ---- calls ---- */
CUDA_KERNEL(cuda_poisson) {
    const rl_view *out = k->out[0], *rate = rl_in(k, 0), *views[2] = {out, rate};
    cuda_draws d;
    cuda_walk w;
    if (rate->device == RL_CPU || !cuda_walk_make(&w, views, 2)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    unsigned *fault = rl_cuda_begin(k, out) == RL_OK ? rl_cuda_fault(k) : nullptr;
    const counts c = {rl_data(out, RL_WRITE), rl_const_data(rate), nullptr, out->dtype, fault};
    if (!fault || cuda_draws_take_each(k, &d, w.numel, POISSON_REACH) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(poissons, cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, d, w, c);
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_binomial) { /* (count, prob) */
    const rl_view *out = k->out[0], *views[3] = {out, rl_in(k, 0), rl_in(k, 1)};
    cuda_draws d;
    cuda_walk w;
    if (views[1]->device == RL_CPU || views[2]->device == RL_CPU || views[2]->dtype != views[1]->dtype ||
        !cuda_walk_make(&w, views, 3))
        return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    const counts c = {rl_data(out, RL_WRITE), rl_const_data(views[1]), rl_const_data(views[2]), out->dtype,
                      nullptr};
    if (rl_cuda_begin(k, out) != RL_OK || cuda_draws_take_each(k, &d, w.numel, BINOMIAL_REACH) != RL_OK)
        return RL_FAIL;
    CUDA_LAUNCH(binomials, cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, d, w, c);
    return rl_cuda_end(k);
}
