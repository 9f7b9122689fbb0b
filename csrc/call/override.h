/* Classes and modes that answer for functions themselves: `__torch_function__`.
 *
 * A Tensor or Parameter is plain and costs a comparison. Of any other object the class is asked: a subclass
 * of Tensor has at least Tensor's own `__torch_function__`, which makes results that class. A mode
 * (overrides.TorchFunctionMode) is asked before all of them; its thread does not ask while it answers. */
#ifndef RL_CALL_OVERRIDE_H
#define RL_CALL_OVERRIDE_H
#include "object/interceptors.h"

#define RL_RETURN_TYPES "rushlight.return_types." /* where the named tuples of results lie */

bool rl_override_class(PyObject *o); /* does its class answer, and may it now? */
/* has this thread a mode that may answer? */
static inline bool rl_override_mode(void) {
    return rl_interceptors_here() & RL_INTERCEPT_torch_function;
}
static inline bool rl_is_plain(PyObject *o) {
    return Py_TYPE(o) == rl_tensor_type || Py_TYPE(o) == rl_parameter_type;
}
/* the same, quickly for what is passed most */
static inline bool rl_override_asked(PyObject *o) {
    return !rl_is_plain(o) && !PyLong_CheckExact(o) && !PyFloat_CheckExact(o) && rl_override_class(o);
}
/* Is a call of a tensor's member to be left to rl_override_run? */
static inline bool rl_is_overridden(PyObject *o) {
    return __builtin_expect(rl_override_asked(o) || rl_override_mode(), 0);
}
/* What the modes, then the classes of `args` and `kwargs` (or NULL) answer for func(*args, **kwargs); owned.
 */
PyObject *rl_override_run(PyObject *func, PyObject *args, PyObject *kwargs);
/* ... for func(self, *args) as vectorcall has it: self may be NULL, kwnames too */
PyObject *rl_override_call(PyObject *func, PyObject *self, PyObject *const *args, Py_ssize_t n,
                           PyObject *kwnames);
/* ... for the getter of one of Tensor's attributes */
PyObject *rl_override_attribute(const char *name, PyObject *self);
/* ... for a member of Tensor, called with self and up to two arguments (NULL ends them). */
PyObject *rl_override_member(const char *name, PyObject *self, PyObject *first, PyObject *second);
bool rl_is_tuple_type(const PyTypeObject *type); /* call/names.c: that of an operator with several results */
PyObject *rl_tensor_as_class(PyObject *tensor, PyTypeObject *cls); /* a view of it; owned */
int rl_override_init(PyObject *m);                                 /* after the type Tensor */
#endif
