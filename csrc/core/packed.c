/* Packed weights: weights in a kernel's own layout, kept with their storage while they are unchanged. */
#include "blocks.h"
#include "error.h"
#include "memory.h"
#include "packed.h"
#include <pthread.h>
#include <string.h>

/* Note [Packed weights]
 *
 *   call ──► packing ──► NULL             being filled: this call's own, whoever else packs the same
 *     │ packed_ready: nobody wrote
 *     ▼
 *   storage ──► packed ──► packed ──► NULL        one per (key, offset, shape, strides)
 *               │ writes == storage->writes ?  good : stale, freed when the next one is published
 *
 * Kernels fill them without the GIL, maybe beside a writer: Note [Writes]. Then it serves its call, as
 * the weights themselves would have, and dies with it. */
typedef struct {
    int64_t offset, dims[2 * RL_SMALL_DIMS]; /* shape, then strides */
    uint8_t dtype, ndim;
} packed_of;
struct rl_packed {
    rl_packed *next;
    uint64_t key, writes;
    packed_of of;
    char *block; /* from the cache: each step of an optimizer makes packed weights stale */
    int users;   /* calls that read it: none frees it under them */
};

enum { MAX_PACKED = 8 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all lists of published packed weights */

static void fork_hold(void) {
    pthread_mutex_lock(&lock);
}
static void fork_release(void) {
    pthread_mutex_unlock(&lock);
}
void rl_packed_guard_fork(void) {
    pthread_atfork(fork_hold, fork_release, fork_release);
}

/* what of a view decides the packed numbers; false: it has too many dims to be packed */
static bool packed_of_view(packed_of *of, const rl_view *v) {
    *of = (packed_of){.offset = v->offset, .dtype = v->dtype, .ndim = v->ndim};
    for (int d = 0; d < v->ndim && v->ndim <= RL_SMALL_DIMS; d++) {
        of->dims[d] = v->shape[d];
        of->dims[RL_SMALL_DIMS + d] = v->strides[d];
    }
    return v->ndim <= RL_SMALL_DIMS;
}
static bool is_packed_of(const rl_packed *p, uint64_t key, const packed_of *of) {
    return p->key == key && p->of.offset == of->offset && p->of.dtype == of->dtype &&
           p->of.ndim == of->ndim && memcmp(p->of.dims, of->dims, sizeof of->dims) == 0;
}

static uint64_t writes_of(const rl_storage *s) {
    return __atomic_load_n(&s->writes, __ATOMIC_ACQUIRE);
}

/* may somebody outside write to it unseen? */
static bool is_exported(const rl_storage *s) {
    return __atomic_load_n(&s->exports, __ATOMIC_RELAXED) > 0 ||
           __atomic_load_n(&s->pointer_seen, __ATOMIC_RELAXED);
}

static rl_packed *packed_search(rl_packed *list, uint64_t key, const packed_of *of) {
    while (list && !is_packed_of(list, key, of)) list = list->next;
    return list;
}

static void packed_use(rl_call *k, rl_packed *p) {
    p->users++;
    k->used_[k->n_used_++] = p;
}

void *rl_packed_find(rl_call *k, const rl_view *v, uint64_t key) {
    rl_storage *s = v->storage;
    if (!__atomic_load_n(&s->packed, __ATOMIC_ACQUIRE) || is_exported(s) || k->n_used_ == RL_MAX_USED)
        return NULL;
    packed_of of;
    if (!packed_of_view(&of, v)) return NULL;
    pthread_mutex_lock(&lock);
    rl_packed *p = packed_search(s->packed, key, &of);
    if (p && p->writes != writes_of(s)) p = NULL;
    if (p) packed_use(k, p);
    pthread_mutex_unlock(&lock);
    return p ? rl_block_data(p->block, RL_BLOCK_SCRATCH) : NULL;
}

void rl_packed_free(rl_packed *p) {
    while (p) {
        rl_packed *next = p->next;
        rl_block_free(p->block);
        rl_free(p);
        p = next;
    }
}

void *rl_packed_new(rl_call *k, const rl_view *v, uint64_t key, rl_count n, size_t itemsize) {
    uint64_t writes = writes_of(v->storage);
    packed_of of;
    if (k->device != RL_CPU) return NULL;
    if ((writes & RL_WRITERS) || is_exported(v->storage) || !packed_of_view(&of, v)) return NULL;
    rl_packed *p = rl_alloc(RL_COUNT(1), sizeof *p);
    char *block = p ? rl_block_alloc(rl_count_times(n, itemsize), RL_BLOCK_SCRATCH) : NULL;
    if (!block) { /* packing is only a help: the call goes on in scratch */
        rl_error_clear();
        rl_free(p);
        return NULL;
    }
    *p = (rl_packed){.next = k->packing_, .key = key, .writes = writes, .of = of, .block = block};
    k->packing_ = p;
    return rl_block_data(block, RL_BLOCK_SCRATCH);
}

/* Takes stale ones that nobody reads out of the list and counts the others, lock held. */
static rl_packed *packed_cut(rl_storage *s, int *left) {
    rl_packed *cut = NULL, **at = &s->packed;
    for (*left = 0; *at;) {
        rl_packed *p = *at;
        if (p->users == 0 && p->writes != writes_of(s)) {
            __atomic_store_n(at, p->next, __ATOMIC_RELEASE);
            p->next = cut;
            cut = p;
        } else {
            at = &p->next;
            ++*left;
        }
    }
    return cut;
}

void rl_packed_ready(rl_call *k, const rl_view *v, uint64_t key) {
    rl_storage *s = v->storage;
    rl_packed **at = &k->packing_;
    packed_of of;
    if (!packed_of_view(&of, v)) return;
    while (*at && !is_packed_of(*at, key, &of)) at = &(*at)->next;
    rl_packed *p = *at;
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* the weights were read before the word is read again */
    if (!p || p->writes != writes_of(s) || is_exported(s)) return;
    int left;
    pthread_mutex_lock(&lock);
    rl_packed *stale = packed_cut(s, &left);
    if (left < MAX_PACKED && k->n_used_ < RL_MAX_USED && !packed_search(s->packed, key, &of)) {
        *at = p->next;
        packed_use(k, p);
        p->next = s->packed;
        __atomic_store_n(&s->packed, p, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    rl_packed_free(stale);
}

void rl_packed_leave(rl_call *k) {
    pthread_mutex_lock(&lock);
    while (k->n_used_ > 0) k->used_[--k->n_used_]->users--;
    pthread_mutex_unlock(&lock);
    rl_packed_free(k->packing_);
    k->packing_ = NULL;
}
