/* What optimizers call: the steps that run over a whole group, and what all of them share. */
#include "optim.h"
#include "step.h"

/* _zero_grads(params): every .grad becomes None */
static PyObject *optim_zero_grads(PyObject *m, PyObject *params) {
    (void)m;
    if (!PyList_Check(params)) {
        PyErr_SetString(PyExc_TypeError, "_zero_grads(list of tensors)");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); i++) {
        PyObject *p = PyList_GET_ITEM(params, i);
        if (rl_tensor_check(p)) Py_CLEAR(((rl_tensor *)p)->grad);
    }
    Py_RETURN_NONE;
}

static PyMethodDef optim_functions[] = {
    {"_zero_grads", optim_zero_grads, METH_O, "_zero_grads(params)\n--\n\nEvery .grad becomes None."},
    {NULL, NULL, 0, NULL}};

int rl_optim_init(PyObject *m) {
    return rl_step_init(m) < 0 ? -1 : PyModule_AddFunctions(m, optim_functions);
}
