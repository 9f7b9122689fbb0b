/* LAPACK's calling convention: everything by address, columns, 32-bit sizes, work that it is asked for first.
 */
#include "adapt.h"

static int at_least_1(int64_t n) {
    return n > 1 ? (int)n : 1;
}
/* what a function answered when it was asked, which a float may have rounded down */
static int work_length(double want) {
    return (int)(want * (1 + 2e-7)) + 1;
}

#define T       float
#define NAME(x) x##_float
#define WIDE    0
#define FACTORS rl_lapack_float
#include "adapt_impl.inc"

#define T       double
#define NAME(x) x##_double
#define WIDE    1
#define FACTORS rl_lapack_double
#include "adapt_impl.inc"
