/* Pooling of tensors that lie channels last, vectors over channels: Note [Channels last] in
 * kernels/simd/pool_last.c. All is written for `u` vectors side by side, 4 of them or 1; `m` masks the last
 * channels. */
V_INLINE VF V_NAME(last_load)(const V_ELEMENT *p, bool masked, VM m) {
    return masked ? v_load_tail(p, m) : v_load(p);
}
V_INLINE void V_NAME(last_store)(V_ELEMENT *p, VF x, bool masked, VM m) {
    if (masked)
        v_store_tail(p, m, x);
    else
        v_store(p, x);
}

/* ---- forward ---- */
typedef struct {
    const rl_span *d, *h, *w;
    int64_t at; /* of the output in its plane */
} V_NAME(last_window);

V_INLINE void V_NAME(last_join)(const last_job *s, const V_ELEMENT *in, V_ELEMENT *out, V_NAME(last_window) w,
                                int u, bool masked, VM m, bool max) {
    const rl_pool_plan *g = &s->job.plan;
    VF all[4];
    for (int i = 0; i < u; i++) all[i] = V_NAME(pool_neutral)(max);
    for (int64_t z = w.d->start; z < w.d->end; z += g->dilation[0])
        for (int64_t y = w.h->start; y < w.h->end; y += g->dilation[1]) {
            const V_ELEMENT *row = in + (z * g->size[1] + y) * g->size[2] * s->channels;
            for (int64_t x = w.w->start; x < w.w->end; x += g->dilation[2])
                for (int i = 0; i < u; i++)
                    all[i] = V_NAME(pool_join)(
                        max, all[i], V_NAME(last_load)(row + x * s->channels + i * V_WIDTH, masked, m));
        }
    VF by = v_set(max ? 1 : ((const V_ELEMENT *)s->counts)[w.at]);
    for (int i = 0; i < u; i++)
        V_NAME(last_store)(out + i * V_WIDTH, max ? all[i] : v_div(all[i], by), masked, m);
}

V_INLINE void V_NAME(last_find)(const last_job *s, const V_ELEMENT *in, V_ELEMENT *out, V_ELEMENT *places,
                                V_NAME(last_window) w, int u, bool masked, VM m) {
    const rl_pool_plan *g = &s->job.plan;
    VF most[4], place[4];
    int64_t start = (w.d->start * g->size[1] + w.h->start) * g->size[2] + w.w->start;
    for (int i = 0; i < u; i++) most[i] = V_NAME(pool_neutral)(true), place[i] = PLACE_SET(start);
    for (int64_t z = w.d->start; z < w.d->end; z += g->dilation[0])
        for (int64_t y = w.h->start; y < w.h->end; y += g->dilation[1])
            for (int64_t x = w.w->start; x < w.w->end; x += g->dilation[2]) {
                int64_t at = (z * g->size[1] + y) * g->size[2] + x;
                VF here = PLACE_SET(at);
                for (int i = 0; i < u; i++) {
                    VF v = V_NAME(last_load)(in + at * s->channels + i * V_WIDTH, masked, m);
                    VM beats = V_NAME(places_beats)(v, most[i]);
                    most[i] = v_pick(beats, v, most[i]);
                    place[i] = v_pick(beats, here, place[i]);
                }
            }
    for (int i = 0; i < u; i++) {
        if (out) V_NAME(last_store)(out + i * V_WIDTH, most[i], masked, m);
        V_NAME(last_store)(places + i * V_WIDTH, place[i], masked, m);
    }
}

/* Results of a part of the channels, for one row of windows. */
V_INLINE void V_NAME(last_row)(const last_job *s, int64_t n, const rl_span *d, const rl_span *h, int64_t row,
                               int64_t c, last_what what, int u, bool masked, VM m) {
    const rl_pool_plan *g = &s->job.plan;
    const V_ELEMENT *in = (const V_ELEMENT *)s->job.in + n * g->volume * s->channels + c;
    int64_t first = (n * g->places + row * g->out[2]) * s->channels + c;
    V_ELEMENT room[4 * V_WIDTH];
    for (int64_t o = 0; o < g->out[2]; o++, first += s->channels) {
        V_NAME(last_window) w = {d, h, &g->spans[2][o], row * g->out[2] + o};
        V_ELEMENT *out = (V_ELEMENT *)s->job.out + first;
        if (what == LAST_PLACES) {
            V_NAME(last_find)(s, in, NULL, (V_ELEMENT *)s->places + first, w, u, masked, m);
        } else if (what == LAST_BOTH) {
            int64_t many = simd_min(u * V_WIDTH, s->channels - c);
            V_NAME(last_find)(s, in, out, room, w, u, masked, m);
            for (int64_t i = 0; i < many; i++) s->indices[first + i] = PLACE_OF(room[i]);
        } else {
            V_NAME(last_join)(s, in, out, w, u, masked, m, what == LAST_MOST);
        }
    }
}

V_INLINE void V_NAME(last_rows)(const last_job *s, int64_t begin, int64_t end, last_what what) {
    const rl_pool_plan *g = &s->job.plan;
    for (int64_t item = begin; item < end; item++) {
        int64_t c = item % s->parts * LAST_PART, rows = item / s->parts, row = rows % (g->out[0] * g->out[1]);
        int64_t n = rows / (g->out[0] * g->out[1]), last = simd_min(c + LAST_PART, s->channels);
        const rl_span *d = &g->spans[0][row / g->out[1]], *h = &g->spans[1][row % g->out[1]];
        for (; c + 4 * V_WIDTH <= last; c += 4 * V_WIDTH)
            V_NAME(last_row)(s, n, d, h, row, c, what, 4, false, v_tail(V_WIDTH));
        for (; c + V_WIDTH <= last; c += V_WIDTH)
            V_NAME(last_row)(s, n, d, h, row, c, what, 1, false, v_tail(V_WIDTH));
        if (c < last) V_NAME(last_row)(s, n, d, h, row, c, what, 1, true, v_tail(last - c));
    }
}
#define LAST_ROWS(name, what)                                                                                \
    V_TARGET static void V_NAME(name)(void *ctx, int64_t begin, int64_t end, int thread) {                   \
        (void)thread;                                                                                        \
        V_NAME(last_rows)(ctx, begin, end, what);                                                            \
    }
LAST_ROWS(last_mean, LAST_MEAN)
LAST_ROWS(last_most, LAST_MOST)
LAST_ROWS(last_both, LAST_BOTH)
LAST_ROWS(last_places, LAST_PLACES)
#undef LAST_ROWS

/* ---- backward: each input gathers from the outputs that see it ---- */
V_INLINE void V_NAME(last_gather)(const last_job *s, const V_ELEMENT *grad, const V_ELEMENT *places,
                                  V_ELEMENT *out, int64_t at, const pool_seen *seen[3], int u, bool masked,
                                  VM m) {
    const rl_pool_plan *g = &s->job.plan;
    VF all[4];
    for (int i = 0; i < u; i++) all[i] = v_zero();
    for (int64_t z = seen[0]->first; z < seen[0]->last; z++)
        for (int64_t y = seen[1]->first; y < seen[1]->last; y++)
            for (int64_t x = seen[2]->first; x < seen[2]->last; x++) {
                int64_t o = (z * g->out[1] + y) * g->out[2] + x;
                for (int i = 0; i < u; i++) {
                    int64_t from = o * s->channels + i * V_WIDTH;
                    VF v = V_NAME(last_load)(grad + from, masked, m);
                    if (places) {
                        VF place = V_NAME(last_load)(places + from, masked, m);
                        all[i] = v_add(all[i], v_pick(PLACE_IS(place, at), v, v_zero()));
                    } else {
                        all[i] = v_fma(v, v_set(((const V_ELEMENT *)s->counts)[o]), all[i]);
                    }
                }
            }
    for (int i = 0; i < u; i++) V_NAME(last_store)(out + i * V_WIDTH, all[i], masked, m);
}

V_INLINE void V_NAME(last_row_back)(const last_job *s, int64_t n, int64_t row, int64_t c, int u, bool masked,
                                    VM m, bool placed) {
    const rl_pool_plan *g = &s->job.plan;
    int64_t before = n * g->places * s->channels + c;
    const V_ELEMENT *grad = (const V_ELEMENT *)s->grad + before;
    const V_ELEMENT *places = placed ? (const V_ELEMENT *)s->places + before : NULL;
    const pool_seen *seen[3] = {&s->seen[0][row / g->size[1]], &s->seen[1][row % g->size[1]], s->seen[2]};
    V_ELEMENT *out = (V_ELEMENT *)s->job.out + n * g->volume * s->channels + c;
    for (int64_t x = 0; x < g->size[2]; x++, seen[2]++) {
        int64_t at = row * g->size[2] + x;
        V_NAME(last_gather)(s, grad, places, out + at * s->channels, at, seen, u, masked, m);
    }
}

V_INLINE void V_NAME(last_rows_back)(const last_job *s, int64_t begin, int64_t end, bool placed) {
    const rl_pool_plan *g = &s->job.plan;
    for (int64_t item = begin; item < end; item++) {
        int64_t c = item % s->parts * LAST_PART, rows = item / s->parts, high = g->size[0] * g->size[1];
        int64_t n = rows / high, row = rows % high, last = simd_min(c + LAST_PART, s->channels);
        for (; c + 4 * V_WIDTH <= last; c += 4 * V_WIDTH)
            V_NAME(last_row_back)(s, n, row, c, 4, false, v_tail(V_WIDTH), placed);
        for (; c + V_WIDTH <= last; c += V_WIDTH)
            V_NAME(last_row_back)(s, n, row, c, 1, false, v_tail(V_WIDTH), placed);
        if (c < last) V_NAME(last_row_back)(s, n, row, c, 1, true, v_tail(last - c), placed);
    }
}
V_TARGET static void V_NAME(last_mean_back)(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    V_NAME(last_rows_back)(ctx, begin, end, false);
}
V_TARGET static void V_NAME(last_most_back)(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    V_NAME(last_rows_back)(ctx, begin, end, true);
}
