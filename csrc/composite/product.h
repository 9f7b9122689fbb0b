/* Products of two tensors that sum over some of their dimensions. */
#ifndef RL_COMPOSITE_PRODUCT_H
#define RL_COMPOSITE_PRODUCT_H
#include "compose.h"

#define FAULT(...) RAISE(PyExc_RuntimeError, __VA_ARGS__)

/* Of two tensors with the same number of dimensions: the product summed over dims, which keep size 1. Other
 * dimensions are equal or 1 in one of them. */
V rl_product_pair(rl_values *g, V left, V right, const int64_t *dims, int n);
#endif
