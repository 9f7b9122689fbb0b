/* Trigonometry on one vector. Coefficients are minimax fits of relative error; a leading 1 is left out, so
 * that the last step adds a small correction to an exact term. */
#ifndef RL_KERNELS_SIMD_TRIG
#define RL_KERNELS_SIMD_TRIG
#include <math.h>

/* sin and tan x = x + x z P(z), cos x = 1 - z / 2 + z^2 P(z) with z = x^2, up to pi / 4 */
static const float trig_sine[] = {-0x1.555544p-3f, 0x1.1106c6p-7f, -0x1.991c26p-13f};
static const float trig_tan[] = {0x1.55556p-2f,  0x1.110d94p-3f,  0x1.badc96p-5f, 0x1.5c9c0ep-6f,
                                 0x1.63a798p-7f, 0x1.0125b2p-14f, 0x1.1fdcap-8f};
static const float trig_cosine[] = {0x1.55554ap-5f, -0x1.6c0c26p-10f, 0x1.99e706p-16f};
/* asin and atan x = x + x z P(z): */
/* up to 1, and up to 1/2 */
static const float trig_atan[] = {-0x1.55553ep-2f, 0x1.9991e4p-3f,  -0x1.2420a8p-3f,
                                  0x1.c08f5cp-4f,  -0x1.5816dep-4f, 0x1.da68dcp-5f,
                                  -0x1.fe1896p-6f, 0x1.64e83cp-7f,  -0x1.d4e918p-10f};
static const float trig_asin[] = {0x1.55554cp-3f, 0x1.3338acp-4f, 0x1.6ca756p-5f,
                                  0x1.04d318p-5f, 0x1.d516a6p-7f, 0x1.34cebp-5f};
#define TRIG_FAR     12800.0f /* beyond, the C library takes pi / 2 away with more digits */
#define TRIG_HALF_PI 0x1.921fb6p0f, -0x1.777a5cp-25f

static __attribute__((noinline, cold)) void trig_lanes(float *x, int n, double (*f)(double)) {
    for (int i = 0; i < n; i++) {
        if (fabsf(x[i]) > TRIG_FAR) x[i] = (float)f(x[i]);
    }
}
#endif

/* y, but where x is far f(x): an answer does not depend on what stands beside */
V_INLINE VF V_NAME(trig_unless_far)(VF x, VF y, double (*f)(double)) {
    VM far = v_is_less(v_set(TRIG_FAR), v_abs(x));
    if (__builtin_expect(v_mask_bits(far) == 0, 1)) return y;
    float lanes[V_WIDTH];
    v_store(lanes, x);
    trig_lanes(lanes, V_WIDTH, f);
    return v_pick(far, v_load(lanes), y);
}

/* ---- sine, cosine, tangent ---- */
/* x less n quarters of a turn, |n| < 2^13: high + low. The first two parts of pi / 2 have 11 digits, so that
 * their products and differences are exact. */
typedef struct {
    VF high, low;
    VI n;
} V_NAME(trig_arc);

V_INLINE V_NAME(trig_arc) V_NAME(trig_reduce)(VF x) {
    V_NAME(trig_arc) arc;
    const VF magic = v_set(0x1.8p23f); /* a sum with it is rounded to whole numbers, its last bits count */
    VF count = v_fma(x, v_set(0x1.45f306p-1f), magic), n = v_sub(count, magic);
    VF third = v_mul(n, v_set(0x1.4442d2p-24f));
    VF most = v_fnma(n, v_set(0x1.fb4p-12f), v_fnma(n, v_set(0x1.92p0f), x));
    arc.high = v_sub(most, third);
    arc.low = v_add(v_sub(v_sub(most, arc.high), third), v_fnma(n, v_set(0x1.4442d2p-24f), third));
    arc.low = v_fma(n, v_set(0x1.ee59dap-50f), arc.low);
    arc.n = v_bits(count);
    return arc;
}

/* sin and cos, each as a sum of two: arc.high and a rest, 1 - arc.high^2 / 2 and a rest */
V_INLINE VF V_NAME(trig_sine_rest)(V_NAME(trig_arc) arc, VF z) {
    VF half = v_mul(arc.low, v_set(-0.5f)); /* low cos high, well enough */
    return v_fma(z, v_fma(arc.high, V_NAME(math_series)(z, trig_sine, 3), half), arc.low);
}
V_INLINE VF V_NAME(trig_cosine)(V_NAME(trig_arc) arc, VF z, VF *rest) {
    VF one = v_set(1.0f), half = v_mul(arc.high, v_set(0.5f)), most = v_fnma(half, arc.high, one);
    VF lost = v_fnma(half, arc.high, v_sub(one, most));
    lost = v_fnma(arc.high, arc.low, lost);
    *rest = v_fma(v_mul(z, z), V_NAME(math_series)(z, trig_cosine, 3), lost);
    return most;
}

/* the sine of x and n quarters of a turn */
V_INLINE VF V_NAME(trig_wave)(VF x, int n) {
    V_NAME(trig_arc) arc = V_NAME(trig_reduce)(x);
    VF z = v_mul(arc.high, arc.high);
    VI quarter = vi_add(arc.n, vi_set(n));
    VM even = vi_is_equal(vi_and(quarter, vi_set(1)), vi_set(0));
    VF rest, cosine = V_NAME(trig_cosine)(arc, z, &rest);
    VF y = v_add(v_pick(even, arc.high, cosine), v_pick(even, V_NAME(trig_sine_rest)(arc, z), rest));
    return v_xor(y, v_from_bits(vi_left(vi_and(quarter, vi_set(2)), 30)));
}

V_INLINE VF V_NAME(math_sin)(VF x) {
    VF y = v_pick(v_is_equal(x, v_zero()), x, V_NAME(trig_wave)(x, 0)); /* -0 */
    return V_NAME(trig_unless_far)(x, y, sin);
}

V_INLINE VF V_NAME(math_cos)(VF x) {
    return V_NAME(trig_unless_far)(x, V_NAME(trig_wave)(x, 1), cos);
}

/* of x less n quarters of a turn: as it is, or -1 / it, for which the sum's rest counts */
V_INLINE VF V_NAME(math_tan)(VF x) {
    V_NAME(trig_arc) arc = V_NAME(trig_reduce)(x);
    VF z = v_mul(arc.high, arc.high), more = v_mul(arc.low, v_set(1.5f)); /* slope: about 1 + 3/2 z */
    VF bend = v_fma(arc.high, V_NAME(math_series)(z, trig_tan, 7), more);
    VF rest = v_fma(z, bend, v_fma(v_fms(arc.high, arc.high, z), bend, arc.low)), t = v_add(arc.high, rest);
    rest = v_sub(rest, v_sub(t, arc.high));
    VF turned = v_div(v_set(-1.0f), t), miss = v_fma(turned, rest, v_fma(turned, t, v_set(1.0f)));
    VM odd = vi_is_equal(vi_and(arc.n, vi_set(1)), vi_set(1));
    t = v_pick(odd, v_fma(turned, miss, turned), t);
    return V_NAME(trig_unless_far)(x, v_pick(v_is_equal(x, v_zero()), x, t), tan);
}

/* ---- their inverses ---- */
/* base + more + t + error, the first above the second and the third, so that what t loses is known */
V_INLINE VF V_NAME(trig_sum)(VF base, VF more, VF t, VF error) {
    VF sum = v_add(base, t), lost = v_add(v_sub(base, sum), t);
    return v_add(sum, v_add(error, v_add(more, lost)));
}

/* base + more + atan(t + error) for |t| <= 1 */
V_INLINE VF V_NAME(trig_atan)(VF base, VF more, VF t, VF error) {
    VF z = v_mul(t, t), bend = v_mul(t, V_NAME(math_series)(z, trig_atan, 9));
    VF slope = v_fnma(z, v_set(0.5f), v_set(1.0f)); /* of atan, as well as the error needs it */
    error = v_fma(v_fms(t, t, z), bend, v_mul(error, slope));
    return V_NAME(trig_sum)(base, more, t, v_fma(z, bend, error));
}

/* beyond 1, atan x = pi/2 - atan 1/x */
V_INLINE VF V_NAME(math_atan)(VF x) {
    static const float half_pi[] = {TRIG_HALF_PI};
    VF a = v_min(v_set(0x1p60f), v_abs(x)), t = v_div(v_set(-1.0f), a);
    VF error = v_mul(v_fma(t, a, v_set(1.0f)), t);
    VM far = v_is_less(v_set(1.0f), a);
    VF y =
        V_NAME(trig_atan)(v_pick(far, v_set(half_pi[0]), v_zero()), v_pick(far, v_set(half_pi[1]), v_zero()),
                          v_pick(far, t, a), v_pick(far, error, v_zero()));
    return v_or(v_abs(y), v_sign_of(x));
}

V_INLINE VF V_NAME(math_atan2)(VF y, VF x) {
    static const float half_pi[] = {TRIG_HALF_PI};
    VF ay = v_abs(y), ax = v_abs(x), low = v_min(ax, ay), high = v_max(ax, ay);
    VM steep = v_is_less(ax, ay), left = vi_is_less(v_bits(x), vi_set(0));
    VM none = v_either(v_is_equal(low, v_zero()), v_is_equal(high, v_set(INFINITY)));
    VF t = v_div(low, high), error = v_div(v_fnma(t, high, low), high);
    t = v_pick(none,
               v_pick(v_is_equal(low, high), v_pick(v_is_equal(low, v_zero()), low, v_set(1.0f)), v_zero()),
               t);
    error = v_pick(none, v_zero(), error);
    /* quarters of a turn before t, and whether t goes back from there */
    VF quarters = v_pick(steep, v_set(1.0f), v_pick(left, v_set(2.0f), v_zero()));
    VF back = v_xor(v_pick(steep, v_set(-0.0f), v_zero()), v_pick(left, v_set(-0.0f), v_zero()));
    VF a = V_NAME(trig_atan)(v_mul(quarters, v_set(half_pi[0])), v_mul(quarters, v_set(half_pi[1])),
                             v_xor(t, back), v_xor(error, back));
    a = v_or(v_abs(a), v_sign_of(y));
    return v_pick(v_unordered(x, y), v_add(x, y), a);
}

/* Beyond 1/2, asin x = pi/2 - 2 asin s with s^2 = (1 - x) / 2. z: the square, s: its root, w: asin s - s */
#define TRIG_ARC(x)                                                                                          \
    VF a = v_abs(x);                                                                                         \
    VM far = v_is_less(v_set(0.5f), a);                                                                      \
    VF z = v_pick(far, v_fnma(a, v_set(0.5f), v_set(0.5f)), v_mul(a, a));                                    \
    VF s = v_pick(far, v_sqrt(z), a);                                                                        \
    VF w = v_mul(v_mul(s, z), V_NAME(math_series)(z, trig_asin, 6));                                         \
    static const float half_pi[] = {TRIG_HALF_PI}

V_INLINE VF V_NAME(math_asin)(VF x) {
    TRIG_ARC(x);
    VF y = V_NAME(trig_sum)(v_set(half_pi[0]), v_set(half_pi[1]), v_mul(v_set(-2.0f), s),
                            v_mul(v_set(-2.0f), w));
    return v_or(v_abs(v_pick(far, y, v_add(s, w))), v_sign_of(x));
}

V_INLINE VF V_NAME(math_acos)(VF x) {
    TRIG_ARC(x);
    VF sign = v_sign_of(x), twice = v_mul(v_set(2.0f), v_add(s, w));
    VF near = v_sub(v_set(half_pi[0]), v_add(v_xor(s, sign), v_sub(v_xor(w, sign), v_set(half_pi[1]))));
    VF turned = v_sub(v_set(2 * half_pi[0]), v_sub(twice, v_set(2 * half_pi[1])));
    return v_pick(far, v_pick(v_is_less(x, v_zero()), turned, twice), near);
}
#undef TRIG_ARC
