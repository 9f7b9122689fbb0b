/* One tile of C in registers for integers, which wrap: the includer sets SIMD_BITS, WHOLE, the type, and
 * WHOLE_NAME(f), what names get. A and B are packed; beyond p->cols a panel holds anything, which is not
 * stored. */
typedef WHOLE WHOLE_NAME(vector)
    __attribute__((vector_size(SIMD_BITS / 8), aligned(sizeof(WHOLE)), may_alias));
enum { WHOLE_NAME(width) = SIMD_BITS / 8 / sizeof(WHOLE), WHOLE_NAME(mr) = SIMD_BITS == 256 ? 6 : 12 };

V_INLINE void WHOLE_NAME(tile)(const rl_panel *p, const WHOLE *a, int64_t first, const int rows) {
    typedef WHOLE_NAME(vector) V;
    enum { WIDTH = WHOLE_NAME(width), MR = WHOLE_NAME(mr) };
    V sum[MR][2];
    const WHOLE *b = p->b;
    V_UNROLL
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = (V){0};
    for (int64_t kk = p->k; kk > 0; kk--, a += MR, b += 2 * WIDTH) {
        const V w0 = *(const V *)b, w1 = *(const V *)(b + WIDTH);
        V_UNROLL
        for (int i = 0; i < rows; i++) {
            sum[i][0] += w0 * a[i];
            sum[i][1] += w1 * a[i];
        }
    }
    V_UNROLL
    for (int i = 0; i < rows; i++) {
        WHOLE *to = (WHOLE *)p->c + (first + i) * p->c_step, line[2 * WIDTH];
        *(V *)line = sum[i][0], *(V *)(line + WIDTH) = sum[i][1];
        for (int j = 0; j < p->cols; j++) to[j] = p->add ? to[j] + line[j] : line[j];
    }
}

V_TARGET static void WHOLE_NAME(panel)(const rl_panel *p) {
    enum { MR = WHOLE_NAME(mr) };
    for (int64_t r = 0; r < p->rows; r += MR) {
        const WHOLE *a = (const WHOLE *)p->a + r / MR * p->a_strip;
        const int rows = (int)simd_min(MR, p->rows - r);
        int i = 0;
        if (rows == MR) WHOLE_NAME(tile)(p, a, r, MR), i = MR;
        for (; i + 4 <= rows; i += 4) WHOLE_NAME(tile)(p, a + i, r + i, 4);
        for (; i < rows; i++) WHOLE_NAME(tile)(p, a + i, r + i, 1);
    }
}
static const rl_gemm_kit WHOLE_NAME(kit) = {WHOLE_NAME(mr), 2 * WHOLE_NAME(width), WHOLE_NAME(panel)};
#undef WHOLE
#undef WHOLE_NAME
