/* A file being loaded: the neutral tree (unpickle/unpickle.h) and what its Python objects are made with. */
#ifndef RL_FILES_LOADER_H
#define RL_FILES_LOADER_H
#include "object/tensor.h"
#include "unpickle/unpickle.h"

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

/* ---- loader.c ---- */
PyObject *rl_loader_raise(loader *c); /* the reader's error with the file's name; always NULL */
/* A file descriptor as int, or an object with a buffer. An opened loader must be closed. */
int rl_loader_open(loader *c, PyObject *source, int64_t start, int64_t size);
void rl_loader_close(loader *c);
/* Maps the file privately; or copies it, as fast as reading does, without comparing checksums. */
int rl_loader_map(loader *c, bool copied);
rl_storage *rl_loader_mapped(loader *c, const rl_stored *s); /* where it lies in the mapping */

/* ---- inflate.c: rl_reader.inflate, with or without the GIL ---- */
rl_status rl_loader_inflate(rl_reader *r, const rl_record *from, void *to);

/* ---- load_storage.c ---- */
rl_storage *rl_loader_storage(loader *c, rl_stored *s); /* borrowed; filled at the first call */
PyObject *rl_loader_tensor(loader *c, const rl_item *item);
PyObject *rl_loader_storage_object(loader *c, rl_stored *s);
extern PyMethodDef rl_loader_storage_methods[];

/* ---- load.c ---- */
extern PyMethodDef rl_loader_methods[];

/* ---- archive.c ---- */
int rl_archive_init(PyObject *m);
#endif
