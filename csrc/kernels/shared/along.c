/* See along.h. */
#include "along.h"
#include <string.h>

typedef struct {
    char *to;
    size_t item;
} packing;

static void pack_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    packing *packed = (packing *)ctx;
    for (int64_t i = 0; i < n; i++, packed->to += packed->item)
        memcpy(packed->to, p[0] + i * step[0], packed->item);
}

/* all elements of the input in their order */
static char *in_order(rl_call *k, const rl_view *x) {
    const int64_t item = rl_itemsize(x->dtype);
    if (rl_is_contiguous(x)) return rl_data(x, RL_READ);
    char *memory = k->svc->scratch(k, RL_COUNT(x->numel), rl_itemsize(x->dtype));
    if (!memory) return NULL;
    rl_iter w;
    packing packed = {memory, (size_t)item};
    rl_iter_begin(&w, x, RL_READ);
    rl_iter_merge(&w);
    rl_iter_range(&w, 0, w.numel, pack_loop, &packed);
    return memory;
}

static rl_status one_line(rl_call *k, rl_along *a, const rl_view *x) {
    a->lines.ndim = 0;
    a->lines.numel = 1;
    a->n = x->numel;
    for (int op = 0; op < a->in; op++) a->step[op] = 0;
    a->step[a->in] = rl_itemsize(x->dtype);
    a->lines.base[a->in] = in_order(k, x);
    return a->lines.base[a->in] ? RL_OK : RL_FAIL;
}

/* the strides of an output for the input's dims */
static void add_output(rl_along *a, int op, const rl_view *out, int ndim, int64_t dim) {
    const int64_t item = rl_itemsize(out->dtype);
    for (int d = 0; d < ndim; d++) {
        const int at = out->ndim == ndim || d < dim ? d : d - 1;
        a->lines.stride[op][d] = out->ndim < ndim && d == dim ? 0 : out->strides[at] * item;
    }
}

rl_status rl_along_begin(rl_call *k, rl_along *a) {
    const rl_view *x = k->arg[0].u.t;
    const int64_t dim = k->attr[0], item = rl_itemsize(x->dtype);
    rl_iter *w = &a->lines;
    a->in = k->n_out;
    w->nops = k->n_out + 1;
    w->numel = 0;
    if (k->out[0]->numel == 0) return RL_OK;
    for (int op = 0; op < a->in; op++) w->base[op] = rl_data(k->out[op], RL_WRITE);
    if (dim < 0) return one_line(k, a, x);
    w->base[a->in] = rl_data(x, RL_READ);
    w->ndim = x->ndim;
    a->n = x->ndim ? x->shape[dim] : 1;
    for (int d = 0; d < x->ndim; d++) {
        w->size[d] = x->shape[d];
        w->stride[a->in][d] = x->strides[d] * item;
    }
    for (int op = 0; op < a->in; op++) add_output(a, op, k->out[op], x->ndim, dim);
    for (int op = 0; op <= a->in; op++) a->step[op] = x->ndim ? w->stride[op][dim] : 0;
    rl_iter_drop(w, x->ndim ? 1ull << dim : 0);
    rl_iter_merge(w);
    return RL_OK;
}
