/* The functions that tests/ulp/ulp.c measures: a name, as in csrc/kernels/simd/vmath after math_,
 * and its value for a double x. */
#define FUNCTIONS(F)                                                                                         \
    F(exp, 0.57, exp(x))                                                                                     \
    F(exp2, 0.83, exp2(x))                                                                                   \
    F(expm1, 1.0, expm1(x))                                                                                  \
    F(log, 0.54, log(x))                                                                                     \
    F(log1p, 1.0, log1p(x))                                                                                  \
    F(log2, 0.52, log2(x))                                                                                   \
    F(log10, 0.52, log10(x))                                                                                 \
    F(tanh, 0.57, tanh(x))                                                                                   \
    F(sinh, 1.0, sinh(x))                                                                                    \
    F(cosh, 0.5, cosh(x))                                                                                    \
    F(asinh, 1.65, asinh(x))                                                                                 \
    F(acosh, 1.68, acosh(x))                                                                                 \
    F(atanh, 1.0, atanh(x))                                                                                  \
    F(sigmoid, 2.1e6, sigmoid(x))                                                                            \
    F(log_sigmoid, 1.5, (x < 0 ? x : 0) - log1p(exp(-fabs(x))))                                              \
    F(softplus, 1.5, (x > 0 ? x : 0) + log1p(exp(-fabs(x))))                                                 \
    F(silu, 1.7e7, x *sigmoid(x))                                                                            \
    F(mish, 154, mish(x))                                                                                    \
    F(sin, 0.6, sin(x))                                                                                      \
    F(cos, 0.6, cos(x))                                                                                      \
    F(tan, 0.54, tan(x))                                                                                     \
    F(asin, 0.71, asin(x))                                                                                   \
    F(acos, 0.77, acos(x))                                                                                   \
    F(atan, 0.51, atan(x))                                                                                   \
    F(erf, 1.0, erf(x))                                                                                      \
    F(erfc, 0.92, erfc(x))                                                                                   \
    F(rsqrt, 1.47, 1 / sqrt(x))

#define ROW_DECLARED(name, torch, expression) void reference_##name(const double *, double *, int);
FUNCTIONS(ROW_DECLARED)
#undef ROW_DECLARED
