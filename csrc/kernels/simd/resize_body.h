/* One width of the rows of resizing. */

/* ---- over depth and height: sums of rows ---- */
enum { V_NAME(ROWS_AT_ONCE) = 8 };

/* to (+)= the rows, times their weights */
V_TARGET static void V_NAME(rows_add)(const float *const *rows, const float *weight, int n, bool begins,
                                      float *to, int64_t width) {
    int64_t x = 0;
    for (; x + 2 * V_WIDTH <= width; x += 2 * V_WIDTH) {
        VF w = v_set(weight[0]), a = v_load(rows[0] + x), b = v_load(rows[0] + x + V_WIDTH);
        a = begins ? v_mul(w, a) : v_fma(w, a, v_load(to + x));
        b = begins ? v_mul(w, b) : v_fma(w, b, v_load(to + x + V_WIDTH));
        for (int i = 1; i < n; i++) {
            w = v_set(weight[i]);
            a = v_fma(w, v_load(rows[i] + x), a);
            b = v_fma(w, v_load(rows[i] + x + V_WIDTH), b);
        }
        v_store(to + x, a);
        v_store(to + x + V_WIDTH, b);
    }
    for (; x < width; x += V_WIDTH) {
        const VM m = v_tail(simd_min(V_WIDTH, width - x));
        VF w = v_set(weight[0]), a = v_load_tail(rows[0] + x, m);
        a = begins ? v_mul(w, a) : v_fma(w, a, v_load_tail(to + x, m));
        for (int i = 1; i < n; i++) a = v_fma(v_set(weight[i]), v_load_tail(rows[i] + x, m), a);
        v_store_tail(to + x, m, a);
    }
}

/* the sum of the rows that make row (deep, high) of a plane; `other` is room for one that is converted */
V_TARGET static void V_NAME(rows_join)(const resize_job *job, const char *plane, int64_t deep, int64_t high,
                                       float *sums, float *other) {
    const rl_taps *d = &job->taps[0], *h = &job->taps[1];
    const float *rows[V_NAME(ROWS_AT_ONCE)];
    float weight[V_NAME(ROWS_AT_ONCE)];
    const int64_t all = rl_taps_count(d, deep) * rl_taps_count(h, high), across = rl_taps_count(h, high);
    const int most = job->moves ? 1 : V_NAME(ROWS_AT_ONCE);
    for (int64_t at = 0, n; at < all; at += n) {
        n = simd_min(most, all - at);
        for (int64_t i = 0; i < n; i++) {
            const int64_t dd = (at + i) / across, hh = (at + i) % across;
            const char *row =
                plane + ((d->start[deep] + dd) * h->in + h->start[high] + hh) * job->row_in * job->from_item;
            weight[i] = (float)(d->weight[d->first[deep] + dd] * h->weight[h->first[high] + hh]);
            rows[i] = (const float *)row;
            if (!job->moves) continue;
            simd_move(&job->in, other, sizeof(float), row, job->from_item, job->row_in);
            rows[i] = other;
        }
        V_NAME(rows_add)(rows, weight, (int)n, at == 0, sums, job->row_in);
    }
    for (int64_t i = 0; all == 0 && i < job->row_in; i++) sums[i] = 0;
}

/* ---- along a row of single elements ---- */
V_INLINE VF V_NAME(step_fetch)(const resize_steps *s, int64_t at, const float *sums, VF weight) {
    const resize_step *step = &s->step[at];
    const int32_t *index = s->index + at * V_WIDTH;
    const float *p = sums + step->from;
    VF x = step->kind == STEP_TURN    ? v_turned(v_load(p), index)
           : step->kind == STEP_AMONG ? v_among(v_load(p), v_load(p + V_WIDTH), index)
                                      : v_gather(p, index);
    return step->gaps ? v_pick(v_differs(weight, v_zero()), x, v_zero()) : x;
}

V_TARGET static void V_NAME(row_single)(const resize_job *job, const float *sums, float *to) {
    const resize_steps *s = &job->steps;
    for (int64_t block = 0, x = 0; block < s->blocks; block++, x += V_WIDTH) {
        int64_t at = s->first[block];
        VF sum = v_zero();
        if (at < s->first[block + 1]) {
            const VF weight = v_load(s->weight + at * V_WIDTH);
            sum = v_mul(weight, V_NAME(step_fetch)(s, at, sums, weight));
            for (at++; at < s->first[block + 1]; at++) {
                const VF next = v_load(s->weight + at * V_WIDTH);
                sum = v_fma(next, V_NAME(step_fetch)(s, at, sums, next), sum);
            }
        }
        if (x + V_WIDTH <= job->row_out)
            v_store(to + x, sum);
        else
            v_store_tail(to + x, v_tail(job->row_out - x), sum);
    }
}

/* ---- along a row of places with channels ---- */
/* to = the sum of `count` places, `inner` elements each */
V_INLINE void V_NAME(place_sum)(const float *from, const float *weight, int64_t count, int64_t inner,
                                float *to) {
    int64_t c = 0;
    for (; c + V_WIDTH <= inner; c += V_WIDTH) {
        VF sum = v_mul(v_set(weight[0]), v_load(from + c));
        for (int64_t i = 1; i < count; i++) sum = v_fma(v_set(weight[i]), v_load(from + i * inner + c), sum);
        v_store(to + c, sum);
    }
    if (c == inner) return;
    const VM m = v_tail(inner - c);
    VF sum = v_mul(v_set(weight[0]), v_load_tail(from + c, m));
    for (int64_t i = 1; i < count; i++)
        sum = v_fma(v_set(weight[i]), v_load_tail(from + i * inner + c, m), sum);
    v_store_tail(to + c, m, sum);
}

V_TARGET static void V_NAME(row_places)(const resize_job *job, const float *sums, float *to) {
    const rl_taps *t = &job->taps[2];
    const int64_t inner = job->inner;
    for (int64_t place = 0; place < t->out; place++, to += inner) {
        const float *from = sums + t->start[place] * inner, *weight = job->steps.weight + t->first[place];
        const int64_t count = rl_taps_count(t, place);
        if (count == 2) /* the compiler keeps both weights in registers */
            V_NAME(place_sum)(from, weight, 2, inner, to);
        else if (count > 0)
            V_NAME(place_sum)(from, weight, count, inner, to);
        else
            for (int64_t c = 0; c < inner; c++) to[c] = 0;
    }
}

/* a row whose elements are copies of those of one row */
static void V_NAME(row_copy)(const resize_job *job, const char *from, char *to) {
    const rl_taps *t = &job->taps[2];
    const int64_t bytes = job->inner * job->from_item;
    for (int64_t place = 0; place < t->out; place++, to += bytes)
        memcpy(to, from + t->start[place] * bytes, (size_t)bytes);
}

/* ---- rows of all planes ---- */
static bool V_NAME(is_same_row)(const resize_job *job, int64_t h) {
    const rl_taps *deep = &job->taps[0], *high = &job->taps[1];
    return h > 0 && deep->copies && high->copies && high->start[h] == high->start[h - 1];
}

V_TARGET static void V_NAME(resize_rows)(void *ctx, int64_t begin, int64_t end, int thread) {
    const resize_job *job = ctx;
    const int64_t high = job->taps[1].out, deep = job->taps[0].out;
    const int64_t plane = job->taps[0].in * job->taps[1].in * job->row_in * job->from_item;
    const int64_t bytes = job->row_out * job->from_item;
    char *room = rl_room(&job->rooms, thread);
    float *sums = (float *)(room + job->sums), *other = (float *)(room + job->other);
    float *made = (float *)(room + job->made);
    for (int64_t i = simd_min(job->row_in, job->room_in); i < job->room_in; i++) sums[i] = 0;
    for (int64_t row = begin; row < end; row++) {
        char *to = job->to + row * bytes;
        const int64_t d = row / high % deep, h = row % high;
        if (row > begin && V_NAME(is_same_row)(job, h)) {
            memcpy(to, to - bytes, (size_t)bytes);
            continue;
        }
        const char *from = job->from + row / high / deep * plane;
        if (job->copies) {
            const int64_t at = job->taps[0].start[d] * job->taps[1].in + job->taps[1].start[h];
            V_NAME(row_copy)(job, from + at * job->row_in * job->from_item, to);
            continue;
        }
        V_NAME(rows_join)(job, from, d, h, sums, other);
        float *line = job->moves ? made : (float *)to;
        if (job->inner == 1)
            V_NAME(row_single)(job, sums, line);
        else
            V_NAME(row_places)(job, sums, line);
        if (job->moves) simd_move(&job->out, to, job->from_item, line, sizeof(float), job->row_out);
    }
}
