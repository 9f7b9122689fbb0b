/* Operators of the language: x + 1, 1 - x, x @ y, x += y, x < y. They answer NotImplemented to strangers. */
#include "bindings.h"
#include "call/call.h"
#include "object/numpy.h"

static int operand_slot(PyObject *o, rl_value *s) {
    if (rl_tensor_check(o)) {
        *s = (rl_value){.tag = RL_TENSOR, .u.t = &((rl_tensor *)o)->v};
        return 1;
    }
    return rl_scalar_value(o, s);
}

static PyObject *number_binary(int op, PyObject *a, PyObject *b, int how);

/* ---- x + y where a class or a mode answers: as PyTorch's members are called ---- */
static const char *member_of(int op, int how, bool reflected) {
    static const struct {
        int op;
        const char *name, *reflected, *inplace;
    } members[] = {
        {RL_OP_add, "add", "add", "add_"},
        {RL_OP_sub, "sub", "__rsub__", "sub_"},
        {RL_OP_mul, "mul", "mul", "mul_"},
        {RL_OP_div, "div", "__rtruediv__", "div_"},
        {RL_OP_floor_divide, "__floordiv__", "__rfloordiv__", "__ifloordiv__"},
        {RL_OP_remainder, "remainder", "__rmod__", "remainder_"},
        {RL_OP_pow, "pow", "__rpow__", "pow_"},
        {RL_OP_matmul, "matmul", "__rmatmul__", "__imatmul__"},
        {RL_OP_bitwise_and, "__and__", "__rand__", "__iand__"},
        {RL_OP_bitwise_or, "__or__", "__ror__", "__ior__"},
        {RL_OP_bitwise_xor, "__xor__", "__rxor__", "__ixor__"},
        {RL_OP_bitwise_left_shift, "__lshift__", "__rlshift__", "__ilshift__"},
        {RL_OP_bitwise_right_shift, "__rshift__", "__rrshift__", "__irshift__"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(members); i++)
        if (members[i].op == op)
            return how == RL_CALL_INPLACE ? members[i].inplace
                   : reflected            ? members[i].reflected
                                          : members[i].name;
    return rl_operators[op].name; /* eq, lt ... */
}

static RL_NOINLINE PyObject *number_overridden(int op, PyObject *a, PyObject *b, int how) {
    const bool reflected = !rl_tensor_check(a);
    PyObject *result =
        rl_override_member(member_of(op, how, reflected), reflected ? b : a, reflected ? a : b, NULL);
    if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
}

static bool is_complex(PyObject *o) {
    return PyComplex_Check(o) || rl_numpy_kind(o) == 'c';
}

/* Complex numbers become tensors. t == array and array / t are the two operators that do not leave arrays
 * to NumPy. */
static PyObject *number_stranger(int op, PyObject *a, PyObject *b, int how) {
    if (op != RL_OP_matmul && (is_complex(a) || is_complex(b))) {
        bool left = is_complex(a);
        RL_OWNED PyObject *tensor = rl_tensor_from_data(left ? a : b, -1);
        if (!tensor) return NULL;
        return number_binary(op, left ? tensor : a, left ? b : tensor, how);
    }
    if (how == RL_CALL_NORMAL && op == RL_OP_eq && rl_numpy_is_array(b)) {
        RL_OWNED PyObject *tensor = rl_numpy_borrow(b, false);
        if (tensor) return number_binary(op, a, tensor, how);
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return NULL;
        PyErr_Clear();
    }
    if (how == RL_CALL_NORMAL && op == RL_OP_div && rl_numpy_is_array(a)) {
        RL_OWNED PyObject *inverse = rl_op_unary(RL_OP_reciprocal, b);
        PyObject *result = inverse ? PyNumber_Multiply(inverse, a) : NULL;
        if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
        PyErr_Clear();
    }
    Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *number_run(int op, const rl_value *args, int how) {
    rl_op_call call;
    rl_op_call_begin(&call, &rl_schemas[op]);
    rl_op_call_fill(&call, args, 2);
    PyObject *result = rl_dispatcher_call(&call, how);
    rl_op_call_end(&call);
    return result;
}

/* 2 - x: PyTorch subtracts the other way round, multiplies by the inverse, and derives no remainder. */
static PyObject *number_reflected(int op, const rl_value *args, PyObject *b) {
    const rl_value swapped[] = {args[1], args[0]};
    if (op == RL_OP_add || op == RL_OP_mul) return number_run(op, swapped, RL_CALL_NORMAL);
    if (op == RL_OP_sub) return number_run(RL_OP_rsub, swapped, RL_CALL_NORMAL);
    if (op == RL_OP_pow) return number_run(RL_OP_pow_number, args, RL_CALL_NORMAL);
    if (op == RL_OP_remainder) return number_run(RL_OP_remainder_number, args, RL_CALL_NORMAL);
    if (op != RL_OP_div) return number_run(op, args, RL_CALL_NORMAL);
    RL_OWNED PyObject *inverse = rl_op_unary(RL_OP_reciprocal, b);
    if (!inverse) return NULL;
    const rl_value product[] = {{.tag = RL_TENSOR, .u.t = &((rl_tensor *)inverse)->v}, args[0]};
    return number_run(RL_OP_mul, product, RL_CALL_NORMAL);
}

static PyObject *number_binary(int op, PyObject *a, PyObject *b, int how) {
    rl_value args[2];
    if (rl_is_overridden(a) || rl_override_asked(b)) return number_overridden(op, a, b, how);
    int ra = operand_slot(a, &args[0]), rb = ra == 1 ? operand_slot(b, &args[1]) : 0;
    if (ra < 0 || rb < 0) return NULL;
    if (ra == 0 || rb == 0 || (op == RL_OP_matmul && (!rl_tensor_check(a) || !rl_tensor_check(b))))
        return number_stranger(op, a, b, how);
    return RL_LIKELY(args[0].tag == RL_TENSOR) ? number_run(op, args, how) : number_reflected(op, args, b);
}

#define X(slot, op)                                                                                          \
    PyObject *rl_number_##slot(PyObject *a, PyObject *b) {                                                   \
        return number_binary(RL_OP_##op, a, b, RL_CALL_NORMAL);                                              \
    }
RL_NUMBER_BINARY(X)
#undef X
#define X(slot, op)                                                                                          \
    PyObject *rl_number_inplace_##slot(PyObject *a, PyObject *b) {                                           \
        return number_binary(RL_OP_##op, a, b, RL_CALL_INPLACE);                                             \
    }
RL_NUMBER_INPLACE(X)
#undef X

PyObject *rl_number_power(PyObject *a, PyObject *b, PyObject *mod) {
    if (mod != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return number_binary(RL_OP_pow, a, b, RL_CALL_NORMAL);
}
PyObject *rl_number_inplace_power(PyObject *a, PyObject *b, PyObject *mod) {
    if (mod != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return number_binary(RL_OP_pow, a, b, RL_CALL_INPLACE);
}
PyObject *rl_number_negative(PyObject *a) {
    return rl_is_overridden(a) ? rl_override_member("neg", a, NULL, NULL) : rl_op_unary(RL_OP_neg, a);
}
PyObject *rl_number_positive(PyObject *a) {
    if (rl_is_overridden(a)) return rl_override_member("positive", a, NULL, NULL);
    if (((rl_tensor *)a)->v.dtype != RL_BOOL) return Py_NewRef(a);
    PyErr_SetString(PyExc_RuntimeError, "The `+` operator, on a bool tensor is not supported.");
    return NULL;
}
PyObject *rl_number_absolute(PyObject *a) {
    return rl_is_overridden(a) ? rl_override_member("abs", a, NULL, NULL) : rl_op_unary(RL_OP_abs, a);
}
PyObject *rl_number_invert(PyObject *a) {
    if (rl_is_overridden(a)) return rl_override_member("__invert__", a, NULL, NULL);
    if (!rl_is_float(((rl_tensor *)a)->v.dtype)) return rl_op_unary(RL_OP_bitwise_not, a);
    PyErr_SetString(PyExc_TypeError,
                    "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return NULL;
}

PyObject *rl_tensor_compare(PyObject *a, PyObject *b, int how) {
    static const int ops[] = {[Py_LT] = RL_OP_lt, [Py_LE] = RL_OP_le, [Py_EQ] = RL_OP_eq,
                              [Py_NE] = RL_OP_ne, [Py_GT] = RL_OP_gt, [Py_GE] = RL_OP_ge};
    return number_binary(ops[how], a, b, RL_CALL_NORMAL);
}

/* ---- from tensors to Python's numbers ----
 * item(), tolist(), bool(), int(), float(). */
/* at: bytes from the first element; v is held, its memory may move */
static PyObject *list_of(const rl_view *v, int dim, int64_t at) {
    if (dim == v->ndim) {
        RL_RAW;
        const char *first = rl_host_data(v);
        return first ? rl_scalar_element(first + at, v->dtype) : NULL;
    }
    RL_OWNED PyObject *list = PyList_New((Py_ssize_t)v->shape[dim]);
    int64_t step = v->strides[dim] * rl_itemsize(v->dtype);
    for (int64_t i = 0; list && i < v->shape[dim]; i++) {
        PyObject *item = list_of(v, dim + 1, at + i * step);
        if (!item) return NULL;
        PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return rl_move(&list);
}

PyObject *rl_tensor_tolist(PyObject *self, PyObject *unused) {
    (void)unused;
    RL_OWNED PyObject *here = (PyObject *)rl_scalar_readable((rl_tensor *)self);
    RL_HELD v = {.storage = NULL};
    if (!here || rl_held_take(&v, &((rl_tensor *)here)->v) < 0) return NULL;
    if (v.device != RL_CPU && rl_held_changed() < 0) return NULL;
    return list_of(&v, 0, 0);
}

int rl_tensor_bool(PyObject *self) {
    rl_tensor *t = (rl_tensor *)self;
    if (t->v.numel != 1) {
        PyErr_SetString(PyExc_RuntimeError,
                        t->v.numel ? "Boolean value of Tensor with more than one value is ambiguous"
                                   : "Boolean value of Tensor with no values is ambiguous");
        return -1;
    }
    RL_OWNED PyObject *number = rl_tensor_item(self, NULL);
    return number ? PyObject_IsTrue(number) : -1;
}

static PyObject *only_number(PyObject *self) {
    if (((rl_tensor *)self)->v.numel == 1) return rl_tensor_item(self, NULL);
    PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
    return NULL;
}

/* a complex one is no real number */
static PyObject *real_number(PyObject *self, const char *type) {
    RL_OWNED PyObject *number = only_number(self);
    if (!number || !PyComplex_Check(number)) return rl_move(&number);
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", type);
    return NULL;
}

PyObject *rl_tensor_int(PyObject *self) {
    RL_OWNED PyObject *number = real_number(self, "int64_t");
    return number ? PyNumber_Long(number) : NULL;
}

/* once, as PyTorch warns */
static int warn_of_gradient(PyObject *self) {
    static bool said;
    if (said || !rl_requires_grad((rl_tensor *)self) || !rl_tls.grad) return 0;
    said = true;
    return PyErr_WarnEx(PyExc_UserWarning,
                        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
                        "behavior.\nConsider using tensor.detach() first.",
                        1);
}

PyObject *rl_tensor_float(PyObject *self) {
    if (warn_of_gradient(self) < 0) return NULL;
    RL_OWNED PyObject *number = real_number(self, "double");
    return number ? PyNumber_Float(number) : NULL;
}

PyObject *rl_tensor_index(PyObject *self) {
    rl_tensor *t = (rl_tensor *)self;
    if (t->v.numel != 1 || rl_is_float(t->v.dtype)) {
        PyErr_SetString(PyExc_TypeError,
                        "only integer tensors of a single element can be converted to an index");
        return NULL;
    }
    RL_OWNED PyObject *number = rl_tensor_item(self, NULL);
    return number ? PyNumber_Index(number) : NULL;
}
