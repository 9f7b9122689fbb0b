/* Rows of softmax, log_softmax and their gradients, which lie side by side. A NaN need not win the search for
 * the largest number: it makes the sum NaN, and so the row. */
V_INLINE float V_NAME(row_most)(const float *x, int64_t n) {
    const VF least = v_set(-__builtin_inff());
    VF a = least, b = least, c = least, d = least;
    int64_t i = 0;
    for (; i + 4 * V_WIDTH <= n; i += 4 * V_WIDTH) {
        a = v_max(v_load(x + i), a), b = v_max(v_load(x + i + V_WIDTH), b);
        c = v_max(v_load(x + i + 2 * V_WIDTH), c), d = v_max(v_load(x + i + 3 * V_WIDTH), d);
    }
    for (; i + V_WIDTH <= n; i += V_WIDTH) a = v_max(v_load(x + i), a);
    if (i < n) {
        const VM m = v_tail(n - i);
        b = v_max(v_pick(m, v_load_tail(x + i, m), least), b);
    }
    return V_NAME(lanes_most)(v_max(v_max(a, b), v_max(c, d)));
}

/* the sum of e^(x - most); what is added is kept in `to` unless that is NULL */
V_INLINE double V_NAME(row_exp)(const float *x, float *to, int64_t n, float most) {
    const VF shift = v_set(most);
    double total = 0;
    for (int64_t i = 0; i < n;) {
        VF sum = v_zero(), more = v_zero();
        int64_t end = simd_min(n, i + SPAN);
        for (; i + 2 * V_WIDTH <= end; i += 2 * V_WIDTH) {
            VF e = V_NAME(exp_normal)(v_sub(v_load(x + i), shift));
            VF f = V_NAME(exp_normal)(v_sub(v_load(x + i + V_WIDTH), shift));
            if (to) v_store(to + i, e), v_store(to + i + V_WIDTH, f);
            sum = v_add(sum, e), more = v_add(more, f);
        }
        for (; i < end; i += V_WIDTH) {
            const VM m = v_tail(simd_min(end - i, V_WIDTH));
            VF e = v_pick(m, V_NAME(exp_normal)(v_sub(v_load_tail(x + i, m), shift)), v_zero());
            if (to) v_store_tail(to + i, m, e);
            sum = v_add(sum, e);
        }
        i = end;
        total += (double)V_NAME(row_total)(v_add(sum, more));
    }
    return total;
}

V_INLINE void V_NAME(softmax_row)(const float *x, float *to, int64_t n) {
    const VF s = v_set((float)(1 / V_NAME(row_exp)(x, to, n, V_NAME(row_most)(x, n))));
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) v_store(to + i, v_mul(v_load(to + i), s));
    if (i < n) {
        const VM m = v_tail(n - i);
        v_store_tail(to + i, m, v_mul(v_load_tail(to + i, m), s));
    }
}

V_INLINE void V_NAME(log_softmax_row)(const float *x, float *to, int64_t n) {
    const float most = V_NAME(row_most)(x, n);
    const VF shift = v_set(most);
    const VF log_sum = v_set(__builtin_logf((float)V_NAME(row_exp)(x, NULL, n, most)));
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) v_store(to + i, v_sub(v_sub(v_load(x + i), shift), log_sum));
    if (i < n) {
        const VM m = v_tail(n - i);
        v_store_tail(to + i, m, v_sub(v_sub(v_load_tail(x + i, m), shift), log_sum));
    }
}

/* the sum of grad, or of grad * y */
V_INLINE float V_NAME(row_dot)(const float *grad, const float *y, int64_t n) {
    double total = 0;
    for (int64_t i = 0; i < n;) {
        VF a = v_zero(), b = v_zero(), c = v_zero(), d = v_zero(), one = v_set(1);
        int64_t end = simd_min(n, i + SPAN);
        for (; i + 4 * V_WIDTH <= end; i += 4 * V_WIDTH) {
            const float *g = grad + i, *f = y + i;
            a = v_fma(v_load(g), y ? v_load(f) : one, a);
            b = v_fma(v_load(g + V_WIDTH), y ? v_load(f + V_WIDTH) : one, b);
            c = v_fma(v_load(g + 2 * V_WIDTH), y ? v_load(f + 2 * V_WIDTH) : one, c);
            d = v_fma(v_load(g + 3 * V_WIDTH), y ? v_load(f + 3 * V_WIDTH) : one, d);
        }
        for (; i < end; i += V_WIDTH) {
            const VM m = v_tail(simd_min(end - i, V_WIDTH));
            a = v_fma(v_load_tail(grad + i, m), y ? v_load_tail(y + i, m) : one, a);
        }
        i = end;
        total += (double)V_NAME(row_total)(v_add(v_add(a, b), v_add(c, d)));
    }
    return (float)total;
}

V_INLINE void V_NAME(softmax_back_row)(const float *grad, const float *y, float *to, int64_t n) {
    const VF sum = v_set(V_NAME(row_dot)(grad, y, n));
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH)
        v_store(to + i, v_mul(v_sub(v_load(grad + i), sum), v_load(y + i)));
    if (i < n) {
        const VM m = v_tail(n - i);
        v_store_tail(to + i, m, v_mul(v_sub(v_load_tail(grad + i, m), sum), v_load_tail(y + i, m)));
    }
}

V_INLINE void V_NAME(log_softmax_back_row)(const float *grad, const float *y, float *to, int64_t n) {
    const VF sum = v_set(V_NAME(row_dot)(grad, NULL, n));
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH)
        v_store(to + i, v_fnma(V_NAME(exp_normal)(v_load(y + i)), sum, v_load(grad + i)));
    if (i < n) {
        const VM m = v_tail(n - i);
        v_store_tail(to + i, m,
                     v_fnma(V_NAME(exp_normal)(v_load_tail(y + i, m)), sum, v_load_tail(grad + i, m)));
    }
}

/* ---- rows of at most two vectors stay in registers ---- */
typedef struct {
    int count;
    VM m[2];
} V_NAME(short_row);

V_INLINE void V_NAME(short_load)(V_NAME(short_row) s, const float *p, VF rest, VF to[2]) {
    V_UNROLL for (int i = 0; i < s.count; i++) to[i] =
        v_pick(s.m[i], v_load_tail(p + i * V_WIDTH, s.m[i]), rest);
}
V_INLINE void V_NAME(short_store)(V_NAME(short_row) s, float *p, const VF from[2]) {
    V_UNROLL for (int i = 0; i < s.count; i++) v_store_tail(p + i * V_WIDTH, s.m[i], from[i]);
}
V_INLINE VF V_NAME(short_total)(V_NAME(short_row) s, const VF of[2]) {
    return v_set(V_NAME(row_total)(s.count == 1 ? of[0] : v_add(of[0], of[1])));
}

/* x less the largest of its row, and e to that */
V_INLINE void V_NAME(short_exp)(V_NAME(short_row) s, VF x[2], VF e[2]) {
    VF most = v_set(V_NAME(lanes_most)(s.count == 1 ? x[0] : v_max(x[0], x[1])));
    V_UNROLL for (int i = 0; i < s.count; i++) {
        x[i] = v_sub(x[i], most);
        e[i] = v_pick(s.m[i], V_NAME(exp_normal)(x[i]), v_zero());
    }
}

V_INLINE void V_NAME(short_softmax)(V_NAME(short_row) s, const float *x, float *to) {
    VF row[2], e[2];
    V_NAME(short_load)(s, x, v_set(-__builtin_inff()), row);
    V_NAME(short_exp)(s, row, e);
    VF part = v_div(v_set(1), V_NAME(short_total)(s, e));
    V_UNROLL for (int i = 0; i < s.count; i++) e[i] = v_mul(e[i], part);
    V_NAME(short_store)(s, to, e);
}

/* x less the largest, and the sum */
V_INLINE float V_NAME(short_sum)(V_NAME(short_row) s, const float *x, float *to) {
    VF row[2], e[2];
    float sum[V_WIDTH];
    V_NAME(short_load)(s, x, v_set(-__builtin_inff()), row);
    V_NAME(short_exp)(s, row, e);
    V_NAME(short_store)(s, to, row);
    v_store(sum, V_NAME(short_total)(s, e));
    return sum[0];
}
V_INLINE void V_NAME(short_less)(V_NAME(short_row) s, float *to, float less) {
    VF row[2];
    V_NAME(short_load)(s, to, v_zero(), row);
    V_UNROLL for (int i = 0; i < s.count; i++) row[i] = v_sub(row[i], v_set(less));
    V_NAME(short_store)(s, to, row);
}

V_INLINE void V_NAME(short_back)(V_NAME(short_row) s, const float *grad, const float *y, float *to,
                                 bool log) {
    VF g[2], e[2], dot[2];
    V_NAME(short_load)(s, grad, v_zero(), g);
    V_NAME(short_load)(s, y, v_zero(), e);
    V_UNROLL for (int i = 0; i < s.count; i++) dot[i] = log ? g[i] : v_mul(g[i], e[i]);
    VF sum = V_NAME(short_total)(s, dot);
    V_UNROLL for (int i = 0; i < s.count; i++) g[i] =
        log ? v_fnma(V_NAME(exp_normal)(e[i]), sum, g[i]) : v_mul(v_sub(g[i], sum), e[i]);
    V_NAME(short_store)(s, to, g);
}

/* ---- many rows ---- */
V_INLINE void V_NAME(some_softmax)(V_NAME(short_row) s, const float *x, float *to, int64_t n, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) V_NAME(short_softmax)(s, x + r * n, to + r * n);
}
V_INLINE void V_NAME(some_log_softmax)(V_NAME(short_row) s, const float *x, float *to, int64_t n,
                                       int64_t rows) {
    enum { SOME = 64 }; /* a vector of logarithms at a time */
    float sum[SOME] = {0};
    for (int64_t first = 0; first < rows; first += SOME) {
        int64_t some = simd_min(SOME, rows - first);
        const float *from = x + first * n;
        float *at = to + first * n;
        for (int64_t r = 0; r < some; r++) sum[r] = V_NAME(short_sum)(s, from + r * n, at + r * n);
        for (int64_t r = 0; r < some; r += V_WIDTH) v_store(sum + r, V_NAME(math_log)(v_load(sum + r)));
        for (int64_t r = 0; r < some; r++) V_NAME(short_less)(s, at + r * n, sum[r]);
    }
}
V_INLINE void V_NAME(some_back)(V_NAME(short_row) s, const float *grad, const float *y, float *to, int64_t n,
                                int64_t rows, bool log) {
    for (int64_t r = 0; r < rows; r++) V_NAME(short_back)(s, grad + r * n, y + r * n, to + r * n, log);
}

/* some(row): rows of one or two vectors; row: others, one by one */
#define ROWS(name, some, row)                                                                                \
    V_TARGET static void V_NAME(name)(const float *a, const float *b, float *to, int64_t n, int64_t rows) {  \
        V_NAME(short_row) one = {1, {v_tail(simd_min(n, V_WIDTH)), v_tail(0)}};                              \
        V_NAME(short_row) two = {2, {v_tail(V_WIDTH), v_tail(simd_min(V_WIDTH, simd_max(0, n - V_WIDTH)))}}; \
        (void)b;                                                                                             \
        if (n <= V_WIDTH)                                                                                    \
            some(one);                                                                                       \
        else if (n <= 2 * V_WIDTH)                                                                           \
            some(two);                                                                                       \
        else                                                                                                 \
            for (int64_t r = 0; r < rows; r++, a += n, b = b ? b + n : NULL, to += n) row;                   \
    }
#define SOFTMAX(s)          V_NAME(some_softmax)(s, a, to, n, rows)
#define LOG_SOFTMAX(s)      V_NAME(some_log_softmax)(s, a, to, n, rows)
#define SOFTMAX_BACK(s)     V_NAME(some_back)(s, a, b, to, n, rows, false)
#define LOG_SOFTMAX_BACK(s) V_NAME(some_back)(s, a, b, to, n, rows, true)
ROWS(softmax_rows, SOFTMAX, V_NAME(softmax_row)(a, to, n))
ROWS(log_softmax_rows, LOG_SOFTMAX, V_NAME(log_softmax_row)(a, to, n))
ROWS(softmax_back_rows, SOFTMAX_BACK, V_NAME(softmax_back_row)(a, b, to, n))
ROWS(log_softmax_back_rows, LOG_SOFTMAX_BACK, V_NAME(log_softmax_back_row)(a, b, to, n))
#undef ROWS
#undef SOFTMAX
#undef LOG_SOFTMAX
#undef SOFTMAX_BACK
#undef LOG_SOFTMAX_BACK
