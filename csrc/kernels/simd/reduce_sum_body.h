/* Folds of sums, products and variances. */
V_FOLD(sum, 0, add, v_add(acc, x))
V_FOLD(nansum, 0, add, v_add(acc, v_pick(v_unordered(x, x), v_zero(), x)))
V_FOLD_WIDE(prod, 1, times, v_mul(acc, x))

/* ---- variances: the mean of a run that stays in the nearest cache, then the squares around it ---- */
V_WIDE_STEP(total, v_add(acc, x))
V_WIDE_ROW(total, 0, add)

#ifdef SIMD_DOUBLE
V_INLINE VF V_NAME(square_step)(VF acc, VF x, VF mean) {
    VF d = v_sub(x, mean);
    return v_fma(d, d, acc);
}
/* the same for the first n lanes */
V_INLINE VF V_NAME(square_tail)(VF acc, VF x, VF mean, int64_t n) {
    VM m = v_tail(simd_max(0, simd_min(n, V_WIDTH)));
    return v_pick(m, V_NAME(square_step)(acc, x, mean), acc);
}
/* rows more join what there is: Note [Variances] in reduce_sum.c */
V_INLINE void V_NAME(var_keep)(fold_state *s, int j, VF mean, VF squares, int64_t rows) {
    double had = (double)s->count, more = (double)rows;
    double *a = &s->a[j].d, *b = &s->b[j].d;
    VF old = v_load(a), d = v_sub(mean, old);
    v_store(a, v_fma(d, v_set(more / (had + more)), old));
    squares = v_fma(v_mul(d, d), v_set(had / (had + more) * more), squares);
    v_store(b, v_add(v_load(b), squares));
}
#endif

V_INLINE double V_NAME(squares_row)(const V_ELEMENT *p, int64_t n, double mean) {
    VD acc[4], around = D_NAME(v_set)(mean);
    int64_t i = 0;
    V_UNROLL for (int u = 0; u < 4; u++) acc[u] = D_NAME(v_zero)();
    for (; i + 4 * D_WIDTH <= n; i += 4 * D_WIDTH)
        V_UNROLL for (int u = 0; u < 4; u++) acc[u] =
            D_NAME(square_step)(acc[u], V_NAME(load_wide)(p + i + u * D_WIDTH), around);
    for (; i < n; i += V_WIDTH) {
        VF x = V_NAME(load_first)(p + i, simd_min(V_WIDTH, n - i), v_zero());
        V_UNROLL for (int h = 0; h < V_HALVES; h++) acc[h] =
            D_NAME(square_tail)(acc[h], V_NAME(half_of)(x, h), around, n - i - h * D_WIDTH);
    }
    acc[0] = D_NAME(v_add)(acc[0], acc[1]), acc[2] = D_NAME(v_add)(acc[2], acc[3]);
    return D_NAME(lanes_add)(D_NAME(v_add)(acc[0], acc[2]));
}

V_INLINE void V_NAME(var_row)(fold_cell *a, fold_cell *b, double had, const V_ELEMENT *p, int64_t n) {
    for (int64_t m; n > 0; p += m, n -= m) {
        m = simd_min(n, FOLD_SHORT);
        double mean = V_NAME(total_row)(p, m) / (double)m;
        var_join(a, b, had, mean, V_NAME(squares_row)(p, m, mean), (double)m);
        had += (double)m;
    }
}

V_TARGET static void V_NAME(var_along)(fold_state *s, int j, int end, const void *from, int64_t n,
                                       int64_t step) {
    for (const char *p = from; j < end; j++, p += step)
        V_NAME(var_row)(&s->a[j], &s->b[j], (double)s->count, (const V_ELEMENT *)p, n);
}

V_INLINE void V_NAME(var_columns)(fold_state *s, int j, const char *from, int64_t rows, int64_t step, VM m) {
    VD mean[V_HALVES], squares[V_HALVES], count = D_NAME(v_set)((double)rows);
    V_UNROLL for (int h = 0; h < V_HALVES; h++) mean[h] = squares[h] = D_NAME(v_zero)();
    const char *p = from;
    for (int64_t r = 0; r < rows; r++, p += step) {
        VF x = v_load_tail((const V_ELEMENT *)p, m);
        V_UNROLL for (int h = 0; h < V_HALVES; h++) mean[h] = D_NAME(v_add)(mean[h], V_NAME(half_of)(x, h));
    }
    V_UNROLL for (int h = 0; h < V_HALVES; h++) mean[h] = D_NAME(v_div)(mean[h], count);
    for (int64_t r = 0; r < rows; r++, from += step) {
        VF x = v_load_tail((const V_ELEMENT *)from, m);
        V_UNROLL for (int h = 0; h < V_HALVES; h++) squares[h] =
            D_NAME(square_step)(squares[h], V_NAME(half_of)(x, h), mean[h]);
    }
    V_UNROLL for (int h = 0; h < V_HALVES; h++)
        D_NAME(var_keep)(s, j + h * D_WIDTH, mean[h], squares[h], rows);
}
V_WIDE_TILE(var)
