/* Copies below autograd: a tensor's numbers into another one's memory, cast and broadcast, also between
 * devices. The dispatcher stands on them, so they come to a kernel by themselves. */
#include "call.h"
#include "core/view.h"
#include "autograd_graph/node.h"
#include <string.h>

static bool same_dims(const rl_view *a, const rl_view *b) {
    if (a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

/* Note [Copies between devices]
 *
 *   source, any strides, any dtype ──► dense, the target's dtype and shape, still on its own device
 *                                      ──► one block to the other device ──► target (call_inplace: through
 *                                                                            a dense tensor if it is strided)
 *
 * A copy to the meta device moves nothing; one from there has nothing to move. */
int rl_device_stage(rl_op_call *b) {
    rl_view *to = b->k.arg[0].u.t;
    if (b->schema->op != &rl_operators[RL_OP_copy_])
        return to->device == RL_CPU ? rl_device_refuse(b, 0) : 0; /* of no dims: it may not be written */
    rl_view *from = b->k.arg[1].u.t;
    if (to->device == RL_META) return 0;
    if (from->device == RL_META) {
        PyErr_SetString(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
        return -1;
    }
    if (to->device == from->device && to->device_index == from->device_index) return 0;
    if (from->dtype != to->dtype || !same_dims(to, from) || !rl_is_contiguous(from)) {
        rl_tensor *dense = rl_tensor_new(to->dtype, from->device, from->device_index, to->shape, to->ndim);
        if (dense && rl_tensor_copy(dense, RL_TENSOR_OF(from)) < 0) Py_CLEAR(dense);
        if (rl_op_call_keep_steal(b, (PyObject *)dense) < 0) return -1;
        b->k.arg[1].u.t = &dense->v;
    }
    return !rl_is_contiguous(to);
}

rl_tensor *rl_cast_view(rl_view *v, int dtype) {
    rl_tensor *t = rl_tensor_new(dtype, v->device, v->device_index, v->shape, v->ndim);
    if (t) rl_strides_as(&t->v, v); /* results lie in memory as what was given does */
    if (t && rl_tensor_copy(t, RL_TENSOR_OF(v)) < 0) Py_CLEAR(t);
    return t;
}

static bool shares_memory(const rl_view *a, const rl_view *b) {
    return a != b && a->storage && a->storage == b->storage;
}

/* Replaces the source by what a kernel can copy from: on the target's device, dense where it must cross over,
 * apart from the target. Making that may run Python, so everything is looked at again (Note [From checks to
 * kernels]). */
static int copy_prepare(rl_op_call *b) {
    for (;;) {
        const int kept = b->n_keep;
        const rl_view *to = b->k.arg[0].u.t;
        if (rl_call_device(b) < 0) return -1;
        int strided = RL_UNLIKELY(b->device != RL_CPU) ? rl_device_stage(b) : 0;
        if (strided < 0) return -1;
        rl_view *from = b->k.arg[1].u.t; /* which staging may have replaced, in other dims */
        if (strided || shares_memory(to, from)) {
            rl_tensor *dense =
                rl_tensor_new(to->dtype, to->device, to->device_index, from->shape, from->ndim);
            if (dense && rl_tensor_copy(dense, RL_TENSOR_OF(from)) < 0) Py_CLEAR(dense);
            if (rl_op_call_keep_steal(b, (PyObject *)dense) < 0) return -1;
            b->k.arg[1].u.t = &dense->v;
        }
        if (RL_LIKELY(b->n_keep == kept)) break;
    }
    rl_call_meta_read(b);
    return 0;
}

/* Runs no Python, but when it raises. */
static int copy_allowed(rl_tensor *to, bool shared) {
    if (RL_UNLIKELY(rl_view_expanded(&to->v)) && !shared) return rl_refuse_expanded();
    const int grad = rl_tls.grad;
    rl_tls.grad = 0;
    int refused = rl_graph_may_write(to, false);
    rl_tls.grad = grad;
    return refused;
}

static rl_status copy_run(rl_op_call *b) {
    RL_RAW;
    rl_view dims = {.storage = NULL};
    dims.shape = dims.small;
    dims.strides = dims.small + RL_SMALL_DIMS;
    b->k.out[0] = &dims;
    rl_status status = b->schema->op->shape(&b->k); /* is the source broadcast to the target? */
    rl_view_clear(&dims);
    b->k.out[0] = b->k.arg[0].u.t;
    return status == RL_OK ? rl_run_kernels(b, RL_RESULTS_SEEN) : status;
}

static int tensor_copy(rl_tensor *to, rl_tensor *from, bool shared) {
    rl_op_call b;
    int failed = -1;
    rl_op_call_begin(&b, &rl_schemas[RL_OP_copy_]);
    const rl_value args[] = {{.tag = RL_TENSOR, .u.t = &to->v}, {.tag = RL_TENSOR, .u.t = &from->v}};
    rl_op_call_fill(&b, args, Py_ARRAY_LENGTH(args));
    if (copy_prepare(&b) == 0 && copy_allowed(to, shared) == 0) {
        if (copy_run(&b) == RL_OK)
            failed = 0;
        else
            rl_raise_call(&b);
    }
    if (!failed) rl_version_bump(to);
    rl_op_call_end(&b);
    return failed;
}

/* No history, no leaf check. */
int rl_tensor_copy(rl_tensor *to, rl_tensor *from) {
    return tensor_copy(to, from, false);
}

/* ... and elements of `to` may share memory: one of theirs is kept */
int rl_tensor_copy_any(rl_tensor *to, rl_tensor *from) {
    return tensor_copy(to, from, true);
}
