/* Arguments of the few functions that are no operators, with PyTorch's words where they do not fit. */
#include "bindings.h"
#include "core/dtype.h"

static int refuse_many(const char *function, int needed, int plain, Py_ssize_t given) {
    const char *were = given == 1 ? "was" : "were";
    if (needed == plain)
        PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd %s given", function, plain,
                     plain == 1 ? "" : "s", given, were);
    else
        PyErr_Format(PyExc_TypeError, "%s() takes from %d to %d positional arguments but %zd %s given",
                     function, needed, plain, given, were);
    return -1;
}

static int place_of(const char *const *names, PyObject *name) {
    int i = 0;
    while (names[i] && PyUnicode_CompareWithASCIIString(name, names[i]) != 0) i++;
    return i;
}

int rl_arguments(const rl_signature *s, PyObject *args, PyObject *kwargs, PyObject **values) {
    Py_ssize_t given = PyTuple_GET_SIZE(args), at = 0;
    PyObject *key, *value;
    if (given > s->plain) return refuse_many(s->function, s->needed, s->plain, given);
    for (int i = 0; s->names[i]; i++) values[i] = i < given ? PyTuple_GET_ITEM(args, i) : NULL;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        int i = place_of(s->names, key);
        if (!s->names[i] || values[i]) {
            PyErr_Format(PyExc_TypeError,
                         s->names[i] ? "%s() got multiple values for argument '%U'"
                                     : "%s() got an unexpected keyword argument '%U'",
                         s->function, key);
            return -1;
        }
        values[i] = value;
    }
    for (int i = 0; s->names[i]; i++) {
        if (i < s->needed && !values[i]) {
            PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional arguments: \"%s\"", s->function,
                         s->names[i]);
            return -1;
        }
        if (!values[i]) values[i] = Py_None;
    }
    return 0;
}

int rl_argument_refuse(const char *function, const char *name, const char *wanted, PyObject *value) {
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' must be %s, not %s", function, name, wanted,
                 Py_TYPE(value)->tp_name);
    return -1;
}

/* 1 or 0; None is 0 */
int rl_argument_boolean(const char *function, const char *name, PyObject *value) {
    if (value == Py_None || PyBool_Check(value)) return value == Py_True;
    return rl_argument_refuse(function, name, "bool", value);
}

int rl_argument_dtype(const char *function, PyObject *value) {
    if (Py_IS_TYPE(value, rl_dtype_type)) return rl_dtype_parse(value);
    if (value == (PyObject *)&PyFloat_Type) return RL_F64;
    if (value == (PyObject *)&PyLong_Type) return RL_I64;
    if (value == (PyObject *)&PyBool_Type) return RL_BOOL;
    if (value == (PyObject *)&PyComplex_Type) return RL_C128;
    return rl_argument_refuse(function, "dtype", "torch.dtype", value);
}
