/* Activations. */
#define V_FUNCTIONS "kernels/simd/vmath/math_impl.inc"
#define V_OPS       "activation_ops.h"
#include "elementwise_compile.h"
#include <math.h>

RL_CHOOSER
RL_KERNEL(simd_prelu) {
    const rl_view *x = rl_in(k, 0), *operand[2] = {x, rl_in(k, 1)};
    const double numbers[SIMD_NUMBERS] = {0};
    rl_view slope = *operand[1];
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS];
    if (slope.numel != 1) { /* the weights stand along dimension 1 */
        for (int d = 0; d < x->ndim; d++) shape[d] = 1, strides[d] = 0;
        shape[1] = slope.numel, strides[1] = slope.strides[0];
        slope.shape = shape, slope.strides = strides, slope.ndim = x->ndim;
        operand[1] = &slope;
    }
    return simd_map_views(k, &op_prelu, operand, numbers);
}

/* In place, elements that share memory are left to the reference kernel, as are numbers that it refuses. */
RL_CHOOSER
RL_KERNEL(simd_threshold) {
    const double numbers[SIMD_NUMBERS] = {rl_num(k, 1), rl_num(k, 2)};
    for (int i = 0; i < 2; i++)
        if (!(fabs(numbers[i]) <= 65504)) return RL_UNSUPPORTED;
    return rl_view_expanded(k->out[0]) ? RL_UNSUPPORTED : simd_map(k, &op_threshold, numbers);
}

RL_KERNEL(simd_rrelu) { /* in training each slope is drawn */
    const double numbers[SIMD_NUMBERS] = {(rl_num(k, 1) + rl_num(k, 2)) / 2};
    return k->arg[3].u.i ? RL_UNSUPPORTED : simd_map(k, &op_leaky_relu, numbers);
}

RL_KERNEL(simd_glu) { /* the first half, times the sigmoid of the other */
    const rl_view *out = k->out[0], *x = rl_in(k, 0);
    const double numbers[SIMD_NUMBERS] = {0};
    rl_view half = *x, gate;
    half.shape = out->shape, half.numel = out->numel;
    gate = half;
    gate.offset += out->shape[k->attr[0]] * half.strides[k->attr[0]];
    return simd_map_views(k, &op_glu, (const rl_view *[]){&half, &gate}, numbers);
}

RL_KERNEL(simd_gelu) {
    const double numbers[SIMD_NUMBERS] = {0};
    return simd_map(k, k->attr[0] ? &op_gelu_tanh : &op_gelu, numbers);
}

RL_KERNEL(simd_gelu_backward) {
    const double numbers[SIMD_NUMBERS] = {0};
    return simd_map(k, k->attr[0] ? &op_gelu_tanh_backward : &op_gelu_backward, numbers);
}

rl_status simd_clamp(rl_call *k); /* kernels/simd/math.c */
RL_KERNEL(simd_hardtanh) {
    return simd_clamp(k);
}
