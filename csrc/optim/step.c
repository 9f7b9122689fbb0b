/* One step of one group of parameters by one operator over lists, if nothing about it is out of the ordinary.
 */
#include "optim.h"
#include "call/call.h"
#include "object/raw.h"

enum { STEP_DONE = 1, STEP_UNUSUAL = 0, STEP_FAILED = -1 };
enum { STEP_LISTS = 8 };  /* params, grads, state, counts */
enum { STEP_SCALES = 2 }; /* grad_scale, found_inf: the last arguments */

/* the options that every group may have, interned once */
#define KEYS(X)                                                                                              \
    X(params)                                                                                                \
    X(differentiable)                                                                                        \
    X(capturable)                                                                                            \
    X(fused)
static struct {
#define X(name) PyObject *name;
    KEYS(X)
#undef X
} key;

/* One block: `n_lists` lists of `room` views. The tensors are held, since a kernel without the GIL lets
 * others drop them. A list of state that no key names is empty. */
typedef struct {
    rl_view **list[STEP_LISTS];
    PyObject *key[STEP_LISTS]; /* borrowed: of the state; NULL for params, grads and empty lists */
    int n_lists, n_counts, n;
    Py_ssize_t room;
    bool halves;     /* are they taken? */
    bool capturable; /* counts lie on the GPU */
    const rl_value *scales;
} step_lists;

static bool list_given(const step_lists *l, int i) {
    return i < 2 || l->key[i];
}

static void lists_drop(step_lists *l) {
    for (int i = 0; i < l->n_lists; i++)
        for (int j = 0; list_given(l, i) && j < l->n; j++) Py_DECREF(RL_TENSOR_OF(l->list[i][j]));
}

/* state[p][key], owned: finding the next one may run Python. NULL when there is none yet. */
static rl_tensor *state_find(PyObject *own, PyObject *key) {
    PyObject *found = own ? PyDict_GetItemWithError(own, key) : NULL;
    return found && rl_tensor_check(found) ? (rl_tensor *)Py_NewRef(found) : NULL;
}

/* found[2] and on, of the lists that are given; what was found is owned also where this fails */
static int state_collect(const step_lists *l, PyObject *own, rl_tensor **found) {
    for (int i = 2; i < l->n_lists; i++) {
        if (!l->key[i]) continue;
        found[i] = state_find(own, l->key[i]);
        if (!found[i]) return PyErr_Occurred() ? STEP_FAILED : STEP_UNUSUAL;
    }
    return STEP_DONE;
}

/* Appends a parameter that has a gradient, with its state. Hashing it may run Python. */
static int lists_add(step_lists *l, PyObject *state, rl_tensor *param) {
    rl_tensor *found[STEP_LISTS] = {NULL};
    PyObject *own = PyDict_GetItemWithError(state, (PyObject *)param);
    if (PyErr_Occurred()) return STEP_FAILED;
    if (own && !PyDict_Check(own)) return STEP_UNUSUAL;
    RL_OWNED PyObject *held = Py_XNewRef(own);
    int rc = state_collect(l, own, found);
    if (rc == STEP_DONE && !param->grad) rc = STEP_UNUSUAL; /* a hash took it away */
    if (rc != STEP_DONE) {
        for (int i = 2; i < l->n_lists; i++) Py_XDECREF((PyObject *)found[i]);
        return rc;
    }
    found[0] = (rl_tensor *)Py_NewRef((PyObject *)param);
    found[1] = (rl_tensor *)Py_NewRef(param->grad);
    for (int i = 0; i < l->n_lists; i++)
        if (list_given(l, i)) l->list[i][l->n] = &found[i]->v;
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
static bool same_device(const rl_view *a, const rl_view *b) {
    return a->device == b->device && a->device_index == b->device_index;
}

static bool same_kind(const rl_view *a, const rl_view *b) {
    if (a->dtype != b->dtype || !same_device(a, b) || a->ndim != b->ndim) return false;
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
    return v->numel == 1 && (v->dtype == RL_F32 || v->dtype == RL_F64);
}

/* All counts lie on the CPU, or all beside the parameters: there they must where only the GPU knows whether
 * the step is made. */
static bool counts_are_usual(const step_lists *l) {
    const rl_view *p = l->list[0][0];
    const bool need = l->capturable || l->scales[STEP_SCALES - 1].tag == RL_TENSOR;
    int on_cpu = 0, beside = 0;
    if (!l->n_counts && !need) return true;
    for (int i = l->n_lists - l->n_counts; i < l->n_lists; i++)
        for (int j = 0; j < l->n; j++) {
            const rl_view *v = l->list[i][j];
            on_cpu += v->device == RL_CPU;
            beside += same_device(v, p);
        }
    const int all = l->n_counts * l->n;
    return need ? p->device != RL_CPU && beside == all : on_cpu == all || beside == all;
}

static bool scales_are_usual(const step_lists *l) {
    for (int i = 0; i < STEP_SCALES; i++)
        if (l->scales[i].tag == RL_TENSOR && !same_device(l->scales[i].u.t, l->list[0][0])) return false;
    return true;
}

static bool lists_are_usual(const step_lists *l) {
    const int counts = l->n_lists - l->n_counts;
    for (int j = 0; j < l->n; j++) {
        const rl_view *p = l->list[0][j];
        if (!param_is_usual(l, p) || !same_kind(p, l->list[1][j]) || !same_device(p, l->list[0][0]))
            return false;
        for (int i = 2; i < l->n_lists; i++) {
            if (!l->key[i]) continue;
            const rl_view *v = l->list[i][j];
            if (!is_written(v) || !(i < counts ? same_kind(p, v) : is_count(v))) return false;
        }
    }
    return !l->n || (counts_are_usual(l) && scales_are_usual(l));
}

/* ---- numbers of the group ---- */
/* a number, or a tensor of one */
static int slot_of_number(PyObject *number, rl_value *slot) {
    RL_OWNED PyObject *item = rl_tensor_check(number) && ((rl_tensor *)number)->v.numel == 1
                                  ? rl_tensor_item(number, NULL)
                                  : Py_NewRef(number);
    if (!item) return STEP_FAILED;
    if (PyBool_Check(item))
        *slot = (rl_value){.tag = RL_BOOLEAN, .u.i = item == Py_True};
    else if (PyFloat_Check(item) || PyLong_Check(item))
        *slot = (rl_value){.tag = RL_FLOAT, .u.d = PyFloat_AsDouble(item)};
    else
        return STEP_UNUSUAL;
    return PyErr_Occurred() ? STEP_FAILED : STEP_DONE;
}

/* group[name] for each name; a pair gives two */
static int numbers_read(PyObject *group, PyObject *names, rl_value *slot, const rl_value *end) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *value = PyDict_GetItemWithError(group, PyTuple_GET_ITEM(names, i));
        if (!value) return PyErr_Occurred() ? STEP_FAILED : STEP_UNUSUAL;
        RL_OWNED PyObject *held = PyList_Check(value) ? PyList_AsTuple(value) : Py_NewRef(value);
        if (!held) return STEP_FAILED;
        const bool several = PyTuple_Check(held);
        for (Py_ssize_t j = 0; j < (several ? PyTuple_GET_SIZE(held) : 1); j++) {
            const int rc = slot == end ? STEP_UNUSUAL
                                       : slot_of_number(several ? PyTuple_GET_ITEM(held, j) : held, slot++);
            if (rc != STEP_DONE) return rc;
        }
    }
    return slot == end ? STEP_DONE : STEP_UNUSUAL;
}

/* group[name], absent: false; 1, 0 or -1 raised */
static int option_read(PyObject *group, PyObject *name) {
    RL_OWNED PyObject *value = Py_XNewRef(PyDict_GetItemWithError(group, name));
    return value ? PyObject_IsTrue(value) : PyErr_Occurred() ? -1 : 0;
}

/* ---- the call ---- */
/* What a class of optimizers says of its step: PLAN in rushlight.optim._group. */
typedef struct {
    int op;
    PyObject *keys, *counts, *numbers; /* borrowed tuples: (name, option or None) pairs; names; names */
} step_plan;

enum { PLAN_PARTS = 4 };
static int plan_read(PyObject *plan, step_plan *p) {
    const bool whole = PyTuple_Check(plan) && PyTuple_GET_SIZE(plan) == PLAN_PARTS;
    for (int i = 1; whole && i < PLAN_PARTS; i++)
        if (!PyTuple_Check(PyTuple_GET_ITEM(plan, i))) return PyErr_BadInternalCall(), -1;
    if (!whole) return PyErr_BadInternalCall(), -1;
    const long op = PyLong_AsLong(PyTuple_GET_ITEM(plan, 0));
    if (op == -1 && PyErr_Occurred()) return -1;
    *p =
        (step_plan){(int)op, PyTuple_GET_ITEM(plan, 1), PyTuple_GET_ITEM(plan, 2), PyTuple_GET_ITEM(plan, 3)};
    const Py_ssize_t lists = 2 + PyTuple_GET_SIZE(p->keys) + PyTuple_GET_SIZE(p->counts);
    if (op >= 0 && op < RL_OP_COUNT && (rl_operators[op].traits & RL_FOREACH) && lists <= STEP_LISTS &&
        __builtin_popcount(rl_operators[op].lists) == lists)
        return 0;
    PyErr_SetString(PyExc_ValueError, "_optimizer_step: the operator takes other lists");
    return -1;
}

/* the names of the lists of state; those of options that are off stay empty */
static int lists_begin(step_lists *l, const step_plan *p, PyObject *group) {
    l->n_counts = (int)PyTuple_GET_SIZE(p->counts);
    l->n_lists = 2 + (int)PyTuple_GET_SIZE(p->keys) + l->n_counts;
    for (int i = 2; i < l->n_lists - l->n_counts; i++) {
        PyObject *pair = PyTuple_GET_ITEM(p->keys, i - 2);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) return STEP_UNUSUAL;
        PyObject *option = PyTuple_GET_ITEM(pair, 1);
        const int on = option == Py_None ? 1 : option_read(group, option);
        if (on < 0) return STEP_FAILED;
        l->key[i] = on ? PyTuple_GET_ITEM(pair, 0) : NULL;
    }
    for (int i = 0; i < l->n_counts; i++)
        l->key[l->n_lists - l->n_counts + i] = PyTuple_GET_ITEM(p->counts, i);
    return STEP_DONE;
}

static int lists_run(const step_plan *p, const step_lists *l, PyObject *group) {
    rl_value args[RL_MAX_ARGS];
    const int n_arg = rl_operators[p->op].n_arg;
    rl_value *scales = args + n_arg - STEP_SCALES;
    const int rc = numbers_read(group, p->numbers, args + l->n_lists, scales);
    if (rc != STEP_DONE) return rc;
    memcpy(scales, l->scales, STEP_SCALES * sizeof *scales);
    if (!lists_are_usual(l)) return STEP_UNUSUAL; /* from here on runs no Python */
    for (int i = 0; i < l->n_lists; i++)
        args[i] = (rl_value){.tag = RL_TENSORS, .n = list_given(l, i) ? l->n : 0, .u.ts = l->list[i]};
    if (!l->n) return STEP_DONE;
    RL_OWNED PyObject *done = rl_op_run(p->op, args, n_arg);
    return done ? STEP_DONE : STEP_FAILED;
}

static int group_step(const step_plan *p, PyObject *group, PyObject *state, PyObject *params,
                      const rl_value *scales) {
    enum { FEW = 256 };
    rl_view *few[FEW];
    step_lists l = {.room = PyList_GET_SIZE(params)};
    const int unusual = option_read(group, key.differentiable);
    const bool counts = PyTuple_GET_SIZE(p->counts) > 0;
    const int capturable = unusual || !counts ? 0 : option_read(group, key.capturable);
    const int fused = unusual || capturable < 0 ? 0 : option_read(group, key.fused);
    if (unusual < 0 || capturable < 0 || fused < 0) return STEP_FAILED;
    l.halves = fused;
    l.capturable = capturable;
    l.scales = scales;
    int rc = unusual ? STEP_UNUSUAL : lists_begin(&l, p, group);
    if (rc != STEP_DONE) return rc;
    rl_view **all =
        l.n_lists * l.room <= FEW ? few : PyMem_Calloc((size_t)l.room, (size_t)l.n_lists * sizeof *all);
    if (!all) return PyErr_NoMemory(), STEP_FAILED;
    for (int i = 0; i < l.n_lists; i++) l.list[i] = all + i * l.room;
    rc = lists_fill(&l, params, state);
    if (rc == STEP_DONE) rc = lists_run(p, &l, group);
    lists_drop(&l);
    if (all != few) PyMem_Free(all);
    return rc;
}

/* ---- Python ---- */
static const char step_doc[] = "_optimizer_step(plan, group, state, grad_scale=None, found_inf=None)\n--\n\n"
                               "The step of a group by the operator of the plan; False: nothing was done, "
                               "since some state is missing or\n"
                               "something is unusual.";

/* 0: it is neither None nor a number on a GPU */
static int scale_read(PyObject *o, rl_value *slot) {
    *slot = (rl_value){.tag = RL_NONE};
    if (o == Py_None) return 1;
    if (!rl_tensor_check(o)) return 0;
    const rl_view *v = &((rl_tensor *)o)->v;
    *slot = (rl_value){.tag = RL_TENSOR, .u.t = &((rl_tensor *)o)->v};
    return v->numel == 1 && v->dtype == RL_F32 && v->device == RL_CUDA;
}

static PyObject *optimizer_step(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    step_plan p;
    rl_value scales[STEP_SCALES] = {{.tag = RL_NONE}, {.tag = RL_NONE}};
    (void)m;
    PyObject *params = (n == 3 || n == 3 + STEP_SCALES) && PyDict_Check(args[1]) && PyDict_Check(args[2])
                           ? PyDict_GetItemWithError(args[1], key.params)
                           : NULL;
    if (!params || !PyList_Check(params)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "_optimizer_step(plan, group, state)");
        return NULL;
    }
    RL_OWNED PyObject *held = Py_NewRef(params);
    if (plan_read(args[0], &p) < 0) return NULL;
    for (int i = 0; i < STEP_SCALES; i++)
        if (n > 3 && !scale_read(args[3 + i], &scales[i])) return PyBool_FromLong(0);
    const int rc = group_step(&p, args[1], args[2], held, scales);
    return rc == STEP_FAILED ? NULL : PyBool_FromLong(rc == STEP_DONE);
}

/* _optimizer_operator(name): the number of the operator of that id */
static PyObject *optimizer_operator(PyObject *m, PyObject *name) {
    const char *id = PyUnicode_AsUTF8(name);
    (void)m;
    if (!id) return NULL;
    for (int i = 0; i < RL_OP_COUNT; i++)
        if ((rl_operators[i].traits & RL_FOREACH) && strcmp(rl_operators[i].id, id) == 0)
            return PyLong_FromLong(i);
    return PyErr_Format(PyExc_ValueError, "_optimizer_operator: there is no step called %R", name);
}

static PyMethodDef step_functions[] = {
    {"_optimizer_step", (PyCFunction)(void (*)(void))optimizer_step, METH_FASTCALL, step_doc},
    {"_optimizer_operator", optimizer_operator, METH_O,
     "_optimizer_operator(name)\n--\n\nThe number of the operator of a step."},
    {NULL, NULL, 0, NULL}};

static int step_init(PyObject *m) {
#define X(name)                                                                                              \
    if (!(key.name = PyUnicode_InternFromString(#name))) return -1;
    KEYS(X)
#undef X
    return PyModule_AddFunctions(m, step_functions);
}

/* ---- what optimizers call ----
 * the steps that run over a whole group, and what all of them share. */
/* _zero_grads(params): every .grad becomes None */
static PyObject *optim_zero_grads(PyObject *m, PyObject *params) {
    (void)m;
    if (!PyList_Check(params)) {
        PyErr_SetString(PyExc_TypeError, "_zero_grads(list of tensors)");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); i++) {
        PyObject *p = PyList_GET_ITEM(params, i);
        if (rl_tensor_check(p)) Py_CLEAR(((rl_tensor *)p)->grad);
    }
    Py_RETURN_NONE;
}

static PyMethodDef optim_functions[] = {
    {"_zero_grads", optim_zero_grads, METH_O, "_zero_grads(params)\n--\n\nEvery .grad becomes None."},
    {NULL, NULL, 0, NULL}};

int rl_optim_init(PyObject *m) {
    return step_init(m) < 0 ? -1 : PyModule_AddFunctions(m, optim_functions);
}
