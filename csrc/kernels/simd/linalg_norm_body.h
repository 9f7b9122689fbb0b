/* Folds of norms. Squares are doubles, which no float overflows. */
V_FOLD(norm_count, 0, add, v_add(acc, v_pick(v_differs(x, v_zero()), v_set(1), v_zero())))
V_FOLD(norm_sum, 0, add, v_add(acc, v_abs(x)))
V_FOLD(norm_most, 0, most, V_NAME(join_most)(acc, v_abs(x)))
V_FOLD(norm_least, __builtin_inf(), least, V_NAME(join_least)(acc, v_abs(x)))
V_FOLD_WIDE(norm_square, 0, add, v_fma(x, x, acc))
