/* Dot products of rows, and sums of rows, compiled once for each instruction set and dtype of the matrix:
 * the includer sets THIN_TYPE, that dtype; THIN, what names get; THIN_READ, a vector of it. */
#ifndef THIN_READ_TAIL
V_INLINE VF THIN(read_tail)(const THIN_TYPE *p, int64_t n) {
    THIN_TYPE block[V_WIDTH] = {{0}};
    for (int64_t i = 0; i < n; i++) block[i] = p[i];
    return THIN_READ(block);
}
#define THIN_READ_TAIL(p, n, mask) THIN(read_tail)(p, n)
#endif

V_INLINE void THIN(four_sums)(V_ELEMENT *to, VF a, VF b, VF c, VF d) {
#ifdef SIMD_DOUBLE
    V_ELEMENT all[4][V_WIDTH];
    v_store(all[0], a), v_store(all[1], b), v_store(all[2], c), v_store(all[3], d);
    for (int r = 0; r < 4; r++) {
        V_ELEMENT sum = 0;
        V_UNROLL
        for (int i = 0; i < V_WIDTH / 2; i++) sum += all[r][i] + all[r][i + V_WIDTH / 2];
        to[r] = sum;
    }
#else
    _mm_storeu_ps(to, V_NAME(sums)(a, b, c, d));
#endif
}

/* `rows` rows of x against four of w; one row runs two steps of k at once: 8 sums either way, or 16 */
V_INLINE void THIN(dot_four)(const rl_thin *t, int64_t i, int64_t j, int count, const int rows) {
    const int steps = rows == 1 ? 2 : 1, sums = rows == 1 ? 2 : rows;
    const THIN_TYPE *w[4];
    const V_ELEMENT *x[4];
    VF sum[4][4];
    V_UNROLL
    for (int r = 0; r < rows; r++) x[r] = (const V_ELEMENT *)t->x + (i + r) * t->x_row;
    V_UNROLL
    for (int r = 0; r < 4; r++) {
        w[r] = (const THIN_TYPE *)t->w + (j + simd_min(r, count - 1)) * t->w_row;
        V_UNROLL
        for (int s = 0; s < sums; s++) sum[r][s] = v_zero();
    }
    int64_t k = 0;
    const int64_t n = t->k;
    for (; k + steps * V_WIDTH <= n; k += steps * V_WIDTH) {
        V_UNROLL
        for (int s = 0; s < sums; s++) {
            const VF u = v_load(rows == 1 ? x[0] + k + s * V_WIDTH : x[s] + k);
            V_UNROLL
            for (int r = 0; r < 4; r++)
                sum[r][s] = v_fma(THIN_READ(w[r] + k + (rows == 1 ? s * V_WIDTH : 0)), u, sum[r][s]);
        }
    }
    for (; k < n; k += V_WIDTH) {
        const int64_t left = simd_min(V_WIDTH, n - k);
        const VM m = v_tail(left);
        V_UNROLL
        for (int r = 0; r < 4; r++) {
            const VF u = THIN_READ_TAIL(w[r] + k, left, m);
            V_UNROLL
            for (int s = 0; s < rows; s++) sum[r][s] = v_fma(u, v_load_tail(x[s] + k, m), sum[r][s]);
        }
    }
    if (rows == 1) {
        V_UNROLL
        for (int r = 0; r < 4; r++) sum[r][0] = v_add(sum[r][0], sum[r][1]);
    }
    V_UNROLL
    for (int s = 0; s < rows; s++) {
        V_ELEMENT out[4];
        THIN(four_sums)(out, sum[0][s], sum[1][s], sum[2][s], sum[3][s]);
        V_ELEMENT *c = (V_ELEMENT *)t->c + (i + s) * t->c_row + j * t->c_col;
        for (int r = 0; r < count; r++) c[r * t->c_col] = out[r];
    }
}

V_TARGET static void THIN(dots)(const rl_thin *t, int64_t j0, int64_t j1) {
    for (int64_t j = j0; j < j1; j += 4) {
        const int count = (int)simd_min(4, j1 - j);
        int64_t i = 0;
        for (; i + 4 <= t->rows; i += 4) THIN(dot_four)(t, i, j, count, 4);
        for (; i + 2 <= t->rows; i += 2) THIN(dot_four)(t, i, j, count, 2);
        if (i < t->rows) THIN(dot_four)(t, i, j, count, 1);
    }
}

/* rows [i, i + rows) of c: `deep` rows of the matrix are added to columns [j0, j1) */
V_INLINE void THIN(add_rows)(const rl_thin *t, int64_t i, int64_t k, int64_t j0, int64_t j1, const int rows,
                             const int deep) {
    const V_ELEMENT *x = (const V_ELEMENT *)t->x + i * t->x_row + k;
    const THIN_TYPE *w = (const THIN_TYPE *)t->w + k * t->w_row;
    V_ELEMENT *c = (V_ELEMENT *)t->c + i * t->c_row;
    const int64_t c_row = t->c_row, w_row = t->w_row;
    VF scale[16];
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int d = 0; d < deep; d++) scale[r * deep + d] = v_set(x[r * t->x_row + d]);
    }
    int64_t j = j0;
    for (; j + V_WIDTH <= j1; j += V_WIDTH) {
        VF sum[4];
        V_UNROLL
        for (int r = 0; r < rows; r++) sum[r] = v_zero();
        V_UNROLL
        for (int d = 0; d < deep; d++) {
            const VF u = THIN_READ(w + d * w_row + j);
            V_UNROLL
            for (int r = 0; r < rows; r++) sum[r] = v_fma(scale[r * deep + d], u, sum[r]);
        }
        V_UNROLL
        for (int r = 0; r < rows; r++) {
            V_ELEMENT *to = c + r * c_row + j;
            v_store(to, k ? v_add(v_load(to), sum[r]) : sum[r]);
        }
    }
    if (j == j1) return;
    const VM m = v_tail(j1 - j);
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_ELEMENT *to = c + r * c_row + j;
        VF sum = v_zero();
        V_UNROLL
        for (int d = 0; d < deep; d++)
            sum = v_fma(scale[r * deep + d], THIN_READ_TAIL(w + d * w_row + j, j1 - j, m), sum);
        v_store_tail(to, m, k ? v_add(v_load_tail(to, m), sum) : sum);
    }
}

/* Rows of the matrix are taken eight (or four) at a time, so that as many streams are read. */
V_INLINE void THIN(block)(const rl_thin *t, int64_t columns) {
    int64_t k = 0;
    for (; k + 8 <= t->k; k += 8) {
        if (t->rows == 1) THIN(add_rows)(t, 0, k, 0, columns, 1, 8);
        if (t->rows == 2) THIN(add_rows)(t, 0, k, 0, columns, 2, 8);
        for (int64_t d = k; t->rows == 3 && d < k + 8; d += 4) THIN(add_rows)(t, 0, d, 0, columns, 3, 4);
        for (int64_t d = k; t->rows == 4 && d < k + 8; d += 4) THIN(add_rows)(t, 0, d, 0, columns, 4, 4);
    }
    for (; k < t->k; k++)
        for (int64_t i = 0; i < t->rows; i++) THIN(add_rows)(t, i, k, 0, columns, 1, 1);
}

/* What they are added to stays in the first cache. Each stretch of k has sums of its own: an error grows with
 * the number of additions. */
V_TARGET static void THIN(rows)(const rl_thin *t, int64_t begin, int64_t end) {
    enum { STRIP = 1024, STRETCH = 512 };
    V_ELEMENT sums[RL_GEMM_FEW * STRIP];
    for (int64_t j = begin; j < end; j += STRIP) {
        const int64_t columns = simd_min(STRIP, end - j);
        for (int64_t k = 0; k < t->k; k += STRETCH) {
            rl_thin s = *t;
            s.k = simd_min(STRETCH, t->k - k);
            s.x = (const V_ELEMENT *)t->x + k;
            s.w = (const THIN_TYPE *)t->w + k * t->w_row + j;
            s.c = k ? sums : (V_ELEMENT *)t->c + j;
            if (k) s.c_row = STRIP;
            THIN(block)(&s, columns);
            for (int64_t i = 0; k && i < t->rows; i++) {
                V_ELEMENT *c = (V_ELEMENT *)t->c + i * t->c_row + j;
                for (int64_t n = 0; n < columns; n++) c[n] += sums[i * STRIP + n];
            }
        }
    }
}
#undef THIN_TYPE
#undef THIN
#undef THIN_READ
#undef THIN_READ_TAIL
