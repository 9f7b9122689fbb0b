/* Module: a class made by calling type(...), so that its instances are what a Python class's are: state
 * in the ordinary __dict__, no C fields. The behaviour is C method descriptors in the type's dict, plus
 * tp_call (and tp_getattro before Python 3.12) patched into every subclass when it is first used.
 *
 *   m(x) ──► tp_call = rl_module_call ──► sizes of the hook dicts ──► forward        (module/call.c)
 *                                              └─ not all empty ──► hooked call      (module/hooks.c)
 *   m.w  ──► type, __dict__, _parameters, _buffers, _modules                          (module/attr.c) */
#ifndef RL_MODULE_H
#define RL_MODULE_H
#include "args.h"
#include "children.h"
#include "forward.h"
#include "global_hooks.h"
#include "helpers.h"
#include "map.h"
#include "paths.h"
#include "seen.h"
#include "state.h"
#include "tree.h"

/* ---- module/attr.c ---- */
PyObject *rl_module_getattro(PyObject *m, PyObject *name);      /* slot: no user __getattr__ */
PyObject *rl_module_getattro_user(PyObject *m, PyObject *name); /* slot: a user __getattr__ sees the misses */
/* ---- module/register.c ---- */
int rl_module_buffer_check(PyObject *value); /* isinstance(value, Buffer) */
int rl_module_set_parameter(PyObject *m, PyObject *name, PyObject *value);
int rl_module_put_parameter(PyObject *m, PyObject *map, PyObject *name, PyObject *value);
int rl_module_set_buffer(PyObject *m, PyObject *name, PyObject *value, int persistent);
int rl_module_set_child(PyObject *m, PyObject *map, PyObject *name,
                        PyObject *value); /* hooks, then map[name] */
/* ---- module/call.c ---- */
PyObject *rl_module_call(PyObject *m, PyObject *args, PyObject *kwargs);
/* ---- module/hooks.c ---- */
/* args is a tuple, kwargs a dict or NULL */
PyObject *rl_module_call_hooked(PyObject *m, const rl_forward *f, PyObject *args, PyObject *kwargs);

/* ---- module/state_keys.c ---- */
typedef struct {
    PyObject *key, *value;
} rl_entry;
typedef struct {
    const rl_entry *at; /* in `list`, or in the list of a share above; NULL: only `dict` */
    Py_ssize_t n;
    rl_entry *list; /* owned, as its entries are */
    PyObject *dict; /* owned; NULL until somebody needs it */
} rl_share;
void rl_share_end(rl_share *s);
#define RL_SHARE __attribute__((cleanup(rl_share_end))) rl_share
int rl_share_list(rl_share *s, PyObject *dict); /* lists what the dict has now, if it can be listed */
PyObject *rl_share_dict(rl_share *s);           /* borrowed */
/* When the list is, after `skip` characters, just what m and then its children ask for: how many entries
 * are m's own. Otherwise -1, never with an exception. */
Py_ssize_t rl_share_fits(const rl_share *s, PyObject *m, Py_ssize_t skip);
/* Where the name after the prefix ends; -1 when the key does not start with the prefix, -2 on an error. */
Py_ssize_t rl_key_name_end(PyObject *key, PyObject *prefix, int *dotted);
/* The share of the child `name` at `below`, by the dict of the share at `place`; *shares starts as NULL. */
int rl_share_deal(rl_share *share, rl_place *place, PyObject **shares, PyObject *name, rl_place *below,
                  rl_share *piece);
/* The next piece, which is the child's of this name; borrows the entries. */
void rl_share_cut(const rl_share *s, Py_ssize_t *at, Py_ssize_t skip, PyObject *name, rl_share *piece);

/* ---- module/state_entry.c ---- */
typedef struct rl_load_job {
    PyObject *whole;                         /* the state dict as it was given */
    PyObject *missing, *unexpected, *errors; /* lists that the modules append to */
    PyObject *metadata;                      /* of the whole state dict, or NULL */
    PyObject *assign;
    PyObject *result;     /* _IncompatibleKeys(missing, unexpected) */
    PyObject *mismatched; /* list of (key, shape given, shape here); NULL: these are errors */
    PyObject *ties;       /* nn.modules._ties.Ties, or NULL */
    struct rl_load_job *outer;
} rl_load_job;
void rl_load_job_begin(rl_load_job *job);
void rl_load_job_end(rl_load_job *job);
const rl_load_job *rl_load_job_find(PyObject *errors); /* NULL for lists of somebody else */
/* Puts `value` into m.name, which holds `param`; what does not fit is noted, -1 is for exceptions. */
int rl_load_entry(PyObject *m, PyObject *name, PyObject *param, PyObject *key, PyObject *value, int assign,
                  PyObject *errors);
int rl_load_bytes(rl_tensor *to,
                  rl_tensor *from); /* 1 when that was all; 0: it takes more, to the same end */

/* ---- the descriptors that each file brings to the type ---- */
extern PyMethodDef rl_module_type_methods[], rl_module_attr_methods[], rl_module_register_methods[],
    rl_module_call_methods[], rl_module_iter_methods[], rl_module_walk_methods[], rl_module_save_methods[],
    rl_module_load_methods[];
/* ---- module/method.c ---- */
PyObject *rl_module_method_new(PyTypeObject *type, PyMethodDef *def);
int rl_module_method_init(void);
int rl_module_iter_init(PyObject *m);
#endif
