/* Random numbers, draw for draw as PyTorch's CPU generator hands them out.
 *
 * Note [Draws]
 *   uniform    float32 and halves: 24 bits of one 32-bit draw; float64: 53 bits of two; fused multiply-add
 *   normal     16 or more contiguous elements: blocks of 16 uniforms (8 radii, 8 angles), in float or double;
 *              else pairs in double, the second of which waits in the generator
 *   integers   one draw modulo the range, or two from a range of 2^28 up
 *   bernoulli  53 bits of two draws for each element, whatever the dtype
 * Strided tensors are filled in the order of their memory. */
#include "loops.h"
#include <math.h>
#include <string.h>

static const double two_pi = 6.28318530717958647692;

static float draw_float(rl_generator *g) {
    return (float)(rl_random32(g) & 0xffffff) * 0x1p-24f;
}
static double draw_double(rl_generator *g) {
    return (double)(rl_random64(g) & ((1ull << 53) - 1)) * 0x1p-53;
}

static double draw_normal(rl_generator *g) {
    if (g->has_normal) {
        g->has_normal = false;
        return g->normal;
    }
    double angle = two_pi * draw_double(g), radius = sqrt(-2 * log1p(-draw_double(g)));
    g->normal = radius * sin(angle);
    g->has_normal = true;
    return radius * cos(angle);
}

/* The generator is the argument tagged so; the dispatcher always fills it. */
static rl_generator *generator_of(const rl_call *k) {
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tag == RL_RNG) return k->arg[i].u.g;
    return NULL;
}

typedef struct {
    rl_generator *g;
    int dtype;
    double low, high; /* uniform: bounds; normal: mean and deviation; bernoulli: probability, value */
    int64_t from;
    uint64_t range;  /* 0: all 2^64 numbers */
    bool mask, wide; /* wide: an integer takes 64 bits of the stream */
    void (*draw)(const void *fill, char *to);
} random_fill;

static void fill_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const random_fill *fill = ctx;
    for (int64_t i = 0; i < n; i++) fill->draw(fill, p[0] + i * step[0]);
}

/* A generator is a sequence: never in parallel. */
static rl_status fill_run(rl_call *k, random_fill *fill) {
    rl_walk w;
    fill->g = generator_of(k);
    fill->dtype = k->out[0]->dtype;
    if (!fill->g) return rl_fail(k, RL_RUNTIME, "a random operator was called without a generator");
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_sort(&w, 0);
    rl_walk_merge(&w);
    rl_walk_range(&w, 0, w.numel, fill_strip, fill);
    return RL_OK;
}

/* ---- uniform ---- */
static void uniform_draw(const void *ctx, char *to) {
    const random_fill *fill = ctx;
    if (fill->dtype == RL_F64) {
        rl_row_put_double(RL_F64, to, fma(draw_double(fill->g), fill->high - fill->low, fill->low));
        return;
    }
    float low = (float)fill->low, high = (float)fill->high;
    rl_row_put_double(fill->dtype, to, fmaf(draw_float(fill->g), high - low, low));
    /* rounding to fewer bits must not reach the open end */
    if (fill->dtype != RL_F32 && low < high && rl_row_double(fill->dtype, to) >= high)
        rl_row_put_double(fill->dtype, to, low);
}

RL_KERNEL(ref_uniform) {
    random_fill fill = {.draw = uniform_draw, .low = rl_num(k, 1), .high = rl_num(k, 2)};
    return fill_run(k, &fill);
}

RL_KERNEL(ref_rand) {
    random_fill fill = {.draw = uniform_draw, .low = 0, .high = 1};
    return fill_run(k, &fill);
}

/* ---- normal ---- */
static void normal_draw(const void *ctx, char *to) {
    const random_fill *fill = ctx;
    double x = draw_normal(fill->g) * fill->high + fill->low;
    rl_row_put_double(fill->dtype, to, x);
}

/* 16 uniforms become 16 normals, written at to */
static void block_doubles(const random_fill *fill, const double *u, char *to) {
    double z[16];
    for (int i = 0; i < 8; i++) {
        double radius = sqrt(-2 * log(1 - u[i])), angle = two_pi * u[i + 8];
        z[i] = radius * cos(angle) * fill->high + fill->low;
        z[i + 8] = radius * sin(angle) * fill->high + fill->low;
    }
    rl_row_put_doubles(fill->dtype, to, 8, 16, z);
}

static void block_floats(const random_fill *fill, const float *u, char *to) {
    float low = (float)fill->low, high = (float)fill->high;
    double z[16];
    for (int i = 0; i < 8; i++) {
        float radius = sqrtf(-2 * logf(1 - u[i])), angle = (float)two_pi * u[i + 8];
        z[i] = radius * cosf(angle) * high + low;
        z[i + 8] = radius * sinf(angle) * high + low;
    }
    rl_row_put_doubles(fill->dtype, to, rl_itemsize(fill->dtype), 16, z);
}

/* 16 elements at `at`; float32 and float64 keep all uniforms of the tensor in its own memory first */
static void normal_block(const random_fill *fill, char *memory, int64_t at, bool redraw) {
    char *to = memory + at * rl_itemsize(fill->dtype);
    if (fill->dtype == RL_F64) {
        double u[16];
        memcpy(u, to, sizeof u);
        for (int i = 0; redraw && i < 16; i++) u[i] = draw_double(fill->g);
        block_doubles(fill, u, to);
        return;
    }
    float u[16];
    if (fill->dtype == RL_F32) memcpy(u, to, sizeof u);
    if (fill->dtype != RL_F32) redraw = true;
    for (int i = 0; redraw && i < 16; i++) u[i] = draw_float(fill->g);
    block_floats(fill, u, to);
}

static rl_status normal_fill(rl_call *k, double mean, double deviation) {
    const rl_view *out = k->out[0];
    random_fill fill = {.draw = normal_draw, .low = mean, .high = deviation};
    if (out->numel < 16 || !rl_is_contiguous(out)) return fill_run(k, &fill);
    char *memory = rl_data(out, RL_WRITE);
    if (out->dtype == RL_F32 || out->dtype == RL_F64) {
        random_fill uniform = {.draw = uniform_draw, .low = 0, .high = 1};
        if (fill_run(k, &uniform) != RL_OK) return RL_FAIL;
    }
    fill.g = generator_of(k);
    fill.dtype = out->dtype;
    if (!fill.g) return rl_fail(k, RL_RUNTIME, "a random operator was called without a generator");
    for (int64_t at = 0; at + 16 <= out->numel; at += 16) normal_block(&fill, memory, at, false);
    if (out->numel % 16) normal_block(&fill, memory, out->numel - 16, true);
    return RL_OK;
}

RL_KERNEL(ref_normal) {
    return normal_fill(k, rl_num(k, 1), rl_num(k, 2));
}
RL_KERNEL(ref_randn) {
    return normal_fill(k, 0, 1);
}

/* ---- integers ---- */
static void integer_draw(const void *ctx, char *to) {
    const random_fill *fill = ctx;
    uint64_t draw = fill->wide ? rl_random64(fill->g) : rl_random32(fill->g);
    int64_t x = RL_WRAP(fill->range ? draw % fill->range : draw, +, fill->from);
    rl_row_put_ints(fill->dtype, to, 0, 1, &x);
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
    random_fill fill = {.draw = integer_draw, .from = k->attr[0]};
    int64_t last = open ? last_exact(dtype) : k->attr[1] - 1;
    if (rl_is_float(dtype) && fill.from < INT64_MAX && last < INT64_MAX) {
        int64_t to = last + 1;
        float_bounds(dtype, &fill.from, &to);
        if (!open) last = to - 1;
    }
    if (names[dtype] && dtype != RL_I64) {
        if (fill.from < low[dtype] || fill.from > high[dtype])
            return rl_fail(k, RL_RUNTIME, "from is out of bounds for %s", names[dtype]);
        if (last < low[dtype] || last > high[dtype])
            return rl_fail(k, RL_RUNTIME, "to - 1 is out of bounds for %s", names[dtype]);
    }
    if (rl_is_float(dtype) && (open ? fill.from >= last : fill.from > last))
        return rl_fail(k, RL_RUNTIME,
                       open ? "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' "
                              "casted to dtype, but got from=%lld > to_inc=%lld"
                            : "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                              "but got from=%lld >= to=%lld",
                       (long long)fill.from, (long long)last + !open);
    fill.range = (uint64_t)last - (uint64_t)fill.from + 1;
    fill.wide = fill.range >= 1u << 28;
    return fill_run(k, &fill);
}

RL_KERNEL(ref_randint) {
    return integer_fill(k, false);
}
RL_KERNEL(ref_random) { /* attr[2]: 1: from, but no to; 2: neither */
    int dtype = k->out[0]->dtype;
    random_fill fill = {.draw = integer_draw, .wide = dtype == RL_I64 || dtype == RL_F64};
    if (k->attr[2] == 2) {
        fill.range = (uint64_t)last_exact(dtype) + 1;
        return fill_run(k, &fill);
    }
    if (k->attr[2] == 0 || k->attr[0] != INT64_MIN) return integer_fill(k, k->attr[2] == 1);
    if (dtype == RL_F16 || dtype == RL_BOOL)
        return rl_fail(k, RL_NOTIMPL, "\"random_full_64_bits_range_kernel_cpu\" not implemented for '%s'",
                       dtype == RL_F16 ? "Half" : "Bool");
    if (dtype != RL_I64 && !rl_is_float(dtype))
        return rl_fail(k, RL_RUNTIME,
                       "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
    fill.wide = true;
    return fill_run(k, &fill);
}

RL_KERNEL(ref_randperm) {
    const rl_view *out = k->out[0];
    rl_generator *g = generator_of(k);
    int64_t n = out->numel, item = rl_itemsize(out->dtype), *order;
    static const int64_t most[RL_NDTYPES] = {[RL_F16] = 2049, [RL_F32] = (1 << 24) + 1};
    static const char *const titles[RL_NDTYPES] = {[RL_F16] = "Half", [RL_F32] = "Float"};
    static const char *const types[RL_NDTYPES] = {"uint8_t", "int8_t", "int16_t", "int"};
    static const int64_t top[RL_NDTYPES] = {UINT8_MAX, INT8_MAX, INT16_MAX, INT32_MAX};
    if (!g) return rl_fail(k, RL_RUNTIME, "a random operator was called without a generator");
    if (titles[out->dtype] && n > most[out->dtype])
        return rl_fail(k, RL_RUNTIME, "n cannot be greater than %lld for %s type.",
                       (long long)most[out->dtype], titles[out->dtype]);
    if (types[out->dtype] && n > top[out->dtype])
        return rl_fail(k, RL_RUNTIME, "value cannot be converted to type %s without overflow",
                       types[out->dtype]);
    order = k->svc->scratch(k, RL_COUNT(n), sizeof *order);
    if (!order) return RL_FAIL;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = 0; i < n - 1; i++) {
        uint64_t left = (uint64_t)(n - i);
        int64_t pick = i + (int64_t)((n >= UINT32_MAX ? rl_random64(g) : rl_random32(g)) % left);
        int64_t t = order[i];
        order[i] = order[pick];
        order[pick] = t;
    }
    rl_row_put_ints(out->dtype, rl_data(out, RL_WRITE), item, n, order);
    return RL_OK;
}

/* ---- bernoulli and dropout ---- */
static void bernoulli_draw(const void *ctx, char *to) {
    const random_fill *fill = ctx;
    rl_row_put_double(fill->dtype, to, draw_double(fill->g) < fill->low);
}

RL_KERNEL(ref_bernoulli) {
    random_fill fill = {.draw = bernoulli_draw, .low = rl_num(k, 1)};
    return fill_run(k, &fill);
}

static void dropout_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const random_fill *fill = ctx;
    for (int64_t i = 0; i < n; i++) {
        double keep = draw_double(fill->g) < fill->low ? fill->high : 0;
        rl_row_put_double(fill->dtype, p[0] + i * step[0],
                          rl_row_double(fill->dtype, p[1] + i * step[1]) * keep);
        if (fill->mask) rl_row_put_double(fill->dtype, p[2] + i * step[2], keep);
    }
}

/* p == 1 draws nothing; NaN and infinities stay NaN */
static void zero_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const random_fill *fill = ctx;
    for (int64_t i = 0; i < n; i++) {
        rl_row_put_double(fill->dtype, p[0] + i * step[0],
                          rl_row_double(fill->dtype, p[1] + i * step[1]) * 0);
        if (fill->mask) rl_row_put_double(fill->dtype, p[2] + i * step[2], 0);
    }
}

/* does the view cover its memory without gaps, in some order of dims? Then so does PyTorch's mask. */
static bool dense(const rl_walk *w, int op, int64_t item) {
    for (int d = w->ndim - 1; d >= 0; d--) {
        if (w->size[d] == 1) continue;
        if (w->stride[op][d] != item) return false;
        item *= w->size[d];
    }
    return true;
}

RL_KERNEL(ref_dropout) {
    const rl_view *x = k->arg[0].u.t;
    double p = rl_num(k, 1);
    random_fill fill = {.g = generator_of(k), .dtype = x->dtype, .low = 1 - p};
    if (p == 0 || !k->arg[2].u.i || x->numel == 0) {
        rl_view_cast(k, k->out[0], x);
        return RL_OK;
    }
    rl_walk w, sorted;
    char keep[8];
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, x);
    fill.mask = k->n_out == 2; /* what the elements were multiplied with, for the derivative */
    if (fill.mask) {
        rl_walk_add(&w, k->out[1]);
        w.base[2] = rl_data(k->out[1], RL_WRITE);
    }
    if (!fill.g && p != 1) return rl_fail(k, RL_RUNTIME, "a random operator was called without a generator");
    rl_row_put_double(x->dtype, keep, p == 1 ? 0 : 1 / (1 - p));
    fill.high = rl_row_double(x->dtype, keep);
    sorted = w;
    rl_walk_sort(&sorted, 1);
    if (dense(&sorted, 1, rl_itemsize(x->dtype))) w = sorted;
    rl_walk_merge(&w);
    rl_walk_range(&w, 0, w.numel, p == 1 ? zero_strip : dropout_strip, &fill);
    return RL_OK;
}
