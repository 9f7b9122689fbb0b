/* Recurrent layers in vectors: Note [Steps of a layer] in kernels/shared/rnn.h. */
#include "kernels/shared/rnn.h"
#include "common.h"
/* tanh x = x + x^3 (c[0] + c[1] x^2 + ...) */
static const double rnn_tanh_series[] = {
    -1.0 / 3,         2.0 / 15,          -17.0 / 315,           62.0 / 2835,
    -1382.0 / 155925, 21844.0 / 6081075, -929569.0 / 638512875, 6404582.0 / 10854718875,
};

#define ISA_IMPL "rnn_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

RL_CHOOSER
static const rl_rnn_ukernel *ukernel_of(const rl_call *k) {
    static const rl_rnn_ukernel *const ukernels[2][RL_ISA_END] = {ISA_TABLE(&rnn_ukernel),
                                                                  ISA_TABLE_F64(&rnn_ukernel)};
    return ukernels[k->out[0]->dtype == RL_F64][k->svc->isa];
}

RL_CHOOSER
RL_KERNEL(simd_rnn_layer) {
    const rl_rnn_ukernel *ukernel = ukernel_of(k);
    return ukernel ? rl_rnn_forward(k, ukernel) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(simd_rnn_layer_backward) {
    const rl_rnn_ukernel *ukernel = ukernel_of(k);
    return ukernel ? rl_rnn_backward(k, ukernel) : RL_UNSUPPORTED;
}
