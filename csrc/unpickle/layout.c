/* Layouts, and the tensors that are more than strided memory: sparse and quantized ones. */
#include "tensor.h"
#include "items.h"
#include "source.h"
#include "symbols.h"
#include <string.h>

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
    rl_stored_tensor *t = packed ? rl_stored_tensor_packed(r, a) : rl_stored_tensor_new(r, a, -1);
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

rl_item *rl_rules_layout(rl_reader *r, rl_item *callee, rl_item *args) {
    switch (callee->code) {
    case RL_SYMBOL_GET_LAYOUT: return layout_get(r, args);
    case RL_SYMBOL_REBUILD_SPARSE: return layout_sparse(r, args);
    default: return layout_quantized(r, args);
    }
}
