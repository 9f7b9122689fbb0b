/* Copies from one dtype to another: Note [Movers] in kernels/simd/moves.h. */
#include "kernels/shared/walk.h"
#include "moves.h"
#ifdef RL_SIMD_X86

static void convert_strip(char *const *p, const int64_t *step, int64_t n, const void *mover) {
    simd_move(mover, p[0], step[0], p[1], step[1], n);
}

RL_CHOOSER
static rl_status convert_run(rl_call *k, const rl_view *to, const rl_view *from) {
    if (!(k->svc->isa & RL_ISA_AVX2) || to->dtype == from->dtype || rl_is_converted(to->dtype) ||
        rl_is_converted(from->dtype))
        return RL_UNSUPPORTED;
    const simd_mover mover = simd_mover_between(k, to->dtype, from->dtype);
    rl_walk w;
    rl_walk_begin(&w, to, RL_WRITE);
    rl_walk_add(&w, from);
    rl_walk_sort(&w, 0);
    rl_walk_merge(&w);
    rl_walk_parallel(k, &w, 0.3, convert_strip, &mover);
    return RL_OK;
}

RL_KERNEL(simd_convert_copy) {
    return convert_run(k, k->out[0], k->arg[1].u.t);
}
RL_KERNEL(simd_convert_clone) {
    return convert_run(k, k->out[0], k->arg[0].u.t);
}
#else
RL_KERNEL(simd_convert_copy) {
    (void)k;
    return RL_UNSUPPORTED;
}
RL_KERNEL(simd_convert_clone) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
