/* Special functions on one vector of floats; most work in double and are rounded once. Coefficients are
 * truncated Chebyshev expansions, written by powers.
 *
 * A function is two: of half a vector, in doubles, and of the vector, which joins the halves. */
#ifndef RL_KERNELS_SIMD_SPECIAL
#define RL_KERNELS_SIMD_SPECIAL
#include <math.h>

/* e^-x I0(x) and e^-x I1(x) / x by t = x / 4 - 1; sqrt(x) e^-x of I0(x) and I1(x) by t = 16 / x - 1 */
static const double special_i0_near[] = {
    0x1.a7f09f8f074acp-3,  -0x1.cedd9fec5a165p-4,  0x1.8322d1a8fa1bbp-4,  -0x1.6cb8d7ab095e7p-4,
    0x1.65c23d2763687p-4,  -0x1.5c01fc52dedecp-4,  0x1.44b5a6b97cf7p-4,   -0x1.1cdce2ef6e9d7p-4,
    0x1.d1252becdb66fp-5,  -0x1.5fe72e8838301p-5,  0x1.ee2dc3d60d855p-6,  -0x1.44036b943aa8ep-6,
    0x1.89603d69c5da6p-7,  -0x1.b0d720be2894ep-8,  0x1.cf5c47c60fc72p-9,  -0x1.0c5980528c40fp-9,
    0x1.f2f00f73bf782p-11, -0x1.af82352af7d52p-13, 0x1.8e631923096a9p-14, -0x1.1d4fe13ae9556p-13,
    0x1.a98becc743c1p-15};
static const double special_i1_near[] = {
    0x1.6e14eb8ccb58p-5,   -0x1.f4bb0714e5456p-5,  0x1.16c39179c6ba7p-4,  -0x1.1881386b1f27dp-4,
    0x1.0530e41c8b1f4p-4,  -0x1.c4da8305d474p-5,   0x1.6dfb59b7278cbp-5,  -0x1.13d741d7a15c5p-5,
    0x1.83f8e2047a7bfp-6,  -0x1.fe217466fadc9p-7,  0x1.3ac78a0611987p-7,  -0x1.6b6c57abdfbedp-8,
    0x1.837308bad3f21p-9,  -0x1.8db249c9c9721p-10, 0x1.a9eef2d2ab0c2p-11, -0x1.8279cb4b2f7b4p-12,
    0x1.887417355898cp-14, -0x1.558041adb6ce6p-15, 0x1.8ea34b43fdf6cp-15, -0x1.2510397eb07dep-16};
static const float special_i0_far[] = {0x1.9bd428p-2f,  0x1.b8796cp-9f,  0x1.1dab08p-13f, 0x1.75ca4ap-17f,
                                       0x1.8c3de6p-20f, 0x1.49fedcp-22f, 0x1.d2c64ap-24f, 0x1.0f9cccp-25f};
static const float special_i1_far[] = {0x1.8ebe78p-2f,   -0x1.3f7962p-7f,  -0x1.cbc60ap-13f,
                                       -0x1.f87ff8p-17f, -0x1.ea1484p-20f, -0x1.80dc76p-22f,
                                       -0x1.0790bap-23f, -0x1.334ca6p-25f};
/* (1 + 2x) erfcx x by t = (x - 3.75) / (x + 3.75) */
static const double special_erfcx[] = {
    0x1.3ccda0b5b537bp0,   -0x1.1f3676840fe69p-3, 0x1.d5f2b573a7a1ep-9,   0x1.510169d8bddf9p-4,
    -0x1.bda9467c058ep-4,  0x1.7a141823401dcp-4,  -0x1.e0cf969d58063p-5,  0x1.d0b00c2c91628p-6,
    -0x1.3f7694afc0fcp-7,  0x1.cc38b1eb203ep-10,  0x1.3a265352a1edfp-12,  -0x1.303abe248b935p-12,
    0x1.7372ddc1e5061p-15, 0x1.77df8190c0eb3p-16, -0x1.aa4d7b1cdf20ap-18, -0x1.15df59ca6082bp-20};
/* the x with ndtr(-x) == q: r = sqrt(-log2(4 q (1 - q))) from 2.8 to 12.2, as t from -1 to 1 */
static const double special_ndtri[] = {0x1.1457f806926ffp3,   0x1.657b8ebed095dp2,    -0x1.60df13f86e5fap-7,
                                       -0x1.1259a99ef1677p-9, 0x1.5b0115b50bc6fp-8,   -0x1.558583c8bb303p-8,
                                       0x1.043aae52489dap-8,  -0x1.47ef50961ac5ap-9,  0x1.3d8c2d4310bbep-9,
                                       -0x1.86146925c706fp-9, 0x1.bdc862fafe3b3p-14,  0x1.8723b51ad3a3cp-9,
                                       0x1.33b1544f8e098p-11, -0x1.0e20a944494b5p-8,  0x1.ae6e6ebc02199p-11,
                                       0x1.f3291efbd3641p-10, -0x1.71f17958d6957p-11, -0x1.abe94732335e6p-14};
/* log gamma(2 + t) / (t (1 + t)) from -1 to 1 */
static const double special_lgamma[] = {
    0x1.b0ee607208928p-2,   -0x1.9ae6509f65536p-4,  0x1.0e0c9df6ae56fp-5,  -0x1.95ce20d0132b7p-7,
    0x1.47974428b2f4ap-8,   -0x1.145183d5cac9cp-9,  0x1.dfed72243b24ep-11, -0x1.a9525b1e212bap-12,
    0x1.7eadb8fe8fd4fp-13,  -0x1.5e183df345c35p-14, 0x1.4286cdd17ba41p-15, -0x1.1902aa59bddefp-16,
    0x1.ff096f199fdep-18,   -0x1.5aa2ed18c882dp-18, 0x1.5e0e0c47a81ebp-19, 0x1.f72b87161bf32p-23,
    -0x1.bd285db33bd0bp-23, -0x1.5452009c24af3p-21, 0x1.5af787a242489p-22};
/* sin(pi r) / r, cos(pi r), and for floats sin(pi r) / (pi r), by r^2, r up to 1/2 */
static const double special_sine[] = {0x1.921fb54442d17p1,   -0x1.4abbce625bd84p2,  0x1.466bc677522e2p1,
                                      -0x1.32d2cce1eaf05p-1, 0x1.50783270951fep-4,  -0x1.e30631dac267ap-8,
                                      0x1.e89f75205d687p-12, -0x1.62909cb7f9ba4p-16};
static const double special_cosine[] = {0x1.fffffffffffefp-1,  -0x1.3bd3cc9be4182p2,  0x1.03c1f0819ec14p2,
                                        -0x1.55d3c7d853c92p0,  0x1.e1f500e55a6e3p-3,  -0x1.a6d070e26d27cp-6,
                                        0x1.f961333300d33p-10, -0x1.a52debc4792a5p-14};
static const float special_sinc[] = {0x1p0f,          -0x1.a51a66p0f, 0x1.9f9cacp-1f,
                                     -0x1.86a6d6p-3f, 0x1.abe88ap-6f, -0x1.253c24p-9f};
/* Stirling's series of log gamma and of its derivative, by 1 / x^2 */
static const double special_stirling[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188};
static const double special_digamma[] = {1.0 / 12,   -1.0 / 120, 1.0 / 252,
                                         -1.0 / 240, 1.0 / 132,  -691.0 / 32760};
/* x (x + 1) ... (x + 5) less its factor x, and its derivative */
static const double special_rising[] = {120, 274, 225, 85, 15, 1};
static const double special_risen[] = {120, 548, 675, 340, 75, 6};
#define SPECIAL_COUNT(c) (int)(sizeof(c) / sizeof *(c))
#define SPECIAL_LN2      0x1.62e42fefa39efp-1
#endif
#include "vector_math_body.h"
#define HALF_SERIES(x, c) V_NAME(math_series_double)(x, c, SPECIAL_COUNT(c))

/* ---- logarithms ---- */
V_INLINE VF V_NAME(special_entr)(VF x) {
    VF y = v_mul(v_xor(v_set(-0.0f), x), V_NAME(math_log)(x));
    y = v_pick(v_is_equal(x, v_zero()), v_zero(), y);
    return v_pick(v_is_less(x, v_zero()), v_set(-__builtin_inff()), y);
}

/* log(z / (1 - z)): what the quotient lost comes to its logarithm */
V_INLINE VF V_NAME(special_logit)(VF z) {
    VF one = v_set(1.0f), less = v_sub(one, z), q = v_div(z, less);
    VF lost = v_fnma(q, v_sub(v_sub(one, less), z), v_fnma(q, less, z));
    VF y = V_NAME(math_log)(q), more = v_add(lost, lost); /* lost / z, near 1/2, where it matters */
    return v_pick(v_is_less(v_abs(more), v_set(1e-6f)), v_add(y, more), y);
}

/* the logarithm of a float as two halves, for normal a > 0 */
typedef struct {
    VD low, high;
} V_NAME(special_halves);

V_INLINE V_NAME(special_halves) V_NAME(special_log)(VF a) {
    VI e = V_NAME(math_exponent)(a);
    VF m = v_from_bits(vi_sub(v_bits(a), vi_left(e, 23))), power = v_to_float(e);
    VF guess = v_div(v_set(1.0f), v_add(m, v_set(1.0f)));
    VD two = vd_set(SPECIAL_LN2);
    return (V_NAME(special_halves)){
        vd_mul(two, V_NAME(math_log2_double)(v_low(m), v_low(power), v_low(guess))),
        vd_mul(two, V_NAME(math_log2_double)(v_high(m), v_high(power), v_high(guess)))};
}
/* of doubles, which are near `a` */
V_INLINE V_NAME(special_halves) V_NAME(special_log_near)(VF a, VD low, VD high) {
    V_NAME(special_halves) y = V_NAME(special_log)(a);
    VF part = v_div(v_set(1.0f), a);
    y.low = vd_fma(vd_sub(low, v_low(a)), v_low(part), y.low);
    y.high = vd_fma(vd_sub(high, v_high(a)), v_high(part), y.high);
    return y;
}

/* ---- the error function ---- */
V_INLINE VD V_NAME(ndtr_half)(VD a, VD n, VD guess) {
    return V_NAME(erfc_half)(vd_mul(a, vd_set(M_SQRT1_2)), n, guess);
}
V_INLINE VF V_NAME(special_ndtr)(VF x) {
    VF a = v_min(v_set(14.5f), v_abs(x)), half = v_set(0.5f);
    VF n = v_round(v_mul(v_mul(a, a), v_set(-0x1.715476p-1f)));
    VF guess = v_div(v_set(1.0f), v_fma(a, v_set(0x1.6a09e6p-1f), v_set(2.5f)));
    VF y = v_join(V_NAME(ndtr_half)(v_low(a), v_low(n), v_low(guess)),
                  V_NAME(ndtr_half)(v_high(a), v_high(n), v_high(guess)));
    y = v_scale(v_mul(y, half), n);
    return v_pick(v_is_less(v_zero(), x), v_sub(v_set(1.0f), y), y);
}

/* for x >= 0 */
V_INLINE VF V_NAME(erfcx_right)(VF x) {
    VF one = v_set(1.0f), t = v_sub(one, v_div(v_set(7.5f), v_add(x, v_set(3.75f))));
    VF y = v_join(HALF_SERIES(v_low(t), special_erfcx), HALF_SERIES(v_high(t), special_erfcx));
    return v_div(v_mul(y, v_set(0.5f)), v_add(x, v_set(0.5f)));
}
/* ... and 2 e^(x^2) less that of -x for others, which are infinite from -9.4 on */
V_INLINE VF V_NAME(special_erfcx)(VF x) {
    VF y = V_NAME(erfcx_right)(v_abs(x));
    VM below = v_is_less(x, v_zero());
    if (v_mask_bits(below) == 0) return y;
    VF a = v_max(v_set(-9.41f), x), square = v_mul(a, a), rest = v_fms(a, a, square);
    VF power = V_NAME(math_exp)(square);
    power = v_fma(power, rest, power);
    return v_pick(below, v_sub(v_add(power, power), y), y);
}

V_INLINE VF V_NAME(special_log_ndtr)(VF x) {
    VF minus = v_set(-0.0f), y = V_NAME(math_log1p)(v_xor(minus, V_NAME(special_ndtr)(v_xor(minus, x))));
    VM far = v_is_less(x, v_set(-1.0f));
    if (v_mask_bits(far) == 0) return y;
    VF part = V_NAME(erfcx_right)(v_mul(v_abs(x), v_set(0x1.6a09e6p-1f)));
    VF low = v_fnma(v_mul(x, v_set(0.5f)), x, V_NAME(math_log)(v_mul(part, v_set(0.5f))));
    return v_pick(far, low, y);
}

/* Of q, the smaller of p and 1 - p, which is a float: near 1/2 as erfinv(1 - 2q), which goes by the logarithm
 * l of 1 - (1 - 2q)^2 to base 2, and far from there by the root of -l. */
V_INLINE VD V_NAME(ndtri_near)(VD q, VD l) {
    VD away = vd_fnma(q, vd_set(2), vd_set(1));
    return vd_mul(vd_mul(away, vd_set(M_SQRT2)), HALF_SERIES(l, erfinv_series_near));
}
V_INLINE VD V_NAME(ndtri_far)(VD l) {
    VD root = vd_sqrt(vd_sub(vd_set(0), vd_min(l, vd_set(-1))));
    return HALF_SERIES(vd_mul(vd_sub(root, vd_set(7.5)), vd_set(1 / 4.7)), special_ndtri);
}
V_INLINE VF V_NAME(special_ndtri)(VF p) {
    VF one = v_set(1.0f), rest = v_sub(one, p);
    VM below = v_is_less(p, v_set(0.5f));
    VF q = v_pick(below, p, rest), z = v_mul(v_mul(v_set(4.0f), q), v_sub(one, q)), moved = z, up = v_zero();
    VM far = v_not(v_is_less(v_set(0x1p-8f), z));
    const int any = v_mask_bits(far);
    if (any) { /* numbers that are not normal */
        VM tiny = v_is_less(z, v_set(0x1p-100f));
        moved = v_pick(tiny, v_mul(z, v_set(0x1p64f)), z), up = v_pick(tiny, v_set(64.0f), up);
    }
    V_NAME(special_halves) l = V_NAME(special_log)(moved);
    VD base = vd_set(M_LOG2E);
    l.low = vd_fma(l.low, base, vd_sub(vd_set(0), v_low(up)));
    l.high = vd_fma(l.high, base, vd_sub(vd_set(0), v_high(up)));
    VF y = v_join(V_NAME(ndtri_near)(v_low(q), l.low), V_NAME(ndtri_near)(v_high(q), l.high));
    if (any) {
        y = v_pick(far, v_join(V_NAME(ndtri_far)(l.low), V_NAME(ndtri_far)(l.high)), y);
        VF pole = v_pick(v_is_equal(q, v_zero()), v_set(__builtin_inff()), v_set(__builtin_nanf("")));
        y = v_pick(v_is_less(v_zero(), q), y, pole);
    }
    return v_xor(y, v_pick(below, v_set(-0.0f), v_zero()));
}

/* ---- Bessel functions ---- */
V_INLINE VD V_NAME(near_0)(VD a) {
    return HALF_SERIES(vd_fma(a, vd_set(0.25), vd_set(-1)), special_i0_near);
}
V_INLINE VD V_NAME(near_1)(VD a) {
    return vd_mul(a, HALF_SERIES(vd_fma(a, vd_set(0.25), vd_set(-1)), special_i1_near));
}
/* y, but beyond 8 sqrt(1 / a) times a series by 16 / a - 1 */
V_INLINE VF V_NAME(bessel_far)(VF a, VF y, const float *c, int n) {
    VM far = v_not(v_is_most(a, v_set(8.0f)));
    if (v_mask_bits(far) == 0) return y;
    VF t = v_sub(v_div(v_set(16.0f), a), v_set(1.0f));
    return v_pick(far, v_div(V_NAME(math_series)(t, c, n), v_sqrt(a)), y);
}
V_INLINE VF V_NAME(special_i0e)(VF x) {
    VF a = v_abs(x), y = v_join(V_NAME(near_0)(v_low(a)), V_NAME(near_0)(v_high(a)));
    return V_NAME(bessel_far)(a, y, special_i0_far, SPECIAL_COUNT(special_i0_far));
}
V_INLINE VF V_NAME(special_i1e)(VF x) {
    VF a = v_abs(x), y = v_join(V_NAME(near_1)(v_low(a)), V_NAME(near_1)(v_high(a)));
    return v_or(V_NAME(bessel_far)(a, y, special_i1_far, SPECIAL_COUNT(special_i1_far)), v_sign_of(x));
}
/* e^|x| y without overflow in between */
V_INLINE VF V_NAME(bessel_grown)(VF x, VF y) {
    VF half = V_NAME(math_exp)(v_mul(v_abs(x), v_set(0.5f)));
    return v_mul(v_mul(half, y), half);
}
V_INLINE VF V_NAME(special_i0)(VF x) {
    return V_NAME(bessel_grown)(x, V_NAME(special_i0e)(x));
}
V_INLINE VF V_NAME(special_i1)(VF x) {
    return V_NAME(bessel_grown)(x, V_NAME(special_i1e)(x));
}

/* ---- sines ---- */
V_INLINE VF V_NAME(special_sinc)(VF x) {
    VF one = v_set(1.0f), two = v_set(2.0f);
    VF r = v_fnma(two, v_round(v_mul(x, v_set(0.5f))), x), a = v_abs(r);
    a = v_min(v_sub(one, a), a); /* from 0 to 1/2: the sine of pi less an arc is the arc's */
    VF sine = v_mul(a, V_NAME(math_series)(v_mul(a, a), special_sinc, SPECIAL_COUNT(special_sinc)));
    VF y = v_div(v_or(sine, v_sign_of(r)), x);
    return v_pick(v_is_equal(x, v_zero()), one, y);
}
V_INLINE VD V_NAME(sine_half)(VD r) {
    return vd_mul(r, HALF_SERIES(vd_mul(r, r), special_sine));
}
V_INLINE VD V_NAME(cosine_half)(VD r) {
    return HALF_SERIES(vd_mul(r, r), special_cosine);
}

/* ---- the gamma function ---- */
/* its logarithm, for z >= 3; w is z or z + 3, l its logarithm */
V_INLINE VD V_NAME(stirling_half)(VD w, VD l) {
    VD part = vd_div(vd_set(1), w), tail = HALF_SERIES(vd_mul(part, part), special_stirling);
    VD y = vd_fma(vd_sub(w, vd_set(0.5)), l, vd_sub(vd_set(0x1.d67f1c864beb5p-1), w)); /* log(2 pi) / 2 */
    return vd_fma(tail, part, y);
}
/* ... up to 3, of z or z + 1 */
V_INLINE VD V_NAME(lgamma_half)(VD z) {
    VD t = vd_sub(z, vd_set(2));
    t = vd_pick(vd_is_less(z, vd_set(1)), vd_sub(z, vd_set(1)), t);
    return vd_mul(vd_fma(t, t, t), HALF_SERIES(t, special_lgamma));
}
/* by how much too large that is, as a factor: z below 1, and z (z + 1) (z + 2) from 3 to 6 */
V_INLINE VD V_NAME(lgamma_product)(VD z) {
    VD one = vd_set(1), three = vd_set(3);
    VD product = vd_mul(z, vd_fma(z, vd_add(z, three), vd_set(2)));
    VD y = vd_pick(vd_is_less(z, one), z, one);
    return vd_pick(vd_is_less(three, z), vd_pick(vd_is_less(z, vd_set(6)), product, one), y);
}

/* Of x >= 0 it is s - log p, s and p being those above. Below 0 it is log(pi p / sin(pi x)) - s of 1 - x. */
V_INLINE VF V_NAME(special_lgamma)(VF x) {
    VF zero = v_zero(), one = v_set(1.0f), a = v_abs(x);
    VM below = v_is_less(x, zero);
    VF r = v_sub(x, v_round(x));
    const int any = v_mask_bits(below);
    VD z0 = v_low(x), z1 = v_high(x);
    if (any) {
        VF z = v_pick(below, one, zero); /* 1 - x is no float */
        z0 = vd_add(v_low(a), v_low(z)), z1 = vd_add(v_high(a), v_high(z));
    }
    VD s0 = V_NAME(lgamma_half)(z0), s1 = V_NAME(lgamma_half)(z1);
    VD p0 = V_NAME(lgamma_product)(z0), p1 = V_NAME(lgamma_product)(z1);
    VF near = v_join(z0, z1);
    if (v_mask_bits(v_is_less(v_set(3.0f), near))) {
        VD three = vd_set(3), six = vd_set(6);
        VD w0 = vd_pick(vd_is_less(z0, six), vd_add(z0, three), z0);
        VD w1 = vd_pick(vd_is_less(z1, six), vd_add(z1, three), z1);
        VF w = v_min(v_set(0x1.fffffep127f), v_join(w0, w1));
        V_NAME(special_halves) l = V_NAME(special_log_near)(w, w0, w1);
        s0 = vd_pick(vd_is_less(three, z0), V_NAME(stirling_half)(w0, l.low), s0);
        s1 = vd_pick(vd_is_less(three, z1), V_NAME(stirling_half)(w1, l.high), s1);
    }
    if (any) {
        VF sine = v_pick(below, one, zero);
        VD half = vd_set(0.5), pi = vd_set(M_PI);
        VD q0 = vd_div(vd_mul(pi, p0), V_NAME(sine_half)(v_low(v_abs(r))));
        VD q1 = vd_div(vd_mul(pi, p1), V_NAME(sine_half)(v_high(v_abs(r))));
        p0 = vd_pick(vd_is_less(half, v_low(sine)), q0, p0);
        p1 = vd_pick(vd_is_less(half, v_high(sine)), q1, p1);
    }
    V_NAME(special_halves) l = V_NAME(special_log_near)(v_join(p0, p1), p0, p1);
    VF y = v_join(vd_sub(s0, l.low), vd_sub(s1, l.high));
    y = v_xor(y, v_pick(below, v_set(-0.0f), zero));
    VM tiny = v_is_less(a, v_set(0x1p-100f));
    if (v_mask_bits(tiny)) y = v_pick(tiny, v_sub(zero, V_NAME(math_log)(a)), y);
    VM pole = v_both(v_is_equal(r, zero), v_is_most(x, zero));
    pole = v_either(pole, v_is_equal(a, v_set(__builtin_inff())));
    y = v_pick(pole, v_set(__builtin_inff()), y);
    return v_pick(v_unordered(x, x), x, y);
}

/* of z > 0: below 6 that of z + 6 less the sum of 1 / (z + i), a product's derivative over the product */
V_INLINE VD V_NAME(digamma_half)(VD z, VD w, VD l) {
    VD part = vd_div(vd_set(1), w), square = vd_mul(part, part);
    VD y = vd_fma(part, vd_set(-0.5), vd_fnma(square, HALF_SERIES(square, special_digamma), l));
    VD sum = vd_div(HALF_SERIES(z, special_risen), vd_mul(z, HALF_SERIES(z, special_rising)));
    return vd_pick(vd_is_less(z, vd_set(6)), vd_sub(y, sum), y);
}

V_INLINE VF V_NAME(special_digamma)(VF x) {
    VF zero = v_zero(), one = v_set(1.0f), a = v_abs(x);
    VM below = v_is_less(x, zero);
    const int any = v_mask_bits(below);
    VD z0 = v_low(x), z1 = v_high(x), six = vd_set(6);
    if (any) {
        VF z = v_pick(below, a, x), more = v_pick(below, one, v_set(-0.0f)); /* 1 - x is no float */
        z0 = vd_add(v_low(z), v_low(more)), z1 = vd_add(v_high(z), v_high(more));
    }
    VD w0 = vd_pick(vd_is_less(z0, six), vd_add(z0, six), z0);
    VD w1 = vd_pick(vd_is_less(z1, six), vd_add(z1, six), z1);
    VF w = v_min(v_set(0x1.fffffep127f), v_join(w0, w1));
    V_NAME(special_halves) l = V_NAME(special_log_near)(w, w0, w1);
    VD y0 = V_NAME(digamma_half)(z0, w0, l.low), y1 = V_NAME(digamma_half)(z1, w1, l.high);
    VF y = v_join(y0, y1);
    if (any) { /* less pi cot(pi x) */
        VF r = v_sub(x, v_round(x));
        VD pi = vd_set(M_PI), r0 = v_low(r), r1 = v_high(r);
        VD c0 = vd_div(vd_mul(pi, V_NAME(cosine_half)(r0)), V_NAME(sine_half)(r0));
        VD c1 = vd_div(vd_mul(pi, V_NAME(cosine_half)(r1)), V_NAME(sine_half)(r1));
        VF turned = v_join(vd_sub(y0, c0), vd_sub(y1, c1));
        turned = v_pick(v_is_equal(r, zero), v_set(__builtin_nanf("")), turned);
        y = v_pick(below, turned, y);
    }
    return v_pick(v_is_equal(x, v_set(__builtin_inff())), x, y);
}
#undef HALF_SERIES
