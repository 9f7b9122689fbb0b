#include "common.h"
RL_KERNEL(simd_resize) {
    (void)k;
    return RL_UNSUPPORTED;
}
