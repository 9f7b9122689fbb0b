/* Numbers of the gamma and of the Dirichlet distribution, and how they change with their parameters:
 * kernels/shared/random_gradients.h. */
#include "random_own.h"
#include "special.h"
#include "kernels/shared/random_gradients.h"
#include <cstring>

enum { REACH = 3 }; /* as far as PyTorch moves the offset on */
typedef struct {
    void *out;
    const void *shape;
    int dtype, out_dtype;
    double least;
} gammas_of;

/* G. Marsaglia and W. Tsang, A simple method for generating gamma variables (2000); below 1, a number of the
 * next shape times a power of a uniform one */
static __device__ double gamma_of(cuda_own_draws &g, double shape) {
    double scale = 1;
    if (shape == 0) return 0;
    if (shape < 1) scale = pow(g.unit(), 1 / shape);
    const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
    if (!(d > 0)) return (double)NAN;
    for (;;) {
        const double x = g.normal(), root = 1 + c * x, square = x * x;
        if (root <= 0) continue;
        const double v = root * root * root, u = g.unit();
        if (u < 1 - 0.0331 * square * square || log(u) < 0.5 * square + d * (1 - v + log(v)))
            return scale * d * v;
    }
}

__global__ void __launch_bounds__(CUDA_THREADS) gammas(cuda_draws d, cuda_walk w, gammas_of p) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_own_draws g = cuda_own_begin(d, REACH, i);
        cuda_walk_seek(w, i, at);
        const double x = gamma_of(g, cuda_load<double>(p.dtype, p.shape, at[1]));
        cuda_store<double>(p.out_dtype, p.out, at[0], x < p.least ? p.least : x);
    }
}

static rl_status draw_gammas(rl_call *k, const rl_view *to, int out_dtype, void *out, double least) {
    const rl_view *shape = rl_in(k, 0), *views[2] = {to, shape};
    const gammas_of p = {out, rl_const_data(shape), shape->dtype, out_dtype, least};
    cuda_draws d;
    cuda_walk w;
    if (!cuda_walk_make(&w, views, 2)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || cuda_draws_take_each(k, &d, w.numel, REACH) != RL_OK)
        return RL_FAIL;
    CUDA_LAUNCH(gammas, cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, d, w, p);
    return RL_OK;
}

CUDA_KERNEL(cuda_standard_gamma) {
    const rl_view *out = k->out[0];
    if (rl_in(k, 0)->device == RL_CPU) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    const double least = out->dtype == RL_F64 ? 0x1p-1022 : 0x1p-126; /* the smallest normal numbers */
    const rl_status status = draw_gammas(k, out, out->dtype, rl_data(out, RL_WRITE), least);
    return status == RL_OK ? rl_cuda_end(k) : status;
}

/* ---- Dirichlet: each row divided by its sum, and kept off 0 and 1; a thread for each row ---- */
__global__ void __launch_bounds__(CUDA_THREADS)
    divide_rows(int64_t rows, int64_t n, const double *z, void *out, int dtype, double least, double most) {
    CUDA_EACH_OF(row, rows) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += z[row * n + i];
        for (int64_t i = 0; i < n; i++) {
            const double part = z[row * n + i] / sum;
            cuda_store<double>(dtype, out, row * n + i, part < least ? least : part > most ? most : part);
        }
    }
}

CUDA_KERNEL(cuda_sample_dirichlet) { /* the last dim is one vector */
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const int64_t n = x->ndim ? x->shape[x->ndim - 1] : 1;
    const bool wide = out->dtype == RL_F64;
    int64_t strides[RL_MAX_DIMS];
    if (x->device == RL_CPU || !rl_is_contiguous(out)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    double *z = (double *)k->svc->scratch(k, RL_COUNT(out->numel), sizeof *z);
    if (!z) return RL_FAIL;
    rl_view dense = *out; /* how the numbers in z lie */
    memcpy(strides, out->strides, (size_t)out->ndim * sizeof *strides);
    dense.strides = strides;
    const rl_status status = draw_gammas(k, &dense, RL_F64, z, 0x1p-1022);
    if (status != RL_OK) return status;
    CUDA_LAUNCH(divide_rows, cuda_blocks_of(out->numel / n), CUDA_THREADS, (cudaStream_t)k->stream,
                out->numel / n, n, z, rl_data(out, RL_WRITE), out->dtype, wide ? 0x1p-1022 : 0x1p-126,
                1 - (wide ? 0x1p-53 : 0x1p-24));
    return rl_cuda_end(k);
}

/* ---- gradients ---- */
template <class C> struct gamma_slopes : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        CUDA_UNROLL
        for (int j = 0; j < V; j++) {
            const double in[2] = {(double)x[0][j], (double)x[1][j]};
            y[j] = (C)gamma_gradient(in);
        }
    }
};
template <class C> struct dirichlet_slopes : cuda_job<C> {
    enum { INPUTS = 3, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[3][V], C (&y)[V]) const {
        CUDA_UNROLL
        for (int j = 0; j < V; j++) {
            const double in[3] = {(double)x[0][j], (double)x[1][j], (double)x[2][j]};
            y[j] = (C)dirichlet_gradient(in);
        }
    }
};
CUDA_KERNEL(cuda_standard_gamma_grad) {
    return cuda_elementwise<gamma_slopes>(k, 0);
}
CUDA_KERNEL(cuda_dirichlet_grad) {
    return cuda_elementwise<dirichlet_slopes>(k, 0);
}
