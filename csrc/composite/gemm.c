/* Products of two tensors that sum over some of their dimensions. */
#include "compose.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

#define FAULT(...) RAISE(PyExc_RuntimeError, __VA_ARGS__)

/* ---- products of two tensors, summed over dimensions ----
 * einsum() two by two, tensordot(), inner(). */
/* ---- dimensions by what they are ---- */
typedef struct {
    int64_t dim[RL_MAX_DIMS];
    int n;
} dims;
typedef struct {
    dims both, left, sum, right; /* of the result: from both, from one only; summed */
} roles;

static void put(dims *to, int64_t dim) {
    to->dim[to->n++] = dim;
}
static void append(dims *to, const dims *from) {
    memcpy(to->dim + to->n, from->dim, (size_t)from->n * sizeof *from->dim);
    to->n += from->n;
}
static bool has(const int64_t *list, int n, int64_t dim) {
    for (int i = 0; i < n; i++)
        if (list[i] == dim) return true;
    return false;
}

static roles roles_of(V left, V right, const int64_t *sums, int n_sums) {
    roles r;
    r.both.n = r.left.n = r.sum.n = r.right.n = 0;
    for (int64_t d = 0; d < NDIM(left); d++)
        put(has(sums, n_sums, d)  ? &r.sum
            : SIZE(left, d) == 1  ? &r.right
            : SIZE(right, d) == 1 ? &r.left
                                  : &r.both,
            d);
    return r;
}

/* a tensor with its dimensions in the order first, second, third, and those of size 1 */
static V turned(rl_values *g, V x, const dims *both, const dims *second, const dims *third, const dims *ones,
                int64_t *shape, int lead) {
    dims order = {.n = 0};
    append(&order, both);
    append(&order, second);
    append(&order, third);
    append(&order, ones);
    const dims *groups[] = {second, third};
    int n = 0;
    if (lead == 1) shape[n++] = 1;
    for (int i = 0; i < both->n; i++) {
        if (lead == 1)
            shape[0] *= SIZE(x, both->dim[i]);
        else
            shape[n++] = SIZE(x, both->dim[i]);
    }
    for (int i = 0; i < 2; i++) {
        shape[n] = 1;
        for (int j = 0; j < groups[i]->n; j++) shape[n] *= SIZE(x, groups[i]->dim[j]);
        n++;
    }
    return OP(reshape, OP(permute, x, INTS(order.dim, order.n)), INTS(shape, n));
}

/* Of two tensors with the same number of dimensions: the product summed over dims, which keep size 1. Other
 * dimensions are equal or 1 in one of them. */
static V product_pair(rl_values *g, V left, V right, const int64_t *sums, int n_sums) {
    if (n_sums == 0) return OP(mul, left, right);
    roles r = roles_of(left, right, sums, n_sums);
    if (r.left.n && r.right.n && r.right.dim[r.right.n - 1] < r.left.dim[0]) {
        /* the right one's dimensions come first: so does the tensor, and nothing is turned at the end */
        V other = left;
        dims others = r.left;
        left = right, right = other;
        r.left = r.right, r.right = others;
    }
    /* Each matrix of a batch lies where it lies: one dimension for each role needs no flattening, which may
     * have to copy. */
    const bool single = r.both.n > 1 && r.left.n <= 1 && r.sum.n == 1 && r.right.n <= 1 &&
                        rl_value_tensor(left)->dtype == rl_value_tensor(right)->dtype;
    const int lead = single ? r.both.n : 1;
    int64_t shape[RL_MAX_DIMS + 2], place[RL_MAX_DIMS];
    V a = turned(g, left, &r.both, &r.left, &r.sum, &r.right, shape, lead);
    V b = turned(g, right, &r.both, &r.sum, &r.right, &r.left, shape, lead);
    V made = single ? OP(matmul, a, b) : OP(bmm, a, b);
    dims order = {.n = 0};
    append(&order, &r.both);
    append(&order, &r.left);
    append(&order, &r.sum);
    append(&order, &r.right);
    if (FAILED) return NONE;
    for (int i = 0; i < order.n; i++) {
        const int64_t d = order.dim[i], n = SIZE(left, d);
        shape[i] = has(sums, n_sums, d) ? 1 : n == 1 ? SIZE(right, d) : n;
        place[d] = i;
    }
    return OP(permute, OP(view, made, INTS(shape, order.n)), INTS(place, order.n));
}

/* ---- dimensions that the caller names ---- */
static int64_t wrapped(rl_values *g, V x, int64_t dim) {
    if (!FAILED && rl_dim_wrap(&dim, NDIM(x)) != RL_OK) {
        FAILED = true;
        rl_raise(NULL);
    }
    return dim;
}

static void each_once(rl_values *g, const int64_t *list, int n) {
    for (int i = 0; i < n && !FAILED; i++)
        if (has(list, i, list[i]))
            FAULT("dim %lld appears multiple times in the list of dims", (long long)list[i]);
}

/* x with the dimensions `sums` last or first, as a matrix; what stays goes to `kept` */
static V as_matrix(rl_values *g, V x, const int64_t *sums, int n_sums, bool last, dims *kept) {
    int64_t order[RL_MAX_DIMS], shape[2] = {1, 1};
    int n = 0;
    for (int i = 0; i < n_sums; i++) shape[last] *= SIZE(x, sums[i]);
    for (int i = 0; !last && i < n_sums; i++) order[n++] = sums[i];
    for (int d = 0; d < NDIM(x); d++) {
        if (has(sums, n_sums, d)) continue;
        order[n++] = d;
        shape[!last] *= SIZE(x, d);
        put(kept, SIZE(x, d));
    }
    for (int i = 0; last && i < n_sums; i++) order[n++] = sums[i];
    return OP(reshape, OP(permute, x, INTS(order, n)), INTS(shape, 2));
}

static V flat(rl_values *g, V x) {
    return OP(reshape, x, INTS(&(int64_t){-1}, 1));
}

/* where the other tensor has size 1, the sum comes first */
static V early_sums(rl_values *g, V x, const int64_t *dim, V other, const int64_t *other_dim, int n,
                    bool first) {
    for (int i = 0; i < n; i++)
        if (SIZE(other, other_dim[i]) == 1 && (first || SIZE(x, dim[i]) != 1))
            x = OP(sum, x, INT(dim[i]), BOOLEAN(true), DTYPE(rl_value_tensor(x)->dtype));
    return x;
}

static V tensordot(rl_values *g, V left, V right, V left_dims, V right_dims) {
    int64_t sums[2][RL_MAX_DIMS];
    dims kept = {.n = 0};
    const int n = left_dims.n;
    if (n != right_dims.n) return FAULT("both dimension lists should have same length");
    if (rl_value_tensor(left)->dtype != rl_value_tensor(right)->dtype)
        return FAULT("both inputs should have same dtype");
    for (int i = 0; i < n; i++) {
        sums[0][i] = wrapped(g, left, left_dims.u.ints[i]);
        sums[1][i] = wrapped(g, right, right_dims.u.ints[i]);
        if (FAILED) return NONE;
        const int64_t a = SIZE(left, sums[0][i]), b = SIZE(right, sums[1][i]);
        if (a != b && a != 1 && b != 1)
            return FAULT(
                "contracted dimensions need to match, but first has size %lld in dim %lld and second has "
                "size %lld in dim %lld",
                (long long)a, (long long)left_dims.u.ints[i], (long long)b, (long long)right_dims.u.ints[i]);
    }
    each_once(g, sums[0], n);
    each_once(g, sums[1], n);
    if (FAILED) return NONE;
    if (NDIM(left) + NDIM(right) - 2 * n > RL_MAX_DIMS)
        return FAULT("tensordot: tensors have at most %d dimensions", RL_MAX_DIMS);
    V a = early_sums(g, left, sums[0], right, sums[1], n, true);
    V c = early_sums(g, right, sums[1], left, sums[0], n, false);
    a = as_matrix(g, a, sums[0], n, true, &kept);
    c = as_matrix(g, c, sums[1], n, false, &kept);
    if (FAILED) return NONE;
    V made = SIZE(a, 0) == 1 && SIZE(c, 1) == 1 ? OP(dot, flat(g, a), flat(g, c)) : OP(mm, a, c);
    return OP(view, made, INTS(kept.dim, kept.n));
}

COMPOSED(tensordot) {
    V first = X(2).tag == RL_INT ? INTS(&X(2).u.i, 1) : X(2);
    V second = X(3).tag == RL_INT ? INTS(&X(3).u.i, 1) : X(3);
    return tensordot(g, X(0), X(1), first, second);
}

COMPOSED(inner) {
    V a = X(0), c = X(1), last = INTS(&(int64_t){-1}, 1);
    char ta[RL_DIMS_TEXT], tc[RL_DIMS_TEXT];
    if (!NDIM(a) || !NDIM(c)) return OP(mul, a, c);
    if (SIZE(a, -1) != SIZE(c, -1))
        return FAULT("inner() the last dimension must match on both input tensors but got shapes %s and %s",
                     rl_dims_text(ta, rl_value_tensor(a)->shape, rl_value_tensor(a)->ndim),
                     rl_dims_text(tc, rl_value_tensor(c)->shape, rl_value_tensor(c)->ndim));
    return tensordot(g, a, c, last, last);
}

/* ---- products of vectors and of blocks ---- */
static V outer(rl_values *g, rl_op_call *b) {
    for (int i = 0; i < 2; i++)
        if (NDIM(X(i)) != 1)
            return FAULT("outer: Expected 1-D argument %s, but got %d-D", i ? "vec2" : "self", NDIM(X(i)));
    return OP(mul, OP(unsqueeze, X(0), INT(1)), X(1));
}
COMPOSED(outer) {
    return outer(g, b);
}
COMPOSED(ger) {
    static bool said;
    if (!said && PyErr_WarnEx(PyExc_UserWarning,
                              "torch.ger is deprecated and will be removed in a future PyTorch release. Use "
                              "torch.outer instead.",
                              1) < 0)
        FAILED = true;
    said = true;
    return outer(g, b);
}

/* Every dimension becomes two: the blocks, which are input's, and the places in them, which are other's. */
COMPOSED(kron) {
    V pair[2] = {X(0), X(1)};
    const int n = NDIM(pair[0]) > NDIM(pair[1]) ? NDIM(pair[0]) : NDIM(pair[1]);
    int64_t split[2][2 * RL_MAX_DIMS], shape[RL_MAX_DIMS];
    if (2 * n > RL_MAX_DIMS) return FAULT("kron: tensors have at most %d dimensions", RL_MAX_DIMS / 2);
    for (int d = 0; d < n; d++) {
        shape[d] = 1;
        for (int i = 0; i < 2; i++) {
            const int64_t at = d - (n - NDIM(pair[i])), size = at < 0 ? 1 : SIZE(pair[i], at);
            split[i][2 * d + i] = size, split[i][2 * d + !i] = 1;
            if (__builtin_mul_overflow(shape[d], size, &shape[d]))
                return FAULT("kron: the result is too large");
        }
    }
    for (int i = 0; i < 2; i++) pair[i] = OP(reshape, pair[i], INTS(split[i], 2 * n));
    return OP(reshape, OP(mul, pair[0], pair[1]), INTS(shape, n));
}

/* One product: the batch becomes a part of what is summed over. */
COMPOSED(addbmm) {
    V a = X(1), c = X(2), x = X(0);
    if (NDIM(a) != 3) return FAULT("batch1 must be a 3D tensor");
    if (NDIM(c) != 3) return FAULT("batch2 must be a 3D tensor");
    int64_t depth, wide[2] = {SIZE(a, 1), SIZE(c, 2)}, left[2] = {wide[0], 0}, right[2] = {0, wide[1]};
    x = OP(expand, x, INTS(wide, 2));
    if (FAILED) return NONE;
    if (SIZE(a, 0) != SIZE(c, 0))
        return FAULT("batch1 and batch2 must have same number of batches, got %lld and %lld",
                     (long long)SIZE(a, 0), (long long)SIZE(c, 0));
    if (SIZE(a, 2) != SIZE(c, 1))
        return FAULT("Incompatible matrix sizes for bmm (%lldx%lld and %lldx%lld)", (long long)SIZE(a, 1),
                     (long long)SIZE(a, 2), (long long)SIZE(c, 1), (long long)SIZE(c, 2));
    if (__builtin_mul_overflow(SIZE(a, 0), SIZE(a, 2), &depth))
        return FAULT("addbmm: the batch is too large");
    left[1] = right[0] = depth;
    V turned = OP(permute, a, INTS(((int64_t[]){1, 0, 2}), 3));
    return OP(addmm, x, OP(reshape, turned, INTS(left, 2)), OP(reshape, c, INTS(right, 2)), X(3), X(4));
}

/* ---- products of two vectors with a matrix in between ---- */
static V misfit(rl_values *g, const char *what, int64_t got, int64_t expected) {
    return FAULT("bilinear(): %s size does not match weight size: got %lld but expected %lld", what,
                 (long long)got, (long long)expected);
}

static V checked(rl_values *g, rl_op_call *b) {
    const V one = X(0), two = X(1), weight = X(2);
    if (NDIM(one) != NDIM(two))
        return FAULT("bilinear(): input dimensions do not match: got %d and %d", NDIM(one), NDIM(two));
    for (int d = 0; d < NDIM(one) - 1; d++)
        if (SIZE(one, d) != SIZE(two, d))
            return FAULT("bilinear(): input batch dimensions do not match at dim %d: got %lld and %lld", d,
                         (long long)SIZE(one, d), (long long)SIZE(two, d));
    if (NDIM(weight) != 3) return FAULT("bilinear(): weight has to have 3 dimensions, got %d", NDIM(weight));
    if (NDIM(one) == 0) return FAULT("bilinear(): inputs have to have a dimension");
    if (SIZE(one, -1) != SIZE(weight, 1)) return misfit(g, "input1", SIZE(one, -1), SIZE(weight, 1));
    if (SIZE(two, -1) != SIZE(weight, 2)) return misfit(g, "input2", SIZE(two, -1), SIZE(weight, 2));
    if (GIVEN(3) && SIZE(X(3), 0) != SIZE(weight, 0))
        return misfit(g, "bias", SIZE(X(3), 0), SIZE(weight, 0));
    return one;
}

/* (rows, in1) @ (in1, out * in2), times input2, summed over in2 */
COMPOSED(bilinear) {
    const V x = checked(g, b), weight = X(2);
    if (FAILED) return NONE;
    const int64_t in1 = SIZE(weight, 1), in2 = SIZE(weight, 2), outs = SIZE(weight, 0);
    const int last = NDIM(x) - 1;
    int64_t shape[RL_MAX_DIMS], rows = 1, wide;
    for (int d = 0; d < last; d++) shape[d] = SIZE(x, d), rows *= shape[d]; /* fewer than its elements */
    if (__builtin_mul_overflow(outs, in2, &wide)) return FAULT("bilinear(): the weight is too large");
    shape[last] = outs;
    V turned = OP(permute, weight, INTS(((int64_t[]){1, 0, 2}), 3));
    V table = OP(reshape, turned, INTS(((int64_t[]){in1, wide}), 2));
    V left = OP(matmul, OP(reshape, x, INTS(((int64_t[]){rows, in1}), 2)), table);
    left = OP(reshape, left, INTS(((int64_t[]){rows, outs, in2}), 3));
    V right = OP(reshape, X(1), INTS(((int64_t[]){rows, 1, in2}), 3));
    V result =
        OP(reshape, OP(sum, OP(mul, left, right), INT(-1), BOOLEAN(false), DTYPE(rl_value_tensor(x)->dtype)),
           INTS(shape, last + 1));
    return GIVEN(3) ? OP(add, result, X(3)) : result;
}

/* ---- sums of products by Einstein's convention ----
 * "bij,jk->bik"    equation
 *    b  i  k │ j     places: dimensions of the result, then those that are summed
 *
 * Every operand gets all places, of size 1 where its labels have none: a permuted view. Operands are taken
 * two by two from the left; places that no other operand needs are summed by one bmm(). */
enum { LETTERS = 52, ELLIPSIS = LETTERS, N_LABELS, MAX_PLACES = LETTERS + RL_MAX_DIMS };

typedef struct {
    const uint8_t *labels;
    int n, ndim, covered; /* covered: dimensions that its ellipsis stands for */
} operand;

typedef struct {
    rl_values *g;
    operand *operands;
    int n;
    uint8_t *room;             /* of the operands' labels */
    int count[N_LABELS];       /* how often a label stands in operands */
    int place[N_LABELS];       /* -1: none yet */
    int64_t size[N_LABELS];    /* 1 until an operand says more */
    int64_t wide[RL_MAX_DIMS]; /* the same of what ellipses cover: `covered` of them, from place[ELLIPSIS] */
    int covered, n_result, n_places;
    bool result_has_ellipsis;
    int users[MAX_PLACES]; /* operands with another size than 1 at a place */
} equation;

static int label_of(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}
static char letter_of(int label) {
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

static bool dots(const char **at, const char *end) {
    if (end - *at < 3 || (*at)[1] != '.' || (*at)[2] != '.') return false;
    *at += 2;
    return true;
}

static void bad_letter(rl_values *g, int64_t index) {
    FAULT("einsum(): invalid subscript given at index %lld in the equation string, subscripts must be "
          "in [a-zA-Z]",
          (long long)index);
}

/* ---- what stands left of the arrow ---- */
static void read_operands(equation *e, const char *text, const char *end) {
    rl_values *g = e->g;
    uint8_t *to = e->room;
    bool ellipsis = false;
    int at = 0;
    e->operands[0].labels = to;
    for (const char *c = text; c < end && !FAILED; c++) {
        if (*c == ' ') continue;
        if (*c == '.') {
            if (ellipsis)
                FAULT("einsum(): found '.' for operand %d for which an ellipsis was already found", at);
            else if (!dots(&c, end))
                FAULT("einsum(): found '.' for operand %d that is not part of any ellipsis", at);
            *to++ = ELLIPSIS;
            ellipsis = true;
        } else if (*c == ',') {
            e->operands[at].n = (int)(to - e->operands[at].labels);
            if (++at == e->n) {
                FAULT("einsum(): fewer operands were provided than specified in the equation");
                return;
            }
            e->operands[at].labels = to;
            ellipsis = false;
        } else if (label_of(*c) < 0) {
            bad_letter(g, c - text);
        } else {
            *to++ = (uint8_t)label_of(*c);
        }
    }
    e->operands[at].n = (int)(to - e->operands[at].labels);
    if (!FAILED && at != e->n - 1)
        FAULT("einsum(): more operands were provided than specified in the equation");
}

/* does an operand have as many dimensions as labels? */
static void count_labels(equation *e, int i) {
    rl_values *g = e->g;
    operand *o = &e->operands[i];
    int n = o->n;
    for (int l = 0; l < o->n; l++) {
        e->count[o->labels[l]]++;
        n -= o->labels[l] == ELLIPSIS;
    }
    const bool ellipsis = n < o->n;
    if (ellipsis && n > o->ndim)
        FAULT("einsum(): the number of subscripts in the equation (%d) is more than the number of "
              "dimensions (%d) for operand %d",
              n, o->ndim, i);
    else if (!ellipsis && n != o->ndim)
        FAULT("einsum(): the number of subscripts in the equation (%d) does not match the number of "
              "dimensions (%d) for operand %d and no ellipsis was given",
              n, o->ndim, i);
    o->covered = ellipsis ? o->ndim - n : 0;
    if (o->covered > e->covered) e->covered = o->covered;
}

/* ---- places ---- */
static void place_ellipsis(equation *e) {
    e->place[ELLIPSIS] = e->n_places;
    e->n_places += e->covered;
}

/* without an arrow: what ellipses cover, then labels that stand once */
static void place_implicit(equation *e) {
    place_ellipsis(e);
    e->result_has_ellipsis = true;
    for (int l = 0; l < LETTERS; l++)
        if (e->count[l] == 1) e->place[l] = e->n_places++;
}

static void place_result(equation *e, const char *text, const char *rest) {
    rl_values *g = e->g;
    const char *end = rest + strlen(rest);
    for (const char *c = rest; c < end && !FAILED; c++) {
        const int label = label_of(*c);
        if (*c == ' ') continue;
        if (*c == '.') {
            if (e->result_has_ellipsis)
                FAULT("einsum(): found '.' for output but an ellipsis (...) was already found");
            else if (!dots(&c, end))
                FAULT("einsum(): found '.' for output that is not part of any ellipsis (...)");
            else
                place_ellipsis(e);
            e->result_has_ellipsis = true;
        } else if (label < 0) {
            bad_letter(g, c - text);
        } else if (!e->count[label] || e->place[label] >= 0) {
            FAULT("einsum(): output subscript %c %s", *c,
                  e->count[label] ? "appears more than once in the output"
                                  : "does not appear in the equation for any input operand");
        } else {
            e->place[label] = e->n_places++;
        }
    }
}

static void place_labels(equation *e, const char *text, const char *arrow) {
    rl_values *g = e->g;
    memset(e->place, -1, sizeof e->place);
    if (arrow)
        place_result(e, text, arrow + 2);
    else
        place_implicit(e);
    e->n_result = e->n_places;
    if (!e->result_has_ellipsis) place_ellipsis(e);
    for (int l = 0; l < LETTERS; l++)
        if (e->count[l] && e->place[l] < 0) e->place[l] = e->n_places++;
    if (e->n_places > RL_MAX_DIMS && !FAILED)
        FAULT("einsum(): tensors have at most %d dimensions, but the equation needs %d", RL_MAX_DIMS,
              e->n_places);
}

/* ---- an operand with all places ---- */
static void see_covered(equation *e, int i, V x, int dim, int64_t *order) {
    rl_values *g = e->g;
    const int n = e->operands[i].covered;
    for (int j = e->covered - n; j < e->covered; j++, dim++) {
        const int64_t size = SIZE(x, dim);
        const int place = e->place[ELLIPSIS] + j;
        order[place] = dim;
        if (size == 1) continue;
        if (e->wide[j] != 1 && e->wide[j] != size)
            FAULT("einsum(): dimension %d covered by ellipsis in operand %dhas size %lld which does not "
                  "broadcast with previously seen ellipsis with size %lld for the respective dimension",
                  dim, i, (long long)size, (long long)e->wide[j]);
        e->wide[j] = size;
        e->users[place]++;
    }
}

static void see_label(equation *e, int i, int label, int64_t size) {
    rl_values *g = e->g;
    if (size == 1) return;
    if (e->size[label] != 1 && e->size[label] != size)
        FAULT("einsum(): subscript %c has size %lld for operand %d which does not broadcast with "
              "previously seen size %lld",
              letter_of(label), (long long)size, i, (long long)e->size[label]);
    e->size[label] = size;
    e->users[e->place[label]]++;
}

/* dimension `dim` has the label of `first`: the diagonal of both, in the place of the first */
static V diagonal(equation *e, int i, V x, int label, int64_t first, int64_t dim) {
    rl_values *g = e->g;
    if (SIZE(x, dim) != SIZE(x, first))
        return FAULT(
            "einsum(): subscript %c is repeated for operand %d but the sizes don't match, %lld != %lld",
            letter_of(label), i, (long long)SIZE(x, dim), (long long)SIZE(x, first));
    return OP(movedim, OP(diagonal, x, INT(0), INT(first), INT(dim)), INT(-1), INT(first));
}

static bool in_order(const int64_t *order, int n) {
    for (int i = 0; i < n; i++)
        if (order[i] != i) return false;
    return true;
}

static V aligned(equation *e, int i, V x) {
    rl_values *g = e->g;
    int64_t order[MAX_PLACES];
    int dim = 0;
    memset(order, -1, sizeof order);
    for (int l = 0; l < e->operands[i].n && !FAILED; l++) {
        const int label = e->operands[i].labels[l], place = e->place[label];
        if (label == ELLIPSIS) {
            see_covered(e, i, x, dim, order);
            dim += e->operands[i].covered;
        } else if (order[place] < 0) {
            see_label(e, i, label, SIZE(x, dim));
            order[place] = dim++;
        } else {
            x = diagonal(e, i, x, label, order[place], dim);
        }
    }
    for (int p = 0; p < e->n_places; p++) {
        if (order[p] >= 0) continue;
        x = OP(unsqueeze, x, INT(dim));
        order[p] = dim++;
    }
    if (e->n > 1 && in_order(order, e->n_places)) return x;
    return OP(permute, x, INTS(order, e->n_places));
}

/* ---- two operands become one ---- */
/* sums places of size other than 1 in one of the two only, and says which are to be summed over both */
static int settle(equation *e, V pair[2], int64_t *sums) {
    rl_values *g = e->g;
    int64_t alone[2][RL_MAX_DIMS];
    int n = 0, n_alone[2] = {0, 0};
    for (int p = e->n_result; p < e->n_places; p++) {
        const bool in[2] = {SIZE(pair[0], p) != 1, SIZE(pair[1], p) != 1};
        if (in[0] && in[1]) {
            if (--e->users[p] != 1) continue;
            sums[n++] = p;
        } else if (e->users[p] == 1 && (in[0] || in[1])) {
            alone[in[1]][n_alone[in[1]]++] = p;
        } else {
            continue;
        }
        e->users[p] = 0;
    }
    for (int i = 0; i < 2; i++)
        if (n_alone[i]) pair[i] = OP(sum, pair[i], INTS(alone[i], n_alone[i]), BOOLEAN(true));
    return n;
}

/* operands first and second leave the list; what they make comes to `to` */
static void contract(equation *e, V *list, int n, int first, int second, bool to_front) {
    rl_values *g = e->g;
    int64_t sums[RL_MAX_DIMS];
    V pair[2] = {list[first], list[second]};
    const int n_sums = settle(e, pair, sums);
    V made = FAILED ? NONE : product_pair(g, pair[0], pair[1], sums, n_sums);
    memmove(list + second, list + second + 1, (size_t)(n - second - 1) * sizeof *list);
    memmove(list + first, list + first + 1, (size_t)(n - first - 2) * sizeof *list);
    if (to_front) memmove(list + 1, list, (size_t)(n - 2) * sizeof *list);
    list[to_front ? 0 : n - 2] = made;
}

static void contract_all(equation *e, V *list, const int64_t *path) {
    rl_values *g = e->g;
    for (int n = e->n; n > 1 && !FAILED; n--) {
        int64_t i = 0, j = 1;
        if (path) {
            i = path[0] < path[1] ? path[0] : path[1], j = path[0] < path[1] ? path[1] : path[0];
            path += 2;
            if (i == j || i < 0 || j >= n) {
                FAULT("einsum(): invalid contraction path (%lld, %lld) for %d operands", (long long)i,
                      (long long)j, n);
                return;
            }
        }
        contract(e, list, n, (int)i, (int)j, !path);
    }
}

/* the places that are not the result's go */
static V finished(equation *e, V x) {
    rl_values *g = e->g;
    int64_t room[RL_MAX_DIMS];
    if (FAILED || e->n_places == e->n_result) return x;
    if (e->n > 1) {
        SHAPE(x, room);
        return OP(view, x, INTS(room, e->n_result));
    }
    for (int p = e->n_result; p < e->n_places; p++) room[p - e->n_result] = p;
    return OP(sum, x, INTS(room, e->n_places - e->n_result));
}

static void understand(equation *e, const char *text) {
    const char *arrow = strstr(text, "->");
    read_operands(e, text, arrow ? arrow : text + strlen(text));
    for (int i = 0; i < e->n && !e->g->failed; i++) count_labels(e, i);
    if (!e->g->failed) place_labels(e, text, arrow);
    for (int i = 0; i < N_LABELS; i++) e->size[i] = 1;
    for (int i = 0; i < e->covered; i++) e->wide[i] = 1;
}

COMPOSED(einsum) {
    const char *text = X(0).u.s;
    V tensors = X(1), path = X(2);
    equation e = {.g = g, .n = tensors.n};
    if (!e.n) return RAISE(PyExc_RuntimeError, "einsum(): must provide at least one operand");
    int64_t wanted = e.n == 1 ? 1 : 2 * ((int64_t)e.n - 1);
    if (GIVEN(2) && path.n != wanted)
        return RAISE(
            PyExc_RuntimeError,
            "einsum(): expected contraction path given in path parameter to have size %lld but got %d",
            (long long)wanted, path.n);
    e.operands = rl_values_room(g, e.n, sizeof *e.operands);
    e.room = rl_values_room(g, (int64_t)strlen(text) + 1, 1);
    V *list = rl_values_room(g, e.n, sizeof *list);
    if (!e.operands || !e.room || !list) return NONE;
    for (int i = 0; i < e.n; i++) e.operands[i] = (operand){.ndim = NDIM(NTH(tensors, i))};
    understand(&e, text);
    for (int i = 0; i < e.n && !FAILED; i++) list[i] = aligned(&e, i, NTH(tensors, i));
    if (!FAILED) contract_all(&e, list, GIVEN(2) ? path.u.ints : NULL);
    return finished(&e, FAILED ? NONE : list[0]);
}
