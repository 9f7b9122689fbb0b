/* Two and three operands: arithmetic, comparisons, logic, bits, division, powers, lerp, where. */
#include "elementwise.cuh"

/* ==== arithmetic: integers wrap, booleans are numbers that are 0 or 1 ==== */
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
    if (tag == RL_BOOLEAN && dtype != RL_BOOL)
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

/* ==== comparisons and logic, whose result is 0 or 1, and bits of integers ==== */
/* clang-format off */
#define COMPARISONS(X)                                                                                       \
    X(comparisons, eq, a == b)                                                                               \
    X(comparisons, ne, a != b)                                                                               \
    X(comparisons, lt, a < b)                                                                                \
    X(comparisons, le, a <= b)                                                                               \
    X(comparisons, gt, a > b)                                                                                \
    X(comparisons, ge, a >= b)                                                                               \
    X(comparisons, logical_and, a != 0 && b != 0)                                                            \
    X(comparisons, logical_or, a != 0 || b != 0)                                                             \
    X(comparisons, logical_xor, (a != 0) != (b != 0))
/* clang-format on */
enum { COMPARISONS(CUDA_TAG) BIT_AND, BIT_OR, BIT_XOR, LEFT, RIGHT, NOT, BIT_NOT };

template <class C> struct comparisons : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        switch (this->op) {
            COMPARISONS(CUDA_LINE_2)
            CUDA_CASE_1(NOT, a == 0)
        }
    }
};

template <> struct comparisons<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const C bits = n[0];
        const bool truth = dtype == RL_BOOL;
        switch (op) {
            COMPARISONS(CUDA_LINE_2)
            CUDA_CASE_1(NOT, a == 0)
            CUDA_CASE_2(BIT_AND, a & b)
            CUDA_CASE_2(BIT_OR, a | b)
            CUDA_CASE_2(BIT_XOR, a ^ b)
            /* by any number, as if bit by bit; to the left by less than 0 leaves nothing */
            CUDA_CASE_2(LEFT, b < 0 || b >= bits ? 0 : (C)((uint64_t)a << b))
            CUDA_CASE_2(RIGHT, a >> (b < 0 || b >= bits ? 63 : b))
            CUDA_CASE_1(BIT_NOT, truth ? (C)!a : ~a)
        }
    }
};

COMPARISONS(CUDA_LINE_KERNEL)

static rl_status of_bits(rl_call *k, int op) {
    const int dtype = rl_in(k, 0)->dtype;
    const cuda_numbers numbers = {{}, {8 * rl_itemsize(dtype)}};
    return rl_is_float(dtype) ? RL_UNSUPPORTED : cuda_elementwise<comparisons>(k, op, numbers);
}
#define OF_BITS(name, op)                                                                                    \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return of_bits(k, op);                                                                               \
    }
OF_BITS(bitwise_and, BIT_AND)
OF_BITS(bitwise_or, BIT_OR)
OF_BITS(bitwise_xor, BIT_XOR)
OF_BITS(bitwise_left_shift, LEFT)
OF_BITS(bitwise_right_shift, RIGHT)

/* ---- of one operand ---- */
static rl_status of_one(rl_call *k, int op) {
    const rl_view *views[] = {k->out[0], rl_in(k, 0), rl_in(k, 0)};
    return cuda_elementwise<comparisons>(k, views, op, {});
}
CUDA_KERNEL(cuda_logical_not) {
    return of_one(k, NOT);
}
CUDA_KERNEL(cuda_bitwise_not) {
    return rl_is_float(rl_in(k, 0)->dtype) ? RL_UNSUPPORTED : of_one(k, BIT_NOT);
}

/* ---- are two whole tensors the same? attr[0]: their shapes are ---- */
template <class C> struct differences : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 4 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        CUDA_UNROLL
        for (int j = 0; j < V; j++) y[j] = x[0][j] != x[1][j];
    }
};
template <class C> static rl_status same(rl_call *k, const rl_view *const *views) {
    rl_view none = *views[1];
    none.numel = 0;
    const bool alike = k->attr[0] != 0;
    return cuda_total<differences<C>, C>(k, views, alike ? views[1] : &none, 0, {}, alike ? -1 : 1);
}
CUDA_KERNEL(cuda_equal) {
    const rl_view *views[] = {k->out[0], rl_in(k, 0), rl_in(k, 1)};
    const int dtype = views[1]->dtype;
    return cuda_computes_in<float>(dtype)    ? same<float>(k, views)
           : cuda_computes_in<double>(dtype) ? same<double>(k, views)
                                             : same<int64_t>(k, views);
}

/* ==== division that rounds down, powers, what the C library has, divisors ==== */
/* of floats, and of integers */
/* clang-format off */
#define FLOAT_PAIRS(X)                                                                                       \
    X(arith_pairs, floor_divide, floor_divide(a, b))                                                         \
    X(arith_pairs, remainder, remainder_of(a, b))                                                            \
    X(arith_pairs, fmod, fmod(a, b))                                                                         \
    X(arith_pairs, pow, pow(a, b))                                                                           \
    X(arith_pairs, atan2, atan2(a, b))                                                                       \
    X(arith_pairs, hypot, hypot(a, b))                                                                       \
    X(arith_pairs, logaddexp, log_add(a, b))                                                                 \
    X(arith_pairs, logaddexp2, log_add_2(a, b))                                                              \
    X(arith_pairs, xlogy, b != b ? b : a == 0 ? (C)0 : a * log(b))                                           \
    X(arith_pairs, ldexp, scale_by(a, b))                                                                    \
    X(arith_pairs, nextafter, next_of(dtype, a, b))
#define INTEGER_PAIRS(X)                                                                                     \
    X(arith_pairs, floor_divide, int_floor_divide(a, b))                                                     \
    X(arith_pairs, remainder, int_remainder(a, b))                                                           \
    X(arith_pairs, fmod, int_fmod(a, b))                                                                     \
    X(arith_pairs, pow, int_power(a, b))                                                                     \
    X(arith_pairs, gcd, divisor(a, b))                                                                       \
    X(arith_pairs, lcm, multiple(a, b, wide))
/* clang-format on */
enum { FLOAT_PAIRS(CUDA_TAG) arith_pairs_gcd, arith_pairs_lcm };

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
        switch (this->op) { FLOAT_PAIRS(CUDA_LINE_2) }
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
        switch (op) { INTEGER_PAIRS(CUDA_LINE_2) }
    }
};

static rl_status run_slow(rl_call *k, int op) {
    return rl_in(k, 0)->dtype == RL_BOOL ? RL_UNSUPPORTED : cuda_elementwise<arith_pairs>(k, op);
}
#define PAIR_KERNEL(family, name, result)                                                                    \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return run_slow(k, family##_##name);                                                                 \
    }
FLOAT_PAIRS(PAIR_KERNEL)
PAIR_KERNEL(arith_pairs, gcd, )
PAIR_KERNEL(arith_pairs, lcm, )

CUDA_KERNEL(cuda_div_floor) {
    return k->attr[0] == 2 ? run_slow(k, arith_pairs_floor_divide) : RL_UNSUPPORTED;
}

/* ==== three operands ==== */
enum { LERP_TENSOR, ADDCMUL, ADDCDIV };

template <class C> struct arith_ternary : cuda_job<C> {
    enum { INPUTS = 3, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[3][V], C (&y)[V]) const {
        const C by = this->n[0];
        switch (this->op) {
            /* from the nearer end, so that weight 1 gives just b */
            CUDA_CASE_3(LERP_TENSOR, fabs(c) < (C)0.5 ? a + c * (b - a) : b - (b - a) * (1 - c))
            CUDA_CASE_3(ADDCMUL, a + by * b * c)
            CUDA_CASE_3(ADDCDIV, a + by * b / c)
        }
    }
};

template <> struct arith_ternary<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 3, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[3][V], C (&y)[V]) const {
        const uint64_t by = (uint64_t)n[0];
        switch (op) { CUDA_CASE_3(ADDCMUL, (C)((uint64_t)a + by * (uint64_t)b * (uint64_t)c)) }
    }
};

static rl_status scaled_ternary(rl_call *k, int op) {
    const cuda_numbers numbers = {{rl_num(k, 3)}, {rl_int(k, 3)}};
    return cuda_elementwise<arith_ternary>(k, op, numbers);
}
CUDA_KERNEL(cuda_lerp) {
    return rl_in(k, 2) ? cuda_elementwise<arith_ternary>(k, LERP_TENSOR) : RL_UNSUPPORTED;
}
CUDA_KERNEL(cuda_addcmul) {
    return scaled_ternary(k, ADDCMUL);
}
CUDA_KERNEL(cuda_addcdiv) {
    return rl_is_float(rl_in(k, 0)->dtype) ? scaled_ternary(k, ADDCDIV) : RL_UNSUPPORTED;
}

/* ---- chosen by a mask: elements of this size ---- */
template <class T> struct choice {
    const T *at; /* NULL: it is the number */
    T number;
};
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    where_elements(cuda_iter w, T *out, cuda_operand<int64_t> mask, choice<T> yes, choice<T> no) {
    CUDA_EACH(i, w) {
        int64_t at[4];
        cuda_iter_seek(w, i, at);
        if (cuda_read(mask, at[1]) != 0)
            out[at[0]] = yes.at ? yes.at[at[2]] : yes.number;
        else
            out[at[0]] = no.at ? no.at[at[3]] : no.number;
    }
}

template <class T> static choice<T> choice_of(const rl_view *v) {
    const T *at = (const T *)rl_const_data(v);
    choice<T> x = {at, 0};
    if (v->device == RL_CPU) x = {nullptr, *at};
    return x;
}
template <class T> static void where_launch(rl_call *k, const cuda_iter &w, const rl_view *const *views) {
    CUDA_LAUNCH((where_elements<T>), cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                (T *)rl_data(views[0], RL_WRITE), cuda_operand_of<int64_t>(views[1]), choice_of<T>(views[2]),
                choice_of<T>(views[3]));
}

CUDA_KERNEL(cuda_where) {
    const rl_view *views[] = {k->out[0], rl_in(k, 0), rl_in(k, 1), rl_in(k, 2)};
    cuda_iter w;
    for (int i = 1; i < 4; i++)
        if (!cuda_can_read(views[0], views[i])) return RL_UNSUPPORTED;
    if (!cuda_iter_make_along(&w, views, 4)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    switch (rl_itemsize(views[0]->dtype)) {
    case 1: where_launch<uint8_t>(k, w, views); break;
    case 2: where_launch<uint16_t>(k, w, views); break;
    case 4: where_launch<uint32_t>(k, w, views); break;
    default: where_launch<uint64_t>(k, w, views);
    }
    return rl_cuda_end(k);
}
