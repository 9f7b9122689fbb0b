/* The dispatcher: the one way from Python (and from C above it) to a kernel.
 *
 *   bind ──► dtype rule, casts ──► shape rule ──► allocate ──► kernels (GIL free when large) ──► Node ──►
 * Tensor */
#include "call.h"
#include "history/node.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/storage.h"
#include <string.h>

/* ---- history ---- */
/* one node for all results; those that cannot be differentiated (indices) stay without */
static int set_history(rl_bound *b, rl_tensor *const *out, const rl_slot *inputs) {
    const rl_recorded call = {b->schema->op, inputs, b->k.n_arg, b->became};
    RL_OWNED PyObject *node = (PyObject *)rl_history_node(&call, out, b->k.n_out, NULL);
    if (!node) return -1;
    for (int i = 0; i < b->schema->op->n_shown; i++)
        if (rl_is_float(out[i]->v.dtype) && !(b->schema->op->fixed_out >> i & 1))
            rl_history_set(out[i], (rl_node *)Py_NewRef(node), i);
    return 0;
}

/* ---- the ways through ---- */
static int alloc_storage(rl_tensor *t, int device, int index) {
    t->v.device = (uint8_t)device;
    t->v.device_index = (int8_t)index;
    return rl_view_allocate(&t->v) == RL_OK ? 0 : -1;
}

static RL_APART PyObject *call_view(rl_bound *b) {
    const rl_operator *op = b->schema->op;
    rl_tensor *base = RL_TENSOR_OF(b->k.arg[0].u.t), *out = rl_tensor_alloc(rl_tensor_type, 0);
    if (!out) return NULL;
    b->k.out[0] = &out->v;
    out->v.dtype = base->v.dtype;
    out->v.device = base->v.device;
    out->v.device_index = base->v.device_index;
    if (op->shape(&b->k) != RL_OK) {
        Py_DECREF(out);
        return rl_raise_call(b);
    }
    out->v.storage = rl_storage_keep(base->v.storage);
    out->base = Py_NewRef(base->base ? base->base : (PyObject *)base);
    out->inference = base->inference;
    if (RL_UNLIKELY(base->version != NULL)) rl_version_share(out, base);
    out->seen = rl_version_of(out);
    out->creation = base->creation                         ? base->creation
                    : rl_here.inference && !out->inference ? RL_VIEW_INFERENCE
                    : rl_here.grad                         ? RL_VIEW_NORMAL
                                                           : RL_VIEW_NO_GRAD;
    if (rl_requires_grad(base) && rl_history_wanted(op, 1)) {
        b->became = rl_data_changes;
        if (set_history(b, &out, b->k.arg) < 0) {
            Py_DECREF(out);
            return NULL;
        }
    }
    rl_tensor_reveal(out);
    return (PyObject *)out;
}

static PyObject *pack_results(rl_bound *b, rl_tensor **out) {
    int shown = b->schema->op->n_shown;
    for (int i = shown; i < b->k.n_out; i++) Py_DECREF(out[i]); /* hidden: only the node keeps them */
    rl_tensor_reveal(out[0]);
    if (RL_LIKELY(shown == 1)) return (PyObject *)out[0];
    for (int i = 1; i < shown; i++) rl_tensor_reveal(out[i]);
    PyObject *tuple = PyStructSequence_New(rl_tuple_type(b->schema));
    for (int i = 0; i < shown; i++) {
        if (tuple)
            PyStructSequence_SetItem(tuple, i, (PyObject *)out[i]);
        else
            Py_DECREF(out[i]);
    }
    return tuple;
}

static void fill_generator(rl_bound *b) {
    int i = b->schema->op->rng_arg;
    if (i >= 0 && b->k.arg[i].tag == RL_NONE)
        b->k.arg[i] = (rl_slot){.tag = RL_RNG, .u.g = rl_generator_default()};
}

static rl_status run_new(rl_bound *b, rl_tensor **out) {
    RL_RAW;
    const int n = b->k.n_out;
    for (int i = 0; i < n; i++) out[i]->v.dtype = (uint8_t)b->dtype;
    if (b->schema->op->shape(&b->k) != RL_OK) return RL_FAIL;
    for (int i = 0; i < n; i++)
        if (alloc_storage(out[i], b->device, b->index) < 0) return RL_FAIL;
    return rl_run_kernels(b, RL_RESULTS_NEW);
}

/* those that only a node would keep are not made without one */
static void hide_results(rl_bound *b) {
    const rl_operator *op = b->schema->op;
    rl_call_look(b);
    if (rl_history_wanted(op, b->look.needs)) return;
    for (int i = op->n_shown; i < op->n_out; i++) b->k.out[i] = NULL;
    b->k.n_out = op->n_shown;
}

static RL_APART PyObject *call_new(rl_bound *b) {
    const rl_operator *op = b->schema->op;
    int made = 0;
    rl_tensor *out[RL_MAX_OUT];
    rl_slot inputs[RL_MAX_ARGS];
    /* before shapes are read, since it may run Python */
    if ((op->traits & RL_HEAVY) && rl_heavy_load() < 0) return NULL;
    const bool inference = rl_here.inference;
    if (RL_UNLIKELY(op->n_out > op->n_shown)) hide_results(b);
    for (; made < b->k.n_out; made++) {
        if (!(out[made] = rl_tensor_alloc(rl_tensor_type, 0))) goto fail;
        out[made]->inference = inference;
        b->k.out[made] = &out[made]->v;
    }
    fill_generator(b);
    rl_call_look(b);
    const bool history = b->k.n_out == op->n_out && rl_history_wanted(op, b->look.needs);
    if (RL_UNLIKELY(history)) {
        memcpy(inputs, b->k.arg, (size_t)b->k.n_arg * sizeof *inputs);
        b->became = rl_data_changes;
    }
    if (rl_call_prepare(b) < 0) goto fail;
    if (run_new(b, out) != RL_OK) {
        rl_raise_call(b);
        goto fail;
    }
    if (history && rl_is_float(out[0]->v.dtype) && set_history(b, out, inputs) < 0) goto fail;
    if (op->grad_arg >= 0 && b->k.arg[op->grad_arg].tag == RL_TRUTH && b->k.arg[op->grad_arg].u.i &&
        rl_tensor_set_requires_grad(out[0], 1) < 0)
        goto fail;
    return pack_results(b, out);
fail:
    while (made > 0) Py_DECREF(out[--made]);
    return NULL;
}

/* ---- in place ---- */
static int dtype_category(int dtype) {
    return dtype == RL_BOOL ? 0 : rl_is_float(dtype) ? 2 : rl_is_converted(dtype) ? 3 : 1;
}

/* self is expanded: few operators write that, and say so in their traits */
static bool row_shares(const rl_operator *op, const rl_slot *args) {
    bool copies =
        op == &rl_operators[RL_OP_fill_] && args[1].tag == RL_TENSOR; /* that is copy_() to PyTorch */
    return (op->traits & RL_SHARES) && !copies;
}

/* Runs no Python, but when it raises. */
static int still_writable(rl_tensor *self, bool tracked, const rl_bound *b) {
    if (RL_UNLIKELY(rl_view_expanded(&self->v)) && !row_shares(b->schema->op, b->k.arg))
        return rl_refuse_expanded();
    return rl_history_may_write(self, tracked);
}

static int check_writable(rl_tensor *self, bool tracked, const rl_bound *b) {
    const rl_operator *op = b->schema->op;
    if (still_writable(self, tracked, b) < 0) return -1;
    if (RL_LIKELY(!(op->traits & RL_DEPRECATED)) || !rl_view_expanded(&self->v)) return 0;
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1,
        "Use of %s_ on expanded tensors is deprecated. Please clone() the tensor before "
        "performing this operation. This also applies to advanced indexing e.g. "
        "tensor[%s",
        op->name, op->name[5] == '_' && op->name[6] == 'p' ? "indices] = tensor" : "mask] = scalar");
}

/* May a kernel write self while it reads the inputs? Only the very same view is safe. */
static bool inputs_overlap(const rl_bound *b, const rl_view *self) {
    for (int i = 1; i < b->k.n_arg; i++) {
        const rl_slot *s = &b->k.arg[i];
        for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++)
            if (s->u.ts[j] && s->u.ts[j]->storage == self->storage) return true;
        if (s->tag != RL_TENSOR || s->u.t->storage != self->storage) continue;
        const rl_view *v = s->u.t;
        if ((b->schema->op->traits & RL_MOVES) || v->offset != self->offset || v->ndim != self->ndim ||
            memcmp(v->shape, self->shape, v->ndim * sizeof *v->shape) != 0 ||
            memcmp(v->strides, self->strides, v->ndim * sizeof *v->strides) != 0)
            return true;
    }
    return false;
}

static int check_result(const rl_view *self, const rl_view *result, int dtype) {
    char have[RL_DIMS_TEXT], want[RL_DIMS_TEXT];
    if (dtype_category(dtype) > dtype_category(self->dtype)) {
        PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s",
                     rl_dtype_title(dtype), rl_dtype_title(self->dtype));
        return -1;
    }
    if (self->ndim != result->ndim ||
        memcmp(self->shape, result->shape, self->ndim * sizeof *self->shape) != 0) {
        PyErr_Format(PyExc_RuntimeError, "output with shape %s doesn't match the broadcast shape %s",
                     rl_dims_text(have, self->shape, self->ndim),
                     rl_dims_text(want, result->shape, result->ndim));
        return -1;
    }
    return 0;
}

/* what an in-place call overwrites, for the derivative that needs it; it keeps self's place in the history */
static PyObject *copy_of(rl_tensor *self) {
    RL_OWNED PyObject *fn = NULL;
    if (rl_history_grad_fn(self, &fn) < 0) return NULL;
    int nr = self->output_nr; /* of fn; copying may run Python */
    rl_tensor *copy = rl_cast_view(&self->v, self->v.dtype);
    if (copy && fn) rl_history_set(copy, (rl_node *)rl_give(&fn), nr);
    return (PyObject *)copy;
}

/* in place, an operator has one result at most that only the derivative sees */
static PyObject *hidden_new(rl_bound *b, bool history) {
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
static int inplace_prepare(rl_bound *b, inplace_call *c) {
    int kept;
    c->staged = 0;
    do {
        kept = b->n_keep;
        rl_call_look(b);
        if (rl_call_prepare(b) < 0) return -1;
        if (RL_UNLIKELY(b->device != RL_CPU) && (c->staged = rl_device_stage(b)) < 0) return -1;
    } while (RL_UNLIKELY(b->n_keep != kept));
    return 0;
}

static rl_status inplace_run(rl_bound *b, inplace_call *c) {
    RL_RAW;
    rl_view *self = &c->self->v;
    if (RL_UNLIKELY(c->hidden != NULL)) c->hidden->v.dtype = (uint8_t)b->dtype;
    if (b->schema->op->shape(&b->k) != RL_OK) return RL_FAIL;
    if (c->hidden && alloc_storage(c->hidden, self->device, self->device_index) < 0) return RL_FAIL;
    if (check_result(self, &c->result->v, b->dtype) < 0) return RL_FAIL;
    c->direct = b->dtype == self->dtype && !c->staged && !inputs_overlap(b, self);
    if (c->direct) {
        b->k.out[0] = self;
    } else {
        c->result->v.dtype = (uint8_t)b->dtype;
        if (alloc_storage(c->result, self->device, self->device_index) < 0) return RL_FAIL;
    }
    return rl_run_kernels(b, c->direct ? RL_RESULTS_SEEN : RL_RESULTS_NEW);
}

static RL_APART PyObject *call_inplace(rl_bound *b) {
    rl_tensor *self = RL_TENSOR_OF(b->k.arg[0].u.t), *out[2] = {self, NULL};
    RL_OWNED PyObject *hidden = NULL;
    rl_slot inputs[RL_MAX_ARGS];
    rl_call_look(b);
    bool history = rl_history_wanted(b->schema->op, b->look.needs);
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
    fill_generator(b);
    if (check_writable(self, history, b) < 0) return NULL;
    RL_OWNED PyObject *original =
        history && rl_history_saves_self(b->schema->op, b->k.arg) ? copy_of(self) : NULL;
    if (PyErr_Occurred() || inplace_prepare(b, &c) < 0) return NULL;
    if (RL_UNLIKELY(original || b->n_keep) && still_writable(self, history, b) < 0) return NULL;
    if (inplace_run(b, &c) != RL_OK) return rl_raise_call(b);
    bool direct = c.direct;
    /* before the version counts on: who else shares the memory is saved, and linked, as it was */
    const rl_recorded call = {b->schema->op, inputs, b->k.n_arg, b->became};
    RL_OWNED PyObject *node = history ? (PyObject *)rl_history_node(&call, out, b->k.n_out, original) : NULL;
    if (direct) rl_version_bump(self);
    if (history && !node) return NULL;
    if (!direct && rl_tensor_copy(self, c.result) < 0) return NULL;
    if (history && rl_history_rebase(self, (rl_node *)rl_give(&node)) < 0) return NULL;
    return Py_NewRef((PyObject *)self);
}

/* ---- whole lists, for optimisers: their tensors are written, below autograd ---- */
static rl_status run_lists(rl_bound *b) {
    RL_RAW;
    return b->schema->op->shape(&b->k) == RL_OK ? rl_run_kernels(b, RL_RESULTS_SEEN) : RL_FAIL;
}

static RL_APART PyObject *call_lists(rl_bound *b) {
    if (rl_call_device(b) < 0) return NULL;
    rl_call_look(b);
    if (run_lists(b) != RL_OK) return rl_raise_call(b);
    for (int i = 0; i < b->k.n_arg; i++)
        for (int j = 0; b->schema->arg[i].written && j < b->k.arg[i].n; j++)
            rl_version_bump(RL_TENSOR_OF(b->k.arg[i].u.ts[j]));
    Py_RETURN_NONE;
}

/* ---- out=: the result is computed, then given to the tensor of the caller, which takes its shape ---- */
static PyObject *deliver_out(rl_bound *b, PyObject *result_steal) {
    RL_OWNED PyObject *result = result_steal;
    rl_tensor *out = (rl_tensor *)b->out, *made = (rl_tensor *)result;
    if (!result) return NULL;
    bool same = out->v.ndim == made->v.ndim &&
                memcmp(out->v.shape, made->v.shape, made->v.ndim * sizeof *made->v.shape) == 0;
    if (rl_history_may_write(out, false) < 0 || rl_device_out(&made->v, &out->v) < 0) return NULL;
    if (dtype_category(made->v.dtype) > dtype_category(out->v.dtype)) {
        PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s",
                     rl_dtype_title(made->v.dtype), rl_dtype_title(out->v.dtype));
        return NULL;
    }
    if (!same && out->v.dtype == made->v.dtype) {
        if (rl_tensor_set_data(out, made) < 0) return NULL;
    } else if (!same) {
        RL_OWNED PyObject *cast = (PyObject *)rl_cast_view(&made->v, out->v.dtype);
        if (!cast || rl_tensor_set_data(out, (rl_tensor *)cast) < 0) return NULL;
    } else if (rl_tensor_copy(out, made) < 0) {
        return NULL;
    }
    if (!same) rl_version_bump(out);
    return Py_NewRef(b->out);
}

static RL_APART PyObject *call_out(rl_bound *b) {
    const rl_operator *op = b->schema->op;
    if (op->traits & RL_FACTORY) rl_device_as_out(b); /* zeros(2, out=x) */
    rl_call_look(b);
    if (rl_history_wanted(op, b->look.needs) || (rl_here.grad && rl_requires_grad((rl_tensor *)b->out))) {
        PyErr_Format(
            PyExc_RuntimeError,
            "%s(): functions with out=... arguments don't support automatic differentiation, but one "
            "of the arguments requires grad.",
            op->name);
        return NULL;
    }
    return deliver_out(b, call_new(b));
}

PyObject *(*rl_compose)(int op, rl_bound *b);

PyObject *rl_dispatcher_call(rl_bound *b, int how) {
    const rl_operator *op = b->schema->op;
    if (op->kind == RL_KIND_VIEW) return call_view(b);
    if (op->traits & RL_LISTS) return call_lists(b);
    if (op->kind == RL_KIND_COMPOSITE) return rl_compose((int)(op - rl_operators), b);
    if (how == RL_CALL_INPLACE || (op->variants & RL_ONLY_INPLACE)) return call_inplace(b);
    return RL_LIKELY(!b->out) ? call_new(b) : call_out(b);
}
