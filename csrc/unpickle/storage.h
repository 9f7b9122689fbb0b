/* The storages that a file speaks of, by their keys. */
#ifndef RL_UNPICKLE_STORAGE_H
#define RL_UNPICKLE_STORAGE_H
#include "unpickle.h"

rl_item *rl_stored_persistent(rl_reader *r, rl_item *pid); /* rl_reader.persistent of zip and legacy files */
rl_stored *rl_stored_find(rl_reader *r, rl_text key);
rl_stored *rl_stored_new(rl_reader *r, rl_text key, rl_text location, int dtype, int64_t numel);
/* on the CPU, in bytes of the file that the caller has checked; no item stands for it */
rl_stored *rl_stored_at(rl_reader *r, rl_text key, int dtype, int64_t numel, int64_t at);
/* `numel` elements of a whole storage from `offset` on, under a name of their own */
rl_stored *rl_stored_slice(rl_reader *r, rl_stored *root, rl_text key, int64_t offset, int64_t numel);
#endif
