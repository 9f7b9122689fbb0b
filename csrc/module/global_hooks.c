/* The dicts of global hooks, shared with rushlight.nn.modules.module. */
#include "global_hooks.h"

struct rl_module_hooks rl_module_hooks;

static PyObject *hooks_use(PyObject *module, PyObject *args) {
    static const struct {
        const char *name;
        PyObject **slot;
    } known[] = {
#define X(name) {"_global_" #name, &rl_module_hooks.name},
        RL_GLOBAL_HOOKS(X)
#undef X
    };
    PyObject *name, *hooks;
    (void)module;
    if (!PyArg_ParseTuple(args, "UO:_use_global_hooks", &name, &hooks)) return NULL;
    if (!PyDict_Check(hooks))
        return PyErr_Format(PyExc_TypeError, "%U must be a dict, not %s", name, Py_TYPE(hooks)->tp_name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (PyUnicode_CompareWithASCIIString(name, known[i].name)) continue;
        Py_SETREF(*known[i].slot, Py_NewRef(hooks));
        Py_RETURN_NONE;
    }
    return PyErr_Format(PyExc_KeyError, "%U", name);
}

static PyMethodDef hooks_functions[] = {
    {"_use_global_hooks", hooks_use, METH_VARARGS,
     "_use_global_hooks(name, hooks)\n--\n\nTakes the dict from now on; nn.modules.module tells it."},
    {NULL, NULL, 0, NULL}};

/* _C._global_forward_hooks ... : the dicts that rushlight.nn.modules.module starts with */
int rl_module_hooks_init(PyObject *m) {
#define X(name)                                                                                              \
    if ((rl_module_hooks.name = PyODict_New()) == NULL ||                                                    \
        PyModule_AddObjectRef(m, "_global_" #name, rl_module_hooks.name) < 0)                                \
        return -1;
    RL_GLOBAL_HOOKS(X)
#undef X
    return PyModule_AddFunctions(m, hooks_functions);
}
