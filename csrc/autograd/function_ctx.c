/* _FunctionBase: the node of an autograd.Function, which its forward and backward see as ctx. */
#include "autograd.h"
#include <structmember.h>
#include <string.h>

PyTypeObject *rl_function_type;
#define N(self) ((rl_node *)(self))
#define F(self) rl_function_of(N(self))

rl_function *rl_function_of(const rl_node *node) {
    return (rl_function *)(node->edge + node->n_edge);
}

/* ---- life ---- */
rl_node *rl_function_new(PyTypeObject *type, int n_edge, int n_args) {
    size_t bytes = sizeof(rl_function) + (size_t)n_args;
    rl_node_plan plan = {.n_edge = n_edge, .n_words = (int)((bytes + sizeof(int64_t) - 1) / sizeof(int64_t))};
    int64_t *words;
    rl_node *node = rl_node_alloc(type, &rl_function_kind, NULL, &plan, &words);
    if (!node) return NULL;
    F(node)->n_args = n_args;
    F(node)->materialize = true;
    return node;
}

static PyObject *function_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs;
    return (PyObject *)rl_function_new(type, 0, 0);
}

static int function_visit(rl_node *node, visitproc visit, void *arg) {
    rl_function *f = rl_function_of(node);
    Py_VISIT(f->to_save);
    Py_VISIT(f->dirty);
    Py_VISIT(f->fixed);
    Py_VISIT(f->needs);
    Py_VISIT(f->for_forward);
    return 0;
}

static void function_clear(rl_node *node) {
    rl_function *f = rl_function_of(node);
    Py_CLEAR(f->to_save);
    Py_CLEAR(f->dirty);
    Py_CLEAR(f->fixed);
    Py_CLEAR(f->needs);
    Py_CLEAR(f->for_forward);
}

static void function_free(rl_node *node) {
    PyMem_Free(rl_function_of(node)->block);
}

int rl_function_results(rl_node *node, PyObject *const *results, int n, int n_saved) {
    rl_function *f = rl_function_of(node);
    size_t dims = 0;
    for (int i = 0; i < n; i++)
        if (rl_tensor_check(results[i])) dims += ((rl_tensor *)results[i])->v.ndim;
    size_t bytes =
        (size_t)n * sizeof(rl_meta) + (size_t)n_saved * sizeof(rl_saved) + dims * sizeof(int64_t) + (size_t)n;
    rl_meta *meta = PyMem_Calloc(1, bytes + 1);
    if (!meta) {
        PyErr_NoMemory();
        return -1;
    }
    PyMem_Free(f->block);
    f->block = node->meta = meta;
    node->saved = (rl_saved *)(meta + n);
    int64_t *words = (int64_t *)(node->saved + n_saved);
    f->gives_tensor = (uint8_t *)(words + dims);
    for (int i = 0; i < n; i++) {
        f->gives_tensor[i] = rl_tensor_check(results[i]);
        if (f->gives_tensor[i]) rl_meta_set(&meta[i], &((rl_tensor *)results[i])->v, &words);
    }
    node->n_out = n;
    rl_node_place(node);
    return 0;
}

/* ---- backward ---- */
static PyObject *grad_argument(const rl_node *node, PyObject *grad, int i) {
    const rl_function *f = rl_function_of(node);
    if (grad || !f->materialize || !f->gives_tensor[i]) return Py_NewRef(grad ? grad : Py_None);
    return rl_grad_zeros(&node->meta[i]);
}

static PyObject *call_backward(rl_node *node, PyObject *const *grads) {
    PyObject *small[9], **args = small, *answer = NULL;
    int n = node->n_out, made = 0;
    if (n >= (int)Py_ARRAY_LENGTH(small) && !(args = PyMem_Calloc((size_t)n + 1, sizeof *args)))
        return PyErr_NoMemory();
    args[0] = (PyObject *)node;
    while (made < n && (args[made + 1] = grad_argument(node, grads[made], made))) made++;
    RL_OWNED PyObject *apply = made == n ? PyObject_GetAttrString((PyObject *)node, "apply") : NULL;
    if (apply) answer = PyObject_Vectorcall(apply, args + 1, (size_t)n, NULL);
    while (made > 0) Py_DECREF(args[made--]);
    if (args != small) PyMem_Free(args);
    return answer;
}

static int refuse_count(const rl_node *node, int expected, Py_ssize_t n) {
    PyErr_Format(PyExc_RuntimeError,
                 "function %s returned an incorrect number of gradients (expected %d, got %zd)",
                 rl_node_name(node), expected, n);
    return -1;
}

/* One answer for each argument of forward; too many are fine while they are None. */
static int take_answers(const rl_node *node, PyObject *answers, PyObject **results) {
    const rl_function *f = rl_function_of(node);
    Py_ssize_t n = PyTuple_GET_SIZE(answers), used = n;
    while (used > f->n_args && PyTuple_GET_ITEM(answers, used - 1) == Py_None) used--;
    if (used != f->n_args) return refuse_count(node, f->n_args, n);
    for (int i = 0, edge = 0; i < f->n_args; i++) {
        PyObject *grad = PyTuple_GET_ITEM(answers, i);
        int at = edge;
        edge += f->is_tensor[i];
        if (grad == Py_None) continue;
        if (!f->is_tensor[i]) {
            PyErr_Format(PyExc_RuntimeError,
                         "function %s returned a gradient different than None at position %d, but the "
                         "corresponding forward input was not a Variable",
                         rl_node_name(node), i + 1);
            return -1;
        }
        if (!rl_tensor_check(grad)) {
            PyErr_Format(PyExc_RuntimeError, "expected Variable or None (got %s)", Py_TYPE(grad)->tp_name);
            return -1;
        }
        results[at] = Py_NewRef(grad);
    }
    return 0;
}

static int function_run(rl_node *node, PyObject *const *grads, PyObject **results) {
    RL_OWNED PyObject *answer = call_backward(node, grads);
    if (!answer) return -1;
    RL_OWNED PyObject *answers = PyTuple_Check(answer) ? Py_NewRef(answer) : PyTuple_Pack(1, answer);
    return answers ? take_answers(node, answers, results) : -1;
}
const rl_node_kind rl_function_kind = {function_run, function_visit, function_clear, function_free};

/* ---- attributes ---- */
/* Is clear_saved_tensors_on_access on? -1: raised */
static int clears_on_access(PyObject *self) {
    RL_OWNED PyObject *cls = PyObject_GetAttrString(self, "_forward_cls");
    RL_OWNED PyObject *on = cls ? PyObject_GetAttrString(cls, "clear_saved_tensors_on_access") : NULL;
    if (on) return PyObject_IsTrue(on);
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

static PyObject *get_saved_tensors(PyObject *self, void *c) {
    (void)c;
    rl_node *node = N(self);
    if (F(self)->cleared) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set "
            "on the autograd.Function. Either access saved_tensors only once, or set "
            "clear_saved_tensors_on_access=False.");
        return NULL;
    }
    if (node->released) {
        rl_saved_freed();
        return NULL;
    }
    int n = node->n_saved; /* grows while forward ends; unpack() may let other threads run */
    RL_OWNED PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *t = rl_saved_get(node, i);
        if (!t) return NULL;
        PyTuple_SET_ITEM(tuple, i, t);
    }
    int clears = tuple && n ? clears_on_access(self) : 0;
    if (clears < 0) return NULL;
    F(self)->cleared |= clears;
    for (int i = 0; clears && i < n; i++) Py_CLEAR(node->saved[i].value);
    return rl_give(&tuple);
}

/* fields of rl_function that hold what a method of FunctionCtx was given: `which` is the offset */
static PyObject **field_of(PyObject *self, void *which) {
    return (PyObject **)((char *)F(self) + (size_t)which);
}
static PyObject *get_field(PyObject *self, void *which) {
    PyObject *value = *field_of(self, which);
    return Py_NewRef(value ? value : Py_None);
}
static int set_field(PyObject *self, PyObject *value, void *which) {
    Py_XSETREF(*field_of(self, which), value == Py_None ? NULL : Py_XNewRef(value));
    return 0;
}

static PyObject *get_materialize(PyObject *self, void *c) {
    (void)c;
    return PyBool_FromLong(F(self)->materialize);
}
static int set_materialize(PyObject *self, PyObject *value, void *c) {
    (void)c;
    if (!value || !PyBool_Check(value)) {
        PyErr_SetString(PyExc_TypeError,
                        "set_materialize_grads received an invalid combination of arguments - "
                        "got (), but expected (bool)");
        return -1;
    }
    F(self)->materialize = value == Py_True;
    return 0;
}

/* is the node of a call that wants gradients */
static PyObject *get_requires_grad(PyObject *self, void *c) {
    (void)c;
    return PyBool_FromLong(N(self)->n_edge > 0);
}

static PyObject *function_repr(PyObject *self) {
    static const char own[] = "rushlight.";
    RL_OWNED PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "__module__");
    const char *text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    if (!text) return NULL;
    bool ours = strncmp(text, own, sizeof own - 1) == 0;
    return PyUnicode_FromFormat("<%s%s.%s object at %p>", ours ? "torch." : "",
                                text + (ours ? sizeof own - 1 : 0), rl_node_name(N(self)), self);
}

static PyObject *function_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs;
    PyErr_Format(PyExc_TypeError, "'%s' object is not callable", rl_node_name(N(self)));
    return NULL;
}

#define FIELD(name) (void *)offsetof(rl_function, name)
static PyGetSetDef function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"saved_tensors", get_saved_tensors, NULL,
     "What save_for_backward() was given, unless it was written since.", NULL},
    {"saved_variables", get_saved_tensors, NULL, "As saved_tensors.", NULL},
    {"needs_input_grad", get_field, set_field, "For each argument of forward: does it need a gradient?",
     FIELD(needs)},
    {"to_save", get_field, set_field, "For save_for_backward().", FIELD(to_save)},
    {"dirty_tensors", get_field, set_field, "For mark_dirty().", FIELD(dirty)},
    {"non_differentiable", get_field, set_field, "For mark_non_differentiable().", FIELD(fixed)},
    {"saved_for_forward", get_field, set_field, "For save_for_forward().", FIELD(for_forward)},
    {"materialize_grads", get_materialize, set_materialize, "Are missing gradients zeros?", NULL},
    {"requires_grad", get_requires_grad, NULL, "Is there anything to differentiate?", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef function_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(rl_node, owner), READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
static PyType_Slot function_slots[] = {{Py_tp_new, function_tp_new},
                                       {Py_tp_dealloc, rl_node_dealloc},
                                       {Py_tp_traverse, rl_node_traverse},
                                       {Py_tp_clear, rl_node_clear},
                                       {Py_tp_repr, function_repr},
                                       {Py_tp_call, function_call},
                                       {Py_tp_members, function_members},
                                       {Py_tp_getset, function_getset},
                                       {Py_tp_methods, NULL},
                                       {Py_tp_doc, "What the nodes of autograd.Function are."},
                                       {0, NULL}};
static PyType_Spec function_spec = {"rushlight._C._FunctionBase", sizeof(rl_node), sizeof(int64_t),
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                                    function_slots};

/* ---- what once_differentiable leaves behind ---- */
static int error_run(rl_node *node, PyObject *const *grads, PyObject **results) {
    (void)grads, (void)results;
    PyErr_SetObject(PyExc_RuntimeError, node->owner);
    return -1;
}
static const rl_node_kind error_kind = {.apply = error_run};

/* _delayed_error(message, tensors): aliases of them whose backward raises */
static PyObject *delayed_error(PyObject *m, PyObject *args) {
    PyObject *message, *tensors;
    (void)m;
    if (!PyArg_ParseTuple(args, "UO!:_delayed_error", &message, &PyTuple_Type, &tensors)) return NULL;
    int n = (int)PyTuple_GET_SIZE(tensors), left = 0; /* words */
    for (int i = 0; i < n; i++)
        if (rl_tensor_check(PyTuple_GET_ITEM(tensors, i)))
            left += ((rl_tensor *)PyTuple_GET_ITEM(tensors, i))->v.ndim;
    rl_node_plan plan = {.n_edge = n, .n_out = n, .n_words = left};
    int64_t *words;
    RL_OWNED PyObject *results = PyTuple_New(n);
    RL_OWNED PyObject *held =
        results ? (PyObject *)rl_node_alloc(NULL, &error_kind, "Error", &plan, &words) : NULL;
    rl_node *node = (rl_node *)held;
    if (!node) return NULL;
    node->owner = Py_NewRef(message);
    for (int i = 0; i < n; i++) {
        rl_tensor *t = (rl_tensor *)PyTuple_GET_ITEM(tensors, i);
        if (!rl_tensor_check((PyObject *)t)) {
            PyTuple_SET_ITEM(results, i, Py_NewRef((PyObject *)t));
            continue;
        }
        rl_tensor *alias = (rl_tensor *)rl_tensor_detach((PyObject *)t);
        if (!alias) return NULL;
        PyTuple_SET_ITEM(results, i, (PyObject *)alias);
        left -= t->v.ndim;
        if (left < 0) { /* making the others ran Python */
            rl_history_refuse();
            return NULL;
        }
        rl_meta_set(&node->meta[i], &t->v, &words);
        if (rl_history_edge(t, &node->edge[i]) < 0 ||
            rl_history_set(alias, (rl_node *)Py_NewRef(held), i) < 0)
            return NULL;
    }
    return rl_give(&results);
}

static PyMethodDef functions[] = {
    {"_delayed_error", delayed_error, METH_VARARGS,
     "_delayed_error(message, tensors)\n--\n\nAliases of the tensors whose backward raises RuntimeError."},
    {NULL, NULL, 0, NULL}};

int rl_function_type_init(PyObject *m, PyMethodDef *methods) {
    for (PyType_Slot *slot = function_slots; slot->slot; slot++)
        if (slot->slot == Py_tp_methods) slot->pfunc = methods;
    rl_function_type = (PyTypeObject *)PyType_FromSpecWithBases(&function_spec, (PyObject *)rl_node_type);
    if (!rl_function_type || PyModule_AddObjectRef(m, "_FunctionBase", (PyObject *)rl_function_type) < 0)
        return -1;
    return PyModule_AddFunctions(m, functions);
}
