/* Special functions, in double whatever the dtype. */
#include "special.h"
#include "kernels/shared/special_error.h"

/* log(z / (1 - z)); 2z - 1 is exact near its zero */
static __device__ double logit(double z) {
    return fabs(z - 0.5) < 0.25 ? log1p((2 * z - 1) / (1 - z)) : log(z / (1 - z));
}
/* sin(pi x) / (pi x), exact where it is 0 */
static __device__ double sinc(double x) {
    const double pi = 3.14159265358979323846;
    double r = x - 2 * rint(x / 2);
    if (fabs(r) > 0.5) r = copysign(1.0, r) - r;
    return x == 0 ? 1 : sin(pi * r) / (pi * x);
}
static __device__ double entropy(double x) {
    if (x > 0) return -x * log(x);
    return x == 0 ? 0 : x < 0 ? -(double)INFINITY : x;
}
static __device__ double spherical_j0(double x) {
    return x == 0 ? 1 : fabs(x) == (double)INFINITY ? 0 : sin(x) / x;
}

/* ---- the error function's kin ---- */
static __device__ double normal_below(double x) {
    return erfc(-0.70710678118654752440 * x) / 2;
}
/* A guess good to 5e-4 (M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 26.2.23), then
 * Halley's steps, each of which triples the digits. Near 1/2 all goes by the distance from there. */
static __device__ double normal_quantile(double p) {
    const double root_half = 0.70710678118654752440, slope = 0.39894228040143267794, away = p - 0.5;
    const double q = away < 0 ? p : 1 - p;
    const bool near = q > 0.25;
    if (!(q > 0)) return q == 0 ? copysign((double)INFINITY, away) : (double)NAN;
    const double t = near ? fabs(away) / slope : sqrt(-2 * log(q)), z = t * t;
    double x = t * (1 + z * (1.0 / 6 + z * (7.0 / 120 + z * (127.0 / 5040))));
    if (!near)
        x = t -
            (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    CUDA_ROLLED
    for (int i = 0; i < 2; i++) {
        const double miss = near ? fabs(away) - erf(root_half * x) / 2 : erfc(root_half * x) / 2 - q;
        const double step = miss / (exp(-x * x / 2) * slope);
        x += step / (1 - x * step / 2);
    }
    return copysign(x, away);
}

enum { LOGIT, SINC, ENTR, NDTR, NDTRI, SPHERICAL_J0, ERFCX, LOG_NDTR };

template <class C> struct special : cuda_job<C> {
    enum { INPUTS = 1, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[1][V], C (&y)[V]) const {
        const C low = this->n[0], high = this->n[1];
        switch (this->op) {
            CUDA_CASE_1(LOGIT, (C)logit((double)(a < low ? low : a > high ? high : a)))
            CUDA_CASE_OF(SINC, (C)sinc(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(ENTR, (C)entropy(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(NDTR, (C)normal_below(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(NDTRI, (C)normal_quantile(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(SPHERICAL_J0, (C)spherical_j0(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(ERFCX, (C)erfcx_of(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(LOG_NDTR, (C)log_ndtr(z), const double z = (double)x[0][j])
        }
    }
};

#define FUNCTION(name, op)                                                                                   \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return cuda_elementwise<special>(k, op);                                                             \
    }
FUNCTION(sinc, SINC)
FUNCTION(special_entr, ENTR)
FUNCTION(special_ndtr, NDTR)
FUNCTION(special_ndtri, NDTRI)
FUNCTION(special_spherical_bessel_j0, SPHERICAL_J0)
FUNCTION(special_erfcx, ERFCX)
FUNCTION(special_log_ndtr, LOG_NDTR)

/* limited to [eps, 1 - eps]; NaN passes */
CUDA_KERNEL(cuda_logit) {
    const double eps = k->arg[1].tag == RL_NONE ? -(double)INFINITY : rl_num(k, 1);
    return cuda_elementwise<special>(k, LOGIT, {{eps, 1 - eps}, {}});
}

template <class C> struct special_pairs : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        CUDA_UNROLL
        for (int j = 0; j < V; j++) {
            const C a = x[0][j], b = x[1][j];
            y[j] = b != b ? b : a == 0 ? (C)0 : a * log1p(b);
        }
    }
};
CUDA_KERNEL(cuda_special_xlog1py) {
    return cuda_elementwise<special_pairs>(k, 0);
}
