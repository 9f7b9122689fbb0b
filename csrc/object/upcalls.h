/* Calls that go up: what a component asks of those above it, which it must not see. init.c fills this before
 * anything runs. */
#ifndef RL_OBJECT_UPCALLS_H
#define RL_OBJECT_UPCALLS_H
#include "tensor.h"
#include "ops/table.h"

enum {
    RL_PIECES_CAT,
    RL_PIECES_STACK,
    RL_PIECES_KINDS
}; /* how gradients of split() and unbind() are joined */

struct rl_op_call;
struct rl_node_vtable;
struct rl_upcalls {
    /* of call: an operator that is made of operators (composite/table.c) */
    PyObject *(*compose)(int op, struct rl_op_call *b);
    /* of call: runs a call on the CPU (call/fallback.c); NULL where nobody asked for that */
    rl_status (*fallback_run)(const rl_operator *op, rl_call *k);
    /* of autograd_graph: told of every node while anomalies are looked for (autograd_graph/anomaly.c) */
    int (*node_watch)(rl_node *node);
    /* of autograd_graph: what nodes run. Formulas and pieces are derivatives', the others autograd's */
    const struct rl_node_vtable *formula_vtable, *leaf_vtable, *copy_slices_vtable,
        *pieces_vtables[RL_PIECES_KINDS];
};
extern struct rl_upcalls rl_upcalls;
#endif
