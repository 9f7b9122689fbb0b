/* Shape rules of pooling over one to three dimensions. They leave an rl_window. */
#include "shape.h"
#include "kernel_abi/window.h"
#include <stdio.h>

static rl_status pool_outputs(rl_call *k, const int64_t *shape) {
    if (k->n_out == 2) k->out[1]->dtype = RL_I64;
    for (int i = 0; i < k->n_out; i++)
        if (rl_out_dims(k, i, shape, rl_tensor_arg(k, 0)->ndim) != RL_OK) return RL_FAIL;
    return RL_OK;
}

/* ---- the texts of each family ---- */
/* Shape rules that say it in PyTorch's words of a pooling operator: an int[n] argument called `what`. */
static rl_status pool_list(const rl_call *k, int arg, const char *what, int n) {
    static const char *const counts[] = {"", "", "two", "three"};
    const rl_value *s = &k->arg[arg];
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
    if (pool_list(k, 1, "kernel_size", n) != RL_OK || pool_list(k, 2, "stride", n) != RL_OK ||
        pool_list(k, 3, "padding", n) != RL_OK ||
        (dilation_arg && pool_list(k, dilation_arg, "dilation", n) != RL_OK))
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

/* how many windows fit, below 1: none */
static int64_t pool_places(int64_t size, int64_t pad, int64_t kernel, int64_t stride, int64_t dilation,
                           bool ceil_mode) {
    if (RL_LIKELY(size < INT64_MAX / 4)) {
        POOL_PLACES(int64_t)
        return places;
    }
    POOL_PLACES(__int128)
    return places > INT64_MAX ? INT64_MAX : (int64_t)places;
}

/* The part of a kernel that can reach elements: kernels of max pooling walk no further, however large it is.
 */
static int64_t pool_reach(int64_t kernel, int64_t size, int64_t pad, int64_t dilation) {
    int64_t reach = size > INT64_MAX - pad ? kernel : (size + pad - 1) / dilation + 1;
    return reach > 0 && reach < kernel ? reach : kernel;
}

static int64_t pool_places_at(const rl_call *k, int at, int64_t size, bool ceil_mode) {
    const rl_window *a = rl_window_of(k);
    return pool_places(size, a->before[at], a->kernel[at], a->stride[at], a->dilation[at], ceil_mode);
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

/* Pooling in n dimensions: checks, window and output dims; dilation_arg 0: none. */
static rl_status pool_shape(rl_call *k, int n, int dilation_arg, bool ceil_mode) {
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
        a->kernel[i] = pool_reach(a->kernel[i], x->shape[x->ndim - 3 + i], a->before[i], a->dilation[i]);
    return pool_outputs(k, shape);
}

RL_SHAPE(max_pool1d) {
    return pool_shape(k, 1, 4, k->arg[5].u.i != 0);
}
RL_SHAPE(max_pool1d_indices) {
    return pool_shape(k, 1, 4, k->arg[5].u.i != 0);
}
RL_SHAPE(max_pool2d) {
    return pool_shape(k, 2, 4, k->arg[5].u.i != 0);
}
RL_SHAPE(max_pool2d_indices) {
    return pool_shape(k, 2, 4, k->arg[5].u.i != 0);
}
RL_SHAPE(max_pool3d) {
    return pool_shape(k, 3, 4, k->arg[5].u.i != 0);
}

/* the same of avg_pool */
static rl_status pool_means(rl_call *k, int n) {
    rl_window *a = rl_window_made(k);
    bool divides = n > 1 && k->arg[6].tag != RL_NONE;
    a->count_padding = k->arg[5].u.i;
    a->divisor = divides ? k->arg[6].u.i : 0;
    if (divides && a->divisor == 0) return rl_error_set(RL_RUNTIME, "divisor must be not zero");
    return pool_shape(k, n, 0, k->arg[4].u.i != 0);
}

RL_SHAPE(avg_pool1d) {
    return pool_means(k, 1);
}
RL_SHAPE(avg_pool2d) {
    return pool_means(k, 2);
}
RL_SHAPE(avg_pool3d) {
    return pool_means(k, 3);
}

/* ---- adaptive: output_size says how many windows ---- */
static rl_status adaptive_length(const rl_call *k, int n) {
    const rl_value *s = &k->arg[1];
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

/* ---- way back from max pooling ---- */
/* the n numbers of an argument; one alone stands for all only where it is no list */
static rl_status exactly(const rl_call *k, int arg, int n, const char *what, int64_t *to) {
    const rl_value *s = &k->arg[arg];
    if (s->tag == RL_INTS && s->n != n)
        return rl_error_set(RL_RUNTIME, "There should be exactly %s in %s, but got%s %d elements.",
                            n == 2 ? "two elements (height, width)" : "three elements (depth, height, width)",
                            what, strcmp(what, "output_size") == 0 ? "" : ":", s->n);
    return rl_ints_read(k, arg, n, to);
}

static rl_status unpool_steps(const rl_call *k, int n) {
    int64_t stride[3], padding[3];
    if (exactly(k, 3, n, "stride", stride) != RL_OK || exactly(k, 4, n, "padding", padding) != RL_OK)
        return RL_FAIL;
    for (int i = 0; i < n; i++)
        if (stride[i] <= 0)
            return rl_error_set(RL_RUNTIME,
                                "strides should be greater than zero, but got stride: [%lld, %lld, %lld]",
                                (long long)stride[0], (long long)stride[1], (long long)stride[2]);
    return RL_OK;
}

static rl_status unpool_input(const rl_call *k, int n) {
    const rl_view *x = k->arg[0].u.t, *indices = k->arg[1].u.t;
    char text[RL_DIMS_TEXT], other[RL_DIMS_TEXT];
    if (x->ndim != n + 1 && x->ndim != n + 2)
        return rl_error_set(RL_RUNTIME,
                            "Input to max_unpooling%dd should be a %dd or %dd Tensor, but got a tensor with "
                            "%d dimensions.",
                            n, n + 1, n + 2, x->ndim);
    if (!rl_dims_same(x, indices))
        return rl_error_set(RL_RUNTIME,
                            "Expected shape of indices to be same as that of the input tensor (%s) but got "
                            "indices tensor with shape: %s",
                            rl_dims_text(text, x->shape, x->ndim),
                            rl_dims_text(other, indices->shape, indices->ndim));
    for (int d = 1; d < x->ndim; d++)
        if (x->shape[d] == 0)
            return rl_error_set(
                RL_RUNTIME,
                "max_unpooling%dd_forward_out_cpu(): Expected input to have non-zero size for "
                "non-batch dimensions, but got %s with dimension %d being empty.",
                n, rl_dims_text(text, x->shape, x->ndim), d);
    return RL_OK;
}

static rl_status unpool(rl_call *k, int n) {
    const rl_view *x = k->arg[0].u.t, *indices = k->arg[1].u.t;
    int64_t shape[5], size[3];
    if (indices->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "elements in indices should be type int64%s%s",
                            n == 2 ? " but got: " : "", n == 2 ? rl_dtype_title(indices->dtype) : "");
    if (n == 2 && exactly(k, 2, n, "output_size", size) != RL_OK) return RL_FAIL;
    if (n == 3 && x->ndim != n + 1 && x->ndim != n + 2) return unpool_input(k, n);
    if (n == 3 && (exactly(k, 2, n, "output_size", size) != RL_OK || unpool_steps(k, n) != RL_OK))
        return RL_FAIL;
    if (unpool_input(k, n) != RL_OK) return RL_FAIL;
    for (int i = 0; i < n; i++) {
        char text[RL_DIMS_TEXT], *last;
        if (size[i] >= 0) continue;
        rl_dims_text(text, size, n);
        last = text + strlen(text) - 1;
        *last = '\0';
        return rl_error_set(RL_RUNTIME,
                            "max_unpooling%dd(): output_size must contain non-negative spatial dimensions, "
                            "but got output_size=(%s)",
                            n, text + 1);
    }
    int lead = x->ndim - n;
    for (int d = 0; d < x->ndim; d++) shape[d] = d < lead ? x->shape[d] : size[d - lead];
    rl_window_made(k)->spatial = n;
    return rl_out_dims(k, 0, shape, x->ndim);
}

RL_SHAPE(max_unpool2d) {
    return unpool(k, 2);
}
RL_SHAPE(max_unpool3d) {
    return unpool(k, 3);
}

/* ---- fractional max pooling ----
 * They leave kernel and spatial of an rl_window. */
static rl_status fractional_list(const rl_call *k, int arg, int n, const char *what, int64_t *to) {
    const rl_value *s = &k->arg[arg];
    if (s->tag == RL_INTS && s->n != n)
        return rl_error_set(RL_RUNTIME,
                            "fractional_max_pool%dd: %s must either be a single Int or tuple of %sInts", n,
                            what, n == 3 ? "three " : "");
    return rl_ints_read(k, arg, n, to);
}

/* every window must find a place; one below 0 is empty */
static rl_status fractional_fits(const rl_view *x, int n, int64_t *kernel, const int64_t *size) {
    static const char *const axes[] = {"time", "height", "width"};
    for (int i = 0; i < n; i++) {
        const char *axis = axes[3 - n + i];
        int64_t have = x->shape[x->ndim - n + i];
        __int128 needs = (__int128)size[i] + kernel[i] - 1;
        bool fits = n == 3 ? needs < have : needs <= have; /* as PyTorch */
        if (!fits)
            return rl_error_set(
                RL_RUNTIME, "fractional_max_pool%dd%s(): pool %s %lld too large relative to input %s %lld", n,
                n == 3 ? "_out" : "", axis, (long long)kernel[i], axis, (long long)have);
        if (kernel[i] < 0) kernel[i] = 0;
    }
    return RL_OK;
}

static rl_status fractional_samples(const rl_view *x, const rl_view *samples, int n) {
    int lead = x->ndim - n;
    if (samples->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "Expect _random_samples to have the same dtype as input");
    if (samples->ndim != 3)
        return rl_error_set(RL_RUNTIME, "Expect _random_samples to have 3 dimensions, got %d", samples->ndim);
    if (samples->shape[0] < (lead == 2 ? x->shape[0] : 1))
        return rl_error_set(RL_RUNTIME, "Expect _random_samples.size(0) no less then input batch size.");
    if (samples->shape[1] != x->shape[lead - 1])
        return rl_error_set(RL_RUNTIME, "Expect _random_samples.size(1) equals to input channel size.");
    if (samples->shape[2] != n)
        return rl_error_set(RL_RUNTIME, "Expect _random_samples.size(2) equals to %d; got %lld.", n,
                            (long long)samples->shape[2]);
    return RL_OK;
}

static rl_status fractional(rl_call *k, int n) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[5], size[3];
    int64_t *kernel = rl_window_made(k)->kernel + 3 - n;
    char text[RL_DIMS_TEXT];
    int lead = x->ndim - n;
    if (fractional_list(k, 1, n, "kernel_size", kernel) != RL_OK ||
        fractional_list(k, 2, n, "output_size", size) != RL_OK)
        return RL_FAIL;
    if (lead != 1 && lead != 2)
        return rl_error_set(RL_RUNTIME, "fractional_max_pool%dd%s(): Expected %dD or %dD tensor, but got: %s",
                            n, n == 3 ? "_out" : "", n + 1, n + 2, rl_dims_text(text, x->shape, x->ndim));
    for (int d = lead - 1; d < x->ndim; d++)
        if (x->shape[d] == 0)
            return rl_error_set(
                RL_RUNTIME,
                "fractional_max_pool%dd%s(): Expected input to have non-zero size for non-batch "
                "dimensions, but got%s with dimension %d being empty.",
                n, n == 3 ? "_out" : "", rl_dims_text(text, x->shape, x->ndim), d);
    if (fractional_fits(x, n, kernel, size) != RL_OK || fractional_samples(x, k->arg[3].u.t, n) != RL_OK)
        return RL_FAIL;
    for (int d = 0; d < x->ndim; d++) shape[d] = d < lead ? x->shape[d] : size[d - lead];
    rl_window_made(k)->spatial = n;
    k->out[1]->dtype = RL_I64;
    return rl_out_dims(k, 0, shape, x->ndim) == RL_OK ? rl_out_dims(k, 1, shape, x->ndim) : RL_FAIL;
}

RL_SHAPE(fractional_max_pool2d) {
    return fractional(k, 2);
}
RL_SHAPE(fractional_max_pool3d) {
    return fractional(k, 3);
}

static rl_status adaptive_max_back(rl_call *k, int n, int at);

static rl_status fractional_back(rl_call *k, int n) {
    int64_t ignored[3];
    if (fractional_list(k, 2, n, "kernel_size", ignored) != RL_OK ||
        fractional_list(k, 3, n, "output_size", ignored) != RL_OK)
        return RL_FAIL;
    return adaptive_max_back(k, n, 4);
}
RL_SHAPE(fractional_max_pool2d_backward) {
    return fractional_back(k, 2);
}
RL_SHAPE(fractional_max_pool3d_backward) {
    return fractional_back(k, 3);
}

/* ---- gradients of pooling ----
 * They leave what the forward's rule leaves. */
static rl_status indices_like_gradient(const rl_call *k, const rl_view *indices) {
    if (indices->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "%s: expected indices of dtype int64, but got %s", k->name,
                            rl_dtype_name(indices->dtype));
    if (rl_dims_same(indices, k->arg[0].u.t)) return RL_OK;
    return rl_error_set(RL_RUNTIME, "%s: expected grad_output and indices to have the same sizes", k->name);
}

static rl_status max_pool_back(rl_call *k, int n) {
    static const char *const names[] = {"", "max_pool1d", "max_pool2d", "max_pool3d"};
    rl_view expected;
    rl_call forward = rl_call_forward(k, names[n], &expected);
    if (pool_shape(&forward, n, 4, forward.arg[5].u.i != 0) != RL_OK) return RL_FAIL;
    memcpy(k->attr, forward.attr, sizeof k->attr);
    return rl_gradient_as_input(k, &expected);
}

static rl_status max_pool_indices_back(rl_call *k, int n) {
    if (indices_like_gradient(k, k->arg[7].u.t) != RL_OK) return RL_FAIL;
    return max_pool_back(k, n);
}

/* of the window only `spatial` */
static rl_status adaptive_back(rl_call *k, int n) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t;
    char text[RL_DIMS_TEXT];
    bool fits = (x->ndim == n + 1 || x->ndim == n + 2) && grad->ndim == x->ndim;
    for (int d = 0; fits && d < x->ndim - n; d++) fits = grad->shape[d] == x->shape[d];
    for (int d = x->ndim - n; fits && d < x->ndim; d++) fits = x->shape[d] > 0 || grad->shape[d] == 0;
    if (!fits)
        return rl_error_set(RL_RUNTIME, "%s(): grad_output does not fit an input with sizes %s", k->name,
                            rl_dims_text(text, x->shape, x->ndim));
    rl_window_made(k)->spatial = n;
    return rl_gradient_as_input(k, grad);
}

/* Gradients in n dimensions go where argument `at` says. */
static rl_status adaptive_max_back(rl_call *k, int n, int at) {
    if (indices_like_gradient(k, k->arg[at].u.t) != RL_OK) return RL_FAIL;
    return adaptive_back(k, n);
}

#define POOL_BACK(n)                                                                                         \
    RL_SHAPE(max_pool##n##d_backward) {                                                                      \
        return max_pool_back(k, n);                                                                          \
    }                                                                                                        \
    RL_SHAPE(max_pool##n##d_indices_backward) {                                                              \
        return max_pool_indices_back(k, n);                                                                  \
    }                                                                                                        \
    RL_SHAPE(adaptive_max_pool##n##d_backward) {                                                             \
        return adaptive_max_back(k, n, 2);                                                                   \
    }
POOL_BACK(1)
POOL_BACK(2)
POOL_BACK(3)

/* ---- means ---- */
static rl_status avg_pool_back(rl_call *k, int n) {
    static const char *const names[] = {"", "avg_pool1d", "avg_pool2d", "avg_pool3d"};
    rl_view expected;
    rl_call forward = rl_call_forward(k, names[n], &expected);
    if (pool_means(&forward, n) != RL_OK) return RL_FAIL;
    memcpy(k->attr, forward.attr, sizeof k->attr);
    return rl_gradient_as_input(k, &expected);
}

#define AVG_BACK(n)                                                                                          \
    RL_SHAPE(avg_pool##n##d_backward) {                                                                      \
        return avg_pool_back(k, n);                                                                          \
    }                                                                                                        \
    RL_SHAPE(adaptive_avg_pool##n##d_backward) {                                                             \
        return adaptive_back(k, n);                                                                          \
    }
AVG_BACK(1)
AVG_BACK(2)
AVG_BACK(3)
