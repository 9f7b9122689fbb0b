/* embedding_bag: reduces rows of a table by bags. */
#ifndef RL_KERNELS_SHARED_EMBEDDING_BAG_H
#define RL_KERNELS_SHARED_EMBEDDING_BAG_H
#include "kernel_abi/kernel.h"

/* Note [Embedding bags]
 *
 *   index   4 1 1 7 │ 2 0 │ │ 5 ...      rows of the table
 *   begin   0         4     6 6 ...      where each bag begins, and in the end where the last one ends
 *   scale   1 1 .5 ...                   what the row is times there; NULL: 1 everywhere
 *
 * Another thread may write into the lists while a kernel uses them, so they are copied once, checked, and
 * used from the copy. Rows `skip` are left out: in the copies is nothing of them. */
enum { RL_EMBEDDING_BAG_SUM, RL_EMBEDDING_BAG_MEAN, RL_EMBEDDING_BAG_MAX };
typedef struct {
    int64_t bags, n, rows, width, mode;
    int64_t skip, skipped; /* -1: none; how many there were of it */
    int64_t *index, *begin;
    int64_t *place; /* where in the list each index of the copy stood; NULL: there */
    double *scale;
} rl_embedding_bags;

/* Of an embedding_bag() call, whose results 1 to 3 it fills but for the largest rows, and of the gradients by
 * the table and by the weights of the indices. */
rl_status rl_embedding_bags_forward(rl_call *k, rl_embedding_bags *b);
rl_status rl_embedding_bags_backward(rl_call *k, rl_embedding_bags *b);
rl_status rl_embedding_bags_weights(rl_call *k, rl_embedding_bags *b);

static inline int64_t rl_embedding_bag_place(const rl_embedding_bags *b, int64_t i) {
    return b->place ? b->place[i] : i;
}
/* Element i of whole numbers, `step` apart, read once. */
static inline int64_t rl_embedding_bag_number(const rl_view *list, int64_t i, int64_t step) {
    const void *from = rl_const_data(list);
    if (list->dtype == RL_I32) return __atomic_load_n((const int32_t *)from + i * step, __ATOMIC_RELAXED);
    return __atomic_load_n((const int64_t *)from + i * step, __ATOMIC_RELAXED);
}
static inline void rl_embedding_bag_put(const rl_view *list, int64_t i, int64_t number) {
    void *to = rl_data(list, RL_WRITE);
    if (list->dtype == RL_I32)
        ((int32_t *)to)[i] = (int32_t)number;
    else
        ((int64_t *)to)[i] = number;
}
#endif
