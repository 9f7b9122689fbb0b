/* Derivatives of padding. */
#include "core/view.h"
#include "formula.h"

/* Did the input lie channels last? Its strides were saved. */
static bool lay_channels_last(rl_vjp *g) {
    const rl_meta *like = rl_vjp_like(g, 0);
    rl_view x = {.ndim = (uint8_t)like->ndim, .numel = 1, .shape = (int64_t *)like->shape};
    x.strides = (int64_t *)rl_vjp_layout(g, like->ndim);
    return x.ndim >= 4 && rl_looks_channels_last(&x);
}

FORMULA(pad) { /* (input, pad, mode, value) */
    int64_t back[2 * RL_MAX_DIMS];
    const char *mode = TEXT(2);
    const int n = rl_value_list(X(1), back, 2 * RL_MAX_DIMS);
    if (!rl_vjp_wants(g, 0)) return;
    for (int i = 0; i < n; i++) back[i] = -back[i];
    if (strcmp(mode, "constant") == 0) {
        rl_vjp_pass(g, 0, OP(pad, G, INTS(back, n)));
        return;
    }
    const bool last = strcmp(mode, "circular") != 0 && lay_channels_last(g);
    rl_vjp_pass(g, 0, OP(pad_backward, G, rl_vjp_size(g, 0), X(1), X(2), TRUTH(last)));
}

FORMULA(pad_backward) { /* (grad_output, input_size, pad, mode, channels_last) */
    TO(0, OP(pad, G, X(2), X(3)));
}
