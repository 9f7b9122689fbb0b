/* The formulas of all operators. */
#ifndef RL_DERIVATIVES_DERIVATIVES_H
#define RL_DERIVATIVES_DERIVATIVES_H
#include "autograd_graph/node.h"

extern const rl_node_vtable rl_formula_vtable;                            /* of operators */
extern const rl_node_vtable rl_pieces_cat_vtable, rl_pieces_stack_vtable; /* of split, chunk, unbind */
#endif
