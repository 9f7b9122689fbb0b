/* Attributes and small methods of Tensor. */
#include "history/node.h"
#include "object/numpy.h"
#include "bindings.h"
#include "object/storage.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/threads.h"
#include "core/view.h"

#define T(self)   ((rl_tensor *)(self))
#define GET(name) static PyObject *get_##name(PyObject *self, void *c)
#define NO(c)     ((void)(c))

GET(shape) {
    NO(c);
    return rl_tensor_shape(T(self));
}
GET(dtype) {
    NO(c);
    return rl_dtype_object(T(self)->v.dtype);
}
GET(device) {
    NO(c);
    return rl_device_of(T(self)->v.device, T(self)->v.device_index);
}
GET(ndim) {
    NO(c);
    return PyLong_FromLong(T(self)->v.ndim);
}
GET(requires_grad) {
    NO(c);
    return PyBool_FromLong(rl_requires_grad(T(self)));
}
GET(is_leaf) {
    NO(c);
    RL_OWNED PyObject *fn = NULL;
    return rl_history_grad_fn(T(self), &fn) < 0 ? NULL : PyBool_FromLong(!fn);
}
GET(grad) {
    NO(c);
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
    NO(c);
    PyObject *fn;
    if (rl_history_grad_fn(T(self), &fn) < 0) return NULL;
    return fn ? fn : Py_NewRef(Py_None);
}
GET(data) {
    NO(c);
    RL_OWNED PyObject *data = (PyObject *)rl_tensor_alias(rl_tensor_type, T(self));
    return data && rl_version_part(T(data), 0) == 0 ? rl_give(&data) : NULL;
}
GET(base) {
    NO(c);
    return Py_NewRef(T(self)->base ? T(self)->base : Py_None);
}
GET(version) {
    NO(c);
    if (rl_version_none(T(self))) {
        PyErr_SetString(PyExc_RuntimeError, "Inference tensors do not track version counter.");
        return NULL;
    }
    return PyLong_FromUnsignedLong(rl_version_of(T(self)));
}
GET(itemsize) {
    NO(c);
    return PyLong_FromLongLong(rl_itemsize(T(self)->v.dtype));
}
GET(nbytes) {
    NO(c);
    RL_OWNED PyObject *n = PyLong_FromLongLong(T(self)->v.numel); /* an expanded tensor may have 2^63 - 1 */
    RL_OWNED PyObject *item = PyLong_FromLongLong(rl_itemsize(T(self)->v.dtype));
    return n && item ? PyNumber_Multiply(n, item) : NULL;
}
GET(is_cuda) {
    NO(c);
    return PyBool_FromLong(T(self)->v.device == RL_CUDA);
}
GET(is_cpu) {
    NO(c);
    return PyBool_FromLong(T(self)->v.device == RL_CPU);
}
GET(is_meta) {
    NO(c);
    return PyBool_FromLong(T(self)->v.device == RL_META);
}
GET(false) {
    NO(self);
    NO(c);
    Py_RETURN_FALSE;
}
GET(output_nr) {
    NO(c);
    return PyLong_FromLong(T(self)->output_nr);
}

GET(layout) {
    NO(self);
    NO(c);
    RL_OWNED PyObject *m = PyImport_ImportModule("rushlight._C");
    return m ? PyObject_GetAttrString(m, "strided") : NULL;
}

static PyObject *reversed_dims(PyObject *self, int from) {
    int64_t dims[RL_MAX_DIMS];
    int n = T(self)->v.ndim;
    for (int i = 0; i < n; i++) dims[i] = i < from ? i : n - 1 - (i - from);
    rl_slot args[2] = {{.tag = RL_TENSOR, .u.t = &T(self)->v}, {.tag = RL_INTS, .n = n, .u.ints = dims}};
    return rl_op_run(RL_OP_permute, args, 2);
}
GET(T) {
    NO(c);
    return reversed_dims(self, 0);
}
GET(mT) {
    NO(c);
    if (T(self)->v.ndim < 2) {
        PyErr_Format(PyExc_RuntimeError,
                     "tensor.mT is only supported on matrices or batches of matrices. Got %d-D tensor.",
                     T(self)->v.ndim);
        return NULL;
    }
    return reversed_dims(self, T(self)->v.ndim - 2);
}

static int set_requires_grad(PyObject *self, PyObject *value, void *c) {
    NO(c);
    if (!value || !PyBool_Check(value)) {
        PyErr_SetString(PyExc_RuntimeError,
                        value ? "requires_grad must be a bool" : "cannot delete requires_grad attribute");
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
    NO(c);
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
    NO(c);
    if (!value || !rl_tensor_check(value)) {
        PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %s",
                     value ? Py_TYPE(value)->tp_name : "nothing");
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
    if (rl_tensor_become(T(self), T(value)) < 0) return -1;
    T(self)->inference = T(value)->inference;
    return 0;
}

PyGetSetDef rl_tensor_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"shape", get_shape, NULL, "torch.Size of the sizes.", NULL},
    {"dtype", get_dtype, NULL, "The elements' type.", NULL},
    {"device", get_device, NULL, "Where the memory lies.", NULL},
    {"ndim", get_ndim, NULL, "Number of dimensions.", NULL},
    {"requires_grad", get_requires_grad, set_requires_grad, "Are gradients wanted?", NULL},
    {"is_leaf", get_is_leaf, NULL, "Was it made by the user rather than by an operator?", NULL},
    {"grad", get_grad, set_grad, "The gradient, or None.", NULL},
    {"grad_fn", get_grad_fn, NULL, "The Node that made it, or None.", NULL},
    {"data", get_data, set_data, "The same memory without history.", NULL},
    {"_base", get_base, NULL, "The tensor that this one is a view of, or None.", NULL},
    {"_version", get_version, NULL, "How often it was written in place.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes per element.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL},
    {"is_cuda", get_is_cuda, NULL, "On a GPU?", NULL},
    {"is_cpu", get_is_cpu, NULL, "In the CPU's memory?", NULL},
    {"is_sparse", get_false, NULL, "False.", NULL},
    {"is_sparse_csr", get_false, NULL, "False.", NULL},
    {"is_quantized", get_false, NULL, "False.", NULL},
    {"is_nested", get_false, NULL, "False.", NULL},
    {"is_meta", get_is_meta, NULL, "Without memory?", NULL},
    {"output_nr", get_output_nr, NULL, "Which result of grad_fn it is.", NULL},
    {"layout", get_layout, NULL, "torch.strided.", NULL},
    {"T", get_T, NULL, "Dimensions reversed.", NULL},
    {"mT", get_mT, NULL, "Last two dimensions swapped.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- methods ---- */
#define METHOD0(name) static PyObject *m_##name(PyObject *self, PyObject *unused)

static PyObject *dims_or_one(PyObject *const *args, Py_ssize_t n, PyObject *kwnames, const char *name,
                             rl_tensor *t, bool strides) {
    PyObject *which = n == 1 ? args[0] : Py_None;
    if (kwnames && PyTuple_GET_SIZE(kwnames) == 1 && n == 0 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "dim") == 0)
        which = args[0];
    else if (n > 1 || (kwnames && PyTuple_GET_SIZE(kwnames))) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most one argument, dim", name);
        return NULL;
    }
    if (which == Py_None) {
        if (!strides) return rl_tensor_shape(t);
        RL_OWNED PyObject *size = rl_size_new(t->v.strides, t->v.ndim);
        if (!size) return NULL;
        return PyObject_CallOneArg((PyObject *)&PyTuple_Type, size); /* strides are a plain tuple */
    }
    RL_OWNED PyObject *number = PyNumber_Index(which);
    int64_t dim = number ? PyLong_AsLongLong(number) : -1;
    if (dim == -1 && PyErr_Occurred()) return NULL;
    if (t->v.ndim == 0) {
        PyErr_Format(PyExc_IndexError, "Dimension specified as %lld but tensor has no dimensions",
                     (long long)dim);
        return NULL;
    }
    if (rl_dim_wrap(&dim, t->v.ndim) != RL_OK) return rl_raise(name);
    return PyLong_FromLongLong(strides ? t->v.strides[dim] : t->v.shape[dim]);
}
static PyObject *m_size(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kw) {
    return dims_or_one(args, n, kw, "size", T(self), false);
}
static PyObject *m_stride(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kw) {
    return dims_or_one(args, n, kw, "stride", T(self), true);
}
METHOD0(dim) {
    NO(unused);
    return PyLong_FromLong(T(self)->v.ndim);
}
METHOD0(numel) {
    NO(unused);
    return PyLong_FromLongLong(T(self)->v.numel);
}
METHOD0(element_size) {
    NO(unused);
    return PyLong_FromLongLong(rl_itemsize(T(self)->v.dtype));
}
METHOD0(storage_offset) {
    NO(unused);
    return PyLong_FromLongLong(T(self)->v.offset);
}
METHOD0(detach) {
    NO(unused);
    return rl_tensor_detach(self);
}
METHOD0(detach_) {
    NO(unused);
    if (T(self)->base) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
            "(DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and "
            "hence "
            "detach_() cannot be called on these gradients. To fix this error, please refer to the "
            "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.");
        return NULL;
    }
    T(self)->requires_grad = 0; /* first: what dies with grad_fn may run Python */
    Py_CLEAR(T(self)->grad_fn);
    return Py_NewRef(self);
}
METHOD0(data_ptr) {
    NO(unused);
    RL_RAW;
    /* from here on anybody may write: nothing is cached any more */
    __atomic_store_n(&T(self)->v.storage->pointer_seen, 1, __ATOMIC_RELAXED);
    return PyLong_FromVoidPtr(T(self)->v.numel && T(self)->v.device != RL_META ? rl_data(&T(self)->v, RL_READ)
                                                                               : NULL);
}
METHOD0(is_floating_point) {
    NO(unused);
    return PyBool_FromLong(rl_dtype_is_floating(T(self)->v.dtype));
}
METHOD0(is_complex) {
    NO(unused);
    return PyBool_FromLong(RL_SET_COMPLEX >> T(self)->v.dtype & 1);
}
METHOD0(is_inference) {
    NO(unused);
    return PyBool_FromLong(T(self)->inference);
}
METHOD0(is_view) {
    NO(unused);
    return PyBool_FromLong(T(self)->base != NULL);
}
METHOD0(untyped_storage) {
    NO(unused);
    return rl_untyped_storage_new(T(self)->v.storage);
}
METHOD0(zero_) {
    NO(unused);
    rl_slot args[2] = {{.tag = RL_TENSOR, .u.t = &T(self)->v}, {.tag = RL_INT, .u.i = 0}};
    return rl_op_run(RL_OP_fill_, args, 2);
}

static PyObject *m_is_contiguous(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"memory_format", NULL};
    PyObject *format = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:is_contiguous", names, &format)) return NULL;
    int64_t wanted = RL_FORMAT_CONTIGUOUS;
    if (format != Py_None && !rl_format_parse(format, &wanted)) {
        PyErr_Format(PyExc_TypeError,
                     "is_contiguous(): argument 'memory_format' must be torch.memory_format, not %s",
                     Py_TYPE(format)->tp_name);
        return NULL;
    }
    return PyBool_FromLong(wanted == RL_FORMAT_CHANNELS_LAST ? rl_is_channels_last(&T(self)->v)
                                                             : rl_is_contiguous(&T(self)->v));
}

static PyObject *m_requires_grad_(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"requires_grad", NULL};
    PyObject *on = Py_True;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:requires_grad_", names, &on)) return NULL;
    if (!PyBool_Check(on)) {
        PyErr_Format(PyExc_TypeError,
                     "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not %s",
                     Py_TYPE(on)->tp_name);
        return NULL;
    }
    return rl_tensor_set_requires_grad(T(self), on == Py_True) < 0 ? NULL : Py_NewRef(self);
}

static PyObject *m_numpy(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"force", NULL};
    int force = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", names, &force)) return NULL;
    if (rl_requires_grad(T(self)) && !force) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
        return NULL;
    }
    return rl_numpy_lend(self);
}

static PyObject *m_array(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy)) return NULL;
    RL_OWNED PyObject *empty = PyTuple_New(0);
    RL_OWNED PyObject *a = empty ? m_numpy(self, empty, NULL) : NULL;
    int must = a && copy != Py_None ? PyObject_IsTrue(copy) : 0;
    if (!a || must < 0) return NULL;
    if (dtype == Py_None) return must ? PyObject_CallMethod(a, "copy", NULL) : rl_give(&a);
    RL_OWNED PyObject *cast =
        PyObject_CallMethod(a, "astype", "OssOO", dtype, "K", "unsafe", Py_True, must ? Py_True : Py_False);
    if (cast && cast != a && copy != Py_None && !must) {
        PyErr_SetString(PyExc_ValueError, "Unable to avoid copy while creating an array as requested.");
        return NULL;
    }
    return rl_give(&cast);
}

Py_ssize_t rl_tensor_length(PyObject *self) {
    if (T(self)->v.ndim) return (Py_ssize_t)T(self)->v.shape[0];
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
}

Py_hash_t rl_tensor_hash(PyObject *self) {
    Py_hash_t h = (Py_hash_t)((uintptr_t)self >> 4);
    return h == -1 ? -2 : h;
}

#define KEYWORDS(fn) (PyCFunction)(void (*)(void)) fn
PyMethodDef rl_tensor_methods[] = {
    {"size", KEYWORDS(m_size), METH_FASTCALL | METH_KEYWORDS,
     "size($self, /, dim=None)\n--\n\nThe sizes, or one of them."},
    {"stride", KEYWORDS(m_stride), METH_FASTCALL | METH_KEYWORDS,
     "stride($self, /, dim=None)\n--\n\nThe strides in elements."},
    {"dim", m_dim, METH_NOARGS, "dim($self, /)\n--\n\nNumber of dimensions."},
    {"ndimension", m_dim, METH_NOARGS, "ndimension($self, /)\n--\n\nAs dim()."},
    {"numel", m_numel, METH_NOARGS, "numel($self, /)\n--\n\nNumber of elements."},
    {"nelement", m_numel, METH_NOARGS, "nelement($self, /)\n--\n\nAs numel()."},
    {"element_size", m_element_size, METH_NOARGS, "element_size($self, /)\n--\n\nBytes per element."},
    {"storage_offset", m_storage_offset, METH_NOARGS, "storage_offset($self, /)\n--\n\nIn elements."},
    {"data_ptr", m_data_ptr, METH_NOARGS, "data_ptr($self, /)\n--\n\nAddress of the first element."},
    {"is_contiguous", KEYWORDS(m_is_contiguous), METH_VARARGS | METH_KEYWORDS,
     "is_contiguous($self, /, memory_format=None)\n--\n\nAre elements in row-major order without gaps?"},
    {"detach", m_detach, METH_NOARGS, "detach($self, /)\n--\n\nThe same memory without history."},
    {"detach_", m_detach_, METH_NOARGS, "detach_($self, /)\n--\n\nForgets its history."},
    {"requires_grad_", KEYWORDS(m_requires_grad_), METH_VARARGS | METH_KEYWORDS,
     "requires_grad_($self, /, requires_grad=True)\n--\n\nSets requires_grad."},
    {"is_floating_point", m_is_floating_point, METH_NOARGS, "is_floating_point($self, /)\n--\n\nBy dtype."},
    {"is_complex", m_is_complex, METH_NOARGS, "is_complex($self, /)\n--\n\nFalse."},
    {"is_inference", m_is_inference, METH_NOARGS, "is_inference($self, /)\n--\n\nMade under inference_mode?"},
    {"_is_view", m_is_view, METH_NOARGS, "_is_view($self, /)\n--\n\nIs it a view of another tensor?"},
    {"untyped_storage", m_untyped_storage, METH_NOARGS,
     "untyped_storage($self, /)\n--\n\nIts memory as bytes."},
    {"zero_", m_zero_, METH_NOARGS, "zero_($self, /)\n--\n\nEvery element becomes 0."},
    {"item", rl_tensor_item, METH_NOARGS, "item($self, /)\n--\n\nThe only element as a number."},
    {"tolist", rl_tensor_tolist, METH_NOARGS, "tolist($self, /)\n--\n\nNested lists of numbers."},
    {"numpy", KEYWORDS(m_numpy), METH_VARARGS | METH_KEYWORDS,
     "numpy($self, /, *, force=False)\n--\n\nAn ndarray on the same memory."},
    {"__array__", KEYWORDS(m_array), METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nFor NumPy."},
    {NULL, NULL, 0, NULL}};

/* is_tensor(obj) and the like, module level */
static PyObject *f_is_tensor(PyObject *m, PyObject *o) {
    NO(m);
    return PyBool_FromLong(rl_tensor_check(o));
}
static PyObject *f_default_dtype(PyObject *m, PyObject *unused) {
    NO(m);
    NO(unused);
    return rl_dtype_object(rl_dtype_default());
}
static PyObject *f_set_default_dtype(PyObject *m, PyObject *o) {
    NO(m);
    if (!Py_IS_TYPE(o, rl_dtype_type)) {
        PyErr_SetString(PyExc_TypeError, "invalid dtype object");
        return NULL;
    }
    int dtype = rl_dtype_parse(o);
    if (!rl_is_float(dtype)) {
        PyErr_SetString(PyExc_TypeError, "only floating-point types are supported as the default type");
        return NULL;
    }
    rl_dtype_default_set(dtype);
    Py_RETURN_NONE;
}
static PyObject *f_get_num_threads(PyObject *m, PyObject *unused) {
    NO(m);
    NO(unused);
    return PyLong_FromLong(rl_threads_wanted());
}
static PyObject *f_set_num_threads(PyObject *m, PyObject *o) {
    NO(m);
    if (!PyIndex_Check(o) || PyBool_Check(o) || rl_tensor_check(o)) {
        PyErr_Format(PyExc_RuntimeError, "set_num_threads expects an int, but got %s", Py_TYPE(o)->tp_name);
        return NULL;
    }
    RL_OWNED PyObject *number = PyNumber_Index(o); /* NumPy's integers, too */
    if (!number) return NULL;
    int overflow;
    int64_t n = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || n != (int)n) {
        PyErr_Format(PyExc_ValueError, "Overflow when unpacking long%s", overflow ? " long" : "");
        return NULL;
    }
    if (n <= 0) {
        PyErr_SetString(PyExc_RuntimeError, "set_num_threads expects a positive integer");
        return NULL;
    }
    rl_threads_set((int)n);
    Py_RETURN_NONE;
}
static PyMethodDef attr_functions[] = {
    {"is_tensor", f_is_tensor, METH_O, "is_tensor(obj)\n--\n\nIs obj a Tensor?"},
    {"get_default_dtype", f_default_dtype, METH_NOARGS,
     "get_default_dtype()\n--\n\nThe dtype of new floating tensors."},
    {"set_default_dtype", f_set_default_dtype, METH_O,
     "set_default_dtype(d)\n--\n\nTypeError unless d is a floating dtype."},
    {"get_num_threads", f_get_num_threads, METH_NOARGS,
     "get_num_threads()\n--\n\nThreads that a kernel may use."},
    {"set_num_threads", f_set_num_threads, METH_O,
     "set_num_threads(n)\n--\n\nRuntimeError unless n is positive."},
    {NULL, NULL, 0, NULL}};

int rl_attr_init(PyObject *m) {
    return PyModule_AddFunctions(m, attr_functions);
}
