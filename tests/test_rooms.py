"""The rooms of docs/architecture.md, enforced on the source text: who may include whom, who may touch memory,
who may keep state, how things are named, how long files may be. Every rule is shown a text that breaks it."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
SOURCES = sorted(p for kind in ("c", "h", "cu", "def") for p in (ROOT / "csrc").rglob(f"*.{kind}"))
PYTHON = sorted(
    p for folder in ("pysrc", "tests", "benchmarks", "examples") for p in (ROOT / folder).rglob("*.py")
)
FULL = 700
ROWS = 60

# A room may include itself and what stands here.
SEES = {
    "init": {"module", "grad", "tensor", "load", "core", "kernels", "contract"},
    "module": {"tensor", "load", "core", "contract"},
    "grad": {"tensor", "core", "contract"},
    "tensor": {"load", "core", "contract"},
    "load": {"core", "contract"},
    "core": {"contract"},
    "kernels": {"contract"},
    "cuda": {"contract"},
    "cuda_module": {"core", "cuda", "contract"},
    "contract": set(),
    "table": set(),
}
WITHOUT_PYTHON = {"load", "core", "kernels", "cuda", "contract"}
TABLE_READERS = {"core.h", "core_dispatch.c", "tensor_ops.c", "tensor_compose.c", "grad_formula.c"}
TOUCHES_MEMORY = {"rl_kernel.h", "core_storage.c"}
KEEPS_STATE = {"kernels/dnnl_load.c", "cuda/cuda_device.cu"}
ALLOCATORS = (
    "malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup|alloca|cudaMalloc\\w*|cudaFree\\w*"
)
SIZED = (
    "scratch|rl_gemm_scratch|rl_alloc|rl_alloc_zero|rl_storage_new|rl_storage_on|rl_storage_resize|"
    "packed_new|rl_packed_new|RL_COUNT|rl_count_times|rl_count_plus|rl_count_round_up"
)
NO_VARIABLE = "static|typedef|extern|struct|enum|union|template|using|return|const"
KERNEL_PREFIXES = ("ref_", "simd_", "dnnl_", "cuda_")


def room(path):
    """The room of a file, from its path below csrc/."""
    folder, _, name = path.rpartition("/")
    if folder:
        return folder
    if name in ("rl_kernel.h", "rl_random.h"):
        return "contract"
    if name.endswith(".def"):
        return "table"
    if name in ("init.c", "cuda_module.c"):
        return name[:-2]
    return re.split(r"[_.]", name)[0]


def code(text):
    """Without comments and the insides of strings."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def quoted_includes(path, text):
    """Paths below csrc/ of what a file includes."""
    here = path.rpartition("/")[0]
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, flags=re.M):
        yield f"{here}/{name}" if here and name not in ("rl_kernel.h", "rl_random.h") else name


# ---- the rules: each yields what is wrong with one file ----
def include_direction(path, text):
    own = room(path)
    if own not in SEES:
        yield f"{path} belongs to no room"
        return
    for name in quoted_includes(path, text):
        if name.endswith(".def"):
            continue
        if room(name) != own and room(name) not in SEES[own]:
            yield f"{path} ({own}) includes {name} ({room(name)})"
    if own in ("kernels", "cuda") and re.search(r'#\s*include\s+"\.\.', text):
        yield f"{path} reaches out of its folder"


def python_below(path, text):
    if room(path) in WITHOUT_PYTHON and re.search(
        r"\bPython\.h\b|\bPy_?[A-Z]\w+\s*\(|\bPyObject\b", code(text) + includes(text)
    ):
        yield f"{path} knows Python"


def includes(text):
    return "\n".join(re.findall(r"^\s*#\s*include.*", text, flags=re.M))


def table_readers(path, text):
    for name in quoted_includes(path, text):
        if name == "ops_all.def" and path not in TABLE_READERS:
            yield f"{path} expands the operator table"
        if name.endswith(".def") and name != "ops_all.def" and path != "ops_all.def":
            yield f"{path} includes {name}: families are included by ops_all.def"


def head_comment(path, text):
    if not text.startswith("/*"):
        yield f"{path} has no head comment"


def length(path, text):
    lines = text.count("\n")
    if lines > FULL:
        yield f"{path} has {lines} lines; {FULL} is a defect"
    rows = len(re.findall(r"^RL_(?:OP|VIEW|COMPOSE)\(", text, flags=re.M))
    if path.endswith(".def") and rows > ROWS:
        yield f"{path} has {rows} rows; a family holds {ROWS}"


def memory_door(path, text):
    if path not in TOUCHES_MEMORY and re.search(r"\bmem_\b", code(text)):
        yield f"{path} touches a storage's memory past rl_data"


def kernels_own_nothing(path, text):
    if room(path) not in ("kernels", "cuda") or path in KEEPS_STATE:
        return
    for name in re.findall(rf"\b({ALLOCATORS})\s*\(", code(text)):
        yield f"{path} calls {name}"
    for name in mutable_state(code(text)):
        yield f"{path} keeps state: {name}"


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
    own, clean = room(path), code(text)
    if own in ("kernels", "cuda"):
        prefix = path.rpartition("/")[2].split("_")[0] + "_"
        if prefix not in KERNEL_PREFIXES:
            yield f"{path}: a kernel file starts with one of {KERNEL_PREFIXES}"
        for name in re.findall(r"^(?:extern \"\" )?RL_KERNEL\((\w+)\)", clean, flags=re.M):
            if not name.startswith(prefix) and "##" not in name:
                yield f"{path}: kernel {name} does not start with {prefix}"
    defined = r"^(?!static|typedef|#|return|else|template)[A-Za-z_][\w \*]*?[ \*](\w+)\([^;{}]*\)\s*\{"
    if path.endswith(".h"):
        return  # what a header defines is static inline, or a body that its includer names
    for name in re.findall(defined, re.sub(r"__global__[^{]*", "", clean), flags=re.M):
        if not name.startswith(("rl_", "shape_", "compose_", "PyInit_", *KERNEL_PREFIXES)):
            yield f"{path}: {name} is seen by other files and does not start with rl_"
        if name.startswith(KERNEL_PREFIXES) and own not in ("kernels", "cuda"):
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


def no_switch_over_operators(path, text):
    if re.search(r"\bcase\s+RL_OP_|\bswitch\s*\([^)]*\b(row->id|op_id)\b", code(text)):
        yield f"{path} switches over operators"


def formulas_ask(path, text):
    """What a node kept is read through X, MAYBE, OUT and the like, which refuse what is not there."""
    formulas = room(path) == "grad" and path.endswith(".c") and re.search(r"^\s*FORMULA\(", text, flags=re.M)
    if formulas and (found := re.search(r"(?:\.|->)u\.\w+|\bnode->(?:arg|saved|edge)\b", code(text))):
        yield f"{path} looks into a slot by itself: {found[0]}"


RULES = [
    *(include_direction, python_below, table_readers, head_comment, length, memory_door),
    *(kernels_own_nothing, names, no_switch_over_operators, counts_are_checked, formulas_ask),
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
    (include_direction, "core_view.c", '#include "tensor.h"'),
    (include_direction, "core.h", '#include "tensor_args.h"'),
    (include_direction, "load_zip.c", '#include "tensor.h"'),
    (include_direction, "tensor_call.c", '#include "module.h"'),
    (include_direction, "grad_engine.c", '#include "module.h"'),
    (include_direction, "module_call.c", '#include "grad.h"'),
    (include_direction, "module_call.c", '#include "kernels/simd_conv.h"'),
    (include_direction, "rl_kernel.h", '#include "core.h"'),
    (include_direction, "kernels/ref_copy.c", '#include "../core.h"'),
    (include_direction, "cuda/cuda_add.cu", '#include "../kernels/ref_loops.h"'),
    (include_direction, "helpers.c", ""),
    (python_below, "core_view.c", "#include <Python.h>"),
    (python_below, "load_zip.c", "static PyObject *x;"),
    (python_below, "kernels/ref_copy.c", "int f(void) { return PyErr_Occurred() != NULL; }"),
    (python_below, "cuda/cuda_add.cu", "#include <Python.h>"),
    (table_readers, "tensor_node.c", '#include "ops_all.def"'),
    (table_readers, "core_dispatch.c", '#include "ops_nn.def"'),
    (head_comment, "core_view.c", None),
    (length, "core_view.c", "\n" * FULL),
    (length, "ops_nn.def", 'RL_OP(a, "")\n' * (ROWS + 1)),
    (memory_door, "tensor_call.c", "void *p = v->storage->mem_;"),
    (memory_door, "kernels/ref_copy.c", "void *p = v->storage->mem_;"),
    (kernels_own_nothing, "kernels/ref_copy.c", "void *p = malloc(3);"),
    (kernels_own_nothing, "kernels/dnnl_plan.c", "free(p);"),
    (kernels_own_nothing, "cuda/cuda_add.cu", "cudaMallocAsync(&p, n, s);"),
    (kernels_own_nothing, "kernels/ref_copy.c", "static int calls;"),
    (kernels_own_nothing, "kernels/ref_copy.c", "void f(void) { static int calls = 0; }"),
    (kernels_own_nothing, "kernels/ref_copy.c", "static struct {\n    int n;\n} cache;"),
    (kernels_own_nothing, "kernels/ref_copy.c", "static void (*hook)(void);"),
    (kernels_own_nothing, "kernels/ref_copy.c", "_Thread_local int depth = 0;"),
    (kernels_own_nothing, "cuda/cuda_add.cu", "static thread_local int depth;"),
    (names, "core_view.c", "int view_copy(int a) {\n}"),
    (names, "tensor_call.c", "PyObject *call_it(PyObject *a) {\n}"),
    (names, "core_view.c", "int ref_copy(int a) {\n}"),
    (names, "kernels/ref_copy.c", "RL_KERNEL(copy) {\n}"),
    (names, "kernels/simd_copy.c", "RL_KERNEL(ref_copy) {\n}"),
    (names, "kernels/copy.c", ""),
    (counts_are_checked, "kernels/ref_copy.c", "p = k->svc->scratch(k, RL_COUNT(n * 4), sizeof *p);"),
    (counts_are_checked, "kernels/ref_copy.c", "p = k->svc->scratch(k, RL_COUNT(n), (size_t)item);"),
    (counts_are_checked, "kernels/simd_copy.c", "p = rl_gemm_scratch(k, rl_count_plus(RL_COUNT(n), a * b));"),
    (counts_are_checked, "core_view.c", "p = rl_alloc(RL_COUNT(1 << n), sizeof *p);"),
    (counts_are_checked, "core_view.c", "p = rl_alloc(RL_COUNT(n), sizeof(int) * 2);"),
    (counts_are_checked, "tensor_storage.c", "s = rl_storage_on(0, 0, RL_COUNT((int64_t)n), 1);"),
    (no_switch_over_operators, "tensor_call.c", "switch (op) { case RL_OP_add: break; }"),
    (formulas_ask, "grad_new.c", "FORMULA(new) {\n    int n = X(0).u.t->ndim;\n}"),
    (formulas_ask, "grad_new.c", "FORMULA(new) {\n    const rl_slot *s = &g->node->arg[1];\n}"),
]


@pytest.mark.parametrize("rule, path, text", BREAKS)
def test_rule_can_fail(rule, path, text):
    assert list(rule(path, HEAD + text if text is not None else "int x;\n"))


GOOD = [
    ("tensor_call.c", '#include "tensor_args.h"\nstatic int n;\nPyObject *rl_raise(int a) {\n}\n'),
    (
        "kernels/ref_copy.c",
        '#include "ref_loops.h"\nstatic const int n[] = {1};\nRL_KERNEL(ref_copy) {\n    int64_t x = 1;\n}\n',
    ),
    ("kernels/dnnl_load.c", '#include "dnnl_plan.h"\nstatic void *library;\n'),
    ("cuda/cuda_add.cu", '#include "cuda_walk.h"\ntemplate <class T> static void launch(int a) {\n}\n'),
    ("grad_new.c", '#include "grad.h"\nFORMULA(new) {\n    TO(0, OP(mul, G, X(1)));\n}\n'),
    (
        "core_debug.c",
        '#include "core.h"\nvoid *rl_alloc(rl_count n) {\n    return aligned_alloc(64, n.n);\n}\n',
    ),
    (
        "kernels/ref_sort.c",
        '#include "ref_loops.h"\nstatic int f(rl_call *k, int64_t n) {\n'
        "    int *p = k->svc->scratch(k, RL_COUNT(n, 2, k->threads), sizeof *p);\n    return !p;\n}\n",
    ),
]


@pytest.mark.parametrize("path, text", GOOD)
def test_rules_let_good_files_pass(path, text):
    assert not [wrong for rule in RULES for wrong in rule(path, HEAD + text)]


def test_python_files_are_not_full():
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


def test_sources_are_where_the_rules_look():
    found = {str(p.relative_to(ROOT / "csrc")) for p in SOURCES}
    assert {"init.c", "core.h", "kernels/ref_loops.c", "cuda/cuda_add.cu", "ops_all.def"} <= found
    assert {p.parent.name for p in SOURCES} == {"csrc", "kernels", "cuda"}
    top = {p.name for p in (ROOT / "csrc").iterdir() if p.is_dir()}
    assert top <= {"kernels", "cuda"}
