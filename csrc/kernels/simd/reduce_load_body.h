/* Elements at any step into a buffer and out of it: halves as floats, all others as they are. */
#ifndef RL_KERNELS_SIMD_REDUCE_LOAD
#define RL_KERNELS_SIMD_REDUCE_LOAD
typedef void (*fold_load)(const char *p, int64_t step, int64_t n, void *restrict to);
typedef void (*fold_store)(char *p, int64_t step, int64_t n, const void *from);
#define EVERY(T, by)                                                                                         \
    case by *(int64_t)sizeof(T): /* known to the compiler, which shuffles vectors */                         \
        for (int64_t i = 0; i < n; i++) ((T *)to)[i] = ((const T *)p)[by * i];                               \
        break;
#define AS_IS(size, T)                                                                                       \
    static inline void load_##size(const char *p, int64_t step, int64_t n, void *restrict to) {              \
        switch (step) {                                                                                      \
        case size:                                                                                           \
            __builtin_memcpy(to, p, (size_t)n * size);                                                       \
            break;                                                                                           \
            EVERY(T, 2)                                                                                      \
            EVERY(T, 3)                                                                                      \
            EVERY(T, 4)                                                                                      \
        default:                                                                                             \
            for (int64_t i = 0; i < n; i++) ((T *)to)[i] = *(const T *)(p + i * step);                       \
        }                                                                                                    \
    }                                                                                                        \
    static inline void store_##size(char *p, int64_t step, int64_t n, const void *from) {                    \
        if (step == size)                                                                                    \
            __builtin_memcpy(p, from, (size_t)n * size);                                                     \
        else                                                                                                 \
            for (int64_t i = 0; i < n; i++) *(T *)(p + i * step) = ((const T *)from)[i];                     \
    }
AS_IS(1, uint8_t)
AS_IS(2, uint16_t)
AS_IS(4, uint32_t)
AS_IS(8, uint64_t)
#undef AS_IS
#undef EVERY
#define HALVES(kind)                                                                                         \
    V_TARGET static inline void V_NAME(load_##kind)(const char *p, int64_t step, int64_t n,                  \
                                                    void *restrict to) {                                     \
        float *floats = to;                                                                                  \
        int64_t i = 0;                                                                                       \
        if (step == sizeof(rl_##kind))                                                                       \
            for (; i + V_WIDTH <= n; i += V_WIDTH)                                                           \
                v_store(floats + i, v_load_##kind((const rl_##kind *)p + i));                                \
        for (; i < n; i++) floats[i] = rl_from_##kind(*(const rl_##kind *)(p + i * step));                   \
    }                                                                                                        \
    V_TARGET static inline void V_NAME(store_##kind)(char *p, int64_t step, int64_t n, const void *from) {   \
        const float *floats = from;                                                                          \
        int64_t i = 0;                                                                                       \
        if (step == sizeof(rl_##kind))                                                                       \
            for (; i + V_WIDTH <= n; i += V_WIDTH) v_store_##kind((rl_##kind *)p + i, v_load(floats + i));   \
        for (; i < n; i++) *(rl_##kind *)(p + i * step) = rl_to_##kind(floats[i]);                           \
    }
#endif
HALVES(half)
HALVES(bfloat)
