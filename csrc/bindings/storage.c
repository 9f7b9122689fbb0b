/* Storages from outside: memory of others, files, storages that processes share, weak references. */
#include "bindings.h"
#include "core/device.h"
#include "core/error.h"
#include "core/shared.h"
#include "core/storage.h"
#include "object/storage.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pthread.h>
#include <sys/prctl.h>

/* ---- buffers ---- */
static void buffer_free(void *owner) {
    PyGILState_STATE gil = PyGILState_Ensure();
    PyBuffer_Release(owner);
    PyMem_Free(owner);
    PyGILState_Release(gil);
}

/* how many elements of `item` bytes to take; -1 and an exception */
static int64_t buffer_count(Py_ssize_t nbytes, int64_t item, long long count, long long offset) {
    if (nbytes <= 0 || count == 0)
        PyErr_Format(PyExc_ValueError, "both buffer length (%zd) and count (%lld) must not be 0", nbytes,
                     count);
    else if (offset < 0 || offset >= nbytes)
        PyErr_Format(
            PyExc_ValueError,
            "offset (%lld bytes) must be non-negative and no greater than buffer length (%zd bytes) minus 1",
            offset, nbytes);
    else if (count > 0) {
        if (count <= (nbytes - offset) / item) return count;
        PyErr_Format(
            PyExc_ValueError,
            "requested buffer length (%lld * %lld bytes) after offset (%lld bytes) must not be greater than "
            "actual buffer length (%zd bytes)",
            count, (long long)item, offset, nbytes);
    } else if ((nbytes - offset) % item == 0)
        return (nbytes - offset) / item;
    else
        PyErr_Format(
            PyExc_ValueError,
            "buffer length (%zd bytes) after offset (%lld bytes) must be a multiple of element size (%lld)",
            (Py_ssize_t)(nbytes - offset), offset, (long long)item);
    return -1;
}

static Py_buffer *buffer_open(PyObject *o) {
    if (!PyObject_CheckBuffer(o)) {
        PyErr_SetString(PyExc_ValueError, "object does not implement Python buffer protocol.");
        return NULL;
    }
    Py_buffer *b = PyMem_Calloc(1, sizeof *b);
    if (!b) return (Py_buffer *)PyErr_NoMemory();
    if (PyObject_GetBuffer(o, b, PyBUF_WRITABLE) == 0) return b;
    PyErr_Clear();
    if (PyObject_GetBuffer(o, b, PyBUF_SIMPLE) == 0) {
        if (PyErr_WarnEx(
                PyExc_UserWarning,
                "The given buffer is not writable, and PyTorch does not support non-writable tensors. This "
                "means you can write to the underlying (supposedly non-writable) buffer using the tensor. "
                "You may want to copy the buffer to protect its data or make it writable before converting "
                "it to a tensor.",
                1) == 0)
            return b;
        PyBuffer_Release(b);
    } else
        PyErr_SetString(PyExc_RuntimeError, "could not retrieve buffer from object");
    PyMem_Free(b);
    return NULL;
}

rl_storage *rl_storage_of(const void *from, int64_t nbytes) {
    rl_storage *s = rl_storage_new(RL_COUNT(nbytes), 1);
    RL_RAW;
    if (s) memcpy(rl_storage_bytes(s, RL_FRESH), from, (size_t)nbytes);
    return s;
}

static PyObject *from_buffer(PyObject *m, PyObject *args) {
    PyObject *o, *wanted;
    long long count, offset;
    (void)m;
    if (!PyArg_ParseTuple(args, "OOLL:_from_buffer", &o, &wanted, &count, &offset)) return NULL;
    int dtype = rl_dtype_parse(wanted);
    if (dtype < 0) return NULL;
    rl_tensor *t = rl_tensor_alloc(rl_tensor_type, 1);
    RL_OWNED PyObject *held = (PyObject *)t;
    Py_buffer *b = held ? buffer_open(o) : NULL;
    if (!b) return NULL;
    int64_t item = rl_itemsize(dtype), n = buffer_count(b->len, item, count, offset);
    if (n < 0) {
        buffer_free(b);
        return NULL;
    }
    t->v.numel = t->v.shape[0] = n;
    t->v.strides[0] = 1;
    t->v.dtype = (uint8_t)dtype;
    char *from = (char *)b->buf + offset;
    bool aligned = rl_is_aligned(from, item);
    if (aligned) {
        t->v.storage = rl_storage_borrow(from, (size_t)(n * item), buffer_free, b);
        if (!t->v.storage) return rl_raise("frombuffer");
        t->v.storage->exports = t->v.storage->foreign = 1; /* the buffer's owner writes unseen */
    } else {                                               /* kernels read whole elements */
        t->v.storage = rl_storage_of(from, n * item);
        buffer_free(b);
        if (!t->v.storage) return rl_raise("frombuffer");
    }
    rl_tensor_reveal(t);
    return rl_move(&held);
}

/* ---- files ---- */
/* A file of at least nbytes, created or made longer where the storage is to write to it; -1 and an exception.
 */
static int file_open(const char *path, bool shared, int64_t nbytes) {
    struct stat st;
    int fd = open(path, (shared ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600);
    if (fd < 0) {
        PyErr_Format(PyExc_RuntimeError, "unable to open file <%s> in %s mode: %s (%d)", path,
                     shared ? "read-write" : "read-only", strerror(errno), errno);
        return -1;
    }
    if (fstat(fd, &st) < 0)
        PyErr_Format(PyExc_RuntimeError, "unable to stat the file <%s>: %s (%d)", path, strerror(errno),
                     errno);
    else if (st.st_size >= nbytes)
        return fd;
    else if (!shared)
        PyErr_Format(PyExc_RuntimeError,
                     "file <%s> size <%lld> is smaller than the required mapping size <%lld>", path,
                     (long long)st.st_size, (long long)nbytes);
    else if (ftruncate(fd, nbytes) == 0)
        return fd;
    else
        PyErr_Format(PyExc_RuntimeError, "unable to resize file <%s> to the right size: %s (%d)", path,
                     strerror(errno), errno);
    close(fd);
    return -1;
}

/* _map_file(path, shared, nbytes): what is written goes to the file when it is shared, else nowhere */
static PyObject *map_file(PyObject *self, PyObject *args) {
    PyObject *path;
    int shared;
    long long nbytes;
    (void)self;
    if (!PyArg_ParseTuple(args, "UpL:_map_file", &path, &shared, &nbytes)) return NULL;
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(path, &length);
    if (!text) return NULL;
    if (strlen(text) != (size_t)length) {
        PyErr_SetString(PyExc_ValueError, "embedded null byte");
        return NULL;
    }
    if (nbytes < 0) {
        PyErr_Format(PyExc_RuntimeError, "unable to mmap %lld bytes from file <%s>: %s (%d)", nbytes, text,
                     strerror(ENOMEM), ENOMEM);
        return NULL;
    }
    int fd = file_open(text, shared, nbytes);
    if (fd < 0) return NULL;
    rl_storage *s = rl_storage_map_steal(fd, nbytes, shared, text);
    if (!s) return rl_raise("from_file");
    PyObject *storage = rl_untyped_storage_new(s);
    rl_storage_release(s);
    return storage;
}

static PyObject *mapped_file(PyObject *self, PyObject *storage) {
    (void)self;
    if (!Py_IS_TYPE(storage, rl_untyped_storage_type)) Py_RETURN_NONE;
    const rl_storage *s = rl_untyped_storage_peek(storage);
    const char *path = rl_storage_is_shared(s) ? rl_storage_path(s) : NULL;
    return path ? PyUnicode_FromString(path) : Py_NewRef(Py_None);
}

/* _new_storage(nbytes, device) */
static PyObject *new_storage(PyObject *self, PyObject *args) {
    PyObject *where;
    long long nbytes;
    int device = RL_CPU, index = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "LO:_new_storage", &nbytes, &where) ||
        (where != Py_None && rl_device_parse(where, &device, &index) < 0) ||
        rl_device_need(device, index) < 0)
        return NULL;
    if (nbytes < 0) {
        PyErr_Format(PyExc_RuntimeError, "Trying to create storage of negative size %lld", nbytes);
        return NULL;
    }
    rl_storage *s = rl_storage_on(device, rl_device_index(device, index), RL_COUNT(nbytes), 1);
    if (!s) return rl_raise("UntypedStorage");
    PyObject *storage = rl_untyped_storage_new(s);
    rl_storage_release(s);
    return storage;
}

static PyMethodDef functions[] = {
    {"_new_storage", new_storage, METH_VARARGS,
     "_new_storage(nbytes, device)\n--\n\nUninitialised bytes; device may be None."},
    {"_from_buffer", from_buffer, METH_VARARGS,
     "_from_buffer(buffer, dtype, count, offset)\n--\n\nA tensor on the memory of a buffer."},
    {"_map_file", map_file, METH_VARARGS,
     "_map_file(path, shared, nbytes)\n--\n\nA storage over the first bytes of a file."},
    {"_mapped_file", mapped_file, METH_O,
     "_mapped_file(storage)\n--\n\nThe file that what is written to the storage goes to, or None."},
    {NULL, NULL, 0, NULL}};

int rl_foreign_init(PyObject *m) {
    return PyModule_AddFunctions(m, functions);
}

/* ---- storages that processes share, and weak references to storages, for rushlight.multiprocessing ---- */

static rl_storage *storage_of(PyObject *o) {
    if (Py_IS_TYPE(o, rl_untyped_storage_type)) return rl_untyped_storage_peek(o);
    PyErr_Format(PyExc_TypeError, "expected an UntypedStorage, not %s", Py_TYPE(o)->tp_name);
    return NULL;
}

static PyObject *wrap_steal(rl_storage *s) {
    PyObject *storage = rl_untyped_storage_new(s);
    rl_storage_release(s);
    return storage;
}

static PyObject *shared_fd(PyObject *m, PyObject *storage) {
    (void)m;
    const rl_storage *s = storage_of(storage);
    return s ? PyLong_FromLong(rl_storage_fd(s)) : NULL;
}

static PyObject *new_shared(PyObject *m, PyObject *size) {
    long long nbytes = PyLong_AsLongLong(size);
    (void)m;
    if (nbytes == -1 && PyErr_Occurred()) return NULL;
    if (nbytes < 0) {
        PyErr_Format(PyExc_RuntimeError, "Trying to create storage of negative size %lld", nbytes);
        return NULL;
    }
    rl_storage *s = rl_storage_new_shared(RL_COUNT(nbytes));
    return s ? wrap_steal(s) : rl_raise("_new_shared");
}

static PyObject *from_fd(PyObject *m, PyObject *args) {
    int fd;
    long long nbytes;
    (void)m;
    if (!PyArg_ParseTuple(args, "iL:_storage_from_fd", &fd, &nbytes)) return NULL;
    rl_storage *s = rl_storage_from_fd(fd, nbytes);
    return s ? wrap_steal(s) : rl_raise("_new_shared_fd_cpu");
}

static PyObject *weak_new(PyObject *m, PyObject *storage) {
    (void)m;
    rl_storage *s = storage_of(storage);
    if (!s) return NULL;
    uintptr_t weak = rl_weak_new(s);
    return weak ? PyLong_FromSize_t(weak) : rl_raise("_weak_ref");
}

/* no address is negative or longer: such a number is that of no storage */
static bool weak_number(PyObject *o, uintptr_t *weak) {
    *weak = PyLong_AsSize_t(o);
    if (!PyErr_Occurred()) return true;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
    PyErr_Clear();
    return true;
}

static PyObject *weak_free(PyObject *m, PyObject *number) {
    uintptr_t weak;
    (void)m;
    if (!weak_number(number, &weak)) return NULL;
    rl_storage_weak_release(weak);
    Py_RETURN_NONE;
}

static PyObject *weak_get(PyObject *m, PyObject *number) {
    uintptr_t weak;
    (void)m;
    if (!weak_number(number, &weak)) return NULL;
    rl_storage *s = rl_weak_get(weak);
    if (s) return wrap_steal(s);
    Py_RETURN_NONE;
}

static PyObject *movable(PyObject *m, PyObject *storage) {
    (void)m;
    const rl_storage *s = storage_of(storage);
    return s ? PyBool_FromLong(s->exports <= s->foreign && s->readers == 0) : NULL;
}

/* ---- processes and threads ---- */
static PyObject *set_pdeathsig(PyObject *m, PyObject *number) {
    int signal = (int)PyLong_AsLong(number);
    (void)m;
    if (signal == -1 && PyErr_Occurred()) return NULL;
    if (prctl(PR_SET_PDEATHSIG, signal) < 0) return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *set_thread_name(PyObject *m, PyObject *name) {
    char text[16]; /* of which the system keeps 15 characters */
    const char *whole = PyUnicode_AsUTF8(name);
    (void)m;
    if (!whole) return NULL;
    strncpy(text, whole, sizeof text - 1);
    text[sizeof text - 1] = 0;
    pthread_setname_np(pthread_self(), text);
    Py_RETURN_NONE;
}

static PyObject *get_thread_name(PyObject *m, PyObject *unused) {
    char text[16] = "";
    (void)m, (void)unused;
    pthread_getname_np(pthread_self(), text, sizeof text);
    return PyUnicode_DecodeFSDefault(text);
}

static PyMethodDef shared_functions[] = {
    {"_storage_fd", shared_fd, METH_O,
     "_storage_fd(storage)\n--\n\nThe descriptor of the file that a shared storage lies in; -1 for others."},
    {"_new_shared_storage", new_shared, METH_O,
     "_new_shared_storage(nbytes)\n--\n\nZeros in memory that processes share."},
    {"_storage_from_fd", from_fd, METH_VARARGS,
     "_storage_from_fd(fd, nbytes)\n--\n\nA storage over the first bytes of a file in memory."},
    {"_storage_movable", movable, METH_O,
     "_storage_movable(storage)\n--\n\nMay the bytes move? Not while an array or a buffer lies on them."},
    {"_prctl_pr_set_pdeathsig", set_pdeathsig, METH_O,
     "_prctl_pr_set_pdeathsig(signal)\n--\n\nThe signal that this process gets when its parent ends."},
    {"_set_thread_name", set_thread_name, METH_O,
     "_set_thread_name(name)\n--\n\nNames the calling thread, for ps and top."},
    {"_get_thread_name", get_thread_name, METH_NOARGS,
     "_get_thread_name()\n--\n\nThe calling thread's name."},
    {"_weak_storage", weak_new, METH_O,
     "_weak_storage(storage)\n--\n\nA number that stands for a weak reference: _weak_storage_free() it."},
    {"_weak_storage_free", weak_free, METH_O, "_weak_storage_free(weak)\n--\n\nOne weak reference less."},
    {"_weak_storage_get", weak_get, METH_O,
     "_weak_storage_get(weak)\n--\n\nThe storage of a weak reference, or None when it is dead."},
    {NULL, NULL, 0, NULL}};

int rl_shared_init(PyObject *m) {
    return PyModule_AddFunctions(m, shared_functions);
}
