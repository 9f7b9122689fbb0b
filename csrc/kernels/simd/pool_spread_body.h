/* Gradients of means, a row of the input at a time: Note [Rows of gradients] in kernels/simd/pool_spread.c.
 */

/* What the outputs [z0, z1) x [y0, y1) bring, above each other, to line + left. */
V_INLINE void V_NAME(spread_columns)(const spread_job *s, const V_ELEMENT *grad, const pool_seen *d,
                                     const pool_seen *h, V_ELEMENT *line) {
    const pool_job *j = &s->job;
    const rl_pool_plan *g = &j->plan;
    int64_t ow = g->out[2];
    for (int64_t x = 0; x < ow; x += V_WIDTH) {
        VF all = v_zero(), wide = v_load((const V_ELEMENT *)s->counts[2] + x);
        VM m = v_tail(simd_min(V_WIDTH, ow - x));
        bool whole = x + V_WIDTH <= ow;
        for (int64_t z = d->first; z < d->last; z++)
            for (int64_t y = h->first; y < h->last; y++) {
                const V_ELEMENT *p = grad + (z * g->out[1] + y) * ow + x;
                V_ELEMENT by = ((const V_ELEMENT *)s->counts[0])[z] * ((const V_ELEMENT *)s->counts[1])[y];
                all = v_add(all, v_div(whole ? v_load(p) : v_load_tail(p, m), v_mul(v_set(by), wide)));
            }
        if (whole)
            v_store(line + s->left + x, all);
        else
            v_store_tail(line + s->left + x, m, all);
    }
}

V_INLINE void V_NAME(spread_put)(V_ELEMENT *out, int64_t x, int64_t w, VF all) {
    if (x + V_WIDTH <= w)
        v_store(out + x, all);
    else
        v_store_tail(out + x, v_tail(w - x), all);
}

/* every input of the row is seen by the one output */
V_INLINE void V_NAME(spread_fill)(V_ELEMENT *out, int64_t w, V_ELEMENT value) {
    VF all = v_set(value);
    for (int64_t x = 0; x < w; x += V_WIDTH) V_NAME(spread_put)(out, x, w, all);
}

/* steps of 2: even and odd inputs by themselves, then woven together in `woven` */
V_INLINE void V_NAME(spread_twos)(const spread_job *s, const V_ELEMENT *line, V_ELEMENT *woven,
                                  V_ELEMENT *out) {
    int64_t w = s->job.plan.size[2], pad = s->job.pad[2], kw = s->job.kernel[2];
    for (int64_t m = 0; 2 * m < w + pad; m += V_WIDTH) {
        const V_ELEMENT *p = line + s->left + m;
        VF odd = v_zero(), even = v_load(p);
        for (int64_t t = 0; t < kw / 2; t++) odd = v_add(odd, v_load(p - t));
        for (int64_t t = 1; t < (kw + 1) / 2; t++) even = v_add(even, v_load(p - t));
        even = POOL_SORT(even), odd = POOL_SORT(odd);
        v_store(woven + 2 * m, POOL_LOW(even, odd));
        v_store(woven + 2 * m + V_WIDTH, POOL_HIGH(even, odd));
    }
    for (int64_t x = 0; x < w; x += V_WIDTH) V_NAME(spread_put)(out, x, w, v_load(woven + pad + x));
}

V_INLINE void V_NAME(spread_along)(const spread_job *s, const V_ELEMENT *line, V_ELEMENT *out) {
    int64_t w = s->job.plan.size[2], kw = s->job.kernel[2];
    for (int64_t x = 0; x < w; x += V_WIDTH) {
        VF all;
        if (s->way == SPREAD_ONE) {
            const V_ELEMENT *p = line + s->left + s->job.pad[2] + x;
            all = v_load(p);
            for (int64_t t = 1; t < kw; t++) all = v_add(all, v_load(p - t));
        } else {
            const int32_t *at = s->table + x;
            all = POOL_AT(line, at);
            for (int64_t t = 1; t < s->rounds; t++) all = v_add(all, POOL_AT(line, at + t * s->table_row));
        }
        V_NAME(spread_put)(out, x, w, all);
    }
}

/* outputs that overlap too much for a table */
V_INLINE void V_NAME(spread_each)(const spread_job *s, const V_ELEMENT *line, V_ELEMENT *out) {
    for (int64_t x = 0; x < s->job.plan.size[2]; x++) {
        V_ELEMENT all = 0;
        for (int64_t o = s->seen[2][x].first; o < s->seen[2][x].last; o++) all += line[s->left + o];
        out[x] = all;
    }
}

V_INLINE void V_NAME(spread_row)(const spread_job *s, const V_ELEMENT *grad, const pool_seen *d,
                                 const pool_seen *h, V_ELEMENT *line, V_ELEMENT *woven, V_ELEMENT *out) {
    V_NAME(spread_columns)(s, grad, d, h, line);
    if (s->way == SPREAD_FILL)
        V_NAME(spread_fill)(out, s->job.plan.size[2], line[s->left]);
    else if (s->way == SPREAD_TWO)
        V_NAME(spread_twos)(s, line, woven, out);
    else if (s->way == SPREAD_EACH)
        V_NAME(spread_each)(s, line, out);
    else
        V_NAME(spread_along)(s, line, out);
}

V_TARGET static void V_NAME(spread_items)(void *ctx, int64_t begin, int64_t end, int thread) {
    const spread_job *s = ctx;
    const pool_job *j = &s->job;
    const rl_pool_plan *g = &j->plan;
    V_ELEMENT *line = (V_ELEMENT *)(rl_room(&j->rooms, thread) + j->line_at);
    V_ELEMENT *woven = (V_ELEMENT *)(rl_room(&j->rooms, thread) + j->woven_at);
    V_ELEMENT *out = (V_ELEMENT *)j->out + begin * g->size[2];
    int64_t y = begin % g->size[1], z = begin / g->size[1] % g->size[0];
    const V_ELEMENT *grad = (const V_ELEMENT *)j->in + begin / g->size[1] / g->size[0] * g->places;
    for (int64_t i = 0; i < j->line; i++) line[i] = 0;
    for (int64_t i = 0; i < j->woven; i++) woven[i] = 0;
    const pool_seen *old[2] = {0};
    for (int64_t i = begin; i < end; i++, out += g->size[2]) {
        const pool_seen *d = &s->seen[0][z], *h = &s->seen[1][y];
        if (old[0] == d && old[1] && old[1]->first == h->first && old[1]->last == h->last)
            __builtin_memcpy(out, out - g->size[2], (size_t)g->size[2] * sizeof *out);
        else
            V_NAME(spread_row)(s, grad, d, h, line, woven, out);
        old[0] = d, old[1] = h;
        if (++y == g->size[1]) y = 0, z++;
        if (z == g->size[0]) z = 0, old[0] = NULL, grad += g->places;
    }
}
