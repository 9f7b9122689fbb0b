/* Generators that threads share: whose turn it is to draw. */
#include "generator.h"
#include <pthread.h>

/* Note [Drawing]
 *
 *   users == 0   a call that keeps the GIL draws at once: nobody else can begin
 *   users > 0    somebody draws, or waits to, without the GIL: every call gives up the GIL, then waits for
 * the lock, draws all its numbers, and gives the lock back before it asks for the GIL
 *
 * `users` changes under the GIL only. So small calls take no lock, nobody waits for the lock while holding
 * the GIL, and the numbers of a call are neighbours in the stream. */
static unsigned epoch; /* counts the forks that led here */

static void count_fork(void) {
    epoch++;
}
void rl_generator_guard_fork(void) {
    pthread_atfork(NULL, NULL, count_fork);
}

void rl_generator_make(rl_shared_generator *s, int device, int index) {
    s->device = (int8_t)device;
    s->device_index = (int8_t)index;
    pthread_mutex_init(&s->lock, NULL);
    s->users = 0;
    s->epoch = epoch;
    rl_generator_seed(&s->g, RL_DEFAULT_SEED);
}

/* The child of a fork has none of the threads that were drawing: their lock is made anew. One may have
 * stopped in the middle of a step, which must not lead the next one out of the state. */
static void make_anew(rl_shared_generator *s) {
    pthread_mutex_init(&s->lock, NULL);
    s->users = 0;
    s->epoch = epoch;
    if (!rl_generator_is_valid(&s->g)) s->g.left = 1, s->g.next = 0;
}

bool rl_generator_busy(rl_shared_generator *s) {
    if (RL_UNLIKELY(s->epoch != epoch)) make_anew(s);
    return s->users > 0;
}

void rl_generator_claim(rl_shared_generator *s) {
    if (RL_UNLIKELY(s->epoch != epoch)) make_anew(s);
    s->users++;
}
void rl_generator_lock(rl_shared_generator *s) {
    pthread_mutex_lock(&s->lock);
}
void rl_generator_unlock(rl_shared_generator *s) {
    pthread_mutex_unlock(&s->lock);
}
void rl_generator_release(rl_shared_generator *s) {
    s->users--;
}
