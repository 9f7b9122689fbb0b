/* Names of nodes that depend on the call: TITLE(fn) behind what GRAD saves. */
#ifndef RL_OPS_NODE_NAMES_H
#define RL_OPS_NODE_NAMES_H
#include "contract/kernel.h"

typedef const char *rl_title(const rl_slot *args);
rl_title rl_title_pow, rl_title_remainder, rl_title_masked_fill, rl_title_lerp, rl_title_sum, rl_title_prod,
    rl_title_mean, rl_title_diag, rl_title_pad, rl_title_rms_norm, rl_title_adaptive_avg_pool, rl_title_div,
    rl_title_fill, rl_title_matmul, rl_title_linear;
#endif
