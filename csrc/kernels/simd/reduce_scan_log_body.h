/* Running logarithms of sums of powers, in doubles: Note [Running powers] in reduce_scan.c. */
#ifdef SIMD_DOUBLE
#include "vector_wide_body.h"

/* log(exp(a) + exp(b)) */
V_INLINE VD V_NAME(log_add)(VD a, VD b) {
    const VD one = v_set(1);
    VD high = V_NAME(join_most)(a, b), low = v_min(a, b);
    VD power = V_NAME(math_exp)(v_sub(low, high)), sum = v_add(one, power);
    VD rest = v_sub(power, v_sub(sum, one)); /* what the sum has lost */
    VD log = v_add(V_NAME(math_log_normal)(sum), rest);
    return v_add(high, v_pick(v_is_equal(high, low), v_set(0x1.62e42fefa39efp-1), log));
}
#endif

/* elements as doubles, and back */
V_INLINE void V_NAME(to_wide)(const V_ELEMENT *p, double *to, int64_t n) {
    int64_t i = 0;
    for (; i + D_WIDTH <= n; i += D_WIDTH) D_NAME(v_store)(to + i, V_NAME(load_wide)(p + i));
    for (; i < n; i++) to[i] = p[i];
}
V_INLINE void V_NAME(from_wide)(const double *p, V_ELEMENT *to, int64_t n) {
    int64_t i = 0;
    for (; i + D_WIDTH <= n; i += D_WIDTH) V_NAME(store_wide)(to + i, D_NAME(v_load)(p + i));
    for (; i < n; i++) to[i] = (V_ELEMENT)p[i];
}

#ifdef SIMD_DOUBLE
/* n elements, padded with -inf to whole vectors */
V_INLINE double V_NAME(log_most)(const double *x, int64_t n) {
    VD most = v_set(-__builtin_inf());
    for (int64_t i = 0; i < n; i += D_WIDTH) most = V_NAME(join_most)(most, v_load(x + i));
    return V_NAME(lanes_most)(most);
}
/* x becomes its running logarithms; answers the last */
V_INLINE double V_NAME(log_block)(double *x, int64_t n, double before) {
    double most = fold_most(V_NAME(log_most)(x, n), before);
    if (!(most - fold_most(x[0], before) <= LOG_RANGE)) {
        for (int64_t i = 0; i < n; i++) x[i] = before = log_add(before, x[i]);
        return before;
    }
    VD shift = v_set(most), zero = v_zero(), carry = V_NAME(math_exp)(v_set(before - most));
    for (int64_t i = 0; i < n; i += D_WIDTH) {
        VD v = V_NAME(math_exp)(v_sub(v_load(x + i), shift));
        V_UNROLL for (int by = 1; by < D_WIDTH; by *= 2) v = v_add(v, V_NAME(moved_up)(v, by, zero));
        v = v_add(v, carry);
        carry = V_NAME(last_lane)(v);
        v_store(x + i, v_add(shift, V_NAME(math_log_normal)(v)));
    }
    return x[n - 1];
}
V_INLINE double V_NAME(log_total)(const double *x, int64_t n, double before) {
    double most = fold_most(V_NAME(log_most)(x, n), before);
    VD shift = v_set(most), sum = v_zero();
    if (!isfinite(most)) return most;
    for (int64_t i = 0; i < n; i += D_WIDTH) sum = v_add(sum, V_NAME(math_exp)(v_sub(v_load(x + i), shift)));
    return most + log(V_NAME(lanes_add)(sum) + exp(before - most));
}
#endif

V_TARGET static fold_cell V_NAME(logcumsumexp_total)(const void *from, int64_t n) {
    fold_cell all = {.d = -__builtin_inf()};
    double x[LOG_BLOCK + 8];
    for (int64_t i = 0, m; i < n; i += m) {
        m = simd_min(n - i, LOG_BLOCK);
        V_NAME(to_wide)((const V_ELEMENT *)from + i, x, m);
        for (int64_t j = m; j < m + 8; j++) x[j] = -__builtin_inf();
        all.d = D_NAME(log_total)(x, m, all.d);
    }
    return all;
}

V_TARGET static fold_cell V_NAME(logcumsumexp_line)(const void *from, void *to, int64_t n, fold_cell before) {
    double x[LOG_BLOCK + 8];
    for (int64_t i = 0, m; i < n; i += m) {
        m = simd_min(n - i, LOG_BLOCK);
        V_NAME(to_wide)((const V_ELEMENT *)from + i, x, m);
        for (int64_t j = m; j < m + 8; j++) x[j] = -__builtin_inf();
        before.d = D_NAME(log_block)(x, m, before.d);
        V_NAME(from_wide)(x, (V_ELEMENT *)to + i, m);
    }
    return before;
}

V_TARGET static void V_NAME(logcumsumexp_across)(const char *from, char *to, int64_t rows,
                                                 const int64_t step[2], const int64_t beside[2], int width) {
    double carry[SCAN_TILE], x[SCAN_TILE];
    bool dense = beside[0] == sizeof(V_ELEMENT) && beside[1] == sizeof(V_ELEMENT);
    for (int j = 0; j < SCAN_TILE; j++) carry[j] = -__builtin_inf(), x[j] = 0;
    for (int64_t r = 0; r < rows; r++, from += step[1], to += step[0]) {
        if (dense)
            V_NAME(to_wide)((const V_ELEMENT *)from, x, width);
        else
            for (int j = 0; j < width; j++) x[j] = *(const V_ELEMENT *)(from + j * beside[1]);
        for (int j = 0; j < width; j += D_WIDTH) {
            VD sum = D_NAME(log_add)(D_NAME(v_load)(carry + j), D_NAME(v_load)(x + j));
            D_NAME(v_store)(carry + j, sum);
        }
        if (dense)
            V_NAME(from_wide)(carry, (V_ELEMENT *)to, width);
        else
            for (int j = 0; j < width; j++) *(V_ELEMENT *)(to + j * beside[0]) = (V_ELEMENT)carry[j];
    }
}
