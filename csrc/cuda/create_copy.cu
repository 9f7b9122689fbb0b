/* copy_: on one GPU any strides, broadcast and cast; between devices dense memory of one dtype, which the
 * dispatcher sees to. */
#include "device.h"
#include "walk.h"

/* ---- equal dtypes: only the size of an element matters ---- */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) copy_bits(cuda_walk w, T *to, const T *from) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_walk_seek(w, i, at);
        to[at[0]] = from[at[1]];
    }
}

/* ---- casts ---- */
template <class To>
__global__ void __launch_bounds__(CUDA_THREADS)
    copy_cast(cuda_walk w, To *to, const void *from, int from_dtype) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_walk_seek(w, i, at);
        to[at[0]] = cuda_load<To>(from_dtype, from, at[1]);
    }
}

template <class T> static void launch_bits(const cuda_walk &w, void *to, const void *from, cudaStream_t s) {
    CUDA_LAUNCH((copy_bits<T>), cuda_walk_blocks(&w), CUDA_THREADS, s, w, (T *)to, (const T *)from);
}

static rl_status copy_between(rl_call *k, const rl_view *to, const rl_view *from) {
    if (to->dtype != from->dtype || to->numel != from->numel || !rl_is_contiguous(to) ||
        !rl_is_contiguous(from))
        return RL_UNSUPPORTED;
    int index = to->device == RL_CPU ? from->device_index : to->device_index;
    if (rl_cuda_move(index, rl_data(to, RL_WRITE), rl_const_data(from),
                     (size_t)(to->numel * rl_itemsize(to->dtype)), to->device, from->device,
                     k->stream) == RL_OK)
        return RL_OK;
    return rl_fail(k, RL_RUNTIME, "%s", rl_cuda_last_error());
}

static rl_status copy(rl_call *k, const rl_view *to, const rl_view *from) {
    const rl_view *views[2] = {to, from};
    cuda_walk w;
    if (to->device != from->device || to->device_index != from->device_index)
        return copy_between(k, to, from);
    bool kept = rl_is_converted(to->dtype) || rl_is_converted(from->dtype);
    if (kept && to->dtype != from->dtype) return RL_UNSUPPORTED;
    if (!cuda_walk_make_along(&w, views, 2)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, to) != RL_OK) return RL_FAIL;
    void *target = rl_data(to, RL_WRITE);
    const void *source = rl_const_data(from);
    cudaStream_t s = (cudaStream_t)k->stream;
    if (to->dtype == from->dtype) {
        switch (rl_itemsize(to->dtype)) {
        case 1: launch_bits<uint8_t>(w, target, source, s); break;
        case 2: launch_bits<uint16_t>(w, target, source, s); break;
        case 4: launch_bits<uint32_t>(w, target, source, s); break;
        case 8: launch_bits<uint64_t>(w, target, source, s); break;
        default: launch_bits<double2>(w, target, source, s); break;
        }
        return rl_cuda_end(k);
    }
    switch (to->dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag:                                                                                                \
        CUDA_LAUNCH((copy_cast<T>), cuda_walk_blocks(&w), CUDA_THREADS, s, w, (T *)target, source,           \
                    from->dtype);                                                                            \
        break;
        CUDA_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_copy) {
    return copy(k, k->out[0], rl_in(k, 1));
}
CUDA_KERNEL(cuda_clone) {
    return copy(k, k->out[0], rl_in(k, 0));
}
