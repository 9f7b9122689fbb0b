/* Derivatives of what reads and writes at indices. What was written over has no influence; what was written
 * gets the gradient of the places that it went to. */
#include "vjp.h"

/* ---- lists of indices and masks ---- */
VJP(index) {
    rl_view *room[RL_MAX_DIMS];
    GRAD_OF(0, OP(index_put, rl_vjp_zeros(g, 0), rl_vjp_list(g, 1, room), G, BOOLEAN(true)));
}
VJP(index_put) { /* (input, indices, values, accumulate) */
    rl_view *room[RL_MAX_DIMS];
    V indices = rl_vjp_list(g, 1, room);
    GRAD_OF(0, rl_vjp_int(g, 3) ? G : OP(index_put, G, indices, rl_vjp_zero_of(g, G), BOOLEAN(false)));
    GRAD_OF(2, OP(index, G, indices));
}

/* ---- one vector of indices along dim: (input, dim, index, ...) ---- */
VJP(index_select) {
    GRAD_OF(0, OP(index_add, rl_vjp_zeros(g, 0), X(1), X(2), G));
}
/* what a source of slices got; sources without dimensions are slices of one */
static V slices(rl_vjp *g) {
    V picked = OP(index_select, G, X(1), X(2));
    if (NDIM(picked) == rl_vjp_like(g, 3)->ndim) return picked;
    return OP(reshape, picked, rl_vjp_size(g, 3));
}
VJP(index_add) { /* input + alpha * source */
    GRAD_OF(0, G);
    GRAD_OF(3, rl_vjp_scaled(g, slices(g), X(4)));
}
static V without_slices(rl_vjp *g) {
    return OP(index_fill_number, G, X(1), X(2), INT(0));
}
VJP(index_copy) {
    GRAD_OF(0, without_slices(g));
    GRAD_OF(3, slices(g));
}
VJP(index_fill) {
    GRAD_OF(0, without_slices(g));
    if (!rl_vjp_wants(g, 3)) return;
    V none = OP(zeros_like, G, DTYPE(RL_BOOL));
    V filled = OP(index_fill_number, none, X(1), X(2), INT(1)); /* an index that comes twice counts once */
    rl_vjp_pass(g, 3, OP(sum, OP(where, filled, G, INT(0))));
}
VJP(index_fill_number) {
    GRAD_OF(0, without_slices(g));
}

/* ---- an index for each element: (input, dim, index, src) ---- */
static V gathered(rl_vjp *g, V from) {
    return OP(gather, from, X(1), X(2));
}
VJP(gather) {
    GRAD_OF(0, OP(scatter_add, rl_vjp_zeros(g, 0), X(1), X(2), G));
}
VJP(scatter) {
    GRAD_OF(0, OP(scatter_number, G, X(1), X(2), INT(0)));
    GRAD_OF(3, gathered(g, G));
}
VJP(scatter_number) {
    GRAD_OF(0, OP(scatter_number, G, X(1), X(2), INT(0)));
}
VJP(scatter_add) {
    GRAD_OF(0, G);
    GRAD_OF(3, gathered(g, G));
}

/* ---- the flat tensor ---- */
VJP(take) {
    GRAD_OF(0, OP(put, rl_vjp_zeros(g, 0), X(1), G, BOOLEAN(true)));
}
VJP(put) { /* (input, index, source, accumulate) */
    bool kept = rl_vjp_int(g, 3);
    if (rl_vjp_wants(g, 0)) {
        V none = kept ? NONE : OP(zeros_like, X(1), DTYPE(g->node->meta[0].dtype));
        rl_vjp_pass(g, 0, kept ? G : OP(put, G, X(1), none));
    }
    GRAD_OF(2, OP(reshape, OP(take, G, X(1)), rl_vjp_size(g, 2)));
}

/* ---- masks ---- */
VJP(masked_fill) {
    GRAD_OF(0, OP(masked_fill, G, X(1), INT(0)));
    GRAD_OF(2, OP(where, X(1), G, INT(0)));
}

VJP(masked_scatter) { /* (input, mask, source): the first elements of source, in order */
    GRAD_OF(0, OP(masked_fill, G, X(1), INT(0)));
    if (!rl_vjp_wants(g, 2)) return;
    const rl_tensor_meta *like = rl_vjp_like(g, 2);
    V used = OP(masked_select, G, X(1));
    int64_t rest = rl_dims_numel(like->shape, like->ndim) - NUMEL(used);
    rl_tensor_meta unused = {.shape = &rest,
                             .ndim = 1,
                             .dtype = like->dtype,
                             .device = like->device,
                             .device_index = like->device_index};
    if (rest > 0) used = JOIN(used, rl_vjp_zeros_as(g, &unused), 0);
    rl_vjp_pass(g, 2, OP(reshape, used, rl_vjp_size(g, 2)));
}

VJP(masked_select) { /* (input, mask, size): both may have been stretched */
    GRAD_OF(0, OP(masked_scatter, OP(zeros_like, X(0)), X(1), G));
}

/* ---- a part in another's place: (input, src, ...) ---- */
VJP(select_scatter) {
    V part = OP(select, G, X(2), X(3));
    GRAD_OF(0, OP(select_scatter, G, OP(zeros_like, part), X(2), X(3)));
    GRAD_OF(1, part);
}
VJP(slice_scatter) {
    V part = OP(slice, G, X(2), MAYBE(3), MAYBE(4), X(5));
    GRAD_OF(0, OP(slice_scatter, G, OP(zeros_like, part), X(2), MAYBE(3), MAYBE(4), X(5)));
    GRAD_OF(1, part);
}
VJP(diagonal_scatter) {
    V part = OP(diagonal, G, X(2), X(3), X(4));
    GRAD_OF(0, OP(diagonal_scatter, G, OP(zeros_like, part), X(2), X(3), X(4)));
    GRAD_OF(1, part);
}
VJP(as_strided_scatter) { /* (input, src, size, stride, storage_offset); as if input was contiguous */
    const rl_tensor_meta *whole = &g->node->meta[0];
    const int64_t first = rl_vjp_layout(g, whole->ndim + 1)[whole->ndim];
    V grad = OP(contiguous, G);
    V offset = INT(rl_value_offset(grad) + (GIVEN(4) ? rl_vjp_int(g, 4) - first : 0));
    V part = OP(as_strided, grad, X(2), X(3), offset);
    GRAD_OF(0, OP(as_strided_scatter, grad, OP(zeros_like, part), X(2), X(3), offset));
    GRAD_OF(1, part);
}

/* ---- scatter_reduce and index_reduce ----
 * (input, dim, index, src, reduce, include_self). */
/* does the index name slices, not elements? */
static bool by_slices(const rl_vjp *g) {
    return g->node->op == &rl_operators[RL_OP_index_reduce];
}
static V gathered_along(rl_vjp *g, V from) {
    if (!by_slices(g)) return OP(gather, from, X(1), X(2));
    V picked = OP(index_select, from, X(1), X(2));
    return NDIM(picked) == NDIM(X(3)) ? picked : OP(reshape, picked, rl_vjp_size(g, 3));
}
static V counted(rl_vjp *g, V from, V hits) {
    return by_slices(g) ? OP(index_add, from, X(1), X(2), hits) : OP(scatter_add, from, X(1), X(2), hits);
}
static V reduced(rl_vjp *g, V x, V src) {
    return by_slices(g) ? OP(index_reduce, x, X(1), X(2), src, X(4), X(5))
                        : OP(scatter_reduce, x, X(1), X(2), src, X(4), X(5));
}
static void reduced_mean(rl_vjp *g) {
    V from = rl_vjp_int(g, 5) ? OP(ones_like, G) : OP(zeros_like, G);
    V n = counted(g, from, OP(ones_like, X(3)));
    n = OP(masked_fill, n, OP(eq, n, INT(0)), INT(1));
    V share = OP(div, G, n);
    GRAD_OF(0, share);
    GRAD_OF(3, gathered_along(g, share));
}
/* all that are equal to the result share */
static void reduced_extreme(rl_vjp *g) {
    V as = DTYPE(g->node->meta[0].dtype), result = OUT(0);
    V self_hits = OP(to_copy, OP(eq, X(0), result), as);
    V src_hits = OP(to_copy, OP(eq, X(3), gathered_along(g, result)), as);
    V share = OP(div, G, counted(g, self_hits, src_hits));
    GRAD_OF(0, OP(mul, self_hits, share));
    GRAD_OF(3, OP(mul, src_hits, gathered_along(g, share)));
}
/* the product of the others: result / src, but where src is the only zero of its place */
static void reduced_product(rl_vjp *g) {
    V x = X(0), src = X(3), result = OUT(0);
    if (rl_vjp_wants(g, 0)) {
        V whole = OP(masked_fill, x, OP(eq, x, INT(0)), INT(1));
        rl_vjp_pass(g, 0, OP(div, OP(mul, G, reduced(g, whole, src)), whole));
    }
    if (!rl_vjp_wants(g, 3)) return;
    V is_zero = OP(eq, src, INT(0)), none = OP(zeros_like, x);
    V zeros = gathered_along(g, counted(g, none, OP(to_copy, is_zero, DTYPE(g->node->meta[0].dtype))));
    if (rl_tls.grad && rl_vjp_any(g, OP(gt, zeros, INT(1)))) {
        PyErr_Format(PyExc_RuntimeError,
                     "%s(): Double backward is unsupported for %s when >1 zeros in %s are scattered to the "
                     "same position in self",
                     g->node->op->name, by_slices(g) ? "source" : "src", by_slices(g) ? "source" : "src");
        rl_vjp_fail(g);
        return;
    }
    V alone = OP(logical_and, is_zero, OP(eq, zeros, INT(1)));
    V others = gathered_along(g, OP(mul, G, reduced(g, x, OP(masked_fill, src, alone, INT(1)))));
    V quotient = OP(div, gathered_along(g, OP(mul, G, result)), OP(masked_fill, src, is_zero, INT(1)));
    rl_vjp_pass(g, 3, OP(where, alone, others, quotient));
}
static void reduced_by(rl_vjp *g, const char *how) {
    if (how[0] == 's') {
        GRAD_OF(0, G);
        GRAD_OF(3, gathered_along(g, G));
    } else if (how[0] == 'm') {
        reduced_mean(g);
    } else if (how[0] == 'p') {
        reduced_product(g);
    } else {
        reduced_extreme(g);
    }
    /* without the elements of input, those that were joined have no influence */
    if (FAILED || rl_vjp_int(g, 5) || !g->results[0]) return;
    V self = rl_values_own_steal(VALUES, Py_NewRef(g->results[0]));
    rl_vjp_pass(g, 0,
                by_slices(g) ? OP(index_fill_number, self, X(1), X(2), INT(0))
                             : OP(scatter_number, self, X(1), X(2), INT(0)));
}

VJP(scatter_reduce) {
    reduced_by(g, STRING_ARG(4));
}
VJP(index_reduce) {
    reduced_by(g, STRING_ARG(4));
}

/* ---- embeddings ----
 * (weight, indices, padding_idx, scale_grad_by_freq, sparse). */
VJP(embedding) {
    if (!rl_vjp_wants(g, 0)) return;
    int64_t rows = rl_vjp_like(g, 0)->shape[0];
    rl_vjp_pass(g, 0, OP(embedding_dense_backward, G, X(1), INT(rows), X(2), X(3)));
}
VJP(embedding_dense_backward) { /* (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) */
    V indices = X(1), grad = OP(embedding, G, indices);
    int64_t padding = rl_vjp_int(g, 3);
    if (padding >= 0)
        grad = OP(masked_fill, grad, OP(unsqueeze, OP(eq, indices, INT(padding)), INT(-1)), INT(0));
    GRAD_OF(0, grad);
}
