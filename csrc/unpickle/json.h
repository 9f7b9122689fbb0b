/* JSON, token by token: what the header of a safetensors file is written in.
 * Counts and texts are read; any other value is checked and passed over. Nothing recurses. */
#ifndef RL_UNPICKLE_JSON_H
#define RL_UNPICKLE_JSON_H
#include "unpickle.h"

typedef struct {
    rl_reader *reader;
    const char *start, *at, *end; /* valid UTF-8 that lives as long as the reader */
} rl_json;

rl_status rl_json_fail(rl_json *j, const char *why); /* tells the place, too */
rl_status rl_json_take(rl_json *j, char c);          /* this character, white space before it or not */
int rl_json_more(rl_json *j, char close,
                 bool first);                      /* another element before `close`? 1, 0 (closed) or -1 */
rl_status rl_json_text(rl_json *j, rl_text *to);   /* in place, or a copy if something in it is escaped */
rl_status rl_json_key(rl_json *j, rl_text *to);    /* of an object, and the colon */
rl_status rl_json_count(rl_json *j, uint64_t *to); /* an integer of at least 0; 1.0 and true are none */
bool rl_json_null(rl_json *j);                     /* takes a null if one comes */
rl_status rl_json_skip(rl_json *j, int most);      /* any value of at most so many levels */
rl_status rl_json_close(rl_json *j);               /* only white space may be left */
#endif
