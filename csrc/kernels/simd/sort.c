/* Order: sorting, topk, selection, by keys that sort as the elements do. */
#include "common.h"
#include "kernels/shared/along.h"
#include <string.h>

/* ---- elements in order by integer keys ---- */
/* Note [Items]
 * An element becomes an unsigned key that goes up as the elements do (or down, if asked for), and a key with
 * the place of its element below it one number, an item:
 *
 *     narrow  63 .... key .... 32 | 31 ... place ... 0
 *     wide    127 ... key .... 64 | 63 ... place ... 0       where a key has more than 32 bits
 *
 * No two items are equal, so whatever sorts them is stable, and all ways give the same order. NaNs have one
 * key, the largest, and both zeros have one: such elements are fetched from their places, the others are made
 * of their keys. Keys of integers begin at the smallest of the call, so that int64s which lie close together
 * are narrow, and `bits` tells how many of a key may differ. */
typedef uint64_t simd_narrow;
typedef unsigned __int128 simd_wide;
typedef struct {
    int dtype, bits;
    bool wide;
    uint64_t flip, base; /* key = (what the element alone gives ^ flip) - base */
    uint64_t nan;        /* the key of NaN; 0 for integers */
} simd_order;
enum {
    SIMD_SORT_MAX = INT32_MAX, /* elements of a line */
    SIMD_SORT_FEW = 200,       /* fewer items are merged, more are sorted by digits */
    SIMD_SORT_WIDER = 8192,    /* as many items are worth digits of SIMD_DIGIT_BITS, not 8 */
    SIMD_DIGIT_BITS = 11,
    SIMD_DIGITS = 1 << SIMD_DIGIT_BITS,
    SIMD_SORT_LONG = 1 << 15, /* as many items are worth several threads */
    SIMD_TOPK_FEW = 24,       /* so many are kept in order while the others pass by */
    SIMD_SORT_CHUNK = 128,    /* elements that are looked at before one is kept */
    SIMD_SORT_TILE = 16,      /* neighbouring lines that are read at once */
};

typedef struct {
    const char *p; /* its first element, and byte steps */
    int64_t step;
} simd_sort_line;

/* shrunk: looks for the smallest and the largest integer, else all bits of a key may differ */
rl_status simd_order_begin(rl_call *k, simd_order *o, bool descending, bool shrunk);
/* Keys and items of elements [begin, begin + n) of a line. */
void simd_keys_narrow(const simd_order *o, simd_sort_line x, int64_t begin, int64_t n, uint32_t *to);
void simd_keys_wide(const simd_order *o, simd_sort_line x, int64_t begin, int64_t n, uint64_t *to);
void simd_load_narrow(const simd_order *o, simd_sort_line x, int64_t begin, int64_t n, simd_narrow *to);
void simd_load_wide(const simd_order *o, simd_sort_line x, int64_t begin, int64_t n, simd_wide *to);
/* The elements of n items of a line. */
void simd_store_narrow(const simd_order *o, const simd_narrow *items, int64_t n, simd_sort_line x, char *to,
                       int64_t step);
void simd_store_wide(const simd_order *o, const simd_wide *items, int64_t n, simd_sort_line x, char *to,
                     int64_t step);

typedef struct {
    rl_rooms rooms; /* each with two arrays of items, */
    int64_t a, b;   /*   which lie there */
} simd_pairs;
typedef enum { SIMD_SORT, SIMD_TOPK, SIMD_KTH, SIMD_MEDIAN, SIMD_NANMEDIAN, SIMD_MODE } simd_sort_kind;
typedef struct {
    simd_sort_kind kind;
    int places;    /* which output the places are, -1: none; all others are elements */
    bool sifted;   /* the kept ones are a small part: the others pass by */
    int64_t keep;  /* elements of an output's line */
    int64_t place; /* SIMD_KTH: which one, from 0 */
    rl_call *k;
    rl_along along;
    simd_order order;
    int64_t blocks;     /* of a line that all threads sift together; 0: none is */
    simd_pairs threads; /* of each thread, or one for all of them, */
    simd_pairs sifts;   /*   and of each block */
    rl_rooms tiles;     /* SIMD_SORT_TILE lines of each thread, NULL: lines are read where they lie */
    rl_rooms counts;    /* SIMD_DIGITS of each thread */
} simd_sort_job;

/* ---- sorting and selection along a dimension ---- */
/* ---- tiles ---- */
/* Lines whose elements lie apart, next to other lines: copied several at once, a line after the other. */
typedef struct {
    int64_t begin, end; /* the lines that are there */
} simd_tile;

static void tile_copy(int64_t item, const char *from, int64_t step, int64_t n, int64_t lines, char *to) {
    switch (item) {
#define CASE(T)                                                                                              \
    case sizeof(T):                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                                      \
            for (int64_t j = 0; j < lines; j++) ((T *)to)[j * n + i] = ((const T *)(from + i * step))[j];    \
        break;
        CASE(uint8_t)
        CASE(uint16_t)
        CASE(uint32_t)
        CASE(uint64_t)
#undef CASE
    }
}

static simd_sort_line simd_tile_line(const simd_sort_job *job, simd_tile *tile, simd_sort_line x,
                                     int64_t line, int64_t end, int thread) {
    const rl_iter *w = &job->along.lines;
    const int64_t n = job->along.n, item = rl_itemsize(job->order.dtype), inner = w->size[w->ndim - 1];
    char *to = rl_room(&job->tiles, thread);
    if (line >= tile->end) {
        tile->begin = line;
        tile->end = simd_min(end, line + simd_min(SIMD_SORT_TILE, inner - line % inner));
        tile_copy(item, x.p, x.step, n, tile->end - line, to);
    }
    return (simd_sort_line){to + (line - tile->begin) * n * item, item};
}

/* memory for them, where it is worth that */
RL_CHOOSER
static void tiles_begin(rl_call *k, simd_sort_job *job) {
    const rl_along *a = &job->along;
    const rl_iter *w = &a->lines;
    const int64_t item = rl_itemsize(rl_tensor_arg(k, 0)->dtype);
    const bool apart = w->ndim && w->stride[a->in][w->ndim - 1] == item && a->step[a->in] != item;
    if (apart && a->n < SIMD_SORT_LONG)
        rl_thread_rooms(k, k->threads, RL_COUNT(SIMD_SORT_TILE, a->n), item, &job->tiles);
}

/* ---- memory of items ---- */
static rl_layout pairs_layout(const rl_call *k, simd_pairs *p, int64_t n, int64_t item) {
    rl_layout l = rl_layout_begin(k);
    p->a = rl_layout_add(&l, RL_COUNT(n), item);
    p->b = rl_layout_add(&l, RL_COUNT(n), item);
    return l;
}
/* twice n items, in so many rooms */
static bool pairs_begin(rl_call *k, int64_t rooms, int64_t n, int64_t item, simd_pairs *to) {
    const rl_layout l = pairs_layout(k, to, n, item);
    return k->svc->rooms(k, &l, rooms, &to->rooms);
}

/* How many blocks of a line are worth sifting at once, each longer than job->keep; 0: none. */
static int64_t sift_count(const simd_sort_job *job) {
    const int64_t blocks = simd_min(64, job->along.n / simd_max(SIMD_SORT_LONG, 16 * job->keep));
    return blocks < 2 ? 0 : blocks;
}

/* ---- both widths ---- */
#define ITEM       simd_narrow
#define KEY        uint32_t
#define PLACE_BITS 32
#define I_NAME(f)  f##_narrow
#include "sort_items_impl.inc"
#include "sort_lines_impl.inc"
#undef ITEM
#undef KEY
#undef PLACE_BITS
#undef I_NAME
#define ITEM       simd_wide
#define KEY        uint64_t
#define PLACE_BITS 64
#define I_NAME(f)  f##_wide
#include "sort_items_impl.inc"
#include "sort_lines_impl.inc"

/* k: dim in attr[0] */
RL_CHOOSER
static rl_status run(rl_call *k, simd_sort_kind kind, bool descending, int64_t place) {
    simd_sort_job job = {.kind = kind, .k = k, .place = place};
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const int64_t dim = k->attr[0], n = dim < 0 ? x->numel : x->ndim ? x->shape[dim] : 1;
    if (n == 0 || n > SIMD_SORT_MAX) return RL_UNSUPPORTED;
    if (rl_along_begin(k, &job.along) != RL_OK) return RL_FAIL;
    if (job.along.lines.numel == 0) return RL_OK;
    job.keep = kind >= SIMD_KTH ? 1 : out->ndim ? out->shape[dim] : 1;
    job.places = kind >= SIMD_KTH && k->n_out == 1 ? -1 : k->n_out - 1;
    job.sifted =
        kind == SIMD_TOPK && n > (job.keep > SIMD_TOPK_FEW ? 3 * job.keep + 2 * SIMD_SORT_CHUNK : job.keep);
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(SIMD_DIGITS), sizeof(uint32_t), &job.counts) ||
        simd_order_begin(k, &job.order, descending, !job.sifted) != RL_OK)
        return RL_FAIL;
    tiles_begin(k, &job);
    return job.order.wide ? lines_wide(&job) : lines_narrow(&job);
}

RL_KERNEL(simd_sort) {
    return run(k, SIMD_SORT, k->attr[1] != 0, 0);
}
RL_KERNEL(simd_topk) {
    return run(k, SIMD_TOPK, k->attr[1] != 0, 0);
}
RL_KERNEL(simd_kthvalue) {
    return run(k, SIMD_KTH, false, k->attr[1] - 1);
}
RL_KERNEL(simd_median) {
    return run(k, SIMD_MEDIAN, false, 0);
}
RL_KERNEL(simd_nanmedian) {
    return run(k, SIMD_NANMEDIAN, false, 0);
}
RL_KERNEL(simd_mode) {
    return run(k, SIMD_MODE, false, 0);
}

/* ---- elements to items and back: Note [Items] in sort.c ---- */
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
    static void keys_##width##_##D(const simd_order *o, simd_sort_line x, int64_t begin, int64_t n,          \
                                   KEY *to) {                                                                \
        EACH_ELEMENT(U, to[i] = KEY_AT(D, U, p))                                                             \
    }
#define LOAD(D, U, ITEM, PLACES, width)                                                                      \
    static void load_##width##_##D(const simd_order *o, simd_sort_line x, int64_t begin, int64_t n,          \
                                   ITEM *to) {                                                               \
        EACH_ELEMENT(U, to[i] = (ITEM)KEY_AT(D, U, p) << PLACES | (ITEM)(begin + i))                         \
    }
#define STORE(D, U, ITEM, PLACES, width)                                                                     \
    static void store_##width##_##D(const simd_order *o, const ITEM *items, int64_t n, simd_sort_line x,     \
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
    void simd_keys_##width(const simd_order *o, simd_sort_line x, int64_t begin, int64_t n, KEY *to) {       \
        switch (o->dtype) { EACH_##WIDE(CASE_KEYS_##WIDE) }                                                  \
    }                                                                                                        \
    void simd_load_##width(const simd_order *o, simd_sort_line x, int64_t begin, int64_t n,                  \
                           simd_##width *to) {                                                               \
        switch (o->dtype) { EACH_##WIDE(CASE_LOAD_##WIDE) }                                                  \
    }                                                                                                        \
    void simd_store_##width(const simd_order *o, const simd_##width *items, int64_t n, simd_sort_line x,     \
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
    const rl_iter *w;
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
        rl_iter_range(j->w, begin, end, range_##T, rl_room(&j->found, thread));                              \
    }
RANGE_PART(int32_t)
RANGE_PART(int64_t)

/* the smallest and the largest element of argument 0 */
static rl_status range_of(rl_call *k, range *all) {
    const rl_view *x = k->arg[0].u.t;
    rl_iter w;
    range_job j = {.w = &w};
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(1), sizeof(range), &j.found)) return RL_FAIL;
    *all = (range){INT64_MAX, INT64_MIN};
    for (int t = 0; t < k->threads; t++) *(range *)rl_room(&j.found, t) = *all;
    rl_iter_begin(&w, x, RL_READ);
    rl_iter_sort(&w, 0);
    rl_iter_merge(&w);
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
