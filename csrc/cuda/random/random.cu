/* Random numbers: fills and factories, integers and permutations, and those that tensors say how to draw.
 * Note [Device draws] */
#include "cuda/device.h"
#include "philox.cuh"
#include "kernels/shared/random_range.h"

/* ==== numbers that need no tensors to say which ==== */
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
    random_floats(cuda_draws d, cuda_iter w, void *out, int dtype, fill_numbers<C> f) {
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
            cuda_iter_seek(w, i, at);
            cuda_store<C>(dtype, out, at[0], number_of(u[0], f, dtype));
            cuda_turn(u);
        }
    });
}

template <class C>
static rl_status launch_floats(rl_call *k, const cuda_iter &w, const fill_numbers<double> &f) {
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
    cuda_iter w;
    if (!cuda_iter_make_along(&w, &out, 1)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (kind == UNIFORM) {
        f.first = rl_rounded(out->dtype, first);
        f.limit = rl_rounded(out->dtype, second);
        f.second = rl_rounded(out->dtype, f.limit - f.first);
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
    bernoulli_each(cuda_draws d, cuda_iter w, void *out, int dtype, const void *chances, int of,
                   unsigned *fault) {
    cuda_draw<CUDA_FLOATS>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        float u[CUDA_FLOATS];
        cuda_units(words, u);
        CUDA_ROLLED
        for (int j = 0; j < CUDA_FLOATS && i < w.numel; j++, i += step) {
            int64_t at[2];
            cuda_iter_seek(w, i, at);
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
    cuda_iter w;
    if (p->device == RL_CPU || !cuda_iter_make(&w, views, 2)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    unsigned *fault = rl_cuda_fault(k);
    if (!fault || cuda_draws_take_each(k, &d, (w.numel + 3) / 4, 3) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(bernoulli_each, cuda_draws_blocks(&d), CUDA_THREADS, (cudaStream_t)k->stream, d, w,
                rl_data(out, RL_WRITE), out->dtype, rl_const_data(p), p->dtype, fault);
    return rl_cuda_end(k);
}

/* ==== integers and permutations ==== */
/* word j of a draw, or the j-th pair of them, in the range */
static __device__ uint64_t below(const uint32_t *words, int j, const rl_random_range &r) {
    if (!r.is_wide) return r.range ? words[j] % (uint32_t)r.range : words[j];
    const uint64_t wide = (uint64_t)words[2 * j] << 32 | words[2 * j + 1];
    return r.range ? wide % r.range : wide;
}

template <int each>
__global__ void __launch_bounds__(CUDA_THREADS)
    random_integers(cuda_draws d, cuda_iter w, void *out, int dtype, rl_random_range r) {
    cuda_draw<each>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        CUDA_UNROLL
        for (int j = 0; j < each; j++, i += step) {
            int64_t at[1];
            if (i >= w.numel) break;
            cuda_iter_seek(w, i, at);
            cuda_store<int64_t>(dtype, out, at[0], (int64_t)(below(words, j, r) + (uint64_t)r.from));
        }
    });
}

template <int each>
static rl_status launch_integers(rl_call *k, const cuda_iter &w, const rl_random_range &r) {
    const rl_view *out = k->out[0];
    cuda_draws d;
    if (cuda_draws_take(k, &d, w.numel, each, true) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((random_integers<each>), cuda_draws_blocks(&d), CUDA_THREADS, (cudaStream_t)k->stream, d, w,
                rl_data(out, RL_WRITE), out->dtype, r);
    return rl_cuda_end(k);
}

static rl_status fill_integers(rl_call *k, const rl_random_range &r) {
    const rl_view *out = k->out[0];
    cuda_iter w;
    if (!cuda_iter_make_along(&w, &out, 1)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    return r.is_wide ? launch_integers<CUDA_DOUBLES>(k, w, r) : launch_integers<CUDA_FLOATS>(k, w, r);
}

CUDA_KERNEL(cuda_randint) {
    rl_random_range r;
    return rl_random_between(k, false, &r) == RL_OK ? fill_integers(k, r) : RL_FAIL;
}
CUDA_KERNEL(cuda_randint_like_tensor) { /* (input, high), which lies on the CPU */
    rl_random_range r;
    int64_t high;
    cuda_number_get(k->arg[1].u.t, &high);
    return rl_random_below(k, high, &r) == RL_OK ? fill_integers(k, r) : RL_FAIL;
}
CUDA_KERNEL(cuda_random) {
    rl_random_range r;
    return rl_random_of_dtype(k, &r) == RL_OK ? fill_integers(k, r) : RL_FAIL;
}

/* ---- permutations ----
 * Element i is what a Feistel network of random keys makes of i, over as many bits as n needs; what falls
 * outside goes through again, until it comes back inside (T. Mitchell et al., 2021). A few elements are
 * shuffled by one thread instead, so that all orders of them are equally likely. */
enum { FEW = 512, ROUNDS = 24 };

__global__ void __launch_bounds__(1) shuffle_few(cuda_draws d, int64_t n, void *out, int dtype) {
    const uint64_t seed = d.words->seed, counter = cuda_draws_counter(d);
    CUDA_SHARED(uint16_t, order, [FEW]); /* local memory would be that of every thread there can be */
    for (int i = 0; i < n; i++) order[i] = (uint16_t)i;
    for (int i = 0; i + 1 < n; i++) {
        uint32_t words[4];
        cuda_philox(seed, counter, (uint64_t)i, words);
        const uint64_t word = (uint64_t)words[0] << 32 | words[1];
        const int pick = i + (int)(word % (uint64_t)(n - i));
        const uint16_t taken = order[pick];
        order[pick] = order[i];
        cuda_store<int64_t>(dtype, out, i, taken);
    }
    cuda_store<int64_t>(dtype, out, n - 1, order[n - 1]);
}

typedef struct {
    int high, low; /* bits of the two halves; they take turns */
} network;

static __device__ uint32_t scramble(uint32_t x, uint32_t key) {
    const uint64_t product = (uint64_t)0xd2511f53u * (x ^ key);
    const uint32_t y = (uint32_t)(product >> 32) ^ (uint32_t)product ^ key;
    return (y ^ y >> 15) * 0x9e3779b1u;
}

static __device__ uint64_t through(const network &f, const uint32_t *keys, uint64_t x) {
    uint32_t high = (uint32_t)(x >> f.low), low = (uint32_t)(x & (((uint64_t)1 << f.low) - 1));
    CUDA_ROLLED
    for (int round = 0; round < ROUNDS; round += 2) {
        high ^= scramble(low, keys[round]) >> (32 - f.high);
        low ^= scramble(high, keys[round + 1]) >> (32 - f.low);
    }
    return (uint64_t)high << f.low | low;
}

/* the keys of each block, by its first threads */
__global__ void __launch_bounds__(CUDA_THREADS)
    shuffle_many(cuda_draws d, network f, int64_t n, void *out, int dtype) {
    CUDA_SHARED(uint32_t, keys, [ROUNDS]);
    if (threadIdx.x < ROUNDS / 4) {
        uint32_t words[4];
        cuda_philox(d.words->seed, cuda_draws_counter(d), threadIdx.x * 4, words);
        for (int j = 0; j < 4; j++) keys[threadIdx.x * 4 + j] = words[j];
    }
    __syncthreads();
    CUDA_EACH_OF(i, n) {
        uint64_t x = (uint64_t)i;
        do x = through(f, keys, x);
        while (x >= (uint64_t)n);
        cuda_store<int64_t>(dtype, out, i, (int64_t)x);
    }
}

static network network_of(int64_t n) {
    const int bits = 64 - __builtin_clzll((uint64_t)n - 1);
    return {bits - bits / 2, bits / 2};
}

CUDA_KERNEL(cuda_randperm) {
    const rl_view *out = k->out[0];
    const int64_t n = out->numel;
    cuda_draws d;
    if (rl_random_holds(k, out->dtype, n) != RL_OK) return RL_FAIL;
    if (n == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK || cuda_draws_take_each(k, &d, n, 3) != RL_OK) return RL_FAIL;
    void *to = rl_data(out, RL_WRITE);
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (n <= FEW)
        CUDA_LAUNCH_BLOCKS(shuffle_few, 1, 1, 0, stream, d, n, to, out->dtype);
    else
        CUDA_LAUNCH_BLOCKS(shuffle_many, cuda_blocks_of(n), CUDA_THREADS, 0, stream, d, network_of(n), n, to,
                           out->dtype);
    return rl_cuda_end(k);
}

/* ==== numbers that tensors say how to draw: means and deviations, weights of categories ==== */
/* ---- normal ---- */
typedef struct {
    void *out;
    int dtype;
    cuda_operand<double> mean, deviation;
} normal_operands;

/* In the steps in which PyTorch makes these: a standard normal number, times the deviation, plus the mean,
 * each rounded to the dtype. A deviation that is a number comes into the first step. */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) normals(cuda_draws d, cuda_iter w, normal_operands p) {
    enum { EACH = 16 / sizeof(C) };
    cuda_draw<EACH>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        C z[EACH];
        cuda_normals(words, z);
        CUDA_ROLLED
        for (int j = 0; j < EACH && i < w.numel; j++, i += step) {
            int64_t at[3];
            cuda_iter_seek(w, i, at);
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
    cuda_iter w;
    for (int i = 0; i < 2; i++) {
        if (rl_in(k, i)) views[1 + i] = rl_in(k, i);
        if (!cuda_can_read(out, views[1 + i])) return RL_UNSUPPORTED;
    }
    if (!cuda_iter_make_along(&w, views, 3)) return RL_UNSUPPORTED;
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
