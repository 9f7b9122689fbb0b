/* What a mask fills. */
#include "elementwise.h"
#include <math.h>

/* In place, elements that share memory are left to the reference kernel, which goes in order. */
RL_CHOOSER
RL_KERNEL(simd_masked_fill) {
    const rl_view *x = rl_in(k, 0), *mask = rl_in(k, 1), *value = rl_in(k, 2), *out = k->out[0];
    const uint8_t tag = k->arg[2].tag;
    if (out->storage == x->storage && !rl_is_contiguous(out)) return RL_UNSUPPORTED;
    if (value && value->dtype == RL_F32)
        return simd_choose_number(k, mask, *(const float *)rl_const_data(value), x);
    if (tag != RL_FLOAT && tag != RL_INT) return RL_UNSUPPORTED;
    const double number = rl_num(k, 2);
    if (fabs(number) > 0x1.fffffep127 && !isinf(number)) return RL_UNSUPPORTED; /* which is refused */
    return simd_choose_number(k, mask, (float)number, x);
}
