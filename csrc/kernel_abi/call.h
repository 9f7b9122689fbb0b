/* rl_call, one call of one operator, and the services that the core offers to its kernel. */
#ifndef RL_KERNEL_ABI_CALL_H
#define RL_KERNEL_ABI_CALL_H
#include "count.h"
#include "layout.h"
#include "random.h"
#include "view.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RL_MAX_ARGS   24
#define RL_MAX_OUT    8
#define RL_MAX_ATTR   20
#define RL_MAX_USED   4
#define RL_KERNEL_ABI 11

#define RL_LIKELY(x)   __builtin_expect(!!(x), 1)
#define RL_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* before a loop whose steps do not depend on each other; clang has no word for it that never warns */
#ifdef __clang__
#define RL_IVDEP
#else
#define RL_IVDEP _Pragma("GCC ivdep")
#endif

/* ---- status ---- */
typedef enum { RL_OK = 0, RL_UNSUPPORTED, RL_FAIL } rl_status;
typedef enum { RL_RUNTIME = 1, RL_VALUE, RL_TYPE, RL_INDEX, RL_MEMORY, RL_NOTIMPL, RL_LINALG } rl_error;

typedef enum {
    RL_NONE,    /* absent or None */
    RL_TENSOR,  /* u.t */
    RL_TENSORS, /* u.ts, n */
    RL_INT,     /* u.i */
    RL_FLOAT,   /* u.d */
    RL_BOOLEAN, /* u.i is 0 or 1 */
    RL_INTS,    /* u.ints, n */
    RL_STRING,  /* u.s */
    RL_DTYPE,   /* u.i */
    RL_RNG,     /* u.g */
    RL_OBJECT,  /* u.o, used above the kernels only */
    RL_PLACE,   /* in a node: tensors stood here, n of them; what the operator saves lies elsewhere */
} rl_value_tag;
typedef struct {
    uint8_t tag;
    int32_t n;
    union {
        rl_view *t;
        rl_view **ts;
        int64_t i;
        double d;
        int64_t *ints;
        const char *s;
        rl_generator *g;
        void *o;
    } u;
} rl_value;

/* how an element joins the one that is there: attr[] of scatter and its kin */
enum { RL_JOIN_SET, RL_JOIN_ADD, RL_JOIN_MUL, RL_JOIN_MAX, RL_JOIN_MIN, RL_JOIN_MEAN };

typedef struct rl_call rl_call;
typedef struct rl_services {
    int abi;
    int isa; /* RL_ISA_*: the best that kernels may use (none when RUSHLIGHT_KERNELS=ref) */
    /* Memory of the call's device for this call, 64-byte aligned; NULL when there is none (then: return
     * RL_FAIL). */
    void *(*scratch)(rl_call *k, rl_count n, size_t itemsize);
    /* n rooms of a layout that began as rl_layout_begin(k), as scratch; false when there is no memory. */
    bool (*rooms)(rl_call *k, const rl_layout *l, int64_t n, rl_rooms *to);
    int64_t (*fenced)(rl_layout *l, rl_count n); /* for rl_layout_begin */
    /* body(ctx, begin, end, thread) over [0, n) in pieces, in any order; thread is less than k->threads. One
     * item takes one thread about `ns` nanoseconds: Note [Regions] in core/threads.c. */
    void (*parallel)(rl_call *k, int64_t n, double ns, void (*body)(void *, int64_t, int64_t, int),
                     void *ctx);
    /* Sets the count that OpenMP keeps for this thread, for a library that reads it; answers the old one. */
    int (*openmp)(rl_call *k, int threads);
    /* Records PyTorch's text and kind; always answers RL_FAIL. */
    rl_status (*fail)(rl_call *k, rl_error kind, const char *format, ...);
    /* The packed weights of v under `key` if it is still good, else NULL. */
    void *(*packed_find)(rl_call *k, const rl_view *v, uint64_t key);
    /* Room for new packed weights, which this call may use to its end; NULL when none may be kept.
     * packed_ready publishes it, unless somebody wrote to v meanwhile. */
    void *(*packed_new)(rl_call *k, const rl_view *v, uint64_t key, rl_count n, size_t itemsize);
    void (*packed_ready)(rl_call *k, const rl_view *v, uint64_t key);
    /* Opens oneDNN at the first call; false where the library is absent or unsuitable. */
    bool (*onednn)(void);
    int tf32;        /* RL_TF32_*: which operators of float32 may round their factors to 10 bits, on a GPU */
    bool fill_unset; /* memory that nobody sets is NaN or the largest number: deterministic algorithms */
    bool deterministic; /* equal calls have to give equal bits, which atomics on floats do not */
} rl_services;
enum { RL_TF32_MATMUL = 1, RL_TF32_CONV = 2 };

struct rl_call {
    const rl_services *svc;
    const char *name; /* of the operator, for messages */
    int n_arg, n_out;
    int threads;               /* how many svc->parallel may use: one number for the whole call */
    int64_t region_ns;         /* work that is worth a second one: rl_is_serial */
    rl_value arg[RL_MAX_ARGS]; /* in the order of the operator's schema */
    rl_view *out[RL_MAX_OUT];  /* allocated by the dispatcher; never overlap an input unless in-place */
    int64_t attr[RL_MAX_ATTR]; /* what the shape rule normalised for the kernels */
    int device, device_index;  /* where it runs */
    void *stream;              /* device stream; NULL on the CPU */
    void *scratch_;            /* the dispatcher's: memory of this call, */
    rl_packed *packing_;       /*   packed weights not yet published, */
    rl_packed *used_[RL_MAX_USED];
    int n_used_; /*   published ones that it reads */
};

static inline rl_layout rl_layout_begin(const rl_call *k) {
    rl_layout l;
    l.size.n = 0;
    l.fenced = k->svc->fenced;
    l.n_parts = 0;
    return l;
}
/* Scratch memory of n items for each of so many threads (or blocks), from rl_room(to, thread) on. */
static inline bool rl_thread_rooms(rl_call *k, int64_t threads, rl_count n, int64_t itemsize, rl_rooms *to) {
    rl_layout l = rl_layout_begin(k);
    const int64_t at = rl_layout_add(&l, n, itemsize);
    if (!k->svc->rooms(k, &l, threads, to)) return false;
    to->base += at;
    return true;
}

/* What a slot is that holds a tensor. */
static inline rl_view *rl_value_view(const rl_value *s) {
    return s->u.t;
}
/* An argument that the schema says is a tensor; rl_in asks, of one that may be absent. */
static inline rl_view *rl_tensor_arg(const rl_call *k, int i) {
    return k->arg[i].u.t;
}
static inline const rl_view *rl_in(const rl_call *k, int i) {
    return k->arg[i].tag == RL_TENSOR ? k->arg[i].u.t : NULL;
}
static inline double rl_num(const rl_call *k, int i) {
    return k->arg[i].tag == RL_FLOAT ? k->arg[i].u.d : (double)k->arg[i].u.i;
}
static inline int64_t rl_int(const rl_call *k, int i) {
    return k->arg[i].tag == RL_FLOAT ? (int64_t)k->arg[i].u.d : k->arg[i].u.i;
}
/* The numbers of an int[] argument, which may have been given as one; none when it is absent. How many there
 * are is the caller's choice: rl_ints_read (ops/shape/shape.h) is for operators that need n of them. */
typedef struct {
    const int64_t *at;
    int n;
} rl_ints;
static inline rl_ints rl_ints_of(const rl_call *k, int arg) {
    const rl_value *s = &k->arg[arg];
    rl_ints list = {s->tag == RL_INTS ? s->u.ints : &s->u.i, s->tag == RL_INTS ? s->n : s->tag == RL_INT};
    return list;
}
/* Is oneDNN available, so that a kernel may leave its work to it? This opens the library: ask last.
 */
static inline bool rl_has_onednn(const rl_call *k) {
    return k->svc->onednn();
}
/* Does svc->parallel leave n items of `ns` nanoseconds each to one thread, number 0? */
static inline bool rl_is_serial(const rl_call *k, int64_t n, double ns) {
    return k->threads <= 1 || (double)n * ns < (double)k->region_ns;
}
#define rl_fail(k, ...) ((k)->svc->fail((k), __VA_ARGS__))

typedef rl_status (*rl_kernel_fn)(rl_call *k);
#define RL_KERNEL(name)                                                                                      \
    rl_status name(rl_call *k);                                                                              \
    rl_status name(rl_call *k)

/* Note [What a kernel takes for granted]
 * Only the dispatcher calls kernels, after the dtype rule and the shape rule of the operator. A kernel does
 * not ask again for what these have made sure of:
 *
 *   arguments   a Tensor of the schema is one; so is an operand once the call has a dtype (rl_tensor_arg)
 *   dtypes      the call's is among those declared; the others are as the two rules ask, else any
 *   shapes      they fit, and have less than 2^47 elements
 *   results     have the shape, dtype and strides that the rules say: contiguous, or channels last for the
 *               kernels that CHANNELS_LAST names, or as the operands lie where the rule is element by element
 *   generator   there is one where the schema declares it
 *
 * The caller's tensor of out= is no result of a kernel. In place it is: it lies anyhow, and an operand may be
 * the very same view. Empty tensors, layouts of arguments and the end of memory are the kernel's to look at.
 */

/* ---- choices: tools/choosers.py reads these words ---- */
/* Before a function that chooses who computes a call and how: a refusal, a plan. Tests take its branches. */
#define RL_CHOOSER
/* Above a line whose branches no test can take, with the reason; at most 20 in all. */
#define RL_UNREACHED(reason)

#ifdef __cplusplus
}
#endif
#endif
