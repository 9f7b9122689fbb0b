/* Shape rules of connectionist temporal classification. */
#include "shape.h"

/* PyTorch's texts name the function that looks. */
#define CHECKING "(while checking arguments for ctc_loss_allocate_outputs)"

static rl_status ctc_tensors(const rl_view *logs, const rl_view *targets, int64_t blank) {
    if (targets->dtype != RL_I64 && targets->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME,
                            "Expected tensor for argument #2 'targets' to have scalar type Int; but got "
                            "torch.%sTensor instead " CHECKING,
                            rl_dtype_title(targets->dtype));
    if (logs->ndim != 3)
        return rl_error_set(RL_RUNTIME,
                            "Expected 3-dimensional tensor, but got %d-dimensional tensor for argument #1 "
                            "'log_probs' " CHECKING,
                            logs->ndim);
    if (targets->ndim < 1 || targets->ndim > 2)
        return rl_error_set(RL_RUNTIME,
                            "Expected 1 to 2 dimensions, but got %d-dimensional tensor for argument #2 "
                            "'targets' " CHECKING,
                            targets->ndim);
    if (logs->numel == 0) return rl_error_set(RL_RUNTIME, "log_probs tensor must not be empty");
    if (blank < 0 || blank >= logs->shape[2]) return rl_error_set(RL_RUNTIME, "blank must be in label range");
    return RL_OK;
}

static rl_status targets_have(const rl_view *targets, int dim, int64_t size) {
    if (dim ? targets->shape[dim] >= size : targets->shape[0] == size) return RL_OK;
    return rl_error_set(RL_RUNTIME,
                        "Expected tensor to have size %s%lld at dimension %d, but got size %lld for argument "
                        "#2 'targets' " CHECKING,
                        dim ? "at least " : "", (long long)size, dim, (long long)targets->shape[dim]);
}

static rl_status length_outside(const char *what, const char *side, int64_t bound, int64_t n) {
    return rl_error_set(RL_RUNTIME, "Expected %s to have value at %s %lld, but got value %lld " CHECKING,
                        what, side, (long long)bound, (long long)n);
}

/* attr[0]: the longest target; the arguments from `logs` on are log_probs, targets and both lengths */
static rl_status ctc_check(rl_call *k, int logs, int64_t blank) {
    const rl_view *x = k->arg[logs].u.t, *targets = k->arg[logs + 1].u.t;
    const rl_ints times = rl_ints_of(k, logs + 2), lengths = rl_ints_of(k, logs + 3);
    rl_count all = {0};
    if (ctc_tensors(x, targets, blank) != RL_OK) return RL_FAIL;
    if (times.n != x->shape[1]) return rl_error_set(RL_RUNTIME, "input_lengths must be of size batch_size");
    if (lengths.n != x->shape[1])
        return rl_error_set(RL_RUNTIME, "target_lengths must be of size batch_size");
    k->attr[0] = 0;
    for (int i = 0; i < lengths.n; i++) {
        if (lengths.at[i] < 0) return length_outside("target_lengths", "least", 0, lengths.at[i]);
        all = rl_count_plus(all, lengths.at[i]);
        if (lengths.at[i] > k->attr[0]) k->attr[0] = lengths.at[i];
    }
    if (targets_have(targets, 0, targets->ndim == 1 ? all.n : x->shape[1]) != RL_OK) return RL_FAIL;
    if (targets->ndim == 2 && targets_have(targets, 1, k->attr[0]) != RL_OK) return RL_FAIL;
    for (int i = 0; i < times.n; i++) {
        if (times.at[i] < 0) return length_outside("input_lengths", "least", 0, times.at[i]);
        if (times.at[i] > x->shape[0])
            return length_outside("input_lengths", "most", x->shape[0], times.at[i]);
    }
    return RL_OK;
}

/* the sums of all partial alignments: (N, T, 2 longest + 1) */
static void alpha_dims(const rl_call *k, const rl_view *logs, int64_t dims[3]) {
    dims[0] = logs->shape[1], dims[1] = logs->shape[0];
    if (__builtin_mul_overflow(k->attr[0], 2, &dims[2]) || __builtin_add_overflow(dims[2], 1, &dims[2]))
        dims[2] = INT64_MAX;
}

RL_SHAPE(ctc_loss) {
    const rl_view *logs = k->arg[0].u.t;
    int64_t dims[3];
    if (ctc_check(k, 0, k->arg[4].u.i) != RL_OK) return RL_FAIL;
    alpha_dims(k, logs, dims);
    return rl_out_dims(k, 0, dims, 1) == RL_OK ? rl_out_dims(k, 1, dims, 3) : RL_FAIL;
}

static rl_status ctc_dtype(const rl_view *v, int dtype) {
    if (v->dtype == dtype) return RL_OK;
    return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(dtype),
                        rl_dtype_title(v->dtype));
}

RL_SHAPE(ctc_loss_backward) {
    const rl_view *grad = k->arg[0].u.t, *logs = k->arg[1].u.t, *loss = k->arg[5].u.t, *alpha = k->arg[6].u.t;
    int64_t dims[3];
    if (ctc_check(k, 1, k->arg[7].u.i) != RL_OK) return RL_FAIL;
    alpha_dims(k, logs, dims);
    if (ctc_dtype(grad, logs->dtype) != RL_OK || ctc_dtype(loss, logs->dtype) != RL_OK) return RL_FAIL;
    if (ctc_dtype(alpha, logs->dtype) != RL_OK) return RL_FAIL;
    const rl_view each = {.ndim = 1, .shape = dims}, all = {.ndim = 3, .shape = dims};
    if (!rl_dims_same(grad, &each)) return rl_gradient_differs(k, &each);
    if (!rl_dims_same(loss, &each) || !rl_dims_same(alpha, &all))
        return rl_error_set(RL_RUNTIME,
                            "_ctc_loss_backward: neg_log_likelihood and log_alpha must be those of "
                            "the forward pass");
    return rl_out_dims(k, 0, logs->shape, logs->ndim);
}
