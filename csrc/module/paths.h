/* Dotted names of modules and what they hold. */
#ifndef RL_MODULE_PATHS_H
#define RL_MODULE_PATHS_H
#include "names.h"

PyObject *rl_path_join(PyObject *prefix, PyObject *name);   /* "prefix.name", "name" for an empty prefix */
PyObject *rl_path_append(PyObject *prefix, PyObject *name); /* prefix + name */
PyObject *rl_path_strip(PyObject *prefix);                  /* prefix[:-1] */
/* A module's place in a state dict: "a.b" is its path, "a.b." its prefix. The root's prefix may be anything;
 * below it the path comes first, and the prefix is only made for those who ask. All owned. */
typedef struct {
    PyObject *path, *prefix; /* either may be NULL, not both */
} rl_place;
static inline void rl_place_end(rl_place *place) {
    Py_CLEAR(place->path);
    Py_CLEAR(place->prefix);
}
#define RL_PLACE __attribute__((cleanup(rl_place_end))) rl_place
PyObject *rl_place_path(rl_place *place);                      /* borrowed */
PyObject *rl_place_prefix(rl_place *place);                    /* borrowed */
PyObject *rl_place_key(const rl_place *place, PyObject *name); /* prefix + name */
int rl_place_enter(rl_place *below, const rl_place *place, PyObject *name);
#endif
