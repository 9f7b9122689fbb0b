/* Steps of optimisers over whole lists of parameters. Their counts lie on the CPU, as the numbers of the
 * group: Note [Steps] in kernels/shared/optim.h. */
#include "lists.h"
#include "kernels/shared/optim.h"
#include <cstring>

#define V_TARGET __device__
#include "kernels/shared/words.h"

#include "kernels/shared/optim_body.h"
#define WORDS_DOUBLE
#include "kernels/shared/words.h"

#include "kernels/shared/optim_body.h"

enum {
#define X(name, lists, counts) STEP_##name,
    RL_STEPS(X)
#undef X
};
enum { GRADIENTS = 1 << 1 }; /* the list that is only read */
typedef struct {
    int kind, lists, dtype;
    bool given[RL_STEP_LISTS]; /* lists that are not empty */
    double numbers[RL_STEP_NUMBERS];
} step_numbers;

static __device__ void step_of(int kind, const double *s, float *e) {
    switch (kind) {
#define X(name, lists, counts)                                                                               \
    case STEP_##name: step_##name(s, e); break;
        RL_STEPS(X)
#undef X
    }
}
static __device__ void step_of(int kind, const double *s, double *e) {
    switch (kind) {
#define X(name, lists, counts)                                                                               \
    case STEP_##name: step_##name##_f64(s, e); break;
        RL_STEPS(X)
#undef X
    }
}

/* one element of each list; the gradient is only read */
template <class C>
static __device__ void step_at(const step_numbers &s, void *const *at, const int64_t *offset) {
    C e[RL_STEP_LISTS];
    CUDA_UNROLL
    for (int l = 0; l < RL_STEP_LISTS; l++) e[l] = s.given[l] ? cuda_load<C>(s.dtype, at[l], offset[l]) : 0;
    step_of(s.kind, s.numbers, e);
    CUDA_UNROLL
    for (int l = 0; l < RL_STEP_LISTS; l++)
        if (s.given[l] && l != 1) cuda_store<C>(s.dtype, at[l], offset[l], e[l]);
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) step_listed(cuda_listed<RL_STEP_LISTS> l, step_numbers s) {
    const int t = cuda_listed_find(l);
    void *at[RL_STEP_LISTS];
    for (int j = 0; j < RL_STEP_LISTS; j++) at[j] = l.at[j][t];
    CUDA_EACH_LISTED(i, l, t) {
        const int64_t offset[RL_STEP_LISTS] = {i, i, i, i, i};
        step_at<C>(s, at, offset);
    }
}

typedef struct {
    void *at[RL_STEP_LISTS];
} step_places;
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) step_along(cuda_walk w, step_places p, step_numbers s) {
    CUDA_EACH(i, w) {
        int64_t offset[RL_STEP_LISTS];
        cuda_walk_seek(w, i, offset);
        step_at<C>(s, p.at, offset);
    }
}

static void launch_listed(const cuda_listed<RL_STEP_LISTS> &l, const step_numbers &s, cudaStream_t stream) {
    const unsigned blocks = l.first[l.n];
    if (s.dtype == RL_F64)
        CUDA_LAUNCH((step_listed<double>), blocks, CUDA_THREADS, stream, l, s);
    else
        CUDA_LAUNCH((step_listed<float>), blocks, CUDA_THREADS, stream, l, s);
}

static void launch_along(const cuda_walk &w, const rl_view *const *views, const step_numbers &s,
                         cudaStream_t stream) {
    step_places p;
    for (int l = 0; l < RL_STEP_LISTS; l++) p.at[l] = cuda_listed_place(views[l], l, GRADIENTS);
    if (s.dtype == RL_F64)
        CUDA_LAUNCH((step_along<double>), cuda_walk_blocks(&w), CUDA_THREADS, stream, w, p, s);
    else
        CUDA_LAUNCH((step_along<float>), cuda_walk_blocks(&w), CUDA_THREADS, stream, w, p, s);
}

/* Before anything is written: do the counts alone lie on the CPU? */
static bool are_in_place(const rl_call *k, const rl_step_plan *plan) {
    for (int l = 0; l < plan->lists + plan->counts; l++)
        for (int i = 0; i < k->arg[l].n; i++) {
            const rl_view *v = k->arg[l].u.ts[i];
            if (v->ndim > CUDA_DIMS || (v->device == RL_CPU) != (l >= plan->lists)) return false;
        }
    return true;
}

static rl_status step_lists(rl_call *k, const rl_step_plan *plan, int kind) {
    step_numbers now = {kind, plan->lists, -1, {}, {}}, next;
    if (!are_in_place(k, plan)) return RL_UNSUPPORTED;
    for (int l = 0; l < plan->lists; l++) now.given[l] = k->arg[l].n > 0;
    next = now;
    return cuda_lists_run<RL_STEP_LISTS>(
        k, k->arg[0].n, GRADIENTS,
        [&](int i, const rl_view **views) {
            for (int l = 0; l < RL_STEP_LISTS; l++) views[l] = k->arg[now.given[l] ? l : 0].u.ts[i];
            next.dtype = views[0]->dtype;
            rl_step_number(k, plan, i, next.numbers);
        },
        [&](bool begins) {
            if (begins) now = next;
            return now.dtype == next.dtype && !memcmp(now.numbers, next.numbers, sizeof now.numbers);
        },
        [&](const cuda_listed<RL_STEP_LISTS> &l, cudaStream_t stream) { launch_listed(l, now, stream); },
        [&](const cuda_walk &w, const rl_view *const *views, cudaStream_t stream) {
            launch_along(w, views, next, stream);
        });
}

#define STEP_KERNEL(name)                                                                                    \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return step_lists(k, &rl_step_##name, STEP_##name);                                                  \
    }
STEP_KERNEL(sgd)
STEP_KERNEL(adam)
STEP_KERNEL(adadelta)
STEP_KERNEL(adagrad)
STEP_KERNEL(adamax)
STEP_KERNEL(asgd)
STEP_KERNEL(nadam)
STEP_KERNEL(radam)
STEP_KERNEL(rmsprop)
STEP_KERNEL(rprop)
