/* Arithmetic of two and three operands, and where(). */
#define V_FUNCTIONS "kernels/simd/vmath/math_impl.inc"
#define V_EITHER    "kernels/simd/vmath/remainder_impl.inc"
#define V_OPS       "arith_ops.h"
#include "elementwise_compile.h"
#include "kernels/shared/strided_iterator.h"

/* The factor that the sum takes its second operand times, where the reference kernel would not refuse it. */
static bool factor_read(const rl_call *k, double *factor) {
    const rl_value *alpha = &k->arg[2];
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    *factor = alpha->tag == RL_NONE ? 1 : rl_num(k, 2);
    if (rl_is_half(dtype)) *factor = rl_rounded(dtype, *factor);
    return alpha->tag == RL_NONE || alpha->tag == RL_INT || (alpha->tag == RL_FLOAT && rl_is_float(dtype));
}

RL_CHOOSER
RL_KERNEL(simd_add) {
    double numbers[SIMD_NUMBERS] = {0};
    if (!factor_read(k, numbers)) return RL_UNSUPPORTED;
    return simd_map(k, numbers[0] == 1 ? &op_add : &op_axpy, numbers);
}

RL_CHOOSER
RL_KERNEL(simd_sub) {
    double numbers[SIMD_NUMBERS] = {0};
    if (!factor_read(k, numbers)) return RL_UNSUPPORTED;
    numbers[0] = -numbers[0];
    return simd_map(k, numbers[0] == -1 ? &op_sub : &op_axpy, numbers);
}

RL_KERNEL(simd_rsub) { /* other - alpha * input */
    double numbers[SIMD_NUMBERS] = {0};
    const rl_view *swapped[] = {rl_in(k, 1), rl_in(k, 0)};
    if (!factor_read(k, numbers)) return RL_UNSUPPORTED;
    numbers[0] = -numbers[0];
    return simd_map_views(k, numbers[0] == -1 ? &op_sub : &op_axpy, swapped, numbers);
}

RL_CHOOSER
RL_KERNEL(simd_div) {
    static const simd_elementwise_op *const by_mode[] = {&op_div, &op_div_trunc, &op_floor_divide};
    const double numbers[SIMD_NUMBERS] = {0};
    const int64_t mode = k->attr[0];
    if (mode == 1 && rl_itemsize(rl_tensor_arg(k, 1)->dtype) < 4)
        return RL_UNSUPPORTED; /* halves round in between */
    return simd_map(k, by_mode[mode], numbers);
}

/* ---- powers: exponents that PyTorch serves without pow(), as they are exact or cheaper ---- */
static const simd_elementwise_op *special_power(double exponent) {
    return exponent == 2      ? &op_pow_2
           : exponent == 3    ? &op_pow_3
           : exponent == 0.5  ? &op_pow_half
           : exponent == -0.5 ? &op_pow_minus_half
           : exponent == -1   ? &op_pow_minus_1
           : exponent == -2   ? &op_pow_minus_2
                              : NULL;
}

static bool power_read(const rl_view *v, double *exponent) {
    const void *p = rl_const_data(v);
    switch (v->dtype) {
    case RL_F32: *exponent = *(const float *)p; return true;
    case RL_F64: *exponent = *(const double *)p; return true;
    case RL_F16: *exponent = rl_from_half(*(const rl_half *)p); return true;
    case RL_BF16: *exponent = rl_from_bfloat(*(const rl_bfloat *)p); return true;
    default: return false;
    }
}

RL_CHOOSER
RL_KERNEL(simd_pow) {
    const rl_view *x = rl_in(k, 0), *exponent = rl_in(k, 1);
    const double numbers[SIMD_NUMBERS] = {0};
    const simd_elementwise_op *special = NULL;
    double value;
    if (exponent->ndim == 0 && x->ndim) {
        if (!power_read(exponent, &value)) return RL_UNSUPPORTED;
        special = special_power(value);
    }
    return simd_map(k, special ? special : &op_pow, numbers);
}

/* ---- by the bits of a float32 ---- */
RL_CHOOSER
RL_KERNEL(simd_nextafter) {
    const double numbers[SIMD_NUMBERS] = {0};
    return rl_tensor_arg(k, 0)->dtype == RL_F32 ? simd_map(k, &op_nextafter, numbers) : RL_UNSUPPORTED;
}

RL_CHOOSER
RL_KERNEL(simd_lerp) {
    const rl_view *weight = rl_in(k, 2);
    double numbers[SIMD_NUMBERS] = {0};
    if (weight && weight->ndim) return simd_map(k, &op_lerp, numbers);
    if (weight && weight->dtype != RL_F32) return RL_UNSUPPORTED;
    numbers[0] = weight ? (double)*(const float *)rl_const_data(weight) : rl_num(k, 2);
    return simd_map(k, &op_lerp_by, numbers);
}

/* ---- are two whole tensors the same? ---- */
typedef struct {
    simd_inner_loop differ;
    simd_cast_copy cast_copy;
    int found;
} equal_job;

static void equal_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    equal_job *j = (equal_job *)ctx;
    const int64_t item = j->cast_copy.to_item;
    const double numbers[SIMD_NUMBERS] = {0};
    _Alignas(64) char room[2][SIMD_BLOCK * 8];
    uint8_t truth[SIMD_BLOCK];
    for (int64_t at = 0; at < n && !__atomic_load_n(&j->found, __ATOMIC_RELAXED); at += SIMD_BLOCK) {
        const int64_t count = simd_min(SIMD_BLOCK, n - at);
        const void *from[2];
        for (int i = 0; i < 2; i++) {
            from[i] = p[i] + at * step[i];
            if (step[i] == item) continue;
            simd_cast_copy_run(&j->cast_copy, room[i], item, from[i], step[i], count);
            from[i] = room[i];
        }
        j->differ(truth, from, count, numbers);
        if (__builtin_memchr(truth, 1, (size_t)count)) __atomic_store_n(&j->found, 1, __ATOMIC_RELAXED);
    }
}

RL_KERNEL(simd_equal) { /* attr[0]: the shapes are */
    const rl_view *a = rl_in(k, 0), *b = rl_in(k, 1);
    const simd_inner_loop differ = a->dtype < SIMD_DTYPES ? op_ne.loop[k->svc->isa][a->dtype] : NULL;
    if (!k->svc->isa || !k->attr[0] || a->dtype != b->dtype || a->numel == 0 || !differ)
        return RL_UNSUPPORTED;
    equal_job j = {.differ = differ, .cast_copy = simd_cast_copy_between(k, a->dtype, a->dtype)};
    rl_iter w;
    rl_iter_begin(&w, a, RL_READ);
    rl_iter_add(&w, b);
    rl_iter_sort(&w, 0);
    rl_iter_merge(&w);
    rl_iter_parallel(k, &w, 0.15, equal_loop, &j);
    *(uint8_t *)rl_data(k->out[0], RL_WRITE) = !j.found;
    return RL_OK;
}

/* ---- chosen by a mask; only the size of an element matters ---- */
#define ISA_IMPL "arith_choose_impl.inc"
#include "kernels/simd/foreach_isa.h"

#define CHOOSE_TABLE(isa, ...)                                                                               \
    [RL_ISA_##isa] = {[RL_U8] = choose_U8_##isa,                                                             \
                      [RL_I16] = choose_I16_##isa,                                                           \
                      [RL_I32] = choose_I32_##isa,                                                           \
                      [RL_I64] = choose_I64_##isa},
#define CHOOSE_NUMBER_TABLE(isa, ...) [RL_ISA_##isa] = {[RL_I32] = choose_number_I32_##isa},

rl_status simd_choose(rl_call *k, const rl_view *mask, const rl_view *yes, const rl_view *no) {
    static const simd_elementwise_op op = {
        .operands = 3, .masked = true, .ns = 0.3, .loop = {RL_EACH_ISA(CHOOSE_TABLE, )}};
    const rl_view *operand[] = {mask, yes, no};
    const double numbers[SIMD_NUMBERS] = {0};
    return simd_map_views(k, &op, operand, numbers);
}

RL_CHOOSER
rl_status simd_choose_number(rl_call *k, const rl_view *mask, float yes, const rl_view *no) {
    static const simd_elementwise_op op = {
        .operands = 2, .masked = true, .ns = 0.3, .loop = {RL_EACH_ISA(CHOOSE_NUMBER_TABLE, )}};
    const rl_view *operand[] = {mask, no};
    const double numbers[SIMD_NUMBERS] = {(double)(int32_t)rl_float_bits(yes)};
    return no->dtype == RL_F32 ? simd_map_views(k, &op, operand, numbers) : RL_UNSUPPORTED;
}

RL_KERNEL(simd_where) {
    return simd_choose(k, rl_in(k, 0), rl_in(k, 1), rl_in(k, 2));
}
