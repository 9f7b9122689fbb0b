/* The nodes of the tree and the steps that make them. */
#ifndef RL_UNPICKLE_ITEMS_H
#define RL_UNPICKLE_ITEMS_H
#include "unpickle.h"

rl_item *rl_item_new(rl_reader *r, rl_item_kind kind);  /* and its MAKE step */
rl_item *rl_item_bare(rl_reader *r, rl_item_kind kind); /* no step: the caller writes it down later */
rl_item *rl_item_text(rl_reader *r, rl_item_kind kind, const void *from, int64_t n);
rl_item *rl_item_list(rl_reader *r, rl_item_kind kind, rl_item *const *items, int64_t n);
rl_status rl_item_add(rl_reader *r, rl_item *to, rl_item *const *items, int64_t n);
rl_status rl_step_add(rl_reader *r, rl_step_kind kind, rl_item *item, int64_t from, int64_t to);
const char *rl_item_title(const rl_item *i); /* of its class, for messages */
static inline rl_text rl_item_str(const rl_item *i) {
    return (rl_text){i->u.text, i->n};
}
#endif
