/* Settings of the process and of its threads: the default dtype, the number of threads, mixed precision. */
#include "bindings.h"
#include "autograd_graph/node.h"
#include "object/numpy.h"
#include "object/storage.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/threads.h"
#include "core/view.h"
#include "call/call.h"
#include <string.h>

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

/* ---- the state of mixed precision as Python sees it ----
 * torch.is_autocast_enabled and its kin, for this thread.
 * https://docs.pytorch.org/docs/2.13/amp.html */
/* in PyTorch's order */
static const char *const available[] = {"cpu", "cuda", "mtia", "maia",          "xpu",
                                        "ipu", "hpu",  "xla",  "privateuseone", "mps"};

static bool is_available(int device) {
    for (size_t i = 0; i < Py_ARRAY_LENGTH(available); i++)
        if (strcmp(rl_device_name(device), available[i]) == 0) return true;
    return false;
}

/* ---- arguments ---- */
static int refuse(const char *function, const char *name, int position, const char *wanted, PyObject *value) {
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be %s, not %s", function, name,
                 position, wanted, Py_TYPE(value)->tp_name);
    return -1;
}

static int device_of(const char *function, PyObject *value) {
    int device, index;
    if (!PyUnicode_Check(value)) return refuse(function, "device_type", 1, "str", value);
    return rl_device_parse(value, &device, &index) < 0 ? -1 : device;
}

static int known_device_of(const char *function, PyObject *value) {
    const int device = device_of(function, value);
    if (device < 0 || is_available(device)) return device;
    PyErr_SetString(PyExc_RuntimeError,
                    "unknown device type for autocast in get_autocast_dispatch_key_from_device_type");
    return -1;
}

static Py_ssize_t count(PyObject *args, PyObject *kwargs) {
    return PyTuple_GET_SIZE(args) + (kwargs ? PyDict_GET_SIZE(kwargs) : 0);
}

static PyObject *no_overload(const char *function, PyObject *args, const char *expected) {
    RL_OWNED PyObject *got = PyUnicode_FromString("");
    for (Py_ssize_t i = 0; got && i < PyTuple_GET_SIZE(args); i++)
        Py_SETREF(got, PyUnicode_FromFormat("%U%s%s", got, i ? ", " : "",
                                            Py_TYPE(PyTuple_GET_ITEM(args, i))->tp_name));
    return got ? PyErr_Format(PyExc_TypeError,
                              "%s() received an invalid combination of arguments - got (%U), but expected "
                              "one of:\n%s",
                              function, got, expected)
               : NULL;
}

/* ---- on and off ---- */
static PyObject *get_enabled(PyObject *m, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"device_type", NULL};
    static const rl_signature signature = {"is_autocast_enabled", 0, 1, names};
    PyObject *device_type;
    (void)m;
    if (PyTuple_GET_SIZE(args) > 1)
        return no_overload("is_autocast_enabled", args, " * (str device_type)\n * ()\n");
    if (rl_arguments(&signature, args, kwargs, &device_type) < 0) return NULL;
    const bool given = count(args, kwargs) == 1;
    const int device = given ? known_device_of("is_autocast_enabled", device_type) : RL_CUDA;
    return device < 0 ? NULL : PyBool_FromLong(rl_tls.autocast.enabled >> device & 1);
}

static PyObject *set_enabled(PyObject *m, PyObject *args, PyObject *kwargs) {
    static const char function[] = "set_autocast_enabled";
    static const char *const both[] = {"device_type", "enabled", NULL};
    static const rl_signature of_device = {function, 2, 2, both}, of_gpus = {function, 1, 1, both + 1};
    const Py_ssize_t given = count(args, kwargs);
    PyObject *values[2] = {NULL};
    (void)m;
    if (given < 1 || given > 2)
        return no_overload(function, args, " * (str device_type, bool enabled)\n * (bool enabled)\n");
    if (rl_arguments(given == 2 ? &of_device : &of_gpus, args, kwargs, values) < 0) return NULL;
    PyObject *on = values[given - 1];
    const int device = given == 2 ? known_device_of(function, values[0]) : RL_CUDA;
    if (device < 0 || (!PyBool_Check(on) && refuse(function, "enabled", (int)given, "bool", on) < 0))
        return NULL;
    rl_autocast_enable(device, on == Py_True);
    Py_RETURN_NONE;
}

static PyObject *is_any_enabled(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyBool_FromLong(rl_tls.autocast.enabled != 0);
}

/* ---- the dtype ---- */
static PyObject *get_dtype(PyObject *m, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"device_type", NULL};
    static const rl_signature signature = {"get_autocast_dtype", 1, 1, names};
    PyObject *device_type;
    (void)m;
    if (rl_arguments(&signature, args, kwargs, &device_type) < 0) return NULL;
    const int device = device_of(signature.function, device_type);
    const int dtype = device < 0 ? -1 : rl_tls.autocast.dtype[device];
    if (dtype == RL_NDTYPES) return PyErr_Format(PyExc_RuntimeError, "unsupported scalarType");
    return dtype < 0 ? NULL : rl_dtype_object(dtype);
}

static PyObject *set_dtype(PyObject *m, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"device_type", "dtype", NULL};
    static const rl_signature signature = {"set_autocast_dtype", 2, 2, names};
    PyObject *values[2];
    (void)m;
    if (rl_arguments(&signature, args, kwargs, values) < 0) return NULL;
    const int device = device_of(signature.function, values[0]);
    if (device < 0) return NULL;
    if (!Py_IS_TYPE(values[1], rl_dtype_type)) {
        refuse(signature.function, "dtype", 2, "torch.dtype", values[1]);
        return NULL;
    }
    rl_tls.autocast.dtype[device] = (uint8_t)rl_dtype_parse(values[1]);
    Py_RETURN_NONE;
}

/* ---- contexts and the casts that they keep ---- */
static PyObject *is_cached(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyBool_FromLong(!rl_tls.autocast.cache_off);
}
static PyObject *set_cached(PyObject *m, PyObject *on) {
    (void)m;
    if (!PyBool_Check(on))
        return PyErr_Format(PyExc_TypeError, "enabled must be a bool (got %s)", Py_TYPE(on)->tp_name);
    rl_tls.autocast.cache_off = on == Py_False;
    Py_RETURN_NONE;
}
static PyObject *clear_cache(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    if (rl_autocast_clear() < 0) return NULL;
    Py_RETURN_NONE;
}
static PyObject *increment(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyLong_FromLong(++rl_tls.autocast.nesting);
}
static PyObject *decrement(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyLong_FromLong(--rl_tls.autocast.nesting);
}

/* ---- what there is ---- */
static PyObject *get_available(PyObject *m, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"device_type", NULL};
    static const rl_signature signature = {"_is_autocast_available", 1, 1, names};
    PyObject *device_type;
    (void)m;
    if (rl_arguments(&signature, args, kwargs, &device_type) < 0) return NULL;
    const int device = device_of(signature.function, device_type);
    return device < 0 ? NULL : PyBool_FromLong(is_available(device));
}
static PyObject *list_available(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    RL_OWNED PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < Py_ARRAY_LENGTH(available); i++) {
        RL_OWNED PyObject *name = PyUnicode_FromString(available[i]);
        if (!name || PyList_Append(list, name) < 0) return NULL;
    }
    return rl_move(&list);
}

/* for functions that are one operator to PyTorch and many here */
static PyObject *cast_tensor(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    (void)m;
    if (n != 2 || !PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "_autocast() takes a tensor and a text");
        return NULL;
    }
    if (!rl_tensor_check(args[0])) return Py_NewRef(args[0]);
    return rl_autocast_tensor((rl_tensor *)args[0], PyUnicode_CompareWithASCIIString(args[1], "lower") == 0);
}

#define WORDS(f) (PyCFunction)(void (*)(void)) f, METH_VARARGS | METH_KEYWORDS
static PyMethodDef autocast_functions[] = {
    {"is_autocast_enabled", WORDS(get_enabled),
     "is_autocast_enabled(device_type='cuda')\n--\n\nTest whether autocast (mixed precision) is on, in this "
     "thread and for this type of device."},
    {"set_autocast_enabled", WORDS(set_enabled),
     "set_autocast_enabled(device_type, enabled)\n--\n\nSwitch autocast (mixed precision) on or off, in this "
     "thread and for a type of device; "
     "set_autocast_enabled(enabled) that of GPUs."},
    {"_is_any_autocast_enabled", is_any_enabled, METH_NOARGS,
     "_is_any_autocast_enabled()\n--\n\nTest whether autocast is on for any type of device."},
    {"get_autocast_dtype", WORDS(get_dtype),
     "get_autocast_dtype(device_type)\n--\n\nReturn the dtype that autocast casts to on a type of device."},
    {"set_autocast_dtype", WORDS(set_dtype),
     "set_autocast_dtype(device_type, dtype)\n--\n\nSet the dtype that autocast casts to on a type of "
     "device, in this thread."},
    {"is_autocast_cache_enabled", is_cached, METH_NOARGS,
     "is_autocast_cache_enabled()\n--\n\nTest whether autocast caches the casts of weights."},
    {"set_autocast_cache_enabled", set_cached, METH_O,
     "set_autocast_cache_enabled(enabled)\n--\n\nSet whether autocast caches the casts of weights."},
    {"clear_autocast_cache", clear_cache, METH_NOARGS,
     "clear_autocast_cache()\n--\n\nClear the cache of autocast: the casts of weights in this thread."},
    {"autocast_increment_nesting", increment, METH_NOARGS,
     "autocast_increment_nesting()\n--\n\nCount one more autocast context; return their number."},
    {"autocast_decrement_nesting", decrement, METH_NOARGS,
     "autocast_decrement_nesting()\n--\n\nCount one autocast context less; return their number."},
    {"_is_autocast_available", WORDS(get_available),
     "_is_autocast_available(device_type)\n--\n\nTest whether PyTorch has autocast for a type of device."},
    {"_autocast_supported_devices", list_available, METH_NOARGS,
     "_autocast_supported_devices()\n--\n\nReturn the types of device that PyTorch has autocast for."},
    {"_autocast", (PyCFunction)(void (*)(void))cast_tensor, METH_FASTCALL,
     "_autocast(input, rule)\n--\n\nA tensor as operators of AUTOCAST(rule), float32 or lower, see it."},
    {NULL, NULL, 0, NULL}};

int rl_autocast_init(PyObject *m) {
    return PyModule_AddFunctions(m, autocast_functions);
}
