/* The tile of Note [Placed tiles] in kernels/simd/conv_tile.h, compiled once for each instruction set and for
 * doubles: the includer sets SIMD_BITS and SIMD_DOUBLE (kernels/simd/isa.h). Counts are constants after
 * inlining. */
#if SIMD_BITS == 256
#define PLACED_MR 6
#else
#define PLACED_MR 12
#endif

V_INLINE void V_NAME(placed)(const rl_conv_tile *t, const int rows, const int vectors) {
    VF sum[PLACED_MR][2];
    const V_ELEMENT *const all = t->a, *b = t->b;
    const int32_t *at = t->a_at, *const end = at + t->k;
    V_UNROLL
    for (int i = 0; i < rows; i++) {
        V_UNROLL
        for (int v = 0; v < vectors; v++) sum[i][v] = v_zero();
    }
    for (; at < end; at++, b += 2 * V_WIDTH) {
        const V_ELEMENT *a = all + *at;
        VF w[2];
        V_UNROLL
        for (int v = 0; v < vectors; v++) w[v] = v_load(b + v * V_WIDTH);
        V_UNROLL
        for (int i = 0; i < rows; i++) {
            VF s = v_set(a[i]);
            V_UNROLL
            for (int v = 0; v < vectors; v++) sum[i][v] = v_fma(s, w[v], sum[i][v]);
        }
    }
    V_UNROLL
    for (int i = 0; i < rows; i++) {
        V_ELEMENT *c = (V_ELEMENT *)t->c + t->c_at[i];
        V_UNROLL
        for (int v = 0; v < vectors; v++) {
            VF old = t->add ? v_load(c + v * V_WIDTH) : v_zero();
            v_store(c + v * V_WIDTH, v_add(old, sum[i][v]));
        }
    }
}

#define PLACED(n)                                                                                            \
    V_TARGET static void V_NAME(placed_##n##x1)(const rl_conv_tile *t) {                                     \
        V_NAME(placed)(t, n, 1);                                                                             \
    }                                                                                                        \
    V_TARGET static void V_NAME(placed_##n##x2)(const rl_conv_tile *t) {                                     \
        V_NAME(placed)(t, n, 2);                                                                             \
    }
PLACED(1)
PLACED(2)
PLACED(3)
PLACED(4)
PLACED(5)
PLACED(6)
#if SIMD_BITS == 512
PLACED(7)
PLACED(8)
PLACED(9)
PLACED(10)
PLACED(11)
PLACED(12)
#endif
#undef PLACED

static void V_NAME(placed_any)(const rl_conv_tile *t) {
#define PLACED(v)                                                                                            \
    V_NAME(placed_1x##v), V_NAME(placed_2x##v), V_NAME(placed_3x##v), V_NAME(placed_4x##v),                  \
        V_NAME(placed_5x##v), V_NAME(placed_6x##v)
#define PLACED_MORE(v)                                                                                       \
    V_NAME(placed_7x##v), V_NAME(placed_8x##v), V_NAME(placed_9x##v), V_NAME(placed_10x##v),                 \
        V_NAME(placed_11x##v), V_NAME(placed_12x##v)
    static void (*const part[2][PLACED_MR])(const rl_conv_tile *) = {
#if SIMD_BITS == 512
        {PLACED(1), PLACED_MORE(1)},
        {PLACED(2), PLACED_MORE(2)},
#else
        {PLACED(1)},
        {PLACED(2)},
#endif
    };
    part[t->lanes > V_WIDTH][t->rows - 1](t);
#undef PLACED
#undef PLACED_MORE
}
static const rl_conv_kit V_NAME(placed_kit) = {PLACED_MR, 2 * V_WIDTH, V_NAME(placed_any)};
#undef PLACED_MR
