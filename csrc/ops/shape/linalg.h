/* What the shape rules of matrices share: checks in PyTorch's words, and results that lie column by column.
 */
#ifndef RL_OPS_SHAPE_LINALG_H
#define RL_OPS_SHAPE_LINALG_H
#include "shape.h"

rl_status rl_matrix_dims(const rl_view *a, const char *who); /* at least two */
rl_status rl_matrix_square(const rl_view *a, const char *who);
/* float32 and float64 pass. Integers are refused in PyTorch's words of `who`, or as halves are when it is
 * NULL: those by the name of their kernel, or in words when that is NULL. */
rl_status rl_matrix_dtype(const rl_view *a, const char *who, const char *kernel);
rl_status rl_matrix_same(const rl_view *a, const rl_view *b, const char *who); /* dtypes of A and B */
/* Result i: [shape ..., rows, cols] with so many leading dims, column by column. */
rl_status rl_out_columns(rl_call *k, int i, const int64_t *lead, int n, int64_t rows, int64_t cols);
/* Result i: leading dims, then one more if size >= 0; of a dtype of its own if that is >= 0. */
rl_status rl_out_beside(rl_call *k, int i, const int64_t *lead, int n, int64_t size, int dtype);
/* The common leading dims of a and b, which have so many dims of their own behind; -1 with PyTorch's text. */
int rl_lead_common(const rl_view *a, int a_own, const rl_view *b, int b_own, int64_t lead[RL_MAX_DIMS]);
#endif
