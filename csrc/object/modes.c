/* What each thread has for itself; gradient mode, which Python switches by no_grad and its relatives
 * (rushlight.autograd.grad_mode); and what is one for all threads. */
#include "upcalls.h"

/* autocast: in the order of rl_device_name */
_Thread_local rl_thread rl_tls = {
    .device = RL_DEVICE_UNASKED,
    .grad = true,
    .autocast.dtype = {RL_BF16,    RL_F16,     RL_NDTYPES, RL_F16,     RL_F16,     RL_NDTYPES, RL_NDTYPES,
                       RL_NDTYPES, RL_NDTYPES, RL_F16,     RL_NDTYPES, RL_NDTYPES, RL_BF16,    RL_BF16,
                       RL_NDTYPES, RL_NDTYPES, RL_F16,     RL_BF16,    RL_F16,     RL_F16}};

int rl_interceptors_on;
uint32_t rl_interceptors_of_all;
struct rl_upcalls rl_upcalls;
rl_sdp_ways rl_sdp_may = {.flash = true, .math = true};

static PyObject *mode_is_grad_enabled(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyBool_FromLong(rl_tls.grad);
}
static PyObject *mode_set_grad_enabled(PyObject *m, PyObject *on) {
    (void)m;
    if (!PyBool_Check(on)) {
        PyErr_Format(PyExc_TypeError,
                     "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not %s",
                     Py_TYPE(on)->tp_name);
        return NULL;
    }
    rl_tls.grad = on == Py_True;
    Py_RETURN_NONE;
}
static PyObject *mode_is_inference(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyBool_FromLong(rl_tls.inference);
}
static PyObject *mode_set_inference(PyObject *m, PyObject *on) {
    (void)m;
    int value = PyObject_IsTrue(on);
    if (value < 0) return NULL;
    rl_tls.inference = value;
    Py_RETURN_NONE;
}
static PyObject *mode_set_attention(PyObject *m, PyObject *args) {
    int flash, math;
    (void)m;
    if (!PyArg_ParseTuple(args, "pp:_set_attention", &flash, &math)) return NULL;
    rl_sdp_may = (rl_sdp_ways){flash, math};
    Py_RETURN_NONE;
}
static PyMethodDef mode_functions[] = {
    {"is_grad_enabled", mode_is_grad_enabled, METH_NOARGS,
     "is_grad_enabled()\n--\n\nTest whether autograd records operators in this thread."},
    {"_set_grad_enabled", mode_set_grad_enabled, METH_O, "_set_grad_enabled(mode)\n--\n\nFor this thread."},
    {"is_inference_mode_enabled", mode_is_inference, METH_NOARGS,
     "is_inference_mode_enabled()\n--\n\nTest whether inference_mode() is on in this thread."},
    {"_set_inference_mode", mode_set_inference, METH_O, "_set_inference_mode(mode)\n--\n\nFor this thread."},
    {"_set_attention", mode_set_attention, METH_VARARGS,
     "_set_attention(flash, math)\n--\n\nHow attention may be computed, by all threads."},
    {NULL, NULL, 0, NULL}};

int rl_mode_init(PyObject *m) {
    return PyModule_AddFunctions(m, mode_functions);
}
