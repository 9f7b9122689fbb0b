/* Shape rules of pooling over one to three dimensions. They leave an rl_window. */
#include "contract/window.h"
#include "shape.h"
#include <stdio.h>

static rl_status pool_outputs(rl_call *k, const int64_t *shape) {
    if (k->n_out == 2) k->out[1]->dtype = RL_I64;
    for (int i = 0; i < k->n_out; i++)
        if (rl_out_dims(k, i, shape, rl_tensor_arg(k, 0)->ndim) != RL_OK) return RL_FAIL;
    return RL_OK;
}

/* ---- the texts of each family ---- */
rl_status rl_pool_list(const rl_call *k, int arg, const char *what, int n) {
    static const char *const counts[] = {"", "", "two", "three"};
    const rl_slot *s = &k->arg[arg];
    if (s->tag != RL_INTS || s->n == 1 || s->n == n) return RL_OK;
    bool max = k->name[0] == 'm', stride = strcmp(what, "stride") == 0;
    if (stride && s->n == 0) return RL_OK;
    if (n == 1 && strcmp(k->name, "max_pool1d") == 0)
        return rl_error_set(RL_RUNTIME,
                            "max_pool1d() %s must be %san int, list of ints%s tuple of ints of "
                            "size 1 but got size %d",
                            what, stride ? "None, " : "", stride || what[0] == 'p' ? ", or" : " or", s->n);
    if (n == 1)
        return rl_error_set(RL_RUNTIME, "%s() argument '%s' should contain one int (got %d)",
                            max ? "max_pool1d" : k->name, what, s->n);
    /* avg_pool3d says it without "either", dilations in another order */
    const char *words = !max && n == 3 ? "be " : what[0] == 'd' ? "be either " : "either ";
    return rl_error_set(RL_RUNTIME, "%s_pool%dd: %s must %s%sa single int, or a tuple of %s ints",
                        max ? "max" : "avg", n, what, words,
                        stride ? (words[0] == 'b' ? "omitted, " : "be omitted, ")
                               : (words[0] == 'b' ? "" : "be "),
                        counts[n]);
}

/* PyTorch gives means of one dimension a height of 1 */
static const char *lifted_text(char text[RL_DIMS_TEXT], const rl_view *x, bool lifted) {
    int64_t shape[RL_MAX_DIMS + 1] = {0};
    int n = x->ndim;
    for (int d = 0; d < n; d++) shape[d] = x->shape[d];
    if (lifted && n) {
        shape[n] = shape[n - 1];
        shape[n - 1] = 1;
    }
    return rl_dims_text(text, shape, n + (lifted && n));
}

static rl_status pool_dims(const rl_call *k, int n) {
    const rl_view *x = k->arg[0].u.t;
    char text[RL_DIMS_TEXT];
    bool max = k->name[0] == 'm', known = x->ndim == n + 1 || x->ndim == n + 2;
    if (!known && n == 1 && !max)
        return rl_error_set(RL_RUNTIME,
                            "Expected 2 to 3 dimensions, but got %d-dimensional tensor for argument #1 "
                            "'self' (while checking arguments for %s)",
                            x->ndim, k->name);
    if (!known && (n == 3 || (n == 2 && max)))
        return rl_error_set(RL_RUNTIME, "non-empty %dD or %dD (batch mode) tensor expected for input", n + 1,
                            n + 2);
    bool empty = false;
    for (int d = known ? x->ndim - n - 1 : 0; d < x->ndim; d++) {
        if (x->shape[d]) continue;
        if (n == 3)
            return rl_error_set(RL_RUNTIME,
                                "%s(): Expected input's non-batch dimensions to have positive length, but "
                                "input has a shape of %s and non-batch dimension 0 has length zero!",
                                max ? "max_pool3d_with_indices_out_cpu_template" : k->name,
                                rl_dims_text(text, x->shape, x->ndim));
        empty = true;
    }
    if (known && !empty) return RL_OK;
    if (n == 1 && max)
        return rl_error_set(RL_RUNTIME,
                            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch "
                            "size for input, but got:%s",
                            rl_dims_text(text, x->shape, x->ndim));
    return rl_error_set(
        RL_RUNTIME,
        "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:%s",
        lifted_text(text, x, n == 1 && !max));
}

typedef enum { KERNEL, STRIDE, DILATION } pool_what;
static const int64_t *pool_triple(const rl_call *k, pool_what what) {
    const rl_window *a = rl_window_of(k);
    return what == KERNEL ? a->kernel : what == STRIDE ? a->stride : a->dilation;
}

static rl_status pool_number(const rl_call *k, int n, pool_what what, int at) {
    static const char *const axes[] = {"T", "H", "W"};
    const int64_t *a = pool_triple(k, what);
    bool max1 = n == 1 && k->name[0] == 'm';
    char text[3][32];
    long long value = a[at];
    for (int i = 0; i < 3; i++) snprintf(text[i], sizeof text[i], "%s: %lld", axes[i], (long long)a[i]);
    if (what == KERNEL && max1)
        return rl_error_set(RL_RUNTIME, "max_pool1d() kernel_size must be greater than zero, but got %lld",
                            value);
    if (what == KERNEL && n == 3)
        return rl_error_set(RL_RUNTIME, "kernel size should be greater than zero, but got k%s k%s k%s",
                            text[0], text[1], text[2]);
    if (what == KERNEL)
        return rl_error_set(RL_RUNTIME, "kernel size should be greater than zero, but got k%s k%s", text[1],
                            text[2]);
    if (what == STRIDE && max1)
        return rl_error_set(RL_RUNTIME, "max_pool1d() stride must be greater than zero, but got %lld", value);
    if (what == STRIDE && value == 0) return rl_error_set(RL_RUNTIME, "stride should not be zero");
    if (what == STRIDE)
        return rl_error_set(RL_RUNTIME, "stride should be greater than zero, but got %s%s%sd%s d%s",
                            n == 3 ? "d" : "", n == 3 ? text[0] : "", n == 3 ? " " : "", text[1], text[2]);
    if (max1)
        return rl_error_set(RL_RUNTIME, "max_pool1d() dilation must be greater than zero, but got %lld",
                            value);
    if (n == 3)
        return rl_error_set(RL_RUNTIME,
                            "dilation should be greater than zero, but got dilation%s dilation%s dilation%s",
                            text[0], text[1], text[2]);
    return rl_error_set(RL_RUNTIME, "dilation should be greater than zero, but got dilation%s dilation%s",
                        text[1], text[2]);
}

static rl_status pool_padding(const rl_call *k, int n, int at) {
    const rl_window *a = rl_window_of(k);
    long long kernel = a->kernel[at], pad = a->before[at], dilation = a->dilation[at];
    bool max1 = n == 1 && k->name[0] == 'm';
    long long half = max1 ? kernel / 2 : ((kernel - 1) * dilation + 1) / 2;
    if (pad < 0)
        return rl_error_set(RL_RUNTIME,
                            max1 ? "max_pool1d() padding must be non-negative, but got %lld"
                                 : "pad must be non-negative, but got pad: %lld",
                            pad);
    if (pad <= half) return RL_OK;
    if (max1)
        return rl_error_set(RL_RUNTIME,
                            "max_pool1d() padding should be at most half of kernel size, but got "
                            "padding=%lld and kernel_size=%lld",
                            pad, kernel);
    return rl_error_set(RL_RUNTIME,
                        "pad should be at most half of effective kernel size, but got pad=%lld, "
                        "kernel_size=%lld and dilation=%lld",
                        pad, kernel, dilation);
}

/* ---- the windows ---- */
static rl_status pool_read(rl_call *k, int n, int dilation_arg) {
    bool own = rl_ints_of(k, 2).n > 0;
    if (rl_pool_list(k, 1, "kernel_size", n) != RL_OK || rl_pool_list(k, 2, "stride", n) != RL_OK ||
        rl_pool_list(k, 3, "padding", n) != RL_OK ||
        (dilation_arg && rl_pool_list(k, dilation_arg, "dilation", n) != RL_OK))
        return RL_FAIL;
    rl_window *a = rl_window_made(k);
    for (int j = 0; j < 3; j++) a->kernel[j] = a->stride[j] = a->dilation[j] = 1, a->before[j] = 0;
    int at = 3 - n; /* the operator's dimensions are the last of three */
    if (rl_ints_read(k, 1, n, a->kernel + at) != RL_OK ||
        rl_ints_read(k, own ? 2 : 1, n, a->stride + at) != RL_OK ||
        rl_ints_read(k, 3, n, a->before + at) != RL_OK ||
        (dilation_arg && rl_ints_read(k, dilation_arg, n, a->dilation + at) != RL_OK))
        return RL_FAIL;
    for (int j = at; j < 3; j++)
        if (a->kernel[j] > INT32_MAX || a->stride[j] > INT32_MAX || a->before[j] > INT32_MAX ||
            a->dilation[j] > INT32_MAX)
            return rl_error_set(RL_RUNTIME, "integer out of range");
    a->spatial = n;
    static const pool_what order[3] = {KERNEL, STRIDE, DILATION};
    bool max1 = n == 1 && k->name[0] == 'm';
    for (int i = at; i < 3 && !max1; i++) /* PyTorch looks for zeros first */
        if (a->stride[i] == 0) return pool_number(k, n, STRIDE, i);
    for (int j = 0; j < 3; j++)
        for (int i = at; i < 3; i++)
            if (pool_triple(k, order[j])[i] <= 0) return pool_number(k, n, order[j], i);
    return RL_OK;
}

/* All but the size are below 2^31, so that these numbers are below 2^62 for sizes below 2^61, else 2^64. */
#define POOL_PLACES(T)                                                                                       \
    T span = (T)size + 2 * pad - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);                 \
    T places = (span < 0 && span % stride ? span / stride - 1 : span / stride) + 1;                          \
    /* the last window must start inside the input or its left padding */                                    \
    if (ceil_mode && (places - 1) * stride >= (T)size + pad) places--;

int64_t rl_pool_places(int64_t size, int64_t pad, int64_t kernel, int64_t stride, int64_t dilation,
                       bool ceil_mode) {
    if (RL_LIKELY(size < INT64_MAX / 4)) {
        POOL_PLACES(int64_t)
        return places;
    }
    POOL_PLACES(__int128)
    return places > INT64_MAX ? INT64_MAX : (int64_t)places;
}

int64_t rl_pool_reach(int64_t kernel, int64_t size, int64_t pad, int64_t dilation) {
    int64_t reach = size > INT64_MAX - pad ? kernel : (size + pad - 1) / dilation + 1;
    return reach > 0 && reach < kernel ? reach : kernel;
}

static int64_t pool_places_at(const rl_call *k, int at, int64_t size, bool ceil_mode) {
    const rl_window *a = rl_window_of(k);
    return rl_pool_places(size, a->before[at], a->kernel[at], a->stride[at], a->dilation[at], ceil_mode);
}

/* "2x5x5": channels and sizes */
static const char *times_text(char text[RL_DIMS_TEXT], const int64_t *sizes, int n, bool lifted) {
    size_t used = 0;
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, RL_DIMS_TEXT - used, "%s%lld%s", i ? "x" : "",
                                 (long long)sizes[i], lifted && i == 0 ? "x1" : "");
    return text;
}

/* means of volumes must see a whole kernel */
static rl_status pool_smaller(const rl_call *k) {
    const int64_t *size = rl_tensor_arg(k, 0)->shape + rl_tensor_arg(k, 0)->ndim - 3,
                  *kernel = rl_window_of(k)->kernel;
    if (size[0] >= kernel[0] && size[1] >= kernel[1] && size[2] >= kernel[2]) return RL_OK;
    return rl_error_set(
        RL_RUNTIME,
        "input image (T: %lld H: %lld W: %lld) smaller than kernel size (kT: %lld kH: %lld kW: "
        "%lld)",
        (long long)size[0], (long long)size[1], (long long)size[2], (long long)kernel[0],
        (long long)kernel[1], (long long)kernel[2]);
}

rl_status rl_pool_shape(rl_call *k, int n, int dilation_arg, bool ceil_mode) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[5];
    char have[RL_DIMS_TEXT], made[RL_DIMS_TEXT];
    bool fits = true, max = k->name[0] == 'm';
    if (n == 1 && !max && pool_dims(k, n) != RL_OK) return RL_FAIL;
    if (pool_read(k, n, dilation_arg) != RL_OK || pool_dims(k, n) != RL_OK) return RL_FAIL;
    if (n == 3 && !max && pool_smaller(k) != RL_OK) return RL_FAIL;
    for (int i = 3 - n; i < 3; i++)
        if (pool_padding(k, n, i) != RL_OK) return RL_FAIL;
    int lead = x->ndim - n;
    for (int d = 0; d < lead; d++) shape[d] = x->shape[d];
    for (int i = 0; i < n; i++) {
        shape[lead + i] = pool_places_at(k, 3 - n + i, x->shape[lead + i], ceil_mode);
        fits &= shape[lead + i] >= 1;
    }
    if (!fits && n == 1 && max)
        return rl_error_set(RL_RUNTIME, "max_pool1d() Invalid computed output size: %lld",
                            (long long)shape[lead]);
    rl_window *a = rl_window_made(k);
    const int64_t *s = x->shape + lead;
    if (!fits && n == 3 && !max)
        return rl_error_set(RL_RUNTIME,
                            "input image (T: %lld H: %lld W: %lld) smaller than kernel size (kT: %lld kH: "
                            "%lld kW: %lld)",
                            (long long)s[0], (long long)s[1], (long long)s[2], (long long)a->kernel[0],
                            (long long)a->kernel[1], (long long)a->kernel[2]);
    if (!fits)
        return rl_error_set(RL_RUNTIME,
                            "Given input size: (%s). Calculated output size: (%s). Output size is too small",
                            times_text(have, x->shape + lead - 1, n + 1, n == 1),
                            times_text(made, shape + lead - 1, n + 1, n == 1));
    for (int i = 3 - n; max && i < 3; i++)
        a->kernel[i] = rl_pool_reach(a->kernel[i], x->shape[x->ndim - 3 + i], a->before[i], a->dilation[i]);
    return pool_outputs(k, shape);
}

RL_SHAPE(max_pool1d) {
    return rl_pool_shape(k, 1, 4, k->arg[5].u.i != 0);
}
RL_SHAPE(max_pool1d_indices) {
    return rl_pool_shape(k, 1, 4, k->arg[5].u.i != 0);
}
RL_SHAPE(max_pool2d) {
    return rl_pool_shape(k, 2, 4, k->arg[5].u.i != 0);
}
RL_SHAPE(max_pool2d_indices) {
    return rl_pool_shape(k, 2, 4, k->arg[5].u.i != 0);
}
RL_SHAPE(max_pool3d) {
    return rl_pool_shape(k, 3, 4, k->arg[5].u.i != 0);
}

rl_status rl_pool_means(rl_call *k, int n) {
    rl_window *a = rl_window_made(k);
    bool divides = n > 1 && k->arg[6].tag != RL_NONE;
    a->count_padding = k->arg[5].u.i;
    a->divisor = divides ? k->arg[6].u.i : 0;
    if (divides && a->divisor == 0) return rl_error_set(RL_RUNTIME, "divisor must be not zero");
    return rl_pool_shape(k, n, 0, k->arg[4].u.i != 0);
}

RL_SHAPE(avg_pool1d) {
    return rl_pool_means(k, 1);
}
RL_SHAPE(avg_pool2d) {
    return rl_pool_means(k, 2);
}
RL_SHAPE(avg_pool3d) {
    return rl_pool_means(k, 3);
}

/* ---- adaptive: output_size says how many windows ---- */
static rl_status adaptive_length(const rl_call *k, int n) {
    const rl_slot *s = &k->arg[1];
    if (s->tag != RL_INTS || s->n == n) return RL_OK;
    if (n == 1)
        return rl_error_set(RL_RUNTIME, "%s() argument 'output_size' should contain one int (got %d)",
                            k->name, s->n);
    if (k->n_out == 2)
        return rl_error_set(RL_RUNTIME, "%s(): internal error: output_size.size() must be %d", k->name, n);
    return rl_error_set(RL_RUNTIME, "%s: output_size must be %d", k->name, n);
}

static rl_status adaptive_shape(rl_call *k, int n) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[5];
    char text[RL_DIMS_TEXT];
    int lead = x->ndim - n;
    if (lead != 1 && lead != 2) {
        if (n == 1)
            return rl_error_set(RL_RUNTIME,
                                "Expected 2 to 3 dimensions, but got %d-dimensional tensor for argument #1 "
                                "'self' (while checking arguments for %s)",
                                x->ndim, k->name);
        return rl_error_set(RL_RUNTIME, "%s(): Expected %dD or %dD tensor, but got%s %s", k->name, n + 1,
                            n + 2, k->n_out == 2 ? ":" : "", rl_dims_text(text, x->shape, x->ndim));
    }
    if (adaptive_length(k, n) != RL_OK) return RL_FAIL;
    for (int d = 0; d < lead; d++) shape[d] = x->shape[d];
    if (rl_ints_read(k, 1, n, shape + lead) != RL_OK) return RL_FAIL;
    for (int i = 0; n == 2 && k->n_out == 1 && i < n; i++) /* None, which the rule of no other rank takes */
        if (shape[lead + i] == INT64_MIN) shape[lead + i] = x->shape[lead + i];
    for (int i = 0; k->n_out == 1 && i < n; i++)
        if (shape[lead + i] < 0)
            return n < 3 ? rl_error_set(RL_RUNTIME,
                                        "adaptive_avg_pool2d: elements of output_size must be greater than "
                                        "or equal to 0 but received {%lld, %lld}",
                                        n == 1 ? 1LL : (long long)shape[lead], (long long)shape[x->ndim - 1])
                         : rl_error_set(RL_RUNTIME,
                                        "adaptive_avg_pool3d: elements of output_size must be greater than "
                                        "or equal to 0 but received {%lld, %lld,%lld}",
                                        (long long)shape[lead], (long long)shape[lead + 1],
                                        (long long)shape[lead + 2]);
    /* PyTorch's means of one dimension let the channels be empty, and are those of two */
    bool lifted = k->n_out == 1 && n == 1;
    for (int d = lifted ? lead : lead == 2; d < x->ndim; d++)
        if (x->shape[d] == 0)
            return rl_error_set(
                RL_RUNTIME,
                "%s(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                "%s with dimension %d being empty",
                lifted ? "adaptive_avg_pool2d" : k->name, lifted_text(text, x, lifted), d + lifted);
    rl_window_made(k)->spatial = n;
    return pool_outputs(k, shape);
}

RL_SHAPE(adaptive_avg_pool1d) {
    return adaptive_shape(k, 1);
}
RL_SHAPE(adaptive_avg_pool2d) {
    return adaptive_shape(k, 2);
}
RL_SHAPE(adaptive_avg_pool3d) {
    return adaptive_shape(k, 3);
}
RL_SHAPE(adaptive_max_pool1d) {
    return adaptive_shape(k, 1);
}
RL_SHAPE(adaptive_max_pool2d) {
    return adaptive_shape(k, 2);
}
RL_SHAPE(adaptive_max_pool3d) {
    return adaptive_shape(k, 3);
}
