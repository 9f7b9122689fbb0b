/* Random numbers, draw for draw as PyTorch's CPU generator gives them out. */
#include "loops.h"
#include "kernels/shared/random_normal.h"
#include "kernels/shared/random_range.h"
#include "kernels/shared/random_gradients.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- what the files of random numbers share: the stream in chunks, which become elements ---- */
enum { RL_DRAWS = 512 }; /* elements of a chunk */
typedef struct rl_random {
    rl_generator *g;
    int dtype;          /* of the elements */
    int given;          /* of the tensors that say what to draw */
    int n_op;           /* operands: the result and these */
    double low, high;   /* uniform: bounds; normal: mean and deviation; the others' numbers */
    int64_t from;       /* integers, of this range; 0: all 2^64 numbers */
    uint64_t range;     /* ... of bernoulli: below it is true, of 2^53 */
    bool mask;          /* dropout's second result is asked for */
    const char **fault; /* where a chunk leaves what is wrong with a number that it was given */
    /* n elements, at most RL_DRAWS: p[0] is the result, then come the tensors that were given */
    void (*draw)(const struct rl_random *r, char *const *p, const int64_t *step, int64_t n);
} rl_random;

/* n times: 53 bits below `limit`? */
static void rl_draw_truths(rl_generator *g, uint64_t limit, uint8_t *to, int64_t n);
static inline double rl_draw_double(rl_generator *g) {
    return (double)(rl_random64(g) & ((1ull << 53) - 1)) * 0x1p-53;
}

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
static const double two_pi = 6.28318530717958647692;

/* ---- the stream ---- */
/* the next n words of the stream */
static void rl_draw_words(rl_generator *g, uint32_t *to, int64_t n) {
    rl_random_words(g, to, n);
}

/* n uniform numbers of [0, 1), of 24 or 53 bits */
static void rl_draw_floats(rl_generator *g, float *to, int64_t n) {
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

static void rl_draw_doubles(rl_generator *g, double *to, int64_t n) {
    uint32_t words[2 * RL_DRAWS];
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < RL_DRAWS ? n - at : RL_DRAWS;
        rl_draw_words(g, words, 2 * m);
        for (int64_t i = 0; i < m; i++) to[at + i] = (double)(int64_t)bits_of(words + 2 * i) * 0x1p-53;
    }
}

static void rl_draw_truths(rl_generator *g, uint64_t limit, uint8_t *to, int64_t n) {
    uint32_t words[2 * RL_DRAWS];
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < RL_DRAWS ? n - at : RL_DRAWS;
        rl_draw_words(g, words, 2 * m);
        for (int64_t i = 0; i < m; i++) to[at + i] = bits_of(words + 2 * i) < limit;
    }
}

/* the limit for rl_draw_truths, which says with which probability: u < p where u is a multiple of 2^-53 */
static uint64_t rl_truth_limit(double p) {
    return (uint64_t)ceil(p * 0x1p53);
}

/* one of a pair, the other of which waits in the generator */
static double rl_draw_normal(rl_generator *g) {
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
    char *at[RL_ITER_OPS];
    for (int i = 0; i < r->n_op; i++) at[i] = p[i];
    for (int64_t m; n > 0 && !(r->fault && *r->fault); n -= m) {
        m = n < RL_DRAWS ? n : RL_DRAWS;
        r->draw(r, at, step, m);
        for (int i = 0; i < r->n_op; i++) at[i] += m * step[i];
    }
}

/* The same along a walk that was begun. */
static void rl_random_iter(rl_random *r, rl_iter *w) {
    r->n_op = w->nops;
    rl_iter_merge(w);
    rl_iter_range(w, 0, w->numel, chunks, r);
}

/* finds the generator, the argument tagged so */
static rl_status rl_random_begin(rl_call *k, rl_random *r) {
    r->dtype = k->out[0]->dtype;
    for (int i = 0; i < k->n_arg && !r->g; i++)
        if (k->arg[i].tag == RL_RNG) r->g = k->arg[i].u.g;
    return r->g ? RL_OK : rl_fail(k, RL_RUNTIME, "a random operator was called without a generator");
}

/* Draws an element for each of out[0], in the order of its memory; `in` are the tensors that were given. A
 * generator is a sequence: never in parallel. */
static rl_status rl_random_run(rl_call *k, rl_random *r, const rl_view *const *in, int n_in) {
    rl_iter w;
    const char *fault = NULL;
    if (rl_random_begin(k, r) != RL_OK) return RL_FAIL;
    r->fault = &fault;
    if (n_in) r->given = in[0]->dtype;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < n_in; i++) rl_iter_add(&w, in[i]);
    rl_iter_sort(&w, 0);
    rl_random_iter(r, &w);
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

static void step_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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

static void normal_join(const rl_view *out, const rl_value *with, bool times) {
    normal_step s = {out->dtype, out->dtype, times};
    char number[8];
    if (with->tag == RL_TENSOR) {
        rl_iter w;
        s.given = rl_value_view(with)->dtype;
        rl_iter_begin(&w, out, RL_WRITE);
        rl_iter_add(&w, with->u.t);
        rl_iter_merge(&w);
        rl_iter_range(&w, 0, w.numel, step_loop, &s);
        return;
    }
    rl_row_put_double(out->dtype, number, with->tag == RL_FLOAT ? with->u.d : (double)with->u.i);
    step_loop((char *[]){rl_data(out, RL_WRITE), number}, (int64_t[]){rl_itemsize(out->dtype), 0}, out->numel,
              &s);
}

static void min_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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
    const rl_value *mean = &k->arg[0], *std = &k->arg[1];
    const char *fault = NULL;
    if (std->tag == RL_TENSOR) {
        rl_random r = {.given = rl_value_view(std)->dtype, .fault = &fault};
        rl_iter w;
        rl_iter_begin(&w, std->u.t, RL_READ);
        rl_iter_merge(&w);
        rl_iter_range(&w, 0, w.numel, min_loop, &r);
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

/* ---- random numbers of other distributions: Note [Draws] in random.c. All are computed in double ---- */
/* ---- one number for each element, of one uniform number each ---- */
static void put_doubles(const rl_random *r, char *const *p, const int64_t *step, int64_t n, const double *z) {
    rl_row_put_doubles(r->dtype, p[0], step[0], n, z);
}

static void exponential(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    const double scale = -1 / r->low;
    double z[RL_DRAWS];
    rl_draw_doubles(r->g, z, n);
    for (int64_t i = 0; i < n; i++) z[i] = scale * log1p(-z[i]);
    put_doubles(r, p, step, n, z);
}

static void geometric(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    const double miss = log(1 - r->low);
    double z[RL_DRAWS];
    rl_draw_doubles(r->g, z, n);
    for (int64_t i = 0; i < n; i++) z[i] = ceil(log(z[i]) / miss);
    put_doubles(r, p, step, n, z);
}

static void log_normal(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double z[RL_DRAWS];
    for (int64_t i = 0; i < n; i++) z[i] = exp(fma(rl_draw_normal(r->g), r->high, r->low));
    put_doubles(r, p, step, n, z);
}

static void cauchy(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double z[RL_DRAWS];
    rl_draw_doubles(r->g, z, n);
    for (int64_t i = 0; i < n; i++) z[i] = fma(r->high, tan(3.14159265358979323846 * (z[i] - 0.5)), r->low);
    put_doubles(r, p, step, n, z);
}

#define FILL(name, first, second)                                                                            \
    RL_KERNEL(ref_##name) {                                                                                  \
        rl_random r = {.draw = name, .low = first, .high = second};                                          \
        return rl_random_run(k, &r, NULL, 0);                                                                \
    }
FILL(exponential, rl_num(k, 1), 0)
FILL(geometric, rl_num(k, 1), 0)
FILL(log_normal, rl_num(k, 1), rl_num(k, 2))
FILL(cauchy, rl_num(k, 1), rl_num(k, 2))

/* ---- poisson ---- */
/* how often the product of uniform numbers stays above exp(-rate) */
static double poisson_few(rl_generator *g, double rate) {
    const double least = exp(-rate);
    double product = rl_draw_double(g), count = 0;
    for (; product > least; count++) product *= rl_draw_double(g);
    return count;
}

/* Transformed rejection (W. Hoermann, 1993: PTRS), for rates from 10 up */
static double poisson_many(rl_generator *g, double rate) {
    const double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = rl_draw_double(g) - 0.5, v = rl_draw_double(g), us = 0.5 - fabs(u);
        const double count = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= sure) return count;
        if (count < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
            -rate + count * log_rate - lgamma(count + 1))
            return count;
    }
}

static void poisson(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double z[RL_DRAWS];
    rl_row_doubles(r->given, p[1], step[1], n, z);
    for (int64_t i = 0; i < n; i++) {
        if (!(z[i] >= 0)) {
            *r->fault = "invalid Poisson rate, expected rate to be non-negative";
            return;
        }
        z[i] = z[i] >= 10 ? poisson_many(r->g, z[i]) : z[i] > 0 ? poisson_few(r->g, z[i]) : 0;
        if (!(z[i] < 0x1p63)) z[i] = -0x1p63; /* PyTorch counts in int64 */
    }
    put_doubles(r, p, step, n, z);
}

RL_KERNEL(ref_poisson) {
    const rl_view *rate = rl_in(k, 0);
    rl_random r = {.draw = poisson};
    return rl_random_run(k, &r, &rate, 1);
}

/* ---- binomial ---- */
/* what Stirling's approximation leaves of log(k!) */
static double stirling_rest(double k) {
    static const double rests[] = {
        0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
        0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
    if (k <= 9) return rests[(int)k];
    const double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* What is computed of count and chance alone is rounded to their dtype, C */
#define BINOMIAL(name, C, LOG1P)                                                                             \
    /* how many geometric steps fit into count */                                                            \
    static double name##_few(rl_generator *g, C count, C chance) {                                           \
        const double miss = (double)(C)(LOG1P(-chance));                                                     \
        double steps = 0, found = -1;                                                                        \
        for (; steps <= (double)count; found++) steps += ceil(log(rl_draw_double(g)) / miss);                \
        return found;                                                                                        \
    }                                                                                                        \
    /* Transformed rejection (W. Hoermann, 1993: BTRS), where count * chance >= 10 */                        \
    static double name##_many(rl_generator *g, C count, C chance) {                                          \
        const C product = (C)(count * chance), rest = (C)(1 - chance), variance = (C)(product * rest);       \
        const double deviation = (double)(C)(sqrt((double)variance)),                                        \
                     m = floor((C)((C)(count + 1) * chance));                                                \
        const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * (double)chance;          \
        const double c = (double)product + 0.5, sure = 0.92 - 4.2 / b;                                       \
        const double odds = (double)(C)(chance / rest), alpha = (2.83 + 5.1 / b) * deviation;                \
        const double n = (double)count, n_1 = (double)(C)(count + 1);                                        \
        for (;;) {                                                                                           \
            const double u = rl_draw_double(g) - 0.5, v = rl_draw_double(g), us = 0.5 - fabs(u);             \
            const C k = (C)(floor((2 * a / us + b) * u + c));                                                \
            if (k < 0 || k > count) continue;                                                                \
            if (us >= 0.07 && v <= sure) return (double)k;                                                   \
            const double left = (double)(C)(count - k), left_1 = (double)(C)(left + 1);                      \
            const double most =                                                                              \
                (m + 0.5) * log((m + 1) / (odds * (n - m + 1))) + n_1 * log((n - m + 1) / left_1) +          \
                ((double)k + 0.5) * log(odds * left_1 / (double)(C)(k + 1)) + stirling_rest(m) +             \
                stirling_rest(n - m) - stirling_rest((double)k) - stirling_rest(left);                       \
            if (log(v * alpha / (a / (us * us) + b)) <= most) return (double)k;                              \
        }                                                                                                    \
    }                                                                                                        \
    static double name(rl_generator *g, double count_, double chance_) {                                     \
        const C count = (C)count_, chance = (C)chance_, rest = (C)(1 - chance);                              \
        if (count <= 0 || chance <= 0) return 0;                                                             \
        if (chance >= 1) return count_;                                                                      \
        if (!(count < (C)INFINITY) || chance != chance) return NAN;                                          \
        if (chance <= (C)0.5)                                                                                \
            return (C)(count * chance) >= 10 ? name##_many(g, count, chance) : name##_few(g, count, chance); \
        return count_ -                                                                                      \
               ((C)(count * rest) >= 10 ? name##_many(g, count, rest) : name##_few(g, count, rest));         \
    }
BINOMIAL(binomial_double, double, log1p)
BINOMIAL(binomial_float, float, log1pf)

static void binomial(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double (*one)(rl_generator *, double, double) = r->dtype == RL_F64 ? binomial_double : binomial_float;
    double z[RL_DRAWS], chance[RL_DRAWS];
    rl_row_doubles(r->given, p[1], step[1], n, z);
    rl_row_doubles(r->given, p[2], step[2], n, chance);
    for (int64_t i = 0; i < n; i++) z[i] = one(r->g, z[i], chance[i]);
    put_doubles(r, p, step, n, z);
}

RL_KERNEL(ref_binomial) {
    const rl_view *const given[] = {rl_in(k, 0), rl_in(k, 1)};
    rl_random r = {.draw = binomial};
    return rl_random_run(k, &r, given, 2);
}

/* ---- numbers of the gamma and of the Dirichlet distribution ---- */
/* G. Marsaglia and W. Tsang, A simple method for generating gamma variables (2000), d being the shape,
 * from 1 up, less 1/3. Of one that is NaN, or so low that nothing would ever be accepted: NaN. */
static double gamma_from(rl_generator *g, double d, double scale) {
    const double c = 1 / sqrt(9 * d);
    if (!(d > 0)) return NAN;
    for (;;) {
        const double x = rl_draw_normal(g), root = 1 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root, u = 1 - rl_draw_double(g), square = x * x;
        if (u < 1 - (double)0.0331f * square * square || log(u) < 0.5 * square + d * (1 - v + log(v)))
            return scale * d * v;
    }
}

/* Below 1, a number of the next shape times a power of a uniform one. What PyTorch computes in the dtype of
 * the shape, C, is rounded to that. */
#define GAMMA(name, C)                                                                                       \
    static double name(rl_generator *g, double given) {                                                      \
        const C third = (C)(1.0f / 3.0f);                                                                    \
        C shape = (C)given;                                                                                  \
        double scale = 1;                                                                                    \
        if (shape == 0) return 0;                                                                            \
        if (shape < 1) {                                                                                     \
            scale = pow(1 - rl_draw_double(g), (double)(1 / shape));                                         \
            shape += 1;                                                                                      \
        }                                                                                                    \
        return gamma_from(g, (double)(C)(shape - third), scale);                                             \
    }
GAMMA(gamma_double, double)
GAMMA(gamma_float, float)

/* not below the smallest normal number */
static double at_least(double x, double least) {
    return x < least ? least : x;
}

static void standard_gamma(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    const bool wide = r->dtype == RL_F64;
    double (*one)(rl_generator *, double) = wide ? gamma_double : gamma_float;
    double z[RL_DRAWS];
    rl_row_doubles(r->given, p[1], step[1], n, z);
    for (int64_t i = 0; i < n; i++) {
        const double x = one(r->g, z[i]);
        z[i] = wide ? at_least(x, DBL_MIN) : at_least((float)x, FLT_MIN);
    }
    rl_row_put_doubles(r->dtype, p[0], step[0], n, z);
}

RL_KERNEL(ref_standard_gamma) {
    const rl_view *shape = rl_in(k, 0);
    rl_random r = {.draw = standard_gamma};
    return rl_random_run(k, &r, &shape, 1);
}

/* numbers of the gamma distribution, divided by their sum, and kept off 0 and 1 */
static void dirichlet_row(rl_generator *g, double *z, int64_t n, bool wide) {
    const double least = wide ? DBL_MIN : (double)FLT_MIN, most = 1 - (wide ? 0x1p-53 : 0x1p-24);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        z[i] = at_least(gamma_double(g, z[i]), DBL_MIN);
        sum += z[i];
    }
    for (int64_t i = 0; i < n; i++) {
        const double part = at_least(z[i] / sum, least);
        z[i] = part > most ? most : part;
    }
}

RL_KERNEL(ref_sample_dirichlet) { /* the last dim is one vector */
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const int64_t n = x->ndim ? x->shape[x->ndim - 1] : 1;
    rl_random r = {.g = NULL};
    rl_iter w;
    if (out->numel == 0) return RL_OK;
    if (rl_random_begin(k, &r) != RL_OK) return RL_FAIL;
    double *row = k->svc->scratch(k, RL_COUNT(n), sizeof *row);
    if (!row) return RL_FAIL;
    rl_iter_begin(&w, out, RL_WRITE);
    rl_iter_add(&w, x);
    const int last = w.ndim - 1;
    for (int64_t at = 0; at < out->numel; at += n) {
        char *p[] = {w.base[0], w.base[1]};
        rl_iter_seek(&w, at, p);
        rl_row_doubles(x->dtype, p[1], last < 0 ? 0 : w.stride[1][last], n, row);
        dirichlet_row(r.g, row, n, x->dtype == RL_F64);
        rl_row_put_doubles(out->dtype, p[0], last < 0 ? 0 : w.stride[0][last], n, row);
    }
    return RL_OK;
}

/* ---- random integers and permutations: Note [Draws] in random.c ---- */
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

/* ---- categories by their weights, each as often as it comes: multinomial() with replacement ---- */
/* Sums of the first weights, divided by that of all: in float32, float64 for float64. NULL or what is wrong.
 */
static const char *sums_of(const double *weight, int64_t n, bool wide, double *sums) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weight[i] >= 0)) return "invalid multinomial distribution (encountering probability entry < 0)";
        if (!(weight[i] < INFINITY))
            return "invalid multinomial distribution (encountering probability entry = infinity or NaN)";
        sum = wide ? sum + weight[i] : (float)(sum + weight[i]);
        sums[i] = sum;
    }
    if (!(sum > 0)) return "invalid multinomial distribution (sum of probabilities <= 0)";
    for (int64_t i = 0; i < n; i++) sums[i] = wide ? sums[i] / sum : (float)(sums[i] / sum);
    sums[n - 1] = 1;
    return NULL;
}

/* the first place whose sum is not below u; as many steps for every u */
static int64_t place_of(const double *sums, int64_t n, double u) {
    const double *low = sums;
    while (n > 1) {
        const int64_t half = n / 2;
        low += low[half - 1] < u ? half : 0;
        n -= half;
    }
    return low - sums;
}

static void pick(rl_generator *g, const double *sums, int64_t n, int64_t *to, int64_t picks) {
    double u[RL_DRAWS];
    for (int64_t m; picks > 0; picks -= m, to += m) {
        m = picks < RL_DRAWS ? picks : RL_DRAWS;
        rl_draw_doubles(g, u, m);
        for (int64_t i = 0; i < m; i++) to[i] = place_of(sums, n, u[i]);
    }
}

RL_KERNEL(ref_multinomial) { /* (weights, num_samples); the categories are the last dim */
    const rl_view *x = rl_in(k, 0);
    const int64_t n = x->shape[x->ndim - 1], rows = x->ndim == 2 ? x->shape[0] : 1, picks = k->arg[1].u.i;
    const int64_t item = rl_itemsize(x->dtype), step = x->strides[x->ndim - 1] * item;
    rl_random r = {.g = NULL};
    if (rl_random_begin(k, &r) != RL_OK) return RL_FAIL;
    double *weight = k->svc->scratch(k, RL_COUNT(n), sizeof *weight);
    double *sums = weight ? k->svc->scratch(k, RL_COUNT(n), sizeof *sums) : NULL;
    if (!sums) return RL_FAIL;
    const char *from = rl_const_data(x);
    int64_t *to = rl_data(k->out[0], RL_WRITE);
    for (int64_t row = 0; row < rows; row++, to += picks) {
        rl_row_doubles(x->dtype, from + (x->ndim == 2 ? row * x->strides[0] * item : 0), step, n, weight);
        const char *fault = sums_of(weight, n, x->dtype == RL_F64, sums);
        if (fault) return rl_fail(k, RL_RUNTIME, "%s", fault);
        pick(r.g, sums, n, to, picks);
    }
    return RL_OK;
}

/* ---- dropout: Note [Draws] in random.c ---- */
/* the result, the input and, for the derivative, what each element was multiplied with */
static void scale(const rl_random *r, char *const *p, const int64_t *step, int64_t n, double *keep) {
    double x[RL_DRAWS];
    rl_row_doubles(r->dtype, p[1], step[1], n, x);
    for (int64_t i = 0; i < n; i++) x[i] *= keep[i];
    rl_row_put_doubles(r->dtype, p[0], step[0], n, x);
    if (r->mask) rl_row_put_doubles(r->dtype, p[2], step[2], n, keep);
}

static void drop_some(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    uint8_t truth[RL_DRAWS];
    double keep[RL_DRAWS];
    rl_draw_truths(r->g, r->range, truth, n);
    for (int64_t i = 0; i < n; i++) keep[i] = truth[i] ? r->high : 0;
    scale(r, p, step, n, keep);
}

/* p == 1 draws nothing; NaN and infinities become NaN */
static void drop_all(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double keep[RL_DRAWS] = {0};
    scale(r, p, step, n, keep);
}

/* does the view cover its memory without gaps, in some order of dims? Then so does PyTorch's mask. */
static bool dense(const rl_iter *w, int op, int64_t item) {
    for (int d = w->ndim - 1; d >= 0; d--) {
        if (w->size[d] == 1) continue;
        if (w->stride[op][d] != item) return false;
        item *= w->size[d];
    }
    return true;
}

RL_KERNEL(ref_dropout) {
    const rl_view *x = k->arg[0].u.t;
    const double p = rl_num(k, 1);
    rl_random r = {.draw = p == 1 ? drop_all : drop_some, .range = rl_truth_limit(1 - p)};
    if (p == 0 || !k->arg[2].u.i || x->numel == 0) {
        rl_view_cast(k, k->out[0], x);
        return RL_OK;
    }
    rl_iter w, sorted;
    char keep[8];
    if (rl_random_begin(k, &r) != RL_OK) return RL_FAIL;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, x);
    r.mask = k->n_out == 2;
    if (r.mask) {
        rl_iter_add(&w, k->out[1]);
        w.base[2] = rl_data(k->out[1], RL_WRITE);
    }
    rl_row_put_double(x->dtype, keep, p == 1 ? 0 : 1 / (1 - p));
    r.high = rl_row_double(x->dtype, keep);
    sorted = w;
    rl_iter_sort(&sorted, 1);
    if (dense(&sorted, 1, rl_itemsize(x->dtype))) w = sorted;
    rl_random_iter(&r, &w);
    return RL_OK;
}

/* ---- native_dropout: the mask is drawn in the order of its memory ---- */
static void mask_some(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    uint8_t truth[RL_DRAWS];
    double x[RL_DRAWS];
    rl_draw_truths(r->g, r->range, truth, n);
    rl_row_doubles(r->dtype, p[1], step[1], n, x);
    for (int64_t i = 0; i < n; i++) {
        x[i] = x[i] * truth[i] * r->high;
        *(uint8_t *)(p[2] + i * step[2]) = truth[i];
    }
    rl_row_put_doubles(r->dtype, p[0], step[0], n, x);
}

RL_KERNEL(ref_native_dropout) { /* (input, p, train) */
    const rl_view *x = k->arg[0].u.t;
    const double left = 1 - rl_num(k, 1), scale = left == 0 ? 0 : 1 / left;
    rl_random r = {.draw = mask_some};
    const uint8_t kept = 1;
    char number[8];
    rl_iter w;
    if (x->numel == 0) return RL_OK;
    if (k->arg[2].tag != RL_NONE && !k->arg[2].u.i) {
        rl_view_cast(k, k->out[0], x);
        return rl_view_fill(k, k->out[1], &kept);
    }
    r.range = rl_truth_limit(left);
    rl_row_put_double(x->dtype, number, scale);
    r.high = rl_row_double(x->dtype, number);
    if (rl_random_begin(k, &r) != RL_OK) return RL_FAIL;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, x);
    rl_iter_add(&w, k->out[1]);
    w.base[2] = rl_data(k->out[1], RL_WRITE);
    rl_iter_sort(&w, 0);
    rl_random_iter(&r, &w);
    return RL_OK;
}

/* How numbers that were drawn change with the parameters of their distributions:
 * kernels/shared/random_gradients.h. */
enum { CHUNK = 128, MOST = 3 };
typedef double (*of_numbers)(const double *x);
typedef struct {
    int dtype, n_in;
    of_numbers of;
} gradients;

static void loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const gradients *job = ctx;
    double in[MOST][CHUNK], out[CHUNK];
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < CHUNK ? n - at : CHUNK;
        for (int i = 0; i < job->n_in; i++)
            rl_row_doubles(job->dtype, p[i + 1] + at * step[i + 1], step[i + 1], m, in[i]);
        for (int64_t i = 0; i < m; i++) {
            const double x[MOST] = {in[0][i], in[1][i], job->n_in > 2 ? in[2][i] : 0};
            out[i] = job->of(x);
        }
        rl_row_put_doubles(job->dtype, p[0] + at * step[0], step[0], m, out);
    }
}

static rl_status each(rl_call *k, int n_in, of_numbers of) {
    const gradients job = {.dtype = k->out[0]->dtype, .n_in = n_in, .of = of};
    rl_iter w;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < n_in; i++) rl_iter_add(&w, rl_in(k, i));
    rl_iter_each(k, &w, 50, loop, &job);
    return RL_OK;
}

RL_KERNEL(ref_standard_gamma_grad) {
    return each(k, 2, gamma_gradient);
}

RL_KERNEL(ref_dirichlet_grad) {
    return each(k, 3, dirichlet_gradient);
}
