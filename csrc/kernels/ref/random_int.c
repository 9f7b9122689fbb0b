/* Random integers and permutations: Note [Draws] in random.c. */
#include "random.h"

static void wide_integers(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    uint32_t words[2 * RL_DRAWS];
    int64_t x[RL_DRAWS];
    rl_draw_words(r->g, words, 2 * n);
    const uint64_t last = r->range - 1; /* of a power of two: a mask */
    for (int64_t i = 0; i < n; i++) x[i] = (int64_t)((uint64_t)words[2 * i] << 32 | words[2 * i + 1]);
    if (!(r->range & last))
        for (int64_t i = 0; i < n; i++) x[i] = RL_WRAP(x[i] & (int64_t)last, +, r->from);
    else
        for (int64_t i = 0; i < n; i++) x[i] = RL_WRAP((uint64_t)x[i] % r->range, +, r->from);
    rl_row_put_ints(r->dtype, p[0], step[0], n, x);
}

static void integers(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    const uint32_t range = (uint32_t)r->range; /* 0: more than a word holds */
    uint32_t words[RL_DRAWS];
    int64_t x[RL_DRAWS];
    rl_draw_words(r->g, words, n);
    for (int64_t i = 0; i < n; i++) x[i] = RL_WRAP(range ? words[i] % range : words[i], +, r->from);
    rl_row_put_ints(r->dtype, p[0], step[0], n, x);
}

/* Bounds that a float cannot hold move inwards, and with them the range: steps of the dtype's last bit. */
static int64_t last_bit(int64_t bound, int digits) {
    int n = 63 - __builtin_clzll(bound < 0 ? 0 - (uint64_t)bound : (uint64_t)bound);
    return (int64_t)1 << (n - digits + 1);
}

static const int8_t digits[RL_NDTYPES] = {[RL_F16] = 11, [RL_F32] = 24, [RL_F64] = 53, [RL_BF16] = 8};

static void float_bounds(int dtype, int64_t *from, int64_t *to) {
    char element[8];
    double low, high;
    int64_t moved;
    rl_row_put_double(dtype, element, (double)(*from + 1));
    low = rl_row_double(dtype, element);
    rl_row_put_double(dtype, element, (double)(*to - 1));
    high = rl_row_double(dtype, element);
    if (low >= -0x1p63 && low < 0x1p63 && (int64_t)low < *from &&
        !__builtin_add_overflow((int64_t)low, last_bit(*from + 1, digits[dtype]), &moved))
        *from = moved;
    if (high >= -0x1p63 && high < 0x1p63 && (int64_t)high >= *to &&
        !__builtin_sub_overflow((int64_t)high, last_bit(*to - 1, digits[dtype]), &moved))
        *to = moved;
}

/* the largest number below which the dtype holds all, itself included */
static int64_t last_exact(int dtype) {
    static const int64_t high[RL_NDTYPES] = {UINT8_MAX, INT8_MAX,  INT16_MAX,
                                             INT32_MAX, INT64_MAX, [RL_BOOL] = 1};
    return rl_is_float(dtype) ? (int64_t)1 << digits[dtype] : high[dtype];
}

/* attr[0], attr[1]: from and to; open: the last exact number stands for to, and is drawn, too */
static rl_status integer_fill(rl_call *k, bool open) {
    static const int64_t low[RL_NDTYPES] = {
        [RL_I8] = INT8_MIN, [RL_I16] = INT16_MIN, [RL_I32] = INT32_MIN, [RL_F16] = -65504};
    static const int64_t high[RL_NDTYPES] = {[RL_U8] = UINT8_MAX,  [RL_I8] = INT8_MAX, [RL_I16] = INT16_MAX,
                                             [RL_I32] = INT32_MAX, [RL_BOOL] = 1,      [RL_F16] = 65504};
    static const char *const names[RL_NDTYPES] = {
        "unsigned char", "signed char",          "short int",       "int",
        "int64_t",       [RL_F16] = "c10::Half", [RL_BOOL] = "bool"};
    int dtype = k->out[0]->dtype;
    rl_random r = {.from = k->attr[0]};
    int64_t last = open ? last_exact(dtype) : k->attr[1] - 1;
    if (rl_is_float(dtype) && r.from < INT64_MAX && last < INT64_MAX) {
        int64_t to = last + 1;
        float_bounds(dtype, &r.from, &to);
        if (!open) last = to - 1;
    }
    if (names[dtype] && dtype != RL_I64) {
        if (r.from < low[dtype] || r.from > high[dtype])
            return rl_fail(k, RL_RUNTIME, "from is out of bounds for %s", names[dtype]);
        if (last < low[dtype] || last > high[dtype])
            return rl_fail(k, RL_RUNTIME, "to - 1 is out of bounds for %s", names[dtype]);
    }
    if (rl_is_float(dtype) && (open ? r.from >= last : r.from > last))
        return rl_fail(k, RL_RUNTIME,
                       open ? "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' "
                              "casted to dtype, but got from=%lld > to_inc=%lld"
                            : "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                              "but got from=%lld >= to=%lld",
                       (long long)r.from, (long long)last + !open);
    r.range = (uint64_t)last - (uint64_t)r.from + 1;
    r.draw = r.range >= 1u << 28 ? wide_integers : integers;
    return rl_random_run(k, &r, NULL, 0);
}

RL_KERNEL(ref_randint) {
    return integer_fill(k, false);
}
RL_KERNEL(ref_randint_like_tensor) { /* (input, high) */
    const rl_view *high = k->arg[1].u.t;
    double x = rl_row_double(high->dtype, rl_const_data(high));
    k->attr[0] = 0;
    if (rl_is_float(high->dtype))
        k->attr[1] = x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
    else
        rl_row_ints(high->dtype, rl_const_data(high), 0, 1, &k->attr[1]);
    if (k->attr[1] <= 0)
        return rl_fail(k, RL_RUNTIME,
                       "random_ expects 'from' to be less than 'to', but got from=0 >= to=%lld",
                       (long long)k->attr[1]);
    return integer_fill(k, false);
}
RL_KERNEL(ref_random) { /* attr[2]: 1: from, but no to; 2: neither */
    int dtype = k->out[0]->dtype;
    rl_random r = {.draw = dtype == RL_I64 || dtype == RL_F64 ? wide_integers : integers};
    if (k->attr[2] == 2) {
        r.range = (uint64_t)last_exact(dtype) + 1;
        return rl_random_run(k, &r, NULL, 0);
    }
    if (k->attr[2] == 0 || k->attr[0] != INT64_MIN) return integer_fill(k, k->attr[2] == 1);
    if (dtype == RL_F16 || dtype == RL_BOOL)
        return rl_fail(k, RL_NOTIMPL, "\"random_full_64_bits_range_kernel_cpu\" not implemented for '%s'",
                       dtype == RL_F16 ? "Half" : "Bool");
    if (dtype != RL_I64 && !rl_is_float(dtype))
        return rl_fail(k, RL_RUNTIME,
                       "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
    r.draw = wide_integers;
    return rl_random_run(k, &r, NULL, 0);
}

/* ---- permutations ---- */
/* From the front, each with one that follows. Picks are drawn and asked for before they change places: what
 * lies far away comes meanwhile. */
static void shuffle(rl_generator *g, int64_t *order, int64_t n) {
    uint32_t words[RL_DRAWS];
    int64_t pick[RL_DRAWS];
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t at = 0, m; at < n - 1; at += m) {
        m = n - 1 - at < RL_DRAWS ? n - 1 - at : RL_DRAWS;
        rl_draw_words(g, words, m);
        for (int64_t i = 0; i < m; i++) {
            pick[i] = at + i + words[i] % (uint32_t)(n - at - i);
            __builtin_prefetch(order + pick[i], 1);
        }
        for (int64_t i = 0; i < m; i++) {
            int64_t t = order[at + i];
            order[at + i] = order[pick[i]];
            order[pick[i]] = t;
        }
    }
}

/* Where one word is too few, PyTorch goes the other way: each takes the place of one before it. */
static void shuffle_many(rl_generator *g, int64_t *order, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const uint64_t pick = rl_random64(g) % (uint64_t)(i + 1);
        order[i] = i;
        order[i] = order[pick];
        order[pick] = i;
    }
}

RL_KERNEL(ref_randperm) {
    const rl_view *out = k->out[0];
    int64_t n = out->numel, *order;
    rl_random r = {.g = NULL};
    static const int64_t most[RL_NDTYPES] = {[RL_F16] = 2049, [RL_F32] = (1 << 24) + 1};
    static const char *const titles[RL_NDTYPES] = {[RL_F16] = "Half", [RL_F32] = "Float"};
    static const char *const types[RL_NDTYPES] = {"uint8_t", "int8_t", "int16_t", "int"};
    static const int64_t top[RL_NDTYPES] = {UINT8_MAX, INT8_MAX, INT16_MAX, INT32_MAX};
    if (rl_random_begin(k, &r) != RL_OK) return RL_FAIL;
    if (titles[out->dtype] && n > most[out->dtype])
        return rl_fail(k, RL_RUNTIME, "n cannot be greater than %lld for %s type.",
                       (long long)most[out->dtype], titles[out->dtype]);
    if (types[out->dtype] && n > top[out->dtype])
        return rl_fail(k, RL_RUNTIME, "value cannot be converted to type %s without overflow",
                       types[out->dtype]);
    order = out->dtype == RL_I64 ? rl_data(out, RL_WRITE) : k->svc->scratch(k, RL_COUNT(n), sizeof *order);
    if (!order) return RL_FAIL;
    (n < UINT32_MAX / 20 ? shuffle : shuffle_many)(r.g, order, n);
    if (out->dtype != RL_I64)
        rl_row_put_ints(out->dtype, rl_data(out, RL_WRITE), rl_itemsize(out->dtype), n, order);
    return RL_OK;
}
