/* Squared differences of contiguous float32. */
#include "common.h"
#ifdef RL_SIMD_X86
enum { MEAN = 1 };
#define SIMD_BITS 256
#include "isa.h"
#include "vector_sums_body.h"
#include "loss_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_sums_body.h"
#include "loss_body.h"

static bool same_places(const rl_view *a, const rl_view *b) {
    if (a->ndim != b->ndim || !rl_is_plain(a) || !rl_is_plain(b)) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

RL_KERNEL(simd_mse_loss) {
    const rl_view *x = rl_in(k, 0), *y = rl_in(k, 1), *out = k->out[0];
    if (!(k->svc->isa & RL_ISA_AVX2) || !same_places(x, y) || k->arg[2].u.i == 0) return RL_UNSUPPORTED;
    double sum = (k->svc->isa & RL_ISA_AVX512 ? mse_total_avx512
                                              : mse_total_avx2)(rl_const_data(x), rl_const_data(y), x->numel);
    *(float *)rl_data(out, RL_WRITE) = (float)(k->arg[2].u.i == MEAN ? sum / (double)x->numel : sum);
    return RL_OK;
}

RL_KERNEL(simd_mse_loss_backward) {
    const rl_view *grad = rl_in(k, 0), *x = rl_in(k, 1), *y = rl_in(k, 2), *out = k->out[0];
    if (!(k->svc->isa & RL_ISA_AVX2) || !same_places(x, y) || grad->dtype != RL_F32 || grad->numel != 1)
        return RL_UNSUPPORTED;
    double factor = 2 * (double)*(const float *)rl_const_data(grad);
    if (k->arg[3].u.i == MEAN) factor /= (double)x->numel;
    (k->svc->isa & RL_ISA_AVX512 ? mse_back_avx512 : mse_back_avx2)(
        rl_const_data(x), rl_const_data(y), rl_data(out, RL_WRITE), x->numel, (float)factor);
    return RL_OK;
}
#else
#define REFUSES(kernel)                                                                                      \
    RL_KERNEL(simd_##kernel) {                                                                               \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
REFUSES(mse_loss)
REFUSES(mse_loss_backward)
#endif
