/* The entries of a state dict on their way down a tree: what a module and all below it get, its share. */
#ifndef RL_MODULE_STATE_KEYS_H
#define RL_MODULE_STATE_KEYS_H
#include "paths.h"

typedef struct {
    PyObject *key, *value;
} rl_state_entry;
typedef struct {
    const rl_state_entry *at; /* in `list`, or in the list of a share above; NULL: only `dict` */
    Py_ssize_t n;
    rl_state_entry *list; /* owned, as its entries are */
    PyObject *dict;       /* owned; NULL until somebody needs it */
} rl_state_share;
void rl_state_share_end(rl_state_share *s);
#define RL_STATE_SHARE __attribute__((cleanup(rl_state_share_end))) rl_state_share
/* Lists what the dict has now, if it can be listed. */
int rl_state_share_list(rl_state_share *s, PyObject *dict);
PyObject *rl_state_share_dict(rl_state_share *s); /* borrowed */
/* When the list is, after `skip` characters, just what m and then its children ask for: how many entries
 * are m's own. Otherwise -1, never with an exception. */
Py_ssize_t rl_state_share_fits(const rl_state_share *s, PyObject *m, Py_ssize_t skip);
/* Where the name after the prefix ends; -1 when the key does not start with the prefix, -2 on an error. */
Py_ssize_t rl_state_key_end(PyObject *key, PyObject *prefix, int *dotted);
/* The share of the child `name` at `below`, by the dict of the share at `place`; *shares starts as NULL. */
int rl_state_share_deal(rl_state_share *share, rl_place *place, PyObject **shares, PyObject *name,
                        rl_place *below, rl_state_share *piece);
/* The next piece, which is the child's of this name; borrows the entries. */
void rl_state_share_cut(const rl_state_share *s, Py_ssize_t *at, Py_ssize_t skip, PyObject *name,
                        rl_state_share *piece);
#endif
