/* Which kernels do a product, and on how many parts of its depth: Note [CUDA product]. */
#include "gemm.h"
#include <initializer_list>

enum {
    THIN = 4,           /* rows or columns that are too few for a tile */
    SMALL_OUTPUT = 256, /* a matrix that a warp's work is too much for, if not deep */
    SMALL_DEPTH = 128,
    TILE = 64,
    LARGE_TILE = 128,
    ENOUGH_BLOCKS = 128, /* to keep a device busy */
    PART = 256,          /* the least depth that is worth a part */
    MOST_PARTS = 64,
    WHOLE = 32 /* a part ends with a step of the tiles */
};
typedef enum { EACH, LANES, TILES, LARGE_TILES } way;

void cuda_product_begin(product *p, const rl_view *out) {
    *p = {};
    p->dtype = out->dtype;
    p->out = rl_data(out, RL_WRITE);
    p->alpha = 1, p->whole_alpha = 1, p->beta = 1, p->whole_beta = 1;
    p->splits = 1;
    p->batch.n = 1;
    p->gather.col_from = p->gather.depth_from = 1;
    for (int i = 0; i < PRODUCT_PLANE; i++) p->gather.divisor[i] = 1;
    for (product_axis *x : {&p->row, &p->col, &p->depth}) {
        x->n = 1;
        x->first = PRODUCT_DIGITS - 1;
        for (int d = 0; d < PRODUCT_DIGITS; d++) x->size[d] = 1;
    }
}

void cuda_product_digit(product_axis *x, int d, int64_t size, int64_t out, int64_t a, int64_t b,
                        int64_t extra) {
    x->n *= size;
    x->size[d] = size;
    x->step[PRODUCT_OUT][d] = out;
    x->step[PRODUCT_A][d] = a;
    x->step[PRODUCT_B][d] = b;
    x->step[PRODUCT_EXTRA][d] = extra;
    if (size != 1 && d < x->first) x->first = d;
}

void cuda_product_batch(product *p, const cuda_walk &w) {
    p->batch.ndim = w.ndim;
    p->batch.n = w.numel;
    for (int d = 0; d < w.ndim; d++) {
        p->batch.size[d] = w.size[d];
        p->batch.inverse[d] = 1.0 / (double)w.size[d];
        for (int op = 0; op < PRODUCT_OPERANDS; op++) p->batch.step[op][d] = w.step[op][d];
    }
}

/* ---- which neighbours lie together ---- */
/* how far an operand's digit steps; of a gathered one the coordinates do so, too */
static int64_t step_of(const product *p, const product_axis *x, int operand, int d) {
    const bool is_col = x == &p->col;
    const int plane = d - (is_col ? p->gather.col_from : p->gather.depth_from);
    int64_t step = x->step[operand][d];
    if (operand == PRODUCT_B && p->gather.is_used && plane >= 0 && plane < PRODUCT_PLANE)
        step += (is_col ? p->gather.col : p->gather.depth)[plane] * p->gather.step[plane];
    return step;
}
/* the first `run` of an axis lie side by side, and so do those after them */
static int64_t run_of(const product *p, const product_axis *x, int operand) {
    int64_t run = 1;
    for (int d = PRODUCT_DIGITS - 1; d >= 0; d--) {
        if (x->size[d] == 1) continue;
        if (step_of(p, x, operand, d) != run) break;
        run *= x->size[d];
    }
    return run;
}
static bool is_in_vectors(const product *p, const product_axis *x, int operand, int64_t run) {
    const int64_t vector = 16 / (int64_t)rl_itemsize(p->dtype);
    if (operand != PRODUCT_B || !p->gather.is_used) return run == x->n || run % vector == 0;
    const int from = x == &p->col ? p->gather.col_from : p->gather.depth_from;
    return from == 0 && x->step[operand][PRODUCT_PLANE] == 1 && x->size[PRODUCT_PLANE] % vector == 0;
}
static void look_along(const product *p, const product_axis *side, int operand, bool *by_depth,
                       bool *is_vector) {
    const int64_t along = run_of(p, &p->depth, operand), across = run_of(p, side, operand);
    *by_depth = along > across;
    *is_vector = is_in_vectors(p, *by_depth ? &p->depth : side, operand, *by_depth ? along : across);
}
static void look(product *p) {
    look_along(p, &p->row, PRODUCT_A, &p->a_by_depth, &p->a_is_vector);
    look_along(p, &p->col, PRODUCT_B, &p->b_by_depth, &p->b_is_vector);
    p->out_by_row = run_of(p, &p->row, PRODUCT_OUT) > run_of(p, &p->col, PRODUCT_OUT);
}

static int64_t tiles_of(const product *p, int64_t side) {
    return (p->row.n + side - 1) / side * ((p->col.n + side - 1) / side) * p->batch.n;
}

static way way_of(const product *p) {
    const int64_t thinner = p->row.n < p->col.n ? p->row.n : p->col.n;
    if (p->depth.n == 0 || !rl_is_float(p->dtype)) return EACH;
    if (!p->b) return LANES;
    if (thinner <= THIN) {
        /* a thread reads along its column where a warp reads along the depth */
        const bool is_wide = p->row.n <= THIN && !p->b_by_depth && p->col.n >= ENOUGH_BLOCKS * CUDA_THREADS;
        return p->depth.n <= SMALL_DEPTH / 2 || is_wide ? EACH : LANES;
    }
    if (p->row.n * p->col.n <= SMALL_OUTPUT && p->depth.n <= SMALL_DEPTH) return EACH;
    if (thinner > TILE && tiles_of(p, LARGE_TILE) >= ENOUGH_BLOCKS) return LARGE_TILES;
    return TILES;
}

static void split_depth(product *p, way how) {
    const int64_t tasks = how == LANES ? (p->row.n * p->col.n * p->batch.n + 7) / 8
                                       : tiles_of(p, how == LARGE_TILES ? LARGE_TILE : TILE);
    int64_t splits = how == EACH ? 1 : ENOUGH_BLOCKS / tasks;
    if (splits > MOST_PARTS) splits = MOST_PARTS;
    if (splits > p->depth.n / PART) splits = p->depth.n / PART;
    if (splits < 1) splits = 1;
    p->part = ((p->depth.n + splits - 1) / splits + WHOLE - 1) / WHOLE * WHOLE;
    p->splits = p->depth.n == 0 ? 1 : (p->depth.n + p->part - 1) / p->part;
}

static void launch(const product &p, way how, cudaStream_t s) {
    const bool large = how == LARGE_TILES;
    if (how == EACH)
        cuda_product_each(p, s);
    else if (how == LANES)
        cuda_product_lanes(p, s);
    else
        (void)(cuda_product_tf32(p, large, s) || cuda_product_tiles(p, large, s) ||
               cuda_product_half(p, large, s) || cuda_product_bfloat(p, large, s));
}

rl_status cuda_product_run(rl_call *k, product *p, bool may_alias) {
    const rl_view *out = k->out[0];
    if (out->numel == 0) return RL_OK;
    look(p);
    const way how = way_of(p);
    split_depth(p, how);
    if ((how == TILES || how == LARGE_TILES) && tiles_of(p, TILE) > INT32_MAX / p->splits)
        return RL_UNSUPPORTED; /* more blocks than a launch has */
    p->row_inverse = 1.0 / (double)p->row.n;
    p->col_inverse = 1.0 / (double)p->col.n;
    if (p->splits > 1 || may_alias) {
        const size_t item = p->dtype == RL_F64 || !rl_is_float(p->dtype) ? sizeof(double) : sizeof(float);
        p->sums = k->svc->scratch(k, rl_count_times(rl_count{out->numel}, p->splits), item);
        if (!p->sums) return RL_FAIL;
    }
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    launch(*p, how, (cudaStream_t)k->stream);
    if (p->sums) cuda_product_finish(*p, (cudaStream_t)k->stream);
    return rl_cuda_end(k);
}
