/* Functions of one operand. */
#define V_FUNCTIONS "vector_math_body.h"
#define V_LINES     "math_lines.h"
#include "lines.h"
#ifdef RL_SIMD_X86
#include <float.h>
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
    return simd_map(k, &line_limit, bounds);
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

RL_KERNEL(simd_clamp_tensor) {
    const double numbers[SIMD_NUMBERS] = {0};
    const rl_view *low = rl_in(k, 1), *high = rl_in(k, 2), *operand[] = {rl_in(k, 0), low ? low : high, high};
    return simd_map_views(k, low && high ? &line_between : low ? &line_above : &line_below, operand, numbers);
}

RL_KERNEL(simd_round_decimals) {
    const int64_t decimals = k->arg[1].u.i;
    const double numbers[SIMD_NUMBERS] = {pow(10.0, fabs((double)decimals))};
    if (rl_itemsize(k->arg[0].u.t->dtype) < 4) return RL_UNSUPPORTED; /* halves round in between */
    return simd_map(k, decimals < 0 ? &line_round_before : &line_round_behind, numbers);
}

RL_KERNEL(simd_nan_to_num) {
    static const double largest[RL_NDTYPES] = {
        [RL_F16] = 65504, [RL_F32] = FLT_MAX, [RL_F64] = DBL_MAX, [RL_BF16] = 0x1.fep127};
    const int dtype = k->arg[0].u.t->dtype;
    const double most = largest[dtype], instead[] = {0, most, -most};
    double numbers[SIMD_NUMBERS] = {0};
    for (int i = 0; rl_is_float(dtype) && i < 3; i++)
        numbers[i] = k->arg[1 + i].tag == RL_NONE ? instead[i] : rl_num(k, 1 + i);
    return simd_map(k, &line_finite, numbers);
}
#else
#define REFUSES(kernel)                                                                                      \
    RL_KERNEL(simd_##kernel) {                                                                               \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
REFUSES(clamp)
REFUSES(clamp_min)
REFUSES(clamp_max)
REFUSES(clamp_tensor)
REFUSES(round_decimals)
REFUSES(nan_to_num)
#endif
