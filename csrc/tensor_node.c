/* Node: one step of the history of a tensor. It knows its name and the nodes of its inputs; the engine that
 * runs it backward stands above this room.
 *
 *   Tensor ──grad_fn──► Node ──next[i]──► Node ──► ... ──► AccumulateGrad ──► leaf Tensor */
#include "tensor.h"

struct rl_node {
    PyObject_HEAD const char *name;
    rl_node *dying; /* Note [Freeing a graph] */
    PyObject *leaf; /* of AccumulateGrad */
    int n;
    rl_node *next[]; /* NULL where an input needs no gradient */
};
PyTypeObject *rl_node_type;

static rl_node *node_alloc(const char *name, int n) {
    rl_node *node = (rl_node *)rl_node_type->tp_alloc(rl_node_type, n);
    if (!node) return NULL;
    node->name = name;
    node->n = n;
    rl_live_add(RL_LIVE_NODES, 1);
    return node;
}

rl_node *rl_node_new(const char *name, int n_inputs, rl_tensor *const *inputs) {
    rl_node *node = node_alloc(name, n_inputs);
    for (int i = 0; node && i < n_inputs; i++) {
        rl_tensor *t = inputs[i];
        if (!t || !t->requires_grad) continue;
        if (t->grad_fn) {
            node->next[i] = (rl_node *)Py_NewRef((PyObject *)t->grad_fn);
            continue;
        }
        rl_node *leaf = node_alloc("AccumulateGrad", 0);
        if (!leaf)
            Py_CLEAR(node);
        else {
            leaf->leaf = Py_NewRef((PyObject *)t);
            node->next[i] = leaf;
        }
    }
    return node;
}

static int node_traverse(PyObject *self, visitproc visit, void *arg) {
    rl_node *node = (rl_node *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(node->leaf);
    for (int i = 0; i < node->n; i++) Py_VISIT((PyObject *)node->next[i]);
    return 0;
}

static int node_clear(PyObject *self) {
    rl_node *node = (rl_node *)self;
    Py_CLEAR(node->leaf);
    for (int i = 0; i < node->n; i++) Py_CLEAR(node->next[i]);
    return 0;
}

/* Note [Freeing a graph]
 * A chain of 200,000 nodes must not be freed by recursion: a node that dies while another is being freed
 * only joins the list of the dying, and the first one's loop frees it. The GIL guards the list. */
static void node_dealloc(PyObject *self) {
    static rl_node *dying;
    static int busy;
    PyObject_GC_UnTrack(self);
    ((rl_node *)self)->dying = dying;
    dying = (rl_node *)self;
    if (busy) return;
    busy = 1;
    while (dying) {
        PyObject *dead = (PyObject *)dying;
        dying = dying->dying;
        node_clear(dead);
        rl_live_add(RL_LIVE_NODES, -1);
        rl_node_type->tp_free(dead);
        Py_DECREF(rl_node_type);
    }
    busy = 0;
}

static PyObject *node_name(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromString(((rl_node *)self)->name);
}
static PyObject *node_repr(PyObject *self) {
    return PyUnicode_FromFormat("<%s object at %p>", ((rl_node *)self)->name, self);
}
static PyObject *node_get_next(PyObject *self, void *c) {
    (void)c;
    rl_node *node = (rl_node *)self;
    RL_OWNED PyObject *edges = PyTuple_New(node->n);
    for (int i = 0; edges && i < node->n; i++) {
        PyObject *next = node->next[i] ? (PyObject *)node->next[i] : Py_None,
                 *edge = Py_BuildValue("(Oi)", next, 0);
        if (!edge) return NULL;
        PyTuple_SET_ITEM(edges, i, edge);
    }
    return rl_give(&edges);
}
static PyObject *node_get_variable(PyObject *self, void *c) {
    (void)c;
    PyObject *leaf = ((rl_node *)self)->leaf;
    if (leaf) return Py_NewRef(leaf);
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", ((rl_node *)self)->name);
    return NULL;
}
static PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "name()\n--\n\nSuch as 'AddBackward0'."}, {NULL, NULL, 0, NULL}};
static PyGetSetDef node_getset[] = {
    {"next_functions", node_get_next, NULL, "The nodes of the inputs.", NULL},
    {"variable", node_get_variable, NULL, "The leaf of an AccumulateGrad.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot node_slots[] = {{Py_tp_dealloc, node_dealloc},
                                   {Py_tp_traverse, node_traverse},
                                   {Py_tp_clear, node_clear},
                                   {Py_tp_repr, node_repr},
                                   {Py_tp_methods, node_methods},
                                   {Py_tp_getset, node_getset},
                                   {0, NULL}};
static PyType_Spec node_spec = {"rushlight.autograd.graph.Node", sizeof(rl_node), sizeof(rl_node *),
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                node_slots};

int rl_node_init(PyObject *m) {
    rl_node_type = (PyTypeObject *)PyType_FromSpec(&node_spec);
    return rl_node_type ? PyModule_AddObjectRef(m, "Node", (PyObject *)rl_node_type) : -1;
}
