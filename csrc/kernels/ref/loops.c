/* Rows of elements, by dtype. */
#include "loops.h"

typedef void (*row_load)(const char *p, int64_t step, int64_t n, void *to);
typedef void (*row_store)(char *p, int64_t step, int64_t n, const void *from);

#define ROW_LOAD(D, T, C, LOAD, STORE, name, W)                                                              \
    static void name##_##D(const char *p, int64_t step, int64_t n, void *to) {                               \
        W *w = to;                                                                                           \
        if (step == sizeof(T))                                                                               \
            for (int64_t i = 0; i < n; i++) w[i] = (W)LOAD(((const T *)p)[i]);                               \
        else                                                                                                 \
            for (int64_t i = 0; i < n; i++) w[i] = (W)LOAD(*(const T *)(p + i * step));                      \
    }
#define ROW_STORE(D, T, C, LOAD, STORE, name, W, TO_C)                                                       \
    static void name##_##D(char *p, int64_t step, int64_t n, const void *from) {                             \
        const W *w = from;                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C x = (C)TO_C(w[i]);                                                                       \
            *(T *)(p + i * step) = STORE(x);                                                                 \
        }                                                                                                    \
    }

/* What an x86 conversion answers for numbers that do not fit: the smallest integer. The narrow ones take the
 * low bits of a 32-bit conversion. */
static int64_t to_int64(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}
static int64_t to_int32(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int64_t)x : INT32_MIN;
}
static int64_t to_truth(double x) {
    return x != 0;
}

RL_EACH_FLOAT(ROW_LOAD, floats, float)
RL_EACH_INT(ROW_LOAD, floats, float)
RL_JUST_BOOL(ROW_LOAD, floats, float)
RL_EACH_FLOAT(ROW_LOAD, doubles, double)
RL_EACH_INT(ROW_LOAD, doubles, double)
RL_JUST_BOOL(ROW_LOAD, doubles, double)
RL_EACH_INT(ROW_LOAD, ints, int64_t)
RL_JUST_BOOL(ROW_LOAD, ints, int64_t)
RL_EACH_FLOAT(ROW_STORE, put_doubles, double, RL_AS_IS)
ROW_STORE(U8, uint8_t, int64_t, , (uint8_t), put_doubles, double, to_int32)
ROW_STORE(I8, int8_t, int64_t, , (int8_t), put_doubles, double, to_int32)
ROW_STORE(I16, int16_t, int64_t, , (int16_t), put_doubles, double, to_int32)
ROW_STORE(I32, int32_t, int64_t, , (int32_t), put_doubles, double, to_int32)
ROW_STORE(I64, int64_t, int64_t, , RL_AS_IS, put_doubles, double, to_int64)
ROW_STORE(BOOL, uint8_t, int64_t, , (uint8_t), put_doubles, double, to_truth)
RL_EACH_FLOAT(ROW_STORE, put_ints, int64_t, RL_AS_IS)
RL_EACH_INT(ROW_STORE, put_ints, int64_t, RL_AS_IS)
RL_JUST_BOOL(ROW_STORE, put_ints, int64_t, RL_AS_IS)

#define EVERY_ENTRY(name)                                                                                    \
    RL_EACH_FLOAT(RL_ENTRY, name) RL_EACH_INT(RL_ENTRY, name) RL_JUST_BOOL(RL_ENTRY, name)

void rl_row_floats(int dtype, const char *p, int64_t step, int64_t n, float *to) {
    static const row_load load[RL_NDTYPES] = {EVERY_ENTRY(floats)};
    load[dtype](p, step, n, to);
}

void rl_row_doubles(int dtype, const char *p, int64_t step, int64_t n, double *to) {
    static const row_load load[RL_NDTYPES] = {EVERY_ENTRY(doubles)};
    load[dtype](p, step, n, to);
}

void rl_row_ints(int dtype, const char *p, int64_t step, int64_t n, int64_t *to) {
    static const row_load load[RL_NDTYPES] = {RL_EACH_INT(RL_ENTRY, ints) RL_JUST_BOOL(RL_ENTRY, ints)};
    load[dtype](p, step, n, to);
}

void rl_row_put_doubles(int dtype, char *p, int64_t step, int64_t n, const double *from) {
    static const row_store store[RL_NDTYPES] = {EVERY_ENTRY(put_doubles)};
    store[dtype](p, step, n, from);
}

void rl_row_put_ints(int dtype, char *p, int64_t step, int64_t n, const int64_t *from) {
    static const row_store store[RL_NDTYPES] = {EVERY_ENTRY(put_ints)};
    store[dtype](p, step, n, from);
}
