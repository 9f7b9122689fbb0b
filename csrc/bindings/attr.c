/* Attributes and small methods of Tensor. */
#include "autograd_graph/node.h"
#include "object/numpy.h"
#include "bindings.h"
#include "object/storage.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/threads.h"
#include "core/view.h"

#define T(self)   ((rl_tensor *)(self))
#define GET(name) static PyObject *get_##name(PyObject *self, void *c)

GET(shape) {
    (void)c;
    return rl_tensor_shape(T(self));
}
GET(dtype) {
    (void)c;
    return rl_dtype_object(T(self)->v.dtype);
}
GET(device) {
    (void)c;
    return rl_device_of(T(self)->v.device, T(self)->v.device_index);
}
GET(ndim) {
    (void)c;
    return PyLong_FromLong(T(self)->v.ndim);
}
GET(requires_grad) {
    (void)c;
    return PyBool_FromLong(rl_requires_grad(T(self)));
}
GET(is_leaf) {
    (void)c;
    RL_OWNED PyObject *fn = NULL;
    return rl_graph_grad_fn(T(self), &fn) < 0 ? NULL : PyBool_FromLong(!fn);
}
GET(grad) {
    (void)c;
    if (RL_UNLIKELY(!T(self)->grad && T(self)->grad_fn && !T(self)->retains) &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
            "attribute "
            "won't be populated during autograd.backward(). If you indeed want the .grad field to be "
            "populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the "
            "non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
            "github.com/pytorch/pytorch/pull/30531 for more information.",
            1) < 0)
        return NULL;
    return Py_NewRef(T(self)->grad ? T(self)->grad : Py_None);
}
GET(grad_fn) {
    (void)c;
    PyObject *fn;
    if (rl_graph_grad_fn(T(self), &fn) < 0) return NULL;
    return fn ? fn : Py_NewRef(Py_None);
}
GET(data) {
    (void)c;
    RL_OWNED PyObject *data = (PyObject *)rl_tensor_alias(rl_tensor_type, T(self));
    return data && rl_version_part(T(data), 0) == 0 ? rl_move(&data) : NULL;
}
GET(base) {
    (void)c;
    return Py_NewRef(T(self)->base ? T(self)->base : Py_None);
}
GET(version) {
    (void)c;
    if (rl_version_none(T(self))) {
        PyErr_SetString(PyExc_RuntimeError, "Inference tensors do not track version counter.");
        return NULL;
    }
    return PyLong_FromUnsignedLong(rl_version_of(T(self)));
}
GET(itemsize) {
    (void)c;
    return PyLong_FromLongLong(rl_itemsize(T(self)->v.dtype));
}
GET(nbytes) {
    (void)c;
    RL_OWNED PyObject *n = PyLong_FromLongLong(T(self)->v.numel); /* an expanded tensor may have 2^63 - 1 */
    RL_OWNED PyObject *item = PyLong_FromLongLong(rl_itemsize(T(self)->v.dtype));
    return n && item ? PyNumber_Multiply(n, item) : NULL;
}
GET(is_cuda) {
    (void)c;
    return PyBool_FromLong(T(self)->v.device == RL_CUDA);
}
GET(is_cpu) {
    (void)c;
    return PyBool_FromLong(T(self)->v.device == RL_CPU);
}
GET(is_meta) {
    (void)c;
    return PyBool_FromLong(T(self)->v.device == RL_META);
}
GET(false) {
    (void)self;
    (void)c;
    Py_RETURN_FALSE;
}
GET(output_nr) {
    (void)c;
    return PyLong_FromLong(T(self)->output_nr);
}

GET(layout) {
    (void)self;
    (void)c;
    RL_OWNED PyObject *m = PyImport_ImportModule("rushlight._C");
    return m ? PyObject_GetAttrString(m, "strided") : NULL;
}

static PyObject *reversed_dims(PyObject *self, int from) {
    int64_t dims[RL_MAX_DIMS];
    int n = T(self)->v.ndim;
    for (int i = 0; i < n; i++) dims[i] = i < from ? i : n - 1 - (i - from);
    rl_value args[2] = {{.tag = RL_TENSOR, .u.t = &T(self)->v}, {.tag = RL_INTS, .n = n, .u.ints = dims}};
    return rl_op_run(RL_OP_permute, args, 2);
}
GET(T) {
    static bool said;
    (void)c;
    if (RL_UNLIKELY(T(self)->v.ndim != 2 && !said)) {
        said = true;
        if (PyErr_WarnEx(
                PyExc_UserWarning,
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
                "deprecated and it will throw an error in a future release. Consider `x.mT` to transpose "
                "batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the "
                "dimensions of a tensor.",
                1) < 0)
            return NULL;
    }
    return reversed_dims(self, 0);
}
GET(mT) {
    (void)c;
    if (T(self)->v.ndim < 2) {
        PyErr_Format(PyExc_RuntimeError,
                     "tensor.mT is only supported on matrices or batches of matrices. Got %d-D tensor.",
                     T(self)->v.ndim);
        return NULL;
    }
    return reversed_dims(self, T(self)->v.ndim - 2);
}

static int set_requires_grad(PyObject *self, PyObject *value, void *c) {
    (void)c;
    if (!value || !PyBool_Check(value)) {
        PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
        return -1;
    }
    return rl_tensor_set_requires_grad(T(self), value == Py_True);
}

/* what C++ calls it */
static const char *c_name(int dtype) {
    static const char *const names[RL_NDTYPES] = {
        [RL_F32] = "float", [RL_F64] = "double",       [RL_F16] = "c10::Half",  [RL_BF16] = "c10::BFloat16",
        [RL_BOOL] = "bool", [RL_U8] = "unsigned char", [RL_I8] = "signed char", [RL_I16] = "short int",
        [RL_I32] = "int",   [RL_I64] = "long int"};
    return names[dtype] ? names[dtype] : rl_dtype_name(dtype);
}

static int set_grad(PyObject *self, PyObject *value, void *c) {
    (void)c;
    if (!value || value == Py_None) {
        Py_CLEAR(T(self)->grad);
        return 0;
    }
    if (!rl_tensor_check(value)) {
        PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type %s",
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    const rl_view *a = &T(self)->v, *b = &T(value)->v;
    if (a->device != b->device) {
        PyErr_Format(PyExc_RuntimeError,
                     "attempting to assign a gradient with device type '%s' to a tensor with device type "
                     "'%s'. Please ensure that the gradient and the tensor are on the same device",
                     rl_device_name(b->device), rl_device_name(a->device));
        return -1;
    }
    if (value == self) {
        PyErr_SetString(PyExc_RuntimeError, "can't assign Variable as its own grad");
        return -1;
    }
    if (a->dtype != b->dtype) {
        PyErr_Format(
            PyExc_RuntimeError,
            "attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype '%s'. The "
            "gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set "
            "the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
            "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
            "downstream systems that assume they match.",
            c_name(b->dtype), rl_dtype_title(a->dtype));
        return -1;
    }
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++) same = a->shape[i] == b->shape[i];
    if (!same) {
        char have[RL_DIMS_TEXT], want[RL_DIMS_TEXT];
        PyErr_Format(
            PyExc_RuntimeError,
            "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please ensure that the "
            "gradient and the tensor are the same size",
            rl_dims_text(have, b->shape, b->ndim), rl_dims_text(want, a->shape, a->ndim));
        return -1;
    }
    Py_XSETREF(T(self)->grad, Py_NewRef(value));
    return 0;
}

static int set_data(PyObject *self, PyObject *value, void *c) {
    (void)c;
    if (!value) {
        PyErr_SetString(PyExc_RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!");
        return -1;
    }
    if (!rl_tensor_check(value)) {
        PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %s",
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    if ((T(self)->v.device == RL_META) != (T(value)->v.device == RL_META)) {
        PyErr_SetString(PyExc_RuntimeError, "Attempted to call `variable.set_data(tensor)`, but `variable` "
                                            "and `tensor` have incompatible tensor type.");
        return -1;
    }
    if (T(self)->requires_grad && !rl_dtype_has_grad(T(value)->v.dtype)) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "data set to a tensor that requires gradients must be floating point or complex dtype");
        return -1;
    }
    if (rl_version_part(T(self), rl_version_of(T(self))) < 0) return -1; /* it counts on as before */
    if (rl_tensor_set_data(T(self), T(value)) < 0) return -1;
    T(self)->inference = T(value)->inference;
    return 0;
}

static PyObject *get_real(PyObject *self, void *unused) {
    (void)unused;
    return rl_op_unary(RL_OP_real, self);
}
static PyObject *get_imag(PyObject *self, void *unused) {
    const int dtype = T(self)->v.dtype;
    (void)unused;
    if (RL_SET_COMPLEX >> dtype & 1)
        return PyErr_Format(PyExc_NotImplementedError, "\"imag_cpu\" not implemented for '%s'",
                            rl_dtype_title(dtype));
    return PyErr_Format(PyExc_RuntimeError, "imag is not implemented for tensors with non-complex dtypes.");
}

/* Getters that classes and modes may answer: `closure` is how the attribute is found. */
typedef struct {
    const char *name;
    getter get;
} attribute;
static PyObject *get_asked(PyObject *self, void *closure) {
    const attribute *a = closure;
    return rl_is_overridden(self) ? rl_override_attribute(a->name, self) : a->get(self, NULL);
}
#define ATTRIBUTE(name, get, set, doc)                                                                       \
    {                                                                                                        \
        #name, get_asked, set, doc, &(attribute) {                                                           \
            #name, get                                                                                       \
        }                                                                                                    \
    }

PyGetSetDef rl_tensor_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    ATTRIBUTE(shape, get_shape, NULL,
              "The shape of the tensor, a Size: the number of elements along each dimension."),
    ATTRIBUTE(dtype, get_dtype, NULL, "The data type (dtype) of the elements."),
    ATTRIBUTE(device, get_device, NULL, "The device that holds the tensor's memory."),
    ATTRIBUTE(ndim, get_ndim, NULL, "The number of dimensions."),
    ATTRIBUTE(requires_grad, get_requires_grad, set_requires_grad,
              "Whether autograd computes gradients for this tensor."),
    ATTRIBUTE(is_leaf, get_is_leaf, NULL,
              "Whether this is a leaf of the autograd graph: made by the user, not by a recorded operator."),
    ATTRIBUTE(grad, get_grad, set_grad, "The gradient that backward() has accumulated, or None."),
    ATTRIBUTE(grad_fn, get_grad_fn, NULL,
              "The node of the autograd graph that computed this tensor; None for a leaf."),
    ATTRIBUTE(data, get_data, set_data,
              "The tensor on the same memory, detached from autograd; assigning replaces the memory."),
    ATTRIBUTE(_base, get_base, NULL, "The tensor that this one is a view of, or None."),
    ATTRIBUTE(_version, get_version, NULL, "The number of in-place writes, which autograd checks."),
    ATTRIBUTE(itemsize, get_itemsize, NULL, "The size of an element in bytes."),
    ATTRIBUTE(nbytes, get_nbytes, NULL, "The size of all elements in bytes: numel() * itemsize."),
    ATTRIBUTE(is_cuda, get_is_cuda, NULL, "Whether the tensor is on a CUDA GPU."),
    ATTRIBUTE(is_cpu, get_is_cpu, NULL, "Whether the tensor is in the CPU's memory."),
    ATTRIBUTE(is_sparse, get_false, NULL, "Whether the layout is sparse COO: always False."),
    ATTRIBUTE(is_sparse_csr, get_false, NULL, "Whether the layout is sparse CSR: always False."),
    ATTRIBUTE(is_quantized, get_false, NULL, "Whether the dtype is quantized: always False."),
    ATTRIBUTE(is_nested, get_false, NULL, "Whether this is a nested tensor: always False."),
    ATTRIBUTE(is_meta, get_is_meta, NULL,
              "Whether the tensor is on the meta device: a shape and a dtype without memory."),
    ATTRIBUTE(output_nr, get_output_nr, NULL, "The index of this tensor among the results of `grad_fn`."),
    ATTRIBUTE(layout, get_layout, NULL, "The memory layout: always torch.strided."),
    ATTRIBUTE(T, get_T, NULL, "The transpose: a view with all dimensions reversed."),
    ATTRIBUTE(real, get_real, NULL, "The real part; a real tensor itself."),
    ATTRIBUTE(imag, get_imag, NULL, "The imaginary part; a real tensor has none and raises RuntimeError."),
    ATTRIBUTE(mT, get_mT, NULL,
              "The transpose of every matrix: a view with the last two dimensions swapped."),
    {NULL, NULL, NULL, NULL, NULL}};
