/* Tensors and parameters of a checkpoint: the one way to a tensor, where offset, sizes and strides are
 * checked against its storage, and what rebuild functions and states may say. */
#include "internal.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

/* ---- places: the one constructor ---- */
/* always NULL */
static rl_item *stored_tensor_refuse(rl_reader *r, const char *why) {
    rl_reader_fail(r, RL_READER_PICKLE, "a tensor in %s is malformed: %s", r->record, why);
    return NULL;
}

static int64_t *stored_tensor_dims(rl_reader *r, const rl_item *from, int64_t *n) {
    if (from->kind != RL_ITEM_TUPLE && from->kind != RL_ITEM_SIZE && from->kind != RL_ITEM_LIST) {
        stored_tensor_refuse(r, "sizes and strides must be tuples");
        return NULL;
    }
    if (from->n > RL_MAX_DIMS) {
        rl_reader_fail(r, RL_READER_RUNTIME,
                       "tensors may have at most %d dimensions, but a tensor in %s has %lld", RL_MAX_DIMS,
                       r->record, (long long)from->n);
        return NULL;
    }
    int64_t *dims = rl_reader_alloc(r, (from->n + 1) * (int64_t)sizeof *dims);
    for (int64_t i = 0; dims && i < from->n; i++) {
        if (from->u.items[i]->kind != RL_ITEM_INT || from->u.items[i]->u.i < 0) {
            stored_tensor_refuse(r, "sizes and strides must be integers of at least 0");
            return NULL;
        }
        dims[i] = from->u.items[i]->u.i;
    }
    *n = from->n;
    return dims;
}

/* Every tensor on a storage is made here: t's dims, and an offset into s. `share` elements lie in one item.
 */
static rl_stored_tensor *tensor_on(rl_reader *r, rl_stored_tensor *t, rl_stored *s, int64_t offset,
                                   int share) {
    rl_stored *root = s->root ? s->root : s;
    if (root->used >= 0 && root->used != t->dtype) {
        rl_reader_fail(r, RL_READER_RUNTIME, "storage %s in %s is viewed as %s and as %s",
                       rl_reader_quote(r, root->key), r->record, rl_dtype_name(root->used),
                       rl_dtype_name(t->dtype));
        return NULL;
    }
    if (rl_view_check_bounds(t->shape, t->strides, t->ndim, offset, t->dtype,
                             (size_t)s->nbytes * (size_t)share)) {
        rl_reader_fail(r, RL_READER_RUNTIME, "%s (storage %s in %s)", rl_error_text(),
                       rl_reader_quote(r, s->key), r->record);
        rl_error_clear();
        return NULL;
    }
    t->storage = root;
    t->offset = offset + s->root_offset / rl_itemsize(t->dtype);
    root->used = t->dtype;
    return t;
}

/* args are storage, offset, size, stride */
static rl_stored_tensor *tensor_place(rl_reader *r, rl_item *const *args, int dtype, int share) {
    if (args[0]->kind != RL_ITEM_STORAGE) return (void *)stored_tensor_refuse(r, "its storage is none");
    rl_stored *s = args[0]->u.storage;
    if (args[1]->kind != RL_ITEM_INT || args[1]->u.i < 0) {
        return (void *)stored_tensor_refuse(r, "its offset must be an integer of at least 0");
    }
    if (dtype < 0) dtype = s->dtype;
    if (dtype < 0) return (void *)stored_tensor_refuse(r, "an untyped storage needs a dtype");
    int64_t ndim, n_strides;
    rl_stored_tensor *t = rl_reader_alloc(r, sizeof *t);
    if (!t) return NULL;
    *t = (rl_stored_tensor){.dtype = (int16_t)dtype};
    if (!(t->shape = stored_tensor_dims(r, args[2], &ndim)) ||
        !(t->strides = stored_tensor_dims(r, args[3], &n_strides)))
        return NULL;
    if (ndim != n_strides)
        return (void *)stored_tensor_refuse(r, "it has as many sizes as strides in no way");
    t->ndim = (int16_t)ndim;
    return tensor_on(r, t, s, args[1]->u.i, share);
}

rl_stored_tensor *rl_stored_tensor_whole(rl_reader *r, rl_stored *s, const int64_t *shape, int ndim) {
    rl_stored_tensor *t = rl_reader_alloc(r, sizeof *t);
    int64_t *dims = t ? rl_reader_alloc(r, (2 * ndim + 1) * (int64_t)sizeof *dims) : NULL;
    if (!dims) return NULL;
    *t = (rl_stored_tensor){.dtype = s->dtype, .ndim = (int16_t)ndim, .shape = dims, .strides = dims + ndim};
    for (int i = 0; i < ndim; i++) dims[i] = shape[i];
    if (!rl_dims_contiguous(shape, ndim, t->strides)) {
        rl_reader_fail(r, RL_READER_RUNTIME, "tensor `%s` has strides of more than 63 bits",
                       rl_reader_quote(r, s->key));
        return NULL;
    }
    return tensor_on(r, t, s, 0, 1);
}

rl_stored_tensor *rl_stored_tensor_new(rl_reader *r, rl_item *const *args, int dtype) {
    return tensor_place(r, args, dtype, 1);
}

/* The bounds are those of the elements, the tensor is all bytes of the storage in one dimension. */
static rl_stored_tensor *stored_tensor_packed(rl_reader *r, rl_item *const *args) {
    int dtype = args[0]->u.storage->dtype;
    rl_stored_tensor *t = tensor_place(r, args, dtype, dtype == RL_QU4X2 ? 2 : 4);
    int64_t *dims = t ? rl_reader_alloc(r, 2 * sizeof *dims) : NULL;
    if (!dims) return NULL;
    const rl_stored *s = args[0]->u.storage;
    dims[0] = s->nbytes, dims[1] = 1;
    t->shape = dims, t->strides = dims + 1, t->ndim = 1;
    t->offset = s->root_offset;
    return t;
}

/* ---- layouts, and the tensors that are more than strided memory ----
 * sparse and quantized ones. */
static rl_item *layout_refuse(rl_reader *r, const char *what) {
    rl_reader_fail(r, RL_READER_PICKLE, "%s in %s has arguments that PyTorch does not write", what,
                   r->record);
    return NULL;
}

/* _get_layout('torch.sparse_coo') */
static rl_item *layout_get(rl_reader *r, const rl_item *args) {
    static const char *const names[RL_NLAYOUTS] = RL_LAYOUTS;
    if (args->n != 1 || args->u.items[0]->kind != RL_ITEM_STR) return layout_refuse(r, "a layout");
    rl_text name = rl_item_str(args->u.items[0]);
    if (name.n < 6 || memcmp(name.at, "torch.", 6)) return layout_refuse(r, "a layout");
    name.at += 6, name.n -= 6;
    for (int i = 0; i < RL_NLAYOUTS; i++) {
        if (!rl_text_is(name, names[i])) continue;
        rl_item *layout = rl_item_new(r, RL_ITEM_LAYOUT);
        if (layout) layout->code = i;
        return layout;
    }
    return layout_refuse(r, "a layout");
}

static bool layout_sizes(const rl_item *sizes) {
    if (sizes->kind != RL_ITEM_TUPLE && sizes->kind != RL_ITEM_SIZE) return false;
    for (int64_t i = 0; i < sizes->n; i++) {
        if (sizes->u.items[i]->kind != RL_ITEM_INT || sizes->u.items[i]->u.i < 0) return false;
    }
    return sizes->n <= RL_MAX_DIMS;
}

/* _rebuild_sparse_tensor(layout, (indices, values, size[, is_coalesced])) or (layout, (compressed indices,
 * plain indices, values, size)). What the indices say is checked when their bytes are here. */
static rl_item *layout_sparse(rl_reader *r, const rl_item *args) {
    rl_item *const *a = args->u.items;
    if (args->n != 2 || a[0]->kind != RL_ITEM_LAYOUT || a[0]->code == 0 || a[1]->kind != RL_ITEM_TUPLE)
        return layout_refuse(r, "a sparse tensor");
    const rl_item *data = a[1];
    int parts = a[0]->code == 1 ? 2 : 3;
    if (data->n != parts + 1 && !(parts == 2 && data->n == 4)) return layout_refuse(r, "a sparse tensor");
    for (int i = 0; i < parts; i++) {
        if (data->u.items[i]->kind != RL_ITEM_TENSOR) return layout_refuse(r, "a sparse tensor");
    }
    if (!layout_sizes(data->u.items[parts])) return layout_refuse(r, "a sparse tensor");
    int last = data->u.items[data->n - 1]->kind;
    if (data->n == 4 && parts == 2 && last != RL_ITEM_TRUE && last != RL_ITEM_FALSE && last != RL_ITEM_NONE)
        return layout_refuse(r, "a sparse tensor");
    return rl_item_list(r, RL_ITEM_SPARSE, a, 2);
}

/* (scheme, scale, zero point) or (scheme, scales, zero points, axis) */
static bool layout_parameters(const rl_item *q, bool *channels) {
    if (q->kind != RL_ITEM_TUPLE || q->n < 3 || q->u.items[0]->kind != RL_ITEM_SCHEME) return false;
    rl_item *const *p = q->u.items;
    *channels = p[0]->code == RL_SCHEME_CHANNEL || p[0]->code == RL_SCHEME_CHANNEL_FLOAT;
    if (!*channels)
        return p[0]->code == RL_SCHEME_TENSOR && q->n == 3 && p[1]->kind == RL_ITEM_FLOAT &&
               p[2]->kind == RL_ITEM_INT;
    return q->n == 4 && p[1]->kind == RL_ITEM_TENSOR && p[2]->kind == RL_ITEM_TENSOR &&
           p[3]->kind == RL_ITEM_INT;
}

/* _rebuild_qtensor(storage, offset, size, stride, parameters, requires_grad, hooks) becomes
 * (data, scheme, scale, zero point, axis or None, place): where several numbers share a byte, data is all of
 * the storage and place (offset, size, stride) says what the numbers are; else place is None. */
static rl_item *layout_quantized(rl_reader *r, const rl_item *args) {
    rl_item *const *a = args->u.items;
    bool channels;
    if (args->n != 7 || !layout_parameters(a[4], &channels) || a[5]->kind != RL_ITEM_FALSE)
        return layout_refuse(r, "a quantized tensor");
    int dtype = a[0]->kind == RL_ITEM_STORAGE ? a[0]->u.storage->dtype : -1;
    bool packed = dtype == RL_QU4X2 || dtype == RL_QU2X4;
    rl_stored_tensor *t = packed ? stored_tensor_packed(r, a) : rl_stored_tensor_new(r, a, -1);
    if (!t) return NULL;
    if (t->dtype < RL_QI8 || t->dtype > RL_QU2X4) return layout_refuse(r, "a quantized tensor");
    rl_item *data = rl_item_new(r, RL_ITEM_TENSOR), *place = &r->none;
    if (!data) return NULL;
    data->u.tensor = t;
    if (packed && !(place = rl_item_list(r, RL_ITEM_TUPLE, a + 1, 3))) return NULL;
    rl_item *const *q = a[4]->u.items;
    rl_item *parts[6] = {data, q[0], q[1], q[2], channels ? q[3] : &r->none, place};
    return rl_item_list(r, RL_ITEM_QUANTIZED, parts, 6);
}

static rl_item *rules_layout(rl_reader *r, rl_item *callee, rl_item *args) {
    switch (callee->code) {
    case RL_SYMBOL_GET_LAYOUT: return layout_get(r, args);
    case RL_SYMBOL_REBUILD_SPARSE: return layout_sparse(r, args);
    default: return layout_quantized(r, args);
    }
}

/* ---- tensors and parameters: what their rebuild functions and states may say ---- */
/* {'conj': True, 'neg': True} */
static rl_status tensor_metadata(rl_reader *r, const rl_item *i, rl_stored_tensor *t) {
    bool complex = RL_SET_COMPLEX >> t->dtype & 1, good = i->kind == RL_ITEM_DICT || i->kind == RL_ITEM_NONE;
    for (int64_t k = 0; good && k + 1 < i->n; k += 2) {
        const rl_item *key = i->u.items[k], *value = i->u.items[k + 1];
        bool text = key->kind == RL_ITEM_STR, truth = value->kind == RL_ITEM_TRUE;
        bool conj = text && rl_text_is(rl_item_str(key), "conj");
        good = (conj || (text && rl_text_is(rl_item_str(key), "neg"))) &&
               (truth || value->kind == RL_ITEM_FALSE);
        if (good) *(conj ? &t->conj : &t->neg) = truth;
    }
    if (t->conj && !complex) good = false;
    if (t->neg && !complex && (t->dtype == RL_BOOL || rl_is_converted(t->dtype))) good = false;
    if (good) return RL_OK;
    stored_tensor_refuse(r, "its metadata is not what PyTorch writes");
    return RL_FAIL;
}

static rl_item *tensor_item(rl_reader *r, rl_stored_tensor *t) {
    rl_item *item = t ? rl_item_new(r, RL_ITEM_TENSOR) : NULL;
    if (item) item->u.tensor = t;
    return item;
}

/* _rebuild_tensor(storage, offset, size, stride), _v2(..., requires_grad, hooks[, metadata]),
 * _v3(..., requires_grad, hooks, dtype[, metadata]). Hooks are never kept. */
static rl_item *tensor_rebuild(rl_reader *r, int code, const rl_item *args) {
    rl_item *const *a = args->u.items;
    int base = code == RL_SYMBOL_REBUILD ? 4 : code == RL_SYMBOL_REBUILD_V2 ? 6 : 7;
    if (args->n != base && (base == 4 || args->n != base + 1))
        return stored_tensor_refuse(r, "wrong number of arguments");
    if (base == 7 && a[6]->kind != RL_ITEM_DTYPE) return stored_tensor_refuse(r, "its dtype is none");
    if (base > 4 && a[4]->kind != RL_ITEM_TRUE && a[4]->kind != RL_ITEM_FALSE) {
        return stored_tensor_refuse(r, "requires_grad must be a bool");
    }
    rl_stored_tensor *t = rl_stored_tensor_new(r, a, base == 7 ? a[6]->code : -1);
    if (!t || (args->n > base && tensor_metadata(r, a[base], t))) return NULL;
    t->requires_grad = base > 4 && a[4]->kind == RL_ITEM_TRUE;
    if (t->requires_grad && !rl_dtype_has_grad(t->dtype)) {
        rl_reader_fail(r, RL_READER_RUNTIME,
                       "only Tensors of floating point dtype can require gradients (a tensor in %s)",
                       r->record);
        return NULL;
    }
    return tensor_item(r, t);
}

/* What a storage must hold for these dims; -1 when that is no number of bytes. */
static int64_t tensor_span(const rl_stored_tensor *t) {
    int64_t last = 0, step, nbytes;
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] == 0) return 0;
        if (__builtin_mul_overflow(t->shape[d] - 1, t->strides[d], &step) ||
            __builtin_add_overflow(last, step, &last))
            return -1;
    }
    if (__builtin_add_overflow(last, 1, &last) ||
        __builtin_mul_overflow(last, rl_itemsize(t->dtype), &nbytes))
        return -1;
    return rl_dims_numel(t->shape, t->ndim) < 0 ? -1 : nbytes;
}

/* _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad) */
static rl_item *tensor_meta(rl_reader *r, const rl_item *args) {
    rl_item *const *a = args->u.items;
    int64_t ndim, n_strides;
    if (args->n != 4 || a[0]->kind != RL_ITEM_DTYPE ||
        (a[3]->kind != RL_ITEM_TRUE && a[3]->kind != RL_ITEM_FALSE))
        return stored_tensor_refuse(r, "wrong arguments for _rebuild_meta_tensor_no_storage");
    rl_stored_tensor *t = rl_reader_alloc(r, sizeof *t);
    if (!t) return NULL;
    *t = (rl_stored_tensor){.dtype = (int16_t)a[0]->code, .meta = true};
    if (!(t->shape = stored_tensor_dims(r, a[1], &ndim)) ||
        !(t->strides = stored_tensor_dims(r, a[2], &n_strides)))
        return NULL;
    if (ndim != n_strides) return stored_tensor_refuse(r, "it has as many sizes as strides in no way");
    t->ndim = (int16_t)ndim;
    t->requires_grad = a[3]->kind == RL_ITEM_TRUE && rl_dtype_has_grad(t->dtype);
    t->nbytes = tensor_span(t);
    return t->nbytes < 0 ? stored_tensor_refuse(r, "its sizes are too large") : tensor_item(r, t);
}

static rl_status tensor_state(rl_reader *r, rl_item **state) {
    rl_item *s = *state;
    if (s->kind == RL_ITEM_TUPLE && s->n == 2 && s->u.items[1]->kind == RL_ITEM_NONE) s = s->u.items[0];
    if (s->kind == RL_ITEM_NONE) s = NULL;
    if (s && s->kind != RL_ITEM_DICT && s->kind != RL_ITEM_ORDERED) {
        return rl_reader_fail(r, RL_READER_PICKLE, "the attributes of a tensor must be a dict, but got %s",
                              rl_item_title(s));
    }
    *state = s;
    return RL_OK;
}

/* _rebuild_parameter(data, requires_grad, hooks), _with_state(..., state) */
static rl_item *tensor_parameter(rl_reader *r, bool with_state, const rl_item *args) {
    rl_item *const *a = args->u.items;
    if (args->n != 3 + with_state)
        return stored_tensor_refuse(r, "wrong number of arguments for a Parameter");
    if (a[0]->kind == RL_ITEM_SPARSE || a[0]->kind == RL_ITEM_QUANTIZED) {
        rl_reader_fail(r, RL_READER_RUNTIME,
                       "rushlight does not support Parameters of sparse or quantized tensors (in %s); save "
                       "its data instead",
                       r->record);
        return NULL;
    }
    if (a[0]->kind != RL_ITEM_TENSOR)
        return stored_tensor_refuse(r, "the data of a Parameter must be a tensor");
    if (a[1]->kind != RL_ITEM_TRUE && a[1]->kind != RL_ITEM_FALSE) {
        return stored_tensor_refuse(r, "requires_grad must be a bool");
    }
    if (a[1]->kind == RL_ITEM_TRUE && !rl_dtype_has_grad(a[0]->u.tensor->dtype)) {
        rl_reader_fail(r, RL_READER_RUNTIME,
                       "Only Tensors of floating point and complex dtype can require gradients (a "
                       "Parameter in %s)",
                       r->record);
        return NULL;
    }
    rl_item *state = with_state ? a[3] : &r->none;
    if (tensor_state(r, &state)) return NULL;
    rl_item *p = rl_item_list(r, RL_ITEM_PARAMETER, a, 1);
    if (p) p->code = a[1]->kind == RL_ITEM_TRUE, p->state = state;
    return p;
}

/* _rebuild_from_type_v2(function, type, args, state): a tensor with attributes or of the user's class */
static rl_item *tensor_from_type(rl_reader *r, const rl_item *args) {
    rl_item *const *a = args->u.items;
    if (args->n != 4 || a[0]->kind != RL_ITEM_SYMBOL || a[2]->kind != RL_ITEM_TUPLE) {
        return stored_tensor_refuse(r, "wrong arguments for _rebuild_from_type_v2");
    }
    rl_item *state = a[3], *t;
    if (tensor_state(r, &state)) return NULL;
    switch (a[0]->code) {
    case RL_SYMBOL_REBUILD:
    case RL_SYMBOL_REBUILD_V2:
    case RL_SYMBOL_REBUILD_V3: t = tensor_rebuild(r, a[0]->code, a[2]); break;
    case RL_SYMBOL_REBUILD_PARAMETER: t = tensor_parameter(r, false, a[2]); break;
    default: return stored_tensor_refuse(r, "wrong function for _rebuild_from_type_v2");
    }
    if (!t) return NULL;
    int expected = t->kind == RL_ITEM_TENSOR ? RL_SYMBOL_TENSOR : RL_SYMBOL_PARAMETER;
    if (a[1]->kind == RL_ITEM_USER) {
        rl_item *pair[2] = {t, a[1]};
        t = rl_item_list(r, RL_ITEM_SUBCLASS, pair, 2);
    } else if (a[1]->kind != RL_ITEM_SYMBOL || a[1]->code != expected) {
        return stored_tensor_refuse(r, "wrong type for _rebuild_from_type_v2");
    }
    if (t) t->state = state;
    return t;
}

rl_item *rl_rules_tensor(rl_reader *r, rl_item *callee, rl_item *args) {
    int code = callee->code;
    switch (code) {
    case RL_SYMBOL_REBUILD:
    case RL_SYMBOL_REBUILD_V2:
    case RL_SYMBOL_REBUILD_V3: return tensor_rebuild(r, code, args);
    case RL_SYMBOL_REBUILD_META: return tensor_meta(r, args);
    case RL_SYMBOL_REBUILD_SPARSE:
    case RL_SYMBOL_REBUILD_QUANTIZED:
    case RL_SYMBOL_GET_LAYOUT: return rules_layout(r, callee, args);
    case RL_SYMBOL_REBUILD_PARAMETER: return tensor_parameter(r, false, args);
    case RL_SYMBOL_REBUILD_STATE: return tensor_parameter(r, true, args);
    case RL_SYMBOL_REBUILD_TYPE: return tensor_from_type(r, args);
    default: break;
    }
    if (code < RL_SYMBOL_OLD_TENSOR || args->n) {
        rl_reader_fail(r, RL_READER_PICKLE, "Trying to call reduce for unrecognized function %s",
                       rl_symbol_name(code));
        return NULL;
    }
    rl_stored_tensor *t = rl_reader_alloc(r, sizeof *t); /* torch.FloatTensor(): BUILD brings the rest */
    if (!t) return NULL;
    int64_t *dims = rl_reader_alloc(r, 2 * sizeof *dims);
    if (!dims) return NULL;
    dims[0] = 0, dims[1] = 1;
    *t = (rl_stored_tensor){
        .shape = dims, .strides = dims + 1, .ndim = 1, .dtype = (int16_t)(code - RL_SYMBOL_OLD_TENSOR)};
    return tensor_item(r, t);
}

rl_status rl_rules_old_tensor(rl_reader *r, rl_item *tensor, rl_item *state) {
    if (tensor->u.tensor->storage || tensor->u.tensor->meta || state->kind != RL_ITEM_TUPLE ||
        state->n != 4) {
        stored_tensor_refuse(r, "BUILD of a tensor wants (storage, offset, size, stride), once");
        return RL_FAIL;
    }
    int dtype = tensor->u.tensor->dtype;
    rl_stored_tensor *t = rl_stored_tensor_new(r, state->u.items, -1);
    if (!t) return RL_FAIL;
    if (t->dtype != dtype) {
        stored_tensor_refuse(r, "its class and its storage differ in dtype");
        return RL_FAIL;
    }
    tensor->u.tensor = t;
    return RL_OK;
}

/* (data, grad, hooks, requires_grad, volatile) */
rl_status rl_rules_old_parameter(rl_reader *r, rl_item *parameter, rl_item *state) {
    rl_item *const *a = state->u.items;
    if (parameter->n || state->kind != RL_ITEM_TUPLE || state->n != 5 || a[0]->kind != RL_ITEM_TENSOR ||
        (a[3]->kind != RL_ITEM_TRUE && a[3]->kind != RL_ITEM_FALSE)) {
        stored_tensor_refuse(r,
                             "BUILD of a Parameter wants (data, grad, hooks, requires_grad, volatile), once");
        return RL_FAIL;
    }
    parameter->code = a[3]->kind == RL_ITEM_TRUE && rl_dtype_has_grad(a[0]->u.tensor->dtype);
    parameter->u.items = rl_reader_alloc(r, sizeof *parameter->u.items);
    if (!parameter->u.items) return RL_FAIL;
    parameter->u.items[0] = a[0];
    parameter->n = 1;
    return rl_step_add(r, RL_STEP_MAKE, parameter, 0, 0);
}
