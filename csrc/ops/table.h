/* The table of operators: one rl_operator each, made of the declarations. */
#ifndef RL_OPS_TABLE_H
#define RL_OPS_TABLE_H
#include "kernel_abi/kernel.h"

typedef struct rl_operator rl_operator;

#define RL_MAX_KERNELS 6
#define RL_MAX_NUMBERS 3 /* of a call that become tensors */
typedef enum { RL_KIND_OP, RL_KIND_VIEW, RL_KIND_COMPOSITE } rl_kind;
/* TYPES(rule, ...): which dtype a call computes in and answers with (ops/promote.c) */
typedef enum {
    RL_TYPES_none,          /* not said */
    RL_TYPES_keep,          /* as the first tensor; the others follow no rule */
    RL_TYPES_same,          /* all tensors must agree */
    RL_TYPES_same_bias,     /* all tensors must agree, in other words */
    RL_TYPES_promote,       /* common dtype */
    RL_TYPES_number,        /* promote, bool becomes int64 */
    RL_TYPES_sub,           /* promote, bool is refused */
    RL_TYPES_addcdiv,       /* promote, a quotient of whole numbers is refused */
    RL_TYPES_float,         /* common dtype, integers become the default dtype */
    RL_TYPES_div,           /* float without a rounding mode, promote with one */
    RL_TYPES_clamp,         /* promote; min and max count, too */
    RL_TYPES_where,         /* promote of the last two */
    RL_TYPES_list,          /* promote over a list */
    RL_TYPES_compare,       /* common dtype in, bool out */
    RL_TYPES_bool,          /* any dtype in, bool out */
    RL_TYPES_bool_or_uint8, /* ... but uint8 for uint8, which held truth before there was bool */
    RL_TYPES_index,         /* any dtype in, int64 out */
    RL_TYPES_first, /* that of the first tensor, which the others become; it must hold a float if one is there
                     */
    RL_TYPES_target,        /* the same; the second tensor must have it */
    RL_TYPES_logits,        /* that of the second tensor, a target that the loss is written into */
    RL_TYPES_probabilities, /* promoted; both are floating */
    RL_TYPES_sum,           /* integers become int64, or the dtype argument */
    RL_TYPES_mean,          /* the input's, or the dtype argument */
    RL_TYPES_factory,       /* the dtype argument or the default dtype */
    RL_TYPES_full,          /* ... or that of the fill value */
    RL_TYPES_arange,        /* ... or int64 when all bounds are integers */
    RL_TYPES_randint,       /* ... or int64 */
    RL_TYPES_like,          /* the dtype argument or that of the first tensor */
} rl_types_rule;
/* VARIANTS(...): how Python calls it */
enum {
    RL_FUNCTION = 1,               /* rushlight.name */
    RL_METHOD = 2,                 /* Tensor.name */
    RL_NN = 4,                     /* rushlight._C._nn.name, for nn.functional */
    RL_INPLACE = 8,                /* Tensor.name_ as well */
    RL_ONLY_INPLACE = 16,          /* writes into its first argument */
    RL_OUT = 32,                   /* takes out= */
    RL_INPLACE_FUNCTION = 1 << 16, /* rushlight.name_ besides Tensor.name_; most functions have it unsaid */
};
/* TRAITS(...): what else the dispatcher must know; bits that no variant has */
enum {
    RL_VARARGS = 1 << 6,   /* the first int[] may be given as separate numbers */
    RL_FACTORY = 1 << 7,   /* device=, requires_grad= ... are read by the dispatcher */
    RL_GEMM_LIKE = 1 << 9, /* a product of two tensors, which oneDNN may do: it is loaded at the first one */
    RL_TUPLE = 1 << 10,    /* several results come as a named tuple */
    RL_FOREACH = 1 << 11,  /* writes into the tensors of its lists marked (a!), and answers None */
    RL_PERMUTES = 1 << 12, /* elements go to other places: in place it reads nothing that it writes */
    RL_GATHERS = 1 << 15,  /* of its first argument it reads as many elements as the others name */
    RL_WIDE_NUMBER = 1 << 17, /* beside halves, a number as its second operand stays a float32 */
    RL_LAPACK = 1 << 16,      /* factorises matrices: SciPy's LAPACK is looked for at the first large one */
    RL_NUMBERS = 1 << 18,     /* its last tensor may be a number of the CPU: Note [Numbers of the CPU] */
    RL_WARNS = 1 << 21,       /* of some arguments it warns: call/warn.c */
    /* for written tensors that overlap themselves or an input: Note [Memory that overlaps] */
    RL_NO_PARTIAL_OVERLAP = 1 << 19, /* with out=, no input may overlap a result, but as the same elements */
    RL_READS_FIRST = 1 << 20,        /* its inputs, but the one that is written, may overlap what it writes */
    /* for tensors with an expanded dimension, whose elements share memory */
    RL_ALLOWS_OVERLAP = 1 << 13, /* they are written as PyTorch writes them; else they are refused */
    RL_DEPRECATED = 1 << 14,     /* ... with a warning */
};
/* AUTOCAST(cpu, cuda): which dtype floating tensors, but float64, are cast to where autocast is
 * on (call/autocast.c) */
typedef enum {
    RL_AUTOCAST_none,            /* theirs */
    RL_AUTOCAST_lower,           /* that of the context */
    RL_AUTOCAST_float32,         /* float32 */
    RL_AUTOCAST_widest,          /* float32 if one is that, else that of the context */
    RL_AUTOCAST_pad,             /* float32, but where pad() in PyTorch comes to an operator without a rule */
    RL_AUTOCAST_off,             /* theirs, and its parts cast nothing */
    RL_AUTOCAST_float32_unasked, /* float32, unless the call names a dtype */
    RL_AUTOCAST_refused,         /* none: it is an error */
} rl_autocast_rule;
enum { RL_KERNEL_DEVICES = RL_CUDA + 1 }; /* the meta device has no kernels */
struct rl_arg;
struct rl_operator {
    const char *id, *schema, *doc;
    const char *node;               /* name of its node; NULL: it is not differentiable */
    const char *refusal;            /* what PyTorch calls it in "... not implemented for"; "" is <name>_cpu */
    rl_status (*shape)(rl_call *k); /* fills out[0]'s dims; may leave attr[] */
    const char *(*node_name)(const rl_value *args); /* where the name depends on the call; or NULL */
    rl_kernel_fn kernels[RL_KERNEL_DEVICES][RL_MAX_KERNELS + 1]; /* of each device; NULL ends them */
    rl_kernel_fn last[RL_MAX_KERNELS + 1]; /* for results that lie channels last: Note [Channels last] */
    const char *kernel_names[RL_KERNEL_DEVICES], *last_names;
    const char *saves, *non_differentiable, *channels_last; /* as declared; read into what follows */
    uint64_t dtypes;
    uint32_t variants, traits;
    uint16_t cost; /* of an element of any of its tensors, in tenths of a nanosecond */
    uint8_t kind, rule, autocast[RL_KERNEL_DEVICES];
    bool no_grad;
    /* from the schema */
    char name[64]; /* what Python calls it */
    const struct rl_arg *arg;
    int8_t dtype_arg, device_arg, grad_arg, rng_arg; /* their positions, -1 without */
    uint32_t operands;                               /* bit i: argument i is a Tensor or a number */
    uint32_t tensors, lists;                         /* bit i: argument i may be a tensor; a list of them */
    uint32_t edges;                                  /* bit i: a gradient goes to argument i */
    uint32_t refused;                                /* ... it may not want one */
    uint32_t side_writes;                            /* bit i: argument i is written, besides the results */
    uint32_t format_of;   /* bit i: where argument i lies channels last, results do */
    uint8_t n_arg, n_out; /* hidden results counted */
    uint8_t n_shown;      /* results that the caller gets */
    /* what its dtype rule answers where all tensors have one floating dtype: rl_types_plain */
    bool plain, plain_casts;
    int8_t plain_out; /* -1: their dtype */
    /* what its node saves; arguments: rl_arg.saved_for */
    bool saves_layout;
    uint8_t saved_out, fixed_out; /* bit i: result i is saved; has no gradient */
};

enum {
#define OP(id, ...) RL_OP_##id,
#include "ops/declarations/all.def"
    RL_OP_COUNT
};
extern rl_operator rl_operators[RL_OP_COUNT];
#endif
