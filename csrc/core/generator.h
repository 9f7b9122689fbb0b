/* Generators that threads share: Note [Drawing] of core/generator.c. */
#ifndef RL_CORE_GENERATOR_H
#define RL_CORE_GENERATOR_H
#include <pthread.h>
#include "kernel_abi/kernel.h"

typedef struct {
    rl_generator g;
    pthread_mutex_t lock;
    int users;
    unsigned epoch;
    int8_t device, device_index; /* whose kernels draw from it */
} rl_shared_generator;
static inline rl_shared_generator *
rl_generator_shared(rl_generator *g) { /* every generator is a shared one's */
    return (rl_shared_generator *)((char *)g - offsetof(rl_shared_generator, g));
}
void rl_generator_make(rl_shared_generator *s, int device, int index);
bool rl_generator_busy(rl_shared_generator *s);   /* with the GIL: may this call not draw at once? */
void rl_generator_claim(rl_shared_generator *s);  /* with the GIL, then without it: */
void rl_generator_lock(rl_shared_generator *s);   /*   waits */
void rl_generator_unlock(rl_shared_generator *s); /*   and with it again: */
void rl_generator_release(rl_shared_generator *s);
void rl_generator_guard_fork(void); /* once, at start */
#endif
