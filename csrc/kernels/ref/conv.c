/* Convolutions of one to three dimensions, transposed ones, and their gradients. */
#include "kernel_abi/window.h"
#include "gemm.h"
#include <string.h>

/* ---- what convolutions of one to three dimensions read from a call ---- */
/* Depth, height and width; what a row lacks has size 1. Steps in bytes. */
typedef struct {
    const char *x, *w, *y;
    int64_t groups, channels; /* input channels of a group */
    int64_t x_batch, x_channel, x_step[3], w_row, w_channel, w_step[3], y_batch, y_channel, y_step[3];
    int64_t size[3], out[3], kernel[3], pad[3], stride[3], dilation[3], taps, places; /* places: of out */
} rl_conv_nd;

/* number `at` of a block of these sizes as depth, height, width */
static inline void rl_conv_split(const int64_t sizes[3], int64_t number, int64_t at[3]) {
    at[2] = number % sizes[2];
    at[1] = number / sizes[2] % sizes[1];
    at[0] = number / sizes[2] / sizes[1];
}

/* Convolutions of one to three dimensions as a product: the patches of the input are packed panel by panel
 * and never stored whole. Transposed ones. */
static int64_t step_of(const rl_view *v, int dim) {
    return v->strides[dim] * rl_itemsize(v->dtype);
}

/* y: the output of the convolution, or its gradient */
static void rl_conv_nd_read(const rl_call *k, const rl_view *x, const rl_view *w, const rl_view *y,
                            rl_conv_nd *c) {
    const rl_window *a = rl_window_of(k);
    int n = (int)a->spatial, lead = x->ndim - n;
    c->x = rl_const_data(x);
    c->w = rl_const_data(w);
    c->y = rl_const_data(y);
    c->groups = a->groups;
    c->x_batch = lead == 2 ? step_of(x, 0) : 0;
    c->y_batch = lead == 2 ? step_of(y, 0) : 0;
    c->x_channel = step_of(x, lead - 1);
    c->y_channel = step_of(y, lead - 1);
    c->w_row = step_of(w, 0);
    c->w_channel = step_of(w, 1);
    c->taps = c->places = 1;
    for (int i = 0; i < 3; i++) {
        int at = i - (3 - n);
        c->size[i] = at < 0 ? 1 : x->shape[lead + at];
        c->out[i] = at < 0 ? 1 : y->shape[lead + at];
        c->kernel[i] = at < 0 ? 1 : w->shape[2 + at];
        c->x_step[i] = at < 0 ? 0 : step_of(x, lead + at);
        c->y_step[i] = at < 0 ? 0 : step_of(y, lead + at);
        c->w_step[i] = at < 0 ? 0 : step_of(w, 2 + at);
        c->pad[i] = a->before[i];
        c->stride[i] = a->stride[i];
        c->dilation[i] = a->dilation[i];
        c->taps *= c->kernel[i];
        c->places *= c->out[i];
    }
}

typedef struct {
    rl_conv_nd c;
    rl_iter weight; /* a row of weights: channels and the kernel's places */
} forward_job;
typedef struct {
    int dtype;
    void *panel;
    int64_t at;
} weight_line;

static void weight_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    weight_line *line = (weight_line *)ctx;
    rl_panel_row(line->dtype, p[0], step[0], n, line->panel, line->at);
    line->at += n;
}

static void conv_pack_a(const rl_ref_gemm *p, int64_t batch, int64_t row, int64_t rows, int64_t depth,
                        int64_t n, void *panel) {
    const forward_job *job = p->operands;
    rl_iter w = job->weight;
    for (int64_t r = 0; r < rows; r++) {
        weight_line line = {p->dtype, panel, r * RL_PANEL_DEPTH};
        w.base[0] = job->weight.base[0] + (batch % job->c.groups * p->rows + row + r) * job->c.w_row;
        rl_iter_range(&w, depth, depth + n, weight_loop, &line);
    }
}

/* outputs [from, to) of a row whose input, `offset` further, lies inside the picture */
static void inside(const rl_conv_nd *c, int64_t offset, int64_t *from, int64_t *to) {
    int64_t s = c->stride[2], first = offset < 0 ? (-offset + s - 1) / s : 0;
    int64_t last = c->size[2] - 1 - offset, end = last < 0 ? 0 : last / s + 1;
    if (*from < first) *from = first;
    if (*to > end) *to = end;
}

static void conv_pack_b(const rl_ref_gemm *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
                        int64_t cols, void *panel) {
    const rl_conv_nd *c = &((const forward_job *)p->operands)->c;
    const char *x = c->x + batch / c->groups * c->x_batch + batch % c->groups * c->channels * c->x_channel;
    int64_t item = p->dtype == RL_F64 || !rl_is_float(p->dtype) ? 8 : 4;
    for (int64_t d = 0; d < n; d++) {
        int64_t tap[3], width = c->out[2];
        rl_conv_split(c->kernel, (depth + d) % c->taps, tap);
        const char *plane = x + (depth + d) / c->taps * c->x_channel;
        memset((char *)panel + d * RL_PANEL_COLS * item, 0, (size_t)(cols * item));
        for (int64_t at = 0; at < cols;) {
            int64_t ow = (col + at) % width, row = (col + at) / width;
            int64_t left = width - ow < cols - at ? width - ow : cols - at, from = ow, to = ow + left;
            int64_t ih = row % c->out[1] * c->stride[1] - c->pad[1] + tap[1] * c->dilation[1];
            int64_t id = row / c->out[1] * c->stride[0] - c->pad[0] + tap[0] * c->dilation[0];
            int64_t offset = tap[2] * c->dilation[2] - c->pad[2];
            inside(c, offset, &from, &to);
            if (id >= 0 && id < c->size[0] && ih >= 0 && ih < c->size[1] && to > from)
                rl_panel_row(p->dtype,
                             plane + id * c->x_step[0] + ih * c->x_step[1] +
                                 (from * c->stride[2] + offset) * c->x_step[2],
                             c->stride[2] * c->x_step[2], to - from, panel,
                             d * RL_PANEL_COLS + at + from - ow);
            at += left;
        }
    }
}

/* integers: the product knows no bias for each row */
static void bias_add(rl_call *k, int64_t outputs, int64_t places) {
    const rl_view *bias = rl_in(k, 2), *out = k->out[0];
    char *p = rl_data(out, RL_WRITE);
    int64_t item = rl_itemsize(out->dtype);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t x, b;
        rl_row_ints(out->dtype, p + i * item, 0, 1, &x);
        rl_row_ints(out->dtype,
                    (const char *)rl_const_data(bias) + i / places % outputs * bias->strides[0] * item, 0, 1,
                    &b);
        x = RL_WRAP(x, +, b);
        rl_row_put_ints(out->dtype, p + i * item, 0, 1, &x);
    }
}

static rl_status conv_run(rl_call *k) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t;
    bool floats = rl_is_float(x->dtype);
    forward_job job;
    rl_conv_nd *c = &job.c;
    rl_conv_nd_read(k, x, w, k->out[0], c);
    c->channels = w->shape[1];
    rl_iter_begin(&job.weight, w, RL_READ);
    rl_iter_drop(&job.weight, 1);
    rl_iter_merge(&job.weight);
    rl_ref_gemm p = {.dtype = x->dtype, .operands = &job, .pack_a = conv_pack_a, .pack_b = conv_pack_b};
    p.bias = floats ? rl_in(k, 2) : NULL;
    p.bias_by_row = true;
    p.bias_groups = c->groups;
    p.out = rl_data(k->out[0], RL_WRITE);
    p.batches = (x->ndim > rl_window_of(k)->spatial + 1 ? x->shape[0] : 1) * c->groups;
    p.rows = w->shape[0] / c->groups;
    p.cols = c->out[0] * c->out[1] * c->out[2];
    p.depth = c->channels * c->taps;
    if (rl_ref_gemm_run(k, &p) != RL_OK) return RL_FAIL;
    if (!floats && rl_in(k, 2)) bias_add(k, w->shape[0], p.cols);
    return RL_OK;
}

RL_KERNEL(ref_conv1d) {
    return conv_run(k);
}
RL_KERNEL(ref_conv2d) {
    return conv_run(k);
}
RL_KERNEL(ref_conv3d) {
    return conv_run(k);
}

/* ---- transposed: each input element is spread over the outputs that its kernel reaches ---- */
typedef struct {
    rl_conv_nd c;
    const rl_view *bias;
    int dtype;
    int64_t outputs, places; /* channels of a group; elements of one of them */
    char *to;
    rl_rooms rooms; /* of each thread: a plane of sums, and a row of the input */
    int64_t sums, row;
} spread_job;

/* one row of the input, x[size], into the sums of one output channel */
static void spread_row(const rl_conv_nd *c, const double *x, int64_t id, int64_t ih, const char *w, int dtype,
                       double *sums) {
    for (int64_t tap = 0; tap < c->taps; tap++) {
        int64_t at[3];
        rl_conv_split(c->kernel, tap, at);
        int64_t od = id * c->stride[0] - c->pad[0] + at[0] * c->dilation[0];
        int64_t oh = ih * c->stride[1] - c->pad[1] + at[1] * c->dilation[1];
        int64_t offset = at[2] * c->dilation[2] - c->pad[2];
        if (od < 0 || od >= c->out[0] || oh < 0 || oh >= c->out[1]) continue;
        double weight =
            rl_row_double(dtype, w + at[0] * c->w_step[0] + at[1] * c->w_step[1] + at[2] * c->w_step[2]);
        double *row = sums + (od * c->out[1] + oh) * c->out[2];
        for (int64_t i = 0; i < c->size[2]; i++) {
            int64_t ow = i * c->stride[2] + offset;
            if (ow >= 0 && ow < c->out[2]) row[ow] += weight * x[i];
        }
    }
}

static void spread_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const spread_job *job = ctx;
    const rl_conv_nd *c = &job->c;
    int64_t all = job->outputs * c->groups, item = rl_itemsize(job->dtype);
    char *room = rl_room(&job->rooms, thread);
    double *sums = (double *)(room + job->sums), *x = (double *)(room + job->row);
    for (int64_t i = begin; i < end; i++) {
        int64_t batch = i / all, out = i % all, group = out / job->outputs;
        double start = job->bias ? rl_vector_at(job->bias, out) : 0;
        for (int64_t j = 0; j < job->places; j++) sums[j] = start;
        for (int64_t channel = group * c->channels; channel < (group + 1) * c->channels; channel++) {
            const char *plane = c->x + batch * c->x_batch + channel * c->x_channel;
            const char *w = c->w + channel * c->w_row + out % job->outputs * c->w_channel;
            for (int64_t row = 0; row < c->size[0] * c->size[1]; row++) {
                int64_t id = row / c->size[1], ih = row % c->size[1];
                rl_row_doubles(job->dtype, plane + id * c->x_step[0] + ih * c->x_step[1], c->x_step[2],
                               c->size[2], x);
                spread_row(c, x, id, ih, w, job->dtype, sums);
            }
        }
        rl_row_put_doubles(job->dtype, job->to + i * job->places * item, item, job->places, sums);
    }
}

static rl_layout spread_layout(const rl_call *k, spread_job *job) {
    rl_layout l = rl_layout_begin(k);
    job->sums = rl_layout_add(&l, RL_COUNT(job->places), sizeof(double));
    job->row = rl_layout_add(&l, RL_COUNT(job->c.size[2]), sizeof(double));
    return l;
}

RL_KERNEL(ref_conv_transpose) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t;
    spread_job job = {.bias = rl_in(k, 2), .dtype = x->dtype, .outputs = w->shape[1]};
    if (k->out[0]->numel == 0) return RL_OK;
    rl_conv_nd_read(k, x, w, k->out[0], &job.c);
    job.c.channels = w->shape[0] / job.c.groups;
    job.places = job.c.out[0] * job.c.out[1] * job.c.out[2];
    job.to = rl_data(k->out[0], RL_WRITE);
    const rl_layout l = spread_layout(k, &job);
    if (!k->svc->rooms(k, &l, k->threads, &job.rooms)) return RL_FAIL;
    k->svc->parallel(k, k->out[0]->numel / job.places, 100 * RL_REF_NS * (double)job.places, spread_part,
                     &job);
    return RL_OK;
}

/* Gradients of convolutions as products (Note [Blocked GEMM]); the operands are packed panel by panel.
 *
 *   by the input    rows: input channels   columns: input places     depth: output channels x taps
 *   by the weight   rows: output channels  columns: channels x taps  depth: images x output places */
static int64_t panel_item(int dtype) {
    return dtype == RL_F64 ? 8 : 4;
}

/* ---- by the input ---- */
static void input_pack_a(const rl_ref_gemm *p, int64_t batch, int64_t row, int64_t rows, int64_t depth,
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
static void input_row(const rl_ref_gemm *p, const char *row, int64_t tap, int64_t from, int64_t n,
                      void *panel, int64_t at) {
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

static void input_pack_b(const rl_ref_gemm *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
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
    rl_ref_gemm p = {.dtype = grad->dtype, .operands = &c, .pack_a = input_pack_a, .pack_b = input_pack_b};
    if (out->numel == 0) return RL_OK;
    p.out = rl_data(out, RL_WRITE);
    p.batches = (out->ndim > rl_window_of(k)->spatial + 1 ? out->shape[0] : 1) * c.groups;
    p.rows = w->shape[1];
    p.cols = c.size[0] * c.size[1] * c.size[2];
    p.depth = w->shape[0] / c.groups * c.taps;
    return rl_ref_gemm_run(k, &p);
}

/* ---- by the weight ---- */
/* Depth number `depth` is an output place of an image; answers how many of the next `most` follow in its row.
 */
static int64_t run_at(const rl_conv_nd *c, int64_t depth, int64_t most, int64_t *image, int64_t at[3]) {
    *image = depth / c->places;
    rl_conv_split(c->out, depth % c->places, at);
    return c->out[2] - at[2] < most ? c->out[2] - at[2] : most;
}

static void weight_pack_a(const rl_ref_gemm *p, int64_t batch, int64_t row, int64_t rows, int64_t depth,
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
static void weight_run(const rl_ref_gemm *p, const char *plane, const int64_t at[3], const int64_t tap[3],
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

static void weight_pack_b(const rl_ref_gemm *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
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
    rl_ref_gemm p = {.dtype = grad->dtype, .operands = &c, .pack_a = weight_pack_a, .pack_b = weight_pack_b};
    if (out->numel == 0) return RL_OK;
    c.channels = out->shape[1];
    p.out = rl_data(out, RL_WRITE);
    p.batches = c.groups;
    p.rows = out->shape[0] / c.groups;
    p.cols = c.channels * c.taps;
    p.depth = (grad->ndim > rl_window_of(k)->spatial + 1 ? grad->shape[0] : 1) * c.places;
    return rl_ref_gemm_run(k, &p);
}

/* ---- by the bias ---- */
typedef struct {
    int dtype;
    double sum;
} channel_sum;

static void sum_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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
    rl_iter w;
    rl_iter_begin(&w, grad, RL_READ);
    int64_t step = w.stride[0][dim];
    rl_iter_drop(&w, 1ull << dim);
    rl_iter_merge(&w);
    for (int64_t c = 0; c < out->numel; c++, w.base[0] += step) {
        channel_sum s = {.dtype = grad->dtype};
        if (w.numel) rl_iter_range(&w, 0, w.numel, sum_loop, &s);
        rl_row_put_double(out->dtype, to + c * rl_itemsize(out->dtype), s.sum);
    }
    return RL_OK;
}
