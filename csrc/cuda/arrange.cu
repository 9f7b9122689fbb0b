/* Elements that move unchanged: joins, flips, repetitions, diagonals, pixels, triangles. */
#include "moves.h"

static const void *element_at(const void *p, int64_t i, int64_t item) {
    return (const char *)p + i * item;
}
static void *element_at(void *p, int64_t i, int64_t item) {
    return (char *)p + i * item;
}

/* out[0] takes argument 0, element by element of these dims */
static rl_status move_all(rl_call *k, cuda_dims *dims, int64_t first) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    return cuda_move_dims(k, dims, rl_data(out, RL_WRITE), out->dtype,
                          element_at(rl_const_data(x), first, rl_itemsize(x->dtype)), x->dtype);
}

CUDA_KERNEL(cuda_cat) {
    const rl_slot *list = &k->arg[0];
    const rl_view *out = k->out[0];
    const int64_t dim = k->attr[0], item = rl_itemsize(out->dtype);
    int64_t at = 0;
    for (int i = 0; i < list->n; i++) {
        const rl_view *v = list->u.ts[i];
        if (v->numel == 0) continue;

        cuda_dims dims = cuda_dims_none();
        for (int d = 0; d < v->ndim; d++) cuda_dims_add(&dims, v->shape[d], out->strides[d], v->strides[d]);
        void *to = element_at(rl_data(out, RL_WRITE), at * out->strides[dim], item);
        const rl_status status = cuda_move_dims(k, &dims, to, out->dtype, rl_const_data(v), v->dtype);
        if (status != RL_OK) return status;
        at += v->shape[dim];
    }
    return RL_OK;
}

CUDA_KERNEL(cuda_flip) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    cuda_dims dims = cuda_dims_none();
    int64_t first = 0;
    if (x->numel == 0) return RL_OK;
    for (int d = 0; d < x->ndim; d++) {
        const bool back = (uint64_t)k->attr[0] >> d & 1;
        if (back) first += (x->shape[d] - 1) * x->strides[d];
        cuda_dims_add(&dims, x->shape[d], out->strides[d], back ? -x->strides[d] : x->strides[d]);
    }
    return move_all(k, &dims, first);
}

/* a dim of the output is (times, size) of the input */
CUDA_KERNEL(cuda_repeat) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    cuda_dims dims = cuda_dims_none();
    if (out->numel == 0) return RL_OK;
    for (int d = 0; d < out->ndim; d++) {
        const int at = d - (out->ndim - x->ndim);
        const int64_t size = at < 0 ? 1 : x->shape[at];
        cuda_dims_add(&dims, out->shape[d] / size, out->strides[d] * size, 0);
        cuda_dims_add(&dims, size, out->strides[d], at < 0 ? 0 : x->strides[at]);
    }
    return move_all(k, &dims, 0);
}

/* ---- roll: a part of each dim moves on, the other comes in again, and all pairs of parts are boxes ---- */
static int64_t shift_within(int64_t shift, int64_t size) {
    const int64_t rest = shift % size;
    return rest < 0 ? rest + size : rest;
}

typedef struct {
    int ndim;
    int64_t size[RL_MAX_DIMS], step[2][RL_MAX_DIMS], shift[RL_MAX_DIMS];
} rolling;

/* box: bit d says whether dim d is the part that comes in again */
static rl_status roll_box(rl_call *k, const rolling *r, uint64_t box, void *to, const void *from) {
    const int dtype = k->out[0]->dtype;
    const int64_t item = rl_itemsize(dtype);
    cuda_dims dims = cuda_dims_none();
    for (int d = 0; d < r->ndim; d++) {
        const int64_t moved = r->size[d] - r->shift[d];
        const bool again = box >> d & 1;
        if (again)
            from = element_at(from, moved * r->step[1][d], item);
        else
            to = element_at(to, r->shift[d] * r->step[0][d], item);
        cuda_dims_add(&dims, again ? r->shift[d] : moved, r->step[0][d], r->step[1][d]);
    }
    return cuda_move_dims(k, &dims, to, dtype, from, dtype);
}

static rl_status roll_boxes(rl_call *k, const rolling *r, void *to, const void *from) {
    uint64_t rolled = 0;
    for (int d = 0; d < r->ndim; d++) rolled |= (uint64_t)(r->shift[d] != 0) << d;
    for (uint64_t box = rolled;; box = (box - 1) & rolled) {
        const rl_status status = roll_box(k, r, box, to, from);
        if (status != RL_OK || box == 0) return status;
    }
}

static rl_status roll_flat(rl_call *k, const rl_view *x, int64_t shift) {
    rolling r = {1, {x->numel}, {{1}, {1}}, {shift_within(shift, x->numel)}};
    const void *from = cuda_gapless(k, x);
    if (!from) return RL_FAIL;
    if (rl_is_contiguous(k->out[0])) return roll_boxes(k, &r, rl_data(k->out[0], RL_WRITE), from);
    return RL_UNSUPPORTED;
}

CUDA_KERNEL(cuda_roll) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const rl_ints shifts = rl_ints_of(k, 1), dims = rl_ints_of(k, 2);
    rolling r = {};
    if (x->numel == 0) return RL_OK;
    if (dims.n == 0) return roll_flat(k, x, shifts.at[0]);
    r.ndim = x->ndim;
    for (int d = 0; d < x->ndim; d++) {
        r.size[d] = x->shape[d];
        r.step[0][d] = out->strides[d], r.step[1][d] = x->strides[d];
    }
    for (int i = 0; i < dims.n; i++) {
        const int64_t d = dims.at[i] < 0 ? dims.at[i] + x->ndim : dims.at[i];
        r.shift[d] = shift_within(r.shift[d] + shift_within(shifts.at[i], r.size[d]), r.size[d]);
    }
    return roll_boxes(k, &r, rl_data(out, RL_WRITE), rl_const_data(x));
}

/* ---- diagonals ---- */
CUDA_KERNEL(cuda_diag) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const bool reads = x->ndim == 2; /* the diagonal, into a vector */
    const rl_view *matrix = reads ? x : out, *line = reads ? out : x;
    const int64_t offset = rl_int(k, 1), item = rl_itemsize(x->dtype);
    const uint64_t zero[2] = {0, 0};
    cuda_dims dims = cuda_dims_none();
    if (!reads) {
        const rl_status status = cuda_fill_view(k, out, zero);
        if (status != RL_OK) return status;
    }
    if (line->numel == 0) return RL_OK;
    const int64_t first = offset >= 0 ? offset * matrix->strides[1] : -offset * matrix->strides[0];
    const int64_t along = matrix->strides[0] + matrix->strides[1], step = line->strides[0];
    cuda_dims_add(&dims, line->numel, reads ? step : along, reads ? along : step);
    if (reads) return move_all(k, &dims, first);
    return cuda_move_dims(k, &dims, element_at(rl_data(out, RL_WRITE), first, item), x->dtype,
                          rl_const_data(x), x->dtype);
}

/* ---- pixels: the wide picture (..., C, H, r, W, r) and the deep one (..., C, r, r, H, W) ---- */
static void pixels_add(cuda_dims *dims, bool to_wide, int64_t size, int64_t wide, int64_t deep) {
    cuda_dims_add(dims, size, to_wide ? wide : deep, to_wide ? deep : wide);
}

static rl_status pixels(rl_call *k, const rl_view *wide, const rl_view *deep, bool to_wide) {
    const int64_t r = rl_int(k, 1);
    const int lead = wide->ndim - 2;
    cuda_dims dims = cuda_dims_none();
    if (wide->numel == 0) return RL_OK;
    for (int d = 0; d < lead; d++)
        pixels_add(&dims, to_wide, wide->shape[d], wide->strides[d],
                   deep->strides[d] * (d == lead - 1 ? r * r : 1));
    for (int i = 0; i < 2; i++) { /* height, then width */
        const int d = lead + i;
        pixels_add(&dims, to_wide, deep->shape[d], wide->strides[d] * r, deep->strides[d]);
        pixels_add(&dims, to_wide, r, wide->strides[d], deep->strides[lead - 1] * (i ? 1 : r));
    }
    return move_all(k, &dims, 0);
}
CUDA_KERNEL(cuda_pixel_shuffle) {
    return pixels(k, k->out[0], rl_in(k, 0), true);
}
CUDA_KERNEL(cuda_pixel_unshuffle) {
    return pixels(k, rl_in(k, 0), k->out[0], false);
}

/* the result's channels as (each of a group, group), the input's the other way round */
CUDA_KERNEL(cuda_channel_shuffle) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    cuda_dims dims = cuda_dims_none();
    if (x->numel == 0) return RL_OK;
    const int64_t groups = rl_int(k, 1), each = x->shape[1] / groups;
    for (int d = 0; d < x->ndim; d++) {
        if (d != 1) {
            cuda_dims_add(&dims, x->shape[d], out->strides[d], x->strides[d]);
            continue;
        }
        cuda_dims_add(&dims, each, out->strides[1] * groups, x->strides[1]);
        cuda_dims_add(&dims, groups, out->strides[1], x->strides[1] * each);
    }
    return move_all(k, &dims, 0);
}

/* ---- triangles ---- */
typedef struct {
    int64_t rows, columns, diagonal;
    bool lower;
} triangle;

template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) keep_triangle(cuda_walk w, triangle t, T *to, const T *from) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_walk_seek(w, i, at);
        const int64_t above = i % t.columns - i / t.columns % t.rows; /* the main diagonal */
        const bool kept = t.lower ? above <= t.diagonal : above >= t.diagonal;
        to[at[0]] = kept ? from[at[1]] : T();
    }
}

static rl_status keep(rl_call *k, bool lower) {
    const rl_view *views[2] = {k->out[0], rl_in(k, 0)}, *x = views[1];
    triangle t = {x->shape[x->ndim - 2], x->shape[x->ndim - 1], rl_int(k, 1), lower};
    cuda_walk w;
    if (x->numel == 0) return RL_OK;
    if (!cuda_walk_make(&w, views, 2)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    switch (rl_itemsize(x->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((keep_triangle<T>), cuda_walk_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, t,         \
                    (T *)rl_data(views[0], RL_WRITE), (const T *)rl_const_data(x));                          \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}
CUDA_KERNEL(cuda_tril) {
    return keep(k, true);
}
CUDA_KERNEL(cuda_triu) {
    return keep(k, false);
}
