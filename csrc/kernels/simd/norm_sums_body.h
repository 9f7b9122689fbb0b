/* Sums over runs of floats for the norms: Note [Spans] in norm.h. Lanes beyond a run count nothing. */

/* of at most NORM_SPAN numbers, from their distances to `pivot` */
V_INLINE norm_moments V_NAME(pivot_moments)(const float *x, int64_t n, float pivot) {
    const VF from = v_set(pivot);
    VF sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()}, square[4] = {sum[0], sum[0], sum[0], sum[0]};
    int64_t i = 0;
    for (; i + 4 * V_WIDTH <= n; i += 4 * V_WIDTH) V_UNROLL for (int v = 0; v < 4; v++) {
            VF off = v_sub(v_load(x + i + v * V_WIDTH), from);
            sum[v] = v_add(sum[v], off), square[v] = v_fma(off, off, square[v]);
        }
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        VF off = v_sub(v_load(x + i), from);
        sum[0] = v_add(sum[0], off), square[0] = v_fma(off, off, square[0]);
    }
    if (i < n) {
        const VM m = v_tail(n - i);
        VF off = v_pick(m, v_sub(v_load_tail(x + i, m), from), v_zero());
        sum[1] = v_add(sum[1], off), square[1] = v_fma(off, off, square[1]);
    }
    VF sums = v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3]));
    VF squares = v_add(v_add(square[0], square[1]), v_add(square[2], square[3]));
    float total[4];
    _mm_storeu_ps(total, V_NAME(sums)(sums, squares, v_zero(), v_zero()));
    double off = (double)total[0] / (double)n, rest = (double)total[1] - off * (double)total[0];
    return (norm_moments){(double)pivot + off, rest < 0 ? 0 : rest};
}

/* The first number is as good a pivot as any that lies among them; when it does not, the mean is one. */
V_INLINE norm_moments V_NAME(span_moments)(const float *x, int64_t n) {
    norm_moments m = V_NAME(pivot_moments)(x, n, *x);
    double off = m.mean - (double)*x;
    if (RL_UNLIKELY(off * off * (double)n > 8 * m.squares)) m = V_NAME(pivot_moments)(x, n, (float)m.mean);
    return m;
}

V_INLINE norm_moments V_NAME(moments)(const float *x, int64_t n) {
    norm_moments all = {0, 0};
    for (int64_t i = 0; i < n; i += NORM_SPAN) {
        int64_t more = simd_min(n - i, NORM_SPAN);
        norm_moments span = V_NAME(span_moments)(x + i, more);
        all = i ? norm_join(all, i, span, more) : span;
    }
    return all;
}

V_INLINE double V_NAME(squares)(const float *x, int64_t n) {
    double total = 0;
    for (int64_t i = 0; i < n;) {
        VF a = v_zero(), b = v_zero(), c = v_zero(), d = v_zero();
        int64_t end = simd_min(n, i + NORM_SPAN);
        for (; i + 4 * V_WIDTH <= end; i += 4 * V_WIDTH) {
            VF e = v_load(x + i), f = v_load(x + i + V_WIDTH);
            VF g = v_load(x + i + 2 * V_WIDTH), h = v_load(x + i + 3 * V_WIDTH);
            a = v_fma(e, e, a), b = v_fma(f, f, b), c = v_fma(g, g, c), d = v_fma(h, h, d);
        }
        for (; i < end; i += V_WIDTH) {
            VF e = v_load_tail(x + i, v_tail(simd_min(end - i, V_WIDTH)));
            a = v_fma(e, e, a);
        }
        i = end;
        total += (double)V_NAME(row_total)(v_add(v_add(a, b), v_add(c, d)));
    }
    return total;
}

/* adds the sums of grad and of grad * (x - center); of grad * weight where there is one */
V_INLINE void V_NAME(dots)(const float *grad, const float *x, const float *weight, int64_t n, float center,
                           double to[2]) {
    const VF from = v_set(center);
    for (int64_t i = 0; i < n;) {
        VF p = v_zero(), q = v_zero(), r = v_zero(), s = v_zero();
        int64_t end = simd_min(n, i + NORM_SPAN);
        for (; i + 2 * V_WIDTH <= end; i += 2 * V_WIDTH) {
            VF g = v_load(grad + i), h = v_load(grad + i + V_WIDTH);
            if (weight) g = v_mul(g, v_load(weight + i)), h = v_mul(h, v_load(weight + i + V_WIDTH));
            p = v_add(p, g), r = v_add(r, h);
            q = v_fma(g, v_sub(v_load(x + i), from), q);
            s = v_fma(h, v_sub(v_load(x + i + V_WIDTH), from), s);
        }
        for (; i < end; i += V_WIDTH) {
            const VM m = v_tail(simd_min(end - i, V_WIDTH));
            VF g = v_load_tail(grad + i, m);
            if (weight) g = v_mul(g, v_load_tail(weight + i, m));
            VF off = v_pick(m, v_sub(v_load_tail(x + i, m), from), v_zero());
            p = v_add(p, g);
            q = v_fma(g, off, q);
        }
        i = end;
        float total[4];
        _mm_storeu_ps(total, V_NAME(sums)(v_add(p, r), v_add(q, s), v_zero(), v_zero()));
        to[0] += (double)total[0], to[1] += (double)total[1];
    }
}
