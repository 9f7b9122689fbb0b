/* Recurrent layers, forward and backward: Note [Steps of a layer] in rnn.h. */
#include "rnn.h"
#include <string.h>

/* Recurrent layers: Note [Steps of a layer] in rnn.h. Here what both directions stand on, and forward. */
/* ---- the arguments ---- */
bool rl_rnn_read(rl_call *k, rl_rnn *r, const rl_view *rows, int state, int projection, int sizes, int mode) {
    const rl_view *weight = rl_in(k, state + 2), *narrow = rl_in(k, projection);
    const rl_ints list = rl_ints_of(k, sizes);
    const bool packed = k->arg[sizes].tag != RL_NONE;
    r->mode = (int)k->arg[mode].u.i, r->reverse = k->arg[mode + 1].u.i;
    r->item = (int)rl_itemsize(rows->dtype);
    r->steps = packed ? list.n : rows->shape[0];
    r->batch = rl_in(k, state)->shape[0];
    r->units = weight->shape[0] / rl_rnn_gates(r->mode);
    r->out = narrow ? narrow->shape[0] : r->units;
    r->at = k->svc->scratch(k, rl_count_plus(RL_COUNT(r->steps), 1), sizeof *r->at);
    if (!r->at) return false;
    r->at[0] = 0;
    for (int64_t t = 0; t < r->steps; t++) r->at[t + 1] = r->at[t] + (packed ? list.at[t] : r->batch);
    return true;
}

static void copy_row(char *to, const char *from, int64_t n, int64_t step, int item) {
    if (step == 1)
        memcpy(to, from, (size_t)(n * item));
    else if (item == sizeof(float))
        for (int64_t i = 0; i < n; i++) ((float *)to)[i] = ((const float *)from)[i * step];
    else
        for (int64_t i = 0; i < n; i++) ((double *)to)[i] = ((const double *)from)[i * step];
}

/* of at most three dimensions */
void rl_rnn_fill(char *to, const rl_view *v, int item) {
    if (!v || !v->numel) return;
    const int n = v->ndim;
    const int64_t last = v->shape[n - 1], rows = n > 1 ? v->shape[n - 2] : 1, outer = n > 2 ? v->shape[0] : 1;
    const int64_t row = n > 1 ? v->strides[n - 2] : 0, step = n > 2 ? v->strides[0] : 0;
    const char *from = rl_const_data(v);
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < rows; j++, to += last * item)
            copy_row(to, from + (i * step + j * row) * item, last, v->strides[n - 1], item);
}

const char *rl_rnn_dense(rl_call *k, const rl_view *v) {
    if (!v || rl_is_contiguous(v)) return v ? rl_const_data(v) : NULL;
    const size_t item = (size_t)rl_itemsize(v->dtype);
    char *to = k->svc->scratch(k, RL_COUNT(v->numel), item);
    if (to) rl_rnn_fill(to, v, (int)item);
    return to;
}

/* ---- panels ---- */
int64_t rl_rnn_panel_count(const rl_rnn_ukernel *ukernel, const rl_rnn_panels *p) {
    const int64_t units = p->gates > 1 ? ukernel->width : ukernel->width * RL_RNN_WIDE;
    return (p->units + units - 1) / units;
}

/* A run of units goes along the inner loop, whichever way the weight lies; units beyond the last are 0. */
#define PACK(E)                                                                                              \
    static void pack_##E(E *to, const E *from, const rl_rnn_panels *p, int64_t panels, int width) {          \
        const int vectors = p->gates > 1 ? p->gates : RL_RNN_WIDE;                                           \
        const int64_t gate = p->gates > 1 ? p->units * p->unit_step : 0, step = (int64_t)vectors * width;    \
        for (int64_t i = 0; i < panels * vectors; i++) {                                                     \
            const int64_t unit = (p->gates > 1 ? i / vectors : i) * width, left = p->units - unit;           \
            const E *at = from + i % vectors * gate + unit * p->unit_step;                                   \
            const int lanes = left < 0 ? 0 : left < width ? (int)left : width;                               \
            E *row = to + i / vectors * p->depth * step + i % vectors * width;                               \
            for (int64_t d = 0; d < p->depth; d++, row += step, at += p->depth_step) {                       \
                for (int lane = 0; lane < lanes; lane++) row[lane] = at[lane * p->unit_step];                \
                for (int lane = lanes; lane < width; lane++) row[lane] = 0;                                  \
            }                                                                                                \
        }                                                                                                    \
    }
PACK(float)
PACK(double)

const void *rl_rnn_packed(rl_call *k, const rl_rnn_ukernel *ukernel, const rl_view *w, const rl_rnn_panels *p,
                          int use) {
    enum { KEY_RNN = 0x2a };
    const uint64_t key =
        KEY_RNN << 16 | (unsigned)ukernel->width << 8 | (unsigned)p->gates << 4 | (unsigned)use;
    const int64_t panels = rl_rnn_panel_count(ukernel, p), vectors = p->gates > 1 ? p->gates : RL_RNN_WIDE;
    const rl_count n = RL_COUNT(panels, vectors, ukernel->width, p->depth);
    const size_t item = (size_t)rl_itemsize(w->dtype);
    void *to = k->svc->packed_find(k, w, key);
    if (to) return to;
    to = k->svc->packed_new(k, w, key, n, item);
    const bool kept = to != NULL;
    if (!kept) to = k->svc->scratch(k, n, item);
    if (!to) return NULL;
    if (item == sizeof(float))
        pack_float(to, rl_const_data(w), p, panels, ukernel->width);
    else
        pack_double(to, rl_const_data(w), p, panels, ukernel->width);
    if (kept) k->svc->packed_ready(k, w, key);
    return to;
}

/* ---- steps ---- */
typedef struct {
    const rl_rnn_plan *plan;
    int64_t t, rows; /* rows: of an item */
    int phase;
} run;

static int64_t step_rows(const rl_rnn *r, int64_t t) {
    return r->at[t + 1] - r->at[t];
}
static int64_t step_at(const rl_rnn_plan *plan, int64_t i) {
    return plan->backward != plan->r->reverse ? plan->r->steps - 1 - i : i;
}

/* items are rows of the batch: all steps */
static void run_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const run *c = ctx;
    const rl_rnn_plan *plan = c->plan;
    (void)thread;
    for (int64_t item = begin; item < end; item++)
        for (int64_t i = 0; i < plan->r->steps; i++) {
            const int64_t t = step_at(plan, i), there = step_rows(plan->r, t);
            const int64_t b0 = item * c->rows, b1 = b0 + c->rows < there ? b0 + c->rows : there;
            for (int n = 0; n < plan->n && b0 < b1; n++)
                plan->phase[n].run(plan->ctx, t, b0, b1, 0, plan->phase[n].panels);
        }
}

/* items are panels: one phase of one step */
static void run_panels(void *ctx, int64_t begin, int64_t end, int thread) {
    const run *c = ctx;
    (void)thread;
    c->plan->phase[c->phase].run(c->plan->ctx, c->t, 0, step_rows(c->plan->r, c->t), begin, end);
}

void rl_rnn_run(rl_call *k, const rl_rnn_plan *plan) {
    const rl_rnn *r = plan->r;
    run c = {plan, 0, 0, 0};
    double work = 0;
    for (int n = 0; n < plan->n; n++) work += plan->phase[n].work;
    if (r->batch >= k->threads && r->batch) {
        const int64_t tile = plan->ukernel->rows, share = (r->batch + k->threads - 1) / k->threads;
        const int64_t parts = share < 4 * tile ? 1 : share / (2 * tile);
        c.rows = (share + parts - 1) / parts;
        const double ns = work * plan->ukernel->ns * (double)c.rows * (double)r->steps;
        k->svc->parallel(k, (r->batch + c.rows - 1) / c.rows, ns, run_rows, &c);
        return;
    }
    for (int64_t i = 0; i < r->steps; i++) {
        c.t = step_at(plan, i);
        for (c.phase = 0; c.phase < plan->n; c.phase++) {
            const int64_t panels = plan->phase[c.phase].panels;
            const double each = plan->phase[c.phase].work * (double)step_rows(r, c.t) / (double)panels;
            k->svc->parallel(k, panels, each * plan->ukernel->ns, run_panels, &c);
        }
    }
}

/* ---- forward ---- */
typedef struct {
    rl_rnn r;
    const rl_rnn_ukernel *ukernel;
    int64_t gates; /* of a row */
    const char *x, *bias;
    const void *weights, *projection;
    char *output, *last, *cell, *hidden, *saved, *cells; /* hidden: of each row before it is projected */
} forward;

static char *row_of(char *base, int64_t row, int64_t n, int item) {
    return base ? base + row * n * item : NULL;
}

static void step(const void *ctx, int64_t t, int64_t b0, int64_t b1, int64_t p0, int64_t p1) {
    const forward *f = ctx;
    const rl_rnn *r = &f->r;
    const int64_t row = r->at[t] + b0, n = r->units;
    const int item = r->item;
    const rl_rnn_step s = {.mode = r->mode,
                           .rows = b1 - b0,
                           .units = n,
                           .depth = r->out,
                           .state = row_of(f->last, b0, r->out, item),
                           .weights = f->weights,
                           .bias = f->bias,
                           .gates = f->x + row * f->gates * item,
                           .cell = row_of(f->cell, b0, n, item),
                           .hidden =
                               f->hidden ? row_of(f->hidden, b0, n, item) : row_of(f->output, row, n, item),
                           .saved = row_of(f->saved, row, rl_rnn_saved(r->mode) * n, item),
                           .saved_cells = row_of(f->cells, row, n, item)};
    f->ukernel->step(&s, p0, p1);
}

static void project(const void *ctx, int64_t t, int64_t b0, int64_t b1, int64_t p0, int64_t p1) {
    const forward *f = ctx;
    const rl_rnn *r = &f->r;
    const rl_rnn_gemm p = {.rows = b1 - b0,
                           .depth = r->units,
                           .n = r->out,
                           .a = row_of(f->hidden, b0, r->units, r->item),
                           .weights = f->projection,
                           .c = row_of(f->output, r->at[t] + b0, r->out, r->item)};
    f->ukernel->product(&p, p0, p1);
}

/* the output is the next step's state */
static void keep(const void *ctx, int64_t t, int64_t b0, int64_t b1, int64_t p0, int64_t p1) {
    const forward *f = ctx;
    const rl_rnn *r = &f->r;
    (void)p0, (void)p1;
    memcpy(row_of(f->last, b0, r->out, r->item), row_of(f->output, r->at[t] + b0, r->out, r->item),
           (size_t)((b1 - b0) * r->out * r->item));
}

static bool pack_weights(rl_call *k, forward *f, rl_rnn_panels *narrow, rl_rnn_panels *wide) {
    const rl_view *w = rl_in(k, RL_RNN_WEIGHT), *p = rl_in(k, RL_RNN_PROJECTION);
    const rl_rnn *r = &f->r;
    const size_t item = (size_t)r->item;
    *wide = (rl_rnn_panels){r->units, r->out, w->strides[0], w->strides[1], rl_rnn_gates(r->mode)};
    f->weights = rl_rnn_packed(k, f->ukernel, w, wide, 0);
    if (!p) return f->weights != NULL;
    *narrow = (rl_rnn_panels){r->out, r->units, p->strides[0], p->strides[1], 1};
    f->projection = rl_rnn_packed(k, f->ukernel, p, narrow, 0);
    f->hidden = k->svc->scratch(k, RL_COUNT(r->batch, r->units), item);
    return f->weights && f->projection && f->hidden;
}

rl_status rl_rnn_forward(rl_call *k, const rl_rnn_ukernel *ukernel) {
    const rl_view *x = rl_in(k, RL_RNN_GATES), *bias = rl_in(k, RL_RNN_BIAS);
    forward f = {.ukernel = ukernel};
    rl_rnn_panels narrow = {0}, wide;
    if (!rl_rnn_read(k, &f.r, x, RL_RNN_STATE, RL_RNN_PROJECTION, RL_RNN_SIZES, RL_RNN_MODE)) return RL_FAIL;
    const rl_rnn *r = &f.r;
    f.gates = r->units * rl_rnn_gates(r->mode);
    f.output = rl_data(k->out[0], RL_FRESH), f.last = rl_data(k->out[1], RL_FRESH);
    if (r->mode == RL_RNN_LSTM) f.cell = rl_data(k->out[2], RL_FRESH);
    const bool keeps = k->arg[RL_RNN_KEEP].u.i;
    if (keeps && rl_rnn_saved(r->mode)) f.saved = rl_data(k->out[3], RL_FRESH);
    if (keeps && f.cell) f.cells = rl_data(k->out[4], RL_FRESH);
    rl_rnn_fill(f.last, rl_in(k, RL_RNN_STATE), r->item);
    if (f.cell) rl_rnn_fill(f.cell, rl_in(k, RL_RNN_CELL), r->item);
    if (x->numel == 0) return RL_OK;
    f.x = rl_rnn_dense(k, x), f.bias = rl_rnn_dense(k, bias);
    if (!f.x || (bias && !f.bias) || !pack_weights(k, &f, &narrow, &wide)) return RL_FAIL;
    const double work = (double)f.gates * (double)r->out + 100.0 * (double)r->units;
    rl_rnn_plan plan = {.r = r, .ukernel = ukernel, .ctx = &f};
    plan.phase[plan.n].run = step, plan.phase[plan.n].work = work;
    plan.phase[plan.n++].panels = rl_rnn_panel_count(ukernel, &wide);
    if (f.projection) {
        plan.phase[plan.n].run = project, plan.phase[plan.n].work = (double)r->units * (double)r->out;
        plan.phase[plan.n++].panels = rl_rnn_panel_count(ukernel, &narrow);
    }
    plan.phase[plan.n].run = keep, plan.phase[plan.n++].panels = 1;
    rl_rnn_run(k, &plan);
    return RL_OK;
}

/* The gradient of a recurrent layer, step after step from the last: Note [Steps of a layer] in rnn.h. */
typedef struct {
    rl_rnn r;
    const rl_rnn_ukernel *ukernel;
    int64_t n_gates, n_saved;
    const char *by_output, *by_saved, *by_cells, *state, *cell, *output, *saved, *cells;
    const void *weights, *projection;
    char *gates, *hidden_gates, *by_state, *by_cell, *before, *total; /* total: of what was projected */
    char *grad; /* (batch, units): of the new state before it is projected */
} backward;

static char *at(const char *base, int64_t row, int64_t n, int item) {
    return base ? (char *)base + row * n * item : NULL;
}

/* row b of the step before t: of the outputs of all steps, else of what the layer began with */
static const char *row_before(const backward *g, int64_t t, int64_t b, const char *all, const char *first,
                              int64_t n) {
    const rl_rnn *r = &g->r;
    const int64_t s = r->reverse ? t + 1 : t - 1;
    const bool there = s >= 0 && s < r->steps && b < r->at[s + 1] - r->at[s];
    return there ? at(all, r->at[s] + b, n, r->item) : at(first, b, n, r->item);
}

static void add_row(char *to, const char *a, const char *b, int64_t n, int item) {
    if (item == sizeof(float))
        for (int64_t i = 0; i < n; i++) ((float *)to)[i] = ((const float *)a)[i] + ((const float *)b)[i];
    else
        for (int64_t i = 0; i < n; i++) ((double *)to)[i] = ((const double *)a)[i] + ((const double *)b)[i];
}

/* the gradient of the new state: from later steps and from the output */
static void gather(const void *ctx, int64_t t, int64_t b0, int64_t b1, int64_t p0, int64_t p1) {
    const backward *g = ctx;
    const rl_rnn *r = &g->r;
    const int64_t n = r->out;
    (void)p0, (void)p1;
    for (int64_t b = b0; b < b1; b++) {
        const int64_t row = r->at[t] + b;
        char *to = g->total ? at(g->total, row, n, r->item) : at(g->grad, b, n, r->item);
        add_row(to, at(g->by_state, b, n, r->item), at(g->by_output, row, n, r->item), n, r->item);
        memcpy(at(g->before, row, n, r->item), row_before(g, t, b, g->output, g->state, n),
               (size_t)(n * r->item));
    }
    if (!g->total) return;
    const rl_rnn_gemm p = {.rows = b1 - b0,
                           .depth = n,
                           .n = r->units,
                           .a = at(g->total, r->at[t] + b0, n, r->item),
                           .weights = g->projection,
                           .c = at(g->grad, b0, r->units, r->item)};
    const rl_rnn_panels panels = {.units = r->units, .gates = 1};
    g->ukernel->product(&p, 0, rl_rnn_panel_count(g->ukernel, &panels));
}

static void slopes(const void *ctx, int64_t t, int64_t b0, int64_t b1, int64_t p0, int64_t p1) {
    const backward *g = ctx;
    const rl_rnn *r = &g->r;
    const int64_t n = r->units;
    const int item = r->item;
    const bool lstm = r->mode == RL_RNN_LSTM, gru = r->mode == RL_RNN_GRU;
    gather(ctx, t, b0, b1, p0, p1);
    for (int64_t b = b0; b < b1; b++) {
        const int64_t row = r->at[t] + b;
        const rl_rnn_slopes s = {.mode = r->mode,
                                 .units = n,
                                 .grad = at(g->grad, b, n, item),
                                 .saved = at(g->saved, row, g->n_saved, item),
                                 .cell = at(lstm ? g->cells : g->output, row, n, item),
                                 .before = lstm ? row_before(g, t, b, g->cells, g->cell, n)
                                                : at(g->before, row, n, item),
                                 .more_saved = at(g->by_saved, row, g->n_saved, item),
                                 .more_cell = at(g->by_cells, row, n, item),
                                 .gates = at(g->gates, row, g->n_gates, item),
                                 .hidden_gates = at(g->hidden_gates, row, g->n_gates, item),
                                 .by_before = at(gru ? g->by_state : g->by_cell, b, n, item)};
        g->ukernel->slopes(&s);
    }
}

/* back through the weight of the state; of a GRU some of it went straight to the state before */
static void turn(const void *ctx, int64_t t, int64_t b0, int64_t b1, int64_t p0, int64_t p1) {
    const backward *g = ctx;
    const rl_rnn *r = &g->r;
    const char *from = g->hidden_gates ? g->hidden_gates : g->gates;
    const rl_rnn_gemm p = {.rows = b1 - b0,
                           .depth = g->n_gates,
                           .n = r->out,
                           .a = at(from, r->at[t] + b0, g->n_gates, r->item),
                           .weights = g->weights,
                           .c = at(g->by_state, b0, r->out, r->item),
                           .add = r->mode == RL_RNN_GRU};
    g->ukernel->product(&p, p0, p1);
}

static void begin(char *to, const rl_view *from, const rl_view *like, int item) {
    if (from)
        rl_rnn_fill(to, from, item);
    else if (like->numel)
        memset(to, 0, (size_t)(like->numel * item));
}

/* dense views of what may be there; false without memory */
static bool read_inputs(rl_call *k, backward *g) {
    const struct {
        const char **to;
        int arg;
    } all[] = {{&g->by_output, RL_RNN_BY_OUTPUT}, {&g->by_saved, RL_RNN_BY_SAVED},
               {&g->by_cells, RL_RNN_BY_CELLS},   {&g->state, RL_RNN_BACK_STATE},
               {&g->cell, RL_RNN_BACK_CELL},      {&g->output, RL_RNN_BACK_OUTPUT},
               {&g->saved, RL_RNN_BACK_SAVED},    {&g->cells, RL_RNN_BACK_CELLS}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const rl_view *v = rl_in(k, all[i].arg);
        *all[i].to = rl_rnn_dense(k, v);
        if (v && v->numel && !*all[i].to) return false;
    }
    return true;
}

static bool pack_backward(rl_call *k, backward *g, rl_rnn_panels *wide) {
    const rl_view *w = rl_in(k, RL_RNN_BACK_WEIGHT), *p = rl_in(k, RL_RNN_BACK_PROJECTION);
    const rl_rnn *r = &g->r;
    const size_t item = (size_t)r->item;
    *wide = (rl_rnn_panels){r->out, g->n_gates, w->strides[1], w->strides[0], 1};
    g->weights = rl_rnn_packed(k, g->ukernel, w, wide, 1);
    g->grad = k->svc->scratch(k, RL_COUNT(r->batch, r->units), item);
    if (!g->weights || !g->grad || !p) return g->weights && g->grad;
    const rl_rnn_panels narrow = {r->units, r->out, p->strides[1], p->strides[0], 1};
    g->projection = rl_rnn_packed(k, g->ukernel, p, &narrow, 1);
    g->total = rl_data(k->out[5], RL_FRESH);
    return g->projection != NULL;
}

rl_status rl_rnn_backward(rl_call *k, const rl_rnn_ukernel *ukernel) {
    backward g = {.ukernel = ukernel};
    rl_rnn_panels wide;
    if (!rl_rnn_read(k, &g.r, rl_in(k, RL_RNN_BACK_OUTPUT), RL_RNN_BACK_STATE, RL_RNN_BACK_PROJECTION,
                     RL_RNN_BACK_SIZES, RL_RNN_BACK_MODE))
        return RL_FAIL;
    const rl_rnn *r = &g.r;
    g.n_gates = r->units * rl_rnn_gates(r->mode), g.n_saved = r->units * rl_rnn_saved(r->mode);
    g.gates = rl_data(k->out[0], RL_FRESH), g.by_state = rl_data(k->out[2], RL_FRESH);
    g.before = rl_data(k->out[4], RL_FRESH);
    if (r->mode == RL_RNN_GRU) g.hidden_gates = rl_data(k->out[1], RL_FRESH);
    if (r->mode == RL_RNN_LSTM) g.by_cell = rl_data(k->out[3], RL_FRESH);
    begin(g.by_state, rl_in(k, RL_RNN_BY_STATE), k->out[2], r->item);
    if (g.by_cell) begin(g.by_cell, rl_in(k, RL_RNN_BY_CELL), k->out[3], r->item);
    if (k->out[0]->numel == 0) return RL_OK;
    if (!read_inputs(k, &g) || !pack_backward(k, &g, &wide)) return RL_FAIL;
    const double product = (double)g.n_gates * (double)r->out;
    const rl_rnn_plan plan = {
        .r = r,
        .ukernel = ukernel,
        .ctx = &g,
        .backward = true,
        .n = 2,
        .phase = {{slopes, 1, 100.0 * (double)r->units + (double)(g.total ? r->units * r->out : 0)},
                  {turn, rl_rnn_panel_count(ukernel, &wide), product}}};
    rl_rnn_run(k, &plan);
    return RL_OK;
}
