/* The vocabulary of kernels/simd/isa.h for single elements, so that one text serves every machine. As there:
 * a text is included after this header, with WORDS_DOUBLE defined for doubles. A device's kernels define
 * V_TARGET before. */
#ifndef RL_KERNELS_SHARED_WORDS_H
#define RL_KERNELS_SHARED_WORDS_H
#include <math.h>

#ifndef V_TARGET
#define V_TARGET
#endif

#define WORDS_BOTH(N, E, S)                                                                                  \
    V_TARGET static inline E word_fma##N(E a, E b, E c) {                                                    \
        return fma##S(a, b, c);                                                                              \
    }                                                                                                        \
    V_TARGET static inline E word_sqrt##N(E a) {                                                             \
        return sqrt##S(a);                                                                                   \
    }
WORDS_BOTH(, float, f)
WORDS_BOTH(_f64, double, )
#undef WORDS_BOTH

#define v_set(x)          ((VF)(x))
#define v_zero()          ((VF)0)
#define v_add(a, b)       ((a) + (b))
#define v_sub(a, b)       ((a) - (b))
#define v_mul(a, b)       ((a) * (b))
#define v_div(a, b)       ((a) / (b))
#define v_fma(a, b, c)    V_NAME(word_fma)(a, b, c)
#define v_fnma(a, b, c)   V_NAME(word_fma)(-(a), b, c)
#define v_sqrt(a)         V_NAME(word_sqrt)(a)
#define v_abs(a)          ((a) < 0 ? -(a) : (a))
#define v_lt(a, b)        ((a) < (b))
#define v_eq(a, b)        ((a) == (b))
#define v_unordered(a, b) ((a) != (a) || (b) != (b))
#define v_max(a, b)       ((a) > (b) ? (a) : (b)) /* b where one is NaN */
#define v_min(a, b)       ((a) < (b) ? (a) : (b))
#define v_select(m, a, b) ((m) ? (a) : (b))
#endif

#undef V_NAME
#undef V_ELEMENT
#undef VF
#ifdef WORDS_DOUBLE
#define V_NAME(f) f##_f64
#define V_ELEMENT double
#define VF        double
#else
#define V_NAME(f) f
#define V_ELEMENT float
#define VF        float
#endif
