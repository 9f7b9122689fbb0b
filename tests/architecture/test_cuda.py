"""What the kernels of csrc/cuda may say: the dialect of launch.cuh, which nvcc and the C++ compiler read, and
in which the simulated device sees every access. Every rule is shown a text that breaks it."""

import re

import pytest

from .test_components import ROOT, code

FOLDER = ROOT / "csrc" / "cuda"
SOURCES = sorted(
    p for p in FOLDER.rglob("*.*") if p.suffix in (".cu", ".cuh", ".h") and FOLDER / "sim" not in p.parents
)
DIALECT = "launch.cuh"  # spells for each compiler what the others say once
VECTOR_DOORS = {"launch.cuh"}  # check alignment before they load several elements at once
VECTORS = r"(?:u?char|u?short|u?int|u?long|u?longlong|float|double|half|__half|__nv_bfloat16)[1248]"
HIDDEN = "memcpy|memset|memmove|memcmp|printf|assert|malloc|free"  # no hook of the compiler sees them


def device_functions(text):
    """The bodies of what runs on a device."""
    for found in re.finditer(r"__(?:global|device)__\b[^;{}]*\{", text):
        at, depth = found.end(), 1
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield found[0], text[found.end() : at]


# ---- the rules: each yields what is wrong with one file ----
def launches_by_macro(name, text):
    if name != DIALECT and "<<<" in code(text):
        yield f"{name} launches by <<<: CUDA_LAUNCH does"


def kernels_are_bounded(name, text):
    for found in re.finditer(r"__global__\b[^;{}]*", code(text)):
        if name != DIALECT and "__launch_bounds__" not in found[0]:
            yield f"{name}: {' '.join(found[0].split())} has no __launch_bounds__"


def accesses_are_seen(name, text):
    for head, body in device_functions(code(text)):
        for word in re.findall(rf"\b(?:__builtin_)?(?:{HIDDEN})\s*\(", body):
            yield f"{name}: {' '.join(head.split())} calls {word}"


def shared_by_macro(name, text):
    if name != DIALECT and re.search(r"\b__shared__\b|\b__constant__\b", code(text)):
        yield f"{name} declares __shared__ or __constant__: CUDA_SHARED does the one, arguments the other"


def vectors_by_one_door(name, text):
    for found in re.findall(
        rf"\(\s*(?:const\s+)?{VECTORS}\s*\*\s*\)|_cast<\s*(?:const\s+)?{VECTORS}\s*\*", code(text)
    ):
        if name not in VECTOR_DOORS:
            yield f"{name} looks at memory as {found}: only {', '.join(sorted(VECTOR_DOORS))} check alignment"


def no_fast_math(name, text):
    for found in re.findall(r"\b__(?:expf|logf|log2f|powf|sinf|cosf|tanf|fdividef|exp10f)\b", code(text)):
        yield f"{name} calls {found}, which is inexact"


def definitions(text):
    """Names of functions and kernels that other files see: at the top of a file, and not static."""
    text, depth, head = code(text), 0, ""
    text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", text, flags=re.M)
    text = re.sub(r"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)", "", text)
    text = re.sub(r'extern "C" \{|^namespace \w+ \{', "", text, flags=re.M)
    for c in text:
        if depth == 0 and c in ";}":
            head = ""
        elif c == "{":
            if depth == 0 and not re.search(r"\b(?:static|typedef|namespace)\b", head):
                found = re.search(r"([A-Za-z_]\w*)\s*\([^{}]*\)\s*(?:const\s*)?$", head)
                if found and not re.search(r"=\s*$|\bCUDA_[A-Z]+\s*\(", head):
                    yield found[1]
            head = ""
        elif depth == 0:
            head += c
        depth += (c == "{") - (c == "}")


def merged_by_the_linker(files):
    """Two files that define one name: the linker takes either for both where they are templates or inline."""
    seen = {}
    for name, text in files:
        for defined in set(definitions(text)):
            if defined in seen and name.endswith(".cu"):
                yield f"{name} and {seen[defined]} define {defined}: static, or one of them in a header"
            seen.setdefault(defined, name)


def test_no_name_is_defined_twice():
    files = [(source.name, source.read_text()) for source in SOURCES if source.suffix == ".cu"]
    wrong = list(merged_by_the_linker(files))
    assert not wrong, "\n".join(wrong)
    assert sum(len(list(definitions(text))) for _, text in files) > 20


K = "template <class T> __global__ void __launch_bounds__(256) "


@pytest.mark.parametrize(
    "text, wrong",
    [
        (K + "fill(T *p) { p[0] = 1; }", True),
        (
            "template <class T> struct pair { T a; };\n"
            + K
            + "fill(const T *p, int n) {\n    for (;;) {}\n}",
            True,
        ),
        ("rl_status run(rl_call *k) { return RL_OK; }\ninline int fill(int x) { return x; }", True),
        ("static " + K.split("> ", 1)[1] + "fill(float *p) { p[0] = 1; }", False),
        ("template <class T> static __global__ void fill(T *p);", False),
        (K + "fill_all(T *p) { fill(p); }", False),
    ],
)
def test_names_defined_twice_are_found(text, wrong):
    assert (
        bool(list(merged_by_the_linker([("a.cu", K + "fill(T *p) { p[0] = 1; }"), ("b.cu", text)]))) == wrong
    )


def errors_by_one_door(name, text):
    """A launch says its operator to rl_cuda_end, which names it in errors: nobody waits or asks past it."""
    if name in RUNTIME:
        return
    for found in re.findall(
        r"\bcuda(?:GetLastError|PeekAtLastError|DeviceSynchronize|StreamSynchronize)\b", code(text)
    ):
        yield f"{name} calls {found}: rl_cuda_end looks for errors, and nothing waits"


RUNTIME = {"allocator.cu", "device.cu", "errors.cu", "host.cu", "stream.cu"}
RUNTIME |= {"runtime.h", "device.h"}
RULES = [
    *(launches_by_macro, kernels_are_bounded, accesses_are_seen, shared_by_macro, vectors_by_one_door),
    *(no_fast_math, errors_by_one_door),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_holds(rule):
    wrong = [each for source in SOURCES for each in rule(source.name, source.read_text())]
    assert not wrong, "\n".join(wrong)


BOUNDED = "__global__ void __launch_bounds__(256) k(float *p) "
BREAKS = [
    (launches_by_macro, "void f(void) { k<<<1, 2>>>(p); }"),
    (kernels_are_bounded, "template <class T> __global__ void k(T *p) { p[0] = 1; }"),
    (kernels_are_bounded, "__global__ void k(float *p);"),
    (accesses_are_seen, BOUNDED + "{ if (p) { memcpy(p, p + 1, 4); } }"),
    (accesses_are_seen, "__device__ inline void f(float *p) { __builtin_memset(p, 0, 4); }"),
    (accesses_are_seen, BOUNDED + '{ printf("%f", *p); }'),
    (shared_by_macro, BOUNDED + "{ __shared__ float tile[3]; }"),
    (shared_by_macro, "__constant__ float table[3];"),
    (vectors_by_one_door, BOUNDED + "{ float4 x = *(const float4 *)p; }"),
    (vectors_by_one_door, BOUNDED + "{ uint2 x = *reinterpret_cast<const uint2 *>(p); }"),
    (errors_by_one_door, "static void f(void) { cudaDeviceSynchronize(); }"),
    (no_fast_math, BOUNDED + "{ *p = __expf(*p); }"),
]


@pytest.mark.parametrize("rule, text", BREAKS)
def test_rule_can_fail(rule, text):
    assert list(rule("arithmetic.cu", text))


GOOD = [
    "/* k<<<1, 2>>>() */ static void f(char *to, const char *from) { memcpy(to, from, 3); }",
    BOUNDED + "{ CUDA_SHARED(float, tile, [3]); float4 x = make_float4(0, 0, 0, 0); *p = expf(x.x); }",
]


@pytest.mark.parametrize("text", GOOD)
def test_rules_let_good_files_pass(text):
    assert not [each for rule in RULES for each in rule("arithmetic.cu", text)]
