/* Reads the schemas of the declarations once, at import. */
#include "schema.h"
#include "core/error.h"
#include "promote.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

rl_schema rl_schemas[RL_OP_COUNT];
rl_arg rl_args[RL_ALL_ARGS];
static int n_args;

/* A text that lives as long as the process, each once: most arguments are called alike. */
enum { N_NAMES = 1 << 11, NAMES_SIZE = 1 << 15 };
static uint32_t hash_of(const char *word) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    while (*word) hash = (hash ^ (uint8_t)*word++) * 16777619u;
    return hash;
}
static const char *name_kept(const char *word) {
    static char store[NAMES_SIZE];
    static const char *list[N_NAMES];
    static uint32_t n, used;
    uint32_t at = hash_of(word) % N_NAMES;
    for (; list[at]; at = (at + 1) % N_NAMES)
        if (strcmp(list[at], word) == 0) return list[at];
    size_t size = strlen(word) + 1;
    if (++n > N_NAMES / 2 || used + size > sizeof store) return NULL;
    list[at] = memcpy(store + used, word, size);
    used += (uint32_t)size;
    return list[at];
}

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
static bool reader_word(reader *r, char *word, size_t size) {
    size_t n = 0;
    while (isalnum((unsigned char)*r->at) || *r->at == '_') {
        if (n + 1 >= size) return false;
        word[n++] = *r->at++;
    }
    word[n] = 0;
    return n > 0;
}

/* "-1", "0.01", "1e-05": not strtod, which follows the locale. Exact up to 15 digits and 1e22. */
static bool reader_number(reader *r, double *d, bool *whole) {
    bool negative = reader_take(r, "-");
    int64_t digits = 0;
    int exponent = 0;
    if (!isdigit((unsigned char)*r->at)) return false;
    while (isdigit((unsigned char)*r->at)) digits = digits * 10 + (*r->at++ - '0');
    *whole = *r->at != '.';
    if (reader_take(r, "."))
        for (; isdigit((unsigned char)*r->at); exponent--) digits = digits * 10 + (*r->at++ - '0');
    if (reader_take(r, "e-")) {
        int more = 0;
        while (isdigit((unsigned char)*r->at)) more = more * 10 + (*r->at++ - '0');
        exponent -= more;
    }
    double scale = 1;
    for (int i = 0; i < -exponent; i++) scale *= 10;
    *d = (double)(negative ? -digits : digits) / scale;
    return -exponent <= 22;
}

static rl_status schema_bad(const reader *r, const char *what) {
    return rl_error_set(RL_RUNTIME, "operator \"%s\": %s at \"%.20s\"", r->all, what, r->at);
}

static const struct {
    const char *name;
    rl_arg_kind kind;
} type_names[] = {{"Tensor", RL_ARG_TENSOR},       {"Operand", RL_ARG_OPERAND},
                  {"Scalar", RL_ARG_SCALAR},       {"int", RL_ARG_INT},
                  {"float", RL_ARG_FLOAT},         {"bool", RL_ARG_BOOL},
                  {"str", RL_ARG_STRING},          {"Padding", RL_ARG_PADDING},
                  {"MaybeInt", RL_ARG_MAYBE_INTS}, {"ScalarType", RL_ARG_DTYPE},
                  {"Device", RL_ARG_DEVICE},       {"Layout", RL_ARG_LAYOUT},
                  {"MemoryFormat", RL_ARG_FORMAT}, {"Generator", RL_ARG_RNG},
                  {"Number", RL_ARG_NUMBER}};
enum { N_TYPES = sizeof type_names / sizeof *type_names };

static rl_status read_type(reader *r, rl_arg *a) {
    char word[40];
    if (!reader_word(r, word, sizeof word)) return schema_bad(r, "a type is missing");
    size_t i = 0;
    while (i < N_TYPES && strcmp(type_names[i].name, word) != 0) i++;
    if (i == N_TYPES) return schema_bad(r, "unknown type before");
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
        if (a->kind == RL_ARG_SCALAR) a->kind = RL_ARG_SCALARS;
        if (a->kind == RL_ARG_FLOAT) a->kind = RL_ARG_FLOATS;
        if (a->kind == RL_ARG_TENSOR) a->kind = maybe ? RL_ARG_MAYBE_TENSORS : RL_ARG_TENSORS;
    }
    a->optional = list ? reader_take(r, "?") : maybe;
    return RL_OK;
}

static rl_status read_default(reader *r, rl_arg *a) {
    a->has_fallback = true;
    if (reader_take(r, "None") || reader_take(r, "[]")) return RL_OK;
    if (reader_take(r, "True") || reader_take(r, "False")) {
        a->fallback = (rl_value){.tag = RL_BOOLEAN, .u.i = r->at[-2] == 'u'};
        return RL_OK;
    }
    if (*r->at == '\'') {
        char word[40];
        const char *end = strchr(r->at + 1, '\'');
        size_t n = end ? (size_t)(end - r->at - 1) : sizeof word;
        if (n >= sizeof word) return schema_bad(r, "bad text");
        memcpy(word, r->at + 1, n);
        word[n] = 0;
        const char *kept = name_kept(word);
        if (!kept) return schema_bad(r, "too many names");
        a->fallback = (rl_value){.tag = RL_STRING, .u.s = kept};
        r->at = end + 1;
        return RL_OK;
    }
    bool whole;
    double d;
    if (reader_take(r, "[")) {
        static int64_t ints[32]; /* lists live as long as the process */
        static int n;
        a->fallback = (rl_value){.tag = RL_INTS, .u.ints = ints + n};
        do {
            if (n == 32 || !reader_number(r, &d, &whole)) return schema_bad(r, "bad list");
            ints[n++] = (int64_t)d;
            a->fallback.n++;
        } while (reader_take(r, ", "));
        return reader_take(r, "]") ? RL_OK : schema_bad(r, "] is missing");
    }
    if (!reader_number(r, &d, &whole)) return schema_bad(r, "bad default");
    if (whole && a->kind != RL_ARG_FLOAT)
        a->fallback = (rl_value){.tag = RL_INT, .u.i = (int64_t)d};
    else
        a->fallback = (rl_value){.tag = RL_FLOAT, .u.d = d};
    return RL_OK;
}

static rl_status read_results(reader *r, rl_schema *s) {
    char word[40];
    s->op->n_out = s->op->n_shown = 1;
    s->answers_list = strstr(r->at, "[]") != NULL;
    if (reader_take(r, " -> ()")) s->op->n_out = s->op->n_shown = 0;
    if (!reader_take(r, " -> (")) return RL_OK;
    for (int i = 0;; i++) {
        reader_space(r);
        if (i == RL_MAX_OUT || !reader_take(r, "Tensor")) return schema_bad(r, "bad results");
        bool hidden = reader_take(r, "?"); /* made only for the derivative */
        if (!reader_take(r, " ") || !reader_word(r, word, sizeof word)) return schema_bad(r, "bad results");
        if (!(s->results[i] = name_kept(word))) return schema_bad(r, "too many names");
        s->op->n_out = (uint8_t)(i + 1);
        if (!hidden) s->op->n_shown = (uint8_t)(i + 1);
        if (reader_take(r, ")")) return RL_OK;
        if (!reader_take(r, ",")) return schema_bad(r, ", is missing");
    }
}

/* what the table says of an operator by the positions of its arguments */
static void note_argument(rl_operator *op, const rl_arg *a, int i) {
    if (a->kind == RL_ARG_RNG) op->rng_arg = (int8_t)i;
    if (a->kind == RL_ARG_DTYPE) op->dtype_arg = (int8_t)i;
    if (a->kind == RL_ARG_DEVICE) op->device_arg = (int8_t)i;
    if (strcmp(a->name, "requires_grad") == 0) op->grad_arg = (int8_t)i;
    if (a->written && (i > 0 || a->kind == RL_ARG_TENSORS)) op->side_writes |= 1u << i;
    const bool operand = a->kind == RL_ARG_OPERAND || a->kind == RL_ARG_NUMBER;
    if (operand) op->operands |= 1u << i;
    if (a->kind <= RL_ARG_TENSORS) op->edges |= 1u << i;
    if (a->kind == RL_ARG_TENSOR || operand) op->tensors |= 1u << i; /* a number becomes one */
    if (a->kind == RL_ARG_TENSORS || a->kind == RL_ARG_MAYBE_TENSORS) op->lists |= 1u << i;
}

static rl_status read_arguments(reader *r, rl_schema *s) {
    bool keyword_only = false;
    while (!reader_take(r, ")")) {
        char word[40];
        reader_space(r);
        if (reader_take(r, "*,")) {
            keyword_only = true;
            continue;
        }
        if (s->n == RL_MAX_ARGS || n_args == RL_ALL_ARGS) return schema_bad(r, "too many arguments");
        rl_arg *a = &rl_args[n_args];
        a->keyword_only = keyword_only;
        if (read_type(r, a) != RL_OK) return RL_FAIL;
        reader_space(r);
        if (!reader_word(r, word, sizeof word)) return schema_bad(r, "an argument has no name");
        if (!(a->name = name_kept(word))) return schema_bad(r, "too many names");
        if (reader_take(r, "=") && read_default(r, a) != RL_OK) return RL_FAIL;
        s->splits |=
            a->kind == RL_ARG_PADDING || (a->kind == RL_ARG_OPERAND && s->arg->kind == RL_ARG_TENSOR);
        if (!a->has_fallback) s->required |= 1u << s->n;
        note_argument(s->op, a, s->n++);
        n_args++;
        if (!keyword_only) s->n_positional = s->n;
        reader_take(r, ",");
    }
    int last = s->n_positional - 1;
    bool varargs = (s->op->traits & RL_VARARGS) && last >= 0 && s->arg[last].kind == RL_ARG_INTS;
    s->rest = varargs ? last : -1;
    return RL_OK;
}

/* ---- what a node saves ---- */
static int argument_named(const rl_schema *s, const char *name) {
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->arg[i].name, name) == 0) return i;
    return -1;
}
static int result_named(const rl_schema *s, const char *name) {
    for (int i = 0; i < s->op->n_out; i++)
        if (strcmp(s->results[i] ? s->results[i] : "result", name) == 0) return i;
    return -1;
}

/* "input, other if input or weight, result, layout" */
static rl_status read_saves(const rl_schema *s) {
    reader r = {s->op->saves, s->op->schema};
    while (r.at && *r.at) {
        char word[40];
        reader_space(&r);
        if (!reader_word(&r, word, sizeof word)) return schema_bad(&r, "bad saves");
        int i = argument_named(s, word), result = result_named(s, word);
        uint32_t wanted_by = 0;
        if (reader_take(&r, " if ")) do {
                if (!reader_word(&r, word, sizeof word) || argument_named(s, word) < 0)
                    return schema_bad(&r, "saved for the gradient of no argument");
                wanted_by |= 1u << argument_named(s, word);
            } while (reader_take(&r, " or "));
        if (i >= 0)
            rl_args[s->arg - rl_args + i].saved_for = wanted_by ? wanted_by : UINT32_MAX;
        else if (result >= 0 && !wanted_by)
            s->op->saved_out |= (uint8_t)(1u << result);
        else if (strcmp(word, "layout") == 0 && !wanted_by)
            s->op->saves_layout = true;
        else
            return schema_bad(&r, "saves what is not there");
        if (*r.at && !reader_take(&r, ",")) return schema_bad(&r, ", is missing in what it saves");
    }
    return RL_OK;
}

/* "index, weight refused, indices": arguments and results */
static rl_status read_non_differentiable(const rl_schema *s) {
    reader r = {s->op->non_differentiable, s->op->schema};
    while (r.at && *r.at) {
        char word[40];
        reader_space(&r);
        if (!reader_word(&r, word, sizeof word)) return schema_bad(&r, "bad names");
        int i = argument_named(s, word), result = result_named(s, word);
        const bool refused = reader_take(&r, " refused");
        if (i >= 0 && refused) s->op->refused |= 1u << i;
        if (i >= 0)
            s->op->edges &= ~(1u << i);
        else if (result >= 0 && !refused)
            s->op->fixed_out |= (uint8_t)(1u << result);
        else
            return schema_bad(&r, "no argument and no result");
        if (*r.at && !reader_take(&r, ",")) return schema_bad(&r, ", is missing");
    }
    return RL_OK;
}

/* "input, weight" */
static rl_status read_channels_last(const rl_schema *s) {
    reader r = {s->op->channels_last, s->op->schema};
    while (r.at && *r.at) {
        char word[40];
        reader_space(&r);
        if (!reader_word(&r, word, sizeof word)) return schema_bad(&r, "bad names");
        int i = argument_named(s, word);
        if (i < 0 || !(s->op->tensors >> i & 1)) return schema_bad(&r, "no tensor among the arguments");
        s->op->format_of |= 1u << i;
        if (*r.at && !reader_take(&r, ",")) return schema_bad(&r, ", is missing");
    }
    return RL_OK;
}

rl_status rl_schema_read(rl_schema *s, rl_operator *op) {
    reader r = {op->schema, op->schema};
    s->op = op;
    op->arg = s->arg = &rl_args[n_args];
    if (!op->cost) op->cost = op->traits & RL_GEMM_LIKE ? 1 : 2;
    op->dtype_arg = op->device_arg = op->grad_arg = op->rng_arg = -1;
    if (!reader_word(&r, op->name, sizeof op->name) || !reader_take(&r, "("))
        return schema_bad(&r, "no name");
    if (read_arguments(&r, s) != RL_OK) return RL_FAIL;
    op->n_arg = (uint8_t)s->n;
    /* 1 - x: the left side of arithmetic may be the number */
    if ((op->operands & 2) && op->rule > RL_TYPES_keep) op->operands |= 1;
    if (__builtin_popcount(op->operands) > RL_MAX_NUMBERS)
        return schema_bad(&r, "too many numbers as tensors");
    rl_types_note(op);
    if (read_results(&r, s) != RL_OK || read_saves(s) != RL_OK) return RL_FAIL;
    return read_non_differentiable(s) == RL_OK ? read_channels_last(s) : RL_FAIL;
}

/* The self-check: a declaration that cannot work fails the import and is named. */
static rl_status check_operator(const rl_schema *s) {
    const rl_operator *op = s->op;
    const char *wrong = NULL;
    if (op->kind == RL_KIND_OP && !op->kernels[RL_CPU][0]) wrong = "no CPU";
    if (op->kind == RL_KIND_OP && !op->rule) wrong = "no TYPES";
    if (op->kind != RL_KIND_COMPOSITE && !op->shape) wrong = "no SHAPE";
    if (op->kind != RL_KIND_COMPOSITE && !op->node == !op->no_grad)
        wrong = "neither GRAD nor NO_GRAD, or both";
    if (op->kind == RL_KIND_VIEW && s->arg[0].kind != RL_ARG_TENSOR) wrong = "a view of no tensor";
    if ((op->variants & (RL_INPLACE | RL_ONLY_INPLACE)) && s->arg[0].kind > RL_ARG_OPERAND)
        wrong = "in-place on no tensor";
    if ((op->variants & RL_ONLY_INPLACE) && !s->arg[0].written)
        wrong = "its first argument is not marked (a!)";
    if (!op->doc || !*op->doc) wrong = "no doc";
    return wrong ? rl_error_set(RL_RUNTIME, "operator %s: %s", op->id, wrong) : RL_OK;
}

/* Overloads find each other by the name: `last` of each, in a table. */
static void link_overloads(void) {
    enum { N = 1 << 12 };
    _Static_assert(RL_OP_COUNT < N / 2, "the table of names is too full");
    static rl_schema *last[N];
    for (int i = 0; i < RL_OP_COUNT; i++) {
        rl_schema *s = &rl_schemas[i];
        uint32_t at = hash_of(s->op->name) % N;
        while (last[at] && strcmp(last[at]->op->name, s->op->name) != 0) at = (at + 1) % N;
        s->first = !last[at];
        if (last[at]) last[at]->next = s;
        last[at] = s;
    }
}

rl_status rl_schema_init(void) {
    for (int i = 0; i < RL_OP_COUNT; i++)
        if (rl_schema_read(&rl_schemas[i], &rl_operators[i]) != RL_OK ||
            check_operator(&rl_schemas[i]) != RL_OK)
            return RL_FAIL;
    link_overloads();
    return RL_OK;
}

void rl_schema_defaults(const rl_schema *s, rl_value *args) {
    for (int i = 0; i < s->n; i++)
        if (args[i].tag == RL_NONE && s->arg[i].has_fallback) args[i] = s->arg[i].fallback;
}
