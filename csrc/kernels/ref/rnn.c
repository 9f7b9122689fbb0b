/* Recurrent layers: Note [Steps of a layer] in kernels/shared/rnn.h. */
#include "kernels/shared/rnn.h"
#include <math.h>

#define exp_of_f32  expf
#define tanh_of_f32 tanhf
#define exp_of_f64  exp
#define tanh_of_f64 tanh

#define E      float
#define RNN(f) f##_f32
#include "rnn_impl.inc"

#define E      double
#define RNN(f) f##_f64
#include "rnn_impl.inc"

RL_CHOOSER
static const rl_rnn_ukernel *ukernel_of(const rl_call *k) {
    return k->out[0]->dtype == RL_F64 ? &ukernel_f64 : &ukernel_f32;
}

RL_KERNEL(ref_rnn_layer) {
    return rl_rnn_forward(k, ukernel_of(k));
}
RL_KERNEL(ref_rnn_layer_backward) {
    return rl_rnn_backward(k, ukernel_of(k));
}
