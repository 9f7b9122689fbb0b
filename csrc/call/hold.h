/* What a call does beside its kernel where that runs without the GIL, or on a device. */
#ifndef RL_CALL_HOLD_H
#define RL_CALL_HOLD_H
#include "call.h"

/* call/hold.c: Note [Snapshot] */
enum { RL_HOLD_ROOM = 8 }; /* what all operators but those on lists need */
typedef struct {
    rl_view **place; /* in the call */
    rl_view *original, copy;
} rl_held_view;
typedef struct {
    int n;
    rl_held_view *views, room[RL_HOLD_ROOM];
} rl_hold;
rl_status rl_hold_take(rl_hold *h, rl_call *k, bool results); /* with its results, once they have memory */
void rl_hold_end(rl_hold *h);

/* call/fallback.c */
/* Runs the call on the CPU; an error may be raised or pending. NULL where nobody asked for that. */
extern rl_status (*rl_fallback_run)(const rl_operator *op, rl_call *k);
void rl_fallback_init(void); /* reads RUSHLIGHT_CUDA_FALLBACK */
#endif
