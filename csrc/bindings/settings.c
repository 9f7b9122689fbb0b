/* Settings of the process: the default dtype, the number of threads. */
#include "history/node.h"
#include "object/numpy.h"
#include "bindings.h"
#include "object/storage.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/threads.h"
#include "core/view.h"

/* is_tensor(obj) and the like, module level */
static PyObject *f_is_tensor(PyObject *m, PyObject *o) {
    (void)m;
    return PyBool_FromLong(rl_tensor_check(o));
}
static PyObject *f_default_dtype(PyObject *m, PyObject *unused) {
    (void)m;
    (void)unused;
    return rl_dtype_object(rl_dtype_default());
}
static PyObject *f_set_default_dtype(PyObject *m, PyObject *o) {
    (void)m;
    if (!Py_IS_TYPE(o, rl_dtype_type)) {
        PyErr_SetString(PyExc_TypeError,
                        "invalid dtype object: only floating-point types are supported as the default type");
        return NULL;
    }
    int dtype = rl_dtype_parse(o);
    if (!rl_is_float(dtype)) {
        PyErr_SetString(PyExc_TypeError, "only floating-point types are supported as the default type");
        return NULL;
    }
    rl_dtype_default_set(dtype);
    Py_RETURN_NONE;
}
static PyObject *f_get_num_threads(PyObject *m, PyObject *unused) {
    (void)m;
    (void)unused;
    return PyLong_FromLong(rl_threads_wanted());
}
static PyObject *f_set_flush_denormal(PyObject *m, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"mode", NULL};
    PyObject *mode;
    (void)m;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:set_flush_denormal", names, &mode)) return NULL;
    if (!PyBool_Check(mode))
        return PyErr_Format(PyExc_RuntimeError, "flush_denormal expects a bool, but got %.100s",
                            Py_TYPE(mode)->tp_name);
    rl_threads_load();
    return PyBool_FromLong(rl_threads_flush_denormal(mode == Py_True));
}

static PyObject *f_set_num_threads(PyObject *m, PyObject *o) {
    (void)m;
    if (!PyIndex_Check(o) || PyBool_Check(o) || rl_tensor_check(o)) {
        PyErr_Format(PyExc_RuntimeError, "set_num_threads expects an int, but got %s", Py_TYPE(o)->tp_name);
        return NULL;
    }
    RL_OWNED PyObject *number = PyNumber_Index(o); /* NumPy's integers, too */
    if (!number) return NULL;
    int overflow;
    int64_t n = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || n != (int)n) {
        PyErr_Format(PyExc_ValueError, "Overflow when unpacking long%s", overflow ? " long" : "");
        return NULL;
    }
    if (n <= 0) {
        PyErr_SetString(PyExc_RuntimeError, "set_num_threads expects a positive integer");
        return NULL;
    }
    rl_threads_set((int)n);
    Py_RETURN_NONE;
}
static PyMethodDef attr_functions[] = {
    {"is_tensor", f_is_tensor, METH_O, "is_tensor(obj)\n--\n\nTest whether `obj` is a Tensor."},
    {"get_default_dtype", f_default_dtype, METH_NOARGS,
     "get_default_dtype()\n--\n\nReturn the default dtype of new floating-point tensors."},
    {"set_default_dtype", f_set_default_dtype, METH_O,
     "set_default_dtype(d)\n--\n\nSet the default dtype of new floating-point tensors. Other dtypes raise "
     "TypeError."},
    {"get_num_threads", f_get_num_threads, METH_NOARGS,
     "get_num_threads()\n--\n\nReturn the number of threads that an operator may use on the CPU."},
    {"set_flush_denormal", (PyCFunction)(void (*)(void))f_set_flush_denormal, METH_VARARGS | METH_KEYWORDS,
     "set_flush_denormal(mode)\n--\n\nSet whether denormal (subnormal) numbers are flushed to zero on the "
     "CPU. Return whether the processor can."},
    {"set_num_threads", f_set_num_threads, METH_O,
     "set_num_threads(n)\n--\n\n"
     "Set the number of threads that an operator may use on the CPU, at least 1.\n\n"
     "Same as torch.set_num_threads: "
     "https://docs.pytorch.org/docs/2.13/generated/torch.set_num_threads.html"},
    {NULL, NULL, 0, NULL}};

int rl_attr_init(PyObject *m) {
    return PyModule_AddFunctions(m, attr_functions);
}
