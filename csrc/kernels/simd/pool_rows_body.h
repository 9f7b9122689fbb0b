/* Rows of means and largest elements: Note [Rows of windows] in kernels/simd/pool_rows.c. */

/* What the rows of the windows [d0, d1) x [h0, h1) have above each other, from column 0 on. */
V_INLINE void V_NAME(rows_columns)(const rows_job *r, const V_ELEMENT *in, const rl_span *d, const rl_span *h,
                                   V_ELEMENT *line, bool max) {
    const pool_job *j = &r->job;
    int64_t w = j->plan.size[2], dd = j->plan.dilation[0], dh = j->plan.dilation[1];
    for (int64_t x = 0; x < w; x += V_WIDTH) {
        VF all = V_NAME(pool_neutral)(max);
        VM m = v_tail(simd_min(V_WIDTH, w - x));
        bool whole = x + V_WIDTH <= w;
        for (int64_t z = d->start; z < d->end; z += dd)
            for (int64_t y = h->start; y < h->end; y += dh) {
                const V_ELEMENT *p = in + (z * j->plan.size[1] + y) * w + x;
                all = V_NAME(pool_join)(max, all, whole ? v_load(p) : v_load_tail(p, m));
            }
        if (whole)
            v_store(line + x, all);
        else
            v_store_tail(line + x, m, all);
    }
}

V_INLINE void V_NAME(rows_put)(const rows_job *r, V_ELEMENT *out, int64_t x, VF all, V_ELEMENT by, bool max) {
    int64_t ow = r->job.plan.out[2];
    if (!max) all = v_div(all, v_mul(v_set(by), v_load((const V_ELEMENT *)r->counts + x)));
    if (x + V_WIDTH <= ow)
        v_store(out + x, all);
    else
        v_store_tail(out + x, v_tail(ow - x), all);
}

/* line: of the first window's first element */
V_INLINE void V_NAME(rows_along)(const rows_job *r, const V_ELEMENT *line, V_ELEMENT *out, V_ELEMENT by,
                                 bool max) {
    const pool_job *j = &r->job;
    int64_t ow = j->plan.out[2], kw = j->kernel[2], dw = j->plan.dilation[2];
    for (int64_t x = 0; x < ow; x += V_WIDTH) {
        VF all;
        if (r->way == ROWS_ONE) {
            all = v_load(line + x);
            for (int64_t t = 1; t < kw; t++) all = V_NAME(pool_join)(max, all, v_load(line + x + t * dw));
        } else if (r->way == ROWS_TWO) {
            const V_ELEMENT *p = line + 2 * x;
            all = V_NAME(pool_pick)(p, 2);
            for (int64_t t = 1; t < kw; t++)
                all = V_NAME(pool_join)(max, all, V_NAME(pool_pick)(p + t * dw, 2));
            all = POOL_SORT(all);
        } else {
            const int32_t *at = r->table + x;
            all = POOL_AT(line, at);
            for (int64_t t = 1; t < r->rounds; t++)
                all = V_NAME(pool_join)(max, all, POOL_AT(line, at + t * r->table_row));
        }
        V_NAME(rows_put)(r, out, x, all, by, max);
    }
}

/* Windows of 2 x 2 side by side, no padding. */
V_INLINE void V_NAME(rows_pairs)(const rows_job *r, const V_ELEMENT *p, V_ELEMENT *out, V_ELEMENT by,
                                 bool max) {
    int64_t w = r->job.plan.size[2], ow = r->job.plan.out[2], x = 0;
    const V_ELEMENT *q = p + w;
    for (; x + V_WIDTH <= ow || (x < ow && ow >= V_WIDTH); x += V_WIDTH) {
        x = simd_min(x, ow - V_WIDTH); /* the last block overlaps the one before */
        VF a = V_NAME(pool_join)(max, v_load(p + 2 * x), v_load(q + 2 * x));
        VF b = V_NAME(pool_join)(max, v_load(p + 2 * x + V_WIDTH), v_load(q + 2 * x + V_WIDTH));
        a = POOL_SORT(V_NAME(pool_join)(max, POOL_EVEN(a, b), POOL_ODD(a, b)));
        v_store(out + x, max ? a : v_div(a, v_set(by)));
    }
    if (x >= ow) return;
    VM m = v_tail(simd_min(V_WIDTH, 2 * (ow - x))), n = v_tail(simd_max(0, 2 * (ow - x) - V_WIDTH));
    p += 2 * x, q += 2 * x;
    VF a = V_NAME(pool_join)(max, v_load_tail(p, m), v_load_tail(q, m));
    VF b = V_NAME(pool_join)(max, v_load_tail(p + V_WIDTH, n), v_load_tail(q + V_WIDTH, n));
    a = POOL_SORT(V_NAME(pool_join)(max, POOL_EVEN(a, b), POOL_ODD(a, b)));
    v_store_tail(out + x, v_tail(ow - x), max ? a : v_div(a, v_set(by)));
}

/* of n numbers side by side */
V_INLINE VF V_NAME(rows_run)(const V_ELEMENT *p, int64_t n, VF all, bool max) {
    VF more[3] = {V_NAME(pool_neutral)(max), V_NAME(pool_neutral)(max), V_NAME(pool_neutral)(max)};
    int64_t i = 0;
    for (; i + 4 * V_WIDTH <= n; i += 4 * V_WIDTH) {
        all = V_NAME(pool_join)(max, all, v_load(p + i));
        for (int u = 0; u < 3; u++)
            more[u] = V_NAME(pool_join)(max, more[u], v_load(p + i + (u + 1) * V_WIDTH));
    }
    for (; i + V_WIDTH <= n; i += V_WIDTH) all = V_NAME(pool_join)(max, all, v_load(p + i));
    if (i < n) {
        VM m = v_tail(n - i);
        all = V_NAME(pool_join)(max, all, v_pick(m, v_load_tail(p + i, m), V_NAME(pool_neutral)(max)));
    }
    all = V_NAME(pool_join)(max, all, more[0]);
    return V_NAME(pool_join)(max, all, V_NAME(pool_join)(max, more[1], more[2]));
}

/* few wide windows, each by itself */
V_INLINE void V_NAME(rows_wide)(const rows_job *r, const V_ELEMENT *in, const rl_span *d, const rl_span *h,
                                V_ELEMENT *out, V_ELEMENT by, bool max) {
    const pool_job *j = &r->job;
    int64_t w = j->plan.size[2], high = j->plan.size[1], dd = j->plan.dilation[0], dh = j->plan.dilation[1];
    for (int64_t o = 0; o < j->plan.out[2]; o++) {
        const rl_span *s = &j->plan.spans[2][o];
        int64_t n = s->end - s->start;
        VF all = V_NAME(pool_neutral)(max);
        bool rows = n == w && dh == 1 && h->end > h->start; /* which then lie side by side */
        for (int64_t z = d->start; z < d->end; z += dd) {
            const V_ELEMENT *p = in + (z * high + h->start) * w + s->start;
            if (rows) all = V_NAME(rows_run)(p, (h->end - h->start) * w, all, max);
            for (int64_t y = h->start; y < h->end && !rows && n > 0; y += dh, p += dh * w)
                all = V_NAME(rows_run)(p, n, all, max);
        }
        V_ELEMENT one = V_NAME(pool_join_all)(max, all);
        out[o] = max ? one : one / (by * ((const V_ELEMENT *)r->counts)[o]);
    }
}

V_INLINE void V_NAME(rows_items)(const rows_job *r, int64_t begin, int64_t end, int thread, bool max) {
    const pool_job *j = &r->job;
    const rl_pool_plan *g = &j->plan;
    V_ELEMENT *line = (V_ELEMENT *)(rl_room(&j->rooms, thread) + j->line_at),
              *out = (V_ELEMENT *)j->out + begin * g->out[2];
    int64_t y = begin % g->out[1], z = begin / g->out[1] % g->out[0];
    const V_ELEMENT *in = (const V_ELEMENT *)j->in + begin / g->out[1] / g->out[0] * g->volume;
    for (int64_t i = 0; i < j->line && r->way < ROWS_WIDE; i++)
        line[i] = max ? -(V_ELEMENT)__builtin_inff() : 0;
    for (int64_t i = begin; i < end; i++, out += g->out[2]) {
        const rl_span *d = &g->spans[0][z], *h = &g->spans[1][y];
        V_ELEMENT by = max ? 1 : (V_ELEMENT)rl_pool_count(j->k, g, 0, z) * rl_pool_count(j->k, g, 1, y);
        if (r->way == ROWS_PAIRS) {
            by *= rl_pool_count(j->k, g, 2, 0);
            V_NAME(rows_pairs)(r, in + 2 * y * g->size[2], out, by, max);
        } else if (r->way == ROWS_WIDE) {
            V_NAME(rows_wide)(r, in, d, h, out, by, max);
        } else {
            V_NAME(rows_columns)(r, in, d, h, line + r->lead, max);
            V_NAME(rows_along)(r, line, out, by, max);
        }
        if (++y == g->out[1]) y = 0, z++;
        if (z == g->out[0]) z = 0, in += g->volume;
    }
}
V_TARGET static void V_NAME(rows_most)(void *ctx, int64_t begin, int64_t end, int thread) {
    V_NAME(rows_items)(ctx, begin, end, thread, true);
}
V_TARGET static void V_NAME(rows_mean)(void *ctx, int64_t begin, int64_t end, int thread) {
    V_NAME(rows_items)(ctx, begin, end, thread, false);
}
