/* One argument of a call as a slot, by the kind that its schema says: 1 it fits, 0 it does not, -1 raised. */
#include "bind_value.h"
#include <string.h>

static int value_scalar(const rl_bound *b, PyObject *o, rl_slot *slot) {
    if (!rl_tensor_check(o)) return rl_scalar_slot(o, slot);
    const rl_tensor *t = (rl_tensor *)o;
    if (t->v.ndim) return 0;
    /* another overload takes tensors; of a number no gradient comes back */
    if (b->schema->next && (t->v.device == RL_META || t->requires_grad)) return 0;
    RL_OWNED PyObject *number = rl_tensor_item(o, NULL);
    return number ? rl_scalar_slot(number, slot) : -1;
}

int rl_value_ints(rl_bound *b, PyObject *const *items, Py_ssize_t n, const rl_arg *a, rl_slot *slot) {
    if (n > RL_MAX_DIMS || b->n_pool + n > RL_POOL) {
        PyErr_Format(PyExc_RuntimeError, "tensors have at most %d dimensions, but '%s' has %zd numbers",
                     RL_MAX_DIMS, a->name, n);
        return -1;
    }
    int64_t *ints = b->pool + b->n_pool;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (items[i] == Py_None && a->kind == RL_ARG_MAYBE_INTS) {
            ints[i] = INT64_MIN;
            continue;
        }
        int rc = rl_scalar_int(items[i], &ints[i]);
        if (rc != 1) return rc;
    }
    *slot = (rl_slot){.tag = RL_INTS, .n = (int32_t)n, .u.ints = ints};
    b->n_pool += (int)n;
    return 1;
}

/* Has a later overload a tensor in this argument's place? */
static bool is_of_another(const rl_bound *b, const rl_arg *a) {
    const long at = a - b->schema->arg;
    for (const rl_schema *s = b->schema->next; s; s = s->next)
        if (at < s->n && s->arg[at].kind == RL_ARG_TENSOR) return true;
    return false;
}

static int value_sequence(rl_bound *b, PyObject *o, const rl_arg *a, rl_slot *slot) {
    if (PyTuple_Check(o)) return rl_value_ints(b, &PyTuple_GET_ITEM(o, 0), PyTuple_GET_SIZE(o), a, slot);
    if (PyList_Check(o)) { /* __index__ may change the list: work on a copy */
        PyObject *copy = PyList_AsTuple(o);
        if (rl_bound_keep_steal(b, copy) < 0) return -1;
        return rl_value_ints(b, &PyTuple_GET_ITEM(copy, 0), PyTuple_GET_SIZE(copy), a, slot);
    }
    if (o == Py_None || (a->length == 0 && a->kind != RL_ARG_INTS)) {
        if (o != Py_None || a->kind != RL_ARG_MAYBE_INTS) return 0;
        *slot = (rl_slot){.tag = RL_INT, .u.i = INT64_MIN};
        return 1;
    }
    if (rl_tensor_check(o) && is_of_another(b, a)) return 0; /* x.tensor_split(tensor) */
    int64_t i;
    int rc = rl_scalar_int(o, &i);
    if (rc == 1) *slot = (rl_slot){.tag = RL_INT, .u.i = i};
    return rc;
}

/* the sequence as a tuple that lives as long as the call; NULL: raised */
static PyObject *value_items(rl_bound *b, PyObject *o) {
    PyObject *items = PySequence_Tuple(o);
    return rl_bound_keep_steal(b, items) < 0 ? NULL : items;
}

static int value_scalars(rl_bound *b, PyObject *o, rl_slot *slot) {
    rl_slot number;
    PyObject *items = PyTuple_Check(o) || PyList_Check(o) ? value_items(b, o) : NULL;
    if (!items) return PyErr_Occurred() ? -1 : 0;
    const Py_ssize_t n = PyTuple_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        int rc = rl_tensor_check(item) ? 0 : rl_scalar_slot(item, &number);
        if (rc != 1) return rc;
    }
    *slot = (rl_slot){.tag = RL_OBJECT, .n = (int32_t)n, .u.o = items};
    return 1;
}

static int value_tensors(rl_bound *b, PyObject *o, const rl_arg *a, rl_slot *slot) {
    if (!PyTuple_Check(o) && !PyList_Check(o)) return 0;
    PyObject *items = value_items(b, o);
    if (!items) return -1;
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        if (RL_LIKELY(rl_is_plain(item))) continue;
        b->overridden |= rl_override_class(item);
        if (!rl_tensor_check(item) && (item != Py_None || a->kind != RL_ARG_MAYBE_TENSORS)) {
            slot->tag = RL_NONE;
            if (b->overridden || b->schema->next) return b->overridden;
            PyErr_Format(PyExc_TypeError, "expected Tensor as element %zd in argument %d, but got %s", i,
                         (int)(a - b->schema->arg), Py_TYPE(item)->tp_name);
            return -1;
        }
    }
    rl_view **views = rl_bound_list(b, n);
    if (!views) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        views[i] = item == Py_None ? NULL : &((rl_tensor *)item)->v;
    }
    *slot = (rl_slot){.tag = RL_TENSORS, .n = (int32_t)n, .u.ts = views};
    return 1;
}

static int value_text(PyObject *o, rl_slot *slot) {
    if (!PyUnicode_Check(o)) return 0;
    *slot = (rl_slot){.tag = RL_TEXT, .u.s = PyUnicode_AsUTF8(o)};
    return slot->u.s ? 1 : -1;
}

/* a number, or an object whose class answers for functions */
static int value_stranger(rl_bound *b, const rl_arg *a, PyObject *o, rl_slot *slot) {
    int number = a->kind == RL_ARG_OPERAND ? rl_scalar_slot(o, slot) : 0;
    if (number || !rl_override_class(o)) return number;
    slot->tag = RL_NONE;
    return b->overridden = true;
}

int rl_value_bind(rl_bound *b, const rl_arg *a, PyObject *o, rl_slot *slot) {
    if (o == Py_None && a->optional) {
        slot->tag = RL_NONE;
        return 1;
    }
    switch ((rl_arg_kind)a->kind) {
    case RL_ARG_TENSOR:
    case RL_ARG_OPERAND:
        if (RL_LIKELY(rl_tensor_check(o))) {
            b->overridden |= rl_override_asked(o);
            slot->tag = RL_TENSOR;
            slot->u.t = &((rl_tensor *)o)->v;
            return 1;
        }
        return value_stranger(b, a, o, slot);
    case RL_ARG_TENSORS:
    case RL_ARG_MAYBE_TENSORS: return value_tensors(b, o, a, slot);
    case RL_ARG_SCALAR: return value_scalar(b, o, slot);
    case RL_ARG_NUMBER: return rl_scalar_slot(o, slot);
    case RL_ARG_SCALARS:
    case RL_ARG_FLOATS: return value_scalars(b, o, slot);
    case RL_ARG_FLOAT: {
        int rc = value_scalar(b, o, slot);
        if (rc == 1 && slot->tag != RL_FLOAT) *slot = (rl_slot){.tag = RL_FLOAT, .u.d = (double)slot->u.i};
        return rc;
    }
    case RL_ARG_INT:
        if (!PyLong_CheckExact(o) && b->schema->next && rl_tensor_check(o)) return 0; /* another overload's */
        slot->tag = RL_INT;
        return rl_scalar_int(o, &slot->u.i);
    case RL_ARG_BOOL:
        if (!PyBool_Check(o)) return 0;
        *slot = (rl_slot){.tag = RL_TRUTH, .u.i = o == Py_True};
        return 1;
    case RL_ARG_PADDING:
        if (PyUnicode_Check(o)) return value_text(o, slot);
        return value_sequence(b, o, a, slot);
    case RL_ARG_INTS:
    case RL_ARG_MAYBE_INTS: return value_sequence(b, o, a, slot);
    case RL_ARG_TEXT: return value_text(o, slot);
    case RL_ARG_DTYPE: {
        if (!Py_IS_TYPE(o, rl_dtype_type) && !PyType_Check(o)) return 0;
        int dtype = rl_dtype_parse(o);
        *slot = (rl_slot){.tag = RL_DTYPE, .u.i = dtype};
        return dtype < 0 ? -1 : 1;
    }
    case RL_ARG_DEVICE: {
        int device, index;
        if (!Py_IS_TYPE(o, rl_device_type_object) && !PyUnicode_Check(o) &&
            (!PyLong_Check(o) || PyBool_Check(o)))
            return 0;
        if (rl_device_parse(o, &device, &index) < 0) return -1;
        *slot = (rl_slot){.tag = RL_INT, .u.i = device * 256 + index + 1};
        return 1;
    }
    case RL_ARG_FORMAT: slot->tag = RL_INT; return rl_format_parse(o, &slot->u.i);
    case RL_ARG_LAYOUT: *slot = (rl_slot){.tag = RL_OBJECT, .u.o = o}; return rl_layout_parse(o);
    case RL_ARG_RNG: slot->tag = RL_RNG; return rl_generator_parse(o, &slot->u.g);
    }
    return 0;
}
