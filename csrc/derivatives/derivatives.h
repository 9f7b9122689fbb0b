/* The formulas of all operators. */
#ifndef RL_DERIVATIVES_DERIVATIVES_H
#define RL_DERIVATIVES_DERIVATIVES_H
#include "history/node.h"

extern const rl_node_kind rl_formula_kind;                          /* of operators */
extern const rl_node_kind rl_pieces_cat_kind, rl_pieces_stack_kind; /* of split, chunk, unbind */
#endif
