/* Softmax, log_softmax and their gradients down columns: tiles of 4 vectors, whose largest numbers and sums
 * stay in registers while all rows run. */
enum { V_NAME(TILE) = 4 * V_WIDTH };

V_INLINE VF V_NAME(tile_load)(const float *p, int i, int64_t width) {
    int64_t left = width - i * V_WIDTH;
    if (left >= V_WIDTH) return v_load(p + i * V_WIDTH);
    return left <= 0 ? v_zero() : v_load_tail(p + i * V_WIDTH, v_tail(left));
}
V_INLINE void V_NAME(tile_store)(float *p, int i, int64_t width, VF x) {
    int64_t left = width - i * V_WIDTH;
    if (left >= V_WIDTH)
        v_store(p + i * V_WIDTH, x);
    else if (left > 0)
        v_store_tail(p + i * V_WIDTH, v_tail(left), x);
}
/* adds a part of a sum of finite numbers, with the rounding error kept (Kahan, 1965) */
V_INLINE void V_NAME(stretch_join)(VF *sum, VF *lost, VF part) {
    VF more = v_sub(part, *lost), total = v_add(*sum, more);
    *lost = v_sub(v_sub(total, *sum), more);
    *sum = total;
}
#define EACH V_UNROLL for (int i = 0; i < 4; i++)

V_INLINE void V_NAME(softmax_tile)(const float *x, float *to, int64_t n, int64_t step, int64_t width,
                                   bool log) {
    VF most[4], sum[4], lost[4], part[4];
    EACH most[i] = v_set(-__builtin_inff()), sum[i] = lost[i] = v_zero();
    for (int64_t r = 0; r < n; r++) EACH most[i] = v_max(V_NAME(tile_load)(x + r * step, i, width), most[i]);
    for (int64_t begin = 0; begin < n; begin += STRETCH) {
        EACH part[i] = v_zero();
        for (int64_t r = begin; r < simd_min(n, begin + STRETCH); r++) EACH {
                VF e = V_NAME(exp_normal)(v_sub(V_NAME(tile_load)(x + r * step, i, width), most[i]));
                if (!log) V_NAME(tile_store)(to + r * step, i, width, e);
                part[i] = v_add(part[i], e);
            }
        EACH V_NAME(stretch_join)(&sum[i], &lost[i], part[i]);
    }
    EACH sum[i] = log ? V_NAME(math_log)(sum[i]) : v_div(v_set(1), sum[i]);
    for (int64_t r = 0; r < n; r++) EACH {
            VF y = log ? v_sub(v_sub(V_NAME(tile_load)(x + r * step, i, width), most[i]), sum[i])
                       : v_mul(V_NAME(tile_load)(to + r * step, i, width), sum[i]);
            V_NAME(tile_store)(to + r * step, i, width, y);
        }
}

V_INLINE void V_NAME(back_tile)(const float *grad, const float *y, float *to, int64_t n, int64_t step,
                                int64_t width, bool log) {
    VF sum[4], part[4];
    EACH sum[i] = v_zero();
    for (int64_t begin = 0; begin < n; begin += STRETCH) {
        EACH part[i] = v_zero();
        for (int64_t r = begin; r < simd_min(n, begin + STRETCH); r++) EACH {
                VF g = V_NAME(tile_load)(grad + r * step, i, width);
                part[i] =
                    log ? v_add(part[i], g) : v_fma(g, V_NAME(tile_load)(y + r * step, i, width), part[i]);
            }
        EACH sum[i] = v_add(sum[i], part[i]);
    }
    for (int64_t r = 0; r < n; r++) EACH {
            VF g = V_NAME(tile_load)(grad + r * step, i, width);
            VF s = V_NAME(tile_load)(y + r * step, i, width);
            VF made = log ? v_fnma(V_NAME(exp_normal)(s), sum[i], g) : v_mul(v_sub(g, sum[i]), s);
            V_NAME(tile_store)(to + r * step, i, width, made);
        }
}
#undef EACH

#define COLUMNS(name, call, log)                                                                             \
    V_TARGET static void V_NAME(name)(const float *a, const float *b, float *to, int64_t n, int64_t step,    \
                                      int64_t width) {                                                       \
        (void)b;                                                                                             \
        if (width == V_NAME(TILE))                                                                           \
            call(V_NAME(TILE), log);                                                                         \
        else                                                                                                 \
            call(width, log);                                                                                \
    }
#define FORWARD(width, log)  V_NAME(softmax_tile)(a, to, n, step, width, log)
#define BACKWARD(width, log) V_NAME(back_tile)(a, b, to, n, step, width, log)
COLUMNS(softmax_columns, FORWARD, false)
COLUMNS(log_softmax_columns, FORWARD, true)
COLUMNS(softmax_back_columns, BACKWARD, false)
COLUMNS(log_softmax_back_columns, BACKWARD, true)
#undef FORWARD
#undef BACKWARD
#undef COLUMNS
