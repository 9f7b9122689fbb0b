/* The gradient of a recurrent layer, step after step from the last: Note [Steps of a layer] in rnn.h. */
#include "rnn.h"
#include <string.h>

typedef struct {
    rl_rnn r;
    const rl_rnn_kit *kit;
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
    const rl_rnn_product p = {.rows = b1 - b0,
                              .depth = n,
                              .n = r->units,
                              .a = at(g->total, r->at[t] + b0, n, r->item),
                              .weights = g->projection,
                              .c = at(g->grad, b0, r->units, r->item)};
    const rl_rnn_panels panels = {.units = r->units, .gates = 1};
    g->kit->product(&p, 0, rl_rnn_panel_count(g->kit, &panels));
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
        g->kit->slopes(&s);
    }
}

/* back through the weight of the state; of a GRU some of it went straight to the state before */
static void turn(const void *ctx, int64_t t, int64_t b0, int64_t b1, int64_t p0, int64_t p1) {
    const backward *g = ctx;
    const rl_rnn *r = &g->r;
    const char *from = g->hidden_gates ? g->hidden_gates : g->gates;
    const rl_rnn_product p = {.rows = b1 - b0,
                              .depth = g->n_gates,
                              .n = r->out,
                              .a = at(from, r->at[t] + b0, g->n_gates, r->item),
                              .weights = g->weights,
                              .c = at(g->by_state, b0, r->out, r->item),
                              .add = r->mode == RL_RNN_GRU};
    g->kit->product(&p, p0, p1);
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

static bool pack_weights(rl_call *k, backward *g, rl_rnn_panels *wide) {
    const rl_view *w = rl_in(k, RL_RNN_BACK_WEIGHT), *p = rl_in(k, RL_RNN_BACK_PROJECTION);
    const rl_rnn *r = &g->r;
    const size_t item = (size_t)r->item;
    *wide = (rl_rnn_panels){r->out, g->n_gates, w->strides[1], w->strides[0], 1};
    g->weights = rl_rnn_packed(k, g->kit, w, wide, 1);
    g->grad = k->svc->scratch(k, RL_COUNT(r->batch, r->units), item);
    if (!g->weights || !g->grad || !p) return g->weights && g->grad;
    const rl_rnn_panels narrow = {r->units, r->out, p->strides[1], p->strides[0], 1};
    g->projection = rl_rnn_packed(k, g->kit, p, &narrow, 1);
    g->total = rl_data(k->out[5], RL_FRESH);
    return g->projection != NULL;
}

rl_status rl_rnn_backward(rl_call *k, const rl_rnn_kit *kit) {
    backward g = {.kit = kit};
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
    if (!read_inputs(k, &g) || !pack_weights(k, &g, &wide)) return RL_FAIL;
    const double product = (double)g.n_gates * (double)r->out;
    const rl_rnn_plan plan = {
        .r = r,
        .kit = kit,
        .ctx = &g,
        .backward = true,
        .n = 2,
        .phase = {{slopes, 1, 100.0 * (double)r->units + (double)(g.total ? r->units * r->out : 0)},
                  {turn, rl_rnn_panel_count(kit, &wide), product}}};
    rl_rnn_run(k, &plan);
    return RL_OK;
}
