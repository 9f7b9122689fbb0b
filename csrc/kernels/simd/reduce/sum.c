/* Sums, means, products, variances. */
#include "reduce.h"
/* Note [Variances]
 * A state is a mean (a) and the sum of squares around it (b). Two states become one as Chan, Golub and
 * LeVeque (1979) have it; nothing is ever the small difference of large sums. */
static inline void var_join(fold_cell *a, fold_cell *b, double had, double mean, double squares,
                            double more) {
    double d = mean - a->d, all = had + more;
    a->d += d * (more / all);
    b->d += squares + d * d * (had / all * more);
}

#define ISA_IMPL "kernels/simd/reduce/sum_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

FOLD_INTEGER(sum, I64, int64_t, 0, fold_add_integer, fold_add_integer(acc, x))
FOLD_INTEGER(prod, I64, int64_t, 1, fold_times_integer, fold_times_integer(acc, x))
FOLD_CODE(sum_code, sum, FOLD_ENTRY(I64, sum, I64))
FOLD_CODE(nansum_code, nansum, FOLD_ENTRY(I64, sum, I64))
FOLD_CODE(prod_code, prod, FOLD_ENTRY(I64, prod, I64))
FOLD_CODE(var_code, var, )

FOLD_JOIN(join_sum, d, fold_add)
FOLD_JOIN(join_sum_integer, i, fold_add_integer)
FOLD_JOIN(join_prod, d, fold_times)
FOLD_JOIN(join_prod_integer, i, fold_times_integer)
static void join_var(fold_state *s, const fold_state *later, int width) {
    for (int j = 0; j < width; j++)
        var_join(&s->a[j], &s->b[j], (double)s->count, later->a[j].d, later->b[j].d, (double)later->count);
}

static void finish_mean(fold_state *s, int width, double number) {
    (void)number;
    for (int j = 0; j < width; j++) s->a[j].d /= (double)s->count;
}

static void finish_var(fold_state *s, int width, double correction) {
    double left = (double)s->count - correction;
    for (int j = 0; j < width; j++) s->a[j].d = s->b[j].d / (left > 0 ? left : 0);
}

static void finish_std(fold_state *s, int width, double correction) {
    finish_var(s, width, correction);
    for (int j = 0; j < width; j++) s->a[j].d = __builtin_sqrt(s->a[j].d);
}

static void finish_var_mean(fold_state *s, int width, double correction) {
    fold_cell mean[FOLD_TILE];
    __builtin_memcpy(mean, s->a, (size_t)width * sizeof *mean);
    finish_var(s, width, correction);
    __builtin_memcpy(s->b, mean, (size_t)width * sizeof *mean);
}

static void finish_std_mean(fold_state *s, int width, double correction) {
    finish_var_mean(s, width, correction);
    for (int j = 0; j < width; j++) s->a[j].d = __builtin_sqrt(s->a[j].d);
}

/* the correction argument may be a fraction; the shape rules leave whole numbers in attr[1] */
static double correction_read(const rl_call *k) {
    return k->n_arg > 2 && k->arg[2].tag == RL_FLOAT ? k->arg[2].u.d : (double)k->attr[1];
}

RL_KERNEL(simd_sum) {
    static const fold_reduction how = {
        .code = sum_code, .floats.join = join_sum, .ints.join = join_sum_integer, .ns = 0.05};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_nansum) {
    static const fold_reduction how = {
        .code = nansum_code, .floats.join = join_sum, .ints.join = join_sum_integer, .ns = 0.06};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_mean) {
    static const fold_reduction how = {
        .code = sum_code, .floats.join = join_sum, .finish = finish_mean, .ns = 0.05};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_prod) {
    static const fold_reduction how = {.code = prod_code,
                                       .floats = {.a.d = 1, .join = join_prod},
                                       .ints = {.a.i = 1, .join = join_prod_integer},
                                       .ns = 0.1};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_var) {
    static const fold_reduction how = {
        .code = var_code, .floats.join = join_var, .finish = finish_var, .ns = 0.2};
    return simd_reduce(k, &how, correction_read(k));
}

RL_KERNEL(simd_std) {
    static const fold_reduction how = {
        .code = var_code, .floats.join = join_var, .finish = finish_std, .ns = 0.2};
    return simd_reduce(k, &how, correction_read(k));
}

RL_KERNEL(simd_var_mean) {
    static const fold_reduction how = {
        .code = var_code, .floats.join = join_var, .finish = finish_var_mean, .pair = true, .ns = 0.2};
    return simd_reduce(k, &how, correction_read(k));
}

RL_KERNEL(simd_std_mean) {
    static const fold_reduction how = {
        .code = var_code, .floats.join = join_var, .finish = finish_std_mean, .pair = true, .ns = 0.2};
    return simd_reduce(k, &how, correction_read(k));
}
