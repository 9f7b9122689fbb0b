/* Python's entries, one C function per operator and kind, from the table: rushlight.add, Tensor.add,
 * Tensor.add_.
 */
#include "call/call.h"
#include "ops/help.h"
#include "bindings.h"
#include <string.h>

/* What Python calls: rushlight.add, Tensor.add, Tensor.add_. */
static PyObject *public_function(const rl_schema *s, int how, bool method) {
    RL_OWNED PyObject *name = PyUnicode_FromFormat("%s%s", s->op->name, how == RL_CALL_INPLACE ? "_" : "");
    if (!name) return NULL;
    if (method) return PyObject_GetAttr((PyObject *)rl_tensor_type, name);
    RL_OWNED PyObject *package = PyImport_ImportModule("rushlight._C");
    if (!package || PyObject_HasAttr(package, name)) return package ? PyObject_GetAttr(package, name) : NULL;
    RL_OWNED PyObject *nn = PyObject_GetAttrString(package, "_nn");
    return nn ? PyObject_GetAttr(nn, name) : NULL;
}

/* a class among the arguments or a mode answers */
static RL_NOINLINE PyObject *op_overridden(const rl_schema *s, int how, const rl_given *g) {
    RL_OWNED PyObject *func = public_function(s, how, g->self != NULL);
    return func ? rl_override_call(func, g->self, g->args, g->n, g->kwnames) : NULL;
}

/* torch.exp_(x) comes without a self */
static PyObject *op_call(const rl_schema *s, int how, PyObject *self, PyObject *const *args, Py_ssize_t n,
                         PyObject *kwnames) {
    const rl_given given = {self, args, n, kwnames, how == RL_CALL_INPLACE};
    rl_op_call b;
    PyObject *result;
    if (rl_bind(&b, s, &given) < 0) return NULL;
    if (RL_UNLIKELY(b.overridden || rl_override_mode()))
        result = op_overridden(s, how, &given);
    else if (RL_UNLIKELY(b.out && how == RL_CALL_INPLACE))
        result = PyErr_Format(PyExc_TypeError, "%s_() got an unexpected keyword argument 'out'", s->op->name);
    else
        result = rl_dispatcher_call(&b, how);
    rl_op_call_end(&b);
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

/* name and suffix live behind it, as long as the process, as its function does */
static PyMethodDef *method_def(const char *name, const char *suffix, entry_fn fn, const char *help) {
    if (!help) return PyErr_Format(PyExc_SystemError, "no help of operator %s%s", name, suffix), NULL;
    const size_t n = strlen(name), more = strlen(suffix) + 1;
    PyMethodDef *def = PyMem_Malloc(sizeof *def + n + more);
    if (!def) return PyErr_NoMemory(), NULL;
    char *kept = memcpy(def + 1, name, n);
    memcpy(kept + n, suffix, more);
    *def = (PyMethodDef){kept, (PyCFunction)(void (*)(void))fn, METH_FASTCALL | METH_KEYWORDS, help};
    return def;
}

/* pickles find it by the module's name and its own */
static int add_function(PyObject *m, const PyMethodDef *def, PyObject *module_name) {
    RL_OWNED PyObject *f = def ? PyCFunction_NewEx((PyMethodDef *)def, NULL, module_name) : NULL;
    return f ? PyObject_SetAttrString(m, def->ml_name, f) : -1;
}
static int add_method(const PyMethodDef *def) {
    RL_OWNED PyObject *f = def ? PyDescr_NewMethod(rl_tensor_type, (PyMethodDef *)def) : NULL;
    return f ? PyObject_SetAttrString((PyObject *)rl_tensor_type, def->ml_name, f) : -1;
}

/* the stub's and the docs' view of the table */
static PyObject *ops_table(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    RL_OWNED PyObject *list = PyList_New(0);
    for (int i = 0; list && i < RL_OP_COUNT; i++) {
        const rl_operator *op = &rl_operators[i];
        RL_OWNED PyObject *item = Py_BuildValue(
            "{s:s,s:s,s:s,s:s,s:i,s:K,s:s,s:i,s:i,s:s}", "id", op->id, "name", op->name, "schema", op->schema,
            "doc", op->doc, "flags", (int)(op->variants | op->traits | (op->no_grad ? 256 : 0)), "dtypes",
            (unsigned long long)op->dtypes, "node", op->node ? op->node : "", "kind", (int)op->kind,
            "autocast", (int)op->autocast[RL_CPU], "cuda",
            op->kernel_names[RL_CUDA] ? op->kernel_names[RL_CUDA] : "");
        if (!item || PyList_Append(list, item) < 0) return NULL;
    }
    return rl_move(&list);
}
static PyMethodDef ops_functions[] = {
    {"_ops_table", ops_table, METH_NOARGS, "_ops_table()\n--\n\nThe table of operators: a list of dicts."},
    {NULL, NULL, 0, NULL}};

static uint32_t variants_of(const rl_schema *s) {
    uint32_t variants = 0;
    for (; s; s = s->next) variants |= s->op->variants;
    return variants;
}

typedef struct {
    PyObject *m, *name, *nn, *nn_name;
} homes;

/* What Python sees of a name, whose overloads begin with s. */
static int add_entries(const homes *h, const rl_schema *s, const char *name, const rl_help *help) {
    const int id = (int)(s - rl_schemas);
    const uint32_t variants = variants_of(s);
    const bool in_nn = variants & RL_NN, method = variants & RL_METHOD;
    PyObject *home = in_nn ? h->nn : h->m, *home_name = in_nn ? h->nn_name : h->name;
    /* operators that only write in place carry the underscore in their name */
    if ((variants & RL_FUNCTION) &&
        add_function(h->m, method_def(name, "", entries[id].function, help->function), h->name) < 0)
        return -1;
    if (in_nn &&
        add_function(h->nn, method_def(name, "", entries[id].function, help->function), h->nn_name) < 0)
        return -1;
    if (method && add_method(method_def(name, "", entries[id].method, help->method)) < 0) return -1;
    if (!(variants & RL_INPLACE)) return 0;
    if (method && add_method(method_def(name, "_", entries[id].inplace, help->inplace_method)) < 0) return -1;
    /* F.relu_(x), torch.exp_(x); arithmetic has no such functions in PyTorch, and few others have */
    const uint32_t tensors = s->op->tensors;
    const bool usual = s->op->kind == RL_KIND_OP && !(tensors & (tensors - 1)) && !s->op->no_grad;
    if (!in_nn && !usual && !(variants & RL_INPLACE_FUNCTION)) return 0;
    return add_function(home, method_def(name, "_", entries[id].inplace, help->inplace_function), home_name);
}

/* other names of operators */
static const struct {
    const char *name;
    int id;
} aliases[] = {
#define OP(...)
#define ALIAS(name, of) {#name, RL_OP_##of},
#include "ops/declarations/all.def"
};

int rl_ops_init(PyObject *m) {
    if (rl_names_init() < 0) return -1;
    RL_OWNED PyObject *name = PyUnicode_InternFromString("rushlight");
    RL_OWNED PyObject *nn_name = PyUnicode_FromString("rushlight._C._nn");
    RL_OWNED PyObject *nn = nn_name ? PyModule_NewObject(nn_name) : NULL;
    if (!name || !nn) return -1;
    const homes h = {m, name, nn, nn_name};
    for (int i = 0; i < RL_OP_COUNT; i++)
        if (rl_schemas[i].first &&
            add_entries(&h, &rl_schemas[i], rl_operators[i].name, &rl_operator_help[i]) < 0)
            return -1;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(aliases); i++)
        if (add_entries(&h, &rl_schemas[aliases[i].id], aliases[i].name, &rl_alias_help[i]) < 0) return -1;
    if (PyModule_AddFunctions(m, ops_functions) < 0) return -1;
    return PyModule_AddObjectRef(m, "_nn", nn);
}
