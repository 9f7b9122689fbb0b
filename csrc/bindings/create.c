/* tensor(data), as_tensor(data), Tensor(...): from Python's numbers and sequences. */
#include "call/call.h"
#include "bindings.h"
#include "object/numpy.h"
#include "core/device.h"
#include "core/dtype.h"
#include <string.h>

typedef struct {
    int dtype, device, index; /* dtype and device are -1 where nothing was asked for */
} options;

static int parse_options(PyObject *dtype, PyObject *device, options *o) {
    *o = (options){-1, -1, -1};
    if (dtype != Py_None && (o->dtype = rl_dtype_parse(dtype)) < 0) return -1;
    if (device != Py_None && rl_device_parse(device, &o->device, &o->index) < 0) return -1;
    return o->device >= 0 ? rl_device_need(o->device, o->index) : 0;
}

/* a factory without `device` asks the thread */
static int default_device(options *o) {
    if (o->device >= 0 || rl_here.device == RL_DEVICE_UNASKED) return 0;
    o->device = rl_here.device / 256;
    o->index = rl_here.device % 256 - 1;
    return rl_device_need(o->device, o->index);
}

/* A copy to the CPU that nobody waits for lies in pinned memory, which the device writes by itself. */
static rl_tensor *target_of(const rl_view *v, const options *o, int index, bool async) {
    const rl_device_driver *driver =
        async && o->device == RL_CPU && v->numel ? rl_device_driver_get(v->device) : NULL;
    return driver ? rl_tensor_new_pinned(driver, v)
                  : rl_tensor_new(v->dtype, o->device, index, v->shape, v->ndim);
}

/* The copy is one that gradients go back through. */

static PyObject *to_device(PyObject *t_steal, const options *o, bool async) {
    RL_OWNED PyObject *t = t_steal;
    const int index = o->device < 0 ? 0 : rl_device_index(o->device, o->index);
    rl_view *v = t ? &((rl_tensor *)t)->v : NULL;
    if (!t || o->device < 0 || (o->device == v->device && index == v->device_index)) return rl_give(&t);
    rl_tensor *there = target_of(v, o, index, async);
    RL_OWNED PyObject *held = (PyObject *)there;
    if (!held) return NULL;
    rl_strides_as(&there->v, v);
    rl_slot args[] = {
        {.tag = RL_TENSOR, .u.t = &there->v}, {.tag = RL_TENSOR, .u.t = v}, {.tag = RL_TRUTH, .u.i = async}};
    Py_XSETREF(held, rl_op_run(RL_OP_copy_, args, 3));
    /* it was made, nobody wrote into it */
    if (held && ((rl_tensor *)held)->v.storage) ((rl_tensor *)held)->v.storage->version = 0;
    return rl_give(&held);
}

/* what a caller asked for; the texts are PyTorch's */
static int asked(const char *function, PyObject *const *values, options *o) {
    enum { DTYPE = 1, DEVICE };
    *o = (options){-1, -1, -1};
    PyObject *device = values[DEVICE];
    bool known = device == Py_None || PyUnicode_Check(device) || PyLong_Check(device) ||
                 Py_IS_TYPE(device, rl_device_type_object);
    if (!known) return rl_argument_refuse(function, "device", "torch.device", device);
    if (values[DTYPE] != Py_None && (o->dtype = rl_argument_dtype(function, values[DTYPE])) < 0) return -1;
    if (device != Py_None && rl_device_parse(device, &o->device, &o->index) < 0) return -1;
    if (o->device >= 0) return rl_device_need(o->device, o->index);
    return default_device(o);
}

static int warn_copy(PyObject *data) {
    if (!rl_tensor_check(data)) return 0;
    return PyErr_WarnEx(
        PyExc_UserWarning,
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        1);
}

static int require_grad(PyObject *t) {
    if (rl_dtype_has_grad(((rl_tensor *)t)->v.dtype)) return rl_tensor_set_requires_grad((rl_tensor *)t, 1);
    PyErr_SetString(PyExc_RuntimeError,
                    "Only Tensors of floating point and complex dtype can require gradients");
    return -1;
}

static PyObject *create_tensor(PyObject *m, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"data", "dtype", "device", "requires_grad", "pin_memory", NULL};
    static const rl_signature signature = {"tensor", 1, 1, names};
    PyObject *values[5];
    options o;
    (void)m;
    if (rl_arguments(&signature, args, kwargs, values) < 0 || asked("tensor", values, &o) < 0) return NULL;
    int grad = rl_argument_truth("tensor", "requires_grad", values[3]);
    int pin = grad < 0 ? -1 : rl_argument_truth("tensor", "pin_memory", values[4]);
    if (pin < 0 || (pin && !rl_pin_driver()) || warn_copy(values[0]) < 0) return NULL;
    RL_OWNED PyObject *t = to_device(rl_tensor_from_data(values[0], o.dtype), &o, false);
    if (t && pin) Py_SETREF(t, rl_tensor_pin(t));
    return t && (!grad || require_grad(t) == 0) ? rl_give(&t) : NULL;
}

/* no copy where none is needed */
static PyObject *create_as_tensor(PyObject *m, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"data", "dtype", "device", NULL};
    static const rl_signature signature = {"as_tensor", 1, 1, names};
    PyObject *values[3];
    options o;
    (void)m;
    if (rl_arguments(&signature, args, kwargs, values) < 0 || asked("as_tensor", values, &o) < 0) return NULL;
    PyObject *data = values[0];
    RL_OWNED PyObject *t = rl_tensor_check(data)     ? Py_NewRef(data)
                           : rl_numpy_is_array(data) ? rl_numpy_borrow(data, true)
                                                     : rl_tensor_from_data(data, o.dtype);
    if (t && o.dtype >= 0 && ((rl_tensor *)t)->v.dtype != o.dtype) {
        rl_slot slots[2] = {{.tag = RL_TENSOR, .u.t = &((rl_tensor *)t)->v},
                            {.tag = RL_DTYPE, .u.i = o.dtype}};
        Py_SETREF(t, rl_op_run(RL_OP_to_copy, slots, 2));
    }
    return to_device(rl_give(&t), &o, false);
}

/* _cast(tensor, dtype, device, copy, non_blocking): Tensor.to after its arguments are understood;
 * differentiable */
static PyObject *create_cast(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    (void)m;
    options o;
    if (n < 4 || n > 5 || !rl_tensor_check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "_cast(tensor, dtype, device, copy, non_blocking=False)");
        return NULL;
    }
    rl_tensor *t = (rl_tensor *)args[0];
    if (parse_options(args[1], args[2], &o) < 0) return NULL;
    if (o.dtype < 0) o.dtype = t->v.dtype;
    const bool named = o.device >= 0;
    if (!named) o.device = t->v.device;
    int copy = PyObject_IsTrue(args[3]), async = n > 4 ? PyObject_IsTrue(args[4]) : 0;
    if (copy < 0 || async < 0) return NULL;
    o.index = o.device == t->v.device && !named ? t->v.device_index : rl_device_index(o.device, o.index);
    const bool moves = o.device != t->v.device || o.index != t->v.device_index;
    if (moves && o.dtype == t->v.dtype) return to_device(Py_NewRef(args[0]), &o, async);
    if (!copy && !moves && o.dtype == t->v.dtype) return Py_NewRef(args[0]);
    rl_slot slots[2] = {{.tag = RL_TENSOR, .u.t = &t->v}, {.tag = RL_DTYPE, .u.i = o.dtype}};
    return to_device(rl_op_run(RL_OP_to_copy, slots, 2), &o, async);
}

/* Tensor(), Tensor(2, 3), Tensor([1, 2]): the legacy constructor, of the default dtype */
PyObject *rl_tensor_construct(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    int64_t shape[RL_MAX_DIMS] = {0};
    RL_OWNED PyObject *t = NULL;
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "new() takes its arguments by position");
        return NULL;
    }
    if (n == 0) {
        t = (PyObject *)rl_tensor_new(rl_dtype_default(), RL_CPU, 0, shape, 1);
    } else if (n == 1 && !PyLong_Check(PyTuple_GET_ITEM(args, 0)) &&
               !Py_IS_TYPE(PyTuple_GET_ITEM(args, 0), rl_size_type)) {
        PyObject *data = PyTuple_GET_ITEM(args, 0);
        t = rl_tensor_check(data) ? rl_tensor_detach(data) : rl_tensor_from_data(data, rl_dtype_default());
    } else {
        PyObject *sizes =
            Py_IS_TYPE(PyTuple_GET_ITEM(args, 0), rl_size_type) ? PyTuple_GET_ITEM(args, 0) : args;
        n = PyTuple_GET_SIZE(sizes);
        if (n > RL_MAX_DIMS) {
            PyErr_SetString(PyExc_RuntimeError, "too many dimensions");
            return NULL;
        }
        for (Py_ssize_t i = 0; i < n; i++) {
            shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i));
            if (shape[i] == -1 && PyErr_Occurred()) return NULL;
            if (shape[i] < 0) {
                PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld",
                             (long long)shape[i]);
                return NULL;
            }
        }
        t = (PyObject *)rl_tensor_new(rl_dtype_default(), RL_CPU, 0, shape, (int)n);
    }
    if (!t || type == rl_tensor_type) return rl_give(&t);
    return (PyObject *)rl_tensor_alias(type, (rl_tensor *)t);
}

/* _as_subclass(tensor, cls): the same memory as an object of another class, whose __new__ is not asked */
static PyObject *create_as_subclass(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    (void)m;
    if (n != 2 || !rl_tensor_check(args[0]) || !PyType_Check(args[1]) ||
        !PyType_IsSubtype((PyTypeObject *)args[1], rl_tensor_type)) {
        PyErr_SetString(PyExc_TypeError,
                        "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
                        "possible. Make sure your class inherits from Tensor.");
        return NULL;
    }
    rl_tensor *made = rl_tensor_alias((PyTypeObject *)args[1], (rl_tensor *)args[0]);
    if (made) made->requires_grad = ((rl_tensor *)args[0])->requires_grad;
    return (PyObject *)made;
}

static PyMethodDef create_functions[] = {
    {"tensor", (PyCFunction)(void (*)(void))create_tensor, METH_VARARGS | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n--\n\n"
     "Create a tensor from a copy of data: a number, nested sequences, an array or a tensor.\n\n"
     "Parameters\n"
     "----------\n"
     "data : number, nested sequence of numbers, ndarray or Tensor\n"
     "dtype : dtype, optional\n"
     "    Inferred when None: float32 for Python's floats, int64 for ints, bool, or that of an array.\n"
     "device : device, optional\n"
     "requires_grad : bool, default False\n"
     "    Whether autograd records what is done with it.\n"
     "pin_memory : bool, default False\n"
     "    Accepted, without effect on the CPU.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    A ragged sequence.\n"
     "TypeError\n"
     "    Any other object.\n"
     "RuntimeError\n"
     "    A number that dtype cannot hold.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.tensor([[1.0, 2.0], [3.0, 4.0]])\n"
     "tensor([[1., 2.],\n"
     "        [3., 4.]])\n\n"
     "Same as torch.tensor: https://docs.pytorch.org/docs/2.13/generated/torch.tensor.html"},
    {"as_tensor", (PyCFunction)(void (*)(void))create_as_tensor, METH_VARARGS | METH_KEYWORDS,
     "as_tensor(data, *, dtype=None, device=None)\n--\n\n"
     "Convert data to a tensor, on the same memory where dtype and device allow.\n\n"
     "A tensor or an ndarray of this dtype and device is not copied; anything else is, as tensor() does.\n\n"
     "Examples\n"
     "--------\n"
     ">>> x = torch.ones(2)\n"
     ">>> torch.as_tensor(x) is x\n"
     "True\n\n"
     "Same as torch.as_tensor: https://docs.pytorch.org/docs/2.13/generated/torch.as_tensor.html"},
    {"_cast", (PyCFunction)(void (*)(void))create_cast, METH_FASTCALL,
     "_cast(tensor, dtype, device, copy, non_blocking=False)\n--\n\nTensor.to's work."},
    {"_as_subclass", (PyCFunction)(void (*)(void))create_as_subclass, METH_FASTCALL,
     "_as_subclass(tensor, cls)\n--\n\nThe same memory as an object of another class."},
    {NULL, NULL, 0, NULL}};

int rl_create_init(PyObject *m) {
    return PyModule_AddFunctions(m, create_functions);
}
