/* Tensors of several devices in one call: where it runs, and who may meet whom. */
#include "call.h"
#include "core/device.h"
#include "core/dtype.h"

int rl_device_mixed(int found, int expected) {
    if (found == RL_META || expected == RL_META)
        PyErr_Format(PyExc_RuntimeError, "Tensor on device %s is not on the expected device %s!",
                     rl_device_name(found), rl_device_name(expected));
    else
        PyErr_SetString(PyExc_RuntimeError,
                        "Expected all tensors to be on the same device, but found at least two devices");
    return -1;
}

int rl_device_as_out(rl_bound *b) {
    const rl_view *out = &((rl_tensor *)b->out)->v;
    rl_slot *dtype = &b->k.arg[b->schema->op->dtype_arg], *device = &b->k.arg[b->schema->op->device_arg];
    if (dtype->tag == RL_DTYPE && dtype->u.i != out->dtype) {
        PyErr_Format(PyExc_RuntimeError, "dtype %s does not match dtype of out parameter (%s)",
                     rl_dtype_title((int)dtype->u.i), rl_dtype_title(out->dtype));
        return -1;
    }
    if (device->tag == RL_INT && device->u.i / 256 != out->device) {
        PyErr_Format(PyExc_RuntimeError, "device type %s does not match device type of out parameter (%s)",
                     rl_device_name((int)(device->u.i / 256)), rl_device_name(out->device));
        return -1;
    }
    if (dtype->tag == RL_NONE) *dtype = (rl_slot){.tag = RL_DTYPE, .u.i = out->dtype};
    if (device->tag == RL_NONE)
        *device = (rl_slot){.tag = RL_INT, .u.i = out->device * 256 + out->device_index + 1};
    return 0;
}

int rl_device_out(const rl_view *made, const rl_view *out) {
    if (made->device == out->device) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "Attempting to copy from device %s to device %s, but cross-device copies are not allowed!",
                 rl_device_name(made->device), rl_device_name(out->device));
    return -1;
}

static rl_view *first_tensor(const rl_bound *b) {
    for (uint32_t left = b->schema->op->tensors | b->schema->op->lists; left; left &= left - 1) {
        const rl_slot *s = &b->k.arg[__builtin_ctz(left)];
        if (s->tag == RL_TENSOR) return s->u.t;
        if (s->tag == RL_TENSORS && s->n) return s->u.ts[0];
    }
    return NULL;
}

/* A number kept as a 0-dim CPU tensor follows the others, and a copy runs where its foreign side lies. */
static const rl_view *foreign_tensor(const rl_bound *b, const rl_view *first) {
    for (uint32_t left = b->schema->op->tensors; left; left &= left - 1) {
        const rl_slot *s = &b->k.arg[__builtin_ctz(left)];
        if (s->tag == RL_TENSOR && RL_UNLIKELY(s->u.t->device != RL_CPU) &&
            (first->ndim == 0 || b->schema->op == &rl_operators[RL_OP_copy_]))
            return s->u.t;
    }
    return first;
}

int rl_call_device(rl_bound *b) {
    const rl_operator *op = b->schema->op;
    const rl_view *v = first_tensor(b);
    if (v && v->device == RL_CPU) v = foreign_tensor(b, v);
    b->device = v ? v->device : RL_CPU;
    b->index = v ? v->device_index : 0;
    int64_t coded = op->device_arg < 0 || v ? RL_DEVICE_UNASKED : rl_here.device;
    if (op->device_arg >= 0 && b->k.arg[op->device_arg].tag == RL_INT) coded = b->k.arg[op->device_arg].u.i;
    if (coded >= 0) {
        b->device = (int)(coded / 256);
        b->index = (int)(coded % 256) - 1;
    }
    if (RL_LIKELY(b->device == RL_CPU)) return b->index = 0;
    if (rl_device_need(b->device, b->index) < 0) return -1;
    b->index = rl_device_index(b->device, b->index);
    return 0;
}

static bool is_there(const rl_bound *b, const rl_view *v) {
    return v->device == b->device && (v->device != RL_CUDA || v->device_index == b->index);
}

static int refuse_index(const rl_bound *b, const rl_view *v) {
    const char *name = rl_device_name(b->device);
    PyErr_Format(
        PyExc_RuntimeError,
        "Expected all tensors to be on the same device, but found at least two devices, %s:%d and %s:%d!",
        name, b->index, name, v->device_index);
    return -1;
}

int rl_call_devices_agree(const rl_bound *b) {
    const int device = b->device;
    if (RL_LIKELY(!(b->look.devices & ~(1u << RL_CPU)))) return 0;
    for (int i = 0; i < b->k.n_arg; i++) {
        const bool counts = b->schema->op->traits & RL_LISTS; /* of an optimizer's steps: they may, too */
        bool indices = b->schema->arg[i].kind == RL_ARG_MAYBE_TENSORS; /* may stay on the CPU */
        for (int j = 0; b->k.arg[i].tag == RL_TENSORS && j < b->k.arg[i].n; j++) {
            const rl_view *v = b->k.arg[i].u.ts[j];
            if (!v || is_there(b, v) || (indices && v->device == RL_CPU)) continue;
            if (counts && v->device == RL_CPU && v->numel == 1) continue;
            return v->device == device ? refuse_index(b, v) : rl_device_mixed(v->device, device);
        }
        if (b->k.arg[i].tag != RL_TENSOR || is_there(b, b->k.arg[i].u.t)) continue;
        bool number = b->k.arg[i].u.t->ndim == 0 && b->k.arg[i].u.t->device == RL_CPU;
        if (number || b->schema->op == &rl_operators[RL_OP_copy_]) continue;
        const rl_view *v = b->k.arg[i].u.t;
        return v->device == device ? refuse_index(b, v) : rl_device_mixed(v->device, device);
    }
    return 0;
}
