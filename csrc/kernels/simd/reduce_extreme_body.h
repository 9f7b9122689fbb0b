/* Folds of largest and smallest elements, and of where the first of them stands. */
V_FOLD(amax, -__builtin_inf(), most, V_NAME(join_most)(acc, x))
V_FOLD(amin, __builtin_inf(), least, V_NAME(join_least)(acc, x))

/* both at once: a block is still in the nearest cache when it is read again */
V_TARGET static void V_NAME(aminmax_along)(fold_state *s, int j, int end, const void *from, int64_t n,
                                           int64_t step) {
    for (const char *row = from; j < end; j++, row += step)
        for (int64_t i = 0, m; i < n; i += m) {
            const V_ELEMENT *p = (const V_ELEMENT *)row + i;
            m = simd_min(n - i, FOLD_SHORT);
            s->a[j].d = fold_least(s->a[j].d, V_NAME(amin_row)(p, m));
            s->b[j].d = fold_most(s->b[j].d, V_NAME(amax_row)(p, m));
        }
}
V_INLINE void V_NAME(aminmax_columns)(fold_state *s, int j, const char *p, int64_t rows, int64_t step, VM m) {
    VF least = V_NAME(amin_columns)(p, rows, step, m), most = V_NAME(amax_columns)(p, rows, step, m);
    V_UNROLL for (int h = 0; h < V_HALVES; h++) {
        double *a = &s->a[j + h * D_WIDTH].d, *b = &s->b[j + h * D_WIDTH].d;
        D_NAME(v_store)(a, D_NAME(join_least)(D_NAME(v_load)(a), V_NAME(half_of)(least, h)));
        D_NAME(v_store)(b, D_NAME(join_most)(D_NAME(v_load)(b), V_NAME(half_of)(most, h)));
    }
}
V_WIDE_TILE(aminmax)

/* where the lanes of x are what is looked for, a NaN, too */
V_INLINE VM V_NAME(is_found)(VF x, VF sought) {
    return v_either(v_is_equal(x, sought), v_both(v_unordered(x, x), v_unordered(sought, sought)));
}

/* the place of a value that is there */
V_INLINE int64_t V_NAME(find_first)(const V_ELEMENT *p, int64_t n, V_ELEMENT value) {
    VF sought = v_set(value);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        int bits = v_mask_bits(V_NAME(is_found)(v_load(p + i), sought));
        if (bits) return i + __builtin_ctz((unsigned)bits);
    }
    VM m = v_tail(n - i);
    int bits = v_mask_bits(v_both(m, V_NAME(is_found)(v_load_tail(p + i, m), sought)));
    return i + __builtin_ctz((unsigned)bits | 1u << V_WIDTH);
}

/* the first row that holds what is sought, for each lane */
V_INLINE VF V_NAME(find_rows)(const char *p, int64_t rows, int64_t step, VM m, VF sought) {
    VF at = v_zero();
    for (int64_t r = rows - 1; r >= 0; r--)
        at = v_pick(V_NAME(is_found)(v_load_tail((const V_ELEMENT *)(p + r * step), m), sought),
                    v_set((V_ELEMENT)r), at);
    return at;
}

/* a block's extreme, then its place if it beats what there was */
#define V_PLACE(name, fold, beats)                                                                           \
    V_INLINE void V_NAME(name##_row)(fold_cell * a, fold_cell * b, int64_t first, const V_ELEMENT *p,        \
                                     int64_t n) {                                                            \
        for (int64_t at = 0, m; at < n; at += m) {                                                           \
            m = simd_min(n - at, FOLD_SHORT);                                                                \
            double best = V_NAME(fold##_row)(p + at, m);                                                     \
            if (!beats(a, b, best)) continue;                                                                \
            a->d = best;                                                                                     \
            b->i = first + at + V_NAME(find_first)(p + at, m, (V_ELEMENT)best);                              \
        }                                                                                                    \
    }                                                                                                        \
    V_TARGET static void V_NAME(name##_along)(fold_state * s, int j, int end, const void *from, int64_t n,   \
                                              int64_t step) {                                                \
        for (const char *p = from; j < end; j++, p += step)                                                  \
            V_NAME(name##_row)(&s->a[j], &s->b[j], s->first, (const V_ELEMENT *)p, n);                       \
    }                                                                                                        \
    V_INLINE void V_NAME(name##_columns)(fold_state * s, int j, const char *p, int64_t rows, int64_t step,   \
                                         VM m) {                                                             \
        VF best = V_NAME(fold##_columns)(p, rows, step, m);                                                  \
        V_ELEMENT value[V_WIDTH], place[V_WIDTH];                                                            \
        bool any = false;                                                                                    \
        v_store(value, best);                                                                                \
        for (int u = 0; u < V_WIDTH; u++) any |= beats(&s->a[j + u], &s->b[j + u], value[u]);                \
        if (!any) return;                                                                                    \
        v_store(place, V_NAME(find_rows)(p, rows, step, m, best));                                           \
        for (int u = 0; u < V_WIDTH; u++) {                                                                  \
            if (!beats(&s->a[j + u], &s->b[j + u], value[u])) continue;                                      \
            s->a[j + u].d = value[u];                                                                        \
            s->b[j + u].i = s->first + (int64_t)place[u];                                                    \
        }                                                                                                    \
    }                                                                                                        \
    V_WIDE_TILE(name)
V_PLACE(place_most, amax, is_more)
V_PLACE(place_least, amin, is_less)
#undef V_PLACE
