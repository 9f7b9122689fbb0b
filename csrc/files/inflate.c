/* Compressed records, unpacked by Python's own zlib module piece by piece. */
#include "loader.h"
#include <string.h>

enum { PIECE = 256 << 10 };

typedef struct {
    PyObject *unpacker; /* zlib.decompressobj(-15) */
    uint8_t *to;
    int64_t done, size;
} inflation;

/* One call of decompress(bytes, most); copies what came out. Answers what is left of `bytes`, owned. */
static PyObject *inflate_piece(inflation *f, PyObject *bytes) {
    int64_t most = f->size - f->done + 1; /* a byte too many must show */
    if (most > PIECE) most = PIECE;
    RL_OWNED PyObject *out = PyObject_CallMethod(f->unpacker, "decompress", "OL", bytes, (long long)most);
    if (!out) return NULL;
    Py_ssize_t n = PyBytes_GET_SIZE(out);
    if (n > f->size - f->done) return PyErr_Format(PyExc_ValueError, "it is longer than it says");
    if (n) memcpy(f->to + f->done, PyBytes_AS_STRING(out), (size_t)n);
    f->done += n;
    return PyObject_GetAttrString(f->unpacker, "unconsumed_tail");
}

static int inflate_chunk(rl_reader *r, inflation *f, int64_t at, int64_t n) {
    RL_OWNED PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
    if (!bytes || rl_source_read(r, at, PyBytes_AS_STRING(bytes), n)) return -1;
    int64_t before;
    do { /* what was taken in may still become many pieces */
        before = f->done;
        Py_ssize_t had = PyBytes_GET_SIZE(bytes);
        Py_SETREF(bytes, inflate_piece(f, bytes));
        if (!bytes) return -1;
        if (f->done == before && PyBytes_GET_SIZE(bytes) == had) break; /* nothing moves any more */
    } while (PyBytes_GET_SIZE(bytes) || f->done > before);
    return 0;
}

static int inflate_all(rl_reader *r, const rl_record *from, void *to) {
    RL_OWNED PyObject *zlib = PyImport_ImportModule("zlib");
    RL_OWNED PyObject *unpacker = zlib ? PyObject_CallMethod(zlib, "decompressobj", "i", -15) : NULL;
    inflation f = {unpacker, to, 0, from->size};
    if (!unpacker) return -1;
    for (int64_t done = 0; done < from->packed; done += PIECE) {
        int64_t n = from->packed - done < PIECE ? from->packed - done : PIECE;
        if (inflate_chunk(r, &f, from->at + done, n) < 0) return -1;
    }
    RL_OWNED PyObject *ended = PyObject_GetAttrString(unpacker, "eof");
    RL_OWNED PyObject *unused = ended ? PyObject_GetAttrString(unpacker, "unused_data") : NULL;
    if (!unused) return -1;
    if (ended == Py_True && f.done == f.size && PyBytes_GET_SIZE(unused) == 0) return 0;
    PyErr_SetString(PyExc_ValueError, "it ends too early or too late");
    return -1;
}

rl_status rl_loader_inflate(rl_reader *r, const rl_record *from, void *to) {
    PyGILState_STATE gil = PyGILState_Ensure();
    if (inflate_all(r, from, to) < 0 && !r->error) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        RL_OWNED PyObject *text = value ? PyObject_Str(value) : NULL;
        const char *why = text ? PyUnicode_AsUTF8(text) : NULL;
        bool memory = type && PyErr_GivenExceptionMatches(type, PyExc_MemoryError);
        rl_reader_fail(r, memory ? RL_READER_MEMORY : RL_READER_RUNTIME,
                       "a compressed record in %s is damaged: %.200s. Copy or download the file again.",
                       r->record, why ? why : "it cannot be unpacked");
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    PyErr_Clear();
    PyGILState_Release(gil);
    return r->error ? RL_FAIL : RL_OK;
}
