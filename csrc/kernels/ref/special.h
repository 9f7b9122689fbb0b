/* How the portable special functions walk over tensors: kernels/shared/special.h has the functions. */
#ifndef RL_KERNELS_REF_SPECIAL_H
#define RL_KERNELS_REF_SPECIAL_H
#include "kernels/shared/special.h"
#include "loops.h"

/* rl_eltwise for what takes an element some nanoseconds: by as many threads as that is worth */
rl_status rl_special_each(rl_call *k, int n_in, const rl_strip *strips, double ns, rl_numbers *numbers);

#define SPECIAL_KERNEL(name, operands, ns, numbers)                                                          \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_##name)};                      \
        return rl_special_each(k, operands, strips, ns, numbers);                                            \
    }
#define SPECIAL_UNARY(name, ns, f)                                                                           \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, (C)f((double)a))                                                  \
    SPECIAL_KERNEL(name, 1, ns, NULL)
#define SPECIAL_BINARY(name, ns, f)                                                                          \
    RL_EACH_FLOAT(RL_BINARY_KEEP, x_##name, (C)f((double)a, (double)b))                                      \
    SPECIAL_KERNEL(name, 2, ns, NULL)
#endif
