/* What operators warn of, by their arguments, before anything else looks at these: a warning runs Python. */
#include "call.h"
#include <string.h>

/* Elements that each result of a reduction is of; -1: the shape rule refuses the dims, or nothing tells. */
static double reduced_elements(const rl_view *x, const rl_value *dims) {
    const int64_t one = dims->tag == RL_INT ? dims->u.i : 0;
    const int64_t *at = dims->tag == RL_INTS ? dims->u.ints : &one;
    const int n = dims->tag == RL_INTS ? dims->n : dims->tag == RL_INT;
    double count = 1; /* dims that are named twice may give more than fits an integer */
    if (n == 0) return (double)x->numel;
    for (int i = 0; i < n; i++) {
        const int64_t d = at[i] < 0 ? at[i] + x->ndim : at[i];
        if (d < 0 || d >= x->ndim) return -1;
        count *= (double)x->shape[d];
    }
    for (int d = 0; d < x->ndim; d++)
        if (x->shape[d] == 0) return 0; /* no element, or no result */
    return count;
}

/* (input, dim, *, correction), (input, dim, unbiased) or (input, unbiased) */
static int warn_degrees(const rl_op_call *b) {
    const rl_schema *s = b->schema;
    const rl_view *x = b->k.arg[0].tag == RL_TENSOR ? b->k.arg[0].u.t : NULL;
    const rl_value everything = {.tag = RL_NONE};
    const bool has_dim = strcmp(s->arg[1].name, "dim") == 0;
    const rl_value *last = &b->k.arg[has_dim ? 2 : 1];
    double correction = 1;
    if (!x || x->device == RL_META || !rl_is_float(x->dtype)) return 0;
    if (last->tag == RL_INT || last->tag == RL_BOOLEAN) correction = (double)last->u.i;
    if (last->tag == RL_FLOAT) correction = last->u.d;
    const double count = reduced_elements(x, has_dim ? &b->k.arg[1] : &everything);
    if (count < 0 || count - correction > 0) return 0;
    return PyErr_WarnFormat(PyExc_UserWarning, 1,
                            "%s(): degrees of freedom is <= 0. Correction should be strictly less than the "
                            "reduction factor (input numel divided by output numel).",
                            s->op->name);
}

int rl_call_warn(const rl_op_call *b) {
    if (strcmp(b->schema->op->name, "index_reduce")) return warn_degrees(b);
    static bool said; /* once, as PyTorch warns */
    if (said) return 0;
    said = true;
    return PyErr_WarnEx(PyExc_UserWarning, "index_reduce() is in beta and the API may change at any time.",
                        1);
}
