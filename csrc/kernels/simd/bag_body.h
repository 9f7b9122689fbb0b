/* Bags of rows: Note [Bags by vectors]. */

/* V_WIDTH elements of a row; of a row of halves, whose width is a multiple of that */
V_INLINE VF V_NAME(bag_load)(const int dtype, const char *row, int64_t at) {
#ifndef SIMD_DOUBLE
    if (dtype == RL_F16) return v_load_half((const rl_half *)(const void *)row + at);
    if (dtype == RL_BF16) return v_load_bfloat((const rl_bfloat *)(const void *)row + at);
#endif
    (void)dtype;
    return v_load((const V_ELEMENT *)(const void *)row + at);
}
V_INLINE void V_NAME(bag_store)(const int dtype, char *row, int64_t at, VF x) {
#ifndef SIMD_DOUBLE
    if (dtype == RL_F16) {
        v_store_half((rl_half *)(void *)row + at, x);
        return;
    }
    if (dtype == RL_BF16) {
        v_store_bfloat((rl_bfloat *)(void *)row + at, x);
        return;
    }
#endif
    (void)dtype;
    v_store((V_ELEMENT *)(void *)row + at, x);
}

/* `vectors` vectors of a bag from column `at`, or with a tail the first `tail` columns of one */
V_INLINE void V_NAME(bag_columns)(const int dtype, const int vectors, const bool scaled, const bag_job *j,
                                  int64_t bag, int64_t at, int64_t tail, char *to) {
    const rl_bags *b = &j->bags;
    const int64_t item = rl_itemsize(dtype), step = j->table->strides[0] * item;
    const char *table = rl_const_data(j->table);
    const int64_t begin = b->begin[bag], end = b->begin[bag + 1], last = b->n - 1;
    const VM mask = v_tail(tail ? tail : V_WIDTH);
    VF sum[BAG_VECTORS];
    V_UNROLL
    for (int v = 0; v < vectors; v++) sum[v] = v_zero();
    for (int64_t i = begin; i < end; i++) {
        const char *row = table + b->index[i] * step,
                   *next = table + b->index[simd_min(i + AHEAD, last)] * step;
        const VF scale = scaled ? v_set((V_ELEMENT)b->scale[i]) : v_set(1);
        V_UNROLL
        for (int v = 0; v < vectors; v++) {
            const int64_t c = at + v * V_WIDTH;
            __builtin_prefetch(next + c * item);
            const VF x = tail ? v_load_tail((const V_ELEMENT *)(const void *)row + c, mask)
                              : V_NAME(bag_load)(dtype, row, c);
            sum[v] = scaled ? v_fma(x, scale, sum[v]) : v_add(sum[v], x);
        }
    }
    const VF size = v_set(b->mode == RL_BAG_MEAN && end > begin ? (V_ELEMENT)(end - begin) : 1);
    V_UNROLL
    for (int v = 0; v < vectors; v++) {
        const VF x = b->mode == RL_BAG_MEAN ? v_div(sum[v], size) : sum[v];
        if (tail)
            v_store_tail((V_ELEMENT *)(void *)to + at, mask, x);
        else
            V_NAME(bag_store)(dtype, to, at + v * V_WIDTH, x);
    }
}

V_INLINE void V_NAME(bag_rows)(const int dtype, const bool scaled, const bag_job *j, int64_t begin,
                               int64_t end) {
    const int64_t width = j->bags.width, whole = width / V_WIDTH * V_WIDTH, block = BAG_VECTORS * V_WIDTH;
    for (int64_t bag = begin; bag < end; bag++) {
        char *to = (char *)rl_data(j->out, RL_WRITE) + bag * width * rl_itemsize(dtype);
        int64_t at = 0;
        for (; at + block <= whole; at += block)
            V_NAME(bag_columns)(dtype, BAG_VECTORS, scaled, j, bag, at, 0, to);
        for (; at < whole; at += V_WIDTH) V_NAME(bag_columns)(dtype, 1, scaled, j, bag, at, 0, to);
        if (at < width) V_NAME(bag_columns)(dtype, 1, scaled, j, bag, at, width - at, to);
    }
}

V_TARGET static void V_NAME(bag_join)(void *ctx, int64_t begin, int64_t end, int thread) {
    const bag_job *j = ctx;
    (void)thread;
#ifdef SIMD_DOUBLE
    if (j->bags.scale)
        V_NAME(bag_rows)(RL_F64, true, j, begin, end);
    else
        V_NAME(bag_rows)(RL_F64, false, j, begin, end);
#else
    if (j->bags.scale) switch (j->dtype) {
        case RL_F16: V_NAME(bag_rows)(RL_F16, true, j, begin, end); break;
        case RL_BF16: V_NAME(bag_rows)(RL_BF16, true, j, begin, end); break;
        default: V_NAME(bag_rows)(RL_F32, true, j, begin, end);
        }
    else
        switch (j->dtype) {
        case RL_F16: V_NAME(bag_rows)(RL_F16, false, j, begin, end); break;
        case RL_BF16: V_NAME(bag_rows)(RL_BF16, false, j, begin, end); break;
        default: V_NAME(bag_rows)(RL_F32, false, j, begin, end);
        }
#endif
}

/* to[c] += grad[c] * scale */
V_INLINE void V_NAME(bag_add_row)(V_ELEMENT *to, const V_ELEMENT *grad, int64_t n, V_ELEMENT scale) {
    const VF s = v_set(scale);
    int64_t c = 0;
    for (; c + V_WIDTH <= n; c += V_WIDTH) v_store(to + c, v_fma(v_load(grad + c), s, v_load(to + c)));
    if (c == n) return;
    const VM mask = v_tail(n - c);
    v_store_tail(to + c, mask, v_fma(v_load_tail(grad + c, mask), s, v_load_tail(to + c, mask)));
}

/* parts [begin, end) of the columns */
V_TARGET static void V_NAME(bag_add)(void *ctx, int64_t begin, int64_t end, int thread) {
    const bag_job *j = ctx;
    const rl_bags *b = &j->bags;
    const int64_t groups = simd_ceil_div(b->width, 16);
    const int64_t first = begin * groups / j->parts * 16;
    const int64_t n = simd_min(end * groups / j->parts * 16, b->width) - first;
    V_ELEMENT *out = (V_ELEMENT *)rl_data(j->out, RL_WRITE) + first;
    const V_ELEMENT *grad = (const V_ELEMENT *)rl_const_data(j->grad) + first;
    (void)thread;
    if (n == b->width)
        memset(out, 0, (size_t)j->out->numel * sizeof *out);
    else
        for (int64_t row = 0; row < b->rows; row++) memset(out + row * b->width, 0, (size_t)n * sizeof *out);
    for (int64_t bag = 0; bag < b->bags; bag++)
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++) {
            __builtin_prefetch(out + b->index[simd_min(i + AHEAD, b->n - 1)] * b->width);
            V_NAME(bag_add_row)(out + b->index[i] * b->width, grad + bag * j->grad->strides[0], n,
                                b->scale ? (V_ELEMENT)b->scale[i] : 1);
        }
}

V_INLINE VF V_NAME(bag_product)(const V_ELEMENT *a, const V_ELEMENT *b, int64_t n) {
    VF sum = v_zero();
    int64_t c = 0;
    for (; c + V_WIDTH <= n; c += V_WIDTH) sum = v_fma(v_load(a + c), v_load(b + c), sum);
    if (c == n) return sum;
    const VM mask = v_tail(n - c);
    return v_fma(v_load_tail(a + c, mask), v_load_tail(b + c, mask), sum);
}

V_TARGET static void V_NAME(bag_dot)(void *ctx, int64_t begin, int64_t end, int thread) {
    const bag_job *j = ctx;
    const rl_bags *b = &j->bags;
    V_ELEMENT *out = rl_data(j->out, RL_WRITE);
    const V_ELEMENT *table = rl_const_data(j->table), *grad = rl_const_data(j->grad);
    (void)thread;
    for (int64_t bag = begin; bag < end; bag++)
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++) {
            V_ELEMENT lane[V_WIDTH];
            V_ELEMENT sum = 0;
            v_store(lane, V_NAME(bag_product)(grad + bag * j->grad->strides[0],
                                              table + b->index[i] * j->table->strides[0], b->width));
            for (int l = 0; l < V_WIDTH; l++) sum += lane[l];
            out[rl_bag_place(b, i)] = sum;
        }
}
