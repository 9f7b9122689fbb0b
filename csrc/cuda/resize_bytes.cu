/* Filters over bytes, in PyTorch's integers: weights of 16 bits, rows before columns, bytes in between. */
#include "reduce.h"
#include "resize.h"
#include <math.h>

typedef struct {
    int16_t *weight; /* as the table's; NULL: the dim stays as it is */
    int *shift;
} byte_taps;

static __device__ inline double largest_weight(const resize_taps &t, int64_t out) {
    double most = 0;
    for (int64_t i = threadIdx.x; i < out; i += blockDim.x)
        for (int64_t j = 0; j < t.end[i] - t.start[i]; j++)
            most = t.weight[i * t.most + j] > most ? t.weight[i * t.most + j] : most;
    return cuda_block_join(most, cuda_largest());
}

/* as many bits as the largest weight leaves */
__global__ void __launch_bounds__(CUDA_THREADS) round_weights(resize_taps t, int64_t out, byte_taps to) {
    const double most = largest_weight(t, out);
    int shift = 0;
    while (shift < 22 && 0.5 + ldexp(most, shift + 1) < 1 << 15) shift++;
    if (threadIdx.x == 0) *to.shift = shift;
    for (int64_t i = threadIdx.x; i < out; i += blockDim.x)
        for (int64_t j = 0; j < t.end[i] - t.start[i]; j++)
            to.weight[i * t.most + j] = (int16_t)round(ldexp(t.weight[i * t.most + j], shift));
}

static rl_status byte_taps_make(rl_call *k, const resize_taps &t, int64_t out, byte_taps *to) {
    *to = byte_taps();
    if (!t.start) return RL_OK;
    to->weight = (int16_t *)k->svc->scratch(k, RL_COUNT(out, t.most), sizeof *to->weight);
    to->shift = (int *)k->svc->scratch(k, RL_COUNT(1), sizeof *to->shift);
    if (!to->weight || !to->shift || rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH_BLOCKS(round_weights, 1, CUDA_THREADS, 0, (cudaStream_t)k->stream, t, out, *to);
    return rl_cuda_end(k);
}

__global__ void __launch_bounds__(CUDA_THREADS)
    filter_bytes(cuda_planes in, cuda_planes out, int dim, resize_taps t, byte_taps bytes,
                 const uint8_t *from, uint8_t *to) {
    CUDA_EACH(i, out) {
        cuda_place here = cuda_planes_seek(out, i);
        uint8_t *target = &to[cuda_planes_at(out, here)];
        const int64_t at = here.at[dim];
        if (!bytes.weight) {
            *target = from[cuda_planes_at(in, here)];
            continue;
        }
        here.at[dim] = t.start[at];
        const uint8_t *x = &from[cuda_planes_at(in, here)];
        const int16_t *weight = bytes.weight + at * t.most;
        int32_t sum = 1 << *bytes.shift >> 1;
        for (int64_t j = 0; j < t.end[at] - t.start[at]; j++) sum += weight[j] * x[j * in.step[dim]];
        sum >>= *bytes.shift;
        *target = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

rl_status cuda_resize_bytes(rl_call *k, const cuda_planes &in, const cuda_planes &out,
                            const resize_taps taps[3]) {
    const int high = 3, wide = 4;
    cuda_planes rows = in;
    byte_taps along_row, along_column;
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (taps[0].start || taps[1].is_turned) return RL_UNSUPPORTED; /* pictures alone have bytes */
    rows.size[wide] = out.size[wide];
    rows = cuda_planes_dense(&rows);
    rows.numel = in.numel / in.size[wide] * out.size[wide];
    uint8_t *between = (uint8_t *)k->svc->scratch(k, RL_COUNT(rows.numel), 1);
    if (!between || byte_taps_make(k, taps[2], out.size[wide], &along_row) != RL_OK ||
        byte_taps_make(k, taps[1], out.size[high], &along_column) != RL_OK)
        return RL_FAIL;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(filter_bytes, cuda_blocks_of(rows.numel), CUDA_THREADS, stream, in, rows, wide, taps[2],
                along_row, (const uint8_t *)rl_const_data(rl_in(k, 0)), between);
    CUDA_LAUNCH(filter_bytes, cuda_blocks_of(out.numel), CUDA_THREADS, stream, rows, out, high, taps[1],
                along_column, (const uint8_t *)between, (uint8_t *)rl_data(k->out[0], RL_WRITE));
    return rl_cuda_end(k);
}
