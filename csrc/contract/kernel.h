/* Everything a kernel may know. C11, C++17 and nvcc compile this header; it includes no Python.h.
 *
 *   dispatcher ──► rl_call { out[], arg[], attr[], svc } ──► kernel ──► RL_OK
 *                                                              └──► RL_UNSUPPORTED, nothing written:
 *                                                                   the next kernel of the operator is tried
 *
 * A kernel owns nothing: memory comes from svc->scratch, threads from svc->parallel, errors go to
 * svc->fail. It has no globals and never calls malloc, so it cannot leak and cannot raise. */
#ifndef RL_KERNEL_H
#define RL_KERNEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "random.h"

#define RL_MAX_DIMS   64
#define RL_SMALL_DIMS 5
#define RL_MAX_ARGS   24
#define RL_MAX_OUT    8
#define RL_MAX_ATTR   20
#define RL_MAX_USED   4
#define RL_KERNEL_ABI 4

#define RL_LIKELY(x)   __builtin_expect(!!(x), 1)
#define RL_UNLIKELY(x) __builtin_expect(!!(x), 0)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- dtypes ---- */
typedef struct {
    uint16_t bits;
} rl_half;
typedef struct {
    uint16_t bits;
} rl_bfloat;
typedef struct {
    rl_half re, im;
} rl_complex32;
typedef struct {
    float re, im;
} rl_complex64;
typedef struct {
    double re, im;
} rl_complex128;

/* X(enum, C type, torch's name, torch's C++ name) in the order of torch's ScalarType. */
#define RL_COMPUTED_DTYPES(X)                                                                                \
    X(RL_U8, uint8_t, uint8, Byte)                                                                           \
    X(RL_I8, int8_t, int8, Char)                                                                             \
    X(RL_I16, int16_t, int16, Short)                                                                         \
    X(RL_I32, int32_t, int32, Int)                                                                           \
    X(RL_I64, int64_t, int64, Long)                                                                          \
    X(RL_F16, rl_half, float16, Half)                                                                        \
    X(RL_F32, float, float32, Float)                                                                         \
    X(RL_F64, double, float64, Double)                                                                       \
    X(RL_BOOL, uint8_t, bool, Bool)                                                                          \
    X(RL_BF16, rl_bfloat, bfloat16, BFloat16)
/* Note [Converted dtypes]
 * No kernel computes with these. Files bring them; they are kept, viewed, copied, shown, converted where that
 * means something, and saved again. A row refuses them unless its mask is ANY; rl_types_resolve sees to it.
 */
#define RL_CONVERTED_DTYPES(X)                                                                               \
    X(RL_C32, rl_complex32, complex32, ComplexHalf)                                                          \
    X(RL_C64, rl_complex64, complex64, ComplexFloat)                                                         \
    X(RL_C128, rl_complex128, complex128, ComplexDouble)                                                     \
    X(RL_U16, uint16_t, uint16, UInt16)                                                                      \
    X(RL_U32, uint32_t, uint32, UInt32)                                                                      \
    X(RL_U64, uint64_t, uint64, UInt64)                                                                      \
    X(RL_F8E5M2, uint8_t, float8_e5m2, Float8_e5m2)                                                          \
    X(RL_F8E4M3, uint8_t, float8_e4m3fn, Float8_e4m3fn)                                                      \
    X(RL_F8E5M2Z, uint8_t, float8_e5m2fnuz, Float8_e5m2fnuz)                                                 \
    X(RL_F8E4M3Z, uint8_t, float8_e4m3fnuz, Float8_e4m3fnuz)                                                 \
    X(RL_F8E8M0, uint8_t, float8_e8m0fnu, Float8_e8m0fnu)                                                    \
    X(RL_F4X2, uint8_t, float4_e2m1fn_x2, Float4_e2m1fn_x2)                                                  \
    X(RL_QI8, int8_t, qint8, QInt8)                                                                          \
    X(RL_QU8, uint8_t, quint8, QUInt8)                                                                       \
    X(RL_QI32, int32_t, qint32, QInt32)                                                                      \
    X(RL_QU4X2, uint8_t, quint4x2, QUInt4x2)                                                                 \
    X(RL_QU2X4, uint8_t, quint2x4, QUInt2x4)                                                                 \
    X(RL_BITS1X8, uint8_t, bits1x8, Bits1x8)                                                                 \
    X(RL_BITS2X4, uint8_t, bits2x4, Bits2x4)                                                                 \
    X(RL_BITS4X2, uint8_t, bits4x2, Bits4x2)                                                                 \
    X(RL_BITS8, uint8_t, bits8, Bits8)                                                                       \
    X(RL_BITS16, uint16_t, bits16, Bits16)
#define RL_DTYPES(X) RL_COMPUTED_DTYPES(X) RL_CONVERTED_DTYPES(X)
typedef enum {
#define X(e, c, n, t) e,
    RL_DTYPES(X)
#undef X
        RL_NDTYPES
} rl_dtype;

/* sets of dtypes, with room for twice as many */
#define RL_BIT(dtype)    ((uint64_t)1 << (dtype))
#define RL_SET_FLOATS    (RL_BIT(RL_F16) | RL_BIT(RL_F32) | RL_BIT(RL_F64) | RL_BIT(RL_BF16))
#define RL_SET_INTS      (RL_BIT(RL_U8) | RL_BIT(RL_I8) | RL_BIT(RL_I16) | RL_BIT(RL_I32) | RL_BIT(RL_I64))
#define RL_SET_BOOL      RL_BIT(RL_BOOL)
#define RL_SET_NUMBERS   (RL_SET_FLOATS | RL_SET_INTS)
#define RL_SET_INTEGRAL  (RL_SET_INTS | RL_SET_BOOL)
#define RL_SET_ALL       (RL_SET_NUMBERS | RL_SET_BOOL)
#define RL_SET_ANY       (RL_BIT(RL_NDTYPES) - 1)
#define RL_SET_CONVERTED (RL_SET_ANY & ~RL_SET_ALL)
#define RL_SET_COMPLEX   (RL_BIT(RL_C32) | RL_BIT(RL_C64) | RL_BIT(RL_C128))
#define RL_SET_FLOAT8                                                                                        \
    (RL_BIT(RL_F8E5M2) | RL_BIT(RL_F8E4M3) | RL_BIT(RL_F8E5M2Z) | RL_BIT(RL_F8E4M3Z) | RL_BIT(RL_F8E8M0))
/* the converted ones whose values are numbers that others can hold */
#define RL_SET_CONVERTIBLE (RL_SET_COMPLEX | RL_SET_FLOAT8 | RL_BIT(RL_U16) | RL_BIT(RL_U32) | RL_BIT(RL_U64))
static inline bool rl_is_float(int dtype) { /* one of the four that kernels compute with */
    return (RL_SET_FLOATS >> dtype) & 1;
}
static inline bool rl_is_converted(int dtype) {
    return RL_SET_CONVERTED >> dtype & 1;
}

/* ---- counts ----
 * A number of elements or bytes that memory is asked for. It is a struct so that a bare product, which may
 * have wrapped, cannot pass for one. -1: more than fits in int64; that survives every further step. */
typedef struct {
    int64_t n;
} rl_count;
static inline rl_count rl_count_times(rl_count c, int64_t by) {
    if (by == 0) return (rl_count){0};
    if (c.n < 0 || by < 0 || __builtin_mul_overflow(c.n, by, &c.n)) c.n = -1;
    return c;
}
static inline rl_count rl_count_plus(rl_count c, int64_t more) {
    if (c.n < 0 || more < 0 || __builtin_add_overflow(c.n, more, &c.n)) c.n = -1;
    return c;
}
static inline rl_count rl_count_product(const int64_t *factors, int n) {
    rl_count c = {n == 0 ? 1 : factors[0] < 0 ? -1 : factors[0]};
    for (int i = 1; i < n; i++) c = rl_count_times(c, factors[i]);
    return c;
}
static inline rl_count rl_count_round_up(rl_count c, int64_t multiple) {
    c = rl_count_plus(c, multiple - 1);
    return c.n < 0 ? c : (rl_count){c.n / multiple * multiple};
}
/* RL_COUNT(rows, cols, threads): their product, checked */
#define RL_COUNT(...)                                                                                        \
    rl_count_product((const int64_t[]){__VA_ARGS__},                                                         \
                     (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* ---- devices ---- */
typedef enum { RL_CPU, RL_CUDA, RL_META, RL_NDEVICES } rl_device_type;

/* ---- status ---- */
typedef enum { RL_OK = 0, RL_UNSUPPORTED, RL_FAIL } rl_status;
typedef enum { RL_RUNTIME = 1, RL_VALUE, RL_TYPE, RL_INDEX, RL_MEMORY, RL_NOTIMPL } rl_error;

/* ---- storage and view ---- */
typedef struct rl_packed rl_packed;
/* Note [Storage]
 *   owned     header and bytes lie in one block      free == NULL
 *   borrowed  bytes belong to NumPy, a file map ...  free(owner) gives them back
 *   hollow    on the meta device: mem_ is NULL, and no kernel ever runs on it
 * `writes` is a sequence lock: Note [Writes]. Packed weights are the same values in a kernel's layout,
 * good for one value of `writes`; none is kept while `exports` > 0 (somebody outside can write unseen) nor
 * once `pointer_seen` is set.
 * `pins` > 0: a kernel runs on it without the GIL, so it cannot be resized. */
typedef struct rl_storage {
    void *mem_; /* only rl_data and core_storage touch it: tests/architecture/test_components.py looks */
    size_t nbytes;
    uint64_t writes;
    rl_packed *packed;
    void (*free)(void *owner);
    void *owner;
    int32_t refs, pins, exports;
    uint32_t version;
    uint8_t device, size_class, pointer_seen, resizable;
    int8_t device_index;
    uint8_t foreign; /* one of the exports is the owner of borrowed bytes */
} rl_storage;

typedef struct rl_view {
    rl_storage *storage;
    int64_t offset; /* in elements, as the strides */
    int64_t numel;
    int64_t *shape, *strides; /* into `small`, or one heap block beyond RL_SMALL_DIMS */
    uint8_t dtype, device, ndim;
    int8_t device_index;
    int64_t small[2 * RL_SMALL_DIMS];
} rl_view;

/* bytes per element; the table lives in the header so that kernels of another extension have it */
static inline int64_t rl_itemsize(int dtype) {
    static const uint8_t size[RL_NDTYPES] = {
#define X(e, c, n, t) sizeof(c),
        RL_DTYPES(X)
#undef X
    };
    return size[dtype];
}

/* Note [Writes]
 *
 *   writes    63 ................ 16 │ 15 ............ 0
 *             writes that have ended │ writers at work
 *
 * Whoever may change a byte that others can see brackets it with rl_write_begin and rl_write_end; what two
 * threads count is never lost. A reader that copies the bytes (packed weights) trusts its copy only if
 * nobody was writing when it began and the word is the same afterwards. The dispatcher does this for all
 * results of a call but new ones, whose memory nobody else has seen yet. */
enum { RL_WRITERS = 0xffff };
#ifndef RL_CHECKED
#define RL_CHECKED 0 /* 1 in builds for debugging: new results are bracketed, too, and rl_data looks */
#endif
static inline void rl_write_begin(rl_storage *s) {
    __atomic_fetch_add(&s->writes, 1, __ATOMIC_ACQ_REL);
}
static inline void rl_write_end(rl_storage *s) {
    __atomic_fetch_add(&s->writes, (uint64_t)RL_WRITERS, __ATOMIC_RELEASE); /* one ended, one fewer at work */
}

enum { RL_READ = 1, RL_WRITE = 2, RL_FRESH = 4 };
/* The one door to memory. RL_WRITE stands inside a bracket of Note [Writes]; RL_FRESH is a write to memory
 * that nobody else has seen. */
static inline void *rl_data(const rl_view *v, int mode) {
    if (RL_CHECKED && (mode & RL_WRITE) &&
        !(__atomic_load_n(&v->storage->writes, __ATOMIC_RELAXED) & RL_WRITERS))
        __builtin_trap(); /* a write that nobody announced */
    /* a view without elements may begin anywhere: its address is never used, and may wrap */
    return (char *)((uintptr_t)v->storage->mem_ + (uint64_t)v->offset * (uint64_t)rl_itemsize(v->dtype));
}
static inline const void *rl_const_data(const rl_view *v) {
    return rl_data(v, RL_READ);
}

static inline bool rl_is_contiguous(const rl_view *v) {
    int64_t expected = 1;
    if (v->numel == 0) return true;
    for (int i = v->ndim - 1; i >= 0; i--) {
        if (v->shape[i] == 1) continue;
        if (v->strides[i] != expected) return false;
        expected *= v->shape[i];
    }
    return true;
}

/* do elements share memory because a dimension has stride 0? */
static inline bool rl_view_expanded(const rl_view *v) {
    for (int d = 0; d < v->ndim; d++)
        if (v->strides[d] == 0 && v->shape[d] > 1 && v->numel) return true;
    return false;
}

/* ---- one call of one operator ---- */
typedef enum {
    RL_NONE,    /* absent or None */
    RL_TENSOR,  /* u.t */
    RL_TENSORS, /* u.ts, n */
    RL_INT,     /* u.i */
    RL_FLOAT,   /* u.d */
    RL_TRUTH,   /* u.i is 0 or 1 */
    RL_INTS,    /* u.ints, n */
    RL_TEXT,    /* u.s */
    RL_DTYPE,   /* u.i */
    RL_RNG,     /* u.g */
    RL_OBJECT,  /* u.o, used above the kernels only */
    RL_PLACE,   /* in a node: tensors stood here, n of them; what the operator saves lies elsewhere */
} rl_slot_tag;
typedef struct {
    uint8_t tag;
    int32_t n;
    union {
        rl_view *t;
        rl_view **ts;
        int64_t i;
        double d;
        int64_t *ints;
        const char *s;
        rl_generator *g;
        void *o;
    } u;
} rl_slot;

/* how an element joins the one that is there: attr[] of scatter and its kin */
enum { RL_JOIN_SET, RL_JOIN_ADD, RL_JOIN_MUL, RL_JOIN_MAX, RL_JOIN_MIN, RL_JOIN_MEAN };

typedef struct rl_call rl_call;
typedef struct rl_services {
    int abi;
    int isa; /* RL_ISA_* of this CPU (0 when RL_KERNELS=ref) */
    /* Memory for this call, 64-byte aligned; NULL when there is none (then: return RL_FAIL). */
    void *(*scratch)(rl_call *k, rl_count n, size_t itemsize);
    /* body(ctx, begin, end, thread) over [0, n) in chunks of at least `grain`, in any order; thread is less
     * than k->threads. */
    void (*parallel)(rl_call *k, int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t, int),
                     void *ctx);
    /* Sets the count that OpenMP keeps for this thread, for a library that reads it; answers the old one. */
    int (*openmp)(rl_call *k, int threads);
    /* Records PyTorch's text and kind; always answers RL_FAIL. */
    rl_status (*fail)(rl_call *k, rl_error kind, const char *format, ...);
    /* The packed weights of v under `key` if it is still good, else NULL. */
    void *(*packed_find)(rl_call *k, const rl_view *v, uint64_t key);
    /* Room for new packed weights, which this call may use to its end; NULL when none may be kept.
     * packed_ready publishes it, unless somebody wrote to v meanwhile. */
    void *(*packed_new)(rl_call *k, const rl_view *v, uint64_t key, rl_count n, size_t itemsize);
    void (*packed_ready)(rl_call *k, const rl_view *v, uint64_t key);
    int vendor_; /* 1 once a vendor's library (oneDNN) serves, which may happen beside calls: rl_has_vendor */
} rl_services;
enum { RL_ISA_AVX2 = 1, RL_ISA_AVX512 = 2 };

struct rl_call {
    const rl_services *svc;
    const char *name; /* of the operator, for messages */
    int n_arg, n_out;
    int threads;               /* how many svc->parallel may use: one number for the whole call */
    rl_slot arg[RL_MAX_ARGS];  /* in the order of the operator's schema */
    rl_view *out[RL_MAX_OUT];  /* allocated by the dispatcher; never overlap an input unless in-place */
    int64_t attr[RL_MAX_ATTR]; /* what the shape rule normalised for the kernels */
    void *stream;              /* device stream; NULL on the CPU */
    void *scratch_;            /* the dispatcher's: memory of this call, */
    rl_packed *packing_;       /*   packed weights not yet published, */
    rl_packed *used_[RL_MAX_USED];
    int n_used_; /*   published ones that it reads */
};

static inline const rl_view *rl_in(const rl_call *k, int i) {
    return k->arg[i].tag == RL_TENSOR ? k->arg[i].u.t : NULL;
}
static inline double rl_num(const rl_call *k, int i) {
    return k->arg[i].tag == RL_FLOAT ? k->arg[i].u.d : (double)k->arg[i].u.i;
}
static inline int64_t rl_int(const rl_call *k, int i) {
    return k->arg[i].tag == RL_FLOAT ? (int64_t)k->arg[i].u.d : k->arg[i].u.i;
}
/* The numbers of an int[] argument, which may have been given as one; none when it is absent. How many there
 * are is the caller's choice: rl_ints_read (ops/shape/shape.h) is for operators that need n of them. */
typedef struct {
    const int64_t *at;
    int n;
} rl_ints;
static inline rl_ints rl_ints_of(const rl_call *k, int arg) {
    const rl_slot *s = &k->arg[arg];
    rl_ints list = {s->tag == RL_INTS ? s->u.ints : &s->u.i, s->tag == RL_INTS ? s->n : s->tag == RL_INT};
    return list;
}
/* Does a vendor's library serve, so that a kernel may leave to it what it does better? */
static inline bool rl_has_vendor(const rl_call *k) {
    return __atomic_load_n(&k->svc->vendor_, __ATOMIC_ACQUIRE) != 0;
}
#define rl_fail(k, ...) ((k)->svc->fail((k), __VA_ARGS__))

typedef rl_status (*rl_kernel_fn)(rl_call *k);
#define RL_KERNEL(name)                                                                                      \
    rl_status name(rl_call *k);                                                                              \
    rl_status name(rl_call *k)

/* ---- half precision ---- */
static inline float rl_bits_float(uint32_t u) {
    union {
        uint32_t u;
        float f;
    } x = {u};
    return x.f;
}
static inline uint32_t rl_float_bits(float f) {
    union {
        float f;
        uint32_t u;
    } x = {f};
    return x.u;
}
static inline float rl_from_bfloat(rl_bfloat b) {
    return rl_bits_float((uint32_t)b.bits << 16);
}
static inline rl_bfloat rl_to_bfloat(float f) { /* round to nearest even; NaN stays NaN */
    uint32_t u = rl_float_bits(f);
    rl_bfloat b;
    b.bits = (uint16_t)(f != f ? 0x7fc0 : (u + 0x7fff + ((u >> 16) & 1)) >> 16);
    return b;
}
static inline float rl_from_half(rl_half h) {
    uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16, exp = (h.bits >> 10) & 31, man = h.bits & 0x3ff;
    if (exp == 31) return rl_bits_float(sign | 0x7f800000 | man << 13);
    if (exp == 0) return (sign ? -1.0f : 1.0f) * (float)man * rl_bits_float(0x33800000); /* man * 2^-24 */
    return rl_bits_float(sign | (exp + 112) << 23 | man << 13);
}
static inline rl_half rl_to_half(float f) {
    uint32_t u = rl_float_bits(f), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    rl_half h;
    if (a > 0x7f800000) {
        h.bits = (uint16_t)(sign | 0x7e00);
    } else if (a >= 0x477ff000) { /* rounds to infinity */
        h.bits = (uint16_t)(sign | 0x7c00);
    } else if (a < 0x38800000) { /* subnormal: let the float adder round */
        h.bits = (uint16_t)(sign | (rl_float_bits(rl_bits_float(a) + 0.5f) - 0x3f000000));
    } else {
        h.bits = (uint16_t)(sign | (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13);
    }
    return h;
}

#ifdef __cplusplus
}
#endif
#endif
