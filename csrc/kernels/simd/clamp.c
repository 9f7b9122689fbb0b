/* Limits. */
#define V_OPS "clamp_ops.h"
#include "elementwise_compile.h"
#include <math.h>

/* The bound that an argument says, where the reference kernel would neither refuse it nor fill with NaN. */
static bool bound_read(const rl_call *k, int arg, double *bound) {
    const uint8_t tag = k->arg[arg].tag;
    if (tag == RL_NONE) return true;
    if (tag != RL_FLOAT && tag != RL_INT) return false;
    *bound = rl_num(k, arg);
    return fabs(*bound) <= 65504 || isinf(*bound); /* the largest half */
}

static rl_status clamp_run(rl_call *k, int low, int high) { /* the arguments of the bounds, 0 for none */
    double bounds[SIMD_NUMBERS] = {-INFINITY, INFINITY};
    if (low && !bound_read(k, low, &bounds[0])) return RL_UNSUPPORTED;
    if (high && !bound_read(k, high, &bounds[1])) return RL_UNSUPPORTED;
    return simd_map(k, &op_limit, bounds);
}
RL_KERNEL(simd_clamp) {
    return clamp_run(k, 1, 2);
}
RL_KERNEL(simd_clamp_min) {
    return clamp_run(k, 1, 0);
}
RL_KERNEL(simd_clamp_max) {
    return clamp_run(k, 0, 1);
}

static rl_status limit_run(rl_call *k, const rl_view *low, const rl_view *high) {
    const double numbers[SIMD_NUMBERS] = {0};
    const rl_view *operand[] = {rl_in(k, 0), low ? low : high, high};
    return simd_map_views(k, low && high ? &op_between : low ? &op_above : &op_below, operand, numbers);
}
RL_KERNEL(simd_clamp_tensor) {
    return limit_run(k, rl_in(k, 1), rl_in(k, 2));
}
RL_KERNEL(simd_clamp_min_tensor) {
    return limit_run(k, rl_in(k, 1), NULL);
}
RL_KERNEL(simd_clamp_max_tensor) {
    return limit_run(k, NULL, rl_in(k, 1));
}
