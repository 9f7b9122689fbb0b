/* The core's rooms: storage, views, errors, threads, dispatch, debugging aids. No Python.h. */
#ifndef RL_CORE_H
#define RL_CORE_H
#include <pthread.h>
#include "contract/kernel.h"

#define RL_LIKELY(x)   __builtin_expect(!!(x), 1)
#define RL_UNLIKELY(x) __builtin_expect(!!(x), 0)

typedef struct rl_row rl_row;

/* ---- core/dtype.c ---- */
const char *rl_dtype_name(int dtype);     /* "float32" */
const char *rl_dtype_title(int dtype);    /* "Float", as PyTorch's messages say */
const char *rl_dtype_cpp_name(int dtype); /* "float", as some of them say */
bool rl_dtype_is_floating(int dtype);     /* as PyTorch says it: with the 8-bit ones that are only kept */
bool rl_dtype_has_grad(int dtype);        /* may a tensor of it require gradients? */
int rl_dtype_promote(int a, int b);
int rl_dtype_default(void);
void rl_dtype_default_set(int dtype);
/* ---- core/crc32.c ---- */
uint32_t rl_crc32(uint32_t crc, const void *from, int64_t n); /* zip's; crc: of what came before, else 0 */

/* ---- ops/promote.c ---- */
/* compute: cast the tensors to it before the kernel, -1 leaves them; out: dtype of the result. */
rl_status rl_types_resolve(const rl_row *row, const rl_call *k, int *compute, int *out);

/* ---- core/error.c: the pending error of this thread; the front door raises it ---- */
rl_status rl_error_set(rl_error kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
rl_error rl_error_kind(void); /* 0 when none is pending */
const char *rl_error_text(void);
void rl_error_clear(void);
#define RL_DIMS_TEXT 256
/* "[2, 3]"; long shapes end in "...]" */
const char *rl_dims_text(char text[RL_DIMS_TEXT], const int64_t *dims, int n);

/* ---- core/storage.c ---- */
rl_storage *rl_storage_new(rl_count n, size_t itemsize); /* CPU, uninitialised; NULL and RL_MEMORY pending */
/* Memory of somebody else; free(owner) is called once when the last user is gone, also when this fails. */
rl_storage *rl_storage_borrow(void *mem, size_t nbytes, void (*free)(void *), void *owner);
void rl_storage_lend(rl_storage *s, void *mem, size_t nbytes); /* s itself is the caller's, as mem is */
rl_storage *rl_storage_part(rl_storage *root, size_t at, size_t nbytes); /* the same memory */
rl_storage *rl_storage_on(int device, int index, rl_count n, size_t itemsize);
rl_status rl_view_allocate(rl_view *v); /* a storage on v's device for v->numel elements */
rl_storage *rl_storage_keep(rl_storage *s);
void rl_storage_drop(rl_storage *s);
rl_status rl_storage_resize(rl_storage *s, rl_count nbytes);
void *rl_storage_bytes(rl_storage *s, int mode); /* the whole block; mode as for rl_data */
void rl_storage_export(rl_storage *s);           /* somebody outside may write from now on ... */
void rl_storage_unexport(rl_storage *s);         /* ... until here */
void rl_storage_guard_fork(void);                /* once, at start */
/* Moves the bytes, and with them all views, into memory that forked processes share. */
rl_status rl_storage_share(rl_storage *s);
bool rl_storage_is_shared(const rl_storage *s);
/* ---- core/packed.c ---- */
void *rl_packed_find(rl_call *k, const rl_view *v, uint64_t key);
void *rl_packed_new(rl_call *k, const rl_view *v, uint64_t key, rl_count n, size_t itemsize);
void rl_packed_ready(rl_call *k, const rl_view *v, uint64_t key);
void rl_packed_free(rl_packed *list);
void rl_packed_guard_fork(void);
void rl_packed_leave(rl_call *k); /* the call reads no companion any more; those never published are freed */

/* ---- core/view.c ---- */
rl_status rl_view_dims(rl_view *v,
                       int ndim); /* room for ndim dims; v->shape and v->strides may be stale before */
void rl_view_clear(rl_view *v);   /* gives back a long dims block; not the storage */
rl_status rl_view_copy(rl_view *to, const rl_view *from); /* all but the storage reference count */
int64_t rl_dims_numel(const int64_t *shape, int ndim);    /* -1 when it does not fit in int64 */
/* false when a stride does not fit, which only a shape without elements can bring about */
bool rl_dims_contiguous(const int64_t *shape, int ndim, int64_t *strides);
void rl_dims_channels_last(const int64_t shape[4], int64_t strides[4]);
/* stride times n, or the stride itself where nobody walks that far: kernels count all strides in bytes */
#define RL_MOST_STRIDE ((int64_t)1 << 47)
int64_t rl_stride_scaled(int64_t stride, int64_t n);
enum { RL_FORMAT_CONTIGUOUS, RL_FORMAT_CHANNELS_LAST, RL_FORMAT_PRESERVE };
bool rl_is_channels_last(const rl_view *v);
rl_status rl_dims_broadcast(const rl_view *a, const rl_view *b, int64_t *shape, int *ndim);
rl_status rl_dim_wrap(int64_t *dim, int ndim); /* PyTorch's "Dimension out of range" */
/* A size as view() and reshape() take it, with one -1 replaced (ops/shape/view.c). */
rl_status rl_view_size(const rl_view *x, const rl_slot *s, int64_t *shape);
/* Would [offset, shape, strides] stay inside nbytes? PyTorch's setStorage text when not. */
rl_status rl_view_check_bounds(const int64_t *shape, const int64_t *strides, int ndim, int64_t offset,
                               int dtype, size_t nbytes);

/* ---- core/generator.c: Note [Drawing] ---- */
typedef struct {
    rl_generator g;
    pthread_mutex_t lock;
    int users;
    unsigned epoch;
} rl_shared_generator;
static inline rl_shared_generator *
rl_generator_shared(rl_generator *g) { /* every generator is a shared one's */
    return (rl_shared_generator *)((char *)g - offsetof(rl_shared_generator, g));
}
void rl_generator_make(rl_shared_generator *s);
bool rl_generator_busy(rl_shared_generator *s);   /* with the GIL: may this call not draw at once? */
void rl_generator_claim(rl_shared_generator *s);  /* with the GIL, then without it: */
void rl_generator_lock(rl_shared_generator *s);   /*   waits */
void rl_generator_unlock(rl_shared_generator *s); /*   and with it again: */
void rl_generator_release(rl_shared_generator *s);
void rl_generator_guard_fork(void); /* once, at start */

/* ---- core/threads.c ---- */
void rl_threads_load(void);  /* finds libgomp once; without it all runs serially */
int rl_threads_get(void);    /* how many a call may use */
int rl_threads_wanted(void); /* the number that was set, however large */
void rl_threads_set(int n);
int rl_threads_lend(rl_call *k, int n); /* svc->openmp */
void rl_threads_parallel(rl_call *k, int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t, int),
                         void *ctx);

/* ---- core/cpu_count.c ---- */
int rl_cpu_count_here(void); /* how many threads a kernel takes unless somebody says otherwise */
/* The same from OMP_NUM_THREADS (or NULL), the CPUs of the machine and of this process, and a root of files.
 */
int rl_cpu_count(const char *omp, int online, int allowed, const char *root);

/* ---- core/memory.c: allocations, live counts, trace ---- */
void *rl_alloc(rl_count n, size_t itemsize); /* 64-byte aligned; NULL and RL_MEMORY pending */
void *rl_alloc_zero(rl_count n, size_t itemsize);
void rl_free(void *p);
void rl_alloc_fail_after(int64_t n); /* the n-th allocation from now fails; negative: never */
bool rl_alloc_armed(void);           /* one is to fail: no cache may serve instead */
enum { RL_LIVE_TENSORS, RL_LIVE_STORAGES, RL_LIVE_NODES, RL_LIVE_BYTES, RL_LIVE_KINDS };
extern int64_t rl_live_count[RL_LIVE_KINDS];
#define rl_live_add(kind, n) ((void)__atomic_add_fetch(&rl_live_count[kind], (n), __ATOMIC_RELAXED))

/* ---- ops/select.c: the operator table ---- */
#define RL_MAX_KERNELS 6
typedef enum { RL_ROW_OP, RL_ROW_VIEW, RL_ROW_COMPOSE } rl_row_kind;
/* TYPES(rule, ...): which dtype a call computes in and answers with (ops/promote.c) */
typedef enum {
    RL_TYPES_keep,    /* as the first tensor; the others follow no rule */
    RL_TYPES_same,    /* all tensors must agree */
    RL_TYPES_promote, /* common dtype */
    RL_TYPES_number,  /* promote, bool becomes int64 */
    RL_TYPES_sub,     /* promote, bool is refused */
    RL_TYPES_float,   /* common dtype, integers become the default dtype */
    RL_TYPES_div,     /* float without a rounding mode, promote with one */
    RL_TYPES_clamp,   /* promote; min and max count, too */
    RL_TYPES_where,   /* promote of the last two */
    RL_TYPES_list,    /* promote over a list */
    RL_TYPES_compare, /* common dtype in, bool out */
    RL_TYPES_truth,   /* any dtype in, bool out */
    RL_TYPES_verdict, /* ... but uint8 for uint8, which held truth before there was bool */
    RL_TYPES_index,   /* any dtype in, int64 out */
    RL_TYPES_total,   /* integers become int64, or the dtype argument */
    RL_TYPES_mean,    /* the input's, or the dtype argument */
    RL_TYPES_factory, /* the dtype argument or the default dtype */
    RL_TYPES_full,    /* ... or that of the fill value */
    RL_TYPES_arange,  /* ... or int64 when all bounds are integers */
    RL_TYPES_randint, /* ... or int64 */
    RL_TYPES_like,    /* the dtype argument or that of the first tensor */
} rl_types_rule;
enum {
    RL_FN = 1,            /* rushlight.name */
    RL_METHOD = 2,        /* Tensor.name */
    RL_NN = 4,            /* rushlight._C._nn.name, for nn.functional */
    RL_INPLACE = 8,       /* Tensor.name_ as well */
    RL_ONLY_INPLACE = 16, /* writes into its first argument */
    RL_OUT = 32,          /* takes out= */
    RL_VARARGS = 64,      /* the first int[] may be given as separate numbers */
    RL_FACTORY = 128,     /* device=, requires_grad= ... are read by the front door */
    RL_NO_GRAD = 256,     /* its result is never differentiable */
    RL_HEAVY = 512,       /* release the GIL and load oneDNN whatever the size */
    RL_TUPLE = 1024,      /* several results come as a named tuple */
    RL_LISTS = 2048,      /* writes into the tensors of its lists marked (a!), and answers None */
    RL_PICKS = 32768,     /* of its first argument it reads as many elements as the others name */
    RL_MOVES = 4096,      /* elements go to other places: in place it reads nothing that it writes */
};
/* and for tensors with an expanded dimension, whose elements share memory */
enum {
    RL_SHARES = 8192,      /* in place, they are written as PyTorch writes them; else they are refused */
    RL_DEPRECATED = 16384, /* ... with a warning */
};
struct rl_row {
    const char *id, *schema, *node, *doc, *cuda_names;
    const char *refusal;            /* what PyTorch calls it in "... not implemented for"; "" is <name>_cpu */
    rl_status (*shape)(rl_call *k); /* fills out[0]'s dims; may leave attr[] */
    const char *(*title)(const rl_slot *args); /* node's name where it depends on the call; or NULL */
    rl_kernel_fn cpu[RL_MAX_KERNELS];
    const char *cpu_names;
    char name[40]; /* from the schema: what Python calls it */
    rl_kernel_fn cuda[RL_MAX_KERNELS];
    uint32_t dtypes;
    uint16_t flags;
    uint8_t kind, rule;
    int8_t dtype_arg, device_arg, grad_arg,
        rng_arg;          /* positions in the schema, -1 without; set when it is read */
    uint16_t operands;    /* bit i: argument i is a Tensor or a number */
    uint16_t edges;       /* bit i: a gradient goes to argument i */
    uint16_t side_writes; /* bit i: argument i is written, besides the results */
    uint8_t n_arg, n_out; /* hidden results counted */
    uint8_t n_shown;      /* results that the caller gets */
    uint64_t saves;       /* Note [What a node saves] */
};
/* Note [What a node saves]
 *   SAVE(i, BY0 | BY2)   argument i, if argument 0 or 2 needs a gradient
 *   SAVE_OUT(i)          result i
 *   LAYOUT               an int list: strides and offset of argument 0, of a list the numbers of elements
 *   FIXED(i)             no gradient goes to tensor argument i
 *   FIXED_OUT(i)         none comes for result i
 *
 * bits 0..47: six for each of eight arguments │ 48..50 results │ 51 layout │ 52..59 fixed │ 60..62 fixed out
 */
#define SAVE(i, by)  ((uint64_t)(by) << 6 * (i))
#define SAVE_OUT(i)  ((uint64_t)1 << (48 + (i)))
#define LAYOUT       ((uint64_t)1 << 51)
#define FIXED(i)     ((uint64_t)1 << (52 + (i)))
#define FIXED_OUT(i) ((uint64_t)1 << (60 + (i)))
enum { BY0 = 1, BY1 = 2, BY2 = 4, BY3 = 8, BY4 = 16, BY5 = 32, BY_ANY = 63 };

enum {
#define RL_OP(id, ...)      RL_OP_##id,
#define RL_VIEW(id, ...)    RL_OP_##id,
#define RL_COMPOSE(id, ...) RL_OP_##id,
#include "ops/declarations/all.def"
#undef RL_OP
#undef RL_VIEW
#undef RL_COMPOSE
    RL_OP_COUNT
};
extern rl_row rl_rows[RL_OP_COUNT];
/* ---- ops/node_names.c: for TITLE(fn) behind GRAD's saves ---- */
typedef const char *rl_title(const rl_slot *args);
rl_title rl_title_pow, rl_title_remainder, rl_title_masked_fill, rl_title_lerp, rl_title_sum, rl_title_prod,
    rl_title_mean, rl_title_diag, rl_title_pad, rl_title_rms_norm, rl_title_adaptive_avg_pool, rl_title_div,
    rl_title_fill, rl_title_matmul, rl_title_linear;
/* Walks the row's list; the pending error says why when the answer is RL_FAIL. */
rl_status rl_dispatch(const rl_row *row, rl_call *k, int device);
void rl_dispatch_init(void); /* reads RL_KERNELS and RL_TRACE, asks the CPU what it can */
void rl_call_begin(rl_call *k);
void rl_call_end(rl_call *k); /* gives the scratch back */
/* A device extension brings its memory and its kernels. */
typedef struct rl_device_driver {
    int abi;
    int device;
    int (*count)(void);
    void *(*alloc)(int index, size_t bytes);
    void (*free)(int index, void *p);
    rl_status (*copy)(int index, void *to, const void *from, size_t bytes, int to_device, int from_device,
                      void *stream);
    void *(*stream)(int index); /* the current stream of this thread */
    rl_status (*synchronize)(int index);
    rl_kernel_fn (*kernel)(const char *name);
    const char *(*last_error)(void);
} rl_device_driver;
rl_status rl_device_register(const rl_device_driver *driver);
const rl_device_driver *rl_device_driver_get(int device); /* NULL when there is none */
#endif
