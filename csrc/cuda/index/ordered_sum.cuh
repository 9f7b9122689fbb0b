/* Sums whose order the operands decide, not the threads. */
#ifndef RL_CUDA_ORDERED_SUM_H
#define RL_CUDA_ORDERED_SUM_H
#include "cuda/device.h"
#include "cuda/sort.cuh"

/* Note [CUDA sums in order]
 * Atomics add in any order, so that floats differ from run to run in their last bits. Where deterministic
 * algorithms are asked for, what is to be joined is sorted by its target first. Threads then join the pieces
 * of that list, one element after the other, and at last those pieces that belong to one target:
 *
 *     targets    [ 3 3 3 5 | 5 5 5 5 | 5 7 9 9 ]
 *     before     [         |    5    | 5       ]    of a target that came before the piece, too
 *     after      [       5 |         |         ]    of one that begins in the piece and goes on behind it
 *
 * Each target may have several elements, `inner`: the columns of a row. F says what is joined:
 *     value_type, column                types; a column is what is known of element e of every target
 *     column find(e)
 *     value_type value(i, column)       of the i-th thing that is joined
 *     value_type join(a, b)
 *     void put(target, column, sum)     joins what is there: called once for each target and column */
enum { CUDA_ORDER_PIECE = 32 };
#define CUDA_NO_TARGET CUDA_KEY_LAST

template <class F>
__global__ void __launch_bounds__(CUDA_THREADS)
    cuda_order_pieces(F f, cuda_keys s, int64_t n, int64_t inner, int64_t work,
                      typename F::value_type *before, typename F::value_type *after) {
    CUDA_EACH_OF(i, work) {
        const int64_t piece = i / inner, begin = piece * CUDA_ORDER_PIECE;
        const int64_t end = begin + CUDA_ORDER_PIECE < n ? begin + CUDA_ORDER_PIECE : n;
        const typename F::column here = f.find(i - piece * inner);
        uint64_t last = begin ? s.key[begin - 1] : CUDA_NO_TARGET, target = s.key[begin];
        bool has_begun = target != last;
        if (target == CUDA_NO_TARGET) continue;
        typename F::value_type sum = f.value(s.order[begin], here);
        CUDA_ROLLED
        for (int64_t p = begin; p < end; p++) {
            const uint64_t next = p + 1 < n ? s.key[p + 1] : CUDA_NO_TARGET;
            if (next == target && p + 1 < end) {
                sum = f.join(sum, f.value(s.order[p + 1], here));
                continue;
            }
            if (next != target && has_begun)
                f.put(target, here, sum);
            else
                (has_begun ? after : before)[i] = sum;
            if (next == CUDA_NO_TARGET || p + 1 == end) break;
            target = next;
            has_begun = true;
            sum = f.value(s.order[p + 1], here);
        }
    }
}

template <class F>
__global__ void __launch_bounds__(CUDA_THREADS)
    cuda_order_across(F f, cuda_keys s, int64_t n, int64_t inner, int64_t work,
                      const typename F::value_type *before, const typename F::value_type *after) {
    CUDA_EACH_OF(i, work) {
        const int64_t piece = i / inner, begin = piece * CUDA_ORDER_PIECE;
        int64_t end = begin + CUDA_ORDER_PIECE;
        if (end >= n) continue;
        const uint64_t target = s.key[end];
        if (target == CUDA_NO_TARGET || s.key[end - 1] != target) continue;
        if (begin && s.key[begin - 1] == target) continue; /* it began in another piece */
        typename F::value_type sum = after[i];
        CUDA_ROLLED
        for (int64_t from = i + inner; end < n && s.key[end] == target; from += inner) {
            sum = f.join(sum, before[from]);
            end += CUDA_ORDER_PIECE;
        }
        f.put(target, f.find(i - piece * inner), sum);
    }
}

/* n things whose targets room[0].key names, CUDA_NO_TARGET for none; room[0].order becomes their numbers. */
rl_status cuda_order_sort(rl_call *k, const cuda_keys *room, int64_t n, cuda_keys *sorted);

/* After rl_cuda_begin. */
template <class F>
static rl_status cuda_order_join(rl_call *k, const F &f, const cuda_keys &sorted, int64_t n, int64_t inner) {
    typedef typename F::value_type V;
    const int64_t pieces = (n + CUDA_ORDER_PIECE - 1) / CUDA_ORDER_PIECE, work = pieces * inner;
    const cudaStream_t stream = (cudaStream_t)k->stream;
    if (work == 0) return RL_OK;
    V *before = (V *)k->svc->scratch(k, RL_COUNT(pieces, inner), sizeof(V));
    V *after = (V *)k->svc->scratch(k, RL_COUNT(pieces, inner), sizeof(V));
    if (!before || !after) return RL_FAIL;
    CUDA_LAUNCH((cuda_order_pieces<F>), cuda_blocks_of(work), CUDA_THREADS, stream, f, sorted, n, inner, work,
                before, after);
    if (pieces > 1)
        CUDA_LAUNCH((cuda_order_across<F>), cuda_blocks_of(work), CUDA_THREADS, stream, f, sorted, n, inner,
                    work, (const V *)before, (const V *)after);
    return rl_cuda_end(k);
}

/* Elements that are added up in memory of zeros: order[] is where each lies. */
template <class C> struct cuda_order_elements {
    typedef C value_type;
    typedef int64_t column;
    int dtype;
    const void *from;
    C *to;
    __device__ column find(int64_t e) const { return e; }
    __device__ C value(int64_t i, column) const { return cuda_load<C>(dtype, from, i); }
    __device__ C join(C a, C b) const { return a + b; }
    __device__ void put(uint64_t target, column, C sum) const { to[target] = sum; }
};
#endif
