/* Which dtype comes of two: result_type(), promote_types(), can_cast(). */
#include "ops/promote.h"
#include "bindings.h"
#include "core/dtype.h"

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

static int operand(PyObject *o, rl_slot *slot) {
    if (!rl_tensor_check(o)) return rl_scalar_slot(o, slot);
    *slot = (rl_slot){.tag = RL_TENSOR, .u.t = &((rl_tensor *)o)->v};
    return 1;
}

static PyObject *promote_result_type(PyObject *m, PyObject *args, PyObject *kwargs) {
    char **const names = result_type_names(kwargs);
    PyObject *one, *two;
    rl_slot a, b;
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
