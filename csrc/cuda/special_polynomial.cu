/* Orthogonal polynomials: kernels/shared/special_polynomial.h. */
#include "special.h"
#include "kernels/shared/special_polynomial.h"

/* Chebyshev's kinds, KIND_T and on, come first; then those, shifted */
enum { SHIFTED = KIND_W + 1, HERMITE_H = 2 * SHIFTED, HERMITE_HE, LAGUERRE, LEGENDRE };

/* of the element x and the degree n; `most` is the largest number of the dtype */
static __device__ double polynomial_of(int op, double x, double n, double most) {
    switch (op) {
    case HERMITE_H: return hermite(x, n, 2, most);
    case HERMITE_HE: return hermite(x, n, 1, most);
    case LAGUERRE: return laguerre(x, n);
    case LEGENDRE: return legendre(x, n);
    default: return chebyshev(op < SHIFTED ? x : 2 * x - 1, n, op % SHIFTED);
    }
}

template <class C> struct polynomials : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const double most = sizeof(C) == sizeof(double) ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
        CUDA_UNROLL
        for (int j = 0; j < V; j++) {
            const double z = (double)x[0][j];
            y[j] = (C)in_range(polynomial_of(this->op, z, (double)x[1][j], most), z, most);
        }
    }
};

SPECIAL_KERNEL(special_chebyshev_polynomial_t, polynomials, KIND_T)
SPECIAL_KERNEL(special_chebyshev_polynomial_u, polynomials, KIND_U)
SPECIAL_KERNEL(special_chebyshev_polynomial_v, polynomials, KIND_V)
SPECIAL_KERNEL(special_chebyshev_polynomial_w, polynomials, KIND_W)
SPECIAL_KERNEL(special_shifted_chebyshev_polynomial_t, polynomials, SHIFTED + KIND_T)
SPECIAL_KERNEL(special_shifted_chebyshev_polynomial_u, polynomials, SHIFTED + KIND_U)
SPECIAL_KERNEL(special_shifted_chebyshev_polynomial_v, polynomials, SHIFTED + KIND_V)
SPECIAL_KERNEL(special_shifted_chebyshev_polynomial_w, polynomials, SHIFTED + KIND_W)
SPECIAL_KERNEL(special_hermite_polynomial_h, polynomials, HERMITE_H)
SPECIAL_KERNEL(special_hermite_polynomial_he, polynomials, HERMITE_HE)
SPECIAL_KERNEL(special_laguerre_polynomial_l, polynomials, LAGUERRE)
SPECIAL_KERNEL(special_legendre_polynomial_p, polynomials, LEGENDRE)
