/* Dimensions in another order, and one dimension as several. */
#include "slots.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

static int wrapped_dims(const rl_slot *s, int ndim, const char *what, int64_t *dims) {
    char text[RL_DIMS_TEXT];
    uint64_t seen = 0;
    int n = s->tag == RL_INTS ? s->n : 1;
    for (int i = 0; i < n; i++) {
        dims[i] = s->tag == RL_INTS ? s->u.ints[i] : s->u.i;
        if (rl_dim_wrap(&dims[i], ndim) != RL_OK) {
            rl_raise("movedim");
            return -1;
        }
    }
    for (int i = 0; i < n; i++) {
        if (seen >> dims[i] & 1) {
            PyErr_Format(PyExc_RuntimeError, "movedim: repeated dim in `%s` (%s)", what,
                         rl_dims_text(text, s->tag == RL_INTS ? s->u.ints : &s->u.i, n));
            return -1;
        }
        seen |= 1ull << dims[i];
    }
    return n;
}

COMPOSE(movedim) {
    const rl_slot *from = &b->k.arg[1], *to = &b->k.arg[2];
    int64_t source[RL_MAX_DIMS], place[RL_MAX_DIMS], order[RL_MAX_DIMS];
    int ndim = rl_tensor_arg(&b->k, 0)->ndim, n_from = from->tag == RL_INTS ? from->n : 1,
        n_to = to->tag == RL_INTS ? to->n : 1;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (n_from != n_to) {
        PyErr_Format(PyExc_RuntimeError,
                     "movedim: Invalid source or destination dims: source (%s dims) should contain the same "
                     "number of dims as destination (%s dims)",
                     rl_dims_text(one, from->tag == RL_INTS ? from->u.ints : &from->u.i, n_from),
                     rl_dims_text(two, to->tag == RL_INTS ? to->u.ints : &to->u.i, n_to));
        return NULL;
    }
    if (wrapped_dims(from, ndim, "source", source) < 0 || wrapped_dims(to, ndim, "destination", place) < 0)
        return NULL;
    if (ndim == 0) return Py_NewRef(tensor_of(b, 0));
    uint64_t moved = 0;
    for (int d = 0; d < ndim; d++) order[d] = -1;
    for (int i = 0; i < n_from; i++) {
        order[place[i]] = source[i];
        moved |= 1ull << source[i];
    }
    for (int d = 0, next = 0; d < ndim; d++) {
        if (order[d] >= 0) continue;
        while (moved >> next & 1) next++;
        order[d] = next++;
    }
    rl_slot args[2] = {b->k.arg[0], ints_slot(order, ndim)};
    return rl_op_run(RL_OP_permute, args, 2);
}

COMPOSE(moveaxis) {
    return compose_movedim(b);
}

COMPOSE(unflatten) {
    const rl_view *x = b->k.arg[0].u.t;
    const rl_slot *s = &b->k.arg[2];
    int64_t dim = b->k.arg[1].u.i, shape[2 * RL_MAX_DIMS], known = 1;
    const int64_t *sizes = s->tag == RL_INTS ? s->u.ints : &s->u.i;
    int n = s->tag == RL_INTS ? s->n : 1, open = -1;
    char text[RL_DIMS_TEXT];
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return rl_raise("unflatten");
    if (n == 0) {
        PyErr_SetString(PyExc_RuntimeError, "unflatten: sizes must be non-empty");
        return NULL;
    }
    int64_t whole = x->ndim ? x->shape[dim] : 1;
    for (int i = 0; i < n; i++) {
        if (sizes[i] == -1 && open < 0)
            open = i;
        else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known))
            known = -1;
        if (known < 0) break;
    }
    if (known < 0 || (open >= 0 ? known == 0 || whole % known : known != whole)) {
        PyErr_Format(PyExc_RuntimeError,
                     "unflatten: Provided sizes %s don't multiply up to the size of dim %lld (%lld) in the "
                     "input tensor",
                     rl_dims_text(text, sizes, n), (long long)dim, (long long)whole);
        return NULL;
    }
    if (x->ndim - 1 + n > RL_MAX_DIMS) {
        PyErr_Format(PyExc_RuntimeError, "unflatten: tensors have at most %d dimensions", RL_MAX_DIMS);
        return NULL;
    }
    int to = 0;
    for (int d = 0; d < dim; d++) shape[to++] = x->shape[d];
    for (int i = 0; i < n; i++) shape[to++] = i == open ? whole / known : sizes[i];
    for (int64_t d = dim + 1; d < x->ndim; d++) shape[to++] = x->shape[d];
    rl_slot args[2] = {b->k.arg[0], ints_slot(shape, to)};
    return rl_op_run(RL_OP_view, args, 2);
}
