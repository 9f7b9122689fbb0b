"""Note [Python in between] of csrc/object/raw.h, enforced on the source text: addresses of elements exist in
RL_RAW regions only, nothing there runs Python, and a tensor's dims are copied before they are handed on."""

import re

import pytest

from .test_components import COMPONENTS, HEAD, ROOT, SOURCES, TOPS, code, component

WITH_PYTHON = {name for name, (_, python, _) in COMPONENTS.items() if python} | TOPS
ACCESSORS = "rl_data|rl_const_data|rl_storage_bytes|rl_host_data"
# Who hands addresses on without reading there, or moves bytes through a driver.
NO_READERS = {"bindings/dlpack.c", "bindings/methods.c", "bindings/pinned.c", "object/numpy.c"}
NO_READERS |= {"object/storage.c", "object/gc.c", "files/bytes.c"}
# What a region may call. Numbers are no objects that the collector knows, and no exception that is set runs
# code, but what %S, %R and %A show does.
ALLOWED = {
    *("if", "for", "while", "switch", "return", "sizeof", "defined"),
    *("memcpy", "memcmp", "memmove", "memset", "madvise", "RL_LIKELY", "RL_UNLIKELY", "RL_TENSOR_OF"),
    *(
        "PyBool_FromLong",
        "PyComplex_FromDoubles",
        "PyFloat_FromDouble",
        "PyLong_FromLong",
        "PyLong_FromLongLong",
    ),
    *("PyLong_FromUnsignedLong", "PyLong_FromUnsignedLongLong", "PyLong_FromVoidPtr", "PyErr_SetString"),
    *("PyErr_Format", "Py_NewRef", "rl_version_bump", "rl_version_of", "rl_size_at"),
    *("rl_move", "__builtin_add_overflow", "__builtin_mul_overflow", "__atomic_store_n"),
    *("rl_scalar_element", "rl_call_allocate", "rl_host_data"),
    "rl_run_kernels",  # gives way to other threads, but works on private looks meanwhile
}
MEMBERS = {"copy", "host_is_pinned", "shape", "stream", "synchronize"}  # of rows and drivers
RUN_PYTHON = {"rl_storage_release"}  # what it frees may be an array, whose weak references have callbacks
# Who hands an address out, to an object that keeps the memory where it is.
LENDERS = {("object/numpy.c", "PyArray_New"), ("object/storage.c", "PyBuffer_FillInfo")}
# Who is done with dims before it runs anything, or copies them first.
READS_DIMS = {
    *(
        "memcpy",
        "memcmp",
        "rl_dims_text",
        "rl_dims_numel",
        "rl_dims_contiguous",
        "rl_tensor_new",
        "rl_size_new",
        "rl_view_check_bounds",
    ),
    *("size_fill_steal", "tensor_dims", "keep_dims"),
}


def declared_below():
    """Functions of the components without Python: none runs any."""
    below = {name for name, (_, python, _) in COMPONENTS.items() if not python}
    headers = [
        s for s in SOURCES if s.suffix == ".h" and component(str(s.relative_to(ROOT / "csrc"))) in below
    ]
    text = "".join(code(s.read_text()) for s in headers)
    return set(re.findall(r"\b(rl_\w+)\(", text)) - RUN_PYTHON


BELOW = declared_below()


def block_end(text, at):
    """Where the block that `at` stands in ends."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth < 0:
            return i
    return len(text)


def functions(text):
    """{name: body} of what a file defines."""
    head = r"^(?!typedef|#|return|else)[A-Za-z_][\w \*]*?[ \*](\w+)\([^;{}]*\)\s*\{"
    return {m[1]: text[m.end() : block_end(text, m.end())] for m in re.finditer(head, text, flags=re.M)}


def regions(text):
    return [(m.end(), block_end(text, m.end())) for m in re.finditer(r"\bRL_RAW;", text)]


def calls_wrong(path, body, local, seen):
    """Names of what a piece of code calls, itself or in functions of its file, and may not."""
    for member, name in re.findall(r"(->|\.)?\s*\b([A-Za-z_]\w*)\s*\(", body):
        if member:
            allowed = name in MEMBERS
        else:
            allowed = name in ALLOWED | BELOW or (path, name) in LENDERS
        if allowed or name in seen or re.fullmatch(r"[A-Z]", name):
            continue
        if not member and name in local:
            yield from calls_wrong(path, local[name], local, seen | {name})
        else:
            yield name


# ---- the rules: each yields what is wrong with one file ----
def raw_addresses(path, text):
    text = code(text)
    if component(path) not in WITH_PYTHON or path == "object/raw.h":
        return
    inside = regions(text)
    for m in re.finditer(rf"\b({ACCESSORS})\s*\(", text):
        if not any(begin <= m.start() < end for begin, end in inside):
            yield f"{path} calls {m[1]} outside of RL_RAW"
        before = re.split(r"[;{}]", text[: m.start()])[-1]
        if re.match(r"\s*[\w.>\[\]-]+\s*=(?!=)|\s*return\s*$", before):
            yield f"{path} lets an address out of its region: {before.strip()} {m[1]}"


def raw_calls(path, text):
    if component(path) not in WITH_PYTHON or path == "object/raw.h":
        return
    shown = re.search(r"PyErr_Format\([^;]*%[SRA]", text)
    text = code(text)
    local = functions(text)
    for begin, end in regions(text):
        for name in calls_wrong(path, text[begin:end], local, set()):
            yield f"{path} calls {name} in RL_RAW"
        if shown and "PyErr_Format(" in text[begin:end]:
            yield f"{path} formats objects, and errors in RL_RAW"


def dims_of_views(path, text):
    if component(path) not in WITH_PYTHON or path == "object/raw.h":
        return
    text = code(text)
    views = {"v"} | set(re.findall(r"\brl_view \*?(\w+)\b(?!\()", text))
    for line in re.findall(r"\brl_view [^;{}()]*?[;{]", text):
        views |= set(re.findall(r"\*(\w+) =", line))
    owner = rf"(?:\bu\.ts?(?:\[\w+\])?->|\bview_of\(\w+\)->|\b(?:{'|'.join(views)})(?:->|\.))"
    for m in re.finditer(rf"{owner}(?:shape|strides)\b(?!\s*(?:\[|\(|=[^=]))", text):
        if text[: m.start()].endswith("sizeof *") or re.search(r"sizeof \*[\w>.-]*$", text[: m.start()]):
            continue
        depth, i = 0, m.start()
        while i > 0 and depth >= 0 and text[i] not in ";{}":
            i -= 1
            depth += (text[i] == ")") - (text[i] == "(")
        caller = re.search(r"(\w+)\s*$", text[:i])
        if depth >= 0 or not caller or caller[1] not in READS_DIMS:
            yield f"{path} hands on dims of a tensor, which may change: {m[0]}"


def host_readers(path, text):
    """Memory of a device cannot be read: whoever reads asks rl_host_data, which may answer nothing."""
    if component(path) not in WITH_PYTHON or path in NO_READERS or path == "object/raw.h":
        return
    for m in re.finditer(
        r"\brl_const_data\s*\(|\b(?:rl_data|rl_storage_bytes)\s*\([^;]*?\bRL_READ\b", code(text)
    ):
        yield f"{path} reads by {m[0]}: rl_host_data looks where the memory lies"


RULES = [raw_addresses, raw_calls, dims_of_views, host_readers]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_holds(rule):
    wrong = []
    for source in SOURCES:
        path = str(source.relative_to(ROOT / "csrc"))
        wrong += rule(path, source.read_text())
    assert not wrong, "\n".join(wrong)


BREAKS = [
    (raw_addresses, "float *p = rl_data(v, RL_WRITE);"),
    (raw_addresses, "{ RL_RAW; } const char *p = rl_const_data(v);"),
    (raw_addresses, "char *p; { RL_RAW; p = rl_data(v, RL_READ); }"),
    (raw_addresses, "RL_RAW; return rl_const_data(v);"),
    (raw_addresses, "RL_RAW; job->at = rl_storage_bytes(s, RL_READ);"),
    (raw_calls, "RL_RAW; PyObject *list = PyList_New(0);"),
    (raw_calls, "RL_RAW; Py_DECREF(o);"),
    (raw_calls, "RL_RAW; rl_tensor *t = rl_tensor_new(0, 0, 0, NULL, 0);"),
    (raw_calls, "RL_RAW; rl_storage_release(s);"),
    (raw_calls, "RL_RAW; type->tp_alloc(type, 0);"),
    (
        raw_calls,
        "static int helper(void) {\n    return PyErr_WarnEx(0, 0, 1);\n}\nint f(void) { RL_RAW; helper(); }",
    ),
    (raw_calls, 'int f(void) { RL_RAW; PyErr_Format(PyExc_TypeError, "%S", o); }'),
    (host_readers, "RL_RAW; return PyFloat_FromDouble(*(const float *)rl_const_data(v));"),
    (host_readers, "RL_RAW; memcpy(to, rl_data(v, RL_READ), 8);"),
    (host_readers, "RL_RAW; memcpy(to, rl_storage_bytes(s, RL_READ), 8);"),
    (dims_of_views, "rl_op_run(op, (rl_value[]){{.u.ints = t->v.shape}}, 1);"),
    (dims_of_views, "const int64_t *dims = t->v.strides;"),
    (dims_of_views, "const rl_view *x = &t->v; f(x->shape + 1);"),
    (dims_of_views, "g(view_of(x)->strides, 2);"),
    (dims_of_views, "h(k->arg[0].u.t->shape);"),
]


@pytest.mark.parametrize("rule, text", BREAKS)
def test_rule_can_fail(rule, text):
    body = text if text.startswith(("static", "int")) else f"int f(void) {{\n    {text}\n}}\n"
    assert list(rule("call/dispatcher.c", HEAD + body))


GOOD = [
    "{ RL_RAW; const char *p = rl_host_data(v); memcpy(to, p, 8); } PyList_New(0);",
    "RL_RAW; return PyFloat_FromDouble(*(const float *)rl_host_data(v));",
    "const rl_view *x = &t->v; memcpy(dims, x->shape, x->ndim * sizeof *x->shape); n = x->shape[0];",
    "t->v.shape = t->v.small; if (row->shape(k)) g(meta->shape);",
]


@pytest.mark.parametrize("text", GOOD)
def test_rules_let_good_code_pass(text):
    assert not [
        w for rule in RULES for w in rule("call/dispatcher.c", HEAD + f"int f(void) {{\n    {text}\n}}\n")
    ]


def test_regions_are_found():
    """The dispatcher and the export of numbers have them, or the rules would read nothing."""
    found = {str(s.relative_to(ROOT / "csrc")) for s in SOURCES if regions(code(s.read_text()))}
    assert {"call/dispatcher.c", "call/scalar.c", "composite/data_movement.c"} <= found
