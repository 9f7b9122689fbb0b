/* A walk over strided views that are stretched to one shape. */
#ifndef RL_KERNELS_SHARED_WALK_H
#define RL_KERNELS_SHARED_WALK_H
#include "contract/kernel.h"

/* Note [Walk]
 * Operand 0 gives the dims; the others stretch to it with stride 0. Neighbouring dims that all operands
 * step through evenly become one, so that contiguous operands make one long strip:
 *
 *     size    [ outer ... | inner ]      strip(p, step, n) runs over the inner dim, or a part of it
 *     stride  [ bytes, one row for each operand ] */
enum { RL_WALK_OPS = 6 };
typedef struct {
    int nops, ndim;
    int64_t numel, size[RL_MAX_DIMS], stride[RL_WALK_OPS][RL_MAX_DIMS];
    char *base[RL_WALK_OPS];
} rl_walk;
/* n may be 0, as that of a row without columns: then no operand may be read. */
typedef void (*rl_strip)(char *const *p, const int64_t *step, int64_t n, const void *ctx);

void rl_walk_begin(rl_walk *w, const rl_view *first, int mode);
/* The dims that two views stretch to; operand 0 is there for them alone, and has no memory to read or write.
 */
void rl_walk_over(rl_walk *w, const rl_view *a, const rl_view *b);
void rl_walk_add(rl_walk *w, const rl_view *v); /* read only, stretched to the dims of the first */
void rl_walk_drop(rl_walk *w, uint64_t dims);   /* forgets these dims of the first: they stay at index 0 */
void rl_walk_sort(rl_walk *w, int op);          /* dims in the order of this operand's memory */
void rl_walk_merge(rl_walk *w);
/* Adds to p[] the offset of element `at`. */
void rl_walk_seek(const rl_walk *w, int64_t at, char **p);
/* Strips over [begin, end) in order. */
void rl_walk_range(const rl_walk *w, int64_t begin, int64_t end, rl_strip strip, const void *ctx);
/* The same by several threads; an element takes one about `ns` nanoseconds. */
void rl_walk_parallel(rl_call *k, const rl_walk *w, double ns, rl_strip strip, const void *ctx);
/* Every element once, along the memory of operand 0: for what works element by element. */
void rl_walk_each(rl_call *k, rl_walk *w, double ns, rl_strip strip, const void *ctx);
/* The sum of what strips answer, by several threads; the sizes alone decide what is added to what. */
typedef double (*rl_strip_total)(char *const *p, const int64_t *step, int64_t n, const void *ctx);
double rl_walk_total(rl_call *k, const rl_walk *w, double ns, rl_strip_total strip, const void *ctx);
#endif
