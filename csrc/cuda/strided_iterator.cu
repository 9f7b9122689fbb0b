/* Walks as the host makes them: Note [CUDA strided iterators]; and views with other dims than those of the
 * call. */
#include "strided_iterator.cuh"
#include <cfloat>
#include <cmath>

/* ---- dims ---- */
typedef struct {
    int64_t size, step[CUDA_OPS];
} iter_dim;

static int64_t step_of(const rl_view *v, int d, int ndim) {
    int own = d - (ndim - v->ndim);
    return own < 0 || v->shape[own] == 1 ? 0 : v->strides[own];
}

static int dims_of(iter_dim *dim, const rl_view *const *views, int nops) {
    const int ndim = views[0]->ndim;
    int n = 0;
    for (int d = 0; d < ndim; d++) {
        if (views[0]->shape[d] == 1) continue;
        dim[n].size = views[0]->shape[d];
        for (int op = 0; op < nops; op++) dim[n].step[op] = views[op] ? step_of(views[op], d, ndim) : 0;
        n++;
    }
    return n;
}

/* the largest step of operand 0 first */
static void sort_dims(iter_dim *dim, int n) {
    for (int i = 1; i < n; i++) {
        const iter_dim moved = dim[i];
        int at = i;
        for (; at > 0 && dim[at - 1].step[0] < moved.step[0]; at--) dim[at] = dim[at - 1];
        dim[at] = moved;
    }
}

/* Is `inner` what comes next, in every operand, once `outer` has made a step? */
static bool are_one(const iter_dim *outer, const iter_dim *inner, int nops) {
    for (int op = 0; op < nops; op++)
        if (outer->step[op] != inner->step[op] * inner->size) return false;
    return true;
}

static int merge_dims(iter_dim *dim, int n, int nops) {
    int made = 0;
    for (int d = 0; d < n; d++) {
        const int64_t outer = made > 0 && are_one(&dim[made - 1], &dim[d], nops) ? dim[--made].size : 1;
        dim[made] = dim[d];
        dim[made++].size *= outer;
    }
    return made;
}

/* ---- what the walk is ---- */
static bool is_flat(const cuda_iter *w) {
    if (w->ndim != 1) return w->ndim == 0;
    for (int op = 0; op < w->nops; op++)
        if (w->step[op][0] != 1 && (op == 0 || w->step[op][0] != 0)) return false;
    return true;
}

static bool is_narrow(const cuda_iter *w) {
    const int64_t limit = cuda_index_limit();
    if (w->numel + (int64_t)cuda_iter_blocks(w) * CUDA_THREADS > limit) return false;
    for (int op = 0; op < w->nops; op++) {
        int64_t last = 0;
        for (int d = 0; d < w->ndim; d++) last += (w->size[d] - 1) * w->step[op][d];
        if (last >= limit) return false;
    }
    return true;
}

static bool iter_make(cuda_iter *w, const rl_view *const *views, int nops, bool is_sorted) {
    iter_dim dim[RL_MAX_DIMS];
    int n = dims_of(dim, views, nops);
    *w = {};
    w->nops = nops;
    w->numel = views[0]->numel;
    if (w->numel == 0) return true;
    if (is_sorted) sort_dims(dim, n);
    n = merge_dims(dim, n, nops);
    if (n > CUDA_DIMS) return false;
    for (int d = 0; d < n; d++) {
        w->size[d] = dim[d].size;
        for (int op = 0; op < nops; op++) w->step[op][d] = dim[d].step[op];
    }
    w->ndim = n;
    w->is_flat = is_flat(w);
    w->is_narrow = is_narrow(w);
    return true;
}

bool cuda_iter_make(cuda_iter *w, const rl_view *const *views, int nops) {
    return iter_make(w, views, nops, false);
}
bool cuda_iter_make_along(cuda_iter *w, const rl_view *const *views, int nops) {
    return iter_make(w, views, nops, true);
}

bool cuda_iter_meets(const cuda_iter *w, int op) {
    const int64_t *step = w->step[op];
    unsigned done = 0;
    int64_t reach = 0;
    for (int i = 0; i < w->ndim; i++) {
        int next = -1;
        for (int d = 0; d < w->ndim; d++)
            if (!(done >> d & 1) && (next < 0 || step[d] < step[next])) next = d;
        if (step[next] <= reach) return true;
        done |= 1u << next;
        reach += (w->size[next] - 1) * step[next];
    }
    return false;
}

/* ---- numbers on the CPU ---- */
bool cuda_can_read(const rl_view *out, const rl_view *v) {
    if (v->device == RL_CPU) return v->numel == 1;
    return v->device == out->device && v->device_index == out->device_index;
}

void cuda_number_get(const rl_view *v, double *x) {
    const void *p = rl_const_data(v);
    int64_t whole;
    switch (v->dtype) {
    case RL_F16: *x = rl_from_half(*(const rl_half *)p); break;
    case RL_BF16: *x = rl_from_bfloat(*(const rl_bfloat *)p); break;
    case RL_F32: *x = *(const float *)p; break;
    case RL_F64: *x = *(const double *)p; break;
    default: cuda_number_get(v, &whole); *x = (double)whole;
    }
}
void cuda_number_get(const rl_view *v, float *x) {
    double wide;
    cuda_number_get(v, &wide);
    *x = (float)wide;
}
void cuda_number_get(const rl_view *v, int64_t *x) {
    const void *p = rl_const_data(v);
    double wide;
    switch (v->dtype) {
    case RL_U8: *x = *(const uint8_t *)p; break;
    case RL_I8: *x = *(const int8_t *)p; break;
    case RL_I16: *x = *(const int16_t *)p; break;
    case RL_I32: *x = *(const int32_t *)p; break;
    case RL_I64: *x = *(const int64_t *)p; break;
    case RL_BOOL: *x = *(const uint8_t *)p != 0; break;
    default: cuda_number_get(v, &wide); *x = (int64_t)wide;
    }
}

double cuda_number_as(int dtype, double x) {
    switch (dtype) {
    case RL_F16: return rl_from_half(rl_to_half((float)x));
    case RL_BF16: return rl_from_bfloat(rl_to_bfloat((float)x));
    case RL_F32: return (float)x;
    default: return x;
    }
}

/* of PyTorch's numbers uint8 lets negative ones wrap */
static bool number_fits(double x, int dtype) {
    switch (dtype) {
    case RL_U8: return fabs(x) <= UINT8_MAX;
    case RL_I8: return x >= INT8_MIN && x <= INT8_MAX;
    case RL_I16: return x >= INT16_MIN && x <= INT16_MAX;
    case RL_I32: return x >= INT32_MIN && x <= INT32_MAX;
    case RL_I64: return x >= -0x1p63 && x < 0x1p63;
    case RL_BOOL: return true;
    default: return !(fabs(x) > rl_largest(dtype)) || isinf(x);
    }
}

rl_status cuda_number_of(rl_call *k, int arg, int dtype, double *d, int64_t *i) {
    static const char *const names[] = {"uint8_t",   "int8_t", "int16_t", "int",  "int64_t",
                                        "c10::Half", "float",  "double",  "bool", "c10::BFloat16"};
    const rl_value *s = &k->arg[arg];
    if (s->tag == RL_TENSOR) {
        cuda_number_get(s->u.t, d);
        cuda_number_get(s->u.t, i);
    } else {
        *d = rl_num(k, arg);
        *i = rl_int(k, arg);
    }
    if (s->tag == RL_TENSOR || (s->tag != RL_FLOAT && dtype == RL_I64) || number_fits(*d, dtype)) {
        if (dtype == RL_U8) *i = (uint8_t)*i;
        *d = cuda_number_as(dtype, *d);
        return RL_OK;
    }
    return rl_fail(k, RL_RUNTIME, "value cannot be converted to type %s without overflow", names[dtype]);
}

/* ==== views with other dims ==== */
static void use_arrays(cuda_subview *d) {
    d->view.shape = d->shape;
    d->view.strides = d->strides;
    d->view.numel = 1;
    for (int i = 0; i < d->view.ndim; i++) d->view.numel *= d->shape[i];
}

void cuda_subview_copy(cuda_subview *d, const rl_view *v) {
    cuda_subview_pick(d, v, ~(uint64_t)0);
}

void cuda_subview_pick(cuda_subview *d, const rl_view *v, uint64_t mask) {
    int n = 0;
    for (int i = 0; i < v->ndim; i++) {
        if (!(mask >> i & 1)) continue;
        d->shape[n] = v->shape[i];
        d->strides[n++] = v->strides[i];
    }
    d->view = *v;
    d->view.ndim = (uint8_t)n;
    use_arrays(d);
}

void cuda_subview_spread(cuda_subview *d, const rl_view *v, const rl_view *like, uint64_t mask) {
    int own = 0;
    d->view = *v;
    d->view.ndim = like->ndim;
    for (int i = 0; i < like->ndim; i++) {
        const bool is_own = mask >> i & 1 && own < v->ndim;
        d->shape[i] = like->shape[i];
        d->strides[i] = is_own && v->shape[own] != 1 ? v->strides[own] : 0;
        own += is_own;
    }
    use_arrays(d);
}

void cuda_subview_number(cuda_subview *d, const rl_view *like, uint64_t mask) {
    int64_t step = 1;
    cuda_subview_copy(d, like);
    for (int i = like->ndim - 1; i >= 0; i--) {
        const bool is_in = mask >> i & 1;
        d->strides[i] = is_in ? step : 0;
        if (is_in) step *= like->shape[i];
    }
}

void cuda_subview_split(cuda_subview *d, int dim, int64_t outer) {
    const int64_t inner = d->shape[dim] / outer;
    for (int i = d->view.ndim++; i > dim + 1; i--) {
        d->shape[i] = d->shape[i - 1];
        d->strides[i] = d->strides[i - 1];
    }
    d->shape[dim + 1] = inner;
    d->strides[dim + 1] = d->strides[dim];
    d->shape[dim] = outer;
    d->strides[dim] *= inner;
}
