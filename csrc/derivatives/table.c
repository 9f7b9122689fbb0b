/* The table of VJPs by operator, and the nodes that run them. */
#include "derivatives.h"
#include "vjp.h"

#undef OP /* of formulas */
#undef SHAPE
#define GRAD(name, ...)            void rl_formula_##name(rl_vjp *g);
#define OP(id, schema, doc, parts) parts
#include "ops/declarations/all.def"

static const struct {
    rl_formula formula;
} formulas[RL_OP_COUNT] = {
#define GRAD(name, ...)            .formula = rl_formula_##name,
#define OP(id, schema, doc, parts) [RL_OP_##id] = {parts},
#include "ops/declarations/all.def"
};

static int operator_apply(rl_node *node, PyObject *const *grads, PyObject **results) {
    rl_vjp g = {.node = node, .grads = grads, .results = results, .v.what = node->name};
    rl_formula formula = formulas[node->op - rl_operators].formula;
    bool any = false;
    for (int i = 0; i < node->n_out; i++) any |= grads[i] != NULL;
    if (!any) return 0;
    if (!formula) {
        PyErr_Format(PyExc_RuntimeError, "derivative for aten::%s is not implemented", node->op->name);
        return -1;
    }
    formula(&g);
    rl_values_drop(&g.v);
    return g.v.failed ? -1 : 0;
}
const rl_node_vtable rl_formula_vtable = {.apply = operator_apply};
