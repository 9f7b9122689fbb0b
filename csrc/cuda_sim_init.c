/* What tests ask of the simulated device, as functions of rushlight._cuda_sim. */
#include "cuda_sim_init.h"
#include "cuda/sim/control.h"

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

static PyObject *sim_break(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    cuda_sim_break();
    Py_RETURN_NONE;
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

static PyObject *sim_bytes_in_use(PyObject *m, PyObject *args) {
    int index;
    (void)m;
    if (!PyArg_ParseTuple(args, "i:bytes_in_use", &index)) return NULL;
    return PyLong_FromSize_t(cuda_sim_in_use(index));
}

PyMethodDef rl_cuda_sim_functions[] = {
    {"reports", sim_reports, METH_NOARGS, "reports()\n--\n\nWhat the checks found."},
    {"clear_reports", sim_clear_reports, METH_NOARGS, "clear_reports()\n--\n\nForgets the findings."},
    {"seed", sim_seed, METH_VARARGS, "seed(seed)\n--\n\nChooses the order of what may run in any order."},
    {"calls", sim_calls, METH_NOARGS, "calls()\n--\n\nHow many calls of the runtime there were."},
    {"fail", sim_fail, METH_VARARGS,
     "fail(call, times=1)\n--\n\nLets the call-th call of the runtime from now on fail, and the next ones."},
    {"failed", sim_failed, METH_NOARGS, "failed()\n--\n\nThe name of the call that was told to fail."},
    {"break_device", sim_break, METH_NOARGS,
     "break_device()\n--\n\nQueues a kernel that breaks the device for good."},
    {"mend", sim_mend, METH_NOARGS, "mend()\n--\n\nA device that broke works again."},
    {"limit", sim_limit, METH_VARARGS, "limit(index, bytes)\n--\n\nHow much memory a device has; 0: all."},
    {"bytes_in_use", sim_bytes_in_use, METH_VARARGS,
     "bytes_in_use(index)\n--\n\nBytes of device memory that nobody freed."},
    {NULL, NULL, 0, NULL}};
