/* Mixed precision: the tensors of a call in the dtype that its operator's AUTOCAST part asks for.
 *
 * Note [Autocast]
 *   with autocast("cpu"):  mm(x, w)
 *                             ├─ x ──► _to_copy ──► bfloat16 ─┐
 *                             └─ w ──► kept cast of w ────────┴─► mm with autocast off ──► bfloat16
 *
 * Casts are calls of _to_copy, so gradients flow through them. Those of float32 leaves that require grad, the
 * weights, are kept until the thread leaves its outermost context: a model that uses a weight twice casts it
 * once, and its gradients meet behind the cast. As in PyTorch nobody looks whether the weight was written
 * since. Calls in place and with out= cast nothing, nor do operators inside of one that has a rule. Each type
 * of device has its own switch, dtype and rules, which see its own tensors.
 *
 * What is kept lies in the dict of Python's thread, which frees it when a thread ends inside of a context. */
#include "call.h"
#include <string.h>

enum { RULED = 1 << RL_CPU | 1 << RL_CUDA }; /* devices whose operators have rules */

static void enable(uint32_t devices) {
    rl_intercept(RL_INTERCEPT_autocast, devices & RULED);
    rl_tls.autocast.enabled = devices;
}

void rl_autocast_enable(int device, bool on) {
    const uint32_t before = rl_tls.autocast.enabled, bit = 1u << device;
    enable(on ? before | bit : before & ~bit);
}

void rl_autocast_become(const rl_autocast *state) {
    enable(state->enabled);
    rl_tls.autocast = *state;
}

static rl_autocast_rule rule_of(const rl_operator *op, int device) {
    return op->autocast[device];
}

uint32_t rl_autocast_ruled(const rl_operator *op) {
    uint32_t with_rule = 0;
    for (int device = 0; device < RL_KERNEL_DEVICES; device++)
        with_rule |= (uint32_t)(op->autocast[device] != 0) << device;
    return rl_tls.autocast.enabled & with_rule;
}

/* ---- casts that are kept: {address and dtype: (weight, its cast)} ---- */
static const char kept_name[] = "rushlight.autocast";

static PyObject *kept_peek(void) {
    PyObject *of_thread = PyThreadState_GetDict();
    PyObject *kept = of_thread ? PyDict_GetItemString(of_thread, kept_name) : NULL;
    if (kept) return kept;
    RL_OWNED PyObject *fresh = of_thread ? PyDict_New() : PyErr_NoMemory();
    if (!fresh || PyDict_SetItemString(of_thread, kept_name, fresh) < 0) return NULL;
    return fresh; /* the dict keeps it */
}

int rl_autocast_clear(void) {
    PyObject *of_thread = PyThreadState_GetDict();
    RL_OWNED PyObject *kept = of_thread ? Py_XNewRef(PyDict_GetItemString(of_thread, kept_name)) : NULL;
    return kept ? PyDict_DelItemString(of_thread, kept_name) : 0;
}

static bool is_kept(const rl_tensor *t, int dtype) {
    const rl_autocast *a = &rl_tls.autocast;
    return dtype == a->dtype[t->v.device] && t->v.dtype == RL_F32 && t->requires_grad && !t->grad_fn &&
           !t->base && !a->cache_off && !rl_tls.inference;
}

static PyObject *cast(rl_tensor *t, int dtype) {
    const rl_value args[2] = {{.tag = RL_TENSOR, .u.t = &t->v}, {.tag = RL_DTYPE, .u.i = dtype}};
    rl_op_call b;
    rl_op_call_begin(&b, &rl_schemas[RL_OP_to_copy]);
    rl_op_call_fill(&b, args, 2);
    PyObject *made = rl_call_new(&b);
    rl_op_call_end(&b);
    return made;
}

/* one cast for calls with and without a gradient */
static PyObject *cast_with_history(rl_tensor *t, int dtype) {
    const bool grad = rl_tls.grad;
    rl_tls.grad = true;
    PyObject *made = cast(t, dtype);
    rl_tls.grad = grad;
    return made;
}

static PyObject *cast_kept(rl_tensor *t, int dtype) {
    RL_OWNED PyObject *kept = Py_XNewRef(kept_peek());
    RL_OWNED PyObject *key = kept ? PyLong_FromSize_t((size_t)t << 6 | (size_t)dtype) : NULL;
    PyObject *pair = key ? PyDict_GetItemWithError(kept, key) : NULL;
    /* the collector shows the dict to others */
    if (pair && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 &&
        rl_tensor_check(PyTuple_GET_ITEM(pair, 1)))
        return Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    RL_OWNED PyObject *made = key && !PyErr_Occurred() ? cast_with_history(t, dtype) : NULL;
    RL_OWNED PyObject *fresh = made ? PyTuple_Pack(2, t, made) : NULL;
    return fresh && PyDict_SetItem(kept, key, fresh) == 0 ? rl_move(&made) : NULL;
}
_Static_assert(RL_NDTYPES <= 64, "an address and a dtype make a key");

/* ---- what is cast, and to what ---- */
static bool is_floating(const rl_view *v, int device) {
    return v->device == device && ((RL_SET_FLOATS | RL_SET_FLOAT8) >> v->dtype & 1);
}
static bool is_cast(const rl_view *v, int device, int dtype) {
    return is_floating(v, device) && v->dtype != RL_F64 && v->dtype != dtype;
}

static PyObject *cast_of(rl_tensor *t, int dtype) {
    return is_kept(t, dtype) ? cast_kept(t, dtype) : cast(t, dtype);
}

PyObject *rl_autocast_tensor(rl_tensor *t, bool lower) {
    const int device = t->v.device, dtype = lower ? rl_tls.autocast.dtype[device] : RL_F32;
    const bool asked = device == RL_CPU || (device == RL_CUDA && lower);
    if (!asked || !(rl_tls.autocast.enabled >> device & 1) || !is_cast(&t->v, device, dtype))
        return Py_NewRef((PyObject *)t);
    return cast_of(t, dtype);
}

/* what *dtype becomes when v counts, too; -1 raised */
static int widen(const rl_view *v, int device, int lower, int *dtype) {
    if (!v || !is_floating(v, device) || v->dtype == RL_F64) return 0;
    if (v->dtype == RL_F32 || *dtype == RL_F32)
        *dtype = RL_F32;
    else if (v->dtype != lower) {
        PyErr_SetString(PyExc_RuntimeError, "Unexpected floating ScalarType in at::autocast::prioritize");
        return -1;
    }
    return 0;
}

static int widest(const rl_op_call *b, int device, int *dtype) {
    const int lower = *dtype;
    for (int i = 0; i < b->k.n_arg; i++) {
        const rl_value *s = &b->k.arg[i];
        if (s->tag == RL_TENSOR && widen(s->u.t, device, lower, dtype) < 0) return -1;
        for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++)
            if (widen(s->u.ts[j], device, lower, dtype) < 0) return -1;
    }
    return 1;
}

/* (input, pad, mode): reflection_pad3d and what is padded with numbers are not cast */
static bool pad_is_cast(const rl_op_call *b) {
    const char *mode = b->k.arg[2].u.s;
    return strcmp(mode, "replicate") == 0 || (strcmp(mode, "reflect") == 0 && b->k.arg[1].n <= 4);
}

static bool names_dtype(const rl_op_call *b) {
    const int at = b->schema->op->dtype_arg;
    return at >= 0 && b->k.arg[at].tag == RL_DTYPE;
}

static int refuse(void) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
        "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
        "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
        "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
        "safe to autocast.");
    return -1;
}

/* 1: the call's tensors on a device are cast to *dtype; 0: they are not; -1 raised */
static int wanted_dtype(const rl_op_call *b, int device, int *dtype) {
    *dtype = RL_F32;
    switch (rule_of(b->schema->op, device)) {
    case RL_AUTOCAST_float32: return 1;
    case RL_AUTOCAST_float32_unasked: return !names_dtype(b);
    case RL_AUTOCAST_pad: return pad_is_cast(b);
    case RL_AUTOCAST_lower: *dtype = rl_tls.autocast.dtype[device]; return 1;
    case RL_AUTOCAST_widest: *dtype = rl_tls.autocast.dtype[device]; return widest(b, device, dtype);
    case RL_AUTOCAST_refused: return refuse();
    default: return 0;
    }
}

/* ---- a call ---- */
/* *v becomes the view of its cast, which `made` owns */
static int cast_view(PyObject *made, rl_view **v, int device, int dtype) {
    if (!*v || !is_cast(*v, device, dtype)) return 0;
    RL_OWNED PyObject *t = cast_of(RL_TENSOR_OF(*v), dtype);
    if (!t || PyList_Append(made, t) < 0) return -1;
    *v = &((rl_tensor *)t)->v;
    return 0;
}

/* in a list of its own: that of the caller stays */
static int cast_list(PyObject *made, rl_value *s, int device, int dtype) {
    const Py_ssize_t bytes = s->n * (Py_ssize_t)sizeof(rl_view *);
    RL_OWNED PyObject *room = PyBytes_FromStringAndSize((const char *)s->u.ts, bytes);
    if (!room || PyList_Append(made, room) < 0) return -1;
    s->u.ts = (rl_view **)(void *)PyBytes_AS_STRING(room);
    for (int i = 0; i < s->n; i++)
        if (cast_view(made, &s->u.ts[i], device, dtype) < 0) return -1;
    return 0;
}

static int cast_arguments(rl_op_call *b, int device, int dtype) {
    PyObject *made = PyList_New(0);
    if (rl_op_call_keep_steal(b, made) < 0) return -1;
    PyObject_GC_UnTrack(made);                  /* nobody finds and empties it */
    for (int i = b->k.n_arg - 1; i >= 0; i--) { /* so PyTorch's nodes are numbered */
        rl_value *s = &b->k.arg[i];
        if (s->tag == RL_TENSOR && cast_view(made, &s->u.t, device, dtype) < 0) return -1;
        if (s->tag == RL_TENSORS && cast_list(made, s, device, dtype) < 0) return -1;
    }
    return 0;
}

RL_NOINLINE int rl_autocast_arguments(rl_op_call *b, uint32_t ruled) {
    for (int device = RL_CPU; device <= RL_CUDA; device++) {
        int dtype, wanted = ruled >> device & 1 ? wanted_dtype(b, device, &dtype) : 0;
        if (wanted < 0 || (wanted && cast_arguments(b, device, dtype) < 0)) return -1;
    }
    return 0;
}
