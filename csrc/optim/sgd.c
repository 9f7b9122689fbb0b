/* One step of one group of parameters of optim.SGD, if nothing about it is out of the ordinary. */
#include "sgd.h"

/* ---- numbers of a group ---- */
typedef struct {
    double lr, momentum, dampening, weight_decay;
    bool nesterov, maximize, differentiable;
} sgd_group;

enum { STEP_DONE = 1, STEP_UNUSUAL = 0, STEP_FAILED = -1 };

/* the keys of groups and states, interned once */
#define KEYS(X)                                                                                              \
    X(params)                                                                                                \
    X(lr)                                                                                                    \
    X(momentum)                                                                                              \
    X(dampening)                                                                                             \
    X(weight_decay)                                                                                          \
    X(nesterov)                                                                                              \
    X(maximize)                                                                                              \
    X(differentiable)                                                                                        \
    X(momentum_buffer)
static struct {
#define X(name) PyObject *name;
    KEYS(X)
#undef X
} key;

/* 1 and the number; 0 when it is a tensor, say; -1 raised */
static int group_number(PyObject *group, PyObject *name, double *number) {
    PyObject *value = PyDict_GetItemWithError(group, name);
    if (!value || !(PyFloat_CheckExact(value) || PyLong_Check(value))) return STEP_UNUSUAL;
    *number = PyFloat_AsDouble(value);
    return *number == -1 && PyErr_Occurred() ? STEP_FAILED : STEP_DONE;
}
static int group_truth(PyObject *group, PyObject *name, bool *truth) {
    PyObject *value = PyDict_GetItemWithError(group, name);
    *truth = value == Py_True;
    return value && PyBool_Check(value) ? STEP_DONE : STEP_UNUSUAL;
}

static int sgd_group_read(PyObject *group, sgd_group *s) {
    int rc = group_number(group, key.lr, &s->lr);
    if (rc == STEP_DONE) rc = group_number(group, key.momentum, &s->momentum);
    if (rc == STEP_DONE) rc = group_number(group, key.dampening, &s->dampening);
    if (rc == STEP_DONE) rc = group_number(group, key.weight_decay, &s->weight_decay);
    if (rc == STEP_DONE) rc = group_truth(group, key.nesterov, &s->nesterov);
    if (rc == STEP_DONE) rc = group_truth(group, key.maximize, &s->maximize);
    if (rc == STEP_DONE) rc = group_truth(group, key.differentiable, &s->differentiable);
    return rc == STEP_DONE && s->differentiable ? STEP_UNUSUAL : rc;
}

/* ---- lists of parameters, gradients and buffers ---- */
/* One block: three lists of `room` views. The tensors are held, since a kernel without the GIL lets others
 * drop them. */
typedef struct {
    rl_view **params, **grads, **buffers; /* buffers: NULL without momentum */
    Py_ssize_t room;
    int n;
} step_lists;

static void lists_drop(step_lists *l) {
    for (int i = 0; i < l->n; i++) {
        Py_DECREF(RL_TENSOR_OF(l->params[i]));
        Py_DECREF(RL_TENSOR_OF(l->grads[i]));
        if (l->buffers) Py_DECREF(RL_TENSOR_OF(l->buffers[i]));
    }
}

static void lists_add(step_lists *l, rl_tensor *param, rl_tensor *grad, rl_tensor *buffer) {
    l->params[l->n] = &((rl_tensor *)Py_NewRef((PyObject *)param))->v;
    l->grads[l->n] = &((rl_tensor *)Py_NewRef((PyObject *)grad))->v;
    if (buffer) l->buffers[l->n] = &((rl_tensor *)Py_NewRef((PyObject *)buffer))->v;
    l->n++;
}

static bool same_kind(const rl_view *a, const rl_view *b) {
    if (a->dtype != b->dtype || a->device != b->device || a->device_index != b->device_index ||
        a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

/* state[p]["momentum_buffer"], borrowed; NULL when there is none yet. Hashing p may run Python. */
static rl_tensor *buffer_of(PyObject *state, PyObject *p) {
    PyObject *own = PyDict_GetItemWithError(state, p);
    PyObject *buffer = own && PyDict_Check(own) ? PyDict_GetItemWithError(own, key.momentum_buffer) : NULL;
    return buffer && rl_tensor_check(buffer) ? (rl_tensor *)buffer : NULL;
}

/* elements that share memory are refused by the operators that Python then calls */
static bool is_usual(const rl_tensor *t) {
    for (int d = 0; d < t->v.ndim; d++)
        if (t->v.strides[d] == 0 && t->v.shape[d] > 1) return false;
    return !t->base && !t->grad_fn && !t->inference && t->v.device != RL_META && rl_is_float(t->v.dtype);
}

static int lists_fill(step_lists *l, PyObject *params, PyObject *state) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); i++) {
        RL_OWNED PyObject *p = Py_NewRef(PyList_GET_ITEM(params, i));
        if (!rl_tensor_check(p) || l->n == l->room) return STEP_UNUSUAL;
        rl_tensor *t = (rl_tensor *)p, *buffer = l->buffers && t->grad ? buffer_of(state, p) : NULL;
        if (PyErr_Occurred()) return STEP_FAILED;
        rl_tensor *grad = (rl_tensor *)t->grad;
        if (!grad) continue;
        if (l->buffers && !buffer) return STEP_UNUSUAL;
        lists_add(l, t, grad, buffer);
    }
    return STEP_DONE;
}

/* when all of them are found, since finding one may run Python, which may change those before */
static bool lists_are_usual(const step_lists *l) {
    for (int i = 0; i < l->n; i++) {
        const rl_view *v = l->params[i];
        if (!is_usual(RL_TENSOR_OF(v)) || !same_kind(v, l->grads[i]) || v->dtype != l->params[0]->dtype ||
            (l->buffers && !same_kind(v, l->buffers[i])))
            return false;
    }
    return true;
}

static rl_slot list_slot(rl_view **list, int n) {
    return (rl_slot){.tag = RL_TENSORS, .n = list ? n : 0, .u.ts = list};
}

static int sgd_run(const sgd_group *s, step_lists *l) {
    rl_slot args[9] = {list_slot(l->params, l->n),
                       list_slot(l->grads, l->n),
                       list_slot(l->buffers, l->n),
                       {.tag = RL_FLOAT, .u.d = s->lr},
                       {.tag = RL_FLOAT, .u.d = s->momentum},
                       {.tag = RL_FLOAT, .u.d = s->dampening},
                       {.tag = RL_FLOAT, .u.d = s->weight_decay},
                       {.tag = RL_TRUTH, .u.i = s->nesterov},
                       {.tag = RL_TRUTH, .u.i = s->maximize}};
    if (!l->n) return STEP_DONE;
    RL_OWNED PyObject *done = rl_op_run(RL_OP_sgd, args, 9);
    return done ? STEP_DONE : STEP_FAILED;
}

/* _sgd_step(group, state): True when the step was made, False when Python must make it */
static PyObject *sgd_step(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    enum { FEW = 64 };
    rl_view *few[3 * FEW];
    sgd_group s;
    (void)m;
    PyObject *params = n == 2 && PyDict_Check(args[0]) && PyDict_Check(args[1])
                           ? PyDict_GetItemWithError(args[0], key.params)
                           : NULL;
    if (!params || !PyList_Check(params)) {
        PyErr_SetString(PyExc_TypeError, "_sgd_step(group, state)");
        return NULL;
    }
    RL_OWNED PyObject *held = Py_NewRef(params);
    Py_ssize_t count = PyList_GET_SIZE(held);
    int rc = sgd_group_read(args[0], &s);
    if (rc == STEP_DONE) {
        rl_view **all = count <= FEW ? few : PyMem_Malloc(3 * (size_t)count * sizeof *all);
        if (!all) return PyErr_NoMemory();
        step_lists l = {all, all + count, s.momentum != 0 ? all + 2 * count : NULL, count, 0};
        rc = lists_fill(&l, held, args[1]);
        if (rc == STEP_DONE && !lists_are_usual(&l)) rc = STEP_UNUSUAL;
        if (rc == STEP_DONE) rc = sgd_run(&s, &l);
        lists_drop(&l);
        if (all != few) PyMem_Free(all);
    }
    return rc == STEP_FAILED ? NULL : PyBool_FromLong(rc == STEP_DONE);
}

static PyMethodDef sgd_functions[] = {
    {"_sgd_step", (PyCFunction)(void (*)(void))sgd_step, METH_FASTCALL,
     "_sgd_step(group, state)\n--\n\nThe step of a group of optim.SGD; False: nothing was done, since "
     "something "
     "is unusual."},
    {NULL, NULL, 0, NULL}};

int rl_sgd_init(PyObject *m) {
#define X(name)                                                                                              \
    if (!(key.name = PyUnicode_InternFromString(#name))) return -1;
    KEYS(X)
#undef X
    return PyModule_AddFunctions(m, sgd_functions);
}
