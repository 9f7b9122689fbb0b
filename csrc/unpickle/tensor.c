/* Tensors and parameters of a checkpoint: what their rebuild functions and states may say. */
#include "tensor.h"
#include "items.h"
#include "source.h"
#include "symbols.h"
#include "core/dtype.h"
#include "core/view.h"

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
    rl_stored_tensor_refuse(r, "its metadata is not what PyTorch writes");
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
        return rl_stored_tensor_refuse(r, "wrong number of arguments");
    if (base == 7 && a[6]->kind != RL_ITEM_DTYPE) return rl_stored_tensor_refuse(r, "its dtype is none");
    if (base > 4 && a[4]->kind != RL_ITEM_TRUE && a[4]->kind != RL_ITEM_FALSE) {
        return rl_stored_tensor_refuse(r, "requires_grad must be a bool");
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
        return rl_stored_tensor_refuse(r, "wrong arguments for _rebuild_meta_tensor_no_storage");
    rl_stored_tensor *t = rl_reader_alloc(r, sizeof *t);
    if (!t) return NULL;
    *t = (rl_stored_tensor){.dtype = (int16_t)a[0]->code, .meta = true};
    if (!(t->shape = rl_stored_tensor_dims(r, a[1], &ndim)) ||
        !(t->strides = rl_stored_tensor_dims(r, a[2], &n_strides)))
        return NULL;
    if (ndim != n_strides) return rl_stored_tensor_refuse(r, "it has as many sizes as strides in no way");
    t->ndim = (int16_t)ndim;
    t->requires_grad = a[3]->kind == RL_ITEM_TRUE && rl_dtype_has_grad(t->dtype);
    t->nbytes = tensor_span(t);
    return t->nbytes < 0 ? rl_stored_tensor_refuse(r, "its sizes are too large") : tensor_item(r, t);
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
        return rl_stored_tensor_refuse(r, "wrong number of arguments for a Parameter");
    if (a[0]->kind == RL_ITEM_SPARSE || a[0]->kind == RL_ITEM_QUANTIZED) {
        rl_reader_fail(r, RL_READER_RUNTIME,
                       "rushlight does not support Parameters of sparse or quantized tensors (in %s); save "
                       "its data instead",
                       r->record);
        return NULL;
    }
    if (a[0]->kind != RL_ITEM_TENSOR)
        return rl_stored_tensor_refuse(r, "the data of a Parameter must be a tensor");
    if (a[1]->kind != RL_ITEM_TRUE && a[1]->kind != RL_ITEM_FALSE) {
        return rl_stored_tensor_refuse(r, "requires_grad must be a bool");
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
        return rl_stored_tensor_refuse(r, "wrong arguments for _rebuild_from_type_v2");
    }
    rl_item *state = a[3], *t;
    if (tensor_state(r, &state)) return NULL;
    switch (a[0]->code) {
    case RL_SYMBOL_REBUILD:
    case RL_SYMBOL_REBUILD_V2:
    case RL_SYMBOL_REBUILD_V3: t = tensor_rebuild(r, a[0]->code, a[2]); break;
    case RL_SYMBOL_REBUILD_PARAMETER: t = tensor_parameter(r, false, a[2]); break;
    default: return rl_stored_tensor_refuse(r, "wrong function for _rebuild_from_type_v2");
    }
    if (!t) return NULL;
    int expected = t->kind == RL_ITEM_TENSOR ? RL_SYMBOL_TENSOR : RL_SYMBOL_PARAMETER;
    if (a[1]->kind == RL_ITEM_USER) {
        rl_item *pair[2] = {t, a[1]};
        t = rl_item_list(r, RL_ITEM_SUBCLASS, pair, 2);
    } else if (a[1]->kind != RL_ITEM_SYMBOL || a[1]->code != expected) {
        return rl_stored_tensor_refuse(r, "wrong type for _rebuild_from_type_v2");
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
    case RL_SYMBOL_GET_LAYOUT: return rl_rules_layout(r, callee, args);
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
        rl_stored_tensor_refuse(r, "BUILD of a tensor wants (storage, offset, size, stride), once");
        return RL_FAIL;
    }
    int dtype = tensor->u.tensor->dtype;
    rl_stored_tensor *t = rl_stored_tensor_new(r, state->u.items, -1);
    if (!t) return RL_FAIL;
    if (t->dtype != dtype) {
        rl_stored_tensor_refuse(r, "its class and its storage differ in dtype");
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
        rl_stored_tensor_refuse(
            r, "BUILD of a Parameter wants (data, grad, hooks, requires_grad, volatile), once");
        return RL_FAIL;
    }
    parameter->code = a[3]->kind == RL_ITEM_TRUE && rl_dtype_has_grad(a[0]->u.tensor->dtype);
    parameter->u.items = rl_reader_alloc(r, sizeof *parameter->u.items);
    if (!parameter->u.items) return RL_FAIL;
    parameter->u.items[0] = a[0];
    parameter->n = 1;
    return rl_step_add(r, RL_STEP_MAKE, parameter, 0, 0);
}
