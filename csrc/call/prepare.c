/* What the dispatcher does to arguments before the shape rule: casts, and numbers that become tensors. */
#include "call.h"
#include "core/storage.h"
#include <string.h>

/* a Python number as a 0-dim view of dtype; integers wrap, as PyTorch's do */
static rl_view *number_view(rl_bound *b, const rl_slot *s, int dtype) {
    double d = s->tag == RL_FLOAT ? s->u.d : (double)s->u.i;
    int64_t i = s->tag != RL_FLOAT ? s->u.i : d > -9.2e18 && d < 9.2e18 ? (int64_t)d : INT64_MIN;
    rl_word *w = &b->words[b->n_words++];
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

static int cast_inputs(rl_bound *b, int dtype) {
    uint32_t operands = b->schema->op->operands;
    bool all = b->schema->op->rule != RL_TYPES_where;
    int cast = 0;
    for (int i = 0; i < b->k.n_arg; i++) {
        rl_slot *s = &b->k.arg[i];
        if (s->tag == RL_TENSOR) {
            if (s->u.t->dtype == dtype || (i == 0 && !all)) continue;
            rl_tensor *made = rl_cast_view(s->u.t, dtype);
            if (rl_bound_keep_steal(b, (PyObject *)made) < 0) return -1;
            s->u.t = &made->v;
            cast = 1;
        } else if ((operands >> i & 1) && s->tag != RL_NONE) {
            *s = (rl_slot){.tag = RL_TENSOR, .u.t = number_view(b, s, dtype)};
        }
    }
    return cast;
}

/* in a list of its own: history goes by the tensors that were given */
static int cast_list(rl_bound *b, int dtype) {
    rl_slot *s = &b->k.arg[0];
    int i = 0;
    while (i < s->n && s->u.ts[i]->dtype == dtype) i++;
    if (i == s->n) return 0;
    PyObject *made = PyList_New(0);
    if (rl_bound_keep_steal(b, made) < 0) return -1;
    PyObject_GC_UnTrack(made); /* nobody finds and empties it */
    PyObject *room = PyBytes_FromStringAndSize(NULL, s->n * (Py_ssize_t)sizeof(rl_view *));
    if (rl_bound_keep_steal(b, room) < 0) return -1;
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

int rl_call_cast(rl_bound *b, int dtype) {
    return b->schema->op->rule == RL_TYPES_list ? cast_list(b, dtype) : cast_inputs(b, dtype);
}
