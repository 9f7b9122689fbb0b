/* The call path: binds Python's arguments to values and runs a kernel through the dispatcher. */
#ifndef RL_CALL_CALL_H
#define RL_CALL_CALL_H
#include "override.h"
#include "call.h"
#include "core/device.h"
#include "object/upcalls.h"
#include "ops/schema.h"

/* a function of its own: what few calls need costs the others no registers */
#define RL_NOINLINE __attribute__((noinline))

/* ---- operators called from C: call/dispatcher.c ---- */
/* Runs an operator on arguments in schema order (borrowed). args->u.t point into tensors. Owned result. */
PyObject *rl_op_run(int op, rl_value *args, int n);
PyObject *rl_op_run_inplace(int op, rl_value *args, int n); /* x.op_(...): args[0] is written */
/* The usual short hands. */
PyObject *rl_op_unary(int op, PyObject *x);
PyObject *rl_op_binary(int op, PyObject *a, PyObject *b);
int rl_tensor_copy(rl_tensor *to, rl_tensor *from); /* call/copy.c: to.copy_(from): casts and broadcasts */

/* ---- call/names.c: what Python knows of the schemas ---- */
int rl_names_init(void);
PyObject *rl_arg_name(const rl_arg *a); /* interned; borrowed */
PyTypeObject *
rl_tuple_type(const rl_schema *s); /* the named tuple of several results; borrowed; NULL: raised */
PyObject *rl_return_types(PyObject *m, PyObject *unused);
/* "(Tensor input, *, Number alpha = 1)" as PyTorch's combined error prints it; owned */
PyObject *rl_schema_text(const rl_schema *s, bool second); /* of those that PyTorch has as two overloads */

/* A Python number where a kernel wants a tensor: a 0-dim view of one word, which lives as long as the call.
 */
typedef struct {
    rl_view v;
    rl_storage storage;
    int64_t word;
} rl_wrapped_number;

/* The views of a Tensor[] argument. */
typedef struct rl_list {
    struct rl_list *next; /* of another one of the same call */
    rl_view *views[];
} rl_list;

/* The metadata of a call's arguments, read once; Python code that runs afterwards may make it stale. */
typedef struct {
    uint64_t dtypes; /* RL_BIT of each */
    uint64_t elements,
        bits;         /* of all tensors: their numbers added, which may wrap, and or-ed, which cannot */
    uint32_t devices; /* bit of each */
    uint32_t numbers; /* bit of the tag of each number that stands for a tensor */
    uint32_t needs;   /* bit i: a tensor of argument i requires grad */
} rl_call_meta;

/* One call with everything it borrows from Python. */
enum { RL_POOL = 160, RL_KEEP = 6 };
typedef struct rl_op_call {
    rl_call k;
    const rl_schema *schema;
    rl_call_meta meta;
    int device, index;       /* where it runs */
    int dtype;               /* of its results */
    PyObject *out;           /* out=, borrowed: a tensor, or a tuple of them */
    PyObject *keep[RL_KEEP]; /* owned until the call ends */
    rl_list *lists;          /* of Tensor[] arguments */
    int n_keep, n_pool, n_wrapped;
    bool overridden; /* an argument's class answers: call/override.h */
    uint64_t became; /* with history: rl_data_changes before anything looked at the arguments */
    int64_t pool[RL_POOL];
    rl_wrapped_number wrapped[RL_MAX_NUMBERS];
} rl_op_call;
static inline void rl_op_call_begin(rl_op_call *b, const rl_schema *s) {
    b->schema = s;
    b->out = NULL;
    b->lists = NULL;
    b->n_keep = b->n_pool = b->n_wrapped = 0;
    b->overridden = false;
    b->k.name = s->op->name;
    b->k.n_arg = s->n;
    b->k.n_out = s->op->n_out;
}
void rl_op_call_drop(rl_op_call *b);
static inline void rl_op_call_end(rl_op_call *b) {
    if (RL_UNLIKELY(b->n_keep || b->lists)) rl_op_call_drop(b);
}
int rl_op_call_keep_steal(rl_op_call *b, PyObject *o);
rl_view **rl_op_call_list(rl_op_call *b, Py_ssize_t n); /* room for n views, until it ends; NULL: raised */
/* Python's arguments. */
typedef struct {
    PyObject *self;        /* of a method: argument 0; else NULL */
    PyObject *const *args; /* n of them, then the values of kwnames */
    Py_ssize_t n;
    PyObject *kwnames; /* or NULL */
    bool inplace;      /* of add_() */
} rl_given;
/* Binds them to the first overload that takes them: 0, or -1 with PyTorch's TypeError. */
int rl_bind(rl_op_call *b, const rl_schema *first, const rl_given *given);
/* The first n arguments, of which those that are RL_NONE get their defaults, as all that follow. */
static inline void rl_op_call_fill(rl_op_call *b, const rl_value *args, int n) {
    const rl_arg *a = b->schema->arg;
    for (int i = 0; i < n; i++) b->k.arg[i] = args[i].tag == RL_NONE ? a[i].fallback : args[i];
    for (int i = n; i < b->schema->n; i++) b->k.arg[i] = a[i].fallback;
}

/* call/scalar.c */
int rl_scalar_index(PyObject *o, int64_t *i); /* as rl_scalar_int, of what is no plain int */
int rl_scalar_overflow(void);                 /* always -1, raised */
/* 1 when it is an integer, 0 when not, -1 raised */
static inline int rl_scalar_int(PyObject *o, int64_t *i) {
    int overflow;
    if (RL_UNLIKELY(!PyLong_CheckExact(o))) return rl_scalar_index(o, i);
    *i = PyLong_AsLongLongAndOverflow(o, &overflow);
    return RL_LIKELY(!overflow) ? 1 : rl_scalar_overflow();
}
int rl_scalar_value(PyObject *number, rl_value *slot); /* ... a number */
PyObject *rl_scalar_get(const rl_view *v);             /* the single element as a Python number */
PyObject *rl_scalar_element(const char *p, int dtype); /* the element at p; runs no Python */
rl_tensor *rl_scalar_readable(rl_tensor *t); /* itself, or a copy that rl_scalar_element can read; owned */
PyObject *rl_tensor_item(PyObject *self, PyObject *unused);

/* call/call.c */
void rl_call_meta_read(rl_op_call *b);

/* call/prepare.c */
rl_tensor *rl_cast_view(rl_view *v, int dtype); /* a copy of the tensor that v is the view of; owned */
/* After a look: says where the call runs and the dtype of its results; casts its tensors, which may run
 * Python, and numbers that stand for tensors. From then on the look is good until the kernels end. */
int rl_call_prepare(rl_op_call *b);
int rl_call_device(rl_op_call *b);              /* says where it runs */
int rl_call_devices_agree(const rl_op_call *b); /* call/devices.c; always 0 where all are the CPU's */

/* call/run.c: after a look */
/* May others see the memory that the call writes? Then it brackets its writes: Note [Writes]. */
typedef enum { RL_RESULTS_NEW, RL_RESULTS_SEEN } rl_results;
rl_status rl_run_kernels(rl_op_call *b, rl_results results);
int rl_heavy_load(void);                 /* oneDNN and the threads, once; -1 when Python raised */
int rl_lapack_load(const rl_op_call *b); /* SciPy's LAPACK, once a call is large enough for it */

/* call/call.c: as rl_raise, with the operator, shapes and dtypes as a note */
PyObject *rl_raise_call(const rl_op_call *b);
int rl_refuse_expanded(void);                           /* always -1, with PyTorch's text */
int rl_refuse_overlap(void);                            /* the same */
int rl_tensor_copy_any(rl_tensor *to, rl_tensor *from); /* elements of `to` may share memory */

/* call/dispatcher.c */
enum { RL_CALL_NORMAL, RL_CALL_INPLACE };
PyObject *rl_dispatcher_call(rl_op_call *b, int how);
/* ... and the ways through it: call/make.c */
PyObject *rl_call_new(rl_op_call *b);
PyObject *rl_call_view(rl_op_call *b);
int rl_call_allocate(rl_tensor *t, int device, int index);
const rl_device_driver *rl_pin_driver(void); /* of pin_memory=True; NULL: raised */
int rl_call_generator_find(rl_op_call *b);
/* once the device is known: that of the device, or its kind */
static inline int rl_call_generator(rl_op_call *b) {
    return RL_UNLIKELY(b->schema->op->rng_arg >= 0) ? rl_call_generator_find(b) : 0;
}
/* call/write.c */
PyObject *rl_call_inplace(rl_op_call *b);
PyObject *rl_call_view_inplace(rl_op_call *b);
PyObject *rl_call_out(rl_op_call *b);
PyObject *rl_call_composite_inplace(rl_op_call *b);
PyObject *rl_call_composite_out(rl_op_call *b);
/* call/autocast.c */
uint32_t rl_autocast_ruled(const rl_operator *op); /* bits of the devices where it is on and op has a rule */
int rl_autocast_arguments(rl_op_call *b, uint32_t ruled); /* casts them, as the operator's rules say */
/* what an operator that casts to the lower dtype of the context, or to float32, sees of t; owned */
PyObject *rl_autocast_tensor(rl_tensor *t, bool lower);
void rl_autocast_enable(int device, bool on); /* for this thread */
void rl_autocast_become(const rl_autocast *state);
int rl_autocast_clear(void); /* forgets the casts that this thread keeps */
/* call/devices.c; stage: 1 when a copy between devices needs a dense tensor for its target */
int rl_device_stage(rl_op_call *b);
int rl_device_refuse(const rl_op_call *b, int arg); /* ... argument `arg` lies elsewhere */
int rl_device_as_out(
    rl_op_call *b); /* a factory takes the dtype and device of out=; -1: raised, they differ */
int rl_device_out(const rl_view *made, const rl_view *out); /* may out= take what was made? */

/* ---- what a call does beside its kernel where that runs without the GIL, or on a device ---- */
/* call/run.c: Note [Snapshot] */
enum { RL_HOLD_ROOM = 8 }; /* what all operators but those on lists need */
typedef struct {
    rl_view **place; /* in the call */
    rl_view *original, copy;
} rl_held_view;
typedef struct {
    int n;
    rl_held_view *views, room[RL_HOLD_ROOM];
} rl_hold;
rl_status rl_hold_take(rl_hold *h, rl_call *k, bool results); /* with its results, once they have memory */
void rl_hold_end(rl_hold *h);

/* call/warn.c: before a call of an operator that says WARNS; -1: the warning was made an error */
int rl_call_warn(const rl_op_call *b);

/* call/fallback.c */
bool rl_fallback_asked(void); /* RUSHLIGHT_CUDA_FALLBACK=1 */
/* Runs the call on the CPU; an error may be raised or pending. */
rl_status rl_fallback_run(const rl_operator *op, rl_call *k);
#endif
