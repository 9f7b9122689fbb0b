/* Kernels of gradients that are one expression: a is the gradient of the result, b what the forward operator
 * saw (or answered). */
#ifndef RL_KERNELS_REF_GRADIENT_H
#define RL_KERNELS_REF_GRADIENT_H
#include "loops.h"

/* The expressions read the call's numbers as c->d[0] ... c->d[2]. */
#define BACK_KERNEL(name, first, second, third, expr)                                                        \
    RL_EACH_FLOAT(RL_BINARY_KEEP, x_##name, expr)                                                            \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_##name)};                  \
        rl_numbers numbers = {.d = {first, second, third}};                                                  \
        return rl_eltwise(k, 2, loops, &numbers);                                                            \
    }
#define PLAIN_BACK(name, expr) BACK_KERNEL(name, 0, 0, 0, expr)
#define D(i)                   ((C)c->d[i])
#endif
