/* TreeSpec: what a tree is without its leaves. The class that Python shows adds what is rarely used. */
#include "internal.h"
#include <structmember.h>

PyTypeObject *rl_treespec_type;
struct rl_pytree_state rl_pytree;
#define S(self) ((rl_treespec *)(self))

int rl_treespec_check(PyObject *spec) {
    if (PyObject_TypeCheck(spec, rl_treespec_type) && S(spec)->children) return 1;
    PyErr_Format(PyExc_TypeError, "expected a TreeSpec, but got %.200s", Py_TYPE(spec)->tp_name);
    return 0;
}

int rl_pytree_builtin(PyObject *type) {
    int i = 0;
    while (i < RL_NODE_TYPES && rl_pytree.type[i] != type) i++;
    return i;
}

/* ---- making one ---- */
static void count(rl_treespec *spec) {
    const bool leaf = spec->type == Py_None;
    spec->num_nodes = 1;
    spec->num_leaves = leaf;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(spec->children); i++) {
        const rl_treespec *child = S(PyTuple_GET_ITEM(spec->children, i));
        spec->num_nodes += child->num_nodes;
        spec->num_leaves += child->num_leaves;
    }
}

static void fill(rl_treespec *spec, PyObject *type, PyObject *context, PyObject *children) {
    spec->type = Py_NewRef(type);
    spec->context = Py_NewRef(context);
    spec->children = Py_NewRef(children);
    count(spec);
}

PyObject *rl_treespec_new(PyObject *type, PyObject *context, PyObject *children) {
    PyObject *made = rl_type_alloc(rl_pytree.spec_type, 0);
    if (made) fill(S(made), type, context, children);
    return made;
}

static PyObject *spec_make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs; /* they are __init__'s */
    return rl_type_alloc(type, 0);
}

/* of what __init__ got as children: each is a spec that is whole */
static int children_check(PyObject *children) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(children); i++) {
        PyObject *child = PyTuple_GET_ITEM(children, i);
        if (PyObject_TypeCheck(child, rl_treespec_type) && S(child)->children) continue;
        RL_OWNED PyObject *nodes = PyObject_GetAttrString(child, "num_nodes"); /* raises what PyTorch does */
        return nodes ? rl_treespec_check(child) - 1 : -1;
    }
    return 0;
}

static PyObject *spec_fill(PyObject *self, PyObject *args) {
    PyObject *type, *context, *given;
    if (!PyArg_ParseTuple(args, "OOO:_fill", &type, &context, &given)) return NULL;
    RL_OWNED PyObject *children = PySequence_Tuple(given);
    if (!children) return NULL;
    if (type == Py_None && (context != Py_None || PyTuple_GET_SIZE(children)))
        return PyErr_Format(PyExc_AssertionError, "leaf node should not have %s",
                            context != Py_None ? "a context" : "children");
    if (children_check(children) < 0) return NULL;
    if (S(self)->children) return PyErr_Format(PyExc_AttributeError, "a TreeSpec cannot be changed");
    fill(S(self), type, context, children);
    Py_RETURN_NONE;
}

/* ---- life ---- */
static int spec_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(S(self)->type);
    Py_VISIT(S(self)->context);
    Py_VISIT(S(self)->children);
    return 0;
}

/* A context may lead back to the spec. Whoever still walks it finds a spec that is not filled. */
static int spec_clear(PyObject *self) {
    Py_CLEAR(S(self)->children);
    Py_CLEAR(S(self)->context);
    Py_CLEAR(S(self)->type);
    return 0;
}

static void spec_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, spec_dealloc) spec_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
    Py_TRASHCAN_END
}

/* ---- what Python asks ---- */
static PyObject *spec_get_children(PyObject *self, void *c) {
    (void)c;
    if (!S(self)->children) return PyErr_Format(PyExc_AttributeError, "_children");
    return PySequence_List(S(self)->children);
}
static PyObject *spec_get_num_children(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromSsize_t(S(self)->children ? PyTuple_GET_SIZE(S(self)->children) : 0);
}
static PyObject *spec_is_leaf(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(rl_treespec_is_leaf(S(self)));
}
static PyObject *spec_children(PyObject *self, PyObject *unused) {
    (void)unused;
    return spec_get_children(self, NULL);
}

/* As PyTorch's, types are the same where they are written the same: 1, 0, or -1 raised */
static int types_equal(PyObject *a, PyObject *b) {
    if (a == b) return 1;
    RL_OWNED PyObject *name = PyObject_Str(a);
    RL_OWNED PyObject *other = name ? PyObject_Str(b) : NULL;
    return other ? PyObject_RichCompareBool(name, other, Py_EQ) : -1;
}

/* the parts of a are held while anybody's comparisons run */
static int specs_equal(const rl_treespec *a, const rl_treespec *b) {
    RL_OWNED PyObject *context = Py_NewRef(a->context), *children = Py_NewRef(a->children),
                      *other_context = Py_NewRef(b->context), *other_children = Py_NewRef(b->children);
    int equal = types_equal(a->type, b->type);
    if (equal == 1) {
        const int differ = PyObject_RichCompareBool(context, other_context, Py_NE);
        equal = differ < 0 ? -1 : !differ;
    }
    return equal == 1 ? PyObject_RichCompareBool(children, other_children, Py_EQ) : equal;
}

static PyObject *spec_compare(PyObject *self, PyObject *other, int op) {
    if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
    if (self == other) return PyBool_FromLong(op == Py_EQ);
    if (Py_TYPE(self) != Py_TYPE(other) || !S(self)->children || !S(other)->children)
        Py_RETURN_NOTIMPLEMENTED;
    const int equal = specs_equal(S(self), S(other));
    return equal < 0 ? NULL : PyBool_FromLong(equal == (op == Py_EQ));
}

/* What of a context is hashed. That of a registered class may be anything, and is left out: equal specs have
 * equal hashes all the same. */
static PyObject *hashable_context(const rl_treespec *spec) {
    PyObject *context = spec->context;
    switch (rl_pytree_builtin(spec->type)) {
    case RL_NODE_DICT:
    case RL_NODE_ODICT: return PySequence_Tuple(context);
    case RL_NODE_DEFAULTDICT: {
        RL_OWNED PyObject *parts = PySequence_Tuple(context);
        if (!parts || PyTuple_GET_SIZE(parts) != 2) return rl_move(&parts);
        RL_OWNED PyObject *keys = PySequence_Tuple(PyTuple_GET_ITEM(parts, 1));
        return keys ? PyTuple_Pack(2, PyTuple_GET_ITEM(parts, 0), keys) : NULL;
    }
    case RL_NODE_CUSTOM:
        if (spec->type != Py_None && rl_pytree.constant && Py_IS_TYPE(context, rl_pytree.constant))
            return PyObject_GetAttrString(context, "value");
        return Py_NewRef(spec->type == Py_None ? context : Py_None);
    default: return Py_NewRef(context);
    }
}

static Py_hash_t spec_hash(PyObject *self) {
    if (!rl_treespec_check(self) || Py_EnterRecursiveCall(" while hashing a TreeSpec")) return -1;
    RL_OWNED PyObject *context = hashable_context(S(self));
    RL_OWNED PyObject *parts = context ? PyTuple_Pack(3, S(self)->type, context, S(self)->children) : NULL;
    const Py_hash_t hash = parts ? PyObject_Hash(parts) : -1;
    Py_LeaveRecursiveCall();
    return hash;
}

/* ---- the type ---- */
static PyMemberDef members[] = {
    {"type", T_OBJECT_EX, offsetof(rl_treespec, type), READONLY, "The type of the node; None: a leaf."},
    {"_context", T_OBJECT_EX, offsetof(rl_treespec, context), READONLY, NULL},
    {"num_nodes", T_PYSSIZET, offsetof(rl_treespec, num_nodes), READONLY, "The nodes and leaves in all."},
    {"num_leaves", T_PYSSIZET, offsetof(rl_treespec, num_leaves), READONLY, "The leaves in all."},
    {NULL, 0, 0, 0, NULL}};
static PyGetSetDef getset[] = {
    {"_children", spec_get_children, NULL, NULL, NULL},
    {"num_children", spec_get_num_children, NULL, "The children of the root.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef methods[] = {
    {"_fill", spec_fill, METH_VARARGS, "_fill($self, type, context, children_specs, /)\n--\n\n"},
    {"is_leaf", spec_is_leaf, METH_NOARGS,
     "is_leaf($self, /)\n--\n\nTest whether the treespec represents a leaf."},
    {"children", spec_children, METH_NOARGS, "children($self, /)\n--\n\nGet all the child treespecs."},
    {NULL, NULL, 0, NULL}};

int rl_treespec_init(PyObject *m) {
    static PyType_Slot slots[] = {{Py_tp_new, spec_make},
                                  {Py_tp_dealloc, spec_dealloc},
                                  {Py_tp_traverse, spec_traverse},
                                  {Py_tp_clear, spec_clear},
                                  {Py_tp_richcompare, spec_compare},
                                  {Py_tp_hash, spec_hash},
                                  {Py_tp_members, members},
                                  {Py_tp_getset, getset},
                                  {Py_tp_methods, methods},
                                  {0, NULL}};
    static PyType_Spec spec = {"rushlight._C._TreeSpec", sizeof(rl_treespec), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
    rl_treespec_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!rl_treespec_type) return -1;
    return PyModule_AddObjectRef(m, "_TreeSpec", (PyObject *)rl_treespec_type);
}
