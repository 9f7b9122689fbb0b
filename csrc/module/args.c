/* Binding arguments by Python's rules, with Python's texts: a Module's methods look like Python's. */
#include "args.h"
#include "facts.h"

static int args_too_many(const rl_signature *sig, Py_ssize_t given) {
    /* Python counts self */
    if (sig->required == sig->count)
        PyErr_Format(PyExc_TypeError, "Module.%s() takes %d positional argument%s but %zd were given",
                     sig->function, sig->count + 1, sig->count ? "s" : "", given + 1);
    else
        PyErr_Format(PyExc_TypeError,
                     "Module.%s() takes from %d to %d positional arguments but %zd were given", sig->function,
                     sig->required + 1, sig->count + 1, given + 1);
    return -1;
}

static int args_missing(const rl_signature *sig, PyObject **out) {
    RL_OWNED PyObject *list = NULL;
    int missing = 0, left;
    for (int i = 0; i < sig->required; i++) missing += out[i] == NULL;
    left = missing;
    for (int i = 0; i < sig->required; i++) {
        if (out[i]) continue;
        const char *joint = left == missing ? "" : left > 1 ? ", " : missing > 2 ? ", and " : " and ";
        PyObject *longer =
            PyUnicode_FromFormat("%S%s'%s'", list ? list : rl_name.empty, joint, sig->names[i]);
        if (longer == NULL) return -1;
        Py_XSETREF(list, longer);
        left--;
    }
    PyErr_Format(PyExc_TypeError, "Module.%s() missing %d required positional argument%s: %U", sig->function,
                 missing, missing == 1 ? "" : "s", list);
    return -1;
}

static int args_keyword(const rl_signature *sig, PyObject *key, PyObject *value, PyObject **out) {
    for (int i = 0; i < sig->count; i++) {
        if (PyUnicode_CompareWithASCIIString(key, sig->names[i]) != 0) continue;
        if (out[i]) {
            PyErr_Format(PyExc_TypeError, "Module.%s() got multiple values for argument '%U'", sig->function,
                         key);
            return -1;
        }
        out[i] = value;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "Module.%s() got an unexpected keyword argument '%U'", sig->function, key);
    return -1;
}

int rl_method_bind(const rl_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                   PyObject **out) {
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (int i = 0; i < sig->count; i++) out[i] = i < nargs ? args[i] : NULL;
    for (Py_ssize_t i = 0; i < named; i++)
        if (args_keyword(sig, PyTuple_GET_ITEM(kwnames, i), args[nargs + i], out) < 0) return -1;
    if (nargs > sig->count) return args_too_many(sig, nargs);
    for (int i = 0; i < sig->required; i++)
        if (out[i] == NULL) return args_missing(sig, out);
    return 0;
}

PyObject *rl_method_self(const char *function, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs > 0 && PyType_IsSubtype(Py_TYPE(args[0]), rl_module_type)) return args[0];
    return PyErr_Format(PyExc_TypeError, "Module.%s() needs a Module as its first argument", function);
}
