/* Limits: numbers, tensors, and their gradient. */
#include "gradient.h"
#include <tgmath.h>

#define NUMBER_ENTRY(name) RL_EACH_FLOAT(RL_ENTRY, name) RL_EACH_INT(RL_ENTRY, name)

/* ---- clamp: bounds in c->d of floats and c->i of integers; NaN passes ---- */
RL_EACH_FLOAT(RL_UNARY_KEEP, x_clamp,
              (a<(C)c->d[0] ? (C)c->d[0] > (C)c->d[1] ? (C)c->d[1] : (C)c->d[0] : a>(C) c->d[1] ? (C)c->d[1]
                                                                                                : a))
RL_EACH_INT(RL_UNARY_KEEP, x_clamp,
            (a < c->i[0]   ? c->i[0] > c->i[1] ? c->i[1] : c->i[0]
             : a > c->i[1] ? c->i[1]
                           : a))

/* low, high: the arguments that hold the bounds, 0 for none */
static rl_status clamp_run(rl_call *k, int low, int high) {
    static const rl_inner_loop loops[RL_NDTYPES] = {NUMBER_ENTRY(x_clamp)};
    rl_numbers numbers = {.d = {-INFINITY, INFINITY}, .i = {INT64_MIN, INT64_MAX}};
    const int dtype = rl_tensor_arg(k, 0)->dtype, at[] = {low, high};
    for (int i = 0; i < 2; i++) {
        uint64_t element;
        if (!at[i] || k->arg[at[i]].tag == RL_NONE) continue;
        if (rl_element_from(k, at[i], dtype, &element) != RL_OK) return RL_FAIL;
        if (rl_is_float(dtype))
            rl_row_doubles(dtype, (const char *)&element, 0, 1, &numbers.d[i]);
        else
            rl_row_ints(dtype, (const char *)&element, 0, 1, &numbers.i[i]);
        if (numbers.d[i] != numbers.d[i]) return rl_view_fill(k, k->out[0], &element);
    }
    return rl_eltwise(k, 1, loops, &numbers);
}
RL_KERNEL(ref_clamp) { /* hardtanh, too */
    return clamp_run(k, 1, 2);
}
RL_KERNEL(ref_clamp_min) {
    return clamp_run(k, 1, 0);
}
RL_KERNEL(ref_clamp_max) {
    return clamp_run(k, 0, 1);
}

/* ---- limits that are tensors: operands output, input, and one bound or both; NaN wins ---- */
#define MORE(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define LESS(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))
#define BETWEEN(D, T, C_, LOAD, STORE, name)                                                                 \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        typedef C_ C;                                                                                        \
        (void)ctx;                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C a = LOAD(*(const T *)(p[1] + i * step[1])),                                              \
                    low = LOAD(*(const T *)(p[2] + i * step[2])),                                            \
                    high = LOAD(*(const T *)(p[3] + i * step[3])), most = MORE(a, low);                      \
            *(T *)(p[0] + i * step[0]) = STORE(LESS(most, high));                                            \
        }                                                                                                    \
    }
RL_EACH_FLOAT(BETWEEN, between)
RL_EACH_INT(BETWEEN, between)

static rl_status limit_run(rl_call *k, const rl_view *low, const rl_view *high) {
    static const rl_inner_loop loops[RL_NDTYPES] = {NUMBER_ENTRY(between)};
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    rl_iter w;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, k->arg[0].u.t);
    rl_iter_add(&w, low ? low : high);
    if (low && high) rl_iter_add(&w, high);
    const rl_inner_loop one = rl_inner_loop_combine(low ? RL_JOIN_MAX : RL_JOIN_MIN, dtype);
    rl_iter_each(k, &w, RL_REF_NS, low && high ? loops[dtype] : one, NULL);
    return RL_OK;
}
RL_KERNEL(ref_clamp_tensor) {
    return limit_run(k, rl_in(k, 1), rl_in(k, 2));
}
RL_KERNEL(ref_clamp_min_tensor) {
    return limit_run(k, rl_in(k, 1), NULL);
}
RL_KERNEL(ref_clamp_max_tensor) {
    return limit_run(k, NULL, rl_in(k, 1));
}

/* ---- a is the gradient of the result, b what the forward operator saw ---- */
static double bound(const rl_call *k, int arg, double without) {
    return k->arg[arg].tag == RL_NONE ? without : rl_num(k, arg);
}
BACK_KERNEL(clamp_backward, bound(k, 2, -INFINITY), bound(k, 3, INFINITY), 0,
            (b >= D(0) && b <= D(1) ? a : 0))
