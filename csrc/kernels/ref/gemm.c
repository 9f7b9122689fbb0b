/* Matrix products: the blocked GEMM, addmm and its kin, addr. */
#include "gemm.h"
#include "loops.h"
#include <string.h>
#include <tgmath.h>

/* ---- the blocked product of Note [Blocked GEMM] ---- */
/* bytes of an element of a panel */
static int64_t panel_item(int dtype) {
    return dtype == RL_F64 || !rl_is_float(dtype) ? 8 : 4;
}
static rl_layout panels_layout(const rl_call *k, rl_ref_gemm *p) {
    const int64_t item = panel_item(p->dtype);
    rl_layout l = rl_layout_begin(k);
    p->a = rl_layout_add(&l, RL_COUNT(RL_PANEL_ROWS, RL_PANEL_DEPTH), item);
    p->b = rl_layout_add(&l, RL_COUNT(RL_PANEL_DEPTH, RL_PANEL_COLS), item);
    p->sums = rl_layout_add(&l, RL_COUNT(RL_PANEL_ROWS, RL_PANEL_COLS), item);
    return l;
}

/* sum[rows][cols] += a[rows][n] * b[n][cols] on panels; depth is padded with zeros to a multiple of four */
#define PANEL_MULTIPLY(T)                                                                                    \
    static void multiply_##T(const void *pa, const void *pb, void *sums, int64_t rows, int64_t n) {          \
        for (int64_t r = 0; r < rows; r++) {                                                                 \
            const T *a = (const T *)pa + r * RL_PANEL_DEPTH;                                                 \
            T *restrict s = (T *)sums + r * RL_PANEL_COLS;                                                   \
            for (int64_t d = 0; d < n; d += 4) {                                                             \
                const T *restrict b = (const T *)pb + d * RL_PANEL_COLS;                                     \
                const T a0 = a[d], a1 = a[d + 1], a2 = a[d + 2], a3 = a[d + 3];                              \
                for (int c = 0; c < RL_PANEL_COLS; c++)                                                      \
                    s[c] += (a0 * b[c] + a1 * b[c + RL_PANEL_COLS]) +                                        \
                            (a2 * b[c + 2 * RL_PANEL_COLS] + a3 * b[c + 3 * RL_PANEL_COLS]);                 \
            }                                                                                                \
        }                                                                                                    \
    }
PANEL_MULTIPLY(float)
PANEL_MULTIPLY(double)
PANEL_MULTIPLY(uint64_t)

/* thin products: without the full width of a panel the loop above would mostly multiply padding */
#define PANEL_GEMV(T)                                                                                        \
    static void gemv_##T(const void *pa, const void *pb, void *sums, int64_t rows, int64_t n,                \
                         int64_t cols) {                                                                     \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int64_t d = 0; d < n; d++) {                                                                \
                const T a = ((const T *)pa)[r * RL_PANEL_DEPTH + d];                                         \
                for (int64_t c = 0; c < cols; c++)                                                           \
                    ((T *)sums)[r * RL_PANEL_COLS + c] += a * ((const T *)pb)[d * RL_PANEL_COLS + c];        \
            }                                                                                                \
    }
PANEL_GEMV(float)
PANEL_GEMV(double)
PANEL_GEMV(uint64_t)

void rl_panel_row(int dtype, const char *from, int64_t step, int64_t n, void *panel, int64_t at) {
    if (dtype == RL_F64)
        rl_row_doubles(dtype, from, step, n, (double *)panel + at);
    else if (rl_is_float(dtype))
        rl_row_floats(dtype, from, step, n, (float *)panel + at);
    else
        rl_row_ints(dtype, from, step, n, (int64_t *)panel + at);
}

static void panel_multiply(int dtype, char *a, char *b, char *sums, int64_t rows, int64_t n, int64_t cols) {
    int64_t item = panel_item(dtype), whole = (n + 3) / 4 * 4;
    if (cols < RL_PANEL_COLS / 4) {
        if (dtype == RL_F64)
            gemv_double(a, b, sums, rows, n, cols);
        else if (rl_is_float(dtype))
            gemv_float(a, b, sums, rows, n, cols);
        else
            gemv_uint64_t(a, b, sums, rows, n, cols);
        return;
    }
    for (int64_t d = 0; cols < RL_PANEL_COLS && d < n; d++)
        memset(b + (d * RL_PANEL_COLS + cols) * item, 0, (size_t)((RL_PANEL_COLS - cols) * item));
    memset(b + n * RL_PANEL_COLS * item, 0, (size_t)((whole - n) * RL_PANEL_COLS * item));
    for (int64_t r = 0; whole > n && r < rows; r++)
        memset(a + (r * RL_PANEL_DEPTH + n) * item, 0, (size_t)((whole - n) * item));
    if (dtype == RL_F64)
        multiply_double(a, b, sums, rows, whole);
    else if (rl_is_float(dtype))
        multiply_float(a, b, sums, rows, whole);
    else
        multiply_uint64_t(a, b, sums, rows, whole);
}

/* one row of sums, plus bias, to the output */
static void row_finish(const rl_ref_gemm *p, const char *sums, int64_t batch, int64_t row, int64_t col,
                       int64_t cols) {
    int64_t item = rl_itemsize(p->dtype);
    char *to = p->out + ((batch * p->rows + row) * p->cols + col) * item;
    double wide[RL_PANEL_COLS];
    if (!rl_is_float(p->dtype)) {
        int64_t whole[RL_PANEL_COLS];
        memcpy(whole, sums, (size_t)cols * 8);
        for (int64_t c = 0; p->bias && c < cols; c++) {
            int64_t x, at = p->bias->numel == 1 ? 0 : col + c;
            rl_row_ints(p->dtype,
                        (const char *)rl_const_data(p->bias) +
                            at * (p->bias->ndim ? p->bias->strides[0] : 0) * item,
                        0, 1, &x);
            whole[c] = RL_WRAP(whole[c], +, x);
        }
        rl_row_put_ints(p->dtype, to, item, cols, whole);
        return;
    }
    rl_row_doubles(p->dtype == RL_F64 ? RL_F64 : RL_F32, sums, p->dtype == RL_F64 ? 8 : 4, cols, wide);
    if (p->bias && p->bias_by_row) {
        double x = rl_vector_at(p->bias, batch % p->bias_groups * p->rows + row);
        for (int64_t c = 0; c < cols; c++) wide[c] += x;
    } else if (p->bias) {
        for (int64_t c = 0; c < cols; c++)
            wide[c] += rl_vector_at(p->bias, p->bias->numel == 1 ? 0 : col + c);
    }
    rl_row_put_doubles(p->dtype, to, item, cols, wide);
}

static int64_t at_most(int64_t n, int64_t limit) {
    return n < limit ? n : limit;
}

static void gemm_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_ref_gemm *p = ctx;
    int64_t down = (p->rows + RL_PANEL_ROWS - 1) / RL_PANEL_ROWS,
            across = (p->cols + RL_PANEL_COLS - 1) / RL_PANEL_COLS;
    char *room = rl_room(&p->rooms, thread), *a = room + p->a, *b = room + p->b, *sums = room + p->sums;
    const int64_t item = panel_item(p->dtype);
    for (int64_t t = begin; t < end; t++) {
        int64_t batch = t / (down * across), row = t / across % down * RL_PANEL_ROWS,
                col = t % across * RL_PANEL_COLS;
        int64_t rows = at_most(p->rows - row, RL_PANEL_ROWS), cols = at_most(p->cols - col, RL_PANEL_COLS);
        memset(sums, 0, (size_t)(rows * RL_PANEL_COLS * item));
        for (int64_t d = 0; d < p->depth; d += RL_PANEL_DEPTH) {
            int64_t n = at_most(p->depth - d, RL_PANEL_DEPTH);
            p->pack_a(p, batch, row, rows, d, n, a);
            p->pack_b(p, batch, d, n, col, cols, b);
            panel_multiply(p->dtype, a, b, sums, rows, n, cols);
        }
        for (int64_t r = 0; r < rows; r++)
            row_finish(p, sums + r * RL_PANEL_COLS * item, batch, row + r, col, cols);
    }
}

rl_status rl_ref_gemm_run(rl_call *k, rl_ref_gemm *p) {
    int64_t down = (p->rows + RL_PANEL_ROWS - 1) / RL_PANEL_ROWS,
            across = (p->cols + RL_PANEL_COLS - 1) / RL_PANEL_COLS;
    int64_t tiles = p->batches * down * across;
    if (tiles == 0) return RL_OK;
    const rl_layout l = panels_layout(k, p);
    if (!k->svc->rooms(k, &l, tiles == 1 ? 1 : k->threads, &p->rooms)) return RL_FAIL;
    if (tiles == 1)
        gemm_part(p, 0, 1, 0);
    else
        k->svc->parallel(k, tiles, 64 * RL_REF_NS * (double)p->depth, gemm_part, p);
    return RL_OK;
}

/* ---- matmul and linear: strided operands ---- */
typedef struct {
    const char *a, *b;
    rl_iter batch, rows;             /* operands of batch: a, b; of rows: a */
    int64_t a_depth, b_depth, b_col; /* byte steps */
} strided;

static void strided_pack_a(const rl_ref_gemm *p, int64_t batch, int64_t row, int64_t rows, int64_t depth,
                           int64_t n, void *panel) {
    const strided *s = p->operands;
    char *from[2] = {s->batch.base[0], s->batch.base[1]};
    rl_iter_seek(&s->batch, batch, from);
    for (int64_t r = 0; r < rows; r++) {
        char *line = from[0];
        rl_iter_seek(&s->rows, row + r, &line);
        rl_panel_row(p->dtype, line + depth * s->a_depth, s->a_depth, n, panel, r * RL_PANEL_DEPTH);
    }
}

/* element (i, j) of b goes to panel[i * RL_PANEL_COLS + j]; a transposed b is read along its rows */
static void strided_pack_b(const rl_ref_gemm *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
                           int64_t cols, void *panel) {
    const strided *s = p->operands;
    char *from[2] = {s->batch.base[0], s->batch.base[1]};
    int64_t item = panel_item(p->dtype);
    rl_iter_seek(&s->batch, batch, from);
    const char *b = from[1] + depth * s->b_depth + col * s->b_col;
    if (s->b_depth != rl_itemsize(p->dtype)) {
        for (int64_t d = 0; d < n; d++)
            rl_panel_row(p->dtype, b + d * s->b_depth, s->b_col, cols, panel, d * RL_PANEL_COLS);
        return;
    }
    union {
        uint64_t wide[RL_PANEL_DEPTH];
        float narrow[RL_PANEL_DEPTH];
    } line;
    for (int64_t c = 0; c < cols; c++) {
        rl_panel_row(p->dtype, b + c * s->b_col, s->b_depth, n, &line, 0);
        if (item == 8)
            for (int64_t d = 0; d < n; d++) ((uint64_t *)panel)[d * RL_PANEL_COLS + c] = line.wide[d];
        else
            for (int64_t d = 0; d < n; d++) ((float *)panel)[d * RL_PANEL_COLS + c] = line.narrow[d];
    }
}

/* rows of a: its dims before the last, from `from` on */
static void rows_iter(rl_iter *w, const rl_view *a, int from) {
    uint64_t drop = a->ndim ? 1ull << (a->ndim - 1) : 0;
    rl_iter_begin(w, a, RL_READ);
    rl_iter_drop(w, drop | ((1ull << from) - 1));
    rl_iter_merge(w);
}

static int64_t byte_stride(const rl_view *v, int dim) {
    return dim < 0 ? 0 : v->strides[dim] * rl_itemsize(v->dtype);
}

static void no_batch(rl_iter *w, const rl_view *a, const rl_view *b) {
    w->nops = 2;
    w->ndim = 0;
    w->numel = 1;
    w->base[0] = rl_data(a, RL_READ);
    w->base[1] = rl_data(b, RL_READ);
}

RL_KERNEL(ref_matmul) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t, *out = k->out[0];
    strided s = {.a_depth = byte_stride(a, a->ndim - 1),
                 .b_depth = byte_stride(b, b->ndim > 1 ? b->ndim - 2 : 0),
                 .b_col = b->ndim > 1 ? byte_stride(b, b->ndim - 1) : 0};
    rl_ref_gemm p = {.dtype = out->dtype, .operands = &s, .pack_a = strided_pack_a, .pack_b = strided_pack_b};
    p.out = rl_data(out, RL_WRITE);
    p.depth = a->shape[a->ndim - 1];
    p.cols = b->ndim > 1 ? b->shape[b->ndim - 1] : 1;
    if (out->numel == 0) return RL_OK;
    if (b->ndim <= 2) { /* all of a's leading dims are rows */
        rows_iter(&s.rows, a, 0);
        no_batch(&s.batch, a, b);
    } else {
        /* the leading dims of out, with those of a and b stretched to them */
        int lead = b->ndim - 2 > a->ndim - 2 ? b->ndim - 2 : a->ndim - 2;
        rows_iter(&s.rows, a, a->ndim > 1 ? a->ndim - 2 : 0);
        no_batch(&s.batch, a, b);
        s.batch.ndim = lead;
        for (int d = 0; d < lead; d++) {
            int da = d - lead + a->ndim - 2, db = d - lead + b->ndim - 2;
            s.batch.size[d] = out->shape[d];
            s.batch.numel *= out->shape[d];
            s.batch.stride[0][d] = da < 0 || a->shape[da] == 1 ? 0 : byte_stride(a, da);
            s.batch.stride[1][d] = db < 0 || b->shape[db] == 1 ? 0 : byte_stride(b, db);
        }
        rl_iter_merge(&s.batch);
    }
    p.rows = s.rows.numel;
    p.batches = s.batch.numel;
    return rl_ref_gemm_run(k, &p);
}

RL_KERNEL(ref_linear) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t;
    strided s = {.a_depth = byte_stride(x, x->ndim - 1),
                 .b_depth = byte_stride(w, w->ndim - 1),
                 .b_col = w->ndim == 2 ? byte_stride(w, 0) : 0};
    rl_ref_gemm p = {.dtype = x->dtype, .operands = &s, .pack_a = strided_pack_a, .pack_b = strided_pack_b};
    p.bias = rl_in(k, 2);
    p.out = rl_data(k->out[0], RL_WRITE);
    if (k->out[0]->numel == 0) return RL_OK;
    rows_iter(&s.rows, x, 0);
    no_batch(&s.batch, x, w);
    p.batches = 1;
    p.rows = s.rows.numel;
    p.depth = x->shape[x->ndim - 1];
    p.cols = w->ndim == 2 ? w->shape[0] : 1;
    return rl_ref_gemm_run(k, &p);
}

/* ---- addmm, baddbmm and addmv: the product goes to scratch, since input may be the output ---- */
typedef struct {
    const char *a, *b;
    int64_t a_batch, a_row, a_depth, b_batch, b_depth, b_col; /* byte steps */
} operands;

static void matrix_pack_a(const rl_ref_gemm *p, int64_t batch, int64_t row, int64_t rows, int64_t depth,
                          int64_t n, void *panel) {
    const operands *o = p->operands;
    const char *a = o->a + batch * o->a_batch + row * o->a_row + depth * o->a_depth;
    for (int64_t r = 0; r < rows; r++)
        rl_panel_row(p->dtype, a + r * o->a_row, o->a_depth, n, panel, r * RL_PANEL_DEPTH);
}

static void matrix_pack_b(const rl_ref_gemm *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
                          int64_t cols, void *panel) {
    const operands *o = p->operands;
    const char *b = o->b + batch * o->b_batch + depth * o->b_depth + col * o->b_col;
    for (int64_t d = 0; d < n; d++)
        rl_panel_row(p->dtype, b + d * o->b_depth, o->b_col, cols, panel, d * RL_PANEL_COLS);
}

/* output = beta * input + alpha * product; operands of the walk: output, product, input */
RL_EACH_FLOAT(RL_BINARY_KEEP, weigh, ((C)c->d[1] * a + (c->d[0] == 0 ? 0 : (C)c->d[0] * b)))
RL_EACH_INT(RL_BINARY_KEEP, weigh, (RL_WRAP(RL_WRAP(c->i[1], *, a), +, RL_WRAP(c->i[0], *, b))))

RL_CHOOSER
RL_KERNEL(ref_addmm) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, weigh)
                                                        RL_EACH_INT(RL_ENTRY, weigh)};
    const rl_view *x = k->arg[0].u.t, *a = k->arg[1].u.t, *b = k->arg[2].u.t, *out = k->out[0];
    int64_t item = rl_itemsize(x->dtype), at = a->ndim - 2;
    rl_numbers numbers = {.d = {rl_num(k, 3), rl_num(k, 4)}, .i = {rl_int(k, 3), rl_int(k, 4)}};
    operands o = {.a = rl_const_data(a), .b = rl_const_data(b)};
    rl_ref_gemm p = {
        .dtype = x->dtype, .operands = &o, .pack_a = matrix_pack_a, .pack_b = matrix_pack_b, .batches = 1};
    if (out->numel == 0) return RL_OK;
    o.a_row = a->strides[at] * item, o.a_depth = a->strides[at + 1] * item;
    o.b_depth = b->strides[at] * item, o.b_col = b->ndim > 1 ? b->strides[at + 1] * item : 0;
    if (at) {
        o.a_batch = a->strides[0] * item, o.b_batch = b->strides[0] * item;
        p.batches = a->shape[0];
    }
    p.rows = a->shape[at], p.depth = a->shape[at + 1], p.cols = b->ndim > 1 ? b->shape[at + 1] : 1;
    p.out = k->svc->scratch(k, RL_COUNT(out->numel), item);
    if (!p.out || rl_ref_gemm_run(k, &p) != RL_OK) return RL_FAIL;
    rl_iter w;
    rl_iter_begin(&w, out, RL_WRITE);
    w.base[1] = p.out;
    for (int64_t d = out->ndim - 1, step = item; d >= 0; step *= out->shape[d--]) w.stride[1][d] = step;
    w.nops = 2;
    rl_iter_add(&w, x);
    rl_iter_merge(&w);
    rl_iter_parallel(k, &w, RL_REF_NS, loops[x->dtype], &numbers);
    return RL_OK;
}

/* ---- addr: a matrix plus an outer product, element by element ---- */
/* operands: output, input, vec1 down the columns, vec2 along the rows */
#define ADDR_LOOP(D, T, C_, LOAD, STORE, sum, rest)                                                          \
    static void addr_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                  \
        typedef C_ C;                                                                                        \
        const rl_numbers *c = ctx;                                                                           \
        const bool reads = c->d[0] != 0;                                                                     \
        const int64_t item = sizeof(T);                                                                      \
        if (n <= 0) return;                                                                                  \
        if (step[0] == item && step[1] == item && step[2] == 0 && step[3] == item) {                         \
            T *to = (T *)p[0];                                                                               \
            const T *from = (const T *)p[1], *row = (const T *)p[3];                                         \
            const C b = LOAD(*(const T *)p[2]);                                                              \
            RL_IVDEP for (int64_t i = 0; i < n; i++) {                                                       \
                const C a = LOAD(from[i]), third = LOAD(row[i]);                                             \
                to[i] = STORE(reads ? sum : rest);                                                           \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C a = LOAD(*(const T *)(p[1] + i * step[1])), b = LOAD(*(const T *)(p[2] + i * step[2])),  \
                    third = LOAD(*(const T *)(p[3] + i * step[3]));                                          \
            *(T *)(p[0] + i * step[0]) = STORE(reads ? sum : rest);                                          \
        }                                                                                                    \
    }
#define OUTER         ((C)c->d[1] * b * third)
#define INTEGER_OUTER RL_WRAP(RL_WRAP(c->i[1], *, b), *, third)
RL_EACH_FLOAT(ADDR_LOOP, ((C)c->d[0] * a + OUTER), OUTER)
RL_EACH_INT(ADDR_LOOP, (RL_WRAP(RL_WRAP(c->i[0], *, a), +, INTEGER_OUTER)), INTEGER_OUTER)
RL_JUST_BOOL(ADDR_LOOP, (a || (c->d[1] != 0 && b && third)), (c->d[1] != 0 && b && third))
#define ADDR_ENTRY(D, ...) [RL_##D] = addr_##D,

RL_KERNEL(ref_addr) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(ADDR_ENTRY, ) RL_EACH_INT(ADDR_ENTRY, )
                                                        RL_JUST_BOOL(ADDR_ENTRY, )};
    const rl_numbers numbers = {.d = {rl_num(k, 3), rl_num(k, 4)}, .i = {rl_int(k, 3), rl_int(k, 4)}};
    const rl_view *vec = k->arg[1].u.t;
    int64_t shape[2] = {vec->shape[0], 1}, strides[2] = {vec->strides[0], 0};
    rl_view column = *vec;
    rl_iter w;
    column.shape = shape, column.strides = strides, column.ndim = 2;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, k->arg[0].u.t);
    rl_iter_add(&w, &column);
    rl_iter_add(&w, k->arg[2].u.t);
    rl_iter_each(k, &w, RL_REF_NS, loops[k->out[0]->dtype], &numbers);
    return RL_OK;
}
