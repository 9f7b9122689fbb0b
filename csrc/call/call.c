/* A call: what it borrows from Python until it ends, the metadata of its tensors, and the note on its
 * error. */
#include "call.h"
#include "core/dtype.h"
#include "core/error.h"
#include <stdlib.h>
#include <string.h>

/* ---- what it borrows ---- */
void rl_op_call_drop(rl_op_call *b) {
    while (b->n_keep > 0) Py_DECREF(b->keep[--b->n_keep]);
    while (b->lists) {
        rl_list *next = b->lists->next;
        PyMem_Free(b->lists);
        b->lists = next;
    }
}

rl_view **rl_op_call_list(rl_op_call *b, Py_ssize_t n) {
    rl_list *list = n > INT32_MAX ? NULL : PyMem_Malloc(sizeof *list + (size_t)n * sizeof *list->views);
    if (!list) {
        PyErr_NoMemory();
        return NULL;
    }
    list->next = b->lists;
    b->lists = list;
    return list->views;
}

int rl_op_call_keep_steal(rl_op_call *b, PyObject *o) {
    if (!o) return -1;
    if (b->n_keep == RL_KEEP) {
        Py_DECREF(o);
        PyErr_SetString(PyExc_SystemError, "an operator keeps too many temporaries");
        return -1;
    }
    b->keep[b->n_keep++] = o;
    return 0;
}

/* ---- one look at the tensors of a call, for all that the dispatcher asks of them ---- */
/* a number that became a tensor (rl_wrapped_number) is a view of no tensor */
static bool is_wrapped(const rl_op_call *b, const rl_view *v) {
    const char *at = (const char *)v, *wrapped = (const char *)b->wrapped;
    return b->n_wrapped && at >= wrapped && at < wrapped + sizeof b->wrapped;
}

static void meta_add(const rl_op_call *b, rl_call_meta *l, const rl_view *v, int arg) {
    l->dtypes |= RL_BIT(v->dtype);
    l->devices |= 1u << v->device;
    l->elements += (uint64_t)v->numel;
    l->bits |= (uint64_t)v->numel;
    if (!is_wrapped(b, v) && rl_requires_grad(RL_TENSOR_OF(v))) l->needs |= 1u << arg;
}

void rl_call_meta_read(rl_op_call *b) {
    const rl_operator *op = b->schema->op;
    rl_call_meta *l = &b->meta;
    *l = (rl_call_meta){.dtypes = 0};
    for (uint32_t left = op->tensors; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const rl_value *s = &b->k.arg[i];
        if (s->tag == RL_TENSOR)
            meta_add(b, l, s->u.t, i);
        else if (s->tag != RL_NONE)
            l->numbers |= 1u << s->tag;
    }
    for (uint32_t left = op->lists; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const rl_value *s = &b->k.arg[i];
        for (int j = 0; s->tag == RL_TENSORS && j < s->n; j++)
            if (s->u.ts[j]) meta_add(b, l, s->u.ts[j], i);
    }
}

/* ---- the note on an exception that leaves a call ----
 * operator, shapes and dtypes. */
/* The exception in flight has it as its attribute rushlight_call, and with RUSHLIGHT_NOTES=1 as a note:
 * Python prints notes below the text, and what reads the last line of a traceback wants the text there. */
static int note_add(PyObject *value, const char *text) {
    static int noted = -1;
    RL_OWNED PyObject *said = PyUnicode_FromString(text);
    if (!said || PyObject_SetAttrString(value, "rushlight_call", said) < 0) return -1;
    if (noted < 0) noted = getenv("RUSHLIGHT_NOTES") && strcmp(getenv("RUSHLIGHT_NOTES"), "0") != 0;
    if (!noted) return 0;
    RL_OWNED PyObject *note = PyUnicode_FromFormat("rushlight: in %U", said);
    RL_OWNED PyObject *done = note ? PyObject_CallMethod(value, "add_note", "O", note) : NULL;
    return done ? 0 : -1;
}

static void error_note(const rl_operator *op, const rl_call *k) {
    char text[900], dims[RL_DIMS_TEXT];
    size_t used = (size_t)snprintf(text, sizeof text, "%s(", op->name);
    for (int i = 0, shown = 0; i < k->n_arg && used + 330 < sizeof text; i++) {
        if (k->arg[i].tag != RL_TENSOR) continue;
        const rl_view *v = k->arg[i].u.t;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", shown++ ? ", " : "",
                                 rl_dtype_name(v->dtype), rl_dims_text(dims, v->shape, v->ndim));
    }
    snprintf(text + used, sizeof text - used, ")");
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *value = PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace) PyException_SetTraceback(value, trace);
#endif
    if (value && note_add(value, text) < 0) PyErr_Clear();
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(value);
#else
    PyErr_Restore(type, value, trace);
#endif
}

PyObject *rl_raise_call(const rl_op_call *b) {
    rl_raise(b->schema->op->name);
    error_note(b->schema->op, &b->k);
    return NULL;
}

int rl_refuse_expanded(void) {
    PyErr_SetString(PyExc_RuntimeError,
                    "unsupported operation: more than one element of the written-to tensor refers to "
                    "a single memory "
                    "location. Please clone() the tensor before performing the operation.");
    return -1;
}

int rl_refuse_overlap(void) {
    PyErr_SetString(PyExc_RuntimeError,
                    "unsupported operation: some elements of the input tensor and the written-to tensor "
                    "refer to a single memory location. Please clone() the tensor before performing the "
                    "operation.");
    return -1;
}
