/* One operand: functions of floats, as the C library has them; and the one that it lacks. */
#include "elementwise.h"

enum {
    EXP,
    EXP2,
    EXPM1,
    LOG,
    LOG2,
    LOG10,
    LOG1P,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    SINH,
    COSH,
    TANH,
    ASINH,
    ACOSH,
    ATANH,
    ERF,
    ERFC,
    ERFINV,
    SIGMOID
};

/* A guess good to 2e-3 (Winitzki, 2008), then Halley's steps, each of which triples the digits. Near 1 the
 * steps go through erfc(), where erf() has no digits left. */
static __device__ double erf_inverse(double y) {
    const double size = fabs(y), a = 0.147, two_over_pi = 0.63661977236758134308;
    if (!(size < 1)) return size == 1 ? y * (double)INFINITY : (double)NAN;
    if (size == 0) return y;
    const double l = log1p(-size * size), h = two_over_pi / a + l / 2;
    double x = sqrt(sqrt(h * h - l / a) - h);
    CUDA_ROLLED
    for (int i = 0; i < 3; i++) {
        const double miss = size < 0.5 ? erf(x) - size : (1 - size) - erfc(x);
        const double slope = 1.12837916709551257390 * exp(-x * x);
        x -= miss / (slope + x * miss);
    }
    return copysign(x, y);
}

template <class C> struct math_float : cuda_job<C> {
    enum { INPUTS = 1, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[1][V], C (&y)[V]) const {
        switch (this->op) {
            CUDA_CASE_1(EXP, exp(a))
            CUDA_CASE_1(EXP2, exp2(a))
            CUDA_CASE_1(EXPM1, expm1(a))
            CUDA_CASE_1(LOG, log(a))
            CUDA_CASE_1(LOG2, log2(a))
            CUDA_CASE_1(LOG10, log10(a))
            CUDA_CASE_1(LOG1P, log1p(a))
            CUDA_CASE_1(SIN, sin(a))
            CUDA_CASE_1(COS, cos(a))
            CUDA_CASE_1(TAN, tan(a))
            CUDA_CASE_1(ASIN, asin(a))
            CUDA_CASE_1(ACOS, acos(a))
            CUDA_CASE_1(ATAN, atan(a))
            CUDA_CASE_1(SINH, sinh(a))
            CUDA_CASE_1(COSH, cosh(a))
            CUDA_CASE_1(TANH, tanh(a))
            CUDA_CASE_1(ASINH, asinh(a))
            CUDA_CASE_1(ACOSH, acosh(a))
            CUDA_CASE_1(ATANH, atanh(a))
            CUDA_CASE_1(ERF, erf(a))
            CUDA_CASE_1(ERFC, erfc(a))
            CUDA_CASE_1(ERFINV, (C)erf_inverse((double)a))
            CUDA_CASE_1(SIGMOID, 1 / (1 + exp(-a)))
        }
    }
};

#define FUNCTION(name, op)                                                                                   \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return cuda_elementwise<math_float>(k, op);                                                          \
    }
FUNCTION(exp, EXP)
FUNCTION(exp2, EXP2)
FUNCTION(expm1, EXPM1)
FUNCTION(log, LOG)
FUNCTION(log2, LOG2)
FUNCTION(log10, LOG10)
FUNCTION(log1p, LOG1P)
FUNCTION(sin, SIN)
FUNCTION(cos, COS)
FUNCTION(tan, TAN)
FUNCTION(asin, ASIN)
FUNCTION(acos, ACOS)
FUNCTION(atan, ATAN)
FUNCTION(sinh, SINH)
FUNCTION(cosh, COSH)
FUNCTION(tanh, TANH)
FUNCTION(asinh, ASINH)
FUNCTION(acosh, ACOSH)
FUNCTION(atanh, ATANH)
FUNCTION(erf, ERF)
FUNCTION(erfc, ERFC)
FUNCTION(erfinv, ERFINV)
FUNCTION(sigmoid, SIGMOID)
