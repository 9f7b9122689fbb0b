/* detect_anomaly(): each node remembers where it was made, and says so when its derivative fails. As in
 * PyTorch it lies in node.metadata: 'traceback_', a list of lines, and 'parent_', the node that ran when this
 * one was made. */
#include "node.h"

bool rl_anomaly_nan = true;

/* keeps the Python stack of the forward call in its metadata */
int rl_anomaly_remember(rl_node *node) {
    PyObject *metadata = rl_node_metadata(node);
    RL_OWNED PyObject *of_program = metadata ? PyImport_ImportModule("rushlight._stack") : NULL;
    RL_OWNED PyObject *stack = of_program ? PyObject_CallMethod(of_program, "format_stack", NULL) : NULL;
    if (!stack || PyDict_SetItemString(metadata, "traceback_", stack) < 0) return -1;
    return rl_node_running ? PyDict_SetItemString(metadata, "parent_", (PyObject *)rl_node_running) : 0;
}

/* one warning about one node; `first` of a chain of parents */
static int warn_about(PyObject *node, PyObject *stack, bool first) {
    RL_OWNED PyObject *name = PyObject_CallMethod(node, "name", NULL);
    RL_OWNED PyObject *nothing = name ? PyUnicode_FromString("") : NULL;
    RL_OWNED PyObject *lines = nothing && stack ? PyUnicode_Join(nothing, stack) : Py_XNewRef(nothing);
    if (!lines) return -1;
    if (!stack)
        return PyErr_WarnFormat(
            PyExc_UserWarning, 1,
            "Error detected in %U. No forward pass information available. Enable detect anomaly "
            "during forward pass for more information.",
            name);
    if (first)
        return PyErr_WarnFormat(PyExc_UserWarning, 1,
                                "Error detected in %U. Traceback of forward call that caused the error:\n%U",
                                name, lines);
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1,
        "\n\nPrevious calculation was induced by %U. Traceback of forward call that induced the "
        "previous calculation:\n%U",
        name, lines);
}

enum { MAX_PARENTS = 1000 }; /* a user may have tied them to a ring */

void rl_anomaly_report(rl_node *node) {
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    RL_OWNED PyObject *at = Py_NewRef((PyObject *)node);
    for (int n = 0; at && n < MAX_PARENTS; n++) {
        RL_OWNED PyObject *metadata = PyObject_GetAttrString(at, "metadata");
        bool is_dict = metadata && PyDict_Check(metadata);
        /* owned at once: what follows runs Python, and the dict is the user's */
        RL_OWNED PyObject *stack = is_dict ? Py_XNewRef(PyDict_GetItemString(metadata, "traceback_")) : NULL;
        RL_OWNED PyObject *next = is_dict ? Py_XNewRef(PyDict_GetItemString(metadata, "parent_")) : NULL;
        if (warn_about(at, stack, n == 0) < 0) break;
        Py_SETREF(at, rl_move(&next));
    }
    PyErr_Restore(type, error, trace); /* whatever the warnings raised is less */
}

/* ---- the switches ---- */
static PyObject *anomaly_set(PyObject *m, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"enabled", "check_nan", NULL};
    int mode, check_nan = 1;
    (void)m;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "p|p:set_anomaly_enabled", names, &mode, &check_nan))
        return NULL;
    rl_anomaly_mode = mode;
    rl_anomaly_nan = check_nan;
    Py_RETURN_NONE;
}
static PyObject *anomaly_is_on(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyBool_FromLong(rl_anomaly_mode);
}
static PyObject *anomaly_checks_nan(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    return PyBool_FromLong(rl_anomaly_nan);
}
static PyMethodDef functions[] = {
    {"set_anomaly_enabled", (PyCFunction)(void (*)(void))anomaly_set, METH_VARARGS | METH_KEYWORDS,
     "set_anomaly_enabled(enabled, check_nan=True)\n--\n\nSwitch anomaly detection on or off, in the "
     "process; see autograd.detect_anomaly()."},
    {"is_anomaly_enabled", anomaly_is_on, METH_NOARGS,
     "is_anomaly_enabled()\n--\n\nTest whether anomaly detection is on."},
    {"is_anomaly_check_nan_enabled", anomaly_checks_nan, METH_NOARGS,
     "is_anomaly_check_nan_enabled()\n--\n\nTest whether anomaly detection looks for NaN."},
    {NULL, NULL, 0, NULL}};

int rl_anomaly_init(PyObject *m) {
    return PyModule_AddFunctions(m, functions);
}
