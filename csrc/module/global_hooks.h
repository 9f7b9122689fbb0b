/* The hooks of all modules: dicts that register_module_forward_hook() and the like fill. */
#ifndef RL_MODULE_GLOBAL_HOOKS_H
#define RL_MODULE_GLOBAL_HOOKS_H
#include "object/tensor.h"

/* The global hook dicts; Python's functions fill them, and users put others in their place: whoever runs
 * user code over one holds it. */
#define RL_GLOBAL_HOOKS(X)                                                                                   \
    X(buffer_registration_hooks)                                                                             \
    X(module_registration_hooks)                                                                             \
    X(parameter_registration_hooks)                                                                          \
    X(backward_pre_hooks)                                                                                    \
    X(backward_hooks)                                                                                        \
    X(forward_pre_hooks)                                                                                     \
    X(forward_hooks)                                                                                         \
    X(forward_hooks_always_called)                                                                           \
    X(forward_hooks_with_kwargs)
extern struct rl_module_hooks {
#define X(name) PyObject *name;
    RL_GLOBAL_HOOKS(X)
#undef X
} rl_module_hooks;
int rl_module_hooks_init(PyObject *m); /* adds them to rushlight._C */
#endif
