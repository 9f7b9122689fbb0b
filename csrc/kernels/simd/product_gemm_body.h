/* One tile of C in registers: rows x (vectors * V_WIDTH). All counts are constants after inlining. */
V_INLINE void V_NAME(tile)(const rl_panel *p, const float *a, int64_t row, int64_t col, int64_t first,
                           const int rows, const int vectors) {
    VF sum[12][2];
    const float *b = p->b;
    const int64_t b_step = p->b_step;
    V_UNROLL
    for (int i = 0; i < rows; i++) {
        V_UNROLL
        for (int v = 0; v < vectors; v++) sum[i][v] = v_zero();
    }
    for (int64_t kk = p->k; kk > 0; kk--, a += col, b += b_step) {
        VF w[2];
        V_UNROLL
        for (int v = 0; v < vectors; v++) w[v] = v_load(b + v * V_WIDTH);
        V_UNROLL
        for (int i = 0; i < rows; i++) {
            VF s = v_set(a[i * row]);
            V_UNROLL
            for (int v = 0; v < vectors; v++) sum[i][v] = v_fma(s, w[v], sum[i][v]);
        }
    }
    float *c = p->c + first * p->c_step;
    bool full = p->cols == vectors * V_WIDTH;
    VM tail = v_tail(p->cols - (vectors - 1) * V_WIDTH);
    const int64_t c_step = p->c_step;
    V_UNROLL
    for (int i = 0; i < rows; i++) {
        VF bias = p->row_bias && !p->add ? v_set(p->row_bias[first + i]) : v_zero();
        V_UNROLL
        for (int v = 0; v < vectors; v++) {
            bool cut = v == vectors - 1 && !full;
            float *to = c + i * c_step + v * V_WIDTH;
            VF s = v_add(sum[i][v], bias);
            const float *more = p->add ? to : p->col_bias ? p->col_bias + v * V_WIDTH : NULL;
            if (more) s = v_add(s, cut ? v_load_tail(more, tail) : v_load(more));
            if (cut)
                v_store_tail(to, tail, s);
            else
                v_store(to, s);
        }
    }
}

/* Strips are cut into tiles of mr, 4, 2 and 1 rows. Loose rows of A (their pointers do not all fit
 * the integer registers) never go beyond 6. */
#define TILE(n, vectors, row, col)                                                                           \
    for (; i + (n) <= rows; i += (n)) V_NAME(tile)(p, a + i * (row), row, col, first + i, n, vectors)
#define TILES(vectors)                                                                                       \
    V_TARGET static void V_NAME(strip_packed_##vectors)(const rl_panel *p, const float *a, int64_t first,    \
                                                        int rows) {                                          \
        int i = 0;                                                                                           \
        TILE(GEMM_MR, vectors, 1, GEMM_MR);                                                                  \
        TILE(4, vectors, 1, GEMM_MR);                                                                        \
        TILE(2, vectors, 1, GEMM_MR);                                                                        \
        TILE(1, vectors, 1, GEMM_MR);                                                                        \
    }                                                                                                        \
    V_TARGET static void V_NAME(strip_loose_##vectors)(const rl_panel *p, const float *a, int64_t first,     \
                                                       int rows) {                                           \
        const int64_t row = p->a_row, col = p->a_col;                                                        \
        int i = 0;                                                                                           \
        TILE(6, vectors, row, col);                                                                          \
        TILE(4, vectors, row, col);                                                                          \
        TILE(2, vectors, row, col);                                                                          \
        TILE(1, vectors, row, col);                                                                          \
    }
#if SIMD_BITS == 256
#define GEMM_MR 6
#else
#define GEMM_MR 12
#endif
TILES(1)
TILES(2)
#undef TILES
#undef TILE

static void V_NAME(panel)(const rl_panel *p) {
    bool wide = p->cols > V_WIDTH;
    for (int64_t r = 0; r < p->rows; r += GEMM_MR) {
        int rows = (int)simd_min(GEMM_MR, p->rows - r);
        const float *a = p->a + r / GEMM_MR * p->a_strip;
        if (p->packed_a)
            (wide ? V_NAME(strip_packed_2) : V_NAME(strip_packed_1))(p, a, r, rows);
        else
            (wide ? V_NAME(strip_loose_2) : V_NAME(strip_loose_1))(p, a, r, rows);
    }
}
static const rl_gemm_kit V_NAME(kit) = {GEMM_MR, 2 * V_WIDTH, V_NAME(panel)};
#undef GEMM_MR
