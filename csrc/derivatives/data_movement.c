/* Derivatives of what moves elements to other places: gradients move back. */
#include "vjp.h"
#include "core/view.h"
#include <string.h>

/* ---- there and back ---- */
VJP(tril) {
    GRAD_OF(0, OP(tril, G, X(1)));
}
VJP(triu) {
    GRAD_OF(0, OP(triu, G, X(1)));
}
VJP(flip) {
    GRAD_OF(0, OP(flip, G, X(1)));
}
VJP(roll) {
    if (!rl_vjp_wants(g, 0)) return;
    int64_t back[RL_MAX_DIMS];
    int n = rl_value_list(X(1), back, RL_MAX_DIMS);
    for (int i = 0; i < n; i++) back[i] = back[i] == INT64_MIN ? 0 : -back[i]; /* refused going forward */
    rl_vjp_pass(g, 0, OP(roll, G, INTS(back, n), MAYBE(2)));
}
VJP(pixel_shuffle) {
    GRAD_OF(0, OP(pixel_unshuffle, G, X(1)));
}
VJP(pixel_unshuffle) {
    GRAD_OF(0, OP(pixel_shuffle, G, X(1)));
}
VJP(channel_shuffle) {
    if (!rl_vjp_wants(g, 0)) return;
    int64_t each = rl_vjp_like(g, 0)->shape[1] / rl_vjp_int(g, 1);
    rl_vjp_pass(g, 0, OP(channel_shuffle, G, INT(each ? each : 1)));
}

/* Each dimension falls into (copies, size); the copies are added. */
VJP(repeat) {
    if (!rl_vjp_wants(g, 0)) return;
    const rl_tensor_meta *in = rl_vjp_like(g, 0), *out = &g->node->meta[0];
    int64_t shape[2 * RL_MAX_DIMS], copies[RL_MAX_DIMS], times[RL_MAX_DIMS];
    int given = rl_value_list(X(1), times, RL_MAX_DIMS), lead = out->ndim - in->ndim, n = 0, n_copies = 0;
    for (int d = 0; d < out->ndim; d++) {
        int i = d - (out->ndim - given);
        int64_t often = i < 0 ? 1 : times[i];
        if (often != 1) {
            copies[n_copies++] = n;
            shape[n++] = often;
        }
        if (d >= lead) shape[n++] = in->shape[d - lead];
    }
    V grad = OP(reshape, G, INTS(shape, n));
    rl_vjp_pass(g, 0, n_copies ? OP(sum, grad, INTS(copies, n_copies)) : grad);
}

/* ---- joins ---- */
VJP(cat) { /* (Tensor[] tensors, int dim); the layout holds how many elements each tensor has */
    const rl_tensor_meta *out = &g->node->meta[0];
    int64_t dim = rl_dim_wrapped(rl_vjp_int(g, 1), out->ndim), across = 1, at = 0;
    const int64_t *numel = rl_vjp_layout(g, g->node->n_edge);
    for (int d = 0; d < out->ndim; d++)
        if (d != dim) across *= out->shape[d];
    for (int i = 0; i < g->node->n_edge; i++) {
        int64_t size = across ? numel[i] / across : 0;
        if (rl_vjp_wants_nth(g, i)) {
            const rl_tensor_meta *like = rl_vjp_like_nth(g, i);
            if (!across) size = like->ndim == out->ndim ? like->shape[dim] : 0;
            V part = OP(narrow, G, INT(dim), INT(at), INT(size));
            bool legacy = like->ndim != out->ndim; /* an empty vector joins anything */
            rl_vjp_pass_nth(g, i, legacy ? OP(reshape, part, INTS(like->shape, like->ndim)) : part);
        }
        at += size;
    }
}

/* ---- diagonals ---- */
VJP(diag) { /* of a matrix, or the matrix of a vector */
    if (g->node->meta[0].ndim == 1)
        rl_vjp_diagonal(g, rl_vjp_int(g, 1), 0, 1);
    else
        GRAD_OF(0, OP(diagonal, G, X(1)));
}

/* ---- padding ---- */
/* Did the input lie channels last? Its strides were saved. */
static bool lay_channels_last(rl_vjp *g) {
    const rl_tensor_meta *like = rl_vjp_like(g, 0);
    rl_view x = {.ndim = (uint8_t)like->ndim, .numel = 1, .shape = (int64_t *)like->shape};
    x.strides = (int64_t *)rl_vjp_layout(g, like->ndim);
    return x.ndim >= 4 && rl_looks_channels_last(&x);
}

VJP(pad) { /* (input, pad, mode, value) */
    int64_t back[2 * RL_MAX_DIMS];
    const char *mode = STRING_ARG(2);
    const int n = rl_value_list(X(1), back, 2 * RL_MAX_DIMS);
    if (!rl_vjp_wants(g, 0)) return;
    for (int i = 0; i < n; i++) back[i] = -back[i];
    if (strcmp(mode, "constant") == 0) {
        rl_vjp_pass(g, 0, OP(pad, G, INTS(back, n)));
        return;
    }
    const bool last = strcmp(mode, "circular") != 0 && lay_channels_last(g);
    rl_vjp_pass(g, 0, OP(pad_backward, G, rl_vjp_size(g, 0), X(1), X(2), BOOLEAN(last)));
}

VJP(pad_backward) { /* (grad_output, input_size, pad, mode, channels_last) */
    GRAD_OF(0, OP(pad, G, X(2), X(3)));
}
