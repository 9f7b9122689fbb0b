/* The Node type, of what the other files of this folder give it. */
#include "node.h"
#include <structmember.h>

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
                                   {Py_tp_getattro, rl_node_getattro},
                                   {Py_tp_call, rl_node_call},
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
