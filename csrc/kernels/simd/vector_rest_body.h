/* Division with a rest, on one vector of floats or doubles. */
#include <math.h>
#undef V_WHOLE
#ifdef SIMD_DOUBLE
#define V_WHOLE 0x1p53
#else
#define V_WHOLE 0x1p24f
#endif

static __attribute__((noinline, cold)) void V_NAME(fmod_lanes)(V_ELEMENT *a, const V_ELEMENT *b) {
    for (int i = 0; i < V_WIDTH; i++) a[i] = (V_ELEMENT)fmod((double)a[i], (double)b[i]);
}

/* Below 2^24 (2^53) the quotient is a whole float, too large by one at most, and the rest is exact. */
V_INLINE VF V_NAME(math_fmod)(VF a, VF b) {
    VF size = v_abs(a), by = v_abs(b), quotient = v_div(size, by);
    VM plain = v_both(v_is_less(quotient, v_set(V_WHOLE)), v_is_less(by, v_set(V_INFINITY)));
    if (__builtin_expect(v_mask_bits(v_not(plain)) != 0, 0)) {
        V_ELEMENT left[V_WIDTH], right[V_WIDTH];
        v_store(left, a), v_store(right, b);
        V_NAME(fmod_lanes)(left, right);
        return v_load(left);
    }
    VF rest = v_fnma(v_trunc(quotient), by, size);
    rest = v_pick(v_is_less(rest, v_zero()), v_add(rest, by), rest);
    return v_or(v_abs(rest), v_sign_of(a));
}

/* where the rest and b differ in sign */
V_INLINE VM V_NAME(rest_is_across)(VF rest, VF b) {
    VF zero = v_zero();
    return v_either(v_both(v_is_less(rest, zero), v_not(v_is_less(b, zero))),
                    v_both(v_is_less(zero, rest), v_is_less(b, zero)));
}

/* Python's: of the sign of b */
V_INLINE VF V_NAME(math_remainder)(VF a, VF b) {
    VF rest = V_NAME(math_fmod)(a, b);
    return v_pick(V_NAME(rest_is_across)(rest, b), v_add(rest, b), rest);
}

/* a == floor_divide(a, b) * b + remainder(a, b) as well as rounding lets it */
V_INLINE VF V_NAME(math_floor_divide)(VF a, VF b) {
    VF rest = V_NAME(math_fmod)(a, b), all = v_div(a, b), one = v_set(1);
    VF q = v_div(v_sub(a, rest), b);
    q = v_pick(V_NAME(rest_is_across)(rest, b), v_sub(q, one), q);
    VF down = v_floor(q);
    down = v_pick(v_is_less(v_set((V_ELEMENT)0.5), v_sub(q, down)), v_add(down, one), down);
    down = v_pick(v_is_equal(q, v_zero()), v_sign_of(all), down);
    return v_pick(v_is_equal(b, v_zero()), all, down);
}
