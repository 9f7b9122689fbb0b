/* Convolutions of one to three dimensions as a product: the patches of the input are packed panel by panel
 * and never stored whole. Transposed ones. */
#include "conv.h"
#include <string.h>

static int64_t step_of(const rl_view *v, int dim) {
    return v->strides[dim] * rl_itemsize(v->dtype);
}

void rl_conv_nd_read(const rl_call *k, const rl_view *x, const rl_view *w, const rl_view *y, rl_conv_nd *c) {
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
    rl_walk weight; /* a row of weights: channels and the kernel's places */
} forward_job;
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
    const forward_job *job = p->operands;
    rl_walk w = job->weight;
    for (int64_t r = 0; r < rows; r++) {
        weight_line line = {p->dtype, panel, r * RL_PANEL_DEPTH};
        w.base[0] = job->weight.base[0] + (batch % job->c.groups * p->rows + row + r) * job->c.w_row;
        rl_walk_range(&w, depth, depth + n, weight_strip, &line);
    }
}

/* outputs [from, to) of a row whose input, `offset` further, lies inside the picture */
static void inside(const rl_conv_nd *c, int64_t offset, int64_t *from, int64_t *to) {
    int64_t s = c->stride[2], first = offset < 0 ? (-offset + s - 1) / s : 0;
    int64_t last = c->size[2] - 1 - offset, end = last < 0 ? 0 : last / s + 1;
    if (*from < first) *from = first;
    if (*to > end) *to = end;
}

static void conv_pack_b(const rl_product *p, int64_t batch, int64_t depth, int64_t n, int64_t col,
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
    rl_walk_begin(&job.weight, w, RL_READ);
    rl_walk_drop(&job.weight, 1);
    rl_walk_merge(&job.weight);
    rl_product p = {.dtype = x->dtype, .operands = &job, .pack_a = conv_pack_a, .pack_b = conv_pack_b};
    p.bias = floats ? rl_in(k, 2) : NULL;
    p.bias_by_row = true;
    p.bias_groups = c->groups;
    p.out = rl_data(k->out[0], RL_WRITE);
    p.batches = (x->ndim > rl_window_of(k)->spatial + 1 ? x->shape[0] : 1) * c->groups;
    p.rows = w->shape[0] / c->groups;
    p.cols = c->out[0] * c->out[1] * c->out[2];
    p.depth = c->channels * c->taps;
    if (rl_product_run(k, &p) != RL_OK) return RL_FAIL;
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
