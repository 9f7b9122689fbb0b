/* New tensors: one number for all elements, and elements that follow from where they stand: sequences, the
 * indices of a triangle. */
#include "copy.cuh"
#include <math.h>
#include <string.h>

/* ==== one number for all elements ==== */
/* ---- filling ---- */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS) fill_elements(cuda_iter w, T *to, T value) {
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_iter_seek(w, i, at);
        to[at[0]] = value;
    }
}

rl_status cuda_fill_iter(rl_call *k, const cuda_iter &w, void *to, int64_t item, const uint64_t *element) {
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    if (w.is_flat && !element[0] && (item <= 8 || !element[1])) {
        cudaMemsetAsync(to, 0, (size_t)(w.numel * item), cuda_stream_of(k));
        return rl_cuda_end(k);
    }
    switch (item) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((fill_elements<T>), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, (T *)to,   \
                    cuda_from_words<T>(element));                                                            \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

/* elements that share memory get it once */
rl_status cuda_fill_view(rl_call *k, const rl_view *to, const uint64_t *element) {
    cuda_dims dims = cuda_dims_none();
    cuda_iter w;
    if (to->numel == 0) return RL_OK;
    for (int d = 0; d < to->ndim; d++)
        if (to->strides[d] != 0) cuda_dims_add(&dims, to->shape[d], to->strides[d]);
    if (!cuda_dims_iter(&w, &dims, 1)) return RL_UNSUPPORTED;
    return cuda_fill_iter(k, w, rl_data(to, RL_WRITE), rl_itemsize(to->dtype), element);
}

/* ---- numbers of a call ---- */
static bool holds(int dtype, double x, bool whole) {
    switch (dtype) {
    case RL_U8: return x >= (whole ? -255 : 0) && x <= 255; /* PyTorch lets whole ones wrap */
    case RL_I8: return x >= -128 && x <= 127;
    case RL_I16: return x >= -32768 && x <= 32767;
    case RL_I32: return x >= -0x1p31 && x <= 0x1p31 - 1;
    case RL_I64: return whole || (x >= -0x1p63 && x < 0x1p63);
    case RL_F16: return !(fabs(x) > 65504) || isinf(x);
    case RL_F32: return !(fabs(x) > 0x1.fffffep127) || isinf(x);
    case RL_BF16: return !(fabs(x) > 0x1.fep127) || isinf(x);
    default: return true;
    }
}

static const char *type_name(int dtype) {
    switch (dtype) {
    case RL_U8: return "uint8_t";
    case RL_I8: return "int8_t";
    case RL_I16: return "int16_t";
    case RL_I32: return "int";
    case RL_I64: return "int64_t";
    case RL_F16: return "c10::Half";
    case RL_F32: return "float";
    default: return "c10::BFloat16";
    }
}

template <class T> static uint64_t bits_of(T value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

/* exactly one of the two numbers counts */
static uint64_t element_bits(int dtype, bool whole, int64_t i, double d) {
    const double number = whole ? (double)i : d;
    switch (dtype) {
    case RL_F16: return bits_of(rl_to_half((float)number));
    case RL_BF16: return bits_of(rl_to_bfloat((float)number));
    case RL_F32: return bits_of((float)number);
    case RL_F64: return bits_of(number);
    case RL_BOOL: return whole ? i != 0 : d != 0;
    default: return whole ? (uint64_t)i : (uint64_t)(int64_t)d;
    }
}

uint64_t cuda_number_bits(int dtype, double number) {
    return element_bits(dtype, false, 0, number);
}

double cuda_element_number(int dtype, uint64_t bits) {
    const void *p = &bits;
    switch (dtype) {
    case RL_U8:
    case RL_BOOL: return *(const uint8_t *)p;
    case RL_I8: return *(const int8_t *)p;
    case RL_I16: return *(const int16_t *)p;
    case RL_I32: return *(const int32_t *)p;
    case RL_I64: return (double)(int64_t)bits;
    case RL_F16: return rl_from_half(cuda_from_words<rl_half>(&bits));
    case RL_BF16: return rl_from_bfloat(cuda_from_words<rl_bfloat>(&bits));
    case RL_F32: return cuda_from_words<float>(&bits);
    default: return cuda_from_words<double>(&bits);
    }
}

rl_status cuda_element(rl_call *k, int arg, int dtype, uint64_t *bits) {
    const rl_value *s = &k->arg[arg];
    if (s->tag == RL_TENSOR) {
        const rl_view *v = s->u.t;
        uint64_t own = 0;
        memcpy(&own, rl_const_data(v), (size_t)rl_itemsize(v->dtype));
        const double number = cuda_element_number(v->dtype, own);
        *bits = v->dtype == RL_I64 ? element_bits(dtype, true, (int64_t)own, 0)
                                   : element_bits(dtype, false, 0, number);
        return RL_OK;
    }
    const bool whole = s->tag != RL_FLOAT;
    if (!holds(dtype, whole ? (double)s->u.i : s->u.d, whole))
        return rl_fail(k, RL_RUNTIME, "value cannot be converted to type %s without overflow",
                       type_name(dtype));
    *bits = element_bits(dtype, whole, s->u.i, s->u.d);
    return RL_OK;
}

const void *cuda_bits_there(rl_call *k, uint64_t bits, int dtype) {
    const uint64_t element[2] = {bits, 0};
    cuda_dims one = cuda_dims_none();
    cuda_iter w;
    void *there = k->svc->scratch(k, RL_COUNT(1), 16);
    if (!there || !cuda_dims_iter(&w, &one, 1)) return nullptr;
    return cuda_fill_iter(k, w, there, rl_itemsize(dtype), element) == RL_OK ? there : nullptr;
}

const void *cuda_element_there(rl_call *k, int arg, int dtype) {
    const rl_view *v = rl_in(k, arg);
    cuda_dims one = cuda_dims_none();
    uint64_t bits = 0;
    if (!v || v->device == RL_CPU)
        return cuda_element(k, arg, dtype, &bits) == RL_OK ? cuda_bits_there(k, bits, dtype) : nullptr;
    if (v->dtype == dtype) return rl_const_data(v);
    void *there = k->svc->scratch(k, RL_COUNT(1), 16);
    if (!there || cuda_cast_copy_dims(k, &one, there, dtype, rl_const_data(v), v->dtype) != RL_OK)
        return nullptr;
    return there;
}

/* ---- the operators ---- */
static rl_status fill_out(rl_call *k, double number) {
    const uint64_t element[2] = {element_bits(k->out[0]->dtype, false, 0, number), 0};
    return cuda_fill_view(k, k->out[0], element);
}

CUDA_KERNEL(cuda_empty) {
    const int dtype = k->out[0]->dtype;
    const int part = dtype == RL_C32 ? RL_F16 : dtype == RL_C64 ? RL_F32 : dtype == RL_C128 ? RL_F64 : dtype;
    const int64_t item = rl_itemsize(dtype), part_item = rl_itemsize(part);
    uint64_t element[2] = {0, 0};
    if (RL_LIKELY(!k->svc->fill_unset)) return RL_OK;
    for (int64_t at = 0; at < item && rl_is_float(part); at += part_item) {
        const uint64_t nan = element_bits(part, false, 0, NAN);
        memcpy((char *)element + at, &nan, (size_t)part_item);
    }
    if (!rl_is_float(part)) {
        const bool is_signed = dtype == RL_I8 || dtype == RL_I16 || dtype == RL_I32 || dtype == RL_I64;
        element[0] = dtype == RL_BOOL ? 1 : UINT64_MAX >> (64 - 8 * item + is_signed);
    }
    return cuda_fill_view(k, k->out[0], element);
}

CUDA_KERNEL(cuda_zeros) {
    const uint64_t zero[2] = {0, 0};
    return cuda_fill_view(k, k->out[0], zero);
}
CUDA_KERNEL(cuda_ones) {
    return fill_out(k, 1);
}

/* fill_, full and full_like: argument 1 is the number */
CUDA_KERNEL(cuda_fill) {
    const rl_view *value = rl_in(k, 1);
    uint64_t element[2] = {0, 0};
    if (value && value->device != RL_CPU) return cuda_cast_copy_views(k, k->out[0], value);
    if (cuda_element(k, 1, k->out[0]->dtype, element) != RL_OK) return RL_FAIL;
    return cuda_fill_view(k, k->out[0], element);
}

CUDA_KERNEL(cuda_eye) {
    const rl_view *out = k->out[0];
    const int64_t rows = out->shape[0], columns = out->shape[1], step = columns + 1;
    const uint64_t one[2] = {element_bits(out->dtype, true, 1, 0), 0};
    cuda_dims line = cuda_dims_none();
    cuda_iter w;
    cuda_dims_add(&line, rows < columns ? rows : columns, step);
    if (!cuda_dims_iter(&w, &line, 1)) return RL_UNSUPPORTED;
    if (cuda_zeros(k) != RL_OK) return RL_FAIL;
    return cuda_fill_iter(k, w, rl_data(out, RL_WRITE), rl_itemsize(out->dtype), one);
}

/* ==== elements that follow from where they stand ==== */
/* ---- sequences ---- */
enum sequence_kind {
    INTEGER,      /* start + step * i in integers, which wrap */
    LINE,         /* the same in doubles */
    FROM_ENDS,    /* to the middle from both, so that both are met exactly */
    POWERS,       /* of a base; those are the exponents */
    FLOAT_POWERS, /* ... in float32 */
};
typedef struct {
    int kind;
    int64_t n, integer_start, integer_step;
    double start, end, step, base;
} sequence;

static __device__ double sequence_at(const sequence &s, int64_t i) {
    const bool forth = s.kind == LINE || i < s.n / 2 || s.n == 1;
    return forth ? s.start + s.step * (double)i : s.end - s.step * (double)(s.n - 1 - i);
}

template <class T> __device__ T sequence_element(const sequence &s, int dtype, int64_t i) {
    if (s.kind == INTEGER)
        return cuda_cast<T>((int64_t)((uint64_t)s.integer_start + (uint64_t)s.integer_step * (uint64_t)i));
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
    sequence s = sequence_of(k, rl_is_float(k->out[0]->dtype) ? LINE : INTEGER);
    s.start = from_zero ? 0 : rl_num(k, 0);
    s.step = by_one ? 1 : rl_num(k, 2);
    if (s.kind == INTEGER) {
        s.integer_start = from_zero ? 0 : rl_int(k, 0);
        s.integer_step = by_one ? 1 : rl_int(k, 2);
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
        uint64_t bits = 0;
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
