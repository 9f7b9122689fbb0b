/* load_state_dict: what all modules of a load share, and what each of them does. */
#ifndef RL_MODULE_STATE_LOAD_H
#define RL_MODULE_STATE_LOAD_H
#include "state_keys.h"

/* A call of load_state_dict() under way. */
typedef struct rl_state_load {
    PyObject *whole;                         /* the state dict as it was given */
    PyObject *missing, *unexpected, *errors; /* lists that the modules append to */
    PyObject *metadata;                      /* of the whole state dict, or NULL */
    PyObject *assign;
    PyObject *result;     /* _IncompatibleKeys(missing, unexpected) */
    PyObject *mismatched; /* list of (key, shape given, shape here); NULL: these are errors */
    PyObject *ties;       /* nn.modules._ties.Ties, or NULL */
    struct rl_state_load *outer;
} rl_state_load;
void rl_state_load_begin(rl_state_load *load);
void rl_state_load_end(rl_state_load *load);
const rl_state_load *rl_state_load_find(PyObject *errors); /* NULL for lists of somebody else */
/* Puts `value` into m.name, which holds `param`; what does not fit is noted, -1 is for exceptions. */
int rl_state_load_entry(PyObject *m, PyObject *name, PyObject *param, PyObject *key, PyObject *value,
                        int assign, PyObject *errors);
/* Copies where no kernel is needed: 1 when that was all; 0: it takes rl_state_load_entry, to the same end. */
int rl_state_load_bytes(rl_tensor *to, rl_tensor *from);

/* Module._load_from_state_dict(m, *arg) */
enum {
    RL_STATE_ARG_DICT,
    RL_STATE_ARG_PREFIX,
    RL_STATE_ARG_METADATA,
    RL_STATE_ARG_STRICT,
    RL_STATE_ARG_MISSING,
    RL_STATE_ARG_UNEXPECTED,
    RL_STATE_ARG_ERRORS,
    RL_STATE_ARG_COUNT
};
int rl_state_load_own(PyObject *m, PyObject *const *arg);
#endif
