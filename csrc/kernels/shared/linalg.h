/* What the operators on factorisations share: walks over batches, copies to columns and back, refusals. */
#ifndef RL_KERNELS_SHARED_LINALG_H
#define RL_KERNELS_SHARED_LINALG_H
#include "factors.h"

/* The leading dims of a result; operands stretch to them. */
typedef struct {
    int ndim;
    int64_t size[RL_MAX_DIMS], count;
} rl_batch;
/* One matrix of an operand, or one vector as a column; steps in bytes. */
typedef struct {
    char *at;
    int64_t rows, cols, down, right;
    int dtype;
} rl_side;
enum { RL_SCALAR, RL_VECTOR, RL_MATRIX }; /* how many dims of an operand are not of the batch */

void rl_job_begin(rl_job *j, rl_call *k, const rl_factors *f, int dtype);
void *rl_job_room(rl_job *j, rl_count n); /* elements, for the whole call; NULL without memory */
void rl_batch_begin(rl_batch *b, const rl_view *v, int form);
rl_side rl_side_of(const rl_batch *b, const rl_view *v, int form, int64_t i, int mode);
/* to[i + c * ld] = the element; the rest of a column of `to` stays */
void rl_side_load(const rl_job *j, const rl_side *s, void *to, int64_t ld);
void rl_side_store(const rl_job *j, const void *from, int64_t ld, const rl_side *s);
static inline void rl_side_put_int(const rl_side *s, int64_t i, int64_t x) {
    char *at = s->at + i * s->down;
    if (s->dtype == RL_I64)
        *(int64_t *)at = x;
    else
        *(int32_t *)at = (int32_t)x;
}
static inline int rl_side_int(const rl_side *s, int64_t i) {
    return *(const int32_t *)(s->at + i * s->down);
}
/* result i, number b of the batch; a result that is not wanted is not there */
static inline void rl_info_put(const rl_batch *b, rl_call *k, int result, int64_t i, int64_t info) {
    rl_side s = rl_side_of(b, k->out[result], RL_SCALAR, i, RL_WRITE);
    rl_side_put_int(&s, 0, info);
}
/* "who: (Batch element 1): text" where the batch has dims; `ex` is added to who for an operator called so */
rl_status rl_linalg_fail(rl_call *k, rl_error kind, const char *who, const rl_batch *b, int64_t i,
                         const char *format, ...);
void rl_triangle_clear(const rl_job *j, bool upper, bool unit, int64_t m, int64_t n, void *a); /* keeps one */
void rl_identity(const rl_job *j, int64_t m, int64_t n, void *a);
bool rl_all_finite(const rl_job *j, int64_t n, const void *a);
#endif
