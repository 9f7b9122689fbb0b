/* What Python knows of the schemas: names of arguments, named tuples of results, texts of errors. */
#include "call.h"
#include <structmember.h>
#include <string.h>

static PyObject *names[RL_ALL_ARGS];
static PyTypeObject *tuple_types[RL_OP_COUNT];

PyObject *rl_arg_name(const rl_arg *a) {
    return names[a - rl_args];
}

/* one result a line, as PyTorch prints them */
static PyObject *results_repr(PyObject *self) {
    const char *name = strchr(Py_TYPE(self)->tp_name, '.'); /* behind the package */
    RL_OWNED PyObject *text = PyUnicode_FromFormat("torch%s(", name);
    PyMemberDef *member = Py_TYPE(self)->tp_members;
    for (Py_ssize_t i = 0; text && i < PyTuple_GET_SIZE(self); i++)
        Py_SETREF(text, PyUnicode_FromFormat("%U%s\n%s=%R", text, i ? "," : "", member[i].name,
                                             PyTuple_GET_ITEM(self, i)));
    return text ? PyUnicode_FromFormat("%U)", text) : NULL;
}

/* asks what no class made in Python has */
bool rl_is_tuple_type(const PyTypeObject *type) {
    return type->tp_repr == results_repr;
}

static int make_tuple_type(const rl_schema *s, PyTypeObject **made) {
    PyStructSequence_Field fields[RL_MAX_OUT + 1] = {{NULL, NULL}};
    const size_t room = sizeof RL_RETURN_TYPES + sizeof s->op->name;
    char *name = PyMem_Malloc(room); /* the type keeps it */
    if (!name) return -1;
    snprintf(name, room, RL_RETURN_TYPES "%s", s->op->name);
    for (int i = 0; i < s->op->n_shown; i++) fields[i].name = s->results[i];
    PyStructSequence_Desc desc = {name, NULL, fields, s->op->n_shown};
    *made = PyStructSequence_NewType(&desc);
    if (!*made) return -1;
    (*made)->tp_repr = results_repr;
    return 0;
}

/* overloads share the type of the first one */
static const rl_schema *first_of_name(const rl_schema *s) {
    const rl_schema *first = rl_schemas;
    while (first->op->n_shown != s->op->n_shown || strcmp(first->op->name, s->op->name) != 0) first++;
    return first;
}

/* made when something first answers with it: each is a type, which takes a while */
PyTypeObject *rl_tuple_type(const rl_schema *s) {
    PyTypeObject **type = &tuple_types[s - rl_schemas];
    if (*type) return *type;
    const rl_schema *first = first_of_name(s);
    if (first == s) return make_tuple_type(s, type) == 0 ? *type : NULL;
    PyTypeObject *shared = rl_tuple_type(first);
    return *type = (PyTypeObject *)Py_XNewRef(shared);
}

/* _return_types(): the named tuples by the names of their operators, for rushlight.return_types */
PyObject *rl_return_types(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    RL_OWNED PyObject *types = PyDict_New();
    for (int op = 0; types && op < RL_OP_COUNT; op++) {
        const rl_schema *s = &rl_schemas[op];
        if (s->op->n_shown < 2 || !s->results[0]) continue;
        PyTypeObject *type = rl_tuple_type(s);
        if (!type || PyDict_SetItemString(types, s->op->name, (PyObject *)type) < 0) return NULL;
    }
    return rl_move(&types);
}

int rl_names_init(void) {
    for (int op = 0; op < RL_OP_COUNT; op++) {
        const rl_schema *s = &rl_schemas[op];
        for (int i = 0; i < s->n; i++)
            if (!(names[s->arg - rl_args + i] = PyUnicode_InternFromString(s->arg[i].name))) return -1;
    }
    return 0;
}

/* ---- how errors and stubs print a schema ---- */
static const char *kind_text(const rl_arg *a) {
    switch ((rl_arg_kind)a->kind) {
    case RL_ARG_TENSOR: return "Tensor";
    case RL_ARG_OPERAND: return "Tensor";
    case RL_ARG_TENSORS:
    case RL_ARG_MAYBE_TENSORS: return "tuple of Tensors";
    case RL_ARG_SCALAR:
    case RL_ARG_NUMBER: return "Number";
    case RL_ARG_SCALARS: return "tuple of Scalars";
    case RL_ARG_FLOATS: return "tuple of floats";
    case RL_ARG_INT: return "int";
    case RL_ARG_FLOAT: return "float";
    case RL_ARG_BOOL: return "bool";
    case RL_ARG_INTS:
    case RL_ARG_MAYBE_INTS:
    case RL_ARG_PADDING: return "tuple of ints";
    case RL_ARG_STRING: return "str";
    case RL_ARG_DTYPE: return "torch.dtype";
    case RL_ARG_DEVICE: return "torch.device";
    case RL_ARG_LAYOUT: return "torch.layout";
    case RL_ARG_FORMAT: return "torch.memory_format";
    case RL_ARG_RNG: return "torch.Generator";
    }
    return "object";
}

static PyObject *default_text(const rl_arg *a) {
    switch (a->fallback.tag) {
    case RL_BOOLEAN: return PyUnicode_FromString(a->fallback.u.i ? "True" : "False");
    case RL_INT: return PyUnicode_FromFormat("%lld", (long long)a->fallback.u.i);
    case RL_STRING: return PyUnicode_FromFormat("\"%s\"", a->fallback.u.s);
    case RL_FLOAT: {
        RL_OWNED PyObject *d = PyFloat_FromDouble(a->fallback.u.d);
        return d ? PyObject_Repr(d) : NULL;
    }
    case RL_INTS: {
        RL_OWNED PyObject *list = PyTuple_New(a->fallback.n);
        for (int i = 0; list && i < a->fallback.n; i++)
            PyTuple_SET_ITEM(list, i, PyLong_FromLongLong(a->fallback.u.ints[i]));
        return list ? PyObject_Repr(list) : NULL;
    }
    default: return PyUnicode_FromString("None");
    }
}

PyObject *rl_schema_text(const rl_schema *s, bool second) {
    RL_OWNED PyObject *text = PyUnicode_FromString("(");
    for (int i = 0; text && i < s->n; i++) {
        const rl_arg *a = &s->arg[i];
        const char *star = a->keyword_only && (i == 0 || !s->arg[i - 1].keyword_only) ? "*, " : "";
        const bool word = second && a->kind == RL_ARG_PADDING, number = second && a->kind == RL_ARG_OPERAND;
        RL_OWNED PyObject *fallback = word              ? PyUnicode_FromString("\"valid\"")
                                      : a->has_fallback ? default_text(a)
                                                        : PyUnicode_FromString("");
        if (!fallback) return NULL;
        Py_SETREF(text, PyUnicode_FromFormat("%U%s%s%s %s%s%U", text, i ? ", " : "", star,
                                             word     ? "str"
                                             : number ? "Number"
                                                      : kind_text(a),
                                             a->name, a->has_fallback ? " = " : "", fallback));
    }
    if (text && (s->op->variants & RL_OUT)) {
        bool starred = s->n && s->arg[s->n - 1].keyword_only;
        Py_SETREF(text, PyUnicode_FromFormat("%U, %sTensor out = None", text, starred ? "" : "*, "));
    }
    return text ? PyUnicode_FromFormat("%U)", text) : NULL;
}
