/* Every second lane of 2 * V_WIDTH numbers; AVX2 leaves them in an order that POOL_SORT repairs. */
#if SIMD_BITS == 256
#define POOL_EVEN(a, b) _mm256_shuffle_ps(a, b, 0x88)
#define POOL_ODD(a, b)  _mm256_shuffle_ps(a, b, 0xdd)
#define POOL_SORT(x)    _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8))
#else
#define POOL_LANES(first)                                                                                    \
    _mm512_add_epi32(_mm512_set1_epi32(first),                                                               \
                     _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30))
#define POOL_EVEN(a, b) _mm512_permutex2var_ps(a, POOL_LANES(0), b)
#define POOL_ODD(a, b)  _mm512_permutex2var_ps(a, POOL_LANES(1), b)
#define POOL_SORT(x)    (x)
#endif

/* Windows of 2 x 2 side by side, no padding. */
V_TARGET static void V_NAME(pool_pairs)(const pool_job *j, const float *in, float *out) {
    int64_t w = j->w, ow = j->ow;
    for (int64_t y = 0; y < j->oh; y++, in += 2 * w, out += ow) {
        for (int64_t x = 0; x < ow; x += V_WIDTH) {
            int64_t left = ow - x;
            VF a, b;
            const float *p = in + 2 * x, *q = p + w;
            if (left < V_WIDTH && ow >= V_WIDTH) { /* the last block overlaps the one before */
                p -= 2 * (V_WIDTH - left), q -= 2 * (V_WIDTH - left);
                x = ow - V_WIDTH;
                left = V_WIDTH;
            }
            if (left >= V_WIDTH) {
                a = V_NAME(math_max)(v_load(p), v_load(q));
                b = V_NAME(math_max)(v_load(p + V_WIDTH), v_load(q + V_WIDTH));
                v_store(out + x, POOL_SORT(V_NAME(math_max)(POOL_EVEN(a, b), POOL_ODD(a, b))));
            } else {
                VM m = v_tail(simd_min(V_WIDTH, 2 * left)), n = v_tail(simd_max(0, 2 * left - V_WIDTH));
                a = V_NAME(math_max)(v_load_tail(p, m), v_load_tail(q, m));
                b = V_NAME(math_max)(v_load_tail(p + V_WIDTH, n), v_load_tail(q + V_WIDTH, n));
                a = POOL_SORT(V_NAME(math_max)(POOL_EVEN(a, b), POOL_ODD(a, b)));
                v_store_tail(out + x, v_tail(left), a);
            }
        }
    }
}

/* to = max(to, from) over n numbers, or a copy */
V_INLINE void V_NAME(pool_merge)(float *to, const float *from, int64_t n, bool copy) {
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        VF x = v_load(from + i);
        v_store(to + i, copy ? x : V_NAME(math_max)(v_load(to + i), x));
    }
    if (i < n) {
        VM m = v_tail(n - i);
        VF x = v_load_tail(from + i, m);
        v_store_tail(to + i, m, copy ? x : V_NAME(math_max)(v_load_tail(to + i, m), x));
    }
}

/* Any window: first the largest of each column (`line`, -inf where padding is), then along the line. */
V_TARGET static void V_NAME(pool_any)(const pool_job *j, const float *in, float *out, float *line) {
    for (int64_t i = 0; i < j->line; i++) line[i] = -__builtin_inff();
    int64_t cols = simd_max(0, simd_min(j->w, j->line - POOL_SLACK - j->pw));
    for (int64_t y = 0; y < j->oh; y++, out += j->ow) {
        bool copy = true;
        for (int64_t i = 0; i < j->kh; i++) {
            int64_t row = y * j->sh - j->ph + i * j->dh;
            if (row < 0 || row >= j->h) continue;
            V_NAME(pool_merge)(line + j->pw, in + row * j->w, cols, copy);
            copy = false;
        }
        if (copy)
            for (int64_t i = 0; i < cols; i++) line[j->pw + i] = -__builtin_inff();
        for (int64_t x = 0; x < j->ow && j->sw <= 2; x += V_WIDTH) {
            VF best = v_zero();
            for (int64_t t = 0; t < j->kw; t++) {
                const float *p = line + x * j->sw + t * j->dw;
                VF v = v_load(p);
                if (j->sw == 2) v = POOL_EVEN(v, v_load(p + V_WIDTH));
                best = t ? V_NAME(math_max)(best, v) : v;
            }
            if (j->sw == 2) best = POOL_SORT(best);
            if (x + V_WIDTH <= j->ow)
                v_store(out + x, best);
            else
                v_store_tail(out + x, v_tail(j->ow - x), best);
        }
        for (int64_t x = 0; x < j->ow && j->sw > 2; x++) {
            float best = line[x * j->sw];
            for (int64_t t = 1; t < j->kw; t++) {
                float v = line[x * j->sw + t * j->dw];
                if (v > best || v != v) best = v;
            }
            out[x] = best;
        }
    }
}

V_TARGET static void V_NAME(pool_planes)(void *ctx, int64_t begin, int64_t end, int thread) {
    const pool_job *j = ctx;
    for (int64_t p = begin; p < end; p++) {
        const float *in = j->in + p * j->h * j->w;
        float *out = j->out + p * j->oh * j->ow;
        if (j->pairs)
            V_NAME(pool_pairs)(j, in, out);
        else
            V_NAME(pool_any)(j, in, out, j->lines + thread * j->line);
    }
}
#undef POOL_LANES
#undef POOL_EVEN
#undef POOL_ODD
#undef POOL_SORT
