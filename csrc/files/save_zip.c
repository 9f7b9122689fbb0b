/* The container as PyTorch lays it out: stored records, their data on multiples of 64 bytes.
 *
 *   local header │ name │ "FB" + padding │ data │ crc and sizes │ next record ... │ directory │ ends
 *
 * Small things gather in `text`; the data of storages goes from their memory straight to the target. */
#include "internal.h"
#include "core/crc32.h"
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum { SMALL = 4096, ALIGN = 64, SEEN_BEHIND = 0x0808, UTF8 = 0x0800 };
static const uint32_t LIMIT = 0xffffffff;

typedef struct {
    PyObject *put;         /* a file's write, or NULL: */
    int fd;                /* a descriptor */
    saver text, directory; /* only their bytes are used */
    int64_t at, entries;   /* bytes before `text` */
    uint64_t names, sums;  /* what the serialization id is made of */
    const char *prefix;
    bool checksums;
} zip_writer;

/* ---- out ---- */
static int zip_write_fd(int fd, const void *head, int64_t n_head, const void *data, int64_t n_data) {
    struct iovec parts[2] = {{(void *)(uintptr_t)head, (size_t)n_head},
                             {(void *)(uintptr_t)data, (size_t)n_data}};
    while (parts[0].iov_len || parts[1].iov_len) {
        ssize_t n;
        Py_BEGIN_ALLOW_THREADS n = writev(fd, parts, 2);
        Py_END_ALLOW_THREADS if (n < 0 && errno != EINTR) return PyErr_SetFromErrno(PyExc_OSError), -1;
        if (PyErr_CheckSignals() < 0) return -1;
        for (int i = 0; i < 2 && n > 0; i++) {
            size_t part = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + part;
            parts[i].iov_len -= part;
            n -= (ssize_t)part;
        }
    }
    return 0;
}

static int zip_put(zip_writer *z, PyObject *bytes) {
    RL_OWNED PyObject *done = bytes ? PyObject_CallOneArg(z->put, bytes) : NULL;
    return done ? 0 : -1;
}

/* Hands out what has gathered, and `data` behind it. */
static int zip_flush(zip_writer *z, PyObject *object, const Py_buffer *data) {
    int64_t n = data ? data->len : 0;
    if (!z->put) {
        if (zip_write_fd(z->fd, z->text.at, z->text.n, data ? data->buf : NULL, n) < 0) return -1;
    } else {
        RL_OWNED PyObject *text = PyBytes_FromStringAndSize(z->text.at, (Py_ssize_t)z->text.n);
        if (zip_put(z, text) < 0) return -1;
        RL_OWNED PyObject *view = data ? PyMemoryView_FromObject(object) : NULL;
        if (data && zip_put(z, view) < 0) return -1;
    }
    z->at += z->text.n + n;
    z->text.n = 0;
    return 0;
}

/* ---- records ---- */
typedef struct {
    char at[64];
    int n;
} zip_head;

static void head_add(zip_head *h, uint64_t value, int size) {
    for (int i = 0; i < size; i++) h->at[h->n++] = (char)(value >> 8 * i);
}
static void head_repeat(zip_head *h, uint64_t value, int size, int times) {
    while (times--) head_add(h, value, size);
}

static uint64_t zip_mix(uint64_t hash, uint32_t value) {
    return hash * 0x100000001b3u ^ value;
}

/* the zip64 field: present when a number does not fit in 32 bits */
static void zip_wide(zip_head *wide, uint64_t size, uint64_t at) {
    int body = (size >= LIMIT ? 16 : 0) + (at >= LIMIT ? 8 : 0);
    if (!body) return;
    head_add(wide, 1, 2), head_add(wide, (uint64_t)body, 2);
    if (size >= LIMIT) head_repeat(wide, size, 8, 2);
    if (at >= LIMIT) head_add(wide, at, 8);
}

static int zip_enter(zip_writer *z, const char *name, int64_t n_name, uint32_t crc, uint64_t size,
                     uint64_t at) {
    zip_head head = {0}, wide = {0};
    uint64_t shown = size < LIMIT ? size : LIMIT;
    zip_wide(&wide, size, at);
    head_add(&head, 0x02014b50, 4), head_add(&head, 0, 4), head_add(&head, size ? SEEN_BEHIND : UTF8, 2);
    head_add(&head, 0, 6), head_add(&head, crc, 4), head_repeat(&head, shown, 4, 2);
    head_add(&head, (uint64_t)n_name, 2), head_add(&head, (uint64_t)wide.n, 2), head_add(&head, 0, 8);
    head_add(&head, 0, 2), head_add(&head, at < LIMIT ? at : LIMIT, 4);
    z->entries++;
    z->names = zip_mix(z->names, rl_crc32(0, name, n_name));
    z->sums = zip_mix(z->sums, crc);
    saver *d = &z->directory;
    return rl_save_bytes(d, head.at, head.n) || rl_save_bytes(d, name, n_name) ||
                   rl_save_bytes(d, wide.at, wide.n)
               ? -1
               : 0;
}

static int zip_local(zip_writer *z, const char *name, int64_t n_name, uint64_t size, const zip_head *wide) {
    static const char fill[ALIGN + 1] = "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ";
    zip_head head = {0};
    int64_t end = z->at + z->text.n + 30 + n_name + wide->n + 4, padding = -end & (ALIGN - 1);
    head_add(&head, 0x04034b50, 4), head_add(&head, 0, 2), head_add(&head, size ? SEEN_BEHIND : UTF8, 2);
    head_repeat(&head, 0, 6, 3), head_add(&head, (uint64_t)n_name, 2);
    head_add(&head, (uint64_t)(wide->n + 4 + padding), 2);
    saver *t = &z->text;
    if (rl_save_bytes(t, head.at, head.n) || rl_save_bytes(t, name, n_name) ||
        rl_save_bytes(t, wide->at, wide->n))
        return -1;
    zip_head extra = {.at = "FB", .n = 2};
    head_add(&extra, (uint64_t)padding, 2);
    return rl_save_bytes(t, extra.at, 4) || rl_save_bytes(t, fill, padding) ? -1 : 0;
}

static uint32_t zip_sum(const Py_buffer *data) {
    uint32_t crc;
    if (data->len <= 65536) return rl_crc32(0, data->buf, data->len);
    Py_BEGIN_ALLOW_THREADS crc = rl_crc32(0, data->buf, data->len);
    Py_END_ALLOW_THREADS return crc;
}

static int zip_record_named(zip_writer *z, const char *name, int64_t n_name, PyObject *object,
                            const Py_buffer *data) {
    uint64_t size = (uint64_t)data->len, at = (uint64_t)(z->at + z->text.n);
    uint32_t crc = z->checksums ? zip_sum(data) : 0;
    zip_head wide = {0}, behind = {0};
    zip_wide(&wide, size, at);
    if (zip_local(z, name, n_name, size, &wide) || zip_enter(z, name, n_name, crc, size, at)) return -1;
    if (!size) return 0;
    if (size <= SMALL ? rl_save_bytes(&z->text, data->buf, data->len) : zip_flush(z, object, data)) return -1;
    head_add(&behind, 0x08074b50, 4), head_add(&behind, crc, 4),
        head_repeat(&behind, size, wide.n ? 8 : 4, 2);
    return rl_save_bytes(&z->text, behind.at, behind.n);
}

/* Sums and files are written without the GIL: what another thread may train meanwhile is copied, so that
 * the sum is that of the bytes in the file. NULL without an exception when there is no need. */
static PyObject *zip_copy(const zip_writer *z, PyObject *object) {
    PyThreadState *any = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    if (!z->checksums || !any || !PyThreadState_Next(any) || PyBytes_CheckExact(object)) return NULL;
    Py_buffer data;
    if (PyObject_GetBuffer(object, &data, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *copy = data.len > SMALL ? PyBytes_FromStringAndSize(NULL, data.len) : NULL;
    if (copy) {
        char *to = PyBytes_AS_STRING(copy);
        Py_BEGIN_ALLOW_THREADS memcpy(to, data.buf, (size_t)data.len);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&data);
    return copy;
}

static int zip_record(zip_writer *z, const char *name, PyObject *object) {
    RL_OWNED PyObject *full = PyBytes_FromFormat("%s/%s", z->prefix, name);
    RL_OWNED PyObject *copy = full ? zip_copy(z, object) : NULL;
    Py_buffer data;
    if (PyErr_Occurred()) return -1;
    if (copy) object = copy;
    if (!full || PyObject_GetBuffer(object, &data, PyBUF_SIMPLE) < 0) return -1;
    int failed = 0;
    if (PyBytes_GET_SIZE(full) > UINT16_MAX) {
        PyErr_SetString(PyExc_ValueError, "the name of a record is too long");
        failed = -1;
    }
    failed = failed || zip_record_named(z, PyBytes_AS_STRING(full), PyBytes_GET_SIZE(full), object, &data);
    PyBuffer_Release(&data);
    return failed ? -1 : 0;
}

static int zip_end(zip_writer *z) {
    char id[48];
    PyOS_snprintf(id, sizeof id, "%020llu%020llu", (unsigned long long)z->names, (unsigned long long)z->sums);
    RL_OWNED PyObject *text = PyBytes_FromString(id);
    if (!text || zip_record(z, ".data/serialization_id", text)) return -1;
    uint64_t start = (uint64_t)(z->at + z->text.n), size = (uint64_t)z->directory.n, n = (uint64_t)z->entries;
    zip_head wide = {0}, locator = {0}, last = {0};
    head_add(&wide, 0x06064b50, 4), head_add(&wide, 44, 8), head_add(&wide, 0x031e, 2),
        head_add(&wide, 0x2d, 2);
    head_add(&wide, 0, 8), head_repeat(&wide, n, 8, 2), head_add(&wide, size, 8), head_add(&wide, start, 8);
    head_add(&locator, 0x07064b50, 4), head_add(&locator, 0, 4), head_add(&locator, start + size, 8);
    head_add(&locator, 1, 4);
    head_add(&last, 0x06054b50, 4), head_add(&last, 0, 4), head_repeat(&last, n < 0xffff ? n : 0xffff, 2, 2);
    head_add(&last, size < LIMIT ? size : LIMIT, 4), head_add(&last, start < LIMIT ? start : LIMIT, 4);
    head_add(&last, 0, 2);
    saver *t = &z->text;
    if (rl_save_bytes(t, z->directory.at, z->directory.n) || rl_save_bytes(t, wide.at, wide.n) ||
        rl_save_bytes(t, locator.at, locator.n) || rl_save_bytes(t, last.at, last.n))
        return -1;
    return zip_flush(z, NULL, NULL);
}

static int zip_all(zip_writer *z, PyObject *records) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(records); i++) {
        const char *name;
        PyObject *data;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(records, i), "sO;a record is (name, data)", &name, &data))
            return -1;
        if (zip_record(z, name, data)) return -1;
    }
    return zip_end(z);
}

static PyObject *save_zip(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *target, *records;
    int checksums;
    const uint64_t basis = 0xcbf29ce484222325u;
    zip_writer z = {.names = basis, .sums = basis, .fd = -1};
    if (!PyArg_ParseTuple(args, "OsO!p:_save_zip", &target, &z.prefix, &PyList_Type, &records, &checksums))
        return NULL;
    z.checksums = checksums;
    if (PyLong_Check(target)) {
        long fd = PyLong_AsLong(target);
        if (fd < 0 || fd > INT32_MAX)
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "negative file descriptor");
        z.fd = (int)fd;
    } else {
        z.put = target;
    }
    int failed = zip_all(&z, records);
    PyMem_Free(z.text.at);
    PyMem_Free(z.directory.at);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef rl_save_zip_methods[] = {
    {"_save_zip", save_zip, METH_VARARGS,
     PyDoc_STR("_save_zip(target, prefix, records, checksums)\n--\n\n"
               "Writes a list of (name, data) to a file descriptor, or through a file's write.")},
    {NULL, NULL, 0, NULL}};
