/* New tensors: sequences, the identity, copies and conversions. */
#include "loops.h"
#include <math.h>
#include <string.h>

/* ---- sequences and the identity ---- */
/* Every value comes from its own index, so rounding does not pile up. */
RL_KERNEL(ref_arange) {
    const rl_view *out = k->out[0];
    int64_t item = rl_itemsize(out->dtype);
    bool from_zero = k->attr[0] < 0, by_one = k->attr[1] < 0;
    char *to = rl_data(out, RL_WRITE);
    if (rl_is_float(out->dtype)) {
        double start = from_zero ? 0 : rl_num(k, 0), step = by_one ? 1 : rl_num(k, 2);
        for (int64_t i = 0; i < out->numel; i++)
            rl_row_put_double(out->dtype, to + i * item, start + step * (double)i);
        return RL_OK;
    }
    int64_t start = from_zero ? 0 : rl_int(k, 0), step = by_one ? 1 : rl_int(k, 2);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t x = RL_WRAP(start, +, RL_WRAP(step, *, i));
        rl_row_put_ints(out->dtype, to + i * item, 0, 1, &x);
    }
    return RL_OK;
}

/* From both ends to the middle, so that both are met exactly. */
RL_KERNEL(ref_linspace) {
    const rl_view *out = k->out[0];
    int64_t item = rl_itemsize(out->dtype), n = out->numel;
    char *to = rl_data(out, RL_WRITE), element[8];
    double ends[2], step;
    for (int i = 0; i < 2; i++) { /* as the result's dtype sees them */
        if (rl_element_from(k, i, out->dtype, element) != RL_OK) return RL_FAIL;
        ends[i] = rl_row_double(out->dtype, element);
    }
    step = n > 1 ? (ends[1] - ends[0]) / (double)(n - 1) : 0;
    if (rl_is_float(out->dtype) && out->dtype != RL_F64) step = (float)step;
    for (int64_t i = 0; i < n; i++) {
        bool first = i < n / 2 || n == 1;
        double x = first ? ends[0] + step * (double)i : ends[1] - step * (double)(n - 1 - i);
        rl_row_put_double(out->dtype, to + i * item, x);
    }
    return RL_OK;
}

RL_KERNEL(ref_logspace) {
    const rl_view *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype);
    const double base = rl_num(k, 3);
    const bool wide = out->dtype == RL_F64;
    char *to = rl_data(out, RL_WRITE);
    if (ref_linspace(k) != RL_OK) return RL_FAIL;
    if (rl_is_float(out->dtype))
        for (int64_t i = 0; i < out->numel; i++) {
            double x = rl_row_double(out->dtype, to + i * item);
            rl_row_put_double(out->dtype, to + i * item,
                              wide ? pow(base, x) : (double)powf((float)base, (float)x));
        }
    else /* exponents between whole numbers count as they are */
        for (int64_t i = 0, n = out->numel; i < n; i++) {
            double start = rl_num(k, 0), end = rl_num(k, 1),
                   step = n > 1 ? (end - start) / (double)(n - 1) : 0;
            double x = i < n / 2 || n == 1 ? start + step * (double)i : end - step * (double)(n - 1 - i);
            rl_row_put_double(out->dtype, to + i * item, (double)powf((float)base, (float)x));
        }
    return RL_OK;
}

RL_KERNEL(ref_range) {
    const rl_view *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype);
    const double start = rl_num(k, 0), step = rl_num(k, 2);
    char *to = rl_data(out, RL_WRITE);
    for (int64_t i = 0; i < out->numel; i++)
        rl_row_put_double(out->dtype, to + i * item, start + step * (double)i);
    return RL_OK;
}

/* Rows in the first half of the result, columns in the second. */
static void triangle_put(rl_call *k, int64_t at, int64_t row, int64_t column) {
    const rl_view *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype), n = out->shape[1];
    char *to = rl_data(out, RL_WRITE);
    rl_row_put_ints(out->dtype, to + at * item, 0, 1, &row);
    rl_row_put_ints(out->dtype, to + (n + at) * item, 0, 1, &column);
}

RL_KERNEL(ref_tril_indices) {
    const int64_t columns = rl_int(k, 1), n = k->out[0]->shape[1];
    __int128 end = (__int128)rl_int(k, 2) + 1;
    for (int64_t row = end < 0 ? (int64_t)-end : 0, at = 0; at < n; row++)
        for (int64_t column = 0; column < columns && column < end + row; column++)
            triangle_put(k, at++, row, column);
    return RL_OK;
}

RL_KERNEL(ref_triu_indices) {
    const int64_t columns = rl_int(k, 1), n = k->out[0]->shape[1];
    const __int128 offset = rl_int(k, 2);
    for (int64_t row = 0, at = 0; at < n; row++) {
        __int128 from = offset + row > 0 ? offset + row : 0;
        for (int64_t column = from < columns ? (int64_t)from : columns; column < columns; column++)
            triangle_put(k, at++, row, column);
    }
    return RL_OK;
}

RL_KERNEL(ref_eye) {
    const rl_view *out = k->out[0];
    const uint64_t zero = 0;
    if (rl_view_fill(k, out, &zero) != RL_OK) return RL_FAIL;
    int64_t item = rl_itemsize(out->dtype);
    char *to = rl_data(out, RL_WRITE);
    for (int64_t i = 0; i < out->shape[0] && i < out->shape[1]; i++)
        rl_row_put_double(out->dtype, to + i * (out->shape[1] + 1) * item, 1);
    return RL_OK;
}

/* ---- copies: casting, filling, and where the elements go unchanged ---- */
/* ---- equal dtypes: only the size of an element matters ---- */
typedef struct {
    uint64_t half[2];
} uint128_t;
#define COPY_LOOP(bits)                                                                                      \
    static void copy_##bits(char *const *p, const int64_t *step, int64_t n, const void *ctx) {               \
        typedef uint##bits##_t T;                                                                            \
        (void)ctx;                                                                                           \
        if (n <= 0) return; /* a row of no elements: nothing stands at its place */                          \
        if (step[0] == sizeof(T) && step[1] == sizeof(T)) {                                                  \
            if (p[0] != p[1]) memcpy(p[0], p[1], (size_t)n * sizeof(T));                                     \
        } else if (step[0] == sizeof(T) && step[1] == 0) {                                                   \
            const T x = *(const T *)p[1];                                                                    \
            for (int64_t i = 0; i < n; i++) ((T *)p[0])[i] = x;                                              \
        } else if (step[0] == sizeof(T) && step[1] == -(int64_t)sizeof(T)) {                                 \
            T *to = (T *)p[0];                                                                               \
            const T *from = (const T *)p[1];                                                                 \
            RL_IVDEP for (int64_t i = 0; i < n; i++) to[i] = from[-i];                                       \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) *(T *)(p[0] + i * step[0]) = *(const T *)(p[1] + i * step[1]);   \
        }                                                                                                    \
    }
COPY_LOOP(8)
COPY_LOOP(16)
COPY_LOOP(32)
COPY_LOOP(64)
COPY_LOOP(128)

rl_inner_loop rl_inner_loop_copy(int64_t itemsize) {
    return itemsize == 16  ? copy_128
           : itemsize == 8 ? copy_64
           : itemsize == 4 ? copy_32
           : itemsize == 2 ? copy_16
                           : copy_8;
}

/* ---- casts go through a buffer of double or int64, which hold every value exactly ---- */
void rl_inner_loop_cast(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const rl_cast_pair *c = ctx;
    enum { MANY = 256 };
    union {
        double d[MANY];
        int64_t i[MANY];
    } buffer;
    char *to = p[0], *from = p[1];
    for (int64_t at = 0; at < n; at += MANY) {
        int64_t m = n - at < MANY ? n - at : MANY;
        if (rl_is_float(c->from)) {
            rl_row_doubles(c->from, from + at * step[1], step[1], m, buffer.d);
            rl_row_put_doubles(c->to, to + at * step[0], step[0], m, buffer.d);
        } else {
            rl_row_ints(c->from, from + at * step[1], step[1], m, buffer.i);
            rl_row_put_ints(c->to, to + at * step[0], step[0], m, buffer.i);
        }
    }
}

rl_inner_loop rl_inner_loop_between(int to, int from) {
    return to == from                                     ? rl_inner_loop_copy(rl_itemsize(to))
           : rl_is_converted(to) || rl_is_converted(from) ? rl_inner_loop_convert
                                                          : rl_inner_loop_cast;
}

void rl_view_cast(rl_call *k, const rl_view *to, const rl_view *from) {
    rl_iter w;
    rl_cast_pair pair = {to->dtype, from->dtype};
    rl_iter_begin(&w, to, RL_WRITE);
    rl_iter_add(&w, from);
    rl_iter_each(k, &w, RL_REF_NS, rl_inner_loop_between(to->dtype, from->dtype), &pair);
}

void rl_view_start(rl_call *k) {
    const rl_view *to = k->out[0], *from = k->arg[0].u.t;
    if (rl_const_data(to) != rl_const_data(from)) rl_view_cast(k, to, from);
}

RL_KERNEL(ref_copy) {
    rl_view_cast(k, k->out[0], k->arg[1].u.t);
    return RL_OK;
}

RL_KERNEL(ref_clone) {
    rl_view_cast(k, k->out[0], k->arg[0].u.t);
    return RL_OK;
}

/* ---- one element from a number ---- */
static const double int_low[RL_NDTYPES] = {[RL_U8] = 0,
                                           [RL_I8] = INT8_MIN,
                                           [RL_I16] = INT16_MIN,
                                           [RL_I32] = INT32_MIN,
                                           [RL_I64] = (double)INT64_MIN};
static const double int_high[RL_NDTYPES] = {
    [RL_U8] = UINT8_MAX, [RL_I8] = INT8_MAX, [RL_I16] = INT16_MAX, [RL_I32] = INT32_MAX, [RL_I64] = 0x1p63};

static bool int_fits(int64_t x, int dtype) {
    if (dtype == RL_U8) return x >= -255 && x <= 255; /* PyTorch lets negative numbers wrap */
    return dtype == RL_I64 || ((double)x >= int_low[dtype] && (double)x <= int_high[dtype]);
}

static bool float_fits(double x, int dtype) {
    if (rl_is_float(dtype)) return !(fabs(x) > rl_largest(dtype)) || isinf(x);
    return x >= int_low[dtype] && (dtype == RL_I64 ? x < int_high[dtype] : x <= int_high[dtype]);
}

rl_status rl_element_from(rl_call *k, int arg, int dtype, void *element) {
    static const char *const names[RL_NDTYPES] = {"uint8_t",   "int8_t", "int16_t", "int",  "int64_t",
                                                  "c10::Half", "float",  "double",  "bool", "c10::BFloat16"};
    const rl_value *s = &k->arg[arg];
    if (s->tag == RL_TENSOR) {
        char *p[2] = {element, rl_data(s->u.t, RL_READ)};
        const int64_t step[2] = {0, 0};
        rl_inner_loop_cast(p, step, 1, &(rl_cast_pair){dtype, rl_value_view(s)->dtype});
        return RL_OK;
    }
    if (s->tag == RL_FLOAT) {
        if (dtype != RL_BOOL && !float_fits(s->u.d, dtype))
            return rl_fail(k, RL_RUNTIME, "value cannot be converted to type %s without overflow",
                           names[dtype]);
        rl_row_put_doubles(dtype, element, 0, 1, &s->u.d);
        return RL_OK;
    }
    if (dtype != RL_BOOL &&
        !(rl_is_float(dtype) ? float_fits((double)s->u.i, dtype) : int_fits(s->u.i, dtype)))
        return rl_fail(k, RL_RUNTIME, "value cannot be converted to type %s without overflow", names[dtype]);
    rl_row_put_ints(dtype, element, 0, 1, &s->u.i);
    return RL_OK;
}

rl_status rl_view_fill(rl_call *k, const rl_view *to, const void *element) {
    rl_iter w;
    uint64_t copy[2]; /* the element may lie in the filled tensor */
    int64_t item = rl_itemsize(to->dtype);
    memcpy(copy, element, (size_t)item);
    rl_iter_begin(&w, to, RL_WRITE);
    w.nops = 2;
    w.base[1] = (char *)copy;
    for (int d = 0; d < w.ndim; d++) w.stride[1][d] = 0;
    rl_iter_each(k, &w, RL_REF_NS, rl_inner_loop_copy(item), NULL);
    return RL_OK;
}

RL_KERNEL(ref_fill) {
    uint64_t element;
    if (rl_element_from(k, 1, k->out[0]->dtype, &element) != RL_OK) return RL_FAIL;
    return rl_view_fill(k, k->out[0], &element);
}

RL_KERNEL(ref_full) {
    uint64_t element;
    if (rl_element_from(k, 1, k->out[0]->dtype, &element) != RL_OK) return RL_FAIL;
    return rl_view_fill(k, k->out[0], &element);
}

static void unset_element(int dtype, uint64_t *element) {
    static const uint64_t is_signed = RL_BIT(RL_I8) | RL_BIT(RL_I16) | RL_BIT(RL_I32) | RL_BIT(RL_I64);
    int part = dtype == RL_C32 ? RL_F16 : dtype == RL_C64 ? RL_F32 : dtype == RL_C128 ? RL_F64 : dtype;
    if (dtype == RL_BOOL)
        *element = 1;
    else if (RL_SET_FLOATS >> part & 1)
        rl_row_put_double(part, (char *)element, NAN);
    else
        *element = UINT64_MAX >> (64 - 8 * rl_itemsize(dtype) + (is_signed >> dtype & 1));
}

RL_KERNEL(ref_empty) {
    uint64_t element[2] = {0};
    if (RL_LIKELY(!k->svc->fill_unset)) return RL_OK;
    unset_element(k->out[0]->dtype, element);
    return rl_view_fill(k, k->out[0], element);
}

RL_KERNEL(ref_zeros) {
    const uint64_t zero[2] = {0};
    return rl_view_fill(k, k->out[0], zero);
}

RL_KERNEL(ref_ones) {
    uint64_t one;
    rl_row_put_double(k->out[0]->dtype, (char *)&one, 1);
    return rl_view_fill(k, k->out[0], &one);
}

/* Conversions of the dtypes that nothing computes with (Note [Converted dtypes]), element by element. */
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

void rl_inner_loop_convert(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const rl_cast_pair *c = ctx;
    for (int64_t i = 0; i < n; i++) {
        number x = number_get(c->from, p[1] + i * step[1]);
        number_put(c->to, p[0] + i * step[0], &x);
    }
}
