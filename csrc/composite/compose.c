/* How composites begin and end: see compose.h. */
#include "compose.h"

V rl_composed_tuple(rl_values *g, int op, const V *args, int n) {
    if (g->failed) return NONE;
    PyObject *tuple = rl_op_run(op, (rl_value *)args, n);
    rl_values_own_steal(g, tuple);
    return g->failed ? NONE : (V){.tag = RL_OBJECT, .u.o = tuple};
}

/* a tuple of them */
static V composed_list(rl_values *g, V list) {
    if (g->failed) return NONE;
    PyObject *tuple = PyTuple_New(list.n);
    for (int i = 0; tuple && i < list.n; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef((PyObject *)RL_TENSOR_OF(list.u.ts[i])));
    rl_values_own_steal(g, tuple);
    return g->failed ? NONE : (V){.tag = RL_OBJECT, .u.o = tuple};
}

V rl_composed_results(rl_values *g, const V *results, int n) {
    rl_view *room[RL_MAX_OUT];
    for (int i = 0; i < n && !g->failed; i++) room[i] = results[i].u.t;
    return composed_list(g, TENSORS(room, n));
}

V rl_composed_each(rl_values *g, V list, rl_each make, int64_t number) {
    rl_view **room = rl_values_room(g, list.n, sizeof *room);
    for (int i = 0; room && i < list.n; i++) {
        V made = make(g, NTH(list, i), number);
        if (g->failed) return NONE;
        room[i] = made.u.t;
    }
    return room ? TENSORS(room, list.n) : NONE;
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

PyObject *rl_composed(rl_op_call *b, rl_making make) {
    rl_values g = {.what = b->schema->op->name};
    PyObject *result = NULL;
    V made = make(&g, b);
    if (made.tag == RL_TENSORS) made = composed_list(&g, made);
    if (!g.failed && made.tag != RL_TENSOR && made.tag != RL_OBJECT)
        rl_values_raise(&g, PyExc_SystemError, "%s answered nothing", g.what);
    if (!g.failed)
        result = made.tag == RL_OBJECT ? named(b->schema, made.u.o)
                                       : Py_NewRef((PyObject *)RL_TENSOR_OF(made.u.t));
    rl_values_drop(&g);
    return result;
}
