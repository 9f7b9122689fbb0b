/* Elements that follow from where they stand: sequences, the places of a triangle. */
#include "moves.h"

/* ---- sequences ---- */
enum sequence_kind {
    WHOLE,        /* start + step * i in integers, which wrap */
    LINE,         /* the same in doubles */
    FROM_ENDS,    /* to the middle from both, so that both are met exactly */
    POWERS,       /* of a base; those are the exponents */
    FLOAT_POWERS, /* ... in float32 */
};
typedef struct {
    int kind;
    int64_t n, whole_start, whole_step;
    double start, end, step, base;
} sequence;

static __device__ double sequence_at(const sequence &s, int64_t i) {
    const bool forth = s.kind == LINE || i < s.n / 2 || s.n == 1;
    return forth ? s.start + s.step * (double)i : s.end - s.step * (double)(s.n - 1 - i);
}

template <class T> __device__ T sequence_element(const sequence &s, int dtype, int64_t i) {
    if (s.kind == WHOLE)
        return cuda_cast<T>((int64_t)((uint64_t)s.whole_start + (uint64_t)s.whole_step * (uint64_t)i));
    const double x = sequence_at(s, i);
    if (s.kind == POWERS) return cuda_cast<T>(pow(s.base, x));
    if (s.kind < POWERS) return cuda_cast<T>(x);
    const float exponent = cuda_rounded(dtype, (float)x); /* as linspace() answers it */
    return cuda_cast<T>((float)pow((double)(float)s.base, (double)exponent));
}

template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) write_sequence(sequence s, int dtype, T *to) {
    CUDA_EACH_OF(i, s.n) to[i] = sequence_element<T>(s, dtype, i);
}

static rl_status write_all(rl_call *k, const sequence &s) {
    const rl_view *out = k->out[0];
    if (s.n == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (out->dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag:                                                                                                \
        CUDA_LAUNCH((write_sequence<T>), cuda_blocks_of(s.n), CUDA_THREADS, cuda_stream_of(k), s, tag,       \
                    (T *)rl_data(out, RL_WRITE));                                                            \
        break;
        CUDA_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

static sequence sequence_of(const rl_call *k, int kind) {
    sequence s = {};
    s.kind = kind;
    s.n = k->out[0]->numel;
    return s;
}

CUDA_KERNEL(cuda_arange) {
    const bool from_zero = k->attr[0] < 0, by_one = k->attr[1] < 0;
    sequence s = sequence_of(k, rl_is_float(k->out[0]->dtype) ? LINE : WHOLE);
    s.start = from_zero ? 0 : rl_num(k, 0);
    s.step = by_one ? 1 : rl_num(k, 2);
    if (s.kind == WHOLE) {
        s.whole_start = from_zero ? 0 : rl_int(k, 0);
        s.whole_step = by_one ? 1 : rl_int(k, 2);
    }
    return write_all(k, s);
}

CUDA_KERNEL(cuda_range) {
    sequence s = sequence_of(k, LINE);
    s.start = rl_num(k, 0);
    s.step = rl_num(k, 2);
    return write_all(k, s);
}

/* the ends as the result's dtype sees them */
static rl_status ends_read(rl_call *k, sequence *s) {
    const int dtype = k->out[0]->dtype;
    double *end[2] = {&s->start, &s->end};
    for (int i = 0; i < 2; i++) {
        uint64_t bits;
        if (cuda_element(k, i, dtype, &bits) != RL_OK) return RL_FAIL;
        *end[i] = cuda_element_number(dtype, bits);
    }
    s->step = s->n > 1 ? (s->end - s->start) / (double)(s->n - 1) : 0;
    if (rl_is_float(dtype) && dtype != RL_F64) s->step = (float)s->step;
    return RL_OK;
}

CUDA_KERNEL(cuda_linspace) {
    sequence s = sequence_of(k, FROM_ENDS);
    return ends_read(k, &s) == RL_OK ? write_all(k, s) : RL_FAIL;
}

CUDA_KERNEL(cuda_logspace) {
    const int dtype = k->out[0]->dtype;
    sequence s = sequence_of(k, dtype == RL_F64 ? POWERS : FLOAT_POWERS);
    s.base = rl_num(k, 3);
    if (ends_read(k, &s) != RL_OK) return RL_FAIL;
    if (!rl_is_float(dtype)) { /* exponents between whole numbers count as they are */
        s.start = rl_num(k, 0), s.end = rl_num(k, 1);
        s.step = s.n > 1 ? (s.end - s.start) / (double)(s.n - 1) : 0;
    }
    return write_all(k, s);
}

/* ---- triangles: `below` counts the places of a row up to the diagonal, which belongs to them ---- */
typedef struct {
    int64_t rows, columns, offset, n;
    bool above; /* asked for are the other ones of each row */
} triangle;

static __device__ int64_t places_below(const triangle &t, int64_t row) {
    const int64_t n = row + t.offset + 1;
    return n < 0 ? 0 : n > t.columns ? t.columns : n;
}

/* places in all rows before this one: rows without any, rows that grow by one each, whole rows */
static __device__ int64_t places_before(const triangle &t, int64_t row) {
    const int64_t none = t.offset < 0 ? -t.offset : 0, whole = t.columns - 1 - t.offset;
    const int64_t grown = row < whole ? row : whole; /* the first row that does not grow */
    int64_t n = 0;
    if (grown > none) n = (places_below(t, none) + places_below(t, grown - 1)) * (grown - none) / 2;
    const int64_t first = whole > 0 ? whole : 0;
    if (row > first) n += (row - first) * t.columns;
    return t.above ? row * t.columns - n : n;
}

static __device__ int64_t row_of(const triangle &t, int64_t place) {
    int64_t low = 0, high = t.rows - 1;
    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (places_before(t, middle) <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

template <class T> __global__ void __launch_bounds__(CUDA_THREADS) write_triangle(triangle t, T *to) {
    CUDA_EACH_OF(i, t.n) {
        const int64_t row = row_of(t, i);
        to[i] = (T)row;
        to[t.n + i] = (T)(i - places_before(t, row) + (t.above ? places_below(t, row) : 0));
    }
}

static rl_status triangle_indices(rl_call *k, bool above) {
    const rl_view *out = k->out[0];
    triangle t = {rl_int(k, 0), rl_int(k, 1), rl_int(k, 2), out->shape[1], above};
    int64_t all;
    if (t.n == 0) return RL_OK;
    if (__builtin_mul_overflow(t.rows, t.columns, &all)) return RL_UNSUPPORTED;
    if (above && t.offset > INT64_MIN) t.offset--; /* what is not above is below the next diagonal */
    if (t.offset < -t.rows) t.offset = -t.rows;
    if (t.offset > t.columns) t.offset = t.columns;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    if (out->dtype == RL_I64)
        CUDA_LAUNCH((write_triangle<int64_t>), cuda_blocks_of(t.n), CUDA_THREADS, cuda_stream_of(k), t,
                    (int64_t *)rl_data(out, RL_WRITE));
    else
        CUDA_LAUNCH((write_triangle<int32_t>), cuda_blocks_of(t.n), CUDA_THREADS, cuda_stream_of(k), t,
                    (int32_t *)rl_data(out, RL_WRITE));
    return rl_cuda_end(k);
}
CUDA_KERNEL(cuda_tril_indices) {
    return triangle_indices(k, false);
}
CUDA_KERNEL(cuda_triu_indices) {
    return triangle_indices(k, true);
}
