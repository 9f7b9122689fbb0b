/* Max pooling, with and without indices. */
#include "pool.h"
#define ISA_IMPL "kernels/simd/pool/max_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

RL_CHOOSER
static rl_status indices_run(rl_call *k, bool adaptive) {
    indices_job s = {0};
    pool_job *j = &s.job;
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    rl_status read = simd_pool_read(k, j, x, out, adaptive);
    if (read != RL_OK) return read;
    /* a wide window is looked through by itself */
    bool wide = j->plan.dilation[2] == 1 && j->kernel[2] > (j->stride[2] <= 2 ? 16 : 4);
    bool lines = !wide && indices_lines(&s);
    if (!lines && j->plan.dilation[2] != 1) return RL_UNSUPPORTED;
    if (!lines) j->line = 0;
    if (simd_pool_begin(k, j, x, out) != RL_OK) return RL_FAIL;
    s.indices = rl_data(k->out[1], RL_WRITE);
    int64_t rows = j->planes * j->plan.out[0] * j->plan.out[1];
    double seen = (double)(j->kernel[0] * j->kernel[1] * j->kernel[2]) * (double)j->plan.out[2];
    k->svc->parallel(k, rows, 10 + POOL_NS * seen,
                     pool_body_of(j, lines ? POOL_BODIES(indices_rows) : POOL_BODIES(indices_scan)), &s);
    return simd_pool_end(k, j, out);
}

RL_KERNEL(simd_max_pool_indices) {
    return indices_run(k, false);
}
RL_KERNEL(simd_adaptive_max_pool) {
    return indices_run(k, true);
}
