/* Tiles of distances, and gradients of rows: Note [Distance tiles]. */
#define NR (2 * V_WIDTH)
#ifdef SIMD_DOUBLE
#define POWER(x, y) ((void)(y), x) /* never asked for */
#else
#define POWER(x, y) V_NAME(math_pow)(x, y)
#endif

V_INLINE VF V_NAME(distance_join)(const rl_order order, VF gap, VF sum, VF p) {
    switch (order) {
    case RL_P_COUNT: return v_add(sum, v_min(v_set(1), v_ceil(v_abs(gap))));
    case RL_P_SUM: return v_add(sum, v_abs(gap));
    case RL_P_SQUARE: return v_fma(gap, gap, sum);
    case RL_P_MOST: return v_max(v_abs(gap), sum);
    default: return v_add(sum, POWER(v_abs(gap), p));
    }
}

V_INLINE VF V_NAME(distance_end)(const rl_order order, VF sum, VF inverse) {
    return order == RL_P_SQUARE ? v_sqrt(sum) : order == RL_P_POWER ? POWER(sum, inverse) : sum;
}

/* rows by NR distances, over n numbers; joins what `to` has unless `fresh` */
V_INLINE void V_NAME(distance_tile)(const rl_order order, const int rows, const V_ELEMENT *a, int64_t row,
                                    int64_t col, const V_ELEMENT *panel, int64_t n, double p, bool fresh,
                                    V_ELEMENT *to) {
    VF sum[DISTANCE_ROWS][2], power = v_set((V_ELEMENT)p);
    V_UNROLL
    for (int i = 0; i < rows; i++) {
        V_UNROLL
        for (int v = 0; v < 2; v++) sum[i][v] = v_zero();
    }
    for (int64_t c = 0; c < n; c++, a += col, panel += NR) {
        const VF w[2] = {v_load(panel), v_load(panel + V_WIDTH)};
        V_UNROLL
        for (int i = 0; i < rows; i++) {
            const VF x = v_set(a[i * row]);
            V_UNROLL
            for (int v = 0; v < 2; v++)
                sum[i][v] = V_NAME(distance_join)(order, v_sub(x, w[v]), sum[i][v], power);
        }
    }
    V_UNROLL
    for (int i = 0; i < rows; i++) {
        V_UNROLL
        for (int v = 0; v < 2; v++) {
            V_ELEMENT *at = to + i * NR + v * V_WIDTH;
            VF s = sum[i][v];
            if (!fresh) s = order == RL_P_MOST ? v_max(s, v_load(at)) : v_add(s, v_load(at));
            v_store(at, s);
        }
    }
}

/* rows of `second` from `first_row`, turned; what is missing is 0 */
V_TARGET static void V_NAME(distance_pack)(const distance_job *s, const V_ELEMENT *from, int64_t first_row,
                                           int64_t begin, int64_t n, V_ELEMENT *panel) {
    const rl_view *v = s->d.second;
    const int64_t row = v->strides[v->ndim - 2], col = v->strides[v->ndim - 1];
    const int64_t rows = simd_min(NR, s->d.others - first_row);
    for (int64_t j = 0; j < NR; j++) {
        const V_ELEMENT *x = from + (first_row + j) * row + begin * col;
        for (int64_t c = 0; c < n; c++) panel[c * NR + j] = j < rows ? x[c * col] : 0;
    }
}

/* Where row i of a tile stands in the result, and which of its columns: begin to NR or the end. */
static inline V_ELEMENT *V_NAME(distance_place)(const distance_job *s, V_ELEMENT *out, int64_t batch,
                                                int64_t i, int64_t column, int64_t *begin) {
    const rl_distances *d = &s->d;
    *begin = d->triangle ? simd_max(0, i + 1 - column) : 0;
    return out + (d->triangle ? rl_triangle_row(d->rows, i) : (batch * d->rows + i) * d->others) + column;
}

V_TARGET static inline __attribute__((always_inline)) void
V_NAME(distance_task)(const rl_order order, const distance_job *s, int64_t task, V_ELEMENT *panel) {
    const rl_distances *d = &s->d;
    const int64_t column = task % s->panels * NR, batch = task / s->panels / s->chunks;
    const int64_t start = task / s->panels % s->chunks * DISTANCE_CHUNK;
    int64_t stop = simd_min(start + DISTANCE_CHUNK, d->rows);
    const int64_t end = simd_min(NR, d->others - column);
    const int64_t row = d->first->strides[d->first->ndim - 2], col = d->first->strides[d->first->ndim - 1];
    const V_ELEMENT *a = (const V_ELEMENT *)rl_const_data(d->first) + rl_batch_offset(d, d->first, batch);
    const V_ELEMENT *b = (const V_ELEMENT *)rl_const_data(d->second) + rl_batch_offset(d, d->second, batch);
    V_ELEMENT *out = rl_data(d->result, RL_WRITE);
    const VF inverse = v_set((V_ELEMENT)(1 / d->p));
    if (d->triangle) stop = simd_min(stop, column + end - 1);
    for (int64_t c = 0; start < stop && (c < d->width || c == 0); c += DISTANCE_DEPTH) {
        const int64_t n = simd_min(DISTANCE_DEPTH, d->width - c);
        const bool last = c + n >= d->width;
        V_NAME(distance_pack)(s, b, column, c, n, panel);
        for (int64_t i = start; i < stop;) {
            const int rows = stop - i >= DISTANCE_ROWS ? DISTANCE_ROWS : 1;
            V_ELEMENT tile[DISTANCE_ROWS * NR], *at[DISTANCE_ROWS];
            int64_t begin[DISTANCE_ROWS];
            for (int r = 0; r < rows; r++) {
                at[r] = V_NAME(distance_place)(s, out, batch, i + r, column, &begin[r]);
                for (int64_t j = begin[r]; c && j < end; j++) tile[r * NR + j] = at[r][j];
            }
            const V_ELEMENT *x = a + i * row + c * col;
            if (rows == 1)
                V_NAME(distance_tile)(order, 1, x, row, col, panel, n, d->p, !c, tile);
            else
                V_NAME(distance_tile)(order, DISTANCE_ROWS, x, row, col, panel, n, d->p, !c, tile);
            for (int r = 0; r < rows; r++) {
                V_ELEMENT *t = tile + r * NR;
                for (int v = 0; last && v < NR; v += V_WIDTH)
                    v_store(t + v, V_NAME(distance_end)(order, v_load(t + v), inverse));
                if (begin[r] < end)
                    __builtin_memcpy(at[r] + begin[r], t + begin[r], (size_t)(end - begin[r]) * sizeof *t);
            }
            i += rows;
        }
    }
}

#define TASKS(order)                                                                                         \
    V_TARGET static void V_NAME(distance_tasks_##order)(void *ctx, int64_t begin, int64_t end, int thread) { \
        const distance_job *s = ctx;                                                                         \
        V_ELEMENT *panel = (V_ELEMENT *)rl_room(&s->rooms, thread);                                          \
        for (int64_t task = begin; task < end; task++) V_NAME(distance_task)(order, s, task, panel);         \
    }
TASKS(RL_P_COUNT)
TASKS(RL_P_SUM)
TASKS(RL_P_SQUARE)
TASKS(RL_P_MOST)
#ifndef SIMD_DOUBLE
TASKS(RL_P_POWER)
#endif
#undef TASKS

/* ---- gradients: one row of `first` at a time ---- */
/* the sum over j of grad * slope(gap): a vector of the row's columns */
V_INLINE VF V_NAME(slope_join)(const rl_order order, VF gap, VF sum, VF weight, VF distance, VF power) {
    const VF size = v_abs(gap), sign = v_or(v_set(1), v_sign_of(gap));
    const VM none = v_is_equal(gap, v_zero());
    switch (order) {
    case RL_P_SUM: return v_add(sum, v_pick(none, v_zero(), v_mul(sign, weight)));
    case RL_P_SQUARE: return v_fma(gap, weight, sum);
    case RL_P_MOST: return v_add(sum, v_pick(v_is_equal(size, distance), v_mul(sign, weight), v_zero()));
    default: {
        const VF slope = v_mul(v_mul(sign, weight), POWER(v_div(size, distance), power));
        return v_add(sum, v_pick(none, v_zero(), slope));
    }
    }
}

V_INLINE void V_NAME(slope_row)(const rl_order order, const distance_job *s, int64_t at) {
    const rl_distances *d = &s->d;
    const int64_t batch = at / d->rows, i = at % d->rows;
    const int64_t row = d->second->strides[d->second->ndim - 2];
    const V_ELEMENT *a = (const V_ELEMENT *)rl_const_data(d->first) + rl_batch_offset(d, d->first, batch) +
                         i * d->first->strides[d->first->ndim - 2];
    const V_ELEMENT *b = (const V_ELEMENT *)rl_const_data(d->second) + rl_batch_offset(d, d->second, batch);
    const V_ELEMENT *grad = (const V_ELEMENT *)rl_const_data(d->grad) + rl_batch_offset(d, d->grad, batch);
    const V_ELEMENT *found =
        (const V_ELEMENT *)rl_const_data(d->distance) + rl_batch_offset(d, d->distance, batch);
    V_ELEMENT *to = (V_ELEMENT *)rl_data(d->result, RL_WRITE) + at * d->width;
    const VF power = v_set((V_ELEMENT)(d->p - 1));
    for (int64_t c = 0; c < d->width; c += 4 * V_WIDTH) {
        VF sum[4], x[4];
        VM tail[4];
        V_UNROLL
        for (int v = 0; v < 4; v++) {
            tail[v] = v_tail(simd_max(0, simd_min(V_WIDTH, d->width - c - v * V_WIDTH)));
            sum[v] = v_zero(), x[v] = v_load_tail(a + c + v * V_WIDTH, tail[v]);
        }
        const int vectors = (int)simd_min(4, simd_ceil_div(d->width - c, V_WIDTH));
        for (int64_t j = 0; j < d->others; j++) {
            if (d->triangle && i == j) continue;
            const V_ELEMENT distance = found[rl_pair_offset(d, d->distance, i, j)];
            V_ELEMENT weight = grad[rl_pair_offset(d, d->grad, i, j)];
            if (order != RL_P_SUM && distance == 0) continue;
            if (order == RL_P_SQUARE) weight /= distance;
            const VF w = v_set(weight), far = v_set(distance);
            const V_ELEMENT *y = b + j * row + c;
            if (vectors == 4 && c + 4 * V_WIDTH <= d->width) {
                V_UNROLL
                for (int v = 0; v < 4; v++)
                    sum[v] = V_NAME(slope_join)(order, v_sub(x[v], v_load(y + v * V_WIDTH)), sum[v], w, far,
                                                power);
            } else {
                for (int v = 0; v < vectors; v++)
                    sum[v] = V_NAME(slope_join)(order, v_sub(x[v], v_load_tail(y + v * V_WIDTH, tail[v])),
                                                sum[v], w, far, power);
            }
        }
        for (int v = 0; v < vectors; v++) v_store_tail(to + c + v * V_WIDTH, tail[v], sum[v]);
    }
}

#define ROWS(order)                                                                                          \
    V_TARGET static void V_NAME(slope_rows_##order)(void *ctx, int64_t begin, int64_t end, int thread) {     \
        (void)thread;                                                                                        \
        for (int64_t at = begin; at < end; at++) V_NAME(slope_row)(order, ctx, at);                          \
    }
ROWS(RL_P_SUM)
ROWS(RL_P_SQUARE)
ROWS(RL_P_MOST)
#ifndef SIMD_DOUBLE
ROWS(RL_P_POWER)
#endif
#undef ROWS
#undef POWER
#undef NR
