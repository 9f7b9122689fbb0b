/* Sliding blocks of images as columns, and back: a thread for each element of the result. */
#include "kernel_abi/window.h"
#include "planes.cuh"

typedef struct {
    cuda_planes image, columns; /* columns: (N, 1, 1, channels and places in a kernel, blocks) */
    int64_t kernel[2], dilation[2], pad[2], stride[2], blocks[2];
    double by_kernel[2], by_stride[2], by_blocks; /* inverses: Note [Quotients] */
} fold_job;

static bool fold_read(const rl_call *k, fold_job *j, const rl_view *image, const rl_view *columns) {
    const rl_window *a = rl_window_of(k);
    if (!cuda_planes_of(image, 2, &j->image) || !cuda_planes_of(columns, 2, &j->columns)) return false;
    for (int i = 0; i < 2; i++) {
        j->kernel[i] = a->kernel[1 + i], j->dilation[i] = a->dilation[1 + i];
        j->pad[i] = a->before[1 + i], j->stride[i] = a->stride[1 + i];
        const int64_t reach = j->dilation[i] * (j->kernel[i] - 1) + 1;
        j->blocks[i] = (j->image.size[3 + i] + 2 * j->pad[i] - reach) / j->stride[i] + 1;
        j->by_kernel[i] = cuda_inverse(j->kernel[i]);
        j->by_stride[i] = cuda_inverse(j->stride[i]);
    }
    j->by_blocks = cuda_inverse(j->blocks[1]);
    return true;
}

template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) columns_of_image(fold_job j, const T *from, T *to) {
    CUDA_EACH(i, j.columns) {
        cuda_place here = cuda_planes_seek(j.columns, i);
        int64_t row = here.at[3], block = here.at[4];
        const int64_t kw = cuda_remainder(&row, j.kernel[1], j.by_kernel[1]),
                      kh = cuda_remainder(&row, j.kernel[0], j.by_kernel[0]);
        const int64_t bw = cuda_remainder(&block, j.blocks[1], j.by_blocks);
        const int64_t h = block * j.stride[0] + kh * j.dilation[0] - j.pad[0];
        const int64_t w = bw * j.stride[1] + kw * j.dilation[1] - j.pad[1];
        const bool is_inside = h >= 0 && h < j.image.size[3] && w >= 0 && w < j.image.size[4];
        T *target = &to[cuda_planes_at(j.columns, here)];
        const int64_t batch = here.at[CUDA_CHANNEL]; /* the one dim in front of a column */
        *target =
            is_inside
                ? from[batch * j.image.step[0] + row * j.image.step[1] + cuda_planes_offset(j.image, 0, h, w)]
                : (T)0;
    }
}

template <class T> static void launch_columns(const rl_call *k, const fold_job &j) {
    CUDA_LAUNCH((columns_of_image<T>), cuda_blocks_of(j.columns.numel), CUDA_THREADS, (cudaStream_t)k->stream,
                j, (const T *)rl_const_data(rl_in(k, 0)), (T *)rl_data(k->out[0], RL_WRITE));
}

CUDA_KERNEL(cuda_im2col) {
    const rl_view *out = k->out[0];
    fold_job j;
    if (!fold_read(k, &j, rl_in(k, 0), out)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (rl_itemsize(out->dtype)) {
    case 1: launch_columns<uint8_t>(k, j); break;
    case 2: launch_columns<uint16_t>(k, j); break;
    case 4: launch_columns<uint32_t>(k, j); break;
    default: launch_columns<uint64_t>(k, j); break;
    }
    return rl_cuda_end(k);
}

/* the block along space i (0 or 1) whose element at `place` of the kernel is image element `at`, or -1 */
static __device__ inline int64_t block_at(const fold_job &j, int i, int64_t place, int64_t at) {
    const int64_t start = at + j.pad[i] - place * j.dilation[i],
                  block = start < 0 ? 0 : cuda_quotient(start, j.stride[i], j.by_stride[i]);
    return start < 0 || block * j.stride[i] != start || block >= j.blocks[i] ? -1 : block;
}

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS) image_of_columns(fold_job j, const T *from, T *to) {
    CUDA_EACH(i, j.image) {
        const cuda_place here = cuda_planes_seek(j.image, i);
        const T *columns = from + here.at[CUDA_BATCH] * j.columns.step[CUDA_CHANNEL];
        const int64_t first = here.at[CUDA_CHANNEL] * j.kernel[0] * j.kernel[1];
        C sum = 0;
        for (int64_t y = 0; y < j.kernel[0]; y++) {
            const int64_t h = block_at(j, 0, y, here.at[3]);
            for (int64_t x = 0; h >= 0 && x < j.kernel[1]; x++) {
                const int64_t w = block_at(j, 1, x, here.at[4]);
                if (w < 0) continue;
                sum += cuda_cast<C>(columns[cuda_planes_offset(j.columns, 0, first + y * j.kernel[1] + x,
                                                               h * j.blocks[1] + w)]);
            }
        }
        to[cuda_planes_at(j.image, here)] = cuda_cast<T>(sum); /* booleans: is one of them set? */
    }
}

CUDA_KERNEL(cuda_col2im) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    fold_job j;
    if (!fold_read(k, &j, out, x)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (out->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((image_of_columns<T, C>), cuda_blocks_of(out->numel), CUDA_THREADS,                      \
                    (cudaStream_t)k->stream, j, (const T *)rl_const_data(x), (T *)rl_data(out, RL_WRITE));   \
        break;
        CUDA_FLOAT_DTYPES(X)
        X(RL_BOOL, cuda_bool, int64_t)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
