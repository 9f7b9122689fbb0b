/* Connectionist temporal classification: Note [Lattice] in kernels/shared/ctc.h. */
#include "kernels/shared/ctc.h"
#include "common.h"
#define ISA_IMPL "ctc_impl.inc"
#define ISA_DOUBLES
#define ISA_NO_FLOATS
#include "kernels/simd/foreach_isa.h"

static const rl_ctc_rows *rows_of(const rl_call *k) {
    static const rl_ctc_rows *const rows[] = ISA_TABLE_F64(&ctc_rows);
    return rows[k->svc->isa];
}

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
