/* Function.apply: runs forward without recording, then makes its results those of one node.
 *
 *   arguments ─► ctx with edges ─► forward [─► setup_context] ─► what becomes of each result ─► saved tensors
 *
 *   result          becomes
 *   new tensor      itself, with the node as grad_fn
 *   an argument     a view of it with that grad_fn; written (mark_dirty): itself, its history rebased
 *   not differentiable, or nothing to differentiate: without history */
#include "autograd.h"
#include <structmember.h>
#include <string.h>

/* ---- _FunctionBase ----
 * The node of an autograd.Function, which its forward and backward see as ctx. */
PyTypeObject *rl_function_type;
#define N(self) ((rl_node *)(self))
static rl_function *function_of(const rl_node *node);

#define F(self) function_of(N(self))

static rl_function *function_of(const rl_node *node) {
    return (rl_function *)(node->edge + node->n_edge);
}

/* ---- life ---- */
static rl_node *function_new(PyTypeObject *type, int n_edge, int n_args) {
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
    return (PyObject *)function_new(type, 0, 0);
}

static int function_visit(rl_node *node, visitproc visit, void *arg) {
    rl_function *f = function_of(node);
    Py_VISIT(f->to_save);
    Py_VISIT(f->dirty);
    Py_VISIT(f->fixed);
    Py_VISIT(f->needs);
    Py_VISIT(f->for_forward);
    return 0;
}

static void function_clear(rl_node *node) {
    rl_function *f = function_of(node);
    Py_CLEAR(f->to_save);
    Py_CLEAR(f->dirty);
    Py_CLEAR(f->fixed);
    Py_CLEAR(f->needs);
    Py_CLEAR(f->for_forward);
}

static void function_free(rl_node *node) {
    PyMem_Free(function_of(node)->block);
}

/* Makes the block for these results and n_saved tensors. */
static int function_results(rl_node *node, PyObject *const *results, int n, int n_saved) {
    rl_function *f = function_of(node);
    size_t dims = 0;
    for (int i = 0; i < n; i++)
        if (rl_tensor_check(results[i])) dims += ((rl_tensor *)results[i])->v.ndim;
    size_t bytes = (size_t)n * sizeof(rl_tensor_meta) + (size_t)n_saved * sizeof(rl_saved) +
                   dims * sizeof(int64_t) + (size_t)n;
    rl_tensor_meta *meta = PyMem_Calloc(1, bytes + 1);
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
        if (f->gives_tensor[i]) rl_tensor_meta_set(&meta[i], &((rl_tensor *)results[i])->v, &words);
    }
    node->n_out = n;
    rl_node_place(node);
    return 0;
}

/* ---- backward ---- */
static PyObject *grad_argument(const rl_node *node, PyObject *grad, int i) {
    const rl_function *f = function_of(node);
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
    const rl_function *f = function_of(node);
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
const rl_node_vtable rl_function_kind = {function_run, function_visit, function_clear, function_free};

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
    return rl_move(&tuple);
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
static const rl_node_vtable error_kind = {.apply = error_run};

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
            rl_graph_refuse();
            return NULL;
        }
        rl_tensor_meta_set(&node->meta[i], &t->v, &words);
        if (rl_graph_edge(t, &node->edge[i]) < 0 || rl_graph_set(alias, (rl_node *)Py_NewRef(held), i) < 0)
            return NULL;
    }
    return rl_move(&results);
}

static PyMethodDef functions[] = {
    {"_delayed_error", delayed_error, METH_VARARGS,
     "_delayed_error(message, tensors)\n--\n\nAliases of the tensors whose backward raises RuntimeError."},
    {NULL, NULL, 0, NULL}};

/* methods: apply */
static int function_type_init(PyObject *m, PyMethodDef *methods) {
    for (PyType_Slot *slot = function_slots; slot->slot; slot++)
        if (slot->slot == Py_tp_methods) slot->pfunc = methods;
    rl_function_type = (PyTypeObject *)PyType_FromSpecWithBases(&function_spec, (PyObject *)rl_node_type);
    if (!rl_function_type || PyModule_AddObjectRef(m, "_FunctionBase", (PyObject *)rl_function_type) < 0)
        return -1;
    return PyModule_AddFunctions(m, functions);
}

/* ---- apply ---- */
typedef struct {
    PyObject *cls, *const *args;
    Py_ssize_t n_args; /* the last ones by keyword */
    PyObject *kwnames;
    rl_node *ctx;
    bool records, has_setup;
    PyObject *raw, *results; /* tuples: what forward answered, and what the caller gets */
} apply_call;

enum { MAX_RESULTS = 30000 };

static int refuse(const char *text) {
    PyErr_SetString(PyExc_RuntimeError, text);
    return -1;
}

static bool among(PyObject *tuple, PyObject *o) {
    for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple); i++)
        if (PyTuple_GET_ITEM(tuple, i) == o) return true;
    return false;
}
static bool is_argument(const apply_call *c, PyObject *o) {
    for (Py_ssize_t i = 0; i < c->n_args; i++)
        if (c->args[i] == o) return true;
    return false;
}

/* ---- ctx ---- */
static int begin(apply_call *c) {
    int tensors = 0;
    RL_OWNED PyObject *backward_cls = PyObject_GetAttrString(c->cls, "_backward_cls");
    RL_OWNED PyObject *needs = backward_cls ? PyTuple_New(c->n_args) : NULL;
    if (!needs) return -1;
    if (!PyType_Check(backward_cls) || !PyType_IsSubtype((PyTypeObject *)backward_cls, rl_function_type)) {
        PyErr_SetString(PyExc_TypeError, "_backward_cls of a Function is not a BackwardCFunction");
        return -1;
    }
    bool any = false;
    for (Py_ssize_t i = 0; i < c->n_args; i++) {
        bool tensor = rl_tensor_check(c->args[i]), need = tensor && rl_requires_grad((rl_tensor *)c->args[i]);
        tensors += tensor;
        any |= need;
        PyTuple_SET_ITEM(needs, i, Py_NewRef(need ? Py_True : Py_False));
    }
    c->records = any && rl_tls.grad;
    c->ctx = function_new((PyTypeObject *)backward_cls, c->records ? tensors : 0, (int)c->n_args);
    if (!c->ctx) return -1;
    rl_function *f = function_of(c->ctx);
    f->needs = rl_move(&needs);
    for (Py_ssize_t i = 0, edge = 0; i < c->n_args; i++) {
        f->is_tensor[i] = (uint8_t)rl_tensor_check(c->args[i]);
        if (c->records && f->is_tensor[i] &&
            rl_graph_link((rl_tensor *)c->args[i], &c->ctx->edge[edge++]) < 0)
            return -1;
    }
    return 0;
}

/* ---- forward ---- */
static PyObject *call_forward(apply_call *c) {
    RL_OWNED PyObject *forward = PyObject_GetAttrString(c->cls, "forward");
    Py_ssize_t keywords = c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0, n = c->n_args - keywords;
    if (!forward || c->has_setup)
        return forward ? PyObject_Vectorcall(forward, c->args, (size_t)n, c->kwnames) : NULL;
    PyObject *small[9], **args = small;
    if (c->n_args >= (Py_ssize_t)Py_ARRAY_LENGTH(small) &&
        !(args = PyMem_Malloc(((size_t)c->n_args + 1) * sizeof *args)))
        return PyErr_NoMemory();
    args[0] = (PyObject *)c->ctx;
    for (Py_ssize_t i = 0; i < c->n_args; i++) args[i + 1] = c->args[i];
    PyObject *answer = PyObject_Vectorcall(forward, args, (size_t)n + 1, c->kwnames);
    if (args != small) PyMem_Free(args);
    return answer;
}

static int call_setup(apply_call *c, PyObject *answer) {
    Py_ssize_t n = c->n_args - (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
    RL_OWNED PyObject *inputs = PyTuple_New(n);
    for (Py_ssize_t i = 0; inputs && i < n; i++) PyTuple_SET_ITEM(inputs, i, Py_NewRef(c->args[i]));
    RL_OWNED PyObject *done =
        inputs ? PyObject_CallMethod(c->cls, "setup_context", "OOO", c->ctx, inputs, answer) : NULL;
    return done ? 0 : -1;
}

static PyObject *run_forward(apply_call *c) {
    int grad = rl_tls.grad;
    rl_tls.grad = 0;
    PyObject *answer = call_forward(c);
    if (answer && c->has_setup && call_setup(c, answer) < 0) Py_CLEAR(answer);
    rl_tls.grad = grad;
    return answer;
}

/* ---- what ctx was told ---- */
static int check_marks(PyObject *marks, const char *attribute, const char *text) {
    if (!marks) return 0;
    if (!PyTuple_Check(marks)) {
        PyErr_Format(PyExc_RuntimeError,
                     "autograd internal error: %s attribute is expected to be a tuple but is %s", attribute,
                     Py_TYPE(marks)->tp_name);
        return -1;
    }
    for (Py_ssize_t i = 0; text && i < PyTuple_GET_SIZE(marks); i++) {
        PyObject *o = PyTuple_GET_ITEM(marks, i);
        if (rl_tensor_check(o)) continue;
        PyErr_Format(PyExc_RuntimeError, text, Py_TYPE(o)->tp_name);
        return -1;
    }
    return 0;
}

static int check_all_marks(apply_call *c) {
    rl_function *f = function_of(c->ctx);
    if (check_marks(f->fixed, "non_differentiable",
                    "mark_non_differentiable only accepts variable arguments, but got %s") < 0 ||
        check_marks(f->dirty, "dirty_tensors", "mark_dirty can only accept variables, but got %s") < 0 ||
        check_marks(f->to_save, "to_save", NULL) < 0)
        return -1;
    for (Py_ssize_t i = 0; f->dirty && i < PyTuple_GET_SIZE(f->dirty); i++) {
        PyObject *o = PyTuple_GET_ITEM(f->dirty, i);
        rl_version_bump((rl_tensor *)o);
        if (!among(c->raw, o))
            return refuse(
                "Some elements marked as dirty during the forward method were not returned as output. The "
                "inputs that are modified inplace must all be outputs of the Function.");
    }
    return 0;
}

/* ---- results ---- */
static PyObject *view_of(PyObject *o) {
    rl_tensor *t = (rl_tensor *)o;
    int64_t shape[RL_MAX_DIMS];
    memcpy(shape, t->v.shape, t->v.ndim * sizeof *shape);
    rl_value args[2] = {{.tag = RL_TENSOR, .u.t = &t->v}, {.tag = RL_INTS, .n = t->v.ndim, .u.ints = shape}};
    int grad = rl_tls.grad;
    rl_tls.grad = 0;
    PyObject *view = rl_op_run(RL_OP_view, args, 2);
    rl_tls.grad = grad;
    return view;
}

static PyObject *without_history(PyObject *o, bool argument, bool dirty) {
    rl_tensor *t = (rl_tensor *)o;
    if (!rl_requires_grad(t)) return argument && !dirty ? view_of(o) : Py_NewRef(o);
    if (argument) return rl_tensor_detach(o);
    if (!t->base) {
        t->requires_grad = 0;
        Py_CLEAR(t->grad_fn);
    }
    return Py_NewRef(o);
}

static int rebase_dirty(apply_call *c, rl_tensor *t, bool argument, int nr) {
    RL_OWNED PyObject *fn = NULL;
    if (rl_graph_grad_fn(t, &fn) < 0) return -1;
    if (!fn && rl_requires_grad(t))
        return refuse("a leaf Variable that requires grad has been used in an in-place operation.");
    if (!argument &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there "
            "is no need to pass it to mark_dirty().",
            1) < 0)
        return -1;
    if (t->base && PyTuple_GET_SIZE(c->raw) > 1)
        return refuse("If your Function modifies inplace an input that is a view of another Tensor, your "
                      "Function cannot return "
                      "more than one Tensor. This is not supported by the current autograd engine. You "
                      "should either make sure "
                      "the input is not a view (using .clone() for example) or make your Function only "
                      "return one Tensor "
                      "(potentially splitting it into two Functions: one doing the inplace that returns a "
                      "single Tensor and a "
                      "second one that does the other operations). You can ask on the forum "
                      "https://discuss.pytorch.org/ if you "
                      "need help to do this change.");
    Py_CLEAR(t->grad);
    rl_node *node = (rl_node *)Py_NewRef((PyObject *)c->ctx);
    return t->base ? rl_graph_rebase(t, node) : rl_graph_set(t, node, nr);
}

/* What the caller gets for one tensor of forward; *differs: a gradient can come back through it. */
static PyObject *result_of(apply_call *c, PyObject *o, int nr, bool *differs) {
    rl_function *f = function_of(c->ctx);
    bool argument = is_argument(c, o), dirty = among(f->dirty, o);
    *differs = c->records && rl_is_float(((rl_tensor *)o)->v.dtype) && !among(f->fixed, o);
    RL_OWNED PyObject *result = NULL;
    if (!*differs) {
        result = without_history(o, argument, dirty);
    } else if (dirty) {
        if (rebase_dirty(c, (rl_tensor *)o, argument, nr) < 0) return NULL;
        result = Py_NewRef(o);
    } else {
        if (argument && c->has_setup && among(f->to_save, o)) {
            refuse("An input that has been returned as-is as output is being saved for backward. This is not "
                   "supported if you override setup_context. You should return and save a view of the input "
                   "instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself.");
            return NULL;
        }
        result = argument ? view_of(o) : Py_NewRef(o);
        if (!result || rl_graph_set((rl_tensor *)result, (rl_node *)Py_NewRef((PyObject *)c->ctx), nr) < 0)
            return NULL;
    }
    if (result && !(argument && dirty) && ((rl_tensor *)result)->base)
        ((rl_tensor *)result)->creation = RL_VIEW_FUNCTION;
    return rl_move(&result);
}

static int make_results(apply_call *c) {
    Py_ssize_t n = PyTuple_GET_SIZE(c->raw);
    int n_differ = 0;
    if (!(c->results = PyTuple_New(n))) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GET_ITEM(c->raw, i);
        bool differs = false;
        PyObject *result = rl_tensor_check(o) ? result_of(c, o, (int)i, &differs) : Py_NewRef(o);
        if (!result) return -1;
        PyTuple_SET_ITEM(c->results, i, result);
        n_differ += differs;
    }
    for (Py_ssize_t i = 0; n_differ > 1 && i < n; i++) {
        rl_tensor *t = (rl_tensor *)PyTuple_GET_ITEM(c->results, i);
        if (rl_tensor_check((PyObject *)t) && t->base) t->creation = RL_VIEW_MULTI;
    }
    return 0;
}

/* ---- saved tensors ---- */
static int save_all(apply_call *c, PyObject *to_save) {
    rl_node *node = c->ctx;
    node->keeps = true;
    for (Py_ssize_t i = 0; to_save && i < PyTuple_GET_SIZE(to_save); i++) {
        PyObject *o = PyTuple_GET_ITEM(to_save, i);
        rl_saved *s = &node->saved[node->n_saved];
        if (o != Py_None && !rl_tensor_check(o)) {
            PyErr_Format(PyExc_TypeError,
                         "save_for_backward can only save variables, but argument %zd is of type %s", i,
                         Py_TYPE(o)->tp_name);
            return -1;
        }
        rl_tensor *t = (rl_tensor *)o;
        bool own = o != Py_None && t->grad_fn == node;
        int failed = o == Py_None ? 0 : rl_saved_set(s, o, own ? RL_MAX_ARGS + t->output_nr : 0, 0, own);
        node->n_saved++; /* so that what a failure leaves behind is dropped with the node */
        if (failed) return -1;
    }
    return 0;
}

static int finish(apply_call *c, PyObject *answer) {
    c->raw = PyTuple_Check(answer) ? Py_NewRef(answer) : PyTuple_Pack(1, answer);
    if (!c->raw || check_all_marks(c) < 0) return -1;
    rl_function *f = function_of(c->ctx);
    RL_OWNED PyObject *to_save = Py_XNewRef(f->to_save); /* warnings and packing may run anything */
    Py_ssize_t n = PyTuple_GET_SIZE(c->raw), n_saved = to_save ? PyTuple_GET_SIZE(to_save) : 0;
    if (n > MAX_RESULTS || n_saved > MAX_RESULTS) return refuse("a Function has too many results");
    if (c->records && function_results(c->ctx, ((PyTupleObject *)c->raw)->ob_item, (int)n, (int)n_saved) < 0)
        return -1;
    if (make_results(c) < 0) return -1;
    Py_CLEAR(f->dirty);
    Py_CLEAR(f->fixed);
    Py_CLEAR(f->for_forward);
    Py_CLEAR(f->to_save);
    return c->records ? save_all(c, to_save) : 0;
}

static PyObject *apply(PyObject *cls, PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                       bool has_setup) {
    apply_call c = {.cls = cls,
                    .args = args,
                    .n_args = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0),
                    .kwnames = kwnames,
                    .has_setup = has_setup};
    rl_mark mark = {0};
    if (RL_UNLIKELY(rl_profiling.id)) mark = rl_profiled_function(cls);
    RL_OWNED PyObject *answer = begin(&c) < 0 ? NULL : run_forward(&c), *result = NULL;
    if (answer && finish(&c, answer) == 0)
        result = PyTuple_Check(answer) ? Py_NewRef(c.results) : Py_NewRef(PyTuple_GET_ITEM(c.results, 0));
    Py_XDECREF(c.raw);
    Py_XDECREF(c.results);
    Py_XDECREF((PyObject *)c.ctx);
    rl_profile_end(mark);
    return rl_move(&result);
}

/* ---- Function.apply ---- */
/* a function of rushlight.autograd.function; borrowed */
static PyObject *python_part(PyObject **cache, const char *name) {
    if (*cache) return *cache;
    RL_OWNED PyObject *module = PyImport_ImportModule("rushlight.autograd.function");
    return *cache = module ? PyObject_GetAttrString(module, name) : NULL;
}

/* 1: the class overrides setup_context, so that forward gets no ctx; -1: raised */
static int overrides_setup(PyObject *cls) {
    static PyObject *base;
    PyObject *usual = python_part(&base, "_setup_context");
    RL_OWNED PyObject *setup = usual ? PyObject_GetAttrString(cls, "setup_context") : NULL;
    return setup ? setup != usual : -1;
}

/* Are the arguments those of forward one for one? Otherwise inspect binds them and adds the defaults. */
static int are_bound(PyObject *cls, Py_ssize_t n, PyObject *kwnames) {
    RL_OWNED PyObject *forward = PyObject_GetAttrString(cls, "forward");
    if (!forward) return -1;
    if (kwnames || !PyFunction_Check(forward)) return 0;
    const PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(forward);
    return code->co_argcount == n && !code->co_kwonlyargcount;
}

static PyObject *type_apply(PyObject *cls, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    static PyObject *binder;
    int setup = overrides_setup(cls), bound = setup > 0 ? are_bound(cls, n, kwnames) : 1;
    if (setup < 0 || bound < 0) return NULL;
    if (bound) return apply(cls, args, n, kwnames, setup);
    PyObject *bind = python_part(&binder, "_apply_with_defaults");
    Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject **with = bind ? PyMem_Malloc(((size_t)all + 1) * sizeof *with) : NULL;
    if (!with) return bind ? PyErr_NoMemory() : NULL;
    with[0] = cls;
    for (Py_ssize_t i = 0; i < all; i++) with[i + 1] = args[i];
    PyObject *result = PyObject_Vectorcall(bind, with, (size_t)n + 1, kwnames);
    PyMem_Free(with);
    return result;
}
static PyObject *type_apply_bound(PyObject *cls, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    return apply(cls, args, n, kwnames, true);
}

#define VECTOR(fn) (PyCFunction)(void (*)(void)) fn
static PyMethodDef function_methods[] = {
    {"apply", VECTOR(type_apply), METH_CLASS | METH_FASTCALL | METH_KEYWORDS,
     "apply($type, /, *args, **kwargs)\n--\n\nRun forward() of the class, and record its backward() in the "
     "autograd graph."},
    {"_apply_bound", VECTOR(type_apply_bound), METH_CLASS | METH_FASTCALL | METH_KEYWORDS,
     "_apply_bound($type, /, *args, **kwargs)\n--\n\napply() with all arguments of forward."},
    {NULL, NULL, 0, NULL}};

int rl_function_init(PyObject *m) {
    return function_type_init(m, function_methods);
}
