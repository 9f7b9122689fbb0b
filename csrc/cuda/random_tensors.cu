/* Numbers that tensors say how to draw: means and deviations, weights of categories. Note [Device draws] */
#include "device.h"
#include "philox.h"

/* ---- normal ---- */
typedef struct {
    void *out;
    int dtype;
    cuda_operand<double> mean, deviation;
} normal_operands;

/* In the steps in which PyTorch makes these: a standard normal number, times the deviation, plus the mean,
 * each rounded to the dtype. A deviation that is a number comes into the first step. */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) normals(cuda_draws d, cuda_walk w, normal_operands p) {
    enum { EACH = 16 / sizeof(C) };
    cuda_draw<EACH>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        C z[EACH];
        cuda_normals(words, z);
        CUDA_ROLLED
        for (int j = 0; j < EACH && i < w.numel; j++, i += step) {
            int64_t at[3];
            cuda_walk_seek(w, i, at);
            const C x = cuda_rounded(p.dtype, z[0] * (C)cuda_read(p.deviation, at[2]));
            cuda_store<C>(p.dtype, p.out, at[0], x + (C)cuda_read(p.mean, at[1]));
            cuda_turn(z);
        }
    });
}

static cuda_operand<double> operand_of(const rl_call *k, int arg) {
    const rl_view *v = rl_in(k, arg);
    cuda_operand<double> number = {nullptr, RL_F64, v ? 0 : rl_num(k, arg)};
    return v ? cuda_operand_of<double>(v) : number;
}

CUDA_KERNEL(cuda_normal_tensors) { /* (mean, std), one of which may be a number */
    const rl_view *out = k->out[0], *views[3] = {out, out, out};
    const bool is_wide = out->dtype == RL_F64;
    cuda_draws d;
    cuda_walk w;
    for (int i = 0; i < 2; i++) {
        if (rl_in(k, i)) views[1 + i] = rl_in(k, i);
        if (!cuda_can_read(out, views[1 + i])) return RL_UNSUPPORTED;
    }
    if (!cuda_walk_make_along(&w, views, 3)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    const normal_operands p = {rl_data(out, RL_WRITE), out->dtype, operand_of(k, 0), operand_of(k, 1)};
    if (rl_cuda_begin(k, out) != RL_OK ||
        cuda_draws_take(k, &d, w.numel, is_wide ? CUDA_DOUBLES : CUDA_FLOATS, true) != RL_OK)
        return RL_FAIL;
    if (is_wide)
        CUDA_LAUNCH((normals<double>), cuda_draws_blocks(&d), CUDA_THREADS, (cudaStream_t)k->stream, d, w, p);
    else
        CUDA_LAUNCH((normals<float>), cuda_draws_blocks(&d), CUDA_THREADS, (cudaStream_t)k->stream, d, w, p);
    return rl_cuda_end(k);
}

/* ---- categories, each as often as it comes ---- */
typedef struct {
    const void *weights;
    int dtype;
    int64_t rows, n, picks, row_step, step;
} categories;

/* One block for each row: sums of its first weights. A part of the row for each thread, then the parts. */
__global__ void __launch_bounds__(CUDA_THREADS) weights_sum(categories c, double *sums, unsigned *fault) {
    CUDA_SHARED(double, parts, [CUDA_THREADS]);
    const int64_t part = (c.n + CUDA_THREADS - 1) / CUDA_THREADS, first = threadIdx.x * part;
    const int64_t end = first + part < c.n ? first + part : c.n;
    for (int64_t row = blockIdx.x; row < c.rows; row += gridDim.x) {
        double sum = 0;
        for (int64_t i = first; i < end; i++) {
            const double weight = cuda_load<double>(c.dtype, c.weights, row * c.row_step + i * c.step);
            if (!(weight >= 0) || !isfinite(weight)) cuda_fault(fault, CUDA_FAULT_VALUE);
            sums[row * c.n + i] = sum += weight;
        }
        parts[threadIdx.x] = sum;
        __syncthreads();
        double before = 0;
        for (int t = 0; t < (int)threadIdx.x; t++) before += parts[t];
        for (int64_t i = first; i < end; i++) sums[row * c.n + i] += before;
        __syncthreads();
    }
}

/* the first place whose sum is above u, of those with a weight of their own */
static __device__ int64_t place_of(const double *sums, int64_t n, double u) {
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sums[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

__global__ void __launch_bounds__(CUDA_THREADS)
    categories_pick(cuda_draws d, categories c, const double *sums, int64_t *out, unsigned *fault) {
    cuda_draw<CUDA_DOUBLES>(d, c.rows * c.picks, [&](const uint32_t *words, int64_t i, int64_t step) {
        double u[CUDA_DOUBLES];
        cuda_units(words, u);
        CUDA_UNROLL
        for (int j = 0; j < CUDA_DOUBLES; j++, i += step) {
            if (i >= c.rows * c.picks) break;
            const double *row = sums + i / c.picks * c.n, total = row[c.n - 1];
            if (!(total > 0)) cuda_fault(fault, CUDA_FAULT_VALUE);
            out[i] = place_of(row, c.n, (1 - u[j]) * total); /* of [0, 1): no weight of 0 is taken */
        }
    });
}

CUDA_KERNEL(cuda_multinomial) { /* (weights, num_samples); the categories are the last dim */
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const categories c = {rl_const_data(x),       x->dtype,     x->ndim == 2 ? x->shape[0] : 1,
                          x->shape[x->ndim - 1],  rl_int(k, 1), x->ndim == 2 ? x->strides[0] : 0,
                          x->strides[x->ndim - 1]};
    cudaStream_t stream = (cudaStream_t)k->stream;
    cuda_draws d;
    if (x->device == RL_CPU) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (c.n == 0)
        return rl_fail(k, RL_RUNTIME, "invalid multinomial distribution (sum of probabilities <= 0)");
    double *sums = (double *)k->svc->scratch(k, RL_COUNT(c.rows, c.n), sizeof *sums);
    if (!sums || rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    unsigned *fault = rl_cuda_fault(k);
    if (!fault || cuda_draws_take(k, &d, out->numel, CUDA_DOUBLES, true) != RL_OK) return RL_FAIL;
    const unsigned blocks = cuda_blocks_each(c.rows);
    CUDA_LAUNCH_BLOCKS(weights_sum, blocks, CUDA_THREADS, 0, stream, c, sums, fault);
    CUDA_LAUNCH(categories_pick, cuda_draws_blocks(&d), CUDA_THREADS, stream, d, c, sums,
                (int64_t *)rl_data(out, RL_WRITE), fault);
    return rl_cuda_end(k);
}
