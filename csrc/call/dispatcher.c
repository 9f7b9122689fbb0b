/* The dispatcher: the one way from Python (and from C above it) to a kernel.
 *
 *   bind ──► dtype rule, casts ──► shape rule ──► allocate ──► kernels (GIL free when large) ──► Node ──►
 * Tensor */
#include "call.h"
#include "core/device.h"
#include "autograd_graph/node.h"
#include "profile/profile.h"

/* ---- indices of a call that runs on a device ----
 * Its kernels read integers that lie there, so indices of the CPU follow, and a mask becomes the places that
 * it names: how many there are is waited for here. */
static bool is_mask(const rl_view *v) {
    return v->dtype == RL_BOOL || v->dtype == RL_U8;
}
static int width_of(const rl_view *index) {
    return index && is_mask(index) ? index->ndim : 1;
}

/* do the dims of x from `dim` on lie under the mask? If not, the shape rule will say so */
static bool mask_fits(const rl_view *x, const rl_view *mask, int dim) {
    if (mask->ndim == 0 || dim + mask->ndim > x->ndim) return false;
    for (int d = 0; d < mask->ndim; d++)
        if (mask->shape[d] != x->shape[dim + d]) return false;
    return true;
}

static bool follows(const rl_view *x, const rl_view *index) {
    return index && (index->device == RL_CPU || (is_mask(index) && index->device == x->device));
}

typedef struct {
    rl_view **views;
    int n;
    PyObject *made; /* owns the new ones */
} index_list;

static int list_add_steal(index_list *list, PyObject *index) {
    RL_OWNED PyObject *t = index;
    if (!t || PyList_Append(list->made, t) < 0) return -1;
    list->views[list->n++] = &((rl_tensor *)t)->v;
    return 0;
}

static int list_add_places(index_list *list, PyObject *mask, int width) {
    RL_OWNED PyObject *places = rl_op_unary(RL_OP_nonzero, mask);
    for (int d = 0; places && d < width; d++) {
        rl_value args[3] = {{.tag = RL_TENSOR, .u.t = &((rl_tensor *)places)->v},
                            {.tag = RL_INT, .u.i = 1},
                            {.tag = RL_INT, .u.i = d}};
        if (list_add_steal(list, rl_op_run(RL_OP_select, args, 3)) < 0) return -1;
    }
    return places ? 0 : -1;
}

static PyObject *copy_on(const rl_view *x, rl_view *index) {
    if (index->device == x->device && index->device_index == x->device_index)
        return Py_NewRef((PyObject *)RL_TENSOR_OF(index));
    rl_tensor *t = rl_tensor_new(index->dtype, x->device, x->device_index, index->shape, index->ndim);
    if (t && rl_tensor_copy(t, RL_TENSOR_OF(index)) < 0) Py_CLEAR(t);
    return (PyObject *)t;
}

static int list_fill(index_list *list, const rl_view *x, const rl_value *given) {
    int dim = 0;
    bool fits = true; /* what follows a mask that does not is never read */
    for (int i = 0; i < given->n; i++) {
        rl_view *index = given->u.ts[i];
        const int width = width_of(index);
        fits = fits && (!index || !is_mask(index) || mask_fits(x, index, dim));
        dim += width;
        if (!fits || !follows(x, index)) {
            list->views[list->n++] = index;
            continue;
        }
        const bool mask = is_mask(index);
        RL_OWNED PyObject *there = copy_on(x, index);
        if (!there) return -1;
        if ((mask ? list_add_places(list, there, width) : list_add_steal(list, Py_NewRef(there))) < 0)
            return -1;
    }
    return 0;
}

static RL_NOINLINE int indices_of_device(rl_op_call *b) {
    const rl_view *x = b->k.arg[0].u.t;
    rl_value *given = &b->k.arg[1];
    int64_t room = 0;
    bool any = false;
    for (int i = 0; i < given->n; i++) {
        any |= follows(x, given->u.ts[i]);
        room += width_of(given->u.ts[i]);
    }
    if (!any) return 0;
    index_list list = {.views = rl_op_call_list(b, room + given->n), .made = PyList_New(0)};
    if (rl_op_call_keep_steal(b, list.made) < 0 || !list.views) return -1;
    PyObject_GC_UnTrack(list.made); /* nobody finds and empties it */
    if (list_fill(&list, x, given) < 0) return -1;
    *given = (rl_value){.tag = RL_TENSORS, .n = list.n, .u.ts = list.views};
    return 0;
}

/* ---- dispatch ---- */
/* ---- whole lists, for optimisers: their tensors are written, below autograd ---- */
static rl_status run_lists(rl_op_call *b) {
    RL_RAW;
    return b->schema->op->shape(&b->k) == RL_OK ? rl_run_kernels(b, RL_RESULTS_SEEN) : RL_FAIL;
}

static RL_NOINLINE PyObject *call_lists(rl_op_call *b) {
    if (rl_call_device(b) < 0) return NULL;
    rl_call_meta_read(b);
    if (RL_UNLIKELY(b->meta.devices & ~(1u << RL_CPU)) && rl_call_devices_agree(b) < 0) return NULL;
    if (run_lists(b) != RL_OK) return rl_raise_call(b);
    for (int i = 0; i < b->k.n_arg; i++) {
        const rl_value *s = &b->k.arg[i];
        if (!b->schema->arg[i].written) continue;
        if (s->tag == RL_TENSOR) rl_version_bump(RL_TENSOR_OF(s->u.t));
        for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++) rl_version_bump(RL_TENSOR_OF(s->u.ts[j]));
    }
    Py_RETURN_NONE;
}

static bool indexes_on_device(const rl_op_call *b) {
    return b->schema->arg[1].kind == RL_ARG_MAYBE_TENSORS && b->k.arg[0].tag == RL_TENSOR &&
           rl_tensor_arg(&b->k, 0)->device == RL_CUDA;
}

static PyObject *dispatch(rl_op_call *b, int how) {
    const rl_operator *op = b->schema->op;
    const bool inplace = how == RL_CALL_INPLACE;
    if (RL_UNLIKELY(op->traits & RL_WARNS) && rl_call_warn(b) < 0) return NULL;
    if (op->kind == RL_KIND_VIEW) return inplace ? rl_call_view_inplace(b) : rl_call_view(b);
    if (op->traits & RL_FOREACH) return call_lists(b);
    if (op->kind == RL_KIND_COMPOSITE)
        return b->out    ? rl_call_composite_out(b)
               : inplace ? rl_call_composite_inplace(b)
                         : rl_upcalls.compose((int)(op - rl_operators), b);
    if (RL_UNLIKELY(rl_device_present) && op->lists && indexes_on_device(b) && indices_of_device(b) < 0)
        return NULL;
    if (inplace || (op->variants & RL_ONLY_INPLACE)) return rl_call_inplace(b);
    return RL_LIKELY(!b->out) ? rl_call_new(b) : rl_call_out(b);
}

/* ---- interceptors: object/interceptors.def ---- */
/* Asks the next of those that are left, a bit each; in the end the call itself. */
static PyObject *dispatch_next(rl_op_call *b, int how, uint32_t left);

/* Calls in place and with out= are not cast, nor operators inside of one that has a rule. */
static PyObject *dispatch_autocast(rl_op_call *b, int how, uint32_t left) {
    const uint32_t enabled = rl_tls.autocast.enabled;
    const bool as_it_is = how == RL_CALL_INPLACE || b->out;
    const uint32_t ruled = rl_autocast_ruled(b->schema->op);
    if (!ruled) return dispatch_next(b, how, left);
    if (!as_it_is && rl_autocast_arguments(b, ruled) < 0) return NULL;
    rl_tls.autocast.enabled = enabled & ~ruled;
    PyObject *result = dispatch_next(b, how, left);
    rl_tls.autocast.enabled = enabled;
    return result;
}

/* A profiler hears of the storages that a call makes. Views and composites make none of their own. */
static void tell_allocated(const rl_op_call *b, int how, PyObject *result) {
    const rl_operator *op = b->schema->op;
    if (op->kind != RL_KIND_OP || how == RL_CALL_INPLACE || b->out || (op->traits & RL_FOREACH) ||
        (op->variants & RL_ONLY_INPLACE))
        return;
    const bool several = PyTuple_Check(result);
    for (Py_ssize_t i = 0; i < (several ? PyTuple_GET_SIZE(result) : 1); i++) {
        PyObject *each = several ? PyTuple_GET_ITEM(result, i) : result;
        if (rl_tensor_check(each)) rl_profile_allocated(((rl_tensor *)each)->v.storage);
    }
}

static PyObject *dispatch_profiler(rl_op_call *b, int how, uint32_t left) {
    if (!rl_profile_here()) return dispatch_next(b, how, left);
    const rl_event_begin what = {.kind = how == RL_CALL_INPLACE ? RL_EVENT_INPLACE : RL_EVENT_OPERATOR,
                                 .name = b->schema->op->name,
                                 .sequence =
                                     rl_tls.grad && !rl_tls.inference ? (int64_t)rl_node_sequence : -1,
                                 .inputs = b->k.arg,
                                 .n_inputs = b->k.n_arg};
    const rl_mark mark = rl_profile_begin(&what);
    PyObject *result = dispatch_next(b, how, left);
    if (result && rl_profiling.wants.memory) tell_allocated(b, how, result);
    rl_profile_end(mark);
    return result;
}

static RL_NOINLINE PyObject *dispatch_next(rl_op_call *b, int how, uint32_t left) {
    static PyObject *(*const ask[RL_NINTERCEPTORS])(rl_op_call *b, int how, uint32_t left) = {
        [RL_INTERCEPTOR_profiler] = dispatch_profiler, [RL_INTERCEPTOR_autocast] = dispatch_autocast};
    return left ? ask[__builtin_ctz(left)](b, how, left & (left - 1)) : dispatch(b, how);
}

PyObject *rl_dispatcher_call(rl_op_call *b, int how) {
    const uint32_t asked = rl_interceptors_asked();
    return RL_UNLIKELY(asked) ? dispatch_next(b, how, asked) : dispatch(b, how);
}

/* ---- operators called from C ---- */
static PyObject *run_op(int op, const rl_value *args, int n, int how) {
    rl_op_call b;
    rl_op_call_begin(&b, &rl_schemas[op]);
    rl_op_call_fill(&b, args, n);
    PyObject *result = rl_dispatcher_call(&b, how);
    rl_op_call_end(&b);
    return result;
}
PyObject *rl_op_run(int op, rl_value *args, int n) {
    return run_op(op, args, n, RL_CALL_NORMAL);
}
PyObject *rl_op_run_inplace(int op, rl_value *args, int n) {
    return run_op(op, args, n, RL_CALL_INPLACE);
}

PyObject *rl_op_unary(int op, PyObject *x) {
    rl_value args[1] = {{.tag = RL_TENSOR, .u.t = &((rl_tensor *)x)->v}};
    return rl_op_run(op, args, 1);
}

PyObject *rl_op_binary(int op, PyObject *a, PyObject *b) {
    rl_value args[2] = {{.tag = RL_TENSOR, .u.t = &((rl_tensor *)a)->v},
                        {.tag = RL_TENSOR, .u.t = &((rl_tensor *)b)->v}};
    return rl_op_run(op, args, 2);
}
