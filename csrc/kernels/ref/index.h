/* What kernels that read and write at indices share. */
#ifndef RL_KERNELS_REF_INDEX_H
#define RL_KERNELS_REF_INDEX_H
#include "loops.h"

/* Note [Index offsets]
 * Another thread may write into an index while a kernel uses it. So each number is read once, checked, and
 * used as it was read: rl_indices_read() makes offsets in bytes of a run of them, and ends before the first
 * that is out of range. Threads share one rl_indices. */
enum { RL_INDEX_RUN = 256 }; /* the longest run */
typedef struct {
    int64_t size, step; /* of the dimension that they name places of */
    bool wide, wraps;   /* int64, not int32; negative ones count from the end */
    int faulty;
    int64_t fault; /* an index that was out of range */
} rl_indices;
int64_t rl_indices_read(rl_indices *s, const char *index, int64_t step, int64_t n, int64_t *offset);

/* n elements; `item` is the size of one, steps are in bytes */
typedef struct {
    char *p;
    int64_t step;
} rl_run;
void rl_indices_take(int64_t item, rl_run to, rl_run from, const int64_t *offset,
                     int64_t n); /* from + offset */
void rl_indices_put(int64_t item, rl_run to, const int64_t *offset, rl_run from, int64_t n); /* to + offset */
typedef void (*rl_indices_joiner)(rl_run to, const int64_t *offset, rl_run from, int64_t n,
                                  const rl_numbers *numbers);
rl_indices_joiner rl_indices_join(int join, int dtype); /* the same of rl_inner_loop_combine(join, dtype) */

/* walk operands: to, index, from at index 0 of the dimension; its context: */
typedef struct {
    rl_indices places;
    int64_t item;
} rl_picking;
void rl_pick_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx);

static inline bool rl_is_mask(const rl_view *v) {
    return v->dtype == RL_BOOL || v->dtype == RL_U8;
}
#endif
