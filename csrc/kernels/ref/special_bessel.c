/* Bessel and Airy functions: kernels/shared/special_bessel.h. */
#include "kernels/shared/special_bessel.h"
#include "special.h"

SPECIAL_UNARY(i0, 40, special_i0)
SPECIAL_UNARY(special_i0e, 40, i0e)
SPECIAL_UNARY(special_i1, 40, special_i1)
SPECIAL_UNARY(special_i1e, 40, i1e)
SPECIAL_UNARY(special_modified_bessel_k0, 70, k0)
SPECIAL_UNARY(special_modified_bessel_k1, 70, k1)
SPECIAL_UNARY(special_scaled_modified_bessel_k0, 70, scaled_k0)
SPECIAL_UNARY(special_scaled_modified_bessel_k1, 70, scaled_k1)
SPECIAL_UNARY(special_bessel_j0, 60, bessel_j0)
SPECIAL_UNARY(special_bessel_j1, 60, bessel_j1)
SPECIAL_UNARY(special_bessel_y0, 100, bessel_y0)
SPECIAL_UNARY(special_bessel_y1, 100, bessel_y1)
SPECIAL_UNARY(special_airy_ai, 80, airy_ai)
