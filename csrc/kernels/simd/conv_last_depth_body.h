/* Depthwise convolutions channels last, compiled once for each instruction set and for doubles. */

/* `count` neighbouring places by the taps that see the input, for a vector of channels */
V_INLINE void V_NAME(depth_places)(const depth_row *r, const V_ELEMENT *x, const V_ELEMENT *w,
                                   const V_ELEMENT *bias, V_ELEMENT *to, int64_t taps, VM tail,
                                   const int count, const bool cut) {
    VF sum[8];
    const VF start = !bias ? v_zero() : cut ? v_load_tail(bias, tail) : v_load(bias);
    const int64_t step = r->place, next = r->tap[2];
    V_UNROLL
    for (int i = 0; i < count; i++) sum[i] = start;
    for (int64_t z = 0; z < r->taps[0]; z++)
        for (int64_t y = 0; y < r->taps[1]; y++) {
            const V_ELEMENT *from = x + z * r->tap[0] + y * r->tap[1],
                            *weight = w + z * r->w[0] + y * r->w[1];
            for (int64_t t = 0; t < taps; t++, from += next, weight += r->channels) {
                const VF by = cut ? v_load_tail(weight, tail) : v_load(weight);
                V_UNROLL
                for (int i = 0; i < count; i++)
                    sum[i] =
                        v_fma(cut ? v_load_tail(from + i * step, tail) : v_load(from + i * step), by, sum[i]);
            }
        }
    V_UNROLL
    for (int i = 0; i < count; i++) {
        if (cut)
            v_store_tail(to + i * r->channels, tail, sum[i]);
        else
            v_store(to + i * r->channels, sum[i]);
    }
}

#define DEPTH(name, cut)                                                                                     \
    V_TARGET static void V_NAME(name)(const depth_row *r, int64_t c, VM tail) {                              \
        const V_ELEMENT *in = (const V_ELEMENT *)r->in + c, *w = (const V_ELEMENT *)r->weight + c;           \
        const V_ELEMENT *bias = r->bias ? (const V_ELEMENT *)r->bias + c : NULL;                             \
        V_ELEMENT *to = (V_ELEMENT *)r->out + c;                                                             \
        for (int64_t x = 0, n; x < r->places; x += n) {                                                      \
            int64_t first = 0, taps = r->kernel;                                                             \
            n = x >= r->from ? r->to - x : 0;                                                                \
            if (n <= 0) { /* the kernel reaches over the edge */                                             \
                n = 1;                                                                                       \
                depth_edge(r, x, &first, &taps);                                                             \
            }                                                                                                \
            const V_ELEMENT *at = in + x * r->place + first * r->tap[2], *by = w + first * r->channels;      \
            V_ELEMENT *into = to + x * r->channels;                                                          \
            if (n >= 8)                                                                                      \
                n = 8, V_NAME(depth_places)(r, at, by, bias, into, taps, tail, 8, cut);                      \
            else if (n >= 4)                                                                                 \
                n = 4, V_NAME(depth_places)(r, at, by, bias, into, taps, tail, 4, cut);                      \
            else                                                                                             \
                n = 1, V_NAME(depth_places)(r, at, by, bias, into, taps, tail, 1, cut);                      \
        }                                                                                                    \
    }
DEPTH(depth_whole, false)
DEPTH(depth_cut, true)
#undef DEPTH

V_TARGET static void V_NAME(depth_line)(const depth_row *r) {
    int64_t c = 0;
    for (; c + V_WIDTH <= r->channels; c += V_WIDTH) V_NAME(depth_whole)(r, c, v_tail(V_WIDTH - 1));
    if (c < r->channels) V_NAME(depth_cut)(r, c, v_tail(r->channels - c));
}
