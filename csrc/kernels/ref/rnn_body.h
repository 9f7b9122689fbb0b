/* Steps of recurrent layers in plain loops, compiled for floats and doubles: the includer sets E and RNN(f),
 * what names get. A panel has WIDTH lanes, so that compilers find vectors. */
enum { RNN(WIDTH) = 8 };

static inline E RNN(sigmoid)(E x) {
    return 1 / (1 + RNN(exp_of)(-x));
}

/* sums[v][lane] of one row by one panel */
static inline void RNN(sums)(E sums[RL_RNN_WIDE][RNN(WIDTH)], const E *a, const E *panel, int64_t depth,
                             int vectors) {
    for (int v = 0; v < vectors; v++)
        for (int lane = 0; lane < RNN(WIDTH); lane++) sums[v][lane] = 0;
    for (int64_t d = 0; d < depth; d++)
        for (int v = 0; v < vectors; v++, panel += RNN(WIDTH))
            for (int lane = 0; lane < RNN(WIDTH); lane++) sums[v][lane] += a[d] * panel[lane];
}

/* unit j of a row, whose gates the state gave sums[.][lane] to; `own`: its state before */
static inline void RNN(unit)(const rl_rnn_step *s, int64_t row, int64_t j, E own, const E *gate) {
    const int64_t n = s->units, at = row * n + j;
    const E *x = (const E *)s->gates + row * n * rl_rnn_gates(s->mode) + j;
    E *saved = s->saved ? (E *)s->saved + row * n * rl_rnn_saved(s->mode) + j : NULL;
    E *hidden = (E *)s->hidden + at;
    if (s->mode == RL_RNN_LSTM) {
        const E in = RNN(sigmoid)(gate[0] + x[0]), forget = RNN(sigmoid)(gate[1] + x[n]);
        const E made = RNN(tanh_of)(gate[2] + x[2 * n]), out = RNN(sigmoid)(gate[3] + x[3 * n]);
        E *cell = (E *)s->cell + at;
        *cell = forget * *cell + in * made;
        *hidden = out * RNN(tanh_of)(*cell);
        if (saved) saved[0] = in, saved[n] = forget, saved[2 * n] = made, saved[3 * n] = out;
        if (saved) ((E *)s->saved_cells)[at] = *cell;
    } else if (s->mode == RL_RNN_GRU) {
        const E reset = RNN(sigmoid)(gate[0] + x[0]), update = RNN(sigmoid)(gate[1] + x[n]);
        const E made = RNN(tanh_of)(x[2 * n] + reset * gate[2]);
        *hidden = made + update * (own - made);
        if (saved) saved[0] = reset, saved[n] = update, saved[2 * n] = made, saved[3 * n] = gate[2];
    } else {
        const E sum = gate[0] + x[0];
        *hidden = s->mode == RL_RNN_TANH ? RNN(tanh_of)(sum) : sum < 0 ? 0 : sum;
    }
}

static void RNN(step)(const rl_rnn_step *s, int64_t p0, int64_t p1) {
    enum { WIDTH = RNN(WIDTH) };
    const int gates = rl_rnn_gates(s->mode), vectors = gates > 1 ? gates : RL_RNN_WIDE;
    const int64_t step = (int64_t)vectors * WIDTH * s->depth, units = gates > 1 ? WIDTH : WIDTH * RL_RNN_WIDE;
    const E *bias = s->bias;
    for (int64_t p = p0; p < p1; p++)
        for (int64_t row = 0; row < s->rows; row++) {
            E sums[RL_RNN_WIDE][WIDTH];
            const E *state = (const E *)s->state + row * s->depth;
            RNN(sums)(sums, state, (const E *)s->weights + p * step, s->depth, vectors);
            for (int64_t i = 0; i < units && p * units + i < s->units; i++) {
                const int64_t j = p * units + i;
                E gate[RL_RNN_WIDE];
                for (int v = 0; v < gates; v++)
                    gate[v] = (gates > 1 ? sums[v][i] : sums[i / WIDTH][i % WIDTH]) +
                              (bias ? bias[v * s->units + j] : 0);
                RNN(unit)(s, row, j, gates == 3 ? state[j] : 0, gate);
            }
        }
}

static void RNN(product)(const rl_rnn_product *t, int64_t p0, int64_t p1) {
    enum { WIDTH = RNN(WIDTH), UNITS = WIDTH * RL_RNN_WIDE };
    for (int64_t p = p0; p < p1; p++)
        for (int64_t row = 0; row < t->rows; row++) {
            E sums[RL_RNN_WIDE][WIDTH], *c = (E *)t->c + row * t->n + p * UNITS;
            RNN(sums)(sums, (const E *)t->a + row * t->depth, (const E *)t->weights + p * UNITS * t->depth,
                      t->depth, RL_RNN_WIDE);
            for (int64_t i = 0; i < UNITS && p * UNITS + i < t->n; i++)
                c[i] = sums[i / WIDTH][i % WIDTH] + (t->add ? c[i] : 0);
        }
}

static void RNN(slopes_lstm)(const rl_rnn_slopes *s) {
    const E *grad = s->grad, *gate = s->saved, *cell = s->cell, *before = s->before, *more = s->more_saved;
    const E *more_cell = s->more_cell;
    E *to = s->gates, *by = s->by_before;
    const int64_t n = s->units;
    for (int64_t j = 0; j < n; j++) {
        const E in = gate[j], forget = gate[n + j], made = gate[2 * n + j], out = gate[3 * n + j];
        const E bent = RNN(tanh_of)(cell[j]);
        const E by_cell = by[j] + grad[j] * out * (1 - bent * bent) + (more_cell ? more_cell[j] : 0);
        const E slope[4] = {by_cell * made, by_cell * before[j], by_cell * in, grad[j] * bent};
        const E curve[4] = {in * (1 - in), forget * (1 - forget), 1 - made * made, out * (1 - out)};
        for (int v = 0; v < 4; v++) to[v * n + j] = (slope[v] + (more ? more[v * n + j] : 0)) * curve[v];
        by[j] = by_cell * forget;
    }
}

static void RNN(slopes_gru)(const rl_rnn_slopes *s) {
    const E *grad = s->grad, *gate = s->saved, *before = s->before, *more = s->more_saved;
    E *to = s->gates, *hidden = s->hidden_gates, *by = s->by_before;
    const int64_t n = s->units;
    for (int64_t j = 0; j < n; j++) {
        const E reset = gate[j], update = gate[n + j], made = gate[2 * n + j], given = gate[3 * n + j];
        const E made_by = (grad[j] * (1 - update) + (more ? more[2 * n + j] : 0)) * (1 - made * made);
        const E reset_by = (made_by * given + (more ? more[j] : 0)) * reset * (1 - reset);
        const E update_by = (grad[j] * (before[j] - made) + (more ? more[n + j] : 0)) * update * (1 - update);
        to[j] = hidden[j] = reset_by, to[n + j] = hidden[n + j] = update_by, to[2 * n + j] = made_by;
        hidden[2 * n + j] = made_by * reset + (more ? more[3 * n + j] : 0);
        by[j] = grad[j] * update;
    }
}

static void RNN(slopes)(const rl_rnn_slopes *s) {
    const E *grad = s->grad, *output = s->cell;
    E *to = s->gates;
    if (s->mode == RL_RNN_LSTM) {
        RNN(slopes_lstm)(s);
    } else if (s->mode == RL_RNN_GRU) {
        RNN(slopes_gru)(s);
    } else {
        for (int64_t j = 0; j < s->units; j++)
            to[j] = s->mode == RL_RNN_TANH ? grad[j] * (1 - output[j] * output[j])
                    : output[j] > 0        ? grad[j]
                                           : 0;
    }
}
static const rl_rnn_kit RNN(kit) = {RNN(WIDTH), 1, 1.0, RNN(step), RNN(product), RNN(slopes)};
#undef E
#undef RNN
