/* Two operands: arithmetic. Integers wrap, booleans are numbers that are 0 or 1. */
#include "elementwise.h"

enum {
    ADD,
    SUB,
    RSUB,
    MUL,
    DIV,
    DIV_TRUNC,
    MAXIMUM,
    MINIMUM,
    FMAX,
    FMIN,
    HEAVISIDE,
    COPYSIGN,
    LERP,
    CUBE,
    ROOT,
    OVER_ROOT,
    OVER,
    OVER_SQUARE,
    SQUARE
};

static __device__ int64_t wrap_add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static __device__ int64_t wrap_mul(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

template <class C> struct arith : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const C by = this->n[0];
        const int dtype = this->dtype;
        switch (this->op) {
            CUDA_CASE_2(ADD, a + by * b)
            CUDA_CASE_2(SUB, a - by * b)
            CUDA_CASE_2(RSUB, b - by * a)
            CUDA_CASE_2(MUL, a * b)
            CUDA_CASE_2(DIV, a / b)
            CUDA_CASE_2(DIV_TRUNC, trunc(cuda_rounded(dtype, a / b)))
            CUDA_CASE_2(MAXIMUM, a != a || a > b ? a : b)
            CUDA_CASE_2(MINIMUM, a != a || a < b ? a : b)
            CUDA_CASE_2(FMAX, a != a || a < b ? b : a)
            CUDA_CASE_2(FMIN, a != a || a > b ? b : a)
            CUDA_CASE_2(HEAVISIDE, a == 0 ? b : (C)(a > 0))
            CUDA_CASE_2(COPYSIGN, copysign(a, b))
            CUDA_CASE_2(LERP, fabs(by) < (C)0.5 ? a + by * (b - a) : b - (b - a) * (1 - by))
            CUDA_CASE_1(SQUARE, a * a)
            CUDA_CASE_1(CUBE, a * a * a)
            CUDA_CASE_1(ROOT, sqrt(a))
            CUDA_CASE_1(OVER_ROOT, 1 / sqrt(a))
            CUDA_CASE_1(OVER, 1 / a)
            CUDA_CASE_1(OVER_SQUARE, 1 / (a * a))
        }
    }
};

/* An integer over 0 is -1, as the GPU's own division has it; -1 divides every one of them. */
static __device__ int64_t int_div(int64_t a, int64_t b) {
    return b == 0 ? -1 : b == -1 ? wrap_mul(a, -1) : a / b;
}

template <> struct arith<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const C by = n[0];
        const bool truth = dtype == RL_BOOL;
        switch (op) {
            CUDA_CASE_2(ADD, truth ? a || (by && b) : wrap_add(a, wrap_mul(by, b)))
            CUDA_CASE_2(SUB, wrap_add(a, wrap_mul(wrap_mul(by, -1), b)))
            CUDA_CASE_2(RSUB, wrap_add(b, wrap_mul(wrap_mul(by, -1), a)))
            CUDA_CASE_2(MUL, wrap_mul(a, b))
            CUDA_CASE_2(DIV_TRUNC, int_div(a, b))
            CUDA_CASE_2(MAXIMUM, a > b ? a : b)
            CUDA_CASE_2(MINIMUM, a < b ? a : b)
            CUDA_CASE_2(FMAX, a > b ? a : b)
            CUDA_CASE_2(FMIN, a < b ? a : b)
            CUDA_CASE_2(HEAVISIDE, truth ? a || b : a == 0 ? b : a > 0)
        }
    }
};

/* ---- add and its kin, which scale one operand ---- */
static rl_status scaled(rl_call *k, int op) {
    const int dtype = rl_in(k, 0)->dtype, tag = k->arg[2].tag;
    cuda_numbers numbers = {{1}, {1}};
    if (tag == RL_TRUTH && dtype != RL_BOOL)
        return rl_fail(k, RL_RUNTIME, "Boolean alpha only supported for Boolean results.");
    if (tag == RL_FLOAT && !rl_is_float(dtype))
        return rl_fail(k, RL_RUNTIME,
                       "For integral input tensors, argument alpha must not be a floating point number.");
    if (tag != RL_NONE) {
        numbers.d[0] = cuda_number_as(dtype, rl_num(k, 2));
        numbers.i[0] = rl_int(k, 2);
    }
    return cuda_elementwise<arith>(k, op, numbers);
}
CUDA_KERNEL(cuda_add) {
    return scaled(k, ADD);
}
CUDA_KERNEL(cuda_sub) {
    return rl_in(k, 0)->dtype == RL_BOOL ? RL_UNSUPPORTED : scaled(k, SUB);
}
CUDA_KERNEL(cuda_rsub) {
    return rl_in(k, 0)->dtype == RL_BOOL ? RL_UNSUPPORTED : scaled(k, RSUB);
}

/* ---- the others ---- */
#define PAIR(name, op)                                                                                       \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return cuda_elementwise<arith>(k, op);                                                               \
    }
PAIR(mul, MUL)
PAIR(maximum, MAXIMUM)
PAIR(minimum, MINIMUM)
PAIR(fmax, FMAX)
PAIR(fmin, FMIN)
PAIR(heaviside, HEAVISIDE)
PAIR(copysign, COPYSIGN)

/* attr[0]: how the quotient is rounded. To its floor: cuda_div_floor */
CUDA_KERNEL(cuda_div) {
    if (k->attr[0] == 2 || rl_in(k, 0)->dtype == RL_BOOL) return RL_UNSUPPORTED;
    return cuda_elementwise<arith>(k, k->attr[0] ? DIV_TRUNC : DIV);
}

/* lerp by a number; by a tensor: cuda_lerp */
CUDA_KERNEL(cuda_lerp_by) {
    const rl_view *weight = rl_in(k, 2);
    cuda_numbers numbers = {};
    if (weight && (weight->ndim || weight->device != RL_CPU)) return RL_UNSUPPORTED;
    if (weight)
        cuda_number_get(weight, &numbers.d[0]);
    else
        numbers.d[0] = rl_num(k, 2);
    return cuda_elementwise<arith>(k, LERP, numbers);
}

/* powers that PyTorch takes without pow(), as they are exact or cheaper; all others: cuda_pow */
CUDA_KERNEL(cuda_pow_of) {
    static const double exponents[] = {3, 0.5, -0.5, -1, -2, 2};
    const rl_view *x = rl_in(k, 0), *exponent = rl_in(k, 1);
    double asked;
    if (exponent->device != RL_CPU || exponent->ndim || !x->ndim || exponent->numel != 1)
        return RL_UNSUPPORTED;
    cuda_number_get(exponent, &asked);
    if (!rl_is_float(x->dtype))
        return asked >= 0 || x->dtype == RL_BOOL
                   ? RL_UNSUPPORTED
                   : rl_fail(k, RL_RUNTIME, "Integers to negative integer powers are not allowed.");
    for (int op = CUBE; op <= SQUARE; op++)
        if (asked == exponents[op - CUBE]) return cuda_elementwise<arith>(k, op);
    return RL_UNSUPPORTED;
}
