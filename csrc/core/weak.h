/* Weak references to storages: they tell whether it lives, and keep nothing of it but the head. */
#ifndef RL_CORE_WEAK_H
#define RL_CORE_WEAK_H
#include "contract/kernel.h"

/* A weak reference is a number, that of the storage's address, so that a wrong one is only not found. */
uintptr_t rl_weak_new(rl_storage *s);    /* 0 with an error pending */
rl_storage *rl_weak_get(uintptr_t weak); /* the storage, owned; NULL when it is dead */
bool rl_weak_close(rl_storage *s); /* a dead storage: may its head go, too? else the last weak one takes it */
rl_storage *rl_weak_less(uintptr_t weak); /* one fewer; the dead storage whose last it was, else NULL */
void rl_weak_guard_fork(void);
#endif
