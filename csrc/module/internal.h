/* What the files of module share. */
#ifndef RL_MODULE_INTERNAL_H
#define RL_MODULE_INTERNAL_H
#include "call/call.h"

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

/* ---- what the type of an object says about it ----
 * is it a Module, and which of Module's methods are its own?
 *
 * Note [Facts]: whatever a subclass may override is honoured. What its type says is kept per type
 * version, which Python changes with every change of a class in its MRO; the instance's dict is asked
 * each time. */
extern PyTypeObject *rl_module_type;
typedef struct {
    PyTypeObject *type;
    PyObject *forward; /* borrowed from the class; NULL unless self can be put in front of its arguments */
    uint32_t version, ours;
    uint8_t is_module, plain_call, plain_get; /* subclass; __call__ is ours; no user __getattribute__ */
    uint8_t plain_training;                   /* no class has `training`, so it lies in the instance */
} rl_module_facts;
/* What a type says; good until user code runs, so copy out what is needed later. */
const rl_module_facts *rl_module_facts_get(PyTypeObject *type);
/* Puts the quick slots into a subclass that does not override what they stand for. */
void rl_module_adopt(PyTypeObject *type);
typedef struct {
    ternaryfunc call;
    getattrofunc getattro;      /* for types without a user __getattr__ */
    getattrofunc getattro_user; /* a user __getattr__ sees the misses */
} rl_module_slots;
/* `type` is Module from now on: complete but for its slots. */
void rl_module_facts_init(PyTypeObject *type, const rl_module_slots *slots);
int rl_module_check(PyObject *o); /* isinstance(o, Module): 1, 0, -1 */
/* 1 when `m.method` is Module's own, neither overridden by a class nor put into the instance. */
int rl_module_all_ours(PyObject *m, uint32_t methods); /* bits 1u << method */
static inline int rl_module_ours(PyObject *m, int method) {
    return rl_module_all_ours(m, 1u << method);
}
static inline PyObject *rl_module_dict(PyObject *m) { /* borrowed; NULL when there is none */
    PyObject **dict = _PyObject_GetDictPtr(m);
    return dict ? *dict : NULL;
}

/* ---- a module's __dict__ ----
 * what __init__ puts into it, in which order, and reading it. */
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

/* ---- mappings, and `for key, value in map.items()` ---- */
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

/* ---- Python's own rules and texts for binding arguments ---- */
typedef struct {
    const char *function;
    int required, count; /* of `names`, self not counted */
    const char *names[7];
} rl_signature;
int rl_method_bind(const rl_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                   PyObject **out);
/* The Module that a method bound by a method object is given as args[0]; borrowed. */
PyObject *rl_method_self(const char *function, PyObject *const *args, Py_ssize_t nargs);

/* ---- what Python code says in a word and the C API does not: abstract.c ---- */
int rl_hasattr(PyObject *o, PyObject *name); /* hasattr(o, name): 1, 0, -1 */
PyObject *rl_typename(PyObject *o);          /* torch.typename */
/* o.method(*args, **{names: values}): the last PyTuple_GET_SIZE(names) of the n `args` have names. */
PyObject *rl_method_call(PyObject *o, PyObject *method, PyObject *const *args, size_t n, PyObject *names);
/* The raised exception as an object with its traceback, and back again. */
PyObject *rl_raised_take(void);
void rl_raised_put_steal(PyObject *exception);

/* ---- dotted names of modules and what they hold ---- */
PyObject *rl_path_append(PyObject *prefix, PyObject *name); /* prefix + name */
PyObject *rl_path_strip(PyObject *prefix);                  /* prefix[:-1] */
/* A module's place in a state dict: "a.b" is its path, "a.b." its prefix. The root's prefix may be anything;
 * below it the path comes first, and the prefix is only made for those who ask. All owned. */
typedef struct {
    PyObject *path, *prefix; /* either may be NULL, not both */
} rl_state_place;
static inline void rl_state_place_end(rl_state_place *place) {
    Py_CLEAR(place->path);
    Py_CLEAR(place->prefix);
}
#define RL_STATE_PLACE __attribute__((cleanup(rl_state_place_end))) rl_state_place
PyObject *rl_state_place_path(rl_state_place *place);                      /* borrowed */
PyObject *rl_state_place_prefix(rl_state_place *place);                    /* borrowed */
PyObject *rl_state_place_key(const rl_state_place *place, PyObject *name); /* prefix + name */
int rl_state_place_enter(rl_state_place *below, const rl_state_place *place, PyObject *name);

/* ---- the hooks of all modules ----
 * dicts that register_module_forward_hook() and the like fill. */
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

/* ---- a module's forward ----
 * usually a plain function of its class, called with self in front. */
typedef struct {
    PyObject *callable; /* owned */
    int unbound;        /* self goes in front of the arguments */
} rl_forward;
int rl_forward_get(PyObject *m, rl_forward *f);
PyObject *rl_forward_call(const rl_forward *f, PyObject *m, PyObject *args, PyObject *kwargs);

/* ---- calling a module that has hooks, its own or global ones ---- */
/* args is a tuple, kwargs a dict or NULL */
PyObject *rl_module_call_hooked(PyObject *m, const rl_forward *f, PyObject *args, PyObject *kwargs);

/* ---- what type.c puts into the type slots of Module and its subclasses ---- */
PyObject *rl_module_call(PyObject *m, PyObject *args, PyObject *kwargs);
PyObject *rl_module_getattro(PyObject *m, PyObject *name);      /* no user __getattr__ */
PyObject *rl_module_getattro_user(PyObject *m, PyObject *name); /* a user __getattr__ sees the misses */

/* ---- what each file brings to the type ---- */
extern PyMethodDef rl_module_attr_methods[], rl_module_register_methods[], rl_module_call_methods[],
    rl_module_iter_methods[], rl_module_walk_methods[], rl_module_save_methods[], rl_module_load_methods[],
    rl_module_load_own_methods[];
int rl_module_iter_init(PyObject *m);

/* ---- what help() says of Module and of its methods that are written in C ---- */
extern const char rl_module_doc[], rl_module_get_extra_state_doc[], rl_module_set_extra_state_doc[],
    rl_module_call_doc[], rl_module_forward_doc[], rl_module_named_modules_doc[], rl_module_modules_doc[],
    rl_module_named_children_doc[], rl_module_children_doc[], rl_module_named_parameters_doc[],
    rl_module_parameters_doc[], rl_module_named_buffers_doc[], rl_module_buffers_doc[],
    rl_module_register_parameter_doc[], rl_module_register_buffer_doc[], rl_module_add_module_doc[],
    rl_module_register_module_doc[], rl_module_train_doc[], rl_module_eval_doc[], rl_module_apply_doc[],
    rl_module_zero_grad_doc[], rl_module_state_dict_doc[], rl_module_load_state_dict_doc[];
#endif
