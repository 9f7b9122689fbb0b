/* Names of nodes that depend on the call: the part NODE_NAME of a declaration. */
#ifndef RL_OPS_NODE_NAMES_H
#define RL_OPS_NODE_NAMES_H
#include "kernel_abi/kernel.h"

typedef const char *rl_node_namer(const rl_value *args);
rl_node_namer rl_node_name_pow, rl_node_name_remainder, rl_node_name_masked_fill, rl_node_name_lerp,
    rl_node_name_sum, rl_node_name_prod, rl_node_name_mean, rl_node_name_diag, rl_node_name_pad,
    rl_node_name_rms_norm, rl_node_name_adaptive_avg_pool, rl_node_name_div, rl_node_name_fill,
    rl_node_name_matmul, rl_node_name_linear, rl_node_name_fmod, rl_node_name_rsub, rl_node_name_copysign,
    rl_node_name_xlogy, rl_node_name_xlog1py, rl_node_name_zeta, rl_node_name_l1_loss, rl_node_name_kl_div,
    rl_node_name_kl_div_backward, rl_node_name_logits_backward;
#endif
