/* Comparisons and logic, which answer with bool, and bits. */
#include "loops.h"

#define EVERY_ENTRY(name)                                                                                    \
    RL_EACH_FLOAT(RL_ENTRY, name) RL_EACH_INT(RL_ENTRY, name) RL_JUST_BOOL(RL_ENTRY, name)
#define COMPARISON(name, expr)                                                                               \
    RL_EACH_FLOAT(RL_BINARY_BOOL, name, expr)                                                                \
    RL_EACH_INT(RL_BINARY_BOOL, name, expr)                                                                  \
    RL_JUST_BOOL(RL_BINARY_BOOL, name, expr)                                                                 \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_strip strips[RL_NDTYPES] = {EVERY_ENTRY(name)};                                      \
        return rl_eltwise(k, 2, strips, RL_BOOL, NULL);                                                      \
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
    static const rl_strip strips[RL_NDTYPES] = {EVERY_ENTRY(x_logical_not)};
    return rl_eltwise(k, 1, strips, RL_BOOL, NULL);
}

#define BITWISE(name, expr)                                                                                  \
    RL_EACH_INT(RL_BINARY_KEEP, name, expr)                                                                  \
    RL_JUST_BOOL(RL_BINARY_KEEP, name, expr)                                                                 \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_strip strips[RL_NDTYPES] = {RL_EACH_INT(RL_ENTRY, name)                              \
                                                        RL_JUST_BOOL(RL_ENTRY, name)};                       \
        return rl_eltwise(k, 2, strips, -1, NULL);                                                           \
    }
BITWISE(bitwise_and, (a & b))
BITWISE(bitwise_or, (a | b))
BITWISE(bitwise_xor, (a ^ b))

RL_EACH_INT(RL_UNARY_KEEP, x_not, ~a)
RL_JUST_BOOL(RL_UNARY_KEEP, x_not, !a)
RL_KERNEL(ref_bitwise_not) {
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_INT(RL_ENTRY, x_not) RL_JUST_BOOL(RL_ENTRY, x_not)};
    return rl_eltwise(k, 1, strips, -1, NULL);
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
    static const rl_strip strips[RL_NDTYPES] = {EVERY_ENTRY(differs)};
    rl_numbers found = {.fault = 0};
    uint8_t *out = rl_data(k->out[0], RL_WRITE);
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    if (k->attr[0]) {
        rl_walk w;
        rl_walk_begin(&w, a, RL_READ);
        rl_walk_add(&w, b);
        rl_walk_merge(&w);
        rl_walk_parallel(k, &w, RL_REF_NS, strips[a->dtype], &found);
    }
    *out = k->attr[0] && !found.fault;
    return RL_OK;
}
