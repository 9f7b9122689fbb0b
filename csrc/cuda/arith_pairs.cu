/* Two operands: division that rounds down, powers, what the C library has, divisors. */
#include "elementwise.h"

enum {
    FLOOR_DIVIDE,
    REMAINDER,
    FMOD,
    POW,
    ATAN2,
    HYPOT,
    LOGADDEXP,
    LOGADDEXP2,
    XLOGY,
    LDEXP,
    NEXTAFTER,
    GCD,
    LCM
};

/* ---- division ---- */
/* floor(a / b) so that a == floor_divide(a, b) * b + remainder(a, b) holds as well as rounding lets it */
template <class C> static __device__ C floor_divide(C a, C b) {
    if (b == 0) return a / b;
    const C rest = fmod(a, b), quotient = (a - rest) / b - (rest != 0 && (b < 0) != (rest < 0)),
            down = floor(quotient);
    if (quotient == 0) return copysign((C)0, a / b);
    return quotient - down > (C)0.5 ? down + 1 : down;
}
template <class C> static __device__ C remainder_of(C a, C b) {
    const C rest = fmod(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
/* integers over 0: the quotient is -1 and everything remains, as the GPU's own division has it */
static __device__ int64_t int_fmod(int64_t a, int64_t b) {
    return b == 0 ? a : b == -1 ? 0 : a % b;
}
static __device__ int64_t int_floor_divide(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return b ? (int64_t)(0 - (uint64_t)a) : -1;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static __device__ int64_t int_remainder(int64_t a, int64_t b) {
    const int64_t rest = int_fmod(a, b);
    return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* ---- the next number: one step of the bits, which count the size of either sign up ---- */
template <class C> static __device__ C next_of(int dtype, C a, C b) {
    if constexpr (sizeof(C) == sizeof(float)) {
        const bool half = dtype == RL_F16;
        if (dtype != RL_F32 && a == a && b == b && a != b) {
            const C from = a == 0 ? b : a;
            const unsigned bits = half ? __half_as_ushort(__float2half_rn(from))
                                       : __bfloat16_as_ushort(__float2bfloat16_rn(from)),
                           up = (a < b) == (a > 0), made = a == 0 ? (bits & 0x8000u) | 1 : bits + 2 * up - 1;
            return half ? __half2float(__ushort_as_half((unsigned short)made))
                        : __bfloat162float(__ushort_as_bfloat16((unsigned short)made));
        }
    }
    return b != b ? b : nextafter(a, b);
}

/* ---- made of logarithms; equal ones, both infinite perhaps, have no difference ---- */
template <class C> static __device__ C log_add(C a, C b) {
    return a == b ? a + (C)0.6931471805599453 : fmax(a, b) + log1p(exp(-fabs(a - b)));
}
template <class C> static __device__ C log_add_2(C a, C b) {
    return a == b ? a + 1 : fmax(a, b) + (C)1.4426950408889634 * log1p(exp2(-fabs(a - b)));
}
/* by whole powers of two it is exact where the result is, whatever that power alone would be */
template <class C> static __device__ C scale_by(C a, C b) {
    const C whole = b > 5000 ? (C)5000 : b < -5000 ? (C)-5000 : b;
    return b == trunc(b) ? ldexp(a, (int)whole) : a * exp2(b);
}

template <class C> struct arith_pairs : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 1, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const int dtype = this->dtype;
        switch (this->op) {
            CUDA_CASE_2(FLOOR_DIVIDE, floor_divide(a, b))
            CUDA_CASE_2(REMAINDER, remainder_of(a, b))
            CUDA_CASE_2(FMOD, fmod(a, b))
            CUDA_CASE_2(POW, pow(a, b))
            CUDA_CASE_2(ATAN2, atan2(a, b))
            CUDA_CASE_2(HYPOT, hypot(a, b))
            CUDA_CASE_2(LOGADDEXP, log_add(a, b))
            CUDA_CASE_2(LOGADDEXP2, log_add_2(a, b))
            CUDA_CASE_2(XLOGY, b != b ? b : a == 0 ? (C)0 : a * log(b))
            CUDA_CASE_2(LDEXP, scale_by(a, b))
            CUDA_CASE_2(NEXTAFTER, next_of(dtype, a, b))
        }
    }
};

/* ---- integers ---- */
static __device__ int64_t int_power(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t result = 1, base = (uint64_t)a;
    for (; b; b >>= 1, base *= base)
        if (b & 1) result *= base;
    return (int64_t)result;
}
static __device__ uint64_t size_of(int64_t a) {
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}
static __device__ int64_t divisor(int64_t a, int64_t b) {
    uint64_t x = size_of(a), y = size_of(b);
    while (x) {
        const uint64_t rest = y % x;
        y = x;
        x = rest;
    }
    return (int64_t)y;
}
/* the product wraps at the dtype's own width before its sign goes */
static __device__ int64_t multiple(int64_t a, int64_t b, bool wide) {
    const int64_t common = divisor(a, b);
    if (!common) return 0;
    const int64_t product = (int64_t)((uint64_t)(a / common) * (uint64_t)b);
    return (int64_t)size_of(wide ? product : (int32_t)product);
}

template <> struct arith_pairs<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 2, VECTOR = 1, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const bool wide = dtype == RL_I64;
        switch (op) {
            CUDA_CASE_2(FLOOR_DIVIDE, int_floor_divide(a, b))
            CUDA_CASE_2(REMAINDER, int_remainder(a, b))
            CUDA_CASE_2(FMOD, int_fmod(a, b))
            CUDA_CASE_2(POW, int_power(a, b))
            CUDA_CASE_2(GCD, divisor(a, b))
            CUDA_CASE_2(LCM, multiple(a, b, wide))
        }
    }
};

static rl_status run(rl_call *k, int op) {
    return rl_in(k, 0)->dtype == RL_BOOL ? RL_UNSUPPORTED : cuda_elementwise<arith_pairs>(k, op);
}
#define PAIR(name, op)                                                                                       \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return run(k, op);                                                                                   \
    }
PAIR(floor_divide, FLOOR_DIVIDE)
PAIR(remainder, REMAINDER)
PAIR(fmod, FMOD)
PAIR(pow, POW)
PAIR(atan2, ATAN2)
PAIR(hypot, HYPOT)
PAIR(logaddexp, LOGADDEXP)
PAIR(logaddexp2, LOGADDEXP2)
PAIR(xlogy, XLOGY)
PAIR(ldexp, LDEXP)
PAIR(nextafter, NEXTAFTER)
PAIR(gcd, GCD)
PAIR(lcm, LCM)

CUDA_KERNEL(cuda_div_floor) {
    return k->attr[0] == 2 ? run(k, FLOOR_DIVIDE) : RL_UNSUPPORTED;
}
