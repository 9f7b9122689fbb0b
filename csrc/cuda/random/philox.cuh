/* Random numbers of a device: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011), a function of seed and
 * counter, with the counters that PyTorch's kernels take.
 *
 * Note [Device draws]
 *
 *   counter   [ offset / 4 + n | thread ]  128 bits       key   [ seed ]
 *                            │       │
 *   the n-th draw of a thread ┘      └ one of `threads`, of which each draw gives 4 words of 32 bits
 *
 *   word j of draw n      element (n * each + j) * threads + thread      where they lie `apart`
 *                         element (n * threads + thread) * each + j      elsewhere
 *
 * `threads` is at most what the GPU holds at once, as in PyTorch, so that large tensors differ between models
 * of GPU.
 *
 * Note [Words of a generator]
 *
 *   host     generator   { seed, offset }                 the truth: what get_state() answers
 *   device   words       { seed, offset }  of each (generator, stream)
 *   launch   (words, further)              draws from words->offset + further
 *
 * A call reserves its draws on the host: it moves the generator's offset on, by numbers that depend on sizes
 * alone. So calls on two streams have disjoint counters, whatever order they run in, and nobody asks the
 * device where it stands. Kernels read the seed and an offset from device memory, and what follows by value.
 * Who fills the words anew before the launches are made again, as a graph's replay would, gets new numbers
 * from them.
 *
 * Words belong to one stream: they are written there, before its first draw and where a seed or a state was
 * set since, and read there alone. So the order of the stream is all that they need, two streams share none,
 * and draws that were launched before manual_seed() read what they should. Nothing that lets other threads
 * run Python stands between a reservation and its launch. Words are never given back: 16 bytes for each pair
 * that ever drew, and a generator at the address of one that has died takes over its words. */
#ifndef RL_CUDA_PHILOX_H
#define RL_CUDA_PHILOX_H
#include "cuda/strided_iterator.cuh"

typedef struct {
    uint64_t seed, offset;
} cuda_draw_words;
typedef struct {
    const cuda_draw_words *words;
    uint64_t further; /* what the first draw is beyond their offset */
    int64_t threads;
    bool apart;
} cuda_draws;
/* One generator's next draws for n elements, `each` from one draw: the launch has `blocks`. After
 * rl_cuda_begin. */
rl_status cuda_draws_take(rl_call *k, cuda_draws *d, int64_t n, int each, bool apart);
/* ... where each of n elements has a stream of its own, of so many draws: see cuda_own_draws */
rl_status cuda_draws_take_each(rl_call *k, cuda_draws *d, int64_t n, unsigned draws);
static inline unsigned cuda_draws_blocks(const cuda_draws *d) {
    return (unsigned)(d->threads / CUDA_THREADS);
}

__host__ __device__ inline void cuda_philox_round(uint32_t *c, uint32_t low, uint32_t high) {
    const uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
    const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ low, (uint32_t)b,
                              (uint32_t)(a >> 32) ^ c[3] ^ high, (uint32_t)a};
    for (int i = 0; i < 4; i++) c[i] = next[i];
}
/* four words */
__host__ __device__ inline void cuda_philox(uint64_t seed, uint64_t n, uint64_t thread, uint32_t *words) {
    uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    words[0] = (uint32_t)n;
    words[1] = (uint32_t)(n >> 32);
    words[2] = (uint32_t)thread;
    words[3] = (uint32_t)(thread >> 32);
    for (int round = 0; round < 10; round++, low += 0x9e3779b9u, high += 0xbb67ae85u)
        cuda_philox_round(words, low, high);
}

static __device__ inline uint64_t cuda_draws_counter(const cuda_draws &d) {
    return (d.words->offset + d.further) / 4;
}

/* ---- words to numbers, as curand makes them ---- */
enum { CUDA_FLOATS = 4, CUDA_DOUBLES = 2 }; /* of one draw */
/* of (0, 1] */
__device__ inline float cuda_unit(uint32_t word) {
    return fmaf((float)word, 0x1p-32f, 0x1p-33f);
}
__device__ inline double cuda_unit(uint32_t low, uint32_t high) {
    return fma((double)((uint64_t)low ^ (uint64_t)high << 21), 0x1p-53, 0x1p-54);
}
template <class C> __device__ C cuda_unit_of(const uint32_t *words, int j);
template <> __device__ inline float cuda_unit_of<float>(const uint32_t *words, int j) {
    return cuda_unit(words[j]);
}
template <> __device__ inline double cuda_unit_of<double>(const uint32_t *words, int j) {
    return cuda_unit(words[2 * j], words[2 * j + 1]);
}
template <class C, int each> __device__ void cuda_units(const uint32_t *words, C (&u)[each]) {
    for (int j = 0; j < each; j++) u[j] = cuda_unit_of<C>(words, j);
}
/* of the standard normal distribution, by Box and Muller; the angle's functions are the GPU's quick ones, as
 * in curand, or else the numbers would not be PyTorch's */
#ifdef __CUDACC__
#define CUDA_SINE_AND_COSINE __sincosf
#else
#define CUDA_SINE_AND_COSINE sincosf
#endif
__device__ inline void cuda_normals(const uint32_t *words, float (&z)[CUDA_FLOATS]) {
    const float turn = 6.2831855f * 0x1p-32f;
    for (int j = 0; j < CUDA_FLOATS; j += 2) {
        const float radius = sqrtf(-2.0f * logf(cuda_unit(words[j])));
        float sine, cosine;
        CUDA_SINE_AND_COSINE(fmaf((float)words[j + 1], turn, turn / 2), &sine, &cosine);
        z[j] = radius * sine;
        z[j + 1] = radius * cosine;
    }
}
__device__ inline void cuda_normals(const uint32_t *words, double (&z)[CUDA_DOUBLES]) {
    const double radius = sqrt(-2.0 * log(cuda_unit(words[0], words[1])));
    double sine, cosine;
    sincospi(2 * cuda_unit(words[2], words[3]), &sine, &cosine);
    z[0] = radius * sine;
    z[1] = radius * cosine;
}

/* the next of several numbers comes to the front: a loop over them need not be unrolled */
template <class T, int n> __device__ void cuda_turn(T (&x)[n]) {
    const T first = x[0];
    for (int j = 0; j + 1 < n; j++) x[j] = x[j + 1];
    x[n - 1] = first;
}

/* put(words, i, step) for each draw of this thread: its elements are i, i + step ..., as far as there are n
 */
template <int each, class Put> __device__ void cuda_draw(const cuda_draws &d, int64_t n, Put put) {
    const int64_t thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t step = d.apart ? d.threads : 1, turn = d.threads * each;
    const uint64_t seed = d.words->seed;
    uint64_t counter = cuda_draws_counter(d);
    for (int64_t i = d.apart ? thread : thread * each; i < n; i += turn, counter++) {
        uint32_t words[4];
        cuda_philox(seed, counter, (uint64_t)thread, words);
        put(words, i, step);
    }
}
#endif
