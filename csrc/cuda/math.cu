/* Operators of one operand: signs, rounding, roots, questions whose answer is 0 or 1; functions of floats. */
#include "elementwise.cuh"
#include <cfloat>
#include <cmath>

enum {
    NEG,
    ABS,
    SIGN,
    SQUARE,
    FLOOR,
    CEIL,
    ROUND,
    TRUNC,
    FRAC,
    SQRT,
    RSQRT,
    RECIPROCAL,
    ANGLE,
    TIMES,
    ROUND_BEHIND,
    ROUND_BEFORE,
    FINITE,
    ISNAN,
    ISINF,
    ISFINITE,
    ISPOSINF,
    ISNEGINF,
    SIGNBIT,
    ALWAYS
};

template <class C> struct math : cuda_job<C> {
    enum { INPUTS = 1, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[1][V], C (&y)[V]) const {
        const C most = (C)INFINITY, by = this->n[0];
        const C *const n = this->n;
        const int dtype = this->dtype;
        switch (this->op) {
            CUDA_CASE_1(NEG, -a)
            CUDA_CASE_1(ABS, fabs(a))
            CUDA_CASE_1(SIGN, (C)((a > 0) - (a < 0)))
            CUDA_CASE_1(SQUARE, a * a)
            CUDA_CASE_1(FLOOR, floor(a))
            CUDA_CASE_1(CEIL, ceil(a))
            CUDA_CASE_1(ROUND, rint(a))
            CUDA_CASE_1(TRUNC, trunc(a))
            CUDA_CASE_1(FRAC, a - trunc(a))
            CUDA_CASE_1(SQRT, sqrt(a))
            CUDA_CASE_1(RSQRT, 1 / sqrt(a))
            CUDA_CASE_1(RECIPROCAL, 1 / a)
            CUDA_CASE_1(ANGLE, a != a ? a : a < 0 ? (C)3.14159265358979323846 : (C)0)
            CUDA_CASE_1(TIMES, a * by)
            /* halves round each step */
            CUDA_CASE_1(ROUND_BEHIND, rint(cuda_rounded(dtype, a * by)) / by)
            CUDA_CASE_1(ROUND_BEFORE, rint(cuda_rounded(dtype, a / by)) * by)
            CUDA_CASE_1(FINITE, a != a ? n[0] : a == most ? n[1] : a == -most ? n[2] : a)
            CUDA_CASE_1(ISNAN, a != a)
            CUDA_CASE_1(ISINF, fabs(a) == most)
            CUDA_CASE_1(ISFINITE, a - a == 0)
            CUDA_CASE_1(ISPOSINF, a == most)
            CUDA_CASE_1(ISNEGINF, a == -most)
            CUDA_CASE_1(SIGNBIT, copysign((C)1, a) < 0)
            CUDA_CASE_OF(ALWAYS, 1, )
        }
    }
};

template <> struct math<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 1, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[1][V], C (&y)[V]) const {
        switch (op) {
            CUDA_CASE_1(NEG, (C)(0 - (uint64_t)a))
            CUDA_CASE_1(ABS, a < 0 ? (C)(0 - (uint64_t)a) : a)
            CUDA_CASE_1(SIGN, (a > 0) - (a < 0))
            CUDA_CASE_1(SQUARE, (C)((uint64_t)a * (uint64_t)a))
            CUDA_CASE_1(FINITE, a)
            CUDA_CASE_1(SIGNBIT, a < 0)
            CUDA_CASE_OF(ALWAYS, 1, )
            CUDA_CASE_OF(ISNAN, 0, )
        }
    }
};

#define PLAIN(name, op)                                                                                      \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return cuda_elementwise<math>(k, op);                                                                \
    }
PLAIN(abs, ABS)
PLAIN(sign, SIGN)
PLAIN(square, SQUARE)
PLAIN(frac, FRAC)
PLAIN(sqrt, SQRT)
PLAIN(rsqrt, RSQRT)
PLAIN(reciprocal, RECIPROCAL)
PLAIN(angle, ANGLE)
PLAIN(signbit, SIGNBIT)
PLAIN(isreal, ALWAYS)

CUDA_KERNEL(cuda_neg) {
    return rl_in(k, 0)->dtype == RL_BOOL ? RL_UNSUPPORTED : cuda_elementwise<math>(k, NEG);
}

/* ---- what has one answer for all integers: themselves, or no, or yes ---- */
static rl_status of_floats(rl_call *k, int op, int of_ints) {
    return cuda_elementwise<math>(k, rl_is_float(rl_in(k, 0)->dtype) ? op : of_ints);
}
#define OF_FLOATS(name, op, of_ints)                                                                         \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return of_floats(k, op, of_ints);                                                                    \
    }
OF_FLOATS(floor, FLOOR, FINITE)
OF_FLOATS(ceil, CEIL, FINITE)
OF_FLOATS(round, ROUND, FINITE)
OF_FLOATS(trunc, TRUNC, FINITE)
OF_FLOATS(isnan, ISNAN, ISNAN)
OF_FLOATS(isinf, ISINF, ISNAN)
OF_FLOATS(isposinf, ISPOSINF, ISNAN)
OF_FLOATS(isneginf, ISNEGINF, ISNAN)
OF_FLOATS(isfinite, ISFINITE, ALWAYS)

/* ---- with numbers ---- */
CUDA_KERNEL(cuda_deg2rad) {
    return cuda_elementwise<math>(k, TIMES, {{0.017453292519943295769}, {}});
}
CUDA_KERNEL(cuda_rad2deg) {
    return cuda_elementwise<math>(k, TIMES, {{57.295779513082320877}, {}});
}

CUDA_KERNEL(cuda_round_decimals) {
    const int64_t decimals = rl_int(k, 1);
    const double by = pow(10.0, fabs((double)decimals));
    const cuda_numbers numbers = {{cuda_number_as(rl_in(k, 0)->dtype, by)}, {}};
    return cuda_elementwise<math>(k, decimals < 0 ? ROUND_BEFORE : ROUND_BEHIND, numbers);
}

/* what becomes of NaN, inf and -inf */
CUDA_KERNEL(cuda_nan_to_num) {
    const double most = rl_largest(rl_in(k, 0)->dtype);
    cuda_numbers numbers = {{0, most, -most}, {}};
    for (int i = 0; i < 3; i++)
        if (k->arg[1 + i].tag != RL_NONE) numbers.d[i] = rl_num(k, 1 + i);
    return cuda_elementwise<math>(k, FINITE, numbers);
}

/* ---- gradients: a is that of the result, b what the forward operator answered ---- */
enum { SIGMOID_BACKWARD, TANH_BACKWARD };
template <class C> struct math_backward : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        switch (this->op) {
            CUDA_CASE_2(SIGMOID_BACKWARD, a * (1 - b) * b)
            CUDA_CASE_2(TANH_BACKWARD, a * (1 - b * b))
        }
    }
};
CUDA_KERNEL(cuda_sigmoid_backward) {
    return cuda_elementwise<math_backward>(k, SIGMOID_BACKWARD);
}
CUDA_KERNEL(cuda_tanh_backward) {
    return cuda_elementwise<math_backward>(k, TANH_BACKWARD);
}

/* ---- mantissa and exponent ---- */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    frexp_elements(cuda_iter w, cuda_result mantissa, int *exponent, cuda_operand<C> x) {
    CUDA_EACH(i, w) {
        int64_t at[3];
        int power = 0;
        cuda_iter_seek(w, i, at);
        const C a = cuda_read(x, at[2]);
        cuda_store(mantissa.dtype, mantissa.at, at[0], a - a == 0 ? frexp(a, &power) : a);
        exponent[at[1]] = power;
    }
}
template <class C> static void frexp_launch(rl_call *k, const cuda_iter &w) {
    CUDA_LAUNCH((frexp_elements<C>), cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                cuda_result{rl_data(k->out[0], RL_WRITE), k->out[0]->dtype},
                (int *)rl_data(k->out[1], RL_WRITE), cuda_operand_of<C>(rl_in(k, 0)));
}
CUDA_KERNEL(cuda_frexp) {
    const rl_view *views[] = {k->out[0], k->out[1], rl_in(k, 0)};
    cuda_iter w;
    if (!rl_is_float(views[2]->dtype) || !cuda_iter_make_along(&w, views, 3)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    if (views[2]->dtype == RL_F64)
        frexp_launch<double>(k, w);
    else
        frexp_launch<float>(k, w);
    return rl_cuda_end(k);
}

/* ==== functions of floats, as the C library has them; and the one that it lacks ==== */
/* clang-format off */
#define FLOAT_FUNCTIONS(X)                                                                                   \
    X(math_float, exp, exp(a))                                                                               \
    X(math_float, exp2, exp2(a))                                                                             \
    X(math_float, expm1, expm1(a))                                                                           \
    X(math_float, log, log(a))                                                                               \
    X(math_float, log2, log2(a))                                                                             \
    X(math_float, log10, log10(a))                                                                           \
    X(math_float, log1p, log1p(a))                                                                           \
    X(math_float, sin, sin(a))                                                                               \
    X(math_float, cos, cos(a))                                                                               \
    X(math_float, tan, tan(a))                                                                               \
    X(math_float, asin, asin(a))                                                                             \
    X(math_float, acos, acos(a))                                                                             \
    X(math_float, atan, atan(a))                                                                             \
    X(math_float, sinh, sinh(a))                                                                             \
    X(math_float, cosh, cosh(a))                                                                             \
    X(math_float, tanh, tanh(a))                                                                             \
    X(math_float, asinh, asinh(a))                                                                           \
    X(math_float, acosh, acosh(a))                                                                           \
    X(math_float, atanh, atanh(a))                                                                           \
    X(math_float, erf, erf(a))                                                                               \
    X(math_float, erfc, erfc(a))                                                                             \
    X(math_float, erfinv, (C)erf_inverse((double)a))                                                         \
    X(math_float, sigmoid, 1 / (1 + exp(-a)))
/* clang-format on */
enum { FLOAT_FUNCTIONS(CUDA_TAG) };

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
        switch (this->op) { FLOAT_FUNCTIONS(CUDA_LINE_1) }
    }
};

FLOAT_FUNCTIONS(CUDA_LINE_KERNEL)
