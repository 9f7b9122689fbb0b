/* Limits: numbers, or tensors that broadcast. */
#include "elementwise.cuh"
#include <cmath>

enum { CLAMP, FILL, MORE, LESS, BETWEEN, KEPT };

template <class C> struct clamp : cuda_job<C> {
    enum { INPUTS = 1, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[1][V], C (&y)[V]) const {
        const C low = this->n[0], high = this->n[1], least = low > high ? high : low;
        switch (this->op) {
            CUDA_CASE_1(CLAMP, a < low ? least : a > high ? high : a)
            CUDA_CASE_OF(FILL, low, )
        }
    }
};

/* low, high: the arguments that hold the bounds, 0 for none; a bound that is NaN is what all become */
static rl_status limited(rl_call *k, int low, int high) {
    const int dtype = rl_in(k, 0)->dtype, at[] = {low, high};
    cuda_numbers numbers = {{-(double)INFINITY, (double)INFINITY}, {INT64_MIN, INT64_MAX}};
    if (dtype == RL_BOOL) return RL_UNSUPPORTED;
    for (int i = 0; i < 2; i++) {
        if (!at[i] || k->arg[at[i]].tag == RL_NONE) continue;
        if (cuda_number_of(k, at[i], dtype, &numbers.d[i], &numbers.i[i]) != RL_OK) return RL_FAIL;
        if (std::isnan(numbers.d[i])) return cuda_elementwise<clamp>(k, FILL, {{numbers.d[i]}, {}});
    }
    return cuda_elementwise<clamp>(k, CLAMP, numbers);
}
CUDA_KERNEL(cuda_clamp) {
    return limited(k, 1, 2);
}
CUDA_KERNEL(cuda_clamp_min) {
    return limited(k, 1, 0);
}
CUDA_KERNEL(cuda_clamp_max) {
    return limited(k, 0, 1);
}

/* ---- tensors, of which NaN wins; and the gradient ---- */
template <class C> static __device__ C more(C a, C b) {
    return a != a || a > b ? a : b;
}
template <class C> static __device__ C less(C a, C b) {
    return a != a || a < b ? a : b;
}
template <class C> struct clamp_tensor : cuda_job<C> {
    enum { INPUTS = 3, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[3][V], C (&y)[V]) const {
        const C low = this->n[0], high = this->n[1];
        switch (this->op) {
            CUDA_CASE_2(MORE, more(a, b))
            CUDA_CASE_2(LESS, less(a, b))
            CUDA_CASE_3(BETWEEN, less(more(a, b), c))
            CUDA_CASE_2(KEPT, b >= low && b <= high ? a : (C)0)
        }
    }
};

static rl_status between(rl_call *k, const rl_view *low, const rl_view *high) {
    const rl_view *views[] = {k->out[0], rl_in(k, 0), low ? low : high, high ? high : low};
    return cuda_elementwise<clamp_tensor>(k, views, !high ? MORE : !low ? LESS : BETWEEN, {});
}
CUDA_KERNEL(cuda_clamp_tensor) {
    const rl_view *low = rl_in(k, 1), *high = rl_in(k, 2);
    return low && high && low->dtype == RL_BOOL ? RL_UNSUPPORTED : between(k, low, high);
}
CUDA_KERNEL(cuda_clamp_min_tensor) {
    return between(k, rl_in(k, 1), NULL);
}
CUDA_KERNEL(cuda_clamp_max_tensor) {
    return between(k, NULL, rl_in(k, 1));
}

/* the gradient of the result, where what the forward operator saw lies between the bounds */
static double bound(const rl_call *k, int arg, double without) {
    return k->arg[arg].tag == RL_NONE ? without : rl_num(k, arg);
}
CUDA_KERNEL(cuda_clamp_backward) {
    const rl_view *views[] = {k->out[0], rl_in(k, 0), rl_in(k, 1), rl_in(k, 1)};
    const double most = (double)INFINITY;
    if (!rl_is_float(views[1]->dtype)) return RL_UNSUPPORTED;
    return cuda_elementwise<clamp_tensor>(k, views, KEPT, {{bound(k, 2, -most), bound(k, 3, most)}, {}});
}
