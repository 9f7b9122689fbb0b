/* Nodes: their blocks, their life, and the subtype that each name has. */
#include "node.h"
#include "core/memory.h"
#include <string.h>

PyTypeObject *rl_node_type;
_Thread_local uint64_t rl_node_sequence;

bool rl_anomaly_mode;
_Thread_local rl_node *rl_node_running;
_Thread_local const bool *rl_node_unwanted;

enum { WORD = sizeof(int64_t) };
static PyTypeObject *named_type_new(const char *name);
_Static_assert(sizeof(rl_edge) % WORD == 0 && sizeof(rl_tensor_meta) % WORD == 0 &&
                   sizeof(rl_value) % WORD == 0 && sizeof(rl_saved) % WORD == 0 &&
                   sizeof(rl_node) % WORD == 0,
               "a node's parts follow each other without gaps");

/* Note [Types of nodes]
 * As in PyTorch type(y.grad_fn).__name__ is 'MulBackward0': each name has a subtype of Node, made when the
 * first such node is. Names are string constants, so their addresses find the type. */
enum { NAMED = 4096 };
_Static_assert(RL_OP_COUNT < NAMED / 2, "every operator may bring a name");
static struct {
    const char *name;
    PyTypeObject *type;
} named[NAMED];

static PyTypeObject *named_type(const char *name) {
    size_t at = ((uintptr_t)name * 0x9E3779B97F4A7C15ull) >> 40 & (NAMED - 1);
    for (PyTypeObject *type = NULL;;) {
        for (; named[at].name; at = (at + 1) & (NAMED - 1))
            if (named[at].name == name) return named[at].type;
        if (type) {
            named[at].name = name, named[at].type = type;
            return type;
        }
        type = named_type_new(name); /* may let others run, who take the slot */
        if (!type) return NULL;
    }
}

const char *rl_node_name(const rl_node *node) {
    return node->name ? node->name : Py_TYPE((PyObject *)node)->tp_name;
}

int rl_node_name_short(const char *name) {
    const char *end = NULL;
    for (const char *at = name; (at = strstr(at, "Backward")); at++) end = at;
    return end ? (int)(end - name) : (int)strlen(name);
}

rl_node *rl_node_alloc(PyTypeObject *type, const rl_node_vtable *kind, const char *name,
                       const rl_node_plan *p, int64_t **words) {
    size_t bytes = (size_t)p->n_edge * sizeof(rl_edge) + (size_t)p->n_out * sizeof(rl_tensor_meta) +
                   (size_t)p->n_arg * sizeof(rl_value) + (size_t)p->n_saved * sizeof(rl_saved);
    if (!type && !(type = named_type(name))) return NULL;
    rl_node *node = (rl_node *)rl_type_alloc(type, (Py_ssize_t)(bytes / WORD) + p->n_words);
    if (!node) return NULL;
    node->kind = kind;
    node->name = name;
    node->edge = (rl_edge *)(node + 1);
    node->meta = (rl_tensor_meta *)(node->edge + p->n_edge);
    node->arg = (rl_value *)(node->meta + p->n_out);
    node->saved = (rl_saved *)(node->arg + p->n_arg);
    node->n_edge = p->n_edge;
    node->n_out = p->n_out;
    node->n_arg = p->n_arg;
    node->n_saved = p->n_saved;
    node->sequence = rl_node_sequence++;
    *words = (int64_t *)(node->saved + p->n_saved);
    rl_live_add(RL_LIVE_NODES, 1);
    if (RL_UNLIKELY(rl_anomaly_mode) && rl_upcalls.node_watch(node) < 0) Py_CLEAR(node);
    return node;
}

rl_node_extras *rl_node_extras_get(rl_node *node) {
    if (!node->extras && !(node->extras = PyMem_Calloc(1, sizeof *node->extras))) PyErr_NoMemory();
    return node->extras;
}

PyObject *rl_node_metadata(rl_node *node) {
    rl_node_extras *e = rl_node_extras_get(node);
    if (e && !e->metadata) {
        PyObject *made = PyDict_New(); /* may run Python, which may have asked for it */
        if (e->metadata)
            Py_XDECREF(made);
        else
            e->metadata = made;
    }
    return e ? e->metadata : NULL;
}

void rl_node_release(rl_node *node) {
    node->released |= node->keeps; /* first: what is dropped below may run Python, and this node */
    for (int i = 0; i < node->n_saved; i++) {
        Py_CLEAR(node->saved[i].value);
        Py_CLEAR(node->saved[i].unpack);
    }
    if (node->kind == rl_upcalls.copy_slices_vtable)
        Py_CLEAR(node->owner); /* the node within has saved something, too */
}

void rl_node_place_on_device(rl_node *node) {
    const rl_tensor_meta *m = node->meta;
    const rl_device_driver *driver =
        node->n_out && m->device != RL_CPU ? rl_device_driver_get(m->device) : NULL;
    if (driver) node->stream = driver->stream(m->device_index);
}

void rl_tensor_meta_set(rl_tensor_meta *meta, const rl_view *v, int64_t **words) {
    *meta = (rl_tensor_meta){*words, v->dtype, v->device, v->ndim, v->device_index};
    if (v->ndim) memcpy(meta->shape, v->shape, v->ndim * sizeof *v->shape);
    *words += v->ndim;
}

bool rl_tensor_meta_same(const rl_tensor_meta *meta, const rl_view *v) {
    if (meta->ndim != v->ndim) return false;
    for (int i = 0; i < v->ndim; i++)
        if (meta->shape[i] != v->shape[i]) return false;
    return true;
}

/* ---- life ---- */
static int extras_visit(rl_node_extras *e, visitproc visit, void *arg) {
    Py_VISIT(e->tensor_hooks);
    Py_VISIT(e->retained);
    Py_VISIT(e->before);
    Py_VISIT(e->after);
    Py_VISIT(e->metadata);
    return 0;
}

int rl_node_traverse(PyObject *self, visitproc visit, void *arg) {
    rl_node *node = (rl_node *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(node->owner);
    for (int i = 0; i < node->n_edge; i++) Py_VISIT((PyObject *)node->edge[i].to);
    for (int i = 0; i < node->n_saved; i++) {
        Py_VISIT(node->saved[i].value);
        Py_VISIT(node->saved[i].unpack);
    }
    if (node->kind->visit) {
        int stop = node->kind->visit(node, visit, arg);
        if (stop) return stop;
    }
    return node->extras ? extras_visit(node->extras, visit, arg) : 0;
}

static void extras_free(rl_node *node) {
    rl_node_extras *e = node->extras;
    if (!e) return;
    node->extras = NULL;
    Py_XDECREF(e->tensor_hooks);
    Py_XDECREF(e->retained);
    Py_XDECREF(e->before);
    Py_XDECREF(e->after);
    Py_XDECREF(e->metadata);
    PyMem_Free(e);
}

/* a leaf must not find a node that is about to die */
static void leaf_forget(rl_node *node) {
    rl_tensor *leaf = node->kind == rl_upcalls.leaf_vtable ? (rl_tensor *)node->owner : NULL;
    if (leaf && leaf->accumulator == node) leaf->accumulator = NULL;
}

static void node_drop(rl_node *node) {
    rl_node_release(node);
    extras_free(node);
    Py_CLEAR(node->owner);
    if (node->kind->clear) node->kind->clear(node);
    for (int i = 0; i < node->n_edge; i++) Py_CLEAR(node->edge[i].to);
}

/* For the garbage collector. A living leaf may still hand its AccumulateGrad out while that is done, so it is
 * left whole: each cycle through it leads through the leaf, or a dict of hooks, and they can be cleared. */
int rl_node_clear(PyObject *self) {
    if (((rl_node *)self)->kind != rl_upcalls.leaf_vtable) node_drop((rl_node *)self);
    return 0;
}

/* Note [Freeing a graph]
 * A chain of 200,000 nodes must not be freed by recursion: a node that dies while another is being freed
 * only joins its thread's list of the dying, and the first one's loop frees it. */
void rl_node_dealloc(PyObject *self) {
    static _Thread_local rl_node *dying;
    static _Thread_local bool busy;
    rl_node *node = (rl_node *)self;
    PyObject_GC_UnTrack(self);
    leaf_forget(node); /* before callbacks run, which may ask the leaf */
    if (node->weakrefs) PyObject_ClearWeakRefs(self);
    node->dying = dying;
    dying = node;
    if (busy) return;
    busy = true;
    while (dying) {
        PyObject *dead = (PyObject *)dying;
        PyTypeObject *type = Py_TYPE(dead);
        dying = dying->dying;
        node_drop((rl_node *)dead);
        if (((rl_node *)dead)->kind->free) ((rl_node *)dead)->kind->free((rl_node *)dead);
        rl_live_add(RL_LIVE_NODES, -1);
        type->tp_free(dead);
        Py_DECREF(type);
    }
    busy = false;
}

/* The type of all nodes of one name; names of equal text share it. */
static PyTypeObject *named_type_new(const char *name) {
    static PyObject *types;
    static PyType_Slot slots[] = {{Py_tp_dealloc, rl_node_dealloc},
                                  {Py_tp_traverse, rl_node_traverse},
                                  {Py_tp_clear, rl_node_clear},
                                  {0, NULL}};
    char full[128];
    snprintf(full, sizeof full, "builtins.%s", name);
    PyType_Spec spec = {full, sizeof(rl_node), WORD,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
                            Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        slots};
    if (!types && !(types = PyDict_New())) return NULL;
    PyObject *type = PyDict_GetItemString(types, name);
    if (type) return (PyTypeObject *)type;
    RL_OWNED PyObject *made = PyType_FromSpecWithBases(&spec, (PyObject *)rl_node_type);
    RL_OWNED PyObject *key = made ? PyUnicode_FromString(name) : NULL;
    if (!key) return NULL;
    ((PyTypeObject *)made)->tp_name = name;                     /* messages do not say "builtins" */
    return (PyTypeObject *)PyDict_SetDefault(types, key, made); /* kept by the dict; the first one counts */
}
