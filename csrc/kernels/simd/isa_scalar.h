/* The vocabulary of kernels/simd/isa.h for any CPU, in plain C over the lanes of vectors that the compiler
 * makes of what it has: eight floats, or four doubles. One lane would not do. A float has half of its vector
 * as doubles beside it (v_low), tables of taps and packed panels come in blocks of eight (rl_gemm_pack_rows
 * moves 64 bytes at a time), and sums that are taken lane by lane are as exact as they are with eight. */
#define ISA_NAME(f)     f##_scalar
#define ISA_NAME_F64(f) f##_scalar_f64
#define ISA_TARGET
#define ISA_BYTES     32
#define ISA_REGISTERS 16
#define ISA_F32       scalar_floats
#define ISA_F32_MASK  scalar_ints
#define ISA_I32       scalar_ints
#define ISA_F64       scalar_doubles
#define ISA_F64_MASK  scalar_longs
#define ISA_I64       scalar_longs

#ifndef RL_KERNELS_SIMD_ISA_SCALAR_H
#define RL_KERNELS_SIMD_ISA_SCALAR_H
#include "common.h"
typedef float scalar_floats __attribute__((vector_size(32)));
typedef double scalar_doubles __attribute__((vector_size(32)));
typedef int32_t scalar_ints __attribute__((vector_size(32)));
typedef int64_t scalar_longs __attribute__((vector_size(32)));

#define ISA static inline __attribute__((always_inline))
#define ISA_LANES(n, expression)                                                                             \
    for (int i = 0; i < (n); i++) y[i] = (expression);                                                       \
    return y

/* ---- floats and doubles: N is the suffix, V the vector, M the mask, E the element, I an integer of its
 * size, L how many, C the suffix of C's functions ---- */
#define ISA_BOTH(N, V, M, E, I, L, C)                                                                        \
    ISA V v_load##N(const E *p) {                                                                            \
        V y;                                                                                                 \
        __builtin_memcpy(&y, p, sizeof y);                                                                   \
        return y;                                                                                            \
    }                                                                                                        \
    ISA void v_store##N(E *p, V x) {                                                                         \
        __builtin_memcpy(p, &x, sizeof x);                                                                   \
    }                                                                                                        \
    ISA V v_set##N(E x) {                                                                                    \
        V y;                                                                                                 \
        ISA_LANES(L, x);                                                                                     \
    }                                                                                                        \
    ISA V v_zero##N(void) {                                                                                  \
        return (V){0};                                                                                       \
    }                                                                                                        \
    ISA V v_add##N(V a, V b) {                                                                               \
        return a + b;                                                                                        \
    }                                                                                                        \
    ISA V v_sub##N(V a, V b) {                                                                               \
        return a - b;                                                                                        \
    }                                                                                                        \
    ISA V v_mul##N(V a, V b) {                                                                               \
        return a * b;                                                                                        \
    }                                                                                                        \
    ISA V v_div##N(V a, V b) {                                                                               \
        return a / b;                                                                                        \
    }                                                                                                        \
    ISA V v_fma##N(V a, V b, V c) {                                                                          \
        V y;                                                                                                 \
        ISA_LANES(L, __builtin_fma##C(a[i], b[i], c[i]));                                                    \
    }                                                                                                        \
    ISA V v_fms##N(V a, V b, V c) {                                                                          \
        return v_fma##N(a, b, -c);                                                                           \
    }                                                                                                        \
    ISA V v_fnma##N(V a, V b, V c) {                                                                         \
        return v_fma##N(-a, b, c);                                                                           \
    }                                                                                                        \
    ISA V v_sqrt##N(V x) {                                                                                   \
        V y;                                                                                                 \
        ISA_LANES(L, __builtin_sqrt##C(x[i]));                                                               \
    }                                                                                                        \
    ISA V v_max##N(V a, V b) {                                                                               \
        V y;                                                                                                 \
        ISA_LANES(L, a[i] > b[i] ? a[i] : b[i]);                                                             \
    }                                                                                                        \
    ISA V v_min##N(V a, V b) {                                                                               \
        V y;                                                                                                 \
        ISA_LANES(L, a[i] < b[i] ? a[i] : b[i]);                                                             \
    }                                                                                                        \
    ISA V v_floor##N(V x) {                                                                                  \
        V y;                                                                                                 \
        ISA_LANES(L, __builtin_floor##C(x[i]));                                                              \
    }                                                                                                        \
    ISA V v_ceil##N(V x) {                                                                                   \
        V y;                                                                                                 \
        ISA_LANES(L, __builtin_ceil##C(x[i]));                                                               \
    }                                                                                                        \
    ISA V v_trunc##N(V x) {                                                                                  \
        V y;                                                                                                 \
        ISA_LANES(L, __builtin_trunc##C(x[i]));                                                              \
    }                                                                                                        \
    ISA V v_round##N(V x) {                                                                                  \
        V y;                                                                                                 \
        ISA_LANES(L, __builtin_rint##C(x[i]));                                                               \
    }                                                                                                        \
    ISA M v_bits##N(V x) {                                                                                   \
        return (M)x;                                                                                         \
    }                                                                                                        \
    ISA V v_from_bits##N(M i) {                                                                              \
        return (V)i;                                                                                         \
    }                                                                                                        \
    ISA V v_sign_of##N(V x) {                                                                                \
        return (V)((M)x & (M)v_set##N((E) - 0.0));                                                           \
    }                                                                                                        \
    ISA V v_abs##N(V x) {                                                                                    \
        return (V)((M)x & ~(M)v_set##N((E) - 0.0));                                                          \
    }                                                                                                        \
    ISA V v_xor##N(V a, V b) {                                                                               \
        return (V)((M)a ^ (M)b);                                                                             \
    }                                                                                                        \
    ISA V v_or##N(V a, V b) {                                                                                \
        return (V)((M)a | (M)b);                                                                             \
    }                                                                                                        \
    ISA M v_lt##N(V a, V b) {                                                                                \
        return (M)(a < b);                                                                                   \
    }                                                                                                        \
    ISA M v_le##N(V a, V b) {                                                                                \
        return (M)(a <= b);                                                                                  \
    }                                                                                                        \
    ISA M v_eq##N(V a, V b) {                                                                                \
        return (M)(a == b);                                                                                  \
    }                                                                                                        \
    ISA M v_ne##N(V a, V b) {                                                                                \
        return (M)(a != b);                                                                                  \
    }                                                                                                        \
    ISA M v_unordered##N(V a, V b) {                                                                         \
        return (M)(a != a) | (M)(b != b);                                                                    \
    }                                                                                                        \
    ISA V v_select##N(M m, V yes, V no) {                                                                    \
        return (V)((m & (M)yes) | (~m & (M)no));                                                             \
    }                                                                                                        \
    ISA M v_mask_or##N(M m, M n) {                                                                           \
        return m | n;                                                                                        \
    }                                                                                                        \
    ISA M v_mask_and##N(M m, M n) {                                                                          \
        return m & n;                                                                                        \
    }                                                                                                        \
    ISA M v_not##N(M m) {                                                                                    \
        return ~m;                                                                                           \
    }                                                                                                        \
    ISA int v_mask_bits##N(M m) {                                                                            \
        int y = 0;                                                                                           \
        for (int i = 0; i < (L); i++) y |= (m[i] != 0) << i;                                                 \
        return y;                                                                                            \
    }                                                                                                        \
    ISA M v_tail##N(int64_t n) {                                                                             \
        M y;                                                                                                 \
        ISA_LANES(L, i < n ? -1 : 0);                                                                        \
    }                                                                                                        \
    ISA V v_load_tail##N(const E *p, M m) {                                                                  \
        V y;                                                                                                 \
        ISA_LANES(L, m[i] ? p[i] : 0);                                                                       \
    }                                                                                                        \
    ISA void v_store_tail##N(E *p, M m, V x) {                                                               \
        for (int i = 0; i < (L); i++)                                                                        \
            if (m[i]) p[i] = x[i];                                                                           \
    }                                                                                                        \
    /* one byte, 0 or 1, for each lane of a mask */                                                          \
    ISA void v_store_bool##N(uint8_t *p, M m) {                                                              \
        for (int i = 0; i < (L); i++) p[i] = m[i] != 0;                                                      \
    }                                                                                                        \
    ISA V v_gather##N(const E *p, const int32_t *index) {                                                    \
        V y;                                                                                                 \
        ISA_LANES(L, p[index[i]]);                                                                           \
    }                                                                                                        \
    ISA V v_even##N(V a, V b) {                                                                              \
        V y;                                                                                                 \
        ISA_LANES(L, i < (L) / 2 ? a[2 * i] : b[2 * i - (L)]);                                               \
    }                                                                                                        \
    ISA V v_odd##N(V a, V b) {                                                                               \
        V y;                                                                                                 \
        ISA_LANES(L, i < (L) / 2 ? a[2 * i + 1] : b[2 * i + 1 - (L)]);                                       \
    }                                                                                                        \
    ISA V v_in_order##N(V x) {                                                                               \
        return x;                                                                                            \
    }                                                                                                        \
    ISA V v_interleave_low##N(V a, V b) {                                                                    \
        V y;                                                                                                 \
        ISA_LANES(L, i % 2 ? b[i / 2] : a[i / 2]);                                                           \
    }                                                                                                        \
    ISA V v_interleave_high##N(V a, V b) {                                                                   \
        V y;                                                                                                 \
        ISA_LANES(L, i % 2 ? b[(L) / 2 + i / 2] : a[(L) / 2 + i / 2]);                                       \
    }                                                                                                        \
    ISA M vi_set##N(I x) {                                                                                   \
        M y;                                                                                                 \
        ISA_LANES(L, x);                                                                                     \
    }                                                                                                        \
    ISA M vi_add##N(M a, M b) {                                                                              \
        return a + b;                                                                                        \
    }                                                                                                        \
    ISA M vi_sub##N(M a, M b) {                                                                              \
        return a - b;                                                                                        \
    }                                                                                                        \
    ISA M vi_left##N(M a, int by) {                                                                          \
        return a << by;                                                                                      \
    }
ISA_BOTH(_scalar, scalar_floats, scalar_ints, float, int32_t, 8, f)
ISA_BOTH(_scalar_f64, scalar_doubles, scalar_longs, double, int64_t, 4, )
#undef ISA_BOTH

ISA scalar_longs vi_right_zeros_scalar_f64(scalar_longs a, int by) {
    scalar_longs y;
    ISA_LANES(4, (int64_t)((uint64_t)a[i] >> by));
}

/* ---- floats and their bits ---- */
ISA scalar_floats v_to_float_scalar(scalar_ints x) {
    scalar_floats y;
    ISA_LANES(8, (float)x[i]);
}
ISA scalar_ints vi_and_scalar(scalar_ints a, scalar_ints b) {
    return a & b;
}
ISA scalar_ints vi_right_scalar(scalar_ints a, int by) { /* the sign moves in */
    return a >> by;
}
ISA scalar_ints vi_eq_scalar(scalar_ints a, scalar_ints b) {
    return a == b;
}
ISA scalar_ints vi_lt_scalar(scalar_ints a, scalar_ints b) {
    return a < b;
}

ISA scalar_floats v_rcp_scalar(scalar_floats x) {
    return v_set_scalar(1) / x;
}

/* x * 2^n for whole n, |n| <= 252, rounded once: in two factors, of which the first loses nothing */
ISA scalar_floats v_scale_scalar(scalar_floats x, scalar_floats n) {
    scalar_ints whole, half;
    for (int i = 0; i < 8; i++) whole[i] = n[i] == n[i] ? (int32_t)n[i] : 0; /* a NaN is one of x, too */
    half = whole >> 1;
    return x * (scalar_floats)((half + 127) << 23) * (scalar_floats)((whole - half + 127) << 23);
}

/* ---- eight at once: halves as floats ---- */
ISA scalar_floats v_load_half_scalar(const rl_half *p) {
    scalar_floats y;
    ISA_LANES(8, rl_from_half(p[i]));
}
ISA void v_store_half_scalar(rl_half *p, scalar_floats x) {
    for (int i = 0; i < 8; i++) p[i] = rl_to_half(x[i]);
}
ISA scalar_floats v_load_bfloat_scalar(const rl_bfloat *p) {
    scalar_floats y;
    ISA_LANES(8, rl_from_bfloat(p[i]));
}
ISA void v_store_bfloat_scalar(rl_bfloat *p, scalar_floats x) {
    for (int i = 0; i < 8; i++) p[i] = rl_to_bfloat(x[i]);
}

/* ---- doubles of floats ---- */
ISA scalar_doubles v_low_scalar(scalar_floats x) {
    scalar_doubles y;
    ISA_LANES(4, (double)x[i]);
}
ISA scalar_doubles v_high_scalar(scalar_floats x) {
    scalar_doubles y;
    ISA_LANES(4, (double)x[4 + i]);
}
ISA scalar_floats v_join_scalar(scalar_doubles low, scalar_doubles high) {
    scalar_floats y;
    ISA_LANES(8, i < 4 ? (float)low[i] : (float)high[i - 4]);
}
ISA scalar_doubles v_load_wide_scalar(const float *p) {
    scalar_doubles y;
    ISA_LANES(4, (double)p[i]);
}
ISA void v_store_narrow_scalar(float *p, scalar_doubles x) {
    for (int i = 0; i < 4; i++) p[i] = (float)x[i];
}

/* ---- elements of other lanes ---- */
ISA scalar_floats v_permute_scalar(scalar_floats x, const int32_t *index) {
    scalar_floats y;
    ISA_LANES(8, x[index[i]]);
}
ISA scalar_floats v_permute2_scalar(scalar_floats a, scalar_floats b, const int32_t *index) {
    scalar_floats y;
    ISA_LANES(8, index[i] < 8 ? a[index[i]] : b[index[i] - 8]);
}

/* ---- all lanes ---- */
ISA float v_lanes_sum_scalar(scalar_floats x) {
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}
ISA float v_lanes_max_scalar(scalar_floats x) { /* unless a NaN is among them */
    float y = x[0];
    for (int i = 1; i < 8; i++) y = x[i] > y ? x[i] : y;
    return y;
}
ISA simd_four v_sums_scalar(scalar_floats a, scalar_floats b, scalar_floats c, scalar_floats d) {
    return (simd_four){v_lanes_sum_scalar(a), v_lanes_sum_scalar(b), v_lanes_sum_scalar(c),
                       v_lanes_sum_scalar(d)};
}
ISA double v_lanes_sum_scalar_f64(scalar_doubles x) {
    double lane[4], sum = 0;
    v_store_scalar_f64(lane, x);
    for (int i = 0; i < 4; i++) sum += lane[i];
    return sum;
}
ISA double v_lanes_max_scalar_f64(scalar_doubles x) { /* unless a NaN is among them */
    double lane[4], most;
    v_store_scalar_f64(lane, x);
    most = lane[0];
    for (int i = 1; i < 4; i++) most = lane[i] > most ? lane[i] : most;
    return most;
}
ISA scalar_doubles v_swap_scalar_f64(scalar_doubles x, int distance) {
    scalar_doubles y;
    ISA_LANES(4, x[i ^ distance]);
}
ISA scalar_doubles v_slide_up_scalar_f64(scalar_doubles x, int by, scalar_doubles in) {
    scalar_doubles y;
    ISA_LANES(4, i < by ? in[i] : x[i - by]);
}
ISA double v_first_scalar_f64(scalar_doubles x) {
    return x[0];
}
ISA scalar_doubles v_broadcast_last_scalar_f64(scalar_doubles x) {
    return v_set_scalar_f64(x[3]);
}
#undef ISA
#undef ISA_LANES
#endif
