/* Functions of one operand. */
#define V_FUNCTIONS "vector_math_body.h"
#define V_LINES     "math_lines.h"
#include "lines.h"
#ifdef RL_SIMD_X86
#include <math.h>

/* The bound that an argument says, where the reference kernel would neither refuse it nor fill with NaN. */
static bool bound_read(const rl_call *k, int arg, double *bound) {
    const uint8_t tag = k->arg[arg].tag;
    if (tag == RL_NONE) return true;
    if (tag != RL_FLOAT && tag != RL_INT) return false;
    *bound = rl_num(k, arg);
    return fabs(*bound) <= 65504 || isinf(*bound); /* the largest half */
}

RL_KERNEL(simd_clamp) {
    double bounds[SIMD_NUMBERS] = {-INFINITY, INFINITY};
    if (!bound_read(k, 1, &bounds[0]) || !bound_read(k, 2, &bounds[1])) return RL_UNSUPPORTED;
    return simd_map(k, &line_limit, bounds);
}
#else
RL_KERNEL(simd_clamp) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
