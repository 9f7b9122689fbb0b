/* What rules of several families share. A rule reads the arguments, gives the outputs their dims and leaves
 * what it normalised in attr[]; PyTorch's error texts are raised here, once per rule.
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

/* ---- element by element: Note [Order of dims] ---- */
/* Does no dim of v lie within one that stands further right? Then it turns nothing that is contiguous. */
static bool in_order(const rl_view *v, const rl_view *out) {
    const int64_t *size = out->shape + (out->ndim - v->ndim);
    int64_t inner = 0, width = 0;
    for (int d = v->ndim - 1; d >= 0; d--) {
        int64_t step = v->strides[d];
        if (step == 0 || v->shape[d] != size[d]) continue; /* repeated or stretched */
        if (step < inner || (step == inner && width > size[d])) return false;
        inner = step;
        width = size[d];
    }
    return true;
}

/* Operands of one shape that agree on their layout: the result has it. */
static bool share_layout(const rl_view *const *in, int n, rl_view *out) {
    bool contiguous = true, channels_last = true, dense = true;
    for (int i = 0; i < n; i++) {
        if (!rl_dims_same(in[i], out)) return false;
        contiguous = contiguous && rl_is_contiguous(in[i]);
        channels_last = channels_last && rl_is_channels_last(in[i]);
        dense = dense && memcmp(in[i]->strides, in[0]->strides, (size_t)out->ndim * sizeof(int64_t)) == 0;
    }
    if (contiguous) return true;
    if (channels_last) {
        rl_dims_channels_last(out->shape, out->ndim, out->strides);
        return true;
    }
    if (!dense || !rl_is_dense(in[0])) return false;
    memcpy(out->strides, in[0]->strides, (size_t)out->ndim * sizeof(int64_t));
    return true;
}

/* `out` is contiguous. Most operands are so, too, and seen to be at once. */
static inline bool all_in_order(const rl_call *k, const rl_view *out) {
    const int ndim = out->ndim;
    const int64_t *strides = out->strides;
    for (int i = 0; i < k->n_arg; i++) {
        const rl_view *v = rl_in(k, i);
        if (!v || v->ndim < 2) continue;
        int d = v->ndim == ndim ? 0 : RL_MAX_DIMS;
        while (d < ndim && v->strides[d] == strides[d]) d++;
        if (d != ndim && !in_order(v, out)) return false;
    }
    return true;
}

static void turn(rl_view *out, const rl_view *const *in, int n) {
    if (!share_layout(in, n, out)) rl_dims_ordered(in, n, out->shape, out->ndim, out->strides);
}

rl_status rl_out_elementwise(rl_call *k, int i, const int64_t *shape, int ndim) {
    const rl_view *in[RL_MAX_ARGS];
    int n = 0;
    if (rl_out_dims(k, i, shape, ndim) != RL_OK) return RL_FAIL;
    if (ndim < 2 || k->out[i]->numel == 0 || RL_LIKELY(all_in_order(k, k->out[i]))) return RL_OK;
    for (int arg = 0; arg < k->n_arg; arg++)
        if (k->arg[arg].tag == RL_TENSOR) in[n++] = k->arg[arg].u.t;
    turn(k->out[i], in, n);
    return RL_OK;
}

rl_status rl_out_permuted(rl_call *k, int i, const int64_t *shape, int ndim, const rl_view *const *in,
                          int n) {
    if (rl_out_dims(k, i, shape, ndim) != RL_OK) return RL_FAIL;
    bool ordered = ndim < 2 || k->out[i]->numel == 0;
    for (int at = 0; at < n && !ordered; at++)
        if (!in_order(in[at], k->out[i])) {
            turn(k->out[i], in, n);
            ordered = true;
        }
    return RL_OK;
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
    return rl_out_elementwise(k, 0, rl_tensor_arg(k, 0)->shape, rl_tensor_arg(k, 0)->ndim);
}

RL_SHAPE(broadcast) {
    int64_t shape[RL_MAX_DIMS];
    int n;
    const rl_view *a = rl_in(k, 0), *b = rl_in(k, 1);
    if (!b || b->numel == 1) { /* the usual cases need no walk */
        if (!b || b->ndim <= a->ndim) return rl_out_elementwise(k, 0, a->shape, a->ndim);
    }
    if (rl_dims_broadcast(a, b, shape, &n) != RL_OK) return RL_FAIL;
    return rl_out_elementwise(k, 0, shape, n);
}

/* For the gradients of which PyTorch asks the second operand first how the result lies in memory. */
RL_SHAPE(broadcast_second) {
    const rl_view *const swapped[] = {k->arg[1].u.t, k->arg[0].u.t};
    rl_view *out = k->out[0];
    if (shape_broadcast(k) != RL_OK) return RL_FAIL;
    if (out->numel && !(in_order(swapped[0], out) && in_order(swapped[1], out))) turn(out, swapped, 2);
    return RL_OK;
}

rl_status rl_stretches(rl_call *k, const rl_view *from, const char *what) {
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
    return rl_out_as_input(k, 0);
}

/* ---- sizes, and another tensor's layout ---- */
rl_status rl_size_out(rl_call *k, int arg) {
    const rl_value *s = &k->arg[arg];
    return s->tag == RL_INTS ? rl_out_dims(k, 0, s->u.ints, s->n) : rl_out_dims(k, 0, &s->u.i, 1);
}

RL_SHAPE(size) {
    return rl_size_out(k, 0);
}

rl_status rl_take_format(rl_view *out, int64_t format) {
    if (format != RL_FORMAT_CHANNELS_LAST && format != RL_FORMAT_CHANNELS_LAST_3D) return RL_OK;
    int rank = format == RL_FORMAT_CHANNELS_LAST ? 4 : 5;
    if (out->ndim != rank)
        return rl_error_set(RL_RUNTIME, "required rank %d tensor to use channels_last%s format", rank,
                            rank == 4 ? "" : "_3d");
    rl_dims_channels_last(out->shape, rank, out->strides);
    return RL_OK;
}

/* the last argument is the memory format; by default the input's order of dims stays */
RL_SHAPE(like) {
    const rl_view *x = k->arg[0].u.t;
    const rl_value *format = &k->arg[k->n_arg - 1];
    int64_t wanted = format->tag == RL_INT ? format->u.i : RL_FORMAT_PRESERVE;
    if (rl_out_dims(k, 0, x->shape, x->ndim) != RL_OK) return RL_FAIL;
    if (wanted == RL_FORMAT_PRESERVE) rl_strides_as(k->out[0], x);
    return rl_take_format(k->out[0], wanted);
}

/* ---- gradients: what the forward operator would have answered says how large they must be ---- */
rl_status rl_gradient_differs(const rl_call *k, const rl_view *want) {
    const rl_view *grad = k->arg[0].u.t;
    char a[RL_DIMS_TEXT], b[RL_DIMS_TEXT];
    return rl_error_set(RL_RUNTIME, "%s: expected grad_output to have sizes %s, but got %s", k->name,
                        rl_dims_text(a, want->shape, want->ndim), rl_dims_text(b, grad->shape, grad->ndim));
}

rl_status rl_sizes_read(const rl_call *k, int arg, rl_view *v) {
    const rl_value *s = &k->arg[arg];
    char text[RL_DIMS_TEXT];
    int n = s->tag == RL_INTS ? s->n : 1;
    const int64_t *sizes = s->tag == RL_INTS ? s->u.ints : &s->u.i;
    *v = (rl_view){.dtype = rl_tensor_arg(k, 0)->dtype, .ndim = (uint8_t)n};
    if (n > RL_SMALL_DIMS)
        return rl_error_set(RL_RUNTIME, "%s: sizes %s have too many dimensions", k->name,
                            rl_dims_text(text, sizes, n));
    v->shape = v->small;
    for (int d = 0; d < n; d++) {
        if (sizes[d] < 0)
            return rl_error_set(RL_RUNTIME, "Trying to create tensor with negative dimension %lld: %s",
                                (long long)sizes[d], rl_dims_text(text, sizes, n));
        v->shape[d] = sizes[d];
    }
    return RL_OK;
}

rl_call rl_call_forward(const rl_call *k, const char *name, rl_view *out) {
    rl_call forward = *k;
    forward.name = name;
    forward.n_arg = k->n_arg - 1;
    for (int i = 0; i < forward.n_arg; i++) forward.arg[i] = k->arg[i + 1];
    *out = (rl_view){.dtype = rl_tensor_arg(k, 0)->dtype};
    forward.out[0] = out;
    forward.n_out = 1;
    return forward;
}

rl_status rl_gradient_as_input(rl_call *k, const rl_view *expected) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t;
    if (!rl_dims_same(expected, grad)) return rl_gradient_differs(k, expected);
    if (grad->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(x->dtype),
                            rl_dtype_title(grad->dtype));
    return rl_out_dims(k, 0, x->shape, x->ndim);
}
