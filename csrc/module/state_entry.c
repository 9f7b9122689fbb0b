/* load_state_dict, one entry: does it fit, and then copy it or take it over. */
#include "helpers.h"
#include "state_load.h"

/* Note [Loads under way]: users override _load_from_state_dict and call it themselves, so its arguments
 * are PyTorch's and say nothing of the last two. The list `errors` tells which load a call belongs to. */
static rl_state_load *loads;

const rl_state_load *rl_state_load_find(PyObject *errors) {
    const rl_state_load *load = loads;
    while (load && load->errors != errors) load = load->outer;
    return load;
}

void rl_state_load_begin(rl_state_load *load) {
    load->outer = loads;
    loads = load;
}

void rl_state_load_end(rl_state_load *load) { /* threads may leave in another order than they came */
    rl_state_load **at = &loads;
    while (*at != load) at = &(*at)->outer;
    *at = load->outer;
}

/* ---- one entry ---- */
static int load_note_steal(PyObject *errors, PyObject *text) {
    RL_OWNED PyObject *owned = text;
    return owned ? PyList_Append(errors, owned) : -1;
}

/* "... an exception occurred : ('...',)."; anything but an Exception goes on */
static int load_note_raised(PyObject *errors, PyObject *key, PyObject *param, PyObject *input) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    RL_OWNED PyObject *raised = rl_raised_take();
    RL_OWNED PyObject *have = PyObject_CallMethodNoArgs(param, rl_name.size);
    RL_OWNED PyObject *given = have ? PyObject_CallMethodNoArgs(input, rl_name.size) : NULL;
    RL_OWNED PyObject *args = given ? PyObject_GetAttrString(raised, "args") : NULL;
    if (args == NULL) return -1;
    return load_note_steal(
        errors,
        PyUnicode_FromFormat("While copying the parameter named \"%U\", whose dimensions in the model are "
                             "%S and whose dimensions in the checkpoint are %S, an exception occurred "
                             ": %S.",
                             key, have, given, args));
}

/* Does it wait for its shape? Only subclasses of Parameter and Tensor can. */
static int load_is_lazy(PyObject *t) {
    PyTypeObject *type = Py_TYPE(t);
    if (type == rl_parameter_type || type == rl_tensor_type) return 0;
    return _PyType_Lookup(type, rl_name.materialize) != NULL;
}

static PyObject *load_shape(PyObject *t) {
    int plain = rl_tensor_check(t) && !load_is_lazy(t);
    return plain ? rl_tensor_shape((rl_tensor *)t) : PyObject_GetAttr(t, rl_name.shape);
}

/* Checkpoints of 0.3 hold scalars as [1]: *input = (*input)[0]. Then 1 when the shapes agree. */
static int load_fit_shape(PyObject *param, PyObject **input, PyObject **have, PyObject **given) {
    if (load_is_lazy(param)) return 1;
    if (rl_tensor_check(param) && rl_tensor_check(*input) && !load_is_lazy(*input)) {
        const rl_view *a = &((rl_tensor *)param)->v, *b = &((rl_tensor *)*input)->v;
        if (a->ndim == b->ndim && memcmp(a->shape, b->shape, sizeof(int64_t) * a->ndim) == 0) return 1;
    }
    if ((*have = load_shape(param)) == NULL || (*given = load_shape(*input)) == NULL) return -1;
    Py_ssize_t nh = PyObject_Size(*have), ng = nh < 0 ? -1 : PyObject_Size(*given);
    if (ng < 0) return -1;
    if (nh == 0 && ng == 1) {
        RL_OWNED PyObject *first = PySequence_GetItem(*given, 0);
        long n = first ? PyLong_AsLong(first) : -1;
        if (n == -1 && PyErr_Occurred()) return -1;
        if (n == 1) {
            RL_OWNED PyObject *zero = PyLong_FromLong(0);
            PyObject *scalar = zero ? PyObject_GetItem(*input, zero) : NULL; /* tensors are no sequences */
            if (scalar == NULL) return -1;
            Py_SETREF(*input, scalar);
            Py_SETREF(*given, load_shape(scalar));
            if (*given == NULL) return -1;
        }
    }
    return PyObject_RichCompareBool(*have, *given, Py_EQ);
}

static int load_warn_meta(PyObject *key, PyObject *param, PyObject *input) {
    if (!rl_tensor_check(param) || !rl_tensor_check(input)) return 0;
    if (((rl_tensor *)param)->v.device != RL_META || ((rl_tensor *)input)->v.device == RL_META) return 0;
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1,
        "for %U: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
        "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in "
        "the state dictionary to their corresponding key in the module instead of copying them "
        "in place?)",
        key);
}

/* Small copies that need no kernel; the dispatcher gives way to other threads for the large ones. */
enum { LOAD_SMALL = 1 << 16 };
int rl_state_load_bytes(rl_tensor *to, rl_tensor *from) {
    int64_t bytes = to->v.numel * rl_itemsize(to->v.dtype);
    if (to->v.device != RL_CPU || from->v.device != RL_CPU) return 0;
    if (to->v.dtype != from->v.dtype || to->v.numel != from->v.numel || bytes > LOAD_SMALL || to->inference ||
        !rl_is_contiguous(&to->v) || !rl_is_contiguous(&from->v))
        return 0;
    RL_RAW;
    const void *source = rl_host_data(&from->v);
    if (!source && bytes) return -1;
    rl_write_begin(to->v.storage);
    if (bytes) memmove(rl_data(&to->v, RL_WRITE), source, (size_t)bytes);
    rl_write_end(to->v.storage);
    rl_version_bump(to);
    return 1;
}

/* with no_grad(): param.copy_(input) */
static int load_copy(PyObject *param, PyObject *input) {
    int before = rl_here.grad, done;
    rl_here.grad = 0;
    if ((Py_TYPE(param) == rl_parameter_type || Py_TYPE(param) == rl_tensor_type) && rl_tensor_check(input))
        done = rl_tensor_copy((rl_tensor *)param, (rl_tensor *)input);
    else {
        RL_OWNED PyObject *copied = PyObject_CallMethodOneArg(param, rl_name.copy_, input);
        done = copied ? 0 : -1;
    }
    rl_here.grad = before;
    return done;
}

/* assign=True: setattr(m, name, input), as a Parameter with the old one's requires_grad */
static int load_assign(const rl_state_load *load, PyObject *m, PyObject *name, PyObject *param,
                       PyObject *input) {
    RL_OWNED PyObject *fresh = Py_NewRef(input);
    if (rl_parameter_check(param)) {
        RL_OWNED PyObject *grad = PyObject_GetAttr(param, rl_name.requires_grad);
        if (grad == NULL) return -1;
        if (rl_parameter_check(input)) {
            RL_OWNED PyObject *done = PyObject_CallMethodOneArg(input, rl_name.requires_grad_, grad);
            if (done == NULL) return -1;
        } else {
            PyObject *made = PyObject_CallFunctionObjArgs((PyObject *)rl_parameter_type, input, grad, NULL);
            if (made == NULL) return -1;
            Py_SETREF(fresh, made);
        }
    }
    if (load && load->ties) {
        PyObject *kept = PyObject_CallMethod(load->ties, "keep", "OO", param, fresh);
        if (kept == NULL) return -1;
        Py_SETREF(fresh, kept);
    }
    return PyObject_SetAttr(m, name, fresh);
}

/* mismatched="report": noted for the result */
static int load_note_mismatch(const rl_state_load *load, PyObject *key, PyObject *given, PyObject *have) {
    RL_OWNED PyObject *entry = PyTuple_Pack(3, key, given, have);
    return entry ? PyList_Append(load->mismatched, entry) : -1;
}

int rl_state_load_entry(PyObject *m, PyObject *name, PyObject *param, PyObject *key, PyObject *value,
                        int assign, PyObject *errors) {
    const rl_state_load *load = rl_state_load_find(errors);
    RL_OWNED PyObject *input = Py_NewRef(value), *have = NULL, *given = NULL;
    int like = rl_tensor_check(input) ? 1 : rl_hasattr(input, rl_name.__torch_function__);
    if (like < 0) return -1;
    if (!like)
        return load_note_steal(
            errors, PyUnicode_FromFormat("While copying the parameter named \"%U\", expected torch.Tensor or "
                                         "Tensor-like object from checkpoint but received %S",
                                         key, Py_TYPE(input)));
    int fits = load_fit_shape(param, &input, &have, &given);
    if (fits < 0) return -1;
    if (!fits && load && load->mismatched) return load_note_mismatch(load, key, given, have);
    if (!fits)
        return load_note_steal(
            errors,
            PyUnicode_FromFormat("size mismatch for %U: copying a param with shape %S from checkpoint, the "
                                 "shape in current model is %S.",
                                 key, given, have));
    if (!assign && load_warn_meta(key, param, input) < 0) return -1;
    if ((assign ? load_assign(load, m, name, param, input) : load_copy(param, input)) == 0) return 0;
    return load_note_raised(errors, key, param, input);
}
