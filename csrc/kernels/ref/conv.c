/* conv2d as a product: the patches of the input are packed panel by panel and never stored whole. What
 * kernels/ref/conv_nd.c does for every rank takes up to twice as long, hence a kernel of its own. */
#include "contract/window.h"
#include "product_gemm.h"
#include <string.h>

typedef struct {
    const char *x;
    rl_walk weight; /* a row of weights: (C / groups, kH, kW) */
    int64_t weight_row, groups, channels;
    int64_t x_item, x_batch, x_channel, x_step[2]; /* bytes */
    int64_t size[2], out[2], kernel[2], pad[2], stride[2], dilation[2];
} conv;

typedef struct {
    int dtype;
    void *panel;
    int64_t at;
} weight_line;

static void weight_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    weight_line *line = (weight_line *)ctx;
    rl_panel_row(line->dtype, p[0], step[0], n, line->panel, line->at);
    line->at += n;
}

static void conv_pack_a(const rl_product *p, int64_t batch, int64_t row, int64_t rows, int64_t depth,
                        int64_t n, void *panel) {
    const conv *c = p->operands;
    rl_walk w = c->weight;
    for (int64_t r = 0; r < rows; r++) {
        weight_line line = {p->dtype, panel, r * RL_PANEL_DEPTH};
        w.base[0] = c->weight.base[0] + (batch % c->groups * p->rows + row + r) * c->weight_row;
        rl_walk_range(&w, depth, depth + n, weight_strip, &line);
    }
}

/* outputs [from, to) of one output row that see input inside the picture, for tap `offset` */
static void inside(const conv *c, int64_t offset, int64_t *from, int64_t *to) {
    int64_t s = c->stride[1], first = offset < 0 ? (-offset + s - 1) / s : 0;
    int64_t last = c->size[1] - 1 - offset; /* largest ow * s */
    int64_t end = last < 0 ? 0 : last / s + 1;
    if (*from < first) *from = first;
    if (*to > end) *to = end;
    if (*to < *from) *to = *from;
}

static void conv_pack_b(const rl_product *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
                        int64_t cols, void *panel) {
    const conv *c = p->operands;
    const char *x = c->x + batch / c->groups * c->x_batch + batch % c->groups * c->channels * c->x_channel;
    int64_t item = p->dtype == RL_F64 ? 8 : 4;
    for (int64_t d = 0; d < n; d++) {
        int64_t tap = depth + d, kw = tap % c->kernel[1], kh = tap / c->kernel[1] % c->kernel[0];
        const char *plane = x + tap / c->kernel[1] / c->kernel[0] * c->x_channel;
        char *line = (char *)panel + d * RL_PANEL_COLS * item;
        memset(line, 0, (size_t)(cols * item));
        for (int64_t at = 0; at < cols;) {
            int64_t oh = (col + at) / c->out[1], ow = (col + at) % c->out[1];
            int64_t left = c->out[1] - ow < cols - at ? c->out[1] - ow : cols - at;
            int64_t ih = oh * c->stride[0] - c->pad[0] + kh * c->dilation[0];
            int64_t offset = kw * c->dilation[1] - c->pad[1], from = ow, to = ow + left;
            inside(c, offset, &from, &to);
            if (ih >= 0 && ih < c->size[0] && to > from)
                rl_panel_row(p->dtype,
                             plane + ih * c->x_step[0] + (from * c->stride[1] + offset) * c->x_step[1],
                             c->stride[1] * c->x_step[1], to - from, line, at + from - ow);
            at += left;
        }
    }
}

RL_KERNEL(ref_conv2d) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t, *out = k->out[0];
    int64_t item = rl_itemsize(x->dtype);
    const rl_window *a = rl_window_of(k);
    int n = x->ndim;
    conv c = {.x = rl_const_data(x),
              .groups = a->groups,
              .channels = w->shape[1],
              .weight_row = w->strides[0] * item};
    rl_product p = {.dtype = x->dtype, .operands = &c, .pack_a = conv_pack_a, .pack_b = conv_pack_b};
    c.x_batch = n == 4 ? x->strides[0] * item : 0;
    c.x_channel = x->strides[n - 3] * item;
    for (int i = 0; i < 2; i++) {
        c.x_step[i] = x->strides[n - 2 + i] * item;
        c.size[i] = x->shape[n - 2 + i];
        c.out[i] = out->shape[n - 2 + i];
        c.kernel[i] = w->shape[2 + i];
        c.pad[i] = a->before[1 + i];
        c.stride[i] = a->stride[1 + i];
        c.dilation[i] = a->dilation[1 + i];
    }
    rl_walk_begin(&c.weight, w, RL_READ);
    rl_walk_drop(&c.weight, 1);
    rl_walk_merge(&c.weight);
    p.bias = rl_in(k, 2);
    p.bias_by_row = true;
    p.bias_groups = c.groups;
    p.out = rl_data(out, RL_WRITE);
    p.batches = (n == 4 ? x->shape[0] : 1) * c.groups;
    p.rows = w->shape[0] / c.groups;
    p.cols = c.out[0] * c.out[1];
    p.depth = c.weight.numel;
    return rl_product_run(k, &p);
}
