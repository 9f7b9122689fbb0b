/* Functions of one operand that read numbers from the call, or answer twice. */
#include "loops.h"
#include <float.h>
#include <tgmath.h>

#define FLOAT_ENTRY(name)  RL_EACH_FLOAT(RL_ENTRY, name)
#define NUMBER_ENTRY(name) FLOAT_ENTRY(name) RL_EACH_INT(RL_ENTRY, name)
#define EVERY_ENTRY(name)  NUMBER_ENTRY(name) RL_JUST_BOOL(RL_ENTRY, name)
#define FLOAT_KERNEL(name, expr)                                                                             \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, expr)                                                             \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_strip strips[RL_NDTYPES] = {FLOAT_ENTRY(x_##name)};                                  \
        return rl_eltwise(k, 1, strips, -1, NULL);                                                           \
    }
FLOAT_KERNEL(angle, (a != a ? a : a < 0 ? (C)3.14159265358979323846 : 0))
FLOAT_KERNEL(deg2rad, a *(C)0.017453292519943295769)
FLOAT_KERNEL(rad2deg, a *(C)57.295779513082320877)

/* ---- digits: halves round each step, as PyTorch's do ---- */
#define SCALED(D, T, C, LOAD, STORE, name)                                                                   \
    RL_UNARY_STRIP(D, T, C, LOAD, STORE, name, T, STORE,                                                     \
                   (rint(LOAD(STORE(a * LOAD(STORE((C)c->d[0]))))) / LOAD(STORE((C)c->d[0]))))
#define DIVIDED(D, T, C, LOAD, STORE, name)                                                                  \
    RL_UNARY_STRIP(D, T, C, LOAD, STORE, name, T, STORE,                                                     \
                   (rint(LOAD(STORE(a / LOAD(STORE((C)c->d[0]))))) * LOAD(STORE((C)c->d[0]))))
RL_EACH_FLOAT(SCALED, behind)
RL_EACH_FLOAT(DIVIDED, before)

RL_KERNEL(ref_round_decimals) {
    static const rl_strip behind[RL_NDTYPES] = {FLOAT_ENTRY(behind)},
                          before[RL_NDTYPES] = {FLOAT_ENTRY(before)};
    const int64_t decimals = rl_int(k, 1);
    rl_numbers numbers = {.d = {pow(10.0, fabs((double)decimals))}};
    return rl_eltwise(k, 1, decimals < 0 ? before : behind, -1, &numbers);
}

/* ---- what becomes of NaN, inf and -inf ---- */
RL_EACH_FLOAT(RL_UNARY_KEEP, finite,
              (C)(a != a              ? c->d[0]
                  : a == (C)INFINITY  ? c->d[1]
                  : a == -(C)INFINITY ? c->d[2]
                                      : (double)a))
RL_EACH_INT(RL_UNARY_KEEP, finite, a)
RL_JUST_BOOL(RL_UNARY_KEEP, finite, a)

RL_KERNEL(ref_nan_to_num) {
    static const rl_strip strips[RL_NDTYPES] = {EVERY_ENTRY(finite)};
    static const double largest[RL_NDTYPES] = {
        [RL_F16] = 65504, [RL_F32] = FLT_MAX, [RL_F64] = DBL_MAX, [RL_BF16] = 0x1.fep127};
    const double most = largest[rl_tensor_arg(k, 0)->dtype], instead[] = {0, most, -most};
    rl_numbers numbers = {.fault = 0};
    for (int i = 0; i < 3; i++) numbers.d[i] = k->arg[1 + i].tag == RL_NONE ? instead[i] : rl_num(k, 1 + i);
    return rl_eltwise(k, 1, strips, -1, &numbers);
}

/* ---- mantissa and exponent: operands mantissa, exponent, input ---- */
#define PARTS(D, T, C, LOAD, STORE, name)                                                                    \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        (void)ctx;                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C a = LOAD(*(const T *)(p[2] + i * step[2]));                                              \
            int exponent = 0;                                                                                \
            const C mantissa = isfinite(a) ? frexp(a, &exponent) : a;                                        \
            *(T *)(p[0] + i * step[0]) = STORE(mantissa);                                                    \
            *(int32_t *)(p[1] + i * step[1]) = exponent;                                                     \
        }                                                                                                    \
    }
RL_EACH_FLOAT(PARTS, parts)

RL_KERNEL(ref_frexp) {
    static const rl_strip strips[RL_NDTYPES] = {FLOAT_ENTRY(parts)};
    rl_walk w;
    rl_data(k->out[1], RL_WRITE);
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, k->out[1]);
    rl_walk_add(&w, k->arg[0].u.t);
    rl_walk_each(k, &w, RL_REF_NS, strips[rl_tensor_arg(k, 0)->dtype], NULL);
    return RL_OK;
}
