/* What the files of random numbers share: the stream in chunks, which become elements. */
#ifndef RL_KERNELS_REF_RANDOM_H
#define RL_KERNELS_REF_RANDOM_H
#include "loops.h"

enum { RL_DRAWS = 512 }; /* elements of a chunk */
typedef struct rl_random {
    rl_generator *g;
    int dtype;          /* of the elements */
    int given;          /* of the tensors that say what to draw */
    int n_op;           /* operands: the result and these */
    double low, high;   /* uniform: bounds; normal: mean and deviation; the others' numbers */
    int64_t from;       /* integers, of this range; 0: all 2^64 numbers */
    uint64_t range;     /* ... of bernoulli: below it is true, of 2^53 */
    bool mask;          /* dropout's second result is asked for */
    const char **fault; /* where a chunk leaves what is wrong with a number that it was given */
    /* n elements, at most RL_DRAWS: p[0] is the result, then come the tensors that were given */
    void (*draw)(const struct rl_random *r, char *const *p, const int64_t *step, int64_t n);
} rl_random;

/* Draws an element for each of out[0], in the order of its memory; `in` are the tensors that were given. A
 * generator is a sequence: never in parallel. */
rl_status rl_random_run(rl_call *k, rl_random *r, const rl_view *const *in, int n_in);
/* The same along a walk that was begun. */
void rl_random_walk(rl_random *r, rl_walk *w);
rl_status rl_random_begin(rl_call *k, rl_random *r); /* finds the generator, the argument tagged so */

/* the next n words of the stream */
void rl_draw_words(rl_generator *g, uint32_t *to, int64_t n);
/* n uniform numbers of [0, 1), of 24 or 53 bits */
void rl_draw_floats(rl_generator *g, float *to, int64_t n);
void rl_draw_doubles(rl_generator *g, double *to, int64_t n);
/* n times: 53 bits below `limit`? */
void rl_draw_truths(rl_generator *g, uint64_t limit, uint8_t *to, int64_t n);
double rl_draw_normal(rl_generator *g); /* one of a pair, the other of which waits in the generator */
static inline double rl_draw_double(rl_generator *g) {
    return (double)(rl_random64(g) & ((1ull << 53) - 1)) * 0x1p-53;
}
/* the limit for rl_draw_truths, which says with which probability: u < p where u is a multiple of 2^-53 */
uint64_t rl_truth_limit(double p);
#endif
