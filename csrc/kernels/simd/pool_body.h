/* Every second lane of 2 * V_WIDTH numbers; AVX2 leaves them in an order that POOL_SORT repairs. */
#if SIMD_BITS == 256
#define POOL_EVEN(a, b) _mm256_shuffle_ps(a, b, 0x88)
#define POOL_ODD(a, b)  _mm256_shuffle_ps(a, b, 0xdd)
#define POOL_SORT(x)    _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8))
#define POOL_LOW(e, o)  _mm256_unpacklo_ps(e, o)
#define POOL_HIGH(e, o) _mm256_unpackhi_ps(e, o)
#define POOL_GATHER(p, step)                                                                                 \
    _mm256_i32gather_ps(                                                                                     \
        p, _mm256_mullo_epi32(_mm256_set1_epi32((int)(step)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), 4)
#else
#define POOL_LANES(first)                                                                                    \
    _mm512_add_epi32(_mm512_set1_epi32(first),                                                               \
                     _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30))
#define POOL_EVEN(a, b) _mm512_permutex2var_ps(a, POOL_LANES(0), b)
#define POOL_ODD(a, b)  _mm512_permutex2var_ps(a, POOL_LANES(1), b)
#define POOL_SORT(x)    (x)
#define POOL_WEAVE(at)                                                                                       \
    _mm512_add_epi32(_mm512_set1_epi32(at),                                                                  \
                     _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23))
#define POOL_LOW(e, o)  _mm512_permutex2var_ps(e, POOL_WEAVE(0), o)
#define POOL_HIGH(e, o) _mm512_permutex2var_ps(e, POOL_WEAVE(8), o)
#define POOL_GATHER(p, step)                                                                                 \
    _mm512_mask_i32gather_ps(                                                                                \
        _mm512_setzero_ps(), 0xffff,                                                                         \
        _mm512_mullo_epi32(_mm512_set1_epi32((int)(step)),                                                   \
                           _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)),         \
        p, 4)
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

/* is x the new largest? A NaN always, as in a loop over the window */
V_INLINE VM V_NAME(pool_beats)(VF x, VF most) {
    return v_either(v_is_less(most, x), v_unordered(x, x));
}

/* The gradient of V_WIDTH windows of 2 x 2 goes to the first largest element of each. */
V_INLINE void V_NAME(pool_pairs_back)(VF p0, VF p1, VF q0, VF q1, VF grad, VF to[4]) {
    VF a = POOL_EVEN(p0, p1), b = POOL_ODD(p0, p1), c = POOL_EVEN(q0, q1), d = POOL_ODD(q0, q1);
    VM in_b = V_NAME(pool_beats)(b, a);
    VF most = v_pick(in_b, b, a);
    VM in_c = V_NAME(pool_beats)(c, most);
    most = v_pick(in_c, c, most);
    VM in_d = V_NAME(pool_beats)(d, most);
    VF zero = v_zero(), g = POOL_SORT(grad);
    d = v_pick(in_d, g, zero), g = v_pick(in_d, zero, g);
    c = v_pick(in_c, g, zero), g = v_pick(in_c, zero, g);
    b = v_pick(in_b, g, zero), a = v_pick(in_b, zero, g);
    to[0] = POOL_LOW(a, b), to[1] = POOL_HIGH(a, b), to[2] = POOL_LOW(c, d), to[3] = POOL_HIGH(c, d);
}

/* one row of windows */
V_INLINE void V_NAME(pool_row_back)(const float *p, const float *q, const float *grad, float *top,
                                    float *bottom, int64_t ow) {
    VF to[4];
    int64_t x = 0;
    for (; x + V_WIDTH <= ow; x += V_WIDTH) {
        const float *a = p + 2 * x, *b = q + 2 * x;
        V_NAME(pool_pairs_back)(v_load(a), v_load(a + V_WIDTH), v_load(b), v_load(b + V_WIDTH),
                                v_load(grad + x), to);
        v_store(top + 2 * x, to[0]), v_store(top + 2 * x + V_WIDTH, to[1]);
        v_store(bottom + 2 * x, to[2]), v_store(bottom + 2 * x + V_WIDTH, to[3]);
    }
    if (x == ow) return;
    const float *a = p + 2 * x, *b = q + 2 * x;
    VM m = v_tail(simd_min(V_WIDTH, 2 * (ow - x))), n = v_tail(simd_max(0, 2 * (ow - x) - V_WIDTH));
    V_NAME(pool_pairs_back)(v_load_tail(a, m), v_load_tail(a + V_WIDTH, n), v_load_tail(b, m),
                            v_load_tail(b + V_WIDTH, n), v_load_tail(grad + x, v_tail(ow - x)), to);
    v_store_tail(top + 2 * x, m, to[0]), v_store_tail(top + 2 * x + V_WIDTH, n, to[1]);
    v_store_tail(bottom + 2 * x, m, to[2]), v_store_tail(bottom + 2 * x + V_WIDTH, n, to[3]);
}

V_TARGET static void V_NAME(pool_planes_back)(void *ctx, int64_t begin, int64_t end, int thread) {
    const pool_job *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const float *in = j->in + i * j->h * j->w, *grad = j->lines + i * j->oh * j->ow;
        float *to = j->out + i * j->h * j->w;
        for (int64_t y = 0; y < j->oh; y++, in += 2 * j->w, to += 2 * j->w, grad += j->ow) {
            V_NAME(pool_row_back)(in, in + j->w, grad, to, to + j->w, j->ow);
            if (2 * j->ow < j->w) to[j->w - 1] = to[2 * j->w - 1] = 0;
        }
        if (2 * j->oh < j->h) __builtin_memset(to, 0, (size_t)j->w * sizeof(float));
    }
}
/* V_WIDTH numbers `step` apart; two steps as POOL_EVEN leaves them */
V_INLINE VF V_NAME(pool_pick)(const float *p, int64_t step) {
    if (step == 1) return v_load(p);
    if (step == 2) return POOL_EVEN(v_load(p), v_load(p + V_WIDTH));
    return POOL_GATHER(p, step);
}

/* The input rows that a row of windows sees, copied to where -inf stands around them. */
V_INLINE void V_NAME(pool_lines_fill)(const pool_job *j, const float *in, float *lines, int64_t front,
                                      int64_t top) {
    for (int64_t d = 0; d < j->kd; d++)
        for (int64_t i = 0; i < j->kh; i++, lines += j->line) {
            int64_t depth = front + d * j->dd, row = top + i * j->dh;
            if (depth >= 0 && depth < j->d && row >= 0 && row < j->h)
                V_NAME(pool_merge)(lines + j->pw, in + (depth * j->h + row) * j->w, j->cols, true);
            else
                for (int64_t x = 0; x < j->cols; x++) lines[j->pw + x] = -__builtin_inff();
        }
}

/* For V_WIDTH windows: how far from its corner the largest element of each stands, -1 where all is -inf. */
V_INLINE void V_NAME(pool_places)(const pool_job *j, const float *lines, int64_t step, int32_t to[V_WIDTH]) {
    VF most = v_set(-__builtin_inff()), place = v_from_bits(vi_set(-1));
    for (int64_t d = 0; d < j->kd; d++)
        for (int64_t i = 0; i < j->kh; i++, lines += j->line) {
            int64_t far = (d * j->dd * j->h + i * j->dh) * j->w;
            for (int64_t t = 0; t < j->kw; t++, far += j->dw) {
                VF v = V_NAME(pool_pick)(lines + t * j->dw, step);
                VM m = V_NAME(pool_beats)(v, most);
                most = v_pick(m, v, most);
                place = v_pick(m, v_from_bits(vi_set((int)far)), place);
            }
        }
    v_store((float *)to, step == 2 ? POOL_SORT(place) : place);
}

/* from a corner in the padding to the first element that is none */
static inline int64_t V_NAME(pool_start)(int64_t at, int64_t dilation) {
    return at < 0 ? simd_ceil_div(-at, dilation) * dilation : 0;
}

/* A row of windows: places by vectors, gradients one by one in PyTorch's order. to: corner of a window at 0
 */
V_INLINE void V_NAME(pool_line_back)(const pool_job *j, const float *lines, const float *grad, float *to,
                                     int64_t start, int64_t step) {
    int32_t place[V_WIDTH];
    for (int64_t x = 0; x < j->ow; x += V_WIDTH) {
        V_NAME(pool_places)(j, lines + x * step, step, place);
        for (int64_t i = 0; i < V_WIDTH && x + i < j->ow; i++) {
            int64_t left = (x + i) * step - j->pw, far = place[i];
            if (far < 0) far = start + V_NAME(pool_start)(left, j->dw);
            to[left + far] += grad[x + i];
        }
    }
}

V_INLINE void V_NAME(pool_volume_back)(const pool_job *j, const float *in, const float *grad, float *to,
                                       float *lines) {
    __builtin_memset(to, 0, (size_t)(j->d * j->h * j->w) * sizeof(float));
    for (int64_t z = 0; z < j->od; z++)
        for (int64_t y = 0; y < j->oh; y++, grad += j->ow) {
            int64_t front = z * j->sd - j->pd, top = y * j->sh - j->ph, corner = (front * j->h + top) * j->w;
            int64_t start = (V_NAME(pool_start)(front, j->dd) * j->h + V_NAME(pool_start)(top, j->dh)) * j->w;
            V_NAME(pool_lines_fill)(j, in, lines, front, top);
            if (j->sw == 1)
                V_NAME(pool_line_back)(j, lines, grad, to + corner, start, 1);
            else if (j->sw == 2)
                V_NAME(pool_line_back)(j, lines, grad, to + corner, start, 2);
            else
                V_NAME(pool_line_back)(j, lines, grad, to + corner, start, j->sw);
        }
}

V_TARGET static void V_NAME(pool_any_back)(void *ctx, int64_t begin, int64_t end, int thread) {
    const pool_job *j = ctx;
    int64_t room = j->kd * j->kh * j->line, inner = j->d * j->h * j->w, outer = j->od * j->oh * j->ow;
    float *lines = j->room + thread * room;
    for (int64_t i = 0; i < room; i++) lines[i] = -__builtin_inff();
    for (int64_t i = begin; i < end; i++)
        V_NAME(pool_volume_back)(j, j->in + i * inner, j->lines + i * outer, j->out + i * inner, lines);
}
#undef POOL_GATHER
#undef POOL_LOW
#undef POOL_HIGH
#undef POOL_WEAVE
#undef POOL_LANES
#undef POOL_EVEN
#undef POOL_ODD
#undef POOL_SORT
