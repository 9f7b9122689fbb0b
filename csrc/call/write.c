/* Calls that write into a tensor of the caller's: in place, and with out=. */
#include "call.h"
#include "autograd_graph/node.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/storage.h"
#include "core/view.h"
#include "ops/shapes.h"
#include <string.h>

/* ---- in place ---- */
static int dtype_category(int dtype) {
    return dtype == RL_BOOL ? 0 : rl_is_float(dtype) ? 2 : rl_is_converted(dtype) ? 3 : 1;
}

/* Note [Memory that overlaps]
 *
 *   written tensor          stride 0                refused, unless the row says SHARES
 *                           windows of as_strided   written in some order
 *   it beside an input      the same elements       fine, unless the row says MOVES
 *   (both are dense)        some, or moved ones     refused, unless the row says READS_FIRST (not self)
 *   ... one has gaps                                staged: inputs_overlap()
 *
 * With out= inputs count where the operator also works in place or keeps to its places: PLACES, SHAPE(same)
 * and SHAPE(broadcast). The others read all before they write, in PyTorch as here. */
typedef enum { APART, SAME, PARTIAL, UNKNOWN } overlap;

/* the same places in the same order, in elements; dimensions with one element say nothing */
static bool same_places(const rl_view *a, const rl_view *b) {
    int i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a->ndim && a->shape[i] == 1) i++;
        while (j < b->ndim && b->shape[j] == 1) j++;
        if (i == a->ndim || j == b->ndim) return i == a->ndim && j == b->ndim;
        if (a->shape[i] != b->shape[j] || a->strides[i] != b->strides[j]) return false;
    }
}

static RL_NOINLINE overlap overlap_of(const rl_view *a, const rl_view *b) {
    if (!a->numel || !b->numel) return APART;
    const int64_t size_a = rl_itemsize(a->dtype), size_b = rl_itemsize(b->dtype);
    const bool alike = size_a == size_b && a->offset == b->offset && same_places(a, b);
    if (a == b) return SAME;
    if (!rl_is_dense(a) || !rl_is_dense(b)) return UNKNOWN;
    if (alike) return SAME;
    const int64_t from_a = a->offset * size_a, from_b = b->offset * size_b;
    const int64_t to_a = from_a + a->numel * size_a, to_b = from_b + b->numel * size_b;
    return from_a < to_b && from_b < to_a ? PARTIAL : APART;
}

static bool keeps_places(const rl_operator *op) {
    return (op->traits & (RL_PERMUTES | RL_NO_PARTIAL_OVERLAP)) || (op->variants & RL_INPLACE) ||
           (op->kind == RL_KIND_OP && (op->shape == shape_same || op->shape == shape_broadcast));
}

static bool is_index_put(const rl_operator *op) {
    return op == &rl_operators[RL_OP_index_put];
}

/* a mask becomes indices, but for masked_fill_(), which x[mask] = number is */
static bool reads_anew(const rl_op_call *b, int i, const rl_view *v) {
    const rl_operator *op = b->schema->op;
    if (is_index_put(op)) {
        const bool fills = rl_tensor_arg(&b->k, 2)->ndim == 0 && b->k.arg[1].n == 1 && b->k.arg[1].u.ts[0] &&
                           b->k.arg[1].u.ts[0]->dtype == RL_BOOL;
        return i == 1 ? v->dtype == RL_BOOL && !fills : fills;
    }
    if ((op->traits & RL_ALLOWS_OVERLAP) && i == b->k.n_arg - 1 && v->ndim == 0) return true; /* a number */
    return (i > 0 || !(op->variants & RL_INPLACE)) && op->traits & RL_READS_FIRST;
}

static int refuse_input(const rl_op_call *b, int i, const rl_view *v, const rl_view *to) {
    const rl_operator *op = b->schema->op;
    if (v->storage != to->storage || reads_anew(b, i, v)) return 0;
    const overlap how = overlap_of(to, v);
    const bool moves =
        (op->traits & RL_PERMUTES) && (i > 0 || !(op->variants & RL_INPLACE)) && v->dtype != RL_BOOL;
    return how == PARTIAL || (moves && how == SAME) ? rl_refuse_overlap() : 0;
}

/* inputs from argument `first` on: self is the first one of a call in place */
static RL_NOINLINE int refuse_inputs(const rl_op_call *b, const rl_view *to, int first) {
    for (int i = first; i < b->k.n_arg; i++) {
        const rl_value *s = &b->k.arg[i];
        if (s->tag == RL_TENSOR && refuse_input(b, i, s->u.t, to) < 0) return -1;
        for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++)
            if (s->u.ts[j] && refuse_input(b, i, s->u.ts[j], to) < 0) return -1;
    }
    return 0;
}

/* does an input lie in self's storage? */
static inline bool shares_storage(const rl_op_call *b, const rl_view *self) {
    for (int i = 1; i < b->k.n_arg; i++) {
        const rl_value *s = &b->k.arg[i];
        if (s->tag == RL_TENSOR ? rl_value_view(s)->storage == self->storage : s->tag == RL_TENSORS)
            return true;
    }
    return false;
}

/* self is expanded: few operators write that, and say so in their traits */
static bool row_shares(const rl_operator *op, const rl_value *args) {
    bool copies =
        op == &rl_operators[RL_OP_fill_] && args[1].tag == RL_TENSOR; /* that is copy_() to PyTorch */
    return (op->traits & RL_ALLOWS_OVERLAP) && !copies;
}

/* Runs no Python, but when it raises. */
static int still_writable(rl_tensor *self, bool tracked, const rl_op_call *b) {
    if (rl_graph_may_write(self, tracked) < 0) return -1;
    if (RL_UNLIKELY(rl_view_expanded(&self->v)) && !row_shares(b->schema->op, b->k.arg))
        return rl_refuse_expanded();
    return 0;
}

static int check_writable(rl_tensor *self, bool tracked, const rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    if (still_writable(self, tracked, b) < 0) return -1;
    if (RL_UNLIKELY(shares_storage(b, &self->v)) && refuse_inputs(b, &self->v, 1) < 0) return -1;
    if (RL_LIKELY(!(op->traits & RL_DEPRECATED)) || !rl_view_expanded(&self->v)) return 0;
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1,
        "Use of %s_ on expanded tensors is deprecated. Please clone() the tensor before "
        "performing this operation. This also applies to advanced indexing e.g. "
        "tensor[%s",
        op->name, op->name[5] == '_' && op->name[6] == 'p' ? "indices] = tensor" : "mask] = scalar");
}

/* May a kernel write self while it reads the inputs? Only the very same view is safe. */
static bool inputs_overlap(const rl_op_call *b, const rl_view *self) {
    for (int i = 1; i < b->k.n_arg; i++) {
        const rl_value *s = &b->k.arg[i];
        for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++)
            if (s->u.ts[j] && s->u.ts[j]->storage == self->storage) return true;
        if (s->tag != RL_TENSOR || rl_value_view(s)->storage != self->storage) continue;
        const rl_view *v = s->u.t;
        if ((b->schema->op->traits & RL_PERMUTES) || rl_itemsize(v->dtype) != rl_itemsize(self->dtype) ||
            v->offset != self->offset || v->ndim != self->ndim ||
            memcmp(v->shape, self->shape, v->ndim * sizeof *v->shape) != 0 ||
            memcmp(v->strides, self->strides, v->ndim * sizeof *v->strides) != 0)
            return true;
    }
    return false;
}

static int check_result(const rl_operator *op, const rl_view *self, const rl_view *result, int dtype) {
    char have[RL_DIMS_TEXT], want[RL_DIMS_TEXT];
    if (self->ndim != result->ndim ||
        memcmp(self->shape, result->shape, self->ndim * sizeof *self->shape) != 0) {
        PyErr_Format(PyExc_RuntimeError, "output with shape %s doesn't match the broadcast shape %s",
                     rl_dims_text(have, self->shape, self->ndim),
                     rl_dims_text(want, result->shape, result->ndim));
        return -1;
    }
    if (dtype_category(dtype) > dtype_category(self->dtype)) {
        PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s",
                     rl_dtype_title(dtype),
                     op->rule == RL_TYPES_clamp ? rl_dtype_cpp_name(self->dtype)
                                                : rl_dtype_title(self->dtype));
        return -1;
    }
    return 0;
}

/* what an in-place call overwrites, for the derivative that needs it; it keeps self's place in the history */
static PyObject *copy_of(rl_tensor *self) {
    RL_OWNED PyObject *fn = NULL;
    if (rl_graph_grad_fn(self, &fn) < 0) return NULL;
    int nr = self->output_nr; /* of fn; copying may run Python */
    rl_tensor *copy = rl_cast_view(&self->v, self->v.dtype);
    if (copy && fn) rl_graph_set(copy, (rl_node *)rl_move(&fn), nr);
    return (PyObject *)copy;
}

/* in place, an operator has one result at most that only the derivative sees */
static PyObject *hidden_new(rl_op_call *b, bool history) {
    b->k.n_out = history ? b->schema->op->n_out : 1;
    rl_tensor *hidden = rl_tensor_alloc(rl_tensor_type, 0);
    if (!hidden) return NULL;
    b->k.out[1] = b->k.n_out > 1 ? &hidden->v : NULL;
    return (PyObject *)hidden;
}

typedef struct {
    rl_tensor *self, *result, *hidden;
    int staged;  /* self lies elsewhere, and result is copied to it */
    bool direct; /* the kernels write self itself */
} inplace_call;

/* Note [From checks to kernels] */
static int inplace_prepare(rl_op_call *b, inplace_call *c) {
    int kept;
    c->staged = 0;
    do {
        kept = b->n_keep;
        rl_call_meta_read(b);
        if (rl_call_prepare(b) < 0) return -1;
        if (RL_UNLIKELY(b->device != RL_CPU) && (c->staged = rl_device_stage(b)) < 0) return -1;
    } while (RL_UNLIKELY(b->n_keep != kept));
    return 0;
}

static rl_status inplace_run(rl_op_call *b, inplace_call *c) {
    RL_RAW;
    rl_view *self = &c->self->v;
    if (RL_UNLIKELY(c->hidden != NULL)) c->hidden->v.dtype = (uint8_t)b->dtype;
    if (b->schema->op->shape(&b->k) != RL_OK) return RL_FAIL;
    if (c->hidden && rl_call_allocate(c->hidden, self->device, self->device_index) < 0) return RL_FAIL;
    if (check_result(b->schema->op, self, &c->result->v, b->dtype) < 0) return RL_FAIL;
    c->direct = b->dtype == self->dtype && !c->staged && !inputs_overlap(b, self);
    if (c->direct) {
        b->k.out[0] = self;
    } else {
        c->result->v.dtype = (uint8_t)b->dtype;
        if (rl_call_allocate(c->result, self->device, self->device_index) < 0) return RL_FAIL;
    }
    return rl_run_kernels(b, c->direct ? RL_RESULTS_SEEN : RL_RESULTS_NEW);
}

RL_NOINLINE PyObject *rl_call_inplace(rl_op_call *b) {
    rl_tensor *self = RL_TENSOR_OF(b->k.arg[0].u.t), *out[2] = {self, NULL};
    RL_OWNED PyObject *hidden = NULL;
    rl_value inputs[RL_MAX_ARGS];
    rl_call_meta_read(b);
    bool history = rl_graph_wanted(b->schema->op, b->meta.needs);
    memcpy(inputs, b->k.arg, (size_t)b->k.n_arg * sizeof *inputs);
    if (history) b->became = rl_data_changes;
    RL_OWNED PyObject *held = (PyObject *)rl_tensor_alloc(rl_tensor_type, 0);
    if (!held) return NULL;
    inplace_call c = {.self = self, .result = (rl_tensor *)held};
    b->k.out[0] = &c.result->v;
    if (RL_UNLIKELY(b->schema->op->n_out > 1)) {
        if (!(hidden = hidden_new(b, history))) return NULL;
        out[1] = c.hidden = (rl_tensor *)hidden;
    }
    if (check_writable(self, history, b) < 0) return NULL;
    RL_OWNED PyObject *original =
        history && rl_graph_saves_self(b->schema->op, b->k.arg) ? copy_of(self) : NULL;
    if (PyErr_Occurred() || inplace_prepare(b, &c) < 0 || rl_call_generator(b) < 0) return NULL;
    if (RL_UNLIKELY(original || b->n_keep) && still_writable(self, history, b) < 0) return NULL;
    if (inplace_run(b, &c) != RL_OK) return rl_raise_call(b);
    bool direct = c.direct;
    /* before the version counts on: who else shares the memory is saved, and linked, as it was */
    const rl_recorded call = {b->schema->op, inputs, b->k.n_arg, b->became};
    RL_OWNED PyObject *node = history ? (PyObject *)rl_graph_node(&call, out, b->k.n_out, original) : NULL;
    if (direct) rl_version_bump(self);
    if (history && !node) return NULL;
    if (!direct && rl_tensor_copy(self, c.result) < 0) return NULL;
    if (history && rl_graph_rebase(self, (rl_node *)rl_move(&node)) < 0) return NULL;
    return Py_NewRef((PyObject *)self);
}

/* ---- a view in place: squeeze_() ---- */
RL_NOINLINE PyObject *rl_call_view_inplace(rl_op_call *b) {
    rl_tensor *self = RL_TENSOR_OF(b->k.arg[0].u.t);
    if (rl_graph_may_write(self, rl_tls.grad && rl_requires_grad(self)) < 0) return NULL;
    RL_OWNED PyObject *made = rl_call_view(b);
    rl_tensor *view = (rl_tensor *)made;
    if (!view || rl_tensor_set_data(self, view) < 0) return NULL;
    rl_version_bump(self);
    if (view->grad_fn && rl_graph_set(self, (rl_node *)Py_NewRef(view->grad_fn), view->output_nr) < 0)
        return NULL;
    return Py_NewRef(self);
}

/* ---- out=: the result is computed, then given to the tensor of the caller, which takes its shape ---- */
static bool same_shape(const rl_view *a, const rl_view *b) {
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) == 0;
}

static int warn_resized(const rl_view *out, const rl_view *made) {
    char have[RL_DIMS_TEXT], want[RL_DIMS_TEXT];
    if (out->numel == 0) return 0;
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1,
        "An output with one or more elements was resized since it had shape %s, which does not match the "
        "required output shape %s. This behavior is deprecated, and in a future PyTorch release outputs will "
        "not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing "
        "it, inplace, to zero elements with t.resize_(0).",
        rl_dims_text(have, out->shape, out->ndim), rl_dims_text(want, made->shape, made->ndim));
}

/* factories say nothing where they resize */
static int deliver(rl_tensor *out, rl_tensor *made, bool warns) {
    if (rl_graph_may_write(out, false) < 0 || rl_device_out(&made->v, &out->v) < 0) return -1;
    if (dtype_category(made->v.dtype) > dtype_category(out->v.dtype)) {
        PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s",
                     rl_dtype_title(made->v.dtype), rl_dtype_title(out->v.dtype));
        return -1;
    }
    if (same_shape(&out->v, &made->v)) return rl_tensor_copy_any(out, made);
    if (warns && warn_resized(&out->v, &made->v) < 0) return -1;
    RL_OWNED PyObject *cast =
        out->v.dtype == made->v.dtype ? NULL : (PyObject *)rl_cast_view(&made->v, out->v.dtype);
    if (!cast && out->v.dtype != made->v.dtype) return -1;
    if (rl_tensor_set_data(out, cast ? (rl_tensor *)cast : made) < 0) return -1;
    rl_version_bump(out);
    return 0;
}

static Py_ssize_t out_count(const rl_op_call *b) {
    return PyTuple_Check(b->out) ? PyTuple_GET_SIZE(b->out) : 1;
}
static rl_tensor *out_nth(const rl_op_call *b, Py_ssize_t i) {
    return (rl_tensor *)(PyTuple_Check(b->out) ? PyTuple_GET_ITEM(b->out, i) : b->out);
}

/* the results in the caller's tensors, as what the call would have answered */
static PyObject *deliver_out(rl_op_call *b, PyObject *result_steal) {
    RL_OWNED PyObject *result = result_steal;
    const bool warns = !(b->schema->op->traits & RL_FACTORY);
    if (!result) return NULL;
    if (!PyTuple_Check(result))
        return deliver(out_nth(b, 0), (rl_tensor *)result, warns) < 0 ? NULL : Py_NewRef(b->out);
    Py_ssize_t n = PyTuple_GET_SIZE(result);
    if (n != out_count(b)) {
        PyErr_Format(PyExc_RuntimeError, "%s() expected out to have %zd tensors, but it has %zd", b->k.name,
                     n, out_count(b));
        return NULL;
    }
    const bool named = !PyTuple_CheckExact(result);
    RL_OWNED PyObject *all = named ? PyStructSequence_New(Py_TYPE(result)) : PyTuple_New(n);
    for (Py_ssize_t i = 0; all && i < n; i++) {
        if (deliver(out_nth(b, i), (rl_tensor *)PyTuple_GET_ITEM(result, i), warns) < 0) return NULL;
        PyTuple_SET_ITEM(all, i, Py_NewRef(out_nth(b, i)));
    }
    return rl_move(&all);
}

static int refuse_gradients(rl_op_call *b) {
    bool wanted = false;
    rl_call_meta_read(b);
    if (!rl_tls.grad || rl_tls.inference) return 0;
    wanted = b->schema->op->kind == RL_KIND_COMPOSITE ? b->meta.needs != 0
                                                      : rl_graph_wanted(b->schema->op, b->meta.needs);
    for (Py_ssize_t i = 0; i < out_count(b); i++) wanted |= rl_requires_grad(out_nth(b, i));
    if (!wanted) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "%s(): functions with out=... arguments don't support automatic differentiation, but one "
                 "of the arguments requires grad.",
                 b->schema->op->name);
    return -1;
}

/* Note [Memory that overlaps]; PyTorch looks before it looks at shapes */
static int out_writable(const rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    const bool shares = op->traits & RL_ALLOWS_OVERLAP;
    for (Py_ssize_t i = 0; i < out_count(b) && !shares; i++) {
        const rl_view *out = &out_nth(b, i)->v;
        if (RL_UNLIKELY(rl_view_expanded(out))) return rl_refuse_expanded();
        if (keeps_places(op) && refuse_inputs(b, out, 0) < 0) return -1;
    }
    return 0;
}

RL_NOINLINE PyObject *rl_call_out(rl_op_call *b) {
    if ((b->schema->op->traits & RL_FACTORY) && rl_device_as_out(b) < 0) return NULL; /* zeros(2, out=x) */
    if (refuse_gradients(b) < 0 || out_writable(b) < 0) return NULL;
    PyObject *made = rl_call_new(b);
    /* empty(2, out=x) leaves what x holds */
    if (made && b->schema == &rl_schemas[RL_OP_empty] &&
        same_shape(&out_nth(b, 0)->v, &((rl_tensor *)made)->v)) {
        Py_DECREF(made);
        return Py_NewRef(b->out);
    }
    return deliver_out(b, made);
}

/* ---- composites, whose results are copied to where they are wanted ---- */
static PyObject *composed(rl_op_call *b) {
    return rl_upcalls.compose((int)(b->schema->op - rl_operators), b);
}

RL_NOINLINE PyObject *rl_call_composite_out(rl_op_call *b) {
    if (refuse_gradients(b) < 0 || out_writable(b) < 0) return NULL;
    const int grad = rl_tls.grad;
    rl_tls.grad = 0;
    PyObject *result = composed(b);
    rl_tls.grad = grad;
    return deliver_out(b, result);
}

RL_NOINLINE PyObject *rl_call_composite_inplace(rl_op_call *b) {
    rl_tensor *self = RL_TENSOR_OF(b->k.arg[0].u.t);
    rl_call_meta_read(b);
    const bool tracked = rl_tls.grad && b->meta.needs;
    if (check_writable(self, tracked, b) < 0) return NULL;
    /* what the parts save of self must be what it was before */
    RL_OWNED PyObject *original = tracked ? copy_of(self) : NULL;
    if (tracked && !original) return NULL;
    if (original) b->k.arg[0].u.t = &((rl_tensor *)original)->v;
    RL_OWNED PyObject *result = composed(b);
    if (!result) return NULL;
    const rl_view *made = &((rl_tensor *)result)->v;
    if (check_result(b->schema->op, &self->v, made, made->dtype) != RL_OK) return rl_raise_call(b);
    rl_value args[2] = {{.tag = RL_TENSOR, .u.t = &self->v},
                        {.tag = RL_TENSOR, .u.t = &((rl_tensor *)result)->v}};
    rl_op_call copy;
    rl_op_call_begin(&copy, &rl_schemas[RL_OP_copy_]);
    rl_op_call_fill(&copy, args, 2);
    PyObject *written = rl_call_inplace(&copy);
    rl_op_call_end(&copy);
    return written;
}
