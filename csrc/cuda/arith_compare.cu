/* Two operands: comparisons and logic, whose result is 0 or 1, and bits of integers. */
#include "total.h"

enum { EQ, NE, LT, LE, GT, GE, BOTH, ANY, ONE, BIT_AND, BIT_OR, BIT_XOR, LEFT, RIGHT, NOT, BIT_NOT };

#define COMPARISONS                                                                                          \
    CUDA_CASE_2(EQ, a == b)                                                                                  \
    CUDA_CASE_2(NE, a != b)                                                                                  \
    CUDA_CASE_2(LT, a < b)                                                                                   \
    CUDA_CASE_2(LE, a <= b)                                                                                  \
    CUDA_CASE_2(GT, a > b)                                                                                   \
    CUDA_CASE_2(GE, a >= b)                                                                                  \
    CUDA_CASE_2(BOTH, a != 0 && b != 0)                                                                      \
    CUDA_CASE_2(ANY, a != 0 || b != 0)                                                                       \
    CUDA_CASE_2(ONE, (a != 0) != (b != 0))                                                                   \
    CUDA_CASE_1(NOT, a == 0)

template <class C> struct comparisons : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        switch (this->op) { COMPARISONS }
    }
};

template <> struct comparisons<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const C bits = n[0];
        const bool truth = dtype == RL_BOOL;
        switch (op) {
            COMPARISONS
            CUDA_CASE_2(BIT_AND, a & b)
            CUDA_CASE_2(BIT_OR, a | b)
            CUDA_CASE_2(BIT_XOR, a ^ b)
            /* by any number, as if bit by bit; to the left by less than 0 leaves nothing */
            CUDA_CASE_2(LEFT, b < 0 || b >= bits ? 0 : (C)((uint64_t)a << b))
            CUDA_CASE_2(RIGHT, a >> (b < 0 || b >= bits ? 63 : b))
            CUDA_CASE_1(BIT_NOT, truth ? (C)!a : ~a)
        }
    }
};

#define COMPARISON(name, op)                                                                                 \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return cuda_elementwise<comparisons>(k, op);                                                         \
    }
COMPARISON(eq, EQ)
COMPARISON(ne, NE)
COMPARISON(lt, LT)
COMPARISON(le, LE)
COMPARISON(gt, GT)
COMPARISON(ge, GE)
COMPARISON(logical_and, BOTH)
COMPARISON(logical_or, ANY)
COMPARISON(logical_xor, ONE)

static rl_status of_bits(rl_call *k, int op) {
    const int dtype = rl_in(k, 0)->dtype;
    const cuda_numbers numbers = {{}, {8 * rl_itemsize(dtype)}};
    return rl_is_float(dtype) ? RL_UNSUPPORTED : cuda_elementwise<comparisons>(k, op, numbers);
}
#define OF_BITS(name, op)                                                                                    \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return of_bits(k, op);                                                                               \
    }
OF_BITS(bitwise_and, BIT_AND)
OF_BITS(bitwise_or, BIT_OR)
OF_BITS(bitwise_xor, BIT_XOR)
OF_BITS(bitwise_left_shift, LEFT)
OF_BITS(bitwise_right_shift, RIGHT)

/* ---- of one operand ---- */
static rl_status of_one(rl_call *k, int op) {
    const rl_view *views[] = {k->out[0], rl_in(k, 0), rl_in(k, 0)};
    return cuda_elementwise<comparisons>(k, views, op, {});
}
CUDA_KERNEL(cuda_logical_not) {
    return of_one(k, NOT);
}
CUDA_KERNEL(cuda_bitwise_not) {
    return rl_is_float(rl_in(k, 0)->dtype) ? RL_UNSUPPORTED : of_one(k, BIT_NOT);
}

/* ---- are two whole tensors the same? attr[0]: their shapes are ---- */
template <class C> struct differences : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 4 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        CUDA_UNROLL
        for (int j = 0; j < V; j++) y[j] = x[0][j] != x[1][j];
    }
};
template <class C> static rl_status same(rl_call *k, const rl_view *const *views) {
    rl_view none = *views[1];
    none.numel = 0;
    const bool alike = k->attr[0] != 0;
    return cuda_total<differences<C>, C>(k, views, alike ? views[1] : &none, 0, {}, alike ? -1 : 1);
}
CUDA_KERNEL(cuda_equal) {
    const rl_view *views[] = {k->out[0], rl_in(k, 0), rl_in(k, 1)};
    const int dtype = views[1]->dtype;
    return cuda_computes_in<float>(dtype)    ? same<float>(k, views)
           : cuda_computes_in<double>(dtype) ? same<double>(k, views)
                                             : same<int64_t>(k, views);
}
