/* Pinned memory: the CPU's, where a device reads and writes it by itself while the program goes on. */
#include "bindings.h"
#include "call/call.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/view.h"

static const rl_device_driver *driver_needed(void) {
    int found = rl_device_find(RL_CUDA);
    if (found == 0)
        PyErr_SetString(PyExc_RuntimeError, "Cannot access accelerator device when none is available.");
    return found > 0 ? rl_device_driver_get(RL_CUDA) : NULL;
}

static bool has_pinned_memory(const rl_device_driver *driver, const rl_view *v) {
    RL_RAW;
    return v->device == RL_CPU && v->numel && driver->host_is_pinned(rl_const_data(v));
}

static PyObject *is_pinned(PyObject *m, PyObject *arg) {
    (void)m;
    if (!rl_tensor_check(arg)) return PyErr_Format(PyExc_TypeError, "_is_pinned() wants a Tensor");
    const rl_device_driver *driver = rl_device_driver_get(RL_CUDA);
    return PyBool_FromLong(driver && has_pinned_memory(driver, &((rl_tensor *)arg)->v));
}

/* of the same dims and dtype as v, on memory that nobody has written */
rl_tensor *rl_tensor_new_pinned(const rl_device_driver *driver, const rl_view *v) {
    rl_tensor *t = rl_tensor_alloc(rl_tensor_type, 0);
    if (!t) return NULL;
    bool made = rl_view_copy(&t->v, v) == RL_OK;
    if (made) {
        t->v.offset = 0;
        t->v.device = RL_CPU, t->v.device_index = 0;
        rl_strides_as(&t->v, v);
        t->v.storage = rl_storage_pin(driver, RL_COUNT(v->numel), rl_itemsize(v->dtype));
        made = t->v.storage != NULL;
    }
    if (made) {
        rl_tensor_reveal(t);
        return t;
    }
    Py_DECREF(t);
    return (void *)rl_raise("pin_memory");
}

PyObject *rl_tensor_pin(PyObject *arg) {
    const rl_device_driver *driver = driver_needed();
    if (!driver) return NULL;
    rl_tensor *t = (rl_tensor *)arg;
    if (t->v.device != RL_CPU)
        return PyErr_Format(PyExc_RuntimeError,
                            "cannot pin 'torch.%s%sTensor' only dense CPU tensors can be pinned",
                            t->v.device == RL_CUDA ? "cuda." : "", rl_dtype_title(t->v.dtype));
    if (has_pinned_memory(driver, &t->v)) return Py_NewRef(arg);
    RL_OWNED PyObject *made = (PyObject *)rl_tensor_new_pinned(driver, &t->v);
    return made && rl_tensor_copy((rl_tensor *)made, t) == 0 ? rl_move(&made) : NULL;
}

static PyObject *pin(PyObject *m, PyObject *arg) {
    (void)m;
    return rl_tensor_check(arg) ? rl_tensor_pin(arg)
                                : PyErr_Format(PyExc_TypeError, "_pin_memory() wants a Tensor");
}

static PyMethodDef functions[] = {
    {"_is_pinned", is_pinned, METH_O,
     "_is_pinned(tensor)\n--\n\nWhether a device can read the memory by itself."},
    {"_pin_memory", pin, METH_O,
     "_pin_memory(tensor)\n--\n\nA copy in pinned memory; itself where it is there."},
    {NULL, NULL, 0, NULL}};

int rl_pinned_init(PyObject *m) {
    return PyModule_AddFunctions(m, functions);
}
