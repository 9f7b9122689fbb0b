/* Storages: reference-counted blocks of memory that views share. */
#ifndef RL_CORE_STORAGE_H
#define RL_CORE_STORAGE_H
#include "kernel_abi/kernel.h"

rl_storage *rl_storage_new(rl_count n, size_t itemsize); /* CPU, uninitialised; NULL and RL_MEMORY pending */
/* Memory of somebody else; free(owner) is called once when the last user is gone, also when this fails. */
rl_storage *rl_storage_borrow(void *mem, size_t nbytes, void (*free)(void *), void *owner);
void rl_storage_lend(rl_storage *s, void *mem, size_t nbytes); /* s itself is the caller's, as mem is */
rl_storage *rl_storage_part(rl_storage *root, size_t at, size_t nbytes); /* the same memory */
rl_storage *rl_storage_on(int device, int index, rl_count n, size_t itemsize);
rl_status rl_view_allocate(rl_view *v); /* a storage on v's device for v->numel elements */
rl_storage *rl_storage_retain(rl_storage *s);
void rl_storage_release(rl_storage *s);
extern int rl_kernels_beside; /* kernels that run without the GIL, which guards it; none after a fork */
bool rl_storage_in_use(rl_storage *s);
rl_status rl_storage_resize(rl_storage *s, rl_count nbytes);
void *rl_storage_bytes(rl_storage *s, int mode); /* the whole block; mode as for rl_data */
void rl_storage_export(rl_storage *s);           /* somebody outside may write from now on ... */
void rl_storage_unexport(rl_storage *s);         /* ... until here */
/* freed(s) is called once, when the bytes of s go: its own, where nobody watches yet (else false). */
bool rl_storage_watch(rl_storage *s, void (*freed)(void *s));
size_t rl_storage_room(const rl_storage *s); /* the bytes that are there: tensors may see more than nbytes */
/* The bytes have been copied to `mem`, where they and all views are from now on; free(owner) gives it back.
 */
void rl_storage_move_steal(rl_storage *s, void *mem, void (*free)(void *), void *owner);
void rl_storage_weak_release(uintptr_t weak); /* gives a weak reference back */

/* ---- weak references to storages ----
 * they tell whether it lives, and keep nothing of it but the head. */
/* A weak reference is a number, that of the storage's address, so that a wrong one is only not found. */
uintptr_t rl_weak_new(rl_storage *s);    /* 0 with an error pending */
rl_storage *rl_weak_get(uintptr_t weak); /* the storage, owned; NULL when it is dead */
void rl_weak_guard_fork(void);
#endif
