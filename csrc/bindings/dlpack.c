/* DLPack both ways: capsules that carry a description of a tensor's memory, and who gives it back.
 *
 * Note [Capsules]
 * A capsule is called "dltensor" or "dltensor_versioned" until somebody takes what it carries; then it is
 * called "used_...", and its taker owns the description. Whoever owns it calls its deleter once, from any
 * thread. What a stranger's description says of sizes is checked; that its pointers point to what it says
 * cannot be. */
#include "bindings.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/storage.h"
#include "core/view.h"
#include <string.h>

typedef struct {
    int32_t type, index;
} dl_device;
enum { DL_CPU = 1, DL_CUDA = 2 };
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} dl_dtype;
typedef struct {
    void *data;
    dl_device device;
    int32_t ndim;
    dl_dtype dtype;
    int64_t *shape, *strides; /* strides may be NULL: row-major */
    uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed {
    dl_tensor tensor;
    void *owner;
    void (*deleter)(struct dl_managed *);
} dl_managed;
typedef struct dl_versioned {
    uint32_t major, minor;
    void *owner;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;
enum { DL_MAJOR = 1, DL_MINOR = 3 };

static const char plain_name[] = "dltensor", versioned_name[] = "dltensor_versioned";
static const char used_plain[] = "used_dltensor", used_versioned[] = "used_dltensor_versioned";

/* ---- dtypes ---- */
enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_COMPLEX, DL_BOOL, DL_FLOAT4 = 17 };
static const dl_dtype dl_dtypes[RL_NDTYPES] = {
    [RL_U8] = {DL_UINT, 8, 1},        [RL_I8] = {DL_INT, 8, 1},       [RL_I16] = {DL_INT, 16, 1},
    [RL_I32] = {DL_INT, 32, 1},       [RL_I64] = {DL_INT, 64, 1},     [RL_F16] = {DL_FLOAT, 16, 1},
    [RL_F32] = {DL_FLOAT, 32, 1},     [RL_F64] = {DL_FLOAT, 64, 1},   [RL_BOOL] = {DL_BOOL, 8, 1},
    [RL_BF16] = {DL_BFLOAT, 16, 1},   [RL_C32] = {DL_COMPLEX, 32, 1}, [RL_C64] = {DL_COMPLEX, 64, 1},
    [RL_C128] = {DL_COMPLEX, 128, 1}, [RL_U16] = {DL_UINT, 16, 1},    [RL_U32] = {DL_UINT, 32, 1},
    [RL_U64] = {DL_UINT, 64, 1},      [RL_F8E4M3] = {10, 8, 1},       [RL_F8E4M3Z] = {11, 8, 1},
    [RL_F8E5M2] = {12, 8, 1},         [RL_F8E5M2Z] = {13, 8, 1},      [RL_F8E8M0] = {14, 8, 1},
    [RL_F4X2] = {DL_FLOAT4, 4, 2}};

static int dtype_refused(dl_dtype d) {
    static const char *const names[] = {
        [DL_INT] = "kInt",           [DL_UINT] = "kUInt",         [DL_FLOAT] = "kFloat",
        [DL_BFLOAT] = "kFloat",      [DL_COMPLEX] = "kFloat",     [DL_BOOL] = "kDLBool",
        [10] = "kDLFloat8_e4m3fn",   [11] = "kDLFloat8_e4m3fnuz", [12] = "kDLFloat8_e5m2",
        [13] = "kDLFloat8_e5m2fnuz", [14] = "kDLFloat8_e8m0fnu",  [DL_FLOAT4] = "kDLFloat4_e2m1fn"};
    const char *name = d.code < Py_ARRAY_LENGTH(names) ? names[d.code] : NULL;
    if (d.code != DL_FLOAT4 && d.lanes != 1)
        PyErr_Format(PyExc_BufferError, "ATen does not support lanes != 1 for dtype code%d", d.code);
    else if (!name)
        PyErr_Format(PyExc_BufferError, "Unsupported code %d", d.code);
    else if (d.code == DL_FLOAT4 && d.bits == 4)
        PyErr_Format(PyExc_BufferError, "Unsupported %s lanes %d", name, d.lanes);
    else
        PyErr_Format(PyExc_BufferError, "Unsupported %s bits %d", name, d.bits);
    return -1;
}

static int dtype_from(dl_dtype d) {
    for (int i = 0; i < RL_NDTYPES; i++)
        if (d.bits && d.code == dl_dtypes[i].code && d.bits == dl_dtypes[i].bits &&
            d.lanes == dl_dtypes[i].lanes)
            return i;
    return dtype_refused(d);
}

/* ---- from tensors to capsules ---- */
typedef struct {
    union {
        dl_managed plain;
        dl_versioned versioned;
    };
    rl_storage *storage; /* held and lent */
    int64_t dims[2 * RL_MAX_DIMS];
} lent;

static void lent_free(lent *l) {
    rl_storage_unexport(l->storage);
    rl_storage_release(l->storage);
    rl_free(l);
}
static void lent_plain(dl_managed *m) {
    lent_free(m->owner);
}
static void lent_versioned(dl_versioned *m) {
    lent_free(m->owner);
}

static void capsule_free(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, plain_name)) lent_free(PyCapsule_GetPointer(capsule, plain_name));
    if (PyCapsule_IsValid(capsule, versioned_name)) lent_free(PyCapsule_GetPointer(capsule, versioned_name));
}

/* the storage is lent: it stays where it is */
static void describe_memory(dl_tensor *d, void *data) {
    d->data = data;
}

static void describe(dl_tensor *d, const rl_view *v, int64_t *dims) {
    RL_RAW;
    bool cuda = v->device == RL_CUDA;
    *d = (dl_tensor){.device = {cuda ? DL_CUDA : DL_CPU, cuda ? v->device_index : 0},
                     .ndim = v->ndim,
                     .dtype = dl_dtypes[v->dtype],
                     .shape = dims,
                     .strides = dims + v->ndim};
    if (v->numel) describe_memory(d, rl_data(v, RL_READ));
    for (int i = 0; i < v->ndim; i++) {
        dims[i] = v->shape[i];
        dims[v->ndim + i] = v->strides[i];
    }
}

static PyObject *lend(const rl_view *v, bool versioned) {
    lent *l = rl_alloc_zero(RL_COUNT(1), sizeof *l);
    if (!l) return rl_raise("__dlpack__");
    if (versioned)
        l->versioned = (dl_versioned){DL_MAJOR, DL_MINOR, l, lent_versioned, 0, {0}};
    else
        l->plain = (dl_managed){.owner = l, .deleter = lent_plain};
    describe(versioned ? &l->versioned.tensor : &l->plain.tensor, v, l->dims);
    l->storage = rl_storage_retain(v->storage);
    rl_storage_export(l->storage);
    PyObject *capsule = PyCapsule_New(l, versioned ? versioned_name : plain_name, capsule_free);
    if (!capsule) lent_free(l);
    return capsule;
}

static PyObject *dlpack_lend(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    (void)m;
    if (n != 2 || !rl_tensor_check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "_dlpack_lend(tensor, versioned)");
        return NULL;
    }
    RL_HELD v = {.storage = NULL};
    if (rl_held_take(&v, &((rl_tensor *)args[0])->v) < 0) return NULL;
    if (v.device == RL_META) {
        PyErr_SetString(PyExc_BufferError, "Cannot pack tensors on meta");
        return NULL;
    }
    if (!dl_dtypes[v.dtype].bits) {
        PyErr_SetString(PyExc_BufferError, v.dtype >= RL_BITS1X8
                                               ? "Bit types are not supported by dlpack"
                                               : "QUInt/QInt types are not supported by dlpack");
        return NULL;
    }
    return lend(&v, args[1] == Py_True);
}

/* ---- from capsules to tensors ---- */
/* The dims, checked; how many elements the memory has from the first one on. -1: an error is pending. */
static int64_t dims_take(rl_view *v, const dl_tensor *d, int dtype) {
    for (int i = 0; i < d->ndim; i++) {
        v->shape[i] = d->shape[i];
        v->strides[i] = d->strides ? d->strides[i] : 0;
    }
    v->numel = rl_dims_numel(v->shape, v->ndim);
    if (!d->strides && v->numel >= 0) rl_dims_contiguous(v->shape, v->ndim, v->strides);
    size_t most = (size_t)RL_MAX_STRIDE;
    if (rl_view_check_bounds(v->shape, v->strides, v->ndim, 0, dtype, most) != RL_OK) return -1;
    int64_t span = v->numel ? 1 : 0;
    for (int i = 0; i < v->ndim && v->numel; i++) span += (v->shape[i] - 1) * v->strides[i];
    return span;
}

static int device_from(dl_device d, rl_view *v) {
    if (d.type != DL_CPU && d.type != DL_CUDA) {
        PyErr_Format(PyExc_BufferError, "Unsupported device_type: %d", d.type);
        return -1;
    }
    if (d.index < 0 || d.index > INT8_MAX) {
        PyErr_Format(PyExc_BufferError, "Unsupported device index: %d", d.index);
        return -1;
    }
    v->device = d.type == DL_CUDA ? RL_CUDA : RL_CPU;
    v->device_index = d.type == DL_CUDA ? (int8_t)d.index : 0;
    return 0;
}

/* what gives the description back, with the GIL, which deleters made in Python want */
static void give_plain(void *owner) {
    dl_managed *d = owner;
    PyGILState_STATE gil = PyGILState_Ensure();
    if (d->deleter) d->deleter(d);
    PyGILState_Release(gil);
}
static void give_versioned(void *owner) {
    dl_versioned *d = owner;
    PyGILState_STATE gil = PyGILState_Ensure();
    if (d->deleter) d->deleter(d);
    PyGILState_Release(gil);
}

/* Everything that can be refused is refused before the capsule is taken. Answers the bytes that it describes.
 */
static int64_t capsule_read(rl_view *v, const dl_tensor *d) {
    int dtype = dtype_from(d->dtype);
    if (dtype < 0 || device_from(d->device, v) < 0) return -1;
    if (d->byte_offset) {
        PyErr_SetString(PyExc_ValueError, "Expected zero byte_offset");
        return -1;
    }
    if (d->ndim < 0 || d->ndim > RL_MAX_DIMS || (d->ndim && !d->shape)) {
        PyErr_Format(PyExc_BufferError, "tensors cannot have %d dimensions", d->ndim);
        return -1;
    }
    if (d->ndim && rl_view_dims(v, d->ndim) != RL_OK) {
        rl_raise("from_dlpack");
        return -1;
    }
    v->dtype = (uint8_t)dtype;
    int64_t span = dims_take(v, d, dtype);
    if (span < 0) rl_raise("from_dlpack");
    if (span > 0 && !d->data) {
        PyErr_SetString(PyExc_BufferError, "the capsule describes elements without memory");
        return -1;
    }
    return span < 0 ? -1 : span * rl_itemsize(dtype);
}

/* what a capsule carries, borrowed */
typedef struct {
    void *owner;
    const dl_tensor *tensor;
    bool versioned;
} carried;
static int capsule_open(PyObject *capsule, carried *c) {
    c->versioned = PyCapsule_IsValid(capsule, versioned_name);
    if (!c->versioned && !PyCapsule_IsValid(capsule, plain_name)) {
        PyErr_SetString(PyExc_RuntimeError, "from_dlpack received an invalid capsule. Note that DLTensor "
                                            "capsules can be consumed only once, so "
                                            "you might have already constructed a tensor from it once.");
        return -1;
    }
    c->owner = PyCapsule_GetPointer(capsule, c->versioned ? versioned_name : plain_name);
    const dl_versioned *v = c->owner;
    c->tensor = c->versioned ? &v->tensor : &((const dl_managed *)c->owner)->tensor;
    if (!c->versioned || v->major <= DL_MAJOR) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "unsupported DLPack capsule major version: %u. Maximum supported version: %d", v->major,
                 DL_MAJOR);
    return -1;
}

static PyObject *dlpack_take(PyObject *m, PyObject *capsule) {
    (void)m;
    carried c;
    /* what may run Python, which may take the capsule, comes first */
    rl_tensor *t = rl_tensor_alloc(rl_tensor_type, 0);
    RL_OWNED PyObject *held = (PyObject *)t;
    if (!held || capsule_open(capsule, &c) < 0) return NULL;
    if (c.tensor->device.type == DL_CUDA &&
        (rl_device_need(RL_CUDA, c.tensor->device.index) < 0 || capsule_open(capsule, &c) < 0))
        return NULL;
    int64_t nbytes = capsule_read(&t->v, c.tensor);
    if (nbytes < 0) return NULL;
    void *data = c.tensor->data, (*give)(void *) = c.versioned ? give_versioned : give_plain;
    if (PyCapsule_SetName(capsule, c.versioned ? used_versioned : used_plain) < 0) return NULL;
    bool whole = nbytes == 0 || t->v.device != RL_CPU || rl_is_aligned(data, rl_itemsize(t->v.dtype));
    t->v.storage =
        whole ? rl_storage_borrow(data, (size_t)nbytes, give, c.owner) : rl_storage_of(data, nbytes);
    if (!whole) give(c.owner);
    if (!t->v.storage) return rl_raise("from_dlpack");
    if (whole) t->v.storage->exports = t->v.storage->foreign = 1; /* whoever lent it writes unseen */
    t->v.storage->device = t->v.device;
    t->v.storage->device_index = t->v.device_index;
    rl_tensor_reveal(t);
    return rl_move(&held);
}

static PyMethodDef functions[] = {
    {"_dlpack_lend", (PyCFunction)(void (*)(void))dlpack_lend, METH_FASTCALL,
     "_dlpack_lend(tensor, versioned)\n--\n\nA capsule on the tensor's memory."},
    {"_from_dlpack", dlpack_take, METH_O,
     "_from_dlpack(capsule)\n--\n\nA tensor on the memory of a capsule."},
    {NULL, NULL, 0, NULL}};

int rl_dlpack_init(PyObject *m) {
    return PyModule_AddFunctions(m, functions);
}
