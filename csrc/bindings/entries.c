/* Python's entries, one C function per operator and kind, from the table: rushlight.add, Tensor.add,
 * Tensor.add_.
 */
#include "call/call.h"
#include "bindings.h"
#include <string.h>

static PyObject *op_call(const rl_schema *s, int how, PyObject *self, PyObject *const *args, Py_ssize_t n,
                         PyObject *kwnames) {
    rl_bound b;
    if (rl_bind(&b, s, &(rl_given){self, args, n, kwnames}) < 0) return NULL;
    PyObject *result = rl_dispatcher_call(&b, how);
    rl_bound_end(&b);
    return result;
}

/* torch.exp_(x): the same without a self */
static PyObject *op_inplace(const rl_schema *s, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    rl_bound b;
    PyObject *result = NULL;
    if (rl_bind(&b, s, &(rl_given){NULL, args, n, kwnames}) < 0) return NULL;
    if (b.out)
        PyErr_Format(PyExc_TypeError, "%s_() got an unexpected keyword argument 'out'", s->op->name);
    else
        result = rl_dispatcher_call(&b, RL_CALL_INPLACE);
    rl_bound_end(&b);
    return result;
}

#define ENTRIES(id)                                                                                          \
    static PyObject *function_##id(PyObject *m, PyObject *const *a, Py_ssize_t n, PyObject *kw) {            \
        (void)m;                                                                                             \
        return op_call(&rl_schemas[RL_OP_##id], RL_CALL_NORMAL, NULL, a, n, kw);                             \
    }                                                                                                        \
    static PyObject *method_##id(PyObject *self, PyObject *const *a, Py_ssize_t n, PyObject *kw) {           \
        return op_call(&rl_schemas[RL_OP_##id], RL_CALL_NORMAL, self, a, n, kw);                             \
    }                                                                                                        \
    static PyObject *inplace_##id(PyObject *self, PyObject *const *a, Py_ssize_t n, PyObject *kw) {          \
        if (!self) return op_inplace(&rl_schemas[RL_OP_##id], a, n, kw);                                     \
        return op_call(&rl_schemas[RL_OP_##id], RL_CALL_INPLACE, self, a, n, kw);                            \
    }
#define OP(id, ...) ENTRIES(id)
#include "ops/declarations/all.def"

typedef PyObject *(*entry_fn)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
static const struct {
    entry_fn function, method, inplace;
} entries[RL_OP_COUNT] = {
#define OP(id, ...) {function_##id, method_##id, inplace_##id},
#include "ops/declarations/all.def"
};

/* "add(input, other, *, alpha=1)\n--\n\ndoc": what help() and inspect.signature() read */
static char *entry_doc(const rl_schema *s, const char *name, bool method) {
    RL_OWNED PyObject *text = PyUnicode_FromFormat("%s(%s", name, method ? "$self, /" : "");
    bool starred = false, comma = method;
    for (int i = method ? 1 : 0; text && i < s->n; i++) {
        const rl_arg *a = &s->arg[i];
        /* a plain parameter cannot follow one with a default: those operators take it by keyword */
        const char *star = a->keyword_only && !starred ? "*, " : "";
        starred |= a->keyword_only;
        Py_SETREF(text, PyUnicode_FromFormat("%U%s%s%s", text, comma ? ", " : "", star, a->name));
        comma = true;
        if (!text || !a->has_fallback) continue;
        const rl_slot *d = &a->fallback;
        if (d->tag == RL_INT)
            Py_SETREF(text, PyUnicode_FromFormat("%U=%lld", text, (long long)d->u.i));
        else if (d->tag == RL_TRUTH)
            Py_SETREF(text, PyUnicode_FromFormat("%U=%s", text, d->u.i ? "True" : "False"));
        else if (d->tag == RL_TEXT)
            Py_SETREF(text, PyUnicode_FromFormat("%U='%s'", text, d->u.s));
        else if (d->tag == RL_FLOAT) {
            RL_OWNED PyObject *number = PyFloat_FromDouble(d->u.d);
            if (!number) return NULL;
            Py_SETREF(text, PyUnicode_FromFormat("%U=%R", text, number));
        } else
            Py_SETREF(text, PyUnicode_FromFormat("%U=None", text));
    }
    if (text && (s->op->variants & RL_OUT) && !method && name == s->op->name)
        Py_SETREF(text, PyUnicode_FromFormat("%U%sout=None", text, starred ? ", " : ", *, "));
    if (text) Py_SETREF(text, PyUnicode_FromFormat("%U)\n--\n\n%s", text, s->op->doc));
    Py_ssize_t n;
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
    char *doc = utf8 ? PyMem_Malloc((size_t)n + 1) : NULL;
    if (doc) memcpy(doc, utf8, (size_t)n + 1);
    return doc;
}

static PyMethodDef *method_def(const rl_schema *s, const char *suffix, entry_fn fn, bool method) {
    size_t n = strlen(s->op->name);
    PyMethodDef *def = PyMem_Calloc(1, sizeof *def);
    char *name = PyMem_Malloc(n + 2);
    if (!def || !name) {
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(name, s->op->name, n + 1);
    strcat(name, suffix);
    char *doc = entry_doc(s, *suffix ? name : s->op->name, method);
    if (!doc) return NULL;
    *def = (PyMethodDef){name, (PyCFunction)(void (*)(void))fn, METH_FASTCALL | METH_KEYWORDS, doc};
    return def; /* lives as long as the process, as its function does */
}

/* pickles find it by the module's name and its own */
static int add_function(PyObject *m, const rl_schema *s, const char *suffix, entry_fn fn,
                        PyObject *module_name) {
    PyMethodDef *def = method_def(s, suffix, fn, false);
    RL_OWNED PyObject *f = def ? PyCFunction_NewEx(def, NULL, module_name) : NULL;
    return f ? PyObject_SetAttrString(m, def->ml_name, f) : -1;
}

static int add_method(const rl_schema *s, const char *suffix, entry_fn fn) {
    PyMethodDef *def = method_def(s, suffix, fn, true);
    RL_OWNED PyObject *f = def ? PyDescr_NewMethod(rl_tensor_type, def) : NULL;
    return f ? PyObject_SetAttrString((PyObject *)rl_tensor_type, def->ml_name, f) : -1;
}

/* the stub's and the docs' view of the table */
static PyObject *ops_table(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    RL_OWNED PyObject *list = PyList_New(0);
    for (int i = 0; list && i < RL_OP_COUNT; i++) {
        const rl_operator *op = &rl_operators[i];
        RL_OWNED PyObject *item = Py_BuildValue(
            "{s:s,s:s,s:s,s:s,s:i,s:K,s:s,s:i}", "id", op->id, "name", op->name, "schema", op->schema, "doc",
            op->doc, "flags", (int)(op->variants | op->traits | (op->no_grad ? 256 : 0)), "dtypes",
            (unsigned long long)op->dtypes, "node", op->node ? op->node : "", "kind", (int)op->kind);
        if (!item || PyList_Append(list, item) < 0) return NULL;
    }
    return rl_give(&list);
}
static PyMethodDef ops_functions[] = {
    {"_ops_table", ops_table, METH_NOARGS, "_ops_table()\n--\n\nThe operator operators: a list of dicts."},
    {NULL, NULL, 0, NULL}};

int rl_ops_init(PyObject *m) {
    if (rl_names_init() < 0) return -1;
    RL_OWNED PyObject *name = PyUnicode_FromString("rushlight");
    RL_OWNED PyObject *nn_name = PyUnicode_FromString("rushlight._C._nn");
    RL_OWNED PyObject *nn = nn_name ? PyModule_NewObject(nn_name) : NULL;
    if (!name || !nn) return -1;
    for (int i = 0; i < RL_OP_COUNT; i++) {
        const rl_schema *s = &rl_schemas[i];
        uint32_t variants = s->op->variants;
        if (!s->first) continue;
        /* operators that only write in place carry the underscore in their name */
        if ((variants & RL_FUNCTION) && add_function(m, s, "", entries[i].function, name) < 0) return -1;
        if ((variants & RL_NN) && add_function(nn, s, "", entries[i].function, nn_name) < 0) return -1;
        if ((variants & RL_METHOD) && add_method(s, "", entries[i].method) < 0) return -1;
        if ((variants & RL_INPLACE) && (variants & RL_METHOD) && add_method(s, "_", entries[i].inplace) < 0)
            return -1;
        /* F.relu_(x), torch.exp_(x); arithmetic has no such functions in PyTorch */
        bool in_nn = variants & RL_NN;
        if ((variants & RL_INPLACE) && (in_nn || (!s->op->operands && !s->op->no_grad)) &&
            add_function(in_nn ? nn : m, s, "_", entries[i].inplace, in_nn ? nn_name : name) < 0)
            return -1;
    }
    if (PyModule_AddFunctions(m, ops_functions) < 0) return -1;
    return PyModule_AddObjectRef(m, "_nn", nn);
}
