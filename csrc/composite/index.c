/* What others need of indices: a flat tensor, slices that an index picks, a look at its numbers. */
#include "slots.h"
#include "core/view.h"
#include <string.h>

/* `held` is a look at t, which is on the CPU, without gaps and of that dtype */
int rl_composite_dense(rl_view *held, PyObject *t, int dtype) {
    if (rl_held_take(held, view_of(t)) < 0) return -1;
    return held->dtype == dtype && held->device == RL_CPU && rl_is_contiguous(held) ? 0 : rl_held_changed();
}

int rl_composite_numbers(const rl_view *held, int64_t *to) {
    RL_RAW;
    const void *from = rl_host_data(held);
    if (!from && held->numel) return -1;
    if (held->numel) memcpy(to, from, (size_t)held->numel * sizeof *to);
    return 0;
}

PyObject *rl_composite_flat(PyObject *x) {
    static const int64_t all = -1;
    rl_slot args[2] = {tensor_slot(x), ints_slot(&all, 1)};
    return rl_op_run(RL_OP_reshape, args, 2);
}

/* x's slices that index, made on the CPU, names */
PyObject *rl_composite_pick(PyObject *x, int64_t dim, PyObject *index) {
    const rl_view *v = view_of(x), *made = view_of(index);
    RL_OWNED PyObject *there = Py_NewRef(index);
    if (v->device != made->device) {
        Py_SETREF(there, (PyObject *)rl_tensor_new(RL_I64, v->device, v->device_index, made->shape, 1));
        if (!there || rl_tensor_copy((rl_tensor *)there, (rl_tensor *)index) < 0) return NULL;
    }
    rl_slot args[3] = {tensor_slot(x), int_slot(dim), tensor_slot(there)};
    return rl_op_run(RL_OP_index_select, args, 3);
}
