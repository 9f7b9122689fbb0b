/* addr: a matrix plus an outer product, element by element. */
#include "loops.h"

/* operands: output, input, vec1 down the columns, vec2 along the rows */
#define ADDR_STRIP(D, T, C_, LOAD, STORE, sum, rest)                                                         \
    static void addr_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                  \
        typedef C_ C;                                                                                        \
        const rl_numbers *c = ctx;                                                                           \
        const bool reads = c->d[0] != 0;                                                                     \
        const int64_t item = sizeof(T);                                                                      \
        if (n <= 0) return;                                                                                  \
        if (step[0] == item && step[1] == item && step[2] == 0 && step[3] == item) {                         \
            T *to = (T *)p[0];                                                                               \
            const T *from = (const T *)p[1], *row = (const T *)p[3];                                         \
            const C b = LOAD(*(const T *)p[2]);                                                              \
            RL_IVDEP for (int64_t i = 0; i < n; i++) {                                                       \
                const C a = LOAD(from[i]), third = LOAD(row[i]);                                             \
                to[i] = STORE(reads ? sum : rest);                                                           \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C a = LOAD(*(const T *)(p[1] + i * step[1])), b = LOAD(*(const T *)(p[2] + i * step[2])),  \
                    third = LOAD(*(const T *)(p[3] + i * step[3]));                                          \
            *(T *)(p[0] + i * step[0]) = STORE(reads ? sum : rest);                                          \
        }                                                                                                    \
    }
#define OUTER       ((C)c->d[1] * b * third)
#define WHOLE_OUTER RL_WRAP(RL_WRAP(c->i[1], *, b), *, third)
RL_EACH_FLOAT(ADDR_STRIP, ((C)c->d[0] * a + OUTER), OUTER)
RL_EACH_INT(ADDR_STRIP, (RL_WRAP(RL_WRAP(c->i[0], *, a), +, WHOLE_OUTER)), WHOLE_OUTER)
RL_JUST_BOOL(ADDR_STRIP, (a || (c->d[1] != 0 && b && third)), (c->d[1] != 0 && b && third))
#define ADDR_ENTRY(D, ...) [RL_##D] = addr_##D,

RL_KERNEL(ref_addr) {
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(ADDR_ENTRY, ) RL_EACH_INT(ADDR_ENTRY, )
                                                    RL_JUST_BOOL(ADDR_ENTRY, )};
    const rl_numbers numbers = {.d = {rl_num(k, 3), rl_num(k, 4)}, .i = {rl_int(k, 3), rl_int(k, 4)}};
    const rl_view *vec = k->arg[1].u.t;
    int64_t shape[2] = {vec->shape[0], 1}, strides[2] = {vec->strides[0], 0};
    rl_view column = *vec;
    rl_walk w;
    column.shape = shape, column.strides = strides, column.ndim = 2;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, k->arg[0].u.t);
    rl_walk_add(&w, &column);
    rl_walk_add(&w, k->arg[2].u.t);
    rl_walk_each(k, &w, RL_REF_NS, strips[k->out[0]->dtype], &numbers);
    return RL_OK;
}
