/* The table of operators, from the declarations. */
#include "node_names.h"
#include "table.h"

#define K(name)                                                      rl_status name(rl_call *k);
#define CPU(...)                                                     __VA_ARGS__
#define SHAPE(fn)                                                    rl_status shape_##fn(rl_call *k);
#define RL_OP(id, schema, types, shape, flags, node, cpu, cuda, doc) shape cpu
#define RL_VIEW(id, schema, shape, flags, node, doc)                 shape
#define RL_COMPOSE(id, schema, flags, doc)
#include "ops/declarations/all.def"
#undef K
#undef SHAPE
#undef RL_OP
#undef RL_VIEW
#undef RL_COMPOSE

#define K(name)             name,
#define SHAPE(fn)           shape_##fn
#define NODE(n)             .node = n
#define GRAD(fn, n, ...)    .node = n, .saves = __VA_ARGS__
#define TITLE(fn)           .title = rl_title_##fn
#define FLAGS(...)          (__VA_ARGS__)
#define CUDA(...)           #__VA_ARGS__
#define TYPES(r, mask, ...) .rule = RL_TYPES_##r, .dtypes = RL_SET_##mask, .refusal = "" __VA_ARGS__
#define RL_OP(id_, schema_, types_, shape_, flags_, node_, cpu_, cuda_, doc_)                                \
    {.id = #id_,                                                                                             \
     .schema = schema_,                                                                                      \
     types_,                                                                                                 \
     .shape = shape_,                                                                                        \
     .flags = flags_,                                                                                        \
     node_,                                                                                                  \
     .cpu = {cpu_},                                                                                          \
     .cpu_names = #cpu_,                                                                                     \
     .cuda_names = cuda_,                                                                                    \
     .doc = doc_,                                                                                            \
     .kind = RL_ROW_OP},
#define RL_VIEW(id_, schema_, shape_, flags_, node_, doc_)                                                   \
    {.id = #id_,                                                                                             \
     .schema = schema_,                                                                                      \
     .shape = shape_,                                                                                        \
     .flags = flags_,                                                                                        \
     node_,                                                                                                  \
     .doc = doc_,                                                                                            \
     .dtypes = RL_SET_ANY,                                                                                   \
     .kind = RL_ROW_VIEW},
#define RL_COMPOSE(id_, schema_, flags_, doc_)                                                               \
    {.id = #id_,                                                                                             \
     .schema = schema_,                                                                                      \
     .flags = flags_,                                                                                        \
     .doc = doc_,                                                                                            \
     .dtypes = RL_SET_ANY,                                                                                   \
     .kind = RL_ROW_COMPOSE},
rl_row rl_rows[RL_OP_COUNT] = {
#include "ops/declarations/all.def"
};
