/* What the files that make up the Tensor type share: slots and tables that bindings/tensor_type.c joins. */
#ifndef RL_BINDINGS_BINDINGS_H
#define RL_BINDINGS_BINDINGS_H
#include "call/call.h"

/* X(slot of PyNumberMethods, row) */
#define RL_NUMBER_INPLACE(X)                                                                                 \
    X(add, add)                                                                                              \
    X(subtract, sub)                                                                                         \
    X(multiply, mul)                                                                                         \
    X(true_divide, div)                                                                                      \
    X(floor_divide, floor_divide)                                                                            \
    X(remainder, remainder)                                                                                  \
    X(and, bitwise_and)                                                                                      \
    X(or, bitwise_or)                                                                                        \
    X(xor, bitwise_xor)                                                                                      \
    X(lshift, bitwise_left_shift)                                                                            \
    X(rshift, bitwise_right_shift)
#define RL_NUMBER_BINARY(X)                                                                                  \
    RL_NUMBER_INPLACE(X)                                                                                     \
    X(matrix_multiply, matmul)

/* bindings/arguments.c: of functions that are no operators; -1 and PyTorch's TypeError */
typedef struct {
    const char *function;
    int needed, plain;        /* arguments that must be there; those that may be given by position */
    const char *const *names; /* NULL ends them */
} rl_signature;
int rl_arguments(const rl_signature *s, PyObject *args, PyObject *kwargs, PyObject **values); /* borrowed */
int rl_argument_refuse(const char *function, const char *name, const char *wanted, PyObject *value);
int rl_argument_boolean(const char *function, const char *name, PyObject *value);
int rl_argument_dtype(const char *function, PyObject *value);

/* bindings/storage.c */
static inline bool rl_is_aligned(const void *p, int64_t item) {
    return (uintptr_t)p % (uintptr_t)(item > 8 ? 8 : item) == 0;
}
rl_storage *rl_storage_of(const void *from, int64_t nbytes); /* a copy; NULL and a pending error */

/* each file adds its types and functions to rushlight._C */
int rl_tensor_init(PyObject *m);
int rl_ops_init(PyObject *m);
int rl_create_init(PyObject *m);

/* bindings/attr.c */
extern PyGetSetDef rl_tensor_getset[];
extern PyMethodDef rl_tensor_methods[];
Py_ssize_t rl_tensor_length(PyObject *self);
Py_hash_t rl_tensor_hash(PyObject *self);
int rl_attr_init(PyObject *m);
int rl_autocast_init(PyObject *m); /* bindings/settings.c */

/* bindings/number.c */
#define X(slot, op) PyObject *rl_number_##slot(PyObject *a, PyObject *b);
RL_NUMBER_BINARY(X)
#undef X
#define X(slot, op) PyObject *rl_number_inplace_##slot(PyObject *a, PyObject *b);
RL_NUMBER_INPLACE(X)
#undef X
PyObject *rl_number_power(PyObject *a, PyObject *b, PyObject *mod);
PyObject *rl_number_inplace_power(PyObject *a, PyObject *b, PyObject *mod);
PyObject *rl_number_negative(PyObject *a);
PyObject *rl_number_positive(PyObject *a);
PyObject *rl_number_absolute(PyObject *a);
PyObject *rl_number_invert(PyObject *a);
PyObject *rl_tensor_compare(PyObject *a, PyObject *b, int op);

/* bindings/index.c */
PyObject *rl_tensor_iter(PyObject *self);
PyObject *rl_tensor_subscript(PyObject *self, PyObject *key);
int rl_tensor_ass_subscript(PyObject *self, PyObject *key, PyObject *value);

/* bindings/create.c */
PyObject *rl_tensor_construct(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *rl_tensor_from_data(PyObject *data, int dtype); /* bindings/create.c; dtype -1: inferred */

/* bindings/number.c */
PyObject *rl_tensor_tolist(PyObject *self, PyObject *unused);
int rl_tensor_bool(PyObject *self);
PyObject *rl_tensor_int(PyObject *self);
PyObject *rl_tensor_float(PyObject *self);
PyObject *rl_tensor_index(PyObject *self);
int rl_infer_init(PyObject *m);       /* bindings/infer.c */
int rl_promote_init(PyObject *m);     /* bindings/infer.c */
int rl_overridable_init(PyObject *m); /* bindings/overridable.c */
int rl_dlpack_init(PyObject *m);      /* bindings/dlpack.c */
int rl_pinned_init(PyObject *m);      /* bindings/pinned.c */
PyObject *rl_tensor_pin(PyObject *t); /* a copy in pinned memory; itself where it is there; owned */
rl_tensor *rl_tensor_new_pinned(const rl_device_driver *driver, const rl_view *v); /* like v; not filled */
int rl_memory_init(PyObject *m);                                                   /* bindings/methods.c */
int rl_foreign_init(PyObject *m);                                                  /* bindings/storage.c */
int rl_shared_init(PyObject *m);                                                   /* bindings/storage.c */
int rl_parameter_init(PyObject *m); /* bindings/tensor_type.c: after rl_tensor_init */
#endif
