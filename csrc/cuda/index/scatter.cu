/* scatter and its kin: Note [CUDA scattering]. */
#include "ordered_sum.cuh"
#include "scatter.cuh"
#include <math.h>

/* ---- the last one wins ---- */
template <class Word>
__global__ void __launch_bounds__(CUDA_THREADS) claim_slots(cuda_iter w, cuda_indices slots, Word *winner) {
    CUDA_EACH(i, w) {
        int64_t at[SCATTER_OPS], slot;
        cuda_iter_seek(w, i, at);
        if (cuda_place(slots, at[SCATTER_INDEX], &slot))
            atomicMax(&winner[at[SCATTER_SLOT] + slot], (Word)(at[SCATTER_CLAIM] + 1));
    }
}

/* winner NULL: every place is that of one element only */
template <class T, class Word>
__global__ void __launch_bounds__(CUDA_THREADS)
    set_elements(cuda_iter w, T *to, cuda_indices places, const T *from, cuda_indices slots,
                 const Word *winner) {
    CUDA_EACH(i, w) {
        int64_t at[SCATTER_OPS], place, slot;
        cuda_iter_seek(w, i, at);
        if (!cuda_place(places, at[SCATTER_INDEX], &place)) continue;
        if (winner && (!cuda_place(slots, at[SCATTER_INDEX], &slot) ||
                       winner[at[SCATTER_SLOT] + slot] != (Word)(at[SCATTER_CLAIM] + 1)))
            continue;
        to[at[SCATTER_TARGET] + place] = from[at[SCATTER_SOURCE]];
    }
}

template <class Word>
static rl_status set_by(rl_call *k, cuda_scattering *s, void *to, const void *from, int64_t item) {
    const uint64_t none[2] = {0, 0};
    const cudaStream_t stream = cuda_stream_of(k);
    cuda_iter all, claims, whole;
    Word *winner = nullptr;
    if (!cuda_dims_iter(&all, &s->all, SCATTER_OPS) || !cuda_dims_iter(&claims, &s->claims, SCATTER_OPS))
        return RL_UNSUPPORTED;
    if (s->n_slots > 0) {
        cuda_dims slots = cuda_dims_none();
        cuda_dims_add(&slots, s->n_slots, 1);
        winner = (Word *)k->svc->scratch(k, RL_COUNT(s->n_slots), sizeof(Word));
        if (!winner || !cuda_dims_iter(&whole, &slots, 1) ||
            cuda_fill_iter(k, whole, winner, sizeof(Word), none) != RL_OK)
            return RL_FAIL;
        CUDA_LAUNCH((claim_slots<Word>), cuda_iter_blocks(&claims), CUDA_THREADS, stream, claims, s->slots,
                    winner);
    }
    from = (const char *)from + s->first * item;
    switch (item) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((set_elements<T, Word>), cuda_iter_blocks(&all), CUDA_THREADS, stream, all, (T *)to,     \
                    s->places, (const T *)from, s->slots, winner);                                           \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

static rl_status set_all(rl_call *k, cuda_scattering *s, const void *from) {
    const rl_view *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype);
    void *to = rl_data(out, RL_WRITE);
    if (s->all.numel == 0 || s->claims.numel == 0) return RL_OK;
    if (s->claims.numel < (int64_t)UINT32_MAX) return set_by<unsigned>(k, s, to, from, item);
    return set_by<unsigned long long>(k, s, to, from, item);
}

rl_status cuda_scatter_set(rl_call *k, cuda_scatter_way way, const rl_view *source, const void *from) {
    cuda_scattering s;
    if (!from || way(k, &s, k->out[0], source) != RL_OK) return RL_FAIL;
    return set_all(k, &s, from);
}

/* the source has one element for all, which stands at its beginning */
static void read_one(cuda_scattering *s) {
    for (int d = 0; d < s->all.ndim; d++) s->all.step[SCATTER_SOURCE][d] = 0;
    s->first = 0;
}

rl_status cuda_scatter_fill(rl_call *k, cuda_scatter_way way, const rl_view *source, uint64_t bits) {
    const void *from = cuda_bits_there(k, bits, k->out[0]->dtype);
    cuda_scattering s;
    if (!from || way(k, &s, k->out[0], source) != RL_OK) return RL_FAIL;
    read_one(&s);
    return set_all(k, &s, from);
}

/* ---- elements that join what is there, one atomic step each ---- */
template <int bytes> struct word_of;
template <> struct word_of<2> {
    typedef unsigned short type;
};
template <> struct word_of<4> {
    typedef unsigned type;
};
template <> struct word_of<8> {
    typedef unsigned long long type;
};

template <class T, class C> __device__ void join_atomic(T *to, int join, C value) {
    typedef typename word_of<sizeof(T)>::type Word;
    union {
        Word bits;
        T value;
    } old, made;
    Word seen = atomicCAS((Word *)to, (Word)0, (Word)0);
    do {
        old.bits = seen;
        made.value = cuda_cast<T>(cuda_joined<C>(join, cuda_cast<C>(old.value), value));
        seen = atomicCAS((Word *)to, old.bits, made.bits);
    } while (seen != old.bits);
}
template <class T, class C> struct adding {
    static __device__ void add(T *to, C value) { join_atomic<T, C>(to, RL_JOIN_ADD, value); }
};
template <> struct adding<float, float> {
    static __device__ void add(float *to, float value) { atomicAdd(to, value); }
};
template <> struct adding<double, double> {
    static __device__ void add(double *to, double value) { atomicAdd(to, value); }
};
template <> struct adding<int32_t, int64_t> {
    static __device__ void add(int32_t *to, int64_t value) { atomicAdd((unsigned *)to, (unsigned)value); }
};
template <> struct adding<int64_t, int64_t> {
    static __device__ void add(int64_t *to, int64_t value) {
        atomicAdd((unsigned long long *)to, (unsigned long long)value);
    }
};

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    join_elements(cuda_iter w, T *to, cuda_indices places, const void *from, int from_dtype, int join,
                  C alpha) {
    CUDA_EACH(i, w) {
        int64_t at[SCATTER_SLOT], place;
        cuda_iter_seek(w, i, at);
        if (!cuda_place(places, at[SCATTER_INDEX], &place)) continue;
        const C value = cuda_load<C>(from_dtype, from, at[SCATTER_SOURCE]);
        T *there = to + at[SCATTER_TARGET] + place;
        if (join == RL_JOIN_ADD)
            adding<T, C>::add(there, cuda_joined<C>(RL_JOIN_MUL, alpha, value));
        else
            join_atomic<T, C>(there, join, value);
    }
}

/* X(dtype, the type in device memory, the type to compute in): those that have atomics */
#define JOIN_TYPES(X)                                                                                        \
    X(RL_I32, int32_t, int64_t)                                                                              \
    X(RL_I64, int64_t, int64_t)                                                                              \
    CUDA_FLOAT_DTYPES(X)

rl_status cuda_join_run(rl_call *k, cuda_scattering *s, void *to, int dtype, const cuda_joining &j) {
    const void *from = (const char *)j.from + s->first * rl_itemsize(j.from_dtype);
    cuda_iter w;
    if (s->all.numel == 0) return RL_OK;
    if (k->svc->deterministic && rl_is_float(dtype)) return cuda_join_in_order(k, s, to, dtype, j);
    if (!cuda_dims_iter(&w, &s->all, SCATTER_SLOT)) return RL_UNSUPPORTED;
    switch (dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((join_elements<T, C>), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w,         \
                    (T *)to, s->places, from, j.from_dtype, j.join, cuda_alpha_of(j, (C)0));                 \
        break;
        JOIN_TYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

void *cuda_zeros(rl_call *k, int64_t n, int dtype) {
    const uint64_t zero[2] = {0, 0};
    const int64_t item = rl_itemsize(dtype);
    void *p = k->svc->scratch(k, RL_COUNT(n, item), 1);
    cuda_dims all = cuda_dims_none();
    cuda_iter w;
    cuda_dims_add(&all, n, 1);
    return p && cuda_dims_iter(&w, &all, 1) && cuda_fill_iter(k, w, p, item, zero) == RL_OK ? p : nullptr;
}

rl_view cuda_gapless_like(const rl_view *v, int dtype, int64_t *strides) {
    rl_view made = *v;
    int64_t step = 1;
    for (int d = v->ndim - 1; d >= 0; step *= v->shape[d--]) strides[d] = step;
    made.strides = strides;
    made.dtype = (uint8_t)dtype;
    return made;
}
static rl_status move_across(rl_call *k, const rl_view *to, void *to_data, const rl_view *from,
                             const void *from_data) {
    cuda_dims dims = cuda_dims_none();
    for (int d = 0; d < to->ndim; d++) cuda_dims_add(&dims, to->shape[d], to->strides[d], from->strides[d]);
    return cuda_cast_copy_dims(k, &dims, to_data, to->dtype, from_data, from->dtype);
}

/* What has no atomics joins in int32: sums and products there wrap to the same bits. bool: 0 or 1 is what
 * their largest and their least are. */
static rl_status join_wide(rl_call *k, cuda_scatter_way way, const rl_view *source, cuda_joining j) {
    const rl_view *out = k->out[0];
    int64_t strides[RL_MAX_DIMS];
    const rl_view wide = cuda_gapless_like(out, RL_I32, strides);
    void *to = k->svc->scratch(k, RL_COUNT(out->numel), sizeof(int32_t));
    cuda_scattering s;
    if (!to || move_across(k, &wide, to, out, rl_const_data(out)) != RL_OK ||
        way(k, &s, &wide, source) != RL_OK)
        return RL_FAIL;
    if (out->dtype == RL_BOOL && j.join == RL_JOIN_ADD && !j.integer_alpha) return RL_OK;
    if (out->dtype == RL_BOOL)
        j.join = j.join == RL_JOIN_MUL || j.join == RL_JOIN_MIN ? RL_JOIN_MIN : RL_JOIN_MAX;
    const rl_status status = cuda_join_run(k, &s, to, RL_I32, j);
    return status == RL_OK ? move_across(k, out, rl_data(out, RL_WRITE), &wide, to) : status;
}

bool cuda_shares_memory(const rl_view *v) {
    uint64_t seen = 0;
    int64_t reach = 0; /* of the dims with smaller steps */
    for (int i = 0; i < v->ndim; i++) {
        int next = -1;
        for (int d = 0; d < v->ndim; d++)
            if (!(seen >> d & 1) && (next < 0 || v->strides[d] < v->strides[next])) next = d;
        seen |= UINT64_C(1) << next;
        if (v->shape[next] <= 1) continue;
        if (v->strides[next] <= reach) return true;
        reach += (v->shape[next] - 1) * v->strides[next];
    }
    return false;
}

rl_status cuda_scatter_join(rl_call *k, cuda_scatter_way way, const rl_view *source, const void *from,
                            int join, int alpha_arg) {
    const rl_view *out = k->out[0];
    const cuda_joining j = {from,
                            source ? source->dtype : out->dtype,
                            join == RL_JOIN_MEAN ? RL_JOIN_ADD : join,
                            alpha_arg < 0 ? 1 : rl_num(k, alpha_arg),
                            alpha_arg < 0 ? 1 : rl_int(k, alpha_arg),
                            cuda_shares_memory(out)};
    cuda_scattering s;
    if (!from) return RL_FAIL;
    if (out->numel == 0) return RL_OK;
    if (rl_itemsize(out->dtype) < 4 && !rl_is_float(out->dtype)) return join_wide(k, way, source, j);
    if (way(k, &s, out, source) != RL_OK) return RL_FAIL;
    return cuda_join_run(k, &s, rl_data(out, RL_WRITE), out->dtype, j);
}

rl_status cuda_scatter_count(rl_call *k, cuda_scatter_way way, const rl_view *source, int64_t *counts) {
    int64_t strides[RL_MAX_DIMS];
    const rl_view to = cuda_gapless_like(k->out[0], RL_I64, strides);
    const cuda_joining one = {cuda_bits_there(k, 1, RL_I64), RL_I64, RL_JOIN_ADD, 1, 1, false};
    cuda_scattering s;
    if (!one.from || way(k, &s, &to, source) != RL_OK) return RL_FAIL;
    read_one(&s);
    return cuda_join_run(k, &s, counts, RL_I64, one);
}

__global__ void __launch_bounds__(CUDA_THREADS)
    divide_by_counts(cuda_iter w, void *to, int dtype, bool is_float, const int64_t *counts) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_iter_seek(w, i, at);
        const int64_t n = counts[at[1]];
        if (n < 2) continue;
        if (is_float) {
            cuda_store(dtype, to, at[0], cuda_load<double>(dtype, to, at[0]) / (double)n);
        } else {
            const int64_t sum = cuda_load<int64_t>(dtype, to, at[0]);
            cuda_store(dtype, to, at[0], sum / n - (sum % n < 0));
        }
    }
}

rl_status cuda_divide(rl_call *k, const cuda_iter &w, void *to, int dtype, const int64_t *counts) {
    CUDA_LAUNCH((divide_by_counts), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, to, dtype,
                rl_is_float(dtype), counts);
    return rl_cuda_end(k);
}

/* ==== elements that join in their own order: Note [CUDA sums in order] ==== */
/* operands: target, index */
__global__ void __launch_bounds__(CUDA_THREADS)
    name_targets(cuda_iter claims, cuda_indices places, cuda_keys to) {
    CUDA_EACH(i, claims) {
        int64_t at[2], place;
        cuda_iter_seek(claims, i, at);
        const bool known = cuda_place(places, at[SCATTER_INDEX], &place);
        to.key[i] = known ? (uint64_t)(at[SCATTER_TARGET] + place) : CUDA_NO_TARGET;
        to.order[i] = i;
    }
}

rl_status cuda_order_sort(rl_call *k, const cuda_keys *room, int64_t n, cuda_keys *sorted) {
    *sorted = cuda_keys_sort(k, room, n, n);
    return rl_cuda_end(k);
}

template <class T, class C> struct joins_in_order {
    typedef C value_type;
    struct column {
        int64_t target, source;
    };
    cuda_iter claims, rest; /* operands: target, index, source */
    T *to;
    const void *from;
    int from_dtype, how;
    C alpha;
    __device__ column find(int64_t e) const {
        int64_t at[SCATTER_SLOT];
        cuda_iter_seek(rest, e, at);
        return {at[SCATTER_TARGET], at[SCATTER_SOURCE]};
    }
    __device__ C value(int64_t i, const column &c) const {
        int64_t at[SCATTER_SLOT];
        cuda_iter_seek(claims, i, at);
        const C x = cuda_load<C>(from_dtype, from, at[SCATTER_SOURCE] + c.source);
        return how == RL_JOIN_ADD ? alpha * x : x;
    }
    __device__ C join(C a, C b) const { return cuda_joined<C>(how, a, b); }
    __device__ void put(uint64_t target, const column &c, C sum) const {
        T *there = &to[(int64_t)target + c.target];
        *there = cuda_cast<T>(join(cuda_cast<C>(*there), sum));
    }
};

/* the dims that decide where elements go, and those of what goes there together */
static void split(const cuda_scattering *s, bool shares, cuda_dims *claims, cuda_dims *rest) {
    *claims = *rest = cuda_dims_none();
    for (int d = 0; d < s->all.ndim; d++) {
        const int64_t target = s->all.step[SCATTER_TARGET][d], index = s->all.step[SCATTER_INDEX][d];
        const bool claims_place = shares || target == 0 || index != 0 || s->all.step[SCATTER_CLAIM][d] != 0;
        cuda_dims_add(claims_place ? claims : rest, s->all.size[d], target, index,
                      s->all.step[SCATTER_SOURCE][d]);
    }
}

rl_status cuda_join_in_order(rl_call *k, const cuda_scattering *s, void *to, int dtype,
                             const cuda_joining &j) {
    const void *from = (const char *)j.from + s->first * rl_itemsize(j.from_dtype);
    cuda_keys room[CUDA_KEY_ROOMS], sorted;
    cuda_dims claims, rest;
    cuda_iter named, others;
    split(s, j.shares, &claims, &rest);
    if (!cuda_dims_iter(&named, &claims, SCATTER_SLOT) || !cuda_dims_iter(&others, &rest, SCATTER_SLOT))
        return RL_UNSUPPORTED;
    const int64_t n = named.numel;
    if (cuda_keys_room(k, room, n) != RL_OK || rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((name_targets), cuda_iter_blocks(&named), CUDA_THREADS, cuda_stream_of(k), named, s->places,
                room[0]);
    if (cuda_order_sort(k, room, n, &sorted) != RL_OK) return RL_FAIL;
    switch (dtype) {
#define X(tag, T, C)                                                                                         \
    case tag: {                                                                                              \
        const joins_in_order<T, C> f = {                                                                     \
            named, others, (T *)to, from, j.from_dtype, j.join, cuda_alpha_of(j, (C)0)};                     \
        return cuda_order_join(k, f, sorted, n, others.numel);                                               \
    }
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
}

/* ==== to indices along one dimension: an index for each element, or a vector of them for slices ==== */
/* ---- an index for each element; argument 2 ---- */
static rl_status by_index(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    const rl_view *index = rl_in(k, 2);
    const int64_t dim = k->attr[0];
    int64_t slot[RL_MAX_DIMS], claim[RL_MAX_DIMS];
    cuda_gapless_like(to, to->dtype, slot);
    cuda_gapless_like(index, index->dtype, claim);
    s->all = cuda_dims_none();
    for (int d = 0; d < index->ndim; d++) {
        const bool moves = d != dim && to->ndim;
        cuda_dims_add(&s->all, index->shape[d], moves ? to->strides[d] : 0, index->strides[d],
                      source && source->ndim ? source->strides[d] : 0, moves ? slot[d] : 0, claim[d]);
    }
    s->claims = s->all;
    s->first = 0;
    const bool alone = index->numel == 1 || (index->ndim && index->shape[dim] == 1);
    s->n_slots = alone ? 0 : to->numel;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || cuda_indices_of(k, &s->places, index, to, dim) != RL_OK)
        return RL_FAIL;
    s->slots = s->places;
    s->slots.step = to->ndim ? slot[dim] : 0;
    return RL_OK;
}

/* ---- a vector of indices for slices ---- */
static rl_status by_vector(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    const rl_view *index = rl_in(k, 2), *shaped = source ? source : to;
    const int64_t dim = k->attr[0], n = index->numel, step = index->ndim ? index->strides[0] : 0;
    s->all = cuda_dims_none();
    for (int d = 0; d < shaped->ndim; d++) {
        const int64_t from = source ? source->strides[d] : 0;
        if (d == dim)
            cuda_dims_add(&s->all, n, 0, step, from, 0, 1);
        else if (to->ndim && (source || to->strides[d] != 0)) /* what shares memory is filled once */
            cuda_dims_add(&s->all, shaped->shape[d], to->strides[d], 0, from);
        else if (shaped->shape[d] == 0)
            s->all.numel = 0;
    }
    if (shaped->ndim == 0) cuda_dims_add(&s->all, n, 0, step, 0, 0, 1);
    s->claims = cuda_dims_none();
    cuda_dims_add(&s->claims, n, 0, step, 0, 0, 1);
    s->first = 0;
    s->n_slots = n == 1 ? 0 : to->ndim ? to->shape[dim] : 1;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || cuda_indices_of(k, &s->places, index, to, dim) != RL_OK)
        return RL_FAIL;
    s->slots = s->places;
    s->slots.step = to->ndim && to->strides[dim] != 0; /* what shares memory is one place */
    return RL_OK;
}

static rl_status wrapped_by_vector(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    const rl_status status = by_vector(k, s, to, source);
    s->places.wraps = s->slots.wraps = true;
    return status;
}

/* ---- setting and adding ---- */
CUDA_KERNEL(cuda_scatter) {
    const rl_view *source = rl_in(k, 3);
    const int join = (int)k->attr[1];
    if (!cuda_all_here(k, 3)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || rl_in(k, 2)->numel == 0) return status;
    if (source && source->device == RL_CPU) source = nullptr;
    const void *from = source ? rl_const_data(source) : cuda_element_there(k, 3, k->out[0]->dtype);
    return join == RL_JOIN_SET ? cuda_scatter_set(k, by_index, source, from)
                               : cuda_scatter_join(k, by_index, source, from, join, -1);
}

CUDA_KERNEL(cuda_index_add) {
    const rl_view *source = rl_in(k, 3);
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || source->numel == 0) return status;
    return cuda_scatter_join(k, by_vector, source, rl_const_data(source), RL_JOIN_ADD, 4);
}

CUDA_KERNEL(cuda_index_copy) {
    const rl_view *source = rl_in(k, 3);
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || source->numel == 0) return status;
    return cuda_scatter_set(k, by_vector, source, rl_const_data(source));
}

CUDA_KERNEL(cuda_index_fill) {
    if (!cuda_all_here(k, 3)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || k->out[0]->numel == 0) return status;
    return cuda_scatter_set(k, wrapped_by_vector, nullptr, cuda_element_there(k, 3, k->out[0]->dtype));
}

/* ---- reductions, with the elements of the target or without them ---- */
static rl_status divide(rl_call *k, cuda_scatter_way way, const rl_view *source, bool include_self) {
    const rl_view *out = k->out[0];
    const uint64_t first[2] = {include_self, 0};
    int64_t strides[RL_MAX_DIMS];
    const rl_view shaped = cuda_gapless_like(out, RL_I64, strides);
    int64_t *counts = (int64_t *)k->svc->scratch(k, RL_COUNT(out->numel), sizeof *counts);
    cuda_dims vector = cuda_dims_none();
    const rl_view *views[2] = {out, &shaped};
    cuda_iter w, whole;
    cuda_dims_add(&vector, out->numel, 1);
    if (!counts || !cuda_dims_iter(&whole, &vector, 1) ||
        cuda_fill_iter(k, whole, counts, sizeof *counts, first) != RL_OK ||
        cuda_scatter_count(k, way, source, counts) != RL_OK)
        return RL_FAIL;
    if (!cuda_iter_make_along(&w, views, 2)) return RL_UNSUPPORTED;
    return cuda_divide(k, w, rl_data(out, RL_WRITE), out->dtype, counts);
}

/* what joining leaves as it is */
static uint64_t neutral_bits(int join, int dtype) {
    const bool most = join == RL_JOIN_MAX, least = join == RL_JOIN_MIN;
    const int bits = 8 * (int)rl_itemsize(dtype);
    const bool has_sign = dtype != RL_U8 && dtype != RL_BOOL;
    if (rl_is_float(dtype))
        return cuda_number_bits(dtype, most ? -INFINITY : least ? INFINITY : join == RL_JOIN_MUL);
    if (most) return has_sign ? UINT64_C(1) << (bits - 1) : 0;
    if (least) return dtype == RL_BOOL ? 1 : UINT64_MAX >> (64 - bits + has_sign);
    return join == RL_JOIN_MUL;
}

static rl_status reduce(rl_call *k, cuda_scatter_way way) {
    const rl_view *source = rl_in(k, 3), *out = k->out[0];
    const int join = (int)k->attr[1];
    const bool include_self = rl_int(k, 5);
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    rl_status status = cuda_start(k);
    if (status != RL_OK || rl_in(k, 2)->numel == 0 || source->numel == 0 || out->numel == 0) return status;
    if (!include_self) status = cuda_scatter_fill(k, way, source, neutral_bits(join, out->dtype));
    if (status == RL_OK) status = cuda_scatter_join(k, way, source, rl_const_data(source), join, -1);
    return status == RL_OK && join == RL_JOIN_MEAN ? divide(k, way, source, include_self) : status;
}
CUDA_KERNEL(cuda_scatter_reduce) {
    return reduce(k, by_index);
}
CUDA_KERNEL(cuda_index_reduce) {
    return reduce(k, by_vector);
}

/* ==== to indices of the flat tensor, and tensors in a part's place ==== */
typedef struct {
    int ndim;
    int64_t size[RL_MAX_DIMS], step[RL_MAX_DIMS];
} flat_dims;

/* where an element of the flat tensor lies; -1 for none */
__global__ void __launch_bounds__(CUDA_THREADS)
    find_offsets(int64_t n, cuda_indices flat, flat_dims dims, int64_t *offsets) {
    CUDA_EACH_OF(i, n) {
        int64_t rest, offset = 0;
        const bool known = cuda_place(flat, i, &rest);
        CUDA_ROLLED
        for (int d = dims.ndim - 1; d >= 0; d--) {
            offset += rest % dims.size[d] * dims.step[d];
            rest /= dims.size[d];
        }
        offsets[i] = known ? offset : -1;
    }
}

/* argument 1 names places of the flat target; the source is a vector without gaps */
static rl_status by_flat(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    const rl_view *index = rl_in(k, 1);
    const int64_t n = index->numel;
    const void *at = cuda_gapless(k, index);
    int64_t *offsets = (int64_t *)k->svc->scratch(k, RL_COUNT(n), sizeof *offsets);
    flat_dims dims;
    (void)source;
    s->all = cuda_dims_none();
    cuda_dims_add(&s->all, n, 0, 1, 1, 0, 1);
    s->claims = s->all;
    s->first = 0;
    s->n_slots = n == 1 ? 0 : to->numel;
    if (!at || !offsets || rl_cuda_begin(k, k->out[0]) != RL_OK ||
        cuda_indices_flat(k, &s->slots, at, to->numel) != RL_OK ||
        cuda_indices_flat(k, &s->places, offsets, INT64_MAX) != RL_OK)
        return RL_FAIL;
    s->slots.wraps = true;
    dims.ndim = to->ndim;
    for (int d = 0; d < to->ndim; d++) dims.size[d] = to->shape[d], dims.step[d] = to->strides[d];
    CUDA_LAUNCH((find_offsets), cuda_blocks_of(n), CUDA_THREADS, cuda_stream_of(k), n, s->slots, dims,
                offsets);
    return rl_cuda_end(k);
}

/* (input, index, source, bool accumulate) */
CUDA_KERNEL(cuda_put) {
    const rl_view *source = rl_in(k, 2), *out = k->out[0];
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || source->numel == 0 || out->numel == 0) return status;
    const void *from = cuda_gapless(k, source);
    return rl_int(k, 3) ? cuda_scatter_join(k, by_flat, source, from, RL_JOIN_ADD, -1)
                        : cuda_scatter_set(k, by_flat, source, from);
}

/* (input, src, ...): out's dims and strides without attr[1] and attr[2], with a step of attr[4] along attr[3]
 */
CUDA_KERNEL(cuda_part_scatter) {
    const rl_view *src = rl_in(k, 1), *out = k->out[0];
    const int64_t one = k->attr[1], two = k->attr[2];
    cuda_dims dims = cuda_dims_none();
    int n = 0;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || src->numel == 0) return status;
    for (int d = 0; d < out->ndim; d++) {
        if (d == one || d == two) continue;
        const bool steps = d == k->attr[3] && src->shape[n] > 1; /* else it may be of any size */
        cuda_dims_add(&dims, src->shape[n], out->strides[d] * (steps ? k->attr[4] : 1), src->strides[n]);
        n++;
    }
    if (two >= 0) cuda_dims_add(&dims, src->shape[n], out->strides[one] + out->strides[two], src->strides[n]);
    char *to = (char *)rl_data(out, RL_WRITE) + k->attr[0] * rl_itemsize(out->dtype);
    return cuda_cast_copy_dims(k, &dims, to, out->dtype, rl_const_data(src), src->dtype);
}

/* ==== as_strided_scatter: memory laid anew, since parts may reach what the input steps over. Of several
 * elements at one place the last wins ==== */
/* operands: the memory, the part; both row by row */
__global__ void __launch_bounds__(CUDA_THREADS) claim_memory(cuda_iter w, unsigned long long *winner) {
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_iter_seek(w, i, at);
        atomicMax(&winner[at[0]], (unsigned long long)i + 1);
    }
}
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    pour_winners(cuda_iter w, T *to, const T *from, const unsigned long long *winner) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_iter_seek(w, i, at);
        if (winner[at[0]] == (unsigned long long)i + 1) to[at[0]] = from[at[1]];
    }
}

/* how far the last element lies from the first */
static int64_t reach_of(const rl_view *v) {
    int64_t far = 0;
    for (int d = 0; d < v->ndim; d++) far += (v->shape[d] - 1) * v->strides[d];
    return far;
}

static rl_status pour(rl_call *k, const rl_view *part, const rl_view *src, void *to) {
    const rl_view *views[2] = {part, src};
    const cudaStream_t s = cuda_stream_of(k);
    unsigned long long *winner = (unsigned long long *)cuda_zeros(k, reach_of(part) + 1, RL_I64);
    cuda_iter w;
    if (!winner || rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    if (!cuda_iter_make(&w, views, 2)) return RL_UNSUPPORTED;
    CUDA_LAUNCH((claim_memory), cuda_iter_blocks(&w), CUDA_THREADS, s, w, winner);
    switch (rl_itemsize(src->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((pour_winners<T>), cuda_iter_blocks(&w), CUDA_THREADS, s, w, (T *)to,                    \
                    (const T *)rl_const_data(src), (const unsigned long long *)winner);                      \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

static rl_status lay(rl_call *k, const rl_view *part, void *to, const rl_view *from, const void *at) {
    cuda_dims dims = cuda_dims_none();
    for (int d = 0; d < part->ndim; d++)
        cuda_dims_add(&dims, part->shape[d], part->strides[d], from->strides[d]);
    return cuda_cast_copy_dims(k, &dims, to, part->dtype, at, from->dtype);
}
static rl_status write_part(rl_call *k, const rl_view *part, void *to, const rl_view *from) {
    return cuda_shares_memory(part) ? pour(k, part, from, to) : lay(k, part, to, from, rl_const_data(from));
}

/* (input, src, size, stride, storage_offset); attr[0]: where the part begins, from the input's first element
 */
CUDA_KERNEL(cuda_strided_scatter) {
    const rl_view *x = rl_in(k, 0), *src = rl_in(k, 1), *out = k->out[0];
    rl_view part = *src;
    if (!cuda_all_here(k) || src->dtype != out->dtype) return RL_UNSUPPORTED;
    if (out->numel == 0 || src->numel == 0) return cuda_start(k);
    part.strides = k->arg[3].u.ints;
    const int64_t offset = k->attr[0], all = reach_of(x), end = offset + reach_of(&part);
    const int64_t low = offset < 0 ? offset : 0, high = end > all ? end : all;
    const int64_t item = rl_itemsize(out->dtype);
    char *memory = (char *)k->svc->scratch(k, RL_COUNT(high - low + 1, item), 1);
    if (!memory) return RL_FAIL;
    char *whole = memory - low * item;
    rl_status status = write_part(k, x, whole, x);
    if (status == RL_OK) status = write_part(k, &part, whole + offset * item, src);
    return status == RL_OK ? lay(k, out, rl_data(out, RL_WRITE), x, whole) : status;
}
