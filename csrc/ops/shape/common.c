/* Shape rules of element-wise rows and reductions. A rule reads the arguments, gives the outputs their
 * dims and leaves what it normalised in attr[]; PyTorch's error texts are raised here, once per rule.
 *
 * Note [Broadcast]
 * Kernels get inputs as they are; kernels/ref/loops.h walks them with stride 0 where a size 1 is stretched.
 */
#include "shape.h"

static rl_status odd_dims(rl_view *v) {
    char text[RL_DIMS_TEXT];
    rl_dims_text(text, v->shape, v->ndim);
    for (int d = 0; d < v->ndim; d++)
        if (v->shape[d] < 0)
            return rl_error_set(RL_RUNTIME, "Trying to create tensor with negative dimension %lld: %s",
                                (long long)v->shape[d], text);
    v->numel = rl_dims_numel(v->shape, v->ndim);
    if (v->numel < 0 || v->numel > INT64_MAX / 16)
        return rl_error_set(RL_RUNTIME, "Storage size calculation overflowed with sizes=%s", text);
    if (!rl_dims_contiguous(v->shape, v->ndim, v->strides))
        return rl_error_set(RL_RUNTIME, "Stride calculation overflowed");
    return RL_OK;
}

rl_status rl_out_dims(rl_call *k, int i, const int64_t *shape, int ndim) {
    rl_view *v = k->out[i];
    int64_t n = 1;
    bool odd = false; /* without elements, negative or huge */
    if (rl_view_dims(v, ndim) != RL_OK) return RL_FAIL;
    for (int d = ndim - 1; d >= 0; d--) {
        int64_t size = shape[d];
        v->shape[d] = size;
        v->strides[d] = n;
        odd |= (size < 1) | __builtin_mul_overflow(n, size, &n);
    }
    v->numel = n;
    return RL_LIKELY(!odd && n <= INT64_MAX / 16) ? RL_OK : odd_dims(v);
}

rl_status rl_ints_list(const rl_call *k, int arg, int n, int64_t *to) {
    rl_ints list = rl_ints_of(k, arg);
    if (list.n != n && list.n != 1)
        return rl_error_set(RL_RUNTIME, "%s(): argument %d must hold one or %d numbers, but got %d", k->name,
                            arg + 1, n, list.n);
    for (int i = 0; i < n; i++) to[i] = list.at[list.n == 1 ? 0 : i];
    return RL_OK;
}

RL_SHAPE(same) {
    return rl_out_dims(k, 0, k->arg[0].u.t->shape, k->arg[0].u.t->ndim);
}

RL_SHAPE(neg) {
    if (k->arg[0].u.t->dtype == RL_BOOL)
        return rl_error_set(
            RL_RUNTIME, "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
                        "to invert a mask, use the `~` or `logical_not()` operator instead.");
    return shape_same(k);
}

RL_SHAPE(relu) {
    if (k->arg[0].u.t->dtype == RL_BOOL)
        return rl_error_set(RL_RUNTIME, "Boolean inputs not supported for relu");
    return shape_same(k);
}

RL_SHAPE(broadcast) {
    int64_t shape[RL_MAX_DIMS];
    int n;
    const rl_view *a = rl_in(k, 0), *b = rl_in(k, 1);
    if (!b || b->numel == 1) { /* the usual cases need no walk */
        if (!b || b->ndim <= a->ndim) return rl_out_dims(k, 0, a->shape, a->ndim);
    }
    if (rl_dims_broadcast(a, b, shape, &n) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 0, shape, n);
}

RL_SHAPE(div) {
    const rl_slot *mode = &k->arg[2];
    k->attr[0] = 0;
    if (mode->tag == RL_TEXT) {
        bool floor = strcmp(mode->u.s, "floor") == 0;
        if (!floor && strcmp(mode->u.s, "trunc") != 0)
            return rl_error_set(
                RL_RUNTIME,
                "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
                mode->u.s);
        k->attr[0] = floor ? 2 : 1;
    }
    return shape_broadcast(k);
}

/* attr[0]: the tanh approximation? */
static rl_status gelu_mode(rl_call *k, const char *approximate) {
    k->attr[0] = strcmp(approximate, "tanh") == 0;
    if (!k->attr[0] && strcmp(approximate, "none") != 0)
        return rl_error_set(RL_RUNTIME, "approximate argument must be either none or tanh.");
    return RL_OK;
}
RL_SHAPE(gelu) {
    return gelu_mode(k, k->arg[1].u.s) == RL_OK ? shape_same(k) : RL_FAIL;
}
RL_SHAPE(gelu_backward) {
    return gelu_mode(k, k->arg[2].u.s) == RL_OK ? shape_broadcast(k) : RL_FAIL;
}

RL_SHAPE(clamp) {
    if (k->arg[1].tag == RL_NONE && k->arg[2].tag == RL_NONE)
        return rl_error_set(RL_RUNTIME, "torch.clamp: At least one of 'min' or 'max' must not be None");
    return shape_same(k);
}

RL_SHAPE(where) {
    int64_t shape[RL_MAX_DIMS];
    rl_view first = {.shape = shape}, *condition = k->arg[0].u.t;
    int n;
    if (condition->dtype != RL_BOOL)
        return rl_error_set(RL_RUNTIME,
                            "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                            rl_dtype_title(condition->dtype));
    if (rl_dims_broadcast(k->arg[1].u.t, k->arg[2].u.t, shape, &n) != RL_OK) return RL_FAIL;
    first.ndim = (uint8_t)n;
    int64_t whole[RL_MAX_DIMS];
    if (rl_dims_broadcast(condition, &first, whole, &n) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 0, whole, n);
}

RL_SHAPE(fill) {
    const rl_view *value = rl_in(k, 1);
    if (value && value->ndim)
        return rl_error_set(RL_RUNTIME,
                            "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
                            value->ndim);
    return shape_same(k);
}

/* `from` must stretch to the shape of argument 0 */
static rl_status stretches(rl_call *k, const rl_view *from, const char *what) {
    const rl_view *to = k->arg[0].u.t;
    int64_t shape[RL_MAX_DIMS];
    int n;
    char a[RL_DIMS_TEXT], b[RL_DIMS_TEXT];
    if (from->ndim > to->ndim || rl_dims_broadcast(to, from, shape, &n) != RL_OK ||
        memcmp(shape, to->shape, to->ndim * sizeof *shape) != 0) {
        if (from->ndim <= to->ndim && rl_dims_broadcast(to, from, shape, &n) != RL_OK) return RL_FAIL;
        return rl_error_set(RL_RUNTIME, "%s with shape %s doesn't match the broadcast shape %s", what,
                            rl_dims_text(a, to->shape, to->ndim), rl_dims_text(b, from->shape, from->ndim));
    }
    return shape_same(k);
}

/* Packed numbers and bits mean nothing to another dtype. */
static rl_status converts(int to, int from) {
    uint32_t fixed = RL_SET_KEPT & ~RL_SET_CONVERTED;
    if (to == from || !((RL_BIT(to) | RL_BIT(from)) & fixed)) return RL_OK;
    return rl_error_set(RL_NOTIMPL, "\"copy_\" not implemented for '%s'",
                        rl_dtype_title(fixed >> to & 1 ? to : from));
}

RL_SHAPE(to_copy) {
    if (converts(k->out[0]->dtype, k->arg[0].u.t->dtype) != RL_OK) return RL_FAIL;
    return shape_like(k);
}

RL_SHAPE(copy) {
    if (converts(k->arg[0].u.t->dtype, k->arg[1].u.t->dtype) != RL_OK) return RL_FAIL;
    return stretches(k, k->arg[1].u.t, "output");
}

RL_SHAPE(masked_fill) {
    const rl_view *mask = k->arg[1].u.t, *value = rl_in(k, 2);
    if (mask->dtype != RL_BOOL)
        return rl_error_set(RL_RUNTIME,
                            "masked_fill_ only supports boolean masks, but got mask with dtype %s",
                            rl_dtype_cpp_name(mask->dtype));
    if (value && value->ndim)
        return rl_error_set(
            RL_RUNTIME,
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            value->ndim);
    return stretches(k, mask, "output");
}

RL_SHAPE(whole_pair) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    k->attr[0] = a->ndim == b->ndim && memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) == 0;
    return rl_out_dims(k, 0, NULL, 0);
}

/* ---- reductions: attr[0] is the mask of reduced dims ---- */
static rl_status reduce_out(rl_call *k, uint64_t mask, bool keepdim) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[RL_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (!(mask >> d & 1))
            shape[n++] = x->shape[d];
        else if (keepdim)
            shape[n++] = 1;
    }
    k->attr[0] = (int64_t)mask;
    for (int i = 0; i < k->n_out; i++)
        if (rl_out_dims(k, i, shape, n) != RL_OK) return RL_FAIL;
    return RL_OK;
}

static uint64_t every_dim(const rl_view *x) {
    return x->ndim == 64 ? ~0ull : (1ull << x->ndim) - 1;
}

/* the mask of a dim argument: None and [] mean all */
static rl_status dims_mask(const rl_view *x, const rl_slot *s, uint64_t *mask) {
    int64_t one = s->u.i;
    const int64_t *dims = s->tag == RL_INTS ? s->u.ints : &one;
    int n = s->tag == RL_INTS ? s->n : s->tag == RL_INT ? 1 : 0;
    *mask = 0;
    for (int i = 0; i < n; i++) {
        int64_t d = dims[i];
        if (rl_dim_wrap(&d, x->ndim) != RL_OK) return RL_FAIL;
        if (*mask >> d & 1)
            return rl_error_set(RL_RUNTIME, "dim %lld appears multiple times in the list of dims",
                                (long long)d);
        *mask |= 1ull << d;
    }
    if (n == 0) *mask = every_dim(x);
    return RL_OK;
}

static rl_status reduce_dims(rl_call *k, int dim_arg, int keep_arg) {
    uint64_t mask;
    if (dims_mask(k->arg[0].u.t, &k->arg[dim_arg], &mask) != RL_OK) return RL_FAIL;
    return reduce_out(k, mask, k->arg[keep_arg].u.i != 0);
}

RL_SHAPE(reduce) {
    return reduce_dims(k, 1, 2);
}

/* any and all: an empty list of dims reduces none */
RL_SHAPE(reduce_listed) {
    if (k->arg[1].tag != RL_INTS || k->arg[1].n) return reduce_dims(k, 1, 2);
    return reduce_out(k, 0, k->arg[2].u.i != 0);
}

static rl_status only_floats(rl_call *k) {
    if (rl_is_float(k->arg[0].u.t->dtype)) return RL_OK;
    return rl_error_set(RL_RUNTIME, "std and var only support floating point and complex dtypes");
}

RL_SHAPE(reduce_var) {
    if (only_floats(k) != RL_OK) return RL_FAIL;
    k->attr[1] = k->arg[2].tag == RL_NONE ? 1 : rl_int(k, 2);
    return reduce_dims(k, 1, 3);
}

RL_SHAPE(reduce_unbiased) {
    if (only_floats(k) != RL_OK) return RL_FAIL;
    k->attr[1] = k->arg[1].u.i;
    return reduce_out(k, every_dim(k->arg[0].u.t), false);
}

static rl_status not_empty(rl_call *k, uint64_t mask) {
    const char *name = k->name;
    const rl_view *x = k->arg[0].u.t;
    if (x->numel || k->out[0]->numel == 0) return RL_OK;
    if (mask == every_dim(x) && strncmp(name, "arg", 3) == 0)
        return rl_error_set(RL_INDEX, "%s(): Expected reduction dim to be specified for input.numel() == 0.",
                            name);
    if (mask == every_dim(x))
        return rl_error_set(RL_RUNTIME,
                            "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                            "the reduction dim with the 'dim' argument.",
                            name);
    for (int d = 0; d < x->ndim; d++)
        if ((mask >> d & 1) && x->shape[d] == 0)
            return rl_error_set(RL_INDEX, "%s(): Expected reduction dim %d to have non-zero size.", name, d);
    return RL_OK;
}

RL_SHAPE(reduce_some) {
    if (reduce_dims(k, 1, 2) != RL_OK) return RL_FAIL;
    return not_empty(k, (uint64_t)k->attr[0]);
}

RL_SHAPE(reduce_every) {
    uint64_t mask = every_dim(k->arg[0].u.t);
    if (reduce_out(k, mask, false) != RL_OK) return RL_FAIL;
    return not_empty(k, mask);
}

RL_SHAPE(reduce_arg) {
    if (reduce_dims(k, 1, 2) != RL_OK) return RL_FAIL;
    return not_empty(k, (uint64_t)k->attr[0]);
}

RL_SHAPE(reduce_arg_dim) {
    k->out[1]->dtype = RL_I64;
    if (reduce_dims(k, 1, 2) != RL_OK) return RL_FAIL;
    return not_empty(k, (uint64_t)k->attr[0]);
}

RL_SHAPE(softmax) {
    const rl_view *x = k->arg[0].u.t;
    int64_t dim = k->arg[1].u.i;
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    k->attr[0] = dim;
    return shape_same(k);
}

/* lists of tensors that must pair up: params, grads, and buffers or none */
RL_SHAPE(optim) {
    for (int i = 1; i < k->n_arg && k->arg[i].tag == RL_TENSORS; i++)
        for (int j = 0; j < k->arg[i].n; j++) {
            const rl_view *p = k->arg[0].u.ts[j], *v = k->arg[i].u.ts[j];
            if (k->arg[i].n != k->arg[0].n || p->dtype != v->dtype || p->ndim != v->ndim ||
                (p->ndim && memcmp(p->shape, v->shape, p->ndim * sizeof *p->shape) != 0))
                return rl_error_set(RL_RUNTIME, "%s: the lists must hold tensors of equal shapes and dtypes",
                                    k->name);
        }
    return RL_OK;
}
