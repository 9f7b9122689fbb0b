/* embedding_bag: reduces rows of a table by bags, which begin at offsets of a list of row numbers. Offsets
 * that do not ascend, and rows that are none, are faults of the launch. */
#include "block_reduce.cuh"
#include "copy.cuh"
#include "cuda/index/ordered_sum.cuh"
#include "planes.cuh"

enum { BAG_SUM, BAG_MEAN, BAG_MAX };
typedef struct {
    const void *at;
    int64_t step;
    int dtype;
} whole_list;
typedef struct {
    whole_list index, offsets;
    int64_t n, n_offsets, bags, rows, width, skip; /* skip: a row that is in no bag, or -1 */
    double by_width;                               /* inverse: Note [Quotients] */
    int mode;
    unsigned *fault;
} bag_lists;

static __device__ int64_t number_at(const whole_list &l, int64_t i) {
    return cuda_load<int64_t>(l.dtype, l.at, i * l.step);
}
static __device__ void bag_range(const bag_lists &b, int64_t bag, int64_t *begin, int64_t *end) {
    *begin = number_at(b.offsets, bag);
    *end = bag + 1 < b.n_offsets ? number_at(b.offsets, bag + 1) : b.n;
    if ((bag || *begin == 0) && *begin >= 0 && *end >= *begin && *end <= b.n) return;
    cuda_fault(b.fault, CUDA_FAULT_VALUE);
    *begin = *end = 0;
}
/* the bag of element i, -1: it stands behind the last one */
static __device__ int64_t bag_at(const bag_lists &b, int64_t i) {
    int64_t low = 0, high = b.bags;
    if (b.n_offsets > b.bags && i >= number_at(b.offsets, b.bags)) return -1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (number_at(b.offsets, middle) <= i)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}
static __device__ bool row_at(const bag_lists &b, int64_t i, int64_t *row) {
    *row = number_at(b.index, i);
    if (*row == b.skip && b.skip >= 0) return false;
    if (*row >= 0 && *row < b.rows) return true;
    cuda_fault(b.fault, CUDA_FAULT_INDEX);
    return false;
}
static __device__ void number_put(int dtype, void *list, int64_t i, int64_t number) {
    if (dtype == RL_I32)
        ((int32_t *)list)[i] = (int32_t)number;
    else
        ((int64_t *)list)[i] = number;
}

static whole_list list_of(const rl_view *v) {
    return {rl_const_data(v), v->strides[0], v->dtype};
}
/* arguments `index` and the next, offsets; after rl_cuda_begin */
static rl_status lists_read(rl_call *k, bag_lists *b, int index, const rl_view *table, int64_t bags, int mode,
                            int skip) {
    const rl_view *list = rl_in(k, index), *offsets = rl_in(k, index + 1);
    *b = {};
    b->index = list_of(list);
    b->offsets = list_of(offsets);
    b->n = list->numel;
    b->n_offsets = offsets->numel;
    b->bags = bags;
    b->rows = table->shape[0];
    b->width = table->shape[1];
    b->by_width = cuda_inverse(b->width);
    b->mode = mode;
    b->skip = rl_int(k, skip);
    b->fault = rl_cuda_fault(k);
    return b->fault ? RL_OK : RL_FAIL;
}

/* ---- bags joined ---- */
/* how many rows each has; twice, where there are no largest ones */
__global__ void __launch_bounds__(CUDA_THREADS)
    measure_bags(bag_lists b, int dtype, void *sizes, void *more_sizes) {
    CUDA_EACH_OF(bag, b.bags) {
        int64_t begin, end, size = 0;
        bag_range(b, bag, &begin, &end);
        for (int64_t i = begin; i < end; i++) size += b.skip < 0 || number_at(b.index, i) != b.skip;
        if (b.mode == BAG_SUM) size = 0;
        number_put(dtype, sizes, bag, size);
        if (more_sizes) number_put(dtype, more_sizes, bag, size);
    }
}
__global__ void __launch_bounds__(CUDA_THREADS) number_bags(bag_lists b, int dtype, void *to) {
    CUDA_EACH_OF(i, b.n) number_put(dtype, to, i, bag_at(b, i));
}

/* a thread for each column of a bag. */
template <class T> struct bag_table {
    const T *at, *weights; /* weights: of the elements of the list, or NULL */
    int64_t row_step, step, weight_step;
};
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS) sum_bags(bag_lists b, int64_t work, bag_table<T> t, T *to) {
    CUDA_EACH_OF(e, work) {
        const int64_t bag = cuda_quotient(e, b.width, b.by_width), column = e - bag * b.width;
        int64_t begin, end, row, count = 0;
        C sum = 0;
        bag_range(b, bag, &begin, &end);
        for (int64_t i = begin; i < end; i++) {
            if (!row_at(b, i, &row)) continue;
            const C x = cuda_cast<C>(t.at[row * t.row_step + column * t.step]);
            sum += t.weights ? x * cuda_cast<C>(t.weights[i * t.weight_step]) : x;
            count++;
        }
        if (b.mode == BAG_MEAN && count) sum /= (C)count;
        to[e] = cuda_cast<T>(sum);
    }
}
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    find_largest(bag_lists b, int64_t work, bag_table<T> t, T *to, int integer_dtype, void *largest) {
    CUDA_EACH_OF(e, work) {
        const int64_t bag = cuda_quotient(e, b.width, b.by_width), column = e - bag * b.width;
        int64_t begin, end, row, at = -1;
        C most = 0;
        bag_range(b, bag, &begin, &end);
        for (int64_t i = begin; i < end; i++) {
            if (!row_at(b, i, &row)) continue;
            const C x = cuda_cast<C>(t.at[row * t.row_step + column * t.step]);
            if (at >= 0 && !(x > most)) continue;
            most = x;
            at = row;
        }
        to[e] = cuda_cast<T>(most);
        number_put(integer_dtype, largest, e, at < 0 ? 0 : at);
    }
}

template <class T, class C>
static void join_bags(const rl_call *k, const bag_lists &b, int integer_dtype, void *largest) {
    const rl_view *table = rl_in(k, 0), *weights = rl_in(k, 6), *out = k->out[0];
    const unsigned blocks = cuda_blocks_of(out->numel);
    const cudaStream_t s = cuda_stream_of(k);
    T *to = (T *)rl_data(out, RL_WRITE);
    const bag_table<T> t = {(const T *)rl_const_data(table),
                            weights ? (const T *)rl_const_data(weights) : nullptr, table->strides[0],
                            table->strides[1], weights ? weights->strides[0] : 0};
    if (b.mode == BAG_MAX)
        CUDA_LAUNCH((find_largest<T, C>), blocks, CUDA_THREADS, s, b, out->numel, t, to, integer_dtype,
                    largest);
    else
        CUDA_LAUNCH((sum_bags<T, C>), blocks, CUDA_THREADS, s, b, out->numel, t, to);
}

/* (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last, padding) */
CUDA_KERNEL(cuda_embedding_bag) {
    const rl_view *table = rl_in(k, 0), *out = k->out[0];
    const int64_t bags = out->shape[0];
    const cudaStream_t s = cuda_stream_of(k);
    const int whole = k->out[1]->dtype;
    void *largest = rl_data(k->out[3], RL_WRITE);
    bag_lists b;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK || lists_read(k, &b, 1, table, bags, (int)rl_int(k, 4), 8) != RL_OK)
        return RL_FAIL;
    if (bags)
        CUDA_LAUNCH((measure_bags), cuda_blocks_of(bags), CUDA_THREADS, s, b, whole,
                    rl_data(k->out[2], RL_WRITE), b.mode == BAG_MAX ? nullptr : largest);
    if (b.n)
        CUDA_LAUNCH((number_bags), cuda_blocks_of(b.n), CUDA_THREADS, s, b, whole,
                    rl_data(k->out[1], RL_WRITE));
    if (out->numel == 0) return rl_cuda_end(k);
    switch (table->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag: join_bags<T, C>(k, b, whole, largest); break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

/* ---- the gradient by the table: Note [CUDA sums in order] ---- */
/* the row of each element of the list, its bag, and what the bag's gradient is times there */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    name_bags(bag_lists b, cuda_keys to, int64_t *bag_of, C *scale, int weights_dtype, const void *weights,
              int64_t weight_step, const int64_t *sizes) {
    CUDA_EACH_OF(i, b.n) {
        const int64_t bag = bag_at(b, i);
        int64_t row;
        const bool known = bag >= 0 && row_at(b, i, &row);
        const C own = weights ? cuda_load<C>(weights_dtype, weights, i * weight_step) : (C)1;
        to.key[i] = known ? (uint64_t)row : CUDA_NO_TARGET;
        to.order[i] = i;
        bag_of[i] = bag;
        scale[i] = b.mode == BAG_MEAN && known && sizes[bag] ? own / (C)sizes[bag] : own;
    }
}
/* ... divided by how often the row comes */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) scale_by_count(cuda_keys s, int64_t n, C *scale) {
    CUDA_EACH_OF(p, n) {
        const int64_t first = cuda_keys_before(s.key, p, s.key[p], false);
        const int64_t more = cuda_keys_before(s.key + p, n - p, s.key[p], true);
        scale[s.order[p]] /= (C)(p - first + more);
    }
}
/* of maxima: the element of the table that was the largest of a bag's column */
__global__ void __launch_bounds__(CUDA_THREADS)
    name_largest(bag_lists b, int64_t work, whole_list sizes, whole_list largest, int64_t largest_step,
                 cuda_keys to) {
    CUDA_EACH_OF(e, work) {
        const int64_t bag = cuda_quotient(e, b.width, b.by_width), column = e - bag * b.width;
        const int64_t row =
            cuda_load<int64_t>(largest.dtype, largest.at, bag * largest.step + column * largest_step);
        const bool is_empty = number_at(sizes, bag) == 0, known = row >= 0 && row < b.rows;
        if (!is_empty && !known) cuda_fault(b.fault, CUDA_FAULT_INDEX);
        to.key[e] = known && !is_empty ? (uint64_t)(row * b.width + column) : CUDA_NO_TARGET;
        to.order[e] = e;
    }
}

template <class T, class C> struct bag_gradients {
    typedef C value_type;
    typedef int64_t column;
    const T *grad;
    int64_t bag_step, step, width;
    const int64_t *bag_of; /* NULL: of maxima, where a target is an element */
    const C *scale;
    T *to;
    __device__ column find(int64_t e) const { return e; }
    __device__ C value(int64_t i, column c) const {
        if (!bag_of) return cuda_cast<C>(grad[i / width * bag_step + i % width * step]);
        return scale[i] * cuda_cast<C>(grad[bag_of[i] * bag_step + c * step]);
    }
    __device__ C join(C a, C b) const { return a + b; }
    __device__ void put(uint64_t target, column c, C sum) const {
        to[bag_of ? (int64_t)target * width + c : (int64_t)target] = cuda_cast<T>(sum);
    }
};

template <class T, class C> static rl_status add_largest(rl_call *k, const bag_lists &b) {
    const rl_view *grad = rl_in(k, 0), *largest = rl_in(k, 5);
    const int64_t work = grad->numel;
    cuda_keys room[CUDA_KEY_ROOMS], sorted;
    if (cuda_keys_room(k, room, work) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((name_largest), cuda_blocks_of(work), CUDA_THREADS, cuda_stream_of(k), b, work,
                list_of(rl_in(k, 4)), list_of(largest), largest->strides[1], room[0]);
    if (cuda_order_sort(k, room, work, &sorted) != RL_OK) return RL_FAIL;
    const bag_gradients<T, C> f = {
        (const T *)rl_const_data(grad),   grad->strides[0], grad->strides[1], b.width, nullptr, nullptr,
        (T *)rl_data(k->out[0], RL_WRITE)};
    return cuda_order_join(k, f, sorted, work, 1);
}

template <class T, class C> static rl_status add_rows(rl_call *k, const bag_lists &b) {
    const rl_view *grad = rl_in(k, 0), *weights = rl_in(k, 10);
    const cudaStream_t s = cuda_stream_of(k);
    int64_t *bag_of = (int64_t *)k->svc->scratch(k, RL_COUNT(b.n), sizeof *bag_of);
    int64_t *sizes = (int64_t *)k->svc->scratch(k, RL_COUNT(b.bags), sizeof *sizes);
    C *scale = (C *)k->svc->scratch(k, RL_COUNT(b.n), sizeof *scale);
    cuda_keys room[CUDA_KEY_ROOMS], sorted;
    if (!bag_of || !sizes || !scale || cuda_keys_room(k, room, b.n) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((measure_bags), cuda_blocks_of(b.bags), CUDA_THREADS, s, b, (int)RL_I64, (void *)sizes,
                (void *)nullptr);
    CUDA_LAUNCH((name_bags<C>), cuda_blocks_of(b.n), CUDA_THREADS, s, b, room[0], bag_of, scale,
                weights ? weights->dtype : 0, weights ? rl_const_data(weights) : nullptr,
                weights ? weights->strides[0] : 0, (const int64_t *)sizes);
    if (cuda_order_sort(k, room, b.n, &sorted) != RL_OK) return RL_FAIL;
    if (rl_int(k, 7))
        CUDA_LAUNCH((scale_by_count<C>), cuda_blocks_of(b.n), CUDA_THREADS, s, sorted, b.n, scale);
    const bag_gradients<T, C> f = {
        (const T *)rl_const_data(grad),   grad->strides[0], grad->strides[1], b.width, bag_of, scale,
        (T *)rl_data(k->out[0], RL_WRITE)};
    return cuda_order_join(k, f, sorted, b.n, b.width);
}

/* (grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
 * sparse, per_sample_weights, padding_idx) */
CUDA_KERNEL(cuda_embedding_bag_back) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    const uint64_t zero[2] = {0, 0};
    bag_lists b;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (cuda_fill_view(k, out, zero) != RL_OK) return RL_FAIL;
    if (out->numel == 0 || grad->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK ||
        lists_read(k, &b, 1, out, grad->shape[0], (int)rl_int(k, 8), 11) != RL_OK)
        return RL_FAIL;
    if (b.mode != BAG_MAX && b.n == 0) return RL_OK;
    switch (grad->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag: return b.mode == BAG_MAX ? add_largest<T, C>(k, b) : add_rows<T, C>(k, b);
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
}

/* ---- the gradient by the weights of the indices: a warp for each product of rows ---- */
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    dot_rows(bag_lists b, const T *grad, int64_t bag_step, int64_t step, const T *table, int64_t row_step,
             int64_t table_step, T *to) {
    const int lane = threadIdx.x % CUDA_WARP, warps = CUDA_THREADS / CUDA_WARP;
    for (int64_t i = blockIdx.x * (int64_t)warps + threadIdx.x / CUDA_WARP; i < b.n;
         i += (int64_t)gridDim.x * warps) {
        const int64_t bag = bag_at(b, i);
        int64_t row;
        C sum = 0;
        if (bag >= 0 && row_at(b, i, &row))
            for (int64_t c = lane; c < b.width; c += CUDA_WARP)
                sum += cuda_cast<C>(grad[bag * bag_step + c * step]) *
                       cuda_cast<C>(table[row * row_step + c * table_step]);
        sum = cuda_warp_join(sum, cuda_sum());
        if (lane == 0) to[i] = cuda_cast<T>(sum);
    }
}

/* (grad, weight, indices, offsets, offset2bag, mode, padding_idx) */
CUDA_KERNEL(cuda_embedding_bag_weights_back) {
    const rl_view *grad = rl_in(k, 0), *table = rl_in(k, 1), *out = k->out[0];
    const unsigned blocks = cuda_blocks_of(out->numel * CUDA_WARP);
    bag_lists b;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK || lists_read(k, &b, 2, table, grad->shape[0], BAG_SUM, 6) != RL_OK)
        return RL_FAIL;
    switch (grad->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH_BLOCKS((dot_rows<T, C>), blocks, CUDA_THREADS, 0, cuda_stream_of(k), b,                  \
                           (const T *)rl_const_data(grad), grad->strides[0], grad->strides[1],               \
                           (const T *)rl_const_data(table), table->strides[0], table->strides[1],            \
                           (T *)rl_data(out, RL_WRITE));                                                     \
        break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
