/* Names of nodes that depend on the call: PyTorch numbers a function's overloads, and runs some functions as
 * others. The part NODE_NAME of a declaration names the function here. */
#include "node_names.h"
#include <string.h>

#define PAIR(fn, name, second)                                                                               \
    const char *rl_node_name_##fn(const rl_value *a) {                                                       \
        return (second) ? name "1" : name "0";                                                               \
    }
PAIR(remainder, "RemainderBackward", a[1].tag == RL_TENSOR)
PAIR(fmod, "FmodBackward", a[1].tag == RL_TENSOR)
PAIR(rsub, "RsubBackward", a[1].tag != RL_TENSOR)
PAIR(copysign, "CopysignBackward", a[1].tag != RL_TENSOR)
PAIR(masked_fill, "MaskedFillBackward", a[2].tag == RL_TENSOR)
PAIR(lerp, "LerpBackward", a[2].tag == RL_TENSOR)
PAIR(sum, "SumBackward", a[1].tag != RL_NONE)
PAIR(prod, "ProdBackward", a[1].tag != RL_NONE)
PAIR(mean, "MeanBackward", a[1].tag != RL_NONE)

/* 0: two tensors, 1: a number first, 2: a number second */
#define NUMBERED(fn, name)                                                                                   \
    const char *rl_node_name_##fn(const rl_value *a) {                                                       \
        return a[0].tag != RL_TENSOR ? name "1" : a[1].tag != RL_TENSOR ? name "2" : name "0";               \
    }
NUMBERED(xlog1py, "SpecialXlog1PyBackward")
NUMBERED(zeta, "SpecialZetaBackward")

const char *rl_node_name_pow(const rl_value *a) {
    if (a[1].tag != RL_TENSOR) return "PowBackward0";
    return a[0].tag == RL_TENSOR ? "PowBackward1" : "PowBackward2";
}
const char *rl_node_name_xlogy(const rl_value *a) {
    return a[1].tag == RL_TENSOR ? "XlogyBackward0" : "XlogyBackward2";
}
const char *rl_node_name_div(const rl_value *a) {
    return a[2].tag == RL_STRING ? "DivBackward2" : "DivBackward0";
}
const char *rl_node_name_diag(const rl_value *a) {
    return rl_value_view(&a[0])->ndim == 1 ? "DiagEmbedBackward0" : "DiagonalBackward0_copy";
}
const char *rl_node_name_pad(const rl_value *a) {
    static const char *const reflect[] = {"ReflectionPad1DBackward0", "ReflectionPad2DBackward0",
                                          "ReflectionPad3DBackward0"};
    static const char *const replicate[] = {"ReplicationPad1DBackward0", "ReplicationPad2DBackward0",
                                            "ReplicationPad3DBackward0"};
    int pairs = a[1].tag == RL_INTS ? a[1].n / 2 : 1;
    const char *mode = a[2].u.s;
    if (strcmp(mode, "constant") == 0 || pairs < 1 || pairs > 3) return "ConstantPadNdBackward0";
    if (strcmp(mode, "circular") == 0) return "CopySlices";
    return mode[2] == 'f' ? reflect[pairs - 1] : replicate[pairs - 1];
}
/* the result of an input whose dims stand in another order is put in order at the end */
const char *rl_node_name_rms_norm(const rl_value *a) {
    const rl_view *x = a[0].u.t;
    int64_t extent = 1;
    for (int d = 0; x->numel && d < x->ndim; d++) extent += (x->shape[d] - 1) * x->strides[d];
    return extent == x->numel && !rl_is_contiguous(x) ? "CloneBackward0" : "MulBackward0";
}
const char *rl_node_name_adaptive_avg_pool(const rl_value *a) {
    int n = rl_value_view(&a[0])->ndim == 5
                ? 3
                : 2; /* 3-D images with channels alone have no size 1 to ask for */
    bool one = a[1].tag == RL_INT && a[1].u.i == 1;
    if (a[1].tag == RL_INTS) {
        n = a[1].n, one = true;
        for (int i = 0; i < n; i++) one &= a[1].u.ints[i] == 1;
    }
    return one ? "MeanBackward1" : n == 3 ? "AdaptiveAvgPool3DBackward0" : "AdaptiveAvgPool2DBackward0";
}
const char *rl_node_name_fill(const rl_value *a) {
    return a[1].tag == RL_TENSOR ? "FillBackward3" : "FillBackward2";
}

/* by the numbers of dimensions: what PyTorch's matmul ends in */
const char *rl_node_name_matmul(const rl_value *a) {
    int m = rl_value_view(&a[0])->ndim, n = rl_value_view(&a[1])->ndim;
    if (m <= 2 && n == 1) return m == 1 ? "DotBackward0" : "MvBackward0";
    if (m <= 2 && n == 2) return m == 1 ? "SqueezeBackward4" : "MmBackward0";
    return m == 2 ? "CloneBackward0" : "UnsafeViewBackward0";
}
const char *rl_node_name_linear(const rl_value *a) {
    if (a[2].tag == RL_NONE) return rl_node_name_matmul(a);
    if (rl_value_view(&a[0])->ndim == 2 && rl_value_view(&a[1])->ndim == 2) return "AddmmBackward0";
    return rl_value_view(&a[1])->ndim == 2 && rl_is_contiguous(a[0].u.t) ? "ViewBackward0" : "AddBackward0";
}

/* losses that are several functions in PyTorch: the last one gives the name; reductions: 0 none, 1 mean */
static const char *reduced(const rl_value *reduction, const char *each) {
    return reduction->u.i == 0 ? each : reduction->u.i == 1 ? "MeanBackward0" : "SumBackward0";
}
const char *rl_node_name_l1_loss(const rl_value *a) {
    return reduced(&a[2], "AbsBackward0");
}
const char *rl_node_name_kl_div(const rl_value *a) {
    return reduced(&a[2], a[3].u.i ? "MulBackward0" : "SubBackward0");
}
const char *rl_node_name_kl_div_backward(const rl_value *a) {
    return a[4].u.i ? "NegBackward0" : "MulBackward0";
}
const char *rl_node_name_logits_backward(const rl_value *a) {
    return a[5].u.i == 1 ? "DivBackward1" : "MulBackward0";
}
