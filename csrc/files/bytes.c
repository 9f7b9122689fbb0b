/* Whole storages: their bytes between devices, and what Python asks of a tensor's storage. */
#include "internal.h"
#include "object/storage.h"
#include "core/storage.h"

static bool bytes_move(rl_storage *to, rl_storage *from, const rl_device_driver *driver) {
    RL_RAW;
    const rl_place there = {rl_storage_bytes(to, RL_FRESH), to->device, to->device_index},
                   here = {rl_storage_bytes(from, RL_READ), from->device, from->device_index};
    return driver->copy(&there, &here, from->nbytes, false) == RL_OK || rl_device_failed(driver) == RL_OK;
}

/* Others may run Python until the copy is done: it holds on to what it reads. */
bool rl_bytes_copy(rl_storage *to, rl_storage *from, const rl_device_driver *driver) {
    rl_storage_retain(from)->in_use++;
    rl_kernels_beside++;
    const bool done = bytes_move(to, from, driver);
    rl_kernels_beside--;
    from->in_use--;
    rl_storage_release(from);
    return done;
}

PyObject *rl_bytes_readable(rl_storage *s) {
    if (s->device == RL_CPU) return rl_untyped_storage_new(s);
    const rl_device_driver *driver = rl_device_driver_get(s->device);
    if (!driver) return PyErr_Format(PyExc_RuntimeError, "the tensor's storage cannot be read from here");
    rl_storage *copy = rl_storage_new(RL_COUNT(s->nbytes), 1);
    if (!copy || !rl_bytes_copy(copy, s, driver)) {
        rl_storage_release(copy);
        return rl_raise(NULL);
    }
    PyObject *bytes = rl_untyped_storage_new(copy);
    rl_storage_release(copy);
    return bytes;
}

static PyObject *bytes_of(PyObject *self, PyObject *arg) {
    (void)self;
    if (!rl_tensor_check(arg)) return PyErr_Format(PyExc_TypeError, "_storage_bytes() wants a Tensor");
    rl_storage *s = ((rl_tensor *)arg)->v.storage;
    return s ? rl_bytes_readable(s) : PyErr_Format(PyExc_RuntimeError, "the tensor has no storage");
}

static PyObject *bytes_id(PyObject *self, PyObject *arg) {
    (void)self;
    if (!rl_tensor_check(arg)) return PyErr_Format(PyExc_TypeError, "_storage_id() wants a Tensor");
    return PyLong_FromVoidPtr(((rl_tensor *)arg)->v.storage);
}

static PyObject *bytes_attributes(PyObject *self, PyObject *arg) {
    (void)self;
    if (!rl_tensor_check(arg)) return PyErr_Format(PyExc_TypeError, "_tensor_attributes() wants a Tensor");
    PyObject *dict = ((rl_tensor *)arg)->dict;
    return dict ? PyDict_Copy(dict) : PyDict_New();
}

static PyObject *bytes_part(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *of;
    Py_ssize_t at, n;
    if (!PyArg_ParseTuple(args, "O!nn:_storage_part", rl_untyped_storage_type, &of, &at, &n)) return NULL;
    rl_storage *root = rl_untyped_storage_peek(of);
    if (at < 0 || n < 0 || (size_t)at > root->nbytes || (size_t)n > root->nbytes - (size_t)at)
        return PyErr_Format(PyExc_RuntimeError, "a part of a storage reaches outside of it");
    rl_storage *part = rl_storage_part(root, (size_t)at, (size_t)n);
    if (!part) return rl_raise(NULL);
    PyObject *object = rl_untyped_storage_new(part);
    rl_storage_release(part);
    return object;
}

static PyObject *bytes_flat(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *storage, *dtype;
    if (!PyArg_ParseTuple(args, "O!O:_flat_tensor", rl_untyped_storage_type, &storage, &dtype)) return NULL;
    int code = rl_dtype_parse(dtype);
    if (code < 0) return NULL;
    rl_storage *s = rl_untyped_storage_peek(storage);
    RL_OWNED PyObject *t = (PyObject *)rl_tensor_alloc(rl_tensor_type, 1);
    if (!t) return NULL;
    rl_view *v = &((rl_tensor *)t)->v;
    v->numel = v->shape[0] = (int64_t)s->nbytes / rl_itemsize(code);
    v->strides[0] = 1;
    v->dtype = (uint8_t)code;
    v->device = s->device, v->device_index = s->device_index;
    v->storage = rl_storage_retain(s);
    rl_tensor_reveal((rl_tensor *)t);
    return rl_move(&t);
}

PyMethodDef rl_bytes_methods[] = {
    {"_storage_part", bytes_part, METH_VARARGS,
     PyDoc_STR("_storage_part(storage, start, nbytes)\n--\n\nA storage over a part of another one's bytes.")},
    {"_storage_bytes", bytes_of, METH_O,
     PyDoc_STR(
         "_storage_bytes(tensor)\n--\n\nThe bytes of the tensor's whole storage, in the CPU's memory.")},
    {"_storage_id", bytes_id, METH_O,
     PyDoc_STR("_storage_id(tensor)\n--\n\nA number that tells storages apart while they live.")},
    {"_tensor_attributes", bytes_attributes, METH_O,
     PyDoc_STR("_tensor_attributes(tensor)\n--\n\nA copy of the attributes that were set on a tensor.")},
    {"_flat_tensor", bytes_flat, METH_VARARGS,
     PyDoc_STR("_flat_tensor(storage, dtype)\n--\n\nA tensor over all whole elements of a storage.")},
    {NULL, NULL, 0, NULL},
};
