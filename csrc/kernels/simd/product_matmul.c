/* matmul, addmm and their kin: matrices and vectors of any strides in batches. */
#include "product_batch.h"

RL_CHOOSER
RL_KERNEL(simd_matmul) {
    const rl_view *a = rl_in(k, 0), *b = rl_in(k, 1), *out = k->out[0];
    rl_gemm_batch t;
    if (!rl_gemm_batch_takes(a, b, out)) return RL_UNSUPPORTED;
    rl_gemm_batch_read(&t, a, b, out, a->ndim == 1, b->ndim == 1);
    rl_gemm_batch_fold(&t);
    return rl_gemm_batch_run(k, &t);
}

/* input, two factors, beta, alpha: addmm, baddbmm and addmv */
RL_CHOOSER
RL_KERNEL(simd_addmm) {
    const rl_view *x = rl_in(k, 0), *a = rl_in(k, 1), *b = rl_in(k, 2), *out = k->out[0];
    const bool vector = b->ndim == 1;
    rl_gemm_batch t;
    if (!rl_is_float(out->dtype) || !rl_gemm_batch_takes(a, b, out)) return RL_UNSUPPORTED;
    rl_gemm_batch_read(&t, a, b, out, false, vector);
    rl_gemm_batch_add(&t, x, out, vector, rl_num(k, 4), rl_num(k, 3));
    rl_gemm_batch_fold(&t);
    return rl_gemm_batch_run(k, &t);
}
