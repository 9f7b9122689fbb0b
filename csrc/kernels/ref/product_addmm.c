/* addmm, baddbmm and addmv: the product goes to scratch, since input may be the output. */
#include "product_gemm.h"
#include <tgmath.h>

typedef struct {
    const char *a, *b;
    int64_t a_batch, a_row, a_depth, b_batch, b_depth, b_col; /* byte steps */
} operands;

static void matrix_pack_a(const rl_product *p, int64_t batch, int64_t row, int64_t rows, int64_t depth,
                          int64_t n, void *panel) {
    const operands *o = p->operands;
    const char *a = o->a + batch * o->a_batch + row * o->a_row + depth * o->a_depth;
    for (int64_t r = 0; r < rows; r++)
        rl_panel_row(p->dtype, a + r * o->a_row, o->a_depth, n, panel, r * RL_PANEL_DEPTH);
}

static void matrix_pack_b(const rl_product *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
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
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, weigh) RL_EACH_INT(RL_ENTRY, weigh)};
    const rl_view *x = k->arg[0].u.t, *a = k->arg[1].u.t, *b = k->arg[2].u.t, *out = k->out[0];
    int64_t item = rl_itemsize(x->dtype), at = a->ndim - 2;
    rl_numbers numbers = {.d = {rl_num(k, 3), rl_num(k, 4)}, .i = {rl_int(k, 3), rl_int(k, 4)}};
    operands o = {.a = rl_const_data(a), .b = rl_const_data(b)};
    rl_product p = {
        .dtype = x->dtype, .operands = &o, .pack_a = matrix_pack_a, .pack_b = matrix_pack_b, .batches = 1};
    if (!strips[x->dtype]) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    o.a_row = a->strides[at] * item, o.a_depth = a->strides[at + 1] * item;
    o.b_depth = b->strides[at] * item, o.b_col = b->ndim > 1 ? b->strides[at + 1] * item : 0;
    if (at) {
        o.a_batch = a->strides[0] * item, o.b_batch = b->strides[0] * item;
        p.batches = a->shape[0];
    }
    p.rows = a->shape[at], p.depth = a->shape[at + 1], p.cols = b->ndim > 1 ? b->shape[at + 1] : 1;
    p.out = k->svc->scratch(k, RL_COUNT(out->numel), item);
    if (!p.out || rl_product_run(k, &p) != RL_OK) return RL_FAIL;
    rl_walk w;
    rl_walk_begin(&w, out, RL_WRITE);
    w.base[1] = p.out;
    for (int64_t d = out->ndim - 1, step = item; d >= 0; step *= out->shape[d--]) w.stride[1][d] = step;
    w.nops = 2;
    rl_walk_add(&w, x);
    rl_walk_merge(&w);
    rl_walk_parallel(k, &w, RL_REF_NS, strips[x->dtype], &numbers);
    return RL_OK;
}
