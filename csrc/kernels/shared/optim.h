/* Steps of optimisers: what all backends share of an operator over whole lists of parameters.
 *
 * Note [Steps]
 *
 *   arguments     params  grads  state ...  │ counts ...     │ numbers of the group
 *                 n tensors of equal shapes │ n single ones  │ lr, betas ...
 *                        │                         │                 │
 *                        │                         └── rl_step_plan.prepare, once for each parameter
 *                        ▼                                           ▼
 *   optim_impl.inc   the arithmetic of a vector of elements, and the numbers s[] that it needs
 *
 * grad_scale and found_inf, which devices take, stay where they are: the gradients are divided by the one,
 * and nothing at all happens where the other is not 0.
 *
 * The text of the arithmetic is written once, in the words of kernels/simd/isa.h. kernels/simd compiles it
 * for each vector width, kernels/ref for single elements of any dtype and stride (words.h). */
#ifndef RL_KERNELS_SHARED_OPTIM_H
#define RL_KERNELS_SHARED_OPTIM_H
#include "kernel_abi/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* at most: lists, counts, numbers s[], numbers of the group; and behind all, grad_scale and found_inf */
enum { RL_STEP_LISTS = 5, RL_STEP_COUNTS = 3, RL_STEP_NUMBERS = 12, RL_STEP_GROUP = 8, RL_STEP_SCALES = 2 };
typedef struct {
    double at[RL_STEP_COUNTS];
    bool wide; /* they are kept as doubles, else as floats */
} rl_step_counts;
typedef struct {
    int lists, counts; /* arguments that are lists of tensors like the parameters; of single numbers */
    void (*prepare)(const double *group, rl_step_counts *c, double *s); /* optim_numbers.h */
} rl_step_plan;

/* the numbers of the group: RL_STEP_GROUP */
void rl_step_group(const rl_call *k, const rl_step_plan *plan, double *group);
/* s[] for parameter i; its counts are written back */
void rl_step_number(rl_call *k, const rl_step_plan *plan, int i, double *s);
/* ... for every parameter, one after the other. NULL: no memory. */
double *rl_step_numbers(rl_call *k, const rl_step_plan *plan);

/* every step: its name, its lists, its counts */
#define RL_STEPS(X)                                                                                          \
    X(sgd, 3, 0)                                                                                             \
    X(adam, 5, 1)                                                                                            \
    X(adadelta, 4, 1)                                                                                        \
    X(adagrad, 3, 1)                                                                                         \
    X(adamax, 4, 1)                                                                                          \
    X(asgd, 3, 3)                                                                                            \
    X(nadam, 4, 2)                                                                                           \
    X(radam, 4, 1)                                                                                           \
    X(rmsprop, 5, 1)                                                                                         \
    X(rprop, 4, 1)
#define X(name, lists, counts) extern const rl_step_plan rl_step_##name;
RL_STEPS(X)
#undef X

#ifdef __cplusplus
}
#endif
#endif
