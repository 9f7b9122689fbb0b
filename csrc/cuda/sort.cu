/* Elements in order, by merging sorted runs of doubling length.
 *
 * Note [CUDA sorting]
 * Elements become keys: integers that sort as they do, NaN as the largest. All lines lie side by side, and
 * each element of a run looks by itself for its place among those of the neighbour:
 *
 *     line   [ run 0 | run 1 ][ run 2 | run 3 ]      place = place in its own run + elements of the other
 *                                                    run that come before it: equal ones of the left do */
#include "moves.h"
#include "sort.h"

/* operands: the lines, the input */
__global__ void __launch_bounds__(CUDA_THREADS)
    make_keys(cuda_walk w, cuda_keys to, int64_t n, const void *from, int dtype, bool is_float,
              bool descends) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_walk_seek(w, i, at);
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
    write_sorted(cuda_walk w, T *values, int64_t *indices, const int64_t *order, const T *from,
                 int64_t step) {
    CUDA_EACH(i, w) {
        int64_t at[4];
        cuda_walk_seek(w, i, at);
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
    cuda_walk w;
    s->dim = dim;
    s->n = dim < 0 ? all : x->ndim ? x->shape[dim] : 1;
    s->is_float = rl_is_float(x->dtype);
    int64_t step = dim < 0 ? 1 : s->n;
    for (int d = x->ndim - 1; d >= 0; d--) {
        s->step[d] = d == dim ? 1 : step;
        if (d != dim) step *= x->shape[d];
    }
    for (int d = 0; d < x->ndim; d++) cuda_dims_add(&dims, x->shape[d], s->step[d], x->strides[d]);
    if (!cuda_dims_walk(&w, &dims, 2)) return RL_UNSUPPORTED;
    if (cuda_keys_room(k, room, all) != RL_OK || rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((make_keys), cuda_walk_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, room[0], s->n,
                rl_const_data(x), (int)x->dtype, s->is_float, descends);
    s->sorted = cuda_keys_sort(k, room, all, s->n);
    return rl_cuda_end(k);
}

/* `keep` of each line from `first` on; values NULL: only the indices are asked for */
static rl_status write_lines(rl_call *k, const cuda_sorting *s, int64_t first, int64_t keep,
                             const rl_view *values, const rl_view *indices) {
    const rl_view *x = rl_in(k, 0);
    cuda_dims dims = cuda_dims_none();
    cuda_walk w;
    for (int d = 0, to = 0; d < x->ndim; d++) {
        const bool along = d == s->dim;
        if (along && indices->ndim < x->ndim) continue; /* a dim that is left out */
        cuda_dims_add(&dims, along ? keep : x->shape[d], values ? values->strides[to] : 0,
                      indices->strides[to], s->step[d], along ? 0 : x->strides[d]);
        to++;
    }
    if (!cuda_dims_walk(&w, &dims, 4)) return RL_UNSUPPORTED;
    switch (rl_itemsize(x->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((write_sorted<T>), cuda_walk_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w,             \
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
