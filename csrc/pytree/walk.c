/* Trees flattened, mapped and built again.
 *
 * Functions of users run in between: they take nodes of their types apart, build them, say what a leaf is,
 * and are what is mapped. Each may change any container that is being walked, so that a walk holds what it
 * looks at, and asks again how long a list is before it takes the next item. */
#include "internal.h"
#include <string.h>

#define S(self) ((rl_treespec *)(self))
#define IS_SET  (rl_pytree.leaf != NULL)

static int refuse_unset(void) {
    if (IS_SET) return 0;
    PyErr_SetString(PyExc_RuntimeError, "rushlight.utils._pytree is not imported");
    return -1;
}

/* ---- what a node is ---- */
/* 1: a class of named tuples, by what such a class has, as PyTorch asks; 0; -1: raised */
static int has_callable(PyObject *type, const char *name) {
    RL_OWNED PyObject *value = PyObject_GetAttrString(type, name);
    if (value) return PyCallable_Check(value);
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

static int is_namedtuple_class(PyObject *type) {
    if (!PyType_Check(type) || type == (PyObject *)&PyTuple_Type ||
        !PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_TUPLE_SUBCLASS))
        return 0;
    RL_OWNED PyObject *fields = PyObject_GetAttrString(type, "_fields");
    if (!fields && !PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    if (!fields) PyErr_Clear();
    if (!fields || !PyTuple_Check(fields)) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++)
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(fields, i))) return 0;
    const int makes = has_callable(type, "_make");
    return makes == 1 ? has_callable(type, "_asdict") : makes;
}

/* the type under which a node would be registered */
static PyObject *node_type_get(PyObject *node) {
    PyObject *type = (PyObject *)Py_TYPE(node);
    const int named = is_namedtuple_class(type);
    return named < 0 ? NULL : Py_NewRef(named ? rl_pytree.type[RL_NODE_NAMEDTUPLE] : type);
}

typedef struct {
    PyObject *type, *definition;
    int kind; /* an rl_node_type: CUSTOM where the functions of the definition must be called */
} node_facts;
static void facts_drop(node_facts *f) {
    Py_CLEAR(f->type);
    Py_CLEAR(f->definition);
}
#define FACTS __attribute__((cleanup(facts_drop))) node_facts

/* 1: there is a definition for this type; 0: there is none; -1: raised */
static int facts_find(PyObject *type, node_facts *facts) {
    RL_OWNED PyObject *registry = Py_NewRef(rl_pytree.registry);
    PyObject *found = PyDict_GetItemWithError(registry, type);
    if (!found) return PyErr_Occurred() ? -1 : 0;
    facts->type = Py_NewRef(type);
    facts->definition = Py_NewRef(found);
    facts->kind = rl_pytree_builtin(type);
    if (facts->kind < RL_NODE_TYPES && rl_pytree.definition[facts->kind] != found)
        facts->kind = RL_NODE_CUSTOM;
    return 1;
}
/* where a spec says that there is one */
static int facts_need(PyObject *type, node_facts *facts) {
    const int found = facts_find(type, facts);
    if (found == 0) PyErr_SetObject(PyExc_KeyError, type);
    return found == 1 ? 0 : -1;
}

/* ---- the children of a node: a list or tuple, and the context, unless `context` is NULL ---- */
/* NodeDef(type, flatten_fn, unflatten_fn, flatten_with_keys_fn) */
static PyObject *function_get(const node_facts *facts, int place, const char *name) {
    PyObject *definition = facts->definition;
    if (PyTuple_Check(definition) && PyTuple_GET_SIZE(definition) > place)
        return Py_NewRef(PyTuple_GET_ITEM(definition, place));
    return PyObject_GetAttrString(definition, name);
}

/* a, b = pair */
static int unpack(PyObject *pair, PyObject **a, PyObject **b) {
    if (PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2) {
        *a = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
        *b = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
        return 0;
    }
    if (!Py_TYPE(pair)->tp_iter && !PySequence_Check(pair)) {
        PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(pair)->tp_name);
        return -1;
    }
    RL_OWNED PyObject *iterator = PyObject_GetIter(pair);
    if (!iterator) return -1;
    *a = PyIter_Next(iterator);
    *b = *a ? PyIter_Next(iterator) : NULL;
    if (PyErr_Occurred()) return -1;
    if (!*b) {
        PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected 2, got %d)", *a != NULL);
        return -1;
    }
    RL_OWNED PyObject *more = PyIter_Next(iterator);
    if (more) PyErr_SetString(PyExc_ValueError, "too many values to unpack (expected 2)");
    return PyErr_Occurred() ? -1 : 0;
}

/* both of one moment, though making the lists may run anything */
static int dict_items(PyObject *dict, PyObject **keys, PyObject **values) {
    PyObject *key, *value;
    for (;;) {
        const Py_ssize_t n = PyDict_GET_SIZE(dict);
        Py_XSETREF(*keys, PyList_New(n));
        Py_XSETREF(*values, *keys ? PyList_New(n) : NULL);
        if (!*values) return -1;
        if (n != PyDict_GET_SIZE(dict)) continue;
        Py_ssize_t at = 0;
        for (Py_ssize_t i = 0; PyDict_Next(dict, &at, &key, &value); i++) {
            PyList_SET_ITEM(*keys, i, Py_NewRef(key));
            PyList_SET_ITEM(*values, i, Py_NewRef(value));
        }
        return 0;
    }
}

static PyObject *of_dict(PyObject *node, PyObject **context) {
    RL_OWNED PyObject *values = NULL;
    if (!context) return PyDict_Values(node);
    return dict_items(node, context, &values) < 0 ? NULL : rl_move(&values);
}

static PyObject *of_ordered_dict(PyObject *node, PyObject **context) {
    if (context && !(*context = PyMapping_Keys(node))) return NULL;
    return PyMapping_Values(node);
}

static PyObject *of_default_dict(PyObject *node, PyObject **context) {
    RL_OWNED PyObject *keys = NULL;
    RL_OWNED PyObject *values = of_dict(node, context ? &keys : NULL);
    if (!values || !context) return rl_move(&values);
    RL_OWNED PyObject *factory = PyObject_GetAttrString(node, "default_factory");
    RL_OWNED PyObject *parts = factory ? PyList_New(2) : NULL;
    if (!parts) return NULL;
    PyList_SET_ITEM(parts, 0, rl_move(&factory));
    PyList_SET_ITEM(parts, 1, rl_move(&keys));
    *context = rl_move(&parts);
    return rl_move(&values);
}

static PyObject *of_custom(const node_facts *facts, PyObject *node, PyObject **context) {
    RL_OWNED PyObject *function = function_get(facts, 1, "flatten_fn");
    RL_OWNED PyObject *pair = function ? PyObject_CallOneArg(function, node) : NULL;
    RL_OWNED PyObject *children = NULL, *unused = NULL;
    if (!pair || unpack(pair, &children, context ? context : &unused) < 0) return NULL;
    if (PyList_CheckExact(children) || PyTuple_CheckExact(children)) return rl_move(&children);
    return PySequence_List(children);
}

static PyObject *children_get(const node_facts *facts, PyObject *node, PyObject **context) {
    switch (facts->kind) {
    case RL_NODE_DICT: return of_dict(node, context);
    case RL_NODE_ODICT: return of_ordered_dict(node, context);
    case RL_NODE_DEFAULTDICT: return of_default_dict(node, context);
    case RL_NODE_CUSTOM: return of_custom(facts, node, context);
    case RL_NODE_DEQUE:
        if (context && !(*context = PyObject_GetAttrString(node, "maxlen"))) return NULL;
        return PySequence_List(node);
    case RL_NODE_NAMEDTUPLE:
        if (context) *context = Py_NewRef((PyObject *)Py_TYPE(node));
        if (Py_TYPE(node)->tp_iter != PyTuple_Type.tp_iter) return PySequence_List(node);
        return Py_NewRef(node);
    default: /* lists and tuples are their children */
        if (context) *context = Py_NewRef(Py_None);
        return Py_NewRef(node);
    }
}

/* ---- flattening ---- */
typedef struct {
    PyObject *is_leaf; /* or NULL */
    PyObject *leaves;  /* a list */
} walk;

/* answers `is_leaf(node)`, or what the registry says; a node's facts are found */
static int find_leaf(PyObject *is_leaf, PyObject *node, node_facts *facts) {
    if (is_leaf) {
        RL_OWNED PyObject *said = PyObject_CallOneArg(is_leaf, node);
        const int leaf = said ? PyObject_IsTrue(said) : -1;
        if (leaf) return leaf;
    }
    RL_OWNED PyObject *type = node_type_get(node);
    const int found = type ? facts_find(type, facts) : -1;
    return found < 0 ? -1 : !found;
}

/* room for a child's spec: those that are not set are leaves */
static int specs_grow(PyObject **specs, Py_ssize_t n) {
    const Py_ssize_t before = PyTuple_GET_SIZE(*specs);
    if (_PyTuple_Resize(specs, n) < 0) return -1;
    for (Py_ssize_t i = before; i < n; i++) PyTuple_SET_ITEM(*specs, i, Py_NewRef(rl_pytree.leaf));
    return 0;
}

static int flatten(const walk *w, PyObject *node, PyObject **spec);

/* flattens what stands in a list or tuple; the specs go into a tuple, unless `specs` is NULL */
static int flatten_children(const walk *w, PyObject *children, PyObject **specs) {
    RL_OWNED PyObject *held = specs ? PyTuple_New(0) : NULL;
    Py_ssize_t i = 0;
    if (specs && (!held || specs_grow(&held, PySequence_Fast_GET_SIZE(children)) < 0)) return -1;
    for (; i < PySequence_Fast_GET_SIZE(children); i++) {
        RL_OWNED PyObject *child = Py_NewRef(PySequence_Fast_GET_ITEM(children, i));
        RL_OWNED PyObject *spec = NULL;
        if (flatten(w, child, specs ? &spec : NULL) < 0) return -1;
        if (!specs || spec == rl_pytree.leaf) {
            if (!specs || i < PyTuple_GET_SIZE(held)) continue;
        }
        if (i >= PyTuple_GET_SIZE(held) && specs_grow(&held, i + i / 2 + 1) < 0) return -1;
        PyObject *before = PyTuple_GET_ITEM(held, i);
        PyTuple_SET_ITEM(held, i, rl_move(&spec));
        Py_DECREF(before);
    }
    if (specs && i < PyTuple_GET_SIZE(held) && _PyTuple_Resize(&held, i) < 0) return -1;
    if (specs) *specs = rl_move(&held);
    return 0;
}

static int flatten_node(const walk *w, const node_facts *facts, PyObject *node, PyObject **spec) {
    RL_OWNED PyObject *context = NULL, *specs = NULL;
    RL_OWNED PyObject *children = children_get(facts, node, spec ? &context : NULL);
    if (!children || flatten_children(w, children, spec ? &specs : NULL) < 0) return -1;
    return !spec || (*spec = rl_treespec_new(facts->type, context, specs)) ? 0 : -1;
}

/* adds the leaves of a node to those of the walk; its spec, unless `spec` is NULL */
static int flatten(const walk *w, PyObject *node, PyObject **spec) {
    FACTS facts = {NULL, NULL, 0};
    const int leaf = find_leaf(w->is_leaf, node, &facts);
    if (leaf < 0) return -1;
    if (leaf) {
        if (spec) *spec = Py_NewRef(rl_pytree.leaf);
        return PyList_Append(w->leaves, node);
    }
    if (Py_EnterRecursiveCall(" while flattening a pytree")) return -1;
    const int rc = flatten_node(w, &facts, node, spec);
    Py_LeaveRecursiveCall();
    return rc;
}

/* a list of the leaves of a tree, and its spec */
static PyObject *leaves_get(PyObject *tree, PyObject *is_leaf, PyObject **spec) {
    RL_OWNED PyObject *leaves = refuse_unset() < 0 ? NULL : PyList_New(0);
    const walk w = {is_leaf == Py_None ? NULL : is_leaf, leaves};
    return leaves && flatten(&w, tree, spec) == 0 ? rl_move(&leaves) : NULL;
}

/* ---- building ---- */
enum { FEW = 12 };
typedef struct {
    Py_ssize_t n; /* as many as there are */
    PyObject **item, *few[FEW];
} built;
static void built_drop(built *b) {
    for (Py_ssize_t i = 0; i < b->n; i++) Py_DECREF(b->item[i]);
    if (b->item != b->few) PyMem_Free(b->item);
}
#define BUILT __attribute__((cleanup(built_drop))) built

static PyObject *as_list(const built *b) {
    PyObject *list = PyList_New(b->n);
    for (Py_ssize_t i = 0; list && i < b->n; i++) PyList_SET_ITEM(list, i, Py_NewRef(b->item[i]));
    return list;
}
static PyObject *as_tuple(const built *b) {
    PyObject *tuple = PyTuple_New(b->n);
    for (Py_ssize_t i = 0; tuple && i < b->n; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(b->item[i]));
    return tuple;
}

/* into a mapping that is new: a hash or an equality of a key may do anything to the keys */
static PyObject *as_mapping(const built *b, PyObject *mapping, PyObject *context) {
    RL_OWNED PyObject *filled = mapping;
    RL_OWNED PyObject *keys =
        filled ? PySequence_Fast(context, "the context of a dict is no list of keys") : NULL;
    for (Py_ssize_t i = 0; keys && i < b->n; i++) {
        if (i >= PySequence_Fast_GET_SIZE(keys))
            return PyErr_Format(PyExc_ValueError, "zip() argument 2 is longer than argument 1");
        RL_OWNED PyObject *key = Py_NewRef(PySequence_Fast_GET_ITEM(keys, i));
        if (PyObject_SetItem(filled, key, b->item[i]) < 0) return NULL;
    }
    if (keys && b->n < PySequence_Fast_GET_SIZE(keys))
        return PyErr_Format(PyExc_ValueError, "zip() argument 2 is shorter than argument 1");
    return keys ? rl_move(&filled) : NULL;
}

static PyObject *as_default_dict(const built *b, PyObject *context) {
    RL_OWNED PyObject *factory = NULL, *keys = NULL;
    if (unpack(context, &factory, &keys) < 0) return NULL;
    RL_OWNED PyObject *dict = as_mapping(b, PyDict_New(), keys);
    if (!dict) return NULL;
    return PyObject_CallFunctionObjArgs(rl_pytree.type[RL_NODE_DEFAULTDICT], factory, dict, NULL);
}

static PyObject *as_deque(const built *b, PyObject *maxlen) {
    RL_OWNED PyObject *list = as_list(b);
    if (!list) return NULL;
    return PyObject_CallFunctionObjArgs(rl_pytree.type[RL_NODE_DEQUE], list, maxlen, NULL);
}

static PyObject *as_custom(const built *b, const node_facts *facts, PyObject *context) {
    RL_OWNED PyObject *function = function_get(facts, 2, "unflatten_fn");
    RL_OWNED PyObject *list = function ? as_list(b) : NULL;
    return list ? PyObject_CallFunctionObjArgs(function, list, context, NULL) : NULL;
}

static PyObject *node_build(const built *b, const node_facts *facts, PyObject *context) {
    switch (facts->kind) {
    case RL_NODE_TUPLE: return as_tuple(b);
    case RL_NODE_LIST: return as_list(b);
    case RL_NODE_DICT: return as_mapping(b, PyDict_New(), context);
    case RL_NODE_ODICT: return as_mapping(b, PyObject_CallNoArgs(rl_pytree.type[RL_NODE_ODICT]), context);
    case RL_NODE_DEFAULTDICT: return as_default_dict(b, context);
    case RL_NODE_DEQUE: return as_deque(b, context);
    case RL_NODE_NAMEDTUPLE: return PyObject_Vectorcall(context, b->item, (size_t)b->n, NULL);
    default: return as_custom(b, facts, context);
    }
}

/* leaves: a list or tuple; *at: how many of them are used up */
static PyObject *unflatten(rl_treespec *spec, PyObject *leaves, Py_ssize_t *at) {
    if (rl_treespec_is_leaf(spec) && spec->type == Py_None) {
        if (*at < PySequence_Fast_GET_SIZE(leaves))
            return Py_NewRef(PySequence_Fast_GET_ITEM(leaves, (*at)++));
        return PyErr_Format(PyExc_ValueError, "the list of leaves became shorter");
    }
    if (!rl_treespec_check((PyObject *)spec)) return NULL;
    RL_OWNED PyObject *children = Py_NewRef(spec->children), *context = Py_NewRef(spec->context);
    const Py_ssize_t n = PyTuple_GET_SIZE(children);
    FACTS facts = {NULL, NULL, 0};
    BUILT b = {.n = 0, .item = b.few};
    if (facts_need(spec->type, &facts) < 0) return NULL;
    if (n > FEW && !(b.item = PyMem_New(PyObject *, n))) {
        b.item = b.few;
        return PyErr_NoMemory();
    }
    if (Py_EnterRecursiveCall(" while building a pytree")) return NULL;
    for (; b.n < n; b.n++)
        if (!(b.item[b.n] = unflatten(S(PyTuple_GET_ITEM(children, b.n)), leaves, at))) break;
    Py_LeaveRecursiveCall();
    return b.n == n ? node_build(&b, &facts, context) : NULL;
}

/* leaves: any iterable */
static PyObject *unflatten_all(PyObject *spec, PyObject *leaves) {
    /* nobody else has the copy of a list */
    RL_OWNED PyObject *own = PyTuple_CheckExact(leaves) ? Py_NewRef(leaves) : PySequence_List(leaves);
    if (!own || refuse_unset() < 0 || !rl_treespec_check(spec)) return NULL;
    if (PySequence_Fast_GET_SIZE(own) != S(spec)->num_leaves)
        return PyErr_Format(
            PyExc_ValueError,
            "treespec.unflatten(leaves): `leaves` has length %zd but the spec refers to a pytree "
            "that holds %zd items (%S).",
            PySequence_Fast_GET_SIZE(own), S(spec)->num_leaves, spec);
    Py_ssize_t at = 0;
    return unflatten(S(spec), own, &at);
}

/* ---- other trees along a spec: what stands where it has leaves ---- */
static bool is_standard_dict(int type) {
    return type == RL_NODE_DICT || type == RL_NODE_ODICT || type == RL_NODE_DEFAULTDICT;
}

static int refuse_type(const char *what, PyObject *wanted, PyObject *got) {
    PyErr_Format(PyExc_ValueError, "%s; expected %R, but got %R.", what, wanted, got);
    return -1;
}
static int refuse_arity(Py_ssize_t wanted, Py_ssize_t got) {
    PyErr_Format(PyExc_ValueError, "Node arity mismatch; expected %zd, but got %zd.", wanted, got);
    return -1;
}

static int refuse_keys(PyObject *wanted, PyObject *got) {
    RL_OWNED PyObject *missing = PyNumber_Subtract(wanted, got);
    RL_OWNED PyObject *extra = missing ? PyNumber_Subtract(got, wanted) : NULL;
    RL_OWNED PyObject *first = !extra ? NULL
                               : PySet_GET_SIZE(missing)
                                   ? PyUnicode_FromFormat("; missing key(s): %S", missing)
                                   : PyUnicode_FromString("");
    RL_OWNED PyObject *second = !first                  ? NULL
                                : PySet_GET_SIZE(extra) ? PyUnicode_FromFormat("; extra key(s): %S", extra)
                                                        : PyUnicode_FromString("");
    if (second) PyErr_Format(PyExc_ValueError, "Node keys mismatch%U%U.", first, second);
    return -1;
}

/* the values of a dict in the order of a spec's keys */
static PyObject *values_along(PyObject *keys, PyObject *node) {
    RL_OWNED PyObject *wanted = PySet_New(keys);
    RL_OWNED PyObject *got = wanted ? PySet_New(node) : NULL;
    const int same = got ? PyObject_RichCompareBool(wanted, got, Py_EQ) : -1;
    if (same <= 0) {
        if (same == 0) refuse_keys(wanted, got);
        return NULL;
    }
    RL_OWNED PyObject *order = PySequence_Tuple(keys);
    RL_OWNED PyObject *values = order ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; values && i < PyTuple_GET_SIZE(order); i++) {
        RL_OWNED PyObject *value = PyObject_GetItem(node, PyTuple_GET_ITEM(order, i));
        if (!value || PyList_Append(values, value) < 0) return NULL;
    }
    return rl_move(&values);
}

static PyObject *custom_along(const rl_treespec *spec, PyObject *type, PyObject *node) {
    FACTS facts = {NULL, NULL, 0};
    RL_OWNED PyObject *context = NULL;
    if (type != spec->type) return refuse_type("Type mismatch", spec->type, type), NULL;
    RL_OWNED PyObject *children = facts_need(type, &facts) < 0 ? NULL : children_get(&facts, node, &context);
    if (!children) return NULL;
    const Py_ssize_t wanted = PyTuple_GET_SIZE(spec->children), n = PySequence_Fast_GET_SIZE(children);
    if (n != wanted) return refuse_arity(wanted, n), NULL;
    const int differ = PyObject_RichCompareBool(context, spec->context, Py_NE);
    if (differ > 0)
        PyErr_Format(PyExc_ValueError, "Node context mismatch for custom node type %R.", spec->type);
    return differ ? NULL : rl_move(&children);
}

static PyObject *dict_along(const rl_treespec *spec, int kind, PyObject *node) {
    RL_OWNED PyObject *factory = NULL, *keys = NULL;
    if (kind != RL_NODE_DEFAULTDICT) return values_along(spec->context, node);
    return unpack(spec->context, &factory, &keys) < 0 ? NULL : values_along(keys, node);
}

static PyObject *builtin_along(const rl_treespec *spec, int kind, PyObject *type, PyObject *node) {
    const bool dicts = is_standard_dict(kind) && is_standard_dict(rl_pytree_builtin(type));
    const Py_ssize_t wanted = PyTuple_GET_SIZE(spec->children);
    if (!dicts && type != spec->type) return refuse_type("Node type mismatch", spec->type, type), NULL;
    const Py_ssize_t n = PyObject_Size(node);
    if (n != wanted) return n < 0 ? NULL : (refuse_arity(wanted, n), NULL);
    if (dicts) return dict_along(spec, kind, node);
    FACTS facts = {NULL, NULL, 0};
    RL_OWNED PyObject *context = NULL;
    RL_OWNED PyObject *children = facts_need(type, &facts) < 0 ? NULL : children_get(&facts, node, &context);
    if (!children || kind == RL_NODE_DEQUE) return rl_move(&children);
    const int differ = PyObject_RichCompareBool(context, spec->context, Py_NE);
    if (differ > 0)
        PyErr_Format(PyExc_ValueError, "Node context mismatch for node type %R; expected %R, but got %R.",
                     spec->type, spec->context, context);
    return differ ? NULL : rl_move(&children);
}

static int along(PyObject *spec, PyObject *node, PyObject *subtrees);

static int along_children(rl_treespec *spec, PyObject *node, PyObject *subtrees) {
    RL_OWNED PyObject *type = node_type_get(node);
    if (!type) return -1;
    const int kind = rl_pytree_builtin(spec->type);
    RL_OWNED PyObject *children =
        kind == RL_NODE_CUSTOM ? custom_along(spec, type, node) : builtin_along(spec, kind, type, node);
    if (!children) return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(spec->children); i++) {
        if (i >= PySequence_Fast_GET_SIZE(children))
            return refuse_arity(PyTuple_GET_SIZE(spec->children), PySequence_Fast_GET_SIZE(children));
        RL_OWNED PyObject *child = Py_NewRef(PySequence_Fast_GET_ITEM(children, i));
        if (along(PyTuple_GET_ITEM(spec->children, i), child, subtrees) < 0) return -1;
    }
    return 0;
}

static int along(PyObject *spec, PyObject *node, PyObject *subtrees) {
    if (rl_treespec_is_leaf(S(spec))) return PyList_Append(subtrees, node);
    if (!rl_treespec_check(spec) || Py_EnterRecursiveCall(" while flattening a pytree")) return -1;
    const int rc = along_children(S(spec), node, subtrees);
    Py_LeaveRecursiveCall();
    return rc;
}

static PyObject *flatten_up_to(PyObject *spec, PyObject *tree) {
    RL_OWNED PyObject *subtrees = refuse_unset() < 0 || !rl_treespec_check(spec) ? NULL : PyList_New(0);
    return subtrees && along(spec, tree, subtrees) == 0 ? rl_move(&subtrees) : NULL;
}

/* ---- mapping ---- */

/* function(leaf, *others) at place i; NULL and no exception: one of the lists is at its end */
static PyObject *call_at(PyObject *function, PyObject *leaves, PyObject *others, Py_ssize_t i) {
    const Py_ssize_t n = others ? PyList_GET_SIZE(others) : 0;
    RL_OWNED PyObject *leaf = Py_NewRef(PyList_GET_ITEM(leaves, i));
    if (n == 0) return PyObject_CallOneArg(function, leaf);
    BUILT b = {.n = 0, .item = b.few};
    if (n + 1 > FEW && !(b.item = PyMem_New(PyObject *, n + 1))) {
        b.item = b.few;
        return PyErr_NoMemory();
    }
    b.item[b.n++] = rl_move(&leaf);
    for (Py_ssize_t k = 0; k < n && k < PyList_GET_SIZE(others); k++) {
        PyObject *list = PyList_GET_ITEM(others, k);
        if (i >= PyList_GET_SIZE(list)) return NULL;
        b.item[b.n++] = Py_NewRef(PyList_GET_ITEM(list, i));
    }
    return PyObject_Vectorcall(function, b.item, (size_t)b.n, NULL);
}

/* the results, as a list; None where nobody wants them */
static PyObject *map_leaves(PyObject *function, PyObject *leaves, PyObject *others, bool keep) {
    RL_OWNED PyObject *results = keep ? PyList_New(0) : Py_NewRef(Py_None);
    for (Py_ssize_t i = 0; results && i < PyList_GET_SIZE(leaves); i++) {
        RL_OWNED PyObject *one = call_at(function, leaves, others, i);
        if (!one && !PyErr_Occurred()) break;
        if (!one || (keep && PyList_Append(results, one) < 0)) return NULL;
    }
    return rl_move(&results);
}

/* for each further tree what stands at the leaves of the first: a list of lists */
static PyObject *others_get(PyObject *spec, PyObject *rests) {
    RL_OWNED PyObject *others = PyList_New(0);
    for (Py_ssize_t i = 0; others && i < PyTuple_GET_SIZE(rests); i++) {
        RL_OWNED PyObject *one = flatten_up_to(spec, PyTuple_GET_ITEM(rests, i));
        if (!one || PyList_Append(others, one) < 0) return NULL;
    }
    return rl_move(&others);
}

static int need_arguments(const char *name, Py_ssize_t wanted, Py_ssize_t got) {
    if (wanted == got) return 0;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments (%zd given)", name, wanted, got);
    return -1;
}

/* (function, tree, rests, is_leaf, in_place) */
static PyObject *tree_map(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    (void)m;
    if (need_arguments("_pytree_map", 5, nargs) < 0) return NULL;
    const bool keep = args[4] != Py_True;
    if (!PyTuple_Check(args[2])) return PyErr_Format(PyExc_TypeError, "_pytree_map: rests must be a tuple");
    const bool alone = PyTuple_GET_SIZE(args[2]) == 0;
    RL_OWNED PyObject *spec = NULL;
    RL_OWNED PyObject *leaves = leaves_get(args[1], args[3], keep || !alone ? &spec : NULL);
    RL_OWNED PyObject *others = leaves && !alone ? others_get(spec, args[2]) : NULL;
    if (!leaves || (!alone && !others)) return NULL;
    RL_OWNED PyObject *results = map_leaves(args[0], leaves, others, keep);
    if (!results) return NULL;
    return keep ? unflatten_all(spec, results) : Py_NewRef(args[1]);
}

/* is it one that a call of tree_map_only selects? */
static int selected(PyObject *selector, bool types, PyObject *leaf) {
    if (types) return PyObject_IsInstance(leaf, selector);
    RL_OWNED PyObject *said = PyObject_CallOneArg(selector, leaf);
    return said ? PyObject_IsTrue(said) : -1;
}

/* (selector, selector is a type or several, function, tree, is_leaf, in_place) */
static PyObject *tree_map_only(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    (void)m;
    if (need_arguments("_pytree_map_only", 6, nargs) < 0) return NULL;
    const bool keep = args[5] != Py_True, types = args[1] == Py_True;
    RL_OWNED PyObject *spec = NULL;
    RL_OWNED PyObject *leaves = leaves_get(args[3], args[4], keep ? &spec : NULL);
    for (Py_ssize_t i = 0; leaves && i < PyList_GET_SIZE(leaves); i++) {
        RL_OWNED PyObject *leaf = Py_NewRef(PyList_GET_ITEM(leaves, i));
        const int wanted = selected(args[0], types, leaf);
        RL_OWNED PyObject *one = wanted == 1 ? PyObject_CallOneArg(args[2], leaf) : NULL;
        if (wanted < 0 || (wanted && !one)) return NULL;
        if (one && keep && PyList_SetItem(leaves, i, rl_move(&one)) < 0) return NULL;
    }
    if (!leaves) return NULL;
    return keep ? unflatten_all(spec, leaves) : Py_NewRef(args[3]);
}

/* ---- what Python calls ---- */
static PyObject *tree_flatten(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    (void)m;
    if (need_arguments("_pytree_flatten", 2, nargs) < 0) return NULL;
    RL_OWNED PyObject *spec = NULL;
    RL_OWNED PyObject *leaves = leaves_get(args[0], args[1], &spec);
    return leaves ? PyTuple_Pack(2, leaves, spec) : NULL;
}

static PyObject *tree_leaves(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    (void)m;
    return need_arguments("_pytree_leaves", 2, nargs) < 0 ? NULL : leaves_get(args[0], args[1], NULL);
}

/* (node, is_leaf): its children, or None of a leaf */
static PyObject *node_children(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
    (void)m;
    FACTS facts = {NULL, NULL, 0};
    if (need_arguments("_pytree_children", 2, nargs) < 0 || refuse_unset() < 0) return NULL;
    const int leaf = find_leaf(args[1] == Py_None ? NULL : args[1], args[0], &facts);
    if (leaf) return leaf < 0 ? NULL : Py_NewRef(Py_None);
    return children_get(&facts, args[0], NULL);
}

static PyObject *node_type(PyObject *m, PyObject *node) {
    (void)m;
    return refuse_unset() < 0 ? NULL : node_type_get(node);
}

static PyObject *namedtuple_class(PyObject *m, PyObject *type) {
    (void)m;
    const int is = is_namedtuple_class(type);
    return is < 0 ? NULL : PyBool_FromLong(is);
}

/* What an earlier import told is never dropped: a walk may be using it. */
static PyObject *setup(PyObject *m, PyObject *args) {
    PyObject *registry, *spec_type, *constant, *types;
    (void)m;
    if (!PyArg_ParseTuple(args, "O!O!O!O!:_pytree_setup", &PyDict_Type, &registry, &PyType_Type, &spec_type,
                          &PyType_Type, &constant, &PyTuple_Type, &types))
        return NULL;
    if (PyTuple_GET_SIZE(types) != RL_NODE_TYPES ||
        !PyType_IsSubtype((PyTypeObject *)spec_type, rl_treespec_type) ||
        ((PyTypeObject *)spec_type)->tp_basicsize != (Py_ssize_t)sizeof(rl_treespec))
        return PyErr_Format(PyExc_TypeError, "_pytree_setup: not what utils/_pytree.py says");
    rl_pytree.registry = Py_NewRef(registry);
    rl_pytree.spec_type = (PyTypeObject *)Py_NewRef(spec_type);
    rl_pytree.constant = (PyTypeObject *)Py_NewRef(constant);
    for (int i = 0; i < RL_NODE_TYPES; i++) {
        PyObject *type = PyTuple_GET_ITEM(types, i), *found = PyDict_GetItemWithError(registry, type);
        rl_pytree.type[i] = Py_NewRef(type);
        rl_pytree.definition[i] = Py_XNewRef(found);
    }
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *set_leaf(PyObject *m, PyObject *leaf) {
    (void)m;
    if (!rl_treespec_check(leaf)) return NULL;
    rl_pytree.leaf = Py_NewRef(leaf);
    Py_RETURN_NONE;
}

/* ---- methods of a spec ---- */
/* the only argument, by position or by name */
static PyObject *only_argument(const char *method, const char *name, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames) {
    const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (nargs + named == 1 &&
        (!named || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), name) == 0))
        return args[0];
    if (nargs + named == 0)
        return PyErr_Format(PyExc_TypeError, "TreeSpec.%s() missing 1 required positional argument: '%s'",
                            method, name);
    return PyErr_Format(PyExc_TypeError, "TreeSpec.%s() takes the argument '%s' alone", method, name);
}

static PyObject *spec_unflatten(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *leaves = only_argument("unflatten", "leaves", args, nargs, kwnames);
    return leaves ? unflatten_all(self, leaves) : NULL;
}

static PyObject *spec_flatten_up_to(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames) {
    PyObject *tree = only_argument("flatten_up_to", "tree", args, nargs, kwnames);
    return tree ? flatten_up_to(self, tree) : NULL;
}

#define WITH_NAMES(f) (PyCFunction)(void (*)(void))(f), METH_FASTCALL | METH_KEYWORDS
#define PLAIN(f)      (PyCFunction)(void (*)(void))(f), METH_FASTCALL
static PyMethodDef methods[] = {{"unflatten", WITH_NAMES(spec_unflatten),
                                 "unflatten($self, /, leaves)\n--\n\nReconstruct a pytree from the leaves."},
                                {"flatten_up_to", WITH_NAMES(spec_flatten_up_to),
                                 "flatten_up_to($self, /, tree)\n--\n\nGive what stands in tree where this "
                                 "treespec has leaves, as a list."},
                                {NULL, NULL, 0, NULL}};
static PyMethodDef functions[] = {
    {"_pytree_setup", setup, METH_VARARGS,
     "_pytree_setup(registry, spec_type, constant_type, types, /)\n--\n\nTells the registry of nodes, the "
     "class "
     "TreeSpec, that of contexts of constants, and under which types the containers of Python are "
     "registered."},
    {"_pytree_set_leaf", set_leaf, METH_O, "_pytree_set_leaf(spec, /)\n--\n\nTells the spec of all leaves."},
    {"_pytree_flatten", PLAIN(tree_flatten),
     "_pytree_flatten(tree, is_leaf, /)\n--\n\nThe leaves of a tree, and its spec."},
    {"_pytree_leaves", PLAIN(tree_leaves), "_pytree_leaves(tree, is_leaf, /)\n--\n\nThe leaves of a tree."},
    {"_pytree_children", PLAIN(node_children),
     "_pytree_children(node, is_leaf, /)\n--\n\nThe children of a node; None of a leaf."},
    {"_pytree_map", PLAIN(tree_map),
     "_pytree_map(func, tree, rests, is_leaf, in_place, /)\n--\n\nMaps over trees; in place: answers the "
     "tree."},
    {"_pytree_map_only", PLAIN(tree_map_only),
     "_pytree_map_only(selector, selector_is_type, func, tree, is_leaf, in_place, /)\n--\n\nMaps over some "
     "leaves."},
    {"_pytree_node_type", node_type, METH_O,
     "_pytree_node_type(node, /)\n--\n\nThe type under which a node is registered."},
    {"_is_namedtuple_class", namedtuple_class, METH_O,
     "_is_namedtuple_class(cls, /)\n--\n\nWhether it is a class of named tuples."},
    {NULL, NULL, 0, NULL}};

int rl_pytree_init(PyObject *m) {
    if (rl_treespec_init(m) < 0) return -1;
    for (PyMethodDef *d = methods; d->ml_name; d++) {
        RL_OWNED PyObject *method = PyDescr_NewMethod(rl_treespec_type, d);
        if (!method || PyObject_SetAttrString((PyObject *)rl_treespec_type, d->ml_name, method) < 0)
            return -1;
    }
    return PyModule_AddFunctions(m, functions);
}
