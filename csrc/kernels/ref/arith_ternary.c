/* Three operands: output, a, b, third; and what a mask chooses. */
#include "loops.h"
#include <tgmath.h>

#define THREE_STRIP(D, T, C_, LOAD, STORE, name, expr)                                                       \
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
RL_EACH_FLOAT(THREE_STRIP, lerp, BLEND(a, b, third))
RL_EACH_FLOAT(RL_BINARY_KEEP, lerp_by, BLEND(a, b, (C)c->d[0]))
RL_EACH_FLOAT(THREE_STRIP, addcmul, (a + (C)c->d[0] * b * third))
RL_EACH_INT(THREE_STRIP, addcmul, RL_WRAP(a, +, RL_WRAP(RL_WRAP(c->i[0], *, b), *, third)))
RL_EACH_FLOAT(THREE_STRIP, addcdiv, (a + (C)c->d[0] * b / third))

RL_CHOOSER
static rl_status three_run(rl_call *k, const rl_strip *strips, const rl_numbers *numbers) {
    rl_walk w;
    int dtype = rl_tensor_arg(k, 0)->dtype;
    if (!strips[dtype]) return RL_UNSUPPORTED;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < 3; i++) rl_walk_add(&w, k->arg[i].u.t);
    rl_walk_each(k, &w, RL_REF_NS, strips[dtype], numbers);
    return RL_OK;
}

RL_KERNEL(ref_lerp) {
    static const rl_strip each[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, lerp)},
                          by[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, lerp_by)};
    const rl_view *weight = rl_in(k, 2);
    if (weight && weight->ndim) return three_run(k, each, NULL);
    rl_numbers numbers = {.d = {weight ? rl_row_double(weight->dtype, rl_const_data(weight)) : rl_num(k, 2)}};
    return rl_eltwise(k, 2, by, -1, &numbers);
}

RL_KERNEL(ref_addcmul) {
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, addcmul)
                                                    RL_EACH_INT(RL_ENTRY, addcmul)};
    rl_numbers numbers = {.d = {rl_num(k, 3)}, .i = {rl_int(k, 3)}};
    return three_run(k, strips, &numbers);
}

RL_KERNEL(ref_addcdiv) {
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, addcdiv)};
    rl_numbers numbers = {.d = {rl_num(k, 3)}};
    return three_run(k, strips, &numbers);
}

/* ---- chosen by a mask: operands out, mask, where true, where false ---- */
#define SELECT_STRIP(bits)                                                                                   \
    static void select_##bits(char *const *p, const int64_t *step, int64_t n, const void *ctx) {             \
        typedef uint##bits##_t T;                                                                            \
        (void)ctx;                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const T yes = *(const T *)(p[2] + i * step[2]), no = *(const T *)(p[3] + i * step[3]);           \
            *(T *)(p[0] + i * step[0]) = p[1][i * step[1]] ? yes : no;                                       \
        }                                                                                                    \
    }
SELECT_STRIP(8)
SELECT_STRIP(16)
SELECT_STRIP(32)
SELECT_STRIP(64)

rl_strip rl_strip_select(int64_t item) {
    return item == 8 ? select_64 : item == 4 ? select_32 : item == 2 ? select_16 : select_8;
}

RL_KERNEL(ref_where) {
    rl_walk w;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < 3; i++) rl_walk_add(&w, k->arg[i].u.t);
    rl_walk_each(k, &w, RL_REF_NS, rl_strip_select(rl_itemsize(k->out[0]->dtype)), NULL);
    return RL_OK;
}
