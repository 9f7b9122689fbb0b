/* Kernels that are wrong in one way each, and their like that are right: `broken_kernels NAME` runs one on
 * the simulated device and prints what the checks found. Built and read by test_checks.py. */
#include "cuda/launch.cuh"
#include "cuda/sim/control.h"
#include <cstdio>
#include <cstring>

enum { N = 256 };
static float *a, *b, *elsewhere; /* a: N floats that are set; b: N that nobody has written */
static cudaStream_t side;

#define KERNEL __global__ static void __launch_bounds__(N)
#define AT     (blockIdx.x * blockDim.x + threadIdx.x)

/* ---- within a block ---- */
template <bool waits> KERNEL neighbours(float *to, const float *from) {
    CUDA_SHARED(float, tile, [N]);
    tile[threadIdx.x] = from[threadIdx.x];
    if (waits) __syncthreads();
    to[threadIdx.x] = tile[(threadIdx.x + 40) % N];
}
template <bool waits> KERNEL lanes(float *to, const float *from) {
    CUDA_SHARED(float, tile, [N]);
    tile[threadIdx.x] = from[threadIdx.x];
    if (waits) __syncwarp();
    to[threadIdx.x] = tile[threadIdx.x ^ 1];
}
KERNEL warps_by_syncwarp(float *to, const float *from) {
    CUDA_SHARED(float, tile, [N]);
    tile[threadIdx.x] = from[threadIdx.x];
    __syncwarp();
    to[threadIdx.x] = tile[(threadIdx.x + 32) % N];
}
template <bool waits> KERNEL reused(float *to, const float *from) {
    CUDA_SHARED(float, tile, [N]);
    for (int i = 0; i < 2; i++) {
        tile[threadIdx.x] = from[threadIdx.x];
        __syncthreads();
        to[threadIdx.x] = tile[N - 1 - threadIdx.x];
        if (waits) __syncthreads();
    }
}
template <bool waits> KERNEL read_by_all(float *to, const float *from) {
    CUDA_SHARED(float, one, [1]);
    if (threadIdx.x == 0) one[0] = from[0];
    __syncthreads();
    float x = one[0];
    if (waits) __syncthreads();
    if (threadIdx.x == 77) one[0] = x + 1;
    to[threadIdx.x] = x;
}
KERNEL same_byte(float *to, const float *) {
    ((unsigned char *)to)[0] = (unsigned char)threadIdx.x;
}
KERNEL own_bytes(float *to, const float *) {
    ((unsigned char *)to)[threadIdx.x] = (unsigned char)threadIdx.x;
    ((unsigned char *)to)[threadIdx.x]++;
}
KERNEL word_over_bytes(float *to, const float *) {
    if (threadIdx.x == 0) to[0] = 1;
    if (threadIdx.x == 1) ((unsigned char *)to)[3] = 1;
}
KERNEL diverges(float *to, const float *) {
    if (threadIdx.x < 7) __syncthreads();
    to[threadIdx.x] = 1;
}
KERNEL two_barriers(float *to, const float *) {
    if (threadIdx.x < 7)
        __syncthreads();
    else
        __syncthreads();
    to[threadIdx.x] = 1;
}
KERNEL half_a_warp(float *to, const float *) {
    float x = (float)threadIdx.x;
    if (threadIdx.x & 1) x = __shfl_xor_sync(0xffffffffu, x, 1);
    to[threadIdx.x] = x;
}
KERNEL wrong_mask(float *to, const float *) {
    to[threadIdx.x] = __shfl_sync(0xffu, (float)threadIdx.x, 0);
}
KERNEL returns_early(float *to, const float *) {
    if (threadIdx.x >= 200) return;
    __syncthreads();
    to[threadIdx.x] = 1;
}
template <unsigned MASK> KERNEL from_lane_20(float *to, const float *) {
    float x = (float)threadIdx.x;
    if (MASK >> (threadIdx.x & 31) & 1) x = __shfl_sync(MASK, x, 20);
    to[threadIdx.x] = x;
}
template <bool all> KERNEL half_votes(float *to, const float *) {
    if (all || threadIdx.x & 1) to[threadIdx.x] = __any_sync(0xffffffffu, threadIdx.x == 3) ? 1.0f : 0.0f;
}
KERNEL waits_alone(float *to, const float *) {
    __syncthreads();
    to[threadIdx.x] = 1;
}
KERNEL stack_of_another(float *to, const float *) {
    CUDA_SHARED(float *, shown, [1]);
    float own = 1;
    if (threadIdx.x == 0) shown[0] = &own;
    __syncthreads();
    to[threadIdx.x] = *shown[0];
}

/* ---- between blocks ---- */
KERNEL blocks_one_place(float *to, const float *) {
    to[threadIdx.x] = (float)blockIdx.x;
}
KERNEL blocks_read_write(float *to, const float *) {
    if (blockIdx.x == 1)
        to[0] = 1;
    else if (to[0] > 5)
        to[AT] = 2;
}
KERNEL atomics(float *to, const float *) {
    atomicAdd(to, 1.0f);
}
KERNEL atomic_and_plain(float *to, const float *) {
    if (threadIdx.x == 0) to[0] = 1;
    if (threadIdx.x) atomicAdd(to, 1.0f);
}
KERNEL plain_between_atomics(float *to, const float *) { /* threads run in any order: both updates hide it */
    if (threadIdx.x == 31)
        to[0] = 1;
    else
        atomicAdd(to, 1.0f);
}

/* ---- addresses ---- */
KERNEL simple(float *to, const float *from) {
    if (AT < N) to[AT] = from[AT];
}
KERNEL over_the_end(float *to, const float *from) {
    to[AT + 1] = from[AT];
}
KERNEL before_the_start(float *to, const float *from) {
    to[AT] = from[(int64_t)AT - 1];
}
KERNEL shared_over_the_end(float *to, const float *) {
    CUDA_SHARED(float, tile, [N]);
    tile[threadIdx.x + 1] = 1;
    to[threadIdx.x] = 1;
}
KERNEL unset_shared(float *to, const float *) {
    CUDA_SHARED(float, tile, [N]);
    to[threadIdx.x] = tile[threadIdx.x];
}
KERNEL dynamic_over_the_end(float *to, const float *) {
    CUDA_DYNAMIC_SHARED(float, rows);
    rows[threadIdx.x + 1] = 1;
    to[threadIdx.x] = 1;
}
KERNEL dynamic(float *to, const float *from) {
    CUDA_DYNAMIC_SHARED(float, rows);
    rows[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = rows[N - 1 - threadIdx.x];
}
KERNEL vector(float *to, const float *from, int shift) {
    if (AT < N / 4 - 1) {
        const float4 x = *(const float4 *)(from + 4 * AT + shift);
        to[4 * AT] = x.x + x.w;
    }
}

#define RUN(kernel, ...) CUDA_LAUNCH_BLOCKS((kernel), grid, N, shared, stream, __VA_ARGS__)
#define CASE(name, kernel)                                                                                   \
    if (!strcmp(what, name)) RUN(kernel, b, a)
static void run(const char *what, unsigned grid, size_t shared, cudaStream_t stream) {
    float host[N];
    CASE("neighbours", neighbours<true>);
    CASE("neighbours without barrier", neighbours<false>);
    CASE("lanes", lanes<true>);
    CASE("lanes without barrier", lanes<false>);
    CASE("warps by __syncwarp", warps_by_syncwarp);
    CASE("reused", reused<true>);
    CASE("reused without barrier", reused<false>);
    CASE("read by all", read_by_all<true>);
    CASE("read by all without barrier", read_by_all<false>);
    CASE("same byte", same_byte);
    CASE("own bytes", own_bytes);
    CASE("word over bytes", word_over_bytes);
    CASE("diverges", diverges);
    CASE("two barriers", two_barriers);
    CASE("half a warp", half_a_warp);
    CASE("wrong mask", wrong_mask);
    CASE("returns early", returns_early);
    CASE("lane outside of the mask", from_lane_20<0xffffu>);
    CASE("lane of the mask", from_lane_20<0xfffff0u>);
    CASE("half of the votes", half_votes<false>);
    CASE("all votes", half_votes<true>);
    CASE("stack of another", stack_of_another);
    CASE("over the end", over_the_end);
    CASE("before the start", before_the_start);
    CASE("shared over the end", shared_over_the_end);
    CASE("unset shared", unset_shared);
    if (!strcmp(what, "waits alone")) CUDA_LAUNCH((waits_alone), 1, N, stream, b, a);
    if (!strcmp(what, "atomics")) RUN(atomics, a, a);
    if (!strcmp(what, "atomic and plain")) RUN(atomic_and_plain, a, a);
    if (!strcmp(what, "plain between atomics")) RUN(plain_between_atomics, a, a);
    if (!strcmp(what, "unset")) RUN(simple, a, b);
    if (!strcmp(what, "simple")) RUN(simple, b, a);
    if (!strcmp(what, "memory of the host")) RUN(simple, b, host);
    if (!strcmp(what, "too many threads")) CUDA_LAUNCH((simple), 1, 2048, stream, b, a);
    if (!strcmp(what, "no block")) CUDA_LAUNCH((simple), 0, N, stream, b, a);
    if (!strcmp(what, "a warp with 16 lanes"))
        CUDA_LAUNCH_BLOCKS((from_lane_20<~0u>), 1, 16, 0, stream, b, a);
    if (!strcmp(what, "too many blocks along y")) CUDA_LAUNCH((simple), dim3(1, 65536), N, stream, b, a);
    if (!strcmp(what, "too many blocks along z")) CUDA_LAUNCH((simple), dim3(1, 1, 65536), N, stream, b, a);
    if (!strcmp(what, "too many threads along z")) CUDA_LAUNCH((simple), 1, dim3(1, 1, 65), stream, b, a);
    if (!strcmp(what, "misaligned")) RUN(vector, b, a, 1);
    if (!strcmp(what, "aligned")) RUN(vector, b, a, 4);
    grid = 4;
    if (!strcmp(what, "blocks one place")) RUN(blocks_one_place, b, a);
    if (!strcmp(what, "blocks read and write")) RUN(blocks_read_write, a, a);
    grid = 1;
    shared = N * sizeof(float);
    const size_t large = 64 << 10;
    if (!strcmp(what, "shared memory not asked for")) CUDA_LAUNCH_BLOCKS(dynamic, 1, N, large, stream, b, a);
    if (!strcmp(what, "shared memory asked for")) {
        cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)large);
        CUDA_LAUNCH_BLOCKS(dynamic, 1, N, large, stream, b, a);
    }
    if (!strcmp(what, "shared memory beyond all")) {
        if (cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) !=
            cudaSuccess)
            printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    }
    if (!strcmp(what, "dynamic over the end")) RUN(dynamic_over_the_end, b, a);
}

/* ---- streams, events, blocks, devices ---- */
static void run_two(const char *what) {
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    const unsigned grid = 1;
    const size_t shared = 0;
    cudaStream_t stream = nullptr;
    if (!strncmp(what, "two streams", 11)) {
        RUN(simple, b, a);
        if (!strcmp(what, "two streams by an event")) {
            cudaEventRecord(event, stream);
            cudaStreamWaitEvent(side, event, 0);
        }
        stream = side;
        RUN(simple, a, b);
    } else if (!strncmp(what, "copy after a kernel", 19)) {
        RUN(simple, b, a);
        if (!strcmp(what, "copy after a kernel, by an event")) {
            cudaEventRecord(event, stream);
            cudaStreamWaitEvent(side, event, 0);
        }
        cudaMemcpyAsync(a, b, N * sizeof(float), cudaMemcpyDeviceToDevice, side);
    } else if (!strncmp(what, "kernel after a copy", 19)) {
        cudaMemcpyAsync(b, a, N * sizeof(float), cudaMemcpyDeviceToDevice, side);
        if (!strcmp(what, "kernel after a copy, by an event")) {
            cudaEventRecord(event, side);
            cudaStreamWaitEvent(stream, event, 0);
        }
        RUN(simple, a, b);
    } else if (!strcmp(what, "copy over the end")) {
        cudaMemcpyAsync(b, a, (N + 1) * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    } else if (!strcmp(what, "read by the host")) {
        RUN(simple, b, a);
        cudaStreamSynchronize(stream);
        printf("%g\n", (double)b[0]);
    } else if (!strncmp(what, "ended", 5)) {
        RUN(simple, b, a);
        if (!strcmp(what, "ended in order")) cudaStreamSynchronize(stream);
        cuda_sim_block_end(b, side);
    } else if (!strcmp(what, "used after its end")) {
        cuda_sim_block_end(b, stream);
        RUN(simple, b, a);
    } else if (!strncmp(what, "another device", 14)) {
        if (!strcmp(what, "another device, a peer")) cudaDeviceEnablePeerAccess(1, 0);
        RUN(simple, elsewhere, a);
    } else if (!strcmp(what, "stream of another device")) {
        cudaSetDevice(1);
        stream = side;
        RUN(simple, elsewhere, elsewhere);
        printf("%s\n", cudaGetErrorName(cudaGetLastError()));
        cudaSetDevice(0);
    }
}

int main(int, char **words) {
    static float set[N];
    cudaSetDevice(1);
    cudaMalloc((void **)&elsewhere, sizeof set);
    cudaSetDevice(0);
    void *memory;
    cudaMalloc(&memory, 1 << 16);
    a = (float *)memory;
    b = a + 1024;
    cuda_sim_block_begin(a, sizeof set, nullptr);
    cuda_sim_block_begin(b, sizeof set, nullptr);
    cudaMemcpy(a, set, sizeof set, cudaMemcpyHostToDevice);
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cuda_sim_seed(words[2] ? strtoull(words[2], nullptr, 10) : 0);
    run(words[1], 1, 0, nullptr);
    run_two(words[1]);
    cudaDeviceSynchronize();
    for (int i = 0; i < cuda_sim_reports(); i++) printf("%s\n", cuda_sim_report(i));
    return 0;
}
