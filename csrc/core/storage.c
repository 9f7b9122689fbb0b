/* Storage: who owns bytes, and when they were written. */
#include "blocks.h"
#include "device.h"
#include "error.h"
#include "memory.h"
#include "packed.h"
#include "storage.h"
#include <stddef.h>
#include <string.h>
#include <pthread.h>

/* the block that a storage lives in; its bytes begin RL_STORAGE_HEADER behind the front */
typedef struct {
    char head[RL_BLOCK_HEAD];
    rl_storage s;
} home;
_Static_assert(sizeof(home) <= RL_STORAGE_HEADER, "the bytes follow the header in one block");

static rl_storage *storage_block(int64_t nbytes) {
    home *h = rl_block_alloc(RL_COUNT(nbytes), RL_BLOCK_STORAGE);
    if (!h) return NULL;
    /* gcc clears up to 64 bytes by vector stores, more by `rep stos`, which starts slowly */
    enum { HALF = 64 };
    _Static_assert(sizeof h->s > HALF, "two parts");
    memset(&h->s, 0, HALF);
    memset((char *)&h->s + HALF, 0, sizeof h->s - HALF);
    h->s.mem_ = rl_block_data(h, RL_BLOCK_STORAGE);
    return &h->s;
}

static void *home_of(rl_storage *s) {
    return (char *)s - offsetof(home, s);
}

static void storage_block_free(rl_storage *s) {
    rl_block_free(home_of(s));
}

/* The bytes of n elements; -1 with RL_MEMORY pending when they are more than an address can have. */
static int64_t bytes_of(rl_count n, size_t itemsize) {
    rl_count bytes = rl_count_times(n, itemsize);
    if (bytes.n < 0)
        rl_error_set(RL_MEMORY,
                     "DefaultCPUAllocator: can't allocate memory: you tried to allocate more bytes than "
                     "an address can have.");
    return bytes.n;
}

rl_storage *rl_storage_new(rl_count n, size_t itemsize) {
    int64_t nbytes = bytes_of(n, itemsize);
    rl_storage *s = nbytes < 0 ? NULL : storage_block(nbytes);
    if (!s) return NULL;
    s->nbytes = (size_t)nbytes;
    s->refs = 1;
    s->resizable = 1;
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

/* Memory of another device, or pinned memory that the device's driver brings. */
typedef struct {
    const rl_device_driver *driver;
    int index;
    bool is_host;
    void *mem;
} device_block;

static void device_block_free(void *owner) {
    device_block *b = owner;
    if (b->mem && b->is_host) b->driver->host_free(b->mem);
    if (b->mem && !b->is_host) b->driver->free(b->index, b->mem);
    rl_free(b);
}

static device_block *device_block_new(const rl_device_driver *driver, int index, bool is_host,
                                      size_t nbytes) {
    device_block *b = rl_alloc(RL_COUNT(1), sizeof *b);
    if (!b) return NULL;
    *b = (device_block){driver, index, is_host, NULL};
    if (nbytes)
        b->mem = is_host ? driver->host_alloc(nbytes) : driver->alloc(index, nbytes, driver->stream(index));
    if (b->mem || !nbytes) return b;
    rl_free(b);
    rl_device_failed(driver);
    return NULL;
}

rl_storage *rl_storage_on(int device, int index, rl_count n, size_t itemsize) {
    if (device == RL_CPU) return rl_storage_new(n, itemsize);
    int64_t bytes = bytes_of(n, itemsize);
    if (bytes < 0) return NULL;
    size_t nbytes = (size_t)bytes;
    if (device == RL_META) return storage_hollow(nbytes);
    const rl_device_driver *driver = rl_device_driver_get(device);
    if (!driver) {
        rl_error_set(RL_RUNTIME, "no driver for this device is loaded");
        return NULL;
    }
    device_block *b = device_block_new(driver, index, false, nbytes);
    rl_storage *s = b ? rl_storage_borrow(b->mem, nbytes, device_block_free, b) : NULL;
    if (!s) return NULL;
    s->device = (uint8_t)device;
    s->device_index = (int8_t)index;
    s->resizable = 1;
    return s;
}

void rl_storage_record(rl_storage *s, int stream_index, void *stream) {
    const rl_device_driver *driver = rl_device_driver_get(s->device);
    if (driver && s->mem_) driver->record(s->device_index, s->mem_, stream_index, stream);
}

rl_storage *rl_storage_pin(const rl_device_driver *driver, rl_count n, size_t itemsize) {
    int64_t nbytes = bytes_of(n, itemsize);
    device_block *b = nbytes < 0 ? NULL : device_block_new(driver, 0, true, (size_t)nbytes);
    return b ? rl_storage_borrow(b->mem, (size_t)nbytes, device_block_free, b) : NULL;
}

rl_status rl_view_allocate(rl_view *v) {
    char text[RL_DIMS_TEXT];
    rl_count bytes = RL_COUNT(v->numel, rl_itemsize(v->dtype));
    if (RL_UNLIKELY(bytes.n < 0))
        return rl_error_set(RL_RUNTIME, "Storage size calculation overflowed with sizes=%s",
                            rl_dims_text(text, v->shape, v->ndim));
    v->storage = rl_storage_on(v->device, v->device_index, bytes, 1);
    return v->storage ? RL_OK : RL_FAIL;
}

rl_storage *rl_storage_retain(rl_storage *s) {
    __atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
    return s;
}

static void storage_release_mem(rl_storage *s) {
    void (*release)(void *) = s->free;
    s->free = NULL;
    if (release) release(s->owner);
}

static inline bool storage_watched(const rl_storage *s) { /* by weak references */
    return __atomic_load_n(&s->weak, __ATOMIC_RELAXED) > 0;
}

static bool weak_close(rl_storage *s);

/* Whoever has the only reference needs no other thread to hear of it, unless a weak one may become strong. */
void rl_storage_release(rl_storage *s) {
    if (!s) return;
    if ((__atomic_load_n(&s->refs, __ATOMIC_ACQUIRE) > 1 || RL_UNLIKELY(storage_watched(s))) &&
        __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (RL_UNLIKELY(s->packed != NULL)) rl_packed_free(s->packed);
    storage_release_mem(s);
    if (RL_LIKELY(!storage_watched(s)) || weak_close(s)) storage_block_free(s);
}

static rl_storage *weak_less(uintptr_t weak);

void rl_storage_weak_release(uintptr_t weak) {
    rl_storage *dead = weak_less(weak);
    if (dead) storage_block_free(dead);
}

void *rl_storage_bytes(rl_storage *s, int mode) {
    (void)mode;
    return s->mem_;
}

bool rl_storage_watch(rl_storage *s, void (*freed)(void *s)) {
    if (s->free) return false;
    s->free = freed;
    s->owner = s;
    return true;
}

void rl_storage_move_steal(rl_storage *s, void *mem, void (*free)(void *), void *owner) {
    if (!s->free || s->owner == s) rl_block_hollow(home_of(s), RL_STORAGE_HEADER);
    storage_release_mem(s);
    s->mem_ = mem;
    s->free = free;
    s->owner = owner;
}

size_t rl_storage_room(const rl_storage *s) {
    return s->nbytes > s->reach ? s->nbytes : s->reach;
}

int rl_kernels_beside;

/* To wait for memory may let others run Python: `in_use` keeps them from this storage. */
static rl_status storage_move_on_device(rl_storage *s, size_t nbytes) {
    const rl_device_driver *driver = rl_device_driver_get(s->device);
    const size_t room = rl_storage_room(s), kept = nbytes < room ? nbytes : room;
    s->in_use++;
    rl_kernels_beside++;
    device_block *b = driver ? device_block_new(driver, s->device_index, false, nbytes) : NULL;
    rl_kernels_beside--;
    s->in_use--;
    if (!b) return RL_FAIL;
    const rl_place to = {b->mem, s->device, s->device_index}, from = {s->mem_, s->device, s->device_index};
    if (driver->copy(&to, &from, kept, true) != RL_OK) {
        device_block_free(b);
        return rl_device_failed(driver);
    }
    rl_storage_move_steal(s, b->mem, device_block_free, b);
    return RL_OK;
}

static rl_status storage_move(rl_storage *s, int64_t nbytes) {
    size_t room = rl_storage_room(s);
    if (s->device != RL_CPU) return storage_move_on_device(s, (size_t)nbytes);
    void *block = rl_block_alloc(RL_COUNT(nbytes), RL_BLOCK_SCRATCH);
    if (!block) return RL_FAIL;
    char *mem = rl_block_data(block, RL_BLOCK_SCRATCH);
    memcpy(mem, s->mem_, (size_t)nbytes < room ? (size_t)nbytes : room);
    rl_storage_move_steal(s, mem, rl_block_free, block);
    return RL_OK;
}

bool rl_storage_in_use(rl_storage *s) {
    if (s->in_use > 0 && !rl_kernels_beside)
        s->in_use = 0; /* by threads of the parent, when this process was forked */
    return s->in_use > 0;
}

/* Tensors that see more than what is left keep seeing it, so memory never shrinks below them. */
rl_status rl_storage_resize(rl_storage *s, rl_count bytes) {
    int64_t room = (int64_t)rl_storage_room(s), reach = s->refs > 1 && s->device != RL_META ? room : 0;
    int64_t wanted = bytes.n > reach ? bytes.n : reach;
    if (!s->resizable) return rl_error_set(RL_RUNTIME, "Trying to resize storage that is not resizable");
    if (s->exports > 0 || s->readers > 0 || rl_storage_in_use(s))
        return rl_error_set(RL_RUNTIME, "cannot resize a storage while its memory is in use elsewhere");
    if (s->device != RL_META && wanted != room && storage_move(s, wanted) != RL_OK) return RL_FAIL;
    s->nbytes = (size_t)bytes.n;
    s->reach = (size_t)reach;
    rl_write_begin(s);
    rl_write_end(s);
    return RL_OK;
}

void rl_storage_export(rl_storage *s) {
    __atomic_add_fetch(&s->exports, 1, __ATOMIC_RELAXED);
    s->resizable = 0;
}

/* Whatever was written meanwhile, it is one write that ends now. */
void rl_storage_unexport(rl_storage *s) {
    rl_write_begin(s);
    __atomic_sub_fetch(&s->exports, 1, __ATOMIC_RELAXED);
    rl_write_end(s);
}

static void slice_free(void *root) {
    rl_storage_unexport(root);
    rl_storage_release(root);
}

/* Each of the two may be written through the other, so nothing is cached for either. */
rl_storage *rl_storage_part(rl_storage *root, size_t at, size_t nbytes) {
    rl_storage_export(rl_storage_retain(root));
    char *mem = root->mem_ ? (char *)root->mem_ + at : NULL;
    rl_storage *s = rl_storage_borrow(mem, nbytes, slice_free, root);
    if (!s) return NULL;
    s->exports = s->foreign = 1;
    s->device = root->device, s->device_index = root->device_index;
    return s;
}

/* ---- weak references to storages ---- */
/* Note [Weak references]
 * A storage that has some stands in this table. When its last strong reference goes, so do its bytes where
 * they are borrowed, as shared memory is; its head stays until the last weak one goes, so that no other
 * storage has its address meanwhile.
 *
 *   refs > 0              weak counts one for all strong references
 *   refs == 0             rl_weak_get finds it no more; `weak` is what was left
 *   refs == 0, weak == 0  out of the table, the head is given back */
typedef struct entry {
    struct entry *next;
    rl_storage *s;
    bool closed; /* the last strong reference went */
} entry;
enum { CHAINS = 256 };
static entry *table[CHAINS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table and of `weak` */

static void fork_hold(void) {
    pthread_mutex_lock(&lock);
}
static void fork_release(void) {
    pthread_mutex_unlock(&lock);
}
void rl_weak_guard_fork(void) {
    pthread_atfork(fork_hold, fork_release, fork_release);
}

static entry **entry_of(uintptr_t weak) {
    entry **at = &table[(weak >> 6) % CHAINS];
    while (*at && (uintptr_t)(*at)->s != weak) at = &(*at)->next;
    return at;
}

static void weak_count(rl_storage *s, int32_t n) { /* rl_storage_release looks without the lock */
    __atomic_store_n(&s->weak, n, __ATOMIC_RELAXED);
}

/* One fewer, lock held: the entry when none is left. */
static entry *entry_less(entry **at) {
    entry *e = *at;
    weak_count(e->s, e->s->weak - 1);
    if (e->s->weak > 0) return NULL;
    *at = e->next;
    return e;
}

uintptr_t rl_weak_new(rl_storage *s) {
    entry *fresh = rl_alloc(RL_COUNT(1), sizeof *fresh);
    if (!fresh) return 0;
    pthread_mutex_lock(&lock);
    entry **at = entry_of((uintptr_t)s);
    if (!*at) {
        *fresh = (entry){.s = s};
        *at = fresh;
        fresh = NULL;
    }
    weak_count(s, s->weak ? s->weak + 1 : 2);
    pthread_mutex_unlock(&lock);
    rl_free(fresh);
    return (uintptr_t)s;
}

/* one fewer; the dead storage whose last it was, else NULL */
static rl_storage *weak_less(uintptr_t weak) {
    pthread_mutex_lock(&lock);
    entry **at = entry_of(weak);
    bool known = *at && ((*at)->s->weak > 1 || (*at)->closed);
    entry *last = known ? entry_less(at) : NULL;
    pthread_mutex_unlock(&lock);
    rl_storage *s = last ? last->s : NULL;
    rl_free(last);
    return s;
}

rl_storage *rl_weak_get(uintptr_t weak) {
    pthread_mutex_lock(&lock);
    entry *e = *entry_of(weak);
    rl_storage *s = e ? e->s : NULL;
    int32_t n = s ? __atomic_load_n(&s->refs, __ATOMIC_RELAXED) : 0;
    while (n > 0 &&
           !__atomic_compare_exchange_n(&s->refs, &n, n + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    pthread_mutex_unlock(&lock);
    return n > 0 ? s : NULL;
}

/* a dead storage: may its head go, too? else the last weak one takes it */
static bool weak_close(rl_storage *s) {
    pthread_mutex_lock(&lock);
    entry **at = entry_of((uintptr_t)s);
    (*at)->closed = true;
    entry *last = entry_less(at);
    pthread_mutex_unlock(&lock);
    rl_free(last);
    return last != NULL;
}
