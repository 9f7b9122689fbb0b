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

#ifndef SIMD_DOUBLE
/* Halves are computed as floats and rounded once. The rest of a row goes through vectors of its own. */
#define STEP_HALVES(name, lists, T)                                                                          \
    V_TARGET static void V_NAME(row_##name##_##T)(const double *s, void *const *lists_at, int64_t n) {       \
        rl_##T rest[lists][V_WIDTH];                                                                         \
        memset(rest, 0, sizeof rest);                                                                        \
        for (int64_t i = 0; i < n; i += V_WIDTH) {                                                           \
            const bool whole = n - i >= V_WIDTH;                                                             \
            VF e[lists];                                                                                     \
            for (int l = 0; l < lists; l++) {                                                                \
                rl_##T *at = (rl_##T *)lists_at[l] + (lists_at[l] ? i : 0);                                  \
                if (at && !whole) at = memcpy(rest[l], at, (size_t)(n - i) * sizeof *at);                    \
                e[l] = at ? V_NAME(v_load_##T)(at) : v_zero();                                               \
            }                                                                                                \
            V_NAME(step_##name)(s, e);                                                                       \
            for (int l = 0; l < lists; l++) {                                                                \
                rl_##T *at = (rl_##T *)lists_at[l] + (lists_at[l] ? i : 0);                                  \
                if (!at || l == 1) continue;                                                                 \
                V_NAME(v_store_##T)(whole ? at : rest[l], e[l]);                                             \
                if (!whole) memcpy(at, rest[l], (size_t)(n - i) * sizeof *at);                               \
            }                                                                                                \
        }                                                                                                    \
    }
#define X(name, lists, counts) STEP_HALVES(name, lists, half) STEP_HALVES(name, lists, bfloat)
RL_STEPS(X)
#undef X
#undef STEP_HALVES
#endif
