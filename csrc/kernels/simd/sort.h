/* Elements in order by integer keys. */
#ifndef RL_SIMD_SORT_H
#define RL_SIMD_SORT_H
#include "common.h"
#include "kernels/shared/along.h"

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
    SIMD_SORT_MOST = INT32_MAX, /* elements of a line */
    SIMD_SORT_FEW = 200,        /* fewer items are merged, more are sorted by digits */
    SIMD_SORT_WIDER = 8192,     /* as many items are worth digits of SIMD_DIGIT_BITS, not 8 */
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
} simd_line;

/* shrunk: looks for the smallest and the largest integer, else all bits of a key may differ */
rl_status simd_order_begin(rl_call *k, simd_order *o, bool descending, bool shrunk);
/* Keys and items of elements [begin, begin + n) of a line. */
void simd_keys_narrow(const simd_order *o, simd_line x, int64_t begin, int64_t n, uint32_t *to);
void simd_keys_wide(const simd_order *o, simd_line x, int64_t begin, int64_t n, uint64_t *to);
void simd_load_narrow(const simd_order *o, simd_line x, int64_t begin, int64_t n, simd_narrow *to);
void simd_load_wide(const simd_order *o, simd_line x, int64_t begin, int64_t n, simd_wide *to);
/* The elements of n items of a line. */
void simd_store_narrow(const simd_order *o, const simd_narrow *items, int64_t n, simd_line x, char *to,
                       int64_t step);
void simd_store_wide(const simd_order *o, const simd_wide *items, int64_t n, simd_line x, char *to,
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
#endif
