/* Special functions of floats. */
#define V_FUNCTIONS "kernels/simd/vmath/special_impl.inc"
#define V_OPS       "special_ops.h"
#include "elementwise_compile.h"

RL_CHOOSER
RL_KERNEL(simd_logit) {
    const bool within = k->arg[1].tag != RL_NONE;
    const double eps = within ? rl_num(k, 1) : 0, numbers[SIMD_NUMBERS] = {eps, 1 - eps};
    return simd_map(k, within ? &op_logit_within : &op_logit, numbers);
}
