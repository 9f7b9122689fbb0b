/* Gradients of the largest elements of windows, which are looked for again. */

/* The gradient of V_WIDTH windows of 2 x 2 goes to the first largest element of each. */
V_INLINE void V_NAME(most_pairs)(VF p0, VF p1, VF q0, VF q1, VF grad, VF to[4]) {
    VF a = POOL_EVEN(p0, p1), b = POOL_ODD(p0, p1), c = POOL_EVEN(q0, q1), d = POOL_ODD(q0, q1);
    VM in_b = V_NAME(places_beats)(b, a);
    VF most = v_pick(in_b, b, a);
    VM in_c = V_NAME(places_beats)(c, most);
    most = v_pick(in_c, c, most);
    VM in_d = V_NAME(places_beats)(d, most);
    VF zero = v_zero(), g = POOL_SORT(grad);
    d = v_pick(in_d, g, zero), g = v_pick(in_d, zero, g);
    c = v_pick(in_c, g, zero), g = v_pick(in_c, zero, g);
    b = v_pick(in_b, g, zero), a = v_pick(in_b, zero, g);
    to[0] = POOL_LOW(a, b), to[1] = POOL_HIGH(a, b), to[2] = POOL_LOW(c, d), to[3] = POOL_HIGH(c, d);
}

/* one row of windows */
V_INLINE void V_NAME(most_pairs_row)(const V_ELEMENT *p, const V_ELEMENT *q, const V_ELEMENT *grad,
                                     V_ELEMENT *top, V_ELEMENT *bottom, int64_t ow) {
    VF to[4];
    int64_t x = 0;
    for (; x + V_WIDTH <= ow; x += V_WIDTH) {
        const V_ELEMENT *a = p + 2 * x, *b = q + 2 * x;
        V_NAME(most_pairs)(v_load(a), v_load(a + V_WIDTH), v_load(b), v_load(b + V_WIDTH), v_load(grad + x),
                           to);
        v_store(top + 2 * x, to[0]), v_store(top + 2 * x + V_WIDTH, to[1]);
        v_store(bottom + 2 * x, to[2]), v_store(bottom + 2 * x + V_WIDTH, to[3]);
    }
    if (x == ow) return;
    const V_ELEMENT *a = p + 2 * x, *b = q + 2 * x;
    VM m = v_tail(simd_min(V_WIDTH, 2 * (ow - x))), n = v_tail(simd_max(0, 2 * (ow - x) - V_WIDTH));
    V_NAME(most_pairs)(v_load_tail(a, m), v_load_tail(a + V_WIDTH, n), v_load_tail(b, m),
                       v_load_tail(b + V_WIDTH, n), v_load_tail(grad + x, v_tail(ow - x)), to);
    v_store_tail(top + 2 * x, m, to[0]), v_store_tail(top + 2 * x + V_WIDTH, n, to[1]);
    v_store_tail(bottom + 2 * x, m, to[2]), v_store_tail(bottom + 2 * x + V_WIDTH, n, to[3]);
}

V_TARGET static void V_NAME(most_pairs_back)(void *ctx, int64_t begin, int64_t end, int thread) {
    const most_job *m = ctx;
    const rl_pool_plan *g = &m->places.job.plan;
    int64_t w = g->size[2], ow = g->out[2];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const V_ELEMENT *in = (const V_ELEMENT *)m->places.job.in + i * g->volume;
        const V_ELEMENT *grad = (const V_ELEMENT *)m->grad + i * g->places;
        V_ELEMENT *to = (V_ELEMENT *)m->places.job.out + i * g->volume;
        for (int64_t y = 0; y < g->out[1]; y++, in += 2 * w, to += 2 * w, grad += ow) {
            V_NAME(most_pairs_row)(in, in + w, grad, to, to + w, ow);
            if (2 * ow < w) to[w - 1] = to[2 * w - 1] = 0;
        }
        if (2 * g->out[1] < g->size[1]) __builtin_memset(to, 0, (size_t)w * sizeof(V_ELEMENT));
    }
}

/* A row of windows: places by vectors, gradients one by one in PyTorch's order. to: corner of a window at 0
 */
V_INLINE void V_NAME(most_row_back)(const places_job *s, const V_ELEMENT *lines, const V_ELEMENT *grad,
                                    V_ELEMENT *to, int64_t start, int64_t step) {
    int64_t ow = s->job.plan.out[2];
    int32_t place[V_WIDTH];
    for (int64_t x = 0; x < ow; x += V_WIDTH) {
        V_NAME(places_of)(s, lines + x * step, step, place);
        for (int64_t i = 0; i < V_WIDTH && x + i < ow; i++) {
            int64_t left = (x + i) * step - s->job.pad[2], far = place[i];
            if (far < 0) far = start + places_start(left, s->job.plan.dilation[2]);
            to[left + far] += grad[x + i];
        }
    }
}

V_TARGET static void V_NAME(most_planes_back)(void *ctx, int64_t begin, int64_t end, int thread) {
    const most_job *m = ctx;
    const places_job *s = &m->places;
    const pool_job *j = &s->job;
    const rl_pool_plan *g = &j->plan;
    V_ELEMENT *lines = (V_ELEMENT *)(rl_room(&j->rooms, thread) + j->line_at);
    for (int64_t i = 0; i < j->line; i++) lines[i] = -(V_ELEMENT)__builtin_inff();
    for (int64_t i = begin; i < end; i++) {
        const V_ELEMENT *in = (const V_ELEMENT *)j->in + i * g->volume;
        const V_ELEMENT *grad = (const V_ELEMENT *)m->grad + i * g->places;
        V_ELEMENT *to = (V_ELEMENT *)j->out + i * g->volume;
        __builtin_memset(to, 0, (size_t)g->volume * sizeof *to);
        for (int64_t row = 0; row < g->out[0] * g->out[1]; row++, grad += g->out[2]) {
            int64_t front = row / g->out[1] * j->stride[0] - j->pad[0], corner, start;
            int64_t top = row % g->out[1] * j->stride[1] - j->pad[1];
            places_corner(s, front, top, &corner, &start);
            V_NAME(places_fill)(s, in, lines, front, top);
            if (j->stride[2] == 1)
                V_NAME(most_row_back)(s, lines, grad, to + corner, start, 1);
            else if (j->stride[2] == 2)
                V_NAME(most_row_back)(s, lines, grad, to + corner, start, 2);
            else
                V_NAME(most_row_back)(s, lines, grad, to + corner, start, j->stride[2]);
        }
    }
}
