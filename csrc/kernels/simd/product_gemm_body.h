/* One tile of C in registers, compiled once for each instruction set and for doubles: the includer sets
 * SIMD_BITS and SIMD_DOUBLE (kernels/simd/isa.h). All counts are constants after inlining.
 * Loose rows of A begin at two addresses, six rows each, so that they take five registers; GCC is not told
 * how the steps between them are related, or it would keep twelve addresses. */
#if SIMD_BITS == 256
#define GEMM_MR 6
#else
#define GEMM_MR 12
#endif

/* The sums, and what lies at `more` where that is given, go to c; of the last vectors only what `tail` says.
 */
V_INLINE void V_NAME(tile_put)(VF sum[12][2], V_ELEMENT *c, int64_t c_step, const V_ELEMENT *more,
                               int64_t more_step, VM tail, const int rows, const int vectors,
                               const bool cut) {
    const int last = vectors - 1;
    if (more) {
        V_UNROLL
        for (int i = 0; i < rows; i++) {
            const V_ELEMENT *from = more + i * more_step;
            V_UNROLL
            for (int v = 0; v < vectors; v++)
                sum[i][v] = v_add(sum[i][v], cut && v == last ? v_load_tail(from + v * V_WIDTH, tail)
                                                              : v_load(from + v * V_WIDTH));
        }
    }
    V_UNROLL
    for (int i = 0; i < rows; i++) {
        V_ELEMENT *to = c + i * c_step;
        V_UNROLL
        for (int v = 0; v < last; v++) v_store(to + v * V_WIDTH, sum[i][v]);
        if (cut)
            v_store_tail(to + last * V_WIDTH, tail, sum[i][last]);
        else
            v_store(to + last * V_WIDTH, sum[i][last]);
    }
}

V_INLINE void V_NAME(tile)(const rl_panel *p, const V_ELEMENT *a, int64_t first, const int rows,
                           const int vectors, const bool loose) {
    VF sum[12][2];
    const V_ELEMENT *b = p->b;
    const int64_t b_next = p->b_next, a_next = p->a_next, b_step = p->b_step,
                  col = loose ? p->a_col : GEMM_MR;
    int64_t r1 = p->a_row, r3 = 3 * r1, r5 = 5 * r1;
    const V_ELEMENT *far = rows > 6 ? a + 6 * r1 : a;
    const VM tail = v_tail(p->cols - (vectors - 1) * V_WIDTH);
    V_ELEMENT *c = (V_ELEMENT *)p->c + first * p->c_step;
    const int64_t c_step = p->c_step, c_next = p->c_next;
    if (loose) __asm__("" : "+r"(r1), "+r"(r3), "+r"(r5));
    V_UNROLL
    for (int i = 0; i < rows; i++) {
        V_UNROLL
        for (int v = 0; v < vectors; v++) sum[i][v] = v_zero();
        if (rows == GEMM_MR) __builtin_prefetch(c + i * c_step + c_next, 1);
        if (rows == GEMM_MR && vectors > 1) __builtin_prefetch(c + i * c_step + c_next + V_WIDTH, 1);
    }
    for (int64_t kk = p->k; kk > 0; kk--, a += col, far += col, b += b_step) {
        VF w[2];
        if (rows == GEMM_MR) {
            if (!loose) __builtin_prefetch(a + a_next, 0, 2);
            __builtin_prefetch(b + b_next, 0, 2);
            if (vectors > 1) __builtin_prefetch(b + b_next + V_WIDTH, 0, 2);
        }
        V_UNROLL
        for (int v = 0; v < vectors - 1; v++) w[v] = v_load(b + v * V_WIDTH);
        w[vectors - 1] = v_load_tail(b + (vectors - 1) * V_WIDTH, tail);
        V_UNROLL
        for (int i = 0; i < rows; i++) {
            const V_ELEMENT *from = i < 6 ? a : far;
            const int j = i % 6;
            VF s = v_set(!loose ? a[i] : from[j == 0 ? 0 : j == 3 ? r3 : j == 5 ? r5 : j * r1]);
            V_UNROLL
            for (int v = 0; v < vectors; v++) sum[i][v] = v_fma(s, w[v], sum[i][v]);
        }
    }
    const V_ELEMENT *more = p->add ? c : p->col_bias, *row_bias = p->add ? NULL : p->row_bias;
    const int64_t more_step = p->add ? c_step : 0;
    if (row_bias) {
        V_UNROLL
        for (int i = 0; i < rows; i++) {
            const VF bias = v_set(row_bias[first + i]);
            V_UNROLL
            for (int v = 0; v < vectors; v++) sum[i][v] = v_add(sum[i][v], bias);
        }
    }
    if (p->cols == vectors * V_WIDTH)
        V_NAME(tile_put)(sum, c, c_step, more, more_step, tail, rows, vectors, false);
    else
        V_NAME(tile_put)(sum, c, c_step, more, more_step, tail, rows, vectors, true);
}

/* Strips are cut into tiles of mr, 8, 4, 2 and 1 rows. */
#define TILE(n, vectors, step, loose)                                                                        \
    for (; i + (n) <= rows; i += (n)) V_NAME(tile)(p, a + i * (step), first + i, n, vectors, loose)
#define TILES(name, vectors, step, loose)                                                                    \
    V_TARGET static void V_NAME(name)(const rl_panel *p, const V_ELEMENT *a, int64_t first, int rows) {      \
        int i = 0;                                                                                           \
        TILE(GEMM_MR, vectors, step, loose);                                                                 \
        if (GEMM_MR > 8) TILE(8, vectors, step, loose);                                                      \
        TILE(4, vectors, step, loose);                                                                       \
        TILE(2, vectors, step, loose);                                                                       \
        TILE(1, vectors, step, loose);                                                                       \
    }
TILES(strip_packed_1, 1, 1, false)
TILES(strip_packed_2, 2, 1, false)
TILES(strip_loose_1, 1, p->a_row, true)
TILES(strip_loose_2, 2, p->a_row, true)
#undef TILES
#undef TILE

static void V_NAME(panel)(const rl_panel *p) {
    const bool wide = p->cols > V_WIDTH;
    for (int64_t r = 0; r < p->rows; r += GEMM_MR) {
        const int rows = (int)simd_min(GEMM_MR, p->rows - r);
        const V_ELEMENT *a = (const V_ELEMENT *)p->a + r / GEMM_MR * p->a_strip;
        if (p->packed_a)
            (wide ? V_NAME(strip_packed_2) : V_NAME(strip_packed_1))(p, a, r, rows);
        else
            (wide ? V_NAME(strip_loose_2) : V_NAME(strip_loose_1))(p, a, r, rows);
    }
}
static const rl_gemm_kit V_NAME(kit) = {GEMM_MR, 2 * V_WIDTH, V_NAME(panel)};
#undef GEMM_MR
