/* The kernel that works element by element, and how the host launches it: Note [Elementwise kernels]. */
#ifndef RL_CUDA_ELEMENTWISE_H
#define RL_CUDA_ELEMENTWISE_H
#include "block_reduce.cuh"
#include "device.h"
#include "strided_iterator.cuh"

/* Note [Elementwise kernels]
 * Operators of one family share a kernel for each type that they compute in: float, double, int64. The family
 * is a struct of the launch's numbers that turns V elements of each input into V results, by a switch over
 * the operator that is the same in every thread:
 *
 *     template <class C> struct pairs : cuda_job<C> {
 *         enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 0 };
 *         template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
 *             switch (this->op) { CUDA_CASE_2(MUL, a * b) ... }
 *
 * A block takes a tile of VECTOR elements for each thread: neighbours at once where all lies in one strip,
 * else one after the other those that stand CUDA_THREADS apart, so that a warp still touches neighbours. */
enum { CUDA_NUMBERS = 3 };
template <class C> struct cuda_job {
    int op, dtype; /* of the inputs */
    C n[CUDA_NUMBERS];
};
/* numbers of a call, before the dtype chooses among them */
typedef struct {
    double d[CUDA_NUMBERS];
    int64_t i[CUDA_NUMBERS];
} cuda_numbers;

/* `expr` of an element a (and b, c) and the numbers n */
#define CUDA_CASE_OF(name, expr, ...)                                                                        \
    case name:                                                                                               \
        CUDA_UNROLL                                                                                          \
        for (int j = 0; j < V; j++) {                                                                        \
            __VA_ARGS__;                                                                                     \
            y[j] = (expr);                                                                                   \
        }                                                                                                    \
        break;
#define CUDA_CASE_1(name, expr) CUDA_CASE_OF(name, expr, const C a = x[0][j])
#define CUDA_CASE_2(name, expr) CUDA_CASE_OF(name, expr, const C a = x[0][j], b = x[1][j])
#define CUDA_CASE_3(name, expr) CUDA_CASE_OF(name, expr, const C a = x[0][j], b = x[1][j], c = x[2][j])

/* Note [Operators by lines]
 * A list says each operator once: its family, its name, its result, the numbers of its call. From that come
 * its tag family_name, its case and its kernel cuda_name:
 *
 *     #define ACTIVATIONS(X)
 *         X(act, silu, a / (1 + exp(-a)))
 *         X(act, leaky_relu, a > 0 ? a : a * n0, rl_num(k, 1))
 *
 *     enum { ACTIVATIONS(CUDA_TAG) };
 *     switch (this->op) { ACTIVATIONS(CUDA_LINE_1) }
 *     ACTIVATIONS(CUDA_LINE_KERNEL) */
#define CUDA_TAG(family, name, ...)            family##_##name,
#define CUDA_LINE_1(family, name, result, ...) CUDA_CASE_1(family##_##name, result)
#define CUDA_LINE_2(family, name, result, ...) CUDA_CASE_2(family##_##name, result)
#define CUDA_LINE_KERNEL(family, name, result, ...)                                                          \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return cuda_elementwise<family>(k, family##_##name, {{__VA_ARGS__}, {}});                            \
    }

typedef struct {
    void *at;
    int dtype;
} cuda_result;
template <class C, int N> struct cuda_inputs {
    cuda_operand<C> of[N];
};

/* ---- a tile's part of one thread ---- */
template <class C, int V>
__device__ void cuda_read_vector(const cuda_operand<C> &from, int64_t step, int64_t i, C (&x)[V]) {
    C same[1] = {from.number};
    if (from.at && step != 0) {
        cuda_load_vector(from.dtype, from.at, i, x);
        return;
    }
    if (from.at) cuda_load_vector(from.dtype, from.at, 0, same);
    CUDA_UNROLL
    for (int j = 0; j < V; j++) x[j] = same[0];
}

/* the results of elements i to i + V - 1 of one strip */
template <class F, class C, int N, int V>
__device__ void cuda_compute_loop(const cuda_iter &w, const cuda_inputs<C, N> &in, const F &f, int64_t i,
                                  C (&y)[V]) {
    C x[N][V];
    CUDA_UNROLL
    for (int op = 0; op < N; op++) cuda_read_vector(in.of[op], w.step[op + 1][0], i, x[op]);
    f(x, y);
}
/* that of element i, which lies anywhere; where the result goes */
template <class F, class C, int N>
__device__ int64_t cuda_compute_one(const cuda_iter &w, const cuda_inputs<C, N> &in, const F &f, int64_t i,
                                    C (&y)[1]) {
    int64_t at[N + 1];
    C x[N][1];
    cuda_iter_seek(w, i, at);
    CUDA_UNROLL
    for (int op = 0; op < N; op++) cuda_read_vector(in.of[op], 1, at[op + 1], x[op]);
    f(x, y);
    return at[0];
}

/* for each element i of this thread in a tile that is no strip */
#define CUDA_EACH_APART(i, first, n, tile)                                                                   \
    CUDA_ROLLED                                                                                              \
    for (int64_t i = (first) + threadIdx.x; i < (n) && i < (first) + (tile); i += CUDA_THREADS)

template <class F, class C, int N>
__global__ void __launch_bounds__(CUDA_THREADS)
    cuda_elements(cuda_iter w, cuda_result out, cuda_inputs<C, N> in, F f) {
    enum { V = F::VECTOR, TILE = CUDA_THREADS * V };
    for (int64_t first = blockIdx.x * (int64_t)TILE; first < w.numel; first += gridDim.x * (int64_t)TILE) {
        if (V > 1 && w.is_flat && first + TILE <= w.numel) {
            const int64_t i = first + threadIdx.x * V;
            C y[V] = {};
            cuda_compute_loop(w, in, f, i, y);
            cuda_store_vector(out.dtype, out.at, i, y);
            continue;
        }
        CUDA_EACH_APART(i, first, w.numel, TILE) {
            C y[1] = {};
            const int64_t to = cuda_compute_one(w, in, f, i, y);
            cuda_store(out.dtype, out.at, to, y[0]);
        }
    }
}

/* ---- the host's side. views: the result, then what is read; one that is NULL is the number 1 ---- */
template <class F, class C>
static F cuda_job_of(const rl_view *const *views, const cuda_numbers &numbers, int op) {
    F f;
    f.op = op;
    f.dtype = views[1]->dtype;
    for (int i = 0; i < CUDA_NUMBERS; i++)
        f.n[i] = std::is_same<C, int64_t>::value ? (C)numbers.i[i] : (C)numbers.d[i];
    return f;
}
template <class C, int N> static cuda_inputs<C, N> cuda_inputs_of(const rl_view *const *views) {
    cuda_inputs<C, N> in;
    for (int i = 0; i < N; i++)
        in.of[i] = views[i + 1] ? cuda_operand_of<C>(views[i + 1]) : cuda_operand<C>{nullptr, 0, 1};
    return in;
}

template <class F, class C>
static void cuda_elements_launch(const rl_call *k, cuda_iter w, const rl_view *const *views,
                                 const cuda_numbers &numbers, int op) {
    const F f = cuda_job_of<F, C>(views, numbers, op);
    const rl_view *out = views[0];
    if (!cuda_computes_in<C>(out->dtype) && out->dtype != RL_BOOL) w.is_flat = false; /* stored one by one */
    const int64_t tiles = (w.numel + F::VECTOR - 1) / F::VECTOR;
    CUDA_LAUNCH((cuda_elements<F, C, F::INPUTS>), cuda_blocks_of(tiles), CUDA_THREADS,
                (cudaStream_t)k->stream, w, cuda_result{rl_data(out, RL_WRITE), out->dtype},
                (cuda_inputs_of<C, F::INPUTS>(views)), f);
}

template <class C> static bool cuda_can_compute(const rl_view *const *views, int inputs) {
    for (int i = 1; i <= inputs; i++)
        if (views[i] && (!cuda_computes_in<C>(views[i]->dtype) || !cuda_can_read(views[0], views[i])))
            return false;
    return true;
}

template <template <class> class Family>
static rl_status cuda_elementwise(rl_call *k, const rl_view *const *views, int op,
                                  const cuda_numbers &numbers) {
    typedef Family<float> Floats;
    const int inputs = Floats::INPUTS;
    const bool floats = cuda_can_compute<float>(views, inputs),
               doubles = cuda_can_compute<double>(views, inputs),
               ints = Floats::HAS_INTS && cuda_can_compute<int64_t>(views, inputs);
    cuda_iter w;
    if (!floats && !doubles && !ints) return RL_UNSUPPORTED;
    if (!cuda_iter_make_along(&w, views, inputs + 1)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    if (floats)
        cuda_elements_launch<Floats, float>(k, w, views, numbers, op);
    else if (doubles)
        cuda_elements_launch<Family<double>, double>(k, w, views, numbers, op);
    else if constexpr (Floats::HAS_INTS)
        cuda_elements_launch<Family<int64_t>, int64_t>(k, w, views, numbers, op);
    return rl_cuda_end(k);
}

/* of the first arguments, to the first result */
template <template <class> class Family>
static rl_status cuda_elementwise(rl_call *k, int op, const cuda_numbers &numbers = {}) {
    const rl_view *views[CUDA_OPS] = {k->out[0]};
    for (int i = 0; i < Family<float>::INPUTS; i++) views[i + 1] = rl_in(k, i);
    return cuda_elementwise<Family>(k, views, op, numbers);
}

/* One number of all elements: the sum of what a family (Note [Elementwise kernels]) makes of them. First each
 * block's, whose count the sizes alone decide, then that of all blocks: the same bits in every run. */
enum { CUDA_MAX_SUMS = 1024 };

template <class F, class C, int N>
__global__ void __launch_bounds__(CUDA_THREADS) cuda_sums(cuda_iter w, C *sums, cuda_inputs<C, N> in, F f) {
    enum { V = F::VECTOR, TILE = CUDA_THREADS * V };
    C sum = 0;
    for (int64_t first = blockIdx.x * (int64_t)TILE; first < w.numel; first += gridDim.x * (int64_t)TILE) {
        if (V > 1 && w.is_flat && first + TILE <= w.numel) {
            C y[V] = {};
            cuda_compute_loop(w, in, f, first + threadIdx.x * V, y);
            CUDA_UNROLL
            for (int j = 0; j < V; j++) sum += y[j];
            continue;
        }
        CUDA_EACH_APART(i, first, w.numel, TILE) {
            C y[1] = {};
            cuda_compute_one(w, in, f, i, y);
            sum += y[0];
        }
    }
    sum = cuda_block_join(sum, cuda_sum());
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/* the sum over the divisor, or with a negative one: is the sum 0? */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    cuda_total_of(cuda_result out, const C *sums, int n, C divisor) {
    C sum = 0;
    for (int i = threadIdx.x; i < n; i += CUDA_THREADS) sum += sums[i];
    sum = cuda_block_join(sum, cuda_sum());
    if (threadIdx.x == 0) cuda_store(out.dtype, out.at, 0, divisor < 0 ? (C)(sum == 0) : sum / divisor);
}

/* views: the result of one element, then what is read; all: a view of the dims that they stretch to */
template <class F, class C>
static rl_status cuda_total(rl_call *k, const rl_view *const *views, const rl_view *all, int op,
                            const cuda_numbers &numbers, C divisor) {
    const rl_view *iterated[1 + F::INPUTS] = {all}, *out = views[0];
    cuda_iter w;
    for (int i = 1; i <= F::INPUTS; i++) iterated[i] = views[i];
    if (!cuda_can_compute<C>(views, F::INPUTS) || !cuda_iter_make_along(&w, iterated, 1 + F::INPUTS))
        return RL_UNSUPPORTED;
    const unsigned wanted = cuda_blocks_of((w.numel + F::VECTOR - 1) / F::VECTOR),
                   blocks = wanted < CUDA_MAX_SUMS ? wanted : (unsigned)CUDA_MAX_SUMS;
    C *sums = (C *)k->svc->scratch(k, RL_COUNT(CUDA_MAX_SUMS), sizeof *sums);
    if (!sums || rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    if (blocks)
        CUDA_LAUNCH_BLOCKS((cuda_sums<F, C, F::INPUTS>), blocks, CUDA_THREADS, 0, (cudaStream_t)k->stream, w,
                           sums, (cuda_inputs_of<C, F::INPUTS>(views)),
                           (cuda_job_of<F, C>(views, numbers, op)));
    CUDA_LAUNCH_BLOCKS((cuda_total_of<C>), 1, CUDA_THREADS, 0, (cudaStream_t)k->stream,
                       cuda_result{rl_data(out, RL_WRITE), out->dtype}, sums, (int)blocks, divisor);
    return rl_cuda_end(k);
}
#endif
