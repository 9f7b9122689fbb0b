/* Storages that processes share, and weak references to storages, for rushlight.multiprocessing. */
#define _GNU_SOURCE
#include "bindings.h"
#include "core/shared.h"
#include "core/storage.h"
#include "core/weak.h"
#include "object/storage.h"
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

static rl_storage *storage_of(PyObject *o) {
    if (Py_IS_TYPE(o, rl_untyped_storage_type)) return rl_untyped_storage_peek(o);
    PyErr_Format(PyExc_TypeError, "expected an UntypedStorage, not %s", Py_TYPE(o)->tp_name);
    return NULL;
}

static PyObject *wrap_steal(rl_storage *s) {
    PyObject *storage = rl_untyped_storage_new(s);
    rl_storage_drop(s);
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
    rl_storage_weak_drop(weak);
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

static PyMethodDef functions[] = {
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
    return PyModule_AddFunctions(m, functions);
}
