/* Gradients of activations: a is that of the result, b what the forward operator saw (or answered). */
#include "gradient.h"
#include <tgmath.h>

/* ---- pieces of straight lines ---- */
BACK_KERNEL(leaky_relu_backward, rl_num(k, 2), 0, 0, (b > 0 ? a : a * D(0)))
BACK_KERNEL(hardtanh_backward, rl_num(k, 2), rl_num(k, 3), 0, (b > D(0) && b < D(1) ? a : 0))
BACK_KERNEL(shrink_backward, rl_num(k, 2), 0, 0, (b < -D(0) || b > D(0) ? a : 0))
PLAIN_BACK(hardsigmoid_backward, (b > -3 && b < 3 ? a * (C)(1.0f / 6) : 0))
PLAIN_BACK(hardswish_backward, (b <= -3 ? 0 : b >= 3 ? a : a * (b / 3 + (C)0.5)))

/* ---- smooth ones ---- */
#define LOGISTIC(x) (1 / (1 + exp(-(x))))
/* numbers: alpha * scale * input_scale, input_scale, scale */
BACK_KERNEL(elu_backward, rl_num(k, 2) * rl_num(k, 3), rl_num(k, 4), rl_num(k, 3),
            (b > 0 ? a * D(2) : a * D(1) * D(0) * exp(b * D(1))))
/* beta, threshold; finite where e^(beta x) is not */
BACK_KERNEL(softplus_backward, rl_num(k, 2), rl_num(k, 3), 0, (b * D(0) > D(1) ? a : a * LOGISTIC(b * D(0))))
PLAIN_BACK(silu_backward, ({
               const C s = LOGISTIC(b);
               a * s * (1 + b * (1 - s));
           }))
PLAIN_BACK(mish_backward, ({
               const C t = tanh(log1p(exp(b)));
               a *(t + b * LOGISTIC(b) * (1 - t * t));
           }))
PLAIN_BACK(log_sigmoid_backward, ({
               const C z = exp(-fabs(b)), part = z / (1 + z);
               a *(b < 0 ? 1 - part : part);
           }))

static const double sqrt_half = 0.70710678118654752440,
                    half_bell = 0.39894228040143267794, /* 1 / sqrt(2 pi) */
    tanh_scale = 0.79788456080286535588;                /* sqrt(2 / pi) */
RL_EACH_FLOAT(RL_BINARY_KEEP, x_gelu,
              (a * ((C)0.5 * (1 + erf(b * (C)sqrt_half)) + b * (exp(b * b * (C)-0.5) * (C)half_bell))))
RL_EACH_FLOAT(RL_BINARY_KEEP, x_gelu_tanh, ({
                  const C t = tanh((C)tanh_scale * (b + (C)0.044715 * (b * b * b)));
                  const C inner = (C)tanh_scale * (1 + 3 * (C)0.044715 * (b * b));
                  a *((C)0.5 * (1 + t) + (C)0.5 * b * (1 - t * t) * inner);
              }))
RL_KERNEL(ref_gelu_backward) {
    static const rl_strip strips[2][RL_NDTYPES] = {{RL_EACH_FLOAT(RL_ENTRY, x_gelu)},
                                                   {RL_EACH_FLOAT(RL_ENTRY, x_gelu_tanh)}};
    return rl_eltwise(k, 2, strips[k->attr[0] != 0], -1, NULL);
}
