/* Rows of what a mask chooses. */
#define CHOOSE(D, type)                                                                                      \
    V_TARGET static void V_NAME(choose_##D)(void *to_, const void *const *from, int64_t n,                   \
                                            const void *numbers) {                                           \
        const uint8_t *mask = from[0];                                                                       \
        const type *yes = from[1], *no = from[2];                                                            \
        type *to = to_;                                                                                      \
        (void)numbers;                                                                                       \
        RL_IVDEP for (int64_t i = 0; i < n; i++) {                                                           \
            const type x = yes[i], y = no[i];                                                                \
            to[i] = mask[i] ? x : y;                                                                         \
        }                                                                                                    \
    }
/* numbers: the first is chosen where the mask says so */
#define CHOOSE_NUMBER(D, type)                                                                               \
    V_TARGET static void V_NAME(choose_number_##D)(void *to_, const void *const *from, int64_t n,            \
                                                   const void *numbers) {                                    \
        const uint8_t *mask = from[0];                                                                       \
        const type *no = from[1], yes = *(const type *)numbers;                                              \
        type *to = to_;                                                                                      \
        RL_IVDEP for (int64_t i = 0; i < n; i++) {                                                           \
            const type y = no[i];                                                                            \
            to[i] = mask[i] ? yes : y;                                                                       \
        }                                                                                                    \
    }
CHOOSE(U8, uint8_t)
CHOOSE(I16, int16_t)
CHOOSE(I32, int32_t)
CHOOSE(I64, int64_t)
CHOOSE_NUMBER(I32, int32_t)
#undef CHOOSE
#undef CHOOSE_NUMBER
#ifndef CHOOSE_TABLE
#define CHOOSE_TABLE(isa)                                                                                    \
    [RL_U8] = choose_U8##isa, [RL_I16] = choose_I16##isa, [RL_I32] = choose_I32##isa,                        \
    [RL_I64] = choose_I64##isa
#endif
