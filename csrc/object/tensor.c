/* Tensor and Parameter as objects: allocation, life, views of storages. */
#include "tensor.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/storage.h"
#include "core/view.h"
#include <string.h>

PyTypeObject *rl_tensor_type, *rl_parameter_type;
uint64_t rl_data_changes;

/* Note [Tensor free list]
 * A forward pass makes and drops a tensor per operator, so the blocks of plain Tensors are kept. A block
 * in the list has been untracked and holds no reference; PyObject_Init makes it an object again. */
enum { FREE_LIST = 128 };
static struct {
    rl_tensor *block[FREE_LIST];
    int n;
} free_list;

rl_tensor *rl_tensor_alloc(PyTypeObject *type, int ndim) {
    rl_tensor *t;
    rl_gc_point();
    if (RL_LIKELY(type == rl_tensor_type && free_list.n > 0)) {
        t = free_list.block[--free_list.n];
        PyObject_Init((PyObject *)t, type);
        memset((char *)t + sizeof(PyObject), 0, offsetof(rl_tensor, v.small) - sizeof(PyObject));
        memset((char *)t + offsetof(rl_tensor, grad), 0, sizeof *t - offsetof(rl_tensor, grad));
    } else if (type == rl_tensor_type) {
        if (!(t = PyObject_GC_New(rl_tensor, type))) return NULL;
        memset((char *)t + sizeof(PyObject), 0, sizeof *t - sizeof(PyObject));
    } else {
        if (!(t = (rl_tensor *)type->tp_alloc(type, 0))) return NULL;
        PyObject_GC_UnTrack(t);
    }
    rl_live_add(RL_LIVE_TENSORS, 1);
    t->v.shape = t->v.small;
    t->v.strides = t->v.small + RL_SMALL_DIMS;
    if (ndim > 0 && rl_view_dims(&t->v, ndim) != RL_OK) {
        Py_DECREF(t);
        rl_raise(NULL);
        return NULL;
    }
    return t;
}

rl_tensor *rl_tensor_new(int dtype, int device, int index, const int64_t *dims, int ndim) {
    int64_t shape[RL_MAX_DIMS];
    if (ndim > 0 && ndim <= RL_MAX_DIMS) memcpy(shape, dims, (size_t)ndim * sizeof *shape);
    rl_tensor *t = rl_tensor_alloc(rl_tensor_type, ndim);
    if (!t) return NULL;
    t->v.dtype = (uint8_t)dtype;
    t->v.device = (uint8_t)device;
    t->v.device_index = (int8_t)index;
    if (ndim) memcpy(t->v.shape, shape, (size_t)ndim * sizeof *shape);
    bool fits = rl_dims_contiguous(shape, ndim, t->v.strides);
    t->v.numel = rl_dims_numel(shape, ndim);
    if (t->v.numel >= 0 && !fits) {
        rl_error_set(RL_RUNTIME, "Stride calculation overflowed");
    } else if (rl_view_allocate(&t->v) == RL_OK) {
        rl_tensor_reveal(t);
        return t;
    }
    rl_raise(NULL);
    Py_DECREF(t);
    return NULL;
}

rl_tensor *rl_tensor_alias(PyTypeObject *type, rl_tensor *source) {
    rl_tensor *t = rl_tensor_alloc(type, 0);
    if (!t) return NULL;
    if (rl_view_copy(&t->v, &source->v) != RL_OK) {
        t->v.storage = NULL;
        Py_DECREF(t);
        rl_raise(NULL);
        return NULL;
    }
    if (t->v.storage) rl_storage_retain(t->v.storage);
    rl_version_share(t, source);
    t->inference = source->inference;
    if (RL_UNLIKELY(t->inference && !t->version) && rl_version_part(t, 0) < 0)
        Py_CLEAR(t);
    else
        rl_tensor_reveal(t);
    return t;
}

int rl_version_part(rl_tensor *t, uint32_t count) {
    rl_version *own = PyMem_Malloc(sizeof *own);
    if (!own) {
        PyErr_NoMemory();
        return -1;
    }
    *own = (rl_version){1, count};
    rl_version_share(t, NULL);
    t->version = own;
    return 0;
}

void rl_version_share(rl_tensor *t, const rl_tensor *with) {
    if (t->version && --t->version->refs == 0) PyMem_Free(t->version);
    t->version = with ? with->version : NULL;
    if (t->version) t->version->refs++;
}

PyObject *rl_tensor_detach(PyObject *o) {
    return (PyObject *)rl_tensor_alias(rl_tensor_type, (rl_tensor *)o);
}

void rl_tensor_set_view_steal(rl_tensor *t, rl_view *view) {
    rl_storage *old = t->v.storage;
    t->became = ++rl_data_changes;
    rl_view_clear(&t->v);
    t->v = *view;
    if (view->ndim <= RL_SMALL_DIMS) {
        t->v.shape = t->v.small;
        t->v.strides = t->v.small + RL_SMALL_DIMS;
    }
    rl_storage_release(old);
}

int rl_tensor_set_data(rl_tensor *t, rl_tensor *source) {
    rl_view view = {.storage = NULL};
    view.shape = view.small;
    if (rl_view_copy(&view, &source->v) != RL_OK) {
        rl_raise(NULL);
        return -1;
    }
    if (view.storage) rl_storage_retain(view.storage);
    rl_tensor_set_view_steal(t, &view);
    return 0;
}

int rl_parameter_check(PyObject *o) {
    if (Py_TYPE(o) == rl_parameter_type || PyType_IsSubtype(Py_TYPE(o), rl_parameter_type)) return 1;
    if (!rl_tensor_check(o) || !((rl_tensor *)o)->dict) return 0;
    static PyObject *name;
    if (!name && !(name = PyUnicode_InternFromString("_is_param"))) {
        PyErr_Clear();
        return 0;
    }
    PyObject *mark = PyDict_GetItemWithError(((rl_tensor *)o)->dict, name);
    if (!mark) PyErr_Clear();
    return mark == Py_True;
}

int rl_tensor_set_requires_grad(rl_tensor *t, int on) {
    if (on && !rl_dtype_has_grad(t->v.dtype)) {
        PyErr_SetString(PyExc_RuntimeError, "only Tensors of floating point dtype can require gradients");
        return -1;
    }
    if (on && t->inference && !rl_tls.inference) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
        return -1;
    }
    if (!on && t->grad_fn) {
        PyErr_SetString(PyExc_RuntimeError,
                        "you can only change requires_grad flags of leaf variables. If you want to use a "
                        "computed variable in a subgraph that doesn't require differentiation use "
                        "var_no_grad = var.detach().");
        return -1;
    }
    t->requires_grad = (uint8_t)on;
    return 0;
}

/* ---- life ---- */
int rl_tensor_traverse(PyObject *self, visitproc visit, void *arg) {
    rl_tensor *t = (rl_tensor *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(t->grad);
    Py_VISIT((PyObject *)t->grad_fn);
    Py_VISIT(t->base);
    Py_VISIT(t->hooks);
    Py_VISIT(t->post_hooks);
    Py_VISIT(t->dict);
    return 0;
}

int rl_tensor_clear(PyObject *self) {
    rl_tensor *t = (rl_tensor *)self;
    Py_CLEAR(t->grad);
    Py_CLEAR(t->grad_fn);
    Py_CLEAR(t->base);
    Py_CLEAR(t->hooks);
    Py_CLEAR(t->post_hooks);
    Py_CLEAR(t->dict);
    return 0;
}

/* x.grad.grad.grad ... may be a long chain: it is freed link by link, not by recursion. Where a class made in
 * Python has a __del__ it may live on, so it keeps its .grad; Python bounds that recursion. */
static void tensor_drop_grad(rl_tensor *t) {
    PyObject *grad = t->grad;
    t->grad = NULL;
    while (grad && Py_REFCNT(grad) == 1 && Py_TYPE(grad)->tp_dealloc == rl_tensor_dealloc) {
        PyObject *next = ((rl_tensor *)grad)->grad;
        ((rl_tensor *)grad)->grad = NULL;
        Py_DECREF(grad);
        grad = next;
    }
    Py_XDECREF(grad);
}

/* nearly all that die without history hold no object, and this is one test instead of six */
static bool holds_any(const rl_tensor *t) {
    return ((uintptr_t)t->grad | (uintptr_t)t->grad_fn | (uintptr_t)t->base | (uintptr_t)t->hooks |
            (uintptr_t)t->post_hooks | (uintptr_t)t->dict) != 0;
}

void rl_tensor_dealloc(PyObject *self) {
    rl_tensor *t = (rl_tensor *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (t->weakrefs) PyObject_ClearWeakRefs(self);
    if (RL_UNLIKELY(holds_any(t))) {
        tensor_drop_grad(t);
        rl_tensor_clear(self);
    }
    if (t->version) rl_version_share(t, NULL);
    rl_held_drop(&t->v);
    rl_live_add(RL_LIVE_TENSORS, -1);
    if (type == rl_tensor_type && free_list.n < FREE_LIST)
        free_list.block[free_list.n++] = t;
    else
        type->tp_free(self);
    Py_DECREF(type);
}
