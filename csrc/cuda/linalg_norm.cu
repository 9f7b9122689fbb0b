/* Norms of vectors of any order. */
#include "reduce_dims.h"
#include <math.h>

enum { COUNT, SUM, SQUARES, MOST, LEAST };
template <class C> struct order_fold {
    typedef C value_type, number_type;
    int op, dtype;
    void *to;
    static order_fold make(rl_call *k, int64_t, int op) {
        return {op, k->out[0]->dtype, rl_data(k->out[0], RL_WRITE)};
    }
    __device__ C start() const { return op == LEAST ? (C)INFINITY : 0; }
    __device__ C take(C v, C x, int64_t) const {
        return join(v, op == COUNT ? x != 0 : op == SQUARES ? x * x : fabs(x));
    }
    __device__ C join(C a, C b) const {
        return op == MOST ? cuda_largest()(a, b) : op == LEAST ? cuda_smallest()(a, b) : a + b;
    }
    __device__ void store(int64_t at, C v) const { cuda_store(dtype, to, at, op == SQUARES ? sqrt(v) : v); }
};
template <class C> struct power_fold { /* of any other order */
    typedef C value_type;
    enum { OPERANDS = 1 }; /* one at a time: several powers cost registers */
    int from_dtype, dtype;
    const void *from;
    void *to;
    C order;
    static power_fold make(rl_call *k, int64_t, double order) {
        return {rl_in(k, 0)->dtype, k->out[0]->dtype, rl_const_data(rl_in(k, 0)),
                rl_data(k->out[0], RL_WRITE), (C)order};
    }
    __device__ C start() const { return 0; }
    __device__ C value(const int64_t (&at)[1]) const {
        return pow(fabs(cuda_load<C>(from_dtype, from, at[0])), order);
    }
    __device__ C join(C a, C b) const { return a + b; }
    __device__ void store(int64_t at, C v) const { cuda_store(dtype, to, at, pow(v, 1 / order)); }
};

CUDA_KERNEL(cuda_vector_norm) {
    const int tag = k->arg[1].tag;
    const double order = tag == RL_NONE || tag == RL_TEXT ? 2 : rl_num(k, 1);
    const int op = order == 0           ? COUNT
                   : order == 1         ? SUM
                   : order == 2         ? SQUARES
                   : order == INFINITY  ? MOST
                   : order == -INFINITY ? LEAST
                                        : -1;
    return op < 0 ? cuda_reduce_floats<power_fold>(k, order) : cuda_reduce_floats<order_fold>(k, op);
}
