/* The bits of what may step between a call and its kernels: interceptors.def. */
#ifndef RL_OBJECT_INTERCEPTORS_H
#define RL_OBJECT_INTERCEPTORS_H
#include "tensor.h"

enum {
#define INTERCEPTOR(name, asked, what) RL_INTERCEPTOR_##name,
#include "interceptors.def"
#undef INTERCEPTOR
    RL_NINTERCEPTORS
};
enum {
#define INTERCEPTOR(name, asked, what) RL_INTERCEPT_##name = 1 << RL_INTERCEPTOR_##name,
#include "interceptors.def"
#undef INTERCEPTOR
};

/* Switches one of this thread's, with the GIL. What a thread had on when it ended still counts as on. */
static inline void rl_intercept(uint32_t bit, bool on) {
    const uint32_t before = rl_tls.interceptors, now = on ? before | bit : before & ~bit;
    rl_interceptors_on += (now != 0) - (before != 0);
    rl_tls.interceptors = now;
}
static inline void rl_intercept_all(uint32_t bits) {
    rl_interceptors_on += (bits != 0) - (rl_interceptors_of_all != 0);
    rl_interceptors_of_all = bits;
}
/* Those that are on here. Finding what is thread-local takes a call: it is made where some thread has any. */
static inline uint32_t rl_interceptors_here(void) {
    return RL_LIKELY(!rl_interceptors_on) ? 0 : rl_tls.interceptors | rl_interceptors_of_all;
}
/* ... of which the dispatcher asks these. */
static inline uint32_t rl_interceptors_asked(void) {
    enum { ARGUMENTS, DISPATCHER, ALWAYS, RESERVED };
    static const uint32_t here = 0
#define INTERCEPTOR(name, asked, what) | (uint32_t)((asked) == DISPATCHER) << RL_INTERCEPTOR_##name
#include "interceptors.def"
#undef INTERCEPTOR
        ;
    return rl_interceptors_here() & here;
}
#endif
