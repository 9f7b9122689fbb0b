/* What the type of an object says about it: is it a Module, and which of Module's methods are its own?
 *
 * Note [Facts]: whatever a subclass may override is honoured. What its type says is kept per type
 * version, which Python changes with every change of a class in its MRO; the instance's dict is asked
 * each time. */
#ifndef RL_MODULE_FACTS_H
#define RL_MODULE_FACTS_H
#include "names.h"

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
#endif
