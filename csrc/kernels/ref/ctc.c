/* Connectionist temporal classification: Note [Lattice] in kernels/shared/ctc.h. */
#include "kernels/shared/ctc.h"
#include <math.h>

static void step(double *to, const double *from, const double *skip, const double *logs, int64_t n) {
    for (int64_t s = 0; s < n; s++) {
        const double a = from[s], b = from[s - 1], c = from[s - 2] + skip[s], most = fmax(a, fmax(b, c));
        const double shift = most == -INFINITY ? 0 : most;
        to[s] = log(exp(a - shift) + exp(b - shift) + exp(c - shift)) + shift + logs[s];
    }
}

static void powers(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = exp(x[i]);
}

static const rl_ctc_rows rows = {step, powers, 40};

RL_KERNEL(ref_ctc_loss) {
    return rl_ctc_loss(k, &rows);
}
RL_KERNEL(ref_ctc_loss_backward) {
    return rl_ctc_loss_backward(k, &rows);
}
