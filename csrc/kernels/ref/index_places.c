/* Runs of elements at places that an index names: Note [Places]. */
#include "index.h"
#include <string.h>

static int64_t places_fault(rl_places *s, int64_t given, int64_t read) {
    if (!__atomic_exchange_n(&s->faulty, 1, __ATOMIC_RELAXED)) s->fault = given;
    return read;
}

/* `dense`: the index has no gaps; what is known at compile time makes the usual loops short */
#define READ_RUN(T, dense, lowest)                                                                           \
    _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {                                                \
        const T *place = (dense) ? (const T *)index + i : (const T *)(index + i * step);                     \
        const int64_t at = __atomic_load_n(place, __ATOMIC_RELAXED);                                         \
        if (RL_UNLIKELY((uint64_t)(at - (lowest)) >= (uint64_t)(size - (lowest))))                           \
            return places_fault(s, at, i);                                                                   \
        offset[i] = ((lowest) && at < 0 ? at + size : at) * by;                                              \
    }
#define READ(name, T)                                                                                        \
    static int64_t read_##name(rl_places *s, const char *index, int64_t step, int64_t n, int64_t *offset) {  \
        const int64_t size = s->size, by = s->step;                                                          \
        if (s->wraps) {                                                                                      \
            READ_RUN(T, false, -size)                                                                        \
        } else if (step == sizeof(T)) {                                                                      \
            READ_RUN(T, true, 0)                                                                             \
        } else {                                                                                             \
            READ_RUN(T, false, 0)                                                                            \
        }                                                                                                    \
        return n;                                                                                            \
    }
READ(wide, int64_t)
READ(narrow, int32_t)

int64_t rl_places_read(rl_places *s, const char *index, int64_t step, int64_t n, int64_t *offset) {
    return (s->wide ? read_wide : read_narrow)(s, index, step, n, offset);
}

/* ---- moving ---- */
#define MOVE(bits)                                                                                           \
    static void take_##bits(rl_run to, rl_run from, const int64_t *offset, int64_t n) {                      \
        typedef uint##bits##_t T;                                                                            \
        if (to.step == sizeof(T) && from.step == 0)                                                          \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++)((T *)to.p)[i] =                          \
                *(const T *)(from.p + offset[i]);                                                            \
        else                                                                                                 \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) * (T *)(to.p + i * to.step) =            \
                *(const T *)(from.p + i * from.step + offset[i]);                                            \
    }                                                                                                        \
    static void put_##bits(rl_run to, const int64_t *offset, rl_run from, int64_t n) {                       \
        typedef uint##bits##_t T;                                                                            \
        if (from.step == sizeof(T) && to.step == 0)                                                          \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) * (T *)(to.p + offset[i]) =              \
                ((const T *)from.p)[i];                                                                      \
        else                                                                                                 \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) *                                        \
                (T *)(to.p + i * to.step + offset[i]) = *(const T *)(from.p + i * from.step);                \
    }                                                                                                        \
    /* reading and moving in one: an index and a result without gaps */                                      \
    static void pick_##bits(rl_places *s, char *to, const int64_t *index, const char *from, int64_t n) {     \
        typedef uint##bits##_t T;                                                                            \
        const uint64_t size = (uint64_t)s->size;                                                             \
        const int64_t by = s->step;                                                                          \
        _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {                                            \
            const int64_t at = __atomic_load_n(index + i, __ATOMIC_RELAXED);                                 \
            if (RL_UNLIKELY((uint64_t)at >= size)) {                                                         \
                places_fault(s, at, i);                                                                      \
                return;                                                                                      \
            }                                                                                                \
            ((T *)to)[i] = *(const T *)(from + at * by);                                                     \
        }                                                                                                    \
    }
MOVE(8)
MOVE(16)
MOVE(32)
MOVE(64)

void rl_places_take(int64_t item, rl_run to, rl_run from, const int64_t *offset, int64_t n) {
    if (item == 4) return take_32(to, from, offset, n);
    if (item == 8) return take_64(to, from, offset, n);
    if (item == 2) return take_16(to, from, offset, n);
    if (item == 1) return take_8(to, from, offset, n);
    for (int64_t i = 0; i < n; i++)
        memcpy(to.p + i * to.step, from.p + i * from.step + offset[i], (size_t)item);
}

void rl_places_put(int64_t item, rl_run to, const int64_t *offset, rl_run from, int64_t n) {
    if (item == 4) return put_32(to, offset, from, n);
    if (item == 8) return put_64(to, offset, from, n);
    if (item == 2) return put_16(to, offset, from, n);
    if (item == 1) return put_8(to, offset, from, n);
    for (int64_t i = 0; i < n; i++)
        memcpy(to.p + i * to.step + offset[i], from.p + i * from.step, (size_t)item);
}

static void pick_dense(rl_picking *pick, char *const *p, int64_t n) {
    (pick->item == 4   ? pick_32
     : pick->item == 8 ? pick_64
     : pick->item == 2 ? pick_16
                       : pick_8)(&pick->places, p[0], (const int64_t *)p[1], p[2], n);
}

void rl_pick_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    rl_picking *pick = (rl_picking *)ctx;
    int64_t offset[RL_PLACES];
    if (n <= 0) return;
    if (step[1] == 0) { /* one index for all */
        if (!rl_places_read(&pick->places, p[1], 0, 1, offset)) return;
        if (step[0] == pick->item && step[2] == pick->item)
            memcpy(p[0], p[2] + *offset, (size_t)(n * pick->item));
        else
            rl_strip_copy(pick->item)((char *const[2]){p[0], p[2] + *offset},
                                      (const int64_t[2]){step[0], step[2]}, n, NULL);
        return;
    }
    const bool dense = step[0] == pick->item && step[1] == sizeof *offset && step[2] == 0;
    if (dense && pick->item < 16 && pick->places.wide && !pick->places.wraps) {
        pick_dense(pick, p, n);
        return;
    }
    for (int64_t i = 0, read; i < n; i += read) {
        read = rl_places_read(&pick->places, p[1] + i * step[1], step[1],
                              n - i < RL_PLACES ? n - i : RL_PLACES, offset);
        rl_places_take(pick->item, (rl_run){p[0] + i * step[0], step[0]},
                       (rl_run){p[2] + i * step[2], step[2]}, offset, read);
        if (__atomic_load_n(&pick->places.faulty, __ATOMIC_RELAXED)) return;
    }
}

/* ---- joining ---- */
#define JOIN_RUN(T, LOAD, STORE, expr, place, value)                                                         \
    _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {                                                \
        T *at = (T *)(place);                                                                                \
        const C a = LOAD(*at), b = LOAD(value);                                                              \
        *at = STORE(expr);                                                                                   \
    }
#define JOIN(D, T, C_, LOAD, STORE, name, expr)                                                              \
    static void name##_##D(rl_run to, const int64_t *offset, rl_run from, int64_t n, const rl_numbers *c) {  \
        typedef C_ C;                                                                                        \
        (void)c;                                                                                             \
        if (to.step == 0 && from.step == sizeof(T)) {                                                        \
            JOIN_RUN(T, LOAD, STORE, expr, to.p + offset[i], ((const T *)from.p)[i])                         \
        } else {                                                                                             \
            JOIN_RUN(T, LOAD, STORE, expr, to.p + i * to.step + offset[i],                                   \
                     *(const T *)(from.p + i * from.step))                                                   \
        }                                                                                                    \
    }
RL_EACH_FLOAT(JOIN, add, a + (C)c->d[0] * b)
RL_EACH_INT(JOIN, add, RL_WRAP(a, +, RL_WRAP(c->i[0], *, b)))
RL_JUST_BOOL(JOIN, add, (a || (c->i[0] && b)))
RL_EACH_FLOAT(JOIN, mul, a *b)
RL_EACH_INT(JOIN, mul, RL_WRAP(a, *, b))
RL_JUST_BOOL(JOIN, mul, (a && b))
RL_EACH_FLOAT(JOIN, most, (a != a || a > b ? a : b))
RL_EACH_INT(JOIN, most, (a > b ? a : b))
RL_JUST_BOOL(JOIN, most, (a || b))
RL_EACH_FLOAT(JOIN, least, (a != a || a < b ? a : b))
RL_EACH_INT(JOIN, least, (a < b ? a : b))
RL_JUST_BOOL(JOIN, least, (a && b))
#define ENTRIES(name) {RL_EACH_FLOAT(RL_ENTRY, name) RL_EACH_INT(RL_ENTRY, name) RL_JUST_BOOL(RL_ENTRY, name)}

rl_places_joiner rl_places_join(int join, int dtype) {
    static const rl_places_joiner joiners[][RL_NDTYPES] = {[RL_JOIN_ADD] = ENTRIES(add),
                                                           [RL_JOIN_MUL] = ENTRIES(mul),
                                                           [RL_JOIN_MAX] = ENTRIES(most),
                                                           [RL_JOIN_MIN] = ENTRIES(least),
                                                           [RL_JOIN_MEAN] = ENTRIES(add)};
    return joiners[join][dtype];
}
