/* Hooks of tensors: where they are kept, and what becomes of them when a tensor gets another grad_fn. They
 * run in autograd/hooks.c.
 *
 *   leaf        t->hooks: a dict, run by its AccumulateGrad
 *   otherwise   t->hooks, and the same dict in grad_fn's list (result, dict)
 *   in-place    the old grad_fn keeps the dict, which saw the old value; t starts without hooks.
 * retain_grad() goes along to the new one. */
#include "node.h"

/* A dict or list that is made when missing; that may run Python, which may have made one meanwhile. */
static int made_at(PyObject **place, PyObject *made_steal) {
    if (!made_steal) return -1;
    if (*place)
        Py_DECREF(made_steal);
    else
        *place = made_steal;
    return 0;
}

PyObject *rl_hooks_add(PyObject **hooks, PyObject *hook) {
    if (!*hooks && made_at(hooks, PyODict_New()) < 0) return NULL;
    RL_OWNED PyObject *dict = Py_NewRef(*hooks);
    RL_OWNED PyObject *utils = PyImport_ImportModule("rushlight.utils.hooks");
    RL_OWNED PyObject *handle = utils ? PyObject_CallMethod(utils, "RemovableHandle", "O", dict) : NULL;
    RL_OWNED PyObject *id = handle ? PyObject_GetAttrString(handle, "id") : NULL;
    if (!id || PyObject_SetItem(dict, id, hook) < 0) return NULL;
    return rl_move(&handle);
}

/* (nr, value) at the end of the list at *entries */
static int entry_add(PyObject **entries, int nr, PyObject *value) {
    RL_OWNED PyObject *held = Py_NewRef(value);
    if (!*entries && made_at(entries, PyList_New(0)) < 0) return -1;
    RL_OWNED PyObject *entry = Py_BuildValue("(iO)", nr, held);
    return entry ? PyList_Append(*entries, entry) : -1;
}

int rl_hooks_attach(rl_node *node, int nr, PyObject *hooks) {
    rl_node_extras *e = rl_node_extras_get(node);
    return e ? entry_add(&e->tensor_hooks, nr, hooks) : -1;
}

/* ---- retain_grad ---- */
/* autograd_graph/hooks.c: retain_grad() */
static int hooks_retain(rl_tensor *t, rl_node *node, int nr) {
    rl_node_extras *e = rl_node_extras_get(node);
    RL_OWNED PyObject *ref = e ? PyWeakref_NewRef((PyObject *)t, NULL) : NULL;
    return ref ? entry_add(&e->retained, nr, ref) : -1;
}

static void retain_forget(rl_node *node, rl_tensor *t) {
    RL_OWNED PyObject *held = Py_XNewRef((PyObject *)node);
    PyObject *entries = node && node->extras ? node->extras->retained : NULL;
    for (Py_ssize_t i = 0; entries && i < PyList_GET_SIZE(entries); i++) {
        RL_OWNED PyObject *ref = Py_NewRef(PyTuple_GET_ITEM(PyList_GET_ITEM(entries, i), 1));
        RL_OWNED PyObject *target = PyObject_CallNoArgs(ref);
        if (target != (PyObject *)t) continue;
        PyList_SetSlice(entries, i, i + 1, NULL);
        return;
    }
}

int rl_hooks_move(rl_tensor *t, rl_node *to, int nr) {
    if (hooks_retain(t, to, nr) < 0) return -1;
    retain_forget(t->grad_fn, t);
    return 0;
}

/* ---- what a Tensor has of hooks ----
 * register_hook(), retain_grad() and the dicts themselves. */
#define T(self) ((rl_tensor *)(self))

static PyObject *tensor_retain_grad(PyObject *self, PyObject *unused) {
    (void)unused;
    RL_OWNED PyObject *fn = NULL;
    if (!rl_requires_grad(T(self))) {
        PyErr_SetString(PyExc_RuntimeError, "can't retain_grad on Tensor that has requires_grad=False");
        return NULL;
    }
    if (rl_graph_grad_fn(T(self), &fn) < 0) return NULL;
    if (fn && !T(self)->retains) {
        if (hooks_retain(T(self), (rl_node *)fn, T(self)->output_nr) < 0) return NULL;
        T(self)->retains = 1;
    }
    Py_RETURN_NONE;
}
static PyObject *get_retains_grad(PyObject *self, void *c) {
    (void)c;
    return PyBool_FromLong(T(self)->retains);
}

/* ---- register_hook ---- */
static int hooks_allowed(PyObject *self) {
    if (rl_requires_grad(T(self))) return 0;
    PyErr_SetString(PyExc_RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
    return -1;
}

/* the only argument of both; borrowed */
static PyObject *hook_given(PyObject *args, PyObject *kwargs, const char *format) {
    static char *names[] = {"hook", NULL};
    PyObject *hook;
    return PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &hook) ? hook : NULL;
}

static PyObject *tensor_register_hook(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *hook = hook_given(args, kwargs, "O:register_hook");
    RL_OWNED PyObject *fn = NULL;
    if (!hook || hooks_allowed(self) < 0 || rl_graph_grad_fn(T(self), &fn) < 0) return NULL;
    if (!T(self)->hooks && fn) {
        int nr = T(self)->output_nr;
        RL_OWNED PyObject *hooks = PyODict_New();
        if (!hooks || rl_hooks_attach((rl_node *)fn, nr, hooks) < 0) return NULL;
        Py_XSETREF(T(self)->hooks, rl_move(&hooks));
    }
    return rl_hooks_add(&T(self)->hooks, hook);
}

static PyObject *tensor_register_post(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *hook = hook_given(args, kwargs, "O:register_post_accumulate_grad_hook");
    RL_OWNED PyObject *fn = NULL;
    if (!hook || hooks_allowed(self) < 0 || rl_graph_grad_fn(T(self), &fn) < 0) return NULL;
    if (fn) {
        PyErr_SetString(PyExc_RuntimeError,
                        "post accumulate grad hooks cannot be registered on non-leaf tensors");
        return NULL;
    }
    return rl_hooks_add(&T(self)->post_hooks, hook);
}

/* the dicts themselves: `which` is the field's offset */
static PyObject **hooks_of(PyObject *self, void *which) {
    return (PyObject **)((char *)self + (size_t)which);
}
static PyObject *get_hooks(PyObject *self, void *which) {
    PyObject *hooks = *hooks_of(self, which);
    return Py_NewRef(hooks ? hooks : Py_None);
}
static int set_hooks(PyObject *self, PyObject *value, void *which) {
    Py_XSETREF(*hooks_of(self, which), value == Py_None ? NULL : Py_XNewRef(value));
    return 0;
}

#define KEYWORDS(fn) (PyCFunction)(void (*)(void)) fn
static PyMethodDef methods[] = {
    {"register_hook", KEYWORDS(tensor_register_hook), METH_VARARGS | METH_KEYWORDS,
     "register_hook($self, /, hook)\n--\n\n"
     "Register a backward hook: hook(grad) runs when the gradient of the tensor is known.\n\n"
     "What it returns, unless None, takes the place of the gradient.\n\n"
     "Returns\n"
     "-------\n"
     "RemovableHandle\n"
     "    Its remove() takes the hook away.\n\n"
     "Examples\n"
     "--------\n"
     ">>> x = torch.ones(1, requires_grad=True)\n"
     ">>> handle = x.register_hook(lambda grad: grad * 2)\n"
     ">>> (x * 3).backward()\n"
     ">>> x.grad\n"
     "tensor([6.])\n\n"
     "Same as torch.Tensor.register_hook: "
     "https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.register_hook.html"},
    {"register_post_accumulate_grad_hook", KEYWORDS(tensor_register_post), METH_VARARGS | METH_KEYWORDS,
     "register_post_accumulate_grad_hook($self, /, hook)\n--\n\n"
     "Register a hook of a leaf: hook(tensor) runs after a gradient was accumulated in its .grad.\n\n"
     "Same as torch.Tensor.register_post_accumulate_grad_hook: "
     "https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.register_post_accumulate_grad_hook.html"},
    {"retain_grad", tensor_retain_grad, METH_NOARGS,
     "retain_grad($self, /)\n--\n\nKeep the gradient of a tensor that is no leaf: backward() fills its "
     ".grad."}};
static PyGetSetDef getset[] = {{"retains_grad", get_retains_grad, NULL,
                                "Whether retain_grad() was called on a tensor that is no leaf.", NULL},
                               {"_backward_hooks", get_hooks, set_hooks, "What register_hook() keeps.",
                                (void *)offsetof(rl_tensor, hooks)},
                               {"_post_accumulate_grad_hooks", get_hooks, set_hooks,
                                "What register_post_accumulate_grad_hook() keeps.",
                                (void *)offsetof(rl_tensor, post_hooks)}};

static int tensor_gets(PyObject *descriptor_steal, const char *name) {
    RL_OWNED PyObject *descriptor = descriptor_steal;
    return descriptor ? PyObject_SetAttrString((PyObject *)rl_tensor_type, name, descriptor) : -1;
}

int rl_hooks_init(void) {
    for (size_t i = 0; i < Py_ARRAY_LENGTH(methods); i++)
        if (tensor_gets(PyDescr_NewMethod(rl_tensor_type, &methods[i]), methods[i].ml_name) < 0) return -1;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(getset); i++)
        if (tensor_gets(PyDescr_NewGetSet(rl_tensor_type, &getset[i]), getset[i].name) < 0) return -1;
    return 0;
}
