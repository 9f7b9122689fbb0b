/* Fences: RUSHLIGHT_FENCE=1 or 2 puts every block of memory beside a page that nobody may touch. */
#ifndef RL_CORE_FENCE_H
#define RL_CORE_FENCE_H
#include "kernel_abi/kernel.h"

enum { RL_FENCE_OFF, RL_FENCE_BEHIND, RL_FENCE_FRONT };
extern int rl_fence_mode;
void rl_fence_init(void);                            /* once, at start: reads the environment */
void *rl_fence_alloc(size_t bytes);                  /* 64-byte aligned; NULL when there is no memory */
bool rl_fence_free(void *p);                         /* false: it is none of ours */
int64_t rl_fence_part(rl_layout *l, rl_count bytes); /* what rl_layout_add does between fences */
char *rl_fence_rooms(const rl_layout *l, int64_t n); /* NULL when there is no memory */
void rl_fence_rooms_free(char *base, const rl_layout *l, int64_t n);
#endif
