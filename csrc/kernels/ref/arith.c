/* Arithmetic, comparisons, logic and bits, element by element. */
#include "loops.h"
#include <string.h>
#include <tgmath.h>

/* ---- two operands of one dtype, element by element: arithmetic ---- */
/* beside halves, a number that stays a float32: TRAITS(WIDE_NUMBER) */
static bool is_wide_number(const rl_view *v, int dtype) {
    return rl_is_half(dtype) && v->dtype == RL_F32 && v->numel == 1;
}

static rl_status through_floats(rl_call *k, rl_inner_loop loop, rl_numbers *numbers) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    rl_iter in, middle, back;
    rl_cast_pair widen = {RL_F32, x->dtype}, narrow = {out->dtype, RL_F32};
    int64_t stride = sizeof(float);
    char *floats = k->svc->scratch(k, RL_COUNT(out->numel), sizeof(float));
    if (!floats) return RL_FAIL;
    rl_iter_begin(&back, out, RL_WRITE);
    rl_iter_begin(&in, out, RL_WRITE);
    rl_iter_add(&in, x);
    in.base[0] = back.base[1] = floats;
    back.nops = 2;
    for (int d = in.ndim - 1; d >= 0; d--) {
        in.stride[0][d] = back.stride[1][d] = stride;
        stride *= in.size[d];
    }
    middle = in; /* in place, by the one number */
    memcpy(middle.stride[1], in.stride[0], sizeof in.stride[0]);
    memset(middle.stride[2], 0, sizeof middle.stride[2]);
    middle.nops = 3;
    middle.base[1] = floats;
    middle.base[2] = rl_data(k->arg[1].u.t, RL_READ);
    rl_iter *each[] = {&in, &middle, &back};
    for (int i = 0; i < 3; i++) rl_iter_merge(each[i]);
    rl_iter_parallel(k, &in, RL_REF_NS, rl_inner_loop_between(RL_F32, x->dtype), &widen);
    rl_iter_parallel(k, &middle, RL_REF_NS, loop, numbers);
    rl_iter_parallel(k, &back, RL_REF_NS, rl_inner_loop_between(out->dtype, RL_F32), &narrow);
    return RL_OK;
}

RL_CHOOSER
rl_status rl_eltwise(rl_call *k, int n_in, const rl_inner_loop *loops, rl_numbers *numbers) {
    rl_iter w;
    rl_numbers none = {.fault = 0};
    int dtype = rl_tensor_arg(k, 0)->dtype;
    RL_UNREACHED("the declarations name no dtype without a strip")
    if (!loops[dtype]) return RL_UNSUPPORTED;
    if (!numbers) numbers = &none;
    if (n_in == 2 && is_wide_number(k->arg[1].u.t, dtype)) return through_floats(k, loops[RL_F32], numbers);
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < n_in; i++) rl_iter_add(&w, k->arg[i].u.t);
    rl_iter_each(k, &w, RL_REF_NS, loops[dtype], numbers);
    if (numbers->fault) return rl_fail(k, RL_RUNTIME, "ZeroDivisionError");
    return RL_OK;
}

/* strips report a fault from any thread */
static int64_t division_fault(const rl_numbers *c) {
    __atomic_store_n(&((rl_numbers *)c)->fault, 1, __ATOMIC_RELAXED);
    return 0;
}

static rl_status alpha_read(rl_call *k, int arg, rl_numbers *numbers) {
    int dtype = rl_tensor_arg(k, 0)->dtype;
    const rl_value *alpha = &k->arg[arg];
    numbers->d[0] = alpha->tag == RL_NONE ? 1 : rl_num(k, arg);
    numbers->i[0] = alpha->tag == RL_NONE ? 1 : rl_int(k, arg);
    if (rl_is_half(dtype)) numbers->d[0] = rl_rounded(dtype, numbers->d[0]);
    if (alpha->tag == RL_BOOLEAN && dtype != RL_BOOL)
        return rl_fail(k, RL_RUNTIME, "Boolean alpha only supported for Boolean results.");
    if (alpha->tag == RL_FLOAT && !rl_is_float(dtype))
        return rl_fail(k, RL_RUNTIME,
                       "For integral input tensors, argument alpha must not be a floating point number.");
    return RL_OK;
}

RL_EACH_FLOAT(RL_BINARY_KEEP, add, a + (C)c->d[0] * b)
RL_EACH_INT(RL_BINARY_KEEP, add, RL_WRAP(a, +, RL_WRAP(c->i[0], *, b)))
RL_JUST_BOOL(RL_BINARY_KEEP, add, (a || (c->i[0] && b)))
RL_EACH_FLOAT(RL_BINARY_KEEP, sub, a - (C)c->d[0] * b)
RL_EACH_INT(RL_BINARY_KEEP, sub, RL_WRAP(a, -, RL_WRAP(c->i[0], *, b)))
RL_EACH_FLOAT(RL_BINARY_KEEP, rsub, b - (C)c->d[0] * a)
RL_EACH_INT(RL_BINARY_KEEP, rsub, RL_WRAP(b, -, RL_WRAP(c->i[0], *, a)))
RL_EACH_FLOAT(RL_BINARY_KEEP, mul, a *b)
RL_EACH_INT(RL_BINARY_KEEP, mul, RL_WRAP(a, *, b))
RL_JUST_BOOL(RL_BINARY_KEEP, mul, (a && b))
RL_EACH_FLOAT(RL_BINARY_KEEP, maximum, (a != a || a > b ? a : b))
RL_EACH_INT(RL_BINARY_KEEP, maximum, (a > b ? a : b))
RL_JUST_BOOL(RL_BINARY_KEEP, maximum, (a || b))
RL_EACH_FLOAT(RL_BINARY_KEEP, minimum, (a != a || a < b ? a : b))
RL_EACH_INT(RL_BINARY_KEEP, minimum, (a < b ? a : b))
RL_JUST_BOOL(RL_BINARY_KEEP, minimum, (a && b))

#define EVERY_ENTRY(name)                                                                                    \
    RL_EACH_FLOAT(RL_ENTRY, name) RL_EACH_INT(RL_ENTRY, name) RL_JUST_BOOL(RL_ENTRY, name)
#define NUMBER_ENTRY(name) RL_EACH_FLOAT(RL_ENTRY, name) RL_EACH_INT(RL_ENTRY, name)

rl_inner_loop rl_inner_loop_combine(int join, int dtype) {
    static const rl_inner_loop loops[][RL_NDTYPES] = {[RL_JOIN_ADD] = {EVERY_ENTRY(add)},
                                                      [RL_JOIN_MUL] = {EVERY_ENTRY(mul)},
                                                      [RL_JOIN_MAX] = {EVERY_ENTRY(maximum)},
                                                      [RL_JOIN_MIN] = {EVERY_ENTRY(minimum)},
                                                      [RL_JOIN_MEAN] = {EVERY_ENTRY(add)}};
    return loops[join][dtype];
}

RL_KERNEL(ref_add) {
    static const rl_inner_loop loops[RL_NDTYPES] = {EVERY_ENTRY(add)};
    rl_numbers numbers = {.fault = 0};
    if (alpha_read(k, 2, &numbers) != RL_OK) return RL_FAIL;
    return rl_eltwise(k, 2, loops, &numbers);
}

RL_KERNEL(ref_sub) {
    static const rl_inner_loop loops[RL_NDTYPES] = {NUMBER_ENTRY(sub)};
    rl_numbers numbers = {.fault = 0};
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_fail(
            k, RL_RUNTIME,
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead.");
    if (alpha_read(k, 2, &numbers) != RL_OK) return RL_FAIL;
    return rl_eltwise(k, 2, loops, &numbers);
}

RL_KERNEL(ref_rsub) { /* other + -alpha * input */
    static const rl_inner_loop loops[RL_NDTYPES] = {NUMBER_ENTRY(rsub)};
    rl_numbers numbers = {.fault = 0};
    if (alpha_read(k, 2, &numbers) != RL_OK) return RL_FAIL;
    return rl_eltwise(k, 2, loops, &numbers);
}

#define TABLE_KERNEL(name, entries)                                                                          \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {entries(name)};                                      \
        return rl_eltwise(k, 2, loops, NULL);                                                                \
    }
TABLE_KERNEL(mul, EVERY_ENTRY)
TABLE_KERNEL(maximum, EVERY_ENTRY)
TABLE_KERNEL(minimum, EVERY_ENTRY)

/* ---- division ---- */
/* floor(a / b) so that a == floor_div(a, b) * b + remainder(a, b) holds as well as rounding lets it */
#define FLOAT_DIVISION(suffix, C)                                                                            \
    static C floor_div##suffix(C a, C b) {                                                                   \
        if (b == 0) return a / b;                                                                            \
        const C rest = fmod(a, b);                                                                           \
        C quotient = (a - rest) / b;                                                                         \
        if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;                                               \
        if (quotient == 0) return copysign((C)0, a / b);                                                     \
        C down = floor(quotient);                                                                            \
        return quotient - down > (C)0.5 ? down + 1 : down;                                                   \
    }                                                                                                        \
    static C modulo##suffix(C a, C b) {                                                                      \
        const C rest = fmod(a, b);                                                                           \
        return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;                                         \
    }
FLOAT_DIVISION(_float, float)
FLOAT_DIVISION(_double, double)
#define FLOOR_DIV(a, b) _Generic((a), float: floor_div_float, default: floor_div_double)(a, b)
#define MODULO(a, b)    _Generic((a), float: modulo_float, default: modulo_double)(a, b)

/* -1 is apart: INT64_MIN / -1 would trap */
static int64_t int_trunc_div(int64_t a, int64_t b) {
    return b == -1 ? RL_WRAP(0, -, a) : a / b;
}
static int64_t int_floor_div(int64_t a, int64_t b) {
    if (b == -1) return RL_WRAP(0, -, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static int64_t int_modulo(int64_t a, int64_t b) {
    int64_t rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

RL_EACH_FLOAT(RL_BINARY_KEEP, true_div, a / b)
/* halves round the quotient before they cut it */
#define CUT_QUOTIENT(D, T, C, LOAD, STORE, name)                                                             \
    RL_BINARY_LOOP(D, T, C, LOAD, STORE, name, T, STORE, trunc(LOAD(STORE(a / b))))
RL_EACH_FLOAT(CUT_QUOTIENT, trunc_div)
RL_EACH_INT(RL_BINARY_KEEP, trunc_div, (b ? int_trunc_div(a, b) : division_fault(c)))
RL_EACH_FLOAT(RL_BINARY_KEEP, floor_divide, FLOOR_DIV(a, b))
RL_EACH_INT(RL_BINARY_KEEP, floor_divide, (b ? int_floor_div(a, b) : division_fault(c)))
RL_EACH_FLOAT(RL_BINARY_KEEP, remainder, MODULO(a, b))
RL_EACH_INT(RL_BINARY_KEEP, remainder, (b ? int_modulo(a, b) : division_fault(c)))
RL_EACH_FLOAT(RL_BINARY_KEEP, fmod, fmod(a, b))
RL_EACH_INT(RL_BINARY_KEEP, fmod, (b == -1 ? 0 : b ? a % b : division_fault(c)))
TABLE_KERNEL(fmod, NUMBER_ENTRY)
TABLE_KERNEL(floor_divide, NUMBER_ENTRY)
TABLE_KERNEL(remainder, NUMBER_ENTRY)

RL_KERNEL(ref_div) {
    static const rl_inner_loop by_mode[3][RL_NDTYPES] = {
        {RL_EACH_FLOAT(RL_ENTRY, true_div)}, {NUMBER_ENTRY(trunc_div)}, {NUMBER_ENTRY(floor_divide)}};
    int mode = (int)k->attr[0];
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_fail(k, RL_NOTIMPL, "\"div_%s_cpu\" not implemented for 'Bool'",
                       mode == 2 ? "floor" : "trunc");
    return rl_eltwise(k, 2, by_mode[mode], NULL);
}

/* ---- powers ---- */
static int64_t int_power(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t result = 1, base = (uint64_t)a;
    for (; b; b >>= 1, base *= base)
        if (b & 1) result *= base;
    return (int64_t)result;
}

RL_EACH_FLOAT(RL_BINARY_KEEP, power, pow(a, b))
RL_EACH_INT(RL_BINARY_KEEP, power, int_power(a, b))
/* exponents that PyTorch serves without pow(), as they are exact or cheaper */
RL_EACH_FLOAT(RL_UNARY_KEEP, power_2, a *a)
RL_EACH_FLOAT(RL_UNARY_KEEP, power_3, a * a * a)
RL_EACH_FLOAT(RL_UNARY_KEEP, power_half, sqrt(a))
RL_EACH_FLOAT(RL_UNARY_KEEP, power_minus_half, 1 / sqrt(a))
RL_EACH_FLOAT(RL_UNARY_KEEP, power_minus_1, 1 / a)
RL_EACH_FLOAT(RL_UNARY_KEEP, power_minus_2, 1 / (a * a))

static const rl_inner_loop *special_power(double exponent) {
#define SPECIAL(value, name)                                                                                 \
    if (exponent == (value)) {                                                                               \
        static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, name)};                      \
        return loops;                                                                                        \
    }
    SPECIAL(2, power_2)
    SPECIAL(3, power_3)
    SPECIAL(0.5, power_half)
    SPECIAL(-0.5, power_minus_half)
    SPECIAL(-1, power_minus_1)
    SPECIAL(-2, power_minus_2)
#undef SPECIAL
    return NULL;
}

RL_KERNEL(ref_pow) {
    static const rl_inner_loop loops[RL_NDTYPES] = {NUMBER_ENTRY(power)};
    const rl_view *x = k->arg[0].u.t, *exponent = k->arg[1].u.t;
    if (x->dtype == RL_BOOL) return rl_fail(k, RL_NOTIMPL, "\"pow\" not implemented for 'Bool'");
    if (exponent->ndim == 0 && exponent->numel == 1 && x->ndim) {
        double value = rl_row_double(exponent->dtype, rl_const_data(exponent));
        if (rl_is_float(x->dtype)) {
            const rl_inner_loop *special = special_power(value);
            if (special) return rl_eltwise(k, 1, special, NULL);
        } else if (value < 0) {
            return rl_fail(k, RL_RUNTIME, "Integers to negative integer powers are not allowed.");
        }
    }
    return rl_eltwise(k, 2, loops, NULL);
}

/* ---- two operands of one dtype, element by element: what the C library has, and its kin ---- */
#define FLOAT_ENTRY(name) RL_EACH_FLOAT(RL_ENTRY, name)
#define PAIR_KERNEL(name, entries)                                                                           \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {entries(name)};                                      \
        return rl_eltwise(k, 2, loops, NULL);                                                                \
    }
#define FLOAT_PAIR(name, expr)                                                                               \
    RL_EACH_FLOAT(RL_BINARY_KEEP, name, expr)                                                                \
    PAIR_KERNEL(name, FLOAT_ENTRY)
#define EVERY_PAIR(name, float_expr, int_expr, bool_expr)                                                    \
    RL_EACH_FLOAT(RL_BINARY_KEEP, name, float_expr)                                                          \
    RL_EACH_INT(RL_BINARY_KEEP, name, int_expr)                                                              \
    RL_JUST_BOOL(RL_BINARY_KEEP, name, bool_expr)                                                            \
    PAIR_KERNEL(name, EVERY_ENTRY)

FLOAT_PAIR(hypot, hypot(a, b))
FLOAT_PAIR(atan2, atan2(a, b))
FLOAT_PAIR(copysign, copysign(a, b))
EVERY_PAIR(fmax, (a != a || a < b ? b : a), (a > b ? a : b), (a || b))
EVERY_PAIR(fmin, (a != a || a > b ? b : a), (a < b ? a : b), (a && b))
EVERY_PAIR(heaviside, (a == 0 ? b : (C)(a > 0)), (a == 0 ? b : a > 0), (a || b))

/* equal ones, both infinite perhaps, have no difference */
#define LOG_ADD(a, b)   (a == b ? a + 0.6931471805599453 : fmax(a, b) + log1p(exp(-fabs(a - b))))
#define LOG_ADD_2(a, b) (a == b ? a + 1 : fmax(a, b) + (C)1.4426950408889634 * log1p(exp2(-fabs(a - b))))
FLOAT_PAIR(logaddexp, LOG_ADD(a, b))
FLOAT_PAIR(logaddexp2, LOG_ADD_2(a, b))

FLOAT_PAIR(xlogy, (b != b ? b : a == 0 ? 0 : a * log(b)))

/* by whole powers of two it is exact where the result is, whatever that power alone would be */
static int integer_power(double b) {
    return b > 5000 ? 5000 : b < -5000 ? -5000 : (int)b;
}
FLOAT_PAIR(ldexp, (b == trunc(b) ? ldexp(a, integer_power((double)b)) : a * exp2(b)))

/* ---- the next float: one step of the bits, which count the size of either sign up ---- */
#define NEXT(D, T, U, C, LOAD, sign)                                                                         \
    static T next_##D(T a, T b) {                                                                            \
        const C from = LOAD(a), to = LOAD(b);                                                                \
        U bits;                                                                                              \
        if (from == to || to != to) return b;                                                                \
        if (from != from) return a;                                                                          \
        memcpy(&bits, from == 0 ? &b : &a, sizeof bits);                                                     \
        const U up = (from < to) == (from > 0);                                                              \
        bits = from == 0 ? (U)((bits & (sign)) | 1) : (U)(bits + 2 * up - 1);                                \
        memcpy(&a, &bits, sizeof bits);                                                                      \
        return a;                                                                                            \
    }                                                                                                        \
    RL_BINARY_LOOP(D, T, T, RL_AS_IS, RL_AS_IS, nextafter, T, RL_AS_IS, next_##D(a, b))
NEXT(F16, rl_half, uint16_t, float, rl_from_half, 0x8000u)
NEXT(F32, float, uint32_t, float, RL_AS_IS, 0x80000000u)
NEXT(F64, double, uint64_t, double, RL_AS_IS, 0x8000000000000000u)
NEXT(BF16, rl_bfloat, uint16_t, float, rl_from_bfloat, 0x8000u)
PAIR_KERNEL(nextafter, FLOAT_ENTRY)

/* ---- comparisons and logic, which answer with bool, and bits ---- */
#define COMPARISON(name, expr)                                                                               \
    RL_EACH_FLOAT(RL_BINARY_BOOL, name, expr)                                                                \
    RL_EACH_INT(RL_BINARY_BOOL, name, expr)                                                                  \
    RL_JUST_BOOL(RL_BINARY_BOOL, name, expr)                                                                 \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {EVERY_ENTRY(name)};                                  \
        return rl_eltwise(k, 2, loops, NULL);                                                                \
    }
COMPARISON(eq, (a == b))
COMPARISON(ne, (a != b))
COMPARISON(lt, (a < b))
COMPARISON(le, (a <= b))
COMPARISON(gt, (a > b))
COMPARISON(ge, (a >= b))
COMPARISON(logical_and, (a != 0 && b != 0))
COMPARISON(logical_or, (a != 0 || b != 0))
COMPARISON(logical_xor, ((a != 0) != (b != 0)))

RL_EACH_FLOAT(RL_UNARY_BOOL, x_logical_not, (a == 0))
RL_EACH_INT(RL_UNARY_BOOL, x_logical_not, (a == 0))
RL_JUST_BOOL(RL_UNARY_BOOL, x_logical_not, (a == 0))
RL_KERNEL(ref_logical_not) {
    static const rl_inner_loop loops[RL_NDTYPES] = {EVERY_ENTRY(x_logical_not)};
    return rl_eltwise(k, 1, loops, NULL);
}

#define BITWISE(name, expr)                                                                                  \
    RL_EACH_INT(RL_BINARY_KEEP, name, expr)                                                                  \
    RL_JUST_BOOL(RL_BINARY_KEEP, name, expr)                                                                 \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_INT(RL_ENTRY, name)                          \
                                                            RL_JUST_BOOL(RL_ENTRY, name)};                   \
        return rl_eltwise(k, 2, loops, NULL);                                                                \
    }
BITWISE(bitwise_and, (a & b))
BITWISE(bitwise_or, (a | b))
BITWISE(bitwise_xor, (a ^ b))

RL_EACH_INT(RL_UNARY_KEEP, x_not, ~a)
RL_JUST_BOOL(RL_UNARY_KEEP, x_not, !a)
RL_KERNEL(ref_bitwise_not) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_INT(RL_ENTRY, x_not)
                                                        RL_JUST_BOOL(RL_ENTRY, x_not)};
    return rl_eltwise(k, 1, loops, NULL);
}

/* ---- equal: are two whole tensors the same? ---- */
#define DIFFERS(D, T, C, LOAD, STORE, name)                                                                  \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        int64_t differ = 0;                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                      \
            differ += LOAD(*(const T *)(p[0] + i * step[0])) != LOAD(*(const T *)(p[1] + i * step[1]));      \
        if (differ) __atomic_store_n(&((rl_numbers *)ctx)->fault, 1, __ATOMIC_RELAXED);                      \
    }
RL_EACH_FLOAT(DIFFERS, differs)
RL_EACH_INT(DIFFERS, differs)
DIFFERS(BOOL, uint8_t, int64_t, !!, , differs)

RL_KERNEL(ref_equal) {
    static const rl_inner_loop loops[RL_NDTYPES] = {EVERY_ENTRY(differs)};
    rl_numbers found = {.fault = 0};
    uint8_t *out = rl_data(k->out[0], RL_WRITE);
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    if (k->attr[0]) {
        rl_iter w;
        rl_iter_begin(&w, a, RL_READ);
        rl_iter_add(&w, b);
        rl_iter_merge(&w);
        rl_iter_parallel(k, &w, RL_REF_NS, loops[a->dtype], &found);
    }
    *out = k->attr[0] && !found.fault;
    return RL_OK;
}

/* ---- two whole numbers: shifts and divisors ---- */
#define INT_KERNEL(name)                                                                                     \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_INT(RL_ENTRY, name)};                        \
        return rl_eltwise(k, 2, loops, NULL);                                                                \
    }

/* ---- shifts: by any number, as if bit by bit; a shift to the left by less than 0 leaves nothing ---- */
#define LEFT(D, T, C, LOAD, STORE, name)                                                                     \
    RL_BINARY_LOOP(D, T, C, LOAD, STORE, name, T, STORE,                                                     \
                   (b < 0 || b >= 8 * (int64_t)sizeof(T) ? 0 : (int64_t)((uint64_t)a << b)))
#define RIGHT(D, T, C, LOAD, STORE, name)                                                                    \
    RL_BINARY_LOOP(D, T, C, LOAD, STORE, name, T, STORE,                                                     \
                   (a >> (b < 0 || b >= 8 * (int64_t)sizeof(T) ? 63 : b)))
RL_EACH_INT(LEFT, bitwise_left_shift)
RL_EACH_INT(RIGHT, bitwise_right_shift)
INT_KERNEL(bitwise_left_shift)
INT_KERNEL(bitwise_right_shift)

/* ---- divisors ---- */
static uint64_t size_of(int64_t a) {
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}
static uint32_t divisor_32(uint32_t x, uint32_t y) { /* half the time of a wide division */
    while (x) {
        const uint32_t rest = y % x;
        y = x;
        x = rest;
    }
    return y;
}
static int64_t divisor(int64_t a, int64_t b) {
    uint64_t x = size_of(a), y = size_of(b);
    while ((x | y) >> 32) {
        if (!x) return (int64_t)y;
        const uint64_t rest = y % x;
        y = x;
        x = rest;
    }
    return divisor_32((uint32_t)x, (uint32_t)y);
}
/* the product wraps at the dtype's own width before its sign goes */
static int64_t multiple(int64_t a, int64_t b, bool wide) {
    const int64_t common = divisor(a, b);
    if (!common) return 0;
    const int64_t product = RL_WRAP(a / common, *, b);
    return (int64_t)size_of(wide ? product : (int32_t)product);
}
RL_EACH_INT(RL_BINARY_KEEP, gcd, divisor(a, b))
#define MULTIPLE(D, T, C, LOAD, STORE, name)                                                                 \
    RL_BINARY_LOOP(D, T, C, LOAD, STORE, name, T, STORE, multiple(a, b, sizeof(T) == 8))
RL_EACH_INT(MULTIPLE, lcm)
INT_KERNEL(gcd)
INT_KERNEL(lcm)

/* ---- three operands: output, a, b, third; and what a mask chooses ---- */
#define THREE_LOOP(D, T, C_, LOAD, STORE, name, expr)                                                        \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        typedef C_ C;                                                                                        \
        const rl_numbers *c = ctx;                                                                           \
        (void)c;                                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C a = LOAD(*(const T *)(p[1] + i * step[1])), b = LOAD(*(const T *)(p[2] + i * step[2])),  \
                    third = LOAD(*(const T *)(p[3] + i * step[3]));                                          \
            *(T *)(p[0] + i * step[0]) = STORE(expr);                                                        \
        }                                                                                                    \
    }
/* from the nearer end, so that weight 1 gives just b */
#define BLEND(a, b, w) (fabs(w) < (C)0.5 ? (a) + (w) * ((b) - (a)) : (b) - ((b) - (a)) * (1 - (w)))
RL_EACH_FLOAT(THREE_LOOP, lerp, BLEND(a, b, third))
RL_EACH_FLOAT(RL_BINARY_KEEP, lerp_by, BLEND(a, b, (C)c->d[0]))
RL_EACH_FLOAT(THREE_LOOP, addcmul, (a + (C)c->d[0] * b * third))
RL_EACH_INT(THREE_LOOP, addcmul, RL_WRAP(a, +, RL_WRAP(RL_WRAP(c->i[0], *, b), *, third)))
RL_EACH_FLOAT(THREE_LOOP, addcdiv, (a + (C)c->d[0] * b / third))

RL_CHOOSER
static rl_status three_run(rl_call *k, const rl_inner_loop *loops, const rl_numbers *numbers) {
    rl_iter w;
    int dtype = rl_tensor_arg(k, 0)->dtype;
    RL_UNREACHED("the declarations name no dtype without a strip")
    if (!loops[dtype]) return RL_UNSUPPORTED;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < 3; i++) rl_iter_add(&w, k->arg[i].u.t);
    rl_iter_each(k, &w, RL_REF_NS, loops[dtype], numbers);
    return RL_OK;
}

RL_KERNEL(ref_lerp) {
    static const rl_inner_loop each[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, lerp)},
                               by[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, lerp_by)};
    const rl_view *weight = rl_in(k, 2);
    if (weight && weight->ndim) return three_run(k, each, NULL);
    rl_numbers numbers = {.d = {weight ? rl_row_double(weight->dtype, rl_const_data(weight)) : rl_num(k, 2)}};
    return rl_eltwise(k, 2, by, &numbers);
}

RL_KERNEL(ref_addcmul) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, addcmul)
                                                        RL_EACH_INT(RL_ENTRY, addcmul)};
    rl_numbers numbers = {.d = {rl_num(k, 3)}, .i = {rl_int(k, 3)}};
    return three_run(k, loops, &numbers);
}

RL_KERNEL(ref_addcdiv) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, addcdiv)};
    rl_numbers numbers = {.d = {rl_num(k, 3)}};
    return three_run(k, loops, &numbers);
}

/* ---- chosen by a mask: operands out, mask, where true, where false ---- */
#define SELECT_LOOP(bits)                                                                                    \
    static void select_##bits(char *const *p, const int64_t *step, int64_t n, const void *ctx) {             \
        typedef uint##bits##_t T;                                                                            \
        (void)ctx;                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const T yes = *(const T *)(p[2] + i * step[2]), no = *(const T *)(p[3] + i * step[3]);           \
            *(T *)(p[0] + i * step[0]) = p[1][i * step[1]] ? yes : no;                                       \
        }                                                                                                    \
    }
SELECT_LOOP(8)
SELECT_LOOP(16)
SELECT_LOOP(32)
SELECT_LOOP(64)

rl_inner_loop rl_inner_loop_select(int64_t item) {
    return item == 8 ? select_64 : item == 4 ? select_32 : item == 2 ? select_16 : select_8;
}

RL_KERNEL(ref_where) {
    rl_iter w;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < 3; i++) rl_iter_add(&w, k->arg[i].u.t);
    rl_iter_each(k, &w, RL_REF_NS, rl_inner_loop_select(rl_itemsize(k->out[0]->dtype)), NULL);
    return RL_OK;
}
