/* Sessions of a profiler: events in chunks that never move, so that what is open can be pointed at. */
#include "session.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/dtype.h"
#include "core/storage.h"
#include "object/interceptors.h"
#include <string.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

/* ---- memory ----
 * So much and no more, and what is not there is no error. */
/* A profiler that is never stopped must not eat the machine. */
enum { MAX_BYTES = 1 << 30, TEXT = 1 << 16 };

static int64_t bytes_left;
static rl_text *text;

/* profile/session.c; NULL: there is none left */
static void room_begin(void) {
    bytes_left = MAX_BYTES;
}

/* the caller's */
static void *room_take(int64_t bytes) {
    if (bytes > bytes_left) return NULL;
    void *p = rl_alloc(RL_COUNT(bytes), 1);
    if (p)
        bytes_left -= bytes;
    else
        rl_error_clear(); /* an event that is lost is no error of the call that it stands for */
    return p;
}

void *rl_text_room(size_t bytes) {
    const size_t size = (bytes + 7) / 8 * 8;
    if (!text || text->size - text->used < size) {
        const size_t whole = size > TEXT ? size : TEXT;
        rl_text *fresh = room_take((int64_t)(sizeof *fresh + whole));
        if (!fresh) return NULL;
        *fresh = (rl_text){.next = text, .size = whole};
        text = fresh;
    }
    void *room = (char *)text->words + text->used;
    text->used += size;
    return room;
}

static rl_text *text_steal(void) {
    rl_text *stolen = text;
    text = NULL;
    return stolen;
}

static void text_free(rl_text *t) {
    for (rl_text *next; t; t = next) {
        next = t->next;
        rl_free(t);
    }
}

/* ---- what a call was given, in words while it is recorded and as a list afterwards ---- */
static int64_t head_of(const rl_value *s, int64_t dtype, int64_t n) {
    return s->tag | dtype << 8 | n << 16;
}
enum { TAG = 0xff, DTYPE_SHIFT = 8, N_SHIFT = 16 };

static size_t text_words(size_t n) {
    return (n + 7) / 8;
}

/* ---- recorded: into `to`, or counted where that is NULL ---- */
static size_t put_tensor(int64_t *to, const rl_view *v) {
    const rl_value s = {.tag = v ? RL_TENSOR : RL_NONE};
    if (to) {
        *to = head_of(&s, v ? v->dtype : 0, v ? v->ndim : 0);
        if (v && v->ndim) memcpy(to + 1, v->shape, v->ndim * sizeof *to);
    }
    return 1 + (v ? v->ndim : 0u);
}

static size_t put_words(int64_t *to, const rl_value *s, const void *words, size_t bytes, int64_t n) {
    if (to) {
        *to = head_of(s, 0, n);
        if (bytes) memcpy(to + 1, words, bytes);
    }
    return 1 + text_words(bytes);
}

static size_t put_slot(int64_t *to, const rl_value *s) {
    size_t n = 1;
    switch (s->tag) {
    case RL_TENSOR: return put_tensor(to, s->u.t);
    case RL_TENSORS:
        if (to) *to = head_of(s, 0, s->n);
        for (int i = 0; i < s->n; i++) n += put_tensor(to ? to + n : NULL, s->u.ts[i]);
        return n;
    case RL_INT:
    case RL_BOOLEAN:
    case RL_FLOAT: return put_words(to, s, &s->u.i, sizeof s->u.i, 1);
    case RL_INTS: return put_words(to, s, s->u.ints, (size_t)s->n * sizeof *s->u.ints, s->n);
    case RL_STRING: {
        const size_t length = strlen(s->u.s);
        return put_words(to, s, s->u.s, length, (int64_t)length);
    }
    default:
        if (to) *to = RL_NONE;
        return 1;
    }
}

/* Note [Inputs]: each argument is one word, tag │ dtype << 8 │ n << 16, and n words: sizes, numbers; a list
 * of tensors is followed by its tensors as arguments. A text lies in the words. */
static const int64_t *inputs_keep(const rl_value *args, int n) {
    size_t words = 0, at = 0;
    for (int i = 0; i < n; i++) words += put_slot(NULL, &args[i]);
    int64_t *kept = rl_text_room(words * sizeof *kept);
    for (int i = 0; kept && i < n; i++) at += put_slot(kept + at, &args[i]);
    return kept;
}

/* ---- afterwards ---- */
static PyObject *numbers(const int64_t *words, int64_t n) {
    RL_OWNED PyObject *list = PyList_New(n);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *number = PyLong_FromLongLong(words[i]);
        if (!number) return NULL;
        PyList_SET_ITEM(list, i, number);
    }
    return rl_move(&list);
}

static PyObject *get_slot(const int64_t **at);

static PyObject *get_list(const int64_t **at, int64_t n) {
    RL_OWNED PyObject *list = PyList_New(n);
    if (list) PyObject_GC_UnTrack(list); /* nobody may see its NULLs */
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *each = get_slot(at);
        if (!each) return NULL;
        PyList_SET_ITEM(list, i, each);
    }
    if (list) PyObject_GC_Track(list);
    return rl_move(&list);
}

static PyObject *get_value(const int64_t *words, int tag, int64_t n) {
    double number;
    if (tag == RL_INT) return PyLong_FromLongLong(*words);
    if (tag == RL_BOOLEAN) return PyBool_FromLong(*words != 0);
    if (tag == RL_INTS || tag == RL_TENSOR) return numbers(words, n);
    if (tag == RL_STRING) return PyUnicode_DecodeUTF8((const char *)words, n, "replace");
    if (tag != RL_FLOAT) return Py_NewRef(Py_None);
    memcpy(&number, words, sizeof number);
    return PyFloat_FromDouble(number);
}

/* (type, value) of the argument at *at, which goes on to the next */
static PyObject *get_slot(const int64_t **at) {
    const int64_t head = *(*at)++, n = head >> N_SHIFT;
    const int tag = (int)(head & TAG);
    const char *type = tag == RL_TENSOR    ? NULL
                       : tag == RL_TENSORS ? "TensorList"
                       : tag == RL_INTS    ? "ScalarList"
                       : tag == RL_INT || tag == RL_BOOLEAN || tag == RL_FLOAT || tag == RL_STRING ? "Scalar"
                                                                                                   : "";
    if (tag == RL_TENSORS) {
        RL_OWNED PyObject *list = get_list(at, n);
        return list ? Py_BuildValue("(sO)", type, list) : NULL;
    }
    RL_OWNED PyObject *value = get_value(*at, tag, n);
    if (!value) return NULL;
    *at += tag == RL_STRING ? (int64_t)text_words((size_t)n) : n;
    return Py_BuildValue("(sO)", type ? type : rl_dtype_name((int)(head >> DTYPE_SHIFT & TAG)), value);
}

PyObject *rl_inputs_list(const int64_t *inputs, int n) {
    return get_list(&inputs, inputs ? n : 0);
}

/* ---- events ---- */
rl_profile_state rl_profiling;
static rl_recording now;
static uint64_t sessions;
static int64_t counted; /* bytes of storages that sessions saw come and that are still there; atomic */

static int64_t profile_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- room for events and names ---- */
static rl_event *event_room(void) {
    if (!now.last || now.last->n == CHUNK) {
        rl_chunk *fresh = room_take(sizeof *fresh);
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
    text_free(r->text);
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
                    .inputs = inputs ? inputs_keep(what->inputs, what->n_inputs) : NULL,
                    .before = __atomic_load_n(&counted, __ATOMIC_RELAXED)};
    e->n_inputs = e->inputs ? (uint8_t)what->n_inputs : 0;
    e->start = profile_now();
    return (rl_mark){e, rl_profiling.id};
}

void rl_profile_end(rl_mark mark) {
    rl_event *e = mark.event;
    if (!e || mark.session != rl_profiling.id || e->end) return;
    e->end = profile_now();
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
static void profile_become(rl_profile_state state) {
    const bool all = state.wants.all_threads;
    rl_intercept_all(all ? RL_INTERCEPT_profiler : 0);
    rl_intercept(RL_INTERCEPT_profiler, state.id);
    rl_profiling = state;
}

/* Nobody would ask a forked child for what it records: workers that load data, servers. */
static void forget_after_fork(void) {
    if (!rl_profiling.id) return;
    profile_become((rl_profile_state){0});
    now = (rl_recording){0};
    text_steal();
}

void rl_session_start(const rl_profile_options *wants) {
    static bool guarded;
    if (!guarded) guarded = pthread_atfork(NULL, NULL, forget_after_fork) == 0;
    now = (rl_recording){.start = profile_now()};
    room_begin();
    profile_become((rl_profile_state){++sessions, *wants});
    rl_tls.profile = sessions;
}

rl_recording rl_session_stop(void) {
    rl_recording done = now;
    done.text = text_steal();
    now = (rl_recording){0};
    profile_become((rl_profile_state){0});
    done.stop = profile_now();
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
