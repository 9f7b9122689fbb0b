/* The incomplete gamma functions: kernels/shared/special_igamma.h. */
#include "kernels/shared/special_igamma.h"
#include "special.h"

#define LEAST (sizeof(C) == sizeof(double) ? 0x1p-53 : 0x1p-30)
RL_EACH_FLOAT(RL_BINARY_KEEP, x_igamma, (C)igamma_lower((double)a, (double)b, LEAST))
SPECIAL_KERNEL(igamma, 2, 150, NULL)
RL_EACH_FLOAT(RL_BINARY_KEEP, x_igammac, (C)igamma_upper((double)a, (double)b, LEAST))
SPECIAL_KERNEL(igammac, 2, 150, NULL)
