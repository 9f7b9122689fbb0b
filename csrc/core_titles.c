/* Names of nodes that depend on the call: PyTorch numbers a function's overloads, and runs some functions as
 * others. Rows name them with GRAD(fn, "name of most calls", saves, TITLE(fn)). */
#include "core.h"

#define PAIR(fn, name, second)                                                                               \
    const char *rl_title_##fn(const rl_slot *a) {                                                            \
        return (second) ? name "1" : name "0";                                                               \
    }
PAIR(remainder, "RemainderBackward", a[1].tag == RL_TENSOR)
PAIR(masked_fill, "MaskedFillBackward", a[2].tag == RL_TENSOR)
PAIR(lerp, "LerpBackward", a[2].tag == RL_TENSOR)
PAIR(sum, "SumBackward", a[1].tag != RL_NONE)
PAIR(prod, "ProdBackward", a[1].tag != RL_NONE)
PAIR(mean, "MeanBackward", a[1].tag != RL_NONE)

const char *rl_title_pow(const rl_slot *a) {
    if (a[1].tag != RL_TENSOR) return "PowBackward0";
    return a[0].tag == RL_TENSOR ? "PowBackward1" : "PowBackward2";
}
const char *rl_title_div(const rl_slot *a) {
    return a[2].tag == RL_TEXT ? "DivBackward2" : "DivBackward0";
}
const char *rl_title_diag(const rl_slot *a) {
    return a[0].u.t->ndim == 1 ? "DiagEmbedBackward0" : "DiagonalBackward0_copy";
}
const char *rl_title_fill(const rl_slot *a) {
    return a[1].tag == RL_TENSOR ? "FillBackward3" : "FillBackward2";
}

/* by the numbers of dimensions: what PyTorch's matmul ends in */
const char *rl_title_matmul(const rl_slot *a) {
    int m = a[0].u.t->ndim, n = a[1].u.t->ndim;
    if (m <= 2 && n == 1) return m == 1 ? "DotBackward0" : "MvBackward0";
    if (m <= 2 && n == 2) return m == 1 ? "SqueezeBackward4" : "MmBackward0";
    return m == 2 ? "CloneBackward0" : "UnsafeViewBackward0";
}
const char *rl_title_linear(const rl_slot *a) {
    if (a[2].tag == RL_NONE) return rl_title_matmul(a);
    if (a[0].u.t->ndim == 2 && a[1].u.t->ndim == 2) return "AddmmBackward0";
    return a[1].u.t->ndim == 2 && rl_is_contiguous(a[0].u.t) ? "ViewBackward0" : "AddBackward0";
}
