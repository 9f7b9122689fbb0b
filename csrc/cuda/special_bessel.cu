/* Bessel and Airy functions: kernels/shared/special_bessel.h. */
#include "special.h"
#include "kernels/shared/special_bessel.h"

enum { I0, I0E, I1, I1E, K0, K1, K0E, K1E, J0, J1, Y0, Y1, AIRY };

/* clang-format off */
#define bessel_OPERATORS                                                                                     \
    SPECIAL_CASE_1(I0, special_i0) SPECIAL_CASE_1(I0E, i0e) SPECIAL_CASE_1(I1, special_i1)                   \
    SPECIAL_CASE_1(I1E, i1e) SPECIAL_CASE_1(K0, k0) SPECIAL_CASE_1(K1, k1) SPECIAL_CASE_1(K0E, scaled_k0)    \
    SPECIAL_CASE_1(K1E, scaled_k1) SPECIAL_CASE_1(AIRY, airy_ai)
SPECIAL_FAMILY(bessel, 1)
/* the C library's, each of which is long */
#define bessel_jy_OPERATORS                                                                                  \
    SPECIAL_CASE_1(J0, bessel_j0) SPECIAL_CASE_1(J1, bessel_j1) SPECIAL_CASE_1(Y0, bessel_y0)                \
    SPECIAL_CASE_1(Y1, bessel_y1)
SPECIAL_FAMILY(bessel_jy, 1)
/* clang-format on */

SPECIAL_KERNEL(i0, bessel, I0)
SPECIAL_KERNEL(special_i0e, bessel, I0E)
SPECIAL_KERNEL(special_i1, bessel, I1)
SPECIAL_KERNEL(special_i1e, bessel, I1E)
SPECIAL_KERNEL(special_modified_bessel_k0, bessel, K0)
SPECIAL_KERNEL(special_modified_bessel_k1, bessel, K1)
SPECIAL_KERNEL(special_scaled_modified_bessel_k0, bessel, K0E)
SPECIAL_KERNEL(special_scaled_modified_bessel_k1, bessel, K1E)
SPECIAL_KERNEL(special_bessel_j0, bessel_jy, J0)
SPECIAL_KERNEL(special_bessel_j1, bessel_jy, J1)
SPECIAL_KERNEL(special_bessel_y0, bessel_jy, Y0)
SPECIAL_KERNEL(special_bessel_y1, bessel_jy, Y1)
SPECIAL_KERNEL(special_airy_ai, bessel, AIRY)
