/* Lazy iterators: named_modules, modules, named_children, children, named_parameters, parameters ...
 *
 *   walk: a stack of frames, one per open module ──► (prefix, module)
 *   members: the pairs of each module's dict     ──► (name, parameter)
 *
 * They behave as the generators they stand for: nothing happens before the first next(), a size change
 * of a dict raises, and an overridden method is called in place of our own walk. */
#include "module.h"

enum { ITER_MODULES, ITER_CHILDREN, ITER_MEMBERS };
typedef struct {
    PyObject *module, *prefix;
    PyObject *foreign; /* instead of `items`: somebody's own named_modules() */
    rl_map_iter items;
    int entered;
} walk_frame;

typedef struct {
    PyObject_HEAD PyObject *root, *prefix, *dedup; /* dedup: remove_duplicate as it was given */
    PyObject *getter;                              /* _named_members' get_members_fn, or NULL */
    PyObject *state;                               /* _parameters or _buffers (borrowed name) */
    PyObject *overridden;                          /* pairs come from here: somebody's own named_...() */
    PyObject *member_prefix;
    rl_seen modules, values;
    rl_map_iter members;
    walk_frame *stack;
    Py_ssize_t depth, room;
    uint8_t kind, pairs, recurse, unique, started, running, done, in_members;
    uint8_t alone; /* modules(), parameters(), children(): an overridden named_ twin decides */
} module_iter;
static PyTypeObject *iter_type;
static PyObject *kw_dedup, *kw_recurse, *kw_prefix_dedup, *kw_members;

/* ---- the walk ---- */
static void frame_clear(walk_frame *f) {
    Py_CLEAR(f->module);
    Py_CLEAR(f->prefix);
    Py_CLEAR(f->foreign);
    rl_map_iter_end(&f->items);
}

static walk_frame *walk_push(module_iter *t) {
    if (t->depth == t->room) {
        Py_ssize_t room = t->room ? 2 * t->room : 8;
        walk_frame *stack = PyMem_Resize(t->stack, walk_frame, room);
        if (stack == NULL) return PyErr_NoMemory(), NULL;
        t->stack = stack;
        t->room = room;
    }
    walk_frame *f = &t->stack[t->depth++];
    *f = (walk_frame){0};
    return f;
}

/* With names the depth is limited, as a chain of n modules holds names of n * n / 2 characters. */
static int walk_push_module(module_iter *t, PyObject *module) {
    if (t->pairs && t->depth >= Py_GetRecursionLimit()) {
        PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded while naming modules");
        return -1;
    }
    walk_frame *f = walk_push(t);
    if (f == NULL) return -1;
    f->module = Py_NewRef(module);
    if (t->depth == 1) f->prefix = Py_NewRef(t->prefix);
    return 0;
}

static int walk_push_foreign(module_iter *t, PyObject *iterable) {
    RL_OWNED PyObject *owned = iterable;
    RL_OWNED PyObject *iter = owned ? PyObject_GetIter(owned) : NULL;
    walk_frame *f = iter ? walk_push(t) : NULL;
    if (f == NULL) return -1;
    f->foreign = rl_give(&iter);
    return 0;
}

/* The name of the module on top, put together from the keys that lead to it when somebody asks; borrowed. */
static PyObject *walk_prefix(module_iter *t) {
    Py_ssize_t known = t->depth - 1;
    while (t->stack[known].prefix == NULL) known--;
    for (; known < t->depth - 1; known++) {
        walk_frame *f = &t->stack[known];
        if ((f[1].prefix = rl_path_join(f->prefix, f->items.key)) == NULL) return NULL;
    }
    return t->stack[known].prefix;
}

/* `yield from child.named_modules(memo, prefix, remove_duplicate)` for the child at hand */
static int walk_push_child(module_iter *t) {
    rl_map_iter *it = &t->stack[t->depth - 1].items;
    RL_OWNED PyObject *child = Py_NewRef(it->value);
    if (rl_module_ours(child, RL_M_named_modules)) return walk_push_module(t, child);
    PyObject *prefix = walk_prefix(t);
    RL_OWNED PyObject *path = prefix ? rl_path_join(prefix, it->key) : NULL;
    PyObject *args[] = {path ? rl_seen_set_peek(&t->modules) : NULL, path, t->dedup};
    if (args[0] == NULL) return -1;
    return walk_push_foreign(t, rl_method_call(child, rl_name.named_modules, args, 3, NULL));
}

/* 1 when the module was not in the memo */
static int walk_is_new(module_iter *t, PyObject *module) {
    if (t->unique) return rl_seen_add(&t->modules, module);
    int known = rl_seen_has(&t->modules, module);
    return known < 0 ? -1 : !known;
}

static int walk_foreign_next(walk_frame *f, PyObject **prefix, PyObject **module) {
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
static int walk_step(module_iter *t, PyObject **module) {
    walk_frame *f = &t->stack[t->depth - 1];
    if (!f->entered) {
        int fresh = t->kind == ITER_MEMBERS && !t->recurse ? 1 : walk_is_new(t, f->module);
        if (fresh < 0) return -1;
        if (fresh) {
            f->entered = 1;
            *module = Py_NewRef(f->module);
            return 1;
        }
    } else if (t->kind != ITER_MEMBERS || t->recurse) {
        if (f->entered == 1 && rl_map_iter_of(&f->items, f->module, RL_AT_modules, rl_name._modules) < 0)
            return -1;
        f->entered = 2;
        int more;
        while ((more = rl_map_iter_next(&f->items)) > 0) {
            if (Py_IsNone(f->items.value)) continue;
            return walk_push_child(t);
        }
        if (more < 0) return -1;
    }
    frame_clear(f);
    t->depth--;
    return 0;
}

/* *prefix stays NULL for what walk_prefix can name. */
static int walk_next(module_iter *t, PyObject **prefix, PyObject **module) {
    while (t->depth) {
        walk_frame *f = &t->stack[t->depth - 1];
        int got;
        if (f->foreign) {
            got = walk_foreign_next(f, prefix, module);
            if (got == 0) {
                frame_clear(&t->stack[t->depth - 1]);
                t->depth--;
            }
        } else
            got = walk_step(t, module);
        if (got) return got;
    }
    return 0;
}

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
    if (walk_next(t, &prefix, &module) <= 0) return NULL;
    if (!t->pairs) return rl_give(&module);
    PyObject *name = prefix ? prefix : walk_prefix(t);
    return name ? iter_pair(name, module) : NULL;
}

static PyObject *iter_next_child(module_iter *t) {
    while (rl_map_iter_next(&t->members) > 0) {
        if (Py_IsNone(t->members.value)) continue;
        int fresh = rl_seen_add(&t->values, t->members.value);
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
    if (t->unique) return rl_seen_add(&t->values, value);
    return 1;
}

static PyObject *iter_next_member(module_iter *t) {
    for (;;) {
        if (!t->in_members) {
            RL_OWNED PyObject *prefix = NULL, *module = NULL;
            if (walk_next(t, &prefix, &module) <= 0 || iter_open_members(t, module) < 0) return NULL;
            Py_XSETREF(t->member_prefix, rl_give(&prefix));
            t->in_members = 1;
        }
        int more;
        while ((more = rl_map_iter_next(&t->members)) > 0) {
            if (Py_IsNone(t->members.value)) continue;
            int fresh = iter_member_is_new(t, t->members.value);
            if (fresh < 0) return NULL;
            if (!fresh) continue;
            if (!t->pairs) return Py_NewRef(t->members.value);
            PyObject *prefix = t->member_prefix ? t->member_prefix : walk_prefix(t);
            RL_OWNED PyObject *name = prefix ? rl_path_join(prefix, t->members.key) : NULL;
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
    if (rl_module_ours(t->root, RL_M_named_modules)) return walk_push_module(t, t->root);
    return walk_push_foreign(
        t, rl_method_call(t->root, rl_name.named_modules, values, (size_t)PyTuple_GET_SIZE(names), names));
}

static int iter_start_members(module_iter *t) {
    PyObject *const values[] = {t->prefix, t->dedup}, *recurse = t->recurse ? Py_True : Py_False;
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
        PyObject *args[] = {getter, t->prefix, (PyObject *)recurse, t->dedup};
        return iter_override_steal(t, rl_method_call(t->root, rl_name._named_members, args, 4, kw_members));
    }
    return t->recurse ? iter_start_walk(t, values, kw_prefix_dedup) : walk_push_module(t, t->root);
}

static int iter_start(module_iter *t) {
    if (t->kind == ITER_MEMBERS) return iter_start_members(t);
    if (t->kind == ITER_CHILDREN) {
        if (t->alone && !rl_module_ours(t->root, RL_M_named_children))
            return iter_override_steal(t, PyObject_CallMethodNoArgs(t->root, rl_name.named_children));
        return rl_map_iter_of(&t->members, t->root, RL_AT_modules, rl_name._modules);
    }
    if (t->alone) return iter_start_walk(t, &t->dedup, kw_dedup);
    return walk_push_module(t, t->root); /* this is Module.named_modules itself */
}

static int iter_clear(PyObject *self) {
    module_iter *t = (module_iter *)self;
    t->done = 1;
    while (t->depth) frame_clear(&t->stack[--t->depth]);
    rl_map_iter_end(&t->members);
    Py_CLEAR(t->root);
    rl_seen_end(&t->modules);
    Py_CLEAR(t->dedup);
    Py_CLEAR(t->getter);
    Py_CLEAR(t->overridden);
    rl_seen_end(&t->values);
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
    int stop = rl_seen_traverse(&t->modules, visit, arg);
    if (stop || (stop = rl_seen_traverse(&t->values, visit, arg))) return stop;
    Py_VISIT(t->getter);
    Py_VISIT(t->overridden);
    for (Py_ssize_t i = 0; i < t->depth; i++) {
        Py_VISIT(t->stack[i].module);
        Py_VISIT(t->stack[i].foreign);
        stop = rl_map_iter_traverse(&t->stack[i].items, visit, arg);
        if (stop) return stop;
    }
    return rl_map_iter_traverse(&t->members, visit, arg);
}

static void iter_dealloc(PyObject *self) {
    module_iter *t = (module_iter *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    iter_clear(self);
    Py_CLEAR(t->prefix);
    Py_CLEAR(t->member_prefix);
    PyMem_Free(t->stack);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- the methods ---- */
static module_iter *iter_new(PyObject *m, int kind, int pairs, PyObject *prefix, PyObject *dedup) {
    module_iter *t = (module_iter *)iter_type->tp_alloc(iter_type, 0);
    if (t == NULL) return NULL;
    t->root = Py_NewRef(m);
    t->prefix = Py_NewRef(prefix ? prefix : rl_name.empty);
    t->dedup = Py_NewRef(dedup ? dedup : Py_True);
    t->kind = (uint8_t)kind;
    t->pairs = (uint8_t)pairs;
    t->recurse = 1;
    int unique = PyObject_IsTrue(t->dedup);
    if (unique < 0)
        Py_CLEAR(t);
    else
        t->unique = (uint8_t)unique;
    return t;
}

static PyObject *iter_named_modules(PyObject *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const rl_signature sig = {"named_modules", 0, 3, {"memo", "prefix", "remove_duplicate"}};
    PyObject *bound[3];
    if (rl_method_bind(&sig, args, nargs, kwnames, bound) < 0) return NULL;
    module_iter *t = iter_new(m, ITER_MODULES, 1, bound[1], bound[2]);
    if (t && bound[0] && !Py_IsNone(bound[0])) t->modules.set = Py_NewRef(bound[0]);
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
    t->recurse = (uint8_t)recurse;
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
    {"named_modules", ITER_FN(iter_named_modules), ITER_FLAGS,
     "named_modules($self, /, memo=None, prefix='', remove_duplicate=True)\n--\n\nIterate over (name, "
     "module), "
     "this one included."},
    {"modules", ITER_FN(iter_modules), ITER_FLAGS,
     "modules($self, /, remove_duplicate=True)\n--\n\nIterate over all modules, this one included."},
    {"named_children", iter_named_children, METH_NOARGS,
     "named_children($self, /)\n--\n\nIterate over (name, module) of the immediate children."},
    {"children", iter_children, METH_NOARGS,
     "children($self, /)\n--\n\nIterate over the immediate children."},
    {"named_parameters", ITER_FN(iter_named_parameters), ITER_FLAGS,
     "named_parameters($self, /, prefix='', recurse=True, remove_duplicate=True)\n--\n\nIterate over "
     "(name, parameter)."},
    {"parameters", ITER_FN(iter_parameters), ITER_FLAGS,
     "parameters($self, /, recurse=True)\n--\n\nIterate over the parameters."},
    {"named_buffers", ITER_FN(iter_named_buffers), ITER_FLAGS,
     "named_buffers($self, /, prefix='', recurse=True, remove_duplicate=True)\n--\n\nIterate over (name, "
     "buffer)."},
    {"buffers", ITER_FN(iter_buffers), ITER_FLAGS,
     "buffers($self, /, recurse=True)\n--\n\nIterate over the buffers."},
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
