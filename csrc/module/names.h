/* The strings that this component looks up and the methods that it calls by name, interned once. */
#ifndef RL_MODULE_NAMES_H
#define RL_MODULE_NAMES_H
#include "object/tensor.h"

#define RL_MODULE_NAMES(X)                                                                                   \
    X(training)                                                                                              \
    X(_parameters)                                                                                           \
    X(_buffers)                                                                                              \
    X(_modules)                                                                                              \
    X(_non_persistent_buffers_set)                                                                           \
    X(_backward_pre_hooks)                                                                                   \
    X(_backward_hooks)                                                                                       \
    X(_is_full_backward_hook)                                                                                \
    X(_forward_hooks)                                                                                        \
    X(_forward_hooks_with_kwargs)                                                                            \
    X(_forward_hooks_always_called)                                                                          \
    X(_forward_pre_hooks)                                                                                    \
    X(_forward_pre_hooks_with_kwargs)                                                                        \
    X(_state_dict_hooks)                                                                                     \
    X(_state_dict_pre_hooks)                                                                                 \
    X(_load_state_dict_pre_hooks)                                                                            \
    X(_load_state_dict_post_hooks)                                                                           \
    X(_from_public_api)                                                                                      \
    X(_is_replica)                                                                                           \
    X(_is_buffer)                                                                                            \
    X(_metadata)                                                                                             \
    X(_version)                                                                                              \
    X(_compiled_call_impl)                                                                                   \
    X(_extra_state)                                                                                          \
    X(call_super_init)                                                                                       \
    X(version)                                                                                               \
    X(assign_to_params_buffers)                                                                              \
    X(persistent)                                                                                            \
    X(materialize)                                                                                           \
    X(forward)                                                                                               \
    X(items)                                                                                                 \
    X(keys)                                                                                                  \
    X(values)                                                                                                \
    X(get)                                                                                                   \
    X(add)                                                                                                   \
    X(discard)                                                                                               \
    X(startswith)                                                                                            \
    X(detach)                                                                                                \
    X(detach_)                                                                                               \
    X(copy_)                                                                                                 \
    X(zero_)                                                                                                 \
    X(requires_grad)                                                                                         \
    X(requires_grad_)                                                                                        \
    X(grad)                                                                                                  \
    X(grad_fn)                                                                                               \
    X(shape)                                                                                                 \
    X(size)                                                                                                  \
    X(is_meta)                                                                                               \
    X(type)                                                                                                  \
    X(prefix)                                                                                                \
    X(recurse)                                                                                               \
    X(remove_duplicate)                                                                                      \
    X(destination)                                                                                           \
    X(keep_vars)                                                                                             \
    X(__class__)                                                                                             \
    X(__call__)                                                                                              \
    X(__dict__)                                                                                              \
    X(__init__)                                                                                              \
    X(__module__)                                                                                            \
    X(__name__)                                                                                              \
    X(__qualname__)                                                                                          \
    X(__getattribute__)                                                                                      \
    X(__torch_function__)

/* Methods that a subclass may override and that our own code calls. */
#define RL_MODULE_METHODS(X)                                                                                 \
    X(train)                                                                                                 \
    X(apply)                                                                                                 \
    X(children)                                                                                              \
    X(named_children)                                                                                        \
    X(named_modules)                                                                                         \
    X(parameters)                                                                                            \
    X(named_parameters)                                                                                      \
    X(named_buffers)                                                                                         \
    X(_named_members)                                                                                        \
    X(state_dict)                                                                                            \
    X(_save_to_state_dict)                                                                                   \
    X(_load_from_state_dict)                                                                                 \
    X(get_extra_state)                                                                                       \
    X(set_extra_state)                                                                                       \
    X(register_parameter)                                                                                    \
    X(register_buffer)                                                                                       \
    X(add_module)                                                                                            \
    X(_call_impl)                                                                                            \
    X(__setattr__)                                                                                           \
    X(__delattr__)                                                                                           \
    X(__getattr__)

typedef struct {
#define X(name) PyObject *name;
    RL_MODULE_NAMES(X)
    RL_MODULE_METHODS(X)
#undef X
    PyObject *empty; /* "" */
} rl_module_names;
extern rl_module_names rl_name;
int rl_module_names_init(void);

/* RL_M_train ...: the methods by number */
enum {
#define X(name) RL_M_##name,
    RL_MODULE_METHODS(X)
#undef X
        RL_M_COUNT
};
#endif
