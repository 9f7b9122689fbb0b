"""The components of csrc/components.toml, enforced on the source text: who may include whom, who may touch
memory, who may keep state, how things are named, how long functions are. Every rule has a text that breaks
it."""

import ast
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = sorted(
    p for kind in ("c", "h", "inc", "cu", "cuh", "def") for p in (ROOT / "csrc").rglob(f"*.{kind}")
)
PYTHON = sorted(
    p for folder in ("pysrc", "tests", "benchmarks", "examples") for p in (ROOT / folder).rglob("*.py")
)
LONGEST = 100  # lines of a function; a file is one idea, as long as that idea is
ROWS = 60


TABLE = tomllib.loads((ROOT / "csrc" / "components.toml").read_text())
# {component: (what it sees, knows Python, public headers)}
COMPONENTS = {name: (set(c["sees"]), c["python"], set(c["headers"])) for name, c in TABLE.items()}
ASKS = {name: set(c.get("asks", ())) for name, c in TABLE.items()}
TOPS = {"init", "cuda_init", "cuda_sim_init"}
STILL_UP = set()
TABLE_READERS = {
    *("ops/table.h", "ops/table.c", "bindings/entries.c", "composite/table.c", "derivatives/table.c")
}
TOUCHES_MEMORY = {"kernel_abi/view.h", "core/storage.c"}
KEEPS_STATE = {
    *("kernels/dnnl/load.c", "kernels/lapack/load.c"),
    *(f"cuda/runtime/{name}.cu" for name in ("allocator", "device", "errors", "host", "stream")),
    "cuda/random/philox.cu",
}
ALLOCATORS = (
    "malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup|alloca|cudaMalloc\\w*|cudaFree\\w*"
)
SIZED = (
    "scratch|rl_gemm_scratch|rl_alloc|rl_alloc_zero|rl_storage_new|rl_storage_on|rl_storage_resize|"
    "packed_new|rl_packed_new|RL_COUNT|rl_count_times|rl_count_plus|rl_count_round_up"
)
NO_VARIABLE = "static|typedef|extern|struct|enum|union|template|using|return|const"
ALL_ROWS = "ops/declarations/all.def"
INTERCEPTORS = "object/interceptors.def", "object/interceptors.h"  # a list and its only reader
KERNEL_PREFIXES = ("ref_", "simd_", "dnnl_", "lapack_", "cuda_")


def component(path):
    """The component of a file, from its path below csrc/."""
    folder, _, name = path.rpartition("/")
    while folder and folder not in COMPONENTS:
        folder = folder.rpartition("/")[0]
    return folder or (name.partition(".")[0] if "/" not in path else "")


def code(text):
    """Without comments and the insides of strings."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def quoted_includes(path, text):
    """Paths below csrc/ of what a file includes: a name without a slash is a neighbour's."""
    here = path.rpartition("/")[0]
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, flags=re.M):
        yield name if "/" in name or not here else f"{here}/{name}"


# ---- the rules: each yields what is wrong with one file ----
def include_direction(path, text):
    own = component(path)
    if own in TOPS:
        return
    if own not in COMPONENTS:
        yield f"{path} belongs to no component"
        return
    for name in quoted_includes(path, text):
        other = component(name)
        if name.endswith(".def") or other == own or (own, other) in STILL_UP:
            continue
        if other not in COMPONENTS[own][0]:
            yield f"{path} ({own}) includes {name} ({other})"
        elif name.rpartition("/")[2] not in COMPONENTS[other][2]:
            yield f"{path} includes {name}, which is private to {other}"


def python_below(path, text):
    if not COMPONENTS.get(component(path), (set(), True))[1] and re.search(
        r"\bPython\.h\b|\bPy_?[A-Z]\w+\s*\(|\bPyObject\b", code(text) + includes(text)
    ):
        yield f"{path} knows Python"


def includes(text):
    return "\n".join(re.findall(r"^\s*#\s*include.*", text, flags=re.M))


def table_readers(path, text):
    for name in quoted_includes(path, text):
        if name == ALL_ROWS and path not in TABLE_READERS:
            yield f"{path} expands the operator table"
        if name.endswith(".def") and name != ALL_ROWS and path != ALL_ROWS and (name, path) != INTERCEPTORS:
            yield f"{path} includes {name}: families are included by {ALL_ROWS}"


def head_comment(path, text):
    if not text.startswith("/*"):
        yield f"{path} has no head comment"


def comments(text):
    found = re.findall(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', text, flags=re.S)
    return " ".join(each for each in found if not each.startswith('"'))


def files_named_exist(path, text):
    """A file that a comment names: a neighbour, or a path from csrc/ or from the root."""
    places = [(ROOT / "csrc" / path).parent, ROOT / "csrc", ROOT]
    for name in re.findall(r"(?<![\w/.<*])[\w/]+\.(?:c|h|inc|cuh?|def|py|md)\b(?!\w)", comments(text)):
        if name != "Python.h" and not any((place / name).exists() for place in places):
            yield f"{path} names {name}, which is not there"


def functions(path, text):
    """(name, lines) of every function of a file of C or Python; there without head and docstring."""
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                yield node.name, node.end_lineno - body[0].lineno + 1 if body else 0
        return
    for found in re.finditer(r"^\w[^;{}#]*?(\w+)\([^;{}]*\)\s*\{\n(.*?)^\}", text, flags=re.M | re.S):
        yield found[1], found[0].count("\n") + 1


def length(path, text):
    for name, lines in functions(path, text):
        if lines > LONGEST:
            yield f"{path}: {name} has {lines} lines"
    rows = len(re.findall(r"^(?:OP|VIEW|COMPOSITE)\(", text, flags=re.M))
    if path.endswith(".def") and rows > ROWS:
        yield f"{path} has {rows} rows; a family holds {ROWS}"


def memory_door(path, text):
    if path not in TOUCHES_MEMORY and re.search(r"\bmem_\b", code(text)):
        yield f"{path} touches a storage's memory past rl_data"


def kernels_own_nothing(path, text):
    if not is_kernel(path) or path in KEEPS_STATE:
        return
    for name in re.findall(rf"\b({ALLOCATORS})\s*\(", code(text)):
        yield f"{path} calls {name}"
    for name in mutable_state(code(text)):
        yield f"{path} keeps state: {name}"


def is_kernel(path):
    return component(path).partition("/")[0] == "kernels" or component(path) == "cuda"


def mutable_state(text):
    text = re.sub(r"^\s*#.*?(?<!\\)$", " ", text, flags=re.M | re.S)  # macros, with their continuations
    for words in re.findall(r"\bstatic\b([^;{=(]*)[;{=]", text):
        if not re.search(r"\bconst\b|\bconstexpr\b|^\s*inline\b|^\s*_?[sS]tatic_assert", words):
            yield "static" + " ".join(words.split("\n"))
    for words in re.findall(r"\bstatic\b([^;{=]*\(\s*\*[^;{=]*)[;=]", text):
        if "const" not in words:
            yield "static" + words
    declared = r"([A-Za-z_][\w \*]*\w(?:\[[^\]]*\])?)\s*(?:=[^=]|;)"
    for words in re.findall(rf"^(?!{NO_VARIABLE}){declared}", text, flags=re.M):
        if "const" not in words and " " in words:
            yield words


def names(path, text):
    own, clean = component(path), code(text)
    if is_kernel(path):
        prefix = own.rpartition("/")[2] + "_"
        for name in re.findall(r"^(?:RL|CUDA)_KERNEL\((\w+)\)", clean, flags=re.M):
            if not name.startswith(prefix) and "##" not in name:
                yield f"{path}: kernel {name} does not start with {prefix}"
    defined = r"^(?!static|typedef|#|return|else|template)[A-Za-z_][\w \*]*?[ \*](\w+)\([^;{}]*\)\s*\{"
    if path.endswith((".h", ".inc", ".cuh")):
        return  # what a header defines is static inline, or a body that its includer names
    for name in re.findall(defined, re.sub(r"__global__[^{]*", "", clean), flags=re.M):
        if not name.startswith(("rl_", "shape_", "compose_", "PyInit_", *KERNEL_PREFIXES)):
            yield f"{path}: {name} is seen by other files and does not start with rl_"
        if name.startswith(KERNEL_PREFIXES) and not is_kernel(path):
            yield f"{path}: {name} is named like a kernel"


def arguments(text, functions):
    """(function, text of its arguments) of every call; declarations are no calls."""
    for found in re.finditer(rf"\b({functions})\s*\(", text):
        at, depth = found.end(), 1
        while depth and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        inside = text[found.end() : at - 1]
        if not re.match(r"\s*(const )?\w+ \*?\w+\s*(,|$)", inside):
            yield found.group(1), inside


def counts_are_checked(path, text):
    for function, inside in arguments(code(text), SIZED):
        inside = re.sub(r"\bsizeof\s*\*|\bsizeof\s*\(\w+( \*)?\)", "sizeof ", inside)
        if re.search(r"\*|<<|\((?:u?int\d*(?:_t)?|size_t|long|unsigned)\)", inside):
            yield f"{path}: {function}({inside}) multiplies or casts unchecked: RL_COUNT does it"


def modules_asked_for(path, text):
    """The Python modules that C imports by name stand in the table, where calls go up to."""
    for name in re.findall(r'ImportModule\("rushlight\.([\w.]+)"', text):
        if name != "_C" and component(path) not in TOPS and name not in ASKS.get(component(path), ()):
            yield f"{path} imports rushlight.{name}"


def no_switch_over_operators(path, text):
    if re.search(r"\bcase\s+RL_OP_|\bswitch\s*\([^)]*\b(row->id|op_id)\b", code(text)):
        yield f"{path} switches over operators"


def values_are_asked(path, text):
    """Slots are read through rl_tensor_arg, rl_value_view or rl_value_tensor, which survives a failure."""
    if path not in ("kernel_abi/call.h", "call/values.h") and (found := re.search(r"\bu\.t->", code(text))):
        yield f"{path} looks into a slot by itself: {found[0]}"
    if found := re.search(r"\btag = \w+(?:\[\w+\])?\.tag\b", code(text)):
        yield f"{path} copies the tag of a slot without what it holds: {found[0]}"


def formulas_ask(path, text):
    """What a node kept is read through X, MAYBE, OUT and the like, which refuse what is not there; but not in
    functions of a node, which are no formulas."""
    text = re.sub(r"^static [^;{}#]*\brl_node \*node\b[^;{}]*\)\s*\{\n.*?^\}", "", text, flags=re.M | re.S)
    formulas = component(path) == "derivatives" and re.search(r"^\s*VJP\(", text, flags=re.M)
    if formulas and (found := re.search(r"(?:\.|->)u\.\w+|\bnode->(?:arg|saved|edge)\b", code(text))):
        yield f"{path} looks into a slot by itself: {found[0]}"


RULES = [
    *(include_direction, python_below, table_readers, head_comment, length, memory_door),
    files_named_exist,
    *(kernels_own_nothing, names, no_switch_over_operators, counts_are_checked, formulas_ask),
    *(modules_asked_for, values_are_asked),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_holds(rule):
    wrong = []
    for source in SOURCES:
        path = str(source.relative_to(ROOT / "csrc"))
        wrong += rule(path, source.read_text())
    assert not wrong, "\n".join(wrong)


HEAD = "/* What it is. */\n"
BREAKS = [
    (include_direction, "core/view.c", '#include "object/tensor.h"'),
    (include_direction, "core/view.h", '#include "call/call.h"'),
    (include_direction, "unpickle/zip.c", '#include "object/tensor.h"'),
    (include_direction, "call/dispatcher.c", '#include "module/module.h"'),
    (include_direction, "autograd/engine.c", '#include "module/module.h"'),
    (include_direction, "module/call.c", '#include "autograd/autograd.h"'),
    (include_direction, "module/call.c", '#include "kernels/simd/conv/conv.h"'),
    (include_direction, "kernel_abi/kernel.h", '#include "core/view.h"'),
    (include_direction, "kernels/ref/factory.c", '#include "core/view.h"'),
    (include_direction, "cuda/arithmetic.cu", '#include "kernels/ref/loops.h"'),
    (include_direction, "object/tensor.c", '#include "autograd/autograd.h"'),
    (include_direction, "unpickle/zip.c", '#include "ops/shape/shape.h"'),
    (include_direction, "core/view.c", '#include "kernel_abi/loops.h"'),
    (include_direction, "helpers.c", ""),
    (python_below, "core/view.c", "#include <Python.h>"),
    (python_below, "unpickle/zip.c", "static PyObject *x;"),
    (python_below, "kernels/ref/factory.c", "int f(void) { return PyErr_Occurred() != NULL; }"),
    (python_below, "cuda/arithmetic.cu", "#include <Python.h>"),
    (table_readers, "autograd_graph/node.c", '#include "ops/declarations/all.def"'),
    (table_readers, "ops/select.c", '#include "declarations/conv.def"'),
    (head_comment, "core/view.c", None),
    (files_named_exist, "core/view.c", "/* see core/gone.c */"),
    (files_named_exist, "core/view.c", "int x; // as tests/test_none.py says"),
    (length, "core/view.c", "int rl_f(void) {\n" + "    f();\n" * 100 + "}\n"),
    (length, "ops/declarations/conv.def", 'OP(a, "")\n' * (ROWS + 1)),
    (memory_door, "call/dispatcher.c", "void *p = v->storage->mem_;"),
    (memory_door, "kernels/ref/factory.c", "void *p = v->storage->mem_;"),
    (kernels_own_nothing, "kernels/ref/factory.c", "void *p = malloc(3);"),
    (kernels_own_nothing, "kernels/dnnl/plan.c", "free(p);"),
    (kernels_own_nothing, "cuda/arithmetic.cu", "cudaMallocAsync(&p, n, s);"),
    (kernels_own_nothing, "kernels/ref/factory.c", "static int calls;"),
    (kernels_own_nothing, "kernels/ref/factory.c", "void f(void) { static int calls = 0; }"),
    (kernels_own_nothing, "kernels/ref/factory.c", "static struct {\n    int n;\n} cache;"),
    (kernels_own_nothing, "kernels/ref/factory.c", "static void (*hook)(void);"),
    (kernels_own_nothing, "kernels/ref/factory.c", "_Thread_local int depth = 0;"),
    (kernels_own_nothing, "cuda/arithmetic.cu", "static thread_local int depth;"),
    (names, "core/view.c", "int view_copy(int a) {\n}"),
    (names, "call/dispatcher.c", "PyObject *call_it(PyObject *a) {\n}"),
    (names, "core/view.c", "int ref_copy(int a) {\n}"),
    (names, "kernels/ref/factory.c", "RL_KERNEL(copy) {\n}"),
    (names, "kernels/simd/factory.c", "RL_KERNEL(ref_copy) {\n}"),
    (names, "kernels/ref/copy.c", "RL_KERNEL(simd_copy) {\n}"),
    (counts_are_checked, "kernels/ref/factory.c", "p = k->svc->scratch(k, RL_COUNT(n * 4), sizeof *p);"),
    (counts_are_checked, "kernels/ref/factory.c", "p = k->svc->scratch(k, RL_COUNT(n), (size_t)item);"),
    (
        counts_are_checked,
        "kernels/simd/factory.c",
        "p = rl_gemm_scratch(k, rl_count_plus(RL_COUNT(n), a * b));",
    ),
    (counts_are_checked, "core/view.c", "p = rl_alloc(RL_COUNT(1 << n), sizeof *p);"),
    (counts_are_checked, "core/view.c", "p = rl_alloc(RL_COUNT(n), sizeof(int) * 2);"),
    (counts_are_checked, "object/storage.c", "s = rl_storage_on(0, 0, RL_COUNT((int64_t)n), 1);"),
    (no_switch_over_operators, "call/dispatcher.c", "switch (op) { case RL_OP_add: break; }"),
    (modules_asked_for, "core/view.c", 'PyImport_ImportModule("rushlight.storage");'),
    (values_are_asked, "composite/new.c", "int f(V x) { return x.u.t->dtype; }"),
    (values_are_asked, "kernels/ref/new.c", "int f(rl_call *k) { return k->arg[0].u.t->dtype; }"),
    (values_are_asked, "derivatives/new.c", "void f(V *to, V x) { to->tag = x.tag; }"),
    (formulas_ask, "derivatives/new.c", "VJP(new) {\n    int n = X(0).u.t->ndim;\n}"),
    (formulas_ask, "derivatives/new.c", "VJP(new) {\n    const rl_value *s = &g->node->arg[1];\n}"),
]


@pytest.mark.parametrize("rule, path, text", BREAKS)
def test_rule_can_fail(rule, path, text):
    assert list(rule(path, HEAD + text if text is not None else "int x;\n"))


GOOD = [
    ("call/dispatcher.c", '#include "call.h"\nstatic int n;\nPyObject *rl_raise(int a) {\n}\n'),
    (
        "kernels/ref/factory.c",
        '#include "loops.h"\nstatic const int n[] = {1};\nRL_KERNEL(ref_copy) {\n    int64_t x = 1;\n}\n',
    ),
    ("kernels/dnnl/load.c", '#include "plan.h"\nstatic void *library;\n'),
    (
        "cuda/arithmetic.cu",
        '#include "strided_iterator.cuh"\ntemplate <class T> static void launch(int a) {\n}\n',
    ),
    (
        "derivatives/new.c",
        '#include "autograd/autograd.h"\nFORMULA(new) {\n    GRAD_OF(0, OP(mul, G, X(1)));\n}\n',
    ),
    (
        "core/memory.c",
        '#include "core/view.h"\nvoid *rl_alloc(rl_count n) {\n    return aligned_alloc(64, n.n);\n}\n',
    ),
    (
        "kernels/ref/sort.c",
        '#include "loops.h"\nstatic int f(rl_call *k, int64_t n) {\n'
        "    int *p = k->svc->scratch(k, RL_COUNT(n, 2, k->threads), sizeof *p);\n    return !p;\n}\n",
    ),
]


@pytest.mark.parametrize("path, text", GOOD)
def test_rules_let_good_files_pass(path, text):
    assert not [wrong for rule in RULES for wrong in rule(path, HEAD + text)]


def test_functions_of_python_are_short():
    assert list(length("x.py", "def f():\n" + "    g()\n" * 101))
    wrong = [w for p in PYTHON for w in length(str(p.relative_to(ROOT)), p.read_text())]
    assert not wrong, "\n".join(wrong)


def test_python_files_say_what_they_are():
    """A docstring at the head; an empty file and the one-line ones of a package need none."""
    wrong = [
        str(p.relative_to(ROOT))
        for p in PYTHON
        if len(p.read_text()) > 200 and not p.read_text().startswith('"""')
    ]
    assert not wrong


def test_headings_of_docstrings_are_underlined():
    """As numpydoc has it, on a line of its own: a formatter that fills paragraphs takes it for text."""
    filled = re.compile(r"^ *(?:Parameters|Returns|Raises|Notes|Examples|Attributes) -{3,}", flags=re.M)
    wrong = [f"{p.relative_to(ROOT)}: {m.group()}" for p in PYTHON for m in filled.finditer(p.read_text())]
    assert not wrong, "\n".join(wrong)


def test_page_has_the_table_of_components():
    """csrc/README.md says what components.toml says; tools/make_components.py writes it."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "make_components.py"), "--check"], check=True)


def test_components_stand_lowest_first():
    order = list(TABLE)
    wrong = [
        (name, low) for name in TABLE for low in COMPONENTS[name][0] if order.index(low) > order.index(name)
    ]
    assert not wrong
    missing = [f"{n}/{h}" for n in TABLE for h in COMPONENTS[n][2] if not (ROOT / "csrc" / n / h).exists()]
    assert not missing


def test_sources_are_where_the_rules_look():
    found = {str(p.relative_to(ROOT / "csrc")) for p in SOURCES}
    assert {"init.c", "core/view.h", "kernels/ref/loops.c", "cuda/arithmetic.cu", ALL_ROWS} <= found
    assert {component(path) for path in found} == set(COMPONENTS) | TOPS


# ---- prototypes: a header declares what its own folder defines ----
BODY = re.compile(r"\{[^{}]*\}")
PROTOTYPE = re.compile(
    r"^(?!static\b|typedef\b|return\b|else\b)(?:extern )?[A-Za-z_][\w \*\n]*?[ \*\n](\w+)\([^;{}]*\)[^;{}]*;",
    flags=re.M,
)
DEFINITION = re.compile(
    r"^(?!static\b|typedef\b|return\b|else\b)[A-Za-z_][\w \*\n]*?[ \*\n](\w+)\([^;{}]*\)\s*\{", flags=re.M
)
VARIABLE = re.compile(r"^extern (?:_Thread_local )?(?:const )?(?:struct )?\w+ ([^;(){}]*);", flags=re.M)
ASSIGNED = re.compile(r"^(?!static\b|typedef\b|extern\b|return\b)(?:\w+ )+([^;(){}=]*)(?:;| =)", flags=re.M)


def without_macros(text):
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*", "", code(text), flags=re.M)


def names_of(words):
    """a, b and c of "*a, b[4], *const c"."""
    return re.findall(r"(\w+)\s*(?:\[[^\]]*\])*\s*(?:,|$)", words)


def declared_names(text):
    text = without_macros(text)
    variables = [name for words in VARIABLE.findall(text) for name in names_of(words)]
    while text != (flat := BODY.sub("<>", text)):
        text = flat
    return PROTOTYPE.findall(text) + variables


def defined_names(text):
    text = without_macros(text)
    return DEFINITION.findall(text) + [n for words in ASSIGNED.findall(text) for n in names_of(words)]


def declared_elsewhere(headers, sources):
    """What headers declare and another component defines; of what macros define nothing is known."""
    owners = {}
    for path, text in sources.items():
        for name in defined_names(text):
            owners.setdefault(name, set()).add(component(path))
    for path, text in headers.items():
        for name in declared_names(text):
            if name in owners and component(path) not in owners[name]:
                yield f"{path} declares {name} of {' and '.join(sorted(owners[name]))}"


def texts_of(*kinds):
    return {str(s.relative_to(ROOT / "csrc")): s.read_text() for s in SOURCES if s.suffix in kinds}


def test_headers_declare_their_own_folder():
    wrong = list(declared_elsewhere(texts_of(".h"), texts_of(".c", ".cu")))
    assert not wrong, "\n".join(wrong)


def test_headers_of_others_are_found():
    sources = {
        "call/new.c": "int rl_f(int a,\n         int b) {\n}\n"
        "static int rl_g(void) {\n}\nint rl_n, *rl_m = 0;\n"
    }
    for text in (
        "int rl_f(int a, int b);",
        "extern int rl_n;",
        "extern int *rl_m;",
        "int\nrl_f(int a, int b); /* 0 */",
    ):
        assert list(declared_elsewhere({"object/new.h": text}, sources)), text
        assert not list(declared_elsewhere({"call/new.h": text}, sources))
    for text in (
        "static int rl_f(void);",
        "int rl_g(void);",
        "typedef int (*rl_f)(int);",
        "/* int rl_f(int); */",
    ):
        assert not list(declared_elsewhere({"object/new.h": text}, sources)), text


# ---- symbols: what the linker sees ----
def newest_objects():
    """{path below csrc/ without its suffix: object}, as far as they are built in this tree."""
    found = {}
    for o in sorted((ROOT / "build").glob("objects/*/csrc/**/*.o"), key=lambda o: o.stat().st_mtime):
        name = o.as_posix().partition("/csrc/")[2].removesuffix(".o")
        source = ROOT / "csrc" / f"{name}.c"
        if source.exists() and source.stat().st_mtime <= o.stat().st_mtime:
            found[name] = o
    return found


def read_symbols(text):
    """(defined, used) of what nm prints."""
    lines = [line.split() for line in text.splitlines()]
    return {w[2] for w in lines if len(w) == 3 and w[1] in "TDBRVWC"}, {w[1] for w in lines if w[0] == "U"}


def symbols_that_go_up(defined, used):
    """Uses of a symbol of a component that the table does not let the user see."""
    owner = {symbol: path for path, symbols in defined.items() for symbol in symbols}
    for path, symbols in used.items():
        own = component(f"{path}.c")
        for symbol in sorted(symbols):
            other = component(f"{owner[symbol]}.c") if symbol in owner else own
            named_by_table = path == "ops/table" and other.startswith("kernels/")
            if own not in TOPS and other != own and other not in COMPONENTS[own][0] and not named_by_table:
                yield f"{path} ({own}) uses {symbol} of {owner[symbol]} ({other})"
            if not COMPONENTS.get(own, (set(), True))[1] and re.match(r"_?Py[A-Z_]", symbol):
                yield f"{path} knows Python: {symbol}"


def files_in_circles(defined, used):
    """Files of which each needs another one that needs it, by way of others or not."""
    owner = {symbol: path for path, symbols in defined.items() for symbol in symbols}
    needs = {p: {owner[s] for s in symbols if s in owner} - {p} for p, symbols in used.items()}

    def reached(start):
        seen, todo = set(), list(needs[start])
        while todo:
            path = todo.pop()
            if path not in seen:
                seen.add(path)
                todo += needs.get(path, ())
        return seen

    return {path for path in needs if path in reached(path)}


# A view, its record, its hooks and what is saved of it are sides of one thing.
CIRCLES = {"autograd_graph/hooks", "autograd_graph/record", "autograd_graph/saved", "autograd_graph/view"}


def test_symbols_go_down_only():
    objects = newest_objects()
    if len(objects) < 0.9 * len([s for s in SOURCES if s.suffix == ".c"]) or not shutil.which("nm"):
        pytest.skip("nm is missing, or the objects were not built in this tree")
    printed = subprocess.run(
        ["nm", "-A", *map(str, objects.values())], capture_output=True, text=True, check=True
    ).stdout
    texts = {}
    for line in printed.splitlines():
        path, _, symbol = line.partition(".o:")
        texts.setdefault(path.partition("/csrc/")[2], []).append(symbol)
    both = {path: read_symbols("\n".join(lines)) for path, lines in texts.items()}
    defined, used = ({path: pair[i] for path, pair in both.items()} for i in (0, 1))
    assert not list(symbols_that_go_up(defined, used))
    assert files_in_circles(defined, used) <= CIRCLES


def test_symbol_rules_can_fail():
    defined, used = read_symbols(
        "0000 T rl_view_copy\n     U rl_raise\n0000 t local\n     U PyErr_Occurred\n"
    )
    assert (defined, used) == ({"rl_view_copy"}, {"rl_raise", "PyErr_Occurred"})
    up = list(symbols_that_go_up({"object/raise": {"rl_raise"}}, {"core/view": used}))
    assert len(up) == 2 and "uses rl_raise" in up[1] and "knows Python" in up[0]
    assert not list(symbols_that_go_up({"core/view": {"rl_view_copy"}}, {"object/tensor": {"rl_view_copy"}}))
    ring = {"call/a": {"x"}, "call/b": {"y"}, "call/c": {"z"}}
    assert files_in_circles(ring, {"call/a": {"y"}, "call/b": {"x", "z"}, "call/c": set()}) == {
        "call/a",
        "call/b",
    }
