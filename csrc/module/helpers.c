/* What Python code says in a word and the C API does not: hasattr, a method call by name, typename. */
#include "helpers.h"

int rl_hasattr(PyObject *o, PyObject *name) {
    RL_OWNED PyObject *value = PyObject_GetAttr(o, name);
    if (value) return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

PyObject *rl_method_call(PyObject *o, PyObject *method, PyObject *const *args, size_t n, PyObject *names) {
    PyObject *stack[8];
    stack[0] = o;
    for (size_t i = 0; i < n; i++) stack[i + 1] = args[i];
    size_t positional = 1 + n - (size_t)(names ? PyTuple_GET_SIZE(names) : 0);
    return PyObject_VectorcallMethod(method, stack, positional, names);
}

PyObject *rl_raised_take(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (type == NULL) return NULL;
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace && PyException_SetTraceback(value, trace) < 0) PyErr_Clear();
    Py_DECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

void rl_raised_put_steal(PyObject *exception) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
#endif
}

/* ---- torch.typename ---- */
static PyObject *typename_attr(PyObject *o, PyObject *name) { /* NULL without an error: not a str, or none */
    PyObject *value = PyObject_GetAttr(o, name);
    if (value && PyUnicode_Check(value)) return value;
    Py_XDECREF(value);
    PyErr_Clear();
    return NULL;
}

PyObject *rl_typename(PyObject *o) {
    if (rl_tensor_check(o)) return PyObject_CallMethodNoArgs(o, rl_name.type);
    RL_OWNED PyObject *module = typename_attr(o, rl_name.__module__);
    RL_OWNED PyObject *name = typename_attr(o, rl_name.__qualname__);
    if (name == NULL) name = typename_attr(o, rl_name.__name__);
    if (name == NULL) {
        Py_XSETREF(module, typename_attr((PyObject *)Py_TYPE(o), rl_name.__module__));
        name = PyType_GetQualName(Py_TYPE(o));
        if (name == NULL) return NULL;
    }
    if (module == NULL || PyUnicode_GET_LENGTH(module) == 0 ||
        PyUnicode_CompareWithASCIIString(module, "builtins") == 0)
        return rl_give(&name);
    return PyUnicode_FromFormat("%U.%U", module, name);
}
