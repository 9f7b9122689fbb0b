/* Convolutions channels last, compiled once for each instruction set; doubles are pairs of floats. Note
 * [Places] in kernels/simd/conv_last.h. */
/* `n` floats for each of `places` places, which begin at starts[]; `loose` ones may be followed by others */
V_TARGET static void V_NAME(last_copy)(float *to, int64_t step, const float *from, const int64_t *starts,
                                       int64_t scale, int64_t places, int64_t n, bool loose) {
    const int64_t whole = (loose ? n + V_WIDTH - 1 : n) / V_WIDTH * V_WIDTH;
    const VM tail = v_tail(simd_max(0, n - whole));
    for (int64_t i = 0; i < places; i++, to += step) {
        const float *line = from + starts[i] * scale;
        for (int64_t j = 0; j < whole; j += V_WIDTH) v_store(to + j, v_load(line + j));
        if (whole < n) v_store_tail(to + whole, tail, v_load_tail(line + whole, tail));
    }
}
