/* Names of the dtypes and PyTorch's promotion lattice
 * (https://docs.pytorch.org/docs/2.13/tensor_attributes.html#type-promotion-doc). */
#include "dtype.h"

const char *rl_dtype_name(int dtype) {
    static const char *const names[RL_NDTYPES] = {
#define X(e, c, n, t) #n,
        RL_DTYPES(X)
#undef X
    };
    return names[dtype];
}

const char *rl_dtype_title(int dtype) {
    static const char *const titles[RL_NDTYPES] = {
#define X(e, c, n, t) #t,
        RL_DTYPES(X)
#undef X
    };
    return titles[dtype];
}

const char *rl_dtype_cpp_name(int dtype) {
    static const char *const names[RL_NDTYPES] = {"unsigned char", "signed char",  "short int", "int",
                                                  "long int",      "c10::Half",    "float",     "double",
                                                  "bool",          "c10::BFloat16"};
    return names[dtype] ? names[dtype] : rl_dtype_title(dtype);
}

/* Where a dtype stands in the lattice: bool < unsigned/signed integers < floats. */
static int dtype_rank(int dtype) {
    static const uint8_t rank[RL_NDTYPES] = {[RL_BOOL] = 0, [RL_U8] = 1,  [RL_I8] = 1,  [RL_I16] = 2,
                                             [RL_I32] = 3,  [RL_I64] = 4, [RL_F16] = 5, [RL_BF16] = 5,
                                             [RL_F32] = 6,  [RL_F64] = 7};
    return rank[dtype];
}

bool rl_dtype_is_floating(int dtype) {
    return (RL_SET_FLOATS | RL_SET_FLOAT8 | RL_BIT(RL_F4X2)) >> dtype & 1;
}

bool rl_dtype_has_grad(int dtype) {
    return rl_dtype_is_floating(dtype) || RL_SET_COMPLEX >> dtype & 1;
}

int rl_dtype_promote(int a, int b) {
    if (a == b) return a;
    if (rl_is_converted(a) || rl_is_converted(b))
        return rl_is_converted(a) ? a : b; /* the operator refuses it */
    if (dtype_rank(a) == dtype_rank(b))    /* uint8 with int8, half with bfloat16: neither holds the other */
        return rl_is_float(a) ? RL_F32 : RL_I16;
    return dtype_rank(a) > dtype_rank(b) ? a : b;
}

static int default_dtype = RL_F32;
int rl_dtype_default(void) {
    return default_dtype;
}
void rl_dtype_default_set(int dtype) {
    default_dtype = dtype;
}
