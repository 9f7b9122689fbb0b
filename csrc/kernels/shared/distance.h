/* Distances of order p between rows. */
#ifndef RL_KERNELS_SHARED_DISTANCE_H
#define RL_KERNELS_SHARED_DISTANCE_H
#include "kernel_abi/kernel.h"
#include <math.h>

/* Note [Distances]
 *
 *            second: j ->            first, second    rows of `width` numbers
 *   first    d(i, j) ...             grid             the distances of each batch, or
 *     i      ...                     triangle         those of i < j in one line: pdist
 *
 * A distance joins the differences of two rows by its order: their count, sum, root of squares, largest, or
 * root of powers. The gradient of a row of `first` is the sum over j of weight(i, j) * slope(difference). */
typedef enum { RL_P_COUNT, RL_P_SUM, RL_P_SQUARE, RL_P_LINF, RL_P_POWER, RL_P_ORDERS } rl_order;
static inline rl_order rl_order_of(double p) {
    return p == 0          ? RL_P_COUNT
           : p == 1        ? RL_P_SUM
           : p == 2        ? RL_P_SQUARE
           : p == INFINITY ? RL_P_LINF
                           : RL_P_POWER;
}

typedef struct {
    const rl_view *first, *second, *result; /* result: what the kernel answers, whose batches are all */
    const rl_view *grad, *distance;         /* of gradients */
    rl_order order;
    double p;
    bool triangle;
    int64_t batches, rows, others, width;
} rl_distances;

static inline rl_distances rl_distances_of(const rl_call *k, int at, bool triangle, double p) {
    const rl_view *a = k->arg[at].u.t, *b = triangle ? a : k->arg[at + 1].u.t;
    rl_distances d;
    d.first = a, d.second = b, d.result = k->out[0], d.grad = d.distance = NULL;
    d.triangle = triangle, d.batches = 1;
    d.p = p, d.order = rl_order_of(p);
    d.rows = a->shape[a->ndim - 2], d.others = b->shape[b->ndim - 2], d.width = a->shape[a->ndim - 1];
    for (int i = 0; !triangle && i < d.result->ndim - 2; i++) d.batches *= d.result->shape[i];
    if (at) d.grad = k->arg[0].u.t, d.distance = k->arg[triangle ? 3 : 4].u.t;
    return d;
}

/* how many elements into a view that stretches a batch begins */
static inline int64_t rl_batch_offset(const rl_distances *d, const rl_view *v, int64_t batch) {
    const rl_view *all = d->result;
    int64_t offset = 0;
    for (int i = d->triangle ? -1 : all->ndim - 3; i >= 0; batch /= all->shape[i--]) {
        const int dim = i - (all->ndim - v->ndim);
        if (dim >= 0 && v->shape[dim] != 1) offset += batch % all->shape[i] * v->strides[dim];
    }
    return offset;
}

/* where d(i, i + 1) would stand in the line of a triangle, less i + 1 */
static inline int64_t rl_triangle_row(int64_t n, int64_t i) {
    return i * n - i * (i + 1) / 2 - i - 1;
}
/* where d(i, j) lies in its batch of grad or distance */
static inline int64_t rl_pair_offset(const rl_distances *d, const rl_view *v, int64_t i, int64_t j) {
    const int64_t *s = v->strides;
    if (!d->triangle) return i * s[v->ndim - 2] + j * s[v->ndim - 1];
    return (i < j ? rl_triangle_row(d->rows, i) + j : rl_triangle_row(d->rows, j) + i) * s[0];
}
#endif
