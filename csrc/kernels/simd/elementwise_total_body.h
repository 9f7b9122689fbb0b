/* The sum of a block of elements, added in their own dtype; compiled once for each width, of floats and
 * doubles. */
V_TARGET static double V_NAME(block_total)(const void *from, int64_t n) {
    const V_ELEMENT *x = from;
    V_ELEMENT lanes[V_WIDTH];
    VF sum[2] = {v_zero(), v_zero()};
    double total = 0;
    int64_t i = 0;
    for (; i + 2 * V_WIDTH <= n; i += 2 * V_WIDTH) {
        sum[0] = v_add(sum[0], v_load(x + i));
        sum[1] = v_add(sum[1], v_load(x + i + V_WIDTH));
    }
    for (; i < n; i += V_WIDTH) sum[0] = v_add(sum[0], v_load_tail(x + i, v_tail(simd_min(V_WIDTH, n - i))));
    v_store(lanes, v_add(sum[0], sum[1]));
    for (i = 0; i < V_WIDTH; i++) total += (double)lanes[i];
    return total;
}
