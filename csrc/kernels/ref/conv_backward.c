/* Gradients of convolutions as products (Note [Product]); the operands are packed panel by panel.
 *
 *   by the input    rows: input channels   columns: input places     depth: output channels x taps
 *   by the weight   rows: output channels  columns: channels x taps  depth: images x output places */
#include "conv.h"
#include <string.h>

static int64_t panel_item(int dtype) {
    return dtype == RL_F64 ? 8 : 4;
}

/* ---- by the input ---- */
static void input_pack_a(const rl_product *p, int64_t batch, int64_t row, int64_t rows, int64_t depth,
                         int64_t n, void *panel) {
    const rl_conv_nd *c = p->operands;
    int64_t outputs = p->depth / c->taps, first = batch % c->groups * outputs;
    for (int64_t d = 0; d < n; d++) {
        int64_t tap[3];
        rl_conv_split(c->kernel, (depth + d) % c->taps, tap);
        const char *w = c->w + (first + (depth + d) / c->taps) * c->w_row + row * c->w_channel;
        for (int i = 0; i < 3; i++) w += tap[i] * c->w_step[i];
        for (int64_t r = 0; r < rows; r++)
            rl_panel_row(p->dtype, w + r * c->w_channel, 0, 1, panel, r * RL_PANEL_DEPTH + d);
    }
}

/* the output index that reads input index `at` by kernel element `tap` of dimension i, or -1 */
static int64_t place_of(const rl_conv_nd *c, int i, int64_t at, int64_t tap) {
    int64_t from = at + c->pad[i] - tap * c->dilation[i];
    return from < 0 || from % c->stride[i] || from / c->stride[i] >= c->out[i] ? -1 : from / c->stride[i];
}

/* input columns [from, from + n) of one row, for one tap, into panel[at ...] */
static void input_row(const rl_product *p, const char *row, int64_t tap, int64_t from, int64_t n, void *panel,
                      int64_t at) {
    const rl_conv_nd *c = p->operands;
    if (c->stride[2] == 1) {
        int64_t first = from + c->pad[2] - tap * c->dilation[2], lo = first < 0 ? -first : 0;
        int64_t hi = c->out[2] - first < n ? c->out[2] - first : n;
        if (lo < hi)
            rl_panel_row(p->dtype, row + (first + lo) * c->y_step[2], c->y_step[2], hi - lo, panel, at + lo);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t place = place_of(c, 2, from + i, tap);
        if (place >= 0) rl_panel_row(p->dtype, row + place * c->y_step[2], 0, 1, panel, at + i);
    }
}

static void input_pack_b(const rl_product *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
                         int64_t cols, void *panel) {
    const rl_conv_nd *c = p->operands;
    int64_t outputs = p->depth / c->taps, item = panel_item(p->dtype), width = c->size[2];
    const char *y = c->y + batch / c->groups * c->y_batch + batch % c->groups * outputs * c->y_channel;
    for (int64_t d = 0; d < n; d++) {
        int64_t tap[3];
        rl_conv_split(c->kernel, (depth + d) % c->taps, tap);
        const char *plane = y + (depth + d) / c->taps * c->y_channel;
        memset((char *)panel + d * RL_PANEL_COLS * item, 0, (size_t)(cols * item));
        for (int64_t at = 0, left; at < cols; at += left) {
            int64_t line = (col + at) / width, from = (col + at) % width;
            left = width - from < cols - at ? width - from : cols - at;
            int64_t oh = place_of(c, 1, line % c->size[1], tap[1]);
            int64_t od = place_of(c, 0, line / c->size[1], tap[0]);
            if (oh >= 0 && od >= 0)
                input_row(p, plane + od * c->y_step[0] + oh * c->y_step[1], tap[2], from, left, panel,
                          d * RL_PANEL_COLS + at);
        }
    }
}

RL_KERNEL(ref_conv_input) {
    const rl_view *grad = k->arg[0].u.t, *w = k->arg[1].u.t, *out = k->out[0];
    rl_conv_nd c;
    rl_conv_nd_read(k, out, w, grad, &c);
    rl_product p = {.dtype = grad->dtype, .operands = &c, .pack_a = input_pack_a, .pack_b = input_pack_b};
    if (out->numel == 0) return RL_OK;
    p.out = rl_data(out, RL_WRITE);
    p.batches = (out->ndim > rl_window_of(k)->spatial + 1 ? out->shape[0] : 1) * c.groups;
    p.rows = w->shape[1];
    p.cols = c.size[0] * c.size[1] * c.size[2];
    p.depth = w->shape[0] / c.groups * c.taps;
    return rl_product_run(k, &p);
}

/* ---- by the weight ---- */
/* Depth number `depth` is an output place of an image; answers how many of the next `most` follow in its row.
 */
static int64_t run_at(const rl_conv_nd *c, int64_t depth, int64_t most, int64_t *image, int64_t at[3]) {
    *image = depth / c->places;
    rl_conv_split(c->out, depth % c->places, at);
    return c->out[2] - at[2] < most ? c->out[2] - at[2] : most;
}

static void weight_pack_a(const rl_product *p, int64_t batch, int64_t row, int64_t rows, int64_t depth,
                          int64_t n, void *panel) {
    const rl_conv_nd *c = p->operands;
    for (int64_t done = 0, left; done < n; done += left) {
        int64_t image, at[3];
        left = run_at(c, depth + done, n - done, &image, at);
        const char *y = c->y + image * c->y_batch + (batch * p->rows + row) * c->y_channel;
        for (int i = 0; i < 3; i++) y += at[i] * c->y_step[i];
        for (int64_t r = 0; r < rows; r++)
            rl_panel_row(p->dtype, y + r * c->y_channel, c->y_step[2], left, panel,
                         r * RL_PANEL_DEPTH + done);
    }
}

/* the inputs that `n` outputs from `at` on see by one tap, zero outside, into line[to ...] */
static void weight_run(const rl_product *p, const char *plane, const int64_t at[3], const int64_t tap[3],
                       int64_t n, void *line, int64_t to) {
    const rl_conv_nd *c = p->operands;
    int64_t in[3], item = panel_item(p->dtype), step = c->stride[2];
    bool inside = true;
    for (int i = 0; i < 3; i++) {
        in[i] = at[i] * c->stride[i] - c->pad[i] + tap[i] * c->dilation[i];
        if (i < 2) inside &= in[i] >= 0 && in[i] < c->size[i];
    }
    memset((char *)line + to * item, 0, (size_t)(n * item));
    if (!inside) return;
    int64_t lo = in[2] < 0 ? (-in[2] + step - 1) / step : 0;
    int64_t hi = in[2] < c->size[2] ? (c->size[2] - in[2] + step - 1) / step : 0;
    if (hi > n) hi = n;
    if (lo < hi)
        rl_panel_row(p->dtype,
                     plane + in[0] * c->x_step[0] + in[1] * c->x_step[1] + (in[2] + lo * step) * c->x_step[2],
                     step * c->x_step[2], hi - lo, line, to + lo);
}

static void weight_pack_b(const rl_product *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
                          int64_t cols, void *panel) {
    const rl_conv_nd *c = p->operands;
    union {
        double wide[RL_PANEL_DEPTH];
        float narrow[RL_PANEL_DEPTH];
    } line;
    for (int64_t j = 0; j < cols; j++) {
        int64_t tap[3];
        rl_conv_split(c->kernel, (col + j) % c->taps, tap);
        const char *x = c->x + (batch * c->channels + (col + j) / c->taps) * c->x_channel;
        for (int64_t done = 0, left; done < n; done += left) {
            int64_t image, at[3];
            left = run_at(c, depth + done, n - done, &image, at);
            weight_run(p, x + image * c->x_batch, at, tap, left, &line, done);
        }
        if (p->dtype == RL_F64)
            for (int64_t d = 0; d < n; d++) ((double *)panel)[d * RL_PANEL_COLS + j] = line.wide[d];
        else
            for (int64_t d = 0; d < n; d++) ((float *)panel)[d * RL_PANEL_COLS + j] = line.narrow[d];
    }
}

RL_KERNEL(ref_conv_weight) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t, *out = k->out[0];
    rl_conv_nd c;
    rl_conv_nd_read(k, x, out, grad, &c);
    rl_product p = {.dtype = grad->dtype, .operands = &c, .pack_a = weight_pack_a, .pack_b = weight_pack_b};
    if (out->numel == 0) return RL_OK;
    c.channels = out->shape[1];
    p.out = rl_data(out, RL_WRITE);
    p.batches = c.groups;
    p.rows = out->shape[0] / c.groups;
    p.cols = c.channels * c.taps;
    p.depth = (grad->ndim > rl_window_of(k)->spatial + 1 ? grad->shape[0] : 1) * c.places;
    return rl_product_run(k, &p);
}

/* ---- by the bias ---- */
typedef struct {
    int dtype;
    double sum;
} channel_sum;

static void sum_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    channel_sum *s = (channel_sum *)ctx;
    double x[256];
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < 256 ? n - at : 256;
        rl_row_doubles(s->dtype, p[0] + at * step[0], step[0], m, x);
        for (int64_t i = 0; i < m; i++) s->sum += x[i];
    }
}

RL_KERNEL(ref_conv_bias) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    int dim = grad->ndim - (int)rl_window_of(k)->spatial - 1;
    char *to = rl_data(out, RL_WRITE);
    rl_walk w;
    rl_walk_begin(&w, grad, RL_READ);
    int64_t step = w.stride[0][dim];
    rl_walk_drop(&w, 1ull << dim);
    rl_walk_merge(&w);
    for (int64_t c = 0; c < out->numel; c++, w.base[0] += step) {
        channel_sum s = {.dtype = grad->dtype};
        if (w.numel) rl_walk_range(&w, 0, w.numel, sum_strip, &s);
        rl_row_put_double(out->dtype, to + c * rl_itemsize(out->dtype), s.sum);
    }
    return RL_OK;
}
