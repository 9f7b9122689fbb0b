/* Gradients of depthwise convolutions, a vector of channels at a time: Note [Depth] in
 * kernels/simd/conv_depth.c. Compiled once for each instruction set and for doubles. */

/* `count` neighbouring places of a phase: what the taps gather for them */
V_INLINE void V_NAME(gather)(const depth_phase *p, const V_ELEMENT *g, V_ELEMENT *to, int64_t step,
                             const int count) {
    VF sum[8];
    const V_ELEMENT *weight = p->weight;
    V_UNROLL
    for (int i = 0; i < count; i++) sum[i] = v_zero();
    for (int64_t t = 0; t < p->taps; t++) {
        const V_ELEMENT *from = g - p->shift[t];
        const VF w = v_load(weight + p->tap[t] * V_WIDTH);
        V_UNROLL
        for (int i = 0; i < count; i++) sum[i] = v_fma(v_load(from + i * V_WIDTH), w, sum[i]);
    }
    V_UNROLL
    for (int i = 0; i < count; i++) v_store(to + i * step, sum[i]);
}

V_TARGET static void V_NAME(gather_row)(const depth_phase *p, const void *g_, void *to_, int64_t step,
                                        int64_t n) {
    const V_ELEMENT *g = g_;
    V_ELEMENT *to = to_;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) V_NAME(gather)(p, g + i * V_WIDTH, to + i * step, step, 8);
    for (; i + 4 <= n; i += 4) V_NAME(gather)(p, g + i * V_WIDTH, to + i * step, step, 4);
    for (; i + 2 <= n; i += 2) V_NAME(gather)(p, g + i * V_WIDTH, to + i * step, step, 2);
    for (; i < n; i++) V_NAME(gather)(p, g + i * V_WIDTH, to + i * step, step, 1);
}

/* adds to `taps` sums the products of a gradient's row with inputs `step` apart */
V_INLINE void V_NAME(meet)(const V_ELEMENT *g, const V_ELEMENT *x, int64_t step, int64_t n,
                           const int32_t *shift, V_ELEMENT *sums, const int taps) {
    VF sum[DEPTH_TAPS];
    V_UNROLL
    for (int t = 0; t < taps; t++) sum[t] = v_load(sums + t * V_WIDTH);
    for (int64_t i = 0; i < n; i++, g += V_WIDTH, x += step) {
        const VF v = v_load(g);
        V_UNROLL
        for (int t = 0; t < taps; t++) sum[t] = v_fma(v_load(x + shift[t]), v, sum[t]);
    }
    V_UNROLL
    for (int t = 0; t < taps; t++) v_store(sums + t * V_WIDTH, sum[t]);
}

#define MEET(t)                                                                                              \
    V_TARGET static void V_NAME(meet_##t)(const V_ELEMENT *g, const V_ELEMENT *x, int64_t step, int64_t n,   \
                                          const int32_t *shift, V_ELEMENT *sums) {                           \
        V_NAME(meet)(g, x, step, n, shift, sums, t);                                                         \
    }
MEET(1)
MEET(2)
MEET(3)
MEET(4)
MEET(5)
MEET(6)
MEET(7)
MEET(8)
MEET(9)
#undef MEET

static void V_NAME(meet_row)(const void *g, const void *x, int64_t step, int64_t n, const int32_t *shift,
                             int64_t taps, void *sums_) {
    static void (*const part[DEPTH_TAPS])(const V_ELEMENT *, const V_ELEMENT *, int64_t, int64_t,
                                          const int32_t *, V_ELEMENT *) = {
        V_NAME(meet_1), V_NAME(meet_2), V_NAME(meet_3), V_NAME(meet_4), V_NAME(meet_5),
        V_NAME(meet_6), V_NAME(meet_7), V_NAME(meet_8), V_NAME(meet_9),
    };
    V_ELEMENT *sums = sums_;
    for (int64_t t = 0; t < taps; t += DEPTH_TAPS)
        part[simd_min(DEPTH_TAPS, taps - t) - 1](g, x, step, n, shift + t, sums + t * V_WIDTH);
}
static const depth_kit V_NAME(depth) = {V_WIDTH, V_NAME(gather_row), V_NAME(meet_row)};
