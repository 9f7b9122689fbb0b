/* Calling a module that has forward hooks, its own or global ones.
 *
 *   pre-hooks (global, own) ──► forward ──► hooks (global, own) ──► result
 *        └──────────────────────┴─ raised ──┴──► hooks marked always_call that did not run yet
 *
 * Each stage runs over a snapshot: a hook may remove itself or others. Backward hooks are Python's affair
 * (rushlight.nn.modules._functions): arguments and result pass through it around the other stages. */
#include "internal.h"

typedef struct {
    PyObject *m;
    const rl_forward *forward;
    PyObject *args, *kwargs; /* owned; kwargs may be NULL until somebody wants to see it */
    PyObject *result;        /* owned; NULL stands for None until forward returned */
    PyObject *called;        /* ids of always_call hooks that ran, or NULL */
    PyObject *backward;      /* what tends the backward hooks, or NULL */
} hooked_call;

/* ---- snapshot of two hook dicts ---- */
#define SNAPSHOT_SMALL 4
typedef struct {
    PyObject *small[2 * SNAPSHOT_SMALL], **pairs; /* id, hook, id, hook ... all owned */
    Py_ssize_t n;
} hook_snapshot;

static void snapshot_end(hook_snapshot *s) {
    for (Py_ssize_t i = 0; i < 2 * s->n; i++) Py_DECREF(s->pairs[i]);
    if (s->pairs != s->small) PyMem_Free(s->pairs);
}

static int snapshot_grow(hook_snapshot *s, Py_ssize_t more) {
    if (s->n + more <= SNAPSHOT_SMALL) return 0;
    PyObject **pairs = PyMem_New(PyObject *, 2 * (s->n + more));
    if (pairs == NULL) return PyErr_NoMemory(), -1;
    memcpy(pairs, s->pairs, sizeof *pairs * 2 * (size_t)s->n);
    if (s->pairs != s->small) PyMem_Free(s->pairs);
    s->pairs = pairs;
    return 0;
}

static void snapshot_put(hook_snapshot *s, PyObject *id, PyObject *hook) {
    s->pairs[2 * s->n] = Py_NewRef(id);
    s->pairs[2 * s->n++ + 1] = Py_NewRef(hook);
}

static int snapshot_add(hook_snapshot *s, PyObject *hooks) {
    PyObject *id, *hook;
    Py_ssize_t at = 0;
    int plain = PyDict_CheckExact(hooks) || PyODict_CheckExact(hooks);
    if (plain && PyDict_GET_SIZE(hooks) <= 1) { /* with one entry the order of an OrderedDict is no matter */
        if (PyDict_GET_SIZE(hooks) == 0) return 0;
        if (snapshot_grow(s, 1) < 0) return -1;
        if (PyDict_Next(hooks, &at, &id, &hook)) snapshot_put(s, id, hook);
        return 0;
    }
    RL_OWNED PyObject *items = PyMapping_Items(hooks);
    if (items == NULL || snapshot_grow(s, PyList_GET_SIZE(items)) < 0) return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++) {
        PyObject *pair = PyList_GET_ITEM(items, i);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "items() of a hook dict must give pairs");
            return -1;
        }
        snapshot_put(s, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
    }
    return 0;
}

static int snapshot_begin(hook_snapshot *s, PyObject *global, PyObject *m, PyObject *own_name) {
    s->pairs = s->small;
    s->n = 0;
    RL_OWNED PyObject *held = Py_NewRef(global), *own = rl_state_get(m, own_name);
    return own && snapshot_add(s, held) == 0 ? snapshot_add(s, own) : -1;
}

/* id in m.name */
static int hooks_marked(PyObject *m, PyObject *name, PyObject *id) {
    RL_OWNED PyObject *marks = rl_state_get(m, name);
    return marks ? rl_map_has(marks, id) : -1;
}

/* id in the global dict, which user code may replace meanwhile */
static int hooks_marked_globally(PyObject *global, PyObject *id) {
    RL_OWNED PyObject *marks = Py_NewRef(global);
    return rl_map_has(marks, id);
}

/* ---- the stages ---- */
static PyObject *hooked_kwargs(hooked_call *c) { /* borrowed */
    if (c->kwargs == NULL) c->kwargs = PyDict_New();
    return c->kwargs;
}

static int pre_hook_take(hooked_call *c, PyObject *answer, int with_kwargs) {
    if (Py_IsNone(answer)) return 0;
    if (!with_kwargs) {
        PyObject *args = PyTuple_Check(answer) ? Py_NewRef(answer) : PyTuple_Pack(1, answer);
        if (args == NULL) return -1;
        Py_SETREF(c->args, args);
        return 0;
    }
    if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 2) {
        PyErr_Format(PyExc_RuntimeError,
                     "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got %S.",
                     answer);
        return -1;
    }
    Py_SETREF(c->args, Py_NewRef(PyTuple_GET_ITEM(answer, 0)));
    Py_XSETREF(c->kwargs, Py_NewRef(PyTuple_GET_ITEM(answer, 1)));
    return 0;
}

static int hooked_run_pre(hooked_call *c, hook_snapshot *s) {
    for (Py_ssize_t i = 0; i < s->n; i++) {
        int with_kwargs = hooks_marked(c->m, rl_name._forward_pre_hooks_with_kwargs, s->pairs[2 * i]);
        if (with_kwargs < 0 || (with_kwargs && hooked_kwargs(c) == NULL)) return -1;
        PyObject *args[] = {NULL, c->m, c->args, c->kwargs};
        RL_OWNED PyObject *answer = PyObject_Vectorcall(
            s->pairs[2 * i + 1], args + 1, (with_kwargs ? 3 : 2) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        if (answer == NULL || pre_hook_take(c, answer, with_kwargs) < 0) return -1;
    }
    return 0;
}

/* forward(*args, **kwargs); a pre-hook may have put any iterable and any mapping there */
static int hooked_run_forward(hooked_call *c) {
    RL_OWNED PyObject *args = PySequence_Tuple(c->args);
    RL_OWNED PyObject *kwargs = Py_XNewRef(c->kwargs);
    if (args == NULL) return -1;
    if (kwargs && !PyDict_Check(kwargs)) {
        if (!PyObject_HasAttrString(kwargs, "keys")) {
            PyErr_Format(PyExc_TypeError, "forward() argument after ** must be a mapping, not %.200s",
                         Py_TYPE(kwargs)->tp_name);
            return -1;
        }
        PyObject *dict = PyDict_New();
        if (dict == NULL) return -1;
        int copied = PyDict_Update(dict, kwargs);
        Py_SETREF(kwargs, dict);
        if (copied < 0) return -1;
    }
    c->result = rl_forward_call(c->forward, c->m, args, kwargs);
    return c->result ? 0 : -1;
}

static int post_hook_call(hooked_call *c, PyObject *hook, int with_kwargs) {
    PyObject *result = c->result ? c->result : Py_None;
    if (with_kwargs && hooked_kwargs(c) == NULL) return -1;
    PyObject *plain[] = {NULL, c->m, c->args, result}, *full[] = {NULL, c->m, c->args, c->kwargs, result};
    PyObject *answer = with_kwargs
                           ? PyObject_Vectorcall(hook, full + 1, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)
                           : PyObject_Vectorcall(hook, plain + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (answer == NULL) return -1;
    if (Py_IsNone(answer))
        Py_DECREF(answer);
    else
        Py_XSETREF(c->result, answer);
    return 0;
}

static int hooked_run_post(hooked_call *c, hook_snapshot *s) {
    for (Py_ssize_t i = 0; i < s->n; i++) {
        PyObject *id = s->pairs[2 * i];
        int always = hooks_marked(c->m, rl_name._forward_hooks_always_called, id);
        if (always == 0) always = hooks_marked_globally(rl_module_hooks.forward_hooks_always_called, id);
        if (always > 0 && c->called == NULL) c->called = PySet_New(NULL);
        if (always < 0 || (always && (c->called == NULL || PySet_Add(c->called, id) < 0))) return -1;
        int with_kwargs = hooks_marked(c->m, rl_name._forward_hooks_with_kwargs, id);
        if (with_kwargs == 0)
            with_kwargs = hooks_marked_globally(rl_module_hooks.forward_hooks_with_kwargs, id);
        if (with_kwargs < 0 || post_hook_call(c, s->pairs[2 * i + 1], with_kwargs) < 0) return -1;
    }
    return 0;
}

/* ---- backward hooks ---- */
/* 1 when the module has some, or all modules have */
static int backward_any(PyObject *m) {
    if (PyDict_GET_SIZE(rl_module_hooks.backward_pre_hooks) | PyDict_GET_SIZE(rl_module_hooks.backward_hooks))
        return 1;
    PyObject *const names[] = {rl_name._backward_hooks, rl_name._backward_pre_hooks};
    for (int i = 0; i < 2; i++) {
        RL_OWNED PyObject *hooks = rl_state_get(m, names[i]);
        int some = hooks ? PyObject_IsTrue(hooks) : -1;
        if (some) return some;
    }
    return 0;
}

static int backward_begin(hooked_call *c) {
    int some = backward_any(c->m);
    if (some <= 0) return some;
    RL_OWNED PyObject *home = PyImport_ImportModule("rushlight.nn.modules._functions");
    c->backward = home ? PyObject_CallMethod(home, "BackwardHooks", "O", c->m) : NULL;
    return c->backward ? 0 : -1;
}

static int backward_enter(hooked_call *c) {
    PyObject *args = PyObject_CallMethod(c->backward, "enter", "(O)", c->args);
    if (args == NULL) return -1;
    Py_SETREF(c->args, args);
    return 0;
}

static int backward_leave(hooked_call *c) {
    PyObject *result = PyObject_CallMethod(c->backward, "leave", "(OO)", c->args, c->result);
    if (result == NULL) return -1;
    Py_SETREF(c->result, result);
    return 0;
}

static int hooked_run(hooked_call *c) {
    hook_snapshot s;
    if (backward_begin(c) < 0) return -1;
    int done = snapshot_begin(&s, rl_module_hooks.forward_pre_hooks, c->m, rl_name._forward_pre_hooks);
    if (done == 0) done = hooked_run_pre(c, &s);
    snapshot_end(&s);
    if (done < 0 || (c->backward && backward_enter(c) < 0) || hooked_run_forward(c) < 0) return -1;
    done = snapshot_begin(&s, rl_module_hooks.forward_hooks, c->m, rl_name._forward_hooks);
    if (done == 0) done = hooked_run_post(c, &s);
    snapshot_end(&s);
    return done == 0 && c->backward ? backward_leave(c) : done;
}

/* ---- always_call ---- */
/* A hook failed while another error is on its way: say so and go on. -1: the new error wins. */
static int always_silence(const char *which) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    RL_OWNED PyObject *error = rl_raised_take();
    RL_OWNED PyObject *text = error ? PyObject_Str(error) : NULL;
    if (text == NULL) return -1;
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1,
        "%s forward hook with ``always_call=True`` raised an exception that was silenced as "
        "another error was raised in forward: %U",
        which, text);
}

static int always_run(hooked_call *c, PyObject *hooks, PyObject *marks, int global) {
    RL_MAP_ITER it;
    int more;
    if (rl_map_iter_begin(&it, hooks) < 0) return -1;
    while ((more = rl_map_iter_next(&it)) > 0) {
        int due = rl_map_has(marks, it.key), with_kwargs = 0;
        if (due > 0 && c->called && (due = PySet_Contains(c->called, it.key)) >= 0) due = !due;
        if (due > 0 && !global) with_kwargs = hooks_marked(c->m, rl_name._forward_hooks_with_kwargs, it.key);
        if (due < 0 || with_kwargs < 0) return -1;
        if (due && post_hook_call(c, it.value, with_kwargs) < 0 &&
            always_silence(global ? "global module" : "module") < 0)
            return -1;
    }
    return more;
}

/* `except Exception: ... raise`: the hooks see the exception as the one being handled. */
static void hooked_run_always(hooked_call *c) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
    PyObject *raised = rl_raised_take();
    PyObject *before = PyErr_GetHandledException();
    PyErr_SetHandledException(raised);
    RL_OWNED PyObject *global = Py_NewRef(rl_module_hooks.forward_hooks);
    RL_OWNED PyObject *global_marks = Py_NewRef(rl_module_hooks.forward_hooks_always_called);
    RL_OWNED PyObject *own = rl_state_get(c->m, rl_name._forward_hooks);
    RL_OWNED PyObject *marks = own ? rl_state_get(c->m, rl_name._forward_hooks_always_called) : NULL;
    int fine = marks && always_run(c, global, global_marks, 1) == 0 && always_run(c, own, marks, 0) == 0;
    PyErr_SetHandledException(before);
    Py_XDECREF(before);
    if (fine)
        rl_raised_put_steal(raised);
    else
        Py_DECREF(raised);
}

PyObject *rl_module_call_hooked(PyObject *m, const rl_forward *f, PyObject *args, PyObject *kwargs) {
    hooked_call c = {.m = m, .forward = f, .args = Py_NewRef(args), .kwargs = Py_XNewRef(kwargs)};
    if (hooked_run(&c) < 0) {
        hooked_run_always(&c);
        Py_CLEAR(c.result);
    }
    Py_DECREF(c.args);
    Py_XDECREF(c.kwargs);
    Py_XDECREF(c.called);
    Py_XDECREF(c.backward);
    return c.result;
}

/* ---- finding a module's forward and calling it ---- */
int rl_forward_get(PyObject *m, rl_forward *f) {
    PyObject *forward = rl_module_facts_get(Py_TYPE(m))->forward;
    *f = (rl_forward){0};
    if (RL_LIKELY(forward != NULL)) {
        PyObject *dict = rl_module_dict(m),
                 *own = dict ? PyDict_GetItemWithError(dict, rl_name.forward) : NULL;
        if (own == NULL && PyErr_Occurred()) return -1;
        f->unbound = own == NULL;
        f->callable = Py_NewRef(own ? own : forward);
        return 0;
    }
    f->callable = PyObject_GetAttr(m, rl_name.forward); /* property, static, partial, __getattribute__ ... */
    return f->callable ? 0 : -1;
}

#define FORWARD_STACK 8
PyObject *rl_forward_call(const rl_forward *f, PyObject *m, PyObject *args, PyObject *kwargs) {
    if (!f->unbound) return PyObject_Call(f->callable, args, kwargs);
    PyObject *small[FORWARD_STACK + 2], **stack = small;
    size_t n = (size_t)PyTuple_GET_SIZE(args);
    if (n > FORWARD_STACK && (stack = PyMem_New(PyObject *, n + 2)) == NULL) return PyErr_NoMemory();
    stack[1] = m;
    for (size_t i = 0; i < n; i++) stack[i + 2] = PyTuple_GET_ITEM(args, i);
    PyObject *result =
        PyObject_VectorcallDict(f->callable, stack + 1, (n + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                kwargs && PyDict_GET_SIZE(kwargs) ? kwargs : NULL);
    if (stack != small) PyMem_Free(stack);
    return result;
}

/* ---- the dicts of global hooks, shared with rushlight.nn.modules.module ---- */
struct rl_module_hooks rl_module_hooks;

static PyObject *hooks_use(PyObject *module, PyObject *args) {
    static const struct {
        const char *name;
        PyObject **slot;
    } known[] = {
#define X(name) {"_global_" #name, &rl_module_hooks.name},
        RL_GLOBAL_HOOKS(X)
#undef X
    };
    PyObject *name, *hooks;
    (void)module;
    if (!PyArg_ParseTuple(args, "UO:_use_global_hooks", &name, &hooks)) return NULL;
    if (!PyDict_Check(hooks))
        return PyErr_Format(PyExc_TypeError, "%U must be a dict, not %s", name, Py_TYPE(hooks)->tp_name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (PyUnicode_CompareWithASCIIString(name, known[i].name)) continue;
        Py_SETREF(*known[i].slot, Py_NewRef(hooks));
        Py_RETURN_NONE;
    }
    return PyErr_Format(PyExc_KeyError, "%U", name);
}

static PyMethodDef hooks_functions[] = {
    {"_use_global_hooks", hooks_use, METH_VARARGS,
     "_use_global_hooks(name, hooks)\n--\n\nTakes the dict from now on; nn.modules.module tells it."},
    {NULL, NULL, 0, NULL}};

/* _C._global_forward_hooks ... : the dicts that rushlight.nn.modules.module starts with */
int rl_module_hooks_init(PyObject *m) {
#define X(name)                                                                                              \
    if ((rl_module_hooks.name = PyODict_New()) == NULL ||                                                    \
        PyModule_AddObjectRef(m, "_global_" #name, rl_module_hooks.name) < 0)                                \
        return -1;
    RL_GLOBAL_HOOKS(X)
#undef X
    return PyModule_AddFunctions(m, hooks_functions);
}
