/* What the files of the component share: a spec, and what the Python module told.
 *
 *   tree                     {"a": [1, 2], "b": 3}
 *   leaves                   [1, 2, 3]
 *   spec     dict, ["a", "b"] ──┬── list, None ──┬── leaf
 *                               │                └── leaf
 *                               └── leaf
 *
 * The registry is the dict that Python shows (SUPPORTED_NODES): a type, and how nodes of that type are taken
 * apart and built. Python's own containers are registered there, too. While their definitions are those that
 * were told at first, C does what the functions in them do. */
#ifndef RL_PYTREE_INTERNAL_H
#define RL_PYTREE_INTERNAL_H
#include "pytree.h"

typedef struct {
    PyObject_HEAD PyObject *type; /* None: a leaf */
    PyObject *context;            /* what building the node takes beside its children */
    PyObject *children;           /* a tuple of specs; NULL until rl_treespec_fill */
    Py_ssize_t num_nodes, num_leaves;
} rl_treespec;

enum rl_node_type {
    RL_NODE_TUPLE,
    RL_NODE_LIST,
    RL_NODE_DICT,
    RL_NODE_NAMEDTUPLE,
    RL_NODE_ODICT,
    RL_NODE_DEFAULTDICT,
    RL_NODE_DEQUE,
    RL_NODE_TYPES,
    RL_NODE_CUSTOM = RL_NODE_TYPES
};

extern struct rl_pytree_state {
    PyObject *registry;                  /* {type: NodeDef} */
    PyTypeObject *spec_type;             /* the subclass of the type here that Python shows */
    PyTypeObject *constant;              /* the class of the contexts of constants */
    PyObject *leaf;                      /* the spec of all leaves */
    PyObject *type[RL_NODE_TYPES];       /* under what the containers of Python are registered */
    PyObject *definition[RL_NODE_TYPES]; /* and their definitions, as long as these are ours */
} rl_pytree;

int rl_pytree_builtin(PyObject *type); /* its rl_node_type; CUSTOM of all others */

extern PyTypeObject *rl_treespec_type;
int rl_treespec_init(PyObject *m);
/* a spec of a node; its three parts are borrowed, children is a tuple of specs */
PyObject *rl_treespec_new(PyObject *type, PyObject *context, PyObject *children);
int rl_treespec_check(PyObject *spec); /* 1 where it is one that is filled; 0 raised */
static inline bool rl_treespec_is_leaf(const rl_treespec *spec) {
    return spec->num_nodes == 1 && spec->num_leaves == 1;
}
#endif
