/* Tiles of patches: Note [Patches] in kernels/simd/conv_patches.h. They are copied as floats, two for a
 * double. */

/* `rows` rows of a tile, `step` apart; row i begins offsets[i] after `from` */
V_TARGET static void V_NAME(patch_fill)(float *to, int64_t step, const float *from, const int64_t *offsets,
                                        int64_t rows, const rl_patch_run *runs, int64_t count) {
    for (int64_t i = 0; i < rows; i++, to += step) {
        const float *line = from + offsets[i];
        float *at = to;
        for (int64_t r = 0; r < count; r++) {
            const float *run = line + runs[r].from;
            const int64_t n = runs[r].n, whole = n / V_WIDTH * V_WIDTH;
            for (int64_t j = 0; j < whole; j += V_WIDTH) v_store(at + j, v_load(run + j));
            if (whole < n) {
                const VM tail = v_tail(n - whole);
                v_store_tail(at + whole, tail, v_load_tail(run + whole, tail));
            }
            at += n;
        }
    }
}
