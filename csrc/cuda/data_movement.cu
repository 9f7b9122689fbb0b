/* Elements that move unchanged: joins, flips, repetitions, diagonals, pixels, triangles, padding. */
#include "copy.cuh"

static const void *element_at(const void *p, int64_t i, int64_t item) {
    return (const char *)p + i * item;
}
static void *element_at(void *p, int64_t i, int64_t item) {
    return (char *)p + i * item;
}

/* out[0] takes argument 0, element by element of these dims */
static rl_status move_all(rl_call *k, cuda_dims *dims, int64_t first) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    return cuda_cast_copy_dims(k, dims, rl_data(out, RL_WRITE), out->dtype,
                               element_at(rl_const_data(x), first, rl_itemsize(x->dtype)), x->dtype);
}

CUDA_KERNEL(cuda_cat) {
    const rl_value *list = &k->arg[0];
    const rl_view *out = k->out[0];
    const int64_t dim = k->attr[0], item = rl_itemsize(out->dtype);
    int64_t at = 0;
    for (int i = 0; i < list->n; i++) {
        const rl_view *v = list->u.ts[i];
        if (v->numel == 0) continue;

        cuda_dims dims = cuda_dims_none();
        for (int d = 0; d < v->ndim; d++) cuda_dims_add(&dims, v->shape[d], out->strides[d], v->strides[d]);
        void *to = element_at(rl_data(out, RL_WRITE), at * out->strides[dim], item);
        const rl_status status = cuda_cast_copy_dims(k, &dims, to, out->dtype, rl_const_data(v), v->dtype);
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
    return cuda_cast_copy_dims(k, &dims, to, dtype, from, dtype);
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
    return cuda_cast_copy_dims(k, &dims, element_at(rl_data(out, RL_WRITE), first, item), x->dtype,
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
__global__ void __launch_bounds__(CUDA_THREADS) keep_triangle(cuda_iter w, triangle t, T *to, const T *from) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_iter_seek(w, i, at);
        const int64_t above = i % t.columns - i / t.columns % t.rows; /* the main diagonal */
        const bool kept = t.lower ? above <= t.diagonal : above >= t.diagonal;
        to[at[0]] = kept ? from[at[1]] : T();
    }
}

static rl_status keep(rl_call *k, bool lower) {
    const rl_view *views[2] = {k->out[0], rl_in(k, 0)}, *x = views[1];
    triangle t = {x->shape[x->ndim - 2], x->shape[x->ndim - 1], rl_int(k, 1), lower};
    cuda_iter w;
    if (x->numel == 0) return RL_OK;
    if (!cuda_iter_make(&w, views, 2)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    switch (rl_itemsize(x->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((keep_triangle<T>), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, t,         \
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

/* ==== padding, and the gradient of the kinds that repeat the input ==== */
enum { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* A dim: the input's size and what is put in front of it and behind it; less than nothing crops. */
typedef struct {
    int64_t size, before, after, out, step; /* step: of the input, or of the gradient in the output's place */
} pad_dim;
typedef struct {
    int mode, ndim;
    pad_dim dim[CUDA_DIMS];
} pad_plan;

/* where output index i comes from, or -1 for the constant */
static __device__ int64_t pad_source(const pad_dim &d, int mode, int64_t i) {
    const int64_t at = i - d.before;
    if (mode == PAD_CIRCULAR) { /* what is left after cropping repeats */
        const int64_t first = d.before < 0 ? -d.before : 0,
                      left = d.size - first + (d.after < 0 ? d.after : 0);
        return at < first ? at + left : at >= first + left ? at - left : at;
    }
    if (at >= 0 && at < d.size) return at;
    if (mode == PAD_REFLECT) return at < 0 ? -at : 2 * (d.size - 1) - at;
    if (mode == PAD_REPLICATE) return at < 0 ? 0 : d.size - 1;
    return -1;
}

template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    pad_elements(cuda_iter w, pad_plan plan, T *to, const T *from, T constant) {
    CUDA_EACH(i, w) {
        int64_t at[1], source = 0, rest = i;
        bool inside = true;
        cuda_iter_seek(w, i, at);
        CUDA_ROLLED
        for (int d = plan.ndim - 1; d >= 0; d--) {
            const pad_dim &p = plan.dim[d];
            const int64_t place = pad_source(p, plan.mode, rest % p.out);
            inside = inside && place >= 0;
            source += place * p.step;
            rest /= p.out;
        }
        to[at[0]] = inside ? from[source] : constant;
    }
}

/* the dims of `small`, whose numbers for the last ones are at `pad`; false: more than a launch carries */
static bool plan_make(pad_plan *plan, const rl_call *k, const rl_view *small, const rl_view *large,
                      const int64_t *step, rl_ints pad) {
    plan->mode = (int)k->attr[0];
    plan->ndim = small->ndim;
    if (small->ndim > CUDA_DIMS) return false;
    for (int d = 0; d < small->ndim; d++) {
        const int argument = 2 * (small->ndim - 1 - d);
        const bool padded = argument < pad.n;
        plan->dim[d] = {small->shape[d], padded ? pad.at[argument] : 0, padded ? pad.at[argument + 1] : 0,
                        large->shape[d], step[d]};
    }
    return true;
}

static rl_ints pad_numbers(const rl_call *k, int arg) {
    const rl_value *s = &k->arg[arg];
    return {s->u.ints, s->tag == RL_INTS ? s->n : 0};
}

CUDA_KERNEL(cuda_pad) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    uint64_t constant[2] = {0, 0};
    pad_plan plan;
    cuda_iter w;
    if (k->arg[3].tag != RL_NONE && cuda_element(k, 3, x->dtype, constant) != RL_OK) return RL_FAIL;
    if (out->numel == 0) return RL_OK;
    if (!plan_make(&plan, k, x, out, x->strides, pad_numbers(k, 1)) || !cuda_iter_make(&w, &out, 1))
        return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (rl_itemsize(x->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((pad_elements<T>), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, plan,       \
                    (T *)rl_data(out, RL_WRITE), (const T *)rl_const_data(x), cuda_from_words<T>(constant)); \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

/* ---- the gradient: (grad_output, input_size, pad, mode, channels_last) ---- */
/* The output indices of one input index: the one in the middle, and a run of them in each border. */
enum { PADDED = 3, RUNS = 3 }; /* the last dims, of which there are at most so many */
typedef struct {
    int64_t first, count;
} pad_run;

static __device__ pad_run run_guess(const pad_dim &d, int mode, int64_t at, int run) {
    const int64_t o = at + d.before, end = d.before + d.size;
    if (run == 0) return {o, 1};
    if (mode == PAD_CIRCULAR) {
        const int64_t left = d.size + (d.before < 0 ? d.before : 0) + (d.after < 0 ? d.after : 0);
        return {run == 1 ? o - left : o + left, 1};
    }
    if (mode == PAD_REFLECT) return {run == 1 ? d.before - at : end + d.size - 2 - at, 1};
    if (run == 1) return {0, at > 0 ? 0 : d.before < d.out ? d.before : d.out};
    const int64_t behind = end > 0 ? end : 0;
    return {behind, at < d.size - 1 ? 0 : d.out - behind};
}

/* ... of those that there are: each once */
static __device__ pad_run run_of(const pad_dim &d, int mode, int64_t at, int run) {
    pad_run r = run_guess(d, mode, at, run);
    bool known = r.first < 0 || r.first >= d.out || pad_source(d, mode, r.first) != at;
    if (run > 0 && r.count == 1) known = known || r.first == at + d.before;
    if (run > 1 && r.count == 1) known = known || r.first == run_guess(d, mode, at, 1).first;
    if (known) r.count = 0;
    return r;
}

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    pad_gradient(cuda_iter w, pad_plan plan, T *to, const T *grad) {
    CUDA_EACH(i, w) {
        int64_t at[1], place[PADDED], lead = 0, rest = i;
        C sum = 0;
        cuda_iter_seek(w, i, at);
        CUDA_UNROLL
        for (int d = PADDED - 1; d >= 0; d--) {
            place[d] = rest % plan.dim[d].size;
            rest /= plan.dim[d].size;
        }
        CUDA_ROLLED
        for (int d = plan.ndim - 1; d >= PADDED; d--) {
            lead += rest % plan.dim[d].size * plan.dim[d].step;
            rest /= plan.dim[d].size;
        }
        CUDA_ROLLED
        for (int runs = 0; runs < RUNS * RUNS * RUNS; runs++) {
            const pad_run a = run_of(plan.dim[0], plan.mode, place[0], runs / (RUNS * RUNS));
            const pad_run b = run_of(plan.dim[1], plan.mode, place[1], runs / RUNS % RUNS);
            const pad_run c = run_of(plan.dim[2], plan.mode, place[2], runs % RUNS);
            const int64_t n = a.count * b.count * c.count;
            CUDA_ROLLED
            for (int64_t j = 0; j < n; j++)
                sum += cuda_cast<C>(grad[lead + (a.first + j / c.count / b.count) * plan.dim[0].step +
                                         (b.first + j / c.count % b.count) * plan.dim[1].step +
                                         (c.first + j % c.count) * plan.dim[2].step]);
        }
        to[at[0]] = cuda_cast<T>(sum);
    }
}

/* The padded dims come first, those that are missing have one element; then the others. */
static void plan_turn(pad_plan *plan, int padded) {
    const pad_plan all = *plan;
    const int others = all.ndim - padded;
    for (int d = 0; d < PADDED; d++) {
        const int at = d - (PADDED - padded);
        plan->dim[d] = at < 0 ? pad_dim{1, 0, 0, 1, 0} : all.dim[others + at];
    }
    for (int d = 0; d < others; d++) plan->dim[PADDED + d] = all.dim[d];
    plan->ndim = PADDED + others;
}

CUDA_KERNEL(cuda_pad_backward) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    const rl_ints pad = pad_numbers(k, 2);
    pad_plan plan;
    cuda_iter w;
    if (out->numel == 0) return RL_OK;
    if (!plan_make(&plan, k, out, grad, grad->strides, pad) || !cuda_iter_make(&w, &out, 1))
        return RL_UNSUPPORTED;
    plan_turn(&plan, pad.n / 2);
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (out->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((pad_gradient<T, C>), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, plan,    \
                    (T *)rl_data(out, RL_WRITE), (const T *)rl_const_data(grad));                            \
        break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
