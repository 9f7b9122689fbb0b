/* Reads the schema strings of the rows once, at import. */
#include "call.h"
#include <structmember.h>
#include <ctype.h>
#include <string.h>

rl_schema rl_schemas[RL_OP_COUNT];

typedef struct {
    const char *at, *all;
} reader;

static void reader_space(reader *r) {
    while (*r->at == ' ') r->at++;
}
static bool reader_take(reader *r, const char *text) {
    size_t n = strlen(text);
    if (strncmp(r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}
static int reader_word(reader *r, char *word, size_t size) {
    size_t n = 0;
    while (isalnum((unsigned char)*r->at) || *r->at == '_') {
        if (n + 1 >= size) return -1;
        word[n++] = *r->at++;
    }
    word[n] = 0;
    return n ? 0 : -1;
}

static int schema_bad(const reader *r, const char *what) {
    PyErr_Format(PyExc_SystemError, "operator row \"%s\": %s at \"%.20s\"", r->all, what, r->at);
    return -1;
}

static const struct {
    const char *name;
    rl_arg_kind kind;
} type_names[] = {{"Tensor", RL_ARG_TENSOR},
                  {"Operand", RL_ARG_OPERAND},
                  {"Scalar", RL_ARG_SCALAR},
                  {"int", RL_ARG_INT},
                  {"float", RL_ARG_FLOAT},
                  {"bool", RL_ARG_BOOL},
                  {"str", RL_ARG_TEXT},
                  {"Padding", RL_ARG_PADDING},
                  {"MaybeInt", RL_ARG_MAYBE_INTS},
                  {"ScalarType", RL_ARG_DTYPE},
                  {"Device", RL_ARG_DEVICE},
                  {"Layout", RL_ARG_LAYOUT},
                  {"MemoryFormat", RL_ARG_FORMAT},
                  {"Generator", RL_ARG_RNG}};

static int read_type(reader *r, rl_arg *a) {
    char word[40];
    if (reader_word(r, word, sizeof word) < 0) return schema_bad(r, "a type is missing");
    size_t i = 0;
    while (i < Py_ARRAY_LENGTH(type_names) && strcmp(type_names[i].name, word) != 0) i++;
    if (i == Py_ARRAY_LENGTH(type_names)) return schema_bad(r, "unknown type before");
    a->kind = (uint8_t)type_names[i].kind;
    if (reader_take(r, "(a!)"))
        a->written = true;
    else
        reader_take(r, "(a)");
    bool maybe = reader_take(r, "?"), list = reader_take(r, "[");
    if (list) {
        a->length = isdigit((unsigned char)*r->at) ? (uint8_t)strtol(r->at, (char **)&r->at, 10) : 0;
        if (!reader_take(r, "]")) return schema_bad(r, "] is missing");
        if (a->kind == RL_ARG_INT) a->kind = RL_ARG_INTS;
        if (a->kind == RL_ARG_TENSOR) a->kind = maybe ? RL_ARG_MAYBE_TENSORS : RL_ARG_TENSORS;
    }
    a->optional = list ? reader_take(r, "?") : maybe;
    return 0;
}

static int read_default(reader *r, rl_arg *a) {
    a->has_fallback = true;
    if (reader_take(r, "None") || reader_take(r, "[]")) return 0;
    if (reader_take(r, "True") || reader_take(r, "False")) {
        a->fallback = (rl_slot){.tag = RL_TRUTH, .u.i = r->at[-2] == 'u'};
        return 0;
    }
    if (*r->at == '\'') {
        static char texts[16][16]; /* defaults that are words live as long as the process */
        static int n;
        const char *end = strchr(r->at + 1, '\'');
        if (!end || end - r->at > 15 || n == 16) return schema_bad(r, "bad text");
        memcpy(texts[n], r->at + 1, (size_t)(end - r->at - 1));
        a->fallback = (rl_slot){.tag = RL_TEXT, .u.s = texts[n++]};
        r->at = end + 1;
        return 0;
    }
    char *end;
    double d = strtod(r->at, &end);
    if (end == r->at) return schema_bad(r, "bad default");
    bool whole = !memchr(r->at, '.', (size_t)(end - r->at));
    if (whole && a->kind != RL_ARG_FLOAT)
        a->fallback = (rl_slot){.tag = RL_INT, .u.i = (int64_t)d};
    else
        a->fallback = (rl_slot){.tag = RL_FLOAT, .u.d = d};
    r->at = end;
    return 0;
}

static int read_results(reader *r, rl_schema *s) {
    char word[40];
    s->row->n_out = s->row->n_shown = 1;
    if (reader_take(r, " -> ()")) s->row->n_out = s->row->n_shown = 0;
    if (!reader_take(r, " -> (")) return 0;
    for (int i = 0;; i++) {
        reader_space(r);
        if (i == RL_MAX_OUT || !reader_take(r, "Tensor")) return schema_bad(r, "bad results");
        bool hidden = reader_take(r, "?"); /* made only for the derivative */
        if (!reader_take(r, " ") || reader_word(r, word, sizeof word) < 0)
            return schema_bad(r, "bad results");
        RL_OWNED PyObject *name = PyUnicode_InternFromString(word);
        if (!name) return -1;
        s->results[i] = PyUnicode_AsUTF8(rl_give(&name)); /* interned: lives on */
        s->row->n_out = (uint8_t)(i + 1);
        if (!hidden) s->row->n_shown = (uint8_t)(i + 1);
        if (reader_take(r, ")")) return 0;
        if (!reader_take(r, ",")) return schema_bad(r, ", is missing");
    }
}

static int read_schema(rl_schema *s, rl_row *row) {
    reader r = {row->schema, row->schema};
    bool keyword_only = false;
    s->row = row;
    s->next = -1;
    row->dtype_arg = row->device_arg = row->grad_arg = row->rng_arg = -1;
    if (reader_word(&r, row->name, sizeof row->name) < 0 || !reader_take(&r, "("))
        return schema_bad(&r, "no name");
    while (!reader_take(&r, ")")) {
        char word[40];
        reader_space(&r);
        if (reader_take(&r, "*,")) {
            keyword_only = true;
            continue;
        }
        if (s->n == RL_MAX_ARGS) return schema_bad(&r, "too many arguments");
        rl_arg *a = &s->arg[s->n];
        a->keyword_only = keyword_only;
        if (read_type(&r, a) < 0) return -1;
        reader_space(&r);
        if (reader_word(&r, word, sizeof word) < 0) return schema_bad(&r, "an argument has no name");
        if (!(a->name = PyUnicode_InternFromString(word))) return -1;
        if (reader_take(&r, "=") && read_default(&r, a) < 0) return -1;
        if (a->kind == RL_ARG_RNG) row->rng_arg = (int8_t)s->n;
        if (a->kind == RL_ARG_DTYPE) row->dtype_arg = (int8_t)s->n;
        if (a->kind == RL_ARG_DEVICE) row->device_arg = (int8_t)s->n;
        if (strcmp(word, "requires_grad") == 0) row->grad_arg = (int8_t)s->n;
        if (a->written && (s->n > 0 || a->kind == RL_ARG_TENSORS)) row->side_writes |= (uint16_t)(1u << s->n);
        if (a->kind == RL_ARG_OPERAND) row->operands |= (uint16_t)(1u << s->n);
        if (a->kind <= RL_ARG_TENSORS && !(s->n < 8 && row->saves & FIXED(s->n)))
            row->edges |= (uint16_t)(1u << s->n);
        s->n++;
        if (!keyword_only) s->n_positional = s->n;
        reader_take(&r, ",");
    }
    row->n_arg = (uint8_t)s->n;
    /* 1 - x: the left side of arithmetic may be the number */
    if ((row->operands & 2) && row->rule != RL_TYPES_keep) row->operands |= 1;
    if (__builtin_popcount(row->operands) > RL_WORDS) return schema_bad(&r, "too many numbers as tensors");
    return read_results(&r, s);
}

/* one result a line, as PyTorch prints them */
static PyObject *results_repr(PyObject *self) {
    RL_OWNED PyObject *text = PyUnicode_FromFormat("%s(", Py_TYPE(self)->tp_name);
    PyMemberDef *member = Py_TYPE(self)->tp_members;
    for (Py_ssize_t i = 0; text && i < PyTuple_GET_SIZE(self); i++)
        Py_SETREF(text, PyUnicode_FromFormat("%U%s\n%s=%R", text, i ? "," : "", member[i].name,
                                             PyTuple_GET_ITEM(self, i)));
    return text ? PyUnicode_FromFormat("%U)", text) : NULL;
}

static int make_tuple_type(rl_schema *s) {
    PyStructSequence_Field fields[RL_MAX_OUT + 1] = {{NULL, NULL}};
    char *name = PyMem_Malloc(64); /* the type keeps it */
    if (!name) return -1;
    snprintf(name, 64, "torch.return_types.%s", s->row->name);
    for (int i = 0; i < s->row->n_shown; i++) fields[i].name = s->results[i];
    PyStructSequence_Desc desc = {name, NULL, fields, s->row->n_shown};
    s->tuple_type = PyStructSequence_NewType(&desc);
    if (!s->tuple_type) return -1;
    s->tuple_type->tp_repr = results_repr;
    return 0;
}

/* The self-check: a row that cannot work fails the import and is named. */
static int check_row(const rl_schema *s) {
    const rl_row *row = s->row;
    const char *wrong = NULL;
    if (row->kind == RL_ROW_OP && !row->cpu[0]) wrong = "no CPU kernel";
    if (row->kind != RL_ROW_COMPOSE && !row->shape) wrong = "no shape rule";
    if (row->kind == RL_ROW_VIEW && s->arg[0].kind != RL_ARG_TENSOR) wrong = "a view of no tensor";
    if ((row->flags & (RL_INPLACE | RL_ONLY_INPLACE)) && s->arg[0].kind != RL_ARG_TENSOR)
        wrong = "in-place on no tensor";
    if ((row->flags & RL_ONLY_INPLACE) && !s->arg[0].written) wrong = "its first argument is not marked (a!)";
    if (!row->doc || !*row->doc) wrong = "no doc";
    if (!wrong) return 0;
    PyErr_Format(PyExc_SystemError, "operator row %s: %s", row->id, wrong);
    return -1;
}

int rl_schema_init(void) {
    for (int i = 0; i < RL_OP_COUNT; i++) {
        rl_schema *s = &rl_schemas[i];
        if (read_schema(s, &rl_rows[i]) < 0 || check_row(s) < 0) return -1;
        if (s->row->n_shown > 1 && make_tuple_type(s) < 0) return -1;
        s->first = true;
        for (int j = i - 1; j >= 0; j--) {
            if (strcmp(rl_rows[j].name, rl_rows[i].name) != 0) continue;
            rl_schemas[j].next = i;
            s->first = false;
            break;
        }
    }
    return 0;
}

/* ---- how errors and stubs print a schema ---- */
static const char *kind_text(const rl_arg *a) {
    switch ((rl_arg_kind)a->kind) {
    case RL_ARG_TENSOR: return "Tensor";
    case RL_ARG_OPERAND: return "Tensor";
    case RL_ARG_TENSORS:
    case RL_ARG_MAYBE_TENSORS: return "tuple of Tensors";
    case RL_ARG_SCALAR: return "Number";
    case RL_ARG_INT: return "int";
    case RL_ARG_FLOAT: return "float";
    case RL_ARG_BOOL: return "bool";
    case RL_ARG_INTS:
    case RL_ARG_MAYBE_INTS:
    case RL_ARG_PADDING: return "tuple of ints";
    case RL_ARG_TEXT: return "str";
    case RL_ARG_DTYPE: return "torch.dtype";
    case RL_ARG_DEVICE: return "torch.device";
    case RL_ARG_LAYOUT: return "torch.layout";
    case RL_ARG_FORMAT: return "torch.memory_format";
    case RL_ARG_RNG: return "torch.Generator";
    }
    return "object";
}

static PyObject *default_text(const rl_arg *a) {
    switch (a->fallback.tag) {
    case RL_TRUTH: return PyUnicode_FromString(a->fallback.u.i ? "True" : "False");
    case RL_INT: return PyUnicode_FromFormat("%lld", (long long)a->fallback.u.i);
    case RL_TEXT: return PyUnicode_FromFormat("\"%s\"", a->fallback.u.s);
    case RL_FLOAT: {
        RL_OWNED PyObject *d = PyFloat_FromDouble(a->fallback.u.d);
        return d ? PyObject_Repr(d) : NULL;
    }
    default: return PyUnicode_FromString("None");
    }
}

PyObject *rl_schema_text(const rl_schema *s, bool padding_as_word) {
    RL_OWNED PyObject *text = PyUnicode_FromString("(");
    for (int i = 0; text && i < s->n; i++) {
        const rl_arg *a = &s->arg[i];
        const char *star = a->keyword_only && (i == 0 || !s->arg[i - 1].keyword_only) ? "*, " : "";
        bool word = padding_as_word && a->kind == RL_ARG_PADDING;
        RL_OWNED PyObject *fallback = word              ? PyUnicode_FromString("\"valid\"")
                                      : a->has_fallback ? default_text(a)
                                                        : PyUnicode_FromString("");
        if (!fallback) return NULL;
        Py_SETREF(text, PyUnicode_FromFormat("%U%s%s%s %U%s%U", text, i ? ", " : "", star,
                                             word ? "str" : kind_text(a), a->name,
                                             a->has_fallback ? " = " : "", fallback));
    }
    if (text && (s->row->flags & RL_OUT)) {
        bool starred = s->n && s->arg[s->n - 1].keyword_only;
        Py_SETREF(text, PyUnicode_FromFormat("%U, %sTensor out = None", text, starred ? "" : "*, "));
    }
    return text ? PyUnicode_FromFormat("%U)", text) : NULL;
}
