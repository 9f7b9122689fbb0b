/* Shape rules of special functions. */
#include "shape.h"

/* (n, input), or as a method (input, n) */
RL_SHAPE(polygamma) {
    const int at = k->arg[0].tag != RL_TENSOR;
    const rl_view *x = k->arg[at].u.t;
    if (k->arg[!at].u.i < 0) return rl_error_set(RL_RUNTIME, "polygamma(n, x) does not support negative n.");
    return rl_out_elementwise(k, 0, x->shape, x->ndim);
}

RL_SHAPE(mvlgamma) {
    if (k->arg[1].u.i < 1) return rl_error_set(RL_RUNTIME, "p has to be greater than or equal to 1");
    /* PyTorch makes a tensor of all terms; here they take time alone, which is bounded as that memory is */
    int64_t terms;
    if (__builtin_mul_overflow(k->arg[1].u.i, rl_tensor_arg(k, 0)->numel, &terms) || terms > (int64_t)1 << 30)
        return rl_error_set(RL_MEMORY, "mvlgamma(): there is no memory for p = %lld terms of each element",
                            (long long)k->arg[1].u.i);
    return rl_out_as_input(k, 0);
}
