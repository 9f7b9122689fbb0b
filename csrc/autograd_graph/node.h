/* Node: one step of the autograd graph, and what it saves for its derivative. The engine (autograd/engine.c)
 * runs nodes backward and stands above this component.
 *
 *   Tensor ──grad_fn, output_nr──► Node ──edge[i]──► Node ──► ... ──► AccumulateGrad ──► leaf Tensor
 *
 * A node is one block, made to measure:
 *   head │ edge[n_edge] │ meta[n_out] │ arg[n_arg] │ saved[n_saved] │ words: sizes, int lists, texts */
#ifndef RL_AUTOGRAD_GRAPH_NODE_H
#define RL_AUTOGRAD_GRAPH_NODE_H
#include "core/device.h"
#include "object/upcalls.h"

typedef struct {
    rl_node *to; /* NULL where an input needs no gradient */
    int32_t nr;  /* which result of `to` the input was */
} rl_edge;

/* The metadata of a result: the engine reduces and casts its gradient to this shape and dtype. */
typedef struct {
    int64_t *shape;
    uint8_t dtype, device, ndim;
    int8_t device_index;
} rl_tensor_meta;

/* Note [Saved tensors]
 * An input is kept as it is; a result as an alias without history (else it would keep its own node
 * alive), which gets its history back when it is unpacked. Either is good while its version is unchanged.
 * Under saved_tensors_hooks `value` is whatever pack() answered and `unpack` makes a tensor of it again. */
typedef struct {
    PyObject *value, *unpack; /* unpack: (function, node, its result) */
    uint32_t version;
    int32_t place; /* argument, or RL_MAX_ARGS + result */
    int32_t nr;    /* in a Tensor[] argument */
    bool own;      /* a result of this node */
    bool linked;   /* an argument that had a grad_fn: without one now it was detached in place */
} rl_saved;

typedef struct rl_node_vtable rl_node_vtable;
struct rl_node_vtable {
    /* results[n_edge] (owned, NULL: none) from grads[n_out] (borrowed, NULL: undefined); -1: raised */
    int (*apply)(rl_node *node, PyObject *const *grads, PyObject **results);
    /* for kinds that keep more than a node has room for; NULL without */
    int (*visit)(rl_node *node, visitproc visit, void *arg);
    void (*clear)(rl_node *node); /* drops what visit shows */
    void (*free)(rl_node *node);  /* gives memory back, at the very end */
};

/* Rarely there: hooks and the like. Each list is a Python object or NULL. */
typedef struct {
    PyObject *tensor_hooks; /* list of (result, dict of hooks): run on the gradients that come in */
    PyObject *retained;     /* list of (result, weakref of a tensor): retain_grad() */
    PyObject *before;       /* dict: register_prehook() */
    PyObject *after;        /* dict: register_hook() */
    PyObject *metadata;
} rl_node_extras;

struct rl_node {
    PyObject_VAR_HEAD;
    const rl_node_vtable *kind;
    const rl_operator *op; /* of an operator */
    const char *name;      /* NULL: that of its type, as for a Function */
    uint64_t sequence;
    rl_node_extras *extras;
    PyObject
        *owner; /* of AccumulateGrad: the leaf; of CopySlices: the node within; of a Function: its dict */
    PyObject *weakrefs;
    rl_node *dying; /* Note [Freeing a graph] */
    rl_edge *edge;
    rl_tensor_meta *meta;
    rl_value *arg;
    rl_saved *saved;
    int32_t n_edge, n_out, n_arg, n_saved;
    bool keeps, released; /* has saved something; has dropped it */
    void *stream;         /* of a device: where the forward call ran */
};
extern PyTypeObject *rl_node_type;
int rl_node_init(PyObject *m);
extern bool rl_anomaly_mode, rl_anomaly_nan; /* detect_anomaly(): autograd_graph/anomaly.c */
void rl_anomaly_report(rl_node *node);  /* an exception is set: warns where the node comes from, keeps it */
int rl_anomaly_remember(rl_node *node); /* where it was made */
int rl_anomaly_init(PyObject *m);
extern _Thread_local PyObject *rl_saved_hooks;
extern _Thread_local uint64_t rl_node_sequence;
enum { RL_SEQUENCE_LEAF = -1 }; /* as uint64: AccumulateGrad runs first among the ready */

typedef struct {
    int n_edge, n_out, n_arg, n_saved, n_words;
} rl_node_plan;
/* A node of `type` (NULL: the subtype of Node that has its name) with room for what the plan says, all zero;
 * *words is its tail. */
rl_node *rl_node_alloc(PyTypeObject *type, const rl_node_vtable *kind, const char *name,
                       const rl_node_plan *plan, int64_t **words);
extern PyMethodDef rl_node_methods[];
extern PyGetSetDef rl_node_getset[];
void rl_node_dealloc(PyObject *self); /* the slots of every subtype made in C */
int rl_node_traverse(PyObject *self, visitproc visit, void *arg);
int rl_node_clear(PyObject *self);
const char *rl_node_name(const rl_node *node); /* "MulBackward0" */
const char *
rl_node_prefix(const rl_node *node);           /* "torch::autograd::" of what PyTorch wrote by hand, or "" */
int rl_node_name_short(const char *name);      /* how much of it is "Mul" */
extern _Thread_local rl_node *rl_node_running; /* of this thread's engine, or NULL */
extern _Thread_local const bool *rl_node_unwanted; /* which of its edges no target needs; NULL: none */
rl_node_extras *rl_node_extras_get(rl_node *node); /* made when missing; NULL: no memory, raised */
PyObject *rl_node_metadata(rl_node *node);         /* a dict, borrowed; made when missing */
void rl_node_release(rl_node *node);               /* drops what it saved */
void rl_node_place_on_device(rl_node *node);
/* its results are there: on which stream were they made? */
static inline void rl_node_place(rl_node *node) {
    if (RL_UNLIKELY(rl_device_present)) rl_node_place_on_device(node);
}
void rl_tensor_meta_set(rl_tensor_meta *meta, const rl_view *v, int64_t **words);
bool rl_tensor_meta_same(const rl_tensor_meta *meta, const rl_view *v);

/* ---- autograd_graph/hooks.c ---- */
/* A handle that removes `hook` from the dict at *hooks again; the dict is made when missing. */
PyObject *rl_hooks_add(PyObject **hooks, PyObject *hook);
/* t, which retain_grad() was called on, gets another grad_fn: that follows; hooks stay with the old one. */
int rl_hooks_move(rl_tensor *t, rl_node *to, int nr);
int rl_hooks_attach(rl_node *node, int nr, PyObject *hooks); /* runs them on result nr's gradient */

/* ---- autograd_graph/hooks.c ---- */
int rl_hooks_init(void);

/* ---- autograd_graph/record.c, autograd_graph/view.c, autograd_graph/saved.c ---- */
/* The edge that a gradient of t goes to; owned node or NULL. -1: raised. */
int rl_graph_edge(rl_tensor *t, rl_edge *edge);
int rl_graph_link(rl_tensor *t, rl_edge *edge); /* ... of a new node, from t as it looks now */
rl_node *rl_graph_accumulator(rl_tensor *leaf); /* owned */
/* Owned, since whatever runs next may give t another one; up to date for a view. -1: raised. */
int rl_graph_grad_fn(rl_tensor *t, PyObject **fn);
int rl_graph_set(rl_tensor *t, rl_node *node_steal, int nr); /* fails only where t retains its gradient */
/* self was written in place by `node` (stolen): of a view the base's history changes, too. */
int rl_graph_rebase(rl_tensor *self, rl_node *node_steal);
int rl_graph_refuse(void);                             /* always -1: a tensor changed meanwhile */
int rl_graph_may_write(rl_tensor *self, bool tracked); /* leaf and view rules; -1 and PyTorch's text */
/* What history knows of a call. `became`: rl_data_changes before anything looked at the arguments. */
typedef struct {
    const rl_operator *op;
    const rl_value *args; /* as they were before any cast */
    int n;
    uint64_t became;
} rl_recorded;
/* Does a call get a node, when the arguments `needs` (bit i: argument i) require grad? */
static inline bool rl_graph_wanted(const rl_operator *op, uint32_t needs) {
    return op->node && (needs & op->edges) && rl_tls.grad && !rl_tls.inference;
}
/* The node of a call: edges, kept arguments and (after it ran) results. `original`: self before an
 * in-place call, when that must be saved. */
rl_node *rl_graph_node(const rl_recorded *call, rl_tensor *const *out, int n_out, PyObject *original);
bool rl_graph_saves_self(const rl_operator *op, const rl_value *args);

/* ---- autograd_graph/view.c: split, chunk, unbind ---- */
/* A tuple of views of `whole`, made unrecorded (stolen, NULL passes through), as the results of one node. */
PyObject *rl_graph_pieces(rl_tensor *whole, PyObject *pieces_steal, const char *name, int64_t dim, int how);

/* what the arguments of a CopySlices are */
enum { RL_SLICE_SIZE, RL_SLICE_STRIDE, RL_SLICE_OFFSET, RL_BASE_SIZE, RL_BASE_STRIDE, RL_SLICE_ARGS };

int rl_saved_init(PyObject *m);
int rl_saved_freed(void); /* always -1: PyTorch's text */
/* Unpacks a saved tensor: owned, None for what is absent in a list; NULL: raised (written in place, freed).
 */
PyObject *rl_saved_get(rl_node *node, int i);
/* The same for a derivative, which would lose its way back from what was detached in place: raises, too. */
PyObject *rl_saved_use(rl_node *node, int i);
int rl_saved_find(const rl_node *node, int place, int nr); /* -1 when it was not saved */
int rl_saved_set(rl_saved *s, PyObject *tensor, int place, int nr, bool own);
#endif
