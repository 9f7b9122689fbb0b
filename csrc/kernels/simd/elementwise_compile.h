/* Compiles the elementwise ops of a family (Note [Elementwise ops]) and makes its kernels. A file says what
 * it needs: functions of vectors of floats that its ops use, such functions of doubles, too, and the ops.
 *
 *   #define V_FUNCTIONS "kernels/simd/vmath/math_impl.inc"          or none
 *   #define V_EITHER    "kernels/simd/vmath/remainder_impl.inc"     or none
 *   #define V_OPS       "arith_ops.h"
 *   #include "elementwise_compile.h"
 */
#include "elementwise.h"

/* ---- the ops as loops over vectors ---- */
#define V_ONE(...)         __VA_ARGS__
#define V_FROM_1(T)        const T *pa = from[0];
#define V_FROM_2(T)        V_FROM_1(T) const T *pb = from[1];
#define V_FROM_3(T)        V_FROM_2(T) const T *pc = from[2];
#define V_FROM_4(T)        V_FROM_3(T) const T *pd = from[3];
#define V_FROM_5(T)        V_FROM_4(T) const T *pe = from[4];
#define V_READ_1           VF a = v_load(pa + i);
#define V_READ_2           V_READ_1 VF b = v_load(pb + i);
#define V_READ_3           V_READ_2 VF c = v_load(pc + i);
#define V_READ_4           V_READ_3 VF d = v_load(pd + i);
#define V_READ_5           V_READ_4 VF e = v_load(pe + i);
#define V_TAIL_1           VF a = v_load_tail(pa + i, m);
#define V_TAIL_2           V_TAIL_1 VF b = v_load_tail(pb + i, m);
#define V_TAIL_3           V_TAIL_2 VF c = v_load_tail(pc + i, m);
#define V_TAIL_4           V_TAIL_3 VF d = v_load_tail(pd + i, m);
#define V_TAIL_5           V_TAIL_4 VF e = v_load_tail(pe + i, m);
#define V_TYPE_KEEP        V_ELEMENT
#define V_TYPE_TRUTH       uint8_t
#define V_PUT_KEEP(x)      v_store(to + i, x);
#define V_PUT_TRUTH(x)     v_store_bool(to + i, x);
#define V_PUT_TAIL_KEEP(x) v_store_tail(to + i, m, x);
#define V_PUT_TAIL_TRUTH(x)                                                                                  \
    uint8_t truth[V_WIDTH];                                                                                  \
    v_store_bool(truth, x);                                                                                  \
    __builtin_memcpy(to + i, truth, (size_t)(n - i));
#define V_LOOP(name, count, answer, expression)                                                              \
    V_TARGET static void V_NAME(op_##name)(void *to_, const void *const *from, int64_t n,                    \
                                           const void *numbers) {                                            \
        const V_ELEMENT *s = numbers;                                                                        \
        const VF s0 = v_set(s[0]), s1 = v_set(s[1]), s2 = v_set(s[2]);                                       \
        V_TYPE_##answer *to = to_;                                                                           \
        V_FROM_##count(V_ELEMENT) int64_t i = 0;                                                             \
        (void)s0, (void)s1, (void)s2;                                                                        \
        for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                             \
            V_READ_##count V_PUT_##answer(expression)                                                        \
        }                                                                                                    \
        if (i < n) {                                                                                         \
            VM m = v_tail(n - i);                                                                            \
            V_TAIL_##count V_PUT_TAIL_##answer(expression)                                                   \
        }                                                                                                    \
    }

/* ---- the same of integers: plain C, in the operands' own type ---- */
#define V_VALUE(x)     (x)
#define V_TRUTH(x)     ((x) != 0)
#define V_EACH_1(READ) const T a = READ(pa[i]);
#define V_EACH_2(READ) V_EACH_1(READ) const T b = READ(pb[i]);
#define V_EACH_3(READ) V_EACH_2(READ) const T c = READ(pc[i]);
#define V_OUT_KEEP     T
#define V_OUT_TRUTH    uint8_t
#define V_INT_LOOP(D, type, READ, name, count, answer, expression)                                           \
    V_TARGET static void V_NAME(op_##name##_##D)(void *to_, const void *const *from, int64_t n,              \
                                                 const void *numbers) {                                      \
        typedef type T;                                                                                      \
        const T *s = numbers, s0 = s[0], s1 = s[1], s2 = s[2];                                               \
        V_OUT_##answer *to = to_;                                                                            \
        V_FROM_##count(T)(void) s0, (void)s1, (void)s2;                                                      \
        RL_IVDEP for (int64_t i = 0; i < n; i++) {                                                           \
            V_EACH_##count(READ) to[i] = (V_OUT_##answer)(expression);                                       \
        }                                                                                                    \
    }
#define V_INT_LOOPS(...)                                                                                     \
    V_INT_LOOP(U8, uint8_t, V_VALUE, __VA_ARGS__)                                                            \
    V_INT_LOOP(I8, int8_t, V_VALUE, __VA_ARGS__)                                                             \
    V_INT_LOOP(I16, int16_t, V_VALUE, __VA_ARGS__)                                                           \
    V_INT_LOOP(I32, int32_t, V_VALUE, __VA_ARGS__)                                                           \
    V_INT_LOOP(I64, int64_t, V_VALUE, __VA_ARGS__)
#define V_BOOL_LOOP(...) V_INT_LOOP(BOOL, uint8_t, V_TRUTH, __VA_ARGS__)

/* of uint8 a < 0 is false, as it should */
#pragma GCC diagnostic ignored "-Wtype-limits"
#define V_INFINITY ((V_ELEMENT)__builtin_inf())
#define ISA_IMPL   "elementwise_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

/* ---- the ops as kernels ---- */
#define V_TABLE_FLOAT32(name, isa) [RL_F32] = op_##name##_##isa,
#define V_TABLE_FLOATS(name, isa)  V_TABLE_FLOAT32(name, isa)[RL_F64] = op_##name##_##isa##_f64,
#define V_TABLE_INTS(name, isa)                                                                              \
    [RL_U8] = op_##name##_U8_##isa, [RL_I8] = op_##name##_I8_##isa, [RL_I16] = op_##name##_I16_##isa,        \
    [RL_I32] = op_##name##_I32_##isa, [RL_I64] = op_##name##_I64_##isa,
#define V_TABLE_NUMBERS(name, isa)           V_TABLE_FLOATS(name, isa) V_TABLE_INTS(name, isa)
#define V_TABLE_BOOL(name, isa)              [RL_BOOL] = op_##name##_BOOL_##isa,
#define V_TABLE_INTEGRAL(name, isa)          V_TABLE_INTS(name, isa) V_TABLE_BOOL(name, isa)
#define V_TABLE_EVERY(name, isa)             V_TABLE_NUMBERS(name, isa) V_TABLE_BOOL(name, isa)
#define V_TABLE(isa, torch, has, list, name) [RL_ISA_##isa] = {V_TABLE_##list(name, isa)},
#define V_OP(name, ns_, count, answer_, list)                                                                \
    static const simd_elementwise_op op_##name = {                                                           \
        .operands = count, .answer = SIMD_##answer_, .ns = ns_, .loop = {RL_EACH_ISA(V_TABLE, list, name)}};
#define V_KERNEL(list, name, ns, count, answer, numbers)                                                     \
    V_OP(name, ns, count, answer, list)                                                                      \
    RL_KERNEL(simd_##name) {                                                                                 \
        const double read[SIMD_NUMBERS] = {V_ONE numbers};                                                   \
        return simd_map(k, &op_##name, read);                                                                \
    }
#define V_PARTIAL(list, name, ns, count, answer, ...)     V_OP(name, ns, count, answer, list)
#define V_FLOAT32(name, ns, count, answer, numbers, ...)  V_KERNEL(FLOAT32, name, ns, count, answer, numbers)
#define V_FLOATS(name, ns, count, answer, numbers, ...)   V_KERNEL(FLOATS, name, ns, count, answer, numbers)
#define V_NUMBERS(name, ns, count, answer, numbers, ...)  V_KERNEL(NUMBERS, name, ns, count, answer, numbers)
#define V_INTEGRAL(name, ns, count, answer, numbers, ...) V_KERNEL(INTEGRAL, name, ns, count, answer, numbers)
#define V_EVERY(name, ns, count, answer, numbers, ...)    V_KERNEL(EVERY, name, ns, count, answer, numbers)
#define V_PART                                            V_PARTIAL
#include V_OPS
