/* Items in order (Note [Items] in sort.h). Included for ITEM = simd_narrow and simd_wide, with PLACE_BITS and
 * I_NAME(f), the name of a function for that width. */

#undef DIGIT
#undef PLACE
#undef EXCHANGE
#define DIGIT(item, shift) ((uint32_t)((uint64_t)((item) >> PLACE_BITS) >> (shift)))
#define PLACE(item)        ((int64_t)((item) & (((ITEM)1 << PLACE_BITS) - 1)))

/* ---- few items: networks of eight, then merges ---- */
static inline void I_NAME(exchange)(ITEM *x, ITEM *y) {
    const ITEM low = *x < *y ? *x : *y, high = *x < *y ? *y : *x;
    *x = low, *y = high;
}
#define EXCHANGE(x, y) I_NAME(exchange)(&x, &y)
static void I_NAME(eight)(ITEM *at) {
    ITEM a = at[0], b = at[1], c = at[2], d = at[3], e = at[4], f = at[5], g = at[6], h = at[7];
    EXCHANGE(a, c), EXCHANGE(b, d), EXCHANGE(e, g), EXCHANGE(f, h);
    EXCHANGE(a, e), EXCHANGE(b, f), EXCHANGE(c, g), EXCHANGE(d, h);
    EXCHANGE(a, b), EXCHANGE(c, d), EXCHANGE(e, f), EXCHANGE(g, h);
    EXCHANGE(c, e), EXCHANGE(d, f);
    EXCHANGE(b, e), EXCHANGE(d, g);
    EXCHANGE(b, c), EXCHANGE(d, e), EXCHANGE(f, g);
    at[0] = a, at[1] = b, at[2] = c, at[3] = d, at[4] = e, at[5] = f, at[6] = g, at[7] = h;
}

static void I_NAME(insert)(ITEM *at, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const ITEM item = at[i];
        int64_t j = i;
        for (; j > 0 && item < at[j - 1]; j--) at[j] = at[j - 1];
        at[j] = item;
    }
}

/* Two sorted runs of equal length, from both ends at once: neither end can leave its run. */
static void I_NAME(merge)(const ITEM *a, int64_t n, ITEM *to) {
    const ITEM *b = a + n, *last_a = b - 1, *last_b = b + n - 1;
    for (int64_t i = 0, end = 2 * n - 1; i < n; i++, end--) {
        const bool second = *b < *a, first = *last_b < *last_a;
        to[i] = second ? *b : *a;
        b += second, a += !second;
        to[end] = first ? *last_a : *last_b;
        last_a -= first, last_b -= !first;
    }
}

static void I_NAME(merge_rest)(const ITEM *a, int64_t n_a, int64_t n_b, ITEM *to) {
    const ITEM *b = a + n_a, *end_a = b, *end_b = b + n_b;
    while (a < end_a && b < end_b) {
        const bool second = *b < *a;
        *to++ = second ? *b : *a;
        b += second, a += !second;
    }
    while (a < end_a) *to++ = *a++;
    while (b < end_b) *to++ = *b++;
}

/* Answers with the one of both arrays that has the sorted items. */
static ITEM *I_NAME(sort_few)(ITEM *a, ITEM *b, int64_t n) {
    int64_t low = 0;
    for (; low + 8 <= n; low += 8) I_NAME(eight)(a + low);
    I_NAME(insert)(a + low, n - low);
    for (int64_t run = 8; run < n; run *= 2) {
        for (low = 0; low + 2 * run <= n; low += 2 * run) I_NAME(merge)(a + low, run, b + low);
        const int64_t first = simd_min(run, n - low);
        I_NAME(merge_rest)(a + low, first, n - low - first, b + low);
        ITEM *sorted = b;
        b = a, a = sorted;
    }
    return a;
}

/* ---- many: from the lowest digit to the highest, in blocks of their own counts ---- */
typedef struct {
    const ITEM *from;
    ITEM *to;
    int64_t n, block;
    int shift, width;
    rl_rooms counts; /* SIMD_DIGITS of each block */
} I_NAME(pass);

static void I_NAME(count)(void *ctx, int64_t begin, int64_t end, int thread) {
    const I_NAME(pass) *p = ctx;
    const uint32_t mask = (1u << p->width) - 1;
    const int shift = p->shift;
    (void)thread;
    for (int64_t b = begin; b < end; b++) {
        uint32_t *counts = (uint32_t *)rl_room(&p->counts, b);
        memset(counts, 0, sizeof *counts << p->width);
        for (int64_t i = b * p->block, last = simd_min(p->n, i + p->block); i < last; i++)
            counts[DIGIT(p->from[i], shift) & mask]++;
    }
}

static void I_NAME(spread)(void *ctx, int64_t begin, int64_t end, int thread) {
    const I_NAME(pass) *p = ctx;
    const uint32_t mask = (1u << p->width) - 1;
    const int shift = p->shift;
    (void)thread;
    for (int64_t b = begin; b < end; b++) {
        uint32_t *places = (uint32_t *)rl_room(&p->counts, b);
        for (int64_t i = b * p->block, last = simd_min(p->n, i + p->block); i < last; i++) {
            const ITEM item = p->from[i];
            p->to[places[DIGIT(item, shift) & mask]++] = item;
        }
    }
}

/* Counts become places; false: all have the same digit. */
static bool I_NAME(places)(const I_NAME(pass) * p, int64_t blocks) {
    rl_rooms counts = p->counts; /* of digit d */
    uint32_t at = 0;
    for (int d = 0; d < 1 << p->width; d++, counts.base += sizeof(uint32_t)) {
        const uint32_t before = at;
        for (int64_t b = 0; b < blocks; b++) {
            uint32_t *count = (uint32_t *)rl_room(&counts, b), own = *count;
            *count = at;
            at += own;
        }
        if (at - before == p->n) return false;
    }
    return true;
}

static void I_NAME(each_block)(rl_call *team, int64_t blocks, int64_t n, I_NAME(pass) * p,
                               void (*body)(void *, int64_t, int64_t, int)) {
    if (blocks > 1)
        team->svc->parallel(team, blocks, 2 * (double)n / (double)blocks, body, p);
    else
        body(p, 0, 1, 0);
}

/* team: who helps, or NULL */
static ITEM *I_NAME(sort)(const simd_sort_job *job, rl_call *team, ITEM *a, ITEM *b, int64_t n,
                          uint32_t *counts) {
    if (n < SIMD_SORT_FEW) return I_NAME(sort_few)(a, b, n);
    const int bits = job->order.bits, most = n < SIMD_SORT_WIDER ? 8 : SIMD_DIGIT_BITS;
    const int passes = simd_max(1, (bits + most - 1) / most), width = (bits + passes - 1) / passes;
    const int64_t blocks = team && n > SIMD_SORT_LONG ? team->threads : 1;
    const rl_rooms rooms = blocks > 1 ? job->counts : (rl_rooms){(char *)counts, 0};
    for (int shift = 0; shift < bits; shift += width) {
        I_NAME(pass)
        p = {a, b, n, simd_ceil_div(n, blocks), shift, (int)simd_min(width, bits - shift), rooms};
        I_NAME(each_block)(team, blocks, n, &p, I_NAME(count));
        if (!I_NAME(places)(&p, blocks)) continue;
        I_NAME(each_block)(team, blocks, n, &p, I_NAME(spread));
        b = a, a = p.to;
    }
    return a;
}

/* ---- selection: from the highest digit down, among those of the digit in question ---- */
/* The k smallest of a[0, n) to its front; items of one key stay in order. b is room for n. Answers with the
 * largest of these. */
static ITEM I_NAME(select)(const simd_sort_job *job, ITEM *a, ITEM *b, int64_t n, int64_t k,
                           uint32_t *counts) {
    int64_t done = 0;
    ITEM *from = a;
    for (int shift = job->order.bits; shift > 0 && n > k - done && n >= SIMD_SORT_FEW;) {
        const int width = (int)simd_min(shift, n < SIMD_SORT_WIDER ? 8 : SIMD_DIGIT_BITS);
        shift -= width;
        I_NAME(pass) p = {from, NULL, n, n, shift, width, {(char *)counts, 0}};
        I_NAME(count)(&p, 0, 1, 0);
        const uint32_t mask = (1u << width) - 1;
        uint32_t wanted = 0;
        for (int64_t below = counts[0]; below < k - done; below += counts[wanted]) wanted++;
        int64_t left = 0;
        for (int64_t i = 0; i < n; i++) {
            const ITEM item = from[i];
            const uint32_t digit = DIGIT(item, shift) & mask;
            a[done] = item;
            done += digit < wanted;
            b[left] = item;
            left += digit == wanted;
        }
        from = b, n = left;
    }
    ITEM *rest =
        n > k - done && n < SIMD_SORT_FEW ? I_NAME(sort_few)(from, from == a ? b : a + done, n) : from;
    ITEM largest = 0;
    for (int64_t i = 0; done < k; i++, done++) {
        a[done] = rest[i];
        if (a[done] > largest) largest = a[done];
    }
    return largest;
}
