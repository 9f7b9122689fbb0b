/* Rows of scores, compiled once for each instruction set and for doubles (kernels/simd/isa.h): what happens
 * between the products of Note [Attention in blocks]. */

#ifdef SIMD_DOUBLE
V_INLINE VF V_NAME(exp_normal)(VF x) {
    const VF least = v_set(-708);
    return v_pick(v_is_less(x, least), v_zero(), V_NAME(math_exp)(v_max(least, x)));
}
V_INLINE double V_NAME(lanes_most)(VF v) {
    double lane[V_WIDTH], most;
    v_store(lane, v);
    most = lane[0];
    for (int i = 1; i < V_WIDTH; i++) most = lane[i] > most ? lane[i] : most;
    return most;
}
V_INLINE double V_NAME(row_total)(VF v) {
    double lane[V_WIDTH], sum = 0;
    v_store(lane, v);
    for (int i = 0; i < V_WIDTH; i++) sum += lane[i];
    return sum;
}
#endif

/* Behind a row there is room for a vector: whole vectors are stored, which can be read again at once. */
V_INLINE void V_NAME(row_mask)(V_ELEMENT *x, const V_ELEMENT *mask, int64_t n, bool truth) {
    const VF none = v_set(-(V_ELEMENT)__builtin_inf());
    for (int64_t i = 0; i < n; i += V_WIDTH) {
        const VF with = v_load_tail(mask + i, v_tail(simd_min(V_WIDTH, n - i))), from = v_load(x + i);
        v_store(x + i, truth ? v_pick(v_differs(with, v_zero()), from, none) : v_add(from, with));
    }
}

/* the largest; a NaN need not win, as it makes the sum NaN */
V_INLINE V_ELEMENT V_NAME(row_largest)(const V_ELEMENT *x, int64_t n) {
    const VF least = v_set(-(V_ELEMENT)__builtin_inf());
    VF a = least, b = least, c = least, d = least;
    int64_t i = 0;
    for (; i + 4 * V_WIDTH <= n; i += 4 * V_WIDTH) {
        a = v_max(v_load(x + i), a), b = v_max(v_load(x + i + V_WIDTH), b);
        c = v_max(v_load(x + i + 2 * V_WIDTH), c), d = v_max(v_load(x + i + 3 * V_WIDTH), d);
    }
    for (; i < n; i += V_WIDTH) {
        const VM m = v_tail(simd_min(V_WIDTH, n - i));
        a = v_max(v_pick(m, v_load(x + i), least), a);
    }
    return V_NAME(lanes_most)(v_max(v_max(a, b), v_max(c, d)));
}

/* x = e^(x - most), and their sum */
V_INLINE V_ELEMENT V_NAME(row_weights)(V_ELEMENT *x, int64_t n, V_ELEMENT most) {
    const VF shift = v_set(most);
    VF a = v_zero(), b = v_zero();
    int64_t i = 0;
    for (; i + 2 * V_WIDTH <= n; i += 2 * V_WIDTH) {
        const VF e = V_NAME(exp_normal)(v_sub(v_load(x + i), shift));
        const VF f = V_NAME(exp_normal)(v_sub(v_load(x + i + V_WIDTH), shift));
        v_store(x + i, e), v_store(x + i + V_WIDTH, f);
        a = v_add(a, e), b = v_add(b, f);
    }
    for (; i < n; i += V_WIDTH) {
        const VM m = v_tail(simd_min(V_WIDTH, n - i));
        const VF e = v_pick(m, V_NAME(exp_normal)(v_sub(v_load(x + i), shift)), v_zero());
        v_store(x + i, e);
        a = v_add(a, e);
    }
    return V_NAME(row_total)(v_add(a, b));
}

V_TARGET static void V_NAME(attention_scale)(void *to_, int64_t n, double by) {
    V_ELEMENT *to = to_;
    const VF s = v_set((V_ELEMENT)by);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) v_store(to + i, v_mul(v_load(to + i), s));
    if (i < n) {
        const VM m = v_tail(n - i);
        v_store_tail(to + i, m, v_mul(v_load_tail(to + i, m), s));
    }
}

V_TARGET static double V_NAME(attention_dot)(const void *a_, const void *b_, int64_t n) {
    const V_ELEMENT *a = a_, *b = b_;
    VF sum = v_zero();
    for (int64_t i = 0; i < n; i += V_WIDTH) {
        const VM m = v_tail(simd_min(V_WIDTH, n - i));
        sum = v_fma(v_load_tail(a + i, m), v_load_tail(b + i, m), sum);
    }
    return V_NAME(row_total)(sum);
}

V_TARGET static void V_NAME(attention_add)(void *to_, const void *from_, int64_t n) {
    V_ELEMENT *to = to_;
    const V_ELEMENT *from = from_;
    for (int64_t i = 0; i < n; i += V_WIDTH) {
        const VM m = v_tail(simd_min(V_WIDTH, n - i));
        v_store_tail(to + i, m, v_add(v_load_tail(to + i, m), v_load_tail(from + i, m)));
    }
}

/* how many keys of the block row r sees */
V_INLINE int64_t V_NAME(row_seen)(const attention_rows *s, int64_t r) {
    return simd_max(0, simd_min(s->keys, s->first + r));
}
V_INLINE void V_NAME(row_begin)(const attention_rows *s, V_ELEMENT *x, int64_t r, int64_t n) {
    if (s->mask) V_NAME(row_mask)(x, attention_mask(s, r), n, s->truth);
}

/* the vectors behind the first n numbers */
V_INLINE void V_NAME(row_clear)(V_ELEMENT *x, int64_t n, int64_t end) {
    for (int64_t i = (n + V_WIDTH - 1) / V_WIDTH * V_WIDTH; i < end; i += V_WIDTH) v_store(x + i, v_zero());
}

/* Scores become weights, relative to the largest score of a row so far; what the row was before is brought to
 * the new scale. */
V_TARGET static void V_NAME(attention_weigh)(const attention_rows *s) {
    V_ELEMENT *most = s->most, *total = s->total;
    const V_ELEMENT none = -(V_ELEMENT)__builtin_inf();
    for (int64_t r = 0; r < s->rows; r++) {
        V_ELEMENT *x = (V_ELEMENT *)s->scores + r * s->pitch, before = most[r];
        const int64_t n = V_NAME(row_seen)(s, r);
        V_NAME(row_clear)(x, n, s->keys);
        V_NAME(row_begin)(s, x, r, n);
        if (n == 0) continue;
        const V_ELEMENT largest = V_NAME(row_largest)(x, n), now = largest > before ? largest : before;
        if (now == none) { /* all are -inf, or NaN */
            for (int64_t i = 0; i < n; i++)
                if (x[i] != x[i]) total[r] = x[i];
            V_NAME(row_clear)(x, 0, n);
            continue;
        }
        const V_ELEMENT sum = V_NAME(row_weights)(x, n, now);
        if (now != before && before != none) {
            V_ELEMENT lane[V_WIDTH];
            v_store(lane, V_NAME(exp_normal)(v_set(before - now)));
            total[r] *= lane[0];
            V_NAME(attention_scale)((V_ELEMENT *)s->sums + r * s->wide, s->wide, lane[0]);
        }
        most[r] = now;
        total[r] += sum;
    }
}

/* Sums of rows, divided by the sums of their weights, to another place or where they are; and logsumexp,
 * which is 0 of a row without weights. */
V_TARGET static void V_NAME(attention_end)(const attention_rows *s, void *to_, int64_t step, void *lse_) {
    V_ELEMENT *most = s->most, *total = s->total, *to = to_, *lse = lse_;
    for (int64_t r = 0; r < s->rows; r++, to += step) {
        const V_ELEMENT *from = (const V_ELEMENT *)s->sums + r * s->wide;
        const VF by = v_set(total[r] == 0 ? 0 : 1 / total[r]);
        int64_t i = 0;
        for (; i + V_WIDTH <= s->wide; i += V_WIDTH) v_store(to + i, v_mul(v_load(from + i), by));
        if (i < s->wide) {
            const VM m = v_tail(s->wide - i);
            v_store_tail(to + i, m, v_mul(v_load_tail(from + i, m), by));
        }
    }
#ifdef SIMD_DOUBLE
    for (int64_t r = 0; r < s->rows; r++) lse[r] = total[r] == 0 ? 0 : most[r] + log(total[r]);
#else
    for (int64_t r = 0; r < s->rows; r += V_WIDTH) {
        const VM m = v_tail(simd_min(V_WIDTH, s->rows - r));
        const VF sum = v_load_tail(total + r, m),
                 all = v_add(v_load_tail(most + r, m), V_NAME(math_log)(sum));
        v_store_tail(lse + r, m, v_pick(v_is_equal(sum, v_zero()), v_zero(), all));
    }
#endif
}

/* Scores become weights again, by logsumexp; what came to the weights becomes what goes to the scores. */
V_TARGET static void V_NAME(attention_slopes)(const attention_rows *s) {
    const V_ELEMENT *lse = s->most, *mean = s->total;
    const VF scale = v_set((V_ELEMENT)s->scale);
    for (int64_t r = 0; r < s->rows; r++) {
        V_ELEMENT *x = (V_ELEMENT *)s->scores + r * s->pitch, *y = (V_ELEMENT *)s->sums + r * s->pitch;
        const int64_t n = V_NAME(row_seen)(s, r);
        const VF shift = v_set(lse[r]), less = v_set(mean[r]);
        V_NAME(row_clear)(x, n, s->keys);
        V_NAME(row_clear)(y, n, s->keys);
        V_NAME(row_begin)(s, x, r, n);
        int64_t i = 0;
        for (; i + V_WIDTH <= n; i += V_WIDTH) {
            const VF w = V_NAME(exp_normal)(v_sub(v_load(x + i), shift));
            v_store(x + i, w);
            v_store(y + i, v_mul(v_mul(w, scale), v_sub(v_load(y + i), less)));
        }
        if (i < n) {
            const VM m = v_tail(n - i);
            const VF w = v_pick(m, V_NAME(exp_normal)(v_sub(v_load(x + i), shift)), v_zero());
            v_store(x + i, w);
            v_store(y + i, v_pick(m, v_mul(v_mul(w, scale), v_sub(v_load(y + i), less)), v_zero()));
        }
    }
}
static const attention_kit V_NAME(attention_rows_kit) = {V_NAME(attention_weigh), V_NAME(attention_slopes),
                                                         V_NAME(attention_end),   V_NAME(attention_scale),
                                                         V_NAME(attention_dot),   V_NAME(attention_add)};
