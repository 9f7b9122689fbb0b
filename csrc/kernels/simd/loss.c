/* Losses that work element by element: Note [Element losses] in kernels/ref/loss.c. */
#define V_FUNCTIONS "kernels/simd/vmath/math_impl.inc"
#define V_OPS       "loss_ops.h"
#include "elementwise_compile.h"
enum { NONE, MEAN };

/* arguments from 0 on are the operands */
static void operands_of(const rl_call *k, const simd_elementwise_op *op, const rl_view **operand) {
    for (int i = 0; i < op->operands; i++) operand[i] = rl_in(k, i);
}

static rl_status loss_values(rl_call *k, const simd_elementwise_op *op, int reduction, double number) {
    const rl_view *operand[SIMD_OPERANDS], *out = k->out[0];
    const double numbers[SIMD_NUMBERS] = {number};
    simd_total total;
    operands_of(k, op, operand);
    if (k->arg[reduction].u.i == NONE) return simd_map_views(k, op, operand, numbers);
    const rl_status status = simd_map_total(k, op, operand, numbers, &total);
    if (status != RL_OK) return status;
    if (k->arg[reduction].u.i == MEAN) total.sum /= (double)total.places;
    const float narrow = (float)total.sum;
    const simd_cast_copy move = simd_cast_copy_between(k, out->dtype, out->dtype == RL_F64 ? RL_F64 : RL_F32);
    const void *from = out->dtype == RL_F64 ? (const void *)&total.sum : &narrow;
    simd_cast_copy_run(&move, rl_data(out, RL_WRITE), 0, from, 0, 1);
    return RL_OK;
}

static rl_status loss_slopes(rl_call *k, const simd_elementwise_op *op, const rl_view *const *operand,
                             int reduction, double number) {
    const double factor = k->arg[reduction].u.i == MEAN ? 1 / (double)k->out[0]->numel : 1;
    const double numbers[SIMD_NUMBERS] = {factor, number};
    return simd_map_views(k, op, operand, numbers);
}

#define VALUES(name, reduction, number)                                                                      \
    RL_KERNEL(simd_##name) {                                                                                 \
        return loss_values(k, &op_##name, reduction, number);                                                \
    }
#define SLOPES(name, reduction, number)                                                                      \
    RL_KERNEL(simd_##name##_backward) {                                                                      \
        const rl_view *operand[SIMD_OPERANDS];                                                               \
        operands_of(k, &op_##name##_backward, operand);                                                      \
        return loss_slopes(k, &op_##name##_backward, operand, reduction, number);                            \
    }
VALUES(mse_loss, 2, 0)
SLOPES(mse_loss, 3, 0)
VALUES(l1_loss, 2, 0)
SLOPES(l1_loss, 3, 0)
VALUES(huber_loss, 2, rl_num(k, 3))
SLOPES(huber_loss, 3, rl_num(k, 4))
VALUES(smooth_l1_loss, 2, rl_num(k, 3))
SLOPES(smooth_l1_loss, 3, rl_num(k, 4))
VALUES(soft_margin_loss, 2, 0)
SLOPES(soft_margin_loss, 3, 0)
SLOPES(binary_cross_entropy, 4, 0)
VALUES(binary_cross_entropy_with_logits, 4, 0)
SLOPES(binary_cross_entropy_with_logits, 5, 0)

RL_KERNEL(simd_kl_div) {
    return loss_values(k, k->arg[3].u.i ? &op_kl_div_log : &op_kl_div, 2, 0);
}
RL_KERNEL(simd_kl_div_backward) { /* the input gave its dims alone */
    const rl_view *const operand[] = {rl_in(k, 0), rl_in(k, 2)};
    return loss_slopes(k, k->arg[4].u.i ? &op_kl_div_log_backward : &op_kl_div_backward, operand, 3, 0);
}

RL_KERNEL(simd_binary_cross_entropy) {
    for (int i = 0; i < 2; i++) {
        const rl_view *v = rl_in(k, i);
        simd_total outside;
        const rl_status status =
            simd_map_total(k, &op_outside, &v, (const double[SIMD_NUMBERS]){0}, &outside);
        if (status != RL_OK) return status;
        if (outside.sum > 0)
            return rl_fail(k, RL_RUNTIME, "all elements of %s should be between 0 and 1",
                           i ? "target" : "input");
    }
    return loss_values(k, &op_binary_cross_entropy, 3, 0);
}
