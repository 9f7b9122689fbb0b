/* The walk over a tree of modules. */
#include "tree.h"
#include "helpers.h"
#include "paths.h"
#include "state.h"

typedef struct rl_tree_frame {
    PyObject *module, *prefix;
    PyObject *foreign; /* instead of `items`: somebody's own named_modules() */
    rl_map_iter items;
    int entered;
} tree_frame;

static void frame_clear(tree_frame *f) {
    Py_CLEAR(f->module);
    Py_CLEAR(f->prefix);
    Py_CLEAR(f->foreign);
    rl_map_iter_end(&f->items);
}

static tree_frame *tree_push(rl_tree_walk *w) {
    if (w->depth == w->capacity) {
        Py_ssize_t capacity = w->capacity ? 2 * w->capacity : 8;
        tree_frame *stack = PyMem_Resize(w->stack, tree_frame, capacity);
        if (stack == NULL) return PyErr_NoMemory(), NULL;
        w->stack = stack;
        w->capacity = capacity;
    }
    tree_frame *f = &w->stack[w->depth++];
    *f = (tree_frame){0};
    return f;
}

/* With names the depth is limited, as a chain of n modules holds names of n * n / 2 characters. */
int rl_tree_push(rl_tree_walk *w, PyObject *module) {
    if (w->named && w->depth >= Py_GetRecursionLimit()) {
        PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded while naming modules");
        return -1;
    }
    tree_frame *f = tree_push(w);
    if (f == NULL) return -1;
    f->module = Py_NewRef(module);
    if (w->depth == 1) f->prefix = Py_NewRef(w->prefix);
    return 0;
}

int rl_tree_push_foreign_steal(rl_tree_walk *w, PyObject *iterable) {
    RL_OWNED PyObject *owned = iterable;
    RL_OWNED PyObject *iter = owned ? PyObject_GetIter(owned) : NULL;
    tree_frame *f = iter ? tree_push(w) : NULL;
    if (f == NULL) return -1;
    f->foreign = rl_give(&iter);
    return 0;
}

/* The name of the module on top, put together from the keys that lead to it when somebody asks; borrowed. */
PyObject *rl_tree_prefix(rl_tree_walk *w) {
    Py_ssize_t known = w->depth - 1;
    while (w->stack[known].prefix == NULL) known--;
    for (; known < w->depth - 1; known++) {
        tree_frame *f = &w->stack[known];
        if ((f[1].prefix = rl_path_join(f->prefix, f->items.key)) == NULL) return NULL;
    }
    return w->stack[known].prefix;
}

/* `yield from child.named_modules(memo, prefix, remove_duplicate)` for the child at hand */
static int tree_push_child(rl_tree_walk *w) {
    rl_map_iter *it = &w->stack[w->depth - 1].items;
    RL_OWNED PyObject *child = Py_NewRef(it->value);
    if (rl_module_ours(child, RL_M_named_modules)) return rl_tree_push(w, child);
    PyObject *prefix = rl_tree_prefix(w);
    RL_OWNED PyObject *path = prefix ? rl_path_join(prefix, it->key) : NULL;
    PyObject *args[] = {path ? rl_seen_set_peek(&w->modules) : NULL, path, w->dedup};
    if (args[0] == NULL) return -1;
    return rl_tree_push_foreign_steal(w, rl_method_call(child, rl_name.named_modules, args, 3, NULL));
}

/* 1 when the module was not in the memo */
static int tree_is_new(rl_tree_walk *w, PyObject *module) {
    if (w->unique) return rl_seen_add(&w->modules, module);
    int known = rl_seen_has(&w->modules, module);
    return known < 0 ? -1 : !known;
}

static int tree_foreign_next(tree_frame *f, PyObject **prefix, PyObject **module) {
    RL_OWNED PyObject *pair = PyIter_Next(f->foreign);
    if (pair == NULL) return PyErr_Occurred() ? -1 : 0;
    RL_OWNED PyObject *two = PySequence_Fast(pair, "named_modules() must give pairs of a name and a module");
    if (two == NULL) return -1;
    if (PySequence_Fast_GET_SIZE(two) != 2) {
        PyErr_SetString(PyExc_ValueError, "named_modules() must give pairs of a name and a module");
        return -1;
    }
    *prefix = Py_NewRef(PySequence_Fast_GET_ITEM(two, 0));
    *module = Py_NewRef(PySequence_Fast_GET_ITEM(two, 1));
    return 1;
}

/* Opens the frame (1: yield it), or goes on to its next child (0: look at the top again). */
static int tree_step(rl_tree_walk *w, PyObject **module) {
    tree_frame *f = &w->stack[w->depth - 1];
    if (!f->entered) {
        int fresh = !w->recurse ? 1 : tree_is_new(w, f->module);
        if (fresh < 0) return -1;
        if (fresh) {
            f->entered = 1;
            *module = Py_NewRef(f->module);
            return 1;
        }
    } else if (w->recurse) {
        if (f->entered == 1 && rl_map_iter_of(&f->items, f->module, RL_AT_modules, rl_name._modules) < 0)
            return -1;
        f->entered = 2;
        int more;
        while ((more = rl_map_iter_next(&f->items)) > 0) {
            if (Py_IsNone(f->items.value)) continue;
            return tree_push_child(w);
        }
        if (more < 0) return -1;
    }
    frame_clear(f);
    w->depth--;
    return 0;
}

int rl_tree_next(rl_tree_walk *w, PyObject **prefix, PyObject **module) {
    while (w->depth) {
        tree_frame *f = &w->stack[w->depth - 1];
        int got;
        if (f->foreign) {
            got = tree_foreign_next(f, prefix, module);
            if (got == 0) {
                frame_clear(&w->stack[w->depth - 1]);
                w->depth--;
            }
        } else
            got = tree_step(w, module);
        if (got) return got;
    }
    return 0;
}

void rl_tree_clear(rl_tree_walk *w) {
    while (w->depth) frame_clear(&w->stack[--w->depth]);
    rl_seen_end(&w->modules);
    Py_CLEAR(w->dedup);
}

void rl_tree_end(rl_tree_walk *w) {
    rl_tree_clear(w);
    Py_CLEAR(w->prefix);
    PyMem_Free(w->stack);
}

int rl_tree_traverse(const rl_tree_walk *w, visitproc visit, void *arg) {
    int stop = rl_seen_traverse(&w->modules, visit, arg);
    if (stop) return stop;
    for (Py_ssize_t i = 0; i < w->depth; i++) {
        Py_VISIT(w->stack[i].module);
        Py_VISIT(w->stack[i].foreign);
        if ((stop = rl_map_iter_traverse(&w->stack[i].items, visit, arg))) return stop;
    }
    return 0;
}
