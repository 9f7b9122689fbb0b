/* Memory that processes share. */
#define _GNU_SOURCE
#include "shared.h"
#include "error.h"
#include "memory.h"
#include "storage.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_NAME "filename not specified"

/* Note [Shared memory]
 * A file in memory that never has a name: it lives as long as somebody maps it or has a descriptor of it,
 * so that whoever is killed leaves nothing behind. It is sealed before the first byte is written: no process
 * that has the descriptor can make it shorter, and so no other dies of reading behind its end.
 *
 * A storage in it has exports for ever: others write unseen, so no packed weights are kept of it, and it is
 * not resized. The same holds for a file with a name that somebody maps to share it; only, that one can be
 * cut by whoever may write to it. */
typedef struct {
    void *mem;
    size_t nbytes;
    int fd;     /* -1: what is written stays here */
    char *path; /* of a file with a name, as it was given; or NULL */
} mapping;

static void mapping_free(void *owner) {
    mapping *m = owner;
    munmap(m->mem, m->nbytes);
    if (m->fd >= 0) close(m->fd);
    rl_free(m->path);
    rl_free(m);
}

static const mapping *mapping_of(const rl_storage *s) {
    return s->free == mapping_free ? s->owner : NULL;
}

int rl_storage_fd(const rl_storage *s) {
    const mapping *m = mapping_of(s);
    return m ? m->fd : -1;
}

bool rl_storage_is_shared(const rl_storage *s) {
    return rl_storage_fd(s) >= 0;
}

const char *rl_storage_path(const rl_storage *s) {
    const mapping *m = mapping_of(s);
    return m ? m->path : NULL;
}

/* Maps the first bytes of the file; takes fd, also when it fails. */
static mapping *mapping_new_steal(int fd, size_t nbytes, bool shared, const char *path) {
    size_t used = nbytes ? nbytes : 1;
    int64_t length = path ? (int64_t)strlen(path) + 1 : 0;
    mapping *m = rl_alloc(RL_COUNT(1), sizeof *m);
    char *own = m && path ? rl_alloc(RL_COUNT(length), 1) : NULL;
    void *mem = MAP_FAILED;
    if (m && !path == !own) {
        mem = mmap(NULL, used, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
        if (mem == MAP_FAILED)
            rl_error_set(RL_RUNTIME, "unable to mmap %zu bytes from file <%s>: %s (%d)", nbytes,
                         path ? path : NO_NAME, strerror(errno), errno);
    }
    if (!shared || mem == MAP_FAILED) close(fd);
    if (mem == MAP_FAILED) {
        rl_free(own);
        rl_free(m);
        return NULL;
    }
    if (own) memcpy(own, path, (size_t)length);
    *m = (mapping){mem, used, shared ? fd : -1, own};
    return m;
}

static mapping *mapping_fresh(size_t nbytes) {
    int fd = memfd_create("rushlight", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && fchmod(fd, 0600) == 0 && ftruncate(fd, (off_t)nbytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return mapping_new_steal(fd, nbytes, true, NULL);
    rl_error_set(RL_RUNTIME, "unable to open shared memory object of %zu bytes in read-write mode: %s (%d)",
                 nbytes, strerror(errno), errno);
    if (fd >= 0) close(fd);
    return NULL;
}

rl_status rl_storage_share(rl_storage *s) {
    size_t room = rl_storage_room(s);
    if (rl_storage_is_shared(s)) return RL_OK;
    if (s->device != RL_CPU) return rl_error_set(RL_RUNTIME, "_share_fd_: only available on CPU");
    if (s->exports > s->foreign || s->readers > 0 || rl_storage_in_use(s))
        return rl_error_set(RL_RUNTIME, "cannot move a storage while its memory is in use elsewhere");
    mapping *m = mapping_fresh(room);
    if (!m) return RL_FAIL;
    if (room) memcpy(m->mem, rl_storage_bytes(s, RL_READ), room);
    rl_storage_move_steal(s, m->mem, mapping_free, m);
    s->exports = s->foreign = 1; /* whoever had lent the bytes keeps them and writes no more here */
    s->resizable = 0;
    rl_write_begin(s);
    rl_write_end(s);
    return RL_OK;
}

static rl_storage *storage_over_steal(mapping *m, size_t nbytes) {
    rl_storage *s = m ? rl_storage_borrow(m->mem, nbytes, mapping_free, m) : NULL;
    if (s) s->exports = s->foreign = m->fd >= 0;
    return s;
}

rl_storage *rl_storage_new_shared(rl_count bytes) {
    if (bytes.n >= 0) return storage_over_steal(mapping_fresh((size_t)bytes.n), (size_t)bytes.n);
    rl_error_set(RL_MEMORY, "there is no shared memory for more bytes than an address can have");
    return NULL;
}

rl_storage *rl_storage_map_steal(int fd, int64_t nbytes, bool shared, const char *path) {
    return storage_over_steal(mapping_new_steal(fd, (size_t)nbytes, shared, path), (size_t)nbytes);
}

/* Has the file so many bytes, and will it keep them? One that cannot be sealed is its owner's to keep. */
static rl_status file_check(int fd, int64_t nbytes) {
    struct stat st;
    if (nbytes < 0)
        return rl_error_set(RL_RUNTIME, "unable to mmap %lld bytes from file <" NO_NAME ">: %s (%d)",
                            (long long)nbytes, strerror(ENOMEM), ENOMEM);
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
    if (fstat(fd, &st) < 0)
        return rl_error_set(RL_RUNTIME, "unable to stat the file <" NO_NAME ">: %s (%d)", strerror(errno),
                            errno);
    if (st.st_size < nbytes)
        return rl_error_set(RL_RUNTIME,
                            "file <" NO_NAME "> size <%lld> is smaller than the required mapping size <%lld>",
                            (long long)st.st_size, (long long)nbytes);
    return RL_OK;
}

rl_storage *rl_storage_from_fd(int fd, int64_t nbytes) {
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        rl_error_set(RL_RUNTIME, "could not duplicate a shared memory file descriptor");
        return NULL;
    }
    if (file_check(own, nbytes) != RL_OK) {
        close(own);
        return NULL;
    }
    return rl_storage_map_steal(own, nbytes, true, NULL);
}
