/* NumPy both ways without copying. The C API is loaded at first use: `import rushlight` imports no NumPy. */
#include "numpy.h"
#include "core/dtype.h"
#include "core/storage.h"
#include "core/view.h"
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <string.h>

static int numpy_load(void) {
    if (PyArray_API || _import_array() >= 0) return 0;
    if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) /* else NumPy says itself what ails it */
        PyErr_SetString(PyExc_RuntimeError, "Numpy is not available");
    return -1;
}

bool rl_numpy_is_array(PyObject *o) {
    if (PyArray_API) return PyArray_Check(o);
    for (PyTypeObject *t = Py_TYPE(o); t; t = t->tp_base)
        if (strcmp(t->tp_name, "numpy.ndarray") == 0) return true;
    return false;
}

static const int numpy_types[RL_NDTYPES] = {
    [RL_U8] = NPY_UINT8,          [RL_I8] = NPY_INT8,     [RL_I16] = NPY_INT16,   [RL_I32] = NPY_INT32,
    [RL_I64] = NPY_INT64,         [RL_F16] = NPY_FLOAT16, [RL_F32] = NPY_FLOAT32, [RL_F64] = NPY_FLOAT64,
    [RL_BOOL] = NPY_BOOL,         [RL_BF16] = -1,         [RL_C32] = -1,          [RL_C64] = NPY_COMPLEX64,
    [RL_C128] = NPY_COMPLEX128,   [RL_U16] = NPY_UINT16,  [RL_U32] = NPY_UINT32,  [RL_U64] = NPY_UINT64,
    [RL_F8E5M2... RL_BITS16] = -1};

static int dtype_of(PyArray_Descr *descr) {
    int type = descr->type_num;
    if (type == NPY_LONG) type = sizeof(long) == 8 ? NPY_INT64 : NPY_INT32;
    if (type == NPY_ULONG) type = sizeof(long) == 8 ? NPY_UINT64 : NPY_UINT32;
    if (type == NPY_LONGLONG) type = NPY_INT64;
    if (type == NPY_ULONGLONG) type = NPY_UINT64;
    for (int i = 0; i < RL_NDTYPES; i++)
        if (numpy_types[i] == type) return i;
    PyErr_Format(PyExc_TypeError,
                 "can't convert np.ndarray of type %s. The only supported types are: float64, float32, "
                 "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, "
                 "and bool.",
                 descr->typeobj->tp_name);
    return -1;
}

static bool is_generic(PyObject *o) {
    if (PyArray_API) return PyArray_CheckScalar(o) && !PyArray_Check(o);
    for (PyTypeObject *t = Py_TYPE(o); t; t = t->tp_base)
        if (strcmp(t->tp_name, "numpy.generic") == 0) return true;
    return false;
}

char rl_numpy_kind(PyObject *o) {
    if (!is_generic(o)) return 0;
    if (numpy_load() < 0) { /* NumPy is there, as its scalar is, but not its C interface */
        PyErr_Clear();
        return 0;
    }
    if (PyArray_IsScalar(o, ComplexFloating)) return 'c';
    if (PyArray_IsScalar(o, Integer) && !PyArray_IsScalar(o, Timedelta)) return 'i';
    return PyArray_IsScalar(o, Floating) || PyArray_IsScalar(o, Bool) ? 'f' : 0;
}

int rl_numpy_scalar_dtype(PyObject *o) {
    if (!is_generic(o)) return -2;
    if (numpy_load() < 0) return -1;
    RL_OWNED PyObject *descr = (PyObject *)PyArray_DescrFromScalar(o);
    return descr ? dtype_of((PyArray_Descr *)descr) : -1;
}

static void array_free(void *owner) {
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)owner);
    PyGILState_Release(gil);
}

PyObject *rl_numpy_borrow(PyObject *o, bool warn) {
    if (numpy_load() < 0) return NULL;
    if (!PyArray_Check(o)) {
        PyErr_Format(PyExc_TypeError, "expected np.ndarray (got %s)", Py_TYPE(o)->tp_name);
        return NULL;
    }
    PyArrayObject *a = (PyArrayObject *)o;
    if (warn && !PyArray_ISWRITEABLE(a) &&
        PyErr_WarnEx(PyExc_UserWarning,
                     "The given NumPy array is not writable, and PyTorch does not support non-writable "
                     "tensors. This means "
                     "writing to this tensor will result in undefined behavior. You may want to copy the "
                     "array to protect "
                     "its data or make it writable before converting it to a tensor.",
                     1) < 0)
        return NULL;
    rl_tensor *t = rl_tensor_alloc(rl_tensor_type, 0); /* Python code that runs here may change the array */
    RL_OWNED PyObject *held = (PyObject *)t;
    if (!held) return NULL;
    int dtype = dtype_of(PyArray_DESCR(a)), ndim = PyArray_NDIM(a);
    if (dtype < 0) return NULL;
    if (!PyArray_ISNOTSWAPPED(a)) {
        PyErr_SetString(PyExc_ValueError,
                        "given numpy array has byte order different from the native byte order. Conversion "
                        "between byte orders is currently not supported.");
        return NULL;
    }
    int64_t item = rl_itemsize(dtype), span = 1;
    for (int i = 0; i < ndim; i++) {
        npy_intp stride = PyArray_STRIDE(a, i);
        if (stride < 0) {
            PyErr_SetString(PyExc_ValueError, "At least one stride in the given numpy array is negative, and "
                                              "tensors with negative strides are "
                                              "not currently supported. (You can probably work around this "
                                              "by making a copy of your array  with "
                                              "array.copy().) ");
            return NULL;
        }
        if (stride % item) {
            PyErr_Format(
                PyExc_ValueError,
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                "reallocate the memory.");
            return NULL;
        }
        if (PyArray_SIZE(a) && PyArray_DIM(a, i) > 1) span += (PyArray_DIM(a, i) - 1) * (stride / item);
    }
    if (PyArray_SIZE(a) == 0) span = 0;
    if ((uintptr_t)PyArray_DATA(a) % (uintptr_t)item) { /* kernels read whole elements */
        RL_OWNED PyObject *aligned = PyArray_NewCopy(a, NPY_CORDER);
        return aligned ? rl_numpy_borrow(aligned, false) : NULL;
    }
    if (ndim && rl_view_dims(&t->v, ndim) != RL_OK) return rl_raise("from_numpy");
    t->v.dtype = (uint8_t)dtype;
    for (int i = 0; i < ndim; i++) {
        t->v.shape[i] = PyArray_DIM(a, i);
        t->v.strides[i] = PyArray_STRIDE(a, i) / item;
    }
    t->v.numel = PyArray_SIZE(a);
    t->v.storage = rl_storage_borrow(PyArray_DATA(a), (size_t)(span * item), array_free, Py_NewRef(o));
    if (!t->v.storage) return rl_raise("from_numpy");
    t->v.storage->exports = t->v.storage->foreign = 1; /* the array's owner writes unseen */
    rl_tensor_reveal(t);
    return rl_move(&held);
}

/* The base of a lent array: holds the storage, and tells it when the array is gone. */
typedef struct {
    PyObject_HEAD rl_storage *storage;
} loan;
static void loan_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    rl_storage *storage = ((loan *)self)->storage;
    if (storage) rl_storage_unexport(storage);
    rl_storage_release(storage);
    type->tp_free(self);
    Py_DECREF(type);
}
static PyType_Slot loan_slots[] = {{Py_tp_dealloc, loan_dealloc}, {0, NULL}};
static PyType_Spec loan_spec = {"rushlight._C._Loan", sizeof(loan), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, loan_slots};
static PyTypeObject *loan_type;

/* An array of no base: NumPy makes it without running Python. */
static PyObject *array_over(const rl_view *v) {
    npy_intp dims[RL_MAX_DIMS], strides[RL_MAX_DIMS];
    RL_RAW;
    for (int i = 0; i < v->ndim; i++) {
        dims[i] = (npy_intp)v->shape[i];
        strides[i] = (npy_intp)(v->strides[i] * rl_itemsize(v->dtype));
    }
    return PyArray_New(&PyArray_Type, v->ndim, dims, numpy_types[v->dtype], strides, rl_data(v, RL_READ), 0,
                       NPY_ARRAY_WRITEABLE, NULL);
}

PyObject *rl_numpy_lend(PyObject *o) {
    rl_tensor *t = (rl_tensor *)o;
    if (numpy_load() < 0) return NULL;
    RL_OWNED PyObject *held = rl_type_alloc(loan_type, 0); /* nothing may run between looking and lending */
    loan *base = (loan *)held;
    if (!held) return NULL;
    if (numpy_types[t->v.dtype] < 0) {
        PyErr_Format(PyExc_TypeError, "Got unsupported ScalarType %s", rl_dtype_title(t->v.dtype));
        return NULL;
    }
    if (t->v.device != RL_CPU) {
        RL_OWNED PyObject *device = rl_device_of(t->v.device, t->v.device_index);
        if (device)
            PyErr_Format(PyExc_TypeError,
                         "can't convert %S device type tensor to numpy. Use Tensor.cpu() to copy the "
                         "tensor to host memory first.",
                         device);
        return NULL;
    }
    if (t->v.ndim > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "NumPy arrays cannot have so many dimensions");
        return NULL;
    }
    base->storage = rl_storage_retain(t->v.storage);
    rl_storage_export(base->storage); /* the memory stays where it is from here on */
    PyObject *a = array_over(&t->v);
    if (!a) return NULL;
    PyArray_UpdateFlags((PyArrayObject *)a,
                        NPY_ARRAY_ALIGNED | NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    if (PyArray_SetBaseObject((PyArrayObject *)a, rl_move(&held)) < 0) Py_CLEAR(a);
    return a;
}

static PyObject *numpy_from(PyObject *m, PyObject *o) {
    (void)m;
    if (!rl_numpy_is_array(o)) {
        PyErr_Format(PyExc_TypeError, "expected np.ndarray (got %s)", Py_TYPE(o)->tp_name);
        return NULL;
    }
    return rl_numpy_borrow(o, true);
}
static PyMethodDef numpy_functions[] = {
    {"from_numpy", numpy_from, METH_O,
     "from_numpy(ndarray)\n--\n\n"
     "Create a tensor on the memory of a NumPy array: both see what is written.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    No ndarray, or a dtype that tensors do not have.\n"
     "ValueError\n"
     "    Negative strides, or foreign byte order.\n\n"
     "Examples\n"
     "--------\n"
     ">>> a = np.zeros(2)\n"
     ">>> torch.from_numpy(a).fill_(3.0)\n"
     "tensor([3., 3.], dtype=torch.float64)\n"
     ">>> a\n"
     "array([3., 3.])\n\n"
     "Same as torch.from_numpy: https://docs.pytorch.org/docs/2.13/generated/torch.from_numpy.html"},
    {NULL, NULL, 0, NULL}};

int rl_numpy_init(PyObject *m) {
    loan_type = (PyTypeObject *)PyType_FromSpec(&loan_spec);
    return loan_type ? PyModule_AddFunctions(m, numpy_functions) : -1;
}
