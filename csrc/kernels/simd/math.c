/* Functions of one operand. */
#define V_FUNCTIONS "kernels/simd/vmath/math_impl.inc"
#define V_OPS       "math_ops.h"
#include "elementwise_compile.h"
#include <math.h>

RL_CHOOSER
RL_KERNEL(simd_round_decimals) {
    const int64_t decimals = k->arg[1].u.i;
    const double numbers[SIMD_NUMBERS] = {pow(10.0, fabs((double)decimals))};
    if (rl_itemsize(rl_tensor_arg(k, 0)->dtype) < 4) return RL_UNSUPPORTED; /* halves round in between */
    return simd_map(k, decimals < 0 ? &op_round_before : &op_round_behind, numbers);
}

RL_KERNEL(simd_nan_to_num) {
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    const double most = rl_largest(dtype), instead[] = {0, most, -most};
    double numbers[SIMD_NUMBERS] = {0};
    for (int i = 0; rl_is_float(dtype) && i < 3; i++)
        numbers[i] = k->arg[1 + i].tag == RL_NONE ? instead[i] : rl_num(k, 1 + i);
    return simd_map(k, &op_finite, numbers);
}
