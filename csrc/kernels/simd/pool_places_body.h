/* Places beside the elements that were found there: int32 in the bits of floats, or doubles. */
#undef PLACE_SET
#undef PLACE_IS
#undef PLACE_OF
#ifdef SIMD_DOUBLE
#define PLACE_SET(i)   v_set((double)(i))
#define PLACE_IS(p, i) v_is_equal(p, PLACE_SET(i))
#define PLACE_OF(x)    ((int64_t)(x))
#else
#define PLACE_SET(i)   v_from_bits(vi_set((int)(i)))
#define PLACE_IS(p, i) vi_is_equal(v_bits(p), vi_set((int)(i)))
#define PLACE_OF(x)    ((int64_t)rl_float_bits(x))
#endif

/* is x the new largest? A NaN always, as in a loop over the window */
V_INLINE VM V_NAME(places_beats)(VF x, VF most) {
    return v_either(v_is_less(most, x), v_unordered(x, x));
}
