/* Records the graph: which node a result gets, what the node saves, and what an in-place write changes. */
#include "node.h"
#include "ops/schema.h"
#include <string.h>

/* Making a node may run Python (the garbage collector, detect_anomaly), which may reshape the tensors. */
int rl_graph_refuse(void) {
    PyErr_SetString(PyExc_RuntimeError, "a tensor got other dimensions while its history was written");
    return -1;
}

/* ---- edges ---- */
rl_node *rl_graph_accumulator(rl_tensor *leaf) {
    rl_node_plan plan = {.n_out = 1, .n_words = leaf->v.ndim};
    int64_t *words;
    if (leaf->accumulator) return (rl_node *)Py_NewRef((PyObject *)leaf->accumulator);
    rl_node *node = rl_node_alloc(NULL, rl_upcalls.leaf_vtable, "AccumulateGrad", &plan, &words);
    if (!node) return NULL;
    if (RL_UNLIKELY(leaf->accumulator != NULL)) { /* the allocation ran Python, which made one */
        PyObject *other = Py_NewRef((PyObject *)leaf->accumulator);
        Py_DECREF(node);
        return (rl_node *)other;
    }
    if (leaf->v.ndim != plan.n_words) {
        Py_DECREF(node);
        rl_graph_refuse();
        return NULL;
    }
    node->sequence = (uint64_t)RL_SEQUENCE_LEAF;
    rl_node_sequence--;
    rl_tensor_meta_set(node->meta, &leaf->v, &words);
    node->owner = Py_NewRef((PyObject *)leaf);
    leaf->accumulator = node;
    return node;
}

int rl_graph_edge(rl_tensor *t, rl_edge *edge) {
    PyObject *fn;
    *edge = (rl_edge){NULL, 0};
    if (!rl_requires_grad(t)) return 0;
    if (rl_graph_grad_fn(t, &fn) < 0) return -1;
    edge->nr = fn ? t->output_nr : 0;
    edge->to = fn ? (rl_node *)fn : rl_graph_accumulator(t);
    return edge->to ? 0 : -1;
}

/* t got other sizes, another dtype or device after its node was made (t.data = ...), and formulas go by what
 * the node says: a leaf gets a new one, anything else a step in between. */
static int edge_refit(rl_tensor *t, rl_edge *edge) {
    rl_node_plan plan = {.n_edge = 1, .n_out = 1, .n_words = t->v.ndim};
    int64_t *words;
    RL_OWNED PyObject *old = (PyObject *)edge->to;
    edge->to = NULL;
    if (((rl_node *)old)->kind == rl_upcalls.leaf_vtable) {
        t->accumulator = NULL;
        edge->to = rl_graph_accumulator(t);
        return edge->to ? 0 : -1;
    }
    rl_node *step = rl_node_alloc(NULL, rl_upcalls.formula_vtable, "CloneBackward0", &plan, &words);
    if (!step) return -1;
    step->op = &rl_operators[RL_OP_clone];
    step->edge[0] = (rl_edge){(rl_node *)rl_move(&old), edge->nr};
    *edge = (rl_edge){step, 0};
    if (t->v.ndim != plan.n_words) return rl_graph_refuse();
    rl_tensor_meta_set(step->meta, &t->v, &words);
    return 0;
}

static bool lies_as_said(const rl_tensor_meta *meta, const rl_view *v) {
    return meta->dtype == v->dtype && meta->device == v->device && meta->device_index == v->device_index;
}

int rl_graph_link(rl_tensor *t, rl_edge *edge) {
    if (rl_graph_edge(t, edge) < 0) return -1;
    const rl_tensor_meta *meta = edge->to ? &edge->to->meta[edge->nr] : NULL;
    if (RL_LIKELY(!meta || (rl_tensor_meta_same(meta, &t->v) && lies_as_said(meta, &t->v)))) return 0;
    return edge_refit(t, edge);
}

int rl_graph_set(rl_tensor *t, rl_node *node, int nr) {
    if (RL_UNLIKELY(t->retains) && rl_hooks_move(t, node, nr) < 0) {
        Py_DECREF(node);
        return -1;
    }
    rl_node *before = t->grad_fn;
    PyObject *hooks = t->hooks; /* they stay with the node before */
    t->hooks = NULL;
    t->grad_fn = node;
    t->output_nr = nr;
    t->requires_grad = 1;
    if (t->base) t->seen = rl_version_of(t);
    Py_XDECREF((PyObject *)before); /* last: this may run Python, which must find all of t */
    Py_XDECREF(hooks);
    return 0;
}

/* ---- the node of a call ---- */
static bool list_requires_grad(const rl_value *s) {
    for (int j = 0; j < s->n; j++)
        if (s->u.ts[j] && rl_requires_grad(RL_TENSOR_OF(s->u.ts[j]))) return true;
    return false;
}

/* bit i: argument i needs a gradient */
static uint32_t needs_of(const rl_operator *op, const rl_value *args) {
    uint32_t needs = 0;
    for (uint32_t left = op->edges; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const rl_value *s = &args[i];
        if (s->tag == RL_TENSOR ? rl_requires_grad(RL_TENSOR_OF(s->u.t))
                                : s->tag == RL_TENSORS && list_requires_grad(s))
            needs |= 1u << i;
    }
    return needs;
}

static bool saves_arg(const rl_operator *op, int i, uint32_t needs) {
    return (op->arg[i].saved_for & needs) != 0;
}

bool rl_graph_saves_self(const rl_operator *op, const rl_value *args) {
    return saves_arg(op, 0, needs_of(op, args));
}

static size_t text_words(const char *text) {
    return strlen(text) / sizeof(int64_t) + 1;
}

static rl_node_plan plan_of(const rl_operator *op, const rl_value *args, int n, uint32_t needs) {
    rl_node_plan p = {.n_arg = n};
    for (int i = 0; i < n; i++) {
        const rl_value *s = &args[i];
        int tensors = s->tag == RL_TENSORS ? s->n : 1;
        if (op->edges >> i & 1) p.n_edge += tensors;
        if ((s->tag == RL_TENSOR || s->tag == RL_TENSORS) && saves_arg(op, i, needs)) p.n_saved += tensors;
        if (s->tag == RL_INTS) p.n_words += s->n;
        if (s->tag == RL_STRING) p.n_words += (int)text_words(s->u.s);
    }
    if (op->saves_layout) p.n_arg++;
    return p;
}

/* numbers as they are, lists and texts as copies, of tensors only that they were there */
static rl_value keep_slot(const rl_value *s, int64_t **words) {
    rl_value kept = *s;
    if (s->tag == RL_INTS) {
        kept.u.ints = memcpy(*words, s->u.ints, (size_t)s->n * sizeof **words);
        *words += s->n;
    } else if (s->tag == RL_STRING) {
        kept.u.s = strcpy((char *)*words, s->u.s);
        *words += text_words(s->u.s);
    } else if (s->tag == RL_TENSOR || s->tag == RL_TENSORS) {
        kept = (rl_value){.tag = RL_PLACE, .n = s->tag == RL_TENSORS ? s->n : 1};
    } else if (s->tag == RL_RNG || s->tag == RL_OBJECT) {
        kept = (rl_value){.tag = RL_NONE};
    }
    return kept;
}

/* strides and offset of a tensor; how many elements each of a list has */
static rl_value keep_layout(const rl_value *s, int64_t **tail) {
    int n = s->tag == RL_TENSORS ? s->n : rl_value_view(s)->ndim + 1;
    int64_t *words = *tail;
    if (s->tag == RL_TENSORS) {
        for (int j = 0; j < n; j++) words[j] = s->u.ts[j] ? s->u.ts[j]->numel : 0;
    } else {
        if (n > 1) memcpy(words, rl_value_view(s)->strides, (size_t)(n - 1) * sizeof *words);
        words[n - 1] = rl_value_view(s)->offset;
    }
    *tail += n;
    return (rl_value){.tag = RL_INTS, .n = n, .u.ints = words};
}

static int keep_arg(rl_node *node, const rl_value *s, int i, int *saved, PyObject *original) {
    if (s->tag == RL_TENSOR)
        return rl_saved_set(&node->saved[(*saved)++],
                            i == 0 && original ? original : (PyObject *)RL_TENSOR_OF(s->u.t), i, 0, false);
    for (int j = 0; j < s->n; j++, ++*saved) {
        if (!s->u.ts[j])
            node->saved[*saved] = (rl_saved){.place = i, .nr = j};
        else if (rl_saved_set(&node->saved[*saved], (PyObject *)RL_TENSOR_OF(s->u.ts[j]), i, j, false) < 0)
            return -1;
    }
    return 0;
}

static int link_arg(rl_node *node, const rl_value *s, int *edge) {
    int n = s->tag == RL_TENSORS ? s->n : 1;
    for (int j = 0; j < n; j++, ++*edge) {
        const rl_view *v = s->tag == RL_TENSORS ? s->u.ts[j] : s->tag == RL_TENSOR ? s->u.t : NULL;
        if (v && rl_graph_link(RL_TENSOR_OF(v), &node->edge[*edge]) < 0) return -1;
    }
    return 0;
}

/* how many words the sizes of results and the layout of inputs[0] take */
static int dims_words(const rl_operator *op, const rl_value *inputs, rl_tensor *const *out, int n_out) {
    int n = !op->saves_layout ? 0 : inputs->tag == RL_TENSORS ? inputs->n : rl_value_view(inputs)->ndim + 1;
    for (int i = 0; i < n_out; i++) n += out[i]->v.ndim;
    return n;
}

static bool became_since(const rl_value *s, uint64_t when) {
    if (s->tag == RL_TENSOR) return RL_TENSOR_OF(s->u.t)->became > when;
    for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++)
        if (s->u.ts[j] && RL_TENSOR_OF(s->u.ts[j])->became > when) return true;
    return false;
}

/* Formulas go by the sizes of results and of what the edges lead to: they must be those of one call. */
static bool is_one_call(const rl_recorded *call, rl_tensor *const *out, int n_out) {
    if (RL_LIKELY(rl_data_changes == call->became)) return true;
    for (int i = 0; i < call->n; i++)
        if (became_since(&call->args[i], call->became)) return false;
    for (int i = 0; i < n_out; i++)
        if (out[i]->became > call->became) return false;
    return true;
}

rl_node *rl_graph_node(const rl_recorded *call, rl_tensor *const *out, int n_out, PyObject *original) {
    const rl_operator *op = call->op;
    const rl_value *inputs = call->args;
    int n = call->n, edge = 0, saved = 0, dims = dims_words(op, inputs, out, n_out);
    uint32_t needs = needs_of(op, inputs);
    if (RL_UNLIKELY(!needs)) { /* they wanted gradients when the call began */
        rl_held_changed();
        return NULL;
    }
    rl_node_plan plan = plan_of(op, inputs, n, needs);
    plan.n_out = n_out;
    plan.n_words += dims;
    for (int i = 0; i < n_out; i++)
        if (op->saved_out >> i & 1) plan.n_saved++;
    int64_t *words;
    const char *name = RL_UNLIKELY(op->node_name) ? op->node_name(inputs) : op->node;
    rl_node *node = rl_node_alloc(NULL, rl_upcalls.formula_vtable, name, &plan, &words);
    if (!node) return NULL;
    node->op = op;
    if (!is_one_call(call, out, n_out)) goto changed;
    for (int i = 0; i < n_out; i++) rl_tensor_meta_set(&node->meta[i], &out[i]->v, &words);
    rl_node_place(node);
    for (int i = 0; i < n; i++) node->arg[i] = keep_slot(&inputs[i], &words);
    if (op->saves_layout) node->arg[n] = keep_layout(&inputs[0], &words);
    for (int i = 0; i < n; i++) {
        const rl_value *s = &inputs[i];
        if ((op->edges >> i & 1) && link_arg(node, s, &edge) < 0) goto fail;
        node->keeps |= saves_arg(op, i, needs); /* numbers, too: PyTorch keeps them as tensors */
        if ((s->tag == RL_TENSOR || s->tag == RL_TENSORS) && saves_arg(op, i, needs) &&
            keep_arg(node, s, i, &saved, original) < 0)
            goto fail;
    }
    node->keeps |= node->n_saved > 0;
    for (int i = 0; i < n_out; i++) {
        if (!(op->saved_out >> i & 1)) continue;
        rl_saved *s = &node->saved[saved++];
        if (rl_saved_set(s, (PyObject *)out[i], RL_MAX_ARGS + i, 0, true) < 0) goto fail;
        s->version +=
            n && inputs[0].tag == RL_TENSOR && inputs[0].u.t == &out[i]->v; /* about to be written */
    }
    if (RL_LIKELY(is_one_call(call, out, n_out))) return node;
changed:
    rl_graph_refuse();
fail:
    Py_DECREF(node);
    return NULL;
}
