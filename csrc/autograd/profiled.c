/* Nodes of a backward pass as a profiler records them: the node with its hooks and what it hands on, and in
 * it the formula alone. */
#include "autograd.h"

rl_mark rl_profiled_begin(const rl_node *node, rl_event_kind kind, PyObject *const *grads) {
    rl_slot inputs[RL_MAX_OUT];
    if (!rl_profile_here()) return (rl_mark){0};
    const int n = grads && node->n_out <= RL_MAX_OUT ? node->n_out : 0;
    for (int i = 0; i < n; i++)
        inputs[i] = grads[i] ? (rl_slot){.tag = RL_TENSOR, .u.t = &((rl_tensor *)grads[i])->v}
                             : (rl_slot){.tag = RL_NONE};
    const rl_event_begin what = {.kind = kind,
                                 .prefix = rl_node_prefix(node),
                                 .name = rl_node_name(node),
                                 .borrowed = !node->name,
                                 .sequence = (int64_t)node->sequence,
                                 .inputs = inputs,
                                 .n_inputs = n};
    return rl_profile_begin(&what);
}

rl_mark rl_profiled_function(PyObject *cls) {
    if (!rl_profile_here()) return (rl_mark){0};
    const rl_event_begin what = {.kind = RL_EVENT_FUNCTION,
                                 .name = ((PyTypeObject *)cls)->tp_name,
                                 .borrowed = true,
                                 .sequence = rl_here.grad ? (int64_t)rl_node_sequence : -1};
    return rl_profile_begin(&what);
}

int rl_profiled_apply(rl_node *node, PyObject **grads, PyObject **results) {
    const rl_mark mark = rl_profiled_begin(node, RL_EVENT_NODE, grads);
    const int failed = node->kind->apply(node, grads, results);
    rl_profile_end(mark);
    return failed;
}
