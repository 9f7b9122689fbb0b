/* What Python calls: Tensor.backward, and the run behind autograd.backward and autograd.grad. */
#include "autograd.h"
#include <string.h>

/* 1: o is a GradientEdge, (node, result, ...); -1: raised */
static int gradient_edge(PyObject *o, rl_edge *edge) {
    if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) < 2) return 0;
    PyObject *node = PyTuple_GET_ITEM(o, 0);
    if (!PyObject_TypeCheck(node, rl_node_type)) return 0;
    long nr = PyLong_AsLong(PyTuple_GET_ITEM(o, 1));
    if (nr == -1 && PyErr_Occurred()) return -1;
    if (nr < 0 || nr >= ((rl_node *)node)->n_out) {
        PyErr_Format(PyExc_IndexError, "%s has no result %ld", rl_node_name((rl_node *)node), nr);
        return -1;
    }
    *edge = (rl_edge){(rl_node *)Py_NewRef(node), (int32_t)nr};
    return 1;
}

static int root_edge(PyObject *o, rl_edge *edge, Py_ssize_t i) {
    rl_tensor *t = (rl_tensor *)o;
    int given = gradient_edge(o, edge);
    if (given) return given < 0 ? -1 : 0;
    if (!rl_tensor_check(o)) {
        PyErr_Format(PyExc_TypeError, "element %zd of tensors tuple is not a Tensor", i);
        return -1;
    }
    if (rl_graph_edge(t, edge) < 0) return -1;
    if (edge->to) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "element %zd of tensors does not require grad and does not have a grad_fn", i);
    return -1;
}

static void drop_edges(rl_edge *edges, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) Py_XDECREF((PyObject *)edges[i].to);
}

/* ---- Tensor.backward ---- */
static PyObject *ones_for(PyObject *o) {
    rl_tensor *t = (rl_tensor *)o;
    if (t->v.numel != 1) {
        PyErr_SetString(PyExc_RuntimeError, "grad can be implicitly created only for scalar outputs");
        return NULL;
    }
    int64_t shape[RL_MAX_DIMS]; /* of t as it is now: the allocation may run Python */
    for (int d = 0; d < t->v.ndim; d++) shape[d] = 1;
    rl_tensor *ones = rl_tensor_new(t->v.dtype, t->v.device, t->v.device_index, shape, t->v.ndim);
    rl_value args[2] = {{.tag = RL_TENSOR, .u.t = ones ? &ones->v : NULL}, {.tag = RL_INT, .u.i = 1}};
    if (ones && ones->v.device == RL_CPU && ones->v.dtype == RL_F32) { /* the usual loss */
        RL_RAW;
        *(float *)rl_data(&ones->v, RL_FRESH) = 1;
        return (PyObject *)ones;
    }
    RL_OWNED PyObject *held = (PyObject *)ones;
    return ones ? rl_op_run(RL_OP_fill_, args, 2) : NULL;
}

/* gradient, retain_graph, create_graph, inputs; NULL where not given. The usual call only: the rest is
 * Python's. */
static PyObject *backward_here(PyObject *self, int keep, int create) {
    rl_edge root;
    if (root_edge(self, &root, 0) < 0) return NULL;
    RL_OWNED PyObject *grad = ones_for(self);
    rl_backward run = {.roots = &root,
                       .root_grads = &grad,
                       .n_roots = 1,
                       .keep_graph = keep,
                       .create_graph = create,
                       .accumulate = true};
    int failed = grad ? rl_backward_run(&run) : -1;
    drop_edges(&root, 1);
    return failed ? NULL : Py_NewRef(Py_None);
}

static PyObject *api_backward(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    if (n == 0 && !kwnames) return backward_here(self, 0, 0);
    static PyObject *function;
    if (!function) {
        RL_OWNED PyObject *module = PyImport_ImportModule("rushlight.autograd._engine");
        function = module ? PyObject_GetAttrString(module, "tensor_backward") : NULL;
        if (!function) return NULL;
    }
    Py_ssize_t total = n + 1 + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject **all = PyMem_Malloc((size_t)total * sizeof *all);
    if (!all) return PyErr_NoMemory();
    all[0] = self;
    memcpy(all + 1, args, (size_t)(total - 1) * sizeof *all);
    PyObject *result = PyObject_Vectorcall(function, all, (size_t)n + 1, kwnames);
    PyMem_Free(all);
    return result;
}

/* ---- _run_backward ---- */
static int target_edge(PyObject *o, rl_edge *edge) {
    int given = gradient_edge(o, edge);
    if (given) return given < 0 ? -1 : 0;
    if (!rl_tensor_check(o)) {
        PyErr_SetString(PyExc_TypeError, "all inputs have to be Tensors");
        return -1;
    }
    if (!rl_requires_grad((rl_tensor *)o)) {
        PyErr_SetString(PyExc_RuntimeError, "One of the differentiated Tensors does not require grad");
        return -1;
    }
    return rl_graph_edge((rl_tensor *)o, edge);
}

static PyObject *found_tuple(PyObject **found, Py_ssize_t n, int allow_unused) {
    RL_OWNED PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple && i < n; i++) {
        if (!found[i] && !allow_unused) {
            PyErr_Format(PyExc_RuntimeError,
                         "The differentiated Tensor at index %zd appears to not have been used in the graph. "
                         "Set allow_unused=True if this is the desired behavior.",
                         i);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(found[i] ? found[i] : Py_None));
    }
    return rl_move(&tuple);
}

typedef struct {
    rl_edge *edges; /* of the roots, then of the targets */
    PyObject **found;
    Py_ssize_t n_roots, n_targets;
} edges_of_run;

static int edges_begin(edges_of_run *e, PyObject *roots, PyObject *inputs) {
    e->n_roots = PyTuple_GET_SIZE(roots);
    e->n_targets = inputs == Py_None ? 0 : PyTuple_GET_SIZE(inputs);
    e->edges = PyMem_Calloc((size_t)(e->n_roots + e->n_targets) + 1, sizeof *e->edges);
    e->found = PyMem_Calloc((size_t)e->n_targets + 1, sizeof *e->found);
    if (!e->edges || !e->found) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < e->n_roots; i++)
        if (root_edge(PyTuple_GET_ITEM(roots, i), &e->edges[i], i) < 0) return -1;
    for (Py_ssize_t i = 0; i < e->n_targets; i++)
        if (target_edge(PyTuple_GET_ITEM(inputs, i), &e->edges[e->n_roots + i]) < 0) return -1;
    return 0;
}

static void edges_end(edges_of_run *e) {
    if (e->edges) drop_edges(e->edges, e->n_roots + e->n_targets);
    for (Py_ssize_t i = 0; e->found && i < e->n_targets; i++) Py_XDECREF(e->found[i]);
    PyMem_Free(e->edges);
    PyMem_Free(e->found);
}

/* _run_backward(tensors, grads, keep_graph, create_graph, inputs, allow_unused, accumulate): tuples that
 * rushlight.autograd has checked; the gradients of inputs, or None with accumulate */
static PyObject *api_run(PyObject *m, PyObject *args) {
    PyObject *roots, *grads, *inputs;
    int keep, create, allow_unused, accumulate;
    edges_of_run e = {0};
    PyObject *result = NULL;
    (void)m;
    if (!PyArg_ParseTuple(args, "O!O!ppOpp:_run_backward", &PyTuple_Type, &roots, &PyTuple_Type, &grads,
                          &keep, &create, &inputs, &allow_unused, &accumulate))
        return NULL;
    if (PyTuple_GET_SIZE(roots) != PyTuple_GET_SIZE(grads) || (inputs != Py_None && !PyTuple_Check(inputs))) {
        PyErr_SetString(PyExc_TypeError, "_run_backward takes tuples of tensors");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(grads); i++) {
        if (rl_tensor_check(PyTuple_GET_ITEM(grads, i))) continue;
        PyErr_Format(PyExc_TypeError, "element %zd of gradients tuple is not a Tensor", i);
        return NULL;
    }
    if (edges_begin(&e, roots, inputs) == 0) {
        rl_backward run = {.roots = e.edges,
                           .root_grads = ((PyTupleObject *)grads)->ob_item,
                           .n_roots = (int)e.n_roots,
                           .targets = e.edges + e.n_roots,
                           .found = e.found,
                           .n_targets = (int)e.n_targets,
                           .keep_graph = keep,
                           .create_graph = create,
                           .accumulate = accumulate};
        if (rl_backward_run(&run) == 0)
            result = accumulate ? Py_NewRef(Py_None) : found_tuple(e.found, e.n_targets, allow_unused);
    }
    edges_end(&e);
    return result;
}

/* ---- what hooks may ask while a run goes on ---- */
static PyObject *api_task_id(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyLong_FromLongLong(rl_backward_id());
}
static PyObject *api_checkpoint_valid(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyBool_FromLong(rl_backward_reaches_all());
}
static PyObject *api_current_node(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return Py_NewRef(rl_node_running ? (PyObject *)rl_node_running : Py_None);
}
static PyObject *api_will_execute(PyObject *m, PyObject *node) {
    (void)m;
    if (rl_backward_id() < 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "_get_should_execute_nodes should only be called during the backward pass");
        return NULL;
    }
    return PyBool_FromLong(PyObject_TypeCheck(node, rl_node_type) && rl_backward_runs((rl_node *)node));
}

static PyObject *api_increment_version(PyObject *m, PyObject *tensors) {
    (void)m;
    RL_OWNED PyObject *all = PySequence_Tuple(tensors);
    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); i++) {
        rl_tensor *t = (rl_tensor *)PyTuple_GET_ITEM(all, i);
        if (!rl_tensor_check((PyObject *)t)) {
            PyErr_SetString(PyExc_RuntimeError,
                            "increment_version expects each element of the iterable to be a tensor");
            return NULL;
        }
        if (!rl_version_none(t)) rl_version_bump(t);
    }
    return all ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef backward_method = {
    "backward", (PyCFunction)(void (*)(void))api_backward, METH_FASTCALL | METH_KEYWORDS,
    "backward($self, /, gradient=None, retain_graph=None, create_graph=False, inputs=None)\n--\n\n"
    "Compute the gradients of this tensor and add them to the .grad of the leaves.\n\n"
    "Parameters\n"
    "----------\n"
    "gradient : Tensor, optional\n"
    "    The weights of its elements, which are summed; needed unless there is one element.\n"
    "retain_graph : bool, optional\n"
    "    Whether the graph may be used once more; create_graph when None.\n"
    "create_graph : bool, default False\n"
    "    Whether the gradients can be differentiated again.\n"
    "inputs : Tensor or sequence of Tensor, optional\n"
    "    The leaves whose .grad is filled; all of them when None.\n\n"
    "Raises\n"
    "------\n"
    "RuntimeError\n"
    "    No gradient is wanted, the graph was freed, or gradient is missing.\n\n"
    "Examples\n"
    "--------\n"
    ">>> x = torch.tensor([1.0, 2.0], requires_grad=True)\n"
    ">>> (x * x).sum().backward()\n"
    ">>> x.grad\n"
    "tensor([2., 4.])\n\n"
    "Same as torch.Tensor.backward: https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.backward.html"};
static PyMethodDef functions[] = {
    {"_run_backward", api_run, METH_VARARGS,
     "_run_backward(tensors, grads, keep_graph, create_graph, inputs, allow_unused, accumulate)\n--\n\n"
     "The engine behind autograd.backward and autograd.grad."},
    {"_current_graph_task_id", api_task_id, METH_NOARGS,
     "_current_graph_task_id()\n--\n\nA number for the run that goes on; -1 without."},
    {"_is_checkpoint_valid", api_checkpoint_valid, METH_NOARGS,
     "_is_checkpoint_valid()\n--\n\nDoes the run that goes on reach all leaves, not just some inputs?"},
    {"_current_autograd_node", api_current_node, METH_NOARGS,
     "_current_autograd_node()\n--\n\nThe node that runs, or None."},
    {"_will_engine_execute_node", api_will_execute, METH_O,
     "_will_engine_execute_node(node)\n--\n\nDoes the run that goes on come to this node?"},
    {"_increment_version", api_increment_version, METH_O,
     "_increment_version(tensors)\n--\n\nCounts one more write of each tensor."},
    {NULL, NULL, 0, NULL}};

int rl_grad_init(PyObject *m) {
    if (rl_function_init(m) < 0) return -1;
    RL_OWNED PyObject *method = PyDescr_NewMethod(rl_tensor_type, &backward_method);
    if (!method || PyObject_SetAttrString((PyObject *)rl_tensor_type, "backward", method) < 0) return -1;
    return PyModule_AddFunctions(m, functions);
}
