/* Conversions of rows. What does not fit an integer becomes what x86 makes of it: the smallest integer of 32
 * or 64 bits, of which narrow ones take the low bits. */
#define AS_IS(x)    (x)
#define AS_INT(x)   ((int32_t)(x))
#define AS_LONG(x)  ((int64_t)(x))
#define NOT_ZERO(x) ((x) != 0)
/* TO: of an integer to the type; FROM_FLOAT: of a float to what the type is cut from */
#define PLAIN_DTYPES(X, ...)                                                                                 \
    X(U8, uint8_t, AS_INT, __VA_ARGS__)                                                                      \
    X(I8, int8_t, AS_INT, __VA_ARGS__)                                                                       \
    X(I16, int16_t, AS_INT, __VA_ARGS__)                                                                     \
    X(I32, int32_t, AS_INT, __VA_ARGS__)                                                                     \
    X(I64, int64_t, AS_LONG, __VA_ARGS__)                                                                    \
    X(F32, float, AS_IS, __VA_ARGS__)                                                                        \
    X(F64, double, AS_IS, __VA_ARGS__)                                                                       \
    X(BOOL, uint8_t, NOT_ZERO, __VA_ARGS__)

#define ROW(name, TO, FROM, expression)                                                                      \
    V_TARGET static void V_NAME(name)(void *to_, const void *from_, int64_t n) {                             \
        TO *to = to_;                                                                                        \
        const FROM *from = from_;                                                                            \
        RL_IVDEP for (int64_t i = 0; i < n; i++) {                                                           \
            const FROM x = from[i];                                                                          \
            to[i] = (TO)(expression);                                                                        \
        }                                                                                                    \
    }
/* truth is 0 or 1 whatever its byte says */
#define FROM_FLOAT(D, T, CUT, S, FROM) ROW(move_##D##_##S, T, FROM, CUT(x))
#define FROM_INT(D, T, CUT, S, FROM)   ROW(move_##D##_##S, T, FROM, x)
#define FROM_BOOL(D, T, CUT, S, FROM)  ROW(move_##D##_##S, T, FROM, x != 0)
PLAIN_DTYPES(FROM_FLOAT, F32, float)
PLAIN_DTYPES(FROM_FLOAT, F64, double)
#define INT_TARGETS(X, ...)                                                                                  \
    X(U8, uint8_t, AS_IS, __VA_ARGS__)                                                                       \
    X(I8, int8_t, AS_IS, __VA_ARGS__)                                                                        \
    X(I16, int16_t, AS_IS, __VA_ARGS__)                                                                      \
    X(I32, int32_t, AS_IS, __VA_ARGS__)                                                                      \
    X(I64, int64_t, AS_IS, __VA_ARGS__)                                                                      \
    X(F32, float, AS_IS, __VA_ARGS__)                                                                        \
    X(F64, double, AS_IS, __VA_ARGS__)
#define TO_BOOL(S, FROM) ROW(move_BOOL_##S, uint8_t, FROM, x != 0)
INT_TARGETS(FROM_INT, U8, uint8_t)
INT_TARGETS(FROM_INT, I8, int8_t)
INT_TARGETS(FROM_INT, I16, int16_t)
INT_TARGETS(FROM_INT, I32, int32_t)
INT_TARGETS(FROM_INT, I64, int64_t)
TO_BOOL(U8, uint8_t)
TO_BOOL(I8, int8_t)
TO_BOOL(I16, int16_t)
TO_BOOL(I32, int32_t)
TO_BOOL(I64, int64_t)
PLAIN_DTYPES(FROM_BOOL, BOOL, uint8_t)

#define HALF_ROWS(D, T, word, get, put)                                                                      \
    V_TARGET static void V_NAME(move_F32_##D)(void *to_, const void *from_, int64_t n) {                     \
        float *to = to_;                                                                                     \
        const T *from = from_;                                                                               \
        int64_t i = 0;                                                                                       \
        for (; i + V_WIDTH <= n; i += V_WIDTH) v_store(to + i, v_load_##word(from + i));                     \
        for (; i < n; i++) to[i] = get(from[i]);                                                             \
    }                                                                                                        \
    V_TARGET static void V_NAME(move_##D##_F32)(void *to_, const void *from_, int64_t n) {                   \
        T *to = to_;                                                                                         \
        const float *from = from_;                                                                           \
        int64_t i = 0;                                                                                       \
        for (; i + V_WIDTH <= n; i += V_WIDTH) v_store_##word(to + i, v_load(from + i));                     \
        for (; i < n; i++) to[i] = put(from[i]);                                                             \
    }
HALF_ROWS(F16, rl_half, half, rl_from_half, rl_to_half)
HALF_ROWS(BF16, rl_bfloat, bfloat, rl_from_bfloat, rl_to_bfloat)

#define ENTRY_OF(D, T, CUT, S, FROM) [RL_##D] = V_NAME(move_##D##_##S),
#define ENTRIES(S)                   [RL_##S] = {PLAIN_DTYPES(ENTRY_OF, S, _)},
/* by the dtype that it comes from and the one it goes to */
static const simd_convert V_NAME(conversions)[MOVE_DTYPES][MOVE_DTYPES] = {
    [RL_F32] = {PLAIN_DTYPES(ENTRY_OF, F32, _)[RL_F16] = V_NAME(move_F16_F32),
                [RL_BF16] = V_NAME(move_BF16_F32)},
    [RL_F16] = {[RL_F32] = V_NAME(move_F32_F16)},
    [RL_BF16] = {[RL_F32] = V_NAME(move_F32_BF16)},
    ENTRIES(F64) ENTRIES(U8) ENTRIES(I8) ENTRIES(I16) ENTRIES(I32) ENTRIES(I64) ENTRIES(BOOL)};
#undef AS_IS
#undef AS_INT
#undef AS_LONG
#undef NOT_ZERO
#undef PLAIN_DTYPES
#undef ROW
#undef FROM_FLOAT
#undef FROM_INT
#undef FROM_BOOL
#undef INT_TARGETS
#undef TO_BOOL
#undef HALF_ROWS
#undef ENTRY_OF
#undef ENTRIES
