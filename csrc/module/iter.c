/* Lazy iterators: named_modules, modules, named_children, children, named_parameters, parameters ...
 *
 *   walk: a stack of frames, one per open module ──► (prefix, module)          (module/tree.c)
 *   members: the pairs of each module's dict     ──► (name, parameter)
 *
 * They behave as the generators they stand for: nothing happens before the first next(), a size change
 * of a dict raises, and an overridden method is called in place of our own walk. */
#include "args.h"
#include "docs.h"
#include "helpers.h"
#include "methods.h"
#include "paths.h"
#include "state.h"
#include "tree.h"

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
    if (rl_tree_next(&t->walk, &prefix, &module) <= 0) return NULL;
    if (!t->pairs) return rl_give(&module);
    PyObject *name = prefix ? prefix : rl_tree_prefix(&t->walk);
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
    if (t->walk.unique) return rl_seen_add(&t->values, value);
    return 1;
}

static PyObject *iter_next_member(module_iter *t) {
    for (;;) {
        if (!t->in_members) {
            RL_OWNED PyObject *prefix = NULL, *module = NULL;
            if (rl_tree_next(&t->walk, &prefix, &module) <= 0 || iter_open_members(t, module) < 0)
                return NULL;
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
            if (t->member_prefix == NULL) t->member_prefix = Py_XNewRef(rl_tree_prefix(&t->walk));
            RL_OWNED PyObject *name =
                t->member_prefix ? rl_path_join(t->member_prefix, t->members.key) : NULL;
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
    if (rl_module_ours(t->root, RL_M_named_modules)) return rl_tree_push(&t->walk, t->root);
    return rl_tree_push_foreign_steal(&t->walk, rl_method_call(t->root, rl_name.named_modules, values,
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
    return t->walk.recurse ? iter_start_walk(t, values, kw_prefix_dedup) : rl_tree_push(&t->walk, t->root);
}

static int iter_start(module_iter *t) {
    if (t->kind == ITER_MEMBERS) return iter_start_members(t);
    if (t->kind == ITER_CHILDREN) {
        if (t->alone && !rl_module_ours(t->root, RL_M_named_children))
            return iter_override_steal(t, PyObject_CallMethodNoArgs(t->root, rl_name.named_children));
        return rl_map_iter_of(&t->members, t->root, RL_AT_modules, rl_name._modules);
    }
    if (t->alone) return iter_start_walk(t, &t->walk.dedup, kw_dedup);
    return rl_tree_push(&t->walk, t->root); /* this is Module.named_modules itself */
}

static int iter_clear(PyObject *self) {
    module_iter *t = (module_iter *)self;
    t->done = 1;
    rl_tree_clear(&t->walk);
    rl_map_iter_end(&t->members);
    Py_CLEAR(t->root);
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
    Py_VISIT(t->getter);
    Py_VISIT(t->overridden);
    int stop = rl_tree_traverse(&t->walk, visit, arg);
    if (stop || (stop = rl_seen_traverse(&t->values, visit, arg))) return stop;
    return rl_map_iter_traverse(&t->members, visit, arg);
}

static void iter_dealloc(PyObject *self) {
    module_iter *t = (module_iter *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    iter_clear(self);
    rl_tree_end(&t->walk);
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
