/* Products of matrices, vectors and batches of them: which kernels do one, and on how many parts of its
 * depth (Note [CUDA GEMM]); which dims of the operands are rows, columns, depth. */
#include "gemm.cuh"
#include <initializer_list>

/* ==== which kernels, on how many parts ==== */
enum {
    GEMV = 4,           /* rows or columns that are too few for a tile */
    SMALL_OUTPUT = 256, /* a matrix that a warp's work is too much for, if not deep */
    SMALL_DEPTH = 128,
    TILE = 64,
    LARGE_TILE = 128,
    ENOUGH_BLOCKS = 128, /* to keep a device busy */
    PART = 256,          /* the least depth that is worth a part */
    MAX_PARTS = 64,
    WHOLE = 32 /* a part ends with a step of the tiles */
};
typedef enum { EACH, LANES, TILES, LARGE_TILES } way;

void cuda_gemm_begin(gemm *p, const rl_view *out) {
    *p = {};
    p->dtype = out->dtype;
    p->out = rl_data(out, RL_WRITE);
    p->alpha = 1, p->integer_alpha = 1, p->beta = 1, p->integer_beta = 1;
    p->splits = 1;
    p->batch.n = 1;
    p->gather.col_from = p->gather.depth_from = 1;
    for (int i = 0; i < GEMM_PLANE; i++) p->gather.divisor[i] = 1;
    for (gemm_axis *x : {&p->row, &p->col, &p->depth}) {
        x->n = 1;
        x->first = GEMM_DIGITS - 1;
        for (int d = 0; d < GEMM_DIGITS; d++) x->size[d] = 1;
    }
}

void cuda_gemm_digit(gemm_axis *x, int d, int64_t size, int64_t out, int64_t a, int64_t b, int64_t extra) {
    x->n *= size;
    x->size[d] = size;
    x->step[GEMM_OUT][d] = out;
    x->step[GEMM_A][d] = a;
    x->step[GEMM_B][d] = b;
    x->step[GEMM_EXTRA][d] = extra;
    if (size != 1 && d < x->first) x->first = d;
}

void cuda_gemm_batch(gemm *p, const cuda_iter &w) {
    p->batch.ndim = w.ndim;
    p->batch.n = w.numel;
    for (int d = 0; d < w.ndim; d++) {
        p->batch.size[d] = w.size[d];
        p->batch.inverse[d] = 1.0 / (double)w.size[d];
        for (int op = 0; op < GEMM_OPERANDS; op++) p->batch.step[op][d] = w.step[op][d];
    }
}

/* ---- which neighbours lie together ---- */
/* how far an operand's digit steps; of a gathered one the coordinates do so, too */
static int64_t axis_step(const gemm *p, const gemm_axis *x, int operand, int d) {
    const bool is_col = x == &p->col;
    const int plane = d - (is_col ? p->gather.col_from : p->gather.depth_from);
    int64_t step = x->step[operand][d];
    if (operand == GEMM_B && p->gather.is_used && plane >= 0 && plane < GEMM_PLANE)
        step += (is_col ? p->gather.col : p->gather.depth)[plane] * p->gather.step[plane];
    return step;
}
/* the first `run` of an axis lie side by side, and so do those after them */
static int64_t run_of(const gemm *p, const gemm_axis *x, int operand) {
    int64_t run = 1;
    for (int d = GEMM_DIGITS - 1; d >= 0; d--) {
        if (x->size[d] == 1) continue;
        if (axis_step(p, x, operand, d) != run) break;
        run *= x->size[d];
    }
    return run;
}
static bool is_in_vectors(const gemm *p, const gemm_axis *x, int operand, int64_t run) {
    const int64_t vector = 16 / (int64_t)rl_itemsize(p->dtype);
    if (operand != GEMM_B || !p->gather.is_used) return run == x->n || run % vector == 0;
    const int from = x == &p->col ? p->gather.col_from : p->gather.depth_from;
    return from == 0 && x->step[operand][GEMM_PLANE] == 1 && x->size[GEMM_PLANE] % vector == 0;
}
static void look_along(const gemm *p, const gemm_axis *side, int operand, bool *by_depth, bool *is_vector) {
    const int64_t along = run_of(p, &p->depth, operand), across = run_of(p, side, operand);
    *by_depth = along > across;
    *is_vector = is_in_vectors(p, *by_depth ? &p->depth : side, operand, *by_depth ? along : across);
}
static void look(gemm *p) {
    look_along(p, &p->row, GEMM_A, &p->a_by_depth, &p->a_is_vector);
    look_along(p, &p->col, GEMM_B, &p->b_by_depth, &p->b_is_vector);
    p->out_by_row = run_of(p, &p->row, GEMM_OUT) > run_of(p, &p->col, GEMM_OUT);
}

static int64_t tiles_of(const gemm *p, int64_t side) {
    return (p->row.n + side - 1) / side * ((p->col.n + side - 1) / side) * p->batch.n;
}

static way way_of(const gemm *p) {
    const int64_t thinner = p->row.n < p->col.n ? p->row.n : p->col.n;
    if (p->depth.n == 0 || !rl_is_float(p->dtype)) return EACH;
    if (!p->b) return LANES;
    if (thinner <= GEMV) {
        /* a thread reads along its column where a warp reads along the depth */
        const bool is_wide = p->row.n <= GEMV && !p->b_by_depth && p->col.n >= ENOUGH_BLOCKS * CUDA_THREADS;
        return p->depth.n <= SMALL_DEPTH / 2 || is_wide ? EACH : LANES;
    }
    if (p->row.n * p->col.n <= SMALL_OUTPUT && p->depth.n <= SMALL_DEPTH) return EACH;
    if (thinner > TILE && tiles_of(p, LARGE_TILE) >= ENOUGH_BLOCKS) return LARGE_TILES;
    return TILES;
}

static void split_depth(gemm *p, way how) {
    const int64_t tasks = how == LANES ? (p->row.n * p->col.n * p->batch.n + 7) / 8
                                       : tiles_of(p, how == LARGE_TILES ? LARGE_TILE : TILE);
    int64_t splits = how == EACH ? 1 : ENOUGH_BLOCKS / tasks;
    if (splits > MAX_PARTS) splits = MAX_PARTS;
    if (splits > p->depth.n / PART) splits = p->depth.n / PART;
    if (splits < 1) splits = 1;
    p->part = ((p->depth.n + splits - 1) / splits + WHOLE - 1) / WHOLE * WHOLE;
    p->splits = p->depth.n == 0 ? 1 : (p->depth.n + p->part - 1) / p->part;
}

static void launch(const gemm &p, way how, cudaStream_t s) {
    const bool large = how == LARGE_TILES;
    if (how == EACH)
        cuda_gemm_each(p, s);
    else if (how == LANES)
        cuda_gemm_lanes(p, s);
    else
        (void)(cuda_gemm_tf32(p, large, s) || cuda_gemm_tiles(p, large, s) || cuda_gemm_half(p, large, s) ||
               cuda_gemm_bfloat(p, large, s));
}

rl_status cuda_gemm_run(rl_call *k, gemm *p, bool may_alias) {
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
    if (p->sums) cuda_gemm_finish(*p, (cudaStream_t)k->stream);
    return rl_cuda_end(k);
}

/* ==== which dims are rows, columns, depth ==== */
struct operands {
    const rl_view *a, *b, *extra; /* extra: NULL, or what the product is added to */
};

/* the step of dim `from_end`, 1 being the last; 0 where v stretches or has none */
static int64_t step_of(const rl_view *v, int from_end) {
    const int d = v ? v->ndim - from_end : -1;
    return d < 0 || v->shape[d] == 1 ? 0 : v->strides[d];
}
/* v without its last dims */
static rl_view without(const rl_view *v, int last) {
    rl_view lead = *v;
    lead.ndim = (uint8_t)(v->ndim > last ? v->ndim - last : 0);
    lead.numel = 1;
    for (int d = 0; d < lead.ndim; d++) lead.numel *= lead.shape[d];
    return lead;
}

/* All dims of the output but the columns are rows; false: they are more than an axis has digits. */
static bool fold_rows(gemm *p, const rl_view *out, const operands &x, int has_col) {
    const rl_view rows = without(out, has_col), a = without(x.a, 1);
    const rl_view extra = without(x.extra ? x.extra : out, has_col);
    const rl_view *const views[3] = {&rows, &a, &extra};
    cuda_iter w;
    if (!cuda_iter_make(&w, views, 3) || w.ndim > GEMM_DIGITS) return false;
    if (w.ndim > 1 && w.numel > INT32_MAX) return false;
    for (int d = 0; d < w.ndim; d++)
        cuda_gemm_digit(&p->row, GEMM_DIGITS - w.ndim + d, w.size[d], w.step[0][d], w.step[1][d], 0,
                        w.step[2][d]);
    return true;
}

static bool batch_rows(gemm *p, const rl_view *out, const operands &x, int has_row, int has_col) {
    const int matrix = has_row + has_col;
    const rl_view none = without(out, out->ndim);
    const rl_view lead = without(out, matrix), a = without(x.a, x.a->ndim > 1 ? 2 : 1), b = without(x.b, 2);
    const rl_view extra = x.extra ? without(x.extra, matrix) : none;
    const rl_view *const views[GEMM_OPERANDS] = {&lead, &a, &b, &extra};
    if (has_row)
        cuda_gemm_digit(&p->row, GEMM_DIGITS - 1, out->shape[out->ndim - matrix], step_of(out, matrix),
                        step_of(x.a, 2), 0, step_of(x.extra, matrix));
    cuda_iter w;
    if (!cuda_iter_make(&w, views, GEMM_OPERANDS)) return false;
    cuda_gemm_batch(p, w);
    return true;
}

/* The last two dims of a are rows and depth, those of b depth and columns; a vector is all depth. The rest
 * are batches. */
static bool read_operands(const rl_call *k, gemm *p, const rl_view *out, const operands &x) {
    const int last = GEMM_DIGITS - 1, has_row = x.a->ndim > 1, has_col = x.b->ndim > 1;
    const int64_t depth = x.a->shape[x.a->ndim - 1];
    for (const rl_view *v : {x.a, x.b, x.extra})
        if (v && (v->dtype != out->dtype || v->device != out->device || v->device_index != out->device_index))
            return false;
    cuda_gemm_begin(p, out);
    p->tf32 = k->svc->tf32 & RL_TF32_MATMUL;
    if (out->numel == 0) return true;
    p->a = rl_const_data(x.a);
    p->b = rl_const_data(x.b);
    p->extra = x.extra ? rl_const_data(x.extra) : nullptr;
    cuda_gemm_digit(&p->depth, last, depth, 0, step_of(x.a, 1), step_of(x.b, 1 + has_col), 0);
    if (has_col)
        cuda_gemm_digit(&p->col, last, out->shape[out->ndim - 1], step_of(out, 1), 0, step_of(x.b, 1),
                        step_of(x.extra, 1));
    if (x.b->ndim <= 2 && fold_rows(p, out, x, has_col)) return true;
    return batch_rows(p, out, x, has_row, has_col);
}

CUDA_KERNEL(cuda_matmul) {
    gemm p;
    if (!read_operands(k, &p, k->out[0], {rl_in(k, 0), rl_in(k, 1), nullptr})) return RL_UNSUPPORTED;
    return cuda_gemm_run(k, &p, false);
}

CUDA_KERNEL(cuda_linear) {
    const rl_view *w = rl_in(k, 1);
    int64_t shape[2] = {w->shape[w->ndim - 1], w->shape[0]};
    int64_t strides[2] = {w->strides[w->ndim - 1], w->strides[0]};
    rl_view turned = *w;
    turned.shape = shape, turned.strides = strides;
    gemm p;
    if (!read_operands(k, &p, k->out[0], {rl_in(k, 0), &turned, rl_in(k, 2)})) return RL_UNSUPPORTED;
    return cuda_gemm_run(k, &p, false);
}

/* ---- beta * input + alpha * product ---- */
static void read_numbers(const rl_call *k, gemm *p) {
    const bool is_bool = p->dtype == RL_BOOL;
    p->beta = rl_num(k, 3), p->alpha = rl_num(k, 4);
    p->integer_beta = is_bool ? p->beta != 0 : rl_int(k, 3);
    p->integer_alpha = is_bool ? p->alpha != 0 : rl_int(k, 4);
    if (rl_is_float(p->dtype) ? p->beta == 0 : p->integer_beta == 0) p->extra = nullptr;
}

CUDA_KERNEL(cuda_addmm) {
    const operands x = {rl_in(k, 1), rl_in(k, 2), rl_in(k, 0)};
    const rl_storage *to = k->out[0]->storage;
    gemm p;
    if (!read_operands(k, &p, k->out[0], x)) return RL_UNSUPPORTED;
    read_numbers(k, &p);
    return cuda_gemm_run(k, &p, x.a->storage == to || x.b->storage == to);
}

CUDA_KERNEL(cuda_addr) {
    const rl_view *column = rl_in(k, 1), *row = rl_in(k, 2);
    int64_t a_shape[2] = {column->numel, 1}, a_strides[2] = {column->strides[0], 0};
    int64_t b_shape[2] = {1, row->numel}, b_strides[2] = {0, row->strides[0]};
    rl_view a = *column, b = *row;
    a.shape = a_shape, a.strides = a_strides, a.ndim = 2;
    b.shape = b_shape, b.strides = b_strides, b.ndim = 2;
    const rl_storage *to = k->out[0]->storage;
    gemm p;
    if (!read_operands(k, &p, k->out[0], {&a, &b, rl_in(k, 0)})) return RL_UNSUPPORTED;
    read_numbers(k, &p);
    return cuda_gemm_run(k, &p, a.storage == to || b.storage == to);
}
