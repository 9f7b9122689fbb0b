/* The functions over lists: which there are, their overloads, their entries.
 *
 * A row is one overload: a schema, the operator that runs for each tensor, and what brings the arguments into
 * that operator's order. Rows of one name are tried in their order: a 0-dim tensor is a Tensor before it is a
 * number. */
#include "foreach.h"
#include "call/call.h"
#include <math.h>
#include <string.h>

/* ---- along the lists of a call, one tensor after the other, through the dispatcher ---- */
/* Brings the arguments of a call into the order of the operator that is run for each tensor; -1: raised. */
typedef int (*rl_foreach_prepare)(rl_op_call *b);

/* ---- the lists fit each other ---- */
/* how many tensors there are; -1: raised */
static int32_t common_length(const rl_op_call *b) {
    int32_t n = -1;
    for (int i = 0; i < b->k.n_arg; i++) {
        const rl_value *s = &b->k.arg[i];
        if (s->tag != RL_TENSORS) continue;
        if (n < 0) n = s->n;
        if (n == 0) {
            PyErr_SetString(PyExc_RuntimeError, "Tensor list must have at least one tensor.");
            return -1;
        }
        if (s->n != n) {
            PyErr_Format(PyExc_RuntimeError,
                         "Tensor lists must have the same number of tensors, got %d and %d", (int)n,
                         (int)s->n);
            return -1;
        }
    }
    for (int i = 0; i < b->k.n_arg; i++) {
        if (b->k.arg[i].tag != RL_OBJECT || b->k.arg[i].n == n) continue;
        PyErr_SetString(PyExc_RuntimeError, "Tensor list must have same number of elements as scalar list.");
        return -1;
    }
    return n;
}

/* ---- along them ---- */
static int number(PyObject *o, rl_value *at) {
    const int rc = rl_scalar_value(o, at);
    if (rc == 0) PyErr_SetString(PyExc_TypeError, "scalars must be numbers");
    return rc == 1 ? 0 : -1;
}

/* what stands at place i of an argument: 0, or -1 raised */
static int element(const rl_value *s, int32_t i, rl_value *at) {
    if (s->tag == RL_TENSORS)
        *at = (rl_value){.tag = RL_TENSOR, .u.t = s->u.ts[i]};
    else if (s->tag == RL_OBJECT)
        return number(PyTuple_GET_ITEM((PyObject *)s->u.o, i), at);
    else
        *at = *s;
    return 0;
}

static PyObject *run_at(const rl_op_call *b, int op, bool inplace, int32_t i) {
    rl_value args[RL_MAX_ARGS];
    for (int j = 0; j < b->k.n_arg; j++)
        if (element(&b->k.arg[j], i, &args[j]) < 0) return NULL;
    return inplace ? rl_op_run_inplace(op, args, b->k.n_arg) : rl_op_run(op, args, b->k.n_arg);
}

/* op(the i-th tensors and numbers of the lists among the arguments, the others as they are) for each i: a
 * tuple of the results, or, in place, None */
static PyObject *foreach_walk(rl_op_call *b, int op, bool inplace) {
    const int32_t n = common_length(b);
    RL_OWNED PyObject *results = n < 0 ? NULL : inplace ? Py_NewRef(Py_None) : PyTuple_New(n);
    for (int32_t i = 0; results && i < n; i++) {
        PyObject *made = run_at(b, op, inplace, i);
        if (!made) return NULL;
        if (inplace)
            Py_DECREF(made);
        else
            PyTuple_SET_ITEM(results, i, made);
    }
    return rl_move(&results);
}

/* ---- arguments that are not what the operator takes ---- */
/* the second argument is a tensor of one element */
static int foreach_scalar(rl_op_call *b) {
    const rl_view *v = b->k.arg[1].u.t;
    if (v->ndim == 0) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "scalar tensor expected to be 0 dim but it has %d dimensions and %lld elements.", v->ndim,
                 (long long)v->numel);
    return -1;
}

/* the fourth one holds a number for each tensor */
static int foreach_packed(rl_op_call *b) {
    const rl_view *v = b->k.arg[3].u.t;
    const int n = b->k.arg[0].n;
    if (v->ndim != 1) {
        PyErr_Format(PyExc_RuntimeError,
                     "Expected packed scalar Tensor to be of dimension 1. Got %d instead.", v->ndim);
        return -1;
    }
    if (v->shape[0] != n) {
        PyErr_Format(PyExc_RuntimeError,
                     "Expected length of scalars to match input of length %d but got %lld "
                     "instead.",
                     n, (long long)v->shape[0]);
        return -1;
    }
    RL_OWNED PyObject *list = PyObject_CallMethod((PyObject *)RL_TENSOR_OF(v), "tolist", NULL);
    PyObject *numbers = list ? PySequence_Tuple(list) : NULL;
    if (rl_op_call_keep_steal(b, numbers) < 0) return -1;
    b->k.arg[3] = (rl_value){.tag = RL_OBJECT, .n = (int32_t)PyTuple_GET_SIZE(numbers), .u.o = numbers};
    return 0;
}

static int foreach_zero(rl_op_call *b) {
    b->k.arg[b->k.n_arg++] = (rl_value){.tag = RL_INT, .u.i = 0};
    return 0;
}

/* -1 and the text, when a tensor of the list has no elements */
static int refuse_empty(const rl_op_call *b, const char *text) {
    for (int32_t i = 0; i < b->k.arg[0].n; i++) {
        if (b->k.arg[0].u.ts[i]->numel) continue;
        PyErr_SetString(PyExc_RuntimeError, text);
        return -1;
    }
    return 0;
}

/* (input, ord, dtype) to (input, ord, dim, keepdim, dtype) */
static int foreach_powsum(rl_op_call *b) {
    b->k.arg[4] = b->k.arg[2];
    b->k.arg[2] = b->k.arg[3] = (rl_value){.tag = RL_NONE};
    b->k.n_arg = 5;
    return 0;
}

static int foreach_norm(rl_op_call *b) {
    const rl_value order = b->k.arg[1];
    if (order.tag == RL_FLOAT && order.u.d == INFINITY &&
        refuse_empty(b, "_foreach_norm cannot compute the infinity norm on an empty tensor because the "
                        "operation does not have an identity") < 0)
        return -1;
    return foreach_powsum(b);
}

static int foreach_max(rl_op_call *b) {
    return refuse_empty(b,
                        "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements "
                        "is undefined.");
}

static int foreach_mm(rl_op_call *b) {
    if (b->k.arg[0].n == b->k.arg[1].n) return 0;
    PyErr_SetString(PyExc_RuntimeError, "_foreach_mm: self and mat2 must have the same number of tensors");
    return -1;
}

/* ---- the functions ---- */
#define UNARY(X)                                                                                             \
    X(abs)                                                                                                   \
    X(acos)                                                                                                  \
    X(asin)                                                                                                  \
    X(atan)                                                                                                  \
    X(ceil)                                                                                                  \
    X(cos)                                                                                                   \
    X(cosh)                                                                                                  \
    X(erf)                                                                                                   \
    X(erfc)                                                                                                  \
    X(exp)                                                                                                   \
    X(expm1)                                                                                                 \
    X(floor)                                                                                                 \
    X(frac)                                                                                                  \
    X(lgamma)                                                                                                \
    X(log)                                                                                                   \
    X(log10)                                                                                                 \
    X(log1p)                                                                                                 \
    X(log2)                                                                                                  \
    X(neg)                                                                                                   \
    X(reciprocal)                                                                                            \
    X(round)                                                                                                 \
    X(rsqrt)                                                                                                 \
    X(sigmoid)                                                                                               \
    X(sign)                                                                                                  \
    X(sin)                                                                                                   \
    X(sinh)                                                                                                  \
    X(sqrt)                                                                                                  \
    X(tan)                                                                                                   \
    X(tanh)                                                                                                  \
    X(trunc)
/* those that answer with new tensors, those that write, those that come as both */
#define ONLY_NEW(X)                                                                                          \
    X(clone)                                                                                                 \
    X(max)                                                                                                   \
    X(mm)                                                                                                    \
    X(norm)                                                                                                  \
    X(powsum)
#define ONLY_INPLACE(X)                                                                                      \
    X(copy)                                                                                                  \
    X(zero)
#define BOTH(X)                                                                                              \
    UNARY(X)                                                                                                 \
    X(add)                                                                                                   \
    X(addcdiv)                                                                                               \
    X(addcmul)                                                                                               \
    X(clamp_max)                                                                                             \
    X(clamp_min)                                                                                             \
    X(div)                                                                                                   \
    X(lerp)                                                                                                  \
    X(maximum)                                                                                               \
    X(minimum)                                                                                               \
    X(mul)                                                                                                   \
    X(pow)                                                                                                   \
    X(sub)

/* ---- rows ---- */
#define LIST "Tensor[] self"
#define NEW(name, op, arguments, prepare)                                                                    \
    {"_foreach_" #name "(" arguments ") -> Tensor[]", RL_OP_##op, prepare},
#define INPLACE(name, op, arguments, prepare)                                                                \
    {"_foreach_" #name "_(" arguments ") -> ()", RL_OP_##op, prepare},
#define EACH(...)                NEW(__VA_ARGS__) INPLACE(__VA_ARGS__)
#define EACH_UNARY(name)         EACH(name, name, LIST, NULL)
#define EACH_TENSOR(name, alpha) EACH(name, name, LIST ", Tensor other" alpha, foreach_scalar)
#define EACH_NUMBER(name, op)                                                                                \
    EACH(name, op, LIST ", Scalar scalar", NULL) EACH(name, op, LIST ", Scalar[] scalars", NULL)
#define EACH_OTHER(name, op, alpha)      EACH(name, op, LIST ", Tensor[] other" alpha, NULL)
#define EACH_BOUND(name, number, tensor) EACH_NUMBER(name, number) EACH_OTHER(name, tensor, "")
#define TWO                              LIST ", Tensor[] tensor1, Tensor[] tensor2, "
#define EACH_POINT(name)                                                                                     \
    EACH(name, name, TWO "Scalar[] scalars", NULL)                                                           \
    EACH(name, name, TWO "Tensor scalars", foreach_packed)                                                   \
    EACH(name, name, TWO "Scalar value=1", NULL)
#define ALPHA ", *, Scalar alpha=1"

static const struct {
    const char *schema;
    int op;
    rl_foreach_prepare prepare;
} rows[] = {
    /* clang-format off */
    UNARY(EACH_UNARY)
    EACH_TENSOR(add, ALPHA) EACH_NUMBER(add, add) EACH_OTHER(add, add, ALPHA)
    EACH_NUMBER(sub, sub) EACH_OTHER(sub, sub, ALPHA)
    EACH_TENSOR(mul, "") EACH_NUMBER(mul, mul) EACH_OTHER(mul, mul, "")
    EACH_TENSOR(div, "") EACH_NUMBER(div, div) EACH_OTHER(div, div, "")
    EACH_BOUND(clamp_min, clamp_min, clamp_min_tensor)
    EACH_BOUND(clamp_max, clamp_max, clamp_max_tensor)
    EACH_BOUND(maximum, clamp_min, maximum)
    EACH_BOUND(minimum, clamp_max, minimum)
    EACH_POINT(addcmul)
    EACH_POINT(addcdiv)
    EACH(lerp, lerp, LIST ", Tensor[] tensors1, Scalar weight", NULL)
    EACH(lerp, lerp, LIST ", Tensor[] tensors1, Scalar[] weight", NULL)
    EACH(lerp, lerp, LIST ", Tensor[] tensors1, Tensor[] weights", NULL)
    NEW(pow, pow_number, "Scalar self, Tensor[] exponent", NULL)
    EACH(pow, pow, LIST ", Scalar exponent", NULL)
    EACH(pow, pow, LIST ", Scalar[] exponent", NULL)
    EACH(pow, pow, LIST ", Tensor[] exponent", NULL)
    NEW(norm, linalg_vector_norm, LIST ", Scalar ord=2, ScalarType? dtype=None", foreach_norm)
    NEW(powsum, linalg_powsum, LIST ", Scalar ord=2, ScalarType? dtype=None", foreach_powsum)
    NEW(max, max, LIST, foreach_max)
    NEW(mm, mm, LIST ", Tensor[] mat2", foreach_mm)
    NEW(clone, clone, LIST ", *, MemoryFormat? memory_format=None", NULL)
    INPLACE(copy, copy_, LIST ", Tensor[] src, bool non_blocking=False", NULL)
    INPLACE(zero, fill_, LIST, foreach_zero)
    /* clang-format on */
};
enum { N_ROWS = sizeof rows / sizeof *rows };
static rl_operator operators[N_ROWS]; /* what the schemas are read into */
static rl_schema schemas[N_ROWS];

/* ---- calls ---- */
#define AT_NEW(name)     AT_##name,
#define AT_INPLACE(name) AT_##name##_,
#define AT_BOTH(name)    AT_##name, AT_##name##_,
enum { BOTH(AT_BOTH) ONLY_NEW(AT_NEW) ONLY_INPLACE(AT_INPLACE) N_FUNCTIONS };
static const rl_schema *first[N_FUNCTIONS];

/* a class among the arguments or a mode answers */
static PyObject *overridden(const char *name, const rl_given *g) {
    RL_OWNED PyObject *package = PyImport_ImportModule("rushlight._C");
    RL_OWNED PyObject *func = package ? PyObject_GetAttrString(package, name) : NULL;
    return func ? rl_override_call(func, NULL, g->args, g->n, g->kwnames) : NULL;
}

/* the list that was written, as it was given */
static PyObject *given_list(const rl_given *g) {
    Py_ssize_t at = 0;
    while (!g->n && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(g->kwnames, at), "self") != 0) at++;
    return Py_NewRef(g->args[at]);
}

static PyObject *run(rl_op_call *b, const rl_given *g) {
    const int row = (int)(b->schema - schemas);
    const bool inplace = !b->schema->answers_list;
    if (b->overridden || rl_override_mode()) return overridden(b->k.name, g);
    if (rows[row].prepare && rows[row].prepare(b) < 0) return NULL;
    RL_OWNED PyObject *results = foreach_walk(b, rows[row].op, inplace);
    return results && inplace ? given_list(g) : rl_move(&results);
}

static PyObject *call(int at, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    const rl_given given = {NULL, args, n, kwnames, false};
    rl_op_call b;
    if (rl_bind(&b, first[at], &given) < 0) return NULL;
    PyObject *result = run(&b, &given);
    rl_op_call_end(&b);
    return result;
}

/* ---- entries ---- */
#define ENTRY(name)                                                                                          \
    static PyObject *entry_##name(PyObject *m, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {     \
        (void)m;                                                                                             \
        return call(AT_##name, args, n, kwnames);                                                            \
    }
#define ENTRY_INPLACE(name) ENTRY(name##_)
#define ENTRY_BOTH(name)    ENTRY(name) ENTRY(name##_)
BOTH(ENTRY_BOTH)
ONLY_NEW(ENTRY)
ONLY_INPLACE(ENTRY_INPLACE)

#define METHOD(name, help)                                                                                   \
    [AT_##name] = {"_foreach_" #name, (PyCFunction)(void (*)(void))entry_##name,                             \
                   METH_FASTCALL | METH_KEYWORDS, "_foreach_" #name "(self, *args, **kwargs)\n--\n\n" help},
#define METHOD_NEW(name) METHOD(name, "Apply " #name "() to each tensor of a list; return a tuple.")
#define METHOD_INPLACE(name)                                                                                 \
    METHOD(name##_, "Apply " #name "_() to each tensor of a list, in place; return the list.")
#define METHOD_BOTH(name) METHOD_NEW(name) METHOD_INPLACE(name)
static PyMethodDef methods[N_FUNCTIONS] = {BOTH(METHOD_BOTH) ONLY_NEW(METHOD_NEW)
                                               ONLY_INPLACE(METHOD_INPLACE)};

/* ---- made at import ---- */
/* Overloads of a name stand close to each other: at most so many rows apart. */
enum { NEAR = 6 };
static void link_overload(int row) {
    for (int i = row - 1; i >= 0 && i >= row - NEAR; i--) {
        if (strcmp(operators[i].name, operators[row].name) != 0) continue;
        schemas[i].next = &schemas[row];
        return;
    }
    for (int at = 0; at < N_FUNCTIONS; at++)
        if (strcmp(methods[at].ml_name, operators[row].name) == 0) first[at] = &schemas[row];
}

int rl_foreach_init(PyObject *m) {
    for (int row = 0; row < N_ROWS; row++) {
        operators[row].schema = rows[row].schema;
        if (rl_schema_read(&schemas[row], &operators[row]) != RL_OK) return rl_raise("rushlight") ? 0 : -1;
        link_overload(row);
    }
    RL_OWNED PyObject *name = PyUnicode_FromString("rushlight");
    for (int at = 0; name && at < N_FUNCTIONS; at++) {
        RL_OWNED PyObject *f = PyCFunction_NewEx(&methods[at], NULL, name);
        if (!f || PyObject_SetAttrString(m, methods[at].ml_name, f) < 0) return -1;
    }
    return name ? 0 : -1;
}
