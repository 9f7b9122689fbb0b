/* A strided iterator over views that broadcast to one shape. */
#ifndef RL_KERNELS_SHARED_STRIDED_ITERATOR_H
#define RL_KERNELS_SHARED_STRIDED_ITERATOR_H
#include "kernel_abi/kernel.h"

/* Note [Strided iterators]
 * Operand 0 gives the dims; the others broadcast to it with stride 0. Neighbouring dims that all operands
 * step through evenly are merged, so contiguous operands make one long inner loop:
 *
 *     size    [ outer ... | inner ]      loop(p, step, n) runs over the inner dim, or a part of it
 *     stride  [ bytes, one row for each operand ] */
enum { RL_ITER_OPS = 6 };
typedef struct {
    int nops, ndim;
    int64_t numel, size[RL_MAX_DIMS], stride[RL_ITER_OPS][RL_MAX_DIMS];
    char *base[RL_ITER_OPS];
} rl_iter;
/* n may be 0, as that of a row without columns: then no operand may be read. */
typedef void (*rl_inner_loop)(char *const *p, const int64_t *step, int64_t n, const void *ctx);

void rl_iter_begin(rl_iter *w, const rl_view *first, int mode);
/* The dims that two views stretch to; operand 0 is there for them alone, and has no memory to read or write.
 */
void rl_iter_over(rl_iter *w, const rl_view *a, const rl_view *b);
void rl_iter_add(rl_iter *w, const rl_view *v); /* read only, stretched to the dims of the first */
void rl_iter_drop(rl_iter *w, uint64_t dims);   /* forgets these dims of the first: they stay at index 0 */
void rl_iter_sort(rl_iter *w, int op);          /* dims in the order of this operand's memory */
void rl_iter_merge(rl_iter *w);
/* Adds to p[] the offset of element `at`. */
void rl_iter_seek(const rl_iter *w, int64_t at, char **p);
/* Runs the inner loop over [begin, end) in order. */
void rl_iter_range(const rl_iter *w, int64_t begin, int64_t end, rl_inner_loop loop, const void *ctx);
/* The same by several threads; an element takes one about `ns` nanoseconds. */
void rl_iter_parallel(rl_call *k, const rl_iter *w, double ns, rl_inner_loop loop, const void *ctx);
/* Every element once, along the memory of operand 0: for what works element by element. */
void rl_iter_each(rl_call *k, rl_iter *w, double ns, rl_inner_loop loop, const void *ctx);
/* The sum of what inner loops return, by several threads; the sizes alone decide the order of additions. */
typedef double (*rl_inner_loop_total)(char *const *p, const int64_t *step, int64_t n, const void *ctx);
double rl_iter_total(rl_call *k, const rl_iter *w, double ns, rl_inner_loop_total loop, const void *ctx);
#endif
