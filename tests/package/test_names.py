"""Names: what a module shows, what it says of names that it lacks, and the public path of each."""

import importlib
import inspect
import pathlib
import pickle
import re
import subprocess
import sys
import types

import pytest

import rushlight
from rushlight import _exports, _missing

SPACES = [
    *("", ".amp", ".autograd", ".distributions", ".linalg", ".nn", ".nn.functional", ".nn.init", ".nn.utils"),
    *(".nn.utils.rnn", ".optim", ".optim.lr_scheduler", ".optim.swa_utils", ".random", ".serialization"),
    *(".special", ".utils", ".utils.data"),
]


def space(name):
    return importlib.import_module("rushlight" + name)


@pytest.mark.parametrize("name", SPACES)
def test_dir_shows_what_is_public(name):
    module = space(name)
    shown = {each for each in dir(module) if each[:2] != "__"}
    assert shown >= {each for each in module.__all__ if each[:2] != "__"}
    assert not shown & {"TYPE_CHECKING", "annotations", "import_module", "math", "warnings", "sys", "os"}
    for each in shown:
        value = getattr(module, each)
        assert not isinstance(value, types.ModuleType) or value.__name__.startswith("rushlight")


@pytest.mark.parametrize("name", [name for name in SPACES if name != ".utils"])
def test_public_callables_pickle_to_themselves(name):
    module = space(name)
    tried = 0
    for each in module.__all__:
        value = getattr(module, each)
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            assert pickle.loads(pickle.dumps(value)) is value, each
            tried += 1
    assert tried


def test_names_that_pytorch_has_are_told_from_misspelt_ones():
    version = rushlight.__version__
    with pytest.raises(AttributeError) as lacking:
        rushlight.stft  # noqa: B018
    exists = f"(exists in PyTorch 2.13, not in rushlight {version})"
    assert str(lacking.value) == f"module 'rushlight' has no attribute 'stft' {exists}"
    with pytest.raises(AttributeError) as misspelt:
        rushlight.zeroes  # noqa: B018
    assert str(misspelt.value) == "module 'rushlight' has no attribute 'zeroes'; did you mean 'zeros'?"
    with pytest.raises(AttributeError) as unknown:
        rushlight.optim.Frobnicate  # noqa: B018
    assert str(unknown.value) == "module 'rushlight.optim' has no attribute 'Frobnicate'"


def test_python_suggests_what_was_meant():
    code = "import rushlight.optim\nrushlight.optim.Adan"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr.endswith("has no attribute 'Adan'. Did you mean: 'Adam'?\n")


def test_no_name_is_called_lacking_that_is_there():
    _missing._read_lacking()
    assert len(_missing._lacking) > 100
    for module, names in _missing._lacking.items():
        there = importlib.import_module(module)
        assert [name for name in names if name in dir(there)] == [], f"run `make names` for {module}"


def files_of(value):
    """The file in which a function is written; of a class those of its methods; none of what C makes."""
    value = inspect.unwrap(value)
    if not isinstance(value, type):
        return {inspect.getsourcefile(value)} if inspect.isfunction(value) else set()
    members = (
        inspect.unwrap(each) for kind in value.__mro__ for each in vars(kind).values() if callable(each)
    )
    files = {inspect.getsourcefile(each) for each in members if inspect.isfunction(each)}
    return files | ({inspect.getsourcefile(value)} if files else set())


PACKAGES = sorted({*_exports.AT_ONCE, *_exports.WHEN_ASKED})


@pytest.mark.parametrize("package", PACKAGES)
def test_the_table_says_where_names_are_written(package):
    space, tried = importlib.import_module(package), 0
    for name, home in _exports.homes(package).items():
        value = getattr(space, name)
        assert name in dir(space) or name[0] == "_", name
        if callable(value) and (files := files_of(value)):
            assert importlib.import_module(home).__file__ in files, name
            tried += 1
    assert tried


@pytest.mark.parametrize("package", sorted(_exports.MODULES))
def test_the_table_names_modules_that_are_there(package):
    space = importlib.import_module(package)
    for name in _exports.MODULES[package].split():
        assert name in dir(space) and importlib.import_module(f"{package}.{name}")


def test_python_files_rewrite_few_modules():
    """What a private module defines belongs there; only the table and few others say otherwise."""
    files = pathlib.Path(rushlight.__file__).parent.rglob("*.py")
    used = sum(len(re.findall(r"(?<!def )\b_set_module\(", file.read_text())) for file in files)
    assert used <= 5


def test_names_that_pytorch_has_are_told_by_import_statements():
    with pytest.raises(ImportError) as lacking:
        from rushlight import stft  # noqa: F401
    told = f"(exists in PyTorch 2.13, not in rushlight {rushlight.__version__})"
    assert str(lacking.value) == f"cannot import name 'stft' from 'rushlight' {told}"
    with pytest.raises(ImportError, match="^cannot import name 'zeroes' from 'rushlight'"):
        from rushlight import zeroes  # noqa: F401
    assert not hasattr(rushlight, "stft") and getattr(rushlight, "stft", 3) == 3
