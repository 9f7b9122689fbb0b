/* Norms of the orders that need no power function. */
#include "kernels/simd/reduce/reduce.h"
#ifdef RL_SIMD_X86
#define FOLD_BODY "kernels/simd/linalg_norm_impl.inc"
#include "kernels/simd/reduce/widths.inc"

FOLD_CODE(count_code, norm_count, )
FOLD_CODE(sum_code, norm_sum, )
FOLD_CODE(square_code, norm_square, )
FOLD_CODE(most_code, norm_most, )
FOLD_CODE(least_code, norm_least, )
FOLD_JOIN(join_sum, d, fold_add)
FOLD_JOIN(join_most, d, fold_most)
FOLD_JOIN(join_least, d, fold_least)

static void finish_root(fold_state *s, int width, double number) {
    (void)number;
    for (int j = 0; j < width; j++) s->a[j].d = __builtin_sqrt(s->a[j].d);
}

RL_CHOOSER
RL_KERNEL(simd_vector_norm) {
    static const fold_reduction count = {.code = count_code, .floats.join = join_sum, .ns = 0.08},
                                sum = {.code = sum_code, .floats.join = join_sum, .ns = 0.06},
                                square = {.code = square_code,
                                          .floats.join = join_sum,
                                          .finish = finish_root,
                                          .ns = 0.1},
                                most = {.code = most_code, .floats.join = join_most, .ns = 0.06},
                                least = {.code = least_code,
                                         .floats = {.a.d = __builtin_inf(), .join = join_least},
                                         .ns = 0.06};
    double order = k->arg[1].tag == RL_NONE || k->arg[1].tag == RL_TEXT ? 2 : rl_num(k, 1);
    if (order == 0) return simd_reduce(k, &count, 0);
    if (order == 1) return simd_reduce(k, &sum, 0);
    if (order == 2) return simd_reduce(k, &square, 0);
    if (order == __builtin_inf()) return simd_reduce(k, &most, 0);
    return order == -__builtin_inf() ? simd_reduce(k, &least, 0) : RL_UNSUPPORTED;
}
#else
RL_KERNEL(simd_vector_norm) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
