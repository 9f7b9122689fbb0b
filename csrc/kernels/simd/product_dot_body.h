/* Dot products of rows, compiled once for each instruction set: the includer sets SIMD_BITS
 * (kernels/simd/isa.h). */
/* `rows` rows of x against four of w: 8 sums either way (one row runs two steps of k at once). */
V_INLINE void V_NAME(dot_four)(const rl_dot *d, int64_t i, int64_t j, const int rows) {
    enum { STEPS = 2 };
    const int steps = rows == 1 ? STEPS : 1;
    int count = (int)simd_min(4, d->n - j);
    const float *w[4], *x[2] = {d->x + i * d->x_row, d->x + (i + rows - 1) * d->x_row};
    VF sum[4][STEPS];
    V_UNROLL
    for (int r = 0; r < 4; r++) {
        w[r] = d->w + (j + simd_min(r, count - 1)) * d->w_row;
        sum[r][0] = sum[r][1] = v_zero();
    }
    int64_t k = 0, n = d->k;
    for (; k + steps * V_WIDTH <= n; k += steps * V_WIDTH) {
        if (rows == 1) {
            VF x0 = v_load(x[0] + k), x1 = v_load(x[0] + k + V_WIDTH);
            V_UNROLL
            for (int r = 0; r < 4; r++) {
                sum[r][0] = v_fma(v_load(w[r] + k), x0, sum[r][0]);
                sum[r][1] = v_fma(v_load(w[r] + k + V_WIDTH), x1, sum[r][1]);
            }
        } else {
            VF x0 = v_load(x[0] + k), x1 = v_load(x[1] + k);
            V_UNROLL
            for (int r = 0; r < 4; r++) {
                VF u = v_load(w[r] + k);
                sum[r][0] = v_fma(u, x0, sum[r][0]);
                sum[r][1] = v_fma(u, x1, sum[r][1]);
            }
        }
    }
    for (; k < n; k += V_WIDTH) {
        VM m = v_tail(simd_min(V_WIDTH, n - k));
        VF x0 = v_load_tail(x[0] + k, m), x1 = v_load_tail(x[1] + k, m);
        V_UNROLL
        for (int r = 0; r < 4; r++) {
            VF u = v_load_tail(w[r] + k, m);
            sum[r][0] = v_fma(u, x0, sum[r][0]);
            if (rows == 2) sum[r][1] = v_fma(u, x1, sum[r][1]);
        }
    }
    if (rows == 1) {
        V_UNROLL
        for (int r = 0; r < 4; r++) sum[r][0] = v_add(sum[r][0], sum[r][1]);
    }
    V_UNROLL
    for (int row = 0; row < rows; row++) {
        float out[4];
        _mm_storeu_ps(out, V_NAME(sums)(sum[0][row], sum[1][row], sum[2][row], sum[3][row]));
        float *c = d->c + (i + row) * d->c_row + j * d->c_col;
        for (int r = 0; r < count; r++) c[r * d->c_col] = out[r] + (d->bias ? d->bias[j + r] : 0.0f);
    }
}

V_TARGET static void V_NAME(dot_groups)(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_dot *d = ctx;
    (void)thread;
    for (int64_t j = begin * 4; j < end * 4 && j < d->n; j += 4) {
        int64_t i = 0;
        for (; i + 2 <= d->rows; i += 2) V_NAME(dot_four)(d, i, j, 2);
        if (i < d->rows) V_NAME(dot_four)(d, i, j, 1);
    }
}

/* one row of x against `vectors` vectors of columns, the last one cut by `tail` */
V_INLINE void V_NAME(fan_columns)(const rl_fan *f, int64_t i, int64_t j, const int vectors, bool cut,
                                  VM tail) {
    const float *x = f->x + i * f->x_row, *b = f->b + j;
    VF sum[8];
    V_UNROLL
    for (int v = 0; v < vectors; v++) sum[v] = v_zero();
    for (int64_t k = 0; k < f->k; k++, b += f->b_row) {
        VF s = v_set(x[k * f->x_col]);
        V_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = v_fma(s, cut ? v_load_tail(b + v * V_WIDTH, tail) : v_load(b + v * V_WIDTH), sum[v]);
    }
    float *c = f->c + i * f->c_row + j;
    V_UNROLL
    for (int v = 0; v < vectors; v++) {
        if (cut)
            v_store_tail(c + v * V_WIDTH, tail, sum[v]);
        else
            v_store(c + v * V_WIDTH, sum[v]);
    }
}

V_TARGET static void V_NAME(fan_groups)(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_fan *f = ctx;
    (void)thread;
    VM all = v_tail(V_WIDTH);
    for (int64_t i = 0; i < f->rows; i++) {
        int64_t j = begin * 8 * V_WIDTH, stop = simd_min(f->n, end * 8 * V_WIDTH);
        for (; j + 8 * V_WIDTH <= stop; j += 8 * V_WIDTH) V_NAME(fan_columns)(f, i, j, 8, false, all);
        if (j + 4 * V_WIDTH <= stop) V_NAME(fan_columns)(f, i, j, 4, false, all), j += 4 * V_WIDTH;
        if (j + 2 * V_WIDTH <= stop) V_NAME(fan_columns)(f, i, j, 2, false, all), j += 2 * V_WIDTH;
        if (j + V_WIDTH <= stop) V_NAME(fan_columns)(f, i, j, 1, false, all), j += V_WIDTH;
        if (j < stop) V_NAME(fan_columns)(f, i, j, 1, true, v_tail(stop - j));
    }
}
