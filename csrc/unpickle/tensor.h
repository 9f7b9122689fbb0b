/* Tensors: the one constructor that checks them, and the rules that lead to it. */
#ifndef RL_UNPICKLE_TENSOR_H
#define RL_UNPICKLE_TENSOR_H
#include "unpickle.h"

/* ---- place.c: args are storage, offset, size, stride ---- */
/* dtype -1: that of the storage */
rl_stored_tensor *rl_stored_tensor_new(rl_reader *r, rl_item *const *args, int dtype);
/* all of a typed storage, in this shape */
rl_stored_tensor *rl_stored_tensor_whole(rl_reader *r, rl_stored *s, const int64_t *shape, int ndim);
/* of elements of which several share a byte */
rl_stored_tensor *rl_stored_tensor_packed(rl_reader *r, rl_item *const *args);
int64_t *rl_stored_tensor_dims(rl_reader *r, const rl_item *from, int64_t *n);
rl_item *rl_stored_tensor_refuse(rl_reader *r, const char *why); /* always NULL */

/* ---- layout.c ---- */
rl_item *rl_rules_layout(rl_reader *r, rl_item *callee, rl_item *args);

/* ---- tensor.c ---- */
rl_item *rl_rules_tensor(rl_reader *r, rl_item *callee, rl_item *args);
rl_status rl_rules_old_tensor(rl_reader *r, rl_item *tensor, rl_item *state);
rl_status rl_rules_old_parameter(rl_reader *r, rl_item *parameter, rl_item *state);
#endif
