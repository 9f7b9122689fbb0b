/* Shape rules of factories and fills. */
#include "shape.h"

/* the last argument is the memory format */
RL_SHAPE(empty) {
    const rl_value *format = &k->arg[k->n_arg - 1];
    int64_t wanted = format->tag == RL_INT ? format->u.i : RL_FORMAT_CONTIGUOUS;
    if (wanted == RL_FORMAT_PRESERVE) return rl_error_set(RL_RUNTIME, "unsupported memory format Preserve");
    return rl_size_out(k, 0) == RL_OK ? rl_take_format(k->out[0], wanted) : RL_FAIL;
}

RL_SHAPE(zeros) {
    for (int i = 0; i < k->arg[0].n; i++)
        if (k->arg[0].tag == RL_INTS && k->arg[0].u.ints[i] < 0)
            return rl_error_set(RL_RUNTIME, "zeros: Dimension size must be non-negative.");
    return rl_size_out(k, 0);
}

static rl_status integer_number(const rl_value *s, int64_t *i) {
    if (s->tag == RL_FLOAT && !(s->u.d >= -0x1p63 && s->u.d < 0x1p63))
        return rl_error_set(RL_RUNTIME, "value cannot be converted to type int64_t without overflow");
    *i = s->tag == RL_FLOAT ? (int64_t)s->u.d : s->u.i;
    return RL_OK;
}

/* int64 counts in whole numbers, which a double would round */
static rl_status arange_integer(rl_call *k, const rl_value *const *given) {
    int64_t bound[3], size;
    for (int i = 0; i < 3; i++)
        if (integer_number(given[i], &bound[i]) != RL_OK) return RL_FAIL;
    if (bound[2] == 0) return rl_error_set(RL_VALUE, "step must be nonzero");
    __int128 span = (__int128)bound[1] - bound[0], step = bound[2], n = span / step + (span % step != 0);
    if (span && (span < 0) != (step < 0)) n = -1; /* too near to each other for doubles to tell */
    if (n < 0 || n > INT64_MAX) return rl_error_set(RL_RUNTIME, "invalid size, possible overflow?");
    size = (int64_t)n;
    return rl_out_dims(k, 0, &size, 1);
}

RL_SHAPE(arange) { /* attr[0]: where start stands, -1 for 0; attr[1]: step */
    bool bounds = k->arg[1].tag == RL_INT || k->arg[1].tag == RL_FLOAT || k->arg[1].tag == RL_BOOLEAN;
    static const rl_value nothing = {.tag = RL_INT, .u.i = 0}, one = {.tag = RL_INT, .u.i = 1};
    const rl_value *given[3] = {bounds ? &k->arg[0] : &nothing, &k->arg[bounds], bounds ? &k->arg[2] : &one};
    double number[3];
    k->attr[0] = bounds ? 0 : -1;
    k->attr[1] = bounds ? 2 : -1;
    for (int i = 0; i < 3; i++) number[i] = given[i]->tag == RL_FLOAT ? given[i]->u.d : (double)given[i]->u.i;
    double start = number[0], end = number[1], step = number[2], n = (end - start) / step;
    if (!(step > 0 || step < 0)) return rl_error_set(RL_RUNTIME, "step must be nonzero");
    if (!(start - start == 0 && end - end == 0))
        return rl_error_set(RL_RUNTIME, "unsupported range: %g -> %g", start, end);
    if ((step > 0 && end < start) || (step < 0 && end > start))
        return rl_error_set(RL_RUNTIME, "upper bound and lower bound inconsistent with step sign");
    if (k->out[0]->dtype == RL_I64) return arange_integer(k, given);
    for (int i = 0; i < 3 && !rl_is_float(k->out[0]->dtype); i++)
        if (given[i]->tag == RL_FLOAT && integer_number(given[i], &(int64_t){0}) != RL_OK) return RL_FAIL;
    if (!(n < 0x1p63)) return rl_error_set(RL_RUNTIME, "invalid size, possible overflow?");
    int64_t size = (int64_t)n;
    if ((double)size < n) size++;
    return rl_out_dims(k, 0, &size, 1);
}

RL_SHAPE(linspace) {
    if (k->arg[2].u.i < 0) return rl_error_set(RL_RUNTIME, "number of steps must be non-negative");
    return rl_size_out(k, 2);
}

RL_SHAPE(range) {
    double start = rl_num(k, 0), end = rl_num(k, 1), step = rl_num(k, 2), n = (end - start) / step;
    if (!(step > 0 || step < 0)) return rl_error_set(RL_RUNTIME, "step must be nonzero");
    if (!(start - start == 0 && end - end == 0))
        return rl_error_set(RL_RUNTIME, "unsupported range: %g -> %g", start, end);
    if ((step > 0 && end < start) || (step < 0 && end > start))
        return rl_error_set(RL_RUNTIME, "upper bound and lower bound inconsistent with step sign");
    if (!(n < 0x1p62)) return rl_error_set(RL_RUNTIME, "invalid size, possible overflow?");
    int64_t size = (int64_t)n + 1;
    return rl_out_dims(k, 0, &size, 1);
}

/* How many columns of a row lie below the diagonal, which belongs to them. */
static int64_t columns_below(int64_t row, int64_t columns, int64_t offset) {
    int64_t n;
    if (__builtin_add_overflow(row, offset, &n) || n >= columns) return offset < 0 && n < 0 ? 0 : columns;
    return n < 0 ? 0 : n + 1;
}

/* Rows whose count of columns grows by one each stand between those that have none and those that have all.
 */
static __int128 elements_below(int64_t rows, int64_t columns, int64_t offset) {
    int64_t first = columns_below(0, columns, offset), last = columns_below(rows - 1, columns, offset);
    int64_t none = first || offset >= 0 ? 0 : offset == INT64_MIN || -offset > rows ? rows : -offset;
    __int128 growing = last > first ? last - first : 0, whole = (__int128)rows - none - growing;
    if (!first && growing) growing--, first = 1, whole = (__int128)rows - none - growing;
    __int128 n = growing * first + growing * (growing - 1) / 2;
    return n + whole * last;
}

static rl_status triangle_indices(rl_call *k, bool above) {
    const int64_t rows = k->arg[0].u.i, columns = k->arg[1].u.i, offset = k->arg[2].u.i;
    if (rows < 0) return rl_error_set(RL_RUNTIME, "row must be non-negative, got%lld", (long long)rows);
    if (columns < 0) return rl_error_set(RL_RUNTIME, "col must be non-negative, got%lld", (long long)columns);
    __int128 n = rows && columns ? elements_below(rows, columns, offset - (above && offset > INT64_MIN)) : 0;
    if (above) n = (__int128)rows * columns - (offset > INT64_MIN ? n : 0);
    if (n > INT64_MAX / 16) return rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow");
    int64_t shape[2] = {2, (int64_t)n};
    return rl_out_dims(k, 0, shape, 2);
}
RL_SHAPE(tril_indices) {
    return triangle_indices(k, false);
}
RL_SHAPE(triu_indices) {
    return triangle_indices(k, true);
}

RL_SHAPE(eye) {
    int64_t shape[2] = {k->arg[0].u.i, k->arg[1].tag == RL_NONE ? k->arg[0].u.i : k->arg[1].u.i};
    if (shape[0] < 0)
        return rl_error_set(RL_RUNTIME, "n must be greater or equal to 0, got %lld", (long long)shape[0]);
    if (shape[1] < 0)
        return rl_error_set(RL_RUNTIME, "m must be greater or equal to 0, got %lld", (long long)shape[1]);
    return rl_out_dims(k, 0, shape, 2);
}

/* ---- copies ---- */
RL_SHAPE(fill) {
    const rl_view *value = rl_in(k, 1);
    if (value && value->ndim)
        return rl_error_set(RL_RUNTIME,
                            "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
                            value->ndim);
    return shape_same(k);
}

/* Packed numbers and bits mean nothing to another dtype. */
static rl_status converts(int to, int from) {
    uint64_t fixed = RL_SET_CONVERTED & ~RL_SET_CONVERTIBLE;
    if (to == from || !((RL_BIT(to) | RL_BIT(from)) & fixed)) return RL_OK;
    return rl_error_set(RL_NOTIMPL, "\"copy_\" not implemented for '%s'",
                        rl_dtype_title(fixed >> to & 1 ? to : from));
}

RL_SHAPE(to_copy) {
    if (converts(k->out[0]->dtype, rl_tensor_arg(k, 0)->dtype) != RL_OK) return RL_FAIL;
    return shape_like(k);
}

RL_SHAPE(copy) {
    if (converts(rl_tensor_arg(k, 0)->dtype, rl_tensor_arg(k, 1)->dtype) != RL_OK) return RL_FAIL;
    return rl_stretches(k, k->arg[1].u.t, "output");
}
