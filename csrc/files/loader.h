/* Between the two files that turn a neutral tree (unpickle/unpickle.h) into Python objects. */
#ifndef RL_TENSOR_LOAD_H
#define RL_TENSOR_LOAD_H
#include "object/tensor.h"
#include "unpickle/unpickle.h"

typedef struct file_map file_map;
typedef struct {
    rl_reader *reader;
    const char *file;     /* for messages */
    const char *headline; /* in front of what the pickle did wrong */
    PyObject **user;      /* the objects behind reader->allowed, borrowed */
    PyObject *place;      /* location -> device; NULL: all on the CPU */
    PyObject *hook;       /* map_location as a function, or NULL */
    PyObject *places;     /* what `place` answered, by location */
    file_map *map;        /* mmap=True */
    Py_buffer bytes;      /* the source, unless it is a file descriptor */
} loader;

/* ---- files/load.c ---- */
PyObject *rl_loader_raise(loader *c); /* the reader's error with the file's name; always NULL */
/* A file descriptor as int, or an object with a buffer. An opened loader must be closed. */
int rl_loader_open(loader *c, PyObject *source, int64_t start, int64_t size);
void rl_loader_close(loader *c);

/* ---- files/inflate.c: rl_reader.inflate, with or without the GIL ---- */
rl_status rl_loader_inflate(rl_reader *r, const rl_record *from, void *to);

/* ---- files/load_storage.c ---- */
int rl_loader_map(loader *c); /* maps the file privately */
void rl_loader_unmap(loader *c);
rl_storage *rl_loader_storage(loader *c, rl_stored *s); /* borrowed; filled at the first call */
PyObject *rl_loader_tensor(loader *c, const rl_item *item);
PyObject *rl_storage_readable(rl_storage *s); /* UntypedStorage with its bytes in the CPU's memory */
PyObject *rl_loader_storage_object(loader *c, rl_stored *s);
extern PyMethodDef rl_loader_storage_methods[];

/* ---- files/archive.c ---- */
int rl_archive_init(PyObject *m);
#endif
