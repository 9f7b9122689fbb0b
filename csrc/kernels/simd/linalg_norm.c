/* Norms of the orders that need no power function. */
#include "kernels/simd/reduce/reduce.h"
#define ISA_IMPL "kernels/simd/linalg_norm_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

FOLD_CODE(count_code, norm_count, )
FOLD_CODE(sum_code, norm_sum, )
FOLD_CODE(square_code, norm_square, )
FOLD_CODE(max_code, norm_max, )
FOLD_CODE(min_code, norm_min, )
FOLD_JOIN(join_sum, d, fold_add)
FOLD_JOIN(join_max, d, fold_max)
FOLD_JOIN(join_min, d, fold_min)

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
                                max = {.code = max_code, .floats.join = join_max, .ns = 0.06},
                                min = {.code = min_code,
                                       .floats = {.a.d = __builtin_inf(), .join = join_min},
                                       .ns = 0.06};
    double order = k->arg[1].tag == RL_NONE || k->arg[1].tag == RL_STRING ? 2 : rl_num(k, 1);
    if (order == 0) return simd_reduce(k, &count, 0);
    if (order == 1) return simd_reduce(k, &sum, 0);
    if (order == 2) return simd_reduce(k, &square, 0);
    if (order == __builtin_inf()) return simd_reduce(k, &max, 0);
    return order == -__builtin_inf() ? simd_reduce(k, &min, 0) : RL_UNSUPPORTED;
}
