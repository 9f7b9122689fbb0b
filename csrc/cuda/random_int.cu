/* Random integers and permutations. Note [Device draws] */
#include "device.h"
#include "philox.h"
#include "kernels/shared/random_range.h"

/* word j of a draw, or the j-th pair of them, in the range */
static __device__ uint64_t below(const uint32_t *words, int j, const rl_random_range &r) {
    if (!r.is_wide) return r.range ? words[j] % (uint32_t)r.range : words[j];
    const uint64_t wide = (uint64_t)words[2 * j] << 32 | words[2 * j + 1];
    return r.range ? wide % r.range : wide;
}

template <int each>
__global__ void __launch_bounds__(CUDA_THREADS)
    random_integers(cuda_draws d, cuda_walk w, void *out, int dtype, rl_random_range r) {
    cuda_draw<each>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        CUDA_UNROLL
        for (int j = 0; j < each; j++, i += step) {
            int64_t at[1];
            if (i >= w.numel) break;
            cuda_walk_seek(w, i, at);
            cuda_store<int64_t>(dtype, out, at[0], (int64_t)(below(words, j, r) + (uint64_t)r.from));
        }
    });
}

template <int each>
static rl_status launch_integers(rl_call *k, const cuda_walk &w, const rl_random_range &r) {
    const rl_view *out = k->out[0];
    cuda_draws d;
    if (cuda_draws_take(k, &d, w.numel, each, true) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((random_integers<each>), cuda_draws_blocks(&d), CUDA_THREADS, (cudaStream_t)k->stream, d, w,
                rl_data(out, RL_WRITE), out->dtype, r);
    return rl_cuda_end(k);
}

static rl_status fill_integers(rl_call *k, const rl_random_range &r) {
    const rl_view *out = k->out[0];
    cuda_walk w;
    if (!cuda_walk_make_along(&w, &out, 1)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    return r.is_wide ? launch_integers<CUDA_DOUBLES>(k, w, r) : launch_integers<CUDA_FLOATS>(k, w, r);
}

CUDA_KERNEL(cuda_randint) {
    rl_random_range r;
    return rl_random_between(k, false, &r) == RL_OK ? fill_integers(k, r) : RL_FAIL;
}
CUDA_KERNEL(cuda_randint_like_tensor) { /* (input, high), which lies on the CPU */
    rl_random_range r;
    int64_t high;
    cuda_number_get(k->arg[1].u.t, &high);
    return rl_random_below(k, high, &r) == RL_OK ? fill_integers(k, r) : RL_FAIL;
}
CUDA_KERNEL(cuda_random) {
    rl_random_range r;
    return rl_random_of_dtype(k, &r) == RL_OK ? fill_integers(k, r) : RL_FAIL;
}

/* ---- permutations ----
 * Element i is what a Feistel network of random keys makes of i, over as many bits as n needs; what falls
 * outside goes through again, until it comes back inside (T. Mitchell et al., 2021). A few elements are
 * shuffled by one thread instead, so that all orders of them are equally likely. */
enum { FEW = 512, ROUNDS = 24 };

__global__ void __launch_bounds__(1) shuffle_few(cuda_draws d, int64_t n, void *out, int dtype) {
    const uint64_t seed = d.words->seed, counter = cuda_draws_counter(d);
    CUDA_SHARED(uint16_t, order, [FEW]); /* local memory would be that of every thread there can be */
    for (int i = 0; i < n; i++) order[i] = (uint16_t)i;
    for (int i = 0; i + 1 < n; i++) {
        uint32_t words[4];
        cuda_philox(seed, counter, (uint64_t)i, words);
        const uint64_t word = (uint64_t)words[0] << 32 | words[1];
        const int pick = i + (int)(word % (uint64_t)(n - i));
        const uint16_t taken = order[pick];
        order[pick] = order[i];
        cuda_store<int64_t>(dtype, out, i, taken);
    }
    cuda_store<int64_t>(dtype, out, n - 1, order[n - 1]);
}

typedef struct {
    int high, low; /* bits of the two halves; they take turns */
} network;

static __device__ uint32_t scramble(uint32_t x, uint32_t key) {
    const uint64_t product = (uint64_t)0xd2511f53u * (x ^ key);
    const uint32_t y = (uint32_t)(product >> 32) ^ (uint32_t)product ^ key;
    return (y ^ y >> 15) * 0x9e3779b1u;
}

static __device__ uint64_t through(const network &f, const uint32_t *keys, uint64_t x) {
    uint32_t high = (uint32_t)(x >> f.low), low = (uint32_t)(x & (((uint64_t)1 << f.low) - 1));
    CUDA_ROLLED
    for (int round = 0; round < ROUNDS; round += 2) {
        high ^= scramble(low, keys[round]) >> (32 - f.high);
        low ^= scramble(high, keys[round + 1]) >> (32 - f.low);
    }
    return (uint64_t)high << f.low | low;
}

/* the keys of each block, by its first threads */
__global__ void __launch_bounds__(CUDA_THREADS)
    shuffle_many(cuda_draws d, network f, int64_t n, void *out, int dtype) {
    CUDA_SHARED(uint32_t, keys, [ROUNDS]);
    if (threadIdx.x < ROUNDS / 4) {
        uint32_t words[4];
        cuda_philox(d.words->seed, cuda_draws_counter(d), threadIdx.x * 4, words);
        for (int j = 0; j < 4; j++) keys[threadIdx.x * 4 + j] = words[j];
    }
    __syncthreads();
    CUDA_EACH_OF(i, n) {
        uint64_t x = (uint64_t)i;
        do x = through(f, keys, x);
        while (x >= (uint64_t)n);
        cuda_store<int64_t>(dtype, out, i, (int64_t)x);
    }
}

static network network_of(int64_t n) {
    const int bits = 64 - __builtin_clzll((uint64_t)n - 1);
    return {bits - bits / 2, bits / 2};
}

CUDA_KERNEL(cuda_randperm) {
    const rl_view *out = k->out[0];
    const int64_t n = out->numel;
    cuda_draws d;
    if (rl_random_holds(k, out->dtype, n) != RL_OK) return RL_FAIL;
    if (n == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK || cuda_draws_take_each(k, &d, n, 3) != RL_OK) return RL_FAIL;
    void *to = rl_data(out, RL_WRITE);
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (n <= FEW)
        CUDA_LAUNCH_BLOCKS(shuffle_few, 1, 1, 0, stream, d, n, to, out->dtype);
    else
        CUDA_LAUNCH_BLOCKS(shuffle_many, cuda_blocks_of(n), CUDA_THREADS, 0, stream, d, network_of(n), n, to,
                           out->dtype);
    return rl_cuda_end(k);
}
