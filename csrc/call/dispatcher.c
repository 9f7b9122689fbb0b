/* The dispatcher: the one way from Python (and from C above it) to a kernel.
 *
 *   bind ──► dtype rule, casts ──► shape rule ──► allocate ──► kernels (GIL free when large) ──► Node ──►
 * Tensor */
#include "call.h"
#include "core/device.h"
#include "history/node.h"
#include "profile/profile.h"

/* ---- whole lists, for optimisers: their tensors are written, below autograd ---- */
static rl_status run_lists(rl_bound *b) {
    RL_RAW;
    return b->schema->op->shape(&b->k) == RL_OK ? rl_run_kernels(b, RL_RESULTS_SEEN) : RL_FAIL;
}

static RL_APART PyObject *call_lists(rl_bound *b) {
    if (rl_call_device(b) < 0) return NULL;
    rl_call_look(b);
    if (RL_UNLIKELY(b->look.devices & ~(1u << RL_CPU)) && rl_call_devices_agree(b) < 0) return NULL;
    if (run_lists(b) != RL_OK) return rl_raise_call(b);
    for (int i = 0; i < b->k.n_arg; i++) {
        const rl_slot *s = &b->k.arg[i];
        if (!b->schema->arg[i].written) continue;
        if (s->tag == RL_TENSOR) rl_version_bump(RL_TENSOR_OF(s->u.t));
        for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++) rl_version_bump(RL_TENSOR_OF(s->u.ts[j]));
    }
    Py_RETURN_NONE;
}

int (*rl_device_indices)(rl_bound *b);

static bool indexes_on_device(const rl_bound *b) {
    return b->schema->arg[1].kind == RL_ARG_MAYBE_TENSORS && b->k.arg[0].tag == RL_TENSOR &&
           rl_tensor_arg(&b->k, 0)->device == RL_CUDA;
}

static PyObject *dispatch(rl_bound *b, int how) {
    const rl_operator *op = b->schema->op;
    const bool inplace = how == RL_CALL_INPLACE;
    if (op->kind == RL_KIND_VIEW) return inplace ? rl_call_view_inplace(b) : rl_call_view(b);
    if (op->traits & RL_LISTS) return call_lists(b);
    if (op->kind == RL_KIND_COMPOSITE)
        return b->out    ? rl_call_composite_out(b)
               : inplace ? rl_call_composite_inplace(b)
                         : rl_compose((int)(op - rl_operators), b);
    if (RL_UNLIKELY(rl_device_present) && op->lists && indexes_on_device(b) && rl_device_indices(b) < 0)
        return NULL;
    if (inplace || (op->variants & RL_ONLY_INPLACE)) return rl_call_inplace(b);
    return RL_LIKELY(!b->out) ? rl_call_new(b) : rl_call_out(b);
}

/* Calls in place and with out= are not cast, nor operators inside of one that has a rule. */
static RL_APART PyObject *dispatch_cast(rl_bound *b, int how) {
    const uint32_t enabled = rl_here.autocast.enabled;
    const bool as_it_is = how == RL_CALL_INPLACE || b->out;
    const uint32_t ruled = rl_autocast_ruled(b->schema->op);
    if (!ruled) return dispatch(b, how);
    if (!as_it_is && rl_autocast_arguments(b, ruled) < 0) return NULL;
    rl_here.autocast.enabled = enabled & ~ruled;
    PyObject *result = dispatch(b, how);
    rl_here.autocast.enabled = enabled;
    return result;
}

/* A profiler hears of the storages that a call makes. Views and composites make none of their own. */
static void tell_allocated(const rl_bound *b, int how, PyObject *result) {
    const rl_operator *op = b->schema->op;
    if (op->kind != RL_KIND_OP || how == RL_CALL_INPLACE || b->out || (op->traits & RL_LISTS) ||
        (op->variants & RL_ONLY_INPLACE))
        return;
    const bool several = PyTuple_Check(result);
    for (Py_ssize_t i = 0; i < (several ? PyTuple_GET_SIZE(result) : 1); i++) {
        PyObject *each = several ? PyTuple_GET_ITEM(result, i) : result;
        if (rl_tensor_check(each)) rl_profile_allocated(((rl_tensor *)each)->v.storage);
    }
}

static PyObject *dispatch_recorded(rl_bound *b, int how) {
    const rl_event_begin what = {.kind = how == RL_CALL_INPLACE ? RL_EVENT_INPLACE : RL_EVENT_OPERATOR,
                                 .name = b->schema->op->name,
                                 .sequence =
                                     rl_here.grad && !rl_here.inference ? (int64_t)rl_node_sequence : -1,
                                 .inputs = b->k.arg,
                                 .n_inputs = b->k.n_arg};
    const rl_mark mark = rl_profile_begin(&what);
    PyObject *result = dispatch_cast(b, how);
    if (result && rl_profiling.wants.memory) tell_allocated(b, how, result);
    rl_profile_end(mark);
    return result;
}

static RL_APART PyObject *dispatch_detour(rl_bound *b, int how) {
    return rl_profile_here() ? dispatch_recorded(b, how) : dispatch_cast(b, how);
}

PyObject *rl_dispatcher_call(rl_bound *b, int how) {
    return RL_UNLIKELY(rl_detours) ? dispatch_detour(b, how) : dispatch(b, how);
}
