/* The recording that is going on. */
#ifndef RL_PROFILE_SESSION_H
#define RL_PROFILE_SESSION_H
#include "profile.h"

enum { CHUNK = 512 };
typedef struct rl_chunk {
    struct rl_chunk *next;
    int n;
    rl_event at[CHUNK];
} rl_chunk;
typedef struct rl_text {
    struct rl_text *next;
    size_t used, size;
    int64_t words[];
} rl_text;
typedef struct {
    rl_chunk *first, *last;
    rl_text *text;
    int64_t n, dropped, start, stop;
} rl_recording;

void rl_session_start(const rl_profile_options *wants);
/* Ends it; what it recorded is the caller's, who gives it back with rl_recording_free. */
rl_recording rl_session_stop(void);
void rl_recording_free(rl_recording *r);

void *rl_text_room(size_t bytes); /* that lasts as long as the recording */

PyObject *rl_inputs_list(const int64_t *inputs, int n); /* a list of pairs (type, value) */

/* calls of Python functions on this thread; of those that run already the ones within the call of a code */
int rl_python_calls_start(PyObject *within);
void rl_python_calls_stop(void);
#endif
