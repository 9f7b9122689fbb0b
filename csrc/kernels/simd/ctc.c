/* Connectionist temporal classification: Note [Lattice] in kernels/shared/ctc.h. */
#include "kernels/shared/ctc.h"
#include "common.h"
#ifdef RL_SIMD_X86
#define SIMD_DOUBLE
#define SIMD_BITS 256
#include "isa.h"
#include "ctc_impl.inc"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "ctc_impl.inc"

static const rl_ctc_rows narrow = {ctc_step_avx2_f64, ctc_powers_avx2_f64, 12};
static const rl_ctc_rows wide = {ctc_step_avx512_f64, ctc_powers_avx512_f64, 6};

static const rl_ctc_rows *rows_of(const rl_call *k) {
    return k->svc->isa & RL_ISA_AVX512 ? &wide : k->svc->isa & RL_ISA_AVX2 ? &narrow : NULL;
}
#else
static const rl_ctc_rows *rows_of(const rl_call *k) {
    (void)k;
    return NULL;
}
#endif

RL_CHOOSER
RL_KERNEL(simd_ctc_loss) {
    const rl_ctc_rows *rows = rows_of(k);
    return rows ? rl_ctc_loss(k, rows) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(simd_ctc_loss_backward) {
    const rl_ctc_rows *rows = rows_of(k);
    return rows ? rl_ctc_loss_backward(k, rows) : RL_UNSUPPORTED;
}
