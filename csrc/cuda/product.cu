/* Products of matrices, vectors and batches of them: which dims of the operands are rows, columns, depth. */
#include "gemm.h"
#include <initializer_list>

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
static bool fold_rows(product *p, const rl_view *out, const operands &x, int has_col) {
    const rl_view rows = without(out, has_col), a = without(x.a, 1);
    const rl_view extra = without(x.extra ? x.extra : out, has_col);
    const rl_view *const views[3] = {&rows, &a, &extra};
    cuda_walk w;
    if (!cuda_walk_make(&w, views, 3) || w.ndim > PRODUCT_DIGITS) return false;
    if (w.ndim > 1 && w.numel > INT32_MAX) return false;
    for (int d = 0; d < w.ndim; d++)
        cuda_product_digit(&p->row, PRODUCT_DIGITS - w.ndim + d, w.size[d], w.step[0][d], w.step[1][d], 0,
                           w.step[2][d]);
    return true;
}

static bool batch_rows(product *p, const rl_view *out, const operands &x, int has_row, int has_col) {
    const int matrix = has_row + has_col;
    const rl_view none = without(out, out->ndim);
    const rl_view lead = without(out, matrix), a = without(x.a, x.a->ndim > 1 ? 2 : 1), b = without(x.b, 2);
    const rl_view extra = x.extra ? without(x.extra, matrix) : none;
    const rl_view *const views[PRODUCT_OPERANDS] = {&lead, &a, &b, &extra};
    if (has_row)
        cuda_product_digit(&p->row, PRODUCT_DIGITS - 1, out->shape[out->ndim - matrix], step_of(out, matrix),
                           step_of(x.a, 2), 0, step_of(x.extra, matrix));
    cuda_walk w;
    if (!cuda_walk_make(&w, views, PRODUCT_OPERANDS)) return false;
    cuda_product_batch(p, w);
    return true;
}

/* The last two dims of a are rows and depth, those of b depth and columns; a vector is all depth. The rest
 * are batches. */
static bool read_operands(const rl_call *k, product *p, const rl_view *out, const operands &x) {
    const int last = PRODUCT_DIGITS - 1, has_row = x.a->ndim > 1, has_col = x.b->ndim > 1;
    const int64_t depth = x.a->shape[x.a->ndim - 1];
    for (const rl_view *v : {x.a, x.b, x.extra})
        if (v && (v->dtype != out->dtype || v->device != out->device || v->device_index != out->device_index))
            return false;
    cuda_product_begin(p, out);
    p->tf32 = k->svc->tf32 & RL_TF32_MATMUL;
    if (out->numel == 0) return true;
    p->a = rl_const_data(x.a);
    p->b = rl_const_data(x.b);
    p->extra = x.extra ? rl_const_data(x.extra) : nullptr;
    cuda_product_digit(&p->depth, last, depth, 0, step_of(x.a, 1), step_of(x.b, 1 + has_col), 0);
    if (has_col)
        cuda_product_digit(&p->col, last, out->shape[out->ndim - 1], step_of(out, 1), 0, step_of(x.b, 1),
                           step_of(x.extra, 1));
    if (x.b->ndim <= 2 && fold_rows(p, out, x, has_col)) return true;
    return batch_rows(p, out, x, has_row, has_col);
}

CUDA_KERNEL(cuda_matmul) {
    product p;
    if (!read_operands(k, &p, k->out[0], {rl_in(k, 0), rl_in(k, 1), nullptr})) return RL_UNSUPPORTED;
    return cuda_product_run(k, &p, false);
}

CUDA_KERNEL(cuda_linear) {
    const rl_view *w = rl_in(k, 1);
    int64_t shape[2] = {w->shape[w->ndim - 1], w->shape[0]};
    int64_t strides[2] = {w->strides[w->ndim - 1], w->strides[0]};
    rl_view turned = *w;
    turned.shape = shape, turned.strides = strides;
    product p;
    if (!read_operands(k, &p, k->out[0], {rl_in(k, 0), &turned, rl_in(k, 2)})) return RL_UNSUPPORTED;
    return cuda_product_run(k, &p, false);
}

/* ---- beta * input + alpha * product ---- */
static void read_numbers(const rl_call *k, product *p) {
    const bool is_bool = p->dtype == RL_BOOL;
    p->beta = rl_num(k, 3), p->alpha = rl_num(k, 4);
    p->whole_beta = is_bool ? p->beta != 0 : rl_int(k, 3);
    p->whole_alpha = is_bool ? p->alpha != 0 : rl_int(k, 4);
    if (rl_is_float(p->dtype) ? p->beta == 0 : p->whole_beta == 0) p->extra = nullptr;
}

CUDA_KERNEL(cuda_addmm) {
    const operands x = {rl_in(k, 1), rl_in(k, 2), rl_in(k, 0)};
    const rl_storage *to = k->out[0]->storage;
    product p;
    if (!read_operands(k, &p, k->out[0], x)) return RL_UNSUPPORTED;
    read_numbers(k, &p);
    return cuda_product_run(k, &p, x.a->storage == to || x.b->storage == to);
}

CUDA_KERNEL(cuda_addr) {
    const rl_view *column = rl_in(k, 1), *row = rl_in(k, 2);
    int64_t a_shape[2] = {column->numel, 1}, a_strides[2] = {column->strides[0], 0};
    int64_t b_shape[2] = {1, row->numel}, b_strides[2] = {0, row->strides[0]};
    rl_view a = *column, b = *row;
    a.shape = a_shape, a.strides = a_strides, a.ndim = 2;
    b.shape = b_shape, b.strides = b_strides, b.ndim = 2;
    const rl_storage *to = k->out[0]->storage;
    product p;
    if (!read_operands(k, &p, k->out[0], {&a, &b, rl_in(k, 0)})) return RL_UNSUPPORTED;
    read_numbers(k, &p);
    return cuda_product_run(k, &p, a.storage == to || b.storage == to);
}
