/* Indices of a call that runs on a device. Its kernels read integers that lie there, so indices of the CPU
 * follow, and a mask becomes the places that it names: how many there are is waited for here. */
#include "call.h"

static bool is_mask(const rl_view *v) {
    return v->dtype == RL_BOOL || v->dtype == RL_U8;
}
static int width_of(const rl_view *index) {
    return index && is_mask(index) ? index->ndim : 1;
}

/* do the dims of x from `dim` on lie under the mask? If not, the shape rule will say so */
static bool mask_fits(const rl_view *x, const rl_view *mask, int dim) {
    if (mask->ndim == 0 || dim + mask->ndim > x->ndim) return false;
    for (int d = 0; d < mask->ndim; d++)
        if (mask->shape[d] != x->shape[dim + d]) return false;
    return true;
}

static bool follows(const rl_view *x, const rl_view *index) {
    return index && (index->device == RL_CPU || (is_mask(index) && index->device == x->device));
}

typedef struct {
    rl_view **views;
    int n;
    PyObject *made; /* owns the new ones */
} index_list;

static int list_add_steal(index_list *list, PyObject *index) {
    RL_OWNED PyObject *t = index;
    if (!t || PyList_Append(list->made, t) < 0) return -1;
    list->views[list->n++] = &((rl_tensor *)t)->v;
    return 0;
}

static int list_add_places(index_list *list, PyObject *mask, int width) {
    RL_OWNED PyObject *places = rl_op_unary(RL_OP_nonzero, mask);
    for (int d = 0; places && d < width; d++) {
        rl_slot args[3] = {{.tag = RL_TENSOR, .u.t = &((rl_tensor *)places)->v},
                           {.tag = RL_INT, .u.i = 1},
                           {.tag = RL_INT, .u.i = d}};
        if (list_add_steal(list, rl_op_run(RL_OP_select, args, 3)) < 0) return -1;
    }
    return places ? 0 : -1;
}

static PyObject *copy_on(const rl_view *x, rl_view *index) {
    if (index->device == x->device && index->device_index == x->device_index)
        return Py_NewRef((PyObject *)RL_TENSOR_OF(index));
    rl_tensor *t = rl_tensor_new(index->dtype, x->device, x->device_index, index->shape, index->ndim);
    if (t && rl_tensor_copy(t, RL_TENSOR_OF(index)) < 0) Py_CLEAR(t);
    return (PyObject *)t;
}

static int list_fill(index_list *list, const rl_view *x, const rl_slot *given) {
    int dim = 0;
    bool fits = true; /* what follows a mask that does not is never read */
    for (int i = 0; i < given->n; i++) {
        rl_view *index = given->u.ts[i];
        const int width = width_of(index);
        fits = fits && (!index || !is_mask(index) || mask_fits(x, index, dim));
        dim += width;
        if (!fits || !follows(x, index)) {
            list->views[list->n++] = index;
            continue;
        }
        const bool mask = is_mask(index);
        RL_OWNED PyObject *there = copy_on(x, index);
        if (!there) return -1;
        if ((mask ? list_add_places(list, there, width) : list_add_steal(list, Py_NewRef(there))) < 0)
            return -1;
    }
    return 0;
}

static int indices_of_device(rl_bound *b) {
    const rl_view *x = b->k.arg[0].u.t;
    rl_slot *given = &b->k.arg[1];
    int64_t room = 0;
    bool any = false;
    for (int i = 0; i < given->n; i++) {
        any |= follows(x, given->u.ts[i]);
        room += width_of(given->u.ts[i]);
    }
    if (!any) return 0;
    index_list list = {.views = rl_bound_list(b, room + given->n), .made = PyList_New(0)};
    if (rl_bound_keep_steal(b, list.made) < 0 || !list.views) return -1;
    PyObject_GC_UnTrack(list.made); /* nobody finds and empties it */
    if (list_fill(&list, x, given) < 0) return -1;
    *given = (rl_slot){.tag = RL_TENSORS, .n = list.n, .u.ts = list.views};
    return 0;
}

void rl_indices_init(void) {
    rl_device_indices = indices_of_device;
}
