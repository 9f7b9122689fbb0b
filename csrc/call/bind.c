/* Binds Python's arguments to values: positional and keyword arguments, defaults, overloads, and PyTorch's
 * errors.
 */
#include "call.h"
#include <string.h>

/* ---- one argument of a call as a slot, by the kind that its schema says ----
 * 1 it fits, 0 it does not, -1 raised. */
static int value_scalar(const rl_op_call *b, PyObject *o, rl_value *slot) {
    if (!rl_tensor_check(o)) return rl_scalar_value(o, slot);
    const rl_tensor *t = (rl_tensor *)o;
    if (t->v.ndim) return 0;
    /* another overload takes tensors; of a number no gradient comes back */
    if (b->schema->next && (t->v.device == RL_META || t->requires_grad)) return 0;
    RL_OWNED PyObject *number = rl_tensor_item(o, NULL);
    return number ? rl_scalar_value(number, slot) : -1;
}

static int value_ints(rl_op_call *b, PyObject *const *items, Py_ssize_t n, const rl_arg *a, rl_value *slot) {
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
    *slot = (rl_value){.tag = RL_INTS, .n = (int32_t)n, .u.ints = ints};
    b->n_pool += (int)n;
    return 1;
}

/* Has a later overload a tensor in this argument's place? */
static bool is_of_another(const rl_op_call *b, const rl_arg *a) {
    const long at = a - b->schema->arg;
    for (const rl_schema *s = b->schema->next; s; s = s->next)
        if (at < s->n && s->arg[at].kind == RL_ARG_TENSOR) return true;
    return false;
}

static int value_sequence(rl_op_call *b, PyObject *o, const rl_arg *a, rl_value *slot) {
    if (PyTuple_Check(o)) return value_ints(b, &PyTuple_GET_ITEM(o, 0), PyTuple_GET_SIZE(o), a, slot);
    if (PyList_Check(o)) { /* __index__ may change the list: work on a copy */
        PyObject *copy = PyList_AsTuple(o);
        if (rl_op_call_keep_steal(b, copy) < 0) return -1;
        return value_ints(b, &PyTuple_GET_ITEM(copy, 0), PyTuple_GET_SIZE(copy), a, slot);
    }
    if (o == Py_None || (a->length == 0 && a->kind != RL_ARG_INTS)) {
        if (o != Py_None || a->kind != RL_ARG_MAYBE_INTS) return 0;
        *slot = (rl_value){.tag = RL_INT, .u.i = INT64_MIN};
        return 1;
    }
    if (rl_tensor_check(o) && is_of_another(b, a)) return 0; /* x.tensor_split(tensor) */
    int64_t i;
    int rc = rl_scalar_int(o, &i);
    if (rc == 1) *slot = (rl_value){.tag = RL_INT, .u.i = i};
    return rc;
}

/* the sequence as a tuple that lives as long as the call; NULL: raised */
static PyObject *value_items(rl_op_call *b, PyObject *o) {
    PyObject *items = PySequence_Tuple(o);
    return rl_op_call_keep_steal(b, items) < 0 ? NULL : items;
}

static int value_scalars(rl_op_call *b, PyObject *o, rl_value *slot) {
    rl_value number;
    PyObject *items = PyTuple_Check(o) || PyList_Check(o) ? value_items(b, o) : NULL;
    if (!items) return PyErr_Occurred() ? -1 : 0;
    const Py_ssize_t n = PyTuple_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        int rc = rl_tensor_check(item) ? 0 : rl_scalar_value(item, &number);
        if (rc != 1) return rc;
    }
    *slot = (rl_value){.tag = RL_OBJECT, .n = (int32_t)n, .u.o = items};
    return 1;
}

static int value_tensors(rl_op_call *b, PyObject *o, const rl_arg *a, rl_value *slot) {
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
    rl_view **views = rl_op_call_list(b, n);
    if (!views) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        views[i] = item == Py_None ? NULL : &((rl_tensor *)item)->v;
    }
    *slot = (rl_value){.tag = RL_TENSORS, .n = (int32_t)n, .u.ts = views};
    return 1;
}

static int value_text(PyObject *o, rl_value *slot) {
    if (!PyUnicode_Check(o)) return 0;
    *slot = (rl_value){.tag = RL_STRING, .u.s = PyUnicode_AsUTF8(o)};
    return slot->u.s ? 1 : -1;
}

/* a number, or an object whose class answers for functions */
static int value_stranger(rl_op_call *b, const rl_arg *a, PyObject *o, rl_value *slot) {
    int number = a->kind == RL_ARG_OPERAND ? rl_scalar_value(o, slot) : 0;
    if (number || !rl_override_class(o)) return number;
    slot->tag = RL_NONE;
    return b->overridden = true;
}

/* 1 it fits, 0 it does not, -1 raised */
static int value_bind(rl_op_call *b, const rl_arg *a, PyObject *o, rl_value *slot) {
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
    case RL_ARG_NUMBER: return rl_scalar_value(o, slot);
    case RL_ARG_SCALARS:
    case RL_ARG_FLOATS: return value_scalars(b, o, slot);
    case RL_ARG_FLOAT: {
        int rc = value_scalar(b, o, slot);
        if (rc == 1 && slot->tag != RL_FLOAT) *slot = (rl_value){.tag = RL_FLOAT, .u.d = (double)slot->u.i};
        return rc;
    }
    case RL_ARG_INT:
        if (!PyLong_CheckExact(o) && b->schema->next && rl_tensor_check(o)) return 0; /* another overload's */
        slot->tag = RL_INT;
        return rl_scalar_int(o, &slot->u.i);
    case RL_ARG_BOOL:
        if (!PyBool_Check(o)) return 0;
        *slot = (rl_value){.tag = RL_BOOLEAN, .u.i = o == Py_True};
        return 1;
    case RL_ARG_PADDING:
        if (PyUnicode_Check(o)) return value_text(o, slot);
        return value_sequence(b, o, a, slot);
    case RL_ARG_INTS:
    case RL_ARG_MAYBE_INTS: return value_sequence(b, o, a, slot);
    case RL_ARG_STRING: return value_text(o, slot);
    case RL_ARG_DTYPE: {
        if (!Py_IS_TYPE(o, rl_dtype_type) && !PyType_Check(o)) return 0;
        int dtype = rl_dtype_parse(o);
        *slot = (rl_value){.tag = RL_DTYPE, .u.i = dtype};
        return dtype < 0 ? -1 : 1;
    }
    case RL_ARG_DEVICE: {
        int device, index;
        if (!Py_IS_TYPE(o, rl_device_type_object) && !PyUnicode_Check(o) &&
            (!PyLong_Check(o) || PyBool_Check(o)))
            return 0;
        if (rl_device_parse(o, &device, &index) < 0) return -1;
        *slot = (rl_value){.tag = RL_INT, .u.i = device * 256 + index + 1};
        return 1;
    }
    case RL_ARG_FORMAT: slot->tag = RL_INT; return rl_format_parse(o, &slot->u.i);
    case RL_ARG_LAYOUT: *slot = (rl_value){.tag = RL_OBJECT, .u.o = o}; return rl_layout_parse(o);
    case RL_ARG_RNG: slot->tag = RL_RNG; return rl_generator_parse(o, &slot->u.g);
    }
    return 0;
}

/* ---- all of them ---- */
/* ---- names ---- */
static int arg_named(const rl_schema *s, PyObject *name) {
    static const char *const aliases[][3] = {
        {"axis", "dim"},   {"keepdims", "keepdim"},      {"x", "input"},
        {"self", "input"}, {"tensor", "input", "split"}, {"split_size_or_sections", "split_size"}};
    for (int i = 0; i < s->n; i++)
        if (rl_arg_name(&s->arg[i]) == name) return i;
    for (int i = 0; i < s->n; i++)
        if (PyUnicode_CompareWithASCIIString(name, s->arg[i].name) == 0) return i;
    for (size_t j = 0; j < Py_ARRAY_LENGTH(aliases); j++)
        for (int i = 0; i < s->n; i++)
            if (PyUnicode_CompareWithASCIIString(name, aliases[j][0]) == 0 &&
                strcmp(s->arg[i].name, aliases[j][1]) == 0 &&
                (!aliases[j][2] || strcmp(s->op->name, aliases[j][2]) == 0))
                return i;
    return -1;
}

static PyObject *kind_name(const rl_arg *a) {
    static const char *const names[] = {"Tensor",
                                        "Tensor",
                                        "tuple of Tensors",
                                        "tuple of Tensors",
                                        "Number",
                                        "int",
                                        "float",
                                        "bool",
                                        "tuple of ints",
                                        "tuple of ints",
                                        "tuple of ints",
                                        "str",
                                        "torch.dtype",
                                        "torch.device",
                                        "torch.layout",
                                        "torch.memory_format",
                                        "torch.Generator",
                                        "Number",
                                        "tuple of Scalars"};
    return PyUnicode_FromString(names[a->kind]);
}

/* ---- one overload: 1 bound, 0 does not fit (raised only when `loud`), -1 raised ---- */
static const char *suffix(const rl_given *g) {
    return g->inplace ? "_" : "";
}

static RL_NOINLINE int bind_wrong_type(const rl_schema *s, const rl_given *g, const rl_arg *a, PyObject *o,
                                       int position) {
    RL_OWNED PyObject *kind = kind_name(a);
    if (!kind) return -1;
    if (position > 0)
        PyErr_Format(PyExc_TypeError, "%s%s(): argument '%s' (position %d) must be %U, not %s", s->op->name,
                     suffix(g), a->name, position, kind, Py_TYPE(o)->tp_name);
    else
        PyErr_Format(PyExc_TypeError, "%s%s(): argument '%s' must be %U, not %s", s->op->name, suffix(g),
                     a->name, kind, Py_TYPE(o)->tp_name);
    return 0;
}

/* Which one of numbers is no int? As PyTorch does, the first one is told from the others. */
static RL_NOINLINE int bind_wrong_number(const rl_schema *s, const rl_given *g, const rl_arg *a,
                                         PyObject *const *items, Py_ssize_t n, int position) {
    int64_t number;
    Py_ssize_t at = 0;
    while (at < n && rl_scalar_int(items[at], &number) == 1) at++;
    if (PyErr_Occurred()) return -1;
    const char *type = Py_TYPE(items[Py_MIN(at, n - 1)])->tp_name;
    if (at > 0)
        PyErr_Format(PyExc_TypeError,
                     "%s%s(): argument '%s' failed to unpack the object at pos %zd with error "
                     "\"type must be tuple of ints,but got %s\"",
                     s->op->name, suffix(g), a->name, at + 1, type);
    else
        PyErr_Format(PyExc_TypeError,
                     "%s%s(): argument '%s' (position %d) must be tuple of ints, but found element of type "
                     "%s at pos 0",
                     s->op->name, suffix(g), a->name, position, type);
    return 0;
}

/* position: counted from 1; 0: by its name */
static RL_NOINLINE int bind_wrong(const rl_schema *s, const rl_given *g, const rl_arg *a, PyObject *o,
                                  int position) {
    const bool listed = a->kind == RL_ARG_INTS && (PyTuple_Check(o) || PyList_Check(o));
    RL_OWNED PyObject *items = listed ? PySequence_Tuple(o) : NULL;
    if (PyErr_Occurred()) return -1;
    int64_t first;
    const bool shown = items && PyTuple_GET_SIZE(items) > 0 &&
                       (position > 0 || rl_scalar_int(PyTuple_GET_ITEM(items, 0), &first) == 1);
    if (!shown) return PyErr_Occurred() ? -1 : bind_wrong_type(s, g, a, o, position);
    return bind_wrong_number(s, g, a, &PyTuple_GET_ITEM(items, 0), PyTuple_GET_SIZE(items), position);
}

/* out=: a tensor, or as many as there are results */
static int bind_out(rl_op_call *b, const rl_schema *s, PyObject *value, bool loud) {
    const bool several = s->op->n_shown > 1 || s->answers_list;
    b->out = NULL;
    if (value == Py_None) return 1;
    bool fits = several ? PyTuple_Check(value) || PyList_Check(value) : rl_tensor_check(value);
    if (fits && several) {
        if (rl_op_call_keep_steal(b, value = PySequence_Tuple(value)) < 0) return -1;
        fits = s->answers_list || PyTuple_GET_SIZE(value) == s->op->n_shown;
        for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(value); i++)
            fits = rl_tensor_check(PyTuple_GET_ITEM(value, i));
    }
    if (!fits && loud)
        PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be %s, not %s", s->op->name,
                     several ? "tuple of Tensors" : "Tensor", Py_TYPE(value)->tp_name);
    if (fits) b->out = value;
    return fits;
}

static int bind_keywords(rl_op_call *b, const rl_schema *s, const rl_given *g, uint32_t *given, bool loud) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(g->kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(g->kwnames, i), *value = g->args[g->n + i];
        int at = arg_named(s, name);
        if (at < 0) {
            if ((s->op->variants & RL_OUT) && !g->self &&
                PyUnicode_CompareWithASCIIString(name, "out") == 0) {
                int rc = bind_out(b, s, value, loud);
                if (rc != 1) return rc;
                continue;
            }
            if (loud)
                PyErr_Format(PyExc_TypeError, "%s%s() got an unexpected keyword argument '%U'", s->op->name,
                             suffix(g), name);
            return 0;
        }
        if (*given >> at & 1) {
            if (loud)
                PyErr_Format(PyExc_TypeError, "%s%s() got multiple values for argument '%U'", s->op->name,
                             suffix(g), name);
            return 0;
        }
        int rc = value_bind(b, &s->arg[at], value, &b->k.arg[at]);
        if (rc == 0 && loud) bind_wrong(s, g, &s->arg[at], value, 0);
        if (rc != 1) return rc;
        *given |= 1u << at;
    }
    return 1;
}

/* view(2, 3) for view((2, 3)): do the numbers of the int[] stand one by one? */
static bool stands_alone(PyObject *const *args, Py_ssize_t n) {
    return n != 1 || !(PyTuple_Check(args[0]) || PyList_Check(args[0]) || args[0] == Py_None);
}

/* Are there more than it takes? A method's are counted without it. 1: raised when `loud`, -1 raised. */
static RL_NOINLINE int too_many(const rl_schema *s, const rl_given *g, bool loud) {
    const int self = g->self != NULL, most = s->n_positional - self;
    int64_t number;
    int rc = 0, least = -self;
    PyObject *const *rest = s->rest >= self && s->rest - self < g->n ? g->args + (s->rest - self) : NULL;
    if (rest && RL_LIKELY(PyLong_CheckExact(*rest))) return 0;
    if (rest) rc = rl_scalar_int(*rest, &number);
    if (rc || !loud) return rc > 0 ? 0 : rc < 0 ? -1 : 1;
    for (int i = 0; i < s->n_positional; i++) least += s->required >> i & 1;
    if (self && most == 0)
        PyErr_Format(PyExc_TypeError, "TensorBase.%s%s() takes no arguments (%zd given)", s->op->name,
                     suffix(g), g->n);
    else if (least < most)
        PyErr_Format(PyExc_TypeError, "%s%s() takes from %d to %d positional arguments but %zd %s given",
                     s->op->name, suffix(g), least, most, g->n, g->n == 1 ? "was" : "were");
    else
        PyErr_Format(PyExc_TypeError, "%s%s() takes %d positional argument%s but %zd %s given", s->op->name,
                     suffix(g), most, most == 1 ? "" : "s", g->n, g->n == 1 ? "was" : "were");
    return 1;
}

static int bind_value(rl_op_call *b, const rl_arg *a, PyObject *o, rl_value *slot) {
    if (a->kind > RL_ARG_OPERAND || RL_UNLIKELY(!rl_is_plain(o))) return value_bind(b, a, o, slot);
    slot->tag = RL_TENSOR;
    slot->u.t = &((rl_tensor *)o)->v;
    return 1;
}

/* *bound: how many arguments got their value */
static int bind_positional(rl_op_call *b, const rl_schema *s, const rl_given *g, int *bound, bool loud) {
    const int self = g->self != NULL; /* a method's positions are counted without it */
    int i = 0, rc;
    if (self && (rc = bind_value(b, s->arg, g->self, &b->k.arg[i++])) != 1) {
        if (rc == 0 && loud) bind_wrong_type(s, g, s->arg, g->self, 0);
        return rc;
    }
    if (RL_UNLIKELY(g->n > s->n_positional - self) && (rc = too_many(s, g, loud))) return rc < 0 ? -1 : 0;
    for (Py_ssize_t at = 0; at < g->n; at++) {
        const rl_arg *a = &s->arg[i];
        const bool rest = i == s->rest && stands_alone(g->args + at, g->n - at);
        rc = rest ? value_ints(b, g->args + at, g->n - at, a, &b->k.arg[i])
                  : bind_value(b, a, g->args[at], &b->k.arg[i]);
        if (rc == 0 && loud && rest && g->n - at > 1)
            bind_wrong_number(s, g, a, g->args + at, g->n - at, i + 1 - self);
        else if (rc == 0 && loud)
            bind_wrong(s, g, a, g->args[at], i + 1 - self);
        if (rc != 1) return rc;
        i++;
        if (rest) break;
    }
    *bound = i;
    return 1;
}

/* PyTorch's plural is where there is one */
static void raise_missing(const rl_schema *s, const rl_given *g, uint32_t missing) {
    const int count = __builtin_popcount(missing);
    RL_OWNED PyObject *names = PyUnicode_FromString("");
    for (; names && missing; missing &= missing - 1) {
        PyObject *more = PyUnicode_FromFormat("%U%s\"%s\"", names, PyUnicode_GET_LENGTH(names) ? ", " : "",
                                              s->arg[__builtin_ctz(missing)].name);
        Py_SETREF(names, more);
    }
    if (names)
        PyErr_Format(PyExc_TypeError, "%s%s() missing %d required positional argument%s: %U", s->op->name,
                     suffix(g), count, count == 1 ? "s" : "", names);
}

/* zeros() is zeros(()); nothing else that is required may be missing */
static int bind_missing(rl_op_call *b, const rl_schema *s, const rl_given *g, int bound, uint32_t given,
                        bool loud) {
    uint32_t missing = s->required & ~given;
    if (bound == s->rest && (missing >> bound & 1) && (s->op->traits & RL_FACTORY)) {
        b->k.arg[bound] = (rl_value){.tag = RL_INTS, .n = 0, .u.ints = b->pool};
        missing &= ~(1u << bound);
    }
    if (missing && loud) raise_missing(s, g, missing);
    return !missing;
}

static int bind_one(rl_op_call *b, const rl_schema *s, const rl_given *g, bool loud) {
    int bound, rc = bind_positional(b, s, g, &bound, loud);
    if (rc != 1) return rc;
    uint32_t given = (1u << bound) - 1;
    for (int i = bound; i < s->n; i++) b->k.arg[i] = s->arg[i].fallback;
    if (RL_UNLIKELY(g->kwnames != NULL) && (rc = bind_keywords(b, s, g, &given, loud)) != 1) return rc;
    return RL_LIKELY(!(s->required & ~given)) || bind_missing(b, s, g, bound, given, loud);
}

/* ---- the combined error of overloaded names ---- */
static PyObject *given_text(const rl_given *g) {
    RL_OWNED PyObject *text = PyUnicode_FromString("");
    Py_ssize_t all = g->n + (g->kwnames ? PyTuple_GET_SIZE(g->kwnames) : 0);
    for (Py_ssize_t i = 0; text && i < all; i++) {
        const char *type = strrchr(Py_TYPE(g->args[i])->tp_name, '.');
        type = type ? type + 1 : Py_TYPE(g->args[i])->tp_name;
        if (i < g->n)
            Py_SETREF(text, PyUnicode_FromFormat("%U%s%s", text, i ? ", " : "", type));
        else
            Py_SETREF(text, PyUnicode_FromFormat("%U%s%U=%s", text, i ? ", " : "",
                                                 PyTuple_GET_ITEM(g->kwnames, i - g->n), type));
    }
    return rl_move(&text);
}

/* an overload that has no in-place twin is none of x_() */
static bool takes(const rl_schema *s, const rl_given *g) {
    return RL_LIKELY(!g->inplace) || (s->op->variants & RL_INPLACE);
}

static int bind_no_overload(const rl_schema *first, const rl_given *g) {
    RL_OWNED PyObject *got = given_text(g), *text = NULL;
    if (got)
        text = PyUnicode_FromFormat(
            "%s%s() received an invalid combination of arguments - got (%U), but expected one of:\n",
            first->op->name, suffix(g), got);
    for (int second = 0; second < 2; second++) {
        for (const rl_schema *s = first; text && s; s = s->next) {
            if ((second && !s->splits) || !takes(s, g)) continue;
            RL_OWNED PyObject *schema = rl_schema_text(s, second);
            if (!schema) return -1;
            Py_SETREF(text, PyUnicode_FromFormat("%U * %U\n", text, schema));
        }
    }
    if (text) PyErr_SetObject(PyExc_TypeError, text);
    return -1;
}

int rl_bind(rl_op_call *b, const rl_schema *first, const rl_given *g) {
    const bool loud = !first->next && !first->splits;
    for (const rl_schema *s = first; s; s = s->next) {
        if (!takes(s, g)) continue;
        rl_op_call_begin(b, s);
        int rc = bind_one(b, s, g, loud);
        if (RL_LIKELY(rc == 1)) return 0;
        rl_op_call_end(b);
        if (rc < 0 || loud) return -1;
    }
    return bind_no_overload(first, g);
}
