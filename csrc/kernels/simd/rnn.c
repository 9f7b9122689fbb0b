/* Recurrent layers in vectors: Note [Steps of a layer] in kernels/shared/rnn.h. */
#include "kernels/shared/rnn.h"
#include "common.h"
#ifdef RL_SIMD_X86
/* tanh x = x + x^3 (c[0] + c[1] x^2 + ...) */
static const double rnn_tanh_series[] = {
    -1.0 / 3,         2.0 / 15,          -17.0 / 315,           62.0 / 2835,
    -1382.0 / 155925, 21844.0 / 6081075, -929569.0 / 638512875, 6404582.0 / 10854718875,
};

#define SIMD_BITS 256
#include "isa.h"
#include "kernels/simd/vmath/math_impl.inc"
#include "rnn_impl.inc"
#define SIMD_DOUBLE
#include "isa.h"
#include "kernels/simd/vmath/wide_impl.inc"
#include "rnn_impl.inc"
#undef SIMD_BITS
#undef SIMD_DOUBLE
#define SIMD_BITS 512
#include "isa.h"
#include "kernels/simd/vmath/math_impl.inc"
#include "rnn_impl.inc"
#define SIMD_DOUBLE
#include "isa.h"
#include "kernels/simd/vmath/wide_impl.inc"
#include "rnn_impl.inc"

RL_CHOOSER
static const rl_rnn_ukernel *ukernel_of(const rl_call *k) {
    const bool wide = k->out[0]->dtype == RL_F64;
    if (k->svc->isa & RL_ISA_AVX512) return wide ? &rnn_ukernel_avx512_f64 : &rnn_ukernel_avx512;
    if (k->svc->isa & RL_ISA_AVX2) return wide ? &rnn_ukernel_avx2_f64 : &rnn_ukernel_avx2;
    return NULL;
}
#else
static const rl_rnn_ukernel *ukernel_of(const rl_call *k) {
    (void)k;
    return NULL;
}
#endif

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
