/* Loading a file: replays what the reader of checkpoints wrote down and makes the Python objects, in a loop.
 */
#include "internal.h"
#include "call/call.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/storage.h"
#include "object/storage.h"
#include "core/device.h"
#include "core/view.h"
#include "ops/table.h"
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

/* where it lies in the mapping */
static rl_storage *loader_mapped(loader *c, const rl_stored *s) {
    uint8_t *at = c->map->base + s->bytes.at;
    __atomic_add_fetch(&c->map->users, 1, __ATOMIC_RELAXED);
    rl_storage *made = rl_storage_borrow(at, (size_t)s->nbytes, map_drop, c->map);
    if (made) rl_stored_normalise(c->reader, s, at);
    return made;
}

static rl_status loader_inflate(rl_reader *r, const rl_record *from, void *to);

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
        c->reader->inflate = loader_inflate;
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
        if (r->storages[i]) rl_storage_release(r->storages[i]->made);
    }
    loader_unmap(c);
    rl_reader_free(r);
    c->reader = NULL;
    Py_CLEAR(c->places);
    if (c->bytes.obj) PyBuffer_Release(&c->bytes);
}

/* ---- compressed records, unpacked by Python's own zlib module piece by piece ---- */
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

/* rl_reader.inflate, with or without the GIL */
static rl_status loader_inflate(rl_reader *r, const rl_record *from, void *to) {
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

/* ---- the memory side of loading ----
 * storages filled from a file, tensors on them. */
/* Most of the time of reading megabytes goes into making fresh pages: ask for large ones. */
static void storage_want_huge_pages(void *at, size_t n) {
    enum { PAGE = 4096, WORTH = 4 << 20 };
    uintptr_t begin = ((uintptr_t)at + PAGE - 1) & ~(uintptr_t)(PAGE - 1),
              end = ((uintptr_t)at + n) & ~(uintptr_t)(PAGE - 1);
    if (n >= WORTH) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* a wish, no more */
}

/* also without the GIL: nobody else knows the storage yet */
static rl_status storage_fill(rl_reader *reader, rl_stored *s, rl_storage *made) {
    RL_RAW;
    void *to = rl_storage_bytes(made, RL_FRESH);
    storage_want_huge_pages(to, (size_t)s->nbytes);
    return rl_stored_fill(reader, s, to);
}

static rl_storage *storage_read(loader *c, rl_stored *s) {
    rl_storage *made = rl_storage_new(RL_COUNT(s->nbytes), 1);
    if (!made) return NULL;
    rl_status status;
    if (s->nbytes > 65536) {
        Py_BEGIN_ALLOW_THREADS status = storage_fill(c->reader, s, made);
        Py_END_ALLOW_THREADS
    } else {
        status = storage_fill(c->reader, s, made);
    }
    if (!status) return made;
    rl_storage_release(made);
    return NULL;
}

static PyObject *storage_location(rl_stored *s) {
    return PyUnicode_DecodeUTF8(s->location.at, (Py_ssize_t)s->location.n, "replace");
}

/* map_location as a function: it gets the storage on the CPU and answers a storage, or None for the default.
 * 1: *made is what it answered; 0: None; -1: an exception. */
static int storage_ask(loader *c, PyObject *location, rl_storage **made) {
    RL_OWNED PyObject *object = rl_untyped_storage_new(*made);
    RL_OWNED PyObject *answer = object ? PyObject_CallFunctionObjArgs(c->hook, object, location, NULL) : NULL;
    if (!answer) return -1;
    if (answer == Py_None) return 0;
    if (answer == object) return 1;
    if (Py_TYPE(answer) != rl_untyped_storage_type) {
        PyErr_Format(PyExc_TypeError, "map_location must return a storage or None, not %.100s (file %s)",
                     Py_TYPE(answer)->tp_name, c->file);
        return -1;
    }
    RL_OWNED PyObject *key = PyObject_GetAttrString(answer, "_cdata");
    rl_storage *its = key ? PyLong_AsVoidPtr(key) : NULL;
    if (!its) return -1;
    if (its->nbytes != (*made)->nbytes) {
        PyErr_Format(PyExc_RuntimeError,
                     "map_location returned a storage of %zu bytes instead of %zu (file %s)", its->nbytes,
                     (*made)->nbytes, c->file);
        return -1;
    }
    rl_storage_retain(its);
    rl_storage_release(*made);
    *made = its;
    return 1;
}

/* The device for a location, asked once for each. */
static int storage_place(loader *c, PyObject *location, int *device, int *index) {
    *device = RL_CPU, *index = 0;
    if (!c->place) return 0;
    PyObject *answer = PyDict_GetItemWithError(c->places, location);
    if (!answer) {
        if (PyErr_Occurred()) return -1;
        RL_OWNED PyObject *fresh = PyObject_CallOneArg(c->place, location);
        if (!fresh || PyDict_SetItem(c->places, location, fresh) < 0) return -1;
        answer = fresh; /* the dict keeps it */
    }
    return rl_device_parse(answer, device, index);
}

static rl_storage *storage_move(rl_storage *made, int device, int index) {
    rl_storage *there = rl_storage_on(device, index, RL_COUNT(made->nbytes), 1);
    const rl_device_driver *driver = rl_device_driver_get(device);
    if (there && made->nbytes && device != RL_META && !rl_bytes_copy(there, made, driver)) {
        rl_storage_release(there);
        there = NULL;
    }
    rl_storage_release(made);
    return there;
}

rl_storage *rl_loader_storage(loader *c, rl_stored *s) {
    if (s->made) return s->made;
    RL_OWNED PyObject *location = storage_location(s);
    if (!location) return NULL;
    int device, index, kept = 0;
    if (!c->hook && storage_place(c, location, &device, &index) < 0) return NULL;
    if (!c->hook && device == RL_META) { /* whatever the file holds is not read */
        rl_storage *hollow = rl_storage_on(RL_META, 0, RL_COUNT(s->nbytes), 1);
        return hollow ? s->made = hollow : (void *)rl_raise(NULL);
    }
    bool mapped = c->map && s->nbytes && !s->bytes.deflated && !c->reader->big_endian &&
                  (s->used < 0 || s->bytes.at % rl_itemsize(s->used) == 0);
    rl_storage *made = mapped ? loader_mapped(c, s) : storage_read(c, s);
    if (!made) {
        if (c->reader->error) return (void *)rl_loader_raise(c);
        return (void *)rl_raise(NULL);
    }
    if (c->hook) {
        kept = storage_ask(c, location, &made);
        if (kept < 0 || (!kept && storage_place(c, location, &device, &index) < 0)) {
            rl_storage_release(made);
            return NULL;
        }
    }
    if (!kept && device != RL_CPU) {
        made = storage_move(made, device, rl_device_index(device, index));
        if (!made) return (void *)rl_raise(NULL);
    }
    return s->made = made;
}

static PyObject *loader_storage_object(loader *c, rl_stored *s) {
    rl_storage *made = rl_loader_storage(c, s->root ? s->root : s);
    if (made && s->root && !s->made) {
        s->made = rl_storage_part(made, (size_t)s->root_offset, (size_t)s->nbytes);
        if (!s->made) return rl_raise(NULL);
    }
    if (s->root) made = made ? s->made : NULL;
    RL_OWNED PyObject *bytes = made ? rl_untyped_storage_new(made) : NULL;
    if (!bytes || s->dtype < 0) return rl_move(&bytes);
    RL_OWNED PyObject *module = PyImport_ImportModule("rushlight.storage");
    RL_OWNED PyObject *dtype = module ? rl_dtype_object(s->dtype) : NULL;
    return dtype ? PyObject_CallMethod(module, "_typed", "OO", bytes, dtype) : NULL;
}

/* Nothing here reads values lazily: a tensor with the conj or neg bit becomes one with those values. */
static PyObject *tensor_resolve(PyObject *lazy, bool conj, bool neg) {
    const rl_view *t = &((rl_tensor *)lazy)->v;
    if (!(RL_SET_COMPLEX >> t->dtype & 1)) return neg ? rl_op_unary(RL_OP_neg, lazy) : Py_NewRef(lazy);
    RL_OWNED PyObject *made = (PyObject *)rl_tensor_new(t->dtype, RL_CPU, 0, t->shape, t->ndim);
    if (!made || rl_tensor_copy((rl_tensor *)made, (rl_tensor *)lazy) < 0) return NULL;
    rl_view *v = &((rl_tensor *)made)->v;
    /* signs are single bits: that of the real part for neg, that of the imaginary one for either, not both */
    int64_t half = rl_itemsize(v->dtype) / 2;
    RL_RAW;
    uint8_t *p = rl_data(v, RL_FRESH);
    for (int64_t i = 0; i < v->numel; i++, p += 2 * half) {
        if (neg) p[half - 1] ^= 0x80;
        if (neg != conj) p[2 * half - 1] ^= 0x80;
    }
    return rl_move(&made);
}

static PyObject *tensor_on(rl_storage *storage, const rl_stored_tensor *t) {
    RL_OWNED PyObject *object = (PyObject *)rl_tensor_alloc(rl_tensor_type, t->ndim);
    if (!object) return NULL;
    rl_view *v = &((rl_tensor *)object)->v;
    for (int i = 0; i < t->ndim; i++) v->shape[i] = t->shape[i], v->strides[i] = t->strides[i];
    v->numel = rl_dims_numel(t->shape, t->ndim);
    v->offset = t->offset;
    v->dtype = (uint8_t)t->dtype;
    v->device = storage->device, v->device_index = storage->device_index;
    v->storage = rl_storage_retain(storage);
    rl_tensor_reveal((rl_tensor *)object);
    if ((t->conj || t->neg) && storage->device != RL_META)
        Py_SETREF(object, tensor_resolve(object, t->conj, t->neg));
    if (!object || (t->requires_grad && rl_tensor_set_requires_grad((rl_tensor *)object, 1) < 0)) return NULL;
    return rl_move(&object);
}

PyObject *rl_loader_tensor(loader *c, const rl_item *item) {
    const rl_stored_tensor *t = item->u.tensor;
    if (!t->storage && !t->meta) return (PyObject *)rl_tensor_new(t->dtype, RL_CPU, 0, t->shape, t->ndim);
    rl_storage *storage =
        t->meta ? rl_storage_on(RL_META, 0, RL_COUNT(t->nbytes), 1) : rl_loader_storage(c, t->storage);
    if (!storage) return t->meta ? rl_raise(NULL) : NULL;
    PyObject *made = tensor_on(storage, t);
    if (t->meta) rl_storage_release(storage);
    return made;
}

static PyObject *storage_resolve(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *lazy;
    int conj, neg;
    if (!PyArg_ParseTuple(args, "O!pp:_resolve_bits", rl_tensor_type, &lazy, &conj, &neg)) return NULL;
    if (((rl_tensor *)lazy)->v.device == RL_CPU) return tensor_resolve(lazy, conj, neg);
    return PyErr_Format(PyExc_RuntimeError, "lazy conjugates of another device cannot be read");
}

PyMethodDef rl_loader_storage_methods[] = {
    {"_resolve_bits", storage_resolve, METH_VARARGS,
     PyDoc_STR("_resolve_bits(tensor, conj, neg)\n--\n\nThe values that a file's lazy bits stand for.")},
    {NULL, NULL, 0, NULL},
};

/* ---- objects ---- */
static PyObject *loader_bad(loader *c, const char *why) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_ValueError)) return NULL;
    PyErr_Clear();
    rl_reader_fail(c->reader, RL_READER_PICKLE, "%s", why);
    return rl_loader_raise(c);
}

/* ---- values ---- */
static PyObject *loader_object(loader *c, const rl_item *i); /* borrowed */

static PyObject *value_new_items(loader *c, const rl_item *i) {
    RL_OWNED PyObject *tuple = PyTuple_New((Py_ssize_t)i->n);
    if (!tuple) return NULL;
    for (int64_t k = 0; k < i->n; k++) {
        PyObject *o = loader_object(c, i->u.items[k]);
        if (!o) return NULL;
        PyTuple_SET_ITEM(tuple, k, Py_NewRef(o));
    }
    if (i->kind == RL_ITEM_FROZENSET) return PyFrozenSet_New(tuple);
    return rl_move(&tuple);
}

static PyObject *value_new_size(const rl_item *i) {
    int64_t *dims = PyMem_Malloc((size_t)(i->n + 1) * sizeof *dims);
    if (!dims) return PyErr_NoMemory();
    for (int64_t k = 0; k < i->n; k++) dims[k] = i->u.items[k]->u.i;
    PyObject *size = i->n > INT32_MAX ? PyErr_NoMemory() : rl_size_new(dims, (int)i->n);
    PyMem_Free(dims);
    return size;
}

static PyObject *value_new_long(const rl_item *i) {
    RL_OWNED PyObject *from = PyObject_GetAttrString((PyObject *)&PyLong_Type, "from_bytes");
    RL_OWNED PyObject *args = Py_BuildValue("(y#s)", i->u.text, (Py_ssize_t)i->n, "little");
    RL_OWNED PyObject *words = Py_BuildValue("{s:O}", "signed", Py_True);
    return from && args && words ? PyObject_Call(from, args, words) : NULL;
}

static PyObject *value_new_from(const char *module, const char *name) {
    RL_OWNED PyObject *m = PyImport_ImportModule(module);
    RL_OWNED PyObject *type = m ? PyObject_GetAttrString(m, name) : NULL;
    return type ? PyObject_CallNoArgs(type) : NULL;
}

static PyObject *value_new_named(const rl_item *i) {
    static const char *const names[RL_NLAYOUTS] = RL_LAYOUTS;
    RL_OWNED PyObject *m = PyImport_ImportModule("rushlight._C");
    const char *name = i->kind == RL_ITEM_LAYOUT ? names[i->code] : rl_scheme_name(i->code);
    return m ? PyObject_GetAttrString(m, name) : NULL;
}

/* Sparse and quantized tensors: Python classes that check what their parts say. */
static PyObject *value_new_container(loader *c, const rl_item *i) {
    const char *name = i->kind == RL_ITEM_SPARSE ? "sparse" : "QuantizedTensor";
    RL_OWNED PyObject *m = PyImport_ImportModule("rushlight._files.layouts");
    RL_OWNED PyObject *make = m ? PyObject_GetAttrString(m, name) : NULL;
    RL_OWNED PyObject *parts = make ? value_new_items(c, i) : NULL;
    return parts ? PyObject_CallObject(make, parts) : NULL;
}

/* Attributes from the file: plain names only, and never one that the class itself gives a meaning to. */
static int value_set_attributes(loader *c, PyObject *o, const rl_item *state) {
    for (int64_t k = 0; state && k + 1 < state->n; k += 2) {
        const rl_item *key = state->u.items[k];
        if (key->kind != RL_ITEM_STR || (key->n >= 2 && !memcmp(key->u.text, "__", 2))) {
            loader_bad(c, "an attribute in the file has a name that is not allowed");
            return -1;
        }
        PyObject *name = loader_object(c, key),
                 *value = name ? loader_object(c, state->u.items[k + 1]) : NULL;
        if (!value) return -1;
        RL_OWNED PyObject *taken = PyObject_GetAttr((PyObject *)Py_TYPE(o), name);
        if (!taken) PyErr_Clear();
        if (taken && (Py_TYPE(taken)->tp_descr_get || Py_TYPE(taken)->tp_descr_set)) {
            loader_bad(c, "an attribute in the file would replace a method or property of its class");
            return -1;
        }
        if (PyObject_GenericSetAttr(o, name, value) < 0) return -1;
    }
    return 0;
}

static PyObject *value_new_parameter(loader *c, const rl_item *i) {
    PyObject *data = loader_object(c, i->u.items[0]);
    if (!data) return NULL;
    RL_OWNED PyObject *p = (PyObject *)rl_tensor_alias(rl_parameter_type, (rl_tensor *)data);
    if (!p || rl_tensor_set_requires_grad((rl_tensor *)p, i->code) < 0) return NULL;
    return value_set_attributes(c, p, i->state) < 0 ? NULL : rl_move(&p);
}

static PyObject *value_new_subclass(loader *c, const rl_item *i) {
    PyObject *t = loader_object(c, i->u.items[0]), *cls = t ? loader_object(c, i->u.items[1]) : NULL;
    if (!cls) return NULL;
    if (!PyType_Check(cls) || !PyType_IsSubtype((PyTypeObject *)cls, rl_tensor_type)) {
        return loader_bad(c, "the class of a tensor in the file is no subclass of Tensor");
    }
    RL_OWNED PyObject *o = (PyObject *)rl_tensor_alias((PyTypeObject *)cls, (rl_tensor *)t);
    if (!o || rl_tensor_set_requires_grad((rl_tensor *)o, ((rl_tensor *)t)->requires_grad) < 0) return NULL;
    return value_set_attributes(c, o, i->state) < 0 ? NULL : rl_move(&o);
}

/* A class or function that the caller allowed by name. */
static PyObject *value_new_user(loader *c, const rl_item *i) {
    PyObject *callee = loader_object(c, i->u.items[0]),
             *args = callee ? loader_object(c, i->u.items[1]) : NULL;
    if (!args) return NULL;
    if (i->kind == RL_ITEM_CALL) return PyObject_CallObject(callee, args);
    if (!PyType_Check(callee)) return loader_bad(c, "NEWOBJ wants a class");
    RL_OWNED PyObject *make = PyObject_GetAttrString(callee, "__new__");
    RL_OWNED PyObject *first = PyTuple_Pack(1, callee);
    RL_OWNED PyObject *all = first ? PySequence_Concat(first, args) : NULL;
    return make && all ? PyObject_CallObject(make, all) : NULL;
}

static PyObject *value_new(loader *c, const rl_item *i) {
    switch (i->kind) {
    case RL_ITEM_INT: return PyLong_FromLongLong(i->u.i);
    case RL_ITEM_LONG: return value_new_long(i);
    case RL_ITEM_FLOAT: return PyFloat_FromDouble(i->u.d);
    case RL_ITEM_COMPLEX: {
        double parts[2];
        memcpy(parts, i->u.text, sizeof parts);
        return PyComplex_FromDoubles(parts[0], parts[1]);
    }
    case RL_ITEM_STR: {
        PyObject *text = PyUnicode_DecodeUTF8(i->u.text, (Py_ssize_t)i->n, "surrogatepass");
        return text ? text : loader_bad(c, "a text in the pickle is not UTF-8");
    }
    case RL_ITEM_BYTES: return PyBytes_FromStringAndSize(i->u.text, (Py_ssize_t)i->n);
    case RL_ITEM_BYTEARRAY: return PyByteArray_FromStringAndSize(i->u.text, (Py_ssize_t)i->n);
    case RL_ITEM_TUPLE:
    case RL_ITEM_FROZENSET: return value_new_items(c, i);
    case RL_ITEM_SIZE: return value_new_size(i);
    case RL_ITEM_LIST: return PyList_New(0);
    case RL_ITEM_SET: return PySet_New(NULL);
    case RL_ITEM_DICT: return PyDict_New();
    case RL_ITEM_ORDERED: return value_new_from("collections", "OrderedDict");
    case RL_ITEM_COUNTER: return value_new_from("collections", "Counter");
    case RL_ITEM_DTYPE: return rl_dtype_object(i->code);
    case RL_ITEM_LAYOUT:
    case RL_ITEM_SCHEME: return value_new_named(i);
    case RL_ITEM_SPARSE:
    case RL_ITEM_QUANTIZED: return value_new_container(c, i);
    case RL_ITEM_DEVICE: return rl_device_new(i->code, (int)i->u.i);
    case RL_ITEM_USER: return Py_NewRef(c->user[i->code]);
    case RL_ITEM_CALL:
    case RL_ITEM_NEW: return value_new_user(c, i);
    case RL_ITEM_STORAGE: return loader_storage_object(c, i->u.storage);
    case RL_ITEM_TENSOR: {
        RL_OWNED PyObject *t = rl_loader_tensor(c, i);
        if (!t || value_set_attributes(c, t, i->state) < 0) return NULL;
        return rl_move(&t);
    }
    case RL_ITEM_PARAMETER: return value_new_parameter(c, i);
    case RL_ITEM_SUBCLASS: return value_new_subclass(c, i);
    default: return loader_bad(c, "a class or function stands on its own in the file");
    }
}

static PyObject *loader_object(loader *c, const rl_item *i) {
    if (i->made) return i->made;
    if (i->kind == RL_ITEM_NONE) return Py_None;
    if (i->kind == RL_ITEM_TRUE) return Py_True;
    if (i->kind == RL_ITEM_FALSE) return Py_False;
    return loader_bad(c, "an object is used before it is complete");
}

/* ---- steps ---- */
static int step_add(loader *c, const rl_step *s) {
    PyObject *to = loader_object(c, s->item), *a, *b;
    if (!to) return -1;
    for (int64_t k = s->from; k < s->to; k++) {
        if (!(a = loader_object(c, s->item->u.items[k]))) return -1;
        int failed;
        if (s->item->kind == RL_ITEM_LIST) {
            failed = PyList_Append(to, a);
        } else if (s->item->kind == RL_ITEM_SET) {
            failed = PySet_Add(to, a);
        } else {
            if (!(b = loader_object(c, s->item->u.items[++k]))) return -1;
            failed = s->item->kind == RL_ITEM_ORDERED ? PyObject_SetItem(to, a, b) : PyDict_SetItem(to, a, b);
        }
        if (failed) return -1;
    }
    return 0;
}

/* What pickle does for an object of a class that the caller allowed. */
static int step_build_user(loader *c, PyObject *o, rl_item *state) {
    RL_OWNED PyObject *set = PyObject_GetAttrString(o, "__setstate__");
    if (set) {
        PyObject *value = loader_object(c, state);
        RL_OWNED PyObject *done = value ? PyObject_CallOneArg(set, value) : NULL;
        return done ? 0 : -1;
    }
    PyErr_Clear();
    const rl_item *parts[2] = {state, NULL};
    if (state->kind == RL_ITEM_TUPLE && state->n == 2)
        parts[0] = state->u.items[0], parts[1] = state->u.items[1];
    for (int i = 0; i < 2; i++) {
        if (!parts[i] || parts[i]->kind == RL_ITEM_NONE) continue;
        if (parts[i]->kind != RL_ITEM_DICT) return loader_bad(c, "the state of an object must be a dict"), -1;
        for (int64_t k = 0; k + 1 < parts[i]->n; k += 2) {
            const rl_item *key = parts[i]->u.items[k];
            if (key->kind != RL_ITEM_STR || (key->n >= 2 && !memcmp(key->u.text, "__", 2))) {
                return loader_bad(c, "an attribute in the file has a name that is not allowed"), -1;
            }
            PyObject *name = loader_object(c, key),
                     *value = name ? loader_object(c, parts[i]->u.items[k + 1]) : NULL;
            if (!value || PyObject_GenericSetAttr(o, name, value) < 0) return -1;
        }
    }
    return 0;
}

static int loader_step(loader *c, const rl_step *s) {
    if (!s->item->marked) return 0;
    switch (s->kind) {
    case RL_STEP_MAKE:
        if (!s->item->made) s->item->made = value_new(c, s->item);
        return s->item->made ? 0 : -1;
    case RL_STEP_ADD: return step_add(c, s);
    default: {
        PyObject *o = loader_object(c, s->item);
        if (!o) return -1;
        if (s->item->kind == RL_ITEM_ORDERED) return value_set_attributes(c, o, s->item->state);
        return step_build_user(c, o, s->item->state);
    }
    }
}

static PyObject *loader_replay(loader *c) {
    rl_reader *r = c->reader;
    r->nothing.made = PyTuple_New(0);
    if (!r->nothing.made) return NULL;
    for (int64_t i = 0; i < r->n_steps; i++) {
        if (loader_step(c, &r->steps[i]) < 0) return rl_loader_raise(c);
        if (i % 65536 == 65535 && PyErr_CheckSignals() < 0) return NULL;
    }
    return Py_XNewRef(loader_object(c, r->root));
}

/* names and objects of `allowed` into two arrays sorted by name */
static PyObject *loader_allowed(PyObject *allowed, const char ***names, PyObject ***objects) {
    RL_OWNED PyObject *keys = PyDict_Keys(allowed);
    if (!keys || PyList_Sort(keys) < 0) return NULL;
    Py_ssize_t n = PyList_GET_SIZE(keys);
    *names = PyMem_Calloc((size_t)n + 1, sizeof **names);
    *objects = PyMem_Calloc((size_t)n + 1, sizeof **objects);
    if (!*names || !*objects) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) {
        (*names)[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(keys, i));
        (*objects)[i] = PyDict_GetItemWithError(allowed, PyList_GET_ITEM(keys, i));
        if (!(*names)[i] || !(*objects)[i]) return NULL;
    }
    return rl_move(&keys);
}

/* what `mapped` says: by the size, or not at all, or the file itself, or a copy of it */
enum { MAPPED_BY_SIZE = -1, MAPPED_NOT, MAPPED_FILE, MAPPED_COPY };

static PyObject *loader_run(loader *c, rl_status (*read)(rl_reader *), int mapped) {
    rl_reader *r = c->reader;
    rl_status status;
    Py_BEGIN_ALLOW_THREADS status = read(r);
    if (!status) status = rl_reader_mark(r);
    Py_END_ALLOW_THREADS if (status) return rl_loader_raise(c);
    if (mapped) {
        if (r->legacy) {
            rl_reader_fail(
                r, RL_READER_RUNTIME,
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization="
                "True), please torch.save your checkpoint with this option in order to use mmap.");
            return rl_loader_raise(c);
        }
        if (rl_loader_map(c, mapped == MAPPED_COPY) < 0) return NULL;
    }
    RL_OWNED PyObject *root = loader_replay(c);
    return root ? Py_BuildValue("(OL)", root, (long long)r->end) : NULL;
}

PyDoc_STRVAR(load_doc, "_load(source, start, size, file, headline, mapped, allowed, place, hook)\n\n"
                       "Reads a checkpoint from a file descriptor or from bytes; answers (object, end).");

static PyObject *loader_load(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *source, *allowed;
    long long start, size;
    int mapped;
    loader c = {0};
    if (!PyArg_ParseTuple(args, "OLLssiO!OO:_load", &source, &start, &size, &c.file, &c.headline, &mapped,
                          &PyDict_Type, &allowed, &c.place, &c.hook))
        return NULL;
    if (c.place == Py_None) c.place = NULL;
    if (c.hook == Py_None) c.hook = NULL;
    if (mapped && !PyLong_Check(source))
        return PyErr_Format(PyExc_ValueError, "f must be a file path in order to use the mmap argument");
    const char **names = NULL;
    RL_OWNED PyObject *keys = loader_allowed(allowed, &names, &c.user);
    PyObject *result = NULL;
    if (keys && rl_loader_open(&c, source, start, size) == 0) {
        c.reader->allowed = names, c.reader->n_allowed = PyList_GET_SIZE(keys);
        result = loader_run(&c, rl_reader_read, mapped);
        rl_loader_close(&c);
    }
    PyMem_Free(names);
    PyMem_Free(c.user);
    return result;
}

PyDoc_STRVAR(
    safetensors_doc,
    "_load_safetensors(source, start, size, file, mapped, refusal)\n\n"
    "Reads a file of the safetensors package; answers (tensors by name, metadata or None). Mapped: 1, 0, "
    "or -1 for files of 64 MB and more.");

/* Nobody can take away the bytes of what is read, and smaller files are read in some milliseconds. */
enum { MAP_FROM = 64 << 20 };

static PyObject *loader_safetensors(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *source;
    long long start, size;
    int mapped;
    loader c = {.headline = ""};
    if (!PyArg_ParseTuple(args, "OLLsiO:_load_safetensors", &source, &start, &size, &c.file, &mapped,
                          &c.refusal))
        return NULL;
    if (rl_loader_open(&c, source, start, size) < 0) return NULL;
    if (mapped == MAPPED_BY_SIZE) mapped = c.reader->size >= MAP_FROM ? MAPPED_FILE : MAPPED_NOT;
    if (mapped && PyLong_Check(source) && rl_loader_map(&c, mapped == MAPPED_COPY) < 0)
        PyErr_Clear(); /* it is read, then */
    RL_OWNED PyObject *loaded = loader_run(&c, rl_safetensors_read, MAPPED_NOT);
    PyObject *metadata = loaded && c.reader->metadata ? loader_object(&c, c.reader->metadata) : Py_None;
    PyObject *result = loaded && metadata ? PyTuple_Pack(2, PyTuple_GET_ITEM(loaded, 0), metadata) : NULL;
    rl_loader_close(&c);
    return result;
}

PyMethodDef rl_loader_methods[] = {
    {"_load", loader_load, METH_VARARGS, load_doc},
    {"_load_safetensors", loader_safetensors, METH_VARARGS, safetensors_doc},
    {NULL, NULL, 0, NULL},
};
