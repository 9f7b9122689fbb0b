/* From Python's arguments to slots, and through the dispatcher to a kernel. */
#ifndef RL_CALL_CALL_H
#define RL_CALL_CALL_H
#include "object/tensor.h"
#include "ops/schema.h"

/* ---- call/names.c: what Python knows of the schemas ---- */
int rl_names_init(void);
PyObject *rl_arg_name(const rl_arg *a);          /* interned; borrowed */
PyTypeObject *rl_tuple_type(const rl_schema *s); /* the named tuple of several results; borrowed */
/* "(Tensor input, *, Number alpha = 1)" as PyTorch's combined error prints it; owned */
PyObject *rl_schema_text(const rl_schema *s, bool padding_as_word);

/* A Python number where a kernel wants a tensor: a 0-dim view of one word, which lives as long as the call.
 */
typedef struct {
    rl_view v;
    rl_storage storage;
    int64_t word;
} rl_word;

/* One call with everything it borrows from Python. */
enum { RL_POOL = 160, RL_KEEP = 6 };
typedef struct {
    rl_call k;
    const rl_schema *schema;
    PyObject *out;           /* out=, borrowed */
    PyObject *keep[RL_KEEP]; /* owned until the call ends */
    rl_view **list;          /* of a Tensor[] argument */
    int n_keep, n_pool, n_words;
    uint64_t became; /* with history: rl_data_changes before anything looked at the arguments */
    bool method;     /* args[0] is self */
    int64_t pool[RL_POOL];
    rl_word words[RL_MAX_NUMBERS];
} rl_bound;
static inline void rl_bound_begin(rl_bound *b, const rl_schema *s) {
    b->schema = s;
    b->out = NULL;
    b->list = NULL;
    b->n_keep = b->n_pool = b->n_words = 0;
    b->k.name = s->op->name;
    b->k.n_arg = s->n;
    b->k.n_out = s->op->n_out;
    for (int i = 0; i < s->n; i++) b->k.arg[i].tag = RL_NONE;
}
void rl_bound_end(rl_bound *b);
int rl_bound_keep_steal(rl_bound *b, PyObject *o);
/* Binds Python's arguments to the first overload that takes them: 0, or -1 with PyTorch's TypeError. */
int rl_bind(rl_bound *b, int first_op, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, bool method);
static inline void rl_bound_defaults(rl_bound *b) { /* fills what the caller left RL_NONE */
    rl_schema_defaults(b->schema, b->k.arg);
}

/* call/scalar.c */
/* 1 when it is an integer, 0 when not, -1 raised */
static inline int rl_scalar_int(PyObject *o, int64_t *i) {
    if (PyBool_Check(o) || !PyIndex_Check(o)) return 0;
    RL_OWNED PyObject *number = PyNumber_Index(o);
    if (!number) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    int overflow;
    *i = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (!overflow) return 1;
    PyErr_SetString(PyExc_RuntimeError, "Overflow when unpacking long long");
    return -1;
}
int rl_scalar_slot(PyObject *number, rl_slot *slot);   /* ... a number */
PyObject *rl_scalar_get(const rl_view *v);             /* the single element as a Python number */
PyObject *rl_scalar_element(const char *p, int dtype); /* the element at p; runs no Python */
rl_tensor *rl_scalar_readable(rl_tensor *t); /* itself, or a copy that rl_scalar_element can read; owned */
PyObject *rl_tensor_item(PyObject *self, PyObject *unused);

/* call/prepare.c */
rl_tensor *rl_cast_view(rl_view *v, int dtype); /* a copy of the tensor that v is the view of; owned */
/* Tensors of the call, and numbers that become tensors; 1 when tensors were cast, which may run Python. */
int rl_call_cast(rl_bound *b, int dtype);
int rl_call_device(const rl_bound *b, int *device, int *index);
int rl_call_devices_agree(const rl_bound *b, int device);

/* call/run.c */
/* May others see the memory that the call writes? Then it brackets its writes: Note [Writes]. */
typedef enum { RL_RESULTS_NEW, RL_RESULTS_SEEN } rl_results;
rl_status rl_run_kernels(rl_bound *b, int device, int index, rl_results results);
int rl_heavy_load(void); /* oneDNN and the threads, once; -1 when Python raised */

/* call/messages.c: as rl_raise, with the operator, shapes and dtypes as a note */
PyObject *rl_raise_call(const rl_bound *b);
int rl_refuse_expanded(void); /* always -1, with PyTorch's text */

/* call/dispatcher.c */
enum { RL_CALL_NORMAL, RL_CALL_INPLACE };
PyObject *rl_dispatcher_call(rl_bound *b, int how);
/* How operators that are made of others are called: set by what stands above. */
extern PyObject *(*rl_compose)(int op, rl_bound *b);
/* call/devices.c; stage: 1 when a copy between devices needs a dense tensor for its target */
int rl_device_stage(rl_bound *b);
int rl_device_mixed(int found, int expected);               /* -1 and PyTorch's text */
void rl_device_as_out(rl_bound *b);                         /* a factory takes the dtype and device of out= */
int rl_device_out(const rl_view *made, const rl_view *out); /* may out= take what was made? */
#endif
