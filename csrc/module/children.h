/* `for child in m.children()`, whoever defines it. */
#ifndef RL_MODULE_CHILDREN_H
#define RL_MODULE_CHILDREN_H
#include "map.h"
#include "seen.h"

typedef struct {
    rl_map_iter items;
    PyObject *foreign;
    PyObject *child; /* owned: the present one */
    rl_seen seen;
} rl_children;
void rl_children_end(rl_children *c);
#define RL_CHILDREN __attribute__((cleanup(rl_children_end))) rl_children
enum { RL_CHILDREN_METHODS = 1 << RL_M_children | 1 << RL_M_named_children };
int rl_children_begin(rl_children *c, PyObject *m);
static inline int rl_children_none(const rl_children *c) {
    return c->items.map == NULL && c->items.iter == NULL && c->foreign == NULL;
}
int rl_children_next(rl_children *c);
#endif
