/* Shape rules of tensors with a part in another's place: select_scatter and its kin. */
#include "shape.h"

/* What the rule of the view, whose arguments are k's but for src, says of a whole. */
static rl_status part_of(const rl_call *k, const rl_view *whole, const char *name,
                         rl_status (*rule)(rl_call *), rl_view *part) {
    rl_call view = rl_call_forward(k, name, part);
    view.arg[0].u.t = (rl_view *)whole;
    return rule(&view);
}

static rl_status check_part(const rl_call *k, const rl_view *part) {
    const rl_view *src = k->arg[1].u.t;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (rl_dims_same(src, part)) return RL_OK;
    return rl_error_set(
        RL_RUNTIME, "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
        rl_dims_text(one, src->shape, src->ndim), rl_dims_text(two, part->shape, part->ndim));
}

/* attr[0]: the part's offset in the result; attr[1], attr[2]: dims that the part lacks, or -1; attr[3],
 * attr[4]: a dim and its step. With two dims less it has their diagonal. */
static rl_status part_scatter(rl_call *k, const char *name, rl_status (*rule)(rl_call *)) {
    rl_view part = {.ndim = 0};
    rl_status status = RL_FAIL;
    if (part_of(k, k->arg[0].u.t, name, rule, &part) == RL_OK && check_part(k, &part) == RL_OK)
        status = rl_out_like_input(k, 0);
    rl_view_clear(&part);
    if (status != RL_OK) return RL_FAIL;
    status = part_of(k, k->out[0], name, rule, &part); /* where it lies in the result */
    k->attr[0] = part.offset - k->out[0]->offset;
    rl_view_clear(&part);
    k->attr[1] = k->attr[2] = k->attr[3] = -1;
    return status;
}

/* the dim, which was checked */
static int64_t wrapped(const rl_call *k, int arg) {
    const int64_t dim = k->arg[arg].u.i;
    return dim < 0 ? dim + rl_tensor_arg(k, 0)->ndim : dim;
}

RL_SHAPE(select_scatter) {
    if (part_scatter(k, "select", shape_select) != RL_OK) return RL_FAIL;
    k->attr[1] = wrapped(k, 2);
    return RL_OK;
}

RL_SHAPE(slice_scatter) {
    if (k->arg[5].u.i <= 0) return rl_error_set(RL_RUNTIME, "slice step must be positive");
    if (part_scatter(k, "slice", shape_slice) != RL_OK) return RL_FAIL;
    k->attr[3] = wrapped(k, 2);
    k->attr[4] = k->arg[5].u.i;
    return RL_OK;
}

RL_SHAPE(diagonal_scatter) {
    if (part_scatter(k, "diagonal", shape_diagonal) != RL_OK) return RL_FAIL;
    k->attr[1] = wrapped(k, 3);
    k->attr[2] = wrapped(k, 4);
    return RL_OK;
}

/* attr[0]: the offset of the part, from the first element of the input */
RL_SHAPE(as_strided_scatter) {
    const rl_view *x = k->arg[0].u.t;
    rl_view part = {.ndim = 0};
    rl_status status = part_of(k, x, "as_strided", shape_as_strided, &part);
    if (status == RL_OK) status = check_part(k, &part);
    k->attr[0] = part.offset - x->offset;
    rl_view_clear(&part);
    return status == RL_OK ? rl_out_like_input(k, 0) : RL_FAIL;
}
