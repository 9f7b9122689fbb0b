/* Columns of batch normalisation: Note [Columns] in norm_columns.h. */
enum { V_NAME(TILE) = 4 * V_WIDTH };

V_INLINE VF V_NAME(tile_load)(const float *p, int i, int64_t width) {
    int64_t left = width - i * V_WIDTH;
    if (left >= V_WIDTH) return v_load(p + i * V_WIDTH);
    return left <= 0 ? v_zero() : v_load_tail(p + i * V_WIDTH, v_tail(left));
}

/* at most STRETCH rows of one tile: means and squared distances, the rounding error of the mean found by the
 * second pass */
V_INLINE void V_NAME(stretch_moments)(const float *x, int64_t rows, int64_t step, int64_t width,
                                      float center[], float off[], float squares[]) {
    VF sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()}, first[4], square[4];
    const VF part = v_set(1 / (float)rows);
    const float *row = x;
    for (int64_t r = 0; r < rows; r++, row += step)
        V_UNROLL for (int i = 0; i < 4; i++) sum[i] = v_add(sum[i], V_NAME(tile_load)(row, i, width));
    V_UNROLL for (int i = 0; i < 4; i++) {
        first[i] = v_mul(sum[i], part);
        sum[i] = square[i] = v_zero();
        v_store(center + i * V_WIDTH, first[i]);
    }
    for (int64_t r = 0; r < rows; r++, x += step) V_UNROLL for (int i = 0; i < 4; i++) {
            VF d = v_sub(V_NAME(tile_load)(x, i, width), first[i]);
            sum[i] = v_add(sum[i], d);
            square[i] = v_fma(d, d, square[i]);
        }
    V_UNROLL for (int i = 0; i < 4; i++) {
        v_store(off + i * V_WIDTH, v_mul(sum[i], part));
        v_store(squares + i * V_WIDTH, square[i]);
    }
}

V_INLINE void V_NAME(stretch_dots)(const float *grad, const float *x, int64_t rows, int64_t step,
                                   int64_t width, const float *center, float p[], float q[]) {
    VF sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()}, dot[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
    VF from[4];
    V_UNROLL for (int i = 0; i < 4; i++) from[i] = V_NAME(tile_load)(center, i, width);
    for (int64_t r = 0; r < rows; r++, x += step, grad += step) V_UNROLL for (int i = 0; i < 4; i++) {
            VF g = V_NAME(tile_load)(grad, i, width);
            sum[i] = v_add(sum[i], g);
            dot[i] = v_fma(g, v_sub(V_NAME(tile_load)(x, i, width), from[i]), dot[i]);
        }
    V_UNROLL for (int i = 0; i < 4; i++) {
        v_store(p + i * V_WIDTH, sum[i]);
        v_store(q + i * V_WIDTH, dot[i]);
    }
}

/* one tile of one block */
V_INLINE void V_NAME(tile_sum)(const rl_norm_columns *j, int64_t block, int64_t column, int64_t width) {
    double (*to)[2] = j->parts + block * j->columns + column;
    float a[V_NAME(TILE)], b[V_NAME(TILE)], c[V_NAME(TILE)];
    int64_t first = block * j->block, last = simd_min(j->rows, first + j->block), rows;
    for (int64_t i = 0; i < width; i++) to[i][0] = to[i][1] = 0;
    for (int64_t r = first; r < last; r += rows) {
        int64_t at = r * j->columns + column, done = r - first;
        rows = simd_min(STRETCH, last - r);
        if (j->grad) {
            V_NAME(stretch_dots)(j->grad + at, j->x + at, rows, j->columns, width, j->center + column, a, b);
            for (int64_t i = 0; i < width; i++) to[i][0] += (double)a[i], to[i][1] += (double)b[i];
            continue;
        }
        V_NAME(stretch_moments)(j->x + at, rows, j->columns, width, a, b, c);
        double part = (double)rows / (double)(done + rows), weight = part * (double)done;
        for (int64_t i = 0; i < width; i++) {
            double own = (double)c[i] - (double)b[i] * (double)b[i] * (double)rows;
            double off = (double)a[i] + (double)b[i] - to[i][0];
            to[i][0] += off * part;
            to[i][1] += (own < 0 ? 0 : own) + off * off * weight;
        }
    }
}

V_TARGET static void V_NAME(sum_tiles)(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_norm_columns *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % j->tiles * j->tile, width = j->columns - column;
        if (width >= j->tile)
            V_NAME(tile_sum)(j, i / j->tiles, column, V_NAME(TILE));
        else
            V_NAME(tile_sum)(j, i / j->tiles, column, width);
    }
}

V_TARGET static void V_NAME(apply_rows)(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_norm_columns *j = ctx;
    const int64_t n = j->columns;
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float *x = j->x + r * n, *grad = j->grad ? j->grad + r * n : NULL;
        float *to = j->to + r * n;
        for (int64_t i = 0; i < n; i += V_WIDTH) {
            const VM m = v_tail(simd_min(V_WIDTH, n - i));
            VF off = v_sub(v_load_tail(x + i, m), v_load_tail(j->center + i, m));
            VF scale = v_load_tail(j->scale + i, m), shift = v_load_tail(j->shift + i, m), y;
            if (grad)
                y = v_fms(v_load_tail(grad + i, m), scale, v_fma(off, v_load_tail(j->slope + i, m), shift));
            else
                y = v_fma(off, scale, shift);
            v_store_tail(to + i, m, y);
        }
    }
}
