/* Private looks at tensors that others may change: Note [Python in between]. */
#include "tensor.h"
#include "core/storage.h"
#include "core/view.h"

int rl_held_take(rl_view *held, const rl_view *v) {
    if (rl_view_copy(held, v) == RL_OK) {
        rl_storage_retain(held->storage);
        return 0;
    }
    held->storage = NULL;
    rl_raise(NULL);
    return -1;
}

int rl_held_changed(void) {
    PyErr_SetString(PyExc_RuntimeError, "a tensor changed while an operator used it");
    return -1;
}

const void *(rl_host_data)(const rl_view *v) {
    if (RL_LIKELY(v->device == RL_CPU)) return (rl_const_data)(v);
    PyErr_Format(PyExc_RuntimeError, "memory of a %s device cannot be read by the CPU",
                 rl_device_name(v->device));
    return NULL;
}
