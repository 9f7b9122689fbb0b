/* Binary search in sorted lines. */
#include "loops.h"

/* Note [Search]
 * Operands: result, values, the line that belongs to them (one for all where it has stride 0). */
typedef struct {
    int64_t n, step; /* of a line, in elements */
    bool right, invert;
} search;

/* The first place whose element is not `before`, by PyTorch's steps: of lines that are out of order, or have
 * NaN, these decide. */
#define FIRST_NOT(D, before)                                                                                 \
    ({                                                                                                       \
        int64_t at_ = 0, end_ = s->n;                                                                        \
        while (at_ < end_) {                                                                                 \
            const int64_t middle_ = at_ + (end_ - at_) / 2;                                                  \
            const C e = at_##D(line, middle_ * by);                                                          \
            const bool is_before_ = before;                                                                  \
            at_ = is_before_ ? middle_ + 1 : at_;                                                            \
            end_ = is_before_ ? end_ : middle_;                                                              \
        }                                                                                                    \
        at_;                                                                                                 \
    })
#define EACH_VALUE(D, OUT, answer)                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                                        \
        const C v = value_##D(p[1] + i * step[1]);                                                           \
        *(OUT *)(p[0] + i * step[0]) = (OUT)(answer);                                                        \
    }
#define SEARCH(D, T, C_, LOAD, STORE, _)                                                                     \
    static inline C_ at_##D(const T *line, int64_t i) {                                                      \
        return LOAD(line[i]);                                                                                \
    }                                                                                                        \
    static inline C_ value_##D(const char *p) {                                                              \
        return LOAD(*(const T *)p);                                                                          \
    }                                                                                                        \
    static inline void places_##D(char *const *p, const int64_t *step, int64_t n, const search *s,           \
                                  int64_t by) {                                                              \
        typedef C_ C;                                                                                        \
        const T *line = (const T *)p[2];                                                                     \
        if (s->right)                                                                                        \
            EACH_VALUE(D, int64_t, FIRST_NOT(D, !(e > v)))                                                   \
        else                                                                                                 \
            EACH_VALUE(D, int64_t, FIRST_NOT(D, !(e >= v)))                                                  \
    }                                                                                                        \
    static inline void members_##D(char *const *p, const int64_t *step, int64_t n, const search *s,          \
                                   int64_t by) {                                                             \
        typedef C_ C;                                                                                        \
        const T *line = (const T *)p[2];                                                                     \
        EACH_VALUE(D, uint8_t, ({                                                                            \
                       const int64_t at = FIRST_NOT(D, e < v);                                               \
                       (at < s->n && at_##D(line, at * by) == v) != s->invert;                               \
                   }))                                                                                       \
    }                                                                                                        \
    static void search_places_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {         \
        const search *s = ctx;                                                                               \
        s->step == 1 ? places_##D(p, step, n, s, 1) : places_##D(p, step, n, s, s->step);                    \
    }                                                                                                        \
    static void search_members_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {        \
        const search *s = ctx;                                                                               \
        s->step == 1 ? members_##D(p, step, n, s, 1) : members_##D(p, step, n, s, s->step);                  \
    }
RL_EACH_FLOAT(SEARCH, _)
RL_EACH_INT(SEARCH, _)

/* arguments: values, sorted lines; the last dimension is searched in */
static rl_status run(rl_call *k, const rl_strip *strips, search *s) {
    const rl_view *x = k->arg[0].u.t, *lines = k->arg[1].u.t;
    const int last = lines->ndim - 1;
    rl_walk w;
    if (k->out[0]->numel == 0) return RL_OK;
    s->n = lines->shape[last];
    s->step = lines->strides[last];
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, x);
    w.base[w.nops] = rl_data(lines, RL_READ);
    for (int d = 0; d < w.ndim; d++)
        w.stride[w.nops][d] = last && d < last ? lines->strides[d] * rl_itemsize(lines->dtype) : 0;
    w.nops++;
    rl_walk_merge(&w);
    double steps = 1;
    for (int64_t n = s->n; n > 1; n /= 2) steps++;
    rl_walk_parallel(k, &w, 2 * steps, strips[x->dtype], s);
    return RL_OK;
}

#define PLACES_ENTRY(D, T, C, LOAD, STORE, _)  [RL_##D] = search_places_##D,
#define MEMBERS_ENTRY(D, T, C, LOAD, STORE, _) [RL_##D] = search_members_##D,
RL_KERNEL(ref_search_places) {
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(PLACES_ENTRY, _) RL_EACH_INT(PLACES_ENTRY, _)};
    search s = {.right = k->attr[0] != 0};
    return run(k, strips, &s);
}
RL_KERNEL(ref_search_members) {
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(MEMBERS_ENTRY, _)
                                                    RL_EACH_INT(MEMBERS_ENTRY, _)};
    search s = {.invert = k->attr[0] != 0};
    return run(k, strips, &s);
}
