/* Reductions: one engine iterates, and folds take blocks of elements. */
#ifndef RL_KERNELS_REF_REDUCE_H
#define RL_KERNELS_REF_REDUCE_H
#include "loops.h"

/* Note [Tiles]
 * A tile is up to RL_TILE neighbouring outputs, folded together when their elements lie side by side in
 * memory, so that a sum over the outer dimension reads rows and not columns. A block is `rows` x `width`
 * elements as double (floats) or int64 (integers, bool), row-major; row r is the element `first + r` of the
 * reduced dims. */
enum { RL_TILE = 64, RL_BLOCK = 1024 };
typedef struct {
    bool floats;
    int width;
    double mean[RL_TILE]; /* of a second pass */
    double a[RL_TILE], b[RL_TILE];
    int64_t i[RL_TILE], at[RL_TILE];
} rl_tile;
typedef struct {
    void (*start)(rl_tile *t);
    void (*fold_doubles)(rl_tile *t, const double *x, int64_t rows, int64_t first);
    void (*fold_ints)(rl_tile *t, const int64_t *x, int64_t rows, int64_t first);
    /* after the elements; answers true for one more pass over them */
    bool (*finish)(rl_tile *t, int64_t count, int pass, double correction);
    bool floats_out; /* results in t->a or t->i */
    bool two_outs;   /* the second output is t->at, or t->b where it is of floats */
} rl_reduction;
rl_status rl_reduce(rl_call *k, const rl_reduction *how, double correction);

/* what several files fold with */
void rl_sum_doubles(rl_tile *t, const double *x, int64_t rows, int64_t first);
void rl_sum_ints(rl_tile *t, const int64_t *x, int64_t rows, int64_t first);
bool rl_sum_finish(rl_tile *t, int64_t count, int pass, double correction);
void rl_var_doubles(rl_tile *t, const double *x, int64_t rows, int64_t first); /* in two passes */
bool rl_var_finish(rl_tile *t, int64_t count, int pass, double correction);
double rl_correction(const rl_call *k); /* of a variance */
#endif
