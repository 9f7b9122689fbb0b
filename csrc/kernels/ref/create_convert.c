/* Conversions of the dtypes that nothing computes with (Note [Converted dtypes]), element by element. */
#include "loops.h"
#include <math.h>
#include <string.h>

/* ---- 8-bit floats: a sign, exponents biased by `bias`, `mantissa` bits ----
 * fnuz kinds have neither -0 nor infinity; the code of -0 is their only NaN. */
typedef struct {
    int mantissa, bias;
    uint8_t most, beyond, infinity, nan; /* codes: the largest number, what rounds above it, ... */
    bool fnuz;
} small_float;

static const small_float *small_of(int dtype) {
    static const small_float e5m2 = {2, 15, 0x7b, 0x7c, 0x7c, 0x7f, false},
                             e4m3 = {3, 7, 0x7e, 0x7e, 0x7e, 0x7f, false},
                             e5m2z = {2, 16, 0x7f, 0x80, 0x80, 0x80, true},
                             e4m3z = {3, 8, 0x7f, 0x80, 0x80, 0x80, true};
    return dtype == RL_F8E5M2 ? &e5m2 : dtype == RL_F8E4M3 ? &e4m3 : dtype == RL_F8E5M2Z ? &e5m2z : &e4m3z;
}

static double small_get(int dtype, uint8_t code) {
    if (dtype == RL_F8E8M0) return code == 255 ? NAN : ldexp(1, code - 127);
    const small_float *s = small_of(dtype);
    double sign = code & 0x80 ? -1 : 1;
    int low = code & 0x7f, exponent = low >> s->mantissa, fraction = low & ((1 << s->mantissa) - 1);
    if (s->fnuz && code == 0x80) return NAN;
    if (low > s->most) return low == 0x7c ? sign * INFINITY : copysign(NAN, sign);
    if (exponent) fraction += 1 << s->mantissa;
    return sign * ldexp(fraction, (exponent ? exponent : 1) - s->bias - s->mantissa);
}

/* a power of two: the nearest one, ties upwards; no sign, no zero */
static uint8_t power_put(float f) {
    uint32_t bits = rl_float_bits(f), exponent = bits >> 23 & 255;
    bool half = bits & 0x400000, more = bits & 0x3fffff;
    return (uint8_t)(exponent + (exponent != 255 && half && (more || exponent)));
}

/* The code of |f|. Units of the last place go to even; a carry moves into the exponent by itself. */
static int small_code(const small_float *s, float f) {
    int exponent = 1 - s->bias;
    if (isnan(f)) return s->nan; /* its sign is kept */
    if (isinf(f)) return s->infinity;
    if (f != 0 && ilogbf(f) > exponent) exponent = ilogbf(f);
    if (exponent > 40) return s->beyond;
    double units = nearbyint(ldexp(fabs((double)f), s->mantissa - exponent));
    int code = (int)units + ((exponent + s->bias - 1) << s->mantissa);
    return code > s->most ? s->beyond : code;
}

static uint8_t small_put(int dtype, float f) {
    if (dtype == RL_F8E8M0) return power_put(f);
    const small_float *s = small_of(dtype);
    int code = small_code(s, f);
    if (s->fnuz && (code == 0 || code == 0x80)) return (uint8_t)code;
    return (uint8_t)(code | (signbit(f) ? 0x80 : 0));
}

/* ---- any element as a number ---- */
typedef struct {
    double re, im;
    __int128 i; /* when whole */
    bool whole;
} number;

static number number_get(int dtype, const char *p) {
    number x = {0};
    int64_t i;
    switch (dtype) {
    case RL_C32:
        x.re = rl_from_half(((const rl_complex32 *)p)->re);
        x.im = rl_from_half(((const rl_complex32 *)p)->im);
        return x;
    case RL_C64: x.re = ((const rl_complex64 *)p)->re, x.im = ((const rl_complex64 *)p)->im; return x;
    case RL_C128: x.re = ((const rl_complex128 *)p)->re, x.im = ((const rl_complex128 *)p)->im; return x;
    case RL_U16: x.i = *(const uint16_t *)p; break;
    case RL_U32: x.i = *(const uint32_t *)p; break;
    case RL_U64: x.i = *(const uint64_t *)p; break;
    default:
        if (rl_is_float(dtype) || RL_SET_FLOAT8 >> dtype & 1) {
            x.re = rl_is_float(dtype) ? rl_row_double(dtype, p) : small_get(dtype, *(const uint8_t *)p);
            return x;
        }
        rl_row_ints(dtype, p, 0, 1, &i);
        x.i = i;
    }
    x.whole = true, x.re = (double)x.i;
    return x;
}

static uint64_t number_unsigned(const number *x) {
    if (x->whole) return (uint64_t)x->i;
    if (!(x->re > -0x1p63)) return (uint64_t)1 << 63; /* as the processor answers */
    if (x->re >= 0x1p64) return 0;
    return x->re < 0x1p63 ? (uint64_t)(int64_t)x->re : (uint64_t)x->re;
}

static void number_put(int dtype, char *p, const number *x) {
    int64_t i = (int64_t)x->i;
    switch (dtype) {
    case RL_C32:
        *(rl_complex32 *)p = (rl_complex32){rl_to_half((float)x->re), rl_to_half((float)x->im)};
        break;
    case RL_C64: *(rl_complex64 *)p = (rl_complex64){(float)x->re, (float)x->im}; break;
    case RL_C128: *(rl_complex128 *)p = (rl_complex128){x->re, x->im}; break;
    case RL_U16: *(uint16_t *)p = (uint16_t)number_unsigned(x); break;
    case RL_U32: *(uint32_t *)p = (uint32_t)number_unsigned(x); break;
    case RL_U64: *(uint64_t *)p = number_unsigned(x); break;
    default:
        if (RL_SET_FLOAT8 >> dtype & 1)
            *(uint8_t *)p = small_put(dtype, (float)x->re);
        else if (dtype == RL_BOOL)
            *(uint8_t *)p = x->re != 0 || x->im != 0;
        else if (x->whole && !rl_is_float(dtype))
            rl_row_put_ints(dtype, p, 0, 1, &i);
        else
            rl_row_put_double(dtype, p, x->re);
    }
}

void rl_strip_convert(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const rl_cast_pair *c = ctx;
    for (int64_t i = 0; i < n; i++) {
        number x = number_get(c->from, p[1] + i * step[1]);
        number_put(c->to, p[0] + i * step[0], &x);
    }
}
