/* Convolutions of one to three dimensions, transposed or not, and their gradients, as GEMMs of Note [CUDA
 * GEMM]; those whose groups have one channel each directly, since rows of a product would be one or two. */
#include "block_reduce.cuh"
#include "kernel_abi/window.h"
#include "cuda/gemm/gemm.cuh"
#include <initializer_list>

/* Sizes and steps of a tensor (N, channels, depth, height, width); what it lacks has size 1 and step 0. */
struct picture {
    int64_t images, channels, image_step, channel_step, size[GEMM_PLANE], step[GEMM_PLANE];
};
static inline picture picture_of(const rl_view *v, int spatial) {
    const int lead = v->ndim - spatial;
    picture x = {1, v->shape[lead - 1], 0, v->strides[lead - 1], {1, 1, 1}, {0, 0, 0}};
    if (lead == 2) x.images = v->shape[0], x.image_step = v->strides[0];
    for (int d = 0; d < spatial; d++) {
        x.size[GEMM_PLANE - spatial + d] = v->shape[lead + d];
        x.step[GEMM_PLANE - spatial + d] = v->strides[lead + d];
    }
    return x;
}

struct convolution {
    const rl_window *window;
    picture x, y, w; /* of w: images are rows */
};

/* ==== groups of one channel: a thread for each output, or a block for each weight. RL_UNSUPPORTED: these are
 * not such groups, or too many outputs share one. x and y are what the forward one reads and writes ==== */
enum { MAX_OUTPUTS = 8 /* of a channel */ };

struct depthwise {
    int dtype;
    bool channels_last; /* in what is written */
    const void *x, *w, *y, *bias;
    void *out;
    picture at_x, at_y, at_w;
    int64_t bias_step, outputs; /* how many are written */
    int each;                   /* outputs of a channel */
    int size[GEMM_PLANE], stride[GEMM_PLANE], dilation[GEMM_PLANE], before[GEMM_PLANE];
    double plane_inverse, channels_inverse; /* of what is written, or of y for weights */
};

static rl_status depthwise_read(depthwise *d, rl_call *k, const convolution &c, const picture &written) {
    const int64_t groups = c.window->groups;
    if (groups == 1 || c.w.channels != 1 || c.w.images / groups > MAX_OUTPUTS) return RL_UNSUPPORTED;
    if (!rl_is_float(k->out[0]->dtype)) return RL_UNSUPPORTED;
    *d = {};
    d->dtype = k->out[0]->dtype;
    d->at_x = c.x, d->at_y = c.y, d->at_w = c.w;
    d->each = (int)(c.w.images / groups);
    d->outputs = k->out[0]->numel;
    for (int i = 0; i < GEMM_PLANE; i++) {
        d->size[i] = (int)c.w.size[i];
        d->stride[i] = (int)c.window->stride[i];
        d->dilation[i] = (int)c.window->dilation[i];
        d->before[i] = (int)c.window->before[i];
    }
    d->channels_last = written.channel_step == 1;
    d->plane_inverse = 1.0 / (double)(written.size[0] * written.size[1] * written.size[2]);
    d->channels_inverse = 1.0 / (double)written.channels;
    d->out = rl_data(k->out[0], RL_WRITE);
    return rl_cuda_begin(k, k->out[0]);
}
static void depthwise_bias(depthwise *d, const rl_view *bias) {
    d->bias = bias ? rl_const_data(bias) : nullptr;
    d->bias_step = bias ? bias->strides[0] : 0;
}

/* ---- which element is it? ---- */
struct position {
    int64_t image, channel;
    int at[GEMM_PLANE];
};
static __device__ __forceinline__ void place_of(const picture &x, uint32_t place, int (&at)[GEMM_PLANE]) {
    const uint32_t row = place / (uint32_t)x.size[2], plane = row / (uint32_t)x.size[1];
    at[0] = (int)plane;
    at[1] = (int)(row - plane * (uint32_t)x.size[1]);
    at[2] = (int)(place - row * (uint32_t)x.size[2]);
}
static __device__ __forceinline__ position position_of(const depthwise &d, const picture &x, int64_t i) {
    const int64_t plane = x.size[0] * x.size[1] * x.size[2];
    position p;
    int64_t place;
    if (d.channels_last) {
        const int64_t rest = gemm_divide(i, x.channels, d.channels_inverse);
        p.channel = i - rest * x.channels;
        p.image = gemm_divide(rest, plane, d.plane_inverse);
        place = rest - p.image * plane;
    } else {
        const int64_t rest = gemm_divide(i, plane, d.plane_inverse);
        place = i - rest * plane;
        p.image = gemm_divide(rest, x.channels, d.channels_inverse);
        p.channel = rest - p.image * x.channels;
    }
    place_of(x, (uint32_t)place, p.at);
    return p;
}
static __device__ __forceinline__ int64_t offset_of(const picture &x, const position &p) {
    return p.image * x.image_step + p.channel * x.channel_step + p.at[0] * x.step[0] + p.at[1] * x.step[1] +
           p.at[2] * x.step[2];
}
static __device__ __forceinline__ int64_t tap_of(const depthwise &d, const int (&tap)[GEMM_PLANE]) {
    return tap[0] * d.at_w.step[0] + tap[1] * d.at_w.step[1] + tap[2] * d.at_w.step[2];
}
/* along dim i: where in x the tap of an output reads, or which output has read there by that tap; -1: none */
static __device__ __forceinline__ int read_at(const depthwise &d, int i, int y, int tap) {
    const int x = y * d.stride[i] - d.before[i] + tap * d.dilation[i];
    return (unsigned)x < (unsigned)d.at_x.size[i] ? x : -1;
}
static __device__ __forceinline__ int reader_of(const depthwise &d, int i, int x, int tap) {
    const int reach = x + d.before[i] - tap * d.dilation[i], y = reach / d.stride[i];
    return reach >= 0 && y * d.stride[i] == reach && y < d.at_y.size[i] ? y : -1;
}
template <class C>
static __device__ __forceinline__ void depthwise_put(const depthwise &d, C sum, int64_t out,
                                                     int64_t channel) {
    if (d.bias) sum += gemm_load<C>(d.dtype, d.bias, channel * d.bias_step);
    cuda_store<C>(d.dtype, d.out, out, sum);
}

/* ---- sums over the taps: `from` is where what is read lies, and find(i, at, tap) its coordinate ---- */
template <class C, class Find>
static __device__ __forceinline__ void add_taps(const depthwise &d, const void *read, const picture &from,
                                                int64_t base, int64_t weight, const int (&at)[GEMM_PLANE],
                                                C &sum, Find find) {
    int tap[GEMM_PLANE];
    CUDA_ROLLED
    for (tap[0] = 0; tap[0] < d.size[0]; tap[0]++) {
        const int z = find(0, at[0], tap[0]);
        if (z < 0) continue;
        CUDA_ROLLED
        for (tap[1] = 0; tap[1] < d.size[1]; tap[1]++) {
            const int y = find(1, at[1], tap[1]);
            if (y < 0) continue;
            for (tap[2] = 0; tap[2] < d.size[2]; tap[2]++) {
                const int x = find(2, at[2], tap[2]);
                if (x < 0) continue;
                sum += gemm_load<C>(d.dtype, read,
                                    base + z * from.step[0] + y * from.step[1] + x * from.step[2]) *
                       gemm_load<C>(d.dtype, d.w, weight + tap_of(d, tap));
            }
        }
    }
}
template <class C> __global__ void __launch_bounds__(CUDA_THREADS) depthwise_forward(depthwise d) {
    CUDA_EACH_OF(i, d.outputs) {
        const position p = position_of(d, d.at_y, i);
        const int64_t base = p.image * d.at_x.image_step + p.channel / d.each * d.at_x.channel_step;
        C sum = 0;
        add_taps<C>(d, d.x, d.at_x, base, p.channel * d.at_w.image_step, p.at, sum,
                    [&](int dim, int at, int tap) { return read_at(d, dim, at, tap); });
        depthwise_put(d, sum, offset_of(d.at_y, p), p.channel);
    }
}
template <class C> __global__ void __launch_bounds__(CUDA_THREADS) depthwise_input(depthwise d) {
    CUDA_EACH_OF(i, d.outputs) {
        const position p = position_of(d, d.at_x, i);
        C sum = 0;
        CUDA_ROLLED
        for (int e = 0; e < d.each; e++) {
            const int64_t channel = p.channel * d.each + e;
            const int64_t base = p.image * d.at_y.image_step + channel * d.at_y.channel_step;
            add_taps<C>(d, d.y, d.at_y, base, channel * d.at_w.image_step, p.at, sum,
                        [&](int dim, int at, int tap) { return reader_of(d, dim, at, tap); });
        }
        depthwise_put(d, sum, offset_of(d.at_x, p), p.channel);
    }
}

/* ---- a block for each weight ---- */
template <class C> __global__ void __launch_bounds__(CUDA_THREADS) depthwise_weight(depthwise d) {
    const int64_t plane = d.at_y.size[0] * d.at_y.size[1] * d.at_y.size[2], places = d.at_y.images * plane;
    const uint32_t taps = (uint32_t)(d.size[0] * d.size[1] * d.size[2]);
    for (int64_t i = blockIdx.x; i < d.outputs; i += gridDim.x) {
        const int64_t channel = i / taps;
        int tap[GEMM_PLANE];
        C sum = 0;
        place_of(d.at_w, (uint32_t)(i - channel * taps), tap);
        for (int64_t at = threadIdx.x; at < places; at += CUDA_THREADS) {
            position p = {gemm_divide(at, plane, d.plane_inverse), channel, {}};
            place_of(d.at_y, (uint32_t)(at - p.image * plane), p.at);
            position from = {p.image, channel / d.each, {}};
            bool is_there = true;
            CUDA_UNROLL
            for (int dim = 0; dim < GEMM_PLANE; dim++) {
                from.at[dim] = read_at(d, dim, p.at[dim], tap[dim]);
                is_there = is_there && from.at[dim] >= 0;
            }
            if (is_there)
                sum += gemm_load<C>(d.dtype, d.y, offset_of(d.at_y, p)) *
                       gemm_load<C>(d.dtype, d.x, offset_of(d.at_x, from));
        }
        sum = cuda_block_join(sum, cuda_sum());
        if (threadIdx.x == 0)
            cuda_store<C>(d.dtype, d.out, channel * d.at_w.image_step + tap_of(d, tap), sum);
    }
}

#define LAUNCH(kernel)                                                                                       \
    if (d.dtype == RL_F64)                                                                                   \
        CUDA_LAUNCH(kernel<double>, cuda_blocks_of(d.outputs), CUDA_THREADS, (cudaStream_t)k->stream, d);    \
    else                                                                                                     \
        CUDA_LAUNCH(kernel<float>, cuda_blocks_of(d.outputs), CUDA_THREADS, (cudaStream_t)k->stream, d)

static rl_status conv_depthwise(rl_call *k, const convolution &c, const rl_view *x, const rl_view *w,
                                const rl_view *bias) {
    depthwise d;
    const rl_status status = depthwise_read(&d, k, c, c.y);
    if (status != RL_OK) return status;
    d.x = rl_const_data(x), d.w = rl_const_data(w);
    depthwise_bias(&d, bias);
    LAUNCH(depthwise_forward);
    return rl_cuda_end(k);
}
static rl_status conv_depthwise_input(rl_call *k, const convolution &c, const rl_view *y, const rl_view *w,
                                      const rl_view *bias) {
    depthwise d;
    const rl_status status = depthwise_read(&d, k, c, c.x);
    if (status != RL_OK) return status;
    d.y = rl_const_data(y), d.w = rl_const_data(w);
    depthwise_bias(&d, bias);
    LAUNCH(depthwise_input);
    return rl_cuda_end(k);
}
static rl_status conv_depthwise_weight(rl_call *k, const convolution &c, const rl_view *x, const rl_view *y) {
    depthwise d;
    const rl_status status = depthwise_read(&d, k, c, c.y);
    if (status != RL_OK) return status;
    d.x = rl_const_data(x), d.y = rl_const_data(y);
    const unsigned blocks = cuda_blocks_each(d.outputs);
    if (d.dtype == RL_F64)
        CUDA_LAUNCH_BLOCKS(depthwise_weight<double>, blocks, CUDA_THREADS, 0, (cudaStream_t)k->stream, d);
    else
        CUDA_LAUNCH_BLOCKS(depthwise_weight<float>, blocks, CUDA_THREADS, 0, (cudaStream_t)k->stream, d);
    return rl_cuda_end(k);
}

/* ==== as products ==== */
static convolution read_call(const rl_call *k, const rl_view *x, const rl_view *w, const rl_view *y) {
    const rl_window *window = rl_window_of(k);
    const int spatial = (int)window->spatial;
    return {window, picture_of(x, spatial), picture_of(y, spatial), picture_of(w, spatial)};
}

static bool is_int(int64_t outer, const int64_t *size) {
    const rl_count n = rl_count_times(rl_count_product(size, GEMM_PLANE), outer);
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
    for (int i = 0; i < GEMM_PLANE; i++) {
        const int64_t stride = c.window->stride[i], before = c.window->before[i];
        const int64_t reach = (c.w.size[i] - 1) * c.window->dilation[i], span = c.y.size[i] * stride;
        for (int64_t n : {c.x.size[i], c.y.size[i], stride, reach, span, before, -before})
            if (n > most) return false;
    }
    return is_int(c.x.images, c.x.size) && is_int(c.y.images, c.y.size) && is_int(c.w.images, c.w.size) &&
           is_int(c.w.channels, c.w.size);
}

/* places of a plane: the digits from `from` on, which is 1, or 0 where the last digit is for channels */
static void add_plane(gemm_axis *x, int from, const int64_t *size, const int64_t *out, const int64_t *a) {
    for (int i = 0; i < GEMM_PLANE; i++)
        cuda_gemm_digit(x, from + i, size[i], out ? out[i] : 0, a ? a[i] : 0, 0, 0);
}
/* Do channels lie together, many enough for a vector of any dtype, and the images not? */
static int plane_from(const picture &x, int64_t channels) {
    return x.channel_step == 1 && x.step[GEMM_PLANE - 1] != 1 && channels % 8 == 0 ? 0 : 1;
}
static int channel_digit(int from) {
    return from ? 0 : GEMM_PLANE;
}
static void gather_from(gemm *p, const picture &from) {
    p->gather.is_used = true;
    for (int i = 0; i < GEMM_PLANE; i++) {
        p->gather.size[i] = (int)from.size[i];
        p->gather.step[i] = from.step[i];
    }
}
static void add_groups(gemm *p, int64_t groups, int64_t out, int64_t a, int64_t b, int64_t extra) {
    const int64_t steps[GEMM_OPERANDS] = {out, a, b, extra};
    cuda_iter w = {};
    w.ndim = 1;
    w.numel = w.size[0] = groups;
    for (int i = 0; i < GEMM_OPERANDS; i++) w.step[i][0] = steps[i];
    cuda_gemm_batch(p, w);
}
static void add_bias(const rl_call *k, gemm *p, int64_t *step) {
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
    const rl_status direct = conv_depthwise(k, c, x, w, rl_in(k, 2));
    if (direct != RL_UNSUPPORTED) return direct;
    const int64_t rows = w->shape[0] / groups;
    int64_t bias;
    gemm p;
    cuda_gemm_begin(&p, out);
    p.tf32 = k->svc->tf32 & RL_TF32_CONV;
    p.a = rl_const_data(w), p.b = rl_const_data(x);
    add_bias(k, &p, &bias);
    cuda_gemm_digit(&p.row, GEMM_PLANE, rows, c.y.channel_step, c.w.image_step, 0, bias);
    cuda_gemm_digit(&p.col, 0, c.y.images, c.y.image_step, 0, c.x.image_step, 0);
    add_plane(&p.col, 1, c.y.size, c.y.step, nullptr);
    const int from = p.gather.depth_from = plane_from(c.x, channels);
    cuda_gemm_digit(&p.depth, channel_digit(from), channels, 0, c.w.channel_step, c.x.channel_step, 0);
    add_plane(&p.depth, from, c.w.size, nullptr, c.w.step);
    add_groups(&p, groups, rows * c.y.channel_step, rows * c.w.image_step, channels * c.x.channel_step,
               rows * bias);
    gather_from(&p, c.x);
    for (int i = 0; i < GEMM_PLANE; i++) {
        p.gather.col[i] = (int)c.window->stride[i];
        p.gather.depth[i] = (int)c.window->dilation[i];
        p.gather.shift[i] = (int)-c.window->before[i];
    }
    return cuda_gemm_run(k, &p, false);
}

/* ---- by the input, which is also the transposed convolution: what reads `to` in the forward one ---- */
static rl_status run_input(rl_call *k, const rl_view *from, const rl_view *w, bool has_bias) {
    const rl_view *to = k->out[0];
    const convolution c = read_call(k, to, w, from);
    const int64_t groups = c.window->groups, rows = w->shape[1];
    if (!is_served(k, c)) return RL_UNSUPPORTED;
    if (to->numel == 0) return RL_OK;
    const rl_status direct = conv_depthwise_input(k, c, from, w, has_bias ? rl_in(k, 2) : nullptr);
    if (direct != RL_UNSUPPORTED) return direct;
    const int64_t outputs = w->shape[0] / groups;
    int64_t bias = 0;
    gemm p;
    cuda_gemm_begin(&p, to);
    p.tf32 = k->svc->tf32 & RL_TF32_CONV;
    p.a = rl_const_data(w), p.b = rl_const_data(from);
    if (has_bias) add_bias(k, &p, &bias);
    cuda_gemm_digit(&p.row, GEMM_PLANE, rows, c.x.channel_step, c.w.channel_step, 0, bias);
    cuda_gemm_digit(&p.col, 0, c.x.images, c.x.image_step, 0, c.y.image_step, 0);
    add_plane(&p.col, 1, c.x.size, c.x.step, nullptr);
    const int at = p.gather.depth_from = plane_from(c.y, outputs);
    cuda_gemm_digit(&p.depth, channel_digit(at), outputs, 0, c.w.image_step, c.y.channel_step, 0);
    add_plane(&p.depth, at, c.w.size, nullptr, c.w.step);
    add_groups(&p, groups, rows * c.x.channel_step, outputs * c.w.image_step, outputs * c.y.channel_step,
               rows * bias);
    gather_from(&p, c.y);
    for (int i = 0; i < GEMM_PLANE; i++) {
        p.gather.col[i] = 1;
        p.gather.depth[i] = (int)-c.window->dilation[i];
        p.gather.shift[i] = (int)c.window->before[i];
        p.gather.divisor[i] = (int)c.window->stride[i];
        p.gather.divides |= c.window->stride[i] != 1;
    }
    return cuda_gemm_run(k, &p, false);
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
    const rl_status direct = conv_depthwise_weight(k, c, x, grad);
    if (direct != RL_UNSUPPORTED) return direct;
    const int64_t rows = out->shape[0] / groups;
    gemm p;
    cuda_gemm_begin(&p, out);
    p.tf32 = k->svc->tf32 & RL_TF32_CONV;
    p.a = rl_const_data(grad), p.b = rl_const_data(x);
    cuda_gemm_digit(&p.row, GEMM_PLANE, rows, c.w.image_step, c.y.channel_step, 0, 0);
    const int from = p.gather.col_from = plane_from(c.x, channels);
    cuda_gemm_digit(&p.col, channel_digit(from), channels, c.w.channel_step, 0, c.x.channel_step, 0);
    add_plane(&p.col, from, c.w.size, c.w.step, nullptr);
    cuda_gemm_digit(&p.depth, 0, c.y.images, 0, c.y.image_step, c.x.image_step, 0);
    add_plane(&p.depth, 1, c.y.size, nullptr, c.y.step);
    add_groups(&p, groups, rows * c.w.image_step, rows * c.y.channel_step, channels * c.x.channel_step, 0);
    gather_from(&p, c.x);
    for (int i = 0; i < GEMM_PLANE; i++) {
        p.gather.col[i] = (int)c.window->dilation[i];
        p.gather.depth[i] = (int)c.window->stride[i];
        p.gather.shift[i] = (int)-c.window->before[i];
    }
    return cuda_gemm_run(k, &p, false);
}

/* ---- by the bias: a product with ones ---- */
CUDA_KERNEL(cuda_conv_bias) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    const picture y = picture_of(grad, (int)rl_window_of(k)->spatial);
    if (grad->dtype != out->dtype || !is_int(y.images, y.size)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    gemm p;
    cuda_gemm_begin(&p, out);
    p.a = rl_const_data(grad);
    cuda_gemm_digit(&p.row, GEMM_PLANE, out->numel, out->strides[0], y.channel_step, 0, 0);
    cuda_gemm_digit(&p.depth, 0, y.images, 0, y.image_step, 0, 0);
    add_plane(&p.depth, 1, y.size, nullptr, y.step);
    return cuda_gemm_run(k, &p, false);
}
