/* Derivatives of order: each element goes where it stood. */
#include "formula.h"

static void put_back(rl_vjp *g, int dim_arg, V where) {
    TO(0, OP(scatter, rl_vjp_zeros(g, 0), INT(rl_vjp_int(g, dim_arg)), where, G));
}
FORMULA(sort) {
    put_back(g, 1, OUT(1));
}
FORMULA(sort_stable) {
    put_back(g, 2, OUT(1));
}
FORMULA(topk) {
    put_back(g, 2, OUT(1));
}
