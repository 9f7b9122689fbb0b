/* Several views of one tensor at a time: all are results of one node, and none may be written where that is
 * recorded, since one history cannot tell what happened to the others. */
#include "node.h"

const rl_node_kind *rl_pieces_kinds[RL_PIECES_KINDS];

static int pieces_words(PyObject *pieces) {
    int n = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pieces); i++)
        n += ((rl_tensor *)PyTuple_GET_ITEM(pieces, i))->v.ndim;
    return n;
}

static rl_node *pieces_node(rl_tensor *whole, PyObject *pieces, const char *name, int64_t dim, int how) {
    rl_node_plan plan = {.n_edge = 1, .n_out = (int)PyTuple_GET_SIZE(pieces), .n_arg = 1};
    int64_t *words;
    plan.n_words = pieces_words(pieces);
    RL_OWNED PyObject *held = (PyObject *)rl_node_alloc(NULL, rl_pieces_kinds[how], name, &plan, &words);
    rl_node *node = (rl_node *)held;
    if (!node || rl_history_link(whole, &node->edge[0]) < 0) return NULL;
    node->arg[0] = (rl_slot){.tag = RL_INT, .u.i = dim};
    if (pieces_words(pieces) != plan.n_words && rl_history_refuse() < 0) return NULL;
    for (int i = 0; i < plan.n_out; i++)
        rl_meta_set(&node->meta[i], &((rl_tensor *)PyTuple_GET_ITEM(pieces, i))->v, &words);
    return (rl_node *)rl_give(&held);
}

PyObject *rl_history_pieces(rl_tensor *whole, PyObject *pieces_steal, const char *name, int64_t dim,
                            int how) {
    RL_OWNED PyObject *pieces = pieces_steal, *node = NULL;
    if (!pieces || !rl_here.grad || rl_here.inference) return rl_give(&pieces);
    if (rl_requires_grad(whole) && !(node = (PyObject *)pieces_node(whole, pieces, name, dim, how)))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pieces); i++) {
        rl_tensor *piece = (rl_tensor *)PyTuple_GET_ITEM(pieces, i);
        piece->creation = RL_VIEW_MULTI;
        if (node && rl_history_set(piece, (rl_node *)Py_NewRef(node), (int)i) < 0) return NULL;
    }
    return rl_give(&pieces);
}
