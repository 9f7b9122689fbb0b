"""Another instruction set costs one header and one line (Note [Instruction sets] in
csrc/kernel_abi/isa_list.h): tried on a toy, which is the scalar one by another name. Intrinsics of a CPU
stand in headers called isa_* and nowhere else; the rule has texts that break it."""

import difflib
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
CSRC = ROOT / "csrc"
SIMD = CSRC / "kernels" / "simd"
LIST = CSRC / "kernel_abi" / "isa_list.h"
CC = os.environ.get("CC", "").split() or [shutil.which("gcc") or shutil.which("cc") or ""]
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-DNDEBUG", "-DRL_SCALAR_ISA=1", "-Wno-psabi"]
needs_compiler = pytest.mark.skipif(not CC[0], reason="no C compiler")


def code(text):
    """Without comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


# ---- intrinsics ----
OF_A_CPU = re.compile(
    r"\b_mm\d*_\w+|\b_MM_\w+|\b__m(?:64|128|256|512)[di]?\b|\b__mmask\d+\b|<\w*(?:intrin|_neon|_sve)\.h>|"
    r"\bv\w+q_[fsu]\d+\b|\b(?:float|u?int)\d+x\d+_t\b|\btarget\(\""
)
ASKS_FOR_A_CPU = re.compile(r"^\s*#\s*(?:if|elif)[^\n]*__(?:x86_64|aarch64|arm|AVX|SSE)\w*", flags=re.M)
BASELINE = "kernels/simd/common.h"  # says for which instruction set plain C is compiled


def intrinsics(path, text):
    name = path.rpartition("/")[2]
    if not name.startswith("isa_") and path != BASELINE:
        for found in OF_A_CPU.findall(code(text)):
            yield f"{path}: {found} belongs to an instruction set: isa_*.h"
        if path.startswith("kernels/simd/"):
            for found in ASKS_FOR_A_CPU.findall(code(text)):
                yield f"{path}: {found.strip()} asks for a CPU"


def test_intrinsics_stand_in_headers_of_instruction_sets():
    sources = [p for p in CSRC.rglob("*") if p.suffix in (".c", ".h", ".inc")]
    assert len(sources) > 300
    wrong = [each for p in sources for each in intrinsics(p.relative_to(CSRC).as_posix(), p.read_text())]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "__m128 four = v_sums(a, b, c, d);",
        "_mm_storeu_ps(to, x);",
        "x = _mm512_add_pd(x, y);",
        "__mmask16 m = 3;",
        "#include <immintrin.h>\n",
        "#include <arm_neon.h>\n",
        "float32x4_t x = vaddq_f32(a, b);",
        '__attribute__((target("avx2"))) static int f(void);',
        "#if defined(__x86_64__)\n#endif\n",
    ],
)
def test_the_rule_can_fail(text):
    assert list(intrinsics("kernels/simd/new.c", text))
    assert not list(intrinsics("kernels/simd/isa_new.h", text))
    assert not list(intrinsics("kernels/simd/new.c", f"/* {text} */"))


# ---- the toy ----
@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A folder that stands before csrc/: the list with one more line, and the header."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "kernel_abi").mkdir()
    scalar = (SIMD / "isa_scalar.h").read_text()
    (folder / "isa_toy.h").write_text(scalar.replace("scalar", "toy").replace("SCALAR", "TOY"))
    lines = LIST.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("/* ---- what stands for a line"))
    lines.insert(at, '#define RL_ISA_4(X, ...) X(toy, "TOY", true, __VA_ARGS__)\n')
    (folder / "kernel_abi" / "isa_list.h").write_text("".join(lines))
    return folder


def compiled(folder, source, *options):
    include = [f"-I{folder}", f"-I{CSRC}", f"-I{SIMD}"]
    done = subprocess.run([*CC, *FLAGS, *include, *options, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    return done.stdout


def test_toy_is_one_header_and_one_line(toy):
    files = sorted(p.relative_to(toy).as_posix() for p in toy.rglob("*.h"))
    assert files == ["isa_toy.h", "kernel_abi/isa_list.h"]
    before = LIST.read_text().splitlines()
    after = (toy / "kernel_abi" / "isa_list.h").read_text().splitlines()
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert changed == ['+ #define RL_ISA_4(X, ...) X(toy, "TOY", true, __VA_ARGS__)']


# floats and doubles, doubles alone, integers, folds, lines of elementwise ops, tiles, lanes of other lanes
SOME = [
    *("core/services.c", "kernels/simd/ctc.c", "kernels/simd/arith.c", "kernels/simd/resize.c"),
    *("kernels/simd/gemm/gemm.c", "kernels/simd/reduce/scan.c", "kernels/simd/pool/max_backward.c"),
]
ALL = sorted(p.relative_to(CSRC).as_posix() for p in SIMD.rglob("*.c") if "foreach_isa.h" in p.read_text())


@needs_compiler
@pytest.mark.parametrize("source", ALL if os.environ.get("RUSHLIGHT_FULL") == "1" else SOME)
def test_kernels_compile_with_the_toy(toy, source):
    compiled(toy, CSRC / source, "-fsyntax-only")


@needs_compiler
@pytest.mark.skipif(not shutil.which("nm"), reason="no nm")
def test_kernels_have_the_functions_of_the_toy(toy):
    compiled(toy, SIMD / "ctc.c", "-O0", "-c", "-o", str(toy / "ctc.o"))
    symbols = subprocess.run(["nm", str(toy / "ctc.o")], capture_output=True, text=True, check=True).stdout
    assert {"ctc_step_toy_f64", "ctc_powers_toy_f64", "ctc_step_scalar_f64"} <= set(symbols.split())


# ---- the words ----
def words(folder, name):
    """The words that isa_<name>.h defines, with the suffix of doubles."""
    printed = compiled(folder, SIMD / f"isa_{name}.h", "-E", "-P", "-x", "c")
    return {word + kind for word, kind in re.findall(rf"\b(v[id]?_\w+?)_{name}(_f64)?\s*\(", printed)}


@needs_compiler
@pytest.mark.parametrize("name", sorted(p.stem[4:] for p in SIMD.glob("isa_*.h")))
def test_instruction_sets_have_the_same_words(toy, name):
    if name.startswith("avx") and os.uname().machine != "x86_64":
        pytest.skip("for x86-64")
    said = set(re.findall(r"^#define (vi?_\w+)\(\.\.\.\)", (SIMD / "isa.h").read_text(), flags=re.M))
    vectors = words(toy, name)
    assert vectors == words(toy, "scalar")
    assert said == {word.removesuffix("_f64") for word in vectors}
