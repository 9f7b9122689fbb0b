/* Random integers and permutations: Note [Draws] in random.c. */
#include "random.h"
#include "kernels/shared/random_range.h"

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

static rl_status integer_fill(rl_call *k, const rl_random_range *range) {
    rl_random r = {.from = range->from, .range = range->range};
    r.draw = range->is_wide ? wide_integers : integers;
    return rl_random_run(k, &r, NULL, 0);
}

RL_KERNEL(ref_randint) {
    rl_random_range range;
    return rl_random_between(k, false, &range) == RL_OK ? integer_fill(k, &range) : RL_FAIL;
}
RL_KERNEL(ref_randint_like_tensor) { /* (input, high) */
    const rl_view *high = k->arg[1].u.t;
    rl_random_range range;
    int64_t most;
    const double x = rl_row_double(high->dtype, rl_const_data(high));
    if (rl_is_float(high->dtype))
        most = x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
    else
        rl_row_ints(high->dtype, rl_const_data(high), 0, 1, &most);
    return rl_random_below(k, most, &range) == RL_OK ? integer_fill(k, &range) : RL_FAIL;
}
RL_KERNEL(ref_random) {
    rl_random_range range;
    return rl_random_of_dtype(k, &range) == RL_OK ? integer_fill(k, &range) : RL_FAIL;
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
    if (rl_random_begin(k, &r) != RL_OK || rl_random_holds(k, out->dtype, n) != RL_OK) return RL_FAIL;
    order = out->dtype == RL_I64 ? rl_data(out, RL_WRITE) : k->svc->scratch(k, RL_COUNT(n), sizeof *order);
    if (!order) return RL_FAIL;
    (n < UINT32_MAX / 20 ? shuffle : shuffle_many)(r.g, order, n);
    if (out->dtype != RL_I64)
        rl_row_put_ints(out->dtype, rl_data(out, RL_WRITE), rl_itemsize(out->dtype), n, order);
    return RL_OK;
}
