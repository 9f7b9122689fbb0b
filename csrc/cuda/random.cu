/* Numbers that need no tensors to say which: fills and factories. Note [Device draws] */
#include "device.h"
#include "philox.h"
#include "kernels/shared/random_range.h"

/* ---- floats ---- */
enum { UNIFORM, NORMAL, LOG_NORMAL, EXPONENTIAL, GEOMETRIC, CAUCHY, BERNOULLI };
template <class C> struct fill_numbers {
    int kind;
    C first, second;
    C limit;       /* uniform: rounding does not reach it */
    double chance; /* bernoulli */
};

template <class C> __device__ constexpr C epsilon() {
    return sizeof(C) == 4 ? (C)0x1p-23 : (C)0x1p-52;
}

/* What u, of (0, 1], stands for. u = 1 gives no 0, which the exponential distribution has not; nor do a
 * float's tangents become infinite. */
template <class C> __device__ C exponential(C u, C rate) {
    const C least = epsilon<C>() / 2;
    return -1 / rate * (u >= 1 - least ? -least : log(u));
}
template <class C> __device__ C cauchy(C u, C median, C sigma) {
    const C end = sizeof(C) == 4 ? epsilon<C>() : 0;
    u = u > 1 - end ? 1 - end : u < end ? end : u;
    return median + sigma * tan((C)3.14159265358979323846 * (u - (C)0.5));
}
template <class C> __device__ C uniform(C u, const fill_numbers<C> &f, int dtype) {
    const C x = cuda_rounded(dtype, fma(u, f.second, f.first));
    return x == f.limit ? f.first : x;
}

template <class C> __device__ C number_of(C u, const fill_numbers<C> &f, int dtype) {
    switch (f.kind) {
    case UNIFORM: return uniform(u, f, dtype);
    case NORMAL: return fma(u, f.second, f.first);
    case LOG_NORMAL: return exp(fma(u, f.second, f.first));
    case EXPONENTIAL: return exponential(u, f.first);
    case GEOMETRIC: return ceil(log(u) / f.first);
    case CAUCHY: return cauchy(u, f.first, f.second);
    default: return (double)u < f.chance;
    }
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    random_floats(cuda_draws d, cuda_walk w, void *out, int dtype, fill_numbers<C> f) {
    enum { EACH = 16 / sizeof(C) };
    cuda_draw<EACH>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        C u[EACH];
        if (f.kind == NORMAL || f.kind == LOG_NORMAL)
            cuda_normals(words, u);
        else
            cuda_units(words, u);
        CUDA_ROLLED
        for (int j = 0; j < EACH && i < w.numel; j++, i += step) {
            int64_t at[1];
            cuda_walk_seek(w, i, at);
            cuda_store<C>(dtype, out, at[0], number_of(u[0], f, dtype));
            cuda_turn(u);
        }
    });
}

template <class C>
static rl_status launch_floats(rl_call *k, const cuda_walk &w, const fill_numbers<double> &f) {
    cuda_draws d;
    const rl_view *out = k->out[0];
    const fill_numbers<C> numbers = {f.kind, (C)f.first, (C)f.second, (C)f.limit, (double)(C)f.chance};
    if (cuda_draws_take(k, &d, w.numel, 16 / sizeof(C), true) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((random_floats<C>), cuda_draws_blocks(&d), CUDA_THREADS, (cudaStream_t)k->stream, d, w,
                rl_data(out, RL_WRITE), out->dtype, numbers);
    return rl_cuda_end(k);
}

static rl_status fill_floats(rl_call *k, int kind, double first, double second) {
    const rl_view *out = k->out[0];
    fill_numbers<double> f = {kind, first, second, 0, first};
    cuda_walk w;
    if (!cuda_walk_make_along(&w, &out, 1)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (kind == UNIFORM) {
        f.first = rl_random_rounded(out->dtype, first);
        f.limit = rl_random_rounded(out->dtype, second);
        f.second = rl_random_rounded(out->dtype, f.limit - f.first);
    }
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    return out->dtype == RL_F64 ? launch_floats<double>(k, w, f) : launch_floats<float>(k, w, f);
}

CUDA_KERNEL(cuda_rand) {
    return fill_floats(k, UNIFORM, 0, 1);
}
CUDA_KERNEL(cuda_uniform) {
    return fill_floats(k, UNIFORM, rl_num(k, 1), rl_num(k, 2));
}
CUDA_KERNEL(cuda_randn) {
    return fill_floats(k, NORMAL, 0, 1);
}
CUDA_KERNEL(cuda_normal) {
    return fill_floats(k, NORMAL, rl_num(k, 1), rl_num(k, 2));
}
CUDA_KERNEL(cuda_normal_size) {
    return fill_floats(k, NORMAL, rl_num(k, 0), rl_num(k, 1));
}
CUDA_KERNEL(cuda_log_normal) {
    return fill_floats(k, LOG_NORMAL, rl_num(k, 1), rl_num(k, 2));
}
CUDA_KERNEL(cuda_exponential) {
    return fill_floats(k, EXPONENTIAL, rl_num(k, 1), 0);
}
CUDA_KERNEL(cuda_geometric) {
    return fill_floats(k, GEOMETRIC, log1p(-rl_num(k, 1)), 0);
}
CUDA_KERNEL(cuda_cauchy) {
    return fill_floats(k, CAUCHY, rl_num(k, 1), rl_num(k, 2));
}
CUDA_KERNEL(cuda_bernoulli) { /* (input, p) */
    return fill_floats(k, BERNOULLI, rl_num(k, 1), 0);
}

/* ---- bernoulli, of a tensor of chances: thread i draws for elements 4 i to 4 i + 3 ---- */
__global__ void __launch_bounds__(CUDA_THREADS)
    bernoulli_each(cuda_draws d, cuda_walk w, void *out, int dtype, const void *chances, int of,
                   unsigned *fault) {
    cuda_draw<CUDA_FLOATS>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        float u[CUDA_FLOATS];
        cuda_units(words, u);
        CUDA_ROLLED
        for (int j = 0; j < CUDA_FLOATS && i < w.numel; j++, i += step) {
            int64_t at[2];
            cuda_walk_seek(w, i, at);
            const double chance = cuda_load<double>(of, chances, at[1]);
            if (!(chance >= 0 && chance <= 1)) cuda_fault(fault, CUDA_FAULT_VALUE);
            cuda_store<float>(dtype, out, at[0], u[0] <= chance);
            cuda_turn(u);
        }
    });
}

CUDA_KERNEL(cuda_bernoulli_tensor) { /* (p), or (input, p) in place */
    const rl_view *out = k->out[0], *p = rl_in(k, 1) ? rl_in(k, 1) : rl_in(k, 0);
    const rl_view *views[2] = {out, p};
    cuda_draws d;
    cuda_walk w;
    if (p->device == RL_CPU || !cuda_walk_make(&w, views, 2)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    unsigned *fault = rl_cuda_fault(k);
    if (!fault || cuda_draws_take_each(k, &d, (w.numel + 3) / 4, 3) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(bernoulli_each, cuda_draws_blocks(&d), CUDA_THREADS, (cudaStream_t)k->stream, d, w,
                rl_data(out, RL_WRITE), out->dtype, rl_const_data(p), p->dtype, fault);
    return rl_cuda_end(k);
}
