/* rushlight._C._infer: what an operator would answer, for tests of ops/infer.c. */
#include "ops/infer.h"
#include "bindings.h"
#include "core/dtype.h"

static int operator_named(PyObject *id) {
    for (int op = 0; op < RL_OP_COUNT; op++)
        if (PyUnicode_CompareWithASCIIString(id, rl_operators[op].id) == 0) return op;
    PyErr_Format(PyExc_ValueError, "no operator is called %R", id);
    return -1;
}

/* a list of (name of the dtype, shape); None for a composite */
static PyObject *described(const rl_operator *op, rl_view *results) {
    RL_OWNED PyObject *list = PyList_New(0);
    for (int i = 0; i < op->n_out; i++) {
        RL_OWNED PyObject *shape = list ? rl_size_new(results[i].shape, results[i].ndim) : NULL;
        RL_OWNED PyObject *one = shape ? Py_BuildValue("sO", rl_dtype_name(results[i].dtype), shape) : NULL;
        if (one && PyList_Append(list, one) < 0) Py_CLEAR(one);
        if (!one) Py_CLEAR(list);
        rl_view_clear(&results[i]);
    }
    return rl_give(&list);
}

static PyObject *infer(PyObject *m, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    rl_bound b;
    rl_view results[RL_MAX_OUT];
    PyObject *answer = NULL;
    (void)m;
    int op = n ? operator_named(args[0]) : -1;
    if (op < 0 || rl_bind(&b, &rl_schemas[op], &(rl_given){NULL, args + 1, n - 1, kwnames, false}) < 0)
        return NULL;
    if (b.overridden) {
        rl_bound_end(&b);
        return PyErr_Format(PyExc_TypeError, "_infer() takes tensors, not what answers for itself");
    }
    switch (rl_infer((int)(b.schema->op - rl_operators), b.k.arg, results)) {
    case RL_OK: answer = described(b.schema->op, results); break;
    case RL_FAIL: rl_raise("_infer"); break;
    case RL_UNSUPPORTED: answer = Py_NewRef(Py_None); break;
    }
    rl_bound_end(&b);
    return answer;
}

static PyMethodDef functions[] = {{"_infer", (PyCFunction)(void (*)(void))infer,
                                   METH_FASTCALL | METH_KEYWORDS,
                                   "_infer(id, /, *args, **kwargs)\n--\n\nWhat the operator would answer, by "
                                   "its rules alone: a list of (dtype, "
                                   "shape), hidden results counted; None for one that is made of others."},
                                  {NULL, NULL, 0, NULL}};

int rl_infer_init(PyObject *m) {
    return PyModule_AddFunctions(m, functions);
}
