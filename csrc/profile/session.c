/* Sessions: events in chunks that never move, so that what is open can be pointed at. */
#include "session.h"
#include "core/memory.h"
#include "core/storage.h"
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

rl_profile_state rl_profiling;
static rl_recording now;
static uint64_t sessions;
static int64_t counted; /* bytes of storages that sessions saw come and that are still there; atomic */

int64_t rl_profile_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- room for events and names ---- */
static rl_event *event_room(void) {
    if (!now.last || now.last->n == CHUNK) {
        rl_chunk *fresh = rl_room_take(sizeof *fresh);
        if (!fresh) return NULL;
        fresh->next = NULL;
        fresh->n = 0;
        if (now.last)
            now.last->next = fresh;
        else
            now.first = fresh;
        now.last = fresh;
    }
    now.n++;
    return &now.last->at[now.last->n++];
}

static const char *text_keep(const char *text) {
    const size_t n = strlen(text) + 1;
    char *room = rl_text_room(n);
    return room ? memcpy(room, text, n) : NULL;
}

void rl_recording_free(rl_recording *r) {
    for (rl_chunk *c = r->first, *next; c; c = next) {
        next = c->next;
        rl_free(c);
    }
    rl_text_free(r->text);
    *r = (rl_recording){0};
}

/* ---- events ---- */
static uint32_t thread_number(void) {
    static uint32_t threads;
    static _Thread_local uint32_t number;
    return number ? number : (number = ++threads);
}

/* looked up once a session: in a forked child it is another */
static uint32_t system_thread(void) {
    static _Thread_local uint64_t session;
    static _Thread_local uint32_t id;
    if (session != rl_profiling.id) {
        session = rl_profiling.id;
        id = (uint32_t)syscall(SYS_gettid);
    }
    return id;
}

rl_mark rl_profile_begin(const rl_event_begin *what) {
    const char *name = what->borrowed ? text_keep(what->name) : what->name;
    rl_event *e = name ? event_room() : NULL;
    if (RL_UNLIKELY(!e)) {
        now.dropped++;
        return (rl_mark){NULL, 0};
    }
    const bool inputs = rl_profiling.wants.inputs && what->n_inputs;
    *e = (rl_event){.prefix = what->prefix ? what->prefix : "",
                    .name = name,
                    .kind = (uint8_t)what->kind,
                    .sequence = what->sequence,
                    .thread = thread_number(),
                    .system_thread = system_thread(),
                    .inputs = inputs ? rl_inputs_keep(what->inputs, what->n_inputs) : NULL,
                    .before = __atomic_load_n(&counted, __ATOMIC_RELAXED)};
    e->n_inputs = e->inputs ? (uint8_t)what->n_inputs : 0;
    e->start = rl_profile_now();
    return (rl_mark){e, rl_profiling.id};
}

void rl_profile_end(rl_mark mark) {
    rl_event *e = mark.event;
    if (!e || mark.session != rl_profiling.id || e->end) return;
    e->end = rl_profile_now();
    e->after = __atomic_load_n(&counted, __ATOMIC_RELAXED);
    e->elsewhere = e->thread != thread_number();
}

/* ---- memory ---- */
static void memory_event(int64_t bytes) {
    const rl_event_begin what = {.kind = RL_EVENT_MEMORY, .name = "[memory]", .sequence = -1};
    rl_event *e = rl_profile_begin(&what).event;
    if (!e) return;
    e->end = e->start;
    e->after = e->before;
    e->before = bytes;
}

static void freed(void *owner) {
    const int64_t bytes = (int64_t)rl_storage_room(owner);
    __atomic_sub_fetch(&counted, bytes, __ATOMIC_RELAXED);
    if (rl_profiling.wants.memory && PyGILState_Check() && rl_profile_here()) memory_event(-bytes);
}

void rl_profile_allocated(rl_storage *s) {
    if (!rl_profiling.wants.memory || !rl_storage_watch(s, freed)) return;
    const int64_t bytes = (int64_t)s->nbytes;
    __atomic_add_fetch(&counted, bytes, __ATOMIC_RELAXED);
    memory_event(bytes);
}

/* ---- start and end ---- */
/* Nobody would ask a forked child for what it records: workers that load data, servers. */
static void forget_after_fork(void) {
    if (!rl_profiling.id) return;
    rl_profiling = (rl_profile_state){0};
    rl_detours--;
    now = (rl_recording){0};
    rl_text_steal();
}

void rl_session_start(const rl_profile_options *wants) {
    static bool guarded;
    if (!guarded) guarded = pthread_atfork(NULL, NULL, forget_after_fork) == 0;
    now = (rl_recording){.start = rl_profile_now()};
    rl_room_begin();
    rl_profiling = (rl_profile_state){++sessions, *wants};
    rl_here.profile = sessions;
    rl_detours++;
}

rl_recording rl_session_stop(void) {
    rl_recording done = now;
    done.text = rl_text_steal();
    now = (rl_recording){0};
    rl_profiling = (rl_profile_state){0};
    rl_detours--;
    done.stop = rl_profile_now();
    for (rl_chunk *c = done.first; c; c = c->next)
        for (int i = 0; i < c->n; i++) {
            rl_event *e = &c->at[i];
            if (e->end) continue;
            e->end = done.stop;
            e->unfinished = true;
            e->after = __atomic_load_n(&counted, __ATOMIC_RELAXED);
        }
    return done;
}
