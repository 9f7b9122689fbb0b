/* matmul, addmm and linear: products of matrices that lie in tensors, in batches of any strides. */
#include "gemm.h"
#include "kernels/simd/common.h"

/* Batched GEMM over tensors: matrices of any strides, broadcast ones too, used in place.
 */
enum { RL_BATCH_A, RL_BATCH_B, RL_BATCH_C, RL_BATCH_X, RL_BATCH_OPS };
typedef struct {
    rl_gemm g;                                                  /* of batch 0 */
    int dims;                                                   /* leading dimensions */
    int64_t size[RL_MAX_DIMS], step[RL_BATCH_OPS][RL_MAX_DIMS]; /* elements */
} rl_gemm_batch;

/* ---- reading ---- */
/* Does simd_ code multiply such tensors? `out` may share memory with the summand x alone. */
RL_CHOOSER
static bool rl_gemm_batch_takes(const rl_view *a, const rl_view *b, const rl_view *out) {
    return out->numel > 0 && a->numel > 0 && a->storage != out->storage && b->storage != out->storage;
}

/* of dim d of out, counted from the last; 0 where v is stretched */
static int64_t stride_back(const rl_view *v, int d) {
    const int at = v->ndim - 1 - d;
    return at < 0 || v->shape[at] == 1 ? 0 : v->strides[at];
}

/* a (..., m, k) times b (..., k, n) to out; `a_vector`: a has no m, `b_vector`: b has no n. */
static void rl_gemm_batch_read(rl_gemm_batch *t, const rl_view *a, const rl_view *b, const rl_view *out,
                               bool a_vector, bool b_vector) {
    const int an = a->ndim, bn = b->ndim, last = out->ndim - 1;
    rl_gemm *g = &t->g;
    *g = (rl_gemm){.dtype = out->dtype, .c_dtype = out->dtype, .alpha = 1};
    g->at = (rl_gemm_data){.a = rl_const_data(a), .b = rl_const_data(b), .c = rl_data(out, RL_WRITE)};
    g->k = a->shape[an - 1], g->a_col = a->strides[an - 1];
    g->m = a_vector ? 1 : a->shape[an - 2], g->a_row = a_vector ? 0 : a->strides[an - 2];
    g->b_row = b->strides[b_vector ? bn - 1 : bn - 2];
    g->n = b_vector ? 1 : b->shape[bn - 1], g->b_col = b_vector ? 0 : b->strides[bn - 1];
    g->c_col = b_vector ? 1 : out->strides[last];
    g->c_row = a_vector ? 0 : out->strides[last - !b_vector];
    const int inner = !a_vector + !b_vector;
    t->dims = out->ndim - inner;
    for (int d = 0; d < t->dims; d++) {
        const int back = t->dims - 1 - d;
        t->size[d] = out->shape[d];
        t->step[RL_BATCH_A][d] = stride_back(a, back + 1 + !a_vector);
        t->step[RL_BATCH_B][d] = stride_back(b, back + 1 + !b_vector);
        t->step[RL_BATCH_C][d] = out->strides[d];
        t->step[RL_BATCH_X][d] = 0;
    }
}

/* beta times x, stretched to out, is added */
static void rl_gemm_batch_add(rl_gemm_batch *t, const rl_view *x, const rl_view *out, bool b_vector,
                              double alpha, double beta) {
    t->g.alpha = alpha, t->g.beta = beta;
    if (beta == 0) return;
    t->g.at.x = rl_const_data(x);
    t->g.x_col = b_vector ? 0 : stride_back(x, 0);
    t->g.x_row = stride_back(x, !b_vector);
    for (int d = 0; d < t->dims; d++) t->step[RL_BATCH_X][d] = stride_back(x, out->ndim - 1 - d);
}

/* Is dim d of every operand what comes after `size` steps of `inner`? */
RL_CHOOSER
static bool follows(const rl_gemm_batch *t, int d, const int64_t *inner, int64_t size) {
    for (int op = 0; op < RL_BATCH_OPS; op++)
        if (t->step[op][d] != inner[op] * size) return false;
    return true;
}

/* Leading dimensions that are more rows become such. */
RL_CHOOSER
static void rl_gemm_batch_fold(rl_gemm_batch *t) {
    rl_gemm *g = &t->g;
    int kept = 0;
    for (int d = 0; d < t->dims; d++) {
        if (t->size[d] == 1) continue;
        t->size[kept] = t->size[d];
        for (int op = 0; op < RL_BATCH_OPS; op++) t->step[op][kept] = t->step[op][d];
        kept++;
    }
    t->dims = kept;
    while (t->dims > 0) {
        const int d = t->dims - 1;
        const int64_t rows[RL_BATCH_OPS] = {g->a_row, 0, g->c_row, g->x_row};
        if (g->m == 1 && t->step[RL_BATCH_B][d] == 0) {
            g->a_row = t->step[RL_BATCH_A][d], g->c_row = t->step[RL_BATCH_C][d];
            g->x_row = t->step[RL_BATCH_X][d];
        } else if (!follows(t, d, rows, g->m)) {
            return;
        }
        g->m *= t->size[d];
        t->dims--;
    }
}

/* ---- running ---- */
typedef struct {
    const rl_gemm_batch *t;
    const rl_gemm_plan *plan;
    rl_rooms rooms;
    rl_gemm_parts parts;
} batch_job;

/* batch i, in the order of the plan */
static rl_gemm_data batch_at(const rl_gemm_batch *t, const rl_gemm_plan *plan, int64_t i) {
    int64_t at[RL_BATCH_OPS] = {0}, item = rl_itemsize(plan->g.dtype);
    rl_gemm_data d = plan->g.at;
    for (int dim = t->dims - 1; dim >= 0; dim--) {
        const int64_t index = dim ? i % t->size[dim] : i;
        if (dim) i /= t->size[dim];
        for (int op = 0; op < RL_BATCH_OPS; op++) at[op] += index * t->step[op][dim];
    }
    d.a = (const char *)d.a + at[plan->swapped ? RL_BATCH_B : RL_BATCH_A] * item;
    d.b = (const char *)d.b + at[plan->swapped ? RL_BATCH_A : RL_BATCH_B] * item;
    d.c = (char *)d.c + at[RL_BATCH_C] * item;
    if (d.x) d.x = (const char *)d.x + at[RL_BATCH_X] * item;
    return d;
}

static void batch_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const batch_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        const rl_gemm_data at = batch_at(j->t, j->plan, i);
        rl_gemm_alone(j->plan, &at, rl_room(&j->rooms, thread), j->parts);
    }
}

enum { LARGE = 1 << 21 };          /* multiply-adds of a product that threads share */
static const double BEGIN_NS = 30; /* before the first of them */

RL_CHOOSER
static rl_status rl_gemm_batch_run(rl_call *k, const rl_gemm_batch *t) {
    rl_gemm_plan plan;
    const rl_gemm *g = &plan.g;
    if (!rl_gemm_plan_make(k, &t->g, &plan)) return RL_UNSUPPORTED;
    if (t->dims == 0) return rl_gemm_run(k, &plan, &g->at);
    int64_t count = 1;
    for (int d = 0; d < t->dims; d++) count *= t->size[d];
    const double work = (double)g->m * (double)g->n * (double)g->k, ns = RL_GEMM_NS * work + BEGIN_NS;
    if (work >= LARGE || rl_gemm_is_long(&plan)) {
        for (int64_t i = 0; i < count; i++) {
            const rl_gemm_data at = batch_at(t, &plan, i);
            rl_status s = rl_gemm_run(k, &plan, &at);
            if (s != RL_OK) return s;
        }
        return RL_OK;
    }
    batch_job j = {.t = t, .plan = &plan};
    const int64_t threads = rl_is_serial(k, count, ns) ? 1 : k->threads;
    rl_layout l = rl_layout_begin(k);
    j.parts = rl_gemm_alone_layout(&l, &plan, 1);
    if (l.size.n && !k->svc->rooms(k, &l, threads, &j.rooms)) return RL_FAIL;
    k->svc->parallel(k, count, ns, batch_items, &j);
    return RL_OK;
}

/* ---- matmul, addmm and their kin: matrices and vectors of any strides in batches ---- */
RL_CHOOSER
RL_KERNEL(simd_matmul) {
    const rl_view *a = rl_in(k, 0), *b = rl_in(k, 1), *out = k->out[0];
    rl_gemm_batch t;
    if (!rl_gemm_batch_takes(a, b, out)) return RL_UNSUPPORTED;
    rl_gemm_batch_read(&t, a, b, out, a->ndim == 1, b->ndim == 1);
    rl_gemm_batch_fold(&t);
    return rl_gemm_batch_run(k, &t);
}

/* input, two factors, beta, alpha: addmm, baddbmm and addmv */
RL_CHOOSER
RL_KERNEL(simd_addmm) {
    const rl_view *x = rl_in(k, 0), *a = rl_in(k, 1), *b = rl_in(k, 2), *out = k->out[0];
    const bool vector = b->ndim == 1;
    rl_gemm_batch t;
    if (!rl_is_float(out->dtype) || !rl_gemm_batch_takes(a, b, out)) return RL_UNSUPPORTED;
    rl_gemm_batch_read(&t, a, b, out, false, vector);
    rl_gemm_batch_add(&t, x, out, vector, rl_num(k, 4), rl_num(k, 3));
    rl_gemm_batch_fold(&t);
    return rl_gemm_batch_run(k, &t);
}

/* linear: input (..., K) times weight (N, K) transposed. A few rows are dot products with the weight as it
 * lies; for more of them its panels stay with the weight while it is unchanged. */
enum { KEY_LINEAR = 0x11 }; /* panels of kernels/simd/gemm/gemm.h; the panel width is added */

/* The weight's panels: its packed weights, or a copy for this call; NULL without memory. */
static const void *linear_panels(rl_call *k, const rl_view *w, const rl_gemm_plan *plan) {
    const uint64_t key = KEY_LINEAR << 8 | (unsigned)plan->ukernel->nr;
    const rl_count count = rl_gemm_panels_count(plan);
    const size_t size = (size_t)plan->size;
    void *to = k->svc->packed_find(k, w, key);
    if (to) return to;
    to = plan->in.convert ? NULL : k->svc->packed_new(k, w, key, count, size);
    const bool kept = to != NULL;
    if (!kept) to = k->svc->scratch(k, count, size);
    if (!to) return NULL;
    rl_gemm_pack_shared(k, plan, to);
    if (kept) k->svc->packed_ready(k, w, key);
    return to;
}

RL_CHOOSER
RL_KERNEL(simd_linear) {
    const rl_view *x = rl_in(k, 0), *w = rl_in(k, 1), *bias = rl_in(k, 2), *out = k->out[0];
    rl_gemm_batch t;
    rl_gemm_plan plan;
    if (w->ndim != 2 || !rl_is_float(out->dtype) || !rl_gemm_batch_takes(x, w, out)) return RL_UNSUPPORTED;
    const rl_view wt = {.shape = (int64_t[]){w->shape[1], w->shape[0]},
                        .strides = (int64_t[]){w->strides[1], w->strides[0]},
                        .storage = w->storage,
                        .offset = w->offset,
                        .dtype = w->dtype,
                        .ndim = 2};
    rl_gemm_batch_read(&t, x, &wt, out, x->ndim == 1, false);
    if (bias) rl_gemm_batch_add(&t, bias, out, false, 1, 1);
    rl_gemm_batch_fold(&t);
    if (!rl_gemm_plan_make(k, &t.g, &plan)) return RL_UNSUPPORTED;
    /* halves are packed as floats, twice the size: only for a batch, which uses them again and again */
    const bool keeps = w->dtype == RL_F32 || w->dtype == RL_F64 || t.dims > 0;
    if (keeps && plan.way == RL_WAY_TILES) {
        t.g.panels = linear_panels(k, w, &plan);
        if (!t.g.panels) return RL_FAIL;
    }
    return rl_gemm_batch_run(k, &t);
}
