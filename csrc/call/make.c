/* Calls that answer with new tensors: results of kernels, and views. */
#include "call.h"
#include "autograd_graph/node.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/generator.h"
#include "core/storage.h"
#include "ops/format.h"
#include <string.h>

/* ---- history ---- */
/* one node for all results; those that cannot be differentiated (indices) stay without */
static int set_history(rl_op_call *b, rl_tensor *const *out, const rl_value *inputs) {
    const rl_recorded call = {b->schema->op, inputs, b->k.n_arg, b->became};
    RL_OWNED PyObject *node = (PyObject *)rl_graph_node(&call, out, b->k.n_out, NULL);
    if (!node) return -1;
    for (int i = 0; i < b->schema->op->n_shown; i++)
        if (rl_is_float(out[i]->v.dtype) && !(b->schema->op->fixed_out >> i & 1))
            rl_graph_set(out[i], (rl_node *)Py_NewRef(node), i);
    return 0;
}

/* ---- the ways through ---- */
int rl_call_allocate(rl_tensor *t, int device, int index) {
    t->v.device = (uint8_t)device;
    t->v.device_index = (int8_t)index;
    return rl_view_allocate(&t->v) == RL_OK ? 0 : -1;
}

RL_NOINLINE PyObject *rl_call_view(rl_op_call *b) {
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
    out->v.storage = rl_storage_retain(base->v.storage);
    if (!op->no_grad) out->base = Py_NewRef(base->base ? base->base : (PyObject *)base);
    out->inference = base->inference;
    if (RL_UNLIKELY(base->version != NULL)) rl_version_share(out, base);
    out->seen = rl_version_of(out);
    out->creation = base->creation                        ? base->creation
                    : rl_tls.inference && !out->inference ? RL_VIEW_INFERENCE
                    : rl_tls.grad                         ? RL_VIEW_NORMAL
                                                          : RL_VIEW_NO_GRAD;
    if (rl_requires_grad(base) && rl_graph_wanted(op, 1)) {
        b->became = rl_data_changes;
        if (set_history(b, &out, b->k.arg) < 0) {
            Py_DECREF(out);
            return NULL;
        }
    }
    rl_tensor_reveal(out);
    return (PyObject *)out;
}

static PyObject *pack_results(rl_op_call *b, rl_tensor **out) {
    int shown = b->schema->op->n_shown;
    for (int i = shown; i < b->k.n_out; i++) Py_DECREF(out[i]); /* hidden: only the node keeps them */
    rl_tensor_reveal(out[0]);
    if (RL_LIKELY(shown == 1)) return (PyObject *)out[0];
    for (int i = 1; i < shown; i++) rl_tensor_reveal(out[i]);
    const bool named = b->schema->op->traits & RL_TUPLE;
    PyTypeObject *type = named ? rl_tuple_type(b->schema) : NULL;
    PyObject *tuple = type ? PyStructSequence_New(type) : named ? NULL : PyTuple_New(shown);
    for (int i = 0; i < shown; i++) {
        if (tuple)
            PyTuple_SET_ITEM(tuple, i, (PyObject *)out[i]);
        else
            Py_DECREF(out[i]);
    }
    return tuple;
}

int rl_call_generator_find(rl_op_call *b) {
    const int i = b->schema->op->rng_arg;
    rl_value *s = &b->k.arg[i];
    if (s->tag == RL_NONE) {
        *s = (rl_value){.tag = RL_RNG, .u.g = rl_generator_default(b->device, b->index)};
        return 0;
    }
    const int device = rl_generator_shared(s->u.g)->device;
    if (device == b->device || b->device == RL_META) return 0;
    PyErr_Format(PyExc_RuntimeError, "Expected a '%s' device type for generator but found '%s'",
                 rl_device_name(b->device), rl_device_name(device));
    return -1;
}

static inline __attribute__((always_inline)) rl_status run_new(rl_op_call *b, rl_tensor **out) {
    RL_RAW;
    const int n = b->k.n_out;
    for (int i = 0; i < n; i++) out[i]->v.dtype = (uint8_t)b->dtype;
    if (rl_format_shape(b->schema->op, &b->k) != RL_OK) return RL_FAIL;
    for (int i = 0; i < n; i++)
        if (rl_call_allocate(out[i], b->device, b->index) < 0) return RL_FAIL;
    return rl_run_kernels(b, RL_RESULTS_NEW);
}

/* To wait for a device's memory lets others run Python, who may change the arguments. */
static RL_NOINLINE rl_status run_new_held(rl_op_call *b, rl_tensor **out) {
    rl_hold hold;
    if (rl_hold_take(&hold, &b->k, false) != RL_OK) return RL_FAIL;
    rl_status status = run_new(b, out);
    rl_hold_end(&hold);
    return status;
}

/* those that only a node would keep are not made without one */
static void hide_results(rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    rl_call_meta_read(b);
    if (rl_graph_wanted(op, b->meta.needs)) return;
    for (int i = op->n_shown; i < op->n_out; i++) b->k.out[i] = NULL;
    b->k.n_out = op->n_shown;
}

/* an argument requires grad that the operator is not differentiable by */
static int refuse_gradient(const rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    if (!rl_tls.grad || rl_tls.inference) return 0;
    PyErr_Format(
        PyExc_RuntimeError,
        "The function '%s' is not differentiable with respect to argument '%s'. This input cannot have "
        "requires_grad True.",
        op->name, b->schema->arg[__builtin_ctz(b->meta.needs & op->refused)].name);
    return -1;
}

/* ---- requires_grad=, pin_memory=, of which the one stands behind the other ---- */
static bool is_asked(const rl_value *s) {
    return s->tag == RL_BOOLEAN && s->u.i;
}
static inline bool wants_more(const rl_op_call *b, int grad_arg) {
    return is_asked(&b->k.arg[grad_arg]) || is_asked(&b->k.arg[grad_arg + 1]);
}

const rl_device_driver *rl_pin_driver(void) {
    if (rl_device_find(RL_CUDA) > 0) return rl_device_driver_get(RL_CUDA);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
                        "allocator is available on this system.");
    return NULL;
}

static void copy_bytes(const rl_view *from, rl_storage *to) {
    RL_RAW;
    const void *bytes = rl_host_data(from);
    if (bytes && to->nbytes) memcpy(rl_storage_bytes(to, RL_FRESH), bytes, to->nbytes);
}

/* nobody has seen the result, which lies without gaps */
static int pin_result(rl_view *v) {
    if (v->device == RL_META) return 0;
    const rl_device_driver *driver = rl_pin_driver();
    if (!driver) return -1;
    if (v->device != RL_CPU) {
        PyErr_SetString(PyExc_RuntimeError, "Only dense CPU tensors can be pinned");
        return -1;
    }
    rl_storage *pinned = rl_storage_pin(driver, RL_COUNT(v->numel), (size_t)rl_itemsize(v->dtype)),
               *plain = v->storage;
    if (!pinned) {
        rl_raise("pin_memory");
        return -1;
    }
    copy_bytes(v, pinned);
    v->storage = pinned;
    rl_storage_release(plain);
    return 0;
}

static RL_NOINLINE int make_more(rl_op_call *b, int grad_arg, rl_tensor *t) {
    if (is_asked(&b->k.arg[grad_arg + 1]) && pin_result(&t->v) < 0) return -1;
    return is_asked(&b->k.arg[grad_arg]) ? rl_tensor_set_requires_grad(t, 1) : 0;
}

RL_NOINLINE PyObject *rl_call_new(rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    int made = 0;
    rl_tensor *out[RL_MAX_OUT];
    rl_value inputs[RL_MAX_ARGS];
    /* before shapes are read, since it may run Python */
    if ((op->traits & RL_GEMM_LIKE) && rl_heavy_load() < 0) return NULL;
    if ((op->traits & RL_LAPACK) && rl_lapack_load(b) < 0) return NULL;
    const bool inference = rl_tls.inference;
    if (RL_UNLIKELY(op->n_out > op->n_shown)) hide_results(b);
    for (; made < b->k.n_out; made++) {
        if (!(out[made] = rl_tensor_alloc(rl_tensor_type, 0))) goto fail;
        out[made]->inference = inference;
        b->k.out[made] = &out[made]->v;
    }
    rl_call_meta_read(b);
    if (RL_UNLIKELY(b->meta.needs & op->refused) && refuse_gradient(b) < 0) goto fail;
    const bool history = b->k.n_out == op->n_out && rl_graph_wanted(op, b->meta.needs);
    if (RL_UNLIKELY(history)) {
        memcpy(inputs, b->k.arg, (size_t)b->k.n_arg * sizeof *inputs);
        b->became = rl_data_changes;
    }
    if (rl_call_prepare(b) < 0 || rl_call_generator(b) < 0) goto fail;
    const bool waits = b->device != RL_CPU && b->device != RL_META;
    if ((RL_UNLIKELY(waits) ? run_new_held(b, out) : run_new(b, out)) != RL_OK) {
        rl_raise_call(b);
        goto fail;
    }
    if (history && rl_is_float(out[0]->v.dtype) && set_history(b, out, inputs) < 0) goto fail;
    if (op->grad_arg >= 0 && wants_more(b, op->grad_arg) && make_more(b, op->grad_arg, out[0]) < 0) goto fail;
    return pack_results(b, out);
fail:
    while (made > 0) Py_DECREF(out[--made]);
    return NULL;
}
