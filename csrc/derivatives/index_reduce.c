/* Derivatives of scatter_reduce and index_reduce: (input, dim, index, src, reduce, include_self). */
#include "formula.h"

/* does the index name slices, not elements? */
static bool by_slices(const rl_vjp *g) {
    return g->node->op == &rl_operators[RL_OP_index_reduce];
}
static V gathered(rl_vjp *g, V from) {
    if (!by_slices(g)) return OP(gather, from, X(1), X(2));
    V picked = OP(index_select, from, X(1), X(2));
    return NDIM(picked) == NDIM(X(3)) ? picked : OP(reshape, picked, rl_vjp_size(g, 3));
}
static V counted(rl_vjp *g, V from, V hits) {
    return by_slices(g) ? OP(index_add, from, X(1), X(2), hits) : OP(scatter_add, from, X(1), X(2), hits);
}
static V reduced(rl_vjp *g, V x, V src) {
    return by_slices(g) ? OP(index_reduce, x, X(1), X(2), src, X(4), X(5))
                        : OP(scatter_reduce, x, X(1), X(2), src, X(4), X(5));
}
static void reduced_mean(rl_vjp *g) {
    V from = rl_vjp_int(g, 5) ? OP(ones_like, G) : OP(zeros_like, G);
    V n = counted(g, from, OP(ones_like, X(3)));
    n = OP(masked_fill, n, OP(eq, n, INT(0)), INT(1));
    V share = OP(div, G, n);
    TO(0, share);
    TO(3, gathered(g, share));
}
/* all that are equal to the result share */
static void reduced_extreme(rl_vjp *g) {
    V as = DTYPE(g->node->meta[0].dtype), result = OUT(0);
    V self_hits = OP(to_copy, OP(eq, X(0), result), as);
    V src_hits = OP(to_copy, OP(eq, X(3), gathered(g, result)), as);
    V share = OP(div, G, counted(g, self_hits, src_hits));
    TO(0, OP(mul, self_hits, share));
    TO(3, OP(mul, src_hits, gathered(g, share)));
}
/* the product of the others: result / src, but where src is the only zero of its place */
static void reduced_product(rl_vjp *g) {
    V x = X(0), src = X(3), result = OUT(0);
    if (rl_vjp_wants(g, 0)) {
        V whole = OP(masked_fill, x, OP(eq, x, INT(0)), INT(1));
        rl_vjp_pass(g, 0, OP(div, OP(mul, G, reduced(g, whole, src)), whole));
    }
    if (!rl_vjp_wants(g, 3)) return;
    V is_zero = OP(eq, src, INT(0)), none = OP(zeros_like, x);
    V zeros = gathered(g, counted(g, none, OP(to_copy, is_zero, DTYPE(g->node->meta[0].dtype))));
    if (rl_here.grad && rl_vjp_any(g, OP(gt, zeros, INT(1)))) {
        PyErr_Format(PyExc_RuntimeError,
                     "%s(): Double backward is unsupported for %s when >1 zeros in %s are scattered to the "
                     "same position in self",
                     g->node->op->name, by_slices(g) ? "source" : "src", by_slices(g) ? "source" : "src");
        rl_vjp_fail(g);
        return;
    }
    V alone = OP(logical_and, is_zero, OP(eq, zeros, INT(1)));
    V others = gathered(g, OP(mul, G, reduced(g, x, OP(masked_fill, src, alone, INT(1)))));
    V quotient = OP(div, gathered(g, OP(mul, G, result)), OP(masked_fill, src, is_zero, INT(1)));
    rl_vjp_pass(g, 3, OP(where, alone, others, quotient));
}
static void reduced_by(rl_vjp *g, const char *how) {
    if (how[0] == 's') {
        TO(0, G);
        TO(3, gathered(g, G));
    } else if (how[0] == 'm') {
        reduced_mean(g);
    } else if (how[0] == 'p') {
        reduced_product(g);
    } else {
        reduced_extreme(g);
    }
    /* without the elements of input, those that were joined have no influence */
    if (FAILED || rl_vjp_int(g, 5) || !g->results[0]) return;
    V self = rl_values_own_steal(VALUES, Py_NewRef(g->results[0]));
    rl_vjp_pass(g, 0,
                by_slices(g) ? OP(index_fill_number, self, X(1), X(2), INT(0))
                             : OP(scatter_number, self, X(1), X(2), INT(0)));
}

FORMULA(scatter_reduce) {
    reduced_by(g, TEXT(4));
}
FORMULA(index_reduce) {
    reduced_by(g, TEXT(4));
}
