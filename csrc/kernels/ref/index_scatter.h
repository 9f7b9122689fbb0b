/* Elements that go to places which an index names, along one dimension. */
#ifndef RL_KERNELS_REF_INDEX_SCATTER_H
#define RL_KERNELS_REF_INDEX_SCATTER_H
#include "index.h"

/* Note [Scattering]
 *     operands of the walk: the target at index 0 of the dimension, index, source
 * Elements go in order, so that of two for one place the last one wins, and sums have one order. Threads
 * share the work by another dimension: what two of them write never meets. */
typedef struct {
    rl_walk walk;
    int64_t dim;      /* of the walk: the one that is named */
    int64_t *counts;  /* stands for the target: as many int64, without gaps; or NULL */
    bool meets;       /* the target has elements that share memory: one thread writes */
    rl_places places; /* in the target */
    int64_t item;
    int join, dtype;
    rl_numbers numbers;
} rl_scattering;

/* Into out[0] or counts, over `dims`; then two operands more, and it may run. */
void rl_scatter_begin(rl_call *k, rl_scattering *s, const int64_t *dims, int ndim);
void rl_scatter_element(rl_scattering *s, void *element); /* an operand of one element */
rl_status rl_scatter_run(rl_call *k, rl_scattering *s);
rl_status rl_scatter_fault(rl_call *k, const rl_scattering *s, rl_error kind, const char *name);

/* The index is argument 2: one number for each element ... */
rl_status rl_scatter_by_index(rl_call *k, rl_scattering *s, const rl_view *source, void *element);
/* ... or a vector of them, for slices of the source. Without a source all get the element. */
rl_status rl_scatter_by_vector(rl_call *k, rl_scattering *s, const rl_view *source, void *element);

/* The operators that join by a reduction, with the elements of the target or without them. */
typedef rl_status (*rl_scatter_way)(rl_call *k, rl_scattering *s, const rl_view *source, void *element);
rl_status rl_scatter_reduce(rl_call *k, rl_scatter_way way, bool include_self);
#endif
