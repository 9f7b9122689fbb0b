/* Where the largest elements of windows stand: Note [Places of windows] in kernels/simd/pool_places.h. */

V_INLINE void V_NAME(places_store)(int32_t to[V_WIDTH], VF place) {
#ifdef SIMD_DOUBLE
    double lanes[V_WIDTH];
    v_store(lanes, place);
    for (int i = 0; i < V_WIDTH; i++) to[i] = (int32_t)lanes[i];
#else
    v_store((float *)to, place);
#endif
}

/* The input rows that a row of windows sees, copied to where -inf stands around them. */
V_INLINE void V_NAME(places_fill)(const places_job *s, const V_ELEMENT *in, V_ELEMENT *lines, int64_t front,
                                  int64_t top) {
    const pool_job *j = &s->job;
    const rl_pool_plan *g = &j->plan;
    for (int64_t d = 0; d < j->kernel[0]; d++)
        for (int64_t i = 0; i < j->kernel[1]; i++, lines += s->line) {
            int64_t depth = front + d * g->dilation[0], row = top + i * g->dilation[1];
            bool there = depth >= 0 && depth < g->size[0] && row >= 0 && row < g->size[1];
            const V_ELEMENT *from = in + (depth * g->size[1] + row) * g->size[2];
            V_ELEMENT *to = lines + j->pad[2];
            VF none = v_set(-(V_ELEMENT)__builtin_inff());
            int64_t x = 0;
            for (; x + V_WIDTH <= s->cols; x += V_WIDTH) v_store(to + x, there ? v_load(from + x) : none);
            if (x == s->cols) continue;
            VM m = v_tail(s->cols - x);
            v_store_tail(to + x, m, there ? v_load_tail(from + x, m) : none);
        }
}

/* For V_WIDTH windows: the largest element of each, and how far from its corner it stands, -1 where all is
 * -inf. */
V_INLINE VF V_NAME(places_of)(const places_job *s, const V_ELEMENT *lines, int64_t step,
                              int32_t to[V_WIDTH]) {
    const pool_job *j = &s->job;
    const rl_pool_plan *g = &j->plan;
    VF most = v_set(-(V_ELEMENT)__builtin_inff()), place = PLACE_SET(-1);
    for (int64_t d = 0; d < j->kernel[0]; d++)
        for (int64_t i = 0; i < j->kernel[1]; i++, lines += s->line) {
            int64_t far = (d * g->dilation[0] * g->size[1] + i * g->dilation[1]) * g->size[2];
            for (int64_t t = 0; t < j->kernel[2]; t++, far += g->dilation[2]) {
                VF v = V_NAME(pool_pick)(lines + t * g->dilation[2], step);
                VM m = V_NAME(places_beats)(v, most);
                most = v_pick(m, v, most);
                place = v_pick(m, PLACE_SET(far), place);
            }
        }
    if (step == 2) most = POOL_SORT(most), place = POOL_SORT(place);
    V_NAME(places_store)(to, place);
    return most;
}
