/* Mappings, and `for key, value in map.items()`. */
#ifndef RL_MODULE_MAP_H
#define RL_MODULE_MAP_H
#include "names.h"

typedef struct {
    PyObject *map, *iter; /* an exact dict is walked in place, anything else through its items() */
    Py_ssize_t pos, used;
    PyObject *key, *value; /* owned: the present pair */
} rl_map_iter;
void rl_map_iter_end(rl_map_iter *it);
#define RL_MAP_ITER __attribute__((cleanup(rl_map_iter_end))) rl_map_iter
int rl_map_iter_begin(rl_map_iter *it, PyObject *map);
/* of m.name, which usually lies at `at` of m.__dict__ */
int rl_map_iter_of(rl_map_iter *it, PyObject *m, Py_ssize_t at, PyObject *name);
int rl_map_iter_next(rl_map_iter *it); /* 1, 0 at the end, -1 */
int rl_map_iter_traverse(const rl_map_iter *it, visitproc visit, void *arg);

int rl_map_has(PyObject *map, PyObject *key);                    /* key in map */
int rl_map_find(PyObject *map, PyObject *key, PyObject **found); /* 1 and an owned value, 0, -1 */
/* The same, borrowed, for what a map nearly always is; *found is NULL on a miss, 0: not such a dict. */
static inline int rl_map_peek(PyObject *map, PyObject *key, PyObject **found) {
    if (RL_UNLIKELY(!PyDict_CheckExact(map))) return 0;
    *found = PyDict_GET_SIZE(map) ? PyDict_GetItemWithError(map, key) : NULL;
    return 1;
}
int rl_map_set(PyObject *map, PyObject *key, PyObject *value);
int rl_map_remove(PyObject *map, PyObject *key); /* del map[key], or discard from a set, if there */
#endif
