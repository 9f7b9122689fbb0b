/* Numbers of elements or bytes, counted with a check. */
#ifndef RL_KERNEL_ABI_COUNT_H
#define RL_KERNEL_ABI_COUNT_H
#include <stdint.h>

/* ---- counts ----
 * A number of elements or bytes that memory is asked for. It is a struct so that a bare product, which may
 * have wrapped, cannot pass for one. -1: more than fits in int64; that survives every further step. */
typedef struct {
    int64_t n;
} rl_count;
static inline rl_count rl_count_times(rl_count c, int64_t by) {
    if (by == 0) return (rl_count){0};
    if (c.n < 0 || by < 0 || __builtin_mul_overflow(c.n, by, &c.n)) c.n = -1;
    return c;
}
static inline rl_count rl_count_plus(rl_count c, int64_t more) {
    if (c.n < 0 || more < 0 || __builtin_add_overflow(c.n, more, &c.n)) c.n = -1;
    return c;
}
static inline rl_count rl_count_product(const int64_t *factors, int n) {
    rl_count c = {n == 0 ? 1 : factors[0] < 0 ? -1 : factors[0]};
    for (int i = 1; i < n; i++) c = rl_count_times(c, factors[i]);
    return c;
}
static inline rl_count rl_count_round_up(rl_count c, int64_t multiple) {
    c = rl_count_plus(c, multiple - 1);
    return c.n < 0 ? c : (rl_count){c.n / multiple * multiple};
}
/* RL_COUNT(rows, cols, threads): their product, checked */
#ifdef __cplusplus /* which has no arrays without a name */
template <class... N> static inline rl_count rl_count_of(N... factors) {
    const int64_t all[] = {factors...};
    return rl_count_product(all, (int)sizeof...(factors));
}
#define RL_COUNT(...) rl_count_of(__VA_ARGS__)
#else
#define RL_COUNT(...)                                                                                        \
    rl_count_product((const int64_t[]){__VA_ARGS__},                                                         \
                     (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#endif
#endif
