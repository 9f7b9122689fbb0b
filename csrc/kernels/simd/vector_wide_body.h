/* Exponential and logarithm on one vector of doubles, for what adds up powers: within 2 units in the last
 * place, without a table. Only where SIMD_DOUBLE is defined. */
#if SIMD_BITS == 256
#define WI          __m256i
#define wi_of(x)    _mm256_castpd_si256(x)
#define wi_to(x)    _mm256_castsi256_pd(x)
#define wi_set(x)   _mm256_set1_epi64x(x)
#define wi_add(...) _mm256_add_epi64(__VA_ARGS__)
#define wi_sub(...) _mm256_sub_epi64(__VA_ARGS__)
#define wi_up(x)    _mm256_slli_epi64(x, 52)
#define wi_down(x)  _mm256_srli_epi64(x, 52)
#else
#define WI          __m512i
#define wi_of(x)    _mm512_castpd_si512(x)
#define wi_to(x)    _mm512_castsi512_pd(x)
#define wi_set(x)   _mm512_set1_epi64(x)
#define wi_add(...) _mm512_add_epi64(__VA_ARGS__)
#define wi_sub(...) _mm512_sub_epi64(__VA_ARGS__)
#define wi_up(x)    _mm512_maskz_slli_epi64(0xff, x, 52)
#define wi_down(x)  _mm512_maskz_srli_epi64(0xff, x, 52)
#endif

#ifndef RL_KERNELS_SIMD_VECTOR_WIDE
#define RL_KERNELS_SIMD_VECTOR_WIDE
/* a sum with it is rounded to a whole number, which is what the lower bits have become */
#define WIDE_MAGIC 0x1.8p52
/* e^r = 1 + r + r^2 (c[0] + c[1] r + ...): Taylor's, |r| <= ln 2 / 2 */
static const double wide_exp_series[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                         1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                         1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
/* log m = 2 s + s^3 (c[0] + c[1] s^2 + ...), s = (m - 1) / (m + 1) */
static const double wide_log_series[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                         2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
#endif

V_INLINE VD V_NAME(wide_series)(VD x, const double *c, int n) {
    VD sum = v_set(c[n - 1]);
    V_UNROLL
    for (int i = n - 2; i >= 0; i--) sum = v_fma(sum, x, v_set(c[i]));
    return sum;
}

/* 2^n for whole n from -1022 to 1023 */
V_INLINE VD V_NAME(wide_power)(VD n) {
    return wi_to(wi_up(wi_add(wi_of(v_add(n, v_set(WIDE_MAGIC))), wi_set(1023))));
}

/* a NaN stays; what is too small becomes 0, too large infinity */
V_INLINE VD V_NAME(math_exp)(VD x) {
    const VD magic = v_set(WIDE_MAGIC);
    x = v_min(v_set(710), v_max(v_set(-750), x));
    VD n = v_sub(v_fma(x, v_set(0x1.71547652b82fep0), magic), magic);
    VD r = v_fnma(n, v_set(0x1.abc9e3b39803fp-56), v_fnma(n, v_set(0x1.62e42fefa39efp-1), x));
    VD p = v_fma(v_mul(r, r), V_NAME(wide_series)(r, wide_exp_series, 12), v_add(r, v_set(1)));
    VD half = v_floor(v_mul(n, v_set(0.5)));
    return v_mul(v_mul(p, V_NAME(wide_power)(half)), V_NAME(wide_power)(v_sub(n, half)));
}

/* of normal numbers above 0 */
V_INLINE VD V_NAME(math_log_normal)(VD x) {
    /* x = m 2^e, m from sqrt(1/2) to sqrt(2) */
    WI from = wi_sub(wi_of(x), wi_set(0x3fe6a09e667f3bcd));
    WI whole = wi_add(wi_down(wi_add(from, wi_set(0x4000000000000000))), wi_set(-1024));
    VD m = wi_to(wi_sub(wi_of(x), wi_up(whole)));
    VD e = v_sub(wi_to(wi_add(whole, wi_of(v_set(WIDE_MAGIC)))), v_set(WIDE_MAGIC));
    VD f = v_sub(m, v_set(1)), s = v_div(f, v_add(m, v_set(1))), square = v_mul(s, s);
    VD rest = v_mul(v_mul(square, s), V_NAME(wide_series)(square, wide_log_series, 10));
    rest = v_fma(e, v_set(0x1.abc9e3b39803fp-56), rest);
    return v_fma(e, v_set(0x1.62e42fefa39efp-1), v_fma(s, v_set(2), rest));
}
#undef WI
#undef wi_of
#undef wi_to
#undef wi_set
#undef wi_add
#undef wi_sub
#undef wi_up
#undef wi_down
