/* Storage: who owns bytes, when they were written, and the packed companions made from them. */
#include "core.h"
#include <pthread.h>
#include <string.h>

enum { HEADER = 192, CLASSES = 24, CLASS_NONE = 255, CACHED_PER_CLASS = 16 };
_Static_assert(sizeof(rl_storage) <= HEADER, "the bytes follow the header in one block");

/* Note [Block cache]
 * A forward pass frees and takes the same few sizes again and again, so blocks of up to 1 MiB are kept
 * by size class (powers of two from 64 bytes to 1 MiB and halfway steps); malloc sees the rest. Sanitizers
 * need to see every block. */
#if defined(__SANITIZE_ADDRESS__)
#define BLOCK_CACHE 0
#else
#define BLOCK_CACHE 1
#endif
static struct {
    void *block[CACHED_PER_CLASS];
    int n;
} cache[CLASSES + 8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child must not inherit the lock from a thread that it does not have. */
static void fork_hold(void) {
    pthread_mutex_lock(&lock);
}
static void fork_release(void) {
    pthread_mutex_unlock(&lock);
}
void rl_storage_guard_fork(void) {
    pthread_atfork(fork_hold, fork_release, fork_release);
}

static int class_of(size_t bytes, size_t *rounded) {
    size_t size = 64;
    int c = 0;
    while (size < bytes) {
        if (size + size / 2 >= bytes && size >= 128) {
            *rounded = size + size / 2;
            return c + 1;
        }
        size *= 2;
        c += 2;
        if (size > (1u << 20)) {
            *rounded = bytes;
            return CLASS_NONE;
        }
    }
    *rounded = size;
    return c;
}

static rl_storage *storage_block(size_t nbytes) {
    size_t rounded;
    int c = class_of(nbytes, &rounded);
    rl_storage *s = NULL;
    if (BLOCK_CACHE && c != CLASS_NONE && RL_LIKELY(!rl_alloc_armed())) {
        pthread_mutex_lock(&lock);
        if (cache[c].n > 0) s = cache[c].block[--cache[c].n];
        pthread_mutex_unlock(&lock);
    }
    if (!s) {
        if (rounded > (size_t)INT64_MAX - HEADER) {
            rl_error_set(RL_MEMORY, "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory");
            return NULL;
        }
        s = rl_alloc(HEADER + rounded);
    }
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->size_class = (uint8_t)c;
    s->mem_ = (char *)s + HEADER;
    return s;
}

static void block_free(rl_storage *s) {
    int c = s->size_class;
    if (BLOCK_CACHE && c != CLASS_NONE) {
        pthread_mutex_lock(&lock);
        if (cache[c].n < CACHED_PER_CLASS) {
            cache[c].block[cache[c].n++] = s;
            s = NULL;
        }
        pthread_mutex_unlock(&lock);
    }
    rl_free(s);
}

rl_storage *rl_storage_new(size_t nbytes) {
    rl_storage *s = storage_block(nbytes);
    if (!s) return NULL;
    s->nbytes = nbytes;
    s->refs = 1;
    s->resizable = 1;
    rl_live_add(RL_LIVE_STORAGES, 1);
    rl_live_add(RL_LIVE_BYTES, (int64_t)nbytes);
    return s;
}

rl_storage *rl_storage_borrow(void *mem, size_t nbytes, void (*free)(void *), void *owner) {
    rl_storage *s = storage_block(0);
    if (!s) {
        if (free) free(owner);
        return NULL;
    }
    s->mem_ = mem;
    s->nbytes = nbytes;
    s->refs = 1;
    s->free = free;
    s->owner = owner;
    rl_live_add(RL_LIVE_STORAGES, 1);
    return s;
}

void rl_storage_lend(rl_storage *s, void *mem, size_t nbytes) {
    *s = (rl_storage){.mem_ = mem, .nbytes = nbytes, .refs = 1, .exports = 1};
}

/* On the meta device a storage has a size and no memory: nobody owns the NULL that it "borrows". */
static void hollow_free(void *owner) {
    (void)owner;
}
static rl_storage *storage_hollow(size_t nbytes) {
    rl_storage *s = rl_storage_borrow(NULL, nbytes, hollow_free, NULL);
    if (!s) return NULL;
    s->device = RL_META;
    s->resizable = 1;
    return s;
}

typedef struct {
    int device, index;
    void *mem;
} device_block;

static void device_block_free(void *owner) {
    device_block *b = owner;
    const rl_device_driver *driver = rl_device_driver_get(b->device);
    if (driver && b->mem) driver->free(b->index, b->mem);
    rl_free(b);
}

rl_storage *rl_storage_on(int device, int index, size_t nbytes) {
    if (device == RL_CPU) return rl_storage_new(nbytes);
    if (device == RL_META) return storage_hollow(nbytes);
    const rl_device_driver *driver = rl_device_driver_get(device);
    if (!driver) {
        rl_error_set(RL_RUNTIME, "no driver for this device is loaded");
        return NULL;
    }
    device_block *b = rl_alloc(sizeof *b);
    if (!b) return NULL;
    *b = (device_block){device, index, driver->alloc(index, nbytes ? nbytes : 1)};
    if (!b->mem) {
        rl_error_set(RL_MEMORY, "CUDA out of memory. Tried to allocate %zu bytes.", nbytes);
        device_block_free(b);
        return NULL;
    }
    rl_storage *s = rl_storage_borrow(b->mem, nbytes, device_block_free, b);
    if (!s) return NULL;
    s->device = (uint8_t)device;
    s->device_index = (int8_t)index;
    return s;
}

rl_storage *rl_storage_keep(rl_storage *s) {
    __atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
    return s;
}

static void storage_release_mem(rl_storage *s) {
    if (s->free) {
        void (*release)(void *) = s->free;
        s->free = NULL;
        release(s->owner);
    } else {
        rl_live_add(RL_LIVE_BYTES, -(int64_t)s->nbytes);
    }
}

void rl_storage_drop(rl_storage *s) {
    if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (RL_UNLIKELY(s->packed != NULL)) rl_storage_forget_packed(s);
    storage_release_mem(s);
    rl_live_add(RL_LIVE_STORAGES, -1);
    block_free(s);
}

void *rl_storage_bytes(rl_storage *s, int mode) {
    if (mode & RL_WRITE) __atomic_store_n(&s->writes, s->writes + 1, __ATOMIC_RELAXED);
    return s->mem_;
}

static void resized_free(void *owner) {
    rl_free(owner);
}

rl_status rl_storage_resize(rl_storage *s, size_t nbytes) {
    if (!s->resizable) return rl_error_set(RL_RUNTIME, "Trying to resize storage that is not resizable");
    if (s->exports > 0 || s->pins > 0)
        return rl_error_set(RL_RUNTIME, "cannot resize a storage while its memory is in use elsewhere");
    if (s->device == RL_META) {
        s->nbytes = nbytes;
        return RL_OK;
    }
    void *mem = rl_alloc(nbytes ? nbytes : 1);
    if (!mem) return RL_FAIL;
    memcpy(mem, s->mem_, nbytes < s->nbytes ? nbytes : s->nbytes);
    storage_release_mem(s);
    s->mem_ = mem;
    s->free = resized_free;
    s->owner = mem;
    s->nbytes = nbytes;
    s->writes++;
    return RL_OK;
}

void rl_storage_export(rl_storage *s) {
    s->exports++;
    s->resizable = 0;
}

void rl_storage_unexport(rl_storage *s) {
    s->exports--;
    s->writes++;
}

static void slice_free(void *root) {
    rl_storage_unexport(root);
    rl_storage_drop(root);
}

/* Each of the two may be written through the other, so nothing is cached for either. */
rl_storage *rl_storage_part(rl_storage *root, size_t at, size_t nbytes) {
    rl_storage_export(rl_storage_keep(root));
    char *mem = root->mem_ ? (char *)root->mem_ + at : NULL;
    rl_storage *s = rl_storage_borrow(mem, nbytes, slice_free, root);
    if (!s) return NULL;
    s->exports = 1;
    s->device = root->device, s->device_index = root->device_index;
    return s;
}

/* Note [Packed companions]
 *
 *   storage ──► packed ──► packed ──► NULL        one per (key, offset, shape, strides)
 *               │ writes == storage->writes ?  good : stale, reused or freed
 *
 * Kernels fill a companion without the GIL; `ready` is set when it is whole. A second thread that finds
 * one being filled packs into its own scratch instead of waiting. */
struct rl_packed {
    rl_packed *next;
    uint64_t key, writes, shape_hash;
    void *mem;
    bool ready;
};
enum { MAX_PACKED = 8 };

static uint64_t view_hash(const rl_view *v) {
    uint64_t h = (uint64_t)v->offset * 31 + v->dtype;
    for (int i = 0; i < v->ndim; i++) {
        h = (h ^ (uint64_t)v->shape[i]) * 0x9e3779b97f4a7c15u;
        h = (h ^ (uint64_t)v->strides[i]) * 0x9e3779b97f4a7c15u;
    }
    return h;
}

static rl_packed *packed_search(rl_storage *s, uint64_t key, uint64_t hash) {
    for (rl_packed *p = s->packed; p; p = p->next)
        if (p->key == key && p->shape_hash == hash) return p;
    return NULL;
}

void *rl_packed_find(rl_call *k, const rl_view *v, uint64_t key) {
    (void)k;
    rl_storage *s = v->storage;
    if (!s->packed) return NULL;
    void *found = NULL;
    uint64_t hash = view_hash(v);
    pthread_mutex_lock(&lock);
    rl_packed *p = packed_search(s, key, hash);
    if (p && p->ready && p->writes == s->writes && !s->exports && !s->pointer_seen) found = p->mem;
    pthread_mutex_unlock(&lock);
    return found;
}

static void packed_free(rl_packed *p) {
    rl_free(p->mem);
    rl_free(p);
}

/* Takes stale, whole companions out of the list (all of them when `all`), lock held. While more calls than
 * `own` use the storage nothing is taken: one of them may read a companion right now. */
static rl_packed *packed_cut(rl_storage *s, bool all, int own, int *left) {
    rl_packed *cut = NULL, **at = &s->packed;
    *left = 0;
    while (*at) {
        rl_packed *p = *at;
        if (s->pins <= own && (all || (p->ready && p->writes != s->writes))) {
            *at = p->next;
            p->next = cut;
            cut = p;
        } else {
            at = &p->next;
            ++*left;
        }
    }
    return cut;
}

static void packed_free_list(rl_packed *p) {
    while (p) {
        rl_packed *next = p->next;
        packed_free(p);
        p = next;
    }
}

void *rl_packed_new(rl_call *k, const rl_view *v, uint64_t key, size_t bytes) {
    (void)k;
    rl_storage *s = v->storage;
    if (s->exports > 0 || s->pointer_seen) return NULL;
    uint64_t hash = view_hash(v);
    int left;
    pthread_mutex_lock(&lock);
    rl_packed *stale = packed_cut(s, false, 1, &left), *same = packed_search(s, key, hash);
    pthread_mutex_unlock(&lock);
    packed_free_list(stale);
    if (same || left >= MAX_PACKED) return NULL;
    rl_packed *p = rl_alloc(sizeof *p);
    void *mem = p ? rl_alloc(bytes) : NULL;
    if (!mem) { /* packing is only a help: the call goes on in scratch */
        rl_error_clear();
        rl_free(p);
        return NULL;
    }
    *p = (rl_packed){.key = key, .writes = s->writes, .shape_hash = hash, .mem = mem};
    pthread_mutex_lock(&lock);
    p->next = s->packed;
    s->packed = p;
    pthread_mutex_unlock(&lock);
    return mem;
}

void rl_packed_ready(rl_call *k, const rl_view *v, uint64_t key) {
    (void)k;
    uint64_t hash = view_hash(v);
    pthread_mutex_lock(&lock);
    rl_packed *p = packed_search(v->storage, key, hash);
    if (p) p->ready = true;
    pthread_mutex_unlock(&lock);
}

void rl_storage_forget_packed(rl_storage *s) {
    int left;
    pthread_mutex_lock(&lock);
    rl_packed *all = packed_cut(s, true, 0, &left);
    pthread_mutex_unlock(&lock);
    packed_free_list(all);
}
