/* Storages and the views that tensors are of them. */
#ifndef RL_KERNEL_ABI_VIEW_H
#define RL_KERNEL_ABI_VIEW_H
#include "dtype.h"

#define RL_MAX_DIMS   64
#define RL_SMALL_DIMS 5

/* ---- devices ---- */
typedef enum { RL_CPU, RL_CUDA, RL_META, RL_NDEVICES } rl_device_type;

typedef struct rl_packed rl_packed;
/* Note [Storage]
 *   owned     header and bytes lie in one block      free == NULL, or owner is itself: somebody counts bytes
 *   borrowed  bytes belong to NumPy, a file map ...  free(owner) gives them back
 *   hollow    on the meta device: mem_ is NULL, and no kernel ever runs on it
 * `writes` is a sequence lock: Note [Writes]. Packed weights are the same values in a kernel's layout,
 * good for one value of `writes`; none is kept while `exports` > 0 (somebody outside can write unseen) nor
 * once `pointer_seen` is set.
 * `in_use` > 0: a kernel runs on it without the GIL, so it cannot be resized; nor while it has `readers`,
 * buffers that only read.
 * `reach`: bytes behind nbytes that tensors from before a resize_() still see, or 0. */
typedef struct rl_storage {
    void *mem_; /* only rl_data and core_storage touch it: tests/architecture/test_components.py looks */
    size_t nbytes, reach;
    uint64_t writes;
    rl_packed *packed;
    void (*free)(void *owner);
    void *owner;
    int32_t refs, in_use, exports, readers;
    int32_t weak;  /* weak references, and one more for all strong ones; or 0 */
    void *object_; /* the UntypedStorage that stands for it in Python, which clears this when it dies */
    uint32_t version;
    uint8_t device, pointer_seen, resizable;
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

/* fills one block, each element once, in some order of its dims */
static inline bool rl_is_dense(const rl_view *v) {
    uint64_t left = v->ndim == 64 ? ~0ull : (1ull << v->ndim) - 1; /* dims whose place is not found */
    int64_t step = 1;
    for (int round = 0; round < v->ndim; round++)
        for (int d = 0; d < v->ndim; d++) {
            if (!(left >> d & 1) || (v->shape[d] != 1 && v->strides[d] != step)) continue;
            left &= ~(1ull << d);
            if (__builtin_mul_overflow(step, v->shape[d], &step)) return false;
            break;
        }
    return !left;
}

/* do elements share memory because a dimension has stride 0? */
static inline bool rl_view_expanded(const rl_view *v) {
    for (int d = 0; d < v->ndim; d++)
        if (v->strides[d] == 0 && v->shape[d] > 1 && v->numel) return true;
    return false;
}
#endif
