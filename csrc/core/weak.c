/* Weak references to storages. */
#include "error.h"
#include "memory.h"
#include "weak.h"
#include <pthread.h>

/* Note [Weak references]
 * A storage that has some stands in this table. When its last strong reference goes, so do its bytes where
 * they are borrowed, as shared memory is; its head stays until the last weak one goes, so that no other
 * storage has its address meanwhile.
 *
 *   refs > 0              weak counts one for all strong references
 *   refs == 0             rl_weak_get finds it no more; `weak` is what was left
 *   refs == 0, weak == 0  out of the table, the head is given back */
typedef struct entry {
    struct entry *next;
    rl_storage *s;
    bool closed; /* the last strong reference went */
} entry;
enum { CHAINS = 256 };
static entry *table[CHAINS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table and of `weak` */

static void fork_hold(void) {
    pthread_mutex_lock(&lock);
}
static void fork_release(void) {
    pthread_mutex_unlock(&lock);
}
void rl_weak_guard_fork(void) {
    pthread_atfork(fork_hold, fork_release, fork_release);
}

static entry **entry_of(uintptr_t weak) {
    entry **at = &table[(weak >> 6) % CHAINS];
    while (*at && (uintptr_t)(*at)->s != weak) at = &(*at)->next;
    return at;
}

static void weak_count(rl_storage *s, int32_t n) { /* rl_storage_drop looks without the lock */
    __atomic_store_n(&s->weak, n, __ATOMIC_RELAXED);
}

/* One fewer, lock held: the entry when none is left. */
static entry *entry_less(entry **at) {
    entry *e = *at;
    weak_count(e->s, e->s->weak - 1);
    if (e->s->weak > 0) return NULL;
    *at = e->next;
    return e;
}

uintptr_t rl_weak_new(rl_storage *s) {
    entry *fresh = rl_alloc(RL_COUNT(1), sizeof *fresh);
    if (!fresh) return 0;
    pthread_mutex_lock(&lock);
    entry **at = entry_of((uintptr_t)s);
    if (!*at) {
        *fresh = (entry){.s = s};
        *at = fresh;
        fresh = NULL;
    }
    weak_count(s, s->weak ? s->weak + 1 : 2);
    pthread_mutex_unlock(&lock);
    rl_free(fresh);
    return (uintptr_t)s;
}

rl_storage *rl_weak_less(uintptr_t weak) {
    pthread_mutex_lock(&lock);
    entry **at = entry_of(weak);
    bool known = *at && ((*at)->s->weak > 1 || (*at)->closed);
    entry *last = known ? entry_less(at) : NULL;
    pthread_mutex_unlock(&lock);
    rl_storage *s = last ? last->s : NULL;
    rl_free(last);
    return s;
}

rl_storage *rl_weak_get(uintptr_t weak) {
    pthread_mutex_lock(&lock);
    entry *e = *entry_of(weak);
    rl_storage *s = e ? e->s : NULL;
    int32_t n = s ? __atomic_load_n(&s->refs, __ATOMIC_RELAXED) : 0;
    while (n > 0 &&
           !__atomic_compare_exchange_n(&s->refs, &n, n + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    pthread_mutex_unlock(&lock);
    return n > 0 ? s : NULL;
}

bool rl_weak_close(rl_storage *s) {
    pthread_mutex_lock(&lock);
    entry **at = entry_of((uintptr_t)s);
    (*at)->closed = true;
    entry *last = entry_less(at);
    pthread_mutex_unlock(&lock);
    rl_free(last);
    return last != NULL;
}
