/* Operators that a device has no kernel for, on the CPU: RUSHLIGHT_CUDA_FALLBACK=1. */
#include "call.h"
#include "core/error.h"
#include "core/services.h"
#include "core/storage.h"
#include "core/view.h"
#include "ops/select.h"
#include <stdlib.h>
#include <string.h>

/* Note [Fallback]
 *
 *   arguments on the device ──► copies on the CPU ──► the CPU's kernel ──► results back to the device
 *
 * The dispatcher has given the results their shapes and memory. What is written in place is an argument, too,
 * so that result and argument are one copy. */
enum { MAX_COPIES = 256 };
typedef struct {
    rl_view *there; /* on the device */
    PyObject *here; /* owned */
} copied;
typedef struct {
    rl_call k; /* of the copies */
    int n;
    copied of[MAX_COPIES];
    rl_view *lists[MAX_COPIES];
    int n_lists;
} fallback;

static int warn_once(const rl_operator *op) {
    static bool warned[RL_OP_COUNT];
    if (warned[op - rl_operators]) return 0;
    warned[op - rl_operators] = true;
    return PyErr_WarnFormat(PyExc_UserWarning, 1,
                            "'%s' has no CUDA kernel for these inputs and runs on the CPU, as "
                            "RUSHLIGHT_CUDA_FALLBACK=1 asks for",
                            op->name);
}

/* a tensor on the memory that v names */
static PyObject *tensor_over(const rl_view *v) {
    rl_tensor *t = rl_tensor_alloc(rl_tensor_type, 0);
    if (!t) return NULL;
    if (rl_view_copy(&t->v, v) != RL_OK) {
        Py_DECREF(t);
        return rl_raise(NULL);
    }
    rl_storage_retain(t->v.storage);
    rl_tensor_reveal(t);
    return (PyObject *)t;
}

static int move(rl_view *to, rl_view *from) {
    RL_OWNED PyObject *target = tensor_over(to), *source = target ? tensor_over(from) : NULL;
    return source ? rl_tensor_copy((rl_tensor *)target, (rl_tensor *)source) : -1;
}

static bool is_same(const rl_view *a, const rl_view *b) {
    return a->storage == b->storage && a->offset == b->offset && a->numel == b->numel && a->dtype == b->dtype;
}

/* the CPU's copy of v, which `fills` says whether to fill; NULL raised */
static rl_view *copy_of(fallback *f, rl_view *v, bool fills) {
    if (v->device == RL_CPU) return v;
    for (int i = 0; i < f->n; i++)
        if (is_same(f->of[i].there, v)) return &((rl_tensor *)f->of[i].here)->v;
    if (f->n == MAX_COPIES) {
        PyErr_SetString(PyExc_NotImplementedError, "RUSHLIGHT_CUDA_FALLBACK: too many tensors");
        return NULL;
    }
    rl_tensor *t = rl_tensor_new(v->dtype, RL_CPU, 0, v->shape, v->ndim);
    if (!t) return NULL;
    if (!fills) rl_strides_as(&t->v, v);
    f->of[f->n++] = (copied){v, (PyObject *)t};
    return fills && move(&t->v, v) < 0 ? NULL : &t->v;
}

static int copy_list(fallback *f, rl_value *s) {
    rl_view **list = f->lists + f->n_lists;
    if (s->n > MAX_COPIES - f->n_lists) {
        PyErr_SetString(PyExc_NotImplementedError, "RUSHLIGHT_CUDA_FALLBACK: too many tensors");
        return -1;
    }
    for (int j = 0; j < s->n; j++) {
        list[j] = s->u.ts[j];
        if (list[j] && !(list[j] = copy_of(f, list[j], true))) return -1;
    }
    f->n_lists += s->n;
    s->u.ts = list;
    return 0;
}

static int copy_call(fallback *f, const rl_call *k) {
    f->k = *k;
    for (int i = 0; i < k->n_arg; i++) {
        rl_value *s = &f->k.arg[i];
        if (s->tag == RL_TENSOR && !(s->u.t = copy_of(f, s->u.t, true))) return -1;
        if (s->tag == RL_TENSORS && copy_list(f, s) < 0) return -1;
    }
    for (int i = 0; i < k->n_out; i++)
        if (!(f->k.out[i] = copy_of(f, k->out[i], false))) return -1;
    return 0;
}

static int copy_back(const fallback *f, const rl_operator *op, const rl_call *k) {
    for (int i = 0; i < k->n_out; i++)
        if (move(k->out[i], f->k.out[i]) < 0) return -1;
    for (int i = 0; op->side_writes >> i; i++) {
        const rl_value *there = &k->arg[i], *here = &f->k.arg[i];
        if (!(op->side_writes >> i & 1)) continue;
        if (there->tag == RL_TENSOR && move(there->u.t, here->u.t) < 0) return -1;
        for (int j = 0; there->tag == RL_TENSORS && j < there->n; j++)
            if (there->u.ts[j] && move(there->u.ts[j], here->u.ts[j]) < 0) return -1;
    }
    return 0;
}

static rl_status run(fallback *f, const rl_operator *op, const rl_call *k) {
    if (warn_once(op) < 0 || copy_call(f, k) < 0) return RL_FAIL;
    rl_call_begin(&f->k);
    rl_status status = rl_dispatch(op, &f->k, RL_CPU);
    rl_call_end(&f->k);
    return status == RL_OK && copy_back(f, op, k) < 0 ? RL_FAIL : status;
}

rl_status rl_fallback_run(const rl_operator *op, rl_call *k) {
    fallback *f = PyMem_Calloc(1, sizeof *f);
    if (!f) return rl_error_set(RL_MEMORY, "there is no memory for a call on the CPU");
    rl_status status = run(f, op, k);
    for (int i = 0; i < f->n; i++) Py_DECREF(f->of[i].here);
    PyMem_Free(f);
    return status;
}

bool rl_fallback_asked(void) {
    const char *asked = getenv("RUSHLIGHT_CUDA_FALLBACK");
    return asked && strcmp(asked, "1") == 0;
}
