/* What a gradient scaler does, without a word to the CPU: its scale and what it found stay on the device. */
#include "multi_tensor.cuh"

template <class C> static __device__ void unscale_at(int dtype, void *p, int64_t i, C factor, float *found) {
    const C x = cuda_load<C>(dtype, p, i);
    if (!(x - x == 0)) atomicExch(found, 1.0f);
    cuda_store<C>(dtype, p, i, x * factor);
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    unscale_listed(cuda_listed<1> l, int dtype, const float *factor, float *found) {
    const int t = cuda_listed_find(l);
    CUDA_EACH_LISTED(i, l, t) unscale_at<C>(dtype, l.at[0][t], i, *factor, found);
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    unscale_along(cuda_iter w, void *p, int dtype, const float *factor, float *found) {
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_iter_seek(w, i, at);
        unscale_at<C>(dtype, p, at[0], *factor, found);
    }
}

/* do all lie on one GPU, a list of gradients and these? */
static bool are_together(const rl_call *k, const rl_view *const *views, int n) {
    const rl_value *grads = &k->arg[0];
    const rl_view *first = views[0];
    for (int i = 1; i < n; i++)
        if (views[i]->device != first->device || views[i]->device_index != first->device_index) return false;
    for (int i = 0; grads->tag == RL_TENSORS && i < grads->n; i++)
        if (grads->u.ts[i]->device != first->device || grads->u.ts[i]->device_index != first->device_index ||
            grads->u.ts[i]->ndim > CUDA_DIMS)
            return false;
    return first->device != RL_CPU;
}

CUDA_KERNEL(cuda_amp_unscale) { /* (grads, found_inf, inv_scale) */
    const rl_value *grads = &k->arg[0];
    const rl_view *numbers[2] = {rl_in(k, 1), rl_in(k, 2)};
    int now = -1, next = -1;
    if (!are_together(k, numbers, 2)) return RL_UNSUPPORTED;
    float *found = (float *)rl_data(numbers[0], RL_WRITE);
    const float *factor = (const float *)rl_const_data(numbers[1]);
    return cuda_lists_run<1>(
        k, grads->n, 0,
        [&](int i, const rl_view **views) {
            views[0] = grads->u.ts[i];
            next = views[0]->dtype;
        },
        [&](bool begins) {
            if (begins) now = next;
            return now == next;
        },
        [&](const cuda_listed<1> &l, cudaStream_t stream) {
            if (now == RL_F64)
                CUDA_LAUNCH((unscale_listed<double>), l.first[l.n], CUDA_THREADS, stream, l, now, factor,
                            found);
            else
                CUDA_LAUNCH((unscale_listed<float>), l.first[l.n], CUDA_THREADS, stream, l, now, factor,
                            found);
        },
        [&](const cuda_iter &w, cuda_list_shape shape, const rl_view *const *views, cudaStream_t stream) {
            void *p = rl_data(views[0], RL_WRITE);
            if (next == RL_F64)
                CUDA_LAUNCH((unscale_along<double>), shape.blocks, shape.threads, stream, w, p, next, factor,
                            found);
            else
                CUDA_LAUNCH((unscale_along<float>), shape.blocks, shape.threads, stream, w, p, next, factor,
                            found);
        });
}

/* one thread; PyTorch computes in double where a float meets the factors */
__global__ void __launch_bounds__(1) update_scale(float *scale, int *tracker, const float *found,
                                                  double growth, double backoff, int interval) {
    const int steps = *tracker + 1;
    if (*found != 0) {
        *scale = (float)(*scale * backoff);
        *tracker = 0;
    } else if (steps == interval) {
        const float grown = (float)(*scale * growth);
        if (isfinite(grown)) *scale = grown;
        *tracker = 0;
    } else {
        *tracker = steps;
    }
}

CUDA_KERNEL(cuda_amp_update_scale) { /* (scale, growth_tracker, found_inf, growth, backoff, interval) */
    const rl_view *views[4] = {k->out[0], rl_in(k, 0), rl_in(k, 1), rl_in(k, 2)};
    if (!are_together(k, views, 4)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(update_scale, 1, 1, (cudaStream_t)k->stream, (float *)rl_data(k->out[0], RL_WRITE),
                (int *)rl_data(views[2], RL_WRITE), (const float *)rl_const_data(views[3]), rl_num(k, 3),
                rl_num(k, 4), (int)rl_int(k, 5));
    return rl_cuda_end(k);
}
