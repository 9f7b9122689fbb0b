/* Elements in order, by merging sorted runs of doubling length.
 *
 * Note [CUDA sorting]
 * Elements become keys: integers that sort as they do, NaN as the largest. All lines lie side by side, and
 * each element of a run looks by itself for its place among those of the neighbour:
 *
 *     line   [ run 0 | run 1 ][ run 2 | run 3 ]      place = place in its own run + elements of the other
 *                                                    run that come before it: equal ones of the left do */
#include "block_reduce.cuh"
#include "copy.cuh"
#include "sort.cuh"

/* operands: the lines, the input */
__global__ void __launch_bounds__(CUDA_THREADS)
    make_keys(cuda_iter w, cuda_keys to, int64_t n, const void *from, int dtype, bool is_float,
              bool descends) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_iter_seek(w, i, at);
        const uint64_t key = cuda_key_load(dtype, is_float, from, at[1]);
        to.key[at[0]] = descends ? ~key : key;
        to.order[at[0]] = at[0] % n;
    }
}

__global__ void __launch_bounds__(CUDA_THREADS)
    merge_runs(int64_t all, int64_t n, int64_t run, cuda_keys from, cuda_keys to) {
    CUDA_EACH_OF(i, all) {
        const int64_t line = i / n * n, at = i - line, own = at & -run;
        const bool is_right = (at & run) != 0; /* run is a power of 2 */
        const int64_t left = is_right ? own - run : own, other = is_right ? left : own + run;
        const int64_t room = n - other, count = room < 0 ? 0 : room < run ? room : run;
        const uint64_t key = from.key[i];
        const int64_t place =
            line + left + (at - own) + cuda_keys_before(from.key + line + other, count, key, is_right);
        to.key[place] = key;
        to.order[place] = from.order[i];
    }
}

rl_status cuda_keys_room(rl_call *k, cuda_keys *room, int64_t n) {
    for (int i = 0; i < CUDA_KEY_ROOMS; i++) {
        room[i].key = (uint64_t *)k->svc->scratch(k, RL_COUNT(n), sizeof *room[i].key);
        room[i].order = (int64_t *)k->svc->scratch(k, RL_COUNT(n), sizeof *room[i].order);
        if (!room[i].key || !room[i].order) return RL_FAIL;
    }
    return RL_OK;
}

cuda_keys cuda_keys_sort(const rl_call *k, const cuda_keys *room, int64_t all, int64_t n) {
    int from = 0;
    for (int64_t run = 1; run < n; run *= 2, from = !from)
        CUDA_LAUNCH((merge_runs), cuda_blocks_of(all), CUDA_THREADS, cuda_stream_of(k), all, n, run,
                    room[from], room[!from]);
    return room[from];
}

/* operands: values, indices, the lines, the input at place 0 of each line */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    write_sorted(cuda_iter w, T *values, int64_t *indices, const int64_t *order, const T *from,
                 int64_t step) {
    CUDA_EACH(i, w) {
        int64_t at[4];
        cuda_iter_seek(w, i, at);
        const int64_t place = order[at[2]];
        if (values) values[at[0]] = from[at[3] + place * step];
        indices[at[1]] = place;
    }
}

rl_status cuda_sort_lines(rl_call *k, cuda_sorting *s, int64_t dim, bool descends) {
    const rl_view *x = rl_in(k, 0);
    const int64_t all = x->numel;
    cuda_dims dims = cuda_dims_none();
    cuda_keys room[CUDA_KEY_ROOMS];
    cuda_iter w;
    s->dim = dim;
    s->n = dim < 0 ? all : x->ndim ? x->shape[dim] : 1;
    s->is_float = rl_is_float(x->dtype);
    int64_t step = dim < 0 ? 1 : s->n;
    for (int d = x->ndim - 1; d >= 0; d--) {
        s->step[d] = d == dim ? 1 : step;
        if (d != dim) step *= x->shape[d];
    }
    for (int d = 0; d < x->ndim; d++) cuda_dims_add(&dims, x->shape[d], s->step[d], x->strides[d]);
    if (!cuda_dims_iter(&w, &dims, 2)) return RL_UNSUPPORTED;
    if (cuda_keys_room(k, room, all) != RL_OK || rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((make_keys), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, room[0], s->n,
                rl_const_data(x), (int)x->dtype, s->is_float, descends);
    s->sorted = cuda_keys_sort(k, room, all, s->n);
    return rl_cuda_end(k);
}

/* `keep` of each line from `first` on; values NULL: only the indices are asked for */
static rl_status write_lines(rl_call *k, const cuda_sorting *s, int64_t first, int64_t keep,
                             const rl_view *values, const rl_view *indices) {
    const rl_view *x = rl_in(k, 0);
    cuda_dims dims = cuda_dims_none();
    cuda_iter w;
    for (int d = 0, to = 0; d < x->ndim; d++) {
        const bool along = d == s->dim;
        if (along && indices->ndim < x->ndim) continue; /* a dim that is left out */
        cuda_dims_add(&dims, along ? keep : x->shape[d], values ? values->strides[to] : 0,
                      indices->strides[to], s->step[d], along ? 0 : x->strides[d]);
        to++;
    }
    if (!cuda_dims_iter(&w, &dims, 4)) return RL_UNSUPPORTED;
    switch (rl_itemsize(x->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((write_sorted<T>), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w,             \
                    values ? (T *)rl_data(values, RL_WRITE) : nullptr,                                       \
                    (int64_t *)rl_data(indices, RL_WRITE), s->sorted.order + first,                          \
                    (const T *)rl_const_data(x), x->ndim ? x->strides[s->dim] : 0);                          \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

static rl_status sort_and_write(rl_call *k, bool descends, int64_t first, int64_t keep, const rl_view *values,
                                const rl_view *indices) {
    cuda_sorting s;
    if (!cuda_same_place(rl_in(k, 0), k->out[0])) return RL_UNSUPPORTED;
    if (indices->numel == 0) return RL_OK;
    const rl_status status = cuda_sort_lines(k, &s, k->attr[0], descends);
    return status == RL_OK ? write_lines(k, &s, first, keep < 0 ? s.n : keep, values, indices) : status;
}

CUDA_KERNEL(cuda_sort) {
    return sort_and_write(k, k->attr[1] != 0, 0, -1, k->out[0], k->out[1]);
}
CUDA_KERNEL(cuda_argsort) {
    return sort_and_write(k, k->attr[1] != 0, 0, -1, nullptr, k->out[0]);
}
CUDA_KERNEL(cuda_topk) {
    return sort_and_write(k, k->attr[1] != 0, 0, rl_int(k, 1), k->out[0], k->out[1]);
}
CUDA_KERNEL(cuda_kthvalue) {
    return sort_and_write(k, false, k->attr[1] - 1, 1, k->out[0], k->out[1]);
}

/* ==== one element of each line, found by sorting it: medians, and the most frequent one ==== */
/* Where the lines of an input go; operands: values, indices, the lines, the input at place 0 of each */
typedef struct {
    cuda_iter lines;
    int64_t n, step; /* of a line; of the input along it, where it is no line of all elements */
    cuda_iter whole; /* else: all elements, row by row */
    bool is_float, is_whole, ignores_nan;
    const uint64_t *key;
    const int64_t *order;
    int64_t *indices; /* or NULL */
} picking;

template <class T>
static __device__ void put_pick(const picking &p, const int64_t (&at)[4], int64_t place, T *values,
                                const T *from) {
    const int64_t stood = p.order[at[2] + place];
    int64_t offset[1] = {at[3] + stood * p.step};
    if (p.is_whole) cuda_iter_seek(p.whole, stood, offset);
    values[at[0]] = from[offset[0]];
    if (p.indices) p.indices[at[1]] = stood;
}

/* the lower of the two in the middle; NaN are behind all numbers */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) pick_medians(picking p, T *values, const T *from) {
    CUDA_EACH(i, p.lines) {
        int64_t at[4];
        cuda_iter_seek(p.lines, i, at);
        const int64_t numbers = p.is_float ? cuda_keys_before(p.key + at[2], p.n, CUDA_KEY_LAST, false) : p.n;
        const bool is_number = numbers == p.n || (numbers && p.ignores_nan);
        put_pick(p, at, is_number ? (numbers - 1) / 2 : numbers, values, from);
    }
}

/* ---- the longest run, and of several the first ---- */
struct key_run {
    int64_t length, at; /* at: its last element */
};
struct longest_run {
    __device__ key_run operator()(const key_run &a, const key_run &b) const {
        return b.length > a.length || (b.length == a.length && b.at < a.at) ? b : a;
    }
};

/* a block for each line: a thread measures the runs that end at its elements */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) pick_modes(picking p, T *values, const T *from) {
    for (int64_t line = blockIdx.x; line < p.lines.numel; line += gridDim.x) {
        int64_t at[4];
        cuda_iter_seek(p.lines, line, at);
        const uint64_t *key = p.key + at[2];
        key_run best = {0, p.n};
        for (int64_t i = threadIdx.x; i < p.n; i += CUDA_THREADS) {
            const bool is_nan = p.is_float && key[i] == CUDA_KEY_LAST; /* each is another one */
            if (!is_nan && i + 1 < p.n && key[i + 1] == key[i]) continue;
            const int64_t first = is_nan ? i : cuda_keys_before(key, i, key[i], false);
            best = longest_run()(best, {i - first + 1, i});
        }
        best = cuda_block_join(best, longest_run());
        if (threadIdx.x == 0) put_pick(p, at, best.at, values, from);
    }
}

enum { MEDIANS, MODES };
static rl_status pick(rl_call *k, int what, int64_t dim, bool ignores_nan) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0], *indices = k->n_out > 1 ? k->out[1] : nullptr;
    const cudaStream_t stream = cuda_stream_of(k);
    cuda_dims dims = cuda_dims_none();
    cuda_sorting s;
    picking p = {};
    const rl_status status = cuda_sort_lines(k, &s, dim, false);
    if (status != RL_OK) return status;
    for (int d = 0, to = 0; dim >= 0 && d < x->ndim; d++) {
        const bool along = d == dim;
        if (along && out->ndim < x->ndim) continue; /* a dim that is left out */
        cuda_dims_add(&dims, along ? 1 : x->shape[d], out->strides[to], indices ? indices->strides[to] : 0,
                      s.step[d], x->strides[d]);
        to++;
    }
    if (!cuda_dims_iter(&p.lines, &dims, 4) || !cuda_iter_make(&p.whole, &x, 1)) return RL_UNSUPPORTED;
    p.n = s.n;
    p.step = x->ndim && dim >= 0 ? x->strides[dim] : 0;
    p.is_float = s.is_float;
    p.is_whole = dim < 0;
    p.ignores_nan = ignores_nan;
    p.key = s.sorted.key;
    p.order = s.sorted.order;
    p.indices = indices ? (int64_t *)rl_data(indices, RL_WRITE) : nullptr;
    const unsigned lines = cuda_blocks_each(p.lines.numel);
    switch (rl_itemsize(x->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        if (what == MEDIANS)                                                                                 \
            CUDA_LAUNCH((pick_medians<T>), cuda_iter_blocks(&p.lines), CUDA_THREADS, stream, p,              \
                        (T *)rl_data(out, RL_WRITE), (const T *)rl_const_data(x));                           \
        else                                                                                                 \
            CUDA_LAUNCH_BLOCKS((pick_modes<T>), lines, CUDA_THREADS, 0, stream, p,                           \
                               (T *)rl_data(out, RL_WRITE), (const T *)rl_const_data(x));                    \
        break;
        CUDA_SIZES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

/* of no elements: NaN, as integers have it that are made of one */
static rl_status median_of_none(rl_call *k) {
    const rl_view *out = k->out[0];
    const uint64_t least = out->dtype == RL_I64   ? UINT64_C(1) << 63
                           : out->dtype == RL_I32 ? UINT64_C(1) << 31
                                                  : 0;
    const uint64_t bits = rl_is_float(out->dtype) ? cuda_number_bits(out->dtype, __builtin_nan("")) : least;
    const uint64_t element[2] = {bits, 0};
    return cuda_fill_view(k, out, element);
}

static rl_status median(rl_call *k, bool ignores_nan) {
    const bool is_whole = k->n_out == 1;
    if (!cuda_same_place(rl_in(k, 0), k->out[0])) return RL_UNSUPPORTED;
    if (is_whole && rl_in(k, 0)->numel == 0) return median_of_none(k);
    if (k->out[0]->numel == 0) return RL_OK;
    return pick(k, MEDIANS, is_whole ? -1 : k->attr[0], ignores_nan);
}
CUDA_KERNEL(cuda_median) {
    return median(k, false);
}
CUDA_KERNEL(cuda_nanmedian) {
    return median(k, true);
}
CUDA_KERNEL(cuda_mode) {
    if (!cuda_same_place(rl_in(k, 0), k->out[0])) return RL_UNSUPPORTED;
    return k->out[0]->numel == 0 ? RL_OK : pick(k, MODES, k->attr[0], false);
}

/* ==== binary search in sorted lines, a thread for each value ==== */
typedef struct {
    cuda_iter iter; /* operands: the result, values, the line that belongs to them */
    int64_t n, step;
    bool right, members, invert;
    int dtype;
    const void *lines;
} search;

/* The first place whose element is not before the value, by PyTorch's steps: of lines that are out of order,
 * or have NaN, these decide. */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) search_lines(search s, cuda_operand<C> values, void *to) {
    CUDA_EACH(i, s.iter) {
        int64_t at[3], low = 0, end = s.n;
        cuda_iter_seek(s.iter, i, at);
        const C value = cuda_read(values, at[1]);
        while (low < end) {
            const int64_t middle = low + (end - low) / 2;
            const C x = cuda_load<C>(s.dtype, s.lines, at[2] + middle * s.step);
            const bool is_before = s.members ? x < value : s.right ? !(x > value) : !(x >= value);
            low = is_before ? middle + 1 : low;
            end = is_before ? end : middle;
        }
        if (!s.members)
            ((int64_t *)to)[at[0]] = low;
        else
            ((uint8_t *)to)[at[0]] =
                (low < s.n && cuda_load<C>(s.dtype, s.lines, at[2] + low * s.step) == value) != s.invert;
    }
}

template <class C> static void launch(const rl_call *k, const search &s) {
    CUDA_LAUNCH((search_lines<C>), cuda_iter_blocks(&s.iter), CUDA_THREADS, cuda_stream_of(k), s,
                cuda_operand_of<C>(rl_in(k, 0)), rl_data(k->out[0], RL_WRITE));
}

/* arguments: values, sorted lines; the last dimension is searched in */
static rl_status run(rl_call *k, search *s) {
    const rl_view *x = rl_in(k, 0), *lines = rl_in(k, 1), *out = k->out[0];
    const int last = lines->ndim - 1;
    cuda_dims dims = cuda_dims_none();
    if (!cuda_same_place(lines, out) || !cuda_can_read(out, x)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    for (int d = 0; d < out->ndim; d++)
        cuda_dims_add(&dims, out->shape[d], out->strides[d], x->strides[d],
                      last && d < last ? lines->strides[d] : 0);
    if (!cuda_dims_iter(&s->iter, &dims, 3)) return RL_UNSUPPORTED;
    s->n = lines->shape[last];
    s->step = lines->strides[last];
    s->dtype = lines->dtype;
    s->lines = rl_const_data(lines);
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    if (!rl_is_float(x->dtype))
        launch<int64_t>(k, *s);
    else if (x->dtype == RL_F64)
        launch<double>(k, *s);
    else
        launch<float>(k, *s);
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_search_places) {
    search s = {};
    s.right = k->attr[0] != 0;
    return run(k, &s);
}
CUDA_KERNEL(cuda_search_members) {
    search s = {};
    s.members = true;
    s.invert = k->attr[0] != 0;
    return run(k, &s);
}
