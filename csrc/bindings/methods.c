/* Methods of Tensor that are no operators. */
#include "bindings.h"
#include "autograd_graph/node.h"
#include "object/numpy.h"
#include "object/storage.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/threads.h"
#include "core/view.h"
#include <string.h>

#define T(self) ((rl_tensor *)(self))

#define METHOD0(name)                                                                                        \
    static PyObject *own_##name(PyObject *self, PyObject *unused);                                           \
    static PyObject *m_##name(PyObject *self, PyObject *unused) {                                            \
        return rl_is_overridden(self) ? rl_override_member(#name, self, NULL, NULL)                          \
                                      : own_##name(self, unused);                                            \
    }                                                                                                        \
    static PyObject *own_##name(PyObject *self, PyObject *unused)

static PyObject *dims_refuse(const char *name, Py_ssize_t n, PyObject *kwnames, PyObject *dim) {
    if (n > 1)
        PyErr_Format(PyExc_TypeError, "%s() takes from 0 to 1 positional arguments but %zd were given", name,
                     n);
    else if (dim)
        PyErr_Format(PyExc_TypeError, "%s(): argument 'dim' (position 1) must be int, not %s", name,
                     Py_TYPE(dim)->tp_name);
    else
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", name,
                     PyTuple_GET_ITEM(kwnames, n == 1 ? 0 : PyTuple_GET_SIZE(kwnames) - 1));
    return NULL;
}

static bool names_dim(PyObject *name) {
    return PyUnicode_CompareWithASCIIString(name, "dim") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "axis") == 0;
}

static PyObject *dims_or_one(PyObject *const *args, Py_ssize_t n, PyObject *kwnames, const char *name,
                             rl_tensor *t, bool strides) {
    PyObject *which = n == 1 ? args[0] : Py_None;
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (named == 1 && n == 0 && names_dim(PyTuple_GET_ITEM(kwnames, 0)))
        which = args[0];
    else if (n > 1 || named)
        return dims_refuse(name, n, kwnames, NULL);
    if (which == Py_None) {
        if (!strides) return rl_tensor_shape(t);
        RL_OWNED PyObject *size = rl_size_new(t->v.strides, t->v.ndim);
        if (!size) return NULL;
        return PyObject_CallOneArg((PyObject *)&PyTuple_Type, size); /* strides are a plain tuple */
    }
    int64_t dim;
    int rc = rl_scalar_int(which, &dim);
    if (rc <= 0) return rc < 0 ? NULL : dims_refuse(name, 1, NULL, which);
    if (t->v.ndim == 0) {
        PyErr_Format(PyExc_IndexError, "Dimension specified as %lld but tensor has no dimensions",
                     (long long)dim);
        return NULL;
    }
    if (rl_dim_wrap(&dim, t->v.ndim) != RL_OK) return rl_raise(name);
    return PyLong_FromLongLong(strides ? t->v.strides[dim] : t->v.shape[dim]);
}
static PyObject *override_named(const char *name, PyObject *self, PyObject *const *args, Py_ssize_t n,
                                PyObject *kwnames) {
    RL_OWNED PyObject *func = PyObject_GetAttrString((PyObject *)rl_tensor_type, name);
    return func ? rl_override_call(func, self, args, n, kwnames) : NULL;
}

static PyObject *m_size(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kw) {
    if (rl_is_overridden(self)) return override_named("size", self, args, n, kw);
    return dims_or_one(args, n, kw, "size", T(self), false);
}
static PyObject *m_stride(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kw) {
    if (rl_is_overridden(self)) return override_named("stride", self, args, n, kw);
    return dims_or_one(args, n, kw, "stride", T(self), true);
}
METHOD0(dim) {
    (void)unused;
    return PyLong_FromLong(T(self)->v.ndim);
}
METHOD0(numel) {
    (void)unused;
    return PyLong_FromLongLong(T(self)->v.numel);
}
METHOD0(element_size) {
    (void)unused;
    return PyLong_FromLongLong(rl_itemsize(T(self)->v.dtype));
}
METHOD0(storage_offset) {
    (void)unused;
    return PyLong_FromLongLong(T(self)->v.offset);
}
METHOD0(detach) {
    (void)unused;
    return rl_tensor_detach(self);
}
METHOD0(detach_) {
    (void)unused;
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
    (void)unused;
    RL_RAW;
    /* from here on anybody may write: nothing is cached any more */
    __atomic_store_n(&T(self)->v.storage->pointer_seen, 1, __ATOMIC_RELAXED);
    return PyLong_FromVoidPtr(T(self)->v.numel && T(self)->v.device != RL_META ? rl_data(&T(self)->v, RL_READ)
                                                                               : NULL);
}
METHOD0(is_floating_point) {
    (void)unused;
    return PyBool_FromLong(rl_dtype_is_floating(T(self)->v.dtype));
}
METHOD0(is_complex) {
    (void)unused;
    return PyBool_FromLong(RL_SET_COMPLEX >> T(self)->v.dtype & 1);
}
METHOD0(is_inference) {
    (void)unused;
    return PyBool_FromLong(T(self)->inference);
}
METHOD0(_is_view) {
    (void)unused;
    return PyBool_FromLong(T(self)->base != NULL);
}
METHOD0(untyped_storage) {
    (void)unused;
    return rl_untyped_storage_new(T(self)->v.storage);
}
static PyObject *m_as_subclass(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"cls", NULL};
    PyObject *cls;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:as_subclass", names, &cls)) return NULL;
    if (PyType_Check(cls) && PyType_IsSubtype((PyTypeObject *)cls, rl_tensor_type))
        return rl_tensor_as_class(self, (PyTypeObject *)cls);
    return PyErr_Format(PyExc_TypeError,
                        "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
                        "possible. Make sure your class inherits from Tensor.");
}

/* Tensor._make_subclass(cls, data, require_grad=False): a leaf on the same memory */
static PyObject *m_make_subclass(PyObject *unused, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"cls", "data", "require_grad", NULL};
    PyTypeObject *cls;
    PyObject *data;
    int grad = 0;
    (void)unused;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|p:_make_subclass", names, &PyType_Type, &cls,
                                     rl_tensor_type, &data, &grad))
        return NULL;
    if (!PyType_IsSubtype(cls, rl_tensor_type))
        return PyErr_Format(
            PyExc_TypeError,
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor.");
    RL_OWNED PyObject *made = (PyObject *)rl_tensor_alias(cls, T(data));
    if (!made || (grad && rl_tensor_set_requires_grad((rl_tensor *)made, 1) < 0)) return NULL;
    return rl_move(&made);
}

METHOD0(zero_) {
    (void)unused;
    rl_value args[2] = {{.tag = RL_TENSOR, .u.t = &T(self)->v}, {.tag = RL_INT, .u.i = 0}};
    return rl_op_run(RL_OP_fill_, args, 2);
}

static PyObject *m_is_contiguous(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"memory_format", NULL};
    static const rl_signature signature = {"is_contiguous", 0, 0, names};
    PyObject *format;
    if (rl_arguments(&signature, args, kwargs, &format) < 0) return NULL;
    int64_t wanted = RL_FORMAT_CONTIGUOUS;
    if (format != Py_None && !rl_format_parse(format, &wanted)) {
        PyErr_Format(PyExc_TypeError,
                     "is_contiguous(): argument 'memory_format' must be torch.memory_format, not %s",
                     Py_TYPE(format)->tp_name);
        return NULL;
    }
    return PyBool_FromLong(rl_is_in_format(&T(self)->v, wanted));
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
    static const char *const names[] = {"force", NULL};
    static const rl_signature signature = {"numpy", 0, 0, names};
    PyObject *value;
    if (rl_arguments(&signature, args, kwargs, &value) < 0) return NULL;
    int force = rl_argument_boolean("numpy", "force", value);
    if (force < 0) return NULL;
    if (rl_requires_grad(T(self)) && !force) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
        return NULL;
    }
    if (force && T(self)->v.device == RL_CUDA) {
        RL_OWNED PyObject *plain = rl_tensor_detach(self);
        RL_OWNED PyObject *copy = plain ? PyObject_CallMethod(plain, "cpu", NULL) : NULL;
        return copy ? rl_numpy_lend(copy) : NULL;
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
    if (dtype == Py_None) return must ? PyObject_CallMethod(a, "copy", NULL) : rl_move(&a);
    RL_OWNED PyObject *cast =
        PyObject_CallMethod(a, "astype", "OssOO", dtype, "K", "unsafe", Py_True, must ? Py_True : Py_False);
    if (cast && cast != a && copy != Py_None && !must) {
        PyErr_SetString(PyExc_ValueError, "Unable to avoid copy while creating an array as requested.");
        return NULL;
    }
    return rl_move(&cast);
}

Py_ssize_t rl_tensor_length(PyObject *self) {
    if (T(self)->v.ndim) return (Py_ssize_t)T(self)->v.shape[0];
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
}

Py_hash_t rl_tensor_hash(PyObject *self) {
    return (Py_hash_t)self; /* id(self), as in PyTorch */
}

#define KEYWORDS(fn) (PyCFunction)(void (*)(void)) fn
PyMethodDef rl_tensor_methods[] = {
    {"size", KEYWORDS(m_size), METH_FASTCALL | METH_KEYWORDS,
     "size($self, /, dim=None)\n--\n\n"
     "Return the shape of the tensor, or the size of the dimension `dim`.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(-1)\n"
     "(torch.Size([2, 3]), 3)\n\n"
     "Same as torch.Tensor.size: https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.size.html"},
    {"stride", KEYWORDS(m_stride), METH_FASTCALL | METH_KEYWORDS,
     "stride($self, /, dim=None)\n--\n\n"
     "Return the strides in elements, of all dimensions or of `dim`.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.zeros(2, 3).stride(), torch.zeros(2, 3).t().stride()\n"
     "((3, 1), (1, 3))\n\n"
     "Same as torch.Tensor.stride: https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.stride.html"},
    {"dim", m_dim, METH_NOARGS, "dim($self, /)\n--\n\nReturn the number of dimensions."},
    {"ndimension", m_dim, METH_NOARGS,
     "ndimension($self, /)\n--\n\nReturn the number of dimensions: an alias of dim()."},
    {"numel", m_numel, METH_NOARGS, "numel($self, /)\n--\n\nReturn the number of elements."},
    {"nelement", m_numel, METH_NOARGS,
     "nelement($self, /)\n--\n\nReturn the number of elements: an alias of numel()."},
    {"element_size", m_element_size, METH_NOARGS,
     "element_size($self, /)\n--\n\nReturn the size of an element in bytes."},
    {"storage_offset", m_storage_offset, METH_NOARGS,
     "storage_offset($self, /)\n--\n\nReturn the offset of the first element in the storage, in elements."},
    {"data_ptr", m_data_ptr, METH_NOARGS,
     "data_ptr($self, /)\n--\n\nReturn the memory address of the first element."},
    {"is_contiguous", KEYWORDS(m_is_contiguous), METH_VARARGS | METH_KEYWORDS,
     "is_contiguous($self, /, memory_format=None)\n--\n\n"
     "Test whether the memory is contiguous: row-major without gaps, or in the order `memory_format`.\n\n"
     "Same as torch.Tensor.is_contiguous: "
     "https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.is_contiguous.html"},
    {"detach", m_detach, METH_NOARGS,
     "detach($self, /)\n--\n\n"
     "Return a tensor on the same memory, detached from the autograd graph.\n\n"
     "Same as torch.Tensor.detach: https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.detach.html"},
    {"detach_", m_detach_, METH_NOARGS,
     "detach_($self, /)\n--\n\nDetach the tensor from the autograd graph, in place: it becomes a leaf."},
    {"requires_grad_", KEYWORDS(m_requires_grad_), METH_VARARGS | METH_KEYWORDS,
     "requires_grad_($self, /, requires_grad=True)\n--\n\n"
     "Set whether autograd computes gradients for this tensor; return it.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.zeros(2).requires_grad_()\n"
     "tensor([0., 0.], requires_grad=True)\n\n"
     "Same as torch.Tensor.requires_grad_: "
     "https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.requires_grad_.html"},
    {"is_floating_point", m_is_floating_point, METH_NOARGS,
     "is_floating_point($self, /)\n--\n\nTest whether the dtype is a floating-point one."},
    {"is_complex", m_is_complex, METH_NOARGS,
     "is_complex($self, /)\n--\n\nTest whether the dtype is complex."},
    {"is_inference", m_is_inference, METH_NOARGS,
     "is_inference($self, /)\n--\n\nTest whether the tensor was made under inference_mode()."},
    {"_is_view", m__is_view, METH_NOARGS,
     "_is_view($self, /)\n--\n\nTest whether the tensor is a view of another one."},
    {"untyped_storage", m_untyped_storage, METH_NOARGS,
     "untyped_storage($self, /)\n--\n\nReturn the storage: the bytes behind this tensor and its views."},
    {"as_subclass", KEYWORDS(m_as_subclass), METH_VARARGS | METH_KEYWORDS,
     "as_subclass($self, /, cls)\n--\n\nReturn the same tensor as an object of a subclass of Tensor, with "
     "its autograd history.\n\nhttps://docs.pytorch.org/docs/2.13/generated/torch.Tensor.as_subclass.html"},
    {"_make_subclass", KEYWORDS(m_make_subclass), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "_make_subclass(cls, data, require_grad=False)\n--\n\nCreate a leaf of a subclass of Tensor on the "
     "memory of `data`."},
    {"zero_", m_zero_, METH_NOARGS, "zero_($self, /)\n--\n\nFill the tensor with zeros."},
    {"item", rl_tensor_item, METH_NOARGS,
     "item($self, /)\n--\n\n"
     "Return the only element as a Python number. More than one raises RuntimeError.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.tensor([2.5]).item()\n"
     "2.5\n\n"
     "Same as torch.Tensor.item: https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.item.html"},
    {"tolist", rl_tensor_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\n"
     "Return the elements as nested lists of Python numbers; of a 0-D tensor a number.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.tensor([[1, 2], [3, 4]]).tolist()\n"
     "[[1, 2], [3, 4]]\n\n"
     "Same as torch.Tensor.tolist: https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.tolist.html"},
    {"numpy", KEYWORDS(m_numpy), METH_VARARGS | METH_KEYWORDS,
     "numpy($self, /, *, force=False)\n--\n\n"
     "Return a NumPy array on the same memory. `force` detaches, and copies to the CPU.\n\n"
     "Parameters\n"
     "----------\n"
     "force : bool, default False\n"
     "    Whether a tensor that requires grad is detached first, where it is refused otherwise.\n\n"
     "Raises\n"
     "------\n"
     "RuntimeError\n"
     "    The tensor requires grad.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.tensor([1.0, 2.0]).numpy()\n"
     "array([1., 2.], dtype=float32)\n\n"
     "Same as torch.Tensor.numpy: https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.numpy.html"},
    {"__array__", KEYWORDS(m_array), METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nReturn a NumPy array, for numpy.asarray()."},
    {NULL, NULL, 0, NULL}};

/* ---- other memory for a tensor ----
 * set_(), resize_(). */
static int dims_read(PyObject *tuple, int64_t *dims) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    if (n > RL_MAX_DIMS) {
        PyErr_Format(PyExc_RuntimeError, "tensors may have at most %d dimensions, but got %zd", RL_MAX_DIMS,
                     n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int rc = rl_scalar_int(PyTuple_GET_ITEM(tuple, i), &dims[i]);
        if (rc == 0) PyErr_SetString(PyExc_TypeError, "sizes and strides must be integers");
        if (rc <= 0) return -1;
    }
    return (int)n;
}

/* The bytes that a storage must have; -1 where no number can tell them, or none does. */
static int64_t bytes_needed(const rl_view *v) {
    __int128 last = v->offset;
    if (v->offset < 0 || v->numel < 0) return -1;
    if (v->numel == 0) return 0;
    for (int i = 0; i < v->ndim && last <= INT64_MAX; i++) {
        if (v->strides[i] < 0) return -1;
        last += (__int128)(v->shape[i] - 1) * v->strides[i];
    }
    last = (last + 1) * rl_itemsize(v->dtype);
    return last > INT64_MAX ? -1 : (int64_t)last;
}

/* A storage that is too small grows. */
static int storage_fit(rl_storage *s, const rl_view *v) {
    char sizes[RL_DIMS_TEXT], strides[RL_DIMS_TEXT];
    int64_t needed = bytes_needed(v);
    rl_status status = RL_OK;
    if (v->offset < 0)
        status = rl_error_set(RL_RUNTIME, "Tensor: invalid storage offset %lld", (long long)v->offset);
    else if (v->numel < 0)
        status = rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow");
    else if (needed < 0)
        status =
            rl_error_set(RL_RUNTIME, "Storage size calculation overflowed with sizes=%s and strides=%s",
                         rl_dims_text(sizes, v->shape, v->ndim), rl_dims_text(strides, v->strides, v->ndim));
    else if (needed > (int64_t)s->nbytes)
        status = rl_storage_resize(s, RL_COUNT(needed));
    if (status == RL_OK)
        status = rl_view_check_bounds(v->shape, v->strides, v->ndim, v->numel ? v->offset : 0, v->dtype,
                                      s->nbytes);
    if (status != RL_OK) rl_raise("set_");
    return status == RL_OK ? 0 : -1;
}

/* A write that autograd counts; another storage's count is not the tensor's. */
static int version_count(rl_tensor *t, const rl_storage *s) {
    if (rl_version_none(t)) return 0;
    if (s != t->v.storage && rl_version_part(t, rl_version_of(t)) < 0) return -1;
    rl_version_bump(t);
    return 0;
}

/* _set_memory(tensor, storage, offset, size, stride): stride None is row-major; a storage that is too small
 * grows */
static PyObject *set_memory(PyObject *m, PyObject *args) {
    PyObject *tensor, *storage, *size, *stride;
    long long offset;
    int64_t dims[2 * RL_MAX_DIMS];
    (void)m;
    if (!PyArg_ParseTuple(args, "O!O!LO!O:_set_memory", rl_tensor_type, &tensor, rl_untyped_storage_type,
                          &storage, &offset, &PyTuple_Type, &size, &stride))
        return NULL;
    int n = dims_read(size, dims);
    int steps = n >= 0 && stride != Py_None && PyTuple_Check(stride) ? dims_read(stride, dims + n) : n;
    if (n < 0 || steps < 0) return NULL;
    if (n != steps) {
        PyErr_Format(PyExc_RuntimeError, "unequal size length (%d) and stride length (%d)", n, steps);
        return NULL;
    }
    rl_tensor *t = (rl_tensor *)tensor;
    rl_storage *s = rl_untyped_storage_peek(storage);
    rl_view view = {
        .dtype = t->v.dtype, .device = s->device, .device_index = s->device_index, .offset = offset};
    view.shape = view.small;
    if (rl_view_dims(&view, n) != RL_OK) return rl_raise("set_");
    memcpy(view.shape, dims, (size_t)n * sizeof *dims);
    memcpy(view.strides, dims + n, (size_t)n * sizeof *dims);
    view.numel = rl_dims_numel(view.shape, n);
    if (stride == Py_None && view.numel >= 0) rl_dims_contiguous(view.shape, n, view.strides);
    if (storage_fit(s, &view) < 0 || version_count(t, s) < 0) {
        rl_view_clear(&view);
        return NULL;
    }
    view.storage = rl_storage_retain(s);
    rl_tensor_set_view_steal(t, &view);
    return Py_NewRef(tensor);
}

static PyMethodDef functions[] = {{"_set_memory", set_memory, METH_VARARGS,
                                   "_set_memory(tensor, storage, offset, size, stride)\n--\n\nThe tensor "
                                   "becomes a view of the storage, which "
                                   "grows where it is too small."},
                                  {NULL, NULL, 0, NULL}};

int rl_memory_init(PyObject *m) {
    return PyModule_AddFunctions(m, functions);
}
