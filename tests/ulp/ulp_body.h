/* A row function of every vector function, for one instruction set. */
#define ROW(name, torch, expression)                                                                         \
    V_TARGET static void V_NAME(row_##name)(const float *from, float *to, int n) {                           \
        for (int i = 0; i < n; i += V_WIDTH) v_store(to + i, V_NAME(math_##name)(v_load(from + i)));         \
    }
FUNCTIONS(ROW)
#undef ROW
