/* Rows of states in vectors of doubles. */
#include "vector_wide_body.h"

/* math_exp() of what does not underflow: that would take a CPU a hundred times as long */
V_INLINE VF V_NAME(ctc_exp)(VF x) {
    return V_NAME(math_exp)(v_max(v_set(-700), x));
}

/* What is too small to count beside the largest, 1, need not be 0. */
V_TARGET static void V_NAME(ctc_step)(double *to, const double *from, const double *skip, const double *logs,
                                      int64_t n) {
    const VF least = v_set(-__builtin_inf());
    for (int64_t s = 0; s < n; s += V_WIDTH) {
        VF a = v_load(from + s), b = v_load(from + s - 1), c = v_add(v_load(from + s - 2), v_load(skip + s));
        VF most = v_max(a, v_max(b, c));
        VM none = v_is_equal(most, least);
        VF shift = v_pick(none, v_zero(), most);
        VF sum = v_add(V_NAME(ctc_exp)(v_sub(a, shift)), V_NAME(ctc_exp)(v_sub(b, shift)));
        sum = v_add(sum, V_NAME(ctc_exp)(v_sub(c, shift)));
        VF log = v_pick(none, least, V_NAME(math_log_normal)(sum));
        log = v_pick(v_unordered(sum, sum), sum, log);
        v_store(to + s, v_add(v_add(log, shift), v_load(logs + s)));
    }
}

V_TARGET static void V_NAME(ctc_powers)(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i += V_WIDTH) {
        VF a = v_load(x + i);
        v_store(x + i, v_pick(v_is_less(a, v_set(-700)), v_zero(), V_NAME(ctc_exp)(a)));
    }
}
