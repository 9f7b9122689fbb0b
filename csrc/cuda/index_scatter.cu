/* scatter and its kin: Note [CUDA scattering]. */
#include "scatter.h"

/* ---- the last one wins ---- */
template <class Word>
__global__ void __launch_bounds__(CUDA_THREADS) claim_slots(cuda_walk w, cuda_places slots, Word *winner) {
    CUDA_EACH(i, w) {
        int64_t at[SCATTER_OPS], slot;
        cuda_walk_seek(w, i, at);
        if (cuda_place(slots, at[SCATTER_INDEX], &slot))
            atomicMax(&winner[at[SCATTER_SLOT] + slot], (Word)(at[SCATTER_CLAIM] + 1));
    }
}

/* winner NULL: every place is that of one element only */
template <class T, class Word>
__global__ void __launch_bounds__(CUDA_THREADS)
    set_elements(cuda_walk w, T *to, cuda_places places, const T *from, cuda_places slots,
                 const Word *winner) {
    CUDA_EACH(i, w) {
        int64_t at[SCATTER_OPS], place, slot;
        cuda_walk_seek(w, i, at);
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
    cuda_walk all, claims, whole;
    Word *winner = nullptr;
    if (!cuda_dims_walk(&all, &s->all, SCATTER_OPS) || !cuda_dims_walk(&claims, &s->claims, SCATTER_OPS))
        return RL_UNSUPPORTED;
    if (s->n_slots > 0) {
        cuda_dims slots = cuda_dims_none();
        cuda_dims_add(&slots, s->n_slots, 1);
        winner = (Word *)k->svc->scratch(k, RL_COUNT(s->n_slots), sizeof(Word));
        if (!winner || !cuda_dims_walk(&whole, &slots, 1) ||
            cuda_fill_walk(k, whole, winner, sizeof(Word), none) != RL_OK)
            return RL_FAIL;
        CUDA_LAUNCH((claim_slots<Word>), cuda_walk_blocks(&claims), CUDA_THREADS, stream, claims, s->slots,
                    winner);
    }
    from = (const char *)from + s->first * item;
    switch (item) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((set_elements<T, Word>), cuda_walk_blocks(&all), CUDA_THREADS, stream, all, (T *)to,     \
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
    join_elements(cuda_walk w, T *to, cuda_places places, const void *from, int from_dtype, int join,
                  C alpha) {
    CUDA_EACH(i, w) {
        int64_t at[SCATTER_SLOT], place;
        cuda_walk_seek(w, i, at);
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
    CUDA_FLOAT_TYPES(X)

rl_status cuda_join_run(rl_call *k, cuda_scattering *s, void *to, int dtype, const cuda_joining &j) {
    const void *from = (const char *)j.from + s->first * rl_itemsize(j.from_dtype);
    cuda_walk w;
    if (s->all.numel == 0) return RL_OK;
    if (k->svc->deterministic && rl_is_float(dtype)) return cuda_join_in_order(k, s, to, dtype, j);
    if (!cuda_dims_walk(&w, &s->all, SCATTER_SLOT)) return RL_UNSUPPORTED;
    switch (dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((join_elements<T, C>), cuda_walk_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w,         \
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
    cuda_walk w;
    cuda_dims_add(&all, n, 1);
    return p && cuda_dims_walk(&w, &all, 1) && cuda_fill_walk(k, w, p, item, zero) == RL_OK ? p : nullptr;
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
    return cuda_move_dims(k, &dims, to_data, to->dtype, from_data, from->dtype);
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
    if (out->dtype == RL_BOOL && j.join == RL_JOIN_ADD && !j.whole_alpha) return RL_OK;
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
    divide_by_counts(cuda_walk w, void *to, int dtype, bool is_float, const int64_t *counts) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_walk_seek(w, i, at);
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

rl_status cuda_divide(rl_call *k, const cuda_walk &w, void *to, int dtype, const int64_t *counts) {
    CUDA_LAUNCH((divide_by_counts), cuda_walk_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, to, dtype,
                rl_is_float(dtype), counts);
    return rl_cuda_end(k);
}
