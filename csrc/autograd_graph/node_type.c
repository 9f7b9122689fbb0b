/* The Node type as Python sees it: name, next_functions, hooks, metadata, _saved_*. */
#include "node.h"
#include "ops/schema.h"
#include "core/error.h"
#include <string.h>
#include <structmember.h>

#define N(self) ((rl_node *)(self))

/* PyTorch generates nodes with a number; those written by hand show where they come from */
const char *rl_node_prefix(const rl_node *node) {
    const char *end = node->name ? node->name + rl_node_name_short(node->name) : "";
    const bool by_hand = node->name && !(*end && Py_ISDIGIT(end[strlen("Backward")]));
    return by_hand ? "torch::autograd::" : "";
}
static PyObject *node_name(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromFormat("%s%s", rl_node_prefix(N(self)), rl_node_name(N(self)));
}
static PyObject *node_sequence(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(N(self)->sequence);
}

static PyObject *node_get_next(PyObject *self, void *c) {
    (void)c;
    rl_node *node = N(self);
    RL_OWNED PyObject *edges = PyTuple_New(node->n_edge);
    for (int i = 0; edges && i < node->n_edge; i++) {
        PyObject *to = node->edge[i].to ? (PyObject *)node->edge[i].to : Py_None,
                 *edge = Py_BuildValue("(Oi)", to, (int)node->edge[i].nr);
        if (!edge) return NULL;
        PyTuple_SET_ITEM(edges, i, edge);
    }
    return rl_move(&edges);
}
static PyObject *node_get_requires_grad(PyObject *self, void *c) {
    (void)self, (void)c;
    Py_RETURN_TRUE;
}
static PyObject *node_get_metadata(PyObject *self, void *c) {
    (void)c;
    return Py_XNewRef(rl_node_metadata(N(self)));
}
/* of each result its shape, dtype and device */
static PyObject *node_get_input_metadata(PyObject *self, void *c) {
    (void)c;
    rl_node *node = N(self);
    RL_OWNED PyObject *types = PyImport_ImportModule("types");
    RL_OWNED PyObject *space = types ? PyObject_GetAttrString(types, "SimpleNamespace") : NULL;
    RL_OWNED PyObject *all = space ? PyTuple_New(node->n_out) : NULL;
    RL_OWNED PyObject *none = all ? PyTuple_New(0) : NULL;
    for (int i = 0; none && i < node->n_out; i++) {
        const rl_tensor_meta *m = &node->meta[i];
        RL_OWNED PyObject *shape = rl_size_new(m->shape, m->ndim);
        RL_OWNED PyObject *dtype = rl_dtype_object(m->dtype);
        RL_OWNED PyObject *device = rl_device_new(m->device, m->device == RL_CPU ? -1 : m->device_index);
        RL_OWNED PyObject *names = shape && dtype && device ? Py_BuildValue("{sOsOsO}", "shape", shape,
                                                                            "dtype", dtype, "device", device)
                                                            : NULL;
        PyObject *one = names ? PyObject_Call(space, none, names) : NULL;
        if (!one) return NULL;
        PyTuple_SET_ITEM(all, i, one);
    }
    return none ? rl_move(&all) : NULL;
}
static PyObject *node_get_hooks(PyObject *self, void *c) {
    (void)c;
    rl_node_extras *e = N(self)->extras;
    return Py_NewRef(e && e->after ? e->after : Py_None);
}

static PyObject *node_register_hook(PyObject *self, PyObject *hook) {
    rl_node_extras *e = rl_node_extras_get(N(self));
    return e ? rl_hooks_add(&e->after, hook) : NULL;
}
static PyObject *node_register_prehook(PyObject *self, PyObject *hook) {
    rl_node_extras *e = rl_node_extras_get(N(self));
    return e ? rl_hooks_add(&e->before, hook) : NULL;
}

static PyObject *node_register_hook_dict(PyObject *self, PyObject *t) {
    if (!rl_tensor_check(t)) {
        PyErr_Format(PyExc_TypeError, "_register_hook_dict expected a tensor, but got %s",
                     Py_TYPE(t)->tp_name);
        return NULL;
    }
    PyObject *hooks = ((rl_tensor *)t)->hooks;
    int nr = ((rl_tensor *)t)->output_nr;
    if (hooks && nr < N(self)->n_out && rl_hooks_attach(N(self), nr, hooks) < 0) return NULL;
    Py_RETURN_NONE;
}

/* formulas go by what the node says of its results */
static int call_check(const rl_node *node, PyObject *grad, Py_ssize_t i) {
    if (grad == Py_None) return 0;
    if (!rl_tensor_check(grad)) {
        PyErr_Format(PyExc_TypeError, "expected Variable, but got %s at position %zd", Py_TYPE(grad)->tp_name,
                     i);
        return -1;
    }
    const rl_tensor_meta *meta = &node->meta[i];
    const rl_view *v = &((rl_tensor *)grad)->v;
    if (rl_tensor_meta_same(meta, v) && meta->device == v->device) return 0;
    char have[RL_DIMS_TEXT], want[RL_DIMS_TEXT];
    PyErr_Format(PyExc_RuntimeError, "%s: gradient %zd has the shape %s, but the result had %s",
                 rl_node_name(node), i, rl_dims_text(have, v->shape, v->ndim),
                 rl_dims_text(want, meta->shape, meta->ndim));
    return -1;
}

/* node(*grads): runs its derivative alone; a tuple, or the only gradient */
static PyObject *node_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    rl_node *node = N(self);
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_Format(PyExc_TypeError, "%s takes no keyword arguments", rl_node_name(node));
        return NULL;
    }
    if (n != node->n_out) {
        PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd instead", (int)node->n_out, n);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (call_check(node, PyTuple_GET_ITEM(args, i), i) < 0) return NULL;
    RL_OWNED PyObject *tuple = PyTuple_New(node->n_edge);
    if (!tuple) return NULL;
    PyObject **grads = PyMem_Calloc((size_t)n + (size_t)node->n_edge + 1, sizeof *grads);
    if (!grads) return PyErr_NoMemory();
    PyObject **results = grads + n;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *grad = PyTuple_GET_ITEM(args, i);
        grads[i] = grad == Py_None ? NULL : grad;
    }
    const bool *outer = rl_node_unwanted;
    rl_node_unwanted = NULL;
    int failed = node->kind->apply(node, grads, results);
    rl_node_unwanted = outer;
    for (int i = 0; i < node->n_edge; i++)
        PyTuple_SET_ITEM(tuple, i, results[i] ? results[i] : Py_NewRef(Py_None));
    PyMem_Free(grads);
    if (failed) return NULL;
    return node->n_edge == 1 ? Py_NewRef(PyTuple_GET_ITEM(tuple, 0)) : rl_move(&tuple);
}

/* ---- _saved_self, _saved_dim ... ---- */
static PyObject *slot_value(const rl_value *s) {
    switch (s->tag) {
    case RL_INT: return PyLong_FromLongLong(s->u.i);
    case RL_FLOAT: return PyFloat_FromDouble(s->u.d);
    case RL_BOOLEAN: return PyBool_FromLong((long)s->u.i);
    case RL_STRING: return PyUnicode_FromString(s->u.s);
    case RL_DTYPE: return rl_dtype_object((int)s->u.i);
    case RL_INTS: {
        RL_OWNED PyObject *ints = PyTuple_New(s->n);
        for (int i = 0; ints && i < s->n; i++) {
            PyObject *n = PyLong_FromLongLong(s->u.ints[i]);
            if (!n) return NULL;
            PyTuple_SET_ITEM(ints, i, n);
        }
        return rl_move(&ints);
    }
    default: return Py_NewRef(Py_None);
    }
}

/* the place that a name after "_saved_" means; -1 when none */
static int saved_place(const rl_node *node, const char *name) {
    const rl_schema *s = &rl_schemas[node->op - rl_operators];
    for (int i = 0; i < node->n_arg; i++) {
        const char *own = s->arg[i].name;
        if (strcmp(name, own) == 0 || (i == 0 && strcmp(name, "self") == 0)) return i;
    }
    for (int i = 0; i < s->op->n_out; i++)
        if (s->results[i] ? strcmp(name, s->results[i]) == 0 : strcmp(name, "result") == 0)
            return RL_MAX_ARGS + i;
    return -1;
}

/* of a Tensor[] argument: a tuple */
static PyObject *saved_list(rl_node *node, int place, int at) {
    int n = node->arg[place].n;
    RL_OWNED PyObject *list = PyTuple_New(n);
    for (int j = 0; list && j < n; j++) {
        PyObject *value = rl_saved_get(node, at + j);
        if (!value) return NULL;
        PyTuple_SET_ITEM(list, j, value);
    }
    return rl_move(&list);
}

static bool is_list(const rl_node *node, int place) {
    int kind = place < RL_MAX_ARGS ? rl_schemas[node->op - rl_operators].arg[place].kind : -1;
    return kind == RL_ARG_TENSORS || kind == RL_ARG_MAYBE_TENSORS;
}

static PyObject *node_saved(rl_node *node, const char *name) {
    int place = node->op ? saved_place(node, name) : -1, i = place < 0 ? -1 : rl_saved_find(node, place, 0);
    if (i >= 0 && is_list(node, place)) return saved_list(node, place, i);
    if (i >= 0) return rl_saved_get(node, i);
    if (place >= RL_MAX_ARGS) Py_RETURN_NONE;
    if (place >= 0) return slot_value(&node->arg[place]);
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '_saved_%s'", rl_node_name(node), name);
    return NULL;
}

static PyObject *node_getattro(PyObject *self, PyObject *name) {
    static const char prefix[] = "_saved_";
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) return NULL;
    if (N(self)->op && strncmp(text, prefix, sizeof prefix - 1) == 0)
        return node_saved(N(self), text + sizeof prefix - 1);
    if (strcmp(text, "variable") == 0 && N(self)->kind == rl_upcalls.leaf_vtable)
        return Py_NewRef(N(self)->owner ? N(self)->owner : Py_None);
    return PyObject_GenericGetAttr(self, name);
}

PyMethodDef rl_node_methods[] = {
    {"name", node_name, METH_NOARGS,
     "name($self, /)\n--\n\nReturn the name of the node, such as 'AddBackward0'."},
    {"_sequence_nr", node_sequence, METH_NOARGS,
     "_sequence_nr($self, /)\n--\n\nThe higher, the earlier it runs among the ready."},
    {"register_hook", node_register_hook, METH_O,
     "register_hook($self, fn, /)\n--\n\nRegister a hook fn(grad_inputs, grad_outputs) that runs after the "
     "node and may replace grad_inputs."},
    {"register_prehook", node_register_prehook, METH_O,
     "register_prehook($self, fn, /)\n--\n\nRegister a hook fn(grad_outputs) that runs before the node and "
     "may replace them."},
    {"_register_hook_dict", node_register_hook_dict, METH_O,
     "_register_hook_dict($self, tensor, /)\n--\n\nThe tensor's hooks run on its gradient."},
    {NULL, NULL, 0, NULL}};
PyGetSetDef rl_node_getset[] = {
    {"next_functions", node_get_next, NULL, "The nodes of the inputs, each with the number of its result.",
     NULL},
    {"requires_grad", node_get_requires_grad, NULL, "True.", NULL},
    {"metadata", node_get_metadata, NULL, "A dict for the user.", NULL},
    {"_input_metadata", node_get_input_metadata, NULL, "What its results looked like.", NULL},
    {"_backward_hooks", node_get_hooks, NULL, "What register_hook() keeps.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- the type ---- */
static PyObject *node_repr(PyObject *self) {
    return PyUnicode_FromFormat("<%s object at %p>", rl_node_name((rl_node *)self), self);
}

static PyMemberDef node_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(rl_node, weakrefs), READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
static PyType_Slot node_slots[] = {{Py_tp_dealloc, rl_node_dealloc},
                                   {Py_tp_traverse, rl_node_traverse},
                                   {Py_tp_clear, rl_node_clear},
                                   {Py_tp_repr, node_repr},
                                   {Py_tp_members, node_members},
                                   {Py_tp_methods, rl_node_methods},
                                   {Py_tp_getset, rl_node_getset},
                                   {Py_tp_getattro, node_getattro},
                                   {Py_tp_call, node_call},
                                   {Py_tp_doc, "A node of the autograd graph: one recorded operator; see "
                                               "https://docs.pytorch.org/docs/2.13/autograd.html"},
                                   {0, NULL}};
static PyType_Spec node_spec = {"rushlight.autograd.graph.Node", sizeof(rl_node), sizeof(int64_t),
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                                    Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                node_slots};

int rl_node_init(PyObject *m) {
    rl_node_type = (PyTypeObject *)PyType_FromSpec(&node_spec);
    if (!rl_node_type || PyModule_AddObjectRef(m, "Node", (PyObject *)rl_node_type) < 0) return -1;
    return rl_hooks_init() < 0 || rl_saved_init(m) < 0 ? -1 : rl_anomaly_init(m);
}
