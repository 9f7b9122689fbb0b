/* A file opened for loading: its reader, its mapping, and what the reader found wrong as an exception. */
#include "loader.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/storage.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static PyObject *unpickling_error; /* pickle.UnpicklingError; imported with the first file */

PyObject *rl_loader_raise(loader *c) {
    rl_reader *r = c->reader;
    if (PyErr_Occurred()) return NULL;
    switch (r->error) {
    case RL_READER_MEMORY: return PyErr_NoMemory();
    case RL_READER_PICKLE:
        return PyErr_Format(
            unpickling_error,
            "%s%s\n\nNothing of the file was executed. (file %s, %s)\n\nCheck the documentation of "
            "torch.load to learn more about types accepted by default with weights_only "
            "https://pytorch.org/docs/stable/generated/torch.load.html.",
            c->headline, r->text, c->file, r->record);
    case RL_READER_EOF:
        return PyErr_Format(PyExc_EOFError,
                            "%s. The file is shorter than it was when saved; copy or download it "
                            "again. (file %s)",
                            r->text, c->file);
    case RL_READER_VALUE: return PyErr_Format(PyExc_ValueError, "%s (file %s)", r->text, c->file);
    default:
        return PyErr_Format(c->refusal ? c->refusal : PyExc_RuntimeError, "%s (file %s)", r->text, c->file);
    }
}

/* ---- mmap=True ---- */
/* One private mapping of the file, or memory with a copy of it, shared by every storage that lies in it. */
struct file_map {
    uint8_t *base;
    size_t n;
    int32_t users;
};

static void map_drop(void *owner) {
    file_map *m = owner;
    if (__atomic_sub_fetch(&m->users, 1, __ATOMIC_ACQ_REL) > 0) return;
    munmap(m->base, m->n);
    rl_free(m);
}

/* Fills the mapping with the file's bytes; -1: an exception. */
static int map_copy(loader *c, file_map *m) {
    rl_status status;
    Py_BEGIN_ALLOW_THREADS status = rl_source_read(c->reader, 0, m->base, (int64_t)m->n);
    Py_END_ALLOW_THREADS if (!status) return 0;
    map_drop(m);
    rl_loader_raise(c);
    return -1;
}

int rl_loader_map(loader *c, bool copied) {
    rl_reader *r = c->reader;
    if (r->start) { /* the mapping begins with the file */
        PyErr_SetString(PyExc_ValueError, "only whole files can be mapped");
        return -1;
    }
    file_map *m = rl_alloc(RL_COUNT(1), sizeof *m);
    if (!m) {
        rl_error_clear();
        PyErr_NoMemory();
        return -1;
    }
    *m = (file_map){.n = (size_t)r->size, .users = 1};
    const int flags = copied ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE;
    m->base = mmap(NULL, m->n, PROT_READ | PROT_WRITE, flags, copied ? -1 : r->fd, 0);
    if (m->base == MAP_FAILED) {
        rl_free(m);
        PyErr_Format(PyExc_RuntimeError, "unable to mmap %lld bytes from file <%s>: %s (%d)",
                     (long long)r->size, c->file, strerror(errno), errno);
        return -1;
    }
    if (copied && map_copy(c, m) < 0) return -1;
    c->map = m;
    return 0;
}

static void loader_unmap(loader *c) {
    if (c->map) map_drop(c->map);
    c->map = NULL;
}

rl_storage *rl_loader_mapped(loader *c, const rl_stored *s) {
    uint8_t *at = c->map->base + s->bytes.at;
    __atomic_add_fetch(&c->map->users, 1, __ATOMIC_RELAXED);
    rl_storage *made = rl_storage_borrow(at, (size_t)s->nbytes, map_drop, c->map);
    if (made) rl_stored_normalise(c->reader, s, at);
    return made;
}

/* ---- opening and closing ---- */
int rl_loader_open(loader *c, PyObject *source, int64_t start, int64_t size) {
    static const uint8_t none;
    int fd = -1;
    if (!unpickling_error) {
        RL_OWNED PyObject *pickle = PyImport_ImportModule("_pickle");
        unpickling_error = pickle ? PyObject_GetAttrString(pickle, "UnpicklingError") : NULL;
        if (!unpickling_error) return -1;
    }
    if (PyLong_Check(source)) {
        long number = PyLong_AsLong(source);
        if (number == -1 && PyErr_Occurred()) return -1;
        if (number < 0 || number > INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "negative file descriptor");
            return -1;
        }
        fd = (int)number;
    } else {
        if (PyObject_GetBuffer(source, &c->bytes, PyBUF_SIMPLE) < 0) return -1;
        start = 0, size = c->bytes.len;
    }
    const uint8_t *data = fd >= 0 ? NULL : c->bytes.buf ? c->bytes.buf : &none;
    c->places = PyDict_New();
    c->reader = c->places ? rl_reader_new(data, fd, start, size < 0 ? 0 : size) : NULL;
    if (c->reader) {
        c->reader->inflate = rl_loader_inflate;
        return 0;
    }
    rl_error_clear();
    PyErr_NoMemory();
    rl_loader_close(c);
    return -1;
}

void rl_loader_close(loader *c) {
    rl_reader *r = c->reader;
    for (int64_t i = 0; r && i < r->n_steps; i++) {
        if (r->steps[i].kind == RL_STEP_MAKE) Py_CLEAR(r->steps[i].item->made);
    }
    if (r) Py_CLEAR(r->nothing.made);
    for (int64_t i = 0; r && i < r->storages_room; i++) {
        if (r->storages[i]) rl_storage_drop(r->storages[i]->made);
    }
    loader_unmap(c);
    rl_reader_free(r);
    c->reader = NULL;
    Py_CLEAR(c->places);
    if (c->bytes.obj) PyBuffer_Release(&c->bytes);
}
