/* Products of matrices that lie in tensors: batches of any strides, stretched ones too, used where they lie.
 */
#ifndef RL_KERNELS_SIMD_PRODUCT_BATCH_H
#define RL_KERNELS_SIMD_PRODUCT_BATCH_H
#include "product_gemm.h"

enum { RL_BATCH_A, RL_BATCH_B, RL_BATCH_C, RL_BATCH_X, RL_BATCH_OPS };
typedef struct {
    rl_gemm g;                                                  /* of batch 0 */
    int dims;                                                   /* leading dimensions */
    int64_t size[RL_MAX_DIMS], step[RL_BATCH_OPS][RL_MAX_DIMS]; /* elements */
} rl_gemm_batch;

/* Does simd_ code multiply such tensors? `out` may share memory with the summand x alone. */
bool rl_gemm_batch_takes(const rl_view *a, const rl_view *b, const rl_view *out);
/* a (..., m, k) times b (..., k, n) to out; `a_vector`: a has no m, `b_vector`: b has no n. */
void rl_gemm_batch_read(rl_gemm_batch *t, const rl_view *a, const rl_view *b, const rl_view *out,
                        bool a_vector, bool b_vector);
/* beta times x, stretched to out, is added */
void rl_gemm_batch_add(rl_gemm_batch *t, const rl_view *x, const rl_view *out, bool b_vector, double alpha,
                       double beta);
/* Leading dimensions that are more rows become such. */
void rl_gemm_batch_fold(rl_gemm_batch *t);
rl_status rl_gemm_batch_run(rl_call *k, const rl_gemm_batch *t);
#endif
