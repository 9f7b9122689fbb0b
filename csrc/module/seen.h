/* What a walk has met; owns it. */
#ifndef RL_MODULE_SEEN_H
#define RL_MODULE_SEEN_H
#include "names.h"

enum { RL_SEEN_FEW = 4 };
typedef struct {
    PyObject *set; /* the caller's, or made when it must be one */
    PyObject **slot, *few[RL_SEEN_FEW];
    uint32_t n, mask;
} rl_seen;
void rl_seen_end(rl_seen *seen);
int rl_seen_traverse(const rl_seen *seen, visitproc visit, void *arg);
int rl_seen_has(rl_seen *seen, PyObject *o);
int rl_seen_add(rl_seen *seen, PyObject *o); /* 1 when it was not in there, 0 when it was, -1 */
PyObject *rl_seen_set_peek(rl_seen *seen);   /* as a set from now on; borrowed */
#endif
