/* The vocabulary of VJPs: see vjp.h. */
#include "vjp.h"
#include <string.h>

/* ---- arguments and edges ---- */
/* The first edge of an argument: Tensor[] arguments have one for each tensor. */
static int edge_of(const rl_vjp *g, int arg) {
    uint32_t edges = g->node->op->edges;
    int edge = 0;
    for (int i = 0; i < arg; i++) {
        if (!(edges >> i & 1)) continue;
        const rl_value *s = &g->node->arg[i];
        edge += s->tag == RL_PLACE && rl_schemas[g->node->op - rl_operators].arg[i].kind == RL_ARG_TENSORS
                    ? s->n
                    : 1;
    }
    return edge;
}

bool rl_vjp_wants_nth(const rl_vjp *g, int edge) {
    return g->node->edge[edge].to && !FAILED && !(rl_node_unwanted && rl_node_unwanted[edge]);
}
bool rl_vjp_wants(const rl_vjp *g, int arg) {
    return (g->node->op->edges >> arg & 1) && rl_vjp_wants_nth(g, edge_of(g, arg));
}

/* A formula that asks for what is not there: a mistake of ours, and none that may pass for a gradient. */
static V refuse(rl_vjp *g, const char *what, int which) {
    if (!FAILED)
        PyErr_Format(PyExc_RuntimeError, "%s: the derivative needs %s %d, which was not given or not saved",
                     g->node->name, what, which);
    FAILED = true;
    return NONE;
}

void rl_vjp_pass_nth(rl_vjp *g, int edge, V value) {
    if (FAILED) return;
    if (value.tag != RL_TENSOR) {
        refuse(g, "the gradient of edge", edge);
        return;
    }
    Py_XSETREF(g->results[edge], Py_NewRef((PyObject *)RL_TENSOR_OF(value.u.t)));
}
void rl_vjp_pass(rl_vjp *g, int arg, V value) {
    rl_vjp_pass_nth(g, edge_of(g, arg), value);
}

const rl_tensor_meta *rl_vjp_like_nth(rl_vjp *g, int edge) {
    static const rl_tensor_meta nothing = {.dtype = RL_F32};
    const rl_edge *e = &g->node->edge[edge];
    if (RL_LIKELY(e->to != NULL)) return &e->to->meta[e->nr];
    refuse(g, "the shape of the input of edge", edge);
    return &nothing;
}
const rl_tensor_meta *rl_vjp_like(rl_vjp *g, int arg) {
    return rl_vjp_like_nth(g, edge_of(g, arg));
}
V rl_vjp_size(rl_vjp *g, int arg) {
    const rl_tensor_meta *like = rl_vjp_like(g, arg);
    return rl_value_ints(like->shape, like->ndim);
}
double rl_vjp_num(rl_vjp *g, int arg) {
    const V *v = &g->node->arg[arg];
    if (RL_LIKELY(v->tag == RL_FLOAT || v->tag == RL_INT || v->tag == RL_BOOLEAN)) return rl_number(*v);
    refuse(g, "the number that is argument", arg);
    return 0;
}
int64_t rl_vjp_int(rl_vjp *g, int arg) {
    const V *v = &g->node->arg[arg];
    if (RL_LIKELY(v->tag == RL_INT || v->tag == RL_BOOLEAN)) return v->u.i;
    refuse(g, "the integer that is argument", arg);
    return 0;
}
const char *rl_vjp_string(rl_vjp *g, int arg) {
    const V *v = &g->node->arg[arg];
    if (RL_LIKELY(v->tag == RL_STRING)) return v->u.s;
    refuse(g, "the text that is argument", arg);
    return "";
}
bool rl_vjp_given(const rl_vjp *g, int arg) {
    return g->node->arg[arg].tag != RL_NONE;
}
const int64_t *rl_vjp_layout(rl_vjp *g, int n) {
    static const int64_t nothing[RL_MAX_DIMS + 1];
    const V *v = &g->node->arg[g->node->n_arg - 1];
    if (RL_LIKELY(g->node->op->saves_layout && v->n >= n)) return v->u.ints;
    refuse(g, "the layout of argument", 0);
    return nothing;
}
/* ---- values ---- */
void rl_vjp_fail(rl_vjp *g) {
    FAILED = true;
}

/* Is the node done with what it saved of this argument? Numbers, too: PyTorch keeps them as tensors. */
static bool is_freed(rl_vjp *g, int arg) {
    bool freed = g->node->released && g->node->op->arg[arg].saved_for;
    if (freed) FAILED = rl_saved_freed() < 0;
    return freed;
}
static V saved_value(rl_vjp *g, int i) {
    bool packed = g->node->saved[i].unpack != NULL;
    for (int j = 0; RL_UNLIKELY(packed) && j < g->n_unpacked; j++)
        if (g->unpacked[j].saved == i) return (V){.tag = RL_TENSOR, .u.t = g->unpacked[j].tensor};
    V value = rl_values_own_steal(VALUES, rl_saved_use(g->node, i));
    if (RL_UNLIKELY(packed) && !FAILED && g->n_unpacked < RL_MAX_UNPACKED) {
        g->unpacked[g->n_unpacked].saved = i;
        g->unpacked[g->n_unpacked++].tensor = value.u.t;
    }
    return value;
}
V rl_vjp_maybe(rl_vjp *g, int arg) {
    if (FAILED || is_freed(g, arg)) return NONE;
    if (g->node->arg[arg].tag != RL_PLACE) return g->node->arg[arg];
    int i = rl_saved_find(g->node, arg, 0);
    return RL_LIKELY(i >= 0) ? saved_value(g, i) : refuse(g, "argument", arg);
}
V rl_vjp_arg(rl_vjp *g, int arg) {
    V v = rl_vjp_maybe(g, arg);
    return RL_LIKELY(v.tag != RL_NONE) ? v : refuse(g, "argument", arg);
}
V rl_vjp_list(rl_vjp *g, int arg, rl_view *room[RL_MAX_DIMS]) {
    int n = g->node->arg[arg].tag == RL_PLACE ? g->node->arg[arg].n : 0;
    if (FAILED || is_freed(g, arg)) return NONE;
    if (n > RL_MAX_DIMS) return refuse(g, "list", arg);
    for (int j = 0; j < n; j++) {
        int i = rl_saved_find(g->node, arg, j);
        if (i < 0) return refuse(g, "list", arg);
        room[j] = NULL;
        if (!g->node->saved[i].value) continue;
        V one = saved_value(g, i);
        if (FAILED) return NONE;
        room[j] = one.u.t;
    }
    return TENSORS(room, n);
}

V rl_vjp_out(rl_vjp *g, int result) {
    if (FAILED) return NONE;
    int i = rl_saved_find(g->node, RL_MAX_ARGS + result, 0);
    return RL_LIKELY(i >= 0) ? saved_value(g, i) : refuse(g, "result", result);
}

bool rl_vjp_has_grad(const rl_vjp *g, int result) {
    return g->grads[result] != NULL;
}

V rl_vjp_grad(rl_vjp *g, int result) {
    if (FAILED) return NONE;
    if (g->grads[result]) return (V){.tag = RL_TENSOR, .u.t = &((rl_tensor *)g->grads[result])->v};
    return rl_vjp_zeros_as(g, &g->node->meta[result]);
}

V rl_vjp_zeros_as(rl_vjp *g, const rl_tensor_meta *like) {
    return FAILED ? NONE : rl_values_own_steal(VALUES, rl_grad_zeros(like));
}
V rl_vjp_zero_of(rl_vjp *g, V x) {
    if (FAILED) return NONE;
    const rl_view *v = x.u.t;
    return rl_vjp_zeros_as(
        g, &(rl_tensor_meta){.dtype = v->dtype, .device = v->device, .device_index = v->device_index});
}
V rl_vjp_zeros(rl_vjp *g, int arg) {
    return rl_vjp_wants(g, arg) ? rl_vjp_zeros_as(g, rl_vjp_like(g, arg)) : NONE;
}

bool rl_vjp_any(rl_vjp *g, V truths) {
    return rl_values_boolean(&g->v, OP(any, truths));
}

V rl_vjp_scaled(rl_vjp *g, V value, V factor) {
    bool one = factor.tag == RL_NONE || (factor.tag != RL_TENSOR && rl_number(factor) == 1);
    return one ? value : OP(mul, value, factor);
}
