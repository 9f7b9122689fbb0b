/* Steps of optimisers over whole lists of parameters: Note [Steps] in kernels/shared/optim.h.
 *
 * Note [Steps on a device]
 *   counts on the CPU      the numbers s[] travel with the launch; tensors of equal numbers share one
 *   counts on the device   a launch before moves them on and writes s[] of each parameter to device memory,
 *                          so that nobody asks the device: capturable=True, fused=True
 * Where found_inf is not 0, all launches leave at once, and no count moves. */
#include "multi_tensor.cuh"
#include "kernels/shared/optim.h"
#include <cstring>

#define V_TARGET __device__
#include "kernels/shared/words.h"

#include "kernels/shared/optim_impl.inc"
#define WORDS_DOUBLE
#include "kernels/shared/words.h"

#include "kernels/shared/optim_impl.inc"
#include "kernels/shared/optim_numbers.h"

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
    const double *each; /* not NULL: of each parameter, in device memory */
    const float *grad_scale, *found_inf;
} step_numbers;

static __device__ bool is_left_out(const float *found_inf) {
    return found_inf && *found_inf != 0;
}

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

/* one element of each list; the gradient is only read, unless it is divided by a scale */
template <class C>
static __device__ void step_at(const step_numbers &s, const double *numbers, C scale, void *const *at,
                               const int64_t *offset) {
    C e[RL_STEP_LISTS];
    CUDA_UNROLL
    for (int l = 0; l < RL_STEP_LISTS; l++) e[l] = s.given[l] ? cuda_load<C>(s.dtype, at[l], offset[l]) : 0;
    if (s.grad_scale) e[1] /= scale;
    step_of(s.kind, numbers, e);
    CUDA_UNROLL
    for (int l = 0; l < RL_STEP_LISTS; l++)
        if (s.given[l] && (l != 1 || s.grad_scale)) cuda_store<C>(s.dtype, at[l], offset[l], e[l]);
}

/* is_counted: the numbers lie in device memory */
template <class C, bool is_counted>
static __device__ const double *numbers_of(const step_numbers &s, int place) {
    if constexpr (is_counted) return s.each + (int64_t)place * RL_STEP_NUMBERS;
    return s.numbers;
}
template <class C> static __device__ C scale_of(const step_numbers &s) {
    return s.grad_scale ? (C)*s.grad_scale : 1;
}

template <class C, bool is_counted>
__global__ void __launch_bounds__(CUDA_THREADS) step_listed(cuda_listed<RL_STEP_LISTS> l, step_numbers s) {
    const int t = cuda_listed_find(l);
    const C scale = scale_of<C>(s);
    void *at[RL_STEP_LISTS];
    if (is_left_out(s.found_inf)) return;
    for (int j = 0; j < RL_STEP_LISTS; j++) at[j] = l.at[j][t];
    CUDA_EACH_LISTED(i, l, t) {
        const int64_t offset[RL_STEP_LISTS] = {i, i, i, i, i};
        step_at<C>(s, numbers_of<C, is_counted>(s, l.place[t]), scale, at, offset);
    }
}

typedef struct {
    void *at[RL_STEP_LISTS];
    int place;
} step_places;
template <class C, bool is_counted>
__global__ void __launch_bounds__(CUDA_THREADS) step_along(cuda_iter w, step_places p, step_numbers s) {
    const C scale = scale_of<C>(s);
    if (is_left_out(s.found_inf)) return;
    CUDA_EACH(i, w) {
        int64_t offset[RL_STEP_LISTS];
        cuda_iter_seek(w, i, offset);
        step_at<C>(s, numbers_of<C, is_counted>(s, p.place), scale, p.at, offset);
    }
}

/* ---- counts on the device ---- */
enum { COUNTED = 128 }; /* parameters of a launch */
typedef struct {
    int kind, n, counts, first;
    void *at[RL_STEP_COUNTS][COUNTED];
    bool wide[COUNTED];
    double group[RL_STEP_GROUP];
    double *numbers;
    const float *found_inf;
} step_counted;

static __device__ void numbers_make(int kind, const double *group, rl_step_counts *c, double *s) {
    switch (kind) {
#define X(name, lists, counts)                                                                               \
    case STEP_##name: step_numbers_##name(group, c, s); break;
        RL_STEPS(X)
#undef X
    }
}

/* a thread for each parameter */
__global__ void __launch_bounds__(COUNTED) count_steps(step_counted j) {
    const int i = threadIdx.x;
    rl_step_counts c = {{0}, false};
    double s[RL_STEP_NUMBERS] = {0};
    if (i >= j.n || is_left_out(j.found_inf)) return;
    const int dtype = j.wide[i] ? RL_F64 : RL_F32;
    c.wide = j.wide[i];
    for (int l = 0; l < j.counts; l++) c.at[l] = cuda_load<double>(dtype, j.at[l][i], 0);
    numbers_make(j.kind, j.group, &c, s);
    for (int l = 0; l < j.counts; l++) cuda_store<double>(dtype, j.at[l][i], 0, c.at[l]);
    for (int l = 0; l < RL_STEP_NUMBERS; l++) j.numbers[(int64_t)(j.first + i) * RL_STEP_NUMBERS + l] = s[l];
}

static rl_status count_all(rl_call *k, const rl_step_plan *plan, step_numbers *s) {
    const int n = k->arg[0].n;
    double *numbers = (double *)k->svc->scratch(k, RL_COUNT(n, RL_STEP_NUMBERS), sizeof *numbers);
    step_counted j = {s->kind, 0, plan->counts, 0, {}, {}, {}, numbers, s->found_inf};
    if (!numbers || rl_cuda_begin(k, k->arg[0].u.ts[0]) != RL_OK) return RL_FAIL;
    rl_step_group(k, plan, j.group);
    for (; j.first < n; j.first += COUNTED) {
        j.n = n - j.first < COUNTED ? n - j.first : (int)COUNTED;
        for (int i = 0; i < j.n; i++)
            for (int l = 0; l < plan->counts; l++) {
                const rl_view *v = k->arg[plan->lists + l].u.ts[j.first + i];
                j.at[l][i] = rl_data(v, RL_WRITE);
                j.wide[i] = v->dtype == RL_F64;
            }
        CUDA_LAUNCH(count_steps, 1, COUNTED, (cudaStream_t)k->stream, j);
    }
    s->each = numbers;
    return RL_OK;
}

/* ---- launches ---- */
template <class C>
static void launch_listed(const cuda_listed<RL_STEP_LISTS> &l, const step_numbers &s, cudaStream_t stream) {
    const unsigned blocks = l.first[l.n];
    if (s.each)
        CUDA_LAUNCH((step_listed<C, true>), blocks, CUDA_THREADS, stream, l, s);
    else
        CUDA_LAUNCH((step_listed<C, false>), blocks, CUDA_THREADS, stream, l, s);
}

template <class C>
static void launch_along(const cuda_iter &w, cuda_list_shape shape, const step_places &p,
                         const step_numbers &s, cudaStream_t stream) {
    if (s.each)
        CUDA_LAUNCH((step_along<C, true>), shape.blocks, shape.threads, stream, w, p, s);
    else
        CUDA_LAUNCH((step_along<C, false>), shape.blocks, shape.threads, stream, w, p, s);
}

/* Before anything is written: do the counts alone lie on the CPU, or nothing? */
static bool are_in_place(const rl_call *k, const rl_step_plan *plan, bool *counts_on_cpu) {
    const int end = plan->lists + plan->counts;
    *counts_on_cpu = plan->counts > 0 && k->arg[0].n > 0 && k->arg[plan->lists].u.ts[0]->device == RL_CPU;
    for (int l = 0; l < end; l++)
        for (int i = 0; i < k->arg[l].n; i++) {
            const rl_view *v = k->arg[l].u.ts[i];
            if (v->ndim > CUDA_DIMS || (v->device == RL_CPU) != (l >= plan->lists && *counts_on_cpu))
                return false;
        }
    return !(*counts_on_cpu && k->arg[k->n_arg - 1].tag == RL_TENSOR);
}

static const float *scale_at(const rl_call *k, int arg) {
    return k->arg[arg].tag == RL_TENSOR ? (const float *)rl_const_data(k->arg[arg].u.t) : nullptr;
}

static rl_status step_lists(rl_call *k, const rl_step_plan *plan, int kind) {
    step_numbers now = {
        kind, plan->lists, -1, {}, {}, nullptr, scale_at(k, k->n_arg - 2), scale_at(k, k->n_arg - 1)};
    step_numbers next;
    int place = 0;
    bool counts_on_cpu;
    if (!are_in_place(k, plan, &counts_on_cpu)) return RL_UNSUPPORTED;
    if (k->arg[0].n == 0) return RL_OK;
    for (int l = 0; l < plan->lists; l++) now.given[l] = k->arg[l].n > 0;
    if (plan->counts && !counts_on_cpu && count_all(k, plan, &now) != RL_OK) return RL_FAIL;
    next = now;
    const unsigned reads = now.grad_scale ? 0 : GRADIENTS;
    return cuda_lists_run<RL_STEP_LISTS>(
        k, k->arg[0].n, reads,
        [&](int i, const rl_view **views) {
            for (int l = 0; l < RL_STEP_LISTS; l++) views[l] = k->arg[now.given[l] ? l : 0].u.ts[i];
            place = i;
            next.dtype = views[0]->dtype;
            if (!now.each) rl_step_number(k, plan, i, next.numbers);
        },
        [&](bool begins) {
            if (begins) now = next;
            return now.dtype == next.dtype && !memcmp(now.numbers, next.numbers, sizeof now.numbers);
        },
        [&](const cuda_listed<RL_STEP_LISTS> &l, cudaStream_t stream) {
            now.dtype == RL_F64 ? launch_listed<double>(l, now, stream)
                                : launch_listed<float>(l, now, stream);
        },
        [&](const cuda_iter &w, cuda_list_shape shape, const rl_view *const *views, cudaStream_t stream) {
            step_places p = {{}, place};
            for (int l = 0; l < RL_STEP_LISTS; l++) p.at[l] = cuda_listed_place(views[l], l, reads);
            next.dtype == RL_F64 ? launch_along<double>(w, shape, p, next, stream)
                                 : launch_along<float>(w, shape, p, next, stream);
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
