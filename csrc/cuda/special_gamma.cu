/* The gamma function's kin and the incomplete gamma functions: kernels/shared/special_gamma.h and
 * kernels/shared/special_igamma.h. */
#include "special.h"
#include "kernels/shared/special_gamma.h"
#include "kernels/shared/special_igamma.h"

enum { LGAMMA, DIGAMMA, TRIGAMMA, POLYGAMMA, MVLGAMMA, ZETA, IGAMMA, IGAMMAC };

static __device__ double polygamma(double n, double x) {
    return (fmod(n, 2.0) == 1 ? 1 : -1) * tgamma(n + 1) * zeta(n + 1, x);
}

/* n[0]: the order, or the dimensions */
/* clang-format off */
#define gammas_OPERATORS                                                                                     \
    SPECIAL_CASE_1(LGAMMA, special_lgamma) SPECIAL_CASE_1(DIGAMMA, special_digamma)                          \
    SPECIAL_CASE_1(TRIGAMMA, trigamma)                                                                       \
    CUDA_CASE_OF(POLYGAMMA, (C)polygamma((double)this->n[0], z), const double z = (double)x[0][j])           \
    CUDA_CASE_OF(MVLGAMMA, (C)mvlgamma(z, (int64_t)this->n[0]), const double z = (double)x[0][j])
SPECIAL_FAMILY(gammas, 1)

#define LEAST (sizeof(C) == sizeof(double) ? 0x1p-53 : 0x1p-30)
#define gamma_pairs_OPERATORS                                                                                \
    SPECIAL_CASE_2(ZETA, zeta)                                                                               \
    CUDA_CASE_OF(IGAMMA, (C)igamma_lower(a, z, LEAST), const double a = (double)x[0][j], z = (double)x[1][j])\
    CUDA_CASE_OF(IGAMMAC, (C)igamma_upper(a, z, LEAST), const double a = (double)x[0][j], z = (double)x[1][j])
SPECIAL_FAMILY(gamma_pairs, 2)
/* clang-format on */

SPECIAL_KERNEL(lgamma, gammas, LGAMMA)
SPECIAL_KERNEL(digamma, gammas, DIGAMMA)
SPECIAL_KERNEL(special_zeta, gamma_pairs, ZETA)
SPECIAL_KERNEL(igamma, gamma_pairs, IGAMMA)
SPECIAL_KERNEL(igammac, gamma_pairs, IGAMMAC)
CUDA_KERNEL(cuda_mvlgamma) { /* (input, p) */
    return cuda_elementwise<gammas>(k, MVLGAMMA, {{rl_num(k, 1)}, {}});
}
CUDA_KERNEL(cuda_polygamma) { /* (n, input), or the other way round */
    const int at = k->arg[0].tag != RL_TENSOR;
    const int64_t n = rl_int(k, !at);
    const rl_view *views[2] = {k->out[0], rl_in(k, at)};
    return cuda_elementwise<gammas>(k, views,
                                    n == 0   ? DIGAMMA
                                    : n == 1 ? TRIGAMMA
                                             : POLYGAMMA,
                                    {{(double)n}, {}});
}
