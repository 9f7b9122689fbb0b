/* Data movement: repeat, concatenate, pad, flip, roll and permute. */
#include "compose.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <stdlib.h>
#include <string.h>

#define ANY_LENGTH INT64_MIN
/* The sum of the counts (held, or NULL: `times` for each), which are `expected` unless that is ANY_LENGTH;
 * -1: raised */
static int64_t interleaved_total(const rl_view *v, int64_t times, int64_t n, int64_t expected) {
    RL_RAW;
    const int64_t *counts = v ? rl_host_data(v) : NULL;
    if (v && !counts) return -1;
    int64_t total = 0, least = counts || times < 0 ? 0 : times;
    bool huge = !counts && __builtin_mul_overflow(n, least, &total);
    if (!counts && times < 0 && n) least = times;
    for (int64_t i = 0; counts && i < n; i++) {
        if (counts[i] < least) least = counts[i];
        huge |= __builtin_add_overflow(total, counts[i] < 0 ? 0 : counts[i], &total);
    }
    if (least < 0 || huge)
        PyErr_SetString(PyExc_RuntimeError, least >= 0 ? "numel: integer multiplication overflow"
                                            : counts   ? "repeats can not be negative"
                                                       : "Repeats must be non-negative");
    else if (expected < 0 && expected != ANY_LENGTH)
        PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld: [%lld]",
                     (long long)expected, (long long)expected);
    else if (expected >= 0 && expected != total)
        PyErr_SetString(PyExc_RuntimeError, "allocated size does not match required size");
    else
        return total;
    return -1;
}

static void interleaved_fill(const rl_view *v, int64_t times, int64_t n, const rl_view *index) {
    RL_RAW;
    const int64_t *counts = v ? rl_host_data(v) : NULL;
    int64_t *to = rl_data(index, RL_FRESH), *end = to + index->numel;
    for (int64_t i = 0; to < end && i < n; i++)
        for (int64_t j = counts ? counts[i] : times; j > 0 && to < end; j--) *to++ = i;
    while (to < end) *to++ = 0; /* the counts were written in between */
}

/* index i, counts[i] times (each `times` when counts is NULL), for i below n */
static PyObject *interleaved(const rl_view *counts, int64_t times, int64_t n, int64_t expected) {
    int64_t total = interleaved_total(counts, times, n, expected);
    rl_tensor *index = total < 0 ? NULL : rl_tensor_new(RL_I64, RL_CPU, 0, &total, 1);
    if (index) interleaved_fill(counts, times, n, &index->v);
    return (PyObject *)index;
}

/* the repeats as int64 without gaps */
static PyObject *counts_of(PyObject *repeats) {
    const rl_view *v = view_of(repeats);
    if (v->device == RL_META) {
        PyErr_SetString(PyExc_RuntimeError, "cannot repeat_interleave a meta tensor without output_size");
        return NULL;
    }
    if (v->ndim > 1) {
        PyErr_SetString(PyExc_RuntimeError, "repeats must be 0-dim or 1-dim tensor");
        return NULL;
    }
    if (v->dtype != RL_I64 && v->dtype != RL_I32) {
        PyErr_SetString(PyExc_RuntimeError, "repeats has to be Long or Int tensor");
        return NULL;
    }
    rl_tensor *counts = rl_tensor_new(RL_I64, RL_CPU, 0, v->shape, v->ndim);
    if (counts && rl_tensor_copy(counts, (rl_tensor *)repeats) < 0) Py_CLEAR(counts);
    return (PyObject *)counts;
}

/* x and its dimension: flat and 0 when dim is None */
static PyObject *slices_of(rl_op_call *b, int64_t *dim) {
    PyObject *x = tensor_of(b, 0);
    *dim = 0;
    if (b->k.arg[2].tag == RL_NONE) return rl_composite_flat(x);
    *dim = b->k.arg[2].u.i;
    if (rl_dim_wrap(dim, view_of(x)->ndim) != RL_OK) return rl_raise("repeat_interleave");
    return Py_NewRef(x);
}

static int64_t expected_of(rl_op_call *b, int arg) {
    return b->k.arg[arg].tag == RL_INT ? b->k.arg[arg].u.i : ANY_LENGTH;
}

static PyObject *index_unseen(int64_t n) {
    return (PyObject *)rl_tensor_new(RL_I64, RL_META, 0, &n, 1);
}

static int64_t slice_count(PyObject *x, int64_t dim) {
    return view_of(x)->ndim ? rl_size_at(view_of(x), dim) : 1;
}

static int64_t first_count(const rl_view *v) {
    RL_RAW;
    const int64_t *count = rl_host_data(v);
    return count ? *count : -1;
}

/* Does repeat() take x with a dim more? */
static bool can_repeat(const rl_view *v) {
    return v->ndim > 0 && v->ndim < RL_MAX_DIMS && !rl_is_converted(v->dtype);
}

/* x with each slice along dim `times` in a row, total of them: a dim behind it is repeated, and both are one
 */
static PyObject *repeated(PyObject *x, int64_t dim, int64_t times, int64_t total) {
    const int ndim = view_of(x)->ndim;
    int64_t often[RL_MAX_DIMS], shape[RL_MAX_DIMS];
    for (int d = 0; d <= ndim; d++) often[d] = d == dim + 1 ? times : 1;
    for (int d = 0; d < ndim; d++) shape[d] = d == dim ? total : view_of(x)->shape[d];
    rl_value args[2] = {rl_value_of(x), INT(dim + 1)};
    RL_OWNED PyObject *split = rl_op_run(RL_OP_unsqueeze, args, 2);
    if (!split) return NULL;
    args[0] = rl_value_of(split), args[1] = INTS(often, ndim + 1);
    RL_OWNED PyObject *all = rl_op_run(RL_OP_repeat, args, 2);
    if (!all) return NULL;
    args[0] = rl_value_of(all), args[1] = INTS(shape, ndim);
    return rl_op_run(RL_OP_view, args, 2);
}

COMPOSED_AS_IT_IS(repeat_interleave) {
    int64_t dim;
    RL_OWNED PyObject *x = slices_of(b, &dim);
    const rl_value *size = &b->k.arg[3];
    int64_t total;
    if (x && size->tag == RL_INT && !__builtin_mul_overflow(b->k.arg[1].u.i, slice_count(x, dim), &total) &&
        total >= 0 && total != size->u.i) {
        PyErr_Format(PyExc_RuntimeError, "repeat_interleave: Invalid output_size, expected %lld but got %lld",
                     (long long)total, (long long)size->u.i);
        return NULL;
    }
    const int64_t times = b->k.arg[1].u.i;
    total = x ? interleaved_total(NULL, times, slice_count(x, dim), ANY_LENGTH) : -1;
    if (total < 0) return NULL;
    if (can_repeat(view_of(x))) return repeated(x, dim, times, total);
    RL_OWNED PyObject *index = interleaved(NULL, times, slice_count(x, dim), ANY_LENGTH);
    return index ? rl_composite_pick(x, dim, index) : NULL;
}

COMPOSED_AS_IT_IS(repeat_interleave_tensor) {
    int64_t dim;
    RL_OWNED PyObject *x = slices_of(b, &dim);
    if (x && rl_tensor_arg(&b->k, 1)->device == RL_META && expected_of(b, 3) >= 0) {
        RL_OWNED PyObject *unseen = index_unseen(expected_of(b, 3));
        return unseen ? rl_composite_pick(x, dim, unseen) : NULL;
    }
    RL_OWNED PyObject *counts = x ? counts_of(tensor_of(b, 1)) : NULL;
    RL_HELD v = {.storage = NULL};
    if (!counts || rl_composite_dense(&v, counts, RL_I64) < 0) return NULL;
    int64_t n = slice_count(x, dim);
    bool one = v.numel == 1;
    if (!one && v.numel != n) {
        PyErr_Format(PyExc_RuntimeError,
                     "repeats must have the same size as input along dim, but got repeats.size(0) = %lld and "
                     "input.size(%lld) = %lld",
                     (long long)v.numel, (long long)dim, (long long)n);
        return NULL;
    }
    RL_OWNED PyObject *index = interleaved(one ? NULL : &v, one ? first_count(&v) : 0, n, expected_of(b, 3));
    return index ? rl_composite_pick(x, dim, index) : NULL;
}

COMPOSED_AS_IT_IS(repeat_interleave_index) {
    if (rl_tensor_arg(&b->k, 0)->device == RL_META && expected_of(b, 1) >= 0)
        return index_unseen(expected_of(b, 1));
    RL_OWNED PyObject *counts = counts_of(tensor_of(b, 0));
    RL_HELD v = {.storage = NULL};
    if (!counts || rl_composite_dense(&v, counts, RL_I64) < 0) return NULL;
    return interleaved(&v, 0, v.numel, expected_of(b, 1));
}

COMPOSED(stack) {
    const V list = X(0);
    int64_t dim = X(1).u.i;
    char want[RL_DIMS_TEXT], have[RL_DIMS_TEXT];
    if (list.n == 0) return RAISE(PyExc_RuntimeError, "stack expects a non-empty TensorList");
    const rl_view *first = list.u.ts[0];
    if (rl_dim_wrap(&dim, first->ndim + 1) != RL_OK) {
        FAILED = true;
        rl_raise("stack");
        return NONE;
    }
    for (int i = 1; i < list.n; i++) {
        const rl_view *v = list.u.ts[i];
        if (v->ndim == first->ndim && memcmp(v->shape, first->shape, v->ndim * sizeof *v->shape) == 0)
            continue;
        return RAISE(PyExc_RuntimeError,
                     "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d",
                     rl_dims_text(want, first->shape, first->ndim), rl_dims_text(have, v->shape, v->ndim), i);
    }
    rl_view **room = rl_values_room(g, list.n, sizeof *room);
    for (int i = 0; i < list.n && !FAILED; i++) room[i] = OP(unsqueeze, NTH(list, i), INT(dim)).u.t;
    return FAILED ? NONE : OP(cat, TENSORS(room, list.n), INT(dim));
}

/* ---- tensors joined after they got the dimensions that it takes ---- */
/* x with at least n dimensions: (), (n), (1, n), (1, n, 1) and (m, n, 1) */
static V at_least(rl_values *g, V x, int64_t n) {
    if (FAILED || NDIM(x) >= n) return x;
    if (NDIM(x) == 0) return at_least(g, OP(reshape, x, INT(1)), n);
    return at_least(g, OP(unsqueeze, x, INT(NDIM(x) == 1 ? 0 : -1)), n);
}

COMPOSED(atleast_1d) {
    return at_least(g, X(0), 1);
}
COMPOSED(atleast_2d) {
    return at_least(g, X(0), 2);
}
COMPOSED(atleast_3d) {
    return at_least(g, X(0), 3);
}
COMPOSED(atleast_1d_each) {
    return EACH(X(0), at_least, 1);
}
COMPOSED(atleast_2d_each) {
    return EACH(X(0), at_least, 2);
}
COMPOSED(atleast_3d_each) {
    return EACH(X(0), at_least, 3);
}

static V joined(rl_values *g, rl_op_call *b, rl_each make, int64_t number, int64_t dim) {
    if (X(0).n == 0)
        return RAISE(PyExc_RuntimeError, "%s expects a non-empty TensorList", b->schema->op->name);
    V list = EACH(X(0), make, number);
    if (FAILED) return NONE;
    return OP(cat, list, INT(dim < 0 ? NDIM(NTH(list, 0)) > 1 : dim));
}

COMPOSED(hstack) { /* vectors end to end, all else along dimension 1 */
    return joined(g, b, at_least, 1, -1);
}
COMPOSED(vstack) {
    return joined(g, b, at_least, 2, 0);
}
COMPOSED(dstack) {
    return joined(g, b, at_least, 3, 2);
}

static V as_column(rl_values *g, V x, int64_t number) {
    (void)number;
    if (NDIM(x) > 1) return x;
    int64_t shape[2] = {NUMEL(x), 1};
    return OP(reshape, x, INTS(shape, 2));
}
COMPOSED(column_stack) {
    return joined(g, b, as_column, 0, 1);
}

static V flattened(rl_values *g, V x, int64_t number) {
    (void)number;
    return OP(reshape, x, INT(-1));
}
COMPOSED(flatten_dense_tensors) {
    V list = EACH(X(0), flattened, 0);
    return FAILED ? NONE : OP(cat, list, INT(0));
}

COMPOSED(unflatten_dense_tensors) {
    const V like = X(1);
    int64_t at = 0, shape[RL_MAX_DIMS];
    rl_view **room = rl_values_room(g, like.n, sizeof *room);
    for (int i = 0; room && i < like.n; i++) {
        const V x = NTH(like, i);
        V part = OP(narrow, X(0), INT(0), INT(at), INT(NUMEL(x)));
        part = OP(view, part, SHAPE(x, shape));
        if (FAILED) return NONE;
        room[i] = part.u.t, at += NUMEL(x);
    }
    return room ? TENSORS(room, like.n) : NONE;
}

/* ---- PyTorch's other names of padding ---- */
COMPOSED(constant_pad_nd) {
    if (X(1).n % 2)
        return RAISE(PyExc_RuntimeError, "Length of pad must be even but instead it equals %d", X(1).n);
    return OP(pad, X(0), X(1), STRING("constant"), NUM(rl_number(X(2))));
}

/* padding of the last `spatial` dims, one number for all sides or two for each dim */
static V padded(rl_values *g, rl_op_call *b, int spatial, const char *mode) {
    const V x = X(0);
    int64_t sides[6];
    char sizes[RL_DIMS_TEXT];
    for (int i = 0; i < 2 * spatial && X(1).tag == RL_INT; i++) sides[i] = X(1).u.i;
    const V padding = X(1).tag == RL_INT ? INTS(sides, 2 * spatial) : X(1);
    if (padding.n != 2 * spatial && mode[2] == 'f')
        return RAISE(PyExc_RuntimeError, "padding size is expected to be %d, but got: %d", 2 * spatial,
                     padding.n);
    if (padding.n != 2 * spatial)
        return RAISE(PyExc_RuntimeError, "padding size is expected to be %d", 2 * spatial);
    if (NDIM(x) != spatial + 1 && NDIM(x) != spatial + 2)
        return RAISE(PyExc_RuntimeError,
                     "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other "
                     "non-zero dimensions for input, but got: %s",
                     spatial + 1, spatial + 2, rl_dims_text(sizes, rl_value_tensor(x)->shape, NDIM(x)));
    return OP(pad, x, padding, STRING(mode));
}

#define PADDED(spatial)                                                                                      \
    COMPOSED(reflection_pad##spatial##d) {                                                                   \
        return padded(g, b, spatial, "reflect");                                                             \
    }                                                                                                        \
    COMPOSED(replication_pad##spatial##d) {                                                                  \
        return padded(g, b, spatial, "replicate");                                                           \
    }
PADDED(1)
PADDED(2)
PADDED(3)

COMPOSED(_pad_circular) {
    const int n = X(1).n, rest = NDIM(X(0)) - n / 2;
    if (n % 2 || (rest != 1 && rest != 2)) {
        const int most = 2 * (NDIM(X(0)) - 1);
        return RAISE(
            PyExc_RuntimeError,
            "Invalid padding size, expected 1 or 2 non-padded dimensions, which would be equivalent to "
            "padding of length %d or %d respectively but got %d",
            most, most - 2, n);
    }
    return OP(pad, X(0), X(1), STRING("circular"));
}

COMPOSED(_pad_enum) {
    static const char *const modes[] = {"reflect", "replicate", "circular", "constant"};
    const int64_t mode = X(2).u.i;
    if (X(1).n % 2) return RAISE(PyExc_RuntimeError, "Padding length must be divisible by 2");
    if (mode < 0 || mode > 3)
        return RAISE(PyExc_NotImplementedError,
                     "Padding size %d is not supported for %dD input tensor.\n"
                     "Supported combinations for non-constant padding:\n"
                     "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
                     "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
                     "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
                     X(1).n, NDIM(X(0)));
    return OP(pad, X(0), X(1), STRING(modes[mode]), X(3));
}

COMPOSED(pad_sequence) { /* (sequences, batch_first, padding_value, padding_side) */
    const V list = X(0);
    const bool batch_first = X(1).u.i, left = strcmp(X(3).u.s, "left") == 0;
    int64_t shape[RL_MAX_DIMS + 1], longest = 0;
    if (list.n == 0) return RAISE(PyExc_RuntimeError, "received an empty list of sequences");
    if (!left && strcmp(X(3).u.s, "right") != 0)
        return RAISE(PyExc_RuntimeError, "Expected padding_side to be one of left or right, but got %s.",
                     X(3).u.s);
    if (NDIM(NTH(list, 0)) == 0) return RAISE(PyExc_RuntimeError, "ArrayRef: invalid slice, N = 1; size = 0");
    for (int i = 0; i < list.n; i++)
        if (SIZE(NTH(list, i), 0) > longest) longest = SIZE(NTH(list, i), 0);
    SHAPE(NTH(list, 0), shape + 1);
    shape[!batch_first] = list.n, shape[batch_first] = longest;
    const rl_view *first = list.u.ts[0];
    const V out =
        OP(full, INTS(shape, first->ndim + 1), X(2), DTYPE(first->dtype), NONE, DEVICE_OF(NTH(list, 0)));
    for (int i = 0; i < list.n && !FAILED; i++) {
        const V each = NTH(list, i), length = INT(SIZE(each, 0));
        V place = OP(select, out, INT(!batch_first), INT(i));
        place = OP(narrow, place, INT(0), INT(left ? longest - SIZE(each, 0) : 0), length);
        IN_PLACE(copy_, place, each);
    }
    return out;
}

/* ---- matrices mirrored and turned ---- */
static V mirrored(rl_values *g, V x, int64_t dim) {
    return OP(flip, x, INT(dim));
}

COMPOSED(fliplr) {
    if (NDIM(X(0)) < 2) return RAISE(PyExc_RuntimeError, "Input must be >= 2-d.");
    return mirrored(g, X(0), 1);
}

COMPOSED(flipud) {
    if (NDIM(X(0)) < 1) return RAISE(PyExc_RuntimeError, "Input must be >= 1-d.");
    return mirrored(g, X(0), 0);
}

COMPOSED(rot90) {
    const int ndim = NDIM(X(0));
    int64_t dims[2] = {0, 0}, k = (X(1).u.i % 4 + 4) % 4;
    if (X(2).tag != RL_INTS || X(2).n != 2)
        return RAISE(PyExc_RuntimeError, "expected total rotation dims == 2, but got dims = %d",
                     X(2).tag == RL_INTS ? X(2).n : 1);
    if (ndim < 2) return RAISE(PyExc_RuntimeError, "expected total dims >= 2, but got total dims = %d", ndim);
    rl_value_list(X(2), dims, 2);
    if (dims[0] == dims[1] || llabs(dims[0] - dims[1]) == ndim)
        return RAISE(PyExc_RuntimeError,
                     "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld",
                     (long long)dims[0], (long long)dims[1]);
    if (k % 2) return OP(transpose, mirrored(g, X(0), dims[k == 1]), INT(dims[0]), INT(dims[1]));
    if (k == 2) return OP(flip, X(0), INTS(dims, 2));
    return OP(clone, X(0), INT(RL_FORMAT_CONTIGUOUS));
}
