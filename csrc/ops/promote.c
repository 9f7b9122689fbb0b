/* The dtype rules that operators name in TYPES():
 * https://docs.pytorch.org/docs/2.13/generated/torch.result_type.html */
#include "core/dtype.h"
#include "core/error.h"
#include "promote.h"

/* Note [Promotion]
 * Three kinds of operand vote: tensors with dimensions, 0-dim tensors, Python numbers. A lesser kind only
 * counts when its category (bool < integer < float) is higher than that of the kinds before it. */
typedef struct {
    int dims, zero, number; /* dtype so far, -1 for none */
} vote;

static int vote_join(int a, int b) {
    return a < 0 ? b : b < 0 ? a : rl_dtype_promote(a, b);
}

static void vote_slot(vote *v, const rl_value *s) {
    if (s->tag == RL_TENSOR)
        *(rl_value_view(s)->ndim ? &v->dims : &v->zero) =
            vote_join(rl_value_view(s)->ndim ? v->dims : v->zero, rl_value_view(s)->dtype);
    else if (s->tag == RL_INT)
        v->number = vote_join(v->number, RL_I64);
    else if (s->tag == RL_FLOAT)
        v->number = vote_join(v->number, rl_dtype_default());
    else if (s->tag == RL_BOOLEAN)
        v->number = vote_join(v->number, RL_BOOL);
}

static int vote_combine(int higher, int lower) {
    if (higher < 0) return lower;
    if (lower < 0 || rl_is_float(higher)) return higher;
    if (higher == RL_BOOL || rl_is_float(lower)) return rl_dtype_promote(higher, lower);
    return higher;
}

static int vote_result(const vote *v) {
    return vote_combine(v->dims, vote_combine(v->zero, v->number));
}

static int common_dtype(const rl_operator *op, const rl_call *k, uint32_t operands) {
    vote v = {-1, -1, -1};
    int first = k->arg[0].tag == RL_TENSOR ? rl_tensor_arg(k, 0)->dtype : -1;
    /* the usual case: equal dtypes */
    if (k->n_arg >= 2 && first >= 0 && k->arg[1].tag == RL_TENSOR && rl_tensor_arg(k, 1)->dtype == first &&
        operands < 4 && (k->n_arg == 2 || k->arg[2].tag != RL_TENSOR))
        return first;
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tag == RL_TENSOR || (operands >> i & 1)) vote_slot(&v, &k->arg[i]);
    (void)op;
    return vote_result(&v);
}

int rl_types_common(const rl_value *a, const rl_value *b) {
    vote v = {-1, -1, -1};
    vote_slot(&v, a);
    vote_slot(&v, b);
    return vote_result(&v);
}

static int list_dtype(const rl_value *s) {
    vote v = {-1, -1, -1};
    for (int i = 0; i < s->n; i++) {
        rl_value one = {.tag = RL_TENSOR, .u.t = s->u.ts[i]};
        vote_slot(&v, &one);
    }
    return vote_result(&v);
}

static int floating(int dtype) {
    return rl_is_float(dtype) || rl_is_converted(dtype) ? dtype : rl_dtype_default();
}

/* PyTorch says it in other words for a bias than for a weight */
static rl_status bias_differs(const rl_operator *op, int first, int weight, int bias) {
    if (op == &rl_operators[RL_OP_linear])
        return rl_error_set(RL_RUNTIME, "%s and mat2 must have the same dtype, but got %s and %s",
                            weight == first ? "self" : "mat1", rl_dtype_title(weight == first ? bias : first),
                            rl_dtype_title(weight));
    return rl_error_set(RL_RUNTIME, "Input type (%s) and bias type (%s) should be the same",
                        rl_dtype_cpp_name(first), rl_dtype_cpp_name(bias));
}

static rl_status same_dtype(const rl_operator *op, const rl_call *k, int first) {
    bool conv = op == &rl_operators[RL_OP_conv2d], linear = op == &rl_operators[RL_OP_linear];
    const rl_view *bias = conv || linear ? rl_in(k, 2) : NULL;
    for (int i = 1; i < k->n_arg; i++) {
        if (k->arg[i].tag != RL_TENSOR || rl_tensor_arg(k, i)->dtype == first) continue;
        int other = rl_tensor_arg(k, i)->dtype;
        if (bias && (linear || bias->dtype != first))
            return bias_differs(op, first, rl_tensor_arg(k, 1)->dtype, bias->dtype);
        if (conv)
            return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(first),
                                rl_dtype_title(other));
        return rl_error_set(RL_RUNTIME, "expected m1 and m2 to have the same dtype, but got: %s != %s",
                            rl_dtype_cpp_name(first), rl_dtype_cpp_name(other));
    }
    return RL_OK;
}

static rl_status alike(const rl_operator *op, const rl_call *k, int first) {
    for (int i = 1; i < k->n_arg; i++)
        if (k->arg[i].tag == RL_TENSOR && rl_tensor_arg(k, i)->dtype != first)
            return rl_error_set(RL_RUNTIME, "%s is not yet implemented for tensors with different dtypes.",
                                op->name);
    return RL_OK;
}

/* whatever the input is */
static rl_status integer_quotient(const rl_call *k) {
    for (int i = 1; i < 3; i++)
        if (k->arg[i].tag == RL_TENSOR && rl_is_float(rl_tensor_arg(k, i)->dtype)) return RL_OK;
    return rl_error_set(
        RL_RUNTIME,
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
        "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
        "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
        "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
        "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
        "dtypes.");
}

static bool is_truth(const rl_value *s) {
    return s->tag == RL_BOOLEAN || (s->tag == RL_TENSOR && rl_value_view(s)->dtype == RL_BOOL);
}

static rl_status difference_refused(bool two) {
    return rl_error_set(
        RL_RUNTIME, two ? "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
                          "`^` or `logical_xor()` operator instead."
                        : "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                          "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
}

/* ---- losses: PyTorch writes into a tensor like one of its arguments ---- */
static rl_status held(int common, int in) {
    if (!rl_is_float(common) || rl_is_float(in)) return RL_OK;
    return rl_error_set(RL_RUNTIME, "result type %s can't be cast to the desired output type %s",
                        rl_dtype_title(common), rl_dtype_title(in));
}

static rl_status loss_dtype(const rl_operator *op, const rl_call *k, int first, int *answer) {
    const int target = rl_tensor_arg(k, 1)->dtype;
    *answer = first;
    if (op->rule == RL_TYPES_first) return held(common_dtype(op, k, 0), first);
    if (op->rule == RL_TYPES_target)
        return target == first ? RL_OK
                               : rl_error_set(RL_RUNTIME, "Found dtype %s but expected %s",
                                              rl_dtype_title(target), rl_dtype_title(first));
    if (op->rule == RL_TYPES_probabilities) {
        *answer = common_dtype(op, k, 0);
        return rl_is_float(first) && rl_is_float(target)
                   ? RL_OK
                   : rl_error_set(RL_RUNTIME, "%s: Integral inputs not supported.", op->name);
    }
    *answer = rl_is_float(first) ? target : first; /* which is refused */
    return rl_is_float(first) && target == RL_BOOL ? difference_refused(true) : held(first, target);
}

static int given_dtype(const rl_operator *op, const rl_call *k) {
    return op->dtype_arg >= 0 && k->arg[op->dtype_arg].tag == RL_DTYPE ? (int)k->arg[op->dtype_arg].u.i : -1;
}

static rl_status admit(const rl_operator *op, int dtype) {
    if (op->dtypes >> dtype & 1) return RL_OK;
    if (*op->refusal)
        return rl_error_set(RL_NOTIMPL, "\"%s\" not implemented for '%s'", op->refusal,
                            rl_dtype_title(dtype));
    return rl_error_set(RL_NOTIMPL, "\"%s_cpu\" not implemented for '%s'", op->name, rl_dtype_title(dtype));
}

/* Note [Converted dtypes]: no operand slips in beside one that the operator admits. */
static rl_status admit_operands(const rl_operator *op, const rl_call *k) {
    uint64_t seen = 0;
    for (uint32_t left = op->tensors; left; left &= left - 1) {
        const rl_value *s = &k->arg[__builtin_ctz(left)];
        if (s->tag == RL_TENSOR) seen |= RL_BIT(rl_value_view(s)->dtype);
    }
    for (uint32_t left = op->lists; left; left &= left - 1) {
        const rl_value *s = &k->arg[__builtin_ctz(left)];
        for (int n = s->tag == RL_TENSORS ? s->n : 0; n; n--)
            if (s->u.ts[n - 1]) seen |= RL_BIT(s->u.ts[n - 1]->dtype);
    }
    seen &= RL_SET_CONVERTED & ~op->dtypes;
    return seen ? admit(op, __builtin_ctzll(seen)) : RL_OK;
}

void rl_types_note(rl_operator *op) {
    op->plain = op->device_arg < 0; /* else the dispatcher must look for the device as well */
    op->plain_out = -1;
    switch ((rl_types_rule)op->rule) {
    case RL_TYPES_promote:
    case RL_TYPES_number:
    case RL_TYPES_sub:
    case RL_TYPES_addcdiv:
    case RL_TYPES_first:
    case RL_TYPES_target:
    case RL_TYPES_logits:
    case RL_TYPES_probabilities:
    case RL_TYPES_float:
    case RL_TYPES_div:
    case RL_TYPES_clamp:
    case RL_TYPES_where:
    case RL_TYPES_list:
    case RL_TYPES_sum:
    case RL_TYPES_mean: op->plain_casts = true; break;
    case RL_TYPES_compare:
        op->plain_casts = true;
        op->plain_out = RL_BOOL;
        break;
    case RL_TYPES_bool:
    case RL_TYPES_bool_or_uint8: op->plain_out = RL_BOOL; break;
    case RL_TYPES_index: op->plain_out = RL_I64; break;
    case RL_TYPES_keep:
    case RL_TYPES_same:
    case RL_TYPES_same_bias:
    case RL_TYPES_like: op->plain &= op->tensors & 1; break; /* the first one says it */
    default: op->plain = false;
    }
}

rl_status rl_types_resolve(const rl_operator *op, const rl_call *k, int *compute, int *out) {
    if (admit_operands(op, k) != RL_OK) return RL_FAIL;
    int first = k->arg[0].tag == RL_TENSOR ? rl_tensor_arg(k, 0)->dtype : -1, given = given_dtype(op, k);
    *compute = -1;
    switch ((rl_types_rule)op->rule) {
    case RL_TYPES_same:
        if (same_dtype(op, k, first) != RL_OK) return RL_FAIL;
        *out = first;
        break;
    case RL_TYPES_same_bias:
        if (alike(op, k, first) != RL_OK) return RL_FAIL;
        *out = first;
        break;
    case RL_TYPES_number:
        *out = *compute = common_dtype(op, k, op->operands);
        if (*out == RL_BOOL) *out = *compute = RL_I64;
        break;
    case RL_TYPES_sub:
        if (is_truth(&k->arg[0]) || is_truth(&k->arg[1]))
            return difference_refused(is_truth(&k->arg[0]) && is_truth(&k->arg[1]));
        *out = *compute = common_dtype(op, k, op->operands);
        break;
    case RL_TYPES_addcdiv:
        if (integer_quotient(k) != RL_OK) return RL_FAIL;
        *out = *compute = common_dtype(op, k, op->operands);
        break;
    case RL_TYPES_first:
    case RL_TYPES_target:
    case RL_TYPES_logits:
    case RL_TYPES_probabilities:
        if (loss_dtype(op, k, first, out) != RL_OK) return RL_FAIL;
        *compute = *out;
        break;
    case RL_TYPES_promote: *out = *compute = common_dtype(op, k, op->operands); break;
    case RL_TYPES_float: *out = *compute = floating(common_dtype(op, k, op->operands)); break;
    case RL_TYPES_div:
        *out = *compute = common_dtype(op, k, op->operands);
        if (k->arg[2].tag == RL_NONE) *out = *compute = floating(*out);
        break;
    case RL_TYPES_clamp: *out = *compute = common_dtype(op, k, 6); break;
    case RL_TYPES_where: {
        vote v = {-1, -1, -1};
        vote_slot(&v, &k->arg[1]);
        vote_slot(&v, &k->arg[2]);
        *out = *compute = vote_result(&v);
        break;
    }
    case RL_TYPES_list:
        if (k->arg[0].n == 0)
            return rl_error_set(RL_VALUE, "torch.%s(): expected a non-empty list of Tensors", op->name);
        *out = *compute = list_dtype(&k->arg[0]);
        break;
    case RL_TYPES_compare:
        *compute = common_dtype(op, k, op->operands);
        *out = RL_BOOL;
        return admit(op, *compute);
    case RL_TYPES_bool: *out = RL_BOOL; return admit(op, first);
    case RL_TYPES_bool_or_uint8: *out = first == RL_U8 ? RL_U8 : RL_BOOL; return admit(op, first);
    case RL_TYPES_index: *out = RL_I64; return admit(op, first);
    case RL_TYPES_sum: *out = *compute = given >= 0 ? given : rl_is_float(first) ? first : RL_I64; break;
    case RL_TYPES_mean:
        *out = *compute = given >= 0 ? given : first;
        if (!rl_is_float(*out) && op == &rl_operators[RL_OP_mean])
            return rl_error_set(
                RL_RUNTIME,
                "mean(): could not infer output dtype. %s dtype must be either a floating point or "
                "complex dtype. Got: %s",
                given >= 0 ? "Optional" : "Input", rl_dtype_title(*out));
        break;
    case RL_TYPES_factory: *out = given >= 0 ? given : rl_dtype_default(); break;
    case RL_TYPES_full:
        *out = given >= 0                    ? given
               : k->arg[1].tag == RL_INT     ? RL_I64
               : k->arg[1].tag == RL_BOOLEAN ? RL_BOOL
                                             : rl_dtype_default();
        break;
    case RL_TYPES_arange: {
        bool whole = true;
        for (int i = 0; i < k->n_arg && i < 3; i++) whole &= k->arg[i].tag != RL_FLOAT;
        *out = given >= 0 ? given : whole ? RL_I64 : rl_dtype_default();
        break;
    }
    case RL_TYPES_randint: *out = given >= 0 ? given : RL_I64; break;
    case RL_TYPES_like: *out = given >= 0 ? given : first; break;
    case RL_TYPES_none:
    case RL_TYPES_keep: *out = first; break;
    }
    return admit(op, *out);
}
