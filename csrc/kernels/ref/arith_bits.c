/* Two whole numbers: shifts and divisors. */
#include "loops.h"

#define INT_KERNEL(name)                                                                                     \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_strip strips[RL_NDTYPES] = {RL_EACH_INT(RL_ENTRY, name)};                            \
        return rl_eltwise(k, 2, strips, -1, NULL);                                                           \
    }

/* ---- shifts: by any number, as if bit by bit; a shift to the left by less than 0 leaves nothing ---- */
#define LEFT(D, T, C, LOAD, STORE, name)                                                                     \
    RL_BINARY_STRIP(D, T, C, LOAD, STORE, name, T, STORE,                                                    \
                    (b < 0 || b >= 8 * (int64_t)sizeof(T) ? 0 : (int64_t)((uint64_t)a << b)))
#define RIGHT(D, T, C, LOAD, STORE, name)                                                                    \
    RL_BINARY_STRIP(D, T, C, LOAD, STORE, name, T, STORE,                                                    \
                    (a >> (b < 0 || b >= 8 * (int64_t)sizeof(T) ? 63 : b)))
RL_EACH_INT(LEFT, bitwise_left_shift)
RL_EACH_INT(RIGHT, bitwise_right_shift)
INT_KERNEL(bitwise_left_shift)
INT_KERNEL(bitwise_right_shift)

/* ---- divisors ---- */
static uint64_t size_of(int64_t a) {
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}
static uint32_t divisor_32(uint32_t x, uint32_t y) { /* half the time of a wide division */
    while (x) {
        const uint32_t rest = y % x;
        y = x;
        x = rest;
    }
    return y;
}
static int64_t divisor(int64_t a, int64_t b) {
    uint64_t x = size_of(a), y = size_of(b);
    while ((x | y) >> 32) {
        if (!x) return (int64_t)y;
        const uint64_t rest = y % x;
        y = x;
        x = rest;
    }
    return divisor_32((uint32_t)x, (uint32_t)y);
}
/* the product wraps at the dtype's own width before its sign goes */
static int64_t multiple(int64_t a, int64_t b, bool wide) {
    const int64_t common = divisor(a, b);
    if (!common) return 0;
    const int64_t product = RL_WRAP(a / common, *, b);
    return (int64_t)size_of(wide ? product : (int32_t)product);
}
RL_EACH_INT(RL_BINARY_KEEP, gcd, divisor(a, b))
#define MULTIPLE(D, T, C, LOAD, STORE, name)                                                                 \
    RL_BINARY_STRIP(D, T, C, LOAD, STORE, name, T, STORE, multiple(a, b, sizeof(T) == 8))
RL_EACH_INT(MULTIPLE, lcm)
INT_KERNEL(gcd)
INT_KERNEL(lcm)
