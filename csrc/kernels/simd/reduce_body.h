/* What folds of floats and doubles are made of: Note [Folds] in kernels/simd/reduce.h. For each instruction
 * set the text of doubles comes before that of floats, whose sums go on in doubles.
 *
 *   V_FOLD(name, neutral, join, expression)        acc, x: vectors of elements
 *   V_FOLD_WIDE(name, neutral, join, expression)   acc, x: vectors of doubles
 *
 * An element `neutral` changes nothing; `join` puts two accumulators together: add, times, most or least. */
#undef D_NAME
#undef V_HALVES
#if SIMD_BITS == 256
#define D_NAME(f) f##_avx2_f64
#else
#define D_NAME(f) f##_avx512_f64
#endif
#define D_WIDTH (SIMD_BITS / 64)

#ifdef SIMD_DOUBLE
#define V_HALVES 1
V_INLINE VD V_NAME(half_of)(VF x, int half) {
    (void)half;
    return x;
}
V_INLINE VD V_NAME(load_wide)(const double *p) {
    return v_load(p);
}
#if SIMD_BITS == 256
V_INLINE VD V_NAME(swapped)(VD x, int distance) {
    return distance == 2 ? _mm256_permute2f128_pd(x, x, 1) : _mm256_permute_pd(x, 5);
}
V_INLINE double V_NAME(lane_0)(VD x) {
    return _mm256_cvtsd_f64(x);
}
#else
V_INLINE VD V_NAME(swapped)(VD x, int distance) {
    return distance == 4   ? _mm512_maskz_shuffle_f64x2(0xff, x, x, 0x4e)
           : distance == 2 ? _mm512_maskz_shuffle_f64x2(0xff, x, x, 0xb1)
                           : _mm512_maskz_permute_pd(0xff, x, 0x55);
}
V_INLINE double V_NAME(lane_0)(VD x) {
    return _mm512_cvtsd_f64(x);
}
#endif
#else
#define V_HALVES 2
V_INLINE VD V_NAME(half_of)(VF x, int half) {
    return half ? v_high(x) : v_low(x);
}
V_INLINE VD V_NAME(load_wide)(const float *p) { /* straight from memory, which spares a shuffle */
#if SIMD_BITS == 256
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
#else
    return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
#endif
}
#endif

V_INLINE VF V_NAME(join_add)(VF a, VF b) {
    return v_add(a, b);
}
V_INLINE VF V_NAME(join_times)(VF a, VF b) {
    return v_mul(a, b);
}
/* a NaN among b wins, and one in a stays: it is the second operand */
V_INLINE VF V_NAME(join_most)(VF a, VF b) {
    return v_pick(v_unordered(b, b), b, v_max(b, a));
}
V_INLINE VF V_NAME(join_least)(VF a, VF b) {
    return v_pick(v_unordered(b, b), b, v_min(b, a));
}

#ifdef SIMD_DOUBLE
#define LANES(join)                                                                                          \
    V_INLINE double V_NAME(lanes_##join)(VD x) {                                                             \
        V_UNROLL for (int w = V_WIDTH / 2; w; w /= 2) x = V_NAME(join_##join)(x, V_NAME(swapped)(x, w));     \
        return V_NAME(lane_0)(x);                                                                            \
    }
LANES(add)
LANES(times)
LANES(most)
LANES(least)
#undef LANES
#endif

/* the first n lanes of x, then `none` */
V_INLINE VF V_NAME(load_first)(const V_ELEMENT *p, int64_t n, VF none) {
    VM m = v_tail(n);
    return v_pick(m, v_load_tail(p, m), none);
}

#ifndef RL_KERNELS_SIMD_REDUCE_FOLDS
#define RL_KERNELS_SIMD_REDUCE_FOLDS
#define V_STEP(name, expression)                                                                             \
    V_INLINE VF V_NAME(name##_step)(VF acc, VF x) {                                                          \
        return expression;                                                                                   \
    }
/* Short runs in elements, their results in doubles. */
#define V_ROW(name, neutral, join)                                                                           \
    V_INLINE double V_NAME(name##_row)(const V_ELEMENT *p, int64_t n) {                                      \
        const VF none = v_set(neutral);                                                                      \
        VD wide[V_HALVES];                                                                                   \
        V_UNROLL for (int h = 0; h < V_HALVES; h++) wide[h] = D_NAME(v_set)(neutral);                        \
        for (int64_t m; n > 0; p += m, n -= m) {                                                             \
            VF acc[4] = {none, none, none, none};                                                            \
            int64_t i = 0;                                                                                   \
            m = simd_min(n, FOLD_SHORT);                                                                     \
            for (; i + 4 * V_WIDTH <= m; i += 4 * V_WIDTH)                                                   \
                V_UNROLL for (int u = 0; u < 4; u++) acc[u] =                                                \
                    V_NAME(name##_step)(acc[u], v_load(p + i + u * V_WIDTH));                                \
            for (; i + V_WIDTH <= m; i += V_WIDTH) acc[0] = V_NAME(name##_step)(acc[0], v_load(p + i));      \
            if (i < m) acc[1] = V_NAME(name##_step)(acc[1], V_NAME(load_first)(p + i, m - i, none));         \
            acc[0] = V_NAME(join_##join)(acc[0], acc[1]), acc[2] = V_NAME(join_##join)(acc[2], acc[3]);      \
            acc[0] = V_NAME(join_##join)(acc[0], acc[2]);                                                    \
            V_UNROLL for (int h = 0; h < V_HALVES; h++) wide[h] =                                            \
                D_NAME(join_##join)(wide[h], V_NAME(half_of)(acc[0], h));                                    \
        }                                                                                                    \
        return D_NAME(lanes_##join)(                                                                         \
            D_NAME(join_##join)(wide[0], V_HALVES == 2 ? wide[V_HALVES - 1] : D_NAME(v_set)(neutral)));      \
    }
/* name_row for every output */
#define V_ALONG(name, join)                                                                                  \
    V_TARGET static void V_NAME(name##_along)(fold_state * s, int j, int end, const void *from, int64_t n,   \
                                              int64_t step) {                                                \
        for (const char *p = from; j < end; j++, p += step)                                                  \
            s->a[j].d = fold_##join(s->a[j].d, V_NAME(name##_row)((const V_ELEMENT *)p, n));                 \
    }
/* one vector of columns after the other; lanes beyond the width hold what does not count */
#define V_COLUMNS(name, neutral)                                                                             \
    V_INLINE VF V_NAME(name##_columns)(const char *p, int64_t rows, int64_t step, VM m) {                    \
        VF acc = v_set(neutral);                                                                             \
        for (int64_t r = 0; r < rows; r++, p += step)                                                        \
            acc = V_NAME(name##_step)(acc, v_load_tail((const V_ELEMENT *)p, m));                            \
        return acc;                                                                                          \
    }
#define V_ACROSS(name, neutral, join)                                                                        \
    V_INLINE void V_NAME(name##_keep)(fold_state * s, int j, VF acc) {                                       \
        V_UNROLL for (int h = 0; h < V_HALVES; h++) {                                                        \
            double *to = &s->a[j + h * D_WIDTH].d;                                                           \
            D_NAME(v_store)(to, D_NAME(join_##join)(D_NAME(v_load)(to), V_NAME(half_of)(acc, h)));           \
        }                                                                                                    \
    }                                                                                                        \
    V_TARGET static void V_NAME(name##_across)(fold_state * s, const void *from, int64_t rows, int64_t step, \
                                               int width) {                                                  \
        const V_ELEMENT *x = from;                                                                           \
        const VF none = v_set(neutral);                                                                      \
        int j = 0;                                                                                           \
        for (; j + 4 * V_WIDTH <= width; j += 4 * V_WIDTH) {                                                 \
            VF acc[4] = {none, none, none, none};                                                            \
            const char *p = (const char *)(x + j);                                                           \
            for (int64_t r = 0; r < rows; r++, p += step)                                                    \
                V_UNROLL for (int u = 0; u < 4; u++) acc[u] =                                                \
                    V_NAME(name##_step)(acc[u], v_load((const V_ELEMENT *)p + u * V_WIDTH));                 \
            V_UNROLL for (int u = 0; u < 4; u++) V_NAME(name##_keep)(s, j + u * V_WIDTH, acc[u]);            \
        }                                                                                                    \
        for (; j < width; j += V_WIDTH) {                                                                    \
            VM m = v_tail(simd_min(V_WIDTH, width - j));                                                     \
            V_NAME(name##_keep)(s, j, V_NAME(name##_columns)((const char *)(x + j), rows, step, m));         \
        }                                                                                                    \
    }
#define V_FOLD(name, neutral, join, expression)                                                              \
    V_STEP(name, expression)                                                                                 \
    V_ROW(name, neutral, join)                                                                               \
    V_ALONG(name, join)                                                                                      \
    V_COLUMNS(name, neutral)                                                                                 \
    V_ACROSS(name, neutral, join)

/* as V_ROW and V_ACROSS, with every step in doubles */
#define V_WIDE_ROW(name, neutral, join)                                                                      \
    V_INLINE double V_NAME(name##_row)(const V_ELEMENT *p, int64_t n) {                                      \
        VD acc[4], none = D_NAME(v_set)(neutral);                                                            \
        int64_t i = 0;                                                                                       \
        V_UNROLL for (int u = 0; u < 4; u++) acc[u] = none;                                                  \
        for (; i + 4 * D_WIDTH <= n; i += 4 * D_WIDTH)                                                       \
            V_UNROLL for (int u = 0; u < 4; u++) acc[u] =                                                    \
                D_NAME(name##_step)(acc[u], V_NAME(load_wide)(p + i + u * D_WIDTH));                         \
        for (; i < n; i += V_WIDTH) {                                                                        \
            VF x = V_NAME(load_first)(p + i, simd_min(V_WIDTH, n - i), v_set(neutral));                      \
            V_UNROLL for (int h = 0; h < V_HALVES; h++) acc[h] =                                             \
                D_NAME(name##_step)(acc[h], V_NAME(half_of)(x, h));                                          \
        }                                                                                                    \
        acc[0] = D_NAME(join_##join)(acc[0], acc[1]), acc[2] = D_NAME(join_##join)(acc[2], acc[3]);          \
        return D_NAME(lanes_##join)(D_NAME(join_##join)(acc[0], acc[2]));                                    \
    }
/* Runs are ended early: a product that has become subnormal makes every step slow. */
#define V_WIDE_ALONG(name, join)                                                                             \
    V_TARGET static void V_NAME(name##_along)(fold_state * s, int j, int end, const void *from, int64_t n,   \
                                              int64_t step) {                                                \
        for (const char *p = from; j < end; j++, p += step)                                                  \
            for (int64_t i = 0; i < n; i += 4 * FOLD_SHORT)                                                  \
                s->a[j].d = fold_##join(s->a[j].d, V_NAME(name##_row)((const V_ELEMENT *)p + i,              \
                                                                      simd_min(4 * FOLD_SHORT, n - i)));     \
    }
/* name_columns for every vector of columns */
#define V_WIDE_TILE(name)                                                                                    \
    V_TARGET static void V_NAME(name##_across)(fold_state * s, const void *from, int64_t rows, int64_t step, \
                                               int width) {                                                  \
        const V_ELEMENT *x = from;                                                                           \
        for (int j = 0; j < width; j += V_WIDTH) {                                                           \
            VM m = v_tail(simd_min(V_WIDTH, width - j));                                                     \
            V_NAME(name##_columns)(s, j, (const char *)(x + j), rows, step, m);                              \
        }                                                                                                    \
    }
#define V_WIDE_ACROSS(name)                                                                                  \
    V_INLINE void V_NAME(name##_columns)(fold_state * s, int j, const char *p, int64_t rows, int64_t step,   \
                                         VM m) {                                                             \
        VD acc[V_HALVES];                                                                                    \
        V_UNROLL for (int h = 0; h < V_HALVES; h++) acc[h] = D_NAME(v_load)(&s->a[j + h * D_WIDTH].d);       \
        for (int64_t r = 0; r < rows; r++, p += step) {                                                      \
            VF x = v_load_tail((const V_ELEMENT *)p, m);                                                     \
            V_UNROLL for (int h = 0; h < V_HALVES; h++) acc[h] =                                             \
                D_NAME(name##_step)(acc[h], V_NAME(half_of)(x, h));                                          \
        }                                                                                                    \
        V_UNROLL for (int h = 0; h < V_HALVES; h++) D_NAME(v_store)(&s->a[j + h * D_WIDTH].d, acc[h]);       \
    }                                                                                                        \
    V_WIDE_TILE(name)
#endif

#undef V_FOLD_WIDE
#undef V_WIDE_STEP
#ifdef SIMD_DOUBLE
#define V_WIDE_STEP V_STEP
#else
#define V_WIDE_STEP(name, expression)
#endif
#define V_FOLD_WIDE(name, neutral, join, expression)                                                         \
    V_WIDE_STEP(name, expression)                                                                            \
    V_WIDE_ROW(name, neutral, join)                                                                          \
    V_WIDE_ALONG(name, join)                                                                                 \
    V_WIDE_ACROSS(name)
