/* The functions in double, to a few of its own units, from the vectors of the C library: this file is
 * compiled with -ffast-math for that, so it must not ask what a NaN is. */
#include "reference.h"
#include <math.h>

static double sigmoid(double x) {
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1.0) / (1.0 + e);
}
static double mish(double x) {
    double e = exp(x < 40 ? x : 40), w = e * (e + 2);
    return x * (w / (w + 2));
}

#define ROW(name, torch, expression)                                                                         \
    void reference_##name(const double *from, double *to, int n) {                                           \
        for (int i = 0; i < n; i++) {                                                                        \
            double x = from[i];                                                                              \
            to[i] = expression;                                                                              \
        }                                                                                                    \
    }
FUNCTIONS(ROW)
