/* What the dispatcher does to arguments before the shape rule: where and in which dtype the call computes,
 * casts, and numbers that become tensors.
 *
 * Note [From checks to kernels]
 * Everything that may run Python comes first: the call makes its results and casts numbers and tensors, until
 * a pass over the arguments casts nothing. From that pass to the end of the kernels, through the shape rule
 * and the memory of the results, no Python runs: the kernels see what was checked. */
#include "call.h"
#include "core/dtype.h"
#include "ops/promote.h"
#include "core/storage.h"
#include <string.h>

/* a Python number as a 0-dim view of dtype; integers wrap, as PyTorch's do */
static rl_view *number_view(rl_op_call *b, const rl_value *s, int dtype) {
    double d = s->tag == RL_FLOAT ? s->u.d : (double)s->u.i;
    int64_t i = s->tag != RL_FLOAT ? s->u.i : d > -9.2e18 && d < 9.2e18 ? (int64_t)d : INT64_MIN;
    rl_wrapped_number *w = &b->wrapped[b->n_wrapped++];
    void *p = &w->word;
    rl_storage_lend(&w->storage, p, sizeof w->word);
    w->v = (rl_view){.storage = &w->storage, .numel = 1, .dtype = (uint8_t)dtype};
    w->v.shape = w->v.small;
    w->v.strides = w->v.small + RL_SMALL_DIMS;
    switch ((rl_dtype)dtype) {
    case RL_F32: *(float *)p = (float)d; break;
    case RL_F64: *(double *)p = d; break;
    case RL_F16: *(rl_half *)p = rl_to_half((float)d); break;
    case RL_BF16: *(rl_bfloat *)p = rl_to_bfloat((float)d); break;
    case RL_BOOL: *(uint8_t *)p = d != 0; break;
    case RL_U8: *(uint8_t *)p = (uint8_t)i; break;
    case RL_I8: *(int8_t *)p = (int8_t)i; break;
    case RL_I16: *(int16_t *)p = (int16_t)i; break;
    case RL_I32: *(int32_t *)p = (int32_t)i; break;
    default: *(int64_t *)p = i; break;
    }
    return &w->v;
}

/* the dtype that a number becomes as operand i of a call that computes in `dtype` */
static int number_dtype(const rl_operator *op, int i, int dtype) {
    const bool wide = i == 1 && (op->traits & RL_WIDE_NUMBER) && rl_is_half(dtype);
    return wide ? RL_F32 : dtype;
}

/* runs no Python */
static RL_NOINLINE void cast_numbers(rl_op_call *b, int dtype) {
    for (uint32_t left = b->schema->op->operands; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        rl_value *s = &b->k.arg[i];
        if (s->tag != RL_TENSOR && s->tag != RL_NONE)
            *s =
                (rl_value){.tag = RL_TENSOR, .u.t = number_view(b, s, number_dtype(b->schema->op, i, dtype))};
    }
}

static int cast_inputs(rl_op_call *b, int dtype) {
    bool all = b->schema->op->rule != RL_TYPES_where;
    int cast = 0;
    for (uint32_t left = b->schema->op->tensors; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        rl_value *s = &b->k.arg[i];
        if (s->tag != RL_TENSOR || rl_value_view(s)->dtype == dtype || (i == 0 && !all)) continue;
        const bool number =
            rl_value_view(s)->ndim == 0 && b->k.arg[0].tag == RL_TENSOR && rl_tensor_arg(&b->k, 0)->ndim > 0;
        const int to = number ? number_dtype(b->schema->op, i, dtype) : dtype;
        if (rl_value_view(s)->dtype == to) continue;
        rl_tensor *made = rl_cast_view(s->u.t, to);
        if (rl_op_call_keep_steal(b, (PyObject *)made) < 0) return -1;
        s->u.t = &made->v;
        cast = 1;
    }
    cast_numbers(b, dtype);
    return cast;
}

/* in a list of its own: history goes by the tensors that were given */
static int cast_list(rl_op_call *b, int dtype) {
    rl_value *s = &b->k.arg[0];
    int i = 0;
    while (i < s->n && s->u.ts[i]->dtype == dtype) i++;
    if (i == s->n) return 0;
    PyObject *made = PyList_New(0);
    if (rl_op_call_keep_steal(b, made) < 0) return -1;
    PyObject_GC_UnTrack(made); /* nobody finds and empties it */
    PyObject *room = PyBytes_FromStringAndSize(NULL, s->n * (Py_ssize_t)sizeof(rl_view *));
    if (rl_op_call_keep_steal(b, room) < 0) return -1;
    rl_view **list = memcpy(PyBytes_AS_STRING(room), s->u.ts, (size_t)s->n * sizeof *list);
    for (; i < s->n; i++) {
        if (list[i]->dtype == dtype) continue;
        RL_OWNED PyObject *t = (PyObject *)rl_cast_view(list[i], dtype);
        if (!t || PyList_Append(made, t) < 0) return -1;
        list[i] = &((rl_tensor *)t)->v;
    }
    s->u.ts = list;
    return 1;
}

static int cast(rl_op_call *b, int dtype) {
    return b->schema->op->rule == RL_TYPES_list ? cast_list(b, dtype) : cast_inputs(b, dtype);
}

/* ---- device and dtype of a call ---- */
static rl_value_tag tag_of(const rl_op_call *b, int arg) {
    return arg < 0 ? RL_NONE : b->k.arg[arg].tag;
}

/* Nearly all calls: on the CPU, all in one floating dtype, nothing to be cast. */
static bool prepare_plain(rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    const rl_call_meta *l = &b->meta;
    int compute;
    if (l->devices != 1u << RL_CPU || tag_of(b, op->dtype_arg) != RL_NONE) return false;
    if (!rl_types_plain(op, l->dtypes, &compute, &b->dtype)) return false;
    if (RL_UNLIKELY(l->numbers)) {
        if (l->numbers >> RL_BOOLEAN & 1) return false; /* x - True is refused */
        if (compute >= 0) cast_numbers(b, compute);
    }
    return true;
}

/* zeros(3) that is asked for nothing */
static bool prepare_factory(rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    if (op->rule != RL_TYPES_factory || rl_tls.device != RL_DEVICE_UNASKED) return false;
    b->dtype = rl_dtype_default();
    return tag_of(b, op->dtype_arg) == RL_NONE && tag_of(b, op->device_arg) == RL_NONE &&
           (op->dtypes >> b->dtype & 1);
}

/* 1: tensors were cast, which may have run Python, which may have changed the others */
static int prepare_once(rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    int compute;
    if (rl_call_device(b) < 0) return -1;
    /* zeros_like reads no element */
    if (op->device_arg < 0 && b->meta.devices & ~(1u << RL_CPU) && rl_call_devices_agree(b) < 0) return -1;
    if (rl_types_resolve(op, &b->k, &compute, &b->dtype) != RL_OK) {
        rl_raise_call(b);
        return -1;
    }
    if (compute < 0) return 0;
    return cast(b, compute);
}

static RL_NOINLINE int prepare_other(rl_op_call *b) {
    int again;
    while ((again = prepare_once(b)) > 0) rl_call_meta_read(b);
    return again;
}

int rl_call_prepare(rl_op_call *b) {
    b->device = RL_CPU;
    b->index = 0;
    return RL_LIKELY(b->meta.dtypes ? prepare_plain(b) : prepare_factory(b)) ? 0 : prepare_other(b);
}
