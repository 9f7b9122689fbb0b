/* The reader's arena, texts and records: what every file of this folder stands on. */
#ifndef RL_UNPICKLE_SOURCE_H
#define RL_UNPICKLE_SOURCE_H
#include "unpickle.h"

void *rl_reader_alloc(rl_reader *r, int64_t n); /* from the arena; NULL and an error recorded */
char *rl_reader_copy(rl_reader *r, const void *from, int64_t n); /* a NUL follows the copy */
/* Room for `need` elements in an array made by this function; keeps the `used` first ones. */
rl_status rl_reader_grow(rl_reader *r, void **array, int64_t *room, int64_t used, int64_t need, size_t size);
const char *rl_reader_quote(rl_reader *r, rl_text t); /* printable, short */
bool rl_text_is(rl_text t, const char *s);
bool rl_text_utf8(rl_text t, bool surrogates);
/* All bytes of a record, its checksum compared. */
rl_status rl_record_read(rl_reader *r, const rl_record *from, const char *name, void *to);
#endif
