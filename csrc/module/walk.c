/* Walks over a tree of modules: names on the way, what was met, children, iterators (named_modules,
 * parameters ...), and walks that change it (train, eval, apply, zero_grad). */
#include "internal.h"

/* ---- dotted names, and a module's place in a state dict ---- */
/* prefix + dot + name, quick for ASCII as names of parameters nearly always are */
static PyObject *path_concat(PyObject *prefix, const char *dot, PyObject *name) {
    if (!PyUnicode_Check(prefix) || !PyUnicode_Check(name)) {
        if (PyUnicode_Check(prefix) && *dot == 0) return PyUnicode_Concat(prefix, name);
        return PyErr_Format(PyExc_TypeError, "can only concatenate str (not \"%.200s\") to str",
                            Py_TYPE(PyUnicode_Check(prefix) ? name : prefix)->tp_name);
    }
    if (!PyUnicode_IS_COMPACT_ASCII(prefix) || !PyUnicode_IS_COMPACT_ASCII(name))
        return PyUnicode_FromFormat("%U%s%U", prefix, dot, name);
    Py_ssize_t np = PyUnicode_GET_LENGTH(prefix), nn = PyUnicode_GET_LENGTH(name);
    Py_ssize_t nd = *dot != 0;
    PyObject *path = PyUnicode_New(np + nd + nn, 127);
    if (path == NULL) return NULL;
    char *to = (char *)PyUnicode_1BYTE_DATA(path);
    memcpy(to, PyUnicode_1BYTE_DATA(prefix), (size_t)np);
    if (nd) to[np] = *dot;
    memcpy(to + np + nd, PyUnicode_1BYTE_DATA(name), (size_t)nn);
    return path;
}

static int path_is_empty(PyObject *prefix) {
    return PyUnicode_Check(prefix) && PyUnicode_GET_LENGTH(prefix) == 0;
}

/* "prefix.name", "name" for an empty prefix */
static PyObject *path_join(PyObject *prefix, PyObject *name) {
    if (path_is_empty(prefix) && PyUnicode_CheckExact(name)) return Py_NewRef(name);
    return path_concat(prefix, path_is_empty(prefix) ? "" : ".", name);
}

PyObject *rl_path_append(PyObject *prefix, PyObject *name) {
    if (path_is_empty(prefix) && PyUnicode_CheckExact(name)) return Py_NewRef(name);
    return path_concat(prefix, "", name);
}

PyObject *rl_path_strip(PyObject *prefix) {
    if (PyUnicode_Check(prefix)) {
        Py_ssize_t n = PyUnicode_GET_LENGTH(prefix);
        return PyUnicode_Substring(prefix, 0, n > 0 ? n - 1 : 0);
    }
    return PySequence_GetSlice(prefix, 0, -1);
}

/* ---- places ---- */
PyObject *rl_state_place_path(rl_state_place *place) {
    if (place->path == NULL) place->path = rl_path_strip(place->prefix);
    return place->path;
}

PyObject *rl_state_place_prefix(rl_state_place *place) {
    if (place->prefix == NULL) place->prefix = path_concat(place->path, ".", rl_name.empty);
    return place->prefix;
}

PyObject *rl_state_place_key(const rl_state_place *place, PyObject *name) {
    return place->prefix ? rl_path_append(place->prefix, name) : path_concat(place->path, ".", name);
}

int rl_state_place_enter(rl_state_place *below, const rl_state_place *place, PyObject *name) {
    *below = (rl_state_place){.path = rl_state_place_key(place, name)};
    return below->path ? 0 : -1;
}

/* ---- what a walk has met ----
 * In Python that is a set; as long as everything in it is hashed by identity a table of pointers answers the
 * same, and a set takes over when something else comes or somebody looks.
 *
 *   few[n] ──► slot[mask + 1], at most half full ──► set */
enum { RL_SEEN_FEW = 4 };
typedef struct {
    PyObject *set; /* the caller's, or made when it must be one */
    PyObject **slot, *few[RL_SEEN_FEW];
    uint32_t n, mask;
} rl_seen;

static int seen_by_identity(PyObject *o) {
    hashfunc hash = Py_TYPE(o)->tp_hash;
    return hash == PyBaseObject_Type.tp_hash || hash == rl_tensor_type->tp_hash;
}

static uint32_t seen_place(const rl_seen *seen, PyObject *o) {
    return (uint32_t)(((uintptr_t)o >> 4) * 0x9E3779B97F4A7C15u >> 32) & seen->mask;
}

/* Where o is, or the empty place where it would be. */
static PyObject **seen_find(const rl_seen *seen, PyObject *o) {
    uint32_t at = seen_place(seen, o);
    while (seen->slot[at] && seen->slot[at] != o) at = (at + 1) & seen->mask;
    return &seen->slot[at];
}

static PyObject *const *seen_all(const rl_seen *seen, size_t *n) {
    *n = seen->slot ? (size_t)seen->mask + 1 : seen->n;
    return seen->slot ? seen->slot : seen->few;
}

static void seen_forget(rl_seen *seen) {
    size_t n;
    PyObject *const *all = seen_all(seen, &n);
    PyObject **slot = seen->slot;
    seen->n = 0;
    seen->slot = NULL; /* what dies now may look at us */
    for (size_t i = 0; i < n; i++) Py_XDECREF(all[i]);
    PyMem_Free(slot);
}

static void seen_end(rl_seen *seen) {
    seen_forget(seen);
    Py_CLEAR(seen->set);
}

static int seen_traverse(const rl_seen *seen, visitproc visit, void *arg) {
    size_t n;
    PyObject *const *all = seen_all(seen, &n);
    for (size_t i = 0; i < n; i++) Py_VISIT(all[i]);
    Py_VISIT(seen->set);
    return 0;
}

static int seen_grow(rl_seen *seen) {
    rl_seen wide = {.n = seen->n, .mask = seen->slot ? 2 * seen->mask + 1 : 8 * RL_SEEN_FEW - 1};
    size_t n;
    PyObject *const *all = seen_all(seen, &n);
    wide.slot = PyMem_Calloc((size_t)wide.mask + 1, sizeof *wide.slot);
    if (wide.slot == NULL) return PyErr_NoMemory(), -1;
    for (size_t i = 0; i < n; i++)
        if (all[i]) *seen_find(&wide, all[i]) = all[i];
    PyMem_Free(seen->slot);
    seen->slot = wide.slot;
    seen->mask = wide.mask;
    return 0;
}

/* as a set from now on; borrowed */
static PyObject *seen_set_peek(rl_seen *seen) {
    if (seen->set) return seen->set;
    size_t n;
    PyObject *const *all = seen_all(seen, &n);
    RL_OWNED PyObject *set = PySet_New(NULL);
    for (size_t i = 0; set && i < n; i++)
        if (all[i] && PySet_Add(set, all[i]) < 0) return NULL;
    if (set == NULL) return NULL;
    seen_forget(seen);
    return seen->set = rl_move(&set);
}

static int seen_table_has(const rl_seen *seen, PyObject *o) {
    if (seen->slot) return *seen_find(seen, o) != NULL;
    for (uint32_t i = 0; i < seen->n; i++)
        if (seen->few[i] == o) return 1;
    return 0;
}

static int seen_has(rl_seen *seen, PyObject *o) {
    if (RL_LIKELY(seen->set == NULL && seen_by_identity(o))) return seen_table_has(seen, o);
    PyObject *set = seen_set_peek(seen);
    return set ? PySequence_Contains(set, o) : -1;
}

static int seen_set_add(PyObject *set, PyObject *o) {
    if (PySet_CheckExact(set)) return PySet_Add(set, o);
    RL_OWNED PyObject *done = PyObject_CallMethodOneArg(set, rl_name.add, o);
    return done ? 0 : -1;
}

/* 1 when it was not in there, 0 when it was, -1 */
static int seen_add(rl_seen *seen, PyObject *o) {
    int has = seen_has(seen, o);
    if (has) return has < 0 ? -1 : 0;
    if (seen->set) return seen_set_add(seen->set, o) < 0 ? -1 : 1;
    if (seen->slot == NULL && seen->n < RL_SEEN_FEW) {
        seen->few[seen->n++] = Py_NewRef(o);
        return 1;
    }
    if ((seen->slot == NULL || 2 * seen->n > seen->mask) && seen_grow(seen) < 0) return -1;
    *seen_find(seen, o) = Py_NewRef(o);
    seen->n++;
    return 1;
}

/* ---- `for child in m.children()`: over _modules where the methods are Module's own, over m.children()
 * elsewhere ---- */
typedef struct {
    rl_map_iter items;
    PyObject *foreign;
    PyObject *child; /* owned: the present one */
    rl_seen seen;
} rl_children;
static void children_end(rl_children *c);

#define RL_CHILDREN __attribute__((cleanup(children_end))) rl_children
enum { RL_CHILDREN_METHODS = 1 << RL_M_children | 1 << RL_M_named_children };
static inline int rl_children_none(const rl_children *c) {
    return c->items.map == NULL && c->items.iter == NULL && c->foreign == NULL;
}

static void children_end(rl_children *c) {
    if (c->child == NULL && rl_children_none(c)) return;
    rl_map_iter_end(&c->items);
    Py_CLEAR(c->foreign);
    seen_end(&c->seen);
    Py_CLEAR(c->child);
}

static int children_begin(rl_children *c, PyObject *m) {
    *c = (rl_children){0};
    if (rl_module_all_ours(m, RL_CHILDREN_METHODS))
        return rl_map_iter_of(&c->items, m, RL_AT_modules, rl_name._modules);
    RL_OWNED PyObject *children = PyObject_CallMethodNoArgs(m, rl_name.children);
    if (children == NULL) return -1;
    c->foreign = PyObject_GetIter(children);
    return c->foreign ? 0 : -1;
}

static int children_next(rl_children *c) {
    if (c->foreign) {
        Py_XSETREF(c->child, PyIter_Next(c->foreign));
        return c->child ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    for (;;) {
        int more = rl_map_iter_next(&c->items);
        if (more <= 0) return more;
        if (Py_IsNone(c->items.value)) continue;
        int fresh = seen_add(&c->seen, c->items.value);
        if (fresh < 0) return -1;
        if (!fresh) continue;
        Py_XSETREF(c->child, Py_NewRef(c->items.value));
        return 1;
    }
}

/* ---- the walk over a tree of modules, each before its children ----
 * a stack of frames, one per open module. An
 * overridden named_modules() is walked in place of our own. */
typedef struct {
    PyObject *prefix, *dedup; /* owned: the name of the root; remove_duplicate as it was given */
    rl_seen modules;          /* what it met */
    struct rl_tree_frame *stack;
    Py_ssize_t depth, capacity;
    uint8_t named, unique, recurse; /* names are wanted; dedup as a truth value; go below the root */
} rl_tree_walk;

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
static int tree_push_module(rl_tree_walk *w, PyObject *module) {
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

/* -1 also when it is NULL */
static int tree_push_foreign_steal(rl_tree_walk *w, PyObject *iterable) {
    RL_OWNED PyObject *owned = iterable;
    RL_OWNED PyObject *iter = owned ? PyObject_GetIter(owned) : NULL;
    tree_frame *f = iter ? tree_push(w) : NULL;
    if (f == NULL) return -1;
    f->foreign = rl_move(&iter);
    return 0;
}

/* The name of the module on top, put together from the keys that lead to it when somebody asks; borrowed. */
static PyObject *tree_prefix(rl_tree_walk *w) {
    Py_ssize_t known = w->depth - 1;
    while (w->stack[known].prefix == NULL) known--;
    for (; known < w->depth - 1; known++) {
        tree_frame *f = &w->stack[known];
        if ((f[1].prefix = path_join(f->prefix, f->items.key)) == NULL) return NULL;
    }
    return w->stack[known].prefix;
}

/* `yield from child.named_modules(memo, prefix, remove_duplicate)` for the child at hand */
static int tree_push_child(rl_tree_walk *w) {
    rl_map_iter *it = &w->stack[w->depth - 1].items;
    RL_OWNED PyObject *child = Py_NewRef(it->value);
    if (rl_module_ours(child, RL_M_named_modules)) return tree_push_module(w, child);
    PyObject *prefix = tree_prefix(w);
    RL_OWNED PyObject *path = prefix ? path_join(prefix, it->key) : NULL;
    PyObject *args[] = {path ? seen_set_peek(&w->modules) : NULL, path, w->dedup};
    if (args[0] == NULL) return -1;
    return tree_push_foreign_steal(w, rl_method_call(child, rl_name.named_modules, args, 3, NULL));
}

/* 1 when the module was not in the memo */
static int tree_is_new(rl_tree_walk *w, PyObject *module) {
    if (w->unique) return seen_add(&w->modules, module);
    int known = seen_has(&w->modules, module);
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

/* The next module: 1, 0 at the end, -1. Both owned; *prefix stays NULL for what tree_prefix can name. */
static int tree_next(rl_tree_walk *w, PyObject **prefix, PyObject **module) {
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

static void tree_clear(rl_tree_walk *w) {
    while (w->depth) frame_clear(&w->stack[--w->depth]);
    seen_end(&w->modules);
    Py_CLEAR(w->dedup);
}

static void tree_end(rl_tree_walk *w) {
    tree_clear(w);
    Py_CLEAR(w->prefix);
    PyMem_Free(w->stack);
}

static int tree_traverse(const rl_tree_walk *w, visitproc visit, void *arg) {
    int stop = seen_traverse(&w->modules, visit, arg);
    if (stop) return stop;
    for (Py_ssize_t i = 0; i < w->depth; i++) {
        Py_VISIT(w->stack[i].module);
        Py_VISIT(w->stack[i].foreign);
        if ((stop = rl_map_iter_traverse(&w->stack[i].items, visit, arg))) return stop;
    }
    return 0;
}

/* ---- lazy iterators: named_modules, modules, named_children, children, named_parameters, parameters ...
 * ---- walk: a stack of frames, one per open module ──► (prefix, module) members: the pairs of each module's
 * dict     ──► (name, parameter)
 *
 * They behave as the generators they stand for: nothing happens before the first next(), a size change
 * of a dict raises, and an overridden method is called in place of our own walk. */
enum { ITER_MODULES, ITER_CHILDREN, ITER_MEMBERS };
typedef struct {
    PyObject_HEAD PyObject *root;
    PyObject *getter;     /* _named_members' get_members_fn, or NULL */
    PyObject *state;      /* _parameters or _buffers (borrowed name) */
    PyObject *overridden; /* pairs come from here: somebody's own named_...() */
    PyObject *member_prefix;
    rl_tree_walk walk;
    rl_seen values;
    rl_map_iter members;
    uint8_t kind, pairs, started, running, done, in_members;
    uint8_t alone; /* modules(), parameters(), children(): an overridden named_ twin decides */
} module_iter;
static PyTypeObject *iter_type;
static PyObject *kw_dedup, *kw_recurse, *kw_prefix_dedup, *kw_members;

/* ---- what next() gives ---- */
static PyObject *iter_pair(PyObject *name, PyObject *value) {
    PyObject *pair = PyTuple_New(2);
    if (pair == NULL) return NULL;
    PyTuple_SET_ITEM(pair, 0, Py_NewRef(name));
    PyTuple_SET_ITEM(pair, 1, Py_NewRef(value));
    return pair;
}

static PyObject *iter_next_module(module_iter *t) {
    RL_OWNED PyObject *prefix = NULL, *module = NULL;
    if (tree_next(&t->walk, &prefix, &module) <= 0) return NULL;
    if (!t->pairs) return rl_move(&module);
    PyObject *name = prefix ? prefix : tree_prefix(&t->walk);
    return name ? iter_pair(name, module) : NULL;
}

static PyObject *iter_next_child(module_iter *t) {
    while (rl_map_iter_next(&t->members) > 0) {
        if (Py_IsNone(t->members.value)) continue;
        int fresh = seen_add(&t->values, t->members.value);
        if (fresh < 0) return NULL;
        if (!fresh) continue;
        return t->pairs ? iter_pair(t->members.key, t->members.value) : Py_NewRef(t->members.value);
    }
    return NULL;
}

/* `members = get_members_fn(module)`, opened */
static int iter_open_members(module_iter *t, PyObject *module) {
    rl_map_iter_end(&t->members);
    if (t->getter == NULL) return rl_map_iter_of(&t->members, module, rl_state_at(t->state), t->state);
    RL_OWNED PyObject *members = PyObject_CallOneArg(t->getter, module);
    if (members == NULL) return -1;
    t->members = (rl_map_iter){0};
    t->members.iter = PyObject_GetIter(members);
    return t->members.iter ? 0 : -1;
}

static int iter_member_is_new(module_iter *t, PyObject *value) {
    if (t->walk.unique) return seen_add(&t->values, value);
    return 1;
}

static PyObject *iter_next_member(module_iter *t) {
    for (;;) {
        if (!t->in_members) {
            RL_OWNED PyObject *prefix = NULL, *module = NULL;
            if (tree_next(&t->walk, &prefix, &module) <= 0 || iter_open_members(t, module) < 0) return NULL;
            Py_XSETREF(t->member_prefix, rl_move(&prefix));
            t->in_members = 1;
        }
        int more;
        while ((more = rl_map_iter_next(&t->members)) > 0) {
            if (Py_IsNone(t->members.value)) continue;
            int fresh = iter_member_is_new(t, t->members.value);
            if (fresh < 0) return NULL;
            if (!fresh) continue;
            if (!t->pairs) return Py_NewRef(t->members.value);
            if (t->member_prefix == NULL) t->member_prefix = Py_XNewRef(tree_prefix(&t->walk));
            RL_OWNED PyObject *name = t->member_prefix ? path_join(t->member_prefix, t->members.key) : NULL;
            return name ? iter_pair(name, t->members.value) : NULL;
        }
        if (more < 0) return NULL;
        t->in_members = 0;
    }
}

static PyObject *iter_next_overridden(module_iter *t) {
    PyObject *pair = PyIter_Next(t->overridden);
    if (pair == NULL || t->pairs) return pair;
    RL_OWNED PyObject *owned = pair;
    RL_OWNED PyObject *two = PySequence_Fast(owned, "expected pairs of a name and a value");
    if (two == NULL) return NULL;
    if (PySequence_Fast_GET_SIZE(two) == 2) return Py_NewRef(PySequence_Fast_GET_ITEM(two, 1));
    PyErr_SetString(PyExc_ValueError, "expected pairs of a name and a value");
    return NULL;
}

/* ---- the start: who decides, an overridden method or our walk? ---- */
static int iter_override_steal(module_iter *t, PyObject *iterable) {
    RL_OWNED PyObject *owned = iterable;
    t->overridden = owned ? PyObject_GetIter(owned) : NULL;
    return t->overridden ? 0 : -1;
}

static int iter_start_walk(module_iter *t, PyObject *const *values, PyObject *names) {
    if (rl_module_ours(t->root, RL_M_named_modules)) return tree_push_module(&t->walk, t->root);
    return tree_push_foreign_steal(&t->walk, rl_method_call(t->root, rl_name.named_modules, values,
                                                            (size_t)PyTuple_GET_SIZE(names), names));
}

static int iter_start_members(module_iter *t) {
    PyObject *const values[] = {t->walk.prefix, t->walk.dedup},
                    *recurse = t->walk.recurse ? Py_True : Py_False;
    int named = t->state == rl_name._parameters ? RL_M_named_parameters : RL_M_named_buffers;
    if (t->alone && !rl_module_ours(t->root, named)) {
        PyObject *args[] = {(PyObject *)recurse};
        PyObject *name = t->state == rl_name._parameters ? rl_name.named_parameters : rl_name.named_buffers;
        return iter_override_steal(t, rl_method_call(t->root, name, args, 1, kw_recurse));
    }
    if (t->getter == NULL && !rl_module_ours(t->root, RL_M__named_members)) {
        RL_OWNED PyObject *helper = PyImport_ImportModule("rushlight.nn.modules.module");
        RL_OWNED PyObject *getter =
            helper ? PyObject_GetAttrString(helper, t->state == rl_name._parameters ? "_parameter_items"
                                                                                    : "_buffer_items")
                   : NULL;
        if (getter == NULL) return -1;
        PyObject *args[] = {getter, t->walk.prefix, (PyObject *)recurse, t->walk.dedup};
        return iter_override_steal(t, rl_method_call(t->root, rl_name._named_members, args, 4, kw_members));
    }
    return t->walk.recurse ? iter_start_walk(t, values, kw_prefix_dedup)
                           : tree_push_module(&t->walk, t->root);
}

static int iter_start(module_iter *t) {
    if (t->kind == ITER_MEMBERS) return iter_start_members(t);
    if (t->kind == ITER_CHILDREN) {
        if (t->alone && !rl_module_ours(t->root, RL_M_named_children))
            return iter_override_steal(t, PyObject_CallMethodNoArgs(t->root, rl_name.named_children));
        return rl_map_iter_of(&t->members, t->root, RL_AT_modules, rl_name._modules);
    }
    if (t->alone) return iter_start_walk(t, &t->walk.dedup, kw_dedup);
    return tree_push_module(&t->walk, t->root); /* this is Module.named_modules itself */
}

static int iter_clear(PyObject *self) {
    module_iter *t = (module_iter *)self;
    t->done = 1;
    tree_clear(&t->walk);
    rl_map_iter_end(&t->members);
    Py_CLEAR(t->root);
    Py_CLEAR(t->getter);
    Py_CLEAR(t->overridden);
    seen_end(&t->values);
    return 0;
}

static PyObject *iter_next(PyObject *self) {
    module_iter *t = (module_iter *)self;
    PyObject *next = NULL;
    if (t->done) return NULL;
    if (t->running) return PyErr_SetString(PyExc_ValueError, "generator already executing"), NULL;
    t->running = 1;
    if (t->started || iter_start(t) == 0) {
        t->started = 1;
        next = t->overridden              ? iter_next_overridden(t)
               : t->kind == ITER_MODULES  ? iter_next_module(t)
               : t->kind == ITER_CHILDREN ? iter_next_child(t)
                                          : iter_next_member(t);
    }
    t->running = 0;
    if (next == NULL) {
        PyObject *raised = PyErr_Occurred() ? rl_raised_take() : NULL;
        iter_clear(self);
        if (raised) rl_raised_put_steal(raised);
    }
    return next;
}

static int iter_traverse(PyObject *self, visitproc visit, void *arg) {
    module_iter *t = (module_iter *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(t->root);
    Py_VISIT(t->getter);
    Py_VISIT(t->overridden);
    int stop = tree_traverse(&t->walk, visit, arg);
    if (stop || (stop = seen_traverse(&t->values, visit, arg))) return stop;
    return rl_map_iter_traverse(&t->members, visit, arg);
}

static void iter_dealloc(PyObject *self) {
    module_iter *t = (module_iter *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    iter_clear(self);
    tree_end(&t->walk);
    Py_CLEAR(t->member_prefix);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- the methods ---- */
static module_iter *iter_new(PyObject *m, int kind, int pairs, PyObject *prefix, PyObject *dedup) {
    module_iter *t = (module_iter *)iter_type->tp_alloc(iter_type, 0);
    if (t == NULL) return NULL;
    t->root = Py_NewRef(m);
    t->walk.prefix = Py_NewRef(prefix ? prefix : rl_name.empty);
    t->walk.dedup = Py_NewRef(dedup ? dedup : Py_True);
    t->kind = (uint8_t)kind;
    t->pairs = t->walk.named = (uint8_t)pairs;
    t->walk.recurse = 1;
    int unique = PyObject_IsTrue(t->walk.dedup);
    if (unique < 0)
        Py_CLEAR(t);
    else
        t->walk.unique = (uint8_t)unique;
    return t;
}

static PyObject *iter_named_modules(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"named_modules", 0, 3, {"memo", "prefix", "remove_duplicate"}};
    PyObject *bound[3];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    module_iter *t = iter_new(m, ITER_MODULES, 1, bound[1], bound[2]);
    if (t && bound[0] && !Py_IsNone(bound[0])) t->walk.modules.set = Py_NewRef(bound[0]);
    return (PyObject *)t;
}

static PyObject *iter_modules(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"modules", 0, 1, {"remove_duplicate"}};
    PyObject *bound[1];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    module_iter *t = iter_new(m, ITER_MODULES, 0, NULL, bound[0]);
    if (t) t->alone = 1;
    return (PyObject *)t;
}

static PyObject *iter_named_children(PyObject *m, PyObject *unused) {
    (void)unused;
    return (PyObject *)iter_new(m, ITER_CHILDREN, 1, NULL, NULL);
}

static PyObject *iter_children(PyObject *m, PyObject *unused) {
    (void)unused;
    module_iter *t = iter_new(m, ITER_CHILDREN, 0, NULL, NULL);
    if (t) t->alone = 1;
    return (PyObject *)t;
}

/* bound: prefix, recurse, remove_duplicate */
static PyObject *iter_members(PyObject *m, PyObject *state, int pairs, PyObject *const *bound) {
    int recurse = bound[1] ? PyObject_IsTrue(bound[1]) : 1;
    module_iter *t = recurse < 0 ? NULL : iter_new(m, ITER_MEMBERS, pairs, bound[0], bound[2]);
    if (t == NULL) return NULL;
    t->state = state;
    t->walk.recurse = (uint8_t)recurse;
    t->alone = !pairs;
    return (PyObject *)t;
}

#define ITER_MEMBERS_METHOD(cname, pyname, map)                                                              \
    static PyObject *iter_named_##cname(PyObject *m, PyObject *const *args, Py_ssize_t nargs,                \
                                        PyObject *kwnames) {                                                 \
        static const rl_signature sig = {"named_" pyname, 0, 3, {"prefix", "recurse", "remove_duplicate"}};  \
        PyObject *bound[3];                                                                                  \
        if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;                              \
        return iter_members(m, rl_name.map, 1, bound);                                                       \
    }                                                                                                        \
    static PyObject *iter_##cname(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) { \
        static const rl_signature sig = {pyname, 0, 1, {"recurse"}};                                         \
        PyObject *bound[3] = {NULL, NULL, NULL};                                                             \
        if (rl_method_bind(&sig, args, nargs, kwnames, &bound[1]) < 0) return NULL;                          \
        return iter_members(m, rl_name.map, 0, bound);                                                       \
    }
ITER_MEMBERS_METHOD(parameters, "parameters", _parameters)
ITER_MEMBERS_METHOD(buffers, "buffers", _buffers)

static PyObject *iter_named_members(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {
        "_named_members", 1, 4, {"get_members_fn", "prefix", "recurse", "remove_duplicate"}};
    PyObject *bound[4];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    module_iter *t = (module_iter *)iter_members(m, NULL, 1, &bound[1]);
    if (t) t->getter = Py_NewRef(bound[0]);
    return (PyObject *)t;
}

#define ITER_FLAGS (METH_FASTCALL | METH_KEYWORDS)
#define ITER_FN(f) (PyCFunction)(void (*)(void)) f
PyMethodDef rl_module_iter_methods[] = {
    {"named_modules", ITER_FN(iter_named_modules), ITER_FLAGS, rl_module_named_modules_doc},
    {"modules", ITER_FN(iter_modules), ITER_FLAGS, rl_module_modules_doc},
    {"named_children", iter_named_children, METH_NOARGS, rl_module_named_children_doc},
    {"children", iter_children, METH_NOARGS, rl_module_children_doc},
    {"named_parameters", ITER_FN(iter_named_parameters), ITER_FLAGS, rl_module_named_parameters_doc},
    {"parameters", ITER_FN(iter_parameters), ITER_FLAGS, rl_module_parameters_doc},
    {"named_buffers", ITER_FN(iter_named_buffers), ITER_FLAGS, rl_module_named_buffers_doc},
    {"buffers", ITER_FN(iter_buffers), ITER_FLAGS, rl_module_buffers_doc},
    {"_named_members", ITER_FN(iter_named_members), ITER_FLAGS,
     "_named_members($self, /, get_members_fn, prefix='', recurse=True, remove_duplicate=True)\n--\n\n"},
    {NULL, NULL, 0, NULL}};

int rl_module_iter_init(PyObject *m) {
    static PyType_Slot slots[] = {{Py_tp_dealloc, iter_dealloc}, {Py_tp_traverse, iter_traverse},
                                  {Py_tp_clear, iter_clear},     {Py_tp_iter, PyObject_SelfIter},
                                  {Py_tp_iternext, iter_next},   {0, NULL}};
    static PyType_Spec spec = {"rushlight._C._ModuleIterator", sizeof(module_iter), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               slots};
    kw_dedup = PyTuple_Pack(1, rl_name.remove_duplicate);
    kw_recurse = PyTuple_Pack(1, rl_name.recurse);
    kw_prefix_dedup = PyTuple_Pack(2, rl_name.prefix, rl_name.remove_duplicate);
    kw_members = PyTuple_Pack(3, rl_name.prefix, rl_name.recurse, rl_name.remove_duplicate);
    iter_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!kw_dedup || !kw_recurse || !kw_prefix_dedup || !kw_members || !iter_type) return -1;
    return PyModule_AddObjectRef(m, "_ModuleIterator", (PyObject *)iter_type);
}

/* ---- walks that change a tree: train, eval, apply, zero_grad ----
 * A tree deeper than Python's recursion limit raises RecursionError. */
/* ---- train ---- */
/* m.training = mode, past __setattr__ where that is ours and has nothing else to do */
static int train_mark(PyObject *m, PyObject *mode) {
    const rl_module_facts *f = rl_module_facts_get(Py_TYPE(m));
    PyObject *dict = f->plain_training && f->ours >> RL_M___setattr__ & 1 ? rl_module_dict(m) : NULL;
    PyObject *now = dict ? rl_state_peek(dict, RL_AT_training, rl_name.training) : NULL;
    if (now == mode) return 0;
    if (now) return PyDict_SetItem(dict, rl_name.training, mode);
    return PyErr_Occurred() ? -1 : PyObject_SetAttr(m, rl_name.training, mode);
}

/* Both steps at once for a module that overrides nothing and holds nothing but its state; 0: it is not so */
static int train_bare(PyObject *m, PyObject *mode, rl_children *c) {
    enum { METHODS = 1 << RL_M_train | 1 << RL_M___setattr__ | RL_CHILDREN_METHODS };
    const rl_module_facts *f = rl_module_facts_get(Py_TYPE(m));
    PyObject *dict, *modules;
    if ((f->ours & METHODS) != METHODS || !f->plain_get || !f->plain_training) return 0;
    if ((dict = rl_module_dict(m)) == NULL || (modules = rl_state_bare(dict)) == NULL) return 0;
    if (PyDict_SetItem(dict, rl_name.training, mode) < 0 || rl_map_iter_begin(&c->items, modules) < 0)
        return -1;
    return 1;
}

static int train_walk(PyObject *m, PyObject *mode, int is_child);
static int train_children(rl_children *c, PyObject *mode) {
    if (Py_EnterRecursiveCall(" while setting the mode of a module")) return -1;
    int more;
    while ((more = children_next(c)) > 0 && train_walk(c->child, mode, 1) == 0) continue;
    Py_LeaveRecursiveCall();
    return more ? -1 : 0;
}

static int train_walk(PyObject *m, PyObject *mode, int is_child) {
    RL_CHILDREN c = {.child = NULL};
    int bare = train_bare(m, mode, &c);
    if (bare < 0) return -1;
    if (!bare && is_child && !rl_module_ours(m, RL_M_train)) {
        RL_OWNED PyObject *done = PyObject_CallMethodOneArg(m, rl_name.train, mode);
        return done ? 0 : -1;
    }
    if (!bare && (train_mark(m, mode) < 0 || children_begin(&c, m) < 0)) return -1;
    return rl_children_none(&c) ? 0 : train_children(&c, mode);
}

static PyObject *walk_train(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"train", 0, 1, {"mode"}};
    PyObject *mode;
    if (rl_method_bind(&sig, args, nargs, kwnames, &mode) < 0) return NULL;
    if (mode == NULL) mode = Py_True;
    if (!PyBool_Check(mode)) {
        PyErr_SetString(PyExc_ValueError, "training mode is expected to be boolean");
        return NULL;
    }
    return train_walk(m, mode, 0) < 0 ? NULL : Py_NewRef(m);
}

static PyObject *walk_eval(PyObject *m, PyObject *unused) {
    (void)unused;
    if (!rl_module_ours(m, RL_M_train)) return PyObject_CallMethodOneArg(m, rl_name.train, Py_False);
    return train_walk(m, Py_False, 0) < 0 ? NULL : Py_NewRef(m);
}

/* ---- apply ---- */
static int apply_walk(PyObject *m, PyObject *fn);
static int apply_children(PyObject *m, PyObject *fn) {
    RL_CHILDREN c;
    int more;
    if (children_begin(&c, m) < 0) return -1;
    while ((more = children_next(&c)) > 0) {
        if (rl_module_ours(c.child, RL_M_apply)) {
            if (apply_walk(c.child, fn) < 0) return -1;
            continue;
        }
        RL_OWNED PyObject *done = PyObject_CallMethodOneArg(c.child, rl_name.apply, fn);
        if (done == NULL) return -1;
    }
    return more;
}

static int apply_walk(PyObject *m, PyObject *fn) {
    if (Py_EnterRecursiveCall(" while applying a function to a module")) return -1;
    int walked = apply_children(m, fn);
    Py_LeaveRecursiveCall();
    if (walked < 0) return -1;
    RL_OWNED PyObject *done = PyObject_CallOneArg(fn, m);
    return done ? 0 : -1;
}

static PyObject *walk_apply(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"apply", 1, 1, {"fn"}};
    PyObject *fn;
    if (rl_method_bind(&sig, args, nargs, kwnames, &fn) < 0) return NULL;
    return apply_walk(m, fn) < 0 ? NULL : Py_NewRef(m);
}

/* ---- zero_grad ---- */
/* p.grad.detach_() or .requires_grad_(False), then p.grad.zero_() */
static int zero_in_place(PyObject *grad) {
    RL_OWNED PyObject *fn = PyObject_GetAttr(grad, rl_name.grad_fn);
    if (fn == NULL) return -1;
    RL_OWNED PyObject *cut = Py_IsNone(fn) ? PyObject_CallMethodOneArg(grad, rl_name.requires_grad_, Py_False)
                                           : PyObject_CallMethodNoArgs(grad, rl_name.detach_);
    RL_OWNED PyObject *zeroed = cut ? PyObject_CallMethodNoArgs(grad, rl_name.zero_) : NULL;
    return zeroed ? 0 : -1;
}

static int zero_parameter(PyObject *p, int set_to_none) {
    if (Py_TYPE(p) == rl_parameter_type && ((rl_tensor *)p)->grad == NULL) return 0;
    RL_OWNED PyObject *grad = PyObject_GetAttr(p, rl_name.grad);
    if (grad == NULL) return -1;
    if (Py_IsNone(grad)) return 0;
    return set_to_none ? PyObject_SetAttr(p, rl_name.grad, Py_None) : zero_in_place(grad);
}

static int zero_warn_replica(PyObject *m) {
    RL_OWNED PyObject *replica = NULL;
    int has = rl_hasattr(m, rl_name._is_replica);
    if (has <= 0) return has;
    replica = PyObject_GetAttr(m, rl_name._is_replica);
    int is = replica ? PyObject_IsTrue(replica) : -1;
    if (is <= 0) return is;
    return PyErr_WarnEx(
        PyExc_UserWarning,
        "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The "
        "parameters are copied (in a differentiable manner) from the original module. This means "
        "they are not leaf nodes in autograd and so don't accumulate gradients. If you need "
        "gradients in your forward method, consider using autograd.grad instead.",
        1);
}

static PyObject *walk_zero_grad(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"zero_grad", 0, 1, {"set_to_none"}};
    PyObject *flag;
    if (rl_method_bind(&sig, args, nargs, kwnames, &flag) < 0) return NULL;
    int set_to_none = flag ? PyObject_IsTrue(flag) : 1;
    if (set_to_none < 0 || zero_warn_replica(m) < 0) return NULL;
    RL_OWNED PyObject *all = PyObject_CallMethodNoArgs(m, rl_name.parameters);
    RL_OWNED PyObject *iter = all ? PyObject_GetIter(all) : NULL;
    if (iter == NULL) return NULL;
    for (PyObject *p; (p = PyIter_Next(iter)) != NULL;) {
        int done = zero_parameter(p, set_to_none);
        Py_DECREF(p);
        if (done < 0) return NULL;
    }
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

#define WALK_FLAGS (METH_FASTCALL | METH_KEYWORDS)
PyMethodDef rl_module_walk_methods[] = {
    {"train", (PyCFunction)(void (*)(void))walk_train, WALK_FLAGS, rl_module_train_doc},
    {"eval", walk_eval, METH_NOARGS, rl_module_eval_doc},
    {"apply", (PyCFunction)(void (*)(void))walk_apply, WALK_FLAGS, rl_module_apply_doc},
    {"zero_grad", (PyCFunction)(void (*)(void))walk_zero_grad, WALK_FLAGS, rl_module_zero_grad_doc},
    {NULL, NULL, 0, NULL}};
