/* Hooks that run while the engine does: of tensors, of nodes, after accumulation; and retain_grad(). */
#include "autograd.h"
#include "core/dtype.h"
#include <string.h>

static PyObject *grad_or_none(PyObject *grad) {
    return grad ? grad : Py_None;
}

/* ---- what a hook may answer ---- */
static PyObject *hook_name(PyObject *hook) {
    PyObject *name = PyObject_GetAttrString(hook, "__name__");
    if (name && PyUnicode_Check(name)) return name;
    PyErr_Clear();
    Py_XDECREF(name);
    return PyUnicode_FromString("<unknown>");
}

static int refuse_type(PyObject *name, const rl_view *was, const rl_view *got) {
    const char *place[2] = {was->device == RL_CPU ? "" : "cuda.", got->device == RL_CPU ? "" : "cuda."};
    PyErr_Format(PyExc_RuntimeError,
                 "hook '%U' has changed the type of value (was torch.%s%sTensor got torch.%s%sTensor)", name,
                 place[0], rl_dtype_title(was->dtype), place[1], rl_dtype_title(got->dtype));
    return -1;
}

/* `result` in place of the gradient `was` */
static int answer_check(PyObject *was, PyObject *result, PyObject *hook) {
    if (result == Py_None) return 0;
    if (was == Py_None) {
        PyErr_SetString(PyExc_RuntimeError, "can't replace a None gradient with a non-None value");
        return -1;
    }
    if (!rl_tensor_check(result)) {
        PyErr_Format(PyExc_TypeError, "expected Variable, but hook returned '%s'", Py_TYPE(result)->tp_name);
        return -1;
    }
    const rl_view *a = &((rl_tensor *)was)->v, *b = &((rl_tensor *)result)->v;
    bool same_type = a->dtype == b->dtype && a->device == b->device;
    if (same_type && a->ndim == b->ndim && memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) == 0)
        return 0;
    RL_OWNED PyObject *name = hook_name(hook);
    if (!name) return -1;
    if (!same_type) return refuse_type(name, a, b);
    PyErr_Format(PyExc_RuntimeError, "hook '%U' has changed the size of value", name);
    return -1;
}

static int answers_check(PyObject *was, PyObject *result, PyObject *hook) {
    if (!PyTuple_Check(result)) {
        PyErr_Format(PyExc_TypeError, "expected tuple, but hook returned '%s'", Py_TYPE(result)->tp_name);
        return -1;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(was);
    if (PyTuple_GET_SIZE(result) != n) {
        RL_OWNED PyObject *name = hook_name(hook);
        if (name)
            PyErr_Format(PyExc_RuntimeError,
                         "hook '%U' has returned an incorrect number of values (got %zd, but expected %zd)",
                         name, PyTuple_GET_SIZE(result), n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (answer_check(PyTuple_GET_ITEM(was, i), PyTuple_GET_ITEM(result, i), hook) < 0) return -1;
    return 0;
}

/* ---- running a dict of hooks ---- */
/* hook(*value[, outputs]) for each; what one answers is what the next one gets. The hooks are read before the
 * first runs: one that removes itself changes nothing for this round. */
static int hooks_run(PyObject *hooks, PyObject **value, PyObject *outputs) {
    RL_OWNED PyObject *held = Py_NewRef(hooks), *values = PyMapping_Values(held);
    for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(values); i++) {
        PyObject *hook = PyList_GET_ITEM(values, i);
        RL_OWNED PyObject *result = PyObject_CallFunctionObjArgs(hook, *value, outputs, NULL);
        if (!result) return -1;
        if (result == Py_None || result == *value) continue;
        int checked = PyTuple_CheckExact(*value) ? answers_check(*value, result, hook)
                                                 : answer_check(*value, result, hook);
        if (checked < 0) return -1;
        Py_SETREF(*value, rl_move(&result));
    }
    return values ? 0 : -1;
}

static int tensor_hooks_run(PyObject *hooks, PyObject **grad) {
    RL_OWNED PyObject *value = Py_NewRef(grad_or_none(*grad));
    if (hooks_run(hooks, &value, NULL) < 0) return -1;
    Py_XSETREF(*grad, value == Py_None ? NULL : Py_NewRef(value));
    return 0;
}

/* a tuple of n gradients, None for the undefined */
static PyObject *grads_tuple(PyObject *const *grads, int n) {
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(grad_or_none(grads[i])));
    return tuple;
}

static int node_hooks_run(PyObject *hooks, PyObject **grads, int n, PyObject *outputs) {
    RL_OWNED PyObject *tuple = grads_tuple(grads, n);
    RL_OWNED PyObject *before = Py_XNewRef(tuple);
    if (!tuple || hooks_run(hooks, &tuple, outputs) < 0) return -1;
    for (int i = 0; tuple != before && i < n; i++) {
        PyObject *grad = PyTuple_GET_ITEM(tuple, i);
        Py_XSETREF(grads[i], grad == Py_None ? NULL : Py_NewRef(grad));
    }
    return 0;
}

/* t.grad of a tensor that is no leaf, if it still lives */
static int retain_all(PyObject *retained, PyObject **grads) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(retained); i++) {
        RL_OWNED PyObject *entry = Py_NewRef(PyList_GET_ITEM(retained, i));
        PyObject *grad = grads[PyLong_AsLong(PyTuple_GET_ITEM(entry, 0))];
        RL_OWNED PyObject *t = PyObject_CallNoArgs(PyTuple_GET_ITEM(entry, 1));
        if (!t) return -1;
        if (t == Py_None || !grad) continue;
        rl_tensor *tensor = (rl_tensor *)t;
        RL_OWNED PyObject *before = Py_XNewRef(tensor->grad);
        PyObject *now = before ? rl_op_binary(RL_OP_add, before, grad) : rl_op_unary(RL_OP_clone, grad);
        if (!now) return -1;
        Py_XSETREF(tensor->grad, now);
    }
    return 0;
}

int rl_hooks_before(rl_node *node, PyObject **grads) {
    if (node->kind == rl_upcalls.leaf_vtable && ((rl_tensor *)node->owner)->hooks &&
        tensor_hooks_run(((rl_tensor *)node->owner)->hooks, grads) < 0)
        return -1;
    rl_node_extras *e = node->extras;
    if (!e) return 0;
    for (Py_ssize_t i = 0; e->tensor_hooks && i < PyList_GET_SIZE(e->tensor_hooks); i++) {
        PyObject *entry = PyList_GET_ITEM(e->tensor_hooks, i);
        long nr = PyLong_AsLong(PyTuple_GET_ITEM(entry, 0));
        if (tensor_hooks_run(PyTuple_GET_ITEM(entry, 1), &grads[nr]) < 0) return -1;
    }
    return e->retained ? retain_all(e->retained, grads) : 0;
}

int rl_hooks_prehooks(rl_node *node, PyObject **grads) {
    rl_node_extras *e = node->extras;
    return e && e->before ? node_hooks_run(e->before, grads, node->n_out, NULL) : 0;
}

int rl_hooks_after(rl_node *node, PyObject **results, PyObject *const *grads) {
    RL_OWNED PyObject *outputs = grads_tuple(grads, node->n_out);
    return outputs ? node_hooks_run(node->extras->after, results, node->n_edge, outputs) : -1;
}

int rl_hooks_accumulated(rl_tensor *leaf) {
    RL_OWNED PyObject *value = Py_NewRef((PyObject *)leaf);
    return hooks_run(leaf->post_hooks, &value, NULL);
}
