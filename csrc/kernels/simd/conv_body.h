/* Direct convolution, two ways. Both walk the taps (channel, ky, kx) in the order of `weights`, and read
 * input at row + tap[...]: Note [Taps] in kernels/simd/conv.c. */

/* Wide: lanes are neighbouring outputs of a row; `channels` outputs by two rows by `vectors` vectors. */
V_INLINE void V_NAME(wide_tile)(const direct_job *j, const float *w, const float *bias, const float *r0,
                                const float *r1, float *to0, float *to1, const int channels,
                                const int vectors, int64_t second, bool cut, VM tail) {
    VF sum[CONV_WIDE][2][2];
    V_UNROLL
    for (int o = 0; o < channels; o++) {
        VF b = bias ? v_set(bias[o]) : v_zero();
        sum[o][0][0] = sum[o][0][1] = sum[o][1][0] = sum[o][1][1] = b;
    }
    for (int64_t c = 0; c < j->ic; c++, r0 += j->channel, r1 += j->channel)
        for (int t = 0; t < j->taps; t++, w += channels) {
            const float *p = r0 + j->tap[t], *q = r1 + j->tap[t];
            VF u[2], v[2];
            u[0] = cut ? v_load_tail(p, tail) : v_load(p);
            v[0] = cut ? v_load_tail(q, tail) : v_load(q);
            if (vectors == 2) u[1] = v_load(p + second), v[1] = v_load(q + second);
            V_UNROLL
            for (int o = 0; o < channels; o++) {
                VF s = v_set(w[o]);
                V_UNROLL
                for (int i = 0; i < vectors; i++) {
                    sum[o][0][i] = v_fma(u[i], s, sum[o][0][i]);
                    sum[o][1][i] = v_fma(v[i], s, sum[o][1][i]);
                }
            }
        }
    V_UNROLL
    for (int o = 0; o < channels; o++, to0 += j->plane, to1 += j->plane) {
        if (cut) {
            v_store_tail(to0, tail, sum[o][0][0]);
            v_store_tail(to1, tail, sum[o][1][0]);
        } else {
            v_store(to0, sum[o][0][0]);
            v_store(to1, sum[o][1][0]);
            if (vectors == 2) v_store(to0 + second, sum[o][0][1]), v_store(to1 + second, sum[o][1][1]);
        }
    }
}

/* Two output rows of a block of channels; the last vector of a row overlaps the one before. */
#define WIDE(count)                                                                                          \
    V_TARGET static void V_NAME(wide_##count)(const direct_job *j, const float *w, const float *b,           \
                                              const float *r0, const float *r1, float *to0, float *to1) {    \
        int64_t ow = j->ow, x = 0;                                                                           \
        VM tail = v_tail(ow < V_WIDTH ? ow : V_WIDTH);                                                       \
        if (ow < V_WIDTH) {                                                                                  \
            V_NAME(wide_tile)(j, w, b, r0, r1, to0, to1, count, 1, 0, true, tail);                           \
            return;                                                                                          \
        }                                                                                                    \
        while (x < ow) {                                                                                     \
            int64_t at = simd_min(x, ow - V_WIDTH);                                                          \
            if (V_WIDTH == 16 && ow - x > V_WIDTH) {                                                         \
                int64_t second = simd_min(V_WIDTH, ow - V_WIDTH - x);                                        \
                V_NAME(wide_tile)(j, w, b, r0 + x, r1 + x, to0 + x, to1 + x, count, 2, second, false, tail); \
                x += 2 * V_WIDTH;                                                                            \
            } else {                                                                                         \
                V_NAME(wide_tile)(j, w, b, r0 + at, r1 + at, to0 + at, to1 + at, count, 1, 0, false, tail);  \
                x += V_WIDTH;                                                                                \
            }                                                                                                \
        }                                                                                                    \
    }
WIDE(1)
WIDE(2)
WIDE(3)
WIDE(4)
WIDE(5)
WIDE(6)
#undef WIDE

/* item = ((image * groups + group) * blocks + block) * pairs + pair of rows, or with the last two swapped */
static void V_NAME(wide_items)(void *ctx, int64_t begin, int64_t end, int thread) {
    static void (*const part[CONV_WIDE])(const direct_job *, const float *, const float *, const float *,
                                         const float *, float *, float *) = {
        V_NAME(wide_1), V_NAME(wide_2), V_NAME(wide_3), V_NAME(wide_4), V_NAME(wide_5), V_NAME(wide_6)};
    const direct_job *j = ctx;
    (void)thread;
    int64_t pairs = simd_ceil_div(j->oh, 2), blocks = simd_ceil_div(j->oc, CONV_WIDE);
    for (int64_t i = begin; i < end; i++) {
        int64_t group = i / pairs / blocks, at = i % (pairs * blocks);
        int64_t y = 2 * (j->rows_first ? at % pairs : at / blocks),
                block = j->rows_first ? at / pairs : at % blocks;
        int64_t y1 = simd_min(y + 1, j->oh - 1), first = group % j->groups * j->oc + block * CONV_WIDE;
        int count = (int)simd_min(CONV_WIDE, j->oc - block * CONV_WIDE);
        const float *in = j->in + group * j->ic * j->channel;
        float *to = j->out + (group * j->oc + block * CONV_WIDE) * j->plane;
        part[count - 1](j, j->weights + first * j->ic * j->taps, j->bias ? j->bias + first : NULL,
                        in + y * j->row, in + y1 * j->row, to + y * j->ow, to + y1 * j->ow);
    }
}

/* Deep: lanes are output channels; `pixels` neighbouring outputs by `vectors` vectors of channels. */
V_INLINE void V_NAME(deep_tile)(const direct_job *j, const float *w, const float *r, float *to,
                                const int pixels, const int vectors) {
    VF sum[12][2];
    V_UNROLL
    for (int i = 0; i < pixels; i++) sum[i][0] = sum[i][1] = v_zero();
    for (int64_t c = 0; c < j->ic; c++, r += j->channel)
        for (int t = 0; t < j->taps; t++, w += vectors * V_WIDTH) {
            const float *p = r + j->tap[t];
            VF u[2];
            u[0] = v_load(w);
            if (vectors == 2) u[1] = v_load(w + V_WIDTH);
            V_UNROLL
            for (int i = 0; i < pixels; i++) {
                VF s = v_set(p[i]);
                sum[i][0] = v_fma(u[0], s, sum[i][0]);
                if (vectors == 2) sum[i][1] = v_fma(u[1], s, sum[i][1]);
            }
        }
    V_UNROLL
    for (int i = 0; i < pixels; i++, to += vectors * V_WIDTH) {
        v_store(to, sum[i][0]);
        if (vectors == 2) v_store(to + V_WIDTH, sum[i][1]);
    }
}

#define DEEP(n, vectors)                                                                                     \
    V_TARGET static void V_NAME(deep_##n##x##vectors)(const direct_job *j, const float *w, const float *r,   \
                                                      float *to) {                                           \
        V_NAME(deep_tile)(j, w, r, to, n, vectors);                                                          \
    }
#define DEEPS(v)                                                                                             \
    DEEP(1, v)                                                                                               \
    DEEP(2, v)                                                                                               \
    DEEP(3, v)                                                                                               \
    DEEP(4, v)                                                                                               \
    DEEP(5, v)                                                                                               \
    DEEP(6, v)
#define DEEPS_MORE(v)                                                                                        \
    DEEP(7, v)                                                                                               \
    DEEP(8, v)                                                                                               \
    DEEP(9, v)                                                                                               \
    DEEP(10, v)                                                                                              \
    DEEP(11, v)                                                                                              \
    DEEP(12, v)
#define DEEP_ROW(v)                                                                                          \
    V_NAME(deep_1x##v), V_NAME(deep_2x##v), V_NAME(deep_3x##v), V_NAME(deep_4x##v), V_NAME(deep_5x##v),      \
        V_NAME(deep_6x##v)
#define DEEP_ROW_MORE(v)                                                                                     \
    V_NAME(deep_7x##v), V_NAME(deep_8x##v), V_NAME(deep_9x##v), V_NAME(deep_10x##v), V_NAME(deep_11x##v),    \
        V_NAME(deep_12x##v)
DEEPS(1)
DEEPS_MORE(1)
DEEPS(2)
#if SIMD_BITS == 512
DEEPS_MORE(2)
#endif

/* item = ((image * groups + group) * blocks + block) * rows + row, or with the last two swapped */
static void V_NAME(deep_items)(void *ctx, int64_t begin, int64_t end, int thread) {
    static void (*const part[2][12])(const direct_job *, const float *, const float *,
                                     float *) = {{DEEP_ROW(1), DEEP_ROW_MORE(1)},
#if SIMD_BITS == 512
                                                 {DEEP_ROW(2), DEEP_ROW_MORE(2)}
#else
                                                 {DEEP_ROW(2)}
#endif
    };
    const direct_job *j = ctx;
    (void)thread;
    int64_t blocks = simd_ceil_div(j->oc, 2 * V_WIDTH), lanes_all = simd_ceil_div(j->oc, V_WIDTH) * V_WIDTH;
    for (int64_t i = begin; i < end; i++) {
        int64_t group = i / j->oh / blocks, at = i % (j->oh * blocks);
        int64_t y = j->rows_first ? at % j->oh : at / blocks,
                block = j->rows_first ? at / j->oh : at % blocks;
        int64_t first = block * 2 * V_WIDTH, channels = simd_min(2 * V_WIDTH, j->oc - first);
        int64_t lanes = channels > V_WIDTH ? 2 * V_WIDTH : V_WIDTH;
        int64_t most = lanes == V_WIDTH || V_WIDTH == 16 ? 12 : 6;
        const float *w = j->weights + (group % j->groups * lanes_all + first) * j->ic * j->taps;
        const float *r = j->in + group * j->ic * j->channel + y * j->row;
        const float *bias = j->bias ? j->bias + group % j->groups * j->oc + first : NULL;
        float *to = j->out + (group * j->oc + first) * j->plane + y * j->ow;
        float line[48 * 2 * V_WIDTH];
        for (int64_t x = 0; x < j->ow; x += 48) { /* 48 pixels, channel-last, then turned */
            int64_t pixels = simd_min(48, j->ow - x), tiles = simd_ceil_div(pixels, most), done = 0;
            for (int64_t t = 0; t < tiles; t++) {
                int64_t count = simd_ceil_div(pixels - done, tiles - t);
                part[lanes > V_WIDTH][count - 1](j, w, r + x + done, line + done * lanes);
                done += count;
            }
            for (int64_t p = 0; p < pixels && bias; p++)
                for (int64_t o = 0; o < channels; o++) line[p * lanes + o] += bias[o];
            rl_gemm_turn(to + x, j->plane, line, lanes, pixels, channels);
        }
    }
}
#undef DEEP
#undef DEEPS
#undef DEEPS_MORE
#undef DEEP_ROW
#undef DEEP_ROW_MORE
