/* Rows of the gradients of layer_norm and rms_norm: Note [Rows backward] in norm_rows_back.c. */
V_INLINE VF V_NAME(part_load)(const float *p, VM m, bool whole) {
    return whole ? v_load(p) : v_load_tail(p, m);
}
V_INLINE void V_NAME(part_store)(float *p, VM m, bool whole, VF x) {
    if (whole)
        v_store(p, x);
    else
        v_store_tail(p, m, x);
}

/* numbers of one row, as vectors */
typedef struct {
    VF center, scale, slope, shift;
} V_NAME(row_numbers);

/* to = grad * weight * scale - (x - center) * slope - shift; by_weight and by_bias grow. Those that are NULL
 * are left out. */
V_INLINE void V_NAME(back_part)(const norm_row *r, const V_NAME(row_numbers) * v, int64_t i, VM m,
                                bool whole) {
    VF g = V_NAME(part_load)(r->grad + i, m, whole), gs = v_mul(g, v->scale);
    VF off = v_sub(V_NAME(part_load)(r->x + i, m, whole), v->center);
    if (r->to) {
        VF away = v_fma(off, v->slope, v->shift);
        V_NAME(part_store)(r->to + i, m, whole, v_fms(gs, V_NAME(part_load)(r->weight + i, m, whole), away));
    }
    if (r->by_weight) {
        VF sum = V_NAME(part_load)(r->by_weight + i, m, whole);
        V_NAME(part_store)(r->by_weight + i, m, whole, v_fma(gs, off, sum));
    }
    if (r->by_bias) {
        VF sum = V_NAME(part_load)(r->by_bias + i, m, whole);
        V_NAME(part_store)(r->by_bias + i, m, whole, v_add(g, sum));
    }
}
V_INLINE void V_NAME(back_row)(const norm_row r, int64_t n, float center, float scale, float slope,
                               float shift) {
    const V_NAME(row_numbers) v = {v_set(center), v_set(scale), v_set(slope), v_set(shift)};
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        /* the next row, which is read from memory only when this one is written */
        __builtin_prefetch(r.grad + n + i), __builtin_prefetch(r.x + n + i);
        V_NAME(back_part)(&r, &v, i, v_tail(V_WIDTH), true);
    }
    if (i < n) V_NAME(back_part)(&r, &v, i, v_tail(n - i), false);
}

/* the gradient by the input of row i; its share of the others to by_weight and by_bias, unless NULL; room: of
 * a thread: rows of grad, x and to, for halves, else NULL */
V_INLINE void V_NAME(back_input)(const rl_norm_back *j, int64_t i, float *const *room, const float *weight,
                                 float *by_weight, float *by_bias) {
    const int64_t n = j->n;
    const float *grad = room ? room[0] : j->grad + i * n, *x = room ? room[1] : j->x + i * n;
    float *to = room ? room[2] : j->to + i * n;
    const double part = 1 / (double)n;
    double dots[2] = {0, 0};
    for (int h = 0; room && h < 2; h++) simd_strip_read(&j->halves[h], room[h], i * n, n);
    if (j->find) {
        norm_moments m = {0, 0};
        if (j->around_zero)
            m.squares = V_NAME(squares)(x, n);
        else
            m = V_NAME(moments)(x, n);
        j->found[0][i] = (float)m.mean;
        j->found[1][i] = (float)(1 / __builtin_sqrt(m.squares * part + j->eps));
    }
    const float center = j->mean[i], s = j->scale[i];
    const double scale = (double)s;
    V_NAME(dots)(grad, x, weight, n, center, dots);
    const float slope = (float)(scale * scale * scale * dots[1] * part);
    const float shift = j->around_zero ? 0 : (float)(scale * dots[0] * part);
    const norm_row r = {grad, x, weight, to, by_weight, by_bias};
    V_NAME(back_row)(r, n, center, s, slope, shift);
    if (room) simd_strip_write(&j->halves[2], to, i * n, n);
}

/* the sums of a stretch, which begin anew, to those of a block */
V_INLINE void V_NAME(stretch_end)(double *to, float *sums, int64_t n, bool first) {
    if (first)
        for (int64_t i = 0; i < n; i++) to[i] = (double)sums[i], sums[i] = 0;
    else
        for (int64_t i = 0; i < n; i++) to[i] += (double)sums[i], sums[i] = 0;
}

/* the rows from i to stop, which begin with the first weights */
V_INLINE void V_NAME(back_stretch)(const rl_norm_back *j, int64_t i, int64_t stop, float *const *room,
                                   float *const sums[2]) {
    const int64_t n = j->n, all = n * j->period;
    for (int64_t at = 0; i < stop; i++, at = at + n == all ? 0 : at + n) {
        if (j->around_zero)
            V_NAME(back_input)(j, i, room, j->weight + at, sums[0] + at, NULL);
        else
            V_NAME(back_input)(j, i, room, j->weight + at, sums[0] + at, sums[1] + at);
    }
}

V_TARGET static void V_NAME(back_blocks)(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_norm_back *j = ctx;
    const int64_t all = j->n * j->period;
    char *room = rl_room(&j->rooms, thread);
    float *const sums[2] = {(float *)(room + j->sums_at[0]), (float *)(room + j->sums_at[1])};
    float *const rows[3] = {(float *)(room + j->rows_at[0]), (float *)(room + j->rows_at[1]),
                            (float *)(room + j->rows_at[2])};
    for (int64_t i = 0; i < all; i++) sums[0][i] = sums[1][i] = 0;
    for (int64_t block = begin; block < end; block++) {
        int64_t first = block * j->block, last = simd_min(j->rows, first + j->block);
        for (int64_t i = first; i < last; i += STRETCH * j->period) {
            V_NAME(back_stretch)(j, i, simd_min(last, i + STRETCH * j->period), j->strips ? rows : NULL,
                                 sums);
            for (int h = 0; h < 2; h++)
                V_NAME(stretch_end)(j->parts[h] + block * all, sums[h], all, i == first);
        }
    }
}

/* ---- long rows: the gradient by the input, then columns of the others ---- */
V_TARGET static void V_NAME(back_rows)(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_norm_back *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) V_NAME(back_input)(j, i, NULL, j->weight, NULL, NULL);
}

V_TARGET static void V_NAME(back_columns)(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_norm_back *j = ctx;
    (void)thread;
    for (int64_t column = begin * COLUMNS; column < simd_min(end * COLUMNS, j->n); column += COLUMNS) {
        int64_t n = simd_min(COLUMNS, j->n - column);
        float sums[2 * COLUMNS] = {0};
        for (int64_t begun = 0; begun < j->rows; begun += STRETCH) {
            for (int64_t i = begun; i < simd_min(j->rows, begun + STRETCH); i++) {
                const norm_row r = {
                    j->grad + i * j->n + column, j->x + i * j->n + column, NULL, NULL, sums, sums + COLUMNS};
                V_NAME(back_row)(r, n, j->mean[i], j->scale[i], 0, 0);
            }
            V_NAME(stretch_end)(j->parts[0] + column, sums, n, begun == 0);
            V_NAME(stretch_end)(j->parts[1] + column, sums + COLUMNS, n, begun == 0);
        }
    }
}
