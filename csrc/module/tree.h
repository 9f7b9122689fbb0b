/* The walk over a tree of modules, each before its children: a stack of frames, one per open module. An
 * overridden named_modules() is walked in place of our own. */
#ifndef RL_MODULE_TREE_H
#define RL_MODULE_TREE_H
#include "map.h"
#include "seen.h"

typedef struct {
    PyObject *prefix, *dedup; /* owned: the name of the root; remove_duplicate as it was given */
    rl_seen modules;          /* what it met */
    struct rl_tree_frame *stack;
    Py_ssize_t depth, capacity;
    uint8_t named, unique, recurse; /* names are wanted; dedup as a truth value; go below the root */
} rl_tree_walk;
int rl_tree_push(rl_tree_walk *w, PyObject *module);
int rl_tree_push_foreign_steal(rl_tree_walk *w, PyObject *pairs); /* -1 also when it is NULL */
/* The next module: 1, 0 at the end, -1. Both owned; *prefix stays NULL for what rl_tree_prefix can name. */
int rl_tree_next(rl_tree_walk *w, PyObject **prefix, PyObject **module);
PyObject *rl_tree_prefix(rl_tree_walk *w); /* the name of the module on top; borrowed */
void rl_tree_clear(rl_tree_walk *w);
void rl_tree_end(rl_tree_walk *w);
int rl_tree_traverse(const rl_tree_walk *w, visitproc visit, void *arg);
#endif
