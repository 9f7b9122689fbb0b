/* Devices other than the CPU: their registration, and the loading of their extension when a tensor first
 * asks for one. */
#include "tensor.h"
#include "core/device.h"
#include "core/error.h"
#include "ops/select.h"
#include <string.h>

/* The first RL_NDEVICES are real here; the rest can be named, as files and scripts do. */
static const char *const device_names[RL_DEVICE_NAMES] = {
    "cpu", "cuda", "meta", "ipu", "xpu",  "mkldnn", "opengl", "opencl", "ideep", "hip",
    "ve",  "fpga", "maia", "xla", "lazy", "vulkan", "mps",    "hpu",    "mtia",  "privateuseone"};

const char *rl_device_name(int device) {
    return device_names[device];
}

/* ---- others run Python while a device is waited for ---- */
static void *leave_python(void) {
    return PyGILState_Check() && !rl_here.gil_kept ? PyEval_SaveThread() : NULL;
}
static void enter_python(void *thread) {
    PyEval_RestoreThread(thread);
}

/* The extension of a device registers itself when rushlight._device imports it. */
int rl_device_find(int device) {
    if (rl_device_driver_get(device)) return 1;
    if (device != RL_CUDA) return 0;
    RL_OWNED PyObject *finder = PyImport_ImportModule("rushlight._device");
    RL_OWNED PyObject *count = finder ? PyObject_CallMethod(finder, "cuda_driver", NULL) : NULL;
    if (!count) return -1;
    return rl_device_driver_get(device) != NULL;
}

int rl_device_need(int device, int index) {
    if (device == RL_CPU || device == RL_META) return 0;
    int found = rl_device_find(device);
    if (found < 0) return -1;
    if (!found && device == RL_CUDA) { /* which is always raised */
        RL_OWNED PyObject *finder = PyImport_ImportModule("rushlight._device");
        RL_OWNED PyObject *none = finder ? PyObject_CallMethod(finder, "refuse_cuda", NULL) : NULL;
        return -1;
    }
    if (!found) {
        const char *name = rl_device_name(device);
        if (strcmp(name, "xpu") == 0)
            PyErr_SetString(PyExc_AssertionError, "Torch not compiled with XPU enabled");
        else
            PyErr_Format(PyExc_RuntimeError, "PyTorch is not linked with support for %s devices", name);
        return -1;
    }
    const rl_device_driver *driver = rl_device_driver_get(device);
    if (index < driver->count()) return 0;
    rl_error_set(RL_DEVICE, "CUDA error: invalid device ordinal");
    rl_raise(NULL);
    return -1;
}

static PyObject *register_device(PyObject *m, PyObject *capsule) {
    (void)m;
    const rl_device_driver *driver = PyCapsule_GetPointer(capsule, "rushlight._cuda.driver");
    if (!driver) return NULL;
    if (rl_device_kernels(driver) != RL_OK) return rl_raise("_register_device");
    driver->python(leave_python, enter_python);
    Py_RETURN_NONE;
}

static PyMethodDef device_functions[] = {
    {"_register_device", register_device, METH_O,
     "_register_device(capsule)\n--\n\nTakes the driver of a device extension: its memory and its kernels."},
    {NULL, NULL, 0, NULL}};

int rl_driver_init(PyObject *m) {
    return PyModule_AddFunctions(m, device_functions);
}
