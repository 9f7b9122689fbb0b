/* Hooks that run while the engine does: of tensors, of nodes, after accumulation; and retain_grad(). */
#include "grad.h"

static PyObject *grad_or_none(PyObject *grad) {
    return grad ? grad : Py_None;
}

static int hook_result_ok(PyObject *result) {
    if (rl_tensor_check(result)) return 0;
    PyErr_Format(PyExc_TypeError, "expected Variable, but hook returned '%s'", Py_TYPE(result)->tp_name);
    return -1;
}

static int tensor_hooks_run(PyObject *hooks, PyObject **grad) {
    RL_OWNED PyObject *values = PyMapping_Values(hooks);
    for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(values); i++) {
        RL_OWNED PyObject *result = PyObject_CallOneArg(PyList_GET_ITEM(values, i), grad_or_none(*grad));
        if (!result) return -1;
        if (result == Py_None) continue;
        if (hook_result_ok(result) < 0) return -1;
        Py_XSETREF(*grad, rl_give(&result));
    }
    return values ? 0 : -1;
}

/* Each list of hooks is read before the first runs: one that removes itself changes nothing for this round.
 * Tuples of n gradients in and out, None for the undefined */
static PyObject *grads_tuple(PyObject *const *grads, int n) {
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(grad_or_none(grads[i])));
    return tuple;
}

static int grads_take(PyObject *result, PyObject **grads, int n) {
    RL_OWNED PyObject *tuple = PyTuple_Check(result) ? Py_NewRef(result) : PyTuple_Pack(1, result);
    if (!tuple) return -1;
    if (PyTuple_GET_SIZE(tuple) != n) {
        PyErr_Format(PyExc_RuntimeError,
                     "hook has returned an incorrect number of values (got %zd, but expected %d)",
                     PyTuple_GET_SIZE(tuple), n);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        PyObject *grad = PyTuple_GET_ITEM(tuple, i);
        if (grad == Py_None) {
            Py_CLEAR(grads[i]);
        } else if (hook_result_ok(grad) < 0) {
            return -1;
        } else {
            Py_XSETREF(grads[i], Py_NewRef(grad));
        }
    }
    return 0;
}

/* t.grad of a tensor that is no leaf, if it still lives */
static int retain_all(PyObject *retained, PyObject **grads) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(retained); i++) {
        PyObject *entry = PyList_GET_ITEM(retained, i);
        PyObject *grad = grads[PyLong_AsLong(PyTuple_GET_ITEM(entry, 0))];
        RL_OWNED PyObject *t = PyObject_CallNoArgs(PyTuple_GET_ITEM(entry, 1));
        if (!t) return -1;
        if (t == Py_None || !grad) continue;
        rl_tensor *tensor = (rl_tensor *)t;
        if (!tensor->grad) {
            PyObject *kept = rl_op_unary(RL_OP_clone, grad);
            if (!kept) return -1;
            tensor->grad = kept;
        } else {
            PyObject *sum = rl_op_binary(RL_OP_add, tensor->grad, grad);
            if (!sum) return -1;
            Py_SETREF(tensor->grad, sum);
        }
    }
    return 0;
}

static int prehooks_run(rl_node *node, PyObject **grads) {
    RL_OWNED PyObject *values = PyMapping_Values(node->extras->before);
    for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(values); i++) {
        RL_OWNED PyObject *tuple = grads_tuple(grads, node->n_out);
        RL_OWNED PyObject *result = tuple ? PyObject_CallOneArg(PyList_GET_ITEM(values, i), tuple) : NULL;
        if (!result) return -1;
        if (result != Py_None && grads_take(result, grads, node->n_out) < 0) return -1;
    }
    return values ? 0 : -1;
}

int rl_hooks_before(rl_node *node, PyObject **grads) {
    if (node->kind == rl_leaf_kind && ((rl_tensor *)node->owner)->hooks &&
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
    return node->extras && node->extras->before ? prehooks_run(node, grads) : 0;
}

int rl_hooks_after(rl_node *node, PyObject **results, PyObject *const *grads) {
    RL_OWNED PyObject *values = PyMapping_Values(node->extras->after);
    RL_OWNED PyObject *outputs = grads_tuple(grads, node->n_out);
    for (Py_ssize_t i = 0; values && outputs && i < PyList_GET_SIZE(values); i++) {
        RL_OWNED PyObject *inputs = grads_tuple(results, node->n_edge);
        RL_OWNED PyObject *result =
            inputs ? PyObject_CallFunctionObjArgs(PyList_GET_ITEM(values, i), inputs, outputs, NULL) : NULL;
        if (!result) return -1;
        if (result != Py_None && grads_take(result, results, node->n_edge) < 0) return -1;
    }
    return values && outputs ? 0 : -1;
}

int rl_hooks_accumulated(rl_tensor *leaf) {
    RL_OWNED PyObject *held = Py_NewRef((PyObject *)leaf);
    RL_OWNED PyObject *values = PyMapping_Values(leaf->post_hooks);
    for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(values); i++) {
        RL_OWNED PyObject *result = PyObject_CallOneArg(PyList_GET_ITEM(values, i), held);
        if (!result) return -1;
        if (result != Py_None) {
            PyErr_SetString(PyExc_RuntimeError, "Tensor post accumulate grad hooks should return None.");
            return -1;
        }
    }
    return values ? 0 : -1;
}
