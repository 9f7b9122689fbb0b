#include "kernels/shared/attention.h"
RL_KERNEL(simd_attention) {
    (void)k;
    return RL_UNSUPPORTED;
}
RL_KERNEL(simd_attention_few) {
    (void)k;
    return RL_UNSUPPORTED;
}
RL_KERNEL(simd_attention_back) {
    (void)k;
    return RL_UNSUPPORTED;
}
