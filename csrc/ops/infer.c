/* What an operator would answer, from its dtype rule and its shape rule alone. */
#include "infer.h"
#include "core/device.h"
#include "core/error.h"
#include "core/view.h"
#include "format.h"
#include "promote.h"
#include <string.h>

/* the tensors of a call as the shape rule sees them: in the dtype that it computes in, numbers as tensors */
typedef struct {
    rl_view view[RL_MAX_ARGS];
    rl_call k;
} inferred;

static rl_view *private_copy(inferred *c, int i, const rl_view *v) {
    c->view[i] = *v; /* short dims lie in the view, long ones are only read */
    if (v->shape == v->small) {
        c->view[i].shape = c->view[i].small;
        c->view[i].strides = c->view[i].small + RL_SMALL_DIMS;
    }
    return &c->view[i];
}

static rl_view *number_as_tensor(inferred *c, int i) {
    c->view[i] = (rl_view){.numel = 1};
    c->view[i].shape = c->view[i].small;
    c->view[i].strides = c->view[i].small + RL_SMALL_DIMS;
    return &c->view[i];
}

static const rl_view *first_tensor(const rl_call *k) {
    for (int i = 0; i < k->n_arg; i++) {
        if (k->arg[i].tag == RL_TENSOR) return k->arg[i].u.t;
        if (k->arg[i].tag == RL_TENSORS && k->arg[i].n) return k->arg[i].u.ts[0];
    }
    return NULL;
}

static void choose_device(const rl_operator *op, const rl_call *k, int *device, int *index) {
    const rl_view *v = first_tensor(k);
    *device = v ? v->device : RL_CPU;
    *index = v ? v->device_index : 0;
    if (op->device_arg < 0 || k->arg[op->device_arg].tag != RL_INT) return;
    *device = (int)(k->arg[op->device_arg].u.i / 256);
    *index = (int)(k->arg[op->device_arg].u.i % 256) - 1;
    *index = rl_device_index(*device, *index);
}

/* as the dispatcher casts: Note [From checks to kernels] */
static void cast(const rl_operator *op, inferred *c, int dtype) {
    for (int i = 0; i < c->k.n_arg; i++) {
        rl_value *s = &c->k.arg[i];
        bool number = (op->operands >> i & 1) && s->tag != RL_NONE && s->tag != RL_TENSOR;
        if (number) *s = (rl_value){.tag = RL_TENSOR, .u.t = number_as_tensor(c, i)};
        if (s->tag != RL_TENSOR || (i == 0 && op->rule == RL_TYPES_where)) continue;
        if (!number) s->u.t = private_copy(c, i, s->u.t);
        rl_value_view(s)->dtype = (uint8_t)dtype;
    }
}

rl_status rl_infer(int id, const rl_value *args, rl_view *results) {
    const rl_schema *s = &rl_schemas[id];
    rl_operator *op = s->op;
    inferred c;
    int compute = -1, dtype, device, index;
    if (op->kind == RL_KIND_COMPOSITE) return RL_UNSUPPORTED;
    c.k.name = op->name;
    c.k.n_arg = s->n;
    c.k.n_out = op->n_out;
    memcpy(c.k.arg, args, (size_t)s->n * sizeof *args);
    rl_schema_defaults(s, c.k.arg);
    choose_device(op, &c.k, &device, &index);
    if (op->kind == RL_KIND_VIEW)
        dtype = rl_tensor_arg(&c.k, 0)->dtype;
    else if (rl_types_resolve(op, &c.k, &compute, &dtype) != RL_OK)
        return RL_FAIL;
    if (compute >= 0) cast(op, &c, compute);
    for (int i = 0; i < op->n_out; i++) {
        results[i] =
            (rl_view){.dtype = (uint8_t)dtype, .device = (uint8_t)device, .device_index = (int8_t)index};
        results[i].shape = results[i].small;
        results[i].strides = results[i].small + RL_SMALL_DIMS;
        c.k.out[i] = &results[i];
    }
    rl_status status = rl_format_shape(op, &c.k);
    for (int i = 0; status != RL_OK && i < op->n_out; i++) rl_view_clear(&results[i]);
    return status;
}
