/* The autograd engine: runs the graph that calls have recorded, backward; and autograd.Function.
 *
 *   Tensor.backward ─► task: count what each node waits for ─► ready, highest sequence first
 *                          ─► hooks ─► formula of the operator ─► reduce to the input's shape ─► next nodes
 */
#ifndef RL_AUTOGRAD_AUTOGRAD_H
#define RL_AUTOGRAD_AUTOGRAD_H
#include "core/device.h"
#include "core/view.h"
#include "call/call.h"
#include "autograd_graph/node.h"
#include "ops/table.h"
#include "profile/profile.h"

/* ---- autograd/engine.c ---- */
typedef struct {
    const rl_edge *roots; /* n_roots, with their gradients: borrowed */
    PyObject *const *root_grads;
    int n_roots;
    const rl_edge *targets; /* autograd.grad(): where gradients are wanted; NULL: accumulate in all leaves */
    PyObject **found;       /* n_targets owned results; NULL with accumulate */
    int n_targets;
    bool keep_graph, create_graph, accumulate;
} rl_backward;
int rl_backward_run(rl_backward *run);     /* autograd/engine.c */
int64_t rl_backward_id(void);              /* of the innermost run of this thread; -1: none */
bool rl_backward_reaches_all(void);        /* false while it looks for the gradients of some tensors alone */
int rl_backward_runs(const rl_node *node); /* does that run come to this node? */
/* -1 when `grad` cannot be the gradient of what meta describes; may replace it (reduced, cast) */
int rl_validate_grad(const rl_tensor_meta *meta, PyObject **grad, const char *function, int index);

/* ---- autograd/streams.c: Note [Streams of a backward] ---- */
typedef struct {
    int index; /* of a device; -1: nothing to go back to */
    void *stream;
} rl_stream_place;
void rl_streams_switch(rl_stream_place *before, const rl_node *node);
void rl_streams_switch_back(const rl_stream_place *before);
int rl_streams_join(const rl_stream_place *before, const rl_node *to, PyObject *grad);
/* its stream is the current one ... */
static inline void rl_streams_enter(rl_stream_place *before, const rl_node *node) {
    before->index = -1;
    if (RL_UNLIKELY(rl_device_present)) rl_streams_switch(before, node);
}
/* ... until here */
static inline void rl_streams_leave(const rl_stream_place *before) {
    if (RL_UNLIKELY(before->index >= 0)) rl_streams_switch_back(before);
}
/* `to` waits for grad, which the current stream computes; NULL: the caller, whose stream was `before` */
static inline int rl_streams_pass(const rl_stream_place *before, const rl_node *to, PyObject *grad) {
    return RL_UNLIKELY(rl_device_present) ? rl_streams_join(before, to, grad) : 0;
}

/* ---- autograd/hooks.c ---- */
int rl_hooks_before(rl_node *node, PyObject **grads); /* tensor hooks, retain_grad; may replace */
int rl_hooks_prehooks(rl_node *node, PyObject **grads);
int rl_hooks_accumulated(rl_tensor *leaf);
int rl_hooks_after(rl_node *node, PyObject **results, PyObject *const *grads);

/* ---- autograd/engine.c: nodes that a profiler records ---- */
rl_mark rl_profiled_function(PyObject *cls); /* a Function's forward */

/* ---- autograd/accumulate.c ---- */
extern const rl_node_vtable rl_leaf_vtable, rl_copy_slices_vtable;
PyObject *rl_grad_zeros(const rl_tensor_meta *like);
int rl_grad_add(PyObject **sum,
                PyObject *grad_steal); /* *sum += grad, in place when nobody else can see it */

/* ---- autograd/function.c, autograd/function.c: autograd.Function ---- */
/* A Function's node is the ctx of its forward and backward. It is made before forward runs, so meta and saved
 * come later and lie in a block of their own:
 *   node │ edge[] │ rl_function │ is_tensor[n_args]          block: meta[] │ saved[] │ shapes │
 * is_tensor[n_out] */
typedef struct {
    PyObject *to_save, *dirty, *fixed, *needs, *for_forward; /* tuples or NULL; fixed: not differentiable */
    void *block;
    uint8_t *gives_tensor; /* which results are tensors; in the block */
    int32_t n_args;
    bool materialize, cleared; /* cleared: clear_saved_tensors_on_access has done its work */
    uint8_t is_tensor[];       /* which arguments are */
} rl_function;
extern PyTypeObject *rl_function_type;
extern const rl_node_vtable rl_function_kind;
int rl_function_init(PyObject *m);

int rl_grad_init(PyObject *m);
#endif
