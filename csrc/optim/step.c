/* One step of one group of parameters by one operator over lists, if nothing about it is out of the ordinary.
 */
#include "step.h"

#include "object/raw.h"

enum { STEP_DONE = 1, STEP_UNUSUAL = 0, STEP_FAILED = -1 };
enum { STEP_LISTS = 8 }; /* params, grads, state, counts */

/* One block: `n_lists` lists of `room` views. The tensors are held, since a kernel without the GIL lets
 * others drop them. A list of state that no key names is empty. */
typedef struct {
    rl_view **list[STEP_LISTS];
    PyObject *key[STEP_LISTS]; /* borrowed: of the state; NULL for params, grads and empty lists */
    int n_lists, n_counts, n;
    Py_ssize_t room;
    bool halves; /* are they taken? */
} step_lists;

static bool list_given(const step_lists *l, int i) {
    return i < 2 || l->key[i];
}

static void lists_drop(step_lists *l) {
    for (int i = 0; i < l->n_lists; i++)
        for (int j = 0; list_given(l, i) && j < l->n; j++) Py_DECREF(RL_TENSOR_OF(l->list[i][j]));
}

/* state[p][key], borrowed; NULL when there is none yet */
static rl_tensor *state_find(PyObject *own, PyObject *key) {
    PyObject *found = own ? PyDict_GetItemWithError(own, key) : NULL;
    return found && rl_tensor_check(found) ? (rl_tensor *)found : NULL;
}

/* Appends a parameter that has a gradient, with its state. Hashing it may run Python. */
static int lists_add(step_lists *l, PyObject *state, rl_tensor *param) {
    rl_tensor *found[STEP_LISTS] = {param, NULL};
    PyObject *own = PyDict_GetItemWithError(state, (PyObject *)param);
    if (PyErr_Occurred()) return STEP_FAILED;
    if (own && !PyDict_Check(own)) return STEP_UNUSUAL;
    RL_OWNED PyObject *held = Py_XNewRef(own);
    for (int i = 2; i < l->n_lists; i++) {
        if (!l->key[i]) continue;
        found[i] = state_find(own, l->key[i]);
        if (!found[i]) return PyErr_Occurred() ? STEP_FAILED : STEP_UNUSUAL;
    }
    found[1] = (rl_tensor *)param->grad;
    if (!found[1]) return STEP_UNUSUAL; /* a hash took it away */
    for (int i = 0; i < l->n_lists; i++)
        if (list_given(l, i)) l->list[i][l->n] = &((rl_tensor *)Py_NewRef((PyObject *)found[i]))->v;
    l->n++;
    return STEP_DONE;
}

static int lists_fill(step_lists *l, PyObject *params, PyObject *state) {
    int rc = STEP_DONE;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params) && rc == STEP_DONE; i++) {
        RL_OWNED PyObject *p = Py_NewRef(PyList_GET_ITEM(params, i));
        if (!rl_tensor_check(p) || l->n == l->room) return STEP_UNUSUAL;
        if (((rl_tensor *)p)->grad) rc = lists_add(l, state, (rl_tensor *)p);
    }
    return rc;
}

/* ---- when all of them are found, since finding one may run Python, which may change those before ---- */
static bool same_kind(const rl_view *a, const rl_view *b) {
    if (a->dtype != b->dtype || a->device != b->device || a->device_index != b->device_index ||
        a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

/* elements that share memory are refused by the operators that Python then calls */
static bool is_written(const rl_view *v) {
    return !rl_view_expanded(v) && v->device != RL_META && !RL_TENSOR_OF(v)->inference;
}

static bool param_is_usual(const step_lists *l, const rl_view *p) {
    const rl_tensor *t = RL_TENSOR_OF(p);
    const bool taken = p->dtype == RL_F32 || p->dtype == RL_F64 || (l->halves && rl_is_float(p->dtype));
    return taken && is_written(p) && !t->base && !t->grad_fn;
}

static bool is_count(const rl_view *v) {
    return v->numel == 1 && v->device == RL_CPU && (v->dtype == RL_F32 || v->dtype == RL_F64);
}

static bool lists_are_usual(const step_lists *l) {
    const int counts = l->n_lists - l->n_counts;
    for (int j = 0; j < l->n; j++) {
        const rl_view *p = l->list[0][j];
        if (!param_is_usual(l, p) || !same_kind(p, l->list[1][j])) return false;
        for (int i = 2; i < l->n_lists; i++) {
            if (!l->key[i]) continue;
            const rl_view *v = l->list[i][j];
            if (!is_written(v) || !(i < counts ? same_kind(p, v) : is_count(v))) return false;
        }
    }
    return true;
}

/* ---- the call ---- */
/* a number of the group; false when it is a tensor, say */
static bool slot_of_number(PyObject *number, rl_slot *slot) {
    if (PyBool_Check(number))
        *slot = (rl_slot){.tag = RL_TRUTH, .u.i = number == Py_True};
    else if (PyFloat_CheckExact(number))
        *slot = (rl_slot){.tag = RL_FLOAT, .u.d = PyFloat_AS_DOUBLE(number)};
    else if (PyLong_CheckExact(number))
        *slot = (rl_slot){.tag = RL_FLOAT, .u.d = PyLong_AsDouble(number)};
    else
        return false;
    return true;
}

static int lists_run(int op, const step_lists *l, PyObject *numbers) {
    rl_slot args[RL_MAX_ARGS];
    for (int i = 0; i < l->n_lists; i++)
        args[i] = (rl_slot){.tag = RL_TENSORS, .n = list_given(l, i) ? l->n : 0, .u.ts = l->list[i]};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); i++)
        if (!slot_of_number(PyTuple_GET_ITEM(numbers, i), &args[l->n_lists + i])) return STEP_UNUSUAL;
    if (PyErr_Occurred()) return STEP_FAILED;
    if (!l->n) return STEP_DONE;
    RL_OWNED PyObject *done = rl_op_run(op, args, l->n_lists + (int)PyTuple_GET_SIZE(numbers));
    return done ? STEP_DONE : STEP_FAILED;
}

static int group_step(int op, step_lists *l, PyObject *params, PyObject *state, PyObject *numbers) {
    int rc = lists_fill(l, params, state);
    if (rc == STEP_DONE && !lists_are_usual(l)) rc = STEP_UNUSUAL;
    if (rc == STEP_DONE) rc = lists_run(op, l, numbers);
    lists_drop(l);
    return rc;
}

/* ---- Python ---- */
/* the operator that takes so many lists and numbers, or -1 raised */
static int operator_of(PyObject *number, Py_ssize_t lists, Py_ssize_t numbers) {
    const long i = PyLong_AsLong(number);
    if (i == -1 && PyErr_Occurred()) return -1;
    const rl_operator *op = i >= 0 && i < RL_OP_COUNT ? &rl_operators[i] : NULL;
    if (op && (op->traits & RL_LISTS) && lists <= STEP_LISTS && __builtin_popcount(op->lists) == lists &&
        op->n_arg == lists + numbers)
        return (int)i;
    PyErr_SetString(PyExc_ValueError, "_optimizer_step: the operator takes other lists or numbers");
    return -1;
}

static const char step_doc[] =
    "_optimizer_step(operator, params, state, keys, counts, numbers, halves)\n--\n\n"
    "The step of a group: state[p] holds the tensors that keys and counts name (None: the list is empty); "
    "False: nothing\n"
    "was done, since some state is missing or something is unusual.";

static PyObject *optimizer_step(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    enum { FEW = 256 };
    rl_view *few[FEW];
    (void)m;
    if (n != 7 || !PyList_Check(args[1]) || !PyDict_Check(args[2]) || !PyTuple_Check(args[3]) ||
        !PyTuple_Check(args[4]) || !PyTuple_Check(args[5])) {
        PyErr_SetString(PyExc_TypeError, "_optimizer_step(int, list, dict, tuple, tuple, tuple, bool)");
        return NULL;
    }
    const Py_ssize_t keys = PyTuple_GET_SIZE(args[3]), counts = PyTuple_GET_SIZE(args[4]);
    const int op = operator_of(args[0], 2 + keys + counts, PyTuple_GET_SIZE(args[5]));
    if (op < 0) return NULL;
    RL_OWNED PyObject *params = Py_NewRef(args[1]);
    step_lists l = {.n_lists = (int)(2 + keys + counts),
                    .n_counts = (int)counts,
                    .room = PyList_GET_SIZE(params),
                    .halves = args[6] == Py_True};
    rl_view **all =
        l.n_lists * l.room <= FEW ? few : PyMem_Calloc((size_t)l.room, (size_t)l.n_lists * sizeof *all);
    if (!all) return PyErr_NoMemory();
    for (int i = 0; i < l.n_lists; i++) {
        PyObject *key = i < 2          ? NULL
                        : i < 2 + keys ? PyTuple_GET_ITEM(args[3], i - 2)
                                       : PyTuple_GET_ITEM(args[4], i - 2 - keys);
        l.list[i] = all + i * l.room;
        l.key[i] = key == Py_None ? NULL : key;
    }
    const int rc = group_step(op, &l, params, args[2], args[5]);
    if (all != few) PyMem_Free(all);
    return rc == STEP_FAILED ? NULL : PyBool_FromLong(rc == STEP_DONE);
}

/* _optimizer_operator(name): the number of the operator of that id */
static PyObject *optimizer_operator(PyObject *m, PyObject *name) {
    const char *id = PyUnicode_AsUTF8(name);
    (void)m;
    if (!id) return NULL;
    for (int i = 0; i < RL_OP_COUNT; i++)
        if ((rl_operators[i].traits & RL_LISTS) && strcmp(rl_operators[i].id, id) == 0)
            return PyLong_FromLong(i);
    return PyErr_Format(PyExc_ValueError, "_optimizer_operator: there is no step called %R", name);
}

static PyMethodDef step_functions[] = {
    {"_optimizer_step", (PyCFunction)(void (*)(void))optimizer_step, METH_FASTCALL, step_doc},
    {"_optimizer_operator", optimizer_operator, METH_O,
     "_optimizer_operator(name)\n--\n\nThe number of the operator of a step."},
    {NULL, NULL, 0, NULL}};

int rl_step_init(PyObject *m) {
    return PyModule_AddFunctions(m, step_functions);
}
