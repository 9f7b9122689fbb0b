/* Where gradients end and meet: sums of them, AccumulateGrad, CopySlices. */
#include "autograd.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

static rl_value slot_of(PyObject *t) {
    return (rl_value){.tag = RL_TENSOR, .u.t = &((rl_tensor *)t)->v};
}
static rl_value int_value(int64_t i) {
    return (rl_value){.tag = RL_INT, .u.i = i};
}
static PyObject *contiguous_copy(PyObject *t) {
    rl_value args[2] = {slot_of(t), {.tag = RL_INT, .u.i = RL_FORMAT_CONTIGUOUS}};
    return rl_op_run(RL_OP_clone, args, 2);
}

PyObject *rl_grad_zeros(const rl_tensor_meta *like) {
    rl_value args[4] = {{.tag = RL_INTS, .n = like->ndim, .u.ints = like->shape},
                        {.tag = RL_DTYPE, .u.i = like->dtype},
                        {.tag = RL_NONE},
                        int_value(like->device * 256 + like->device_index + 1)};
    return rl_op_run(RL_OP_zeros, args, 4);
}

/* Nobody but the holder of one reference can see its memory. */
static bool is_own(PyObject *t) {
    const rl_tensor *x = (const rl_tensor *)t;
    return Py_REFCNT(t) == 1 && Py_TYPE(t) == rl_tensor_type && x->v.storage->refs == 1 && !x->base &&
           !x->v.storage->exports;
}

int rl_grad_add(PyObject **sum, PyObject *grad_steal) {
    RL_OWNED PyObject *grad = grad_steal;
    if (!*sum) {
        *sum = rl_move(&grad);
        return 0;
    }
    rl_value args[2] = {slot_of(*sum), slot_of(grad)};
    bool in_place = !rl_tls.grad && is_own(*sum) && rl_is_contiguous(&((rl_tensor *)*sum)->v);
    if (!in_place && !rl_tls.grad && is_own(grad) && rl_is_contiguous(&((rl_tensor *)grad)->v)) {
        args[0] = slot_of(grad);
        args[1] = slot_of(*sum);
        in_place = true;
    }
    PyObject *added = in_place ? rl_op_run_inplace(RL_OP_add, args, 2) : rl_op_run(RL_OP_add, args, 2);
    if (!added) return -1;
    Py_SETREF(*sum, added);
    return 0;
}

/* ---- AccumulateGrad ---- */
/* a gradient lies as its leaf does, or is contiguous where elements of the leaf overlap or leave gaps */
static bool lies_as(const rl_view *grad, const rl_view *leaf) {
    if (RL_LIKELY(rl_is_contiguous(leaf)) || !rl_is_dense(leaf)) return rl_is_contiguous(grad);
    for (int d = 0; d < leaf->ndim; d++)
        if (leaf->shape[d] != 1 && grad->strides[d] != leaf->strides[d]) return false;
    return true;
}

static PyObject *copy_as(PyObject *grad, rl_tensor *leaf) {
    if (RL_LIKELY(rl_is_contiguous(&leaf->v)) || !rl_is_dense(&leaf->v)) return contiguous_copy(grad);
    rl_value like[7] = {slot_of((PyObject *)leaf)}; /* its strides are those of the input unless told */
    RL_OWNED PyObject *copy = rl_op_run(RL_OP_empty_like, like, 7);
    if (!copy) return NULL;
    rl_value args[2] = {slot_of(copy), slot_of(grad)};
    RL_OWNED PyObject *done = rl_op_run(RL_OP_copy_, args, 2);
    return done ? rl_move(&copy) : NULL;
}

/* The first gradient of a leaf is kept as it is when nobody else sees it. */
static PyObject *first_grad(PyObject *grad, rl_tensor *leaf) {
    rl_tensor *g = (rl_tensor *)grad;
    if (!rl_tls.grad && is_own(grad) && !g->requires_grad && lies_as(&g->v, &leaf->v)) return Py_NewRef(grad);
    return copy_as(grad, leaf);
}

static PyObject *next_grad(PyObject *before, PyObject *grad) {
    rl_value args[2] = {slot_of(before), slot_of(grad)};
    return rl_tls.grad ? rl_op_run(RL_OP_add, args, 2) : rl_op_run_inplace(RL_OP_add, args, 2);
}

/* 1: stored; 0: while objects were made for it garbage was collected, and somebody else stored; -1: raised */
static int leaf_try(rl_tensor *leaf, PyObject *grad) {
    RL_OWNED PyObject *before = Py_XNewRef(leaf->grad);
    uint32_t version = before ? rl_version_of((rl_tensor *)before) : 0;
    RL_OWNED PyObject *sum = before ? next_grad(before, grad) : first_grad(grad, leaf);
    if (!sum) return -1;
    if (RL_UNLIKELY(leaf->grad != before)) return 0;
    if (sum == before) return 1;
    if (before && RL_UNLIKELY(rl_version_of((rl_tensor *)before) != version)) return 0;
    Py_XSETREF(leaf->grad, rl_move(&sum));
    return 1;
}

/* Threads may share leaves: none comes in between. */
static int leaf_store(rl_tensor *leaf, PyObject *grad) {
    bool kept = rl_tls.gil_kept;
    int stored;
    rl_tls.gil_kept = true;
    do stored = leaf_try(leaf, grad);
    while (RL_UNLIKELY(!stored));
    rl_tls.gil_kept = kept;
    return stored < 0 ? -1 : 0;
}

static int leaf_apply(rl_node *node, PyObject *const *grads, PyObject **results) {
    (void)results;
    rl_tensor *leaf = (rl_tensor *)node->owner;
    if (!grads[0] || !leaf->requires_grad) return 0;
    if (leaf_store(leaf, grads[0]) < 0) return -1;
    return leaf->post_hooks ? rl_hooks_accumulated(leaf) : 0;
}
const rl_node_vtable rl_leaf_vtable = {.apply = leaf_apply};

/* ---- CopySlices: the base after one of its views was written ---- */
static PyObject *strided(PyObject *t, rl_node *node, int size, int stride, int64_t offset) {
    rl_value args[4] = {slot_of(t), node->arg[size], node->arg[stride], {.tag = RL_INT, .u.i = offset}};
    return rl_op_run(RL_OP_as_strided, args, 4);
}

/* grad with the base's own sizes and strides, in memory that may be written */
static PyObject *grad_like_base(rl_node *node, PyObject *grad) {
    const rl_value *size = &node->arg[RL_BASE_SIZE], *stride = &node->arg[RL_BASE_STRIDE];
    int64_t extent = 1, dense = 1;
    bool contiguous = true;
    if (rl_dims_numel(size->u.ints, size->n) == 0) return contiguous_copy(grad); /* nothing to place */
    for (int i = size->n - 1; i >= 0; i--) {
        contiguous &= size->u.ints[i] == 1 || stride->u.ints[i] == dense;
        dense *= size->u.ints[i];
        extent += (size->u.ints[i] - 1) * stride->u.ints[i];
    }
    if (contiguous) return contiguous_copy(grad);
    rl_tensor_meta memory = *node->meta;
    memory.shape = &extent;
    memory.ndim = 1;
    RL_OWNED PyObject *buffer = rl_grad_zeros(&memory);
    RL_OWNED PyObject *like = buffer ? strided(buffer, node, RL_BASE_SIZE, RL_BASE_STRIDE, 0) : NULL;
    if (!like) return NULL;
    rl_value copy[2] = {slot_of(like), slot_of(grad)};
    RL_OWNED PyObject *done = rl_op_run(RL_OP_copy_, copy, 2);
    return done ? rl_move(&like) : NULL;
}

static int slices_apply(rl_node *node, PyObject *const *grads, PyObject **results) {
    if (!grads[0]) return 0;
    if (node->released) return rl_saved_freed();
    RL_OWNED PyObject *held = Py_NewRef(node->owner); /* another thread may be done with the graph */
    rl_node *inner = (rl_node *)held;
    RL_OWNED PyObject *whole = grad_like_base(node, grads[0]);
    RL_OWNED PyObject *part =
        whole ? strided(whole, node, RL_SLICE_SIZE, RL_SLICE_STRIDE, node->arg[RL_SLICE_OFFSET].u.i) : NULL;
    RL_OWNED PyObject *copy = part ? contiguous_copy(part) : NULL;
    PyObject *came[RL_MAX_OUT] = {copy}; /* nothing for results that only the derivative sees */
    if (!copy || inner->kind->apply(inner, came, results) < 0) return -1;
    if (node->edge[0].to) {
        RL_OWNED PyObject *own = results[0];
        results[0] = NULL;
        rl_value args[2] = {slot_of(part), own ? slot_of(own) : (rl_value){.tag = RL_INT, .u.i = 0}};
        RL_OWNED PyObject *done = rl_op_run(own ? RL_OP_copy_ : RL_OP_fill_, args, 2);
        if (!done) return -1;
        results[0] = rl_move(&whole);
    }
    return 0;
}
const rl_node_vtable rl_copy_slices_vtable = {.apply = slices_apply};

/* ---- a gradient must look like what it is the gradient of ---- */
/* Dims that an expanded gradient only repeats need no sum: one copy, times their number. */
static int sum_repeats(PyObject **grad, const int64_t *dims, int n) {
    double count = 1;
    for (int i = 0; i < n; i++) {
        const rl_view *v = &((rl_tensor *)*grad)->v;
        if (rl_size_at(v, dims[i]) < 2 || v->strides[dims[i]] != 0) continue;
        count *= (double)v->shape[dims[i]];
        rl_value args[4] = {slot_of(*grad), int_value(dims[i]), int_value(0), int_value(1)};
        PyObject *once = rl_op_run(RL_OP_narrow, args, 4);
        if (!once) return -1;
        Py_SETREF(*grad, once);
    }
    if (count == 1) return 0;
    rl_value args[2] = {slot_of(*grad), {.tag = RL_FLOAT, .u.d = count}};
    PyObject *product = rl_op_run(RL_OP_mul, args, 2);
    if (!product) return -1;
    Py_SETREF(*grad, product);
    return 0;
}

static int sum_dims(PyObject **grad, int64_t *dims, int n, bool keep) {
    if (sum_repeats(grad, dims, n) < 0) return -1;
    rl_value args[3] = {
        slot_of(*grad), {.tag = RL_INTS, .n = n, .u.ints = dims}, {.tag = RL_BOOLEAN, .u.i = keep}};
    bool left = false;
    for (int i = 0; i < n; i++) left |= rl_size_at(&((rl_tensor *)*grad)->v, dims[i]) != 1;
    if (!left) return 0; /* the caller drops dims of 1 */
    PyObject *sum = rl_op_run(RL_OP_sum, args, 3);
    if (!sum) return -1;
    Py_SETREF(*grad, sum);
    return 0;
}

static int sum_to(PyObject **grad, const rl_tensor_meta *m) {
    const rl_view *v = &((rl_tensor *)*grad)->v;
    int64_t dims[RL_MAX_DIMS];
    int n = 0, lead = v->ndim - m->ndim;
    for (int i = 0; i < v->ndim; i++)
        if (i < lead || (m->shape[i - lead] == 1 && v->shape[i] != 1)) dims[n++] = i;
    if (n && sum_dims(grad, dims, n, lead == 0) < 0) return -1;
    if (rl_tensor_meta_same(m, &((rl_tensor *)*grad)->v)) return 0;
    rl_value size[2] = {slot_of(*grad), {.tag = RL_INTS, .n = m->ndim, .u.ints = m->shape}};
    PyObject *view = rl_op_run(RL_OP_reshape, size, 2);
    if (!view) return -1;
    Py_SETREF(*grad, view);
    return 0;
}

/* where the tensor lies whose gradient it is: that was copied from one device to another */
static int move_to(PyObject **grad, const rl_tensor_meta *m) {
    const rl_view *v = &((rl_tensor *)*grad)->v;
    rl_tensor *there = rl_tensor_new(v->dtype, m->device, m->device_index, v->shape, v->ndim);
    RL_OWNED PyObject *held = (PyObject *)there;
    if (!held) return -1;
    rl_value args[2] = {slot_of(held), slot_of(*grad)};
    PyObject *moved = rl_op_run(RL_OP_copy_, args, 2);
    if (!moved) return -1;
    Py_SETREF(*grad, moved);
    return 0;
}

static bool expands_to(const rl_tensor_meta *m, const rl_view *v) {
    if (m->ndim > v->ndim) return false;
    for (int i = 1; i <= m->ndim; i++)
        if (m->shape[m->ndim - i] != 1 && m->shape[m->ndim - i] != v->shape[v->ndim - i]) return false;
    return true;
}

int rl_validate_grad(const rl_tensor_meta *m, PyObject **grad, const char *function, int index) {
    const rl_view *v = &((rl_tensor *)*grad)->v;
    if (RL_UNLIKELY(!rl_tensor_meta_same(m, v))) {
        if (!expands_to(m, v)) {
            char have[RL_DIMS_TEXT], want[RL_DIMS_TEXT];
            PyErr_Format(PyExc_RuntimeError,
                         "Function %s returned an invalid gradient at index %d - got %s but expected shape "
                         "compatible with %s",
                         function, index, rl_dims_text(have, v->shape, v->ndim),
                         rl_dims_text(want, m->shape, m->ndim));
            return -1;
        }
        if (sum_to(grad, m) < 0) return -1;
    }
    if (RL_UNLIKELY(((rl_tensor *)*grad)->v.dtype != m->dtype)) {
        rl_value args[2] = {slot_of(*grad), {.tag = RL_DTYPE, .u.i = m->dtype}};
        PyObject *cast = rl_op_run(RL_OP_to_copy, args, 2);
        if (!cast) return -1;
        Py_SETREF(*grad, cast);
    }
    v = &((rl_tensor *)*grad)->v;
    const bool stays = (m->device == v->device && m->device_index == v->device_index) || m->device == RL_META;
    return RL_LIKELY(stays) ? 0 : move_to(grad, m);
}
