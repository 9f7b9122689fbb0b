/* Distributions whose elements take as many draws as they need: Poisson, binomial, gamma, Dirichlet. */
#include "cuda/device.h"
#include "cuda/special.cuh"
#include "philox.cuh"
#include "kernels/shared/random_gradients.h"
#include <cstring>

/* Draws of an element that takes as many as it needs: a stream of its own in Note [Device draws].
 *
 * A call reserves `reach` counters. Draw r has counter r % reach, and a subsequence of its own for each turn
 * around them, which no other element has: so what one call draws is never drawn by another. */
struct cuda_own_draws {
    enum { TURN = 40 }; /* bits of an element's number */
    uint64_t seed, counter, element;
    unsigned reach, drawn;
    __device__ void words(uint32_t *to) {
        const uint64_t turn = drawn / reach;
        cuda_philox(seed, counter + drawn % reach, element | turn << TURN, to);
        drawn++;
    }
    __device__ double unit() { /* of (0, 1] */
        uint32_t four[4];
        words(four);
        return cuda_unit(four[0], four[1]);
    }
    __device__ void units(double *u, double *v) {
        uint32_t four[4];
        words(four);
        *u = cuda_unit(four[0], four[1]);
        *v = cuda_unit(four[2], four[3]);
    }
    __device__ double normal() {
        uint32_t four[4];
        double two[2];
        words(four);
        cuda_normals(four, two);
        return two[0];
    }
};
static __device__ inline cuda_own_draws cuda_own_begin(const cuda_draws &d, unsigned reach, int64_t i) {
    return {d.words->seed, cuda_draws_counter(d), (uint64_t)i, reach, 0};
}

/* ==== counts: Poisson and binomial. The same as on the CPU, of other draws; those of PyTorch are of curand
 * ==== */
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

__global__ void __launch_bounds__(CUDA_THREADS) poissons(cuda_draws d, cuda_iter w, counts c) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_own_draws g = cuda_own_begin(d, POISSON_REACH, i);
        cuda_iter_seek(w, i, at);
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

__global__ void __launch_bounds__(CUDA_THREADS) binomials(cuda_draws d, cuda_iter w, counts c) {
    CUDA_EACH(i, w) {
        int64_t at[3];
        cuda_own_draws g = cuda_own_begin(d, BINOMIAL_REACH, i);
        cuda_iter_seek(w, i, at);
        const double count = floor(cuda_load<double>(c.dtype, c.given, at[1]));
        cuda_store<double>(c.dtype, c.out, at[0],
                           binomial_of(g, count, cuda_load<double>(c.dtype, c.chance, at[2])));
    }
}

/* ---- calls ---- */
CUDA_KERNEL(cuda_poisson) {
    const rl_view *out = k->out[0], *rate = rl_in(k, 0), *views[2] = {out, rate};
    cuda_draws d;
    cuda_iter w;
    if (rate->device == RL_CPU || !cuda_iter_make(&w, views, 2)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    unsigned *fault = rl_cuda_begin(k, out) == RL_OK ? rl_cuda_fault(k) : nullptr;
    const counts c = {rl_data(out, RL_WRITE), rl_const_data(rate), nullptr, out->dtype, fault};
    if (!fault || cuda_draws_take_each(k, &d, w.numel, POISSON_REACH) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(poissons, cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, d, w, c);
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_binomial) { /* (count, prob) */
    const rl_view *out = k->out[0], *views[3] = {out, rl_in(k, 0), rl_in(k, 1)};
    cuda_draws d;
    cuda_iter w;
    if (views[1]->device == RL_CPU || views[2]->device == RL_CPU || views[2]->dtype != views[1]->dtype ||
        !cuda_iter_make(&w, views, 3))
        return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    const counts c = {rl_data(out, RL_WRITE), rl_const_data(views[1]), rl_const_data(views[2]), out->dtype,
                      nullptr};
    if (rl_cuda_begin(k, out) != RL_OK || cuda_draws_take_each(k, &d, w.numel, BINOMIAL_REACH) != RL_OK)
        return RL_FAIL;
    CUDA_LAUNCH(binomials, cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, d, w, c);
    return rl_cuda_end(k);
}

/* ==== the gamma and the Dirichlet distribution, and how they change with their parameters:
 * kernels/shared/random_gradients.h ==== */
enum { REACH = 3 }; /* as far as PyTorch moves the offset on */
typedef struct {
    void *out;
    const void *shape;
    int dtype, out_dtype;
    double least;
} gammas_of;

/* G. Marsaglia and W. Tsang, A simple method for generating gamma variables (2000); below 1, a number of the
 * next shape times a power of a uniform one */
static __device__ double gamma_of(cuda_own_draws &g, double shape) {
    double scale = 1;
    if (shape == 0) return 0;
    if (shape < 1) scale = pow(g.unit(), 1 / shape);
    const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
    if (!(d > 0)) return (double)NAN;
    for (;;) {
        const double x = g.normal(), root = 1 + c * x, square = x * x;
        if (root <= 0) continue;
        const double v = root * root * root, u = g.unit();
        if (u < 1 - 0.0331 * square * square || log(u) < 0.5 * square + d * (1 - v + log(v)))
            return scale * d * v;
    }
}

__global__ void __launch_bounds__(CUDA_THREADS) gammas(cuda_draws d, cuda_iter w, gammas_of p) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_own_draws g = cuda_own_begin(d, REACH, i);
        cuda_iter_seek(w, i, at);
        const double x = gamma_of(g, cuda_load<double>(p.dtype, p.shape, at[1]));
        cuda_store<double>(p.out_dtype, p.out, at[0], x < p.least ? p.least : x);
    }
}

static rl_status draw_gammas(rl_call *k, const rl_view *to, int out_dtype, void *out, double least) {
    const rl_view *shape = rl_in(k, 0), *views[2] = {to, shape};
    const gammas_of p = {out, rl_const_data(shape), shape->dtype, out_dtype, least};
    cuda_draws d;
    cuda_iter w;
    if (!cuda_iter_make(&w, views, 2)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || cuda_draws_take_each(k, &d, w.numel, REACH) != RL_OK)
        return RL_FAIL;
    CUDA_LAUNCH(gammas, cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, d, w, p);
    return RL_OK;
}

CUDA_KERNEL(cuda_standard_gamma) {
    const rl_view *out = k->out[0];
    if (rl_in(k, 0)->device == RL_CPU) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    const double least = out->dtype == RL_F64 ? 0x1p-1022 : 0x1p-126; /* the smallest normal numbers */
    const rl_status status = draw_gammas(k, out, out->dtype, rl_data(out, RL_WRITE), least);
    return status == RL_OK ? rl_cuda_end(k) : status;
}

/* ---- Dirichlet: each row divided by its sum, and kept off 0 and 1; a thread for each row ---- */
__global__ void __launch_bounds__(CUDA_THREADS)
    divide_rows(int64_t rows, int64_t n, const double *z, void *out, int dtype, double least, double most) {
    CUDA_EACH_OF(row, rows) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += z[row * n + i];
        for (int64_t i = 0; i < n; i++) {
            const double part = z[row * n + i] / sum;
            cuda_store<double>(dtype, out, row * n + i, part < least ? least : part > most ? most : part);
        }
    }
}

CUDA_KERNEL(cuda_sample_dirichlet) { /* the last dim is one vector */
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const int64_t n = x->ndim ? x->shape[x->ndim - 1] : 1;
    const bool wide = out->dtype == RL_F64;
    int64_t strides[RL_MAX_DIMS];
    if (x->device == RL_CPU || !rl_is_contiguous(out)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    double *z = (double *)k->svc->scratch(k, RL_COUNT(out->numel), sizeof *z);
    if (!z) return RL_FAIL;
    rl_view dense = *out; /* how the numbers in z lie */
    memcpy(strides, out->strides, (size_t)out->ndim * sizeof *strides);
    dense.strides = strides;
    const rl_status status = draw_gammas(k, &dense, RL_F64, z, 0x1p-1022);
    if (status != RL_OK) return status;
    CUDA_LAUNCH(divide_rows, cuda_blocks_of(out->numel / n), CUDA_THREADS, (cudaStream_t)k->stream,
                out->numel / n, n, z, rl_data(out, RL_WRITE), out->dtype, wide ? 0x1p-1022 : 0x1p-126,
                1 - (wide ? 0x1p-53 : 0x1p-24));
    return rl_cuda_end(k);
}

/* ---- gradients ---- */
template <class C> struct gamma_slopes : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        CUDA_UNROLL
        for (int j = 0; j < V; j++) {
            const double in[2] = {(double)x[0][j], (double)x[1][j]};
            y[j] = (C)gamma_gradient(in);
        }
    }
};
template <class C> struct dirichlet_slopes : cuda_job<C> {
    enum { INPUTS = 3, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[3][V], C (&y)[V]) const {
        CUDA_UNROLL
        for (int j = 0; j < V; j++) {
            const double in[3] = {(double)x[0][j], (double)x[1][j], (double)x[2][j]};
            y[j] = (C)dirichlet_gradient(in);
        }
    }
};
CUDA_KERNEL(cuda_standard_gamma_grad) {
    return cuda_elementwise<gamma_slopes>(k, 0);
}
CUDA_KERNEL(cuda_dirichlet_grad) {
    return cuda_elementwise<dirichlet_slopes>(k, 0);
}
