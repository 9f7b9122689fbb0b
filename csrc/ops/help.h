/* What help() and inspect.signature() say of operators: made by tools/operator_help.py while rushlight is
 * built. */
#ifndef RL_OPS_HELP_H
#define RL_OPS_HELP_H
#include "table.h"

/* "max(input, dim=None)\n--\n\n..." of each way to call it; NULL where there is none */
typedef struct {
    const char *function, *method, *inplace_function, *inplace_method;
} rl_help;
extern const rl_help rl_operator_help[RL_OP_COUNT]; /* by the first overload of a name */
extern const rl_help rl_alias_help[];               /* in the order of declarations/aliases.def */
#endif
