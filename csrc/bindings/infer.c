/* What would come of a call: result_type(), promote_types(), can_cast(), _infer(). */
#include "bindings.h"
#include "ops/promote.h"
#include "core/dtype.h"
#include "ops/infer.h"

static int dtype_argument(const char *function, PyObject *o, int position) {
    static const char *const names[2][2] = {{"from_", "to"}, {"type1", "type2"}};
    if (Py_IS_TYPE(o, rl_dtype_type)) return rl_dtype_parse(o);
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be torch.dtype, not %s", function,
                 names[function[0] == 'p'][position], position + 1, Py_TYPE(o)->tp_name);
    return -1;
}

static int two_dtypes(const char *function, PyObject *args, PyObject *kwargs, char **names, int *one,
                      int *two) {
    PyObject *first, *second;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", names, &first, &second)) return -1;
    if ((*one = dtype_argument(function, first, 0)) < 0) return -1;
    return *two = dtype_argument(function, second, 1);
}

static PyObject *promote_types(PyObject *m, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"type1", "type2", NULL};
    int one, two;
    (void)m;
    if (two_dtypes("promote_types", args, kwargs, names, &one, &two) < 0) return NULL;
    return rl_dtype_object(rl_dtype_promote(one, two));
}

static bool is_complex(int dtype) {
    return RL_SET_COMPLEX >> dtype & 1;
}
static bool is_whole(int dtype) {
    return (RL_SET_INTS | RL_BIT(RL_U16) | RL_BIT(RL_U32) | RL_BIT(RL_U64)) >> dtype & 1;
}

/* to a kind that holds no less: complex, float, integer, bool */
static PyObject *promote_can_cast(PyObject *m, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"from_", "to", NULL};
    int from, to;
    (void)m;
    if (two_dtypes("can_cast", args, kwargs, names, &from, &to) < 0) return NULL;
    bool floating = !is_whole(from) && !is_complex(from) && from != RL_BOOL;
    bool loses = (is_complex(from) && !is_complex(to)) || (floating && is_whole(to)) ||
                 (from != RL_BOOL && to == RL_BOOL);
    return PyBool_FromLong(!loses);
}

/* PyTorch's names of the two, by which of them is a number */
static char **result_type_names(PyObject *kwargs) {
    static char *names[][3] = {
        {"tensor", "other", NULL}, {"scalar", "tensor", NULL}, {"scalar1", "scalar2", NULL}};
    const int last = (int)Py_ARRAY_LENGTH(names) - 1;
    for (int i = last; kwargs && i >= 0; i--) {
        PyObject *second = PyDict_GetItemString(kwargs, names[i][1]);
        PyObject *first = PyDict_GetItemString(kwargs, names[i][0]);
        if (second && (first || PyDict_GET_SIZE(kwargs) == 1)) return names[i];
    }
    return names[0];
}

static int operand(PyObject *o, rl_value *slot) {
    if (!rl_tensor_check(o)) return rl_scalar_value(o, slot);
    *slot = (rl_value){.tag = RL_TENSOR, .u.t = &((rl_tensor *)o)->v};
    return 1;
}

static PyObject *promote_result_type(PyObject *m, PyObject *args, PyObject *kwargs) {
    char **const names = result_type_names(kwargs);
    PyObject *one, *two;
    rl_value a, b;
    (void)m;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:result_type", names, &one, &two)) return NULL;
    int first = operand(one, &a), second = first == 1 ? operand(two, &b) : 0;
    if (first < 0 || second < 0) return NULL;
    if (first && second) return rl_dtype_object(rl_types_common(&a, &b));
    return PyErr_Format(PyExc_TypeError,
                        "result_type(): argument '%s' (position %d) must be Tensor or Number, not %s",
                        names[first], first + 1, Py_TYPE(first ? two : one)->tp_name);
}

#define WORDS(f) (PyCFunction)(void (*)(void)) f, METH_VARARGS | METH_KEYWORDS
static PyMethodDef functions[] = {
    {"promote_types", WORDS(promote_types),
     "promote_types(type1, type2)\n--\n\n"
     "Return the smallest dtype that holds both.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.promote_types(torch.int32, torch.float16)\n"
     "torch.float16\n\n"
     "Same as torch.promote_types: https://docs.pytorch.org/docs/2.13/generated/torch.promote_types.html"},
    {"can_cast", WORDS(promote_can_cast),
     "can_cast(from_, to)\n--\n\n"
     "Test whether type promotion lets a dtype be cast to another.\n\n"
     "It does not from float to integer, nor from a number to bool.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)\n"
     "(True, False)"},
    {"result_type", WORDS(promote_result_type),
     "result_type(tensor1, tensor2)\n--\n\n"
     "Return the dtype of an operation with two tensors or numbers.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.result_type(torch.tensor([1, 2]), 1.5)\n"
     "torch.float32\n\n"
     "Same as torch.result_type: https://docs.pytorch.org/docs/2.13/generated/torch.result_type.html"},
    {NULL, NULL, 0, NULL}};

int rl_promote_init(PyObject *m) {
    return PyModule_AddFunctions(m, functions);
}

/* ---- rushlight._C._infer ----
 * what an operator would answer, for tests of ops/infer.c. */
static int operator_named(PyObject *id) {
    for (int op = 0; op < RL_OP_COUNT; op++)
        if (PyUnicode_CompareWithASCIIString(id, rl_operators[op].id) == 0) return op;
    PyErr_Format(PyExc_ValueError, "no operator is called %R", id);
    return -1;
}

/* a list of (name of the dtype, shape); None for a composite */
static PyObject *described(const rl_operator *op, rl_view *results) {
    RL_OWNED PyObject *list = PyList_New(0);
    for (int i = 0; i < op->n_out; i++) {
        RL_OWNED PyObject *shape = list ? rl_size_new(results[i].shape, results[i].ndim) : NULL;
        RL_OWNED PyObject *one = shape ? Py_BuildValue("sO", rl_dtype_name(results[i].dtype), shape) : NULL;
        if (one && PyList_Append(list, one) < 0) Py_CLEAR(one);
        if (!one) Py_CLEAR(list);
        rl_view_clear(&results[i]);
    }
    return rl_move(&list);
}

static PyObject *infer(PyObject *m, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    rl_op_call b;
    rl_view results[RL_MAX_OUT];
    PyObject *answer = NULL;
    (void)m;
    int op = n ? operator_named(args[0]) : -1;
    if (op < 0 || rl_bind(&b, &rl_schemas[op], &(rl_given){NULL, args + 1, n - 1, kwnames, false}) < 0)
        return NULL;
    if (b.overridden) {
        rl_op_call_end(&b);
        return PyErr_Format(PyExc_TypeError, "_infer() takes tensors, not what answers for itself");
    }
    switch (rl_infer((int)(b.schema->op - rl_operators), b.k.arg, results)) {
    case RL_OK: answer = described(b.schema->op, results); break;
    case RL_FAIL: rl_raise("_infer"); break;
    case RL_UNSUPPORTED: answer = Py_NewRef(Py_None); break;
    }
    rl_op_call_end(&b);
    return answer;
}

static PyMethodDef infer_functions[] = {
    {"_infer", (PyCFunction)(void (*)(void))infer, METH_FASTCALL | METH_KEYWORDS,
     "_infer(id, /, *args, **kwargs)\n--\n\nWhat the operator would answer, by "
     "its rules alone: a list of (dtype, "
     "shape), hidden results counted; None for one that is made of others."},
    {NULL, NULL, 0, NULL}};

int rl_infer_init(PyObject *m) {
    return PyModule_AddFunctions(m, infer_functions);
}
