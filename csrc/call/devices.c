/* Tensors of several devices in one call: where it runs, and whether they may meet. */
#include "call.h"
#include "core/device.h"
#include "core/dtype.h"
#include <string.h>

/* ---- may they meet? ----
 * They lie on the device where the call runs, but what this note lets through. Kernels need not look.
 *
 * Note [Numbers of the CPU]
 * Beside tensors of a device, these may lie on the CPU:
 *   a tensor without dims       of operators that go element by element: it is as good as a number
 *   Operand, TRAITS(NUMBERS)    the same for one argument, the last tensor
 *   indices                     of x[i, j]: call/dispatcher.c moves them
 *   counts of steps             of optimizers, one element each
 *   both sides of copy_ */
enum {
    BY_ELEMENT = 1 << RL_TYPES_promote | 1 << RL_TYPES_number | 1 << RL_TYPES_sub | 1 << RL_TYPES_addcdiv |
        1 << RL_TYPES_float | 1 << RL_TYPES_div | 1 << RL_TYPES_clamp | 1 << RL_TYPES_where |
        1 << RL_TYPES_compare | 1 << RL_TYPES_same_bias,
};

static bool goes_by_element(const rl_operator *op) {
    return BY_ELEMENT >> op->rule & 1 && op != &rl_operators[RL_OP_equal] && op != &rl_operators[RL_OP_addr];
}

/* kernels of the CPU, which operators without others are left to, read it as well */
static bool takes_number(const rl_operator *op, int arg, int device) {
    if (device == RL_META || !op->kernels[RL_CUDA][0]) return true;
    if ((op->operands >> arg & 1) || goes_by_element(op)) return true;
    return (op->traits & RL_NUMBERS) && op->tensors >> arg == 1;
}

static bool is_there(const rl_op_call *b, const rl_view *v) {
    return v->device == b->device && (v->device != RL_CUDA || v->device_index == b->index);
}

/* ---- texts ---- */
typedef struct {
    char text[16];
} place;
static place place_of(int device, int index) {
    place p;
    if (device == RL_CUDA)
        PyOS_snprintf(p.text, sizeof p.text, "%s:%d", rl_device_name(device), index);
    else
        PyOS_snprintf(p.text, sizeof p.text, "%s", rl_device_name(device));
    return p;
}
static place place_at(const rl_view *v) {
    return place_of(v->device, v->device_index);
}

/* PyTorch names a device before the CPU, whichever stands first. */
static int refuse_two(const rl_view *a, const rl_view *b) {
    const bool swapped = a->device == RL_CPU;
    PyErr_Format(PyExc_RuntimeError,
                 "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
                 place_at(swapped ? b : a).text, place_at(swapped ? a : b).text);
    return -1;
}

/* "torch.cuda.FloatTensor" */
typedef struct {
    char text[48];
} type_name;
static type_name type_of(const rl_view *v) {
    type_name t;
    PyOS_snprintf(t.text, sizeof t.text, "torch.%s%sTensor", v->device == RL_CUDA ? "cuda." : "",
                  rl_dtype_title(v->dtype));
    return t;
}

static int refuse_parameter(const rl_op_call *b, int arg) {
    const rl_view *x = b->k.arg[0].u.t, *parameter = b->k.arg[arg].u.t;
    if (x->device == parameter->device) return refuse_two(x, parameter);
    PyErr_Format(PyExc_RuntimeError, "Input type (%s) and %s type (%s) should be the same%s", type_of(x).text,
                 b->schema->arg[arg].name, type_of(parameter).text,
                 x->device == RL_CPU ? " or input should be a MKLDNN tensor and weight is a dense tensor"
                                     : "");
    return -1;
}

/* What PyTorch calls the arguments of operators that are made of another one there, in its order. */
typedef struct {
    int op;
    const char *method, *names[3];
    int order[3];
} alias;
static const alias aliases[] = {
    {RL_OP_linear, "addmm", {"self", "mat1", "mat2"}, {2, 0, 1}},
    {RL_OP_matmul, "mm", {"self", "mat2"}, {0, 1, -1}},
    {RL_OP_embedding, "_index_select", {"self", "index"}, {0, 1, -1}},
    {RL_OP_index_select, "_index_select", {"self", "index"}, {0, 2, -1}},
};

/* PyTorch's name of a function behind "wrapper_CUDA_": that of the overload and "_" stand before those that
 * are no structured kernels there. Of all others it is the operator's own. */
static const char *method_of(const rl_operator *op) {
    static const struct {
        int op;
        const char *method;
    } methods[] = {
        {RL_OP__cdist_forward, "__cdist_forward"},
        {RL_OP__ctc_loss, "__ctc_loss"},
        {RL_OP_embedding_bag_recorded, "__embedding_bag"},
        {RL_OP_binary_cross_entropy, "_binary_cross_entropy"},
        {RL_OP_dot, "_dot"},
        {RL_OP_vdot, "_vdot"},
        {RL_OP_grid_sampler_2d, "_grid_sampler_2d"},
        {RL_OP_grid_sampler_3d, "_grid_sampler_3d"},
        {RL_OP_huber_loss, "_huber_loss"},
        {RL_OP_linalg_solve_triangular, "_linalg_solve_triangular"},
        {RL_OP_masked_scatter, "_masked_scatter_"},
        {RL_OP_max_unpool2d, "_max_unpool2d"},
        {RL_OP_max_unpool3d, "_max_unpool3d"},
        {RL_OP_multi_margin_loss, "_multi_margin_loss"},
        {RL_OP_native_batch_norm, "_native_batch_norm"},
        {RL_OP_native_group_norm, "_native_group_norm"},
        {RL_OP_native_layer_norm, "_native_layer_norm"},
        {RL_OP_group_norm, "_native_group_norm"},
        {RL_OP_layer_norm, "_native_layer_norm"},
        {RL_OP_nll_loss2d_forward, "_nll_loss2d_forward"},
        {RL_OP_ormqr, "_ormqr"},
        {RL_OP_put, "_put_"},
        {RL_OP_scatter, "scatter_src"},
        {RL_OP_scatter_join, "scatter_reduce"},
        {RL_OP_scatter_number, "scatter_value"},
        {RL_OP_scatter_number_join, "scatter_value_reduce"},
        {RL_OP_scatter_reduce, "scatter_reduce_two"},
        {RL_OP_take, "_take"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(methods); i++)
        if (op == &rl_operators[methods[i].op]) return methods[i].method;
    return op->name;
}

static int refuse_method(const rl_view *first, const rl_view *other, const char *arg, const char *method) {
    PyErr_Format(PyExc_RuntimeError,
                 "Expected all tensors to be on the same device, but got %s is on %s, different from other "
                 "tensors on %s (when checking argument in method wrapper_CUDA_%s)",
                 arg, place_at(other).text, place_at(first).text, method);
    return -1;
}

static bool same_place(const rl_view *a, const rl_view *b) {
    return a->device == b->device && a->device_index == b->device_index;
}

static int refuse_aliased(const rl_op_call *b, const alias *a) {
    const rl_view *first = NULL;
    const char *method = a->method;
    if (a->op == RL_OP_linear && b->k.arg[2].tag != RL_TENSOR) return refuse_aliased(b, &aliases[1]);
    if (a->op == RL_OP_matmul && rl_tensor_arg(&b->k, 0)->ndim > 2) method = "bmm";
    for (int i = 0; i < 3 && a->names[i]; i++) {
        const rl_view *v = b->k.arg[a->order[i]].u.t;
        if (first && !same_place(first, v)) return refuse_method(first, v, a->names[i], method);
        if (!first) first = v;
    }
    return refuse_two(first, b->k.arg[0].u.t);
}

static const rl_view *first_of(const rl_op_call *b) {
    for (int i = 0; i < b->k.n_arg; i++) {
        const rl_value *s = &b->k.arg[i];
        if (s->tag == RL_TENSOR) return s->u.t;
        for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++)
            if (s->u.ts[j]) return s->u.ts[j];
    }
    return NULL;
}

/* Operators that PyTorch has words of their own for: 0 when it has not. */
static int refuse_specially(const rl_op_call *b, int arg, const rl_view *v) {
    const rl_operator *op = b->schema->op;
    const rl_view *first = first_of(b);
    if (op == &rl_operators[RL_OP_equal])
        PyErr_Format(PyExc_RuntimeError, "Cannot compare two tensors on different devices. Got: %s and %s",
                     place_at(first).text, place_at(v).text);
    else if (b->schema->arg[arg].kind == RL_ARG_MAYBE_TENSORS)
        PyErr_Format(PyExc_RuntimeError,
                     "indices should be either on cpu or on the same device as the indexed tensor (%s)",
                     place_at(first).text);
    else if (op == &rl_operators[RL_OP_masked_fill] && arg == 1)
        PyErr_Format(PyExc_RuntimeError,
                     "expected self and mask to be on the same device, but got mask on %s and self on %s",
                     place_at(v).text, place_at(first).text);
    else if (op == &rl_operators[RL_OP_flash_attention] && arg < 3)
        PyErr_Format(PyExc_RuntimeError,
                     "Expected query, key, and value to have the same device type, but got query.device: %s "
                     "key.device: %s and value.device: %s instead.",
                     place_at(first).text, place_at(b->k.arg[1].u.t).text, place_at(b->k.arg[2].u.t).text);
    else
        return 0;
    return -1;
}

static int device_mixed(int found, int expected);

static int refuse(const rl_op_call *b, int arg, const rl_view *v) {
    const rl_operator *op = b->schema->op;
    const rl_view *first = first_of(b);
    if (v->device == RL_META || b->device == RL_META) return device_mixed(v->device, b->device);
    if (refuse_specially(b, arg, v) < 0) return -1;
    if (strncmp(op->name, "conv", 4) == 0 && strcmp(b->schema->arg[0].name, "input") == 0 && arg)
        return refuse_parameter(b, arg);
    if (!goes_by_element(op) && !(op->traits & RL_FOREACH)) {
        for (size_t i = 0; i < Py_ARRAY_LENGTH(aliases); i++)
            if (op == &rl_operators[aliases[i].op]) return refuse_aliased(b, &aliases[i]);
        if (!same_place(first, v)) return refuse_method(first, v, b->schema->arg[arg].name, method_of(op));
    }
    if (!same_place(first, v)) return refuse_two(first, v);
    const rl_view there = {.device = (uint8_t)b->device, .device_index = (int8_t)b->index};
    return refuse_two(&there, v);
}

/* call/devices.c */
/* of the meta device; -1 and PyTorch's text */
static int device_mixed(int found, int expected) {
    PyErr_Format(PyExc_RuntimeError, "Tensor on device %s is not on the expected device %s!",
                 rl_device_name(found), rl_device_name(expected));
    return -1;
}

int rl_device_refuse(const rl_op_call *b, int arg) {
    return refuse(b, arg, b->k.arg[arg].u.t);
}

int rl_device_out(const rl_view *made, const rl_view *out) {
    if (same_place(made, out)) return 0;
    if (made->device == RL_CUDA || out->device == RL_CUDA) return refuse_two(made, out);
    if (made->device == out->device) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "Attempting to copy from device %s to device %s, but cross-device copies are not allowed!",
                 rl_device_name(made->device), rl_device_name(out->device));
    return -1;
}

/* ---- the check ---- */
static int list_agrees(const rl_op_call *b, int arg) {
    const rl_value *s = &b->k.arg[arg];
    const bool counts = b->schema->op->traits & RL_FOREACH;
    const bool indices = b->schema->arg[arg].kind == RL_ARG_MAYBE_TENSORS;
    for (int j = 0; j < s->n; j++) {
        const rl_view *v = s->u.ts[j];
        if (!v || is_there(b, v) || (indices && v->device == RL_CPU)) continue;
        if (counts && v->device == RL_CPU && v->numel == 1) continue;
        return refuse(b, arg, v);
    }
    return 0;
}

RL_NOINLINE int rl_call_devices_agree(const rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    for (int i = 0; i < b->k.n_arg; i++) {
        const rl_value *s = &b->k.arg[i];
        if (s->tag == RL_TENSORS && list_agrees(b, i) < 0) return -1;
        if (s->tag != RL_TENSOR || is_there(b, s->u.t)) continue;
        if (op == &rl_operators[RL_OP_copy_]) continue;
        if (rl_value_view(s)->device == RL_CPU && rl_value_view(s)->ndim == 0 &&
            takes_number(op, i, b->device))
            continue;
        return refuse(b, i, s->u.t);
    }
    return 0;
}

/* ---- where it runs ---- */
int rl_device_as_out(rl_op_call *b) {
    const rl_view *out = &((rl_tensor *)b->out)->v;
    rl_value *dtype = &b->k.arg[b->schema->op->dtype_arg], *device = &b->k.arg[b->schema->op->device_arg];
    if (dtype->tag == RL_DTYPE && dtype->u.i != out->dtype) {
        PyErr_Format(PyExc_RuntimeError, "dtype %s does not match dtype of out parameter (%s)",
                     rl_dtype_title((int)dtype->u.i), rl_dtype_title(out->dtype));
        return -1;
    }
    if (device->tag == RL_INT && device->u.i / 256 != out->device) {
        PyErr_Format(PyExc_RuntimeError, "device type %s does not match device type of out parameter (%s)",
                     rl_device_name((int)(device->u.i / 256)), rl_device_name(out->device));
        return -1;
    }
    if (dtype->tag == RL_NONE) *dtype = (rl_value){.tag = RL_DTYPE, .u.i = out->dtype};
    if (device->tag == RL_NONE)
        *device = (rl_value){.tag = RL_INT, .u.i = out->device * 256 + out->device_index + 1};
    return 0;
}

static rl_view *first_tensor(const rl_op_call *b) {
    for (uint32_t left = b->schema->op->tensors | b->schema->op->lists; left; left &= left - 1) {
        const rl_value *s = &b->k.arg[__builtin_ctz(left)];
        if (s->tag == RL_TENSOR) return s->u.t;
        if (s->tag == RL_TENSORS && s->n) return s->u.ts[0];
    }
    return NULL;
}

/* A number kept as a 0-dim CPU tensor follows the others, and a copy runs where its foreign side lies. */
static const rl_view *foreign_tensor(const rl_op_call *b, const rl_view *first) {
    for (uint32_t left = b->schema->op->tensors; left; left &= left - 1) {
        const rl_value *s = &b->k.arg[__builtin_ctz(left)];
        if (s->tag == RL_TENSOR && RL_UNLIKELY(rl_value_view(s)->device != RL_CPU) &&
            (first->ndim == 0 || b->schema->op == &rl_operators[RL_OP_copy_]))
            return s->u.t;
    }
    return first;
}

int rl_call_device(rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    const rl_view *v = first_tensor(b);
    if (v && v->device == RL_CPU) v = foreign_tensor(b, v);
    b->device = v ? v->device : RL_CPU;
    b->index = v ? v->device_index : 0;
    int64_t coded = op->device_arg < 0 || v ? RL_DEVICE_UNASKED : rl_tls.device;
    if (op->device_arg >= 0 && b->k.arg[op->device_arg].tag == RL_INT) coded = b->k.arg[op->device_arg].u.i;
    if (coded >= 0) {
        b->device = (int)(coded / 256);
        b->index = (int)(coded % 256) - 1;
    }
    if (RL_LIKELY(b->device == RL_CPU)) return b->index = 0;
    if (rl_device_need(b->device, b->index) < 0) return -1;
    b->index = rl_device_index(b->device, b->index);
    return 0;
}
