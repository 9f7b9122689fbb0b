/* Tensor and related objects as structs: dtypes, devices, storages, generators. The GIL is held, functions
 * may raise. `_new/_get` answer owned references, `_peek` borrowed ones, `_steal` consumes its argument; NULL
 * or -1 means that a Python exception is set. */
#ifndef RL_OBJECT_TENSOR_H
#define RL_OBJECT_TENSOR_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "core/storage.h"
#include "core/view.h"

/* ---- ownership: RL_OWNED PyObject *x = ...; rl_move(&x) hands it on ---- */
static inline void rl_owned_drop(PyObject **o) {
    Py_XDECREF(*o);
}
#define RL_OWNED __attribute__((cleanup(rl_owned_drop)))
static inline PyObject *rl_move(PyObject **o) {
    PyObject *given = *o;
    *o = NULL;
    return given;
}
#include "raw.h"

/* ---- the objects ----
 * A Tensor is ONE object:
 *   PyObject head │ view (dtype, device, shape, strides, offset, storage) │ grad metadata │ __dict__,
 * weakrefs */
typedef struct rl_node rl_node;
typedef struct {
    int32_t refs;
    uint32_t count;
} rl_version;
typedef struct rl_tensor {
    PyObject_HEAD rl_view v;
    PyObject *grad;   /* Tensor or NULL */
    rl_node *grad_fn; /* NULL on a leaf; of a view: rl_graph_grad_fn() knows whether it is still good */
    rl_node
        *accumulator; /* of a leaf, borrowed: the node keeps the leaf alive and clears this when it dies */
    PyObject *base;   /* the tensor that this one is a view of, or NULL */
    PyObject *hooks, *post_hooks; /* dicts: register_hook(), register_post_accumulate_grad_hook() */
    rl_version *version;          /* NULL: the storage's; x.data and its views count for themselves */
    PyObject *dict, *weakrefs;
    uint64_t became; /* rl_data_changes when it last got another memory, shape or dtype: x.data = y */
    uint32_t seen;   /* of a view: the version that grad_fn describes */
    int32_t output_nr;
    uint8_t requires_grad, inference, creation, retains; /* retains: retain_grad() was called */
} rl_tensor;
/* how a view came about: what may be written through it differs */
enum { RL_VIEW_NORMAL, RL_VIEW_NO_GRAD, RL_VIEW_MULTI, RL_VIEW_FUNCTION, RL_VIEW_INFERENCE };
/* made in inference mode: nobody counts its versions, but those of what x.detach() or x.data made of it */
#define rl_version_none(t) ((t)->inference && !(t)->version)
#define RL_TENSOR_OF(view) ((rl_tensor *)((char *)(view) - offsetof(rl_tensor, v)))

extern PyTypeObject *rl_tensor_type, *rl_parameter_type, *rl_size_type, *rl_dtype_type,
    *rl_device_type_object;
static inline int rl_tensor_check(PyObject *o) {
    return Py_TYPE(o) == rl_tensor_type || PyType_IsSubtype(Py_TYPE(o), rl_tensor_type);
}
/* as PyTorch's isinstance(x, Parameter): a Parameter, or a Tensor marked `_is_param` */
int rl_parameter_check(PyObject *o);

/* As PyTorch's: a view of a tensor that requires grad requires it, too. */
static inline bool rl_requires_grad(const rl_tensor *t) {
    return t->requires_grad || (t->base && ((rl_tensor *)t->base)->requires_grad);
}
/* how often it was written in place, as autograd counts */
static inline uint32_t rl_version_of(const rl_tensor *t) {
    return t->version ? t->version->count : t->v.storage->version;
}
static inline void rl_version_bump(rl_tensor *t) {
    ++*(t->version ? &t->version->count : &t->v.storage->version);
}

/* ---- object/tensor.c ---- */
rl_tensor *rl_tensor_alloc(PyTypeObject *type, int ndim); /* dims unset, storage NULL; not yet revealed */
static inline void rl_tensor_reveal(rl_tensor *t) {       /* it is whole: from here on Python may find it */
    PyObject_GC_Track((PyObject *)t);
}
/* for the type, which bindings/tensor_type.c makes */
void rl_tensor_dealloc(PyObject *self);
int rl_tensor_traverse(PyObject *self, visitproc visit, void *arg);
int rl_tensor_clear(PyObject *self);
rl_tensor *rl_tensor_new(int dtype, int device, int index, const int64_t *shape,
                         int ndim); /* contiguous, uninitialised; shape may be a tensor's own */
/* A tensor of `type` on the storage of `t` with t's dims and version; base and grad metadata empty. */
rl_tensor *rl_tensor_alias(PyTypeObject *type, rl_tensor *t);
int rl_version_part(rl_tensor *t, uint32_t count); /* t counts for itself from now on */
void rl_version_share(rl_tensor *t, const rl_tensor *with);
PyObject *rl_tensor_detach(PyObject *t); /* shares storage, requires_grad False, type Tensor */
extern uint64_t rl_data_changes;         /* how often any tensor became another */
int rl_tensor_set_data(rl_tensor *t, rl_tensor *source); /* t.data = source: same object, other memory */
/* t gets `view` (dims and storage, both handed over): same object, other memory */
void rl_tensor_set_view_steal(rl_tensor *t, rl_view *view);
int rl_tensor_set_requires_grad(rl_tensor *t, int on);
PyObject *rl_tensor_shape(rl_tensor *t); /* torch.Size */
PyObject *rl_size_new(const int64_t *dims, int n);
PyObject *rl_dtype_object(int dtype);              /* new reference to torch.float32 ... */
int rl_layout_parse(PyObject *o);                  /* 1 strided, 0 no layout, -1 raised: another one */
int rl_format_parse(PyObject *o, int64_t *format); /* 1, or 0 when o is no torch.memory_format */
int rl_dtype_parse(PyObject *o); /* -1 and TypeError when o is no dtype (nor float, int, bool) */
/* ---- object/device.c ---- */
PyObject *rl_device_new(int device, int index);
PyObject *rl_device_of(int device, int index); /* of a tensor or storage: only GPUs are numbered */
enum { RL_DEVICE_NAMES = 20 };
const char *rl_device_name(int device); /* of a real one, or of those that can only be named */
int rl_device_parse(PyObject *o, int *device, int *index); /* device, "cuda:1", 1 */

/* ---- object/raise.c ---- */
/* Raises what a core function or kernel left pending; always NULL. `where` may be NULL. */
PyObject *rl_raise(const char *where);

/* ---- object/generator.c ---- */
rl_generator *rl_generator_default(int device, int index); /* of a device that is in use */
int rl_generator_parse(PyObject *o, rl_generator **g);     /* 1, or 0 when o is no generator */

/* ---- object/device.c ---- */
int rl_device_find(int device);            /* 1 when its extension is loaded, 0 without, -1 raised */
int rl_device_need(int device, int index); /* loads the device's extension; -1 and PyTorch's text without */

/* ---- object/modes.c ---- */
/* What a thread has for itself, in one place: finding it takes a call, which the compiler makes once for all
 * that a function reads of it. */
enum { RL_DEVICE_UNASKED = -1 };
/* Mixed precision, of each type of device: call/autocast.c */
typedef struct {
    uint32_t enabled; /* bit of each */
    int nesting;      /* contexts that are open */
    bool cache_off;
    uint8_t dtype[RL_DEVICE_NAMES]; /* RL_NDTYPES: it has none */
} rl_autocast;
typedef struct {
    uint32_t interceptors; /* those that are on: interceptors.h */
    int device;            /* where new tensors lie unless the call says so: type * 256 + index + 1 */
    bool grad, inference;
    bool gil_kept; /* kernels run with the GIL: read, compute and store are one step */
    rl_autocast autocast;
    uint64_t profile; /* the session that records this thread: profile/profile.h */
} rl_thread;
extern _Thread_local rl_thread rl_tls;
extern int rl_interceptors_on;          /* threads that have some on, and 1 where all have: mostly 0 */
extern uint32_t rl_interceptors_of_all; /* those that are on in every thread */
/* Ways in which scaled_dot_product_attention() may be computed, of all threads. */
typedef struct {
    bool flash, math;
} rl_sdp_ways;
extern rl_sdp_ways rl_sdp_may;

/* ---- each file adds its types and functions to rushlight._C ---- */
int rl_gc_init(PyObject *m);
int rl_types_init(PyObject *m);
int rl_raise_init(PyObject *m);
int rl_limits_init(PyObject *m);
int rl_device_type_init(PyObject *m);
int rl_mode_init(PyObject *m);
int rl_generator_init(PyObject *m);
int rl_numpy_init(PyObject *m);
int rl_driver_init(PyObject *m);
#endif
