/* Tensors of several devices in one call: where it runs. */
#include "call.h"
#include "core/device.h"
#include "core/dtype.h"

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
        if (s->tag == RL_TENSOR && RL_UNLIKELY(rl_slot_tensor(s)->device != RL_CPU) &&
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
