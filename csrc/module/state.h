/* A module's __dict__: what __init__ puts into it, in which order, and reading it. */
#ifndef RL_MODULE_STATE_H
#define RL_MODULE_STATE_H
#include "facts.h"

/* Where __init__ puts things in a fresh __dict__. Only a guess, which costs less than a look-up: the key
 * found there is compared. */
enum {
    RL_AT_training,
    RL_AT_parameters,
    RL_AT_buffers,
    RL_AT_fleeting,
    RL_AT_backward_pre,
    RL_AT_backward,
    RL_AT_forward = 7,
    RL_AT_forward_pre = 10,
    RL_AT_state_dict = 12,
    RL_AT_state_dict_pre,
    RL_AT_load_pre,
    RL_AT_load_post,
    RL_AT_modules
};
static inline PyObject *rl_state_peek(PyObject *dict, Py_ssize_t at,
                                      PyObject *name) { /* borrowed, may raise */
    PyObject *key, *value;
    if (RL_LIKELY(PyDict_Next(dict, &at, &key, &value) && key == name)) return value;
    return PyDict_GetItemWithError(dict, name);
}
static inline Py_ssize_t rl_state_at(PyObject *name) { /* of the two that are walked alike */
    return name == rl_name._parameters ? RL_AT_parameters : RL_AT_buffers;
}
/* The _modules of a __dict__ that holds what __init__ puts there and nothing else, hence no methods; or NULL,
 * where it holds more. */
static inline PyObject *rl_state_bare(PyObject *dict) {
    PyObject *key, *modules, *next;
    Py_ssize_t at = RL_AT_modules;
    if (PyDict_GET_SIZE(dict) != RL_AT_modules + 1 || !PyDict_Next(dict, &at, &key, &modules)) return NULL;
    return key == rl_name._modules && !PyDict_Next(dict, &at, &key, &next) ? modules : NULL;
}
PyObject *rl_state_get(PyObject *m, PyObject *name);   /* m.name, where it is usually in m.__dict__; owned */
int rl_state_fill(PyObject *dict);                     /* what Module.__init__ does with an empty __dict__ */
int rl_state_back_fill(PyObject *m, PyObject *dict);   /* adds what modules of an older version lack */
int rl_state_is_fleeting(PyObject *m, PyObject *name); /* not persistent: 1, 0, -1 */
#endif
