/* The table of operators: one rl_row each, made of the declarations. */
#ifndef RL_OPS_TABLE_H
#define RL_OPS_TABLE_H
#include "contract/kernel.h"

typedef struct rl_row rl_row;

#define RL_MAX_KERNELS 6
#define RL_MAX_NUMBERS 3 /* of a call that become tensors */
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
    uint32_t operands;    /* bit i: argument i is a Tensor or a number */
    uint32_t edges;       /* bit i: a gradient goes to argument i */
    uint32_t side_writes; /* bit i: argument i is written, besides the results */
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
#endif
