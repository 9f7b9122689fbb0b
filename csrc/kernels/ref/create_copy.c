/* Copies: casting, filling, and where the elements go unchanged. */
#include "loops.h"
#include <math.h>
#include <string.h>

/* ---- equal dtypes: only the size of an element matters ---- */
typedef struct {
    uint64_t half[2];
} uint128_t;
#define COPY_STRIP(bits)                                                                                     \
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
COPY_STRIP(8)
COPY_STRIP(16)
COPY_STRIP(32)
COPY_STRIP(64)
COPY_STRIP(128)

rl_strip rl_strip_copy(int64_t itemsize) {
    return itemsize == 16  ? copy_128
           : itemsize == 8 ? copy_64
           : itemsize == 4 ? copy_32
           : itemsize == 2 ? copy_16
                           : copy_8;
}

/* ---- casts go through a buffer of double or int64, which hold every value exactly ---- */
void rl_strip_cast(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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

rl_strip rl_strip_between(int to, int from) {
    return to == from                                     ? rl_strip_copy(rl_itemsize(to))
           : rl_is_converted(to) || rl_is_converted(from) ? rl_strip_convert
                                                          : rl_strip_cast;
}

void rl_view_cast(rl_call *k, const rl_view *to, const rl_view *from) {
    rl_walk w;
    rl_cast_pair pair = {to->dtype, from->dtype};
    rl_walk_begin(&w, to, RL_WRITE);
    rl_walk_add(&w, from);
    rl_walk_each(k, &w, RL_REF_NS, rl_strip_between(to->dtype, from->dtype), &pair);
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
    static const double most[RL_NDTYPES] = {[RL_F16] = 65504,
                                            [RL_F32] = 0x1.fffffep127,
                                            [RL_F64] = 0x1.fffffffffffffp1023,
                                            [RL_BF16] = 0x1.fep127};
    if (rl_is_float(dtype)) return !(fabs(x) > most[dtype]) || isinf(x);
    return x >= int_low[dtype] && (dtype == RL_I64 ? x < int_high[dtype] : x <= int_high[dtype]);
}

rl_status rl_element_from(rl_call *k, int arg, int dtype, void *element) {
    static const char *const names[RL_NDTYPES] = {"uint8_t",   "int8_t", "int16_t", "int",  "int64_t",
                                                  "c10::Half", "float",  "double",  "bool", "c10::BFloat16"};
    const rl_slot *s = &k->arg[arg];
    if (s->tag == RL_TENSOR) {
        char *p[2] = {element, rl_data(s->u.t, RL_READ)};
        const int64_t step[2] = {0, 0};
        rl_strip_cast(p, step, 1, &(rl_cast_pair){dtype, rl_slot_tensor(s)->dtype});
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
    rl_walk w;
    uint64_t copy[2]; /* the element may lie in the filled tensor */
    int64_t item = rl_itemsize(to->dtype);
    memcpy(copy, element, (size_t)item);
    rl_walk_begin(&w, to, RL_WRITE);
    w.nops = 2;
    w.base[1] = (char *)copy;
    for (int d = 0; d < w.ndim; d++) w.stride[1][d] = 0;
    rl_walk_each(k, &w, RL_REF_NS, rl_strip_copy(item), NULL);
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
