/* Derivatives of views: gradients go back where the elements came from. */
#include "derivatives.h"
#include "vjp.h"
#include <string.h>

/* The same elements under another shape. */
VJP(reshaped) {
    GRAD_OF(0, OP(reshape, G, rl_vjp_size(g, 0)));
}

VJP(permute) {
    if (!rl_vjp_wants(g, 0)) return;
    int64_t back[RL_MAX_DIMS], dims[RL_MAX_DIMS];
    int n = rl_value_list(X(1), dims, RL_MAX_DIMS);
    for (int i = 0; i < n; i++) back[rl_dim_wrapped(dims[i], n)] = i;
    rl_vjp_pass(g, 0, OP(permute, G, INTS(back, n)));
}
VJP(transpose) {
    GRAD_OF(0, OP(transpose, G, X(1), X(2)));
}
VJP(t) {
    GRAD_OF(0, OP(t, G));
}

/* ---- parts: G returns to its place among zeros ---- */
/* size of the part: the result's; strides and offset in a contiguous whole */
static void place_part(rl_vjp *g, int64_t *strides, int64_t offset) {
    const rl_tensor_meta *part = &g->node->meta[0];
    V size = INTS(part->shape, part->ndim);
    if (rl_dims_numel(part->shape, part->ndim) == 0) offset = 0; /* nowhere */
    rl_vjp_pass(g, 0,
                OP(as_strided_back, G, rl_vjp_size(g, 0), size, INTS(strides, part->ndim), INT(offset)));
}

/* the whole's own strides; its number of dims */
static int whole_strides(rl_vjp *g, int64_t *strides) {
    const rl_tensor_meta *whole = rl_vjp_like(g, 0);
    rl_dims_contiguous(whole->shape, whole->ndim, strides);
    return whole->ndim;
}

VJP(select) {
    int64_t strides[RL_MAX_DIMS];
    if (!rl_vjp_wants(g, 0)) return;
    const rl_tensor_meta *whole = rl_vjp_like(g, 0);
    int n = whole_strides(g, strides), dim = (int)rl_dim_wrapped(rl_vjp_int(g, 1), n);
    int64_t offset = rl_dim_wrapped(rl_vjp_int(g, 2), whole->shape[dim]) * strides[dim];
    memmove(strides + dim, strides + dim + 1, (size_t)(n - dim - 1) * sizeof *strides);
    place_part(g, strides, offset);
}

static void range_part(rl_vjp *g, int64_t dim, int64_t start, int64_t step) {
    int64_t strides[RL_MAX_DIMS];
    const rl_tensor_meta *whole = rl_vjp_like(g, 0);
    int n = whole_strides(g, strides);
    dim = rl_dim_wrapped(dim, n);
    start = rl_dim_wrapped(start, whole->shape[dim]);
    start = start < 0 ? 0 : start > whole->shape[dim] ? whole->shape[dim] : start;
    int64_t offset = g->node->meta[0].shape[dim] ? start * strides[dim] : 0;
    strides[dim] = rl_stride_scaled(strides[dim], step);
    place_part(g, strides, offset);
}
VJP(narrow) {
    if (rl_vjp_wants(g, 0)) range_part(g, rl_vjp_int(g, 1), rl_vjp_int(g, 2), 1);
}
VJP(slice) {
    if (!rl_vjp_wants(g, 0)) return;
    range_part(g, rl_vjp_int(g, 1), GIVEN(2) ? rl_vjp_int(g, 2) : 0, rl_vjp_int(g, 4));
}

VJP(unfold) {
    int64_t strides[RL_MAX_DIMS];
    if (!rl_vjp_wants(g, 0)) return;
    int n = whole_strides(g, strides), dim = (int)rl_dim_wrapped(rl_vjp_int(g, 1), n);
    strides[n] = n ? strides[dim] : 1;
    if (n) strides[dim] = rl_stride_scaled(strides[dim], rl_vjp_int(g, 3));
    place_part(g, strides, 0);
}

/* the diagonal of dims one and two, as the last dim of the part */
void rl_vjp_diagonal(rl_vjp *g, int64_t shift, int64_t dim1, int64_t dim2) {
    int64_t strides[RL_MAX_DIMS], kept[RL_MAX_DIMS];
    if (!rl_vjp_wants(g, 0)) return;
    int n = whole_strides(g, strides), left = 0;
    int one = (int)rl_dim_wrapped(dim1, n), two = (int)rl_dim_wrapped(dim2, n);
    for (int d = 0; d < n; d++)
        if (d != one && d != two) kept[left++] = strides[d];
    kept[left] = strides[one] + strides[two];
    bool any = g->node->meta[0].shape[left] > 0;
    place_part(g, kept, !any ? 0 : shift > 0 ? shift * strides[two] : -shift * strides[one]);
}
VJP(diagonal) {
    rl_vjp_diagonal(g, rl_vjp_int(g, 1), rl_vjp_int(g, 2), rl_vjp_int(g, 3));
}

/* Note [As strided]
 * Sizes and strides of one's own may name any element of the memory that lies under the input, so the way
 * back goes through that memory: what the input occupies of it is one flat tensor. */
VJP(as_strided) {
    if (!rl_vjp_wants(g, 0)) return;
    const rl_tensor_meta *in = rl_vjp_like(g, 0), *out = &g->node->meta[0];
    const int64_t *layout = rl_vjp_layout(g, in->ndim + 1);
    int64_t base = layout[in->ndim], low = base, extent = base + 1, strides[RL_MAX_DIMS] = {0};
    int64_t start = GIVEN(3) ? rl_vjp_int(g, 3) : base, end = start + 1;
    rl_value_list(X(2), strides, RL_MAX_DIMS);
    /* strides of tensors without elements reach nothing, and may be anything */
    bool in_some = rl_dims_numel(in->shape, in->ndim) > 0,
         out_some = rl_dims_numel(out->shape, out->ndim) > 0;
    for (int i = 0; in_some && i < in->ndim; i++) extent += (in->shape[i] - 1) * layout[i];
    for (int i = 0; out_some && i < out->ndim; i++) end += (out->shape[i] - 1) * strides[i];
    if (start < low) low = start;
    int64_t flat = (end > extent ? end : extent) - low;
    V size = INTS(out->shape, out->ndim), whole = INTS(&flat, 1);
    V memory = OP(as_strided_back, G, whole, size, INTS(strides, out->ndim), INT(start - low));
    V in_strides = INTS((int64_t *)layout, in->ndim);
    rl_vjp_pass(g, 0, OP(as_strided, memory, rl_vjp_size(g, 0), in_strides, INT(base - low)));
}

/* what lies under the part, of the gradient's gradient */
VJP(as_strided_back) {
    if (!rl_vjp_wants(g, 0)) return;
    V whole = OP(contiguous, G);
    int64_t offset = rl_value_offset(whole) + rl_vjp_int(g, 4);
    rl_vjp_pass(g, 0, OP(as_strided, whole, X(2), X(3), INT(offset)));
}

/* ---- split, chunk and unbind ----
 * the pieces' gradients, joined. */
/* zeros where a piece was not used */
static PyObject *grad_of_piece(const rl_node *node, PyObject *grad, int i) {
    return grad ? Py_NewRef(grad) : rl_grad_zeros(&node->meta[i]);
}

static int pieces_run(rl_node *node, PyObject *const *grads, PyObject **results, int op) {
    bool any = false;
    for (int i = 0; i < node->n_out; i++) any |= grads[i] != NULL;
    RL_OWNED PyObject *held = any ? PyTuple_New(node->n_out) : NULL;
    if (!held) return any ? -1 : 0;
    rl_view **views = PyMem_Malloc((size_t)node->n_out * sizeof *views);
    int made = 0;
    for (; views && made < node->n_out; made++) {
        PyObject *grad = grad_of_piece(node, grads[made], made);
        if (!grad) break;
        PyTuple_SET_ITEM(held, made, grad);
        views[made] = &((rl_tensor *)grad)->v;
    }
    rl_value args[2] = {TENSORS(views, node->n_out), node->arg[0]};
    if (views && made == node->n_out)
        results[0] = rl_op_run(op, args, 2);
    else if (!views)
        PyErr_NoMemory();
    PyMem_Free(views);
    return results[0] ? 0 : -1;
}

static int cat_run(rl_node *node, PyObject *const *grads, PyObject **results) {
    return pieces_run(node, grads, results, RL_OP_cat);
}
static int stack_run(rl_node *node, PyObject *const *grads, PyObject **results) {
    return pieces_run(node, grads, results, RL_OP_stack);
}

const rl_node_vtable rl_pieces_cat_vtable = {.apply = cat_run}, rl_pieces_stack_vtable = {.apply = stack_run};
