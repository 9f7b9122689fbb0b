/* Sums of products by Einstein's convention.
 *
 *   "bij,jk->bik"    equation
 *    b  i  k │ j     places: dimensions of the result, then those that are summed
 *
 * Every operand gets all places, of size 1 where its labels have none: a permuted view. Operands are taken
 * two by two from the left; places that no other operand needs are summed by one bmm(). */
#include "compose.h"
#include "product.h"
#include <string.h>

enum { LETTERS = 52, ELLIPSIS = LETTERS, N_LABELS, MOST_PLACES = LETTERS + RL_MAX_DIMS };

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
    int users[MOST_PLACES]; /* operands with another size than 1 at a place */
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
    int64_t order[MOST_PLACES];
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
        if (n_alone[i]) pair[i] = OP(sum, pair[i], INTS(alone[i], n_alone[i]), TRUTH(true));
    return n;
}

/* operands first and second leave the list; what they make comes to `to` */
static void contract(equation *e, V *list, int n, int first, int second, bool to_front) {
    rl_values *g = e->g;
    int64_t sums[RL_MAX_DIMS];
    V pair[2] = {list[first], list[second]};
    const int n_sums = settle(e, pair, sums);
    V made = FAILED ? NONE : rl_product_pair(g, pair[0], pair[1], sums, n_sums);
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
