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
    return rl_give(&handle);
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
int rl_hooks_retain(rl_tensor *t, rl_node *node, int nr) {
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
    if (rl_hooks_retain(t, to, nr) < 0) return -1;
    retain_forget(t->grad_fn, t);
    return 0;
}
