/* Backward on the streams of a device.
 *
 * Note [Streams of a backward]
 * A node runs on the stream that its forward call ran on. A gradient that goes on to a node of another stream
 * takes an event with it, and leaves run on the stream of whoever called backward():
 *
 *   caller ──► node on s ──► node on t ──► leaf, or result, on the caller's stream */
#include "autograd.h"
#include "core/error.h"

static bool is_on_device(const rl_node *node) {
    return node && node->kind != rl_upcalls.leaf_vtable && node->n_out && node->meta[0].device == RL_CUDA;
}

static int raise_last(const rl_device_driver *driver) {
    rl_device_failed(driver);
    rl_raise(NULL);
    return -1;
}

void rl_streams_switch(rl_stream_place *before, const rl_node *node) {
    if (!is_on_device(node)) return;
    const rl_device_driver *driver = rl_device_driver_get(RL_CUDA);
    const int index = node->meta[0].device_index;
    void *now = driver->stream(index);
    if (now == node->stream) return;
    *before = (rl_stream_place){index, now};
    driver->stream_use(index, node->stream);
}

void rl_streams_switch_back(const rl_stream_place *before) {
    rl_device_driver_get(RL_CUDA)->stream_use(before->index, before->stream);
}

/* grad was computed on the current stream: `to` goes on after it, on a stream of its own. */
static int pass_on(const rl_device_driver *driver, PyObject *grad, const rl_stream_place *to) {
    rl_storage *s = ((rl_tensor *)grad)->v.storage;
    const int index = s->device_index;
    if (driver->stream_join(to->index, to->stream, index, driver->stream(index)) != RL_OK)
        return raise_last(driver);
    rl_storage_record(s, to->index, to->stream);
    return 0;
}

int rl_streams_join(const rl_stream_place *caller, const rl_node *to, PyObject *grad) {
    const rl_view *v = &((rl_tensor *)grad)->v;
    const rl_device_driver *driver = rl_device_driver_get(RL_CUDA);
    if (!driver || v->device != RL_CUDA) return 0;
    rl_stream_place there = {v->device_index, driver->stream(v->device_index)};
    if (is_on_device(to) && to->meta[0].device_index == v->device_index)
        there.stream = to->stream;
    else if (caller->index == v->device_index)
        there.stream = caller->stream;
    return there.stream == driver->stream(v->device_index) ? 0 : pass_on(driver, grad, &there);
}
