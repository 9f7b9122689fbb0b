/* Rows of elements: Note [Cast copies]. */
#include "cast_copy.h"
#include <string.h>
enum { CAST_BLOCK = 512, CAST_DTYPES = RL_N_COMPUTED };
#define ISA_IMPL "cast_copy_impl.inc"
#include "kernels/simd/foreach_isa.h"

simd_cast_copy simd_cast_copy_between(const rl_call *k, int to, int from) {
    simd_cast_copy m = {.to_item = (int)rl_itemsize(to), .from_item = (int)rl_itemsize(from)};
    static const simd_convert(*const lists[])[CAST_DTYPES] = ISA_TABLE(conversions);
    const simd_convert(*const list)[CAST_DTYPES] = lists[k->svc->isa];
    if (to == from) return m;
    m.convert = list[from][to];
    if (m.convert) return m;
    m.convert = list[from][RL_F32];
    m.then = list[RL_F32][to];
    return m;
}

/* ---- places ---- */
#define STRIDED(bits)                                                                                        \
    static void strided_##bits(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n) {  \
        typedef uint##bits##_t T;                                                                            \
        if (to_step == sizeof(T) && from_step == 0) {                                                        \
            const T x = *(const T *)from;                                                                    \
            for (int64_t i = 0; i < n; i++) ((T *)to)[i] = x;                                                \
        } else if (to_step == sizeof(T) && from_step == 2 * sizeof(T)) { /* of which vectors are made */     \
            for (int64_t i = 0; i < n; i++) ((T *)to)[i] = ((const T *)from)[2 * i];                         \
        } else if (to_step == sizeof(T)) {                                                                   \
            for (int64_t i = 0; i < n; i++) ((T *)to)[i] = *(const T *)(from + i * from_step);               \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) *(T *)(to + i * to_step) = *(const T *)(from + i * from_step);   \
        }                                                                                                    \
    }
STRIDED(8)
STRIDED(16)
STRIDED(32)
STRIDED(64)

static void strided(int item, char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n) {
    if (to_step == item && from_step == item)
        memmove(to, from, (size_t)(n * item));
    else
        (item == 4   ? strided_32
         : item == 8 ? strided_64
         : item == 2 ? strided_16
                     : strided_8)(to, to_step, from, from_step, n);
}

void simd_cast_copy_run(const simd_cast_copy *m, void *to_, int64_t to_step, const void *from_,
                        int64_t from_step, int64_t n) {
    _Alignas(64) char before[CAST_BLOCK * 8], middle[CAST_BLOCK * 4], after[CAST_BLOCK * 8];
    char *to = to_;
    const char *from = from_;
    if (n <= 0) return; /* what stands for none is not read */
    if (!m->convert) {
        strided(m->to_item, to, to_step, from, from_step, n);
        return;
    }
    const bool gather = from_step != m->from_item, scatter = to_step != m->to_item;
    const int64_t block = gather || scatter || m->then ? CAST_BLOCK : n;
    for (int64_t at = 0; at < n; at += block) {
        const int64_t count = simd_min(block, n - at);
        const char *x = from + at * from_step;
        char *place = to + at * to_step;
        if (gather) strided(m->from_item, before, m->from_item, x, from_step, count);
        const char *dense = gather ? before : x;
        if (m->then) {
            m->convert(middle, dense, count);
            dense = middle;
        }
        (m->then ? m->then : m->convert)(scatter ? after : place, dense, count);
        if (scatter) strided(m->to_item, place, to_step, after, m->to_item, count);
    }
}
