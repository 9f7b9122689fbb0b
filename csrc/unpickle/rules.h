/* What REDUCE, NEWOBJ and BUILD become. */
#ifndef RL_UNPICKLE_RULES_H
#define RL_UNPICKLE_RULES_H
#include "unpickle.h"

rl_item *rl_rules_reduce(rl_reader *r, rl_item *callee, rl_item *args);
rl_item *rl_rules_new(rl_reader *r, rl_item *cls, rl_item *args);
rl_status rl_rules_build(rl_reader *r, rl_item *item, rl_item *state);
#endif
