/* Where a call stands in its generator's stream: Note [Device draws]. */
#include "cuda/runtime/runtime.h"
#include "philox.cuh"
#include <map>
#include <vector>

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

/* ---- Note [Words of a generator] ---- */
enum { PAGE = 256 };
struct written { /* on the host: what the words of a pair have become when their stream gets there */
    cuda_draw_words *at, now;
    bool is_written;
};
typedef std::pair<const rl_generator *, cudaStream_t> owner;
static std::map<owner, written> words_of[CUDA_DEVICES];
static std::vector<cuda_draw_words *> unused[CUDA_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both; nobody waits under it */

static bool has_unused(int index) {
    mutex_guard guard(&lock);
    return !unused[index].empty();
}

static rl_status add_page(int index) {
    void *page = nullptr;
    cudaError_t error;
    {
        apart_from_python apart;
        error = cudaMalloc(&page, PAGE * sizeof(cuda_draw_words));
    }
    if (rl_cuda_check(error) != RL_OK) return RL_FAIL;
    mutex_guard guard(&lock);
    for (int i = PAGE - 1; i >= 0; i--) unused[index].push_back((cuda_draw_words *)page + i);
    return RL_OK;
}

/* the words of a pair, or NULL where others took what was unused; under the lock */
static written *pair_of(int index, const owner &pair) {
    const auto found = words_of[index].find(pair);
    if (found != words_of[index].end()) return &found->second;
    if (unused[index].empty()) return nullptr;
    written fresh = {unused[index].back(), {}, false};
    unused[index].pop_back();
    return &(words_of[index][pair] = fresh);
}

__global__ void __launch_bounds__(1) write_words(cuda_draw_words *to, cuda_draw_words words) {
    to->seed = words.seed;
    to->offset = words.offset;
}

static rl_status take(rl_call *k, cuda_draws *d, uint64_t draws) {
    rl_generator *g = generator_of(k);
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (!g) return RL_FAIL;
    if (!has_unused(k->device_index) && add_page(k->device_index) != RL_OK) return rl_cuda_fail(k);
    mutex_guard guard(&lock);
    written *words = pair_of(k->device_index, owner(g, stream));
    if (!words) return rl_fail(k, RL_RUNTIME, "no memory for the words of a generator");
    if (!words->is_written || words->now.seed != g->seed || words->now.offset > g->offset) {
        words->now = cuda_draw_words{g->seed, g->offset};
        words->is_written = false;
        CUDA_LAUNCH(write_words, 1, 1, stream, words->at, words->now);
        if (rl_cuda_sent(k) != RL_OK) return RL_FAIL;
        words->is_written = true;
    }
    d->words = words->at;
    d->further = g->offset - words->now.offset;
    g->offset += 4 * draws;
    return RL_OK;
}

rl_status cuda_draws_take(rl_call *k, cuda_draws *d, int64_t n, int each, bool apart) {
    const int64_t all = (n + CUDA_THREADS - 1) / CUDA_THREADS * CUDA_THREADS, most = most_threads(k);
    d->threads = all < most ? all : most;
    d->apart = apart;
    return take(k, d, (uint64_t)((n - 1) / (d->threads * each) + 1));
}

rl_status cuda_draws_take_each(rl_call *k, cuda_draws *d, int64_t n, unsigned draws) {
    d->threads = (n + CUDA_THREADS - 1) / CUDA_THREADS * CUDA_THREADS;
    d->apart = false;
    return take(k, d, draws);
}
