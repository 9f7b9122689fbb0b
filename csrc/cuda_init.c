/* rushlight._cuda, and rushlight._cuda_sim for the simulated device: hands the CUDA device to rushlight._C as
 * one capsule. Compiled into that extension only; csrc/cuda/ itself knows no Python.
 *
 *   _cuda.driver (capsule: rl_device_driver) ──► _C._register_device ──► operators' CUDA(..) by name */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "core/device.h"
#include "cuda/device.h"
#ifdef RL_CUDA_SIM
#include "cuda/sim/control.h"
#endif

static const rl_device_driver driver = {
    .abi = RL_KERNEL_ABI,
    .device = RL_CUDA,
    .count = rl_cuda_count,
    .alloc = rl_cuda_alloc,
    .free = rl_cuda_free,
    .copy = rl_cuda_move,
    .stream = rl_cuda_stream,
    .synchronize = rl_cuda_synchronize,
    .kernel = rl_cuda_kernel,
    .last_error = rl_cuda_last_error,
};

static PyObject *raise_or_none(rl_status status) {
    if (status == RL_OK) Py_RETURN_NONE;
    PyErr_SetString(PyExc_RuntimeError, rl_cuda_last_error());
    return NULL;
}

static PyObject *cuda_device_count(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyLong_FromLong(rl_cuda_count());
}

static PyObject *cuda_last_error(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyUnicode_FromString(rl_cuda_last_error());
}

static PyObject *cuda_synchronize(PyObject *m, PyObject *args) {
    int index = 0;
    rl_status status;
    (void)m;
    if (!PyArg_ParseTuple(args, "|i:synchronize", &index)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = rl_cuda_synchronize(index);
    Py_END_ALLOW_THREADS;
    return raise_or_none(status);
}

static PyObject *cuda_stream_new(PyObject *m, PyObject *args) {
    int index = 0;
    (void)m;
    if (!PyArg_ParseTuple(args, "|i:stream_new", &index)) return NULL;
    void *stream = rl_cuda_stream_new(index);
    return stream ? PyLong_FromVoidPtr(stream) : raise_or_none(RL_FAIL);
}

static PyObject *stream_call(PyObject *args, const char *format, rl_status (*act)(int, void *)) {
    int index;
    PyObject *handle;
    if (!PyArg_ParseTuple(args, format, &index, &PyLong_Type, &handle)) return NULL;
    void *stream = PyLong_AsVoidPtr(handle);
    if (PyErr_Occurred()) return NULL;
    return raise_or_none(act(index, stream));
}

static PyObject *cuda_stream_use(PyObject *m, PyObject *args) {
    (void)m;
    return stream_call(args, "iO!:stream_use", rl_cuda_stream_use);
}

static PyObject *cuda_stream_free(PyObject *m, PyObject *args) {
    (void)m;
    return stream_call(args, "iO!:stream_free", rl_cuda_stream_free);
}

#ifdef RL_CUDA_SIM
/* ---- what tests ask of the simulated device ---- */
static PyObject *sim_reports(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < cuda_sim_reports(); i++) {
        PyObject *text =
            PyUnicode_DecodeUTF8(cuda_sim_report(i), (Py_ssize_t)strlen(cuda_sim_report(i)), "replace");
        if (!text || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *sim_clear_reports(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    cuda_sim_clear_reports();
    Py_RETURN_NONE;
}

static PyObject *sim_seed(PyObject *m, PyObject *args) {
    unsigned long long seed;
    (void)m;
    if (!PyArg_ParseTuple(args, "K:seed", &seed)) return NULL;
    cuda_sim_seed(seed);
    Py_RETURN_NONE;
}

static PyObject *sim_calls(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyLong_FromLong(cuda_sim_calls());
}

static PyObject *sim_fail(PyObject *m, PyObject *args) {
    long call;
    int times = 1;
    (void)m;
    if (!PyArg_ParseTuple(args, "l|i:fail", &call, &times)) return NULL;
    cuda_sim_fail(call, times);
    Py_RETURN_NONE;
}

static PyObject *sim_failed(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyUnicode_FromString(cuda_sim_failed());
}

static PyObject *sim_mend(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    cuda_sim_mend();
    Py_RETURN_NONE;
}

static PyObject *sim_limit(PyObject *m, PyObject *args) {
    int index;
    Py_ssize_t bytes;
    (void)m;
    if (!PyArg_ParseTuple(args, "in:limit", &index, &bytes)) return NULL;
    cuda_sim_limit(index, (size_t)bytes);
    Py_RETURN_NONE;
}

static PyObject *sim_in_use(PyObject *m, PyObject *args) {
    int index;
    (void)m;
    if (!PyArg_ParseTuple(args, "i:in_use", &index)) return NULL;
    return PyLong_FromSize_t(cuda_sim_in_use(index));
}
#endif

static PyMethodDef functions[] = {
#ifdef RL_CUDA_SIM
    {"reports", sim_reports, METH_NOARGS, "reports()\n--\n\nWhat the checks found."},
    {"clear_reports", sim_clear_reports, METH_NOARGS, "clear_reports()\n--\n\nForgets the findings."},
    {"seed", sim_seed, METH_VARARGS, "seed(seed)\n--\n\nChooses the order of what may run in any order."},
    {"calls", sim_calls, METH_NOARGS, "calls()\n--\n\nHow many calls of the runtime there were."},
    {"fail", sim_fail, METH_VARARGS,
     "fail(call, times=1)\n--\n\nLets the call-th call of the runtime from now on fail, and the next ones."},
    {"failed", sim_failed, METH_NOARGS, "failed()\n--\n\nThe name of the call that was told to fail."},
    {"mend", sim_mend, METH_NOARGS, "mend()\n--\n\nA device that broke works again."},
    {"limit", sim_limit, METH_VARARGS, "limit(index, bytes)\n--\n\nHow much memory a device has; 0: all."},
    {"in_use", sim_in_use, METH_VARARGS, "in_use(index)\n--\n\nBytes of device memory that nobody freed."},
#endif
    {"device_count", cuda_device_count, METH_NOARGS,
     "device_count()\n--\n\nHow many GPUs can be used; 0 without a driver."},
    {"last_error", cuda_last_error, METH_NOARGS, "last_error()\n--\n\nWhat CUDA last complained about."},
    {"synchronize", cuda_synchronize, METH_VARARGS,
     "synchronize(index=0)\n--\n\nWaits until a GPU has nothing left to do."},
    {"stream_new", cuda_stream_new, METH_VARARGS, "stream_new(index=0)\n--\n\nThe handle of a new stream."},
    {"stream_use", cuda_stream_use, METH_VARARGS,
     "stream_use(index, handle)\n--\n\nMakes a stream this thread's current one; 0 is the default stream."},
    {"stream_free", cuda_stream_free, METH_VARARGS, "stream_free(index, handle)\n--\n\nEnds a stream."},
    {NULL, NULL, 0, NULL}};

#ifdef RL_CUDA_SIM
#define PyInit__cuda PyInit__cuda_sim
#define RL_CUDA_NAME "rushlight._cuda_sim"
#else
#define RL_CUDA_NAME "rushlight._cuda"
#endif
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, RL_CUDA_NAME, "rushlight's CUDA device.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__cuda(void) {
    PyObject *m = PyModule_Create(&definition);
    PyObject *capsule = m ? PyCapsule_New((void *)&driver, "rushlight._cuda.driver", NULL) : NULL;
    if (!capsule || PyModule_AddObjectRef(m, "driver", capsule) < 0) Py_CLEAR(m);
    Py_XDECREF(capsule);
    return m;
}
