/* The names that a checkpoint may use: an exact table, never an import. */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *module, *name;
    int code;
} name_row;

static const name_row name_table[] = {
    {"collections", "OrderedDict", RL_SYMBOL_ORDERED},
    {"collections", "Counter", RL_SYMBOL_COUNTER},
    {"builtins", "set", RL_SYMBOL_SET},
    {"builtins", "frozenset", RL_SYMBOL_FROZENSET},
    {"builtins", "bytes", RL_SYMBOL_BYTES},
    {"builtins", "bytearray", RL_SYMBOL_BYTEARRAY},
    {"builtins", "complex", RL_SYMBOL_COMPLEX},
    {"_codecs", "encode", RL_SYMBOL_ENCODE},
    {"torch", "Size", RL_SYMBOL_SIZE},
    {"torch", "device", RL_SYMBOL_DEVICE},
    {"torch", "Tensor", RL_SYMBOL_TENSOR},
    {"torch.nn.parameter", "Parameter", RL_SYMBOL_PARAMETER},
    {"torch._utils", "_rebuild_tensor", RL_SYMBOL_REBUILD},
    {"torch._utils", "_rebuild_tensor_v2", RL_SYMBOL_REBUILD_V2},
    {"torch._utils", "_rebuild_tensor_v3", RL_SYMBOL_REBUILD_V3},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", RL_SYMBOL_REBUILD_META},
    {"torch._utils", "_rebuild_parameter", RL_SYMBOL_REBUILD_PARAMETER},
    {"torch._utils", "_rebuild_parameter_with_state", RL_SYMBOL_REBUILD_STATE},
    {"torch._tensor", "_rebuild_from_type_v2", RL_SYMBOL_REBUILD_TYPE},
    {"torch.storage", "UntypedStorage", RL_SYMBOL_UNTYPED},
    {"torch", "UntypedStorage", RL_SYMBOL_UNTYPED},
    {"torch._utils", "_rebuild_sparse_tensor", RL_SYMBOL_REBUILD_SPARSE},
    {"torch._utils", "_rebuild_qtensor", RL_SYMBOL_REBUILD_QUANTIZED},
    {"torch.serialization", "_get_layout", RL_SYMBOL_GET_LAYOUT},
    {"torch", "per_tensor_affine", RL_SYMBOL_SCHEME + RL_SCHEME_TENSOR},
    {"torch", "per_channel_affine", RL_SYMBOL_SCHEME + RL_SCHEME_CHANNEL},
    {"torch", "per_channel_affine_float_qparams", RL_SYMBOL_SCHEME + RL_SCHEME_CHANNEL_FLOAT},
    {"torch", "per_tensor_symmetric", RL_SYMBOL_SCHEME + RL_SCHEME_TENSOR_SYMMETRIC},
    {"torch", "per_channel_symmetric", RL_SYMBOL_SCHEME + RL_SCHEME_CHANNEL_SYMMETRIC},
#define X(e, c, n, title)                                                                                    \
    {"torch", #n, RL_SYMBOL_DTYPE + e}, {"torch", #title "Storage", RL_SYMBOL_STORAGE + e},                  \
        {"torch.cuda", #title "Storage", RL_SYMBOL_STORAGE + e},                                             \
        {"torch", #title "Tensor", RL_SYMBOL_OLD_TENSOR + e},                                                \
        {"torch.cuda", #title "Tensor", RL_SYMBOL_OLD_TENSOR + e},
    RL_DTYPES(X)
#undef X
};
enum { NAME_ROWS = sizeof name_table / sizeof *name_table };

/* What PyTorch writes and rushlight has no such thing for: named, so that the message can say it. */
static const struct {
    const char *name, *what;
} name_absent[] = {
    {"torch._utils._rebuild_nested_tensor", "nested tensors"},
    {"torch.nested._internal.nested_tensor._rebuild_njt", "nested tensors"},
    {"torch._utils._rebuild_wrapper_subclass", "wrapper subclasses"},
    {"torch._utils._rebuild_device_tensor_from_numpy", "tensors of other devices kept as arrays"},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", "tensors of other devices"},
    {"torch.storage.TypedStorage", "typed storages on their own"},
};

/* Refused whatever the caller allows: these reach the system or other code. */
static const char *const name_blocked[] = {"sys",       "os",    "posix",  "nt",      "subprocess",
                                           "importlib", "runpy", "pty",    "shutil",  "socket",
                                           "ctypes",    "code",  "pickle", "_pickle", "marshal"};

/* How Python 2 called them; the same short list as in the pickles of PyTorch. */
static const name_row name_modules[] = {
    {"__builtin__", "builtins", 0},
    {"copy_reg", "copyreg", 0},
    {"Queue", "queue", 0},
    {"repr", "reprlib", 0},
    {"_abcoll", "collections.abc", 0},
    {"UserDict", "collections", 0},
    {"UserList", "collections", 0},
    {"UserString", "collections", 0},
    {"whichdb", "dbm", 0},
    {"StringIO", "io", 0},
    {"cStringIO", "io", 0},
    {"exceptions", "builtins", 0},
    {"torch.tensor", "torch._tensor", 0},
};
static const struct {
    const char *old, *module, *name;
} name_builtins[] = {
    {"xrange", "builtins", "range"},   {"reduce", "functools", "reduce"}, {"intern", "sys", "intern"},
    {"unichr", "builtins", "chr"},     {"unicode", "builtins", "str"},    {"long", "builtins", "int"},
    {"basestring", "builtins", "str"},
};

const char *rl_symbol_name(int code) {
    for (int i = 0; i < NAME_ROWS; i++) {
        if (name_table[i].code == code) return name_table[i].name;
    }
    return "?";
}

const char *rl_scheme_name(int scheme) {
    return rl_symbol_name(RL_SYMBOL_SCHEME + scheme);
}

static bool name_plain(rl_text t) {
    for (int64_t i = 0; i < t.n; i++) {
        if (t.at[i] <= 32 || t.at[i] >= 127) return false;
    }
    return t.n > 0 && t.n < 256;
}

static void name_modernise(rl_text *module, rl_text *name) {
    if (rl_text_is(*module, "__builtin__")) {
        for (size_t i = 0; i < sizeof name_builtins / sizeof *name_builtins; i++) {
            if (!rl_text_is(*name, name_builtins[i].old)) continue;
            *module = (rl_text){name_builtins[i].module, (int64_t)strlen(name_builtins[i].module)};
            *name = (rl_text){name_builtins[i].name, (int64_t)strlen(name_builtins[i].name)};
            return;
        }
    }
    for (size_t i = 0; i < sizeof name_modules / sizeof *name_modules; i++) {
        if (!rl_text_is(*module, name_modules[i].module)) continue;
        *module = (rl_text){name_modules[i].name, (int64_t)strlen(name_modules[i].name)};
        return;
    }
}

static int name_by_text(const void *key, const void *row) {
    return strcmp(key, *(const char *const *)row);
}

static rl_item *name_refuse(rl_reader *r, rl_text module, const char *path) {
    for (size_t i = 0; i < sizeof name_absent / sizeof *name_absent; i++) {
        if (strcmp(path, name_absent[i].name)) continue;
        rl_reader_fail(r, RL_READER_RUNTIME,
                       "rushlight does not support %s (GLOBAL %s); convert it with PyTorch before saving",
                       name_absent[i].what, path);
        return NULL;
    }
    const char *shown = rl_text_is(module, "builtins") ? path + strlen("builtins.") : path;
    rl_reader_fail(
        r, RL_READER_PICKLE,
        "Unsupported global: GLOBAL %s was not an allowed global by default. Please use "
        "`torch.serialization.add_safe_globals([%s])` or the `torch.serialization.safe_globals([%s])` "
        "context manager to allowlist this global if you trust this class/function.",
        shown, shown, shown);
    return NULL;
}

static rl_item *name_note(rl_reader *r, const char *path) {
    enum { MOST = 4096 };
    int64_t i = 0;
    while (i < r->n_asked && strcmp(r->asked[i], path)) i++;
    if (i == MOST) {
        rl_reader_fail(r, RL_READER_PICKLE, "the file asks for more than %d classes and functions", MOST);
        return NULL;
    }
    if (i == r->n_asked) {
        void *asked = r->asked;
        char *copy = rl_reader_copy(r, path, (int64_t)strlen(path));
        if (!copy || rl_reader_grow(r, &asked, &r->asked_room, i, i + 1, sizeof *r->asked)) return NULL;
        r->asked = asked;
        r->asked[r->n_asked++] = copy;
    }
    rl_item *item = rl_item_new(r, RL_ITEM_USER);
    if (item) item->code = (int32_t)i;
    return item;
}

rl_item *rl_symbol_find(rl_reader *r, rl_text module, rl_text name) {
    if (!name_plain(module) || !name_plain(name)) {
        rl_reader_fail(r, RL_READER_PICKLE, "malformed GLOBAL %s %s", rl_reader_quote(r, module),
                       rl_reader_quote(r, name));
        return NULL;
    }
    name_modernise(&module, &name);
    char path[512];
    memcpy(path, module.at, (size_t)module.n);
    path[module.n] = '.';
    memcpy(path + module.n + 1, name.at, (size_t)name.n);
    path[module.n + 1 + name.n] = 0;
    for (size_t i = 0; i < sizeof name_blocked / sizeof *name_blocked; i++) {
        if (!rl_text_is(module, name_blocked[i])) continue;
        if (r->survey) return name_note(r, path);
        rl_reader_fail(r, RL_READER_PICKLE,
                       "Trying to load unsupported GLOBAL %s whose module %s is blocked.", path,
                       name_blocked[i]);
        return NULL;
    }
    for (int i = 0; i < NAME_ROWS; i++) {
        if (!rl_text_is(name, name_table[i].name) || !rl_text_is(module, name_table[i].module)) continue;
        int code = name_table[i].code;
        bool dtype = code >= RL_SYMBOL_DTYPE && code < RL_SYMBOL_STORAGE;
        bool scheme = code >= RL_SYMBOL_SCHEME && code < RL_SYMBOL_DTYPE;
        rl_item *item = rl_item_new(r, dtype ? RL_ITEM_DTYPE : scheme ? RL_ITEM_SCHEME : RL_ITEM_SYMBOL);
        if (item) item->code = code - (dtype ? RL_SYMBOL_DTYPE : scheme ? RL_SYMBOL_SCHEME : 0);
        return item;
    }
    const char *const *found =
        r->n_allowed ? bsearch(path, r->allowed, (size_t)r->n_allowed, sizeof *r->allowed, name_by_text)
                     : NULL;
    if (!found) return r->survey ? name_note(r, path) : name_refuse(r, module, path);
    rl_item *item = rl_item_new(r, RL_ITEM_USER);
    if (item) item->code = (int32_t)(found - r->allowed);
    return item;
}
