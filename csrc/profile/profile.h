/* What a profiler records while it is on: calls of operators, nodes of a backward pass, blocks that the user
 * names, calls of Python functions, memory.
 *
 *   dispatcher ─┐                       session: chunk ─► chunk ─► ...       events, never moved
 *   engine ─────┼─► begin ─► event ─►            text  ─► text  ─► ...       names, shapes
 *   Python ─────┘            end
 *
 * Events begin and end with the GIL held, which guards all of it; the kernels between run without. */
#ifndef RL_PROFILE_PROFILE_H
#define RL_PROFILE_PROFILE_H
#include "object/tensor.h"

typedef enum {
    RL_EVENT_OPERATOR, /* "aten::" name */
    RL_EVENT_INPLACE,  /* ... and "_" */
    RL_EVENT_EVALUATE, /* "autograd::engine::evaluate_function: " name */
    RL_EVENT_NODE,     /* name */
    RL_EVENT_FUNCTION, /* the forward of an autograd.Function */
    RL_EVENT_USER,
    RL_EVENT_MODULE,
    RL_EVENT_PYTHON,
    RL_EVENT_MEMORY,
    RL_EVENT_KINDS
} rl_event_kind;

typedef struct rl_event {
    const char *prefix, *name; /* of the program, or in the session's text */
    struct rl_event *outer;    /* of a Python call: the one around it */
    int64_t start, end;        /* nanoseconds of the monotonic clock; end 0: still open */
    int64_t before, after;     /* bytes of tensors when it began and ended; of MEMORY: what came or went */
    int64_t sequence;          /* of the node that the call makes or that runs; -1: none */
    const int64_t *inputs;     /* Note [Inputs], or NULL */
    uint32_t thread, system_thread;
    uint8_t kind, n_inputs;
    bool elsewhere, unfinished; /* ended by another thread; by the end of the session */
} rl_event;

/* An event that began; event NULL: nothing is recorded. Of an older session it is no more. */
typedef struct {
    rl_event *event;
    uint64_t session;
} rl_mark;

/* What is to be recorded. */
typedef struct {
    bool inputs, memory, all_threads, python;
} rl_profile_options;
typedef struct {
    uint64_t id; /* 0: no profiler is on */
    rl_profile_options wants;
} rl_profile_state;
extern rl_profile_state rl_profiling;

/* Is this thread recorded? */
static inline bool rl_profile_here(void) {
    return rl_profiling.id && (rl_tls.profile == rl_profiling.id || rl_profiling.wants.all_threads);
}

typedef struct {
    rl_event_kind kind;
    const char *prefix, *name;
    bool borrowed; /* the name may die before the session: it is copied */
    int64_t sequence;
    const rl_value *inputs;
    int n_inputs;
} rl_event_begin;
/* Where rl_profile_here(). Runs no Python; where memory is short the event is dropped, and counted. */
rl_mark rl_profile_begin(const rl_event_begin *what);
void rl_profile_end(rl_mark mark);
/* A call made a storage: where memory is recorded it is counted until it goes. */
void rl_profile_allocated(rl_storage *s);

int rl_profile_init(PyObject *m);
#endif
