/* logsumexp. */
#include "reduce.h"
#include <math.h>
/* Note [Sums of powers]
 * A state is the largest element (a) and the sum of exp(x - a) (b), which neither overflows nor vanishes.
 * Where a is infinite or NaN the powers are those of x itself, and the sum says all: 0, infinite or NaN. */
static inline double peak_shift(double max) {
    return isfinite(max) ? max : 0;
}

static inline void peak_raise(fold_cell *a, fold_cell *b, double max) {
    double before = peak_shift(a->d);
    a->d = fold_max(a->d, max);
    double shift = peak_shift(a->d);
    if (b->d != 0 && shift != before) b->d *= exp(before - shift);
}

#define ISA_IMPL "kernels/simd/reduce/exp_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"
FOLD_CODE(powers_code, powers, )

static void join_powers(fold_state *s, const fold_state *later, int width) {
    for (int j = 0; j < width; j++) {
        double more = later->b[j].d;
        peak_raise(&s->a[j], &s->b[j], later->a[j].d);
        if (more != 0) s->b[j].d += more * exp(peak_shift(later->a[j].d) - peak_shift(s->a[j].d));
    }
}

static void finish_powers(fold_state *s, int width, double number) {
    (void)number;
    for (int j = 0; j < width; j++) s->a[j].d = peak_shift(s->a[j].d) + log(s->b[j].d);
}

RL_KERNEL(simd_logsumexp) {
    static const fold_reduction how = {.code = powers_code,
                                       .floats = {.a.d = -__builtin_inf(), .join = join_powers},
                                       .finish = finish_powers,
                                       .ns = 0.4};
    return simd_reduce(k, &how, 0);
}
