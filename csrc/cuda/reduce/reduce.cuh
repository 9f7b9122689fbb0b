/* A tensor folded over some of its dims: Note [CUDA folds]. */
#ifndef RL_CUDA_REDUCE_H
#define RL_CUDA_REDUCE_H
#include "cuda/block_reduce.cuh"
#include "cuda/device.h"
#include "cuda/strided_iterator.cuh"
#include <type_traits>

/* Note [CUDA folds]
 * A block of threads has `width` outputs, each of `per` threads. They lie beside each other along the
 * reduced elements (rows), or where the outputs are neighbours in memory, along those (columns):
 *
 *     rows      |output 0: 0 1 2 .. per - 1|output 1: 0 1 2 ..|      columns   |part 0: 0 1 2 .. width -
 * 1|part 1: ..
 *
 * Few outputs of many elements are split over grid.y; a second launch joins the parts. Sizes alone decide
 * all this, and nothing is added by atomics: equal calls give equal bits.
 *
 * A fold is a struct that travels with the launch:
 *     value_type               what is joined
 *     value_type start()       joins as nothing
 *     value_type join(a, b)    commutative
 *     void store(i, v)         output number i
 * and, where it folds elements of one operand, several loads at a time
 *     number_type, take(v, x, i)    what an element is loaded as; v and element number i of the reduced ones
 * or of any number of them
 *     OPERANDS, value(at)           the value of the elements at these places */
enum { REDUCE_THREADS = 256, REDUCE_UNROLL = 4 };
typedef struct {
    cuda_iter kept, reduced; /* operands: the inputs; the number of the output or of the element */
    const void *from;
    int dtype, per;
    bool rows, strip; /* strip: elements are neighbours in memory */
    unsigned blocks, splits;
    int64_t share; /* elements of a split */
} cuda_reduction;

/* Reduces the dims in the mask; all views have the same dims. `numbered`: the fold asks for the elements'
 * numbers. false: more dims than a launch carries. */
bool cuda_reduction_make(cuda_reduction *r, const rl_view *const *views, int nops, uint64_t mask,
                         bool numbered);

/* of the first argument; the shape rules leave the mask in attr[0] */
static inline bool cuda_reduction_of(const rl_call *k, cuda_reduction *r, bool numbered) {
    const rl_view *x = rl_in(k, 0);
    return cuda_reduction_make(r, &x, 1, (uint64_t)k->attr[0], numbered);
}

/* elements that lie anywhere, in one go */
template <class C, int N>
__device__ void cuda_load_each(int dtype, const void *p, const int64_t (&at)[N], C (&x)[N]) {
    switch (dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag:                                                                                                \
        for (int j = 0; j < N; j++) x[j] = cuda_cast<C>(((const T *)p)[at[j]]);                              \
        break;
        CUDA_DTYPES(X)
#undef X
    default: break;
    }
}

/* elements begin to end - 1 of several dims */
template <class F>
__device__ typename F::value_type cuda_fold_iterated(const F &fold, const cuda_reduction &r, int64_t base,
                                                     int64_t begin, int64_t end) {
    typename F::value_type v = fold.start();
    for (int64_t i = begin; i < end; i += r.per) {
        int64_t at[2] = {0, 0};
        cuda_iter_seek(r.reduced, i, at);
        v = fold.take(v, cuda_load<typename F::number_type>(r.dtype, r.from, base + at[0]),
                      r.reduced.nops > 1 ? at[1] : i);
    }
    return v;
}

/* ... of one dim, several loads at a time */
template <class F>
__device__ typename F::value_type cuda_fold_strided(const F &fold, const cuda_reduction &r, int64_t base,
                                                    int64_t begin, int64_t end) {
    typename F::value_type v = fold.start();
    const int64_t step = r.reduced.step[0][0];
    const int apart = r.strip ? 1 : r.per;
    for (int64_t i = begin; i < end; i += (int64_t)r.per * REDUCE_UNROLL) {
        typename F::number_type x[REDUCE_UNROLL];
        int64_t at[REDUCE_UNROLL];
        for (int j = 0; j < REDUCE_UNROLL; j++) /* what would lie behind the end reads element i again */
            at[j] = base + (i + j * apart < end ? i + j * apart : i) * step;
        if (r.strip && i + REDUCE_UNROLL <= end)
            cuda_load_vector(r.dtype, r.from, at[0], x);
        else
            cuda_load_each(r.dtype, r.from, at, x);
        for (int j = 0; j < REDUCE_UNROLL; j++)
            if (i + j * apart < end) v = fold.take(v, x[j], i + j * apart);
    }
    return v;
}

/* folds that name the number of their operands ask for places, others for elements */
template <class F, class = void> struct cuda_fold_operands {
    enum { COUNT = 1, OF_PLACES = 0 };
};
template <class F> struct cuda_fold_operands<F, std::void_t<decltype(F::OPERANDS)>> {
    enum { COUNT = F::OPERANDS, OF_PLACES = 1 };
};

/* elements begin to end - 1 of all operands, of which the first output's are `base` away */
template <class F, int N>
__device__ typename F::value_type cuda_fold_places(const F &fold, const cuda_reduction &r,
                                                   const int64_t (&base)[N], int64_t begin, int64_t end) {
    typename F::value_type v = fold.start();
    for (int64_t i = begin; i < end; i += r.per) {
        int64_t at[N - 1];
        cuda_iter_seek(r.reduced, i, at);
        for (int op = 0; op < N - 1; op++) at[op] += base[op];
        v = fold.join(v, fold.value(at));
    }
    return v;
}

/* what thread `part` of `per` folds of elements begin to end - 1 */
template <class F, int N>
__device__ typename F::value_type cuda_fold_part(const F &fold, const cuda_reduction &r,
                                                 const int64_t (&base)[N], int part, int64_t begin,
                                                 int64_t end) {
    if (end > r.reduced.numel) end = r.reduced.numel;
    if constexpr (cuda_fold_operands<F>::OF_PLACES) {
        return cuda_fold_places(fold, r, base, begin + part, end);
    } else {
        if (r.reduced.ndim > 1) return cuda_fold_iterated(fold, r, base[0], begin + part, end);
        return cuda_fold_strided(fold, r, base[0], begin + (r.strip ? part * REDUCE_UNROLL : part), end);
    }
}

template <class F> struct cuda_fold_join {
    F fold;
    __device__ typename F::value_type operator()(const typename F::value_type &a,
                                                 const typename F::value_type &b) const {
        return fold.join(a, b);
    }
};

/* the threads of each output: over memory while they lie in several warps, then by exchanges */
template <class F>
__device__ typename F::value_type cuda_fold_threads(const F &fold, const cuda_reduction &r,
                                                    typename F::value_type v) {
    typedef typename F::value_type V;
    CUDA_SHARED(V, of_thread, [REDUCE_THREADS]);
    const int t = threadIdx.x, width = REDUCE_THREADS / r.per, apart = r.rows ? 1 : width;
    const int last = r.rows ? CUDA_WARP : 1, part = r.rows ? t % r.per : t / width;
    for (int half = r.per / 2; half >= last; half /= 2) {
        if (part < 2 * half) of_thread[t] = v;
        __syncthreads();
        if (part < half) v = fold.join(v, of_thread[t + half * apart]); /* what no later turn writes */
    }
    if (!r.rows) return v;
    return cuda_warp_join(v, cuda_fold_join<F>{fold}, r.per < CUDA_WARP ? r.per : CUDA_WARP);
}

template <class F>
__global__ void __launch_bounds__(REDUCE_THREADS)
    cuda_reduce_elements(F fold, cuda_reduction r, typename F::value_type *parts) {
    enum { OPERANDS = cuda_fold_operands<F>::COUNT };
    const int t = threadIdx.x, width = REDUCE_THREADS / r.per;
    const int own = r.rows ? t / r.per : t % width, part = r.rows ? t % r.per : t / width;
    const int64_t begin = blockIdx.y * r.share, out = (int64_t)blockIdx.x * width + own;
    const bool is_out = out < r.kept.numel;
    int64_t at[OPERANDS + 1];
    cuda_iter_seek(r.kept, is_out ? out : 0, at);
    typename F::value_type v = cuda_fold_part(fold, r, at, part, begin, begin + r.share);
    v = cuda_fold_threads(fold, r, v);
    if (!is_out || part) return;
    if (r.splits == 1)
        fold.store(at[OPERANDS], v);
    else
        parts[out * r.splits + blockIdx.y] = v;
}

/* a warp for each output */
template <class F>
__global__ void __launch_bounds__(REDUCE_THREADS)
    cuda_reduce_parts(F fold, cuda_reduction r, const typename F::value_type *parts) {
    enum { OPERANDS = cuda_fold_operands<F>::COUNT };
    const int lane = threadIdx.x % CUDA_WARP;
    const int64_t i = blockIdx.x * (int64_t)(REDUCE_THREADS / CUDA_WARP) + threadIdx.x / CUDA_WARP;
    typename F::value_type v = fold.start();
    for (int64_t j = lane; i < r.kept.numel && j < r.splits; j += CUDA_WARP)
        v = fold.join(v, parts[i * r.splits + j]);
    v = cuda_warp_join(v, cuda_fold_join<F>{fold});
    if (i >= r.kept.numel || lane) return;
    int64_t at[OPERANDS + 1];
    cuda_iter_seek(r.kept, i, at);
    fold.store(at[OPERANDS], v);
}

template <class F> static rl_status cuda_reduce(rl_call *k, const cuda_reduction &r, const F &fold) {
    typedef typename F::value_type V;
    V *parts = nullptr;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    if (r.splits > 1 &&
        !(parts = (V *)k->svc->scratch(k, rl_count_times(rl_count{r.kept.numel}, r.splits), sizeof(V))))
        return RL_FAIL;
    CUDA_LAUNCH_BLOCKS((cuda_reduce_elements<F>), dim3(r.blocks, r.splits), REDUCE_THREADS, 0,
                       (cudaStream_t)k->stream, fold, r, parts);
    if (r.splits > 1) {
        const int64_t warps = REDUCE_THREADS / CUDA_WARP;
        CUDA_LAUNCH_BLOCKS((cuda_reduce_parts<F>), (unsigned)((r.kept.numel + warps - 1) / warps),
                           REDUCE_THREADS, 0, (cudaStream_t)k->stream, fold, r, parts);
    }
    return rl_cuda_end(k);
}

/* by the fold for the input's dtype, which make(k, count of elements, numbers) makes */
template <template <class> class Fold, class... A>
static rl_status cuda_reduce_floats(rl_call *k, A... numbers) {
    cuda_reduction r;
    const int dtype = rl_in(k, 0)->dtype;
    if (!rl_is_float(dtype) || !cuda_reduction_of(k, &r, false)) return RL_UNSUPPORTED;
    if (r.kept.numel == 0) return RL_OK;
    if (dtype == RL_F64) return cuda_reduce(k, r, Fold<double>::make(k, r.reduced.numel, numbers...));
    return cuda_reduce(k, r, Fold<float>::make(k, r.reduced.numel, numbers...));
}
#endif
