/* Arithmetic of two and three operands, and what a mask chooses. */
#define V_LINES "arith_lines.h"
#include "lines.h"
#ifdef RL_SIMD_X86

/* The factor that the sum takes its second operand times, where the reference kernel would not refuse it. */
static bool factor_read(const rl_call *k, double *factor) {
    const rl_slot *alpha = &k->arg[2];
    const int dtype = k->arg[0].u.t->dtype;
    *factor = alpha->tag == RL_NONE ? 1 : rl_num(k, 2);
    return alpha->tag == RL_NONE || alpha->tag == RL_INT || (alpha->tag == RL_FLOAT && rl_is_float(dtype));
}

RL_KERNEL(simd_add) {
    double numbers[SIMD_NUMBERS] = {0};
    if (!factor_read(k, numbers)) return RL_UNSUPPORTED;
    return simd_map(k, numbers[0] == 1 ? &line_add : &line_axpy, numbers);
}

RL_KERNEL(simd_sub) {
    double numbers[SIMD_NUMBERS] = {0};
    if (k->arg[0].u.t->dtype == RL_BOOL || !factor_read(k, numbers)) return RL_UNSUPPORTED;
    numbers[0] = -numbers[0];
    return simd_map(k, numbers[0] == -1 ? &line_sub : &line_axpy, numbers);
}

RL_KERNEL(simd_div) {
    const double numbers[SIMD_NUMBERS] = {0};
    return k->arg[2].tag == RL_NONE ? simd_map(k, &line_div, numbers) : RL_UNSUPPORTED;
}

RL_KERNEL(simd_lerp) {
    const rl_view *weight = rl_in(k, 2);
    double numbers[SIMD_NUMBERS] = {0};
    if (weight && weight->ndim) return simd_map(k, &line_lerp, numbers);
    if (weight && weight->dtype != RL_F32) return RL_UNSUPPORTED;
    numbers[0] = weight ? (double)*(const float *)rl_const_data(weight) : rl_num(k, 2);
    return simd_map(k, &line_lerp_by, numbers);
}

/* ---- chosen by a mask; only the size of an element matters ---- */
#define SIMD_BITS 256
#include "isa.h"
#include "arith_choose_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "arith_choose_body.h"

rl_status simd_choose(rl_call *k, const rl_view *mask, const rl_view *yes, const rl_view *no) {
    static const simd_line line = {
        .operands = 3, .masked = true, .ns = 0.3, .strip = {{CHOOSE_TABLE(_avx2)}, {CHOOSE_TABLE(_avx512)}}};
    const rl_view *operand[] = {mask, yes, no};
    const double numbers[SIMD_NUMBERS] = {0};
    if (!mask || !yes || !no || yes->dtype != no->dtype) return RL_UNSUPPORTED;
    return simd_map_views(k, &line, operand, numbers);
}

rl_status simd_choose_number(rl_call *k, const rl_view *mask, float yes, const rl_view *no) {
    static const simd_line line = {
        .operands = 2,
        .masked = true,
        .ns = 0.3,
        .strip = {{[RL_I32] = choose_number_I32_avx2}, {[RL_I32] = choose_number_I32_avx512}}};
    const rl_view *operand[] = {mask, no};
    const double numbers[SIMD_NUMBERS] = {(double)(int32_t)rl_float_bits(yes)};
    return no->dtype == RL_F32 ? simd_map_views(k, &line, operand, numbers) : RL_UNSUPPORTED;
}

RL_KERNEL(simd_where) {
    return simd_choose(k, rl_in(k, 0), rl_in(k, 1), rl_in(k, 2));
}
#else
#define REFUSES(kernel)                                                                                      \
    RL_KERNEL(simd_##kernel) {                                                                               \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
rl_status simd_choose_number(rl_call *k, const rl_view *mask, float yes, const rl_view *no) {
    (void)k, (void)mask, (void)yes, (void)no;
    return RL_UNSUPPORTED;
}
REFUSES(add)
REFUSES(sub)
REFUSES(div)
REFUSES(lerp)
REFUSES(where)
#endif
