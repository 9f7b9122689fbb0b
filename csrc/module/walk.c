/* Walks that change a tree of modules: train, eval, apply, zero_grad. A tree deeper than Python's
 * recursion limit raises RecursionError. */
#include "args.h"
#include "children.h"
#include "docs.h"
#include "helpers.h"
#include "methods.h"
#include "state.h"

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
    while ((more = rl_children_next(c)) > 0 && train_walk(c->child, mode, 1) == 0) continue;
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
    if (!bare && (train_mark(m, mode) < 0 || rl_children_begin(&c, m) < 0)) return -1;
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
    if (rl_children_begin(&c, m) < 0) return -1;
    while ((more = rl_children_next(&c)) > 0) {
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
