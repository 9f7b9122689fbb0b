/* Other memory for a tensor: set_(), resize_(). */
#include "bindings.h"
#include "core/error.h"
#include "core/view.h"
#include "object/storage.h"
#include <string.h>

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
    view.storage = rl_storage_keep(s);
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
