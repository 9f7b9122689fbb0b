/* Memory that processes share: files without a name, which one process hands to another. */
#ifndef RL_CORE_SHARED_H
#define RL_CORE_SHARED_H
#include "kernel_abi/kernel.h"

/* Moves the bytes, and with them all views, into such a file. */
rl_status rl_storage_share(rl_storage *s);
rl_storage *rl_storage_new_shared(rl_count bytes); /* zeros; NULL and an error pending */
bool rl_storage_is_shared(const rl_storage *s);
/* Storage over the first bytes of a file, which has them; takes fd. When it is shared, what is written goes
 * to the file. `path` is copied; NULL where rl_storage_path() is to answer NULL. */
rl_storage *rl_storage_map_steal(int fd, int64_t nbytes, bool shared, const char *path);
const char *rl_storage_path(const rl_storage *s);
int rl_storage_fd(const rl_storage *s); /* of the file, the storage's own; -1 without one */
/* Storage over the first bytes of the file that fd stands for; fd itself stays the caller's. */
rl_storage *rl_storage_from_fd(int fd, int64_t nbytes);
#endif
