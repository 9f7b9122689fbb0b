/* Orthogonal polynomials: kernels/shared/special_polynomial.h. */
#include "kernels/shared/special_polynomial.h"
#include "special.h"

#define MOST (sizeof(C) == sizeof(double) ? 0x1.fffffffffffffp1023 : 0x1.fffffep127)
#define POLYNOMIAL(name, value)                                                                              \
    RL_EACH_FLOAT(RL_BINARY_KEEP, x_##name, (C)in_range(value, (double)a, MOST))                             \
    SPECIAL_KERNEL(name, 2, 50, NULL)
#define SHIFTED(x) (2 * (double)(x) - 1)
POLYNOMIAL(special_chebyshev_polynomial_t, chebyshev((double)a, (double)b, KIND_T))
POLYNOMIAL(special_chebyshev_polynomial_u, chebyshev((double)a, (double)b, KIND_U))
POLYNOMIAL(special_chebyshev_polynomial_v, chebyshev((double)a, (double)b, KIND_V))
POLYNOMIAL(special_chebyshev_polynomial_w, chebyshev((double)a, (double)b, KIND_W))
POLYNOMIAL(special_shifted_chebyshev_polynomial_t, chebyshev(SHIFTED(a), (double)b, KIND_T))
POLYNOMIAL(special_shifted_chebyshev_polynomial_u, chebyshev(SHIFTED(a), (double)b, KIND_U))
POLYNOMIAL(special_shifted_chebyshev_polynomial_v, chebyshev(SHIFTED(a), (double)b, KIND_V))
POLYNOMIAL(special_shifted_chebyshev_polynomial_w, chebyshev(SHIFTED(a), (double)b, KIND_W))
POLYNOMIAL(special_hermite_polynomial_h, hermite((double)a, (double)b, 2, MOST))
POLYNOMIAL(special_hermite_polynomial_he, hermite((double)a, (double)b, 1, MOST))
POLYNOMIAL(special_laguerre_polynomial_l, laguerre((double)a, (double)b))
POLYNOMIAL(special_legendre_polynomial_p, legendre((double)a, (double)b))
