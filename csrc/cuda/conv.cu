/* Convolutions of one to three dimensions, transposed ones and gradients, as products of Note [CUDA product].
 */
#include "conv.h"
#include <initializer_list>

static convolution read_call(const rl_call *k, const rl_view *x, const rl_view *w, const rl_view *y) {
    const rl_window *window = rl_window_of(k);
    const int spatial = (int)window->spatial;
    return {window, picture_of(x, spatial), picture_of(y, spatial), picture_of(w, spatial)};
}

static bool is_int(int64_t outer, const int64_t *size) {
    const rl_count n = rl_count_times(rl_count_product(size, PRODUCT_PLANE), outer);
    return n.n >= 0 && n.n <= INT32_MAX;
}
/* Coordinates are ints in a kernel, and so are numbers that are split into digits. */
static bool is_served(const rl_call *k, const convolution &c) {
    const int64_t most = INT64_C(1) << 29;
    for (int i = 0; i < 3; i++) {
        const rl_view *v = rl_in(k, i), *out = k->out[0];
        if (v && (v->dtype != out->dtype || v->device != out->device || v->device_index != out->device_index))
            return false;
    }
    for (int i = 0; i < PRODUCT_PLANE; i++) {
        const int64_t stride = c.window->stride[i], before = c.window->before[i];
        const int64_t reach = (c.w.size[i] - 1) * c.window->dilation[i], span = c.y.size[i] * stride;
        for (int64_t n : {c.x.size[i], c.y.size[i], stride, reach, span, before, -before})
            if (n > most) return false;
    }
    return is_int(c.x.images, c.x.size) && is_int(c.y.images, c.y.size) && is_int(c.w.images, c.w.size) &&
           is_int(c.w.channels, c.w.size);
}

/* places of a plane: the digits from `from` on, which is 1, or 0 where the last digit is for channels */
static void add_plane(product_axis *x, int from, const int64_t *size, const int64_t *out, const int64_t *a) {
    for (int i = 0; i < PRODUCT_PLANE; i++)
        cuda_product_digit(x, from + i, size[i], out ? out[i] : 0, a ? a[i] : 0, 0, 0);
}
/* Do channels lie together, many enough for a vector of any dtype, and the images not? */
static int plane_from(const picture &x, int64_t channels) {
    return x.channel_step == 1 && x.step[PRODUCT_PLANE - 1] != 1 && channels % 8 == 0 ? 0 : 1;
}
static int channel_digit(int from) {
    return from ? 0 : PRODUCT_PLANE;
}
static void gather_from(product *p, const picture &from) {
    p->gather.is_used = true;
    for (int i = 0; i < PRODUCT_PLANE; i++) {
        p->gather.size[i] = (int)from.size[i];
        p->gather.step[i] = from.step[i];
    }
}
static void add_groups(product *p, int64_t groups, int64_t out, int64_t a, int64_t b, int64_t extra) {
    const int64_t steps[PRODUCT_OPERANDS] = {out, a, b, extra};
    cuda_walk w = {};
    w.ndim = 1;
    w.numel = w.size[0] = groups;
    for (int i = 0; i < PRODUCT_OPERANDS; i++) w.step[i][0] = steps[i];
    cuda_product_batch(p, w);
}
static void add_bias(const rl_call *k, product *p, int64_t *step) {
    const rl_view *bias = rl_in(k, 2);
    *step = bias ? bias->strides[0] : 0;
    p->extra = bias ? rl_const_data(bias) : nullptr;
}

/* ---- forward ---- */
CUDA_KERNEL(cuda_conv) {
    const rl_view *x = rl_in(k, 0), *w = rl_in(k, 1), *out = k->out[0];
    const convolution c = read_call(k, x, w, out);
    const int64_t groups = c.window->groups, channels = w->shape[1];
    if (!is_served(k, c)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    const rl_status direct = cuda_conv_depthwise(k, c, x, w, rl_in(k, 2));
    if (direct != RL_UNSUPPORTED) return direct;
    const int64_t rows = w->shape[0] / groups;
    int64_t bias;
    product p;
    cuda_product_begin(&p, out);
    p.tf32 = k->svc->tf32 & RL_TF32_CONV;
    p.a = rl_const_data(w), p.b = rl_const_data(x);
    add_bias(k, &p, &bias);
    cuda_product_digit(&p.row, PRODUCT_PLANE, rows, c.y.channel_step, c.w.image_step, 0, bias);
    cuda_product_digit(&p.col, 0, c.y.images, c.y.image_step, 0, c.x.image_step, 0);
    add_plane(&p.col, 1, c.y.size, c.y.step, nullptr);
    const int from = p.gather.depth_from = plane_from(c.x, channels);
    cuda_product_digit(&p.depth, channel_digit(from), channels, 0, c.w.channel_step, c.x.channel_step, 0);
    add_plane(&p.depth, from, c.w.size, nullptr, c.w.step);
    add_groups(&p, groups, rows * c.y.channel_step, rows * c.w.image_step, channels * c.x.channel_step,
               rows * bias);
    gather_from(&p, c.x);
    for (int i = 0; i < PRODUCT_PLANE; i++) {
        p.gather.col[i] = (int)c.window->stride[i];
        p.gather.depth[i] = (int)c.window->dilation[i];
        p.gather.shift[i] = (int)-c.window->before[i];
    }
    return cuda_product_run(k, &p, false);
}

/* ---- by the input, which is also the transposed convolution: what reads `to` in the forward one ---- */
static rl_status run_input(rl_call *k, const rl_view *from, const rl_view *w, bool has_bias) {
    const rl_view *to = k->out[0];
    const convolution c = read_call(k, to, w, from);
    const int64_t groups = c.window->groups, rows = w->shape[1];
    if (!is_served(k, c)) return RL_UNSUPPORTED;
    if (to->numel == 0) return RL_OK;
    const rl_status direct = cuda_conv_depthwise_input(k, c, from, w, has_bias ? rl_in(k, 2) : nullptr);
    if (direct != RL_UNSUPPORTED) return direct;
    const int64_t outputs = w->shape[0] / groups;
    int64_t bias = 0;
    product p;
    cuda_product_begin(&p, to);
    p.tf32 = k->svc->tf32 & RL_TF32_CONV;
    p.a = rl_const_data(w), p.b = rl_const_data(from);
    if (has_bias) add_bias(k, &p, &bias);
    cuda_product_digit(&p.row, PRODUCT_PLANE, rows, c.x.channel_step, c.w.channel_step, 0, bias);
    cuda_product_digit(&p.col, 0, c.x.images, c.x.image_step, 0, c.y.image_step, 0);
    add_plane(&p.col, 1, c.x.size, c.x.step, nullptr);
    const int at = p.gather.depth_from = plane_from(c.y, outputs);
    cuda_product_digit(&p.depth, channel_digit(at), outputs, 0, c.w.image_step, c.y.channel_step, 0);
    add_plane(&p.depth, at, c.w.size, nullptr, c.w.step);
    add_groups(&p, groups, rows * c.x.channel_step, outputs * c.w.image_step, outputs * c.y.channel_step,
               rows * bias);
    gather_from(&p, c.y);
    for (int i = 0; i < PRODUCT_PLANE; i++) {
        p.gather.col[i] = 1;
        p.gather.depth[i] = (int)-c.window->dilation[i];
        p.gather.shift[i] = (int)c.window->before[i];
        p.gather.divisor[i] = (int)c.window->stride[i];
        p.gather.divides |= c.window->stride[i] != 1;
    }
    return cuda_product_run(k, &p, false);
}

CUDA_KERNEL(cuda_conv_input) {
    return run_input(k, rl_in(k, 0), rl_in(k, 1), false);
}
CUDA_KERNEL(cuda_conv_transpose) {
    return run_input(k, rl_in(k, 0), rl_in(k, 1), true);
}

/* ---- by the weight ---- */
CUDA_KERNEL(cuda_conv_weight) {
    const rl_view *grad = rl_in(k, 0), *x = rl_in(k, 1), *out = k->out[0];
    const convolution c = read_call(k, x, out, grad);
    const int64_t groups = c.window->groups, channels = out->shape[1];
    if (!is_served(k, c)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    const rl_status direct = cuda_conv_depthwise_weight(k, c, x, grad);
    if (direct != RL_UNSUPPORTED) return direct;
    const int64_t rows = out->shape[0] / groups;
    product p;
    cuda_product_begin(&p, out);
    p.tf32 = k->svc->tf32 & RL_TF32_CONV;
    p.a = rl_const_data(grad), p.b = rl_const_data(x);
    cuda_product_digit(&p.row, PRODUCT_PLANE, rows, c.w.image_step, c.y.channel_step, 0, 0);
    const int from = p.gather.col_from = plane_from(c.x, channels);
    cuda_product_digit(&p.col, channel_digit(from), channels, c.w.channel_step, 0, c.x.channel_step, 0);
    add_plane(&p.col, from, c.w.size, c.w.step, nullptr);
    cuda_product_digit(&p.depth, 0, c.y.images, 0, c.y.image_step, c.x.image_step, 0);
    add_plane(&p.depth, 1, c.y.size, nullptr, c.y.step);
    add_groups(&p, groups, rows * c.w.image_step, rows * c.y.channel_step, channels * c.x.channel_step, 0);
    gather_from(&p, c.x);
    for (int i = 0; i < PRODUCT_PLANE; i++) {
        p.gather.col[i] = (int)c.window->dilation[i];
        p.gather.depth[i] = (int)c.window->stride[i];
        p.gather.shift[i] = (int)-c.window->before[i];
    }
    return cuda_product_run(k, &p, false);
}

/* ---- by the bias: a product with ones ---- */
CUDA_KERNEL(cuda_conv_bias) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    const picture y = picture_of(grad, (int)rl_window_of(k)->spatial);
    if (grad->dtype != out->dtype || !is_int(y.images, y.size)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    product p;
    cuda_product_begin(&p, out);
    p.a = rl_const_data(grad);
    cuda_product_digit(&p.row, PRODUCT_PLANE, out->numel, out->strides[0], y.channel_step, 0, 0);
    cuda_product_digit(&p.depth, 0, y.images, 0, y.image_step, 0, 0);
    add_plane(&p.depth, 1, y.size, nullptr, y.step);
    return cuda_product_run(k, &p, false);
}
