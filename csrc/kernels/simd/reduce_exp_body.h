/* The fold of logarithms of sums of powers: Note [Sums of powers] in reduce_exp.c. */
#ifdef SIMD_DOUBLE
#include "vector_wide_body.h"
#else
#include "vector_exp_body.h"
#endif
V_STEP(peak, V_NAME(join_most)(acc, x))
V_ROW(peak, -__builtin_inf(), most)
V_COLUMNS(peak, -__builtin_inf())

/* exp(x) beside 1; what would be subnormal, which is slow to make, is 0 */
V_INLINE VF V_NAME(power_of)(VF x) {
    const VF least = v_set(sizeof(V_ELEMENT) == 4 ? -87 : -708);
    return v_pick(v_is_less(x, least), v_zero(), V_NAME(math_exp)(v_max(least, x)));
}

/* exp(x - shift) of a short run, added up */
V_INLINE double V_NAME(powers_row)(const V_ELEMENT *p, int64_t n, V_ELEMENT shift) {
    const VF from = v_set(shift), none = v_set(-__builtin_inf());
    VF acc[2] = {v_zero(), v_zero()};
    int64_t i = 0;
    for (; i + 2 * V_WIDTH <= n; i += 2 * V_WIDTH)
        V_UNROLL for (int u = 0; u < 2; u++) acc[u] =
            v_add(acc[u], V_NAME(power_of)(v_sub(v_load(p + i + u * V_WIDTH), from)));
    for (; i < n; i += V_WIDTH) {
        VF x = V_NAME(load_first)(p + i, simd_min(V_WIDTH, n - i), none);
        acc[0] = v_add(acc[0], V_NAME(power_of)(v_sub(x, from)));
    }
    acc[0] = v_add(acc[0], acc[1]);
    VD wide = V_NAME(half_of)(acc[0], 0);
    if (V_HALVES == 2) wide = D_NAME(v_add)(wide, V_NAME(half_of)(acc[0], V_HALVES - 1));
    return D_NAME(lanes_add)(wide);
}

V_TARGET static void V_NAME(powers_along)(fold_state *s, int j, int end, const void *from, int64_t n,
                                          int64_t step) {
    for (const char *row = from; j < end; j++, row += step)
        for (int64_t i = 0, m; i < n; i += m) {
            const V_ELEMENT *p = (const V_ELEMENT *)row + i;
            m = simd_min(n - i, FOLD_SHORT);
            peak_raise(&s->a[j], &s->b[j], V_NAME(peak_row)(p, m));
            s->b[j].d += V_NAME(powers_row)(p, m, (V_ELEMENT)peak_shift(s->a[j].d));
        }
}

V_INLINE void V_NAME(powers_columns)(fold_state *s, int j, const char *p, int64_t rows, int64_t step, VM m) {
    V_ELEMENT shift[V_WIDTH];
    VF sum = v_zero();
    v_store(shift, V_NAME(peak_columns)(p, rows, step, m));
    for (int u = 0; u < V_WIDTH; u++) {
        peak_raise(&s->a[j + u], &s->b[j + u], shift[u]);
        shift[u] = (V_ELEMENT)peak_shift(s->a[j + u].d);
    }
    VF from = v_load(shift);
    for (int64_t r = 0; r < rows; r++, p += step)
        sum = v_add(sum, V_NAME(power_of)(v_sub(v_load_tail((const V_ELEMENT *)p, m), from)));
    V_UNROLL for (int h = 0; h < V_HALVES; h++) {
        double *to = &s->b[j + h * D_WIDTH].d;
        D_NAME(v_store)(to, D_NAME(v_add)(D_NAME(v_load)(to), V_NAME(half_of)(sum, h)));
    }
}
V_WIDE_TILE(powers)
