/* In-place writes and the graph: what may be written, and how a write to a view rebases its base.
 *
 *   v = base[...]; v.mul_(w)      base.grad_fn:  CopySlices(geometry of v, MulBackward0)
 *                                 v.grad_fn:     AsStridedBackward0 of the new base, made when asked for */
#include "node.h"
#include <string.h>

static int refuse(const char *text) {
    PyErr_SetString(PyExc_RuntimeError, text);
    return -1;
}

/* Why a view's history may not be rewritten: by how the view came about */
static const char *const view_refusals[] = {
    [RL_VIEW_NO_GRAD] =
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
        "your code by moving both the view and the inplace either both inside the no_grad "
        "block (if you don't want the inplace to be tracked) or both outside (if you want the "
        "inplace to be tracked).",
    [RL_VIEW_MULTI] =
        "This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one.",
    [RL_VIEW_FUNCTION] =
        "This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function.",
    [RL_VIEW_INFERENCE] =
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
        "your code by moving both the view and the inplace either both inside the "
        "inference_mode block (if you don't want the inplace to be tracked) or both outside "
        "(if you want the inplace to be tracked).",
};

/* a view's history may be rewritten only where it is one view of one known step */
static int view_may_rebase(rl_tensor *v) {
    if (v->creation == RL_VIEW_NORMAL) return 0;
    char made[128];
    RL_OWNED PyObject *held = NULL;
    if (rl_graph_grad_fn(v, &held) < 0) return -1;
    const rl_node *fn = (rl_node *)held;
    if (fn)
        snprintf(made, sizeof made, "Output %d of %.*s is a view and is being modified inplace.",
                 (int)v->output_nr, rl_node_name_short(rl_node_name(fn)), rl_node_name(fn));
    else
        snprintf(made, sizeof made, "A view was created in %s and is being modified inplace %s.",
                 v->creation == RL_VIEW_INFERENCE ? "inference mode" : "no_grad mode",
                 v->creation == RL_VIEW_INFERENCE ? "in normal mode" : "with grad mode enabled");
    PyErr_Format(PyExc_RuntimeError, "%s %s", made, view_refusals[v->creation]);
    return -1;
}

int rl_graph_may_write(rl_tensor *self, bool tracked) {
    const rl_tensor *base = (rl_tensor *)self->base;
    if (rl_version_none(self) && !rl_tls.inference)
        return refuse(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a "
            "clone to get a normal tensor before doing inplace update.See "
            "https://github.com/pytorch/rfcs/pull/17 for more details.");
    if (!rl_tls.grad) return 0;
    if (base && (tracked || base->requires_grad) && view_may_rebase(self) < 0) return -1;
    if (base && rl_requires_grad(self) && !base->grad_fn)
        return refuse("a view of a leaf Variable that requires grad is being used in an in-place operation.");
    if (self->requires_grad && !self->grad_fn)
        return refuse("a leaf Variable that requires grad is being used in an in-place operation.");
    return 0;
}

/* ---- views ---- */
/* AsStridedBackward0 from the base as it is now to this view */
static rl_node *view_node(rl_tensor *view) {
    rl_tensor *base = (rl_tensor *)view->base;
    int64_t offset = view->v.offset, size[RL_MAX_DIMS], stride[RL_MAX_DIMS];
    int n = view->v.ndim;
    if (n) memcpy(size, view->v.shape, (size_t)n * sizeof *size);
    if (n) memcpy(stride, view->v.strides, (size_t)n * sizeof *stride);
    const rl_value args[] = {{.tag = RL_TENSOR, .u.t = &base->v},
                             {.tag = RL_INTS, .n = n, .u.ints = size},
                             {.tag = RL_INTS, .n = n, .u.ints = stride},
                             {.tag = RL_INT, .u.i = offset}};
    const rl_recorded call = {&rl_operators[RL_OP_as_strided], args, Py_ARRAY_LENGTH(args), rl_data_changes};
    return rl_graph_node(&call, &view, 1, NULL);
}

int rl_graph_grad_fn(rl_tensor *t, PyObject **fn) {
    rl_tensor *base = (rl_tensor *)t->base;
    int failed = 0;
    *fn = NULL;
    if (RL_UNLIKELY(base != NULL) && t->seen != rl_version_of(t) && base->requires_grad) {
        rl_node *node = view_node(t);
        failed = node ? rl_graph_set(t, node, 0) : -1;
    }
    if (!failed) *fn = Py_XNewRef((PyObject *)t->grad_fn);
    return failed;
}

static rl_value keep_dims(const int64_t *dims, int n, int64_t **words) {
    rl_value s = {.tag = RL_INTS, .n = n, .u.ints = *words};
    if (n) memcpy(*words, dims, (size_t)n * sizeof *dims);
    *words += n;
    return s;
}

static rl_node *copy_slices_node(rl_tensor *view, rl_node *inner_steal) {
    RL_OWNED PyObject *held = (PyObject *)inner_steal;
    rl_tensor *base = (rl_tensor *)view->base;
    int nv = view->v.ndim, nb = base->v.ndim;
    rl_node_plan plan = {
        .n_edge = inner_steal->n_edge, .n_out = 1, .n_arg = RL_SLICE_ARGS, .n_words = 2 * nv + 3 * nb};
    int64_t *words;
    rl_node *node = rl_node_alloc(NULL, rl_upcalls.copy_slices_vtable, "CopySlices", &plan, &words);
    if (!node) return NULL;
    if (!rl_tensor_meta_same(inner_steal->meta, &view->v) || base->v.ndim != nb) {
        Py_DECREF(node);
        rl_graph_refuse();
        return NULL;
    }
    node->keeps = true;
    rl_tensor_meta_set(node->meta, &base->v, &words);
    node->arg[RL_SLICE_SIZE] = keep_dims(view->v.shape, nv, &words);
    node->arg[RL_SLICE_STRIDE] = keep_dims(view->v.strides, nv, &words);
    node->arg[RL_SLICE_OFFSET] = (rl_value){.tag = RL_INT, .u.i = view->v.offset - base->v.offset};
    node->arg[RL_BASE_SIZE] = keep_dims(base->v.shape, nb, &words);
    node->arg[RL_BASE_STRIDE] = keep_dims(base->v.strides, nb, &words);
    for (int i = 1; i < inner_steal->n_edge; i++) {
        node->edge[i] = inner_steal->edge[i];
        Py_XINCREF((PyObject *)node->edge[i].to);
    }
    node->owner = rl_move(&held);
    if (rl_graph_edge(base, &node->edge[0]) < 0) Py_CLEAR(node);
    return node;
}

int rl_graph_rebase(rl_tensor *self, rl_node *node_steal) {
    RL_OWNED PyObject *fn = NULL;
    if (!self->base) return rl_graph_set(self, node_steal, 0);
    rl_node *node = copy_slices_node(self, node_steal);
    if (!node) return -1;
    if (rl_graph_set((rl_tensor *)self->base, node, 0) < 0) return -1;
    self->seen = rl_version_of(self) - 1; /* what it had led to the base as it was before */
    return rl_graph_grad_fn(self, &fn);
}

/* ---- several views of one tensor at a time ----
 * all are results of one node, and none may be written where that is
 * recorded, since one history cannot tell what happened to the others. */
static int pieces_words(PyObject *pieces) {
    int n = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pieces); i++)
        n += ((rl_tensor *)PyTuple_GET_ITEM(pieces, i))->v.ndim;
    return n;
}

static rl_node *pieces_node(rl_tensor *whole, PyObject *pieces, const char *name, int64_t dim, int how) {
    rl_node_plan plan = {.n_edge = 1, .n_out = (int)PyTuple_GET_SIZE(pieces), .n_arg = 1};
    int64_t *words;
    plan.n_words = pieces_words(pieces);
    RL_OWNED PyObject *held =
        (PyObject *)rl_node_alloc(NULL, rl_upcalls.pieces_vtables[how], name, &plan, &words);
    rl_node *node = (rl_node *)held;
    if (!node || rl_graph_link(whole, &node->edge[0]) < 0) return NULL;
    node->arg[0] = (rl_value){.tag = RL_INT, .u.i = dim};
    if (pieces_words(pieces) != plan.n_words && rl_graph_refuse() < 0) return NULL;
    for (int i = 0; i < plan.n_out; i++)
        rl_tensor_meta_set(&node->meta[i], &((rl_tensor *)PyTuple_GET_ITEM(pieces, i))->v, &words);
    return (rl_node *)rl_move(&held);
}

PyObject *rl_graph_pieces(rl_tensor *whole, PyObject *pieces_steal, const char *name, int64_t dim, int how) {
    RL_OWNED PyObject *pieces = pieces_steal, *node = NULL;
    if (!pieces || !rl_tls.grad || rl_tls.inference) return rl_move(&pieces);
    if (rl_requires_grad(whole) && !(node = (PyObject *)pieces_node(whole, pieces, name, dim, how)))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pieces); i++) {
        rl_tensor *piece = (rl_tensor *)PyTuple_GET_ITEM(pieces, i);
        piece->creation = RL_VIEW_MULTI;
        if (node && rl_graph_set(piece, (rl_node *)Py_NewRef(node), (int)i) < 0) return NULL;
    }
    return rl_move(&pieces);
}
