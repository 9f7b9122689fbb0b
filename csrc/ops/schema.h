/* The schemas of the operators, parsed once from their declarations. */
#ifndef RL_OPS_SCHEMA_H
#define RL_OPS_SCHEMA_H
#include "table.h"

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
    RL_ARG_STRING,
    RL_ARG_DTYPE,
    RL_ARG_DEVICE, /* RL_INT: type * 256 + index + 1 */
    RL_ARG_LAYOUT,
    RL_ARG_FORMAT,
    RL_ARG_RNG,
    RL_ARG_NUMBER,  /* an operand that is no tensor */
    RL_ARG_SCALARS, /* RL_OBJECT: a tuple of n numbers */
    RL_ARG_FLOATS,  /* the same, none of them complex */
} rl_arg_kind;

typedef struct rl_arg {
    const char *name; /* one address for each name */
    rl_value fallback;
    uint8_t kind, length;                               /* int[2]: 2 */
    bool optional, has_fallback, keyword_only, written; /* without fallback, that is RL_NONE */
    uint32_t saved_for; /* bit i: a node keeps it when a gradient goes to argument i */
} rl_arg;

typedef struct rl_schema {
    rl_operator *op;
    const rl_arg *arg; /* n of rl_args */
    int n, n_positional;
    int rest;                     /* the int[] whose numbers may stand one by one: view(2, 3); -1 without */
    uint32_t required;            /* bit i: argument i has no default */
    const struct rl_schema *next; /* overload of this name, or NULL */
    bool first;
    bool answers_list; /* Tensor[]: a tuple of tensors */
    bool splits; /* PyTorch has two overloads for it: padding is numbers or a word, other a tensor or a number
                  */
    const char *results[RL_MAX_OUT]; /* names of several results */
} rl_schema;
extern rl_schema rl_schemas[RL_OP_COUNT];
enum { RL_ALL_ARGS = 8192 };
extern rl_arg rl_args[RL_ALL_ARGS];                      /* of all schemas, one after the other */
rl_status rl_schema_read(rl_schema *s, rl_operator *op); /* of an operator with nothing but its text */
rl_status rl_schema_init(void); /* reads every declaration; the pending error names a bad one */
void rl_schema_defaults(const rl_schema *s, rl_value *args); /* fills what is RL_NONE */
#endif
