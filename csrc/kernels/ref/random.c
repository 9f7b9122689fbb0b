/* Random numbers, draw for draw as PyTorch's CPU generator hands them out.
 *
 * Note [Draws]
 *   uniform      float32 and halves: 24 bits of one 32-bit draw; float64: 53 bits of two; fused multiply-add
 *   normal       16 or more contiguous elements: blocks of 16 uniforms (8 radii, 8 angles), in float or
 * double; else pairs in double, the second of which waits in the generator integers     one draw modulo the
 * range, or two from a range of 2^28 up bernoulli    53 bits of two draws for each element, whatever the
 * dtype; where a tensor says the probability, 24 of one draw, unless that is float64 the others   53 bits of
 * two draws, as often as they need them Strided tensors are filled in the order of their memory. All take the
 * stream in chunks: its words first, then what becomes of them, so that both are loops of vectors. */
#include "random.h"
#include "kernels/shared/random_normal.h"
#include <math.h>
#include <string.h>

static const double two_pi = 6.28318530717958647692;

/* ---- the stream ---- */
void rl_draw_words(rl_generator *g, uint32_t *to, int64_t n) {
    rl_random_words(g, to, n);
}

void rl_draw_floats(rl_generator *g, float *to, int64_t n) {
    uint32_t words[RL_DRAWS];
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < RL_DRAWS ? n - at : RL_DRAWS;
        rl_draw_words(g, words, m);
        for (int64_t i = 0; i < m; i++) to[at + i] = (float)(int32_t)(words[i] & 0xffffff) * 0x1p-24f;
    }
}

/* two words become 53 bits, high word first */
static inline uint64_t bits_of(const uint32_t *words) {
    return (uint64_t)(words[0] & 0x1fffff) << 32 | words[1];
}

void rl_draw_doubles(rl_generator *g, double *to, int64_t n) {
    uint32_t words[2 * RL_DRAWS];
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < RL_DRAWS ? n - at : RL_DRAWS;
        rl_draw_words(g, words, 2 * m);
        for (int64_t i = 0; i < m; i++) to[at + i] = (double)(int64_t)bits_of(words + 2 * i) * 0x1p-53;
    }
}

void rl_draw_truths(rl_generator *g, uint64_t limit, uint8_t *to, int64_t n) {
    uint32_t words[2 * RL_DRAWS];
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < RL_DRAWS ? n - at : RL_DRAWS;
        rl_draw_words(g, words, 2 * m);
        for (int64_t i = 0; i < m; i++) to[at + i] = bits_of(words + 2 * i) < limit;
    }
}

uint64_t rl_truth_limit(double p) {
    return (uint64_t)ceil(p * 0x1p53);
}

double rl_draw_normal(rl_generator *g) {
    if (g->has_normal) {
        g->has_normal = false;
        return g->normal;
    }
    double angle = two_pi * rl_draw_double(g), radius = sqrt(-2 * log1p(-rl_draw_double(g)));
    g->normal = radius * sin(angle);
    g->has_normal = true;
    return radius * cos(angle);
}

/* ---- over the elements ---- */
static void chunks(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const rl_random *r = ctx;
    char *at[RL_WALK_OPS];
    for (int i = 0; i < r->n_op; i++) at[i] = p[i];
    for (int64_t m; n > 0 && !(r->fault && *r->fault); n -= m) {
        m = n < RL_DRAWS ? n : RL_DRAWS;
        r->draw(r, at, step, m);
        for (int i = 0; i < r->n_op; i++) at[i] += m * step[i];
    }
}

void rl_random_walk(rl_random *r, rl_walk *w) {
    r->n_op = w->nops;
    rl_walk_merge(w);
    rl_walk_range(w, 0, w->numel, chunks, r);
}

rl_status rl_random_begin(rl_call *k, rl_random *r) {
    r->dtype = k->out[0]->dtype;
    for (int i = 0; i < k->n_arg && !r->g; i++)
        if (k->arg[i].tag == RL_RNG) r->g = k->arg[i].u.g;
    return r->g ? RL_OK : rl_fail(k, RL_RUNTIME, "a random operator was called without a generator");
}

rl_status rl_random_run(rl_call *k, rl_random *r, const rl_view *const *in, int n_in) {
    rl_walk w;
    const char *fault = NULL;
    if (rl_random_begin(k, r) != RL_OK) return RL_FAIL;
    r->fault = &fault;
    if (n_in) r->given = in[0]->dtype;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < n_in; i++) rl_walk_add(&w, in[i]);
    rl_walk_sort(&w, 0);
    rl_random_walk(r, &w);
    return fault ? rl_fail(k, RL_RUNTIME, "%s", fault) : RL_OK;
}

/* ---- uniform ---- */
/* rounding to fewer bits must not reach the open end */
static void keep_open(const rl_random *r, char *p, int64_t step, int64_t n) {
    const float low = (float)r->low;
    float x[RL_DRAWS], high;
    char element[8];
    if (!(low < (float)r->high)) return;
    rl_row_put_double(r->dtype, element, r->high);
    high = (float)rl_row_double(r->dtype, element);
    rl_row_floats(r->dtype, p, step, n, x);
    for (int64_t i = 0; i < n; i++)
        if (x[i] >= high) rl_row_put_double(r->dtype, p + i * step, low);
}

static void uniform_doubles(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    const double low = r->low, range = r->high - r->low;
    double z[RL_DRAWS];
    rl_draw_doubles(r->g, z, n);
    if (low != 0 || range != 1)
        for (int64_t i = 0; i < n; i++) z[i] = fma(z[i], range, low);
    rl_row_put_doubles(RL_F64, p[0], step[0], n, z);
}

static void uniform_floats(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    const float low = (float)r->low, range = (float)r->high - low;
    float u[RL_DRAWS];
    double z[RL_DRAWS];
    rl_draw_floats(r->g, u, n);
    if (low != 0 || range != 1)
        for (int64_t i = 0; i < n; i++) u[i] = fmaf(u[i], range, low);
    if (r->dtype == RL_F32 && step[0] == sizeof *u) {
        memcpy(p[0], u, (size_t)n * sizeof *u);
        return;
    }
    for (int64_t i = 0; i < n; i++) z[i] = u[i];
    rl_row_put_doubles(r->dtype, p[0], step[0], n, z);
    if (r->dtype != RL_F32) keep_open(r, p[0], step[0], n);
}

static rl_status uniform_fill(rl_call *k, double low, double high) {
    rl_random r = {.low = low, .high = high};
    r.draw = k->out[0]->dtype == RL_F64 ? uniform_doubles : uniform_floats;
    return rl_random_run(k, &r, NULL, 0);
}

RL_KERNEL(ref_uniform) {
    return uniform_fill(k, rl_num(k, 1), rl_num(k, 2));
}
RL_KERNEL(ref_rand) {
    return uniform_fill(k, 0, 1);
}

/* ---- normal ---- */
static void normal_pairs(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double z[RL_DRAWS];
    for (int64_t i = 0; i < n; i++) z[i] = fma(rl_draw_normal(r->g), r->high, r->low);
    rl_row_put_doubles(r->dtype, p[0], step[0], n, z);
}

/* 16 uniforms become 16 normals, written at `to` */
static void block_doubles(const rl_random *r, char *to) {
    double u[16], z[16];
    rl_draw_doubles(r->g, u, 16);
    for (int i = 0; i < 8; i++) {
        double radius = sqrt(-2 * log(1 - u[i])), angle = two_pi * u[i + 8];
        z[i] = fma(radius * cos(angle), r->high, r->low);
        z[i + 8] = fma(radius * sin(angle), r->high, r->low);
    }
    memcpy(to, z, sizeof z);
}

static void block_floats(const rl_random *r, char *to) {
    float u[16];
    rl_draw_floats(r->g, u, 16);
    rl_normal_blocks(u, 1, (float)r->low, (float)r->high, u);
    memcpy(to, u, sizeof u);
}

/* PyTorch's for halves is no vector kernel: the C library's functions, in float32 */
static void block_halves(const rl_random *r, char *to) {
    float u[16], low = (float)r->low, high = (float)r->high;
    double z[16];
    rl_draw_floats(r->g, u, 16);
    for (int i = 0; i < 8; i++) {
        float radius = sqrtf(-2 * logf(1 - u[i])), angle = (float)two_pi * u[i + 8];
        z[i] = radius * cosf(angle) * high + low;
        z[i + 8] = radius * sinf(angle) * high + low;
    }
    rl_row_put_doubles(r->dtype, to, rl_itemsize(r->dtype), 16, z);
}

/* float32 and float64 draw for all elements, then 16 more for the last 16 where a block is not full */
static rl_status normal_blocks(rl_call *k, rl_random *r) {
    const rl_view *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype), rest = out->numel % 16;
    char *memory = rl_data(out, RL_WRITE);
    uint32_t lost[32];
    if (rl_random_begin(k, r) != RL_OK) return RL_FAIL;
    void (*block)(const rl_random *, char *) = r->dtype == RL_F64   ? block_doubles
                                               : r->dtype == RL_F32 ? block_floats
                                                                    : block_halves;
    for (int64_t at = 0; at + 16 <= out->numel; at += 16) block(r, memory + at * item);
    if (!rest) return RL_OK;
    if (block != block_halves) rl_draw_words(r->g, lost, block == block_doubles ? 2 * rest : rest);
    block(r, memory + (out->numel - 16) * item);
    return RL_OK;
}

static rl_status normal_fill(rl_call *k, double mean, double deviation) {
    rl_random r = {.draw = normal_pairs, .low = mean, .high = deviation};
    bool blocks = k->out[0]->numel >= 16 && rl_is_contiguous(k->out[0]);
    return blocks ? normal_blocks(k, &r) : rl_random_run(k, &r, NULL, 0);
}

RL_KERNEL(ref_normal) {
    return normal_fill(k, rl_num(k, 1), rl_num(k, 2));
}
/* x times or plus what is given, rounded to x's dtype: the steps in which PyTorch makes these */
typedef struct {
    int dtype, given;
    bool times;
} normal_step;

static void step_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const normal_step *s = ctx;
    double x[RL_DRAWS], y[RL_DRAWS];
    for (int64_t at = 0, m; at < n; at += m) {
        char *to = p[0] + at * step[0];
        m = n - at < RL_DRAWS ? n - at : RL_DRAWS;
        rl_row_doubles(s->dtype, to, step[0], m, x);
        rl_row_doubles(s->given, p[1] + at * step[1], step[1], m, y);
        if (s->times)
            for (int64_t i = 0; i < m; i++) x[i] *= y[i];
        else
            for (int64_t i = 0; i < m; i++) x[i] += y[i];
        rl_row_put_doubles(s->dtype, to, step[0], m, x);
    }
}

static void normal_join(const rl_view *out, const rl_slot *with, bool times) {
    normal_step s = {out->dtype, out->dtype, times};
    char number[8];
    if (with->tag == RL_TENSOR) {
        rl_walk w;
        s.given = rl_slot_tensor(with)->dtype;
        rl_walk_begin(&w, out, RL_WRITE);
        rl_walk_add(&w, with->u.t);
        rl_walk_merge(&w);
        rl_walk_range(&w, 0, w.numel, step_strip, &s);
        return;
    }
    rl_row_put_double(out->dtype, number, with->tag == RL_FLOAT ? with->u.d : (double)with->u.i);
    step_strip((char *[]){rl_data(out, RL_WRITE), number}, (int64_t[]){rl_itemsize(out->dtype), 0},
               out->numel, &s);
}

static void least_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const rl_random *r = ctx;
    double x[RL_DRAWS];
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < RL_DRAWS ? n - at : RL_DRAWS;
        rl_row_doubles(r->given, p[0] + at * step[0], step[0], m, x);
        for (int64_t i = 0; i < m; i++)
            if (!(x[i] >= 0)) *r->fault = "normal expects all elements of std >= 0.0";
    }
}

RL_KERNEL(ref_normal_tensors) { /* (mean, std), one of which may be a number */
    const rl_slot *mean = &k->arg[0], *std = &k->arg[1];
    const char *fault = NULL;
    if (std->tag == RL_TENSOR) {
        rl_random r = {.given = rl_slot_tensor(std)->dtype, .fault = &fault};
        rl_walk w;
        rl_walk_begin(&w, std->u.t, RL_READ);
        rl_walk_merge(&w);
        rl_walk_range(&w, 0, w.numel, least_strip, &r);
        if (fault) return rl_fail(k, RL_RUNTIME, "%s", fault);
    }
    if (normal_fill(k, 0, std->tag == RL_TENSOR ? 1 : rl_num(k, 1)) != RL_OK) return RL_FAIL;
    if (std->tag == RL_TENSOR) normal_join(k->out[0], std, true);
    normal_join(k->out[0], mean, false);
    return RL_OK;
}
RL_KERNEL(ref_normal_size) { /* (mean, std, size) */
    return normal_fill(k, rl_num(k, 0), rl_num(k, 1));
}
RL_KERNEL(ref_randn) {
    return normal_fill(k, 0, 1);
}

/* ---- bernoulli ---- */
static void truths_put(const rl_random *r, char *const *p, const int64_t *step, int64_t n,
                       const uint8_t *truth) {
    int64_t x[RL_DRAWS];
    if (r->dtype == RL_F32 && step[0] == sizeof(float)) {
        float *to = (float *)p[0];
        for (int64_t i = 0; i < n; i++) to[i] = truth[i];
        return;
    }
    for (int64_t i = 0; i < n; i++) x[i] = truth[i];
    rl_row_put_ints(r->dtype, p[0], step[0], n, x);
}

static void bernoulli_number(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    uint8_t truth[RL_DRAWS];
    rl_draw_truths(r->g, r->range, truth, n);
    truths_put(r, p, step, n, truth);
}

RL_KERNEL(ref_bernoulli) {
    rl_random r = {.draw = bernoulli_number, .range = rl_truth_limit(rl_num(k, 1))};
    return rl_random_run(k, &r, NULL, 0);
}

static void bernoulli_each(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double chance[RL_DRAWS], u[RL_DRAWS];
    float v[RL_DRAWS];
    uint8_t truth[RL_DRAWS];
    bool odd = false;
    rl_row_doubles(r->given, p[1], step[1], n, chance);
    for (int64_t i = 0; i < n; i++) odd |= !(chance[i] >= 0 && chance[i] <= 1);
    if (odd) {
        *r->fault =
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)";
        return;
    }
    if (r->given == RL_F64) {
        rl_draw_doubles(r->g, u, n);
        for (int64_t i = 0; i < n; i++) truth[i] = u[i] < chance[i];
    } else {
        rl_draw_floats(r->g, v, n);
        for (int64_t i = 0; i < n; i++) truth[i] = v[i] < (float)chance[i];
    }
    truths_put(r, p, step, n, truth);
}

RL_KERNEL(ref_bernoulli_tensor) { /* (p), or (input, p) in place */
    const rl_view *p = rl_in(k, 1) ? rl_in(k, 1) : rl_in(k, 0);
    rl_random r = {.draw = bernoulli_each};
    return rl_random_run(k, &r, &p, 1);
}
