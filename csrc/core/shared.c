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

/* Note [Shared memory]
 * A file in memory that never has a name: it lives as long as somebody maps it or has a descriptor of it,
 * so that whoever is killed leaves nothing behind. It is sealed before the first byte is written: no process
 * that has the descriptor can make it shorter, and so no other dies of reading behind its end.
 *
 * A storage in it has exports for ever: others write unseen, so no packed weights are kept of it, and it is
 * not resized. */
typedef struct {
    void *mem;
    size_t nbytes;
    int fd;
} shared_block;

static void shared_free(void *owner) {
    shared_block *b = owner;
    munmap(b->mem, b->nbytes);
    close(b->fd);
    rl_free(b);
}

bool rl_storage_is_shared(const rl_storage *s) {
    return s->free == shared_free;
}

int rl_storage_fd(const rl_storage *s) {
    return rl_storage_is_shared(s) ? ((const shared_block *)s->owner)->fd : -1;
}

/* Maps the first bytes of the file; takes fd, also when it fails. */
static shared_block *block_map_steal(int fd, size_t nbytes) {
    shared_block *b = rl_alloc(RL_COUNT(1), sizeof *b);
    if (b) {
        *b = (shared_block){mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), nbytes, fd};
        if (b->mem != MAP_FAILED) return b;
        rl_error_set(RL_RUNTIME, "unable to mmap %zu bytes from file <filename not specified>: %s (%d)",
                     nbytes, strerror(errno), errno);
    }
    rl_free(b);
    close(fd);
    return NULL;
}

static shared_block *block_new(size_t nbytes) {
    int fd = memfd_create("rushlight", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && fchmod(fd, 0600) == 0 && ftruncate(fd, (off_t)nbytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return block_map_steal(fd, nbytes);
    rl_error_set(RL_RUNTIME, "unable to open shared memory object of %zu bytes in read-write mode: %s (%d)",
                 nbytes, strerror(errno), errno);
    if (fd >= 0) close(fd);
    return NULL;
}

rl_status rl_storage_share(rl_storage *s) {
    size_t room = rl_storage_room(s);
    if (rl_storage_is_shared(s)) return RL_OK;
    if (s->device != RL_CPU) return rl_error_set(RL_RUNTIME, "_share_fd_: only available on CPU");
    if (s->exports > s->foreign || s->readers > 0 || s->pins > 0)
        return rl_error_set(RL_RUNTIME, "cannot move a storage while its memory is in use elsewhere");
    shared_block *b = block_new(room ? room : 1);
    if (!b) return RL_FAIL;
    if (room) memcpy(b->mem, rl_storage_bytes(s, RL_READ), room);
    rl_storage_move_steal(s, b->mem, shared_free, b);
    s->exports = s->foreign = 1; /* whoever had lent the bytes keeps them and writes no more here */
    s->resizable = 0;
    rl_write_begin(s);
    rl_write_end(s);
    return RL_OK;
}

/* Has the file so many bytes, and will it keep them? One that cannot be sealed is its owner's to keep. */
static rl_status file_check(int fd, int64_t nbytes) {
    struct stat st;
    if (nbytes < 0)
        return rl_error_set(RL_RUNTIME,
                            "unable to mmap %lld bytes from file <filename not specified>: %s (%d)",
                            (long long)nbytes, strerror(ENOMEM), ENOMEM);
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
    if (fstat(fd, &st) < 0)
        return rl_error_set(RL_RUNTIME, "unable to stat the file <filename not specified>: %s (%d)",
                            strerror(errno), errno);
    if (st.st_size < nbytes)
        return rl_error_set(
            RL_RUNTIME,
            "file <filename not specified> size <%lld> is smaller than the required mapping size <%lld>",
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
    shared_block *b = block_map_steal(own, nbytes ? (size_t)nbytes : 1);
    rl_storage *s = b ? rl_storage_borrow(b->mem, (size_t)nbytes, shared_free, b) : NULL;
    if (s) s->exports = s->foreign = 1;
    return s;
}
