/* Module: a class made by calling type(...), so that its instances are what a Python class's are: state
 * in the ordinary __dict__, no C fields. The behaviour is C method descriptors in the type's dict, plus
 * tp_call (and tp_getattro before Python 3.12) patched into every subclass when it is first used.
 *
 *   m(x) ──► tp_call = rl_module_call ──► sizes of the hook dicts ──► forward        (module/call.c)
 *                                              └─ not all empty ──► hooked call      (module/hooks.c)
 *   m.w  ──► type, __dict__, _parameters, _buffers, _modules                          (module/attr.c) */
#ifndef RL_MODULE_MODULE_H
#define RL_MODULE_MODULE_H
#include <Python.h>

int rl_module_init(PyObject *m); /* adds Module to rushlight._C */
#endif
