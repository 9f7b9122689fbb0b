/* What formulas are written with: see grad.h. */
#include "tensor_object.h"
#include "grad.h"
#include <string.h>

/* ---- arguments and edges ---- */
/* The first edge of an argument: Tensor[] arguments have one for each tensor. */
static int edge_of(const rl_back *g, int arg) {
    uint16_t edges = g->node->row->edges;
    int edge = 0;
    for (int i = 0; i < arg; i++) {
        if (!(edges >> i & 1)) continue;
        const rl_slot *s = &g->node->arg[i];
        edge +=
            s->tag == RL_NONE && rl_schemas[g->node->row - rl_rows].arg[i].kind == RL_ARG_TENSORS ? s->n : 1;
    }
    return edge;
}

bool rl_back_wants_nth(const rl_back *g, int edge) {
    return g->node->edge[edge].to && !g->failed && !(rl_node_unwanted && rl_node_unwanted[edge]);
}
bool rl_back_wants(const rl_back *g, int arg) {
    return rl_back_wants_nth(g, edge_of(g, arg));
}

void rl_back_pass_nth(rl_back *g, int edge, V value) {
    if (g->failed || value.tag == RL_NONE) return;
    PyObject *t = value.tag == RL_TENSOR ? Py_NewRef((PyObject *)RL_TENSOR_OF(value.u.t)) : NULL;
    if (!t) {
        PyErr_Format(PyExc_SystemError, "%s: a gradient is no tensor", g->node->name);
        g->failed = true;
        return;
    }
    Py_XSETREF(g->results[edge], t);
}
void rl_back_pass(rl_back *g, int arg, V value) {
    rl_back_pass_nth(g, edge_of(g, arg), value);
}

const rl_meta *rl_back_like(const rl_back *g, int arg) {
    const rl_edge *e = &g->node->edge[edge_of(g, arg)];
    return &e->to->meta[e->nr];
}
V rl_back_size(const rl_back *g, int arg) {
    const rl_meta *like = rl_back_like(g, arg);
    return rl_value_ints(like->shape, like->ndim);
}
double rl_back_num(const rl_back *g, int arg) {
    return rl_number(g->node->arg[arg]);
}
int64_t rl_back_int(const rl_back *g, int arg) {
    return g->node->arg[arg].u.i;
}

/* ---- values ---- */
void rl_back_fail(rl_back *g) {
    g->failed = true;
}

V rl_back_own(rl_back *g, PyObject *t) {
    if (!t) {
        g->failed = true;
        return NONE;
    }
    if (g->n_made < (int)Py_ARRAY_LENGTH(g->made)) {
        g->made[g->n_made++] = t;
    } else {
        if (!g->more && !(g->more = PyList_New(0))) g->failed = true;
        if (g->more && PyList_Append(g->more, t) < 0) g->failed = true;
        Py_DECREF(t);
        if (g->failed) return NONE;
    }
    return (V){.tag = RL_TENSOR, .u.t = &((rl_tensor *)t)->v};
}

static void back_end(rl_back *g) {
    while (g->n_made) Py_DECREF(g->made[--g->n_made]);
    Py_CLEAR(g->more);
}

V rl_back_arg_nth(rl_back *g, int arg, int nth) {
    if (g->failed) return NONE;
    const rl_node *node = g->node;
    int i = rl_saved_find(node, arg, nth);
    bool saved = i >= 0 || (arg < 8 && (node->row->saves >> 6 * arg & BY_ANY));
    if (saved && node->released) {
        g->failed = rl_saved_freed() < 0;
        return NONE;
    }
    if (i >= 0 && node->saved[i].value) return rl_back_own(g, rl_saved_get(g->node, i));
    return nth ? NONE : node->arg[arg];
}
V rl_back_arg(rl_back *g, int arg) {
    return rl_back_arg_nth(g, arg, 0);
}

V rl_back_out(rl_back *g, int result) {
    if (g->failed) return NONE;
    int i = rl_saved_find(g->node, RL_MAX_ARGS + result, 0);
    if (i >= 0) return rl_back_own(g, rl_saved_get(g->node, i));
    PyErr_Format(PyExc_SystemError, "%s did not save result %d", g->node->name, result);
    g->failed = true;
    return NONE;
}

bool rl_back_has_grad(const rl_back *g, int result) {
    return g->grads[result] != NULL;
}

V rl_back_grad(rl_back *g, int result) {
    if (g->failed) return NONE;
    if (g->grads[result]) return (V){.tag = RL_TENSOR, .u.t = &((rl_tensor *)g->grads[result])->v};
    return rl_back_zeros_as(g, &g->node->meta[result]);
}

V rl_back_zeros_as(rl_back *g, const rl_meta *like) {
    return g->failed ? NONE : rl_back_own(g, rl_grad_zeros(like));
}
V rl_back_zeros(rl_back *g, int arg) {
    return rl_back_wants(g, arg) ? rl_back_zeros_as(g, rl_back_like(g, arg)) : NONE;
}

V rl_back_join(rl_back *g, V a, V b, int64_t dim) {
    if (g->failed) return NONE;
    V both = {.tag = RL_TENSORS, .n = 2, .u.ts = (rl_view *[]){a.u.t, b.u.t}};
    return OP(cat, both, INT(dim));
}

bool rl_back_any(rl_back *g, V truths) {
    V found = OP(any, truths);
    int any = g->failed ? -1 : rl_tensor_bool((PyObject *)RL_TENSOR_OF(found.u.t));
    g->failed |= any < 0;
    return any > 0;
}

V rl_back_op_nth(rl_back *g, int op, const V *args, int n, int result) {
    if (g->failed) return NONE;
    RL_OWNED PyObject *made = rl_op_run(op, (rl_slot *)args, n);
    if (made && PyTuple_Check(made)) Py_SETREF(made, Py_NewRef(PyTuple_GET_ITEM(made, result)));
    return rl_back_own(g, rl_give(&made));
}
void rl_back_op_all(rl_back *g, int op, const V *args, int n, V *results, int n_results) {
    RL_OWNED PyObject *made = g->failed ? NULL : rl_op_run(op, (rl_slot *)args, n);
    if (!made) g->failed = true;
    for (int i = 0; i < n_results; i++)
        results[i] = g->failed ? NONE : rl_back_own(g, Py_NewRef(PyTuple_GET_ITEM(made, i)));
}
V rl_back_op(rl_back *g, int op, const V *args, int n) {
    if (g->failed) return NONE;
    return rl_back_own(g, rl_op_run(op, (rl_slot *)args, n));
}

V rl_back_scaled(rl_back *g, V value, V factor) {
    bool one = factor.tag == RL_NONE || (factor.tag != RL_TENSOR && rl_number(factor) == 1);
    return one ? value : OP(mul, value, factor);
}

/* ---- an operator's node ---- */
#define RL_OP(id, schema, types, shape, flags, node, cpu, cuda, doc) node
#define RL_VIEW(id, schema, shape, flags, node, doc)                 node
#define RL_COMPOSE(id, schema, flags, doc)
#define NODE(n)
#define GRAD(fn, name, ...) void rl_formula_##fn(rl_back *g);
#include "ops_all.def"
#undef RL_OP
#undef RL_VIEW
#undef GRAD
#undef NODE

static const rl_formula formulas[RL_OP_COUNT] = {
#define NODE(n)                                                      NULL
#define GRAD(fn, name, ...)                                          rl_formula_##fn
#define RL_OP(id, schema, types, shape, flags, node, cpu, cuda, doc) [RL_OP_##id] = node,
#define RL_VIEW(id, schema, shape, flags, node, doc)                 [RL_OP_##id] = node,
#include "ops_all.def"
};

static int operator_apply(rl_node *node, PyObject *const *grads, PyObject **results) {
    rl_back g = {.node = node, .grads = grads, .results = results};
    rl_formula formula = formulas[node->row - rl_rows];
    bool any = false;
    for (int i = 0; i < node->n_out; i++) any |= grads[i] != NULL;
    if (!any) return 0;
    if (!formula) {
        PyErr_Format(PyExc_RuntimeError, "derivative for aten::%s is not implemented", node->row->name);
        return -1;
    }
    formula(&g);
    back_end(&g);
    return g.failed ? -1 : 0;
}
static const rl_node_kind operator_kind = {.apply = operator_apply};

int rl_grad_init(PyObject *m) {
    rl_operator_kind = &operator_kind;
    rl_grad_pieces_init();
    if (rl_grad_leaf_init() < 0 || rl_function_init(m) < 0) return -1;
    return rl_grad_api_init(m);
}
