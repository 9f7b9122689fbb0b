/* The functions that tests/ulp/ulp.c measures: a name, as in csrc/kernels/simd/vector_*_body.h after math_,
 * and its value for a double x. */
#define FUNCTIONS(F)                                                                                         \
    F(exp, exp(x))                                                                                           \
    F(exp2, exp2(x))                                                                                         \
    F(expm1, expm1(x))                                                                                       \
    F(log, log(x))                                                                                           \
    F(log1p, log1p(x))                                                                                       \
    F(log2, log2(x))                                                                                         \
    F(log10, log10(x))                                                                                       \
    F(tanh, tanh(x))                                                                                         \
    F(sinh, sinh(x))                                                                                         \
    F(cosh, cosh(x))                                                                                         \
    F(asinh, asinh(x))                                                                                       \
    F(acosh, acosh(x))                                                                                       \
    F(atanh, atanh(x))                                                                                       \
    F(sigmoid, sigmoid(x))                                                                                   \
    F(log_sigmoid, (x < 0 ? x : 0) - log1p(exp(-fabs(x))))                                                   \
    F(softplus, (x > 0 ? x : 0) + log1p(exp(-fabs(x))))                                                      \
    F(silu, x *sigmoid(x))                                                                                   \
    F(mish, mish(x))

#define ROW_DECLARED(name, expression) void reference_##name(const double *, double *, int);
FUNCTIONS(ROW_DECLARED)
#undef ROW_DECLARED
