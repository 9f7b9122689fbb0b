/* The one way to a tensor: its offset, sizes and strides are checked against its storage. */
#include "tensor.h"
#include "source.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"

rl_item *rl_stored_tensor_refuse(rl_reader *r, const char *why) {
    rl_reader_fail(r, RL_READER_PICKLE, "a tensor in %s is malformed: %s", r->record, why);
    return NULL;
}

int64_t *rl_stored_tensor_dims(rl_reader *r, const rl_item *from, int64_t *n) {
    if (from->kind != RL_ITEM_TUPLE && from->kind != RL_ITEM_SIZE && from->kind != RL_ITEM_LIST) {
        rl_stored_tensor_refuse(r, "sizes and strides must be tuples");
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
            rl_stored_tensor_refuse(r, "sizes and strides must be integers of at least 0");
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
    if (args[0]->kind != RL_ITEM_STORAGE) return (void *)rl_stored_tensor_refuse(r, "its storage is none");
    rl_stored *s = args[0]->u.storage;
    if (args[1]->kind != RL_ITEM_INT || args[1]->u.i < 0) {
        return (void *)rl_stored_tensor_refuse(r, "its offset must be an integer of at least 0");
    }
    if (dtype < 0) dtype = s->dtype;
    if (dtype < 0) return (void *)rl_stored_tensor_refuse(r, "an untyped storage needs a dtype");
    int64_t ndim, n_strides;
    rl_stored_tensor *t = rl_reader_alloc(r, sizeof *t);
    if (!t) return NULL;
    *t = (rl_stored_tensor){.dtype = (int16_t)dtype};
    if (!(t->shape = rl_stored_tensor_dims(r, args[2], &ndim)) ||
        !(t->strides = rl_stored_tensor_dims(r, args[3], &n_strides)))
        return NULL;
    if (ndim != n_strides)
        return (void *)rl_stored_tensor_refuse(r, "it has as many sizes as strides in no way");
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
rl_stored_tensor *rl_stored_tensor_packed(rl_reader *r, rl_item *const *args) {
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
