"""The code uses the field's words. Names that stood for them are refused, in identifiers of C and Python and
in names of files; comments and strings may say what they like. Every rule has a text that breaks it."""

import io
import keyword
import pathlib
import re
import subprocess
import tokenize

import pytest

ROOT = pathlib.Path(__file__).parents[2]
C_KINDS = (".c", ".h", ".cu", ".cuh", ".cpp", ".def", ".inc")
KERNELS = r"csrc/(kernels|cuda(?!/sim))/"
FAMILIES = r"csrc/(ops|derivatives|composite|kernels|cuda(?!/sim))/"


def part(words):
    """A name of which one of the words is a part: walk_begin, cuda_walk, WALK."""
    return rf"(\w*_)?({words}|{words.upper()})(_\w*)?"


# (folders, identifiers, what they are called)
IDENTIFIERS = [
    (r"csrc/", r"rl_(call_)?look", "rl_call_meta"),
    (r"csrc/", r"rl_bound(_\w+)?", "rl_op_call"),
    (r"csrc/", r"rl_word", "rl_wrapped_number"),
    (r"csrc/", r"rl_(scalar_)?slot(_\w+)?", "rl_value"),
    (r"csrc/", r"rl_here", "rl_tls"),
    (r"csrc/", r"RL_APART", "RL_NOINLINE"),
    (r"csrc/", r"rl_detours", "rl_interceptors"),
    (r"csrc/", r"rl_give", "rl_move"),
    (r"csrc/", r"rl_storage_(keep|drop|weak_drop)", "rl_storage_retain, rl_storage_release"),
    (r"csrc/", r"rl_block_(take|give)(_\w+)?", "rl_block_alloc, rl_block_free"),
    (r"csrc/", r"pins", "in_use"),
    (r"csrc/", r"(\w+_)?vendor", "onednn"),
    (r"csrc/", r"RL_(ARG_)?(TRUTH|TEXT)|rl_values?_(truth|word)", "RL_BOOLEAN, RL_STRING"),
    (r"csrc/", r"RL_(PICKS|SHARES|MOVES|LISTS|HEAVY|PLACES|TYPES_alike)", "RL_GATHERS and the other traits"),
    (
        r"csrc/ops/declarations/",
        r"PICKS|SHARES|MOVES|LISTS|HEAVY|PLACES|alike",
        "GATHERS and the other traits",
    ),
    (r"csrc/", r"rl_meta(_\w+)?", "rl_tensor_meta"),
    (r"csrc/", r"rl_node_kind|rl_(formula|leaf|copy_slices)_kind", "rl_node_vtable"),
    (r"csrc/", r"rl_history(_\w+)?", "rl_graph"),
    (r"csrc/", r"rl_grad_conform", "rl_validate_grad"),
    (r"csrc/derivatives/", r"FORMULA|TO", "VJP, GRAD_OF"),
    (KERNELS, part("walks?"), "iter: a strided iterator"),
    (KERNELS, part("kits?"), "ukernel"),
    (KERNELS, part("movers?"), "cast_copy"),
    (r"csrc/kernels/(ref|shared)/", part("strips?"), "inner_loop, loop"),
    (
        r"csrc/kernels/simd/",
        r"simd_(strip|line|move)(_\w+)?|V_(\w+_)?(STRIP|LINE|REST)S?(_\w*)?",
        "an elementwise op, a loop",
    ),
    (r"csrc/kernels/", part("thin"), "gemv"),
    (KERNELS, r"(rl|cuda|rnn|attention)_product(_\w+)?|PRODUCT_\w+", "gemm"),
    (r"csrc/kernels/simd/", r"\w*patch(es)?(_\w+)?", "igemm"),
    (r"csrc/kernels/simd/", part("sent"), "scatter_gemm"),
    (r"csrc/kernels/simd/", r"(\w+_placed|placed_\w+|PLACED\w*)", "indirect_gemm"),
    (r"csrc/", r"simd_(?!is)\w+_last(_\w+)?|rl_last_\w+", "nhwc"),
    (r"csrc/kernels/simd/(conv|pool|resize)", r"last_(job|row|rows|run|items|layout|read|end)", "nhwc"),
    (r"csrc/kernels/simd/conv", r"deep_\w*|DEEP\w*|(\w+_)?depth(_\w+)", "oc_blocked, depthwise"),
    (r"csrc/kernels/simd/(reduce|gemm)", r"\w*_whole(_\w+)?|\w*WHOLE\w*", "integer"),
    (
        KERNELS,
        r"(?!at_|is_)\w+_(most|least)|(?!most_freq|least_sq)(most|least)_(?!of|threads)\w+",
        "max, min",
    ),
    (r"csrc/", r"MOST_\w+|\w+_MOST|\w+_LEAST", "MAX, MIN"),
    (KERNELS, r"(rl|cuda)_places(_\w+)?", "indices"),
    (r"csrc/", r"(rl|RL)_(bag|BAG)s?(_\w+)?", "embedding_bag"),
    (
        r"csrc/",
        r"v[di]?_(pick|is_less|is_equal|is_most|differs|both|either|among|turned|near_reciprocal)(_\w+)?",
        "v_select, v_lt, v_eq, v_le, v_ne, v_mask_and, v_mask_or, v_permute2, v_permute, v_rcp",
    ),
    (r"(pysrc|tests)/", r"adopt|_homes|_asking|_shown|_afterwards|_moving|_ties", "_set_module and the like"),
]
# (folders, parts of the names of files and folders, what they are called)
FILES = [
    (r"csrc/", "history|contract|tier", "autograd_graph, kernel_abi, backend"),
    (FAMILIES, "act|arrange|create|product|products|(?<!embedding_)bag", "the family"),
    (
        KERNELS,
        "walk|moves|thin|patches|sent|placed|last|most|least|spread|places|rest|truth",
        "the field's word",
    ),
    (r"csrc/kernels/simd/", r"lines(?=\.)|whole|(?<!oc_)deep|depth", "ops, integer, oc_blocked, depthwise"),
    (r"pysrc/", "homes|asking|shown|afterwards|lacking|moving|ties", "set_module and the like"),
    (r"tests/", "kits", "helpers"),
]
# the public names of PyTorch that look like one
PUBLIC = {"vector_norm"}


def identifiers(path, text):
    """The names of a file, without those in comments and strings."""
    if path.endswith(C_KINDS):
        text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', " ", text, flags=re.S)
        return set(re.findall(r"[A-Za-z_]\w*", re.sub(r"(?m)^\s*#\s*include.*", "", text)))
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        each.string for each in found if each.type == tokenize.NAME and not keyword.iskeyword(each.string)
    }


def old_identifiers(path, text):
    names = None
    for folders, pattern, new in IDENTIFIERS:
        if re.match(folders, path):
            names = identifiers(path, text) if names is None else names
            for name in sorted(names - PUBLIC):
                if re.fullmatch(pattern, name):
                    yield f"{path}: {name} is called {new}"


def old_files(path):
    for folders, words, new in FILES:
        if found := re.match(folders, path):
            inside = (
                path[found.end() :] if folders != r"csrc/" else path[found.end() :].rpartition("/")[0] + "/"
            )
            if word := re.search(rf"(?:\A|[/_])({words})(?=[/_.])", inside):
                yield f"{path}: '{word[1]}' is called {new}"


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [path for path in listed.stdout.split("\n")[:-1] if (ROOT / path).is_file()]
    folders = [ROOT / name for name in ("csrc", "pysrc", "tests")]  # of an sdist
    return [str(p.relative_to(ROOT)) for folder in folders for p in folder.rglob("*") if p.is_file()]


TRACKED = sorted(path for path in tracked() if path.startswith(("csrc/", "pysrc/", "tests/")))


def test_names_are_the_fields():
    wrong = []
    for path in TRACKED:
        if path.endswith((*C_KINDS, ".py")):
            wrong += old_identifiers(path, (ROOT / path).read_text())
    assert not wrong, "\n".join(wrong)


def test_files_are_called_by_the_fields_words():
    wrong = [each for path in TRACKED for each in old_files(path)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "path, text",
    [
        ("csrc/call/x.c", "rl_slot *s;"),
        ("csrc/call/x.c", "static void f(rl_bound *b);"),
        ("csrc/object/x.c", "return rl_give(&o);"),
        ("csrc/core/x.c", "s->pins++;"),
        ("csrc/core/x.h", "RL_APART void f(void);"),
        ("csrc/ops/declarations/x.def", "TRAITS(HEAVY)"),
        ("csrc/derivatives/x.c", "FORMULA(mul) {}"),
        ("csrc/derivatives/x.c", "    TO(0, G);"),
        ("csrc/kernels/ref/x.c", "rl_walk w;"),
        ("csrc/kernels/ref/x.c", "static void sum_strip(void);"),
        ("csrc/kernels/simd/x.c", "simd_mover m;"),
        ("csrc/kernels/simd/x.c", "x = v_pick(m, a, b);"),
        ("csrc/kernels/simd/x.c", "#define V_LINES"),
        ("csrc/kernels/simd/conv/x.c", "sent_job j;"),
        ("csrc/kernels/simd/conv/x.c", "RL_KERNEL(simd_conv_last) {}"),
        ("csrc/cuda/x.cu", "enum { PRODUCT_DIGITS };"),
        ("csrc/cuda/x.cu", "cuda_walk w;"),
        ("csrc/cuda/x.cu", "enum { MOST_PARTS = 1 };"),
        ("pysrc/rushlight/x.py", "from ._homes import x"),
    ],
)
def test_an_old_name_is_seen(path, text):
    assert list(old_identifiers(path, text))


@pytest.mark.parametrize(
    "path, text",
    [
        ("csrc/call/x.c", '/* an rl_slot */ f("rl_slot");'),
        ("csrc/module/x.c", "rl_tree_walk(x, walk);"),
        ("csrc/kernels/ref/x.c", "int64_t most = at_least(n, 1), rest = n - most;"),
        ("csrc/cuda/x.cu", "int n; // as PRODUCT_DIGITS was"),
        ("tests/x.py", 'adopted = "adopt"  # adopt'),
    ],
)
def test_other_names_pass(path, text):
    assert not list(old_identifiers(path, text))


@pytest.mark.parametrize(
    "path",
    [
        *("csrc/history/node.c", "csrc/ops/declarations/act.def", "csrc/kernels/ref/create_copy.c"),
        *("csrc/kernels/simd/conv/patches.c", "csrc/kernels/simd/pool_last.c", "csrc/kernels/shared/walk.h"),
        *("csrc/cuda/product.cu", "pysrc/rushlight/_homes.py", "tests/kits/threads.py"),
    ],
)
def test_an_old_file_is_seen(path):
    assert list(old_files(path))


@pytest.mark.parametrize(
    "path",
    [
        *("csrc/module/walk.c", "csrc/bindings/create.c", "csrc/kernels/ref/embedding_bag.c"),
        *(
            "csrc/autograd_graph/node.c",
            "csrc/cuda/sim/launch.cpp",
            "pysrc/rushlight/nn/modules/activation.py",
        ),
    ],
)
def test_other_files_pass(path):
    assert not list(old_files(path))
