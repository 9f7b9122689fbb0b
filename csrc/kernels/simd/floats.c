/* Halves to floats and back, by several threads. */
#include "floats.h"
#ifdef RL_SIMD_X86
#include "kernels/shared/walk.h"
#include "moves.h"

static const double MOVE_NS = 0.3; /* a number */

bool simd_makes_floats(const rl_call *k) {
    for (int i = 0; i < k->n_out; i++)
        if (!simd_is_floats(k->out[i]) || !rl_is_contiguous(k->out[i])) return false;
    return true;
}

static void move_strip(char *const *p, const int64_t *step, int64_t n, const void *mover) {
    simd_move(mover, p[0], step[0], p[1], step[1], n);
}

/* operand `op` of a walk over v becomes a block of float32 */
static void block_set(rl_walk *w, int op, const rl_view *v, const float *at) {
    int64_t step = sizeof(float);
    w->base[op] = (char *)at;
    for (int d = v->ndim - 1; d >= 0; d--) {
        w->stride[op][d] = step;
        step *= v->shape[d];
    }
    rl_walk_merge(w);
}

const float *simd_floats_of(rl_call *k, const rl_view *v) {
    if (rl_is_plain(v)) return rl_const_data(v);
    float *to = k->svc->scratch(k, RL_COUNT(v->numel), sizeof *to);
    const simd_mover mover = simd_mover_between(k, RL_F32, v->dtype);
    rl_walk w;
    if (!to || v->numel == 0) return to;
    rl_walk_begin(&w, v, RL_READ);
    rl_walk_add(&w, v);
    block_set(&w, 0, v, to);
    rl_walk_parallel(k, &w, MOVE_NS, move_strip, &mover);
    return to;
}

rl_status simd_results_begin(rl_call *k, float **to) {
    for (int i = 0; i < k->n_out; i++) {
        const rl_view *out = k->out[i];
        if (out->dtype == RL_F32)
            to[i] = rl_data(out, RL_WRITE);
        else if (!(to[i] = k->svc->scratch(k, RL_COUNT(out->numel), sizeof(float))))
            return RL_FAIL;
    }
    return RL_OK;
}

rl_status simd_results_end(rl_call *k, float *const *to) {
    for (int i = 0; i < k->n_out; i++) {
        const rl_view *out = k->out[i];
        const simd_mover mover = simd_mover_between(k, out->dtype, RL_F32);
        rl_walk w;
        if (out->dtype == RL_F32 || out->numel == 0) continue;
        rl_walk_begin(&w, out, RL_WRITE);
        rl_walk_add(&w, out);
        block_set(&w, 1, out, to[i]);
        rl_walk_parallel(k, &w, MOVE_NS, move_strip, &mover);
    }
    return RL_OK;
}
#endif
