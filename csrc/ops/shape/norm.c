/* Shape rules of normalisation. */
#include "shape.h"

/* PyTorch's half kernels take float weights; nothing else may differ from the input */
static rl_status weight_dtypes(const rl_call *k, int from, int to) {
    int dtype = rl_tensor_arg(k, 0)->dtype, first = -1;
    for (int i = from; i <= to; i++) {
        const rl_view *v = rl_in(k, i);
        if (!v) continue;
        if (v->dtype != dtype && dtype == RL_F64)
            return rl_error_set(RL_RUNTIME, "mixed dtype (CPU): all inputs must share same datatype.");
        if (v->dtype != dtype && v->dtype != RL_F32)
            return rl_error_set(RL_RUNTIME,
                                "mixed dtype (CPU): expect parameter to have scalar type of Float");
        if (first >= 0 && first != v->dtype)
            return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(first),
                                rl_dtype_title(v->dtype));
        first = v->dtype;
    }
    return RL_OK;
}

static bool same_dims(const rl_view *v, const int64_t *dims, int n) {
    return v->ndim == n && memcmp(v->shape, dims, (size_t)n * sizeof *dims) == 0;
}

/* attr[0]: how many of the last dimensions are normalised */
static rl_status normalized_dims(rl_call *k, const char *star) {
    const rl_view *x = k->arg[0].u.t;
    const rl_value *s = &k->arg[1];
    char want[RL_DIMS_TEXT], have[RL_DIMS_TEXT];
    if (s->tag != RL_INTS)
        return rl_error_set(RL_TYPE,
                            "%s(): argument 'normalized_shape' (position 2) must be tuple of ints, not int",
                            k->name);
    rl_dims_text(want, s->u.ints, s->n);
    if (s->n < 1)
        return rl_error_set(RL_RUNTIME,
                            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
                            "least one element, but got normalized_shape = %s",
                            want);
    for (int i = 2; i <= 3; i++) {
        const rl_view *v = rl_in(k, i);
        if (v && i < k->n_arg && !same_dims(v, s->u.ints, s->n))
            return rl_error_set(RL_RUNTIME,
                                "Expected %s to be of same shape as normalized_shape, but got %s of shape %s "
                                "and normalized_shape = %s",
                                i == 2 ? "weight" : "bias", i == 2 ? "weight" : "bias",
                                rl_dims_text(have, v->shape, v->ndim), want);
    }
    rl_view last = {.ndim = (uint8_t)s->n, .shape = x->shape + (x->ndim - s->n)};
    if (x->ndim < s->n || !same_dims(&last, s->u.ints, s->n))
        return rl_error_set(
            RL_RUNTIME,
            "Given normalized_shape=%s, expected input with shape [*%s%s, but got input of size%s", want,
            star, want + 1, rl_dims_text(have, x->shape, x->ndim));
    k->attr[0] = s->n;
    return rl_out_as_input(k, 0);
}

/* What derivatives need: mean and 1 / deviation. PyTorch keeps them as the input, or as the weights when
 * those are wider. */
static rl_status statistics(rl_call *k, const rl_view *weight, const int64_t *shape, int ndim) {
    for (int i = 1; i < k->n_out; i++) {
        if (weight) k->out[i]->dtype = weight->dtype;
        if (rl_out_dims(k, i, shape, ndim) != RL_OK) return RL_FAIL;
    }
    return RL_OK;
}

RL_SHAPE(layer_norm) {
    const rl_view *x = k->arg[0].u.t, *weight = rl_in(k, 2) ? rl_in(k, 2) : rl_in(k, 3);
    int64_t shape[RL_MAX_DIMS];
    if (normalized_dims(k, ", ") != RL_OK || weight_dtypes(k, 2, 3) != RL_OK) return RL_FAIL;
    for (int d = 0; d < x->ndim; d++) shape[d] = d < x->ndim - k->attr[0] ? x->shape[d] : 1;
    return statistics(k, weight, shape, x->ndim);
}

RL_SHAPE(rms_norm) {
    return normalized_dims(k, "");
}

static rl_status need_channels(const rl_view *x) {
    int64_t dim = 1;
    return rl_dim_wrap(&dim, x->ndim);
}

/* the kernels split the channels into one dimension more */
static rl_status room_to_split(const rl_view *x) {
    if (x->ndim < RL_MAX_DIMS) return RL_OK;
    return rl_error_set(RL_RUNTIME, "normalisation by channels takes less than %d dimensions", RL_MAX_DIMS);
}

RL_SHAPE(group_norm) {
    const rl_view *x = k->arg[0].u.t;
    int64_t groups = k->arg[1].u.i;
    char have[RL_DIMS_TEXT], whole[RL_DIMS_TEXT];
    if (need_channels(x) != RL_OK || room_to_split(x) != RL_OK) return RL_FAIL;
    if (groups <= 0)
        return rl_error_set(RL_RUNTIME, "Expected num groups to be greater than 0, got %lld",
                            (long long)groups);
    rl_dims_text(whole, x->shape, x->ndim);
    if (x->shape[1] % groups)
        return rl_error_set(RL_RUNTIME,
                            "Expected number of channels in input to be divisible by num_groups, but got "
                            "input of shape %s and num_groups=%lld",
                            whole, (long long)groups);
    for (int i = 2; i <= 3; i++) {
        const rl_view *v = rl_in(k, i);
        const char *name = i == 2 ? "weight" : "bias";
        if (v && (v->ndim != 1 || v->numel != x->shape[1]))
            return rl_error_set(RL_RUNTIME,
                                "Expected %s to be a vector of size equal to the number of channels in "
                                "input, but got %s of shape %s and input of shape %s",
                                name, name, rl_dims_text(have, v->shape, v->ndim), whole);
    }
    if (weight_dtypes(k, 2, 3) != RL_OK || rl_out_as_input(k, 0) != RL_OK) return RL_FAIL;
    return statistics(k, rl_in(k, 2) ? rl_in(k, 2) : rl_in(k, 3), (int64_t[]){x->shape[0], groups}, 2);
}

RL_SHAPE(instance_norm) { /* args 1 to 4: weight, bias, running_mean, running_var */
    static const char *const names[] = {"", "weight", "bias", "running_mean", "running_var"};
    const rl_view *x = k->arg[0].u.t;
    if (!k->arg[5].u.i && (!rl_in(k, 3) || !rl_in(k, 4)))
        return rl_error_set(RL_RUNTIME,
                            "Expected running_mean and running_var to be defined when use_input_stats is "
                            "false");
    if (need_channels(x) != RL_OK || room_to_split(x) != RL_OK) return RL_FAIL;
    if (!rl_in(k, 3) != !rl_in(k, 4))
        return rl_error_set(RL_RUNTIME,
                            "running_mean and running_var must either both be None or neither be None");
    for (int i = 1; i <= 4; i++) {
        const rl_view *v = rl_in(k, i);
        if (v && (v->ndim != 1 || v->numel != x->shape[1])) /* PyTorch repeats them for each sample */
            return rl_error_set(RL_RUNTIME, "%s should contain %lld elements not %lld", names[i],
                                (long long)(x->shape[0] * x->shape[1]), (long long)(x->shape[0] * v->numel));
    }
    if (weight_dtypes(k, 1, 4) != RL_OK) return RL_FAIL;
    return rl_out_as_input(k, 0);
}

/* ---- forward operators that answer with their statistics, too ---- */
RL_SHAPE(native_group_norm) { /* args 3 to 6: N, C, HxW, group */
    const rl_view *x = k->arg[0].u.t, *weight = rl_in(k, 1) ? rl_in(k, 1) : rl_in(k, 2);
    int64_t groups = k->arg[6].u.i, shape[2] = {k->arg[3].u.i, groups}, channels = k->arg[4].u.i, numel;
    if (need_channels(x) != RL_OK || room_to_split(x) != RL_OK) return RL_FAIL;
    if (groups <= 0 || channels < 0 || channels % groups || shape[0] != x->shape[0] ||
        channels != x->shape[1] || __builtin_mul_overflow(shape[0] * channels, k->arg[5].u.i, &numel) ||
        numel != x->numel)
        return rl_error_set(RL_RUNTIME,
                            "native_group_norm: N, C, HxW and group do not describe the input's sizes");
    for (int i = 1; i <= 2; i++)
        if (rl_in(k, i) && (rl_in(k, i)->ndim != 1 || rl_in(k, i)->numel != channels))
            return rl_error_set(RL_RUNTIME, "native_group_norm: weight and bias need %lld elements",
                                (long long)channels);
    if (weight_dtypes(k, 1, 2) != RL_OK || rl_out_as_input(k, 0) != RL_OK) return RL_FAIL;
    return statistics(k, weight, shape, 2);
}

/* ---- gradients. attr[0]: samples, attr[1]: channels, attr[2]: elements of a channel, attr[3]: groups of
 * channels with statistics of their own in each sample; 0: statistics of each channel over all samples ----
 */
static rl_status norm_back(rl_call *k, int64_t samples, int64_t channels, int64_t groups,
                           const rl_view *weight, int first, int statistic_args) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t;
    int64_t kept = groups ? samples * groups : channels;
    if (!same_dims(grad, x->shape, x->ndim) || grad->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "%s: grad_output and input must have the same sizes and dtype",
                            k->name);
    for (int i = first; i < first + statistic_args; i++)
        if (rl_in(k, i) && rl_in(k, i)->numel != kept && rl_in(k, i)->numel)
            return rl_error_set(RL_RUNTIME, "%s: the statistics need %lld elements, got %lld", k->name,
                                (long long)kept, (long long)rl_in(k, i)->numel);
    if (weight && weight->numel != channels)
        return rl_error_set(RL_RUNTIME, "%s: weight needs %lld elements, got %lld", k->name,
                            (long long)channels, (long long)weight->numel);
    k->attr[0] = samples, k->attr[1] = channels, k->attr[3] = groups;
    k->attr[2] = x->numel ? x->numel / (samples * channels) : 0;
    for (int i = 1; i < k->n_out; i++)
        if (weight) k->out[i]->dtype = weight->dtype;
    return rl_out_dims(k, 0, x->shape, x->ndim);
}

static rl_status norm_back_last(rl_call *k, const rl_view *weight, int statistics_args) {
    const rl_view *x = k->arg[1].u.t;
    const rl_value *s = &k->arg[2];
    int64_t samples = 1, channels = 1;
    rl_view last = {.ndim = 0};
    if (s->tag == RL_INTS && s->n >= 1 && s->n <= x->ndim)
        last = (rl_view){.ndim = (uint8_t)s->n, .shape = x->shape + (x->ndim - s->n)};
    if (!last.ndim || !same_dims(&last, s->u.ints, s->n))
        return rl_error_set(RL_RUNTIME, "%s: normalized_shape does not fit the input", k->name);
    for (int d = 0; d < x->ndim; d++) *(d < x->ndim - s->n ? &samples : &channels) *= x->shape[d];
    if (norm_back(k, samples, channels, 1, weight, 3, statistics_args) != RL_OK) return RL_FAIL;
    for (int i = 1; i < k->n_out; i++)
        if (rl_out_dims(k, i, last.shape, last.ndim) != RL_OK) return RL_FAIL;
    return RL_OK;
}

RL_SHAPE(native_layer_norm_backward) {
    return norm_back_last(k, rl_in(k, 5), 2);
}
RL_SHAPE(rms_norm_backward) {
    return norm_back_last(k, rl_in(k, 3), 0);
}

static rl_status norm_back_channels(rl_call *k, int64_t groups, const rl_view *weight, int first, int args) {
    const rl_view *x = k->arg[1].u.t;
    if (need_channels(x) != RL_OK) return RL_FAIL;
    int64_t channels = x->shape[1];
    if (groups < 0 || (groups && channels % groups))
        return rl_error_set(RL_RUNTIME, "%s: %lld channels are no %lld groups", k->name, (long long)channels,
                            (long long)groups);
    if (norm_back(k, x->shape[0], channels, groups, weight, first, args) != RL_OK) return RL_FAIL;
    if (rl_out_dims(k, 1, &channels, 1) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 2, &channels, 1);
}

RL_SHAPE(native_group_norm_backward) {
    int64_t groups = k->arg[5].u.i;
    return norm_back_channels(k, groups ? groups : -1, rl_in(k, 4), 2, 2);
}

static rl_status one_dim(const rl_view *v);

RL_SHAPE(native_batch_norm_backward) { /* args 3, 4: running, 5, 6: saved statistics */
    bool train = k->arg[7].u.i != 0;
    if (!train && (!rl_in(k, 3) || !rl_in(k, 4)))
        return rl_error_set(RL_RUNTIME, "running_mean must be defined in evaluation mode");
    for (int i = 2; i <= 6; i++)
        if (one_dim(rl_in(k, i)) != RL_OK) return RL_FAIL;
    return norm_back_channels(k, 0, rl_in(k, 2), train ? 5 : 3, 2);
}

/* ---- batch_norm ---- */
/* For kernels that go along one dim: refuses, with PyTorch's text, what is neither absent, a vector nor one
 * element. */
static rl_status one_dim(const rl_view *v) {
    if (!v || v->ndim == 1 || v->numel <= 1) return RL_OK;
    return rl_error_set(RL_RUNTIME, "TensorAccessor expected 1 dims but tensor has %d", v->ndim);
}

RL_SHAPE(batch_norm) { /* args 1 to 4: weight, bias, running_mean, running_var */
    static const char *const names[] = {"", "weight", "bias", "running_mean", "running_var"};
    const rl_view *x = k->arg[0].u.t;
    bool training = k->arg[5].u.i != 0;
    if (x->ndim < 2)
        return rl_error_set(RL_RUNTIME, "batch_norm: expected an input of at least 2 dimensions, got %dD",
                            x->ndim);
    if (!training && (!rl_in(k, 3) || !rl_in(k, 4)))
        return rl_error_set(RL_RUNTIME, "running_mean must be defined in evaluation mode");
    if (!rl_in(k, 3) != !rl_in(k, 4))
        return rl_error_set(RL_RUNTIME,
                            "running_mean and running_var must either both be None or neither be None");
    for (int at = 0; at < 4; at++) { /* the statistics first */
        const int i = (at + 2) % 4 + 1;
        const rl_view *v = rl_in(k, i);
        if (v && v->numel != x->shape[1])
            return rl_error_set(RL_RUNTIME, "%s should contain %lld elements not %lld", names[i],
                                (long long)x->shape[1], (long long)v->numel);
        if (one_dim(v) != RL_OK) return RL_FAIL;
        if (v && v->dtype != x->dtype && x->dtype == RL_F64)
            return rl_error_set(RL_RUNTIME, "mixed dtype (CPU): all inputs must share same datatype.");
        if (v && v->dtype != x->dtype && v->dtype != RL_F32)
            return rl_error_set(RL_RUNTIME,
                                "mixed dtype (CPU): expect parameter to have scalar type of Float");
    }
    if (rl_out_dims(k, 0, x->shape, x->ndim) != RL_OK) return RL_FAIL;
    if (rl_looks_channels_last(x) && rl_is_dense(x)) rl_strides_as(k->out[0], x);
    /* for the derivative: mean and 1 / deviation; without training they are known */
    const rl_view *weight = rl_in(k, 1) ? rl_in(k, 1) : rl_in(k, 2);
    int64_t kept = training ? x->shape[1] : 0;
    for (int i = 1; i < k->n_out; i++) {
        if (weight) k->out[i]->dtype = weight->dtype;
        if (rl_out_dims(k, i, &kept, 1) != RL_OK) return RL_FAIL;
    }
    return RL_OK;
}
