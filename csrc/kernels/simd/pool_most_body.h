/* The largest elements of windows and where they stand, a row of outputs at a time. */

/* ---- forward: a row of windows ---- */
V_INLINE void V_NAME(places_row)(const places_job *s, const V_ELEMENT *lines, V_ELEMENT *out, int64_t *at,
                                 int64_t corner, int64_t start, int64_t step) {
    int64_t ow = s->job.plan.out[2], pad = s->job.pad[2], dw = s->job.plan.dilation[2];
    int32_t place[V_WIDTH];
    for (int64_t x = 0; x < ow; x += V_WIDTH) {
        VF most = V_NAME(places_of)(s, lines + x * step, step, place);
        int64_t n = simd_min(V_WIDTH, ow - x), left = x * step - pad;
        if (n == V_WIDTH)
            v_store(out + x, most);
        else
            v_store_tail(out + x, v_tail(n), most);
        for (int64_t i = 0; i < n; i++, left += step) {
            int64_t far = place[i] >= 0 ? place[i] : start + places_start(left, dw);
            at[x + i] = corner + left + far;
        }
    }
}

V_TARGET static void V_NAME(places_rows)(void *ctx, int64_t begin, int64_t end, int thread) {
    const places_job *s = ctx;
    const pool_job *j = &s->job;
    const rl_pool_plan *g = &j->plan;
    V_ELEMENT *lines = (V_ELEMENT *)(rl_room(&j->rooms, thread) + j->line_at),
              *out = (V_ELEMENT *)j->out + begin * g->out[2];
    int64_t *at = s->indices + begin * g->out[2], y = begin % g->out[1], z = begin / g->out[1] % g->out[0];
    const V_ELEMENT *in = (const V_ELEMENT *)j->in + begin / g->out[1] / g->out[0] * g->volume;
    for (int64_t i = 0; i < j->line; i++) lines[i] = -(V_ELEMENT)__builtin_inff();
    for (int64_t i = begin; i < end; i++, out += g->out[2], at += g->out[2]) {
        int64_t corner, start, front = z * j->stride[0] - j->pad[0], top = y * j->stride[1] - j->pad[1];
        places_corner(s, front, top, &corner, &start);
        V_NAME(places_fill)(s, in, lines, front, top);
        if (j->stride[2] == 1)
            V_NAME(places_row)(s, lines, out, at, corner, start, 1);
        else if (j->stride[2] == 2)
            V_NAME(places_row)(s, lines, out, at, corner, start, 2);
        else
            V_NAME(places_row)(s, lines, out, at, corner, start, j->stride[2]);
        if (++y == g->out[1]) y = 0, z++;
        if (z == g->out[0]) z = 0, in += g->volume;
    }
}

/* ---- forward: windows one by one ---- */
/* Where the largest of n numbers stands: the first of equals, but of NaN the last. Somewhere among them where
 * another thread writes over it. */
V_INLINE int64_t V_NAME(places_find)(const V_ELEMENT *p, int64_t n, V_ELEMENT most) {
    if (most != most) {
        while (n > 1 && p[n - 1] == p[n - 1]) n--;
        return n - 1;
    }
    VF all = v_set(most);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        int hit = v_mask_bits(v_is_equal(v_load(p + i), all));
        if (hit) return i + __builtin_ctz((unsigned)hit);
    }
    while (i < n - 1 && p[i] != most) i++;
    return i < n ? i : n - 1;
}

V_INLINE V_ELEMENT V_NAME(places_largest)(const V_ELEMENT *p, int64_t n) {
    VF none = v_set(-(V_ELEMENT)__builtin_inff()), all[4] = {none, none, none, none};
    int64_t i = 0;
    for (; i + 4 * V_WIDTH <= n; i += 4 * V_WIDTH)
        for (int u = 0; u < 4; u++) all[u] = V_NAME(pool_max)(all[u], v_load(p + i + u * V_WIDTH));
    for (; i + V_WIDTH <= n; i += V_WIDTH) all[0] = V_NAME(pool_max)(all[0], v_load(p + i));
    if (i < n) {
        VM m = v_tail(n - i);
        all[1] = V_NAME(pool_max)(all[1], v_pick(m, v_load_tail(p + i, m), none));
    }
    all[0] = V_NAME(pool_max)(V_NAME(pool_max)(all[0], all[1]), V_NAME(pool_max)(all[2], all[3]));
    return V_NAME(pool_join_all)(true, all[0]);
}

/* a run of the window that begins at `at` of the plane */
V_INLINE void V_NAME(places_run)(const V_ELEMENT *in, int64_t at, int64_t n, V_ELEMENT *most,
                                 int64_t *place) {
    V_ELEMENT one = V_NAME(places_largest)(in + at, n);
    if (!(one > *most) && one == one) return;
    at += V_NAME(places_find)(in + at, n, one);
    *most = in[at], *place = at;
}

/* Rows of a window no wider than a vector, in lanes by themselves; then of the lanes the first of equals, but
 * of NaN the last. */
V_INLINE void V_NAME(places_block)(const V_ELEMENT *in, int64_t at, int64_t row, int64_t rows, int64_t n,
                                   V_ELEMENT *most, int64_t *place) {
    VF none = v_set(-(V_ELEMENT)__builtin_inff()), all = none, where = PLACE_SET(-1);
    VM m = v_tail(n);
    V_ELEMENT lanes[V_WIDTH];
    int32_t places[V_WIDTH];
    for (int64_t y = 0; y < rows; y++) {
        VF v = v_pick(m, v_load_tail(in + at + y * row, m), none);
        VM beats = V_NAME(places_beats)(v, all);
        all = v_pick(beats, v, all), where = v_pick(beats, PLACE_SET(y), where);
    }
    v_store(lanes, all);
    V_NAME(places_store)(places, where);
    for (int64_t i = 0; i < n; i++) {
        V_ELEMENT one = lanes[i];
        int64_t here = at + places[i] * row + i;
        bool before = here<*place, beats = one> * most || (one == *most && before);
        if (one != one) beats = *most == *most || !before;
        if (beats && places[i] >= 0) *most = one, *place = here;
    }
}

V_TARGET static void V_NAME(places_scan)(void *ctx, int64_t begin, int64_t end, int thread) {
    const places_job *s = ctx;
    const rl_pool_plan *g = &s->job.plan;
    (void)thread;
    int64_t dh = g->dilation[1], row = dh * g->size[2];
    for (int64_t i = begin; i < end; i++) {
        const rl_span *h = &g->spans[1][i % g->out[1]], *d = &g->spans[0][i / g->out[1] % g->out[0]];
        const V_ELEMENT *in = (const V_ELEMENT *)s->job.in + i / g->out[1] / g->out[0] * g->volume;
        for (int64_t o = 0; o < g->out[2]; o++) {
            const rl_span *w = &g->spans[2][o];
            V_ELEMENT most = -(V_ELEMENT)__builtin_inff();
            int64_t n = w->end - w->start, place = (d->start * g->size[1] + h->start) * g->size[2] + w->start;
            bool whole = n == g->size[2] && dh == 1;
            for (int64_t z = d->start; z < d->end; z += g->dilation[0]) {
                int64_t at = (z * g->size[1] + h->start) * g->size[2] + w->start;
                if (n <= 0 || h->end <= h->start) continue;
                if (whole)
                    V_NAME(places_run)(in, at, (h->end - h->start) * n, &most, &place);
                else if (n <= V_WIDTH)
                    V_NAME(places_block)(in, at, row, (h->end - h->start - 1) / dh + 1, n, &most, &place);
                for (int64_t y = h->start; y < h->end && !whole && n > V_WIDTH; y += dh)
                    V_NAME(places_run)(in, at + (y - h->start) * g->size[2], n, &most, &place);
            }
            ((V_ELEMENT *)s->job.out)[i * g->out[2] + o] = most;
            s->indices[i * g->out[2] + o] = place;
        }
    }
}
