/* What the files of loading and saving share. */
#ifndef RL_FILES_INTERNAL_H
#define RL_FILES_INTERNAL_H
#include "core/device.h"
#include "object/tensor.h"
#include "unpickle/unpickle.h"

/* ---- the bytes of a whole storage ---- */
/* Between devices; false: the driver has left an error. */
bool rl_bytes_copy(rl_storage *to, rl_storage *from, const rl_device_driver *driver);
PyObject *rl_bytes_readable(rl_storage *s); /* UntypedStorage with its bytes in the CPU's memory */
extern PyMethodDef rl_bytes_methods[];

/* ---- a file being loaded ----
 * the neutral tree (unpickle/unpickle.h) and what its Python objects are made with. */
typedef struct file_map file_map;
typedef struct {
    rl_reader *reader;
    const char *file;     /* for messages */
    const char *headline; /* in front of what the pickle did wrong */
    PyObject *refusal;    /* the exception for RL_READER_RUNTIME, borrowed; NULL: RuntimeError */
    PyObject **user;      /* the objects behind reader->allowed, borrowed */
    PyObject *place;      /* location -> device; NULL: all on the CPU */
    PyObject *hook;       /* map_location as a function, or NULL */
    PyObject *places;     /* what `place` answered, by location */
    file_map *map;        /* mmap=True */
    Py_buffer bytes;      /* the source, unless it is a file descriptor */
} loader;

PyObject *rl_loader_raise(loader *c); /* the reader's error with the file's name; always NULL */
/* A file descriptor as int, or an object with a buffer. An opened loader must be closed. */
int rl_loader_open(loader *c, PyObject *source, int64_t start, int64_t size);
void rl_loader_close(loader *c);
/* Maps the file privately; or copies it, as fast as reading does, without comparing checksums. */
int rl_loader_map(loader *c, bool copied);

rl_storage *rl_loader_storage(loader *c, rl_stored *s); /* borrowed; filled at the first call */
PyObject *rl_loader_tensor(loader *c, const rl_item *item);
extern PyMethodDef rl_loader_storage_methods[];

extern PyMethodDef rl_loader_methods[];

/* archive.c */
int rl_archive_init(PyObject *m);

/* ---- writing checkpoints ----
 * objects become a pickle with PyTorch's names in it, storages follow in a container.
 *
 *   object ──► files/save.c ──► opcodes ──┐
 *   tensors ─► files/save.c ───────┴► bytes + storages ──► files/save_zip.c (or a stream) ──► file
 *
 * Only opcodes of protocol 2 are written, whatever the number in front: PyTorch's safe reader knows no
 * others. What this component does not know by itself is described by a Python function
 * (pysrc/rushlight/_files/writer.py). */
/* What was written before: objects by identity, fixed texts by address, storages' keys by storage. */
typedef struct {
    const void *key; /* NULL: free */
    PyObject *kept;  /* keeps the identity unique while the pickle grows */
    int64_t index;
} memo_slot;

typedef struct {
    memo_slot *slots;
    int64_t room, used; /* open addressing, at most half full */
} memo_table;

typedef struct {
    char *at;
    int64_t n, room;
    int64_t memo_next;
    memo_table memo, storages;
    PyObject *describe;     /* object -> what to write */
    PyObject *newobj;       /* copyreg.__newobj__ */
    PyObject *ordered_type; /* collections.OrderedDict */
    PyObject *list;         /* of (key, bytes, dtype or None, number of elements) */
    int protocol;
    bool legacy;
} saver;

/* 0, or -1 with an exception */
int rl_save_bytes(saver *s, const void *from, int64_t n);

extern PyMethodDef rl_save_methods[];

/* save_zip.c */
extern PyMethodDef rl_save_zip_methods[];
#endif
