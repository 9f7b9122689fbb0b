/* Tensors of several devices in one call: who may meet whom, and copies between them. */
#include "call.h"

int rl_device_mixed(int found, int expected) {
    if (found == RL_META || expected == RL_META)
        PyErr_Format(PyExc_RuntimeError, "Tensor on device %s is not on the expected device %s!",
                     rl_device_name(found), rl_device_name(expected));
    else
        PyErr_SetString(PyExc_RuntimeError,
                        "Expected all tensors to be on the same device, but found at least two devices");
    return -1;
}

void rl_device_as_out(rl_bound *b) {
    const rl_view *out = &((rl_tensor *)b->out)->v;
    rl_slot *dtype = &b->k.arg[b->schema->row->dtype_arg], *device = &b->k.arg[b->schema->row->device_arg];
    if (dtype->tag == RL_NONE) *dtype = (rl_slot){.tag = RL_DTYPE, .u.i = out->dtype};
    if (device->tag == RL_NONE)
        *device = (rl_slot){.tag = RL_INT, .u.i = out->device * 256 + out->device_index + 1};
}

int rl_device_out(const rl_view *made, const rl_view *out) {
    if (made->device == out->device) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "Attempting to copy from device %s to device %s, but cross-device copies are not allowed!",
                 rl_device_name(made->device), rl_device_name(out->device));
    return -1;
}

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
int rl_device_stage(rl_bound *b) {
    rl_view *to = b->k.arg[0].u.t;
    if (b->schema->row != &rl_rows[RL_OP_copy_])
        return to->device == RL_CPU ? rl_device_mixed(RL_META, RL_CPU) : 0;
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
        if (rl_bound_keep_steal(b, (PyObject *)dense) < 0) return -1;
        b->k.arg[1].u.t = &dense->v;
    }
    return !rl_is_contiguous(to);
}
