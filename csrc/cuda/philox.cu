/* Where a call stands in its generator's stream: Note [Device draws]. */
#include "philox.h"
#include "device.h"

static rl_generator *generator_of(rl_call *k) {
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tag == RL_RNG) return k->arg[i].u.g;
    rl_fail(k, RL_RUNTIME, "a random operator was called without a generator");
    return nullptr;
}

/* how many threads PyTorch's kernels have at most: all that the GPU holds at once */
static int64_t most_threads(const rl_call *k) {
    int processors = 0, threads = 0;
    if (cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, k->device_index) != cudaSuccess ||
        cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, k->device_index) !=
            cudaSuccess)
        return CUDA_THREADS;
    return (int64_t)processors * (threads / CUDA_THREADS) * CUDA_THREADS;
}

static rl_status take(rl_call *k, cuda_draws *d, uint64_t draws) {
    rl_generator *g = generator_of(k);
    if (!g) return RL_FAIL;
    d->seed = g->seed;
    d->counter = g->offset / 4;
    g->offset += 4 * draws;
    return RL_OK;
}

rl_status cuda_draws_take(rl_call *k, cuda_draws *d, int64_t n, int each, bool apart) {
    const int64_t all = (n + CUDA_THREADS - 1) / CUDA_THREADS * CUDA_THREADS, most = most_threads(k);
    d->threads = all < most ? all : most;
    d->apart = apart;
    return take(k, d, (uint64_t)((n - 1) / (d->threads * each) + 1));
}

rl_status cuda_draws_take_each(rl_call *k, cuda_draws *d, int64_t n) {
    d->threads = (n + CUDA_THREADS - 1) / CUDA_THREADS * CUDA_THREADS;
    d->apart = false;
    return take(k, d, 3); /* as PyTorch: 10, in fours */
}
