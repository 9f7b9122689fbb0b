/* The memory side of loading: storages filled from a file, tensors on them. */
#include "loader.h"
#include "bytes.h"
#include "object/storage.h"
#include "core/device.h"
#include "core/error.h"
#include "core/storage.h"
#include "core/view.h"
#include "ops/table.h"
#include <sys/mman.h>

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
    rl_storage_drop(made);
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
    rl_storage_keep(its);
    rl_storage_drop(*made);
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
        rl_storage_drop(there);
        there = NULL;
    }
    rl_storage_drop(made);
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
    rl_storage *made = mapped ? rl_loader_mapped(c, s) : storage_read(c, s);
    if (!made) {
        if (c->reader->error) return (void *)rl_loader_raise(c);
        return (void *)rl_raise(NULL);
    }
    if (c->hook) {
        kept = storage_ask(c, location, &made);
        if (kept < 0 || (!kept && storage_place(c, location, &device, &index) < 0)) {
            rl_storage_drop(made);
            return NULL;
        }
    }
    if (!kept && device != RL_CPU) {
        made = storage_move(made, device, rl_device_index(device, index));
        if (!made) return (void *)rl_raise(NULL);
    }
    return s->made = made;
}

PyObject *rl_loader_storage_object(loader *c, rl_stored *s) {
    rl_storage *made = rl_loader_storage(c, s->root ? s->root : s);
    if (made && s->root && !s->made) {
        s->made = rl_storage_part(made, (size_t)s->root_offset, (size_t)s->nbytes);
        if (!s->made) return rl_raise(NULL);
    }
    if (s->root) made = made ? s->made : NULL;
    RL_OWNED PyObject *bytes = made ? rl_untyped_storage_new(made) : NULL;
    if (!bytes || s->dtype < 0) return rl_give(&bytes);
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
    return rl_give(&made);
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
    v->storage = rl_storage_keep(storage);
    rl_tensor_reveal((rl_tensor *)object);
    if ((t->conj || t->neg) && storage->device != RL_META)
        Py_SETREF(object, tensor_resolve(object, t->conj, t->neg));
    if (!object || (t->requires_grad && rl_tensor_set_requires_grad((rl_tensor *)object, 1) < 0)) return NULL;
    return rl_give(&object);
}

PyObject *rl_loader_tensor(loader *c, const rl_item *item) {
    const rl_stored_tensor *t = item->u.tensor;
    if (!t->storage && !t->meta) return (PyObject *)rl_tensor_new(t->dtype, RL_CPU, 0, t->shape, t->ndim);
    rl_storage *storage =
        t->meta ? rl_storage_on(RL_META, 0, RL_COUNT(t->nbytes), 1) : rl_loader_storage(c, t->storage);
    if (!storage) return t->meta ? rl_raise(NULL) : NULL;
    PyObject *made = tensor_on(storage, t);
    if (t->meta) rl_storage_drop(storage);
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
