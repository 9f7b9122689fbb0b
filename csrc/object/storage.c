/* torch.UntypedStorage: a tensor's memory as bytes. */
#include "storage.h"
#include "core/shared.h"
#include "core/storage.h"
#include <time.h>

typedef struct {
    PyObject_HEAD rl_storage *storage;
} storage_object;
PyTypeObject *rl_untyped_storage_type;
#define S(o) (((storage_object *)(o))->storage)

/* One object stands for a storage as long as it lives, so that pickle, copy and `is` know it again. */
PyObject *rl_untyped_storage_new(rl_storage *s) {
    if (s->object_) return Py_NewRef((PyObject *)s->object_);
    storage_object *o = (storage_object *)rl_untyped_storage_type->tp_alloc(rl_untyped_storage_type, 0);
    if (!o) return NULL;
    o->storage = rl_storage_retain(s);
    s->object_ = o;
    return (PyObject *)o;
}

rl_storage *rl_untyped_storage_peek(PyObject *o) {
    return S(o);
}

static void storage_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    S(self)->object_ = NULL;
    rl_storage_release(S(self));
    type->tp_free(self);
    Py_DECREF(type);
}

/* A reader's buffer changes nothing; a writer's counts as an export while it lives. */
static int storage_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    bool writes = flags & PyBUF_WRITABLE;
    if (S(self)->device == RL_META) {
        PyErr_SetString(PyExc_NotImplementedError, "Not available for 'meta' device type");
        return -1;
    }
    if (S(self)->device != RL_CPU) {
        PyErr_SetString(PyExc_BufferError, "only the CPU's memory can be read directly");
        return -1;
    }
    RL_RAW;
    if (PyBuffer_FillInfo(view, self, rl_storage_bytes(S(self), RL_READ), (Py_ssize_t)S(self)->nbytes,
                          !writes, flags) < 0)
        return -1;
    if (writes)
        rl_storage_export(S(self));
    else
        S(self)->readers++; /* the bytes must not move under a reader */
    view->internal = writes ? S(self) : NULL;
    return 0;
}
static void storage_releasebuffer(PyObject *self, Py_buffer *view) {
    if (view->internal)
        rl_storage_unexport(S(self));
    else
        S(self)->readers--;
}

static PyObject *storage_nbytes(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromSize_t(S(self)->nbytes);
}
static PyObject *storage_data_ptr(PyObject *self, PyObject *unused) {
    (void)unused;
    RL_RAW;
    __atomic_store_n(&S(self)->pointer_seen, 1, __ATOMIC_RELAXED);
    return PyLong_FromVoidPtr(S(self)->nbytes ? rl_storage_bytes(S(self), RL_READ) : NULL);
}
/* equal for two objects on the same memory; unlike data_ptr() it promises nothing about writing */
static PyObject *storage_key(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromVoidPtr(S(self));
}
static PyObject *storage_get_device(PyObject *self, void *c) {
    (void)c;
    return rl_device_of(S(self)->device, S(self)->device_index);
}
static PyObject *storage_resize(PyObject *self, PyObject *size) {
    if (!PyLong_Check(size)) {
        PyErr_Format(PyExc_RuntimeError, "resize_ expects an int, but got %s", Py_TYPE(size)->tp_name);
        return NULL;
    }
    Py_ssize_t n = PyLong_AsSsize_t(size);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n < 0) {
        PyErr_Format(PyExc_RuntimeError, "Trying to resize storage to a negative size %zd", n);
        return NULL;
    }
    if (rl_storage_resize(S(self), RL_COUNT(n)) != RL_OK) return rl_raise("resize_");
    return Py_NewRef(self);
}
static PyObject *storage_resizable(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(S(self)->resizable);
}
/* A kernel of another thread may use the memory where it is; kernels end. */
static int storage_wait(rl_storage *s) {
    while (rl_storage_in_use(s)) {
        Py_BEGIN_ALLOW_THREADS nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        Py_END_ALLOW_THREADS if (PyErr_CheckSignals() < 0) return -1;
    }
    return 0;
}
static PyObject *storage_share(PyObject *self, PyObject *unused) {
    (void)unused;
    if (storage_wait(S(self)) < 0) return NULL;
    return rl_storage_share(S(self)) == RL_OK ? Py_NewRef(self) : rl_raise("share_memory_");
}
static PyObject *storage_is_shared(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(rl_storage_is_shared(S(self)));
}
/* two objects on the same memory are one storage, as in PyTorch */
static PyObject *storage_compare(PyObject *a, PyObject *b, int how) {
    if ((how != Py_EQ && how != Py_NE) || !Py_IS_TYPE(b, rl_untyped_storage_type)) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((S(a) == S(b)) == (how == Py_EQ));
}
static Py_hash_t storage_hash(PyObject *self) {
    return (Py_hash_t)((uintptr_t)S(self) >> 6);
}
static Py_ssize_t storage_length(PyObject *self) {
    return (Py_ssize_t)S(self)->nbytes;
}
static PyMethodDef storage_methods[] = {
    {"nbytes", storage_nbytes, METH_NOARGS, "nbytes($self, /)\n--\n\nReturn the number of bytes."},
    {"size", storage_nbytes, METH_NOARGS,
     "size($self, /)\n--\n\nReturn the number of bytes: an alias of nbytes()."},
    {"data_ptr", storage_data_ptr, METH_NOARGS,
     "data_ptr($self, /)\n--\n\nReturn the memory address of the first byte."},
    {"resize_", storage_resize, METH_O,
     "resize_($self, size, /)\n--\n\nResize the storage to `size` bytes. Memory that is used elsewhere "
     "raises RuntimeError."},
    {"resizable", storage_resizable, METH_NOARGS,
     "resizable($self, /)\n--\n\nTest whether resize_() may move the bytes."},
    {"share_memory_", storage_share, METH_NOARGS,
     "share_memory_($self, /)\n--\n\nMove the bytes into memory that forked processes share."},
    {"is_shared", storage_is_shared, METH_NOARGS,
     "is_shared($self, /)\n--\n\nTest whether forked processes share the bytes."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef storage_getset[] = {
    {"_cdata", storage_key, NULL, "Tells storages apart.", NULL},
    {"device", storage_get_device, NULL, "The device that holds the bytes.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot storage_slots[] = {
    {Py_tp_dealloc, storage_dealloc},
    {Py_bf_getbuffer, storage_getbuffer},
    {Py_bf_releasebuffer, storage_releasebuffer},
    {Py_sq_length, storage_length},
    {Py_tp_richcompare, storage_compare},
    {Py_tp_hash, storage_hash},
    {Py_tp_methods, storage_methods},
    {Py_tp_getset, storage_getset},
    {Py_tp_doc, "UntypedStorage(size=0, *, device=None)\n--\n\nThe bytes behind a tensor and its views."},
    {0, NULL}};
static PyType_Spec storage_spec = {"rushlight.storage.UntypedStorage", sizeof(storage_object), 0,
                                   Py_TPFLAGS_DEFAULT, storage_slots};

int rl_untyped_storage_init(PyObject *m) {
    rl_untyped_storage_type = (PyTypeObject *)PyType_FromSpec(&storage_spec);
    return rl_untyped_storage_type ? PyModule_AddType(m, rl_untyped_storage_type) : -1;
}
