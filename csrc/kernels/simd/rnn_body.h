/* Steps of recurrent layers in vectors, compiled once for each instruction set and for doubles: the includer
 * sets SIMD_BITS and SIMD_DOUBLE (kernels/simd/isa.h). Counts of rows, panels and vectors are constants after
 * inlining. */
#if SIMD_BITS == 256
#define RNN_ROWS 3
#else
#define RNN_ROWS 6
#endif
#define RNN_DEEP 128            /* depth of a panel's block, which stays in the first cache */
#define RNN_MANY (8 * RNN_ROWS) /* rows whose sums wait for the next block */

#ifdef SIMD_DOUBLE
V_INLINE VF V_NAME(rnn_sigmoid)(VF x) {
    const VF one = v_set(1);
    return v_div(one, v_add(one, V_NAME(math_exp)(v_sub(v_zero(), x))));
}
/* 1 - 2 / (1 + e^2x), and near 0, where that cancels, Taylor's series; a NaN stays */
V_INLINE VF V_NAME(rnn_tanh)(VF x) {
    const VF one = v_set(1), square = v_mul(x, x);
    VF far = v_sub(one, v_div(v_set(2), v_add(one, V_NAME(math_exp)(v_add(x, x)))));
    VF p = v_set(rnn_tanh_series[7]);
    V_UNROLL
    for (int i = 6; i >= 0; i--) p = v_fma(p, square, v_set(rnn_tanh_series[i]));
    return v_pick(v_is_less(v_abs(x), v_set(0.15)), v_fma(v_mul(x, square), p, x), far);
}
#else
V_INLINE VF V_NAME(rnn_sigmoid)(VF x) {
    return V_NAME(math_sigmoid)(x);
}
V_INLINE VF V_NAME(rnn_tanh)(VF x) {
    return V_NAME(math_tanh)(x);
}
#endif

/* ---- sums ---- */
typedef struct {
    const V_ELEMENT *a, *panel;
    int64_t a_row, panel_step, depth; /* panel_step: to the next panel */
} V_NAME(rnn_factors);

/* Vector v of row r and panel p is sums[(r * panels + p) * vectors + v], added up in the order of depth;
 * `more`: to what is there. */
V_INLINE void V_NAME(rnn_tile)(VF *sums, const V_NAME(rnn_factors) * f, bool more, const int rows,
                               const int panels, const int vectors) {
    const int n = panels * vectors;
    VF sum[RNN_ROWS][2 * RL_RNN_WIDE];
    const V_ELEMENT *a = f->a, *panel = f->panel, *second = panel + (panels - 1) * f->panel_step;
    const int64_t a_row = f->a_row;
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int i = 0; i < n; i++) sum[r][i] = more ? sums[r * n + i] : v_zero();
    }
    for (int64_t d = f->depth; d > 0; d--, a++, panel += vectors * V_WIDTH, second += vectors * V_WIDTH) {
        VF scale[RNN_ROWS];
        V_UNROLL
        for (int r = 0; r < rows; r++) scale[r] = v_set(a[r * a_row]);
        V_UNROLL
        for (int i = 0; i < n; i++) {
            const VF w = v_load((i < vectors ? panel : second) + i % vectors * V_WIDTH);
            V_UNROLL
            for (int r = 0; r < rows; r++) sum[r][i] = v_fma(scale[r], w, sum[r][i]);
        }
    }
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int i = 0; i < n; i++) sums[r * n + i] = sum[r][i];
    }
}

#define RNN_TILES(n)                                                                                         \
    for (; rows >= (n); rows -= (n), f.a += (n) * f.a_row, sums += (n) * vectors)                            \
        V_NAME(rnn_tile)(sums, &f, more, n, 1, vectors);
V_INLINE void V_NAME(rnn_tiles)(VF *sums, V_NAME(rnn_factors) f, int64_t rows, bool more, const int vectors) {
    RNN_TILES(RNN_ROWS)
    if (RNN_ROWS > 4) RNN_TILES(4)
    RNN_TILES(2)
    RNN_TILES(1)
}
#undef RNN_TILES

/* one panel, block by block of its depth */
V_INLINE void V_NAME(rnn_panel)(VF *sums, V_NAME(rnn_factors) f, int64_t rows, const int vectors) {
    const int64_t all = f.depth, blocks = simd_ceil_div(all, RNN_DEEP);
    f.depth = blocks > 1 ? simd_ceil_div(all, blocks) : all;
    V_NAME(rnn_tiles)(sums, f, rows, false, vectors);
    for (int64_t d = f.depth; d < all; d += f.depth) {
        f.a += f.depth, f.panel += f.depth * vectors * V_WIDTH;
        f.depth = simd_min(f.depth, all - d);
        V_NAME(rnn_tiles)(sums, f, rows, true, vectors);
    }
}

/* ---- from sums to states: the units from j on of one row ---- */
V_INLINE VF V_NAME(rnn_gate)(const rl_rnn_step *s, VF sum, const V_ELEMENT *x, int64_t j, VM m) {
    if (s->bias) sum = v_add(sum, v_load_tail((const V_ELEMENT *)s->bias + j, m));
    return v_add(sum, v_load_tail(x, m));
}

V_INLINE void V_NAME(rnn_lstm)(const rl_rnn_step *s, const VF *sum, int64_t row, int64_t j, VM m) {
    const int64_t n = s->units, at = row * n + j;
    const V_ELEMENT *x = (const V_ELEMENT *)s->gates + row * 4 * n + j;
    V_ELEMENT *cell = (V_ELEMENT *)s->cell + at;
    VF in = V_NAME(rnn_sigmoid)(V_NAME(rnn_gate)(s, sum[0], x, j, m));
    VF forget = V_NAME(rnn_sigmoid)(V_NAME(rnn_gate)(s, sum[1], x + n, n + j, m));
    VF made = V_NAME(rnn_tanh)(V_NAME(rnn_gate)(s, sum[2], x + 2 * n, 2 * n + j, m));
    VF out = V_NAME(rnn_sigmoid)(V_NAME(rnn_gate)(s, sum[3], x + 3 * n, 3 * n + j, m));
    VF c = v_fma(forget, v_load_tail(cell, m), v_mul(in, made));
    v_store_tail(cell, m, c);
    v_store_tail((V_ELEMENT *)s->hidden + at, m, v_mul(out, V_NAME(rnn_tanh)(c)));
    if (!s->saved) return;
    V_ELEMENT *saved = (V_ELEMENT *)s->saved + row * 4 * n + j;
    v_store_tail(saved, m, in), v_store_tail(saved + n, m, forget);
    v_store_tail(saved + 2 * n, m, made), v_store_tail(saved + 3 * n, m, out);
    v_store_tail((V_ELEMENT *)s->saved_cells + at, m, c);
}

V_INLINE void V_NAME(rnn_gru)(const rl_rnn_step *s, const VF *sum, int64_t row, int64_t j, VM m) {
    const int64_t n = s->units;
    const V_ELEMENT *x = (const V_ELEMENT *)s->gates + row * 3 * n + j;
    VF reset = V_NAME(rnn_sigmoid)(V_NAME(rnn_gate)(s, sum[0], x, j, m));
    VF update = V_NAME(rnn_sigmoid)(V_NAME(rnn_gate)(s, sum[1], x + n, n + j, m));
    VF given = sum[2];
    if (s->bias) given = v_add(given, v_load_tail((const V_ELEMENT *)s->bias + 2 * n + j, m));
    VF made = V_NAME(rnn_tanh)(v_fma(reset, given, v_load_tail(x + 2 * n, m)));
    VF before = v_load_tail((const V_ELEMENT *)s->state + row * n + j, m);
    v_store_tail((V_ELEMENT *)s->hidden + row * n + j, m, v_fma(update, v_sub(before, made), made));
    if (!s->saved) return;
    V_ELEMENT *saved = (V_ELEMENT *)s->saved + row * 4 * n + j;
    v_store_tail(saved, m, reset), v_store_tail(saved + n, m, update);
    v_store_tail(saved + 2 * n, m, made), v_store_tail(saved + 3 * n, m, given);
}

V_INLINE void V_NAME(rnn_plain)(const rl_rnn_step *s, VF sum, int64_t row, int64_t j, VM m) {
    const int64_t at = row * s->units + j;
    VF x = V_NAME(rnn_gate)(s, sum, (const V_ELEMENT *)s->gates + at, j, m);
    VF y = s->mode == RL_RNN_TANH ? V_NAME(rnn_tanh)(x) : v_max(v_zero(), x); /* a NaN stays */
    v_store_tail((V_ELEMENT *)s->hidden + at, m, y);
}

/* panel p of one row */
V_INLINE void V_NAME(rnn_finish)(const rl_rnn_step *s, const VF *sum, int64_t row, int64_t p,
                                 const int gates) {
    const int64_t j = p * V_WIDTH * (gates == 1 ? RL_RNN_WIDE : 1), left = s->units - j;
    const VM m = v_tail(simd_min(left, V_WIDTH));
    if (gates == 4) V_NAME(rnn_lstm)(s, sum, row, j, m);
    if (gates == 3) V_NAME(rnn_gru)(s, sum, row, j, m);
    for (int v = 0; gates == 1 && v < RL_RNN_WIDE && v * V_WIDTH < left; v++) {
        const VM part = v_tail(simd_min(left - v * V_WIDTH, V_WIDTH));
        V_NAME(rnn_plain)(s, sum[v], row, j + v * V_WIDTH, part);
    }
}

/* One row takes two panels at once, since the sums of one alone would wait for each other. */
#define RNN_WALK(name, of, rows_at, vectors, finish, ...)                                                    \
    V_TARGET static void V_NAME(name)(const of *t, int64_t p0, int64_t p1) {                                 \
        VF sums[RNN_MANY * (vectors)];                                                                       \
        V_NAME(rnn_factors)                                                                                  \
        f = {.a_row = t->depth, .panel_step = t->depth * (vectors) * V_WIDTH, .depth = t->depth};            \
        int64_t p = p0;                                                                                      \
        for (; t->rows == 1 && p + 2 <= p1; p += 2) {                                                        \
            f.a = t->rows_at, f.panel = (const V_ELEMENT *)t->weights + p * f.panel_step;                    \
            V_NAME(rnn_tile)(sums, &f, false, 1, 2, vectors);                                                \
            for (int i = 0; i < 2; i++) V_NAME(finish)(t, sums + i * (vectors), 0, p + i __VA_ARGS__);       \
        }                                                                                                    \
        for (; p < p1; p++)                                                                                  \
            for (int64_t row = 0; row < t->rows; row += RNN_MANY) {                                          \
                const int64_t n = simd_min(RNN_MANY, t->rows - row);                                         \
                f.a = (const V_ELEMENT *)t->rows_at + row * t->depth;                                        \
                f.panel = (const V_ELEMENT *)t->weights + p * f.panel_step;                                  \
                V_NAME(rnn_panel)(sums, f, n, vectors);                                                      \
                for (int64_t r = 0; r < n; r++)                                                              \
                    V_NAME(finish)(t, sums + r * (vectors), row + r, p __VA_ARGS__);                         \
            }                                                                                                \
    }
RNN_WALK(rnn_step_lstm, rl_rnn_step, state, 4, rnn_finish, , 4)
RNN_WALK(rnn_step_gru, rl_rnn_step, state, 3, rnn_finish, , 3)
RNN_WALK(rnn_step_plain, rl_rnn_step, state, RL_RNN_WIDE, rnn_finish, , 1)

static void V_NAME(rnn_step)(const rl_rnn_step *s, int64_t p0, int64_t p1) {
    if (s->mode == RL_RNN_LSTM)
        V_NAME(rnn_step_lstm)(s, p0, p1);
    else if (s->mode == RL_RNN_GRU)
        V_NAME(rnn_step_gru)(s, p0, p1);
    else
        V_NAME(rnn_step_plain)(s, p0, p1);
}

V_INLINE void V_NAME(rnn_put)(const rl_rnn_product *t, const VF *sum, int64_t row, int64_t p) {
    for (int v = 0; v < RL_RNN_WIDE; v++) {
        const int64_t j = (p * RL_RNN_WIDE + v) * V_WIDTH;
        if (j >= t->n) break;
        V_ELEMENT *c = (V_ELEMENT *)t->c + row * t->n + j;
        const VM m = v_tail(simd_min(t->n - j, V_WIDTH));
        v_store_tail(c, m, t->add ? v_add(sum[v], v_load_tail(c, m)) : sum[v]);
    }
}
RNN_WALK(rnn_product, rl_rnn_product, a, RL_RNN_WIDE, rnn_put, )
#undef RNN_WALK

/* ---- slopes of one row ---- */
V_INLINE VF V_NAME(rnn_more)(VF x, const void *more, int64_t j, VM m) {
    return more ? v_add(x, v_load_tail((const V_ELEMENT *)more + j, m)) : x;
}
/* by what went into a sigmoid, or into a tanh, that answered y */
V_INLINE VF V_NAME(rnn_sigmoid_slope)(VF grad, VF y) {
    return v_mul(grad, v_fnma(y, y, y));
}
V_INLINE VF V_NAME(rnn_tanh_slope)(VF grad, VF y) {
    return v_mul(grad, v_fnma(y, y, v_set(1)));
}

V_TARGET static void V_NAME(rnn_slopes_lstm)(const rl_rnn_slopes *s) {
    const V_ELEMENT *gate = s->saved, *grads = s->grad, *cells = s->cell, *befores = s->before;
    V_ELEMENT *to = s->gates, *by = s->by_before;
    const int64_t n = s->units;
    for (int64_t j = 0; j < n; j += V_WIDTH) {
        const VM m = v_tail(simd_min(n - j, V_WIDTH));
        VF in = v_load_tail(gate + j, m), forget = v_load_tail(gate + n + j, m);
        VF made = v_load_tail(gate + 2 * n + j, m), out = v_load_tail(gate + 3 * n + j, m);
        VF grad = v_load_tail(grads + j, m), bent = V_NAME(rnn_tanh)(v_load_tail(cells + j, m));
        VF by_cell = v_add(v_load_tail(by + j, m), V_NAME(rnn_tanh_slope)(v_mul(grad, out), bent));
        by_cell = V_NAME(rnn_more)(by_cell, s->more_cell, j, m);
        VF by_in = V_NAME(rnn_more)(v_mul(by_cell, made), s->more_saved, j, m);
        VF before = v_load_tail(befores + j, m);
        VF by_forget = V_NAME(rnn_more)(v_mul(by_cell, before), s->more_saved, n + j, m);
        VF by_made = V_NAME(rnn_more)(v_mul(by_cell, in), s->more_saved, 2 * n + j, m);
        VF by_out = V_NAME(rnn_more)(v_mul(grad, bent), s->more_saved, 3 * n + j, m);
        v_store_tail(to + j, m, V_NAME(rnn_sigmoid_slope)(by_in, in));
        v_store_tail(to + n + j, m, V_NAME(rnn_sigmoid_slope)(by_forget, forget));
        v_store_tail(to + 2 * n + j, m, V_NAME(rnn_tanh_slope)(by_made, made));
        v_store_tail(to + 3 * n + j, m, V_NAME(rnn_sigmoid_slope)(by_out, out));
        v_store_tail(by + j, m, v_mul(by_cell, forget));
    }
}

V_TARGET static void V_NAME(rnn_slopes_gru)(const rl_rnn_slopes *s) {
    const V_ELEMENT *gate = s->saved, *grads = s->grad, *befores = s->before;
    V_ELEMENT *to = s->gates, *hidden = s->hidden_gates, *by = s->by_before;
    const int64_t n = s->units;
    for (int64_t j = 0; j < n; j += V_WIDTH) {
        const VM m = v_tail(simd_min(n - j, V_WIDTH));
        VF reset = v_load_tail(gate + j, m), update = v_load_tail(gate + n + j, m);
        VF made = v_load_tail(gate + 2 * n + j, m), given = v_load_tail(gate + 3 * n + j, m);
        VF grad = v_load_tail(grads + j, m), before = v_load_tail(befores + j, m);
        VF by_made = V_NAME(rnn_more)(v_fnma(grad, update, grad), s->more_saved, 2 * n + j, m);
        by_made = V_NAME(rnn_tanh_slope)(by_made, made);
        VF by_reset = V_NAME(rnn_more)(v_mul(by_made, given), s->more_saved, j, m);
        by_reset = V_NAME(rnn_sigmoid_slope)(by_reset, reset);
        VF by_update = V_NAME(rnn_more)(v_mul(grad, v_sub(before, made)), s->more_saved, n + j, m);
        by_update = V_NAME(rnn_sigmoid_slope)(by_update, update);
        VF by_given = V_NAME(rnn_more)(v_mul(by_made, reset), s->more_saved, 3 * n + j, m);
        v_store_tail(to + j, m, by_reset), v_store_tail(hidden + j, m, by_reset);
        v_store_tail(to + n + j, m, by_update), v_store_tail(hidden + n + j, m, by_update);
        v_store_tail(to + 2 * n + j, m, by_made), v_store_tail(hidden + 2 * n + j, m, by_given);
        v_store_tail(by + j, m, v_mul(grad, update));
    }
}

V_TARGET static void V_NAME(rnn_slopes)(const rl_rnn_slopes *s) {
    if (s->mode == RL_RNN_LSTM) {
        V_NAME(rnn_slopes_lstm)(s);
        return;
    }
    if (s->mode == RL_RNN_GRU) {
        V_NAME(rnn_slopes_gru)(s);
        return;
    }
    for (int64_t j = 0; j < s->units; j += V_WIDTH) {
        const VM m = v_tail(simd_min(s->units - j, V_WIDTH));
        VF y = v_load_tail((const V_ELEMENT *)s->cell + j, m);
        VF grad = v_load_tail((const V_ELEMENT *)s->grad + j, m);
        VF made = s->mode == RL_RNN_TANH ? V_NAME(rnn_tanh_slope)(grad, y)
                                         : v_pick(v_is_less(v_zero(), y), grad, v_zero());
        v_store_tail((V_ELEMENT *)s->gates + j, m, made);
    }
}

static const rl_rnn_kit V_NAME(rnn_kit) = {
    V_WIDTH, RNN_ROWS, 0.1 / V_WIDTH, V_NAME(rnn_step), V_NAME(rnn_product), V_NAME(rnn_slopes)};
#undef RNN_ROWS
#undef RNN_DEEP
#undef RNN_MANY
