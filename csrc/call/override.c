/* Classes and modes that answer for functions themselves: see override.h. */
#include "override.h"
#include "call.h"
#include "autograd_graph/node.h"
#include <string.h>

static PyObject *disabled; /* _disabled_torch_function_impl: a class that has it is plain */
/* what a thread does not ask: nobody's class, nobody at all */
enum { ASKS_ALL, ASKS_MODES, ASKS_NOBODY };
static _Thread_local int asking = ASKS_ALL;
static _Thread_local PyObject *modes; /* a list, the innermost last; NULL without */

/* borrowed; of the class, as for all special methods */
static PyObject *answer_of(PyTypeObject *type) {
    static PyObject *name;
    if (!name && !(name = PyUnicode_InternFromString("__torch_function__"))) PyErr_Clear();
    return name ? _PyType_Lookup(type, name) : NULL;
}

bool rl_override_class(PyObject *o) {
    if (rl_is_plain(o) || asking != ASKS_ALL) return false;
    PyObject *answer = answer_of(Py_TYPE(o));
    return answer && answer != disabled;
}

/* whenever `asking` or `modes` changed */
static void modes_changed(void) {
    const bool any = asking != ASKS_NOBODY && modes && PyList_GET_SIZE(modes) > 0;
    rl_intercept(RL_INTERCEPT_torch_function, any);
}
static void ask_from_now(int whom) {
    asking = whom;
    modes_changed();
}

/* ---- whose classes are asked ---- */
/* One of each class, subclasses before what they derive from, else in the order of the arguments. */
static int note_one(PyObject *found, PyObject *o) {
    if (!rl_override_class(o)) return 0;
    Py_ssize_t at = PyList_GET_SIZE(found);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found); i++) {
        PyTypeObject *type = Py_TYPE(PyList_GET_ITEM(found, i));
        if (type == Py_TYPE(o)) return 0;
        if (at > i && PyType_IsSubtype(Py_TYPE(o), type)) at = i;
    }
    return PyList_Insert(found, at, o);
}
static int note_argument(PyObject *found, PyObject *o) {
    if (!PyTuple_Check(o) && !PyList_Check(o)) return note_one(found, o);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
        if (note_one(found, PySequence_Fast_GET_ITEM(o, i)) < 0) return -1;
    return 0;
}

static PyObject *who_answers(PyObject *args, PyObject *kwargs) {
    RL_OWNED PyObject *found = PyList_New(0);
    Py_ssize_t at = 0;
    PyObject *name, *value;
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(args); i++)
        if (note_argument(found, PyTuple_GET_ITEM(args, i)) < 0) return NULL;
    while (found && kwargs && PyDict_Next(kwargs, &at, &name, &value))
        if (note_argument(found, value) < 0) return NULL;
    return rl_move(&found);
}

static PyObject *classes_of(PyObject *found) {
    PyObject *types = PyTuple_New(PyList_GET_SIZE(found));
    for (Py_ssize_t i = 0; types && i < PyList_GET_SIZE(found); i++)
        PyTuple_SET_ITEM(types, i, Py_NewRef((PyObject *)Py_TYPE(PyList_GET_ITEM(found, i))));
    return types;
}

/* ---- asking ---- */
static PyObject *ask(PyObject *o, PyObject *func, PyObject *types, PyObject *args, PyObject *kwargs) {
    RL_OWNED PyObject *answer = PyObject_GetAttrString(o, "__torch_function__");
    return answer ? PyObject_CallFunctionObjArgs(answer, func, types, args, kwargs ? kwargs : Py_None, NULL)
                  : NULL;
}

/* the innermost mode, which is off meanwhile */
static PyObject *ask_mode(PyObject *func, PyObject *types, PyObject *args, PyObject *kwargs) {
    Py_ssize_t last = PyList_GET_SIZE(modes) - 1;
    RL_OWNED PyObject *mode = Py_NewRef(PyList_GET_ITEM(modes, last));
    if (PyList_SetSlice(modes, last, last + 1, NULL) < 0) return NULL;
    modes_changed();
    PyObject *result = ask(mode, func, types, args, kwargs);
    /* others that came and went meanwhile may have taken the list along */
    if ((!modes && !(modes = PyList_New(0))) || PyList_Append(modes, mode) < 0) Py_CLEAR(result);
    modes_changed();
    return result;
}

static PyObject *nobody_answered(PyObject *func, PyObject *types) {
    RL_OWNED PyObject *name = PyObject_GetAttrString(func, "__name__"), *text = NULL;
    if (!name) return NULL;
    text = PyUnicode_FromFormat("Multiple dispatch failed for 'torch.%S'; all __torch_function__ handlers "
                                "returned NotImplemented:\n\n",
                                name);
    for (Py_ssize_t i = 0; text && i < PyTuple_GET_SIZE(types); i++)
        Py_SETREF(text, PyUnicode_FromFormat("%U  - tensor subclass %S\n", text, PyTuple_GET_ITEM(types, i)));
    if (text) PyErr_SetObject(PyExc_TypeError, text);
    return NULL;
}

/* found: a list, or NULL */
static PyObject *answer(PyObject *func, PyObject *found, PyObject *args, PyObject *kwargs) {
    RL_OWNED PyObject *types = found ? classes_of(found) : NULL;
    if (!types) return NULL;
    if (rl_override_mode()) {
        PyObject *result = ask_mode(func, types, args, kwargs);
        if (result != Py_NotImplemented) return result;
        Py_DECREF(result);
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found); i++) {
        PyObject *result = ask(PyList_GET_ITEM(found, i), func, types, args, kwargs);
        if (result != Py_NotImplemented) return result;
        Py_DECREF(result);
    }
    return nobody_answered(func, types);
}

PyObject *rl_override_run(PyObject *func, PyObject *args, PyObject *kwargs) {
    RL_OWNED PyObject *found = who_answers(args, kwargs);
    return answer(func, found, args, kwargs);
}

PyObject *rl_override_call(PyObject *func, PyObject *self, PyObject *const *given, Py_ssize_t n,
                           PyObject *kwnames) {
    const int method = self != NULL;
    const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    RL_OWNED PyObject *args = PyTuple_New(method + n), *kwargs = args && named ? PyDict_New() : NULL;
    if (!args || (named && !kwargs)) return NULL;
    if (method) PyTuple_SET_ITEM(args, 0, Py_NewRef(self));
    for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(args, method + i, Py_NewRef(given[i]));
    for (Py_ssize_t i = 0; i < named; i++)
        if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(kwnames, i), given[n + i]) < 0) return NULL;
    return rl_override_run(func, args, kwargs);
}

PyObject *rl_override_attribute(const char *name, PyObject *self) {
    RL_OWNED PyObject *attribute = PyObject_GetAttrString((PyObject *)rl_tensor_type, name);
    RL_OWNED PyObject *func = attribute ? PyObject_GetAttrString(attribute, "__get__") : NULL;
    return func ? rl_override_call(func, self, NULL, 0, NULL) : NULL;
}

PyObject *rl_override_member(const char *name, PyObject *self, PyObject *first, PyObject *second) {
    RL_OWNED PyObject *func = PyObject_GetAttrString((PyObject *)rl_tensor_type, name);
    RL_OWNED PyObject *args = func ? PyTuple_Pack(1 + !!first + !!second, self, first, second) : NULL;
    return args ? rl_override_run(func, args, NULL) : NULL;
}

/* ---- Tensor's own answer: the result as the class ---- */
static PyObject *as_class(PyObject *result, PyTypeObject *cls);
static PyObject *as_class_list(PyObject *list, PyTypeObject *cls) {
    RL_OWNED PyObject *made = PyList_New(0);
    for (Py_ssize_t i = 0; made && i < PyList_GET_SIZE(list); i++) { /* what runs in between may change it */
        RL_OWNED PyObject *item = Py_NewRef(PyList_GET_ITEM(list, i));
        RL_OWNED PyObject *one = as_class(item, cls);
        if (!one || PyList_Append(made, one) < 0) return NULL;
    }
    return rl_move(&made);
}
static PyObject *as_class_tuple(PyObject *tuple, PyTypeObject *cls) {
    const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    RL_OWNED PyObject *made =
        PyTuple_CheckExact(tuple) ? PyTuple_New(n) : PyStructSequence_New(Py_TYPE(tuple));
    for (Py_ssize_t i = 0; made && i < n; i++) {
        PyObject *one = as_class(PyTuple_GET_ITEM(tuple, i), cls);
        if (!one) return NULL;
        PyTuple_SET_ITEM(made, i, one);
    }
    return rl_move(&made);
}

/* result as an object of cls: tensors as views of themselves, and what tuples and lists hold */
static PyObject *as_class(PyObject *result, PyTypeObject *cls) {
    if (PyTuple_CheckExact(result) || PyList_CheckExact(result) || rl_is_tuple_type(Py_TYPE(result))) {
        if (Py_EnterRecursiveCall(" in __torch_function__")) return NULL;
        PyObject *all = PyList_CheckExact(result) ? as_class_list(result, cls) : as_class_tuple(result, cls);
        Py_LeaveRecursiveCall();
        return all;
    }
    if (!rl_tensor_check(result) || PyType_IsSubtype(Py_TYPE(result), cls)) return Py_NewRef(result);
    return rl_tensor_as_class(result, cls);
}

PyObject *rl_tensor_as_class(PyObject *tensor, PyTypeObject *cls) {
    RL_OWNED PyObject *made = rl_op_unary(RL_OP_alias, tensor);
    rl_tensor *view = (rl_tensor *)made;
    RL_OWNED PyObject *object = view ? (PyObject *)rl_tensor_alias(cls, view) : NULL;
    rl_tensor *t = (rl_tensor *)object;
    if (!t) return NULL;
    t->base = Py_XNewRef(view->base);
    t->creation = view->creation;
    t->requires_grad = view->requires_grad;
    t->seen = view->seen;
    if (view->grad_fn && rl_graph_set(t, (rl_node *)Py_NewRef(view->grad_fn), view->output_nr) < 0)
        return NULL;
    return rl_move(&object);
}

/* func(*args, **kwargs) where no class is asked */
static PyObject *call_plainly(PyObject *func, PyObject *args, PyObject *kwargs, int whom) {
    const int before = asking;
    if (asking < whom) ask_from_now(whom);
    PyObject *result = PyObject_Call(func, args, kwargs);
    if (asking != before) ask_from_now(before);
    return result;
}

/* x.grad and x._base are what they are */
static bool answers_as_it_is(PyObject *func) {
    if (strcmp(Py_TYPE(func)->tp_name, "method-wrapper") != 0) return false;
    RL_OWNED PyObject *member = PyObject_GetAttrString(func, "__self__");
    RL_OWNED PyObject *name = member ? PyObject_GetAttrString(member, "__name__") : NULL;
    if (!name) PyErr_Clear();
    return name && (PyUnicode_CompareWithASCIIString(name, "grad") == 0 ||
                    PyUnicode_CompareWithASCIIString(name, "_base") == 0);
}

static int parse_question(PyObject *args, PyObject *kwargs, PyObject *part[4]) {
    static char *names[] = {"func", "types", "args", "kwargs", NULL};
    part[2] = part[3] = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:__torch_function__", names, &part[0], &part[1],
                                     &part[2], &part[3]))
        return -1;
    if (part[3] == Py_None) part[3] = NULL;
    if ((part[3] && !PyDict_Check(part[3])) ||
        (part[2] && !PyTuple_Check(part[2]) && !PyList_Check(part[2]))) {
        PyErr_SetString(PyExc_TypeError, "__torch_function__(): args must be a tuple and kwargs a dict");
        return -1;
    }
    return 0;
}

static PyObject *override_default(PyObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *part[4];
    if (parse_question(args, kwargs, part) < 0) return NULL;
    RL_OWNED PyObject *types = PySequence_Tuple(part[1]);
    RL_OWNED PyObject *given = part[2] ? PySequence_Tuple(part[2]) : PyTuple_New(0);
    if (!types || !given) return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        int below = PyObject_IsSubclass(cls, PyTuple_GET_ITEM(types, i));
        if (below < 0) return NULL;
        if (!below) Py_RETURN_NOTIMPLEMENTED;
    }
    RL_OWNED PyObject *result = call_plainly(part[0], given, part[3], ASKS_MODES);
    if (!result || cls == (PyObject *)rl_tensor_type || answers_as_it_is(part[0])) return rl_move(&result);
    return as_class(result, (PyTypeObject *)cls);
}

static PyObject *override_disabled(PyObject *m, PyObject *args, PyObject *kwargs) {
    PyObject *part[4];
    (void)m;
    if (parse_question(args, kwargs, part) < 0) return NULL;
    RL_OWNED PyObject *given = part[2] ? PySequence_Tuple(part[2]) : PyTuple_New(0);
    return given ? call_plainly(part[0], given, part[3], ASKS_MODES) : NULL;
}

/* ---- what rushlight.overrides stands on ---- */
static PyObject *override_asked(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    (void)m;
    bool any = rl_override_mode();
    for (Py_ssize_t i = 0; !any && i < n; i++) {
        PyObject *o = args[i];
        any = rl_override_class(o);
        for (Py_ssize_t j = 0;
             !any && (PyTuple_Check(o) || PyList_Check(o)) && j < PySequence_Fast_GET_SIZE(o); j++)
            any = rl_override_class(PySequence_Fast_GET_ITEM(o, j));
    }
    return PyBool_FromLong(any);
}
static PyObject *override_asked_of(PyObject *m, PyObject *relevant) {
    (void)m;
    RL_OWNED PyObject *list = PySequence_Tuple(relevant);
    return list ? override_asked(m, &PyTuple_GET_ITEM(list, 0), PyTuple_GET_SIZE(list)) : NULL;
}
static PyObject *override_handle(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    (void)m;
    if (n != 4 || !PyTuple_Check(args[1]) || !PyTuple_Check(args[2]) || !PyDict_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "_handle_torch_function() takes a function, two tuples and a dict");
        return NULL;
    }
    RL_OWNED PyObject *found = who_answers(args[1], NULL);
    return answer(args[0], found, args[2], args[3]);
}
static PyObject *override_push(PyObject *m, PyObject *mode) {
    (void)m;
    if (!modes && !(modes = PyList_New(0))) return NULL;
    if (PyList_Append(modes, mode) < 0) return NULL;
    modes_changed();
    Py_RETURN_NONE;
}
static PyObject *override_pop(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    Py_ssize_t n = modes ? PyList_GET_SIZE(modes) : 0;
    if (n == 0) {
        PyErr_SetString(PyExc_RuntimeError, "Trying to pop from empty mode stack");
        return NULL;
    }
    RL_OWNED PyObject *mode = Py_NewRef(PyList_GET_ITEM(modes, n - 1));
    if (PyList_SetSlice(modes, n - 1, n, NULL) < 0) return NULL;
    if (n == 1) Py_CLEAR(modes); /* a thread may end */
    modes_changed();
    return rl_move(&mode);
}
static PyObject *override_stack(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return modes ? PyList_AsTuple(modes) : PyTuple_New(0);
}
/* whom this thread asks from now on; answers what was before */
static PyObject *override_set_asking(PyObject *m, PyObject *whom) {
    (void)m;
    long value = PyLong_AsLong(whom);
    if (value == -1 && PyErr_Occurred()) return NULL;
    long before = asking;
    ask_from_now(value <= ASKS_ALL ? ASKS_ALL : value >= ASKS_NOBODY ? ASKS_NOBODY : ASKS_MODES);
    return PyLong_FromLong(before);
}

#define FAST(f)  (PyCFunction)(void (*)(void)) f, METH_FASTCALL
#define WORDS(f) (PyCFunction)(void (*)(void)) f, METH_VARARGS | METH_KEYWORDS
static PyMethodDef override_functions[] = {
    {"_disabled_torch_function_impl", WORDS(override_disabled),
     "_disabled_torch_function_impl(func, types, args=(), kwargs=None)\n--\n\nThe `__torch_function__` of "
     "classes whose results stay plain tensors."},
    {"_has_torch_function", override_asked_of, METH_O,
     "_has_torch_function(relevant_args)\n--\n\nDoes a class or a mode answer for itself?"},
    {"_has_torch_function_variadic", FAST(override_asked),
     "_has_torch_function_variadic(*relevant_args)\n--\n\nDoes a class or a mode answer for itself?"},
    {"_handle_torch_function", FAST(override_handle),
     "_handle_torch_function(func, relevant_args, args, kwargs)\n--\n\nWhat modes and classes answer."},
    {"_push_on_torch_function_stack", override_push, METH_O,
     "_push_on_torch_function_stack(mode)\n--\n\nThis thread asks a mode first."},
    {"_pop_torch_function_stack", override_pop, METH_NOARGS,
     "_pop_torch_function_stack()\n--\n\nThe innermost mode, which is asked no more."},
    {"_torch_function_stack", override_stack, METH_NOARGS,
     "_torch_function_stack()\n--\n\nThe modes of this thread, the innermost last."},
    {"_set_torch_function_asking", override_set_asking, METH_O,
     "_set_torch_function_asking(whom)\n--\n\n0: all, 1: modes only, 2: nobody."},
    {NULL, NULL, 0, NULL}};
static PyMethodDef default_method = {"__torch_function__", WORDS(override_default) | METH_CLASS,
                                     "__torch_function__($type, /, func, types, args=(), kwargs=None)\n--\n\n"
                                     "Calls func, and makes its results this "
                                     "class.\n\nhttps://docs.pytorch.org/docs/2.13/notes/extending.html"};

int rl_override_init(PyObject *m) {
    if (PyModule_AddFunctions(m, override_functions) < 0) return -1;
    RL_OWNED PyObject *method = PyDescr_NewClassMethod(rl_tensor_type, &default_method);
    disabled = PyObject_GetAttrString(m, "_disabled_torch_function_impl");
    if (!method || !disabled) return -1;
    return PyObject_SetAttrString((PyObject *)rl_tensor_type, "__torch_function__", method) < 0 ||
                   PyObject_SetAttrString((PyObject *)rl_parameter_type, "__torch_function__", disabled) < 0
               ? -1
               : 0;
}
