/* The derivative of split, chunk and unbind: the pieces' gradients, joined. */
#include "formula.h"

/* zeros where a piece was not used */
static PyObject *grad_of_piece(const rl_node *node, PyObject *grad, int i) {
    return grad ? Py_NewRef(grad) : rl_grad_zeros(&node->meta[i]);
}

static int pieces_run(rl_node *node, PyObject *const *grads, PyObject **results, int op) {
    bool any = false;
    for (int i = 0; i < node->n_out; i++) any |= grads[i] != NULL;
    RL_OWNED PyObject *held = any ? PyTuple_New(node->n_out) : NULL;
    if (!held) return any ? -1 : 0;
    rl_view **views = PyMem_Malloc((size_t)node->n_out * sizeof *views);
    int made = 0;
    for (; views && made < node->n_out; made++) {
        PyObject *grad = grad_of_piece(node, grads[made], made);
        if (!grad) break;
        PyTuple_SET_ITEM(held, made, grad);
        views[made] = &((rl_tensor *)grad)->v;
    }
    rl_slot args[2] = {{.tag = RL_TENSORS, .n = node->n_out, .u.ts = views}, node->arg[0]};
    if (views && made == node->n_out)
        results[0] = rl_op_run(op, args, 2);
    else if (!views)
        PyErr_NoMemory();
    PyMem_Free(views);
    return results[0] ? 0 : -1;
}

static int cat_run(rl_node *node, PyObject *const *grads, PyObject **results) {
    return pieces_run(node, grads, results, RL_OP_cat);
}
static int stack_run(rl_node *node, PyObject *const *grads, PyObject **results) {
    return pieces_run(node, grads, results, RL_OP_stack);
}

void rl_grad_pieces_init(void) {
    static const rl_node_kind cat_kind = {.apply = cat_run}, stack_kind = {.apply = stack_run};
    rl_pieces_kinds[RL_PIECES_CAT] = &cat_kind;
    rl_pieces_kinds[RL_PIECES_STACK] = &stack_kind;
}
