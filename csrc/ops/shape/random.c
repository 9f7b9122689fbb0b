/* Shape rules of random numbers. */
#include "shape.h"

/* attr[0], attr[1]: from and to */
static rl_status range_read(rl_call *k, int64_t from, int64_t to) {
    k->attr[0] = from;
    k->attr[1] = to;
    if (from < to) return RL_OK;
    return rl_error_set(RL_RUNTIME,
                        "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                        (long long)from, (long long)to);
}

RL_SHAPE(randint) { /* (high, size) */
    if (k->arg[1].tag == RL_INT)
        return rl_error_set(RL_TYPE,
                            "randint(): argument 'size' (position 2) must be tuple of ints, not int");
    return range_read(k, 0, k->arg[0].u.i) == RL_OK ? rl_size_out(k, 1) : RL_FAIL;
}
RL_SHAPE(randint_low) { /* (low, high, size) */
    return range_read(k, k->arg[0].u.i, k->arg[1].u.i) == RL_OK ? rl_size_out(k, 2) : RL_FAIL;
}

RL_SHAPE(randint_like) { /* (input, high) */
    return range_read(k, 0, k->arg[1].u.i) == RL_OK ? shape_like(k) : RL_FAIL;
}
RL_SHAPE(randint_like_low) { /* (input, low, high) */
    return range_read(k, k->arg[1].u.i, k->arg[2].u.i) == RL_OK ? shape_like(k) : RL_FAIL;
}
RL_SHAPE(randint_like_tensor) { /* (input, high), which the kernel reads */
    const rl_view *high = k->arg[1].u.t;
    if (high->ndim || high->device != RL_CPU)
        return rl_error_set(RL_RUNTIME, "high must be a scalar tensor and on CPU");
    return shape_like(k);
}

RL_SHAPE(randperm) {
    return rl_size_out(k, 0);
}

static rl_status fills_itself(rl_call *k) {
    return rl_out_dims(k, 0, rl_tensor_arg(k, 0)->shape, rl_tensor_arg(k, 0)->ndim);
}

RL_SHAPE(uniform) {
    double from = rl_num(k, 1), to = rl_num(k, 2);
    if (!(from <= to))
        return rl_error_set(
            RL_RUNTIME, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from, to);
    return fills_itself(k);
}

RL_SHAPE(normal) {
    if (!(rl_num(k, 2) >= 0))
        return rl_error_set(RL_RUNTIME, "normal expects std >= 0.0, but found std %g", rl_num(k, 2));
    return fills_itself(k);
}

RL_SHAPE(bernoulli) {
    double p = rl_num(k, 1);
    if (!(p >= 0 && p <= 1))
        return rl_error_set(RL_RUNTIME, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    return fills_itself(k);
}

/* attr[0], attr[1]: from and to; attr[2]: 1 when the dtype's largest stands for to, 2 when for both */
RL_SHAPE(random_all) {
    k->attr[0] = k->attr[1] = 0;
    k->attr[2] = 2;
    return fills_itself(k);
}
RL_SHAPE(random) { /* (from, to or None), or (to) alone */
    bool both = k->n_arg == 4;
    k->attr[0] = both ? k->arg[1].u.i : 0;
    k->attr[1] = both ? k->arg[2].u.i : k->arg[1].u.i;
    k->attr[2] = both && k->arg[2].tag == RL_NONE;
    if (!k->attr[2] && range_read(k, k->attr[0], k->attr[1]) != RL_OK) return RL_FAIL;
    return fills_itself(k);
}

RL_SHAPE(dropout) {
    double p = rl_num(k, 1);
    if (!(p >= 0 && p <= 1))
        return rl_error_set(RL_RUNTIME, "dropout probability has to be between 0 and 1, but got %g", p);
    for (int i = k->n_out - 1; i > 0; i--) /* the mask */
        if (rl_out_like_input(k, i) != RL_OK) return RL_FAIL;
    return rl_out_like_input(k, 0);
}

static rl_status above_zero(rl_call *k, int arg, const char *text) {
    return rl_num(k, arg) > 0 ? RL_OK : rl_error_set(RL_RUNTIME, text, rl_num(k, arg));
}

RL_SHAPE(exponential) {
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    if (above_zero(k, 1, "exponential_ expects lambda > 0.0, but found lambda=%g") != RL_OK) return RL_FAIL;
    if (!rl_is_float(dtype))
        return rl_error_set(
            RL_RUNTIME,
            "Exponential distribution is a continuous probability distribution. dtype must be a "
            "floating point but you specified %s",
            rl_dtype_title(dtype));
    return fills_itself(k);
}

RL_SHAPE(geometric) {
    double p = rl_num(k, 1);
    if (!(p > 0 && p < 1))
        return rl_error_set(RL_RUNTIME, "geometric_ expects p to be in (0, 1), but got p=%g", p);
    return fills_itself(k);
}

RL_SHAPE(log_normal) {
    if (above_zero(k, 2, "log_normal_ expects std > 0.0, but found std=%g") != RL_OK) return RL_FAIL;
    return fills_itself(k);
}

RL_SHAPE(cauchy) {
    static const char *const names[RL_NDTYPES] = {"unsigned char", "signed char", "short int",
                                                  "int",           "long int",    [RL_BOOL] = "bool"};
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    if (above_zero(k, 2, "cauchy_ expects sigma > 0.0, but found sigma=%g") != RL_OK) return RL_FAIL;
    if (!rl_is_float(dtype))
        return rl_error_set(RL_RUNTIME,
                            "Cauchy distribution is a continuous probability distribution. dtype must be a "
                            "floating point but you specified %s",
                            names[dtype]);
    return fills_itself(k);
}

/* ---- where tensors say what to draw ---- */
static rl_status has_chances(const rl_view *p) {
    return rl_is_float(p->dtype) || p->numel == 0
               ? RL_OK
               : rl_error_set(RL_NOTIMPL, "\"bernoulli_tensor_cpu_p_\" not implemented for '%s'",
                              rl_dtype_title(p->dtype));
}

RL_SHAPE(bernoulli_like) { /* (p) */
    return has_chances(k->arg[0].u.t) == RL_OK ? rl_out_as_input(k, 0) : RL_FAIL;
}

/* Does p stretch to the shape of `to`, with expand()'s texts? */
static rl_status expands(const rl_view *p, const rl_view *to) {
    char have[RL_DIMS_TEXT], want[RL_DIMS_TEXT];
    const int more = to->ndim - p->ndim;
    rl_dims_text(have, p->shape, p->ndim);
    rl_dims_text(want, to->shape, to->ndim);
    if (more < 0)
        return rl_error_set(RL_RUNTIME,
                            "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be "
                            "greater or equal to the number of dimensions in the tensor (%d)",
                            rl_dtype_title(p->dtype), have, want, to->ndim, p->ndim);
    for (int d = p->ndim - 1; d >= 0; d--)
        if (p->shape[d] != 1 && p->shape[d] != to->shape[more + d])
            return rl_error_set(
                RL_RUNTIME,
                "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
                "non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                (long long)to->shape[more + d], (long long)p->shape[d], more + d, want, have);
    return RL_OK;
}

RL_SHAPE(bernoulli_tensor) { /* (input, p), in place */
    const rl_view *to = k->arg[0].u.t, *p = k->arg[1].u.t;
    if (to->numel && (expands(p, to) != RL_OK || has_chances(p) != RL_OK)) return RL_FAIL;
    return fills_itself(k);
}

RL_SHAPE(bernoulli_number) { /* (input, p) */
    return shape_bernoulli(k) == RL_OK ? rl_out_as_input(k, 0) : RL_FAIL;
}

RL_SHAPE(poisson) {
    return rl_out_as_input(k, 0);
}

RL_SHAPE(binomial) {
    const rl_view *count = k->arg[0].u.t, *chance = k->arg[1].u.t;
    int64_t shape[RL_MAX_DIMS];
    int n;
    if (count->dtype != chance->dtype)
        return rl_error_set(RL_RUNTIME, "Found dtype %s but expected %s", rl_dtype_title(chance->dtype),
                            rl_dtype_title(count->dtype));
    if (!rl_is_float(count->dtype))
        return rl_error_set(RL_VALUE, "binomial only supports floating-point dtypes for count, got: %s",
                            rl_dtype_title(count->dtype));
    if (count->dtype != RL_F32 && count->dtype != RL_F64)
        return rl_error_set(RL_NOTIMPL, "\"binomial_cpu\" not implemented for '%s'",
                            rl_dtype_title(count->dtype));
    return rl_dims_broadcast(count, chance, shape, &n) == RL_OK ? rl_out_dims(k, 0, shape, n) : RL_FAIL;
}

/* all tensors have one dtype, and broadcast to a contiguous result */
RL_SHAPE(drawn_gradient) {
    int64_t room[2][RL_MAX_DIMS];
    rl_view whole = *k->arg[0].u.t;
    for (int i = 1, n; i < k->n_arg; i++) {
        const rl_view *x = k->arg[i].u.t;
        if (x->dtype != whole.dtype)
            return rl_error_set(RL_RUNTIME, "Found dtype %s but expected %s", rl_dtype_title(x->dtype),
                                rl_dtype_title(whole.dtype));
        if (rl_dims_broadcast(&whole, x, room[i % 2], &n) != RL_OK) return RL_FAIL;
        whole.shape = room[i % 2];
        whole.ndim = (uint8_t)n;
    }
    return rl_out_dims(k, 0, whole.shape, whole.ndim);
}

RL_SHAPE(normal_tensors) { /* (mean, std), one of which may be a number */
    const rl_view *mean = rl_in(k, 0), *std = rl_in(k, 1), *one = mean ? mean : std;
    int64_t shape[RL_MAX_DIMS];
    int n;
    if (!std && !(rl_num(k, 1) >= 0))
        return rl_error_set(RL_RUNTIME, "normal expects std >= 0.0, but found std %g", rl_num(k, 1));
    if (!mean || !std) return rl_out_dims(k, 0, one->shape, one->ndim);
    return rl_dims_broadcast(mean, std, shape, &n) == RL_OK ? rl_out_dims(k, 0, shape, n) : RL_FAIL;
}

RL_SHAPE(normal_size) { /* (mean, std, size) */
    if (!(rl_num(k, 1) >= 0))
        return rl_error_set(RL_RUNTIME, "normal expects std >= 0.0, but found std %g", rl_num(k, 1));
    return rl_size_out(k, 2);
}

RL_SHAPE(multinomial) { /* (weights, num_samples), checked before */
    const rl_view *x = k->arg[0].u.t;
    const int64_t shape[2] = {x->shape[0], k->arg[1].u.i};
    if (x->ndim < 1 || x->ndim > 2 || shape[1] <= 0)
        return rl_error_set(RL_RUNTIME, "prob_dist must be 1 or 2 dim");
    return rl_out_dims(k, 0, shape + (x->ndim == 1), x->ndim);
}

RL_SHAPE(native_dropout) { /* (input, p, train); the second result is a mask, but of nothing */
    const rl_view *x = k->arg[0].u.t;
    const double p = 1 - rl_num(k, 1);
    const bool train = k->arg[2].tag == RL_NONE || k->arg[2].u.i;
    if (x->numel && train && !(p >= 0 && p <= 1))
        return rl_error_set(RL_RUNTIME, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    if (x->numel && train && !rl_is_float(x->dtype))
        return rl_error_set(RL_RUNTIME, "result type Float can't be cast to the desired output type %s",
                            rl_dtype_title(x->dtype));
    if (rl_out_like_input(k, 0) != RL_OK || rl_out_like_input(k, 1) != RL_OK) return RL_FAIL;
    if (x->numel) k->out[1]->dtype = RL_BOOL;
    return RL_OK;
}
