/* The table of operators, from the declarations. */
#include "table.h"
#include "for_each.h"
#include "node_names.h"

/* ---- kernels and shape rules are functions ---- */
#define RULE(name)                 rl_status name(rl_call *k);
#define SHAPE(name)                RULE(shape_##name)
#define CPU(...)                   RL_FOR_EACH(RULE, __VA_ARGS__)
#define CHANNELS_LAST(names, ...)  __VA_OPT__(RL_FOR_EACH(RULE, __VA_ARGS__))
#define OP(id, schema, doc, parts) parts
#include "ops/declarations/all.def"

/* ---- each part fills its fields ---- */
#define BIT(name)                 | RL_##name
#define TYPES(rule_, set, ...)    .rule = RL_TYPES_##rule_, .dtypes = RL_SET_##set, .refusal = "" __VA_ARGS__,
#define SHAPE(name)               .shape = shape_##name,
#define VARIANTS(...)             .variants = 0 RL_FOR_EACH(BIT, __VA_ARGS__),
#define TRAITS(...)               .traits = 0 RL_FOR_EACH(BIT, __VA_ARGS__),
#define GRAD(formula, node_, ...) .node = node_, .saves = "" __VA_ARGS__,
#define COST(tenths)              .cost = tenths,
#define AUTOCAST(cpu, cuda)       .autocast = {[RL_CPU] = RL_AUTOCAST_##cpu, [RL_CUDA] = RL_AUTOCAST_##cuda},
#define NO_GRAD                   .no_grad = true,
#define GRAD_NOT_IMPLEMENTED      .node = "NotImplemented",
#define NON_DIFFERENTIABLE(names) .non_differentiable = names,
#define NODE_NAME(name)           .node_name = rl_node_name_##name,
#define CPU(...)                  .kernels[RL_CPU] = {__VA_ARGS__}, .kernel_names[RL_CPU] = #__VA_ARGS__,
#define CUDA(...)                 .kernel_names[RL_CUDA] = #__VA_ARGS__,
#define CHANNELS_LAST(names, ...)                                                                            \
    .channels_last = names, .last = {__VA_ARGS__}, .last_names = "" #__VA_ARGS__,
#define ENTRY(id_, schema_, doc_, kind_, ...)                                                                \
    {.id = #id_, .schema = schema_, .doc = doc_, .kind = kind_, __VA_ARGS__},
#define OP(id, schema, doc, parts)   ENTRY(id, schema, doc, RL_KIND_OP, parts)
#define VIEW(id, schema, doc, parts) ENTRY(id, schema, doc, RL_KIND_VIEW, .dtypes = RL_SET_ANY, parts)
#define COMPOSITE(id, schema, doc, parts)                                                                    \
    ENTRY(id, schema, doc, RL_KIND_COMPOSITE, .dtypes = RL_SET_ANY, parts)
rl_operator rl_operators[RL_OP_COUNT] = {
#include "ops/declarations/all.def"
};
