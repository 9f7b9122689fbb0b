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

int64_t rl_profile_now(void);
void rl_session_start(const rl_profile_options *wants);
/* Ends it; what it recorded is the caller's, who gives it back with rl_recording_free. */
rl_recording rl_session_stop(void);
void rl_recording_free(rl_recording *r);

/* profile/room.c; NULL: there is none left */
void rl_room_begin(void);
void *rl_room_take(int64_t bytes); /* the caller's */
void *rl_text_room(size_t bytes);  /* that lasts as long as the recording */
rl_text *rl_text_steal(void);
void rl_text_free(rl_text *t);

/* Note [Inputs]: each argument is one word, tag │ dtype << 8 │ n << 16, and n words: sizes, numbers; a list
 * of tensors is followed by its tensors as arguments. A text lies in the words. */
const int64_t *rl_inputs_keep(const rl_slot *args, int n);
PyObject *rl_inputs_list(const int64_t *inputs, int n); /* a list of pairs (type, value) */

/* calls of Python functions on this thread */
int rl_python_calls_start(void);
void rl_python_calls_stop(void);
#endif
