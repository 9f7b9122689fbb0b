/* Saved tensors: what a node keeps of a call for its derivative, and how it comes back. See Note [Saved
 * tensors]. */
#include "node.h"
#include "core/dtype.h"
#include "core/error.h"

/* ---- saved_tensors_hooks ---- */
_Thread_local PyObject *rl_saved_hooks; /* (pack, unpack) of the innermost saved_tensors_hooks, or NULL */

/* _set_saved_tensors_hooks(pair or None): the pair before, for this thread */
static PyObject *saved_set_hooks(PyObject *m, PyObject *pair) {
    (void)m;
    if (pair != Py_None && (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2)) {
        PyErr_SetString(PyExc_TypeError, "_set_saved_tensors_hooks takes a pair of functions or None");
        return NULL;
    }
    PyObject *before = rl_saved_hooks;
    rl_saved_hooks = pair == Py_None ? NULL : Py_NewRef(pair);
    return before ? before : Py_NewRef(Py_None);
}
static PyMethodDef functions[] = {
    {"_set_saved_tensors_hooks", saved_set_hooks, METH_O,
     "_set_saved_tensors_hooks(pair)\n--\n\nSets (pack, unpack) for this thread; answers what was set."},
    {NULL, NULL, 0, NULL}};

int rl_saved_init(PyObject *m) {
    return PyModule_AddFunctions(m, functions);
}

/* What pack() makes of s->value. `unpack` becomes (unpack, node, result): the place in the history that the
 * tensor has again when it comes back; None without. */
static int saved_pack(rl_saved *s, rl_tensor *t) {
    rl_edge edge = {NULL, 0};
    if (!s->own && rl_graph_edge(t, &edge) < 0) return -1;
    RL_OWNED PyObject *to = edge.to ? (PyObject *)edge.to : Py_NewRef(Py_None);
    RL_OWNED PyObject *hooks = Py_NewRef(rl_saved_hooks);
    RL_OWNED PyObject *given = Py_NewRef(s->value);
    if (!(s->unpack = Py_BuildValue("(OOi)", PyTuple_GET_ITEM(hooks, 1), to, (int)edge.nr))) return -1;
    uint32_t version = rl_version_of((rl_tensor *)given);
    int grad = rl_tls.grad;
    rl_tls.grad = 0;
    PyObject *packed = PyObject_CallOneArg(PyTuple_GET_ITEM(hooks, 0), given);
    rl_tls.grad = grad;
    if (!packed) return -1;
    Py_SETREF(s->value, packed);
    if (rl_version_of((rl_tensor *)given) == version) return 0;
    PyErr_SetString(
        PyExc_RuntimeError,
        "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
        "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please "
        "open an issue if you need to perform in-place operations on the input to a pack hook.");
    return -1;
}

/* The node may drop what it saved while unpack() runs. */
static PyObject *saved_unpack(const rl_saved *s) {
    RL_OWNED PyObject *unpack = Py_NewRef(s->unpack), *packed = Py_NewRef(s->value);
    PyObject *to = PyTuple_GET_ITEM(unpack, 1);
    RL_OWNED PyObject *value = PyObject_CallOneArg(PyTuple_GET_ITEM(unpack, 0), packed);
    if (!value) return NULL;
    if (!rl_tensor_check(value)) {
        PyErr_Format(PyExc_TypeError,
                     "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s",
                     Py_TYPE(value)->tp_name);
        return NULL;
    }
    if (to == Py_None) return rl_move(&value);
    rl_tensor *again = rl_tensor_alias(rl_tensor_type, (rl_tensor *)value);
    if (again) rl_graph_set(again, (rl_node *)Py_NewRef(to), (int)PyLong_AsLong(PyTuple_GET_ITEM(unpack, 2)));
    return (PyObject *)again;
}

/* ---- saving ---- */
int rl_saved_set(rl_saved *s, PyObject *tensor, int place, int nr, bool own) {
    rl_tensor *t = (rl_tensor *)tensor;
    *s = (rl_saved){
        .version = rl_version_of(t), .place = place, .nr = nr, .own = own, .linked = !own && t->grad_fn};
    if (t->inference && !rl_tls.inference) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
            "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
            "normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
            "`torch.inference_mode()`.");
        return -1;
    }
    s->value = own ? (PyObject *)rl_tensor_alias(rl_tensor_type, t) : Py_NewRef(tensor);
    if (!s->value) return -1;
    return RL_LIKELY(!rl_saved_hooks) ? 0 : saved_pack(s, t);
}

int rl_saved_find(const rl_node *node, int place, int nr) {
    for (int i = 0; i < node->n_saved; i++)
        if (node->saved[i].place == place && node->saved[i].nr == nr) return i;
    return -1;
}

int rl_saved_freed(void) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Trying to backward through the graph a second time (or directly access saved tensors "
                    "after they have already been freed). Saved intermediate values of the graph are freed "
                    "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
                    "backward through the graph a second time or if you need to access saved tensors after "
                    "calling backward.");
    return -1;
}

static PyObject *saved_was_written(const rl_node *node, const rl_saved *s) {
    const rl_tensor *t = (const rl_tensor *)s->value;
    const rl_node *maker = s->own || (s->linked && !t->grad_fn) ? node : t->grad_fn;
    /* PyTorch has two kinds of names for tensors */
    const bool plain = t->v.dtype != RL_BOOL && t->v.dtype != RL_BF16;
    char dims[RL_DIMS_TEXT], made[128] = "";
    if (maker)
        snprintf(made, sizeof made, ", which is output %d of %.*s,",
                 s->own ? s->place - RL_MAX_ARGS : (int)t->output_nr, rl_node_name_short(rl_node_name(maker)),
                 rl_node_name(maker));
    PyErr_Format(PyExc_RuntimeError,
                 "one of the variables needed for gradient computation has been modified by an inplace "
                 "operation: [%s%s%s %s]%s is at version %u; expected version %u instead. Hint: %s",
                 plain ? "torch." : "CPU", rl_dtype_title(t->v.dtype), plain ? "Tensor" : "Type",
                 rl_dims_text(dims, t->v.shape, t->v.ndim), made, rl_version_of(t), s->version,
                 rl_anomaly_mode
                     ? "the backtrace further above shows the operation that failed to compute "
                       "its gradient. The variable in question was changed in there or anywhere "
                       "later. Good luck!"
                     : "enable anomaly detection to find the operation that failed to compute "
                       "its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).");
    return NULL;
}

/* is it a result without a history: indices, or what the caller never sees? */
static bool is_fixed(const rl_node *node, const rl_saved *s) {
    int result = s->place - RL_MAX_ARGS;
    return result >= node->op->n_shown || (node->op->fixed_out >> result & 1) ||
           !rl_is_float(node->meta[result].dtype);
}

PyObject *rl_saved_get(rl_node *node, int i) {
    const rl_saved *s = &node->saved[i];
    if (node->released) {
        rl_saved_freed();
        return NULL;
    }
    if (!s->value) Py_RETURN_NONE; /* in a list of tensors */
    bool packed = s->unpack != NULL;
    RL_OWNED PyObject *value = RL_UNLIKELY(packed) ? saved_unpack(s) : Py_NewRef(s->value);
    if (!value) return NULL;
    if (!packed && rl_version_of((rl_tensor *)value) != s->version) return saved_was_written(node, s);
    if (!s->own || (node->op && (!rl_tls.grad || is_fixed(node, s)))) return rl_move(&value);
    rl_tensor *again = rl_tensor_alias(rl_tensor_type, (rl_tensor *)value);
    if (again) rl_graph_set(again, (rl_node *)Py_NewRef((PyObject *)node), s->place - RL_MAX_ARGS);
    return (PyObject *)again;
}

PyObject *rl_saved_use(rl_node *node, int i) {
    const rl_saved *s = &node->saved[i];
    bool lost = s->linked && s->value && !s->unpack && !((const rl_tensor *)s->value)->grad_fn;
    if (RL_LIKELY(!lost)) return rl_saved_get(node, i);
    PyErr_SetString(PyExc_RuntimeError,
                    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This "
                    "is not supported, please use out-of-place `.detach()` instead");
    return NULL;
}
