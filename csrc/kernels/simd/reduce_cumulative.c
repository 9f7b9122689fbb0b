/* Running extremes and where they stand: the last of equals; a NaN is the extreme from then on. */
#include "kernels/shared/walk.h"
#include "reduce.h"
#ifdef RL_SIMD_X86
enum { TILE = 256 };
typedef struct {
    const char *from;
    char *values, *places;
    const int64_t *step, *beside; /* of values, places, input: along the dim, and from line to line */
    int64_t n;
} part;
typedef void (*cumulative)(const part *p, int width);
typedef struct {
    cumulative run;
    rl_walk lines; /* operands: values, places, input; without the dim */
    int64_t n, step[3], beside[3];
    int64_t row, per_row;
} cumulative_job;

/* x is met after best */
#define RUNNING(name, D, T, beats)                                                                           \
    FOLD_LOOP void name##_line_##D(const part *p) {                                                          \
        T best = *(const T *)p->from;                                                                        \
        int64_t at = 0;                                                                                      \
        for (int64_t i = 0; i < p->n; i++) {                                                                 \
            const T x = *(const T *)(p->from + i * p->step[2]);                                              \
            if (beats) best = x, at = i;                                                                     \
            *(T *)(p->values + i * p->step[0]) = best;                                                       \
            *(int64_t *)(p->places + i * p->step[1]) = at;                                                   \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_##D(const part *lines, int width) {                                                \
        part p = *lines;                                                                                     \
        T kept[TILE];                                                                                        \
        int64_t at[TILE];                                                                                    \
        if (p.beside[0] != sizeof(T) || p.beside[1] != 8 || p.beside[2] != sizeof(T)) {                      \
            for (int j = 0; j < width; j++) {                                                                \
                name##_line_##D(&p);                                                                         \
                p.values += p.beside[0], p.places += p.beside[1], p.from += p.beside[2];                     \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        __builtin_memcpy(kept, p.from, (size_t)width * sizeof(T));                                           \
        for (int j = 0; j < width; j++) at[j] = 0;                                                           \
        for (int64_t r = 0; r < p.n; r++) {                                                                  \
            const T *from = (const T *)(p.from + r * p.step[2]);                                             \
            for (int j = 0; j < width; j++) {                                                                \
                const T x = from[j], best = kept[j];                                                         \
                const bool wins = beats;                                                                     \
                kept[j] = wins ? x : best;                                                                   \
                at[j] = wins ? r : at[j];                                                                    \
            }                                                                                                \
            __builtin_memcpy(p.values + r * p.step[0], kept, (size_t)width * sizeof(T));                     \
            __builtin_memcpy(p.places + r * p.step[1], at, (size_t)width * 8);                               \
        }                                                                                                    \
    }

/* halves by their bits: as whole numbers of the same order */
static inline int half_key(uint16_t x) {
    return x & 0x8000 ? -(x & 0x7fff) : x;
}
#define HALF_BEATS(infinity, op)                                                                             \
    ((x & 0x7fff) > (infinity)) | (((best & 0x7fff) <= (infinity)) & (half_key(x) op half_key(best)))
#define EACH(name, op)                                                                                       \
    RUNNING(name, F32, float, (x op best) | (x != x))                                                        \
    RUNNING(name, F64, double, (x op best) | (x != x))                                                       \
    RUNNING(name, F16, uint16_t, HALF_BEATS(0x7c00, op))                                                     \
    RUNNING(name, BF16, uint16_t, HALF_BEATS(0x7f80, op))                                                    \
    RUNNING(name, U8, uint8_t, x op best)                                                                    \
    RUNNING(name, I8, int8_t, x op best)                                                                     \
    RUNNING(name, I16, int16_t, x op best)                                                                   \
    RUNNING(name, I32, int32_t, x op best)                                                                   \
    RUNNING(name, I64, int64_t, x op best)
EACH(most, >=)
EACH(least, <=)
#define CODE(name)                                                                                           \
    {                                                                                                        \
        [RL_F32] = name##_F32, [RL_F64] = name##_F64, [RL_F16] = name##_F16, [RL_BF16] = name##_BF16,        \
        [RL_BOOL] = name##_U8, [RL_U8] = name##_U8,   [RL_I8] = name##_I8,   [RL_I16] = name##_I16,          \
        [RL_I32] = name##_I32, [RL_I64] = name##_I64,                                                        \
    }

static void cumulative_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const cumulative_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *p[RL_WALK_OPS];
        int64_t at = i % job->per_row * TILE;
        for (int op = 0; op < 3; op++) p[op] = job->lines.base[op];
        rl_walk_seek(&job->lines, i / job->per_row * job->row + at, p);
        const part lines = {p[2], p[0], p[1], job->step, job->beside, job->n};
        job->run(&lines, (int)simd_min(job->row - at, TILE));
    }
}

RL_CHOOSER
static rl_status cumulative_run(rl_call *k, const cumulative code[RL_NDTYPES]) {
    static const double ns = 1.5;
    const rl_view *x = rl_in(k, 0);
    int64_t dim = k->attr[0];
    cumulative_job job;
    rl_walk *w = &job.lines;
    if (!(k->svc->isa & RL_ISA_AVX2) || x->numel == 0 || !(job.run = code[x->dtype])) return RL_UNSUPPORTED;
    rl_walk_begin(w, k->out[0], RL_WRITE);
    rl_walk_add(w, k->out[1]);
    rl_walk_add(w, x);
    rl_data(k->out[1], RL_WRITE);
    job.n = x->ndim ? x->shape[dim] : 1;
    for (int i = 0; i < 3; i++) job.step[i] = x->ndim ? w->stride[i][dim] : 0;
    if (x->ndim) rl_walk_drop(w, 1ull << dim);
    rl_walk_sort(w, 0);
    rl_walk_merge(w);
    job.row = w->size[w->ndim - 1];
    job.per_row = simd_ceil_div(job.row, TILE);
    for (int i = 0; i < 3; i++) job.beside[i] = w->stride[i][w->ndim - 1];
    double cost = ns * (double)job.n * (double)simd_min(job.row, TILE);
    k->svc->parallel(k, w->numel / job.row * job.per_row, cost, cumulative_part, &job);
    return RL_OK;
}

RL_KERNEL(simd_cummax) {
    static const cumulative code[RL_NDTYPES] = CODE(most);
    return cumulative_run(k, code);
}
RL_KERNEL(simd_cummin) {
    static const cumulative code[RL_NDTYPES] = CODE(least);
    return cumulative_run(k, code);
}
#else
#define REFUSES(kernel)                                                                                      \
    RL_KERNEL(simd_##kernel) {                                                                               \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
REFUSES(cummax)
REFUSES(cummin)
#endif
