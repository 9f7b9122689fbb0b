/* Finding a module's forward and calling it. */
#include "forward.h"

int rl_forward_get(PyObject *m, rl_forward *f) {
    PyObject *forward = rl_module_facts_get(Py_TYPE(m))->forward;
    *f = (rl_forward){0};
    if (RL_LIKELY(forward != NULL)) {
        PyObject *dict = rl_module_dict(m),
                 *own = dict ? PyDict_GetItemWithError(dict, rl_name.forward) : NULL;
        if (own == NULL && PyErr_Occurred()) return -1;
        f->unbound = own == NULL;
        f->callable = Py_NewRef(own ? own : forward);
        return 0;
    }
    f->callable = PyObject_GetAttr(m, rl_name.forward); /* property, static, partial, __getattribute__ ... */
    return f->callable ? 0 : -1;
}

#define FORWARD_STACK 8
PyObject *rl_forward_call(const rl_forward *f, PyObject *m, PyObject *args, PyObject *kwargs) {
    if (!f->unbound) return PyObject_Call(f->callable, args, kwargs);
    PyObject *small[FORWARD_STACK + 2], **stack = small;
    size_t n = (size_t)PyTuple_GET_SIZE(args);
    if (n > FORWARD_STACK && (stack = PyMem_New(PyObject *, n + 2)) == NULL) return PyErr_NoMemory();
    stack[1] = m;
    for (size_t i = 0; i < n; i++) stack[i + 2] = PyTuple_GET_ITEM(args, i);
    PyObject *result =
        PyObject_VectorcallDict(f->callable, stack + 1, (n + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                kwargs && PyDict_GET_SIZE(kwargs) ? kwargs : NULL);
    if (stack != small) PyMem_Free(stack);
    return result;
}
