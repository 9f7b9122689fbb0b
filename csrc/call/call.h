/* Schemas of the rows and the binding of Python arguments to slots. */
#ifndef RL_TENSOR_ARGS_H
#define RL_TENSOR_ARGS_H
#include "object/tensor.h"

typedef enum {
    RL_ARG_TENSOR,
    RL_ARG_OPERAND, /* Tensor or number */
    RL_ARG_TENSORS,
    RL_ARG_MAYBE_TENSORS, /* None inside becomes NULL */
    RL_ARG_SCALAR,
    RL_ARG_INT,
    RL_ARG_FLOAT,
    RL_ARG_BOOL,
    RL_ARG_INTS,
    RL_ARG_MAYBE_INTS, /* None inside becomes INT64_MIN */
    RL_ARG_PADDING,    /* int[] or text */
    RL_ARG_TEXT,
    RL_ARG_DTYPE,
    RL_ARG_DEVICE, /* RL_INT: type * 256 + index + 1 */
    RL_ARG_LAYOUT,
    RL_ARG_FORMAT,
    RL_ARG_RNG,
} rl_arg_kind;

typedef struct {
    PyObject *name; /* interned */
    rl_slot fallback;
    int64_t fallback_int;
    uint8_t kind, length; /* int[2]: 2 */
    bool optional, has_fallback, keyword_only, written;
} rl_arg;

typedef struct {
    rl_row *row;
    rl_arg arg[RL_MAX_ARGS];
    int n, n_positional;
    int next; /* the next overload of this name, -1 at the end */
    bool first;
    const char *results[RL_MAX_OUT]; /* names of several results */
    PyTypeObject *tuple_type;        /* their named tuple */
} rl_schema;
extern rl_schema rl_schemas[RL_OP_COUNT];
int rl_schema_init(void); /* reads every row; SystemError names a bad one */
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
enum { RL_POOL = 160, RL_KEEP = 6, RL_WORDS = 3 };
typedef struct {
    rl_call k;
    const rl_schema *schema;
    PyObject *out;           /* out=, borrowed */
    PyObject *keep[RL_KEEP]; /* owned until the call ends */
    rl_view **list;          /* of a Tensor[] argument */
    int n_keep, n_pool, n_words;
    uint64_t became; /* with history: rl_became before anything looked at the arguments */
    bool method;     /* args[0] is self */
    int64_t pool[RL_POOL];
    rl_word words[RL_WORDS];
} rl_bound;
void rl_bound_begin(rl_bound *b, const rl_schema *s);
void rl_bound_end(rl_bound *b);
int rl_bound_keep_steal(rl_bound *b, PyObject *o);
/* Binds Python's arguments to the first overload that takes them: 0, or -1 with PyTorch's TypeError. */
int rl_bind(rl_bound *b, int first_op, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, bool method);
void rl_bound_defaults(rl_bound *b); /* fills what the caller left RL_NONE */

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
extern _Thread_local bool rl_gil_kept; /* kernels run with the GIL: read, compute and store are one step */
int rl_heavy_load(void);               /* oneDNN and the threads, once; -1 when Python raised */

/* object/raise.c: as rl_raise, with the operator, shapes and dtypes as a note */
PyObject *rl_raise_call(const rl_bound *b);

/* call/dispatcher.c */
enum { RL_CALL_NORMAL, RL_CALL_INPLACE };
PyObject *rl_front_door(rl_bound *b, int how);
PyObject *rl_compose(int op, rl_bound *b); /* composite/composite.c */
/* call/devices.c; stage: 1 when a copy between devices needs a dense tensor for its target */
int rl_device_stage(rl_bound *b);
int rl_device_mixed(int found, int expected);               /* -1 and PyTorch's text */
void rl_device_as_out(rl_bound *b);                         /* a factory takes the dtype and device of out= */
int rl_device_out(const rl_view *made, const rl_view *out); /* may out= take what was made? */
rl_generator *rl_generator_default(void);                   /* object/generator.c */
int rl_generator_parse(PyObject *o, rl_generator **g);
#endif
