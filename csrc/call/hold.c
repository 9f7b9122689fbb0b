/* A call holds on to the memory that its kernels work on, while others run Python. */
#include "hold.h"
#include "core/memory.h"
#include "core/storage.h"
#include "core/view.h"
#include <pthread.h>

/* Note [Snapshot]
 * Without the GIL another thread may give a tensor other memory (x.data = y) while a kernel reads its view.
 * So kernels then work on copies of the views, which keep the storages alive, and no storage is resized that
 * has a pin. */
static int places_of(rl_call *k, bool results, rl_held_view *s) {
    int n = 0;
    for (int i = 0; i < k->n_arg; i++) {
        if (k->arg[i].tag == RL_TENSOR) {
            if (s) s[n].place = &k->arg[i].u.t;
            n++;
        }
        for (int j = 0; k->arg[i].tag == RL_TENSORS && j < k->arg[i].n; j++) {
            if (!k->arg[i].u.ts[j]) continue;
            if (s) s[n].place = &k->arg[i].u.ts[j];
            n++;
        }
    }
    for (int i = 0; results && i < k->n_out; i++, n++)
        if (s) s[n].place = &k->out[i];
    return n;
}

/* The threads that ran kernels do not live on in a forked child. */
static void beside_after_fork(void) {
    rl_kernels_beside = 0;
}
static void count_beside(int by) {
    static bool guarded;
    if (!guarded) guarded = pthread_atfork(NULL, NULL, beside_after_fork) == 0;
    rl_kernels_beside += by;
}

static void drop(rl_hold *h, int n) {
    for (int i = 0; i < n; i++) {
        rl_held_view *s = &h->views[i];
        s->copy.storage->pins--;
        *s->place = s->original;
        rl_storage_drop(s->copy.storage);
        rl_view_clear(&s->copy);
    }
    count_beside(-1);
    if (h->views != h->room) rl_free(h->views);
}

rl_status rl_hold_take(rl_hold *h, rl_call *k, bool results) {
    h->n = places_of(k, results, NULL);
    h->views = h->n <= RL_HOLD_ROOM ? h->room : rl_alloc(RL_COUNT(h->n), sizeof *h->views);
    if (!h->views) return RL_FAIL;
    places_of(k, results, h->views);
    count_beside(1);
    for (int i = 0; i < h->n; i++) {
        rl_held_view *s = &h->views[i];
        s->original = *s->place;
        if (rl_view_copy(&s->copy, s->original) != RL_OK) {
            drop(h, i);
            return RL_FAIL;
        }
        rl_storage_keep(s->copy.storage)->pins++;
        *s->place = &s->copy;
    }
    return RL_OK;
}

void rl_hold_end(rl_hold *h) {
    drop(h, h->n);
}
