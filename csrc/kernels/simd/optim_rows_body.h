/* Rows of n elements through each step. a[]: where the lists' elements lie, NULL for an empty list. */
#define STEP_ROW(name, lists)                                                                                \
    V_TARGET static void V_NAME(row_##name)(const double *s, void *const *lists_at, int64_t n) {             \
        V_ELEMENT *a[lists];                                                                                 \
        VF e[lists];                                                                                         \
        int64_t i = 0;                                                                                       \
        for (int l = 0; l < lists; l++) {                                                                    \
            a[l] = lists_at[l];                                                                              \
            e[l] = v_zero();                                                                                 \
        }                                                                                                    \
        for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                             \
            for (int l = 0; l < lists; l++)                                                                  \
                if (a[l]) e[l] = v_load(a[l] + i);                                                           \
            V_NAME(step_##name)(s, e);                                                                       \
            for (int l = 0; l < lists; l++)                                                                  \
                if (a[l] && l != 1) v_store(a[l] + i, e[l]);                                                 \
        }                                                                                                    \
        if (i == n) return;                                                                                  \
        const VM m = v_tail(n - i);                                                                          \
        for (int l = 0; l < lists; l++)                                                                      \
            if (a[l]) e[l] = v_load_tail(a[l] + i, m);                                                       \
        V_NAME(step_##name)(s, e);                                                                           \
        for (int l = 0; l < lists; l++)                                                                      \
            if (a[l] && l != 1) v_store_tail(a[l] + i, m, e[l]);                                             \
    }
#define X(name, lists, counts) STEP_ROW(name, lists)
RL_STEPS(X)
#undef X
#undef STEP_ROW
