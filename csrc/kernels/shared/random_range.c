/* Random integers' bounds: what the dtype does not hold is refused, or moves them. */
#include "random_range.h"

/* Bounds that a float cannot hold move inwards, and with them the range: steps of the dtype's last bit. */
static int64_t last_bit(int64_t bound, int digits) {
    int n = 63 - __builtin_clzll(bound < 0 ? 0 - (uint64_t)bound : (uint64_t)bound);
    return (int64_t)1 << (n - digits + 1);
}

static const int8_t digits[RL_NDTYPES] = {[RL_F16] = 11, [RL_F32] = 24, [RL_F64] = 53, [RL_BF16] = 8};

static void float_bounds(int dtype, int64_t *from, int64_t *to) {
    const double low = rl_rounded(dtype, (double)(*from + 1)), high = rl_rounded(dtype, (double)(*to - 1));
    int64_t moved;
    if (low >= -0x1p63 && low < 0x1p63 && (int64_t)low < *from &&
        !__builtin_add_overflow((int64_t)low, last_bit(*from + 1, digits[dtype]), &moved))
        *from = moved;
    if (high >= -0x1p63 && high < 0x1p63 && (int64_t)high >= *to &&
        !__builtin_sub_overflow((int64_t)high, last_bit(*to - 1, digits[dtype]), &moved))
        *to = moved;
}

/* the largest number below which the dtype holds all, itself included */
static int64_t last_exact(int dtype) {
    static const int64_t high[RL_NDTYPES] = {UINT8_MAX, INT8_MAX,  INT16_MAX,
                                             INT32_MAX, INT64_MAX, [RL_BOOL] = 1};
    return rl_is_float(dtype) ? (int64_t)1 << digits[dtype] : high[dtype];
}

rl_status rl_random_between(rl_call *k, bool open, rl_random_range *r) {
    static const int64_t low[RL_NDTYPES] = {
        [RL_I8] = INT8_MIN, [RL_I16] = INT16_MIN, [RL_I32] = INT32_MIN, [RL_F16] = -65504};
    static const int64_t high[RL_NDTYPES] = {[RL_U8] = UINT8_MAX,  [RL_I8] = INT8_MAX, [RL_I16] = INT16_MAX,
                                             [RL_I32] = INT32_MAX, [RL_BOOL] = 1,      [RL_F16] = 65504};
    static const char *const names[RL_NDTYPES] = {
        "unsigned char", "signed char",          "short int",       "int",
        "int64_t",       [RL_F16] = "c10::Half", [RL_BOOL] = "bool"};
    const int dtype = k->out[0]->dtype;
    int64_t from = k->attr[0], last = open ? last_exact(dtype) : k->attr[1] - 1;
    if (rl_is_float(dtype) && from < INT64_MAX && last < INT64_MAX) {
        int64_t to = last + 1;
        float_bounds(dtype, &from, &to);
        if (!open) last = to - 1;
    }
    if (names[dtype] && dtype != RL_I64) {
        if (from < low[dtype] || from > high[dtype])
            return rl_fail(k, RL_RUNTIME, "from is out of bounds for %s", names[dtype]);
        if (last < low[dtype] || last > high[dtype])
            return rl_fail(k, RL_RUNTIME, "to - 1 is out of bounds for %s", names[dtype]);
    }
    if (rl_is_float(dtype) && (open ? from >= last : from > last))
        return rl_fail(k, RL_RUNTIME,
                       open ? "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' "
                              "casted to dtype, but got from=%lld > to_inc=%lld"
                            : "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                              "but got from=%lld >= to=%lld",
                       (long long)from, (long long)last + !open);
    r->from = from;
    r->range = (uint64_t)last - (uint64_t)from + 1;
    r->is_wide = r->range >= 1u << 28;
    return RL_OK;
}

rl_status rl_random_of_dtype(rl_call *k, rl_random_range *r) {
    const int dtype = k->out[0]->dtype;
    *r = (rl_random_range){.is_wide = true};
    if (k->attr[2] == 2) {
        r->range = (uint64_t)last_exact(dtype) + 1;
        r->is_wide = dtype == RL_I64 || dtype == RL_F64;
        return RL_OK;
    }
    if (k->attr[2] == 0 || k->attr[0] != INT64_MIN) return rl_random_between(k, k->attr[2] == 1, r);
    if (dtype == RL_F16 || dtype == RL_BOOL)
        return rl_fail(k, RL_NOTIMPL, "\"random_full_64_bits_range_kernel_cpu\" not implemented for '%s'",
                       dtype == RL_F16 ? "Half" : "Bool");
    if (dtype != RL_I64 && !rl_is_float(dtype))
        return rl_fail(k, RL_RUNTIME,
                       "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
    return RL_OK;
}

rl_status rl_random_below(rl_call *k, int64_t high, rl_random_range *r) {
    k->attr[0] = 0;
    k->attr[1] = high;
    if (high <= 0)
        return rl_fail(k, RL_RUNTIME,
                       "random_ expects 'from' to be less than 'to', but got from=0 >= to=%lld",
                       (long long)high);
    return rl_random_between(k, false, r);
}

rl_status rl_random_holds(rl_call *k, int dtype, int64_t n) {
    static const int64_t most[RL_NDTYPES] = {[RL_F16] = 2049, [RL_F32] = (1 << 24) + 1};
    static const char *const titles[RL_NDTYPES] = {[RL_F16] = "Half", [RL_F32] = "Float"};
    static const char *const types[RL_NDTYPES] = {"uint8_t", "int8_t", "int16_t", "int"};
    static const int64_t top[RL_NDTYPES] = {UINT8_MAX, INT8_MAX, INT16_MAX, INT32_MAX};
    if (titles[dtype] && n > most[dtype])
        return rl_fail(k, RL_RUNTIME, "n cannot be greater than %lld for %s type.", (long long)most[dtype],
                       titles[dtype]);
    if (types[dtype] && n > top[dtype])
        return rl_fail(k, RL_RUNTIME, "value cannot be converted to type %s without overflow", types[dtype]);
    return RL_OK;
}
