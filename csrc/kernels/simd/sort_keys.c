/* Elements to items and back: Note [Items] in sort.h. */
#include "sort.h"
#include <string.h>

/* ---- keys of elements ---- */
#define FLOAT_KEYS(D, U, S, bits, infinity)                                                                  \
    static inline U key_##D(U b) {                                                                           \
        const U sign = (U)1 << (bits - 1), size = (U)(b & (U)~sign);                                         \
        const U key = (U)(b ^ ((U)((S)b >> (bits - 1)) | sign));                                             \
        return size > infinity ? (U) ~(U)0 : size == 0 ? sign : key;                                         \
    }                                                                                                        \
    static inline U element_##D(U key) {                                                                     \
        const U sign = (U)1 << (bits - 1);                                                                   \
        return key & sign ? (U)(key ^ sign) : (U)~key;                                                       \
    }                                                                                                        \
    static inline bool is_shared_##D(U key) {                                                                \
        return key == (U)1 << (bits - 1) || key == (U) ~(U)0;                                                \
    }
#define INT_KEYS(D, U, start)                                                                                \
    static inline U key_##D(U b) {                                                                           \
        return (U)(b ^ (U)start);                                                                            \
    }                                                                                                        \
    static inline U element_##D(U key) {                                                                     \
        return (U)(key ^ (U)start);                                                                          \
    }                                                                                                        \
    static inline bool is_shared_##D(U key) {                                                                \
        (void)key;                                                                                           \
        return false;                                                                                        \
    }
FLOAT_KEYS(F16, uint16_t, int16_t, 16, 0x7c00)
FLOAT_KEYS(BF16, uint16_t, int16_t, 16, 0x7f80)
FLOAT_KEYS(F32, uint32_t, int32_t, 32, 0x7f800000)
FLOAT_KEYS(F64, uint64_t, int64_t, 64, 0x7ff0000000000000)
INT_KEYS(U8, uint8_t, 0)
INT_KEYS(I8, uint8_t, 0x80)
INT_KEYS(I16, uint16_t, 0x8000)
INT_KEYS(I32, uint32_t, 0x80000000)
INT_KEYS(I64, uint64_t, 0x8000000000000000)
static inline uint8_t key_BOOL(uint8_t b) {
    return b != 0;
}
static inline uint8_t element_BOOL(uint8_t key) {
    return key;
}
static inline bool is_shared_BOOL(uint8_t key) {
    (void)key;
    return false;
}

/* ---- to keys, to items and back ---- */
#define KEY_AT(D, U, at)                                                                                     \
    ({                                                                                                       \
        U bits_;                                                                                             \
        memcpy(&bits_, at, sizeof bits_);                                                                    \
        (U)((U)(key_##D(bits_) ^ flip) - base);                                                              \
    })
/* twice, since the usual step is known at compile time */
#define EACH_ELEMENT(U, ...)                                                                                 \
    const U flip = (U)o->flip, base = (U)o->base;                                                            \
    const char *p = x.p + begin * x.step;                                                                    \
    if (x.step == sizeof(U))                                                                                 \
        for (int64_t i = 0; i < n; i++, p += sizeof(U)) __VA_ARGS__;                                         \
    else                                                                                                     \
        for (int64_t i = 0; i < n; i++, p += x.step) __VA_ARGS__;
#define KEYS(D, U, KEY, width)                                                                               \
    static void keys_##width##_##D(const simd_order *o, simd_line x, int64_t begin, int64_t n, KEY *to) {    \
        EACH_ELEMENT(U, to[i] = KEY_AT(D, U, p))                                                             \
    }
#define LOAD(D, U, ITEM, PLACES, width)                                                                      \
    static void load_##width##_##D(const simd_order *o, simd_line x, int64_t begin, int64_t n, ITEM *to) {   \
        EACH_ELEMENT(U, to[i] = (ITEM)KEY_AT(D, U, p) << PLACES | (ITEM)(begin + i))                         \
    }
#define STORE(D, U, ITEM, PLACES, width)                                                                     \
    static void store_##width##_##D(const simd_order *o, const ITEM *items, int64_t n, simd_line x,          \
                                    char *to, int64_t step) {                                                \
        const U flip = (U)o->flip, base = (U)o->base;                                                        \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const U key = (U)((U)((U)(items[i] >> PLACES) + base) ^ flip);                                   \
            U b = element_##D(key);                                                                          \
            if (RL_UNLIKELY(is_shared_##D(key)))                                                             \
                memcpy(&b, x.p + (int64_t)(items[i] & (((ITEM)1 << PLACES) - 1)) * x.step, sizeof b);        \
            memcpy(to + i * step, &b, sizeof b);                                                             \
        }                                                                                                    \
    }
#define NARROW(D, U)                                                                                         \
    KEYS(D, U, uint32_t, narrow)                                                                             \
    LOAD(D, U, simd_narrow, 32, narrow)                                                                      \
    STORE(D, U, simd_narrow, 32, narrow)
#define WIDE(D, U)                                                                                           \
    KEYS(D, U, uint64_t, wide)                                                                               \
    LOAD(D, U, simd_wide, 64, wide)                                                                          \
    STORE(D, U, simd_wide, 64, wide)
#define EACH_NARROW(X)                                                                                       \
    X(U8, uint8_t)                                                                                           \
    X(I8, uint8_t)                                                                                           \
    X(BOOL, uint8_t)                                                                                         \
    X(I16, uint16_t)                                                                                         \
    X(F16, uint16_t)                                                                                         \
    X(BF16, uint16_t)                                                                                        \
    X(I32, uint32_t)                                                                                         \
    X(F32, uint32_t)                                                                                         \
    X(I64, uint64_t)
#define EACH_WIDE(X)                                                                                         \
    X(I64, uint64_t)                                                                                         \
    X(F64, uint64_t)
EACH_NARROW(NARROW)
EACH_WIDE(WIDE)

#define WIDTH(width, WIDE, KEY)                                                                              \
    void simd_keys_##width(const simd_order *o, simd_line x, int64_t begin, int64_t n, KEY *to) {            \
        switch (o->dtype) { EACH_##WIDE(CASE_KEYS_##WIDE) }                                                  \
    }                                                                                                        \
    void simd_load_##width(const simd_order *o, simd_line x, int64_t begin, int64_t n, simd_##width *to) {   \
        switch (o->dtype) { EACH_##WIDE(CASE_LOAD_##WIDE) }                                                  \
    }                                                                                                        \
    void simd_store_##width(const simd_order *o, const simd_##width *items, int64_t n, simd_line x,          \
                            char *to, int64_t step) {                                                        \
        switch (o->dtype) { EACH_##WIDE(CASE_STORE_##WIDE) }                                                 \
    }
#define CASE_KEYS_NARROW(D, U)                                                                               \
    case RL_##D: keys_narrow_##D(o, x, begin, n, to); break;
#define CASE_LOAD_NARROW(D, U)                                                                               \
    case RL_##D: load_narrow_##D(o, x, begin, n, to); break;
#define CASE_STORE_NARROW(D, U)                                                                              \
    case RL_##D: store_narrow_##D(o, items, n, x, to, step); break;
#define CASE_KEYS_WIDE(D, U)                                                                                 \
    case RL_##D: keys_wide_##D(o, x, begin, n, to); break;
#define CASE_LOAD_WIDE(D, U)                                                                                 \
    case RL_##D: load_wide_##D(o, x, begin, n, to); break;
#define CASE_STORE_WIDE(D, U)                                                                                \
    case RL_##D: store_wide_##D(o, items, n, x, to, step); break;
WIDTH(narrow, NARROW, uint32_t)
WIDTH(wide, WIDE, uint64_t)

/* ---- which keys a call has ---- */
typedef struct {
    int64_t least, most;
} range;
typedef struct {
    const rl_walk *w;
    rl_rooms found; /* a range of each thread */
} range_job;
#define RANGE_STRIP(T)                                                                                       \
    static void range_##T(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                 \
        range *r = (range *)ctx;                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const int64_t x = *(const T *)(p[0] + i * step[0]);                                              \
            r->least = x < r->least ? x : r->least;                                                          \
            r->most = x > r->most ? x : r->most;                                                             \
        }                                                                                                    \
    }
RANGE_STRIP(int32_t)
RANGE_STRIP(int64_t)
#define RANGE_PART(T)                                                                                        \
    static void range_part_##T(void *ctx, int64_t begin, int64_t end, int thread) {                          \
        const range_job *j = ctx;                                                                            \
        rl_walk_range(j->w, begin, end, range_##T, rl_room(&j->found, thread));                              \
    }
RANGE_PART(int32_t)
RANGE_PART(int64_t)

/* the smallest and the largest element of argument 0 */
static rl_status range_of(rl_call *k, range *all) {
    const rl_view *x = k->arg[0].u.t;
    rl_walk w;
    range_job j = {.w = &w};
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(1), sizeof(range), &j.found)) return RL_FAIL;
    *all = (range){INT64_MAX, INT64_MIN};
    for (int t = 0; t < k->threads; t++) *(range *)rl_room(&j.found, t) = *all;
    rl_walk_begin(&w, x, RL_READ);
    rl_walk_sort(&w, 0);
    rl_walk_merge(&w);
    k->svc->parallel(k, w.numel, 1, x->dtype == RL_I32 ? range_part_int32_t : range_part_int64_t, &j);
    for (int t = 0; t < k->threads; t++) {
        const range *r = (const range *)rl_room(&j.found, t);
        if (r->least < all->least) all->least = r->least;
        if (r->most > all->most) all->most = r->most;
    }
    return RL_OK;
}

static const uint64_t nan_keys[RL_NDTYPES] = {
    [RL_F16] = UINT16_MAX, [RL_BF16] = UINT16_MAX, [RL_F32] = UINT32_MAX, [RL_F64] = UINT64_MAX};

rl_status simd_order_begin(rl_call *k, simd_order *o, bool descending, bool shrunk) {
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    *o = (simd_order){.dtype = dtype, .bits = 8 * (int)rl_itemsize(dtype)};
    if (dtype == RL_BOOL) o->bits = 1;
    const uint64_t ones = ~(uint64_t)0 >> (64 - o->bits);
    o->flip = descending ? ones : 0;
    o->nan = nan_keys[dtype] ^ (nan_keys[dtype] ? o->flip : 0);
    if (shrunk && (dtype == RL_I64 || dtype == RL_I32)) {
        range r;
        const uint64_t start = (uint64_t)1 << (o->bits - 1);
        if (range_of(k, &r) != RL_OK) return RL_FAIL;
        const uint64_t size = (uint64_t)r.most - (uint64_t)r.least;
        o->base = ((((uint64_t)(descending ? r.most : r.least) & ones) ^ start) ^ o->flip) & ones;
        o->bits = size ? 64 - __builtin_clzll(size) : 0;
    }
    o->wide = o->bits > 32;
    return RL_OK;
}
