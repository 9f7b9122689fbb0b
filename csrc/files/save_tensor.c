/* Tensors and storages in the pickle, as PyTorch's rebuild functions want them. */
#include "writer.h"
#include "bytes.h"
#include "object/storage.h"
#include <string.h>

static const char *const storage_class[RL_NDTYPES] = {
#define X(e, c, n, title) [e] = #title "Storage",
    RL_DTYPES(X)
#undef X
};
/* The dtypes that PyTorch gave a storage class of their own; later ones lie in UntypedStorages. */
static const uint64_t storage_typed = RL_SET_ALL | RL_BIT(RL_C64) | RL_BIT(RL_C128) | RL_BIT(RL_QI8) |
                                      RL_BIT(RL_QU8) | RL_BIT(RL_QI32) | RL_BIT(RL_QU4X2) | RL_BIT(RL_QU2X4);
static bool storage_is_typed(int dtype) {
    return storage_typed >> dtype & 1;
}

/* ---- storages ---- */
static int storage_numel(rl_storage *storage, int dtype, int64_t *numel) {
    *numel = (int64_t)storage->nbytes / (dtype < 0 ? 1 : rl_itemsize(dtype));
    return 0;
}

/* Its place in the list of storages; a new one gets the next number as its key. */
static int64_t storage_find(saver *s, rl_storage *storage, int dtype) {
    int64_t place = rl_written_find(&s->storages, storage);
    if (place >= 0) {
        PyObject *known = PyTuple_GET_ITEM(PyList_GET_ITEM(s->list, place), 3);
        if (PyLong_AsLong(known) == dtype) return place;
        PyErr_SetString(
            PyExc_RuntimeError,
            "Cannot save multiple tensors or storages that view the same data as different types");
        return -1;
    }
    int64_t numel;
    storage_numel(storage, dtype, &numel);
    place = PyList_GET_SIZE(s->list);
    RL_OWNED PyObject *bytes = rl_bytes_readable(storage);
    RL_OWNED PyObject *held = rl_untyped_storage_new(storage); /* no other storage gets its address */
    RL_OWNED PyObject *key = PyUnicode_FromFormat("%lld", (long long)place);
    RL_OWNED PyObject *entry =
        bytes && held && key ? Py_BuildValue("(OOLi)", key, bytes, (long long)numel, dtype) : NULL;
    if (!entry || PyList_Append(s->list, entry) || rl_written_add(&s->storages, storage, held, place))
        return -1;
    return place;
}

static int storage_key(saver *s, rl_storage *storage, int64_t place) {
    int known = rl_save_memo(s, storage);
    if (known) return known < 0 ? -1 : 0;
    char text[32] = {'X'};
    int n = PyOS_snprintf(text + 5, sizeof text - 5, "%lld", (long long)place);
    text[1] = (char)n;
    return rl_save_bytes(s, text, n + 5) || rl_save_put(s, storage, NULL) ? -1 : 0;
}

static int storage_location(saver *s, const rl_storage *storage) {
    if (storage->device == RL_CPU) return rl_save_text(s, "cpu");
    char text[32] = {'X'};
    int n = PyOS_snprintf(text + 5, sizeof text - 5, "cuda:%d", storage->device_index);
    text[1] = (char)n;
    return rl_save_bytes(s, text, n + 5) || rl_save_put(s, NULL, NULL) ? -1 : 0;
}

int rl_save_storage(saver *s, rl_storage *storage, int dtype) {
    int64_t place = storage_find(s, storage, dtype), numel;
    if (place < 0) return -1;
    storage_numel(storage, dtype, &numel);
    const char *name = dtype < 0 ? "UntypedStorage" : storage_class[dtype];
    if (rl_save_op(s, '(') || rl_save_text(s, "storage") ||
        rl_save_name(s, name, dtype < 0 ? "torch.storage" : "torch", name) ||
        storage_key(s, storage, place) || storage_location(s, storage) || rl_save_int(s, numel) ||
        (s->legacy && rl_save_op(s, 'N')))
        return -1;
    return rl_save_op(s, 't') || rl_save_put(s, NULL, NULL) || rl_save_op(s, 'Q') ? -1 : 0;
}

/* ---- tensors ---- */
static int tensor_dims(saver *s, const int64_t *dims, int n) {
    static const char small[] = {')', (char)0x85, (char)0x86, (char)0x87};
    if (n == 0) return rl_save_op(s, ')');
    if (n > 3 && rl_save_op(s, '(')) return -1;
    for (int i = 0; i < n; i++) {
        if (rl_save_int(s, dims[i])) return -1;
    }
    return rl_save_op(s, n > 3 ? 't' : small[n]) || rl_save_put(s, NULL, NULL) ? -1 : 0;
}

static int tensor_hooks(saver *s) {
    return rl_save_name(s, s->ordered_type, "collections", "OrderedDict") || rl_save_op(s, ')') ||
                   rl_save_op(s, 'R') || rl_save_put(s, NULL, NULL)
               ? -1
               : 0;
}

static int tensor_flag(saver *s, bool on) {
    return rl_save_op(s, on ? (char)0x88 : (char)0x89);
}

/* The name comes first and its arguments as a tuple; REDUCE is left to the caller. */
static int tensor_name(saver *s, const rl_view *v) {
    const char *name = storage_is_typed(v->dtype) ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3";
    return rl_save_name(s, name, "torch._utils", name);
}
static int tensor_args(saver *s, const rl_view *v, bool requires_grad) {
    bool typed = storage_is_typed(v->dtype);
    if (rl_save_op(s, '(') || rl_save_storage(s, v->storage, typed ? v->dtype : -1) ||
        rl_save_int(s, v->offset) || tensor_dims(s, v->shape, v->ndim) ||
        tensor_dims(s, v->strides, v->ndim) || tensor_flag(s, requires_grad) || tensor_hooks(s))
        return -1;
    if (!typed) {
        RL_OWNED PyObject *dtype = rl_dtype_object(v->dtype);
        if (!dtype || rl_save_object(s, dtype)) return -1;
    }
    return rl_save_op(s, 't') || rl_save_put(s, NULL, NULL) ? -1 : 0;
}
static int tensor_end(saver *s, PyObject *o) {
    return rl_save_op(s, 'R') || rl_save_put(s, o, o) ? -1 : 0;
}

/* no memory, no offset, no hooks */
static int tensor_meta(saver *s, const rl_view *v, PyObject *o, bool requires_grad) {
    const char *name = "_rebuild_meta_tensor_no_storage";
    RL_OWNED PyObject *dtype = rl_dtype_object(v->dtype);
    if (!dtype || rl_save_name(s, name, "torch._utils", name) || rl_save_op(s, '(') ||
        rl_save_object(s, dtype) || tensor_dims(s, v->shape, v->ndim) ||
        tensor_dims(s, v->strides, v->ndim) || tensor_flag(s, requires_grad) || rl_save_op(s, 't') ||
        rl_save_put(s, NULL, NULL))
        return -1;
    return tensor_end(s, o);
}

/* v: a private look at the tensor, here and below */
static int tensor_plain(saver *s, const rl_view *v, PyObject *o, bool requires_grad) {
    if (v->device == RL_META) return tensor_meta(s, v, o, requires_grad);
    return tensor_name(s, v) || tensor_args(s, v, requires_grad) || tensor_end(s, o) ? -1 : 0;
}

static int tensor_parameter(saver *s, rl_tensor *t, const rl_view *v, PyObject *state) {
    const char *name = state ? "_rebuild_parameter_with_state" : "_rebuild_parameter";
    if (rl_save_name(s, name, "torch._utils", name) || (state && rl_save_op(s, '(')) ||
        tensor_plain(s, v, NULL, false) || tensor_flag(s, t->requires_grad) || tensor_hooks(s))
        return -1;
    if (state ? rl_save_object(s, state) || rl_save_op(s, 't') : rl_save_op(s, (char)0x87)) return -1;
    return rl_save_put(s, NULL, NULL) || tensor_end(s, (PyObject *)t) ? -1 : 0;
}

static int tensor_of_type(saver *s, rl_tensor *t, const rl_view *v, PyObject *state) {
    PyTypeObject *type = Py_TYPE(t);
    if (rl_save_name(s, "type_v2", "torch._tensor", "_rebuild_from_type_v2") || rl_save_op(s, '(') ||
        tensor_name(s, v))
        return -1;
    if (type == rl_tensor_type ? rl_save_name(s, type, "torch", "Tensor")
                               : rl_save_object(s, (PyObject *)type))
        return -1;
    if (tensor_args(s, v, t->requires_grad) || rl_save_object(s, state ? state : Py_None) ||
        rl_save_op(s, 't') || rl_save_put(s, NULL, NULL))
        return -1;
    return tensor_end(s, (PyObject *)t);
}

/* What was set on the tensor: __getstate__'s answer, NULL for nothing. */
static int tensor_state(rl_tensor *t, PyObject **state) {
    bool exact = Py_TYPE(t) == rl_tensor_type || Py_TYPE(t) == rl_parameter_type;
    if (exact && (!t->dict || PyDict_GET_SIZE(t->dict) == 0)) return 0;
    *state = PyObject_CallMethod((PyObject *)t, "__getstate__", NULL);
    if (!*state) return -1;
    int filled = PyObject_IsTrue(*state);
    if (filled <= 0) Py_CLEAR(*state);
    return filled < 0 ? -1 : 0;
}

static int tensor_reduces_itself(PyTypeObject *type, PyTypeObject *base) {
    if (type == base) return 0;
    RL_OWNED PyObject *own = PyObject_GetAttrString((PyObject *)type, "__reduce_ex__");
    RL_OWNED PyObject *usual = own ? PyObject_GetAttrString((PyObject *)base, "__reduce_ex__") : NULL;
    return usual ? own != usual : -1;
}

int rl_save_tensor(saver *s, PyObject *o) {
    rl_tensor *t = (rl_tensor *)o;
    bool parameter = PyType_IsSubtype(Py_TYPE(o), rl_parameter_type);
    int itself = tensor_reduces_itself(Py_TYPE(o), parameter ? rl_parameter_type : rl_tensor_type);
    if (itself) return itself < 0 ? -1 : 0;
    RL_OWNED PyObject *state = NULL;
    if (tensor_state(t, &state) < 0) return -1;
    RL_HELD v = {.storage = NULL};
    if (rl_held_take(&v, &t->v) < 0) return -1;
    int failed;
    if (parameter)
        failed = tensor_parameter(s, t, &v, state);
    else if (v.device != RL_META && (state || Py_TYPE(o) != rl_tensor_type))
        failed = tensor_of_type(s, t, &v, state);
    else
        failed = tensor_plain(s, &v, o, t->requires_grad);
    return failed ? -1 : 1;
}
