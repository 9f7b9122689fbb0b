/* Activations. */
#define V_FUNCTIONS "act_body.h"
#define V_LINES     "act_lines.h"
#include "lines.h"

rl_status simd_clamp(rl_call *k); /* kernels/simd/math.c */
RL_KERNEL(simd_hardtanh) {
    return simd_clamp(k);
}
