/* Gradients of functions of one operand: a is that of the result, b what the forward operator saw (or
 * answered). */
#include "gradient.h"
#include <tgmath.h>

PLAIN_BACK(sigmoid_backward, (a * (1 - b) * b))
PLAIN_BACK(tanh_backward, (a * (1 - b * b)))

static double bound(const rl_call *k, int arg, double without) {
    return k->arg[arg].tag == RL_NONE ? without : rl_num(k, arg);
}
BACK_KERNEL(clamp_backward, bound(k, 2, -INFINITY), bound(k, 3, INFINITY), 0,
            (b >= D(0) && b <= D(1) ? a : 0))
