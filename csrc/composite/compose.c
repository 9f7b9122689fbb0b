/* How composites begin and end: see compose.h. */
#include "compose.h"

V rl_composed_tuple(rl_values *g, int op, const V *args, int n) {
    if (g->failed) return NONE;
    PyObject *tuple = rl_op_run(op, (rl_slot *)args, n);
    rl_values_own_steal(g, tuple);
    return g->failed ? NONE : (V){.tag = RL_OBJECT, .u.o = tuple};
}

V rl_composed_results(rl_values *g, const V *results, int n) {
    if (g->failed) return NONE;
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef((PyObject *)RL_TENSOR_OF(results[i].u.t)));
    rl_values_own_steal(g, tuple);
    return g->failed ? NONE : (V){.tag = RL_OBJECT, .u.o = tuple};
}

/* several results, by the names that the schema has for them */
static PyObject *named(const rl_schema *s, PyObject *tuple) {
    PyTypeObject *type = s->op->n_shown > 1 ? rl_tuple_type(s) : NULL;
    if (s->op->n_shown == 1) return Py_NewRef(tuple);
    PyObject *all = type ? PyStructSequence_New(type) : NULL;
    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(tuple); i++)
        PyStructSequence_SetItem(all, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
    return all;
}

PyObject *rl_composed(rl_bound *b, rl_making make) {
    rl_values g = {.what = b->schema->op->name};
    PyObject *result = NULL;
    V made = make(&g, b);
    if (!g.failed)
        result = made.tag == RL_OBJECT ? named(b->schema, made.u.o)
                                       : Py_NewRef((PyObject *)RL_TENSOR_OF(made.u.t));
    rl_values_drop(&g);
    return result;
}
