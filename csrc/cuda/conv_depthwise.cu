/* Convolutions whose groups have one channel each: rows of a product would be one or two. */
#include "conv.h"
#include "reduce.h"

enum { MOST_OUTPUTS = 8 /* of a channel */ };

struct depthwise {
    int dtype;
    bool channels_last; /* in what is written */
    const void *x, *w, *y, *bias;
    void *out;
    picture at_x, at_y, at_w;
    int64_t bias_step, outputs; /* how many are written */
    int each;                   /* outputs of a channel */
    int size[PRODUCT_PLANE], stride[PRODUCT_PLANE], dilation[PRODUCT_PLANE], before[PRODUCT_PLANE];
    double plane_inverse, channels_inverse; /* of what is written, or of y for weights */
};

static rl_status read(depthwise *d, rl_call *k, const convolution &c, const picture &written) {
    const int64_t groups = c.window->groups;
    if (groups == 1 || c.w.channels != 1 || c.w.images / groups > MOST_OUTPUTS) return RL_UNSUPPORTED;
    if (!rl_is_float(k->out[0]->dtype)) return RL_UNSUPPORTED;
    *d = {};
    d->dtype = k->out[0]->dtype;
    d->at_x = c.x, d->at_y = c.y, d->at_w = c.w;
    d->each = (int)(c.w.images / groups);
    d->outputs = k->out[0]->numel;
    for (int i = 0; i < PRODUCT_PLANE; i++) {
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
static void add_bias(depthwise *d, const rl_view *bias) {
    d->bias = bias ? rl_const_data(bias) : nullptr;
    d->bias_step = bias ? bias->strides[0] : 0;
}

/* ---- which element is it? ---- */
struct position {
    int64_t image, channel;
    int at[PRODUCT_PLANE];
};
static __device__ __forceinline__ void place_of(const picture &x, uint32_t place, int (&at)[PRODUCT_PLANE]) {
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
        const int64_t rest = product_divide(i, x.channels, d.channels_inverse);
        p.channel = i - rest * x.channels;
        p.image = product_divide(rest, plane, d.plane_inverse);
        place = rest - p.image * plane;
    } else {
        const int64_t rest = product_divide(i, plane, d.plane_inverse);
        place = i - rest * plane;
        p.image = product_divide(rest, x.channels, d.channels_inverse);
        p.channel = rest - p.image * x.channels;
    }
    place_of(x, (uint32_t)place, p.at);
    return p;
}
static __device__ __forceinline__ int64_t offset_of(const picture &x, const position &p) {
    return p.image * x.image_step + p.channel * x.channel_step + p.at[0] * x.step[0] + p.at[1] * x.step[1] +
           p.at[2] * x.step[2];
}
static __device__ __forceinline__ int64_t tap_of(const depthwise &d, const int (&tap)[PRODUCT_PLANE]) {
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
static __device__ __forceinline__ void put(const depthwise &d, C sum, int64_t out, int64_t channel) {
    if (d.bias) sum += product_load<C>(d.dtype, d.bias, channel * d.bias_step);
    cuda_store<C>(d.dtype, d.out, out, sum);
}

/* ---- sums over the taps: `from` is where what is read lies, and find(i, at, tap) its coordinate ---- */
template <class C, class Find>
static __device__ __forceinline__ void add_taps(const depthwise &d, const void *read, const picture &from,
                                                int64_t base, int64_t weight, const int (&at)[PRODUCT_PLANE],
                                                C &sum, Find find) {
    int tap[PRODUCT_PLANE];
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
                sum += product_load<C>(d.dtype, read,
                                       base + z * from.step[0] + y * from.step[1] + x * from.step[2]) *
                       product_load<C>(d.dtype, d.w, weight + tap_of(d, tap));
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
        put(d, sum, offset_of(d.at_y, p), p.channel);
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
        put(d, sum, offset_of(d.at_x, p), p.channel);
    }
}

/* ---- a block for each weight ---- */
template <class C> __global__ void __launch_bounds__(CUDA_THREADS) depthwise_weight(depthwise d) {
    const int64_t plane = d.at_y.size[0] * d.at_y.size[1] * d.at_y.size[2], places = d.at_y.images * plane;
    const uint32_t taps = (uint32_t)(d.size[0] * d.size[1] * d.size[2]);
    for (int64_t i = blockIdx.x; i < d.outputs; i += gridDim.x) {
        const int64_t channel = i / taps;
        int tap[PRODUCT_PLANE];
        C sum = 0;
        place_of(d.at_w, (uint32_t)(i - channel * taps), tap);
        for (int64_t at = threadIdx.x; at < places; at += CUDA_THREADS) {
            position p = {product_divide(at, plane, d.plane_inverse), channel, {}};
            place_of(d.at_y, (uint32_t)(at - p.image * plane), p.at);
            position from = {p.image, channel / d.each, {}};
            bool is_there = true;
            CUDA_UNROLL
            for (int dim = 0; dim < PRODUCT_PLANE; dim++) {
                from.at[dim] = read_at(d, dim, p.at[dim], tap[dim]);
                is_there = is_there && from.at[dim] >= 0;
            }
            if (is_there)
                sum += product_load<C>(d.dtype, d.y, offset_of(d.at_y, p)) *
                       product_load<C>(d.dtype, d.x, offset_of(d.at_x, from));
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

rl_status cuda_conv_depthwise(rl_call *k, const convolution &c, const rl_view *x, const rl_view *w,
                              const rl_view *bias) {
    depthwise d;
    const rl_status status = read(&d, k, c, c.y);
    if (status != RL_OK) return status;
    d.x = rl_const_data(x), d.w = rl_const_data(w);
    add_bias(&d, bias);
    LAUNCH(depthwise_forward);
    return rl_cuda_end(k);
}
rl_status cuda_conv_depthwise_input(rl_call *k, const convolution &c, const rl_view *y, const rl_view *w,
                                    const rl_view *bias) {
    depthwise d;
    const rl_status status = read(&d, k, c, c.x);
    if (status != RL_OK) return status;
    d.y = rl_const_data(y), d.w = rl_const_data(w);
    add_bias(&d, bias);
    LAUNCH(depthwise_input);
    return rl_cuda_end(k);
}
rl_status cuda_conv_depthwise_weight(rl_call *k, const convolution &c, const rl_view *x, const rl_view *y) {
    depthwise d;
    const rl_status status = read(&d, k, c, c.y);
    if (status != RL_OK) return status;
    d.x = rl_const_data(x), d.y = rl_const_data(y);
    const unsigned blocks = cuda_blocks_each(d.outputs);
    if (d.dtype == RL_F64)
        CUDA_LAUNCH_BLOCKS(depthwise_weight<double>, blocks, CUDA_THREADS, 0, (cudaStream_t)k->stream, d);
    else
        CUDA_LAUNCH_BLOCKS(depthwise_weight<float>, blocks, CUDA_THREADS, 0, (cudaStream_t)k->stream, d);
    return rl_cuda_end(k);
}
