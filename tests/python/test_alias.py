"""`python -m rushlight script.py`: in that process the name torch means rushlight; nothing else changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight

SOURCE = Path(rushlight.__file__).parent.parent


def run(*arguments, cwd, command=("-m", "rushlight"), stdin=None, extra_path=()):
    path = os.pathsep.join([str(SOURCE), *map(str, extra_path)])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
    )


def output(code, tmp_path, **options):
    script = tmp_path / "script.py"
    script.write_text(code)
    done = run(script, cwd=tmp_path, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_form_of_import_gives_the_same_modules(tmp_path):
    lines = output(
        """
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim_again
from torch import optim
from torch.nn import Module
from torch.nn.modules.conv import Conv2d
import rushlight
print(torch is rushlight, nn is rushlight.nn is torch.nn, F is rushlight.nn.functional)
print(optim is optim_again is rushlight.optim, Module is rushlight.nn.Module, Conv2d is nn.Conv2d)
aliases = [name for name in sys.modules if name.split(".")[0] == "torch"]
print(all(sys.modules[name] is sys.modules["rushlight" + name[5:]] for name in aliases))
print(nn.__name__, nn.__spec__.name, torch.__spec__.name, torch.__package__)
""",
        tmp_path,
    )
    assert lines == [
        "True True True",
        "True True True",
        "True",
        "rushlight.nn rushlight.nn rushlight rushlight",
    ]


def test_submodules_are_imported_when_asked_for(tmp_path):
    code = (
        "import sys, torch; print('torch.optim' in sys.modules); import torch.optim; print(torch.optim.SGD)"
    )
    assert output(code, tmp_path) == ["False", "<class 'torch.optim.sgd.SGD'>"]


def test_what_is_missing_names_the_version(tmp_path):
    lines = output(
        """
import importlib.util
for name in ("torch.nowhere", "torch.utils.nowhere", "torch.nn.nowhere.deeper"):
    try:
        exec(f"from {name} import x")
    except ModuleNotFoundError as error:
        print(error, error.name, sep="|")
import torch
try:
    torch.nowhere
except AttributeError as error:
    print(error)
print(importlib.util.find_spec("torch.nowhere"))
""",
        tmp_path,
    )
    lacks = f"(rushlight {rushlight.__version__} does not have it)"
    assert lines == [
        f"No module named 'torch.nowhere' {lacks}|torch.nowhere",
        f"No module named 'torch.utils.nowhere' {lacks}|torch.utils.nowhere",
        f"No module named 'torch.nn.nowhere' {lacks}|torch.nn.nowhere",
        "module 'rushlight' has no attribute 'nowhere'",
        "None",
    ]


def test_metadata_version_and_specs(tmp_path):
    lines = output(
        """
import importlib.metadata as metadata
import importlib.util
print(*(importlib.util.find_spec(name) is not None for name in ("torch", "torch.nn")))
import torch
print(metadata.version("torch") == torch.__version__ == torch.version.__version__)
version = torch.__version__
print(version.startswith("2.13.0+rushlight"), version >= "2.9", version < (3, 0))
print(metadata.metadata("torch")["Name"], torch.version.cuda)
print(metadata.version("pytest"))
""",
        tmp_path,
    )
    assert lines == ["True True", "True", "True True True", "torch None", pytest.__version__]


def test_pickles_that_name_torch(tmp_path):
    lines = output(
        r"""
import pickle
import torch
print(pickle.loads(b"ctorch.nn.modules.linear\nLinear\n.") is torch.nn.Linear)
class Net(torch.nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc = torch.nn.Linear(2, 1)
net = pickle.loads(pickle.dumps(Net()))
print(type(net) is Net, net)
""",
        tmp_path,
    )
    expected = ["Net(", "  (fc): Linear(in_features=2, out_features=1, bias=True)", ")"]
    assert lines == ["True", "True " + expected[0], *expected[1:]]


def test_a_torch_on_the_path_stays_out_of_reach(tmp_path):
    other = tmp_path / "site"
    (other / "torch" / "utils").mkdir(parents=True)
    (other / "torch" / "__init__.py").write_text("raise RuntimeError('the other torch')")
    (other / "torch" / "utils" / "tensorboard.py").write_text("raise RuntimeError('the other torch')")
    info = other / "torch-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 1.0\n")
    (other / "torchvision.py").write_text("NAME = 'untouched'")
    lines = output(
        """
import importlib.metadata, torch, torchvision
print(torch.__name__, torchvision.NAME, importlib.metadata.version("torch").startswith("2.13.0"))
try:
    import torch.utils.tensorboard
except ModuleNotFoundError:
    print("not there")
""",
        tmp_path,
        extra_path=[other],
    )
    assert lines == ["rushlight untouched True", "not there"]


def test_the_script_sees_what_python_shows_it(tmp_path):
    code = """
import sys
print(sys.argv, sys.path[0], __name__, __file__, __package__, __spec__)
print(sys.modules["__main__"].__dict__ is globals(), __builtins__ is sys.modules["builtins"])
import helper
"""
    (tmp_path / "helper.py").write_text("print('helper', __name__)")
    (tmp_path / "script.py").write_text(code)
    ours = run("script.py", "-x", "--", "b", cwd=tmp_path)
    python = run("script.py", "-x", "--", "b", cwd=tmp_path, command=())
    assert ours.stdout == python.stdout
    assert "helper helper" in ours.stdout
    elsewhere = run(tmp_path / "script.py", cwd="/")
    assert elsewhere.stdout == run(tmp_path / "script.py", cwd="/", command=()).stdout


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    raise ValueError('boom')\ntry:\n    {}['a']\nexcept KeyError:\n    f()\n",
        "x = (\n",
        "import sys; sys.exit(3)",
        "import sys; sys.exit('said')",
        "import sys; sys.exit()",
        "raise SystemExit(None)",
        "raise KeyboardInterrupt",
        "print('done')",
        "import sys\nsys.excepthook = lambda *e: print('hook', e[0].__name__)\n1/0\n",
        "import atexit\natexit.register(lambda: print('bye', __name__))\n",
    ],
)
def test_tracebacks_and_exit_codes_are_pythons(code, tmp_path):
    (tmp_path / "script.py").write_text(code)
    ours = run("script.py", cwd=tmp_path)
    python = run("script.py", cwd=tmp_path, command=())
    assert (ours.returncode, ours.stdout, ours.stderr) == (python.returncode, python.stdout, python.stderr)


def test_module_code_and_stdin_forms(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("from . import tool")
    (package / "tool.py").write_text(
        "import sys, torch; print(torch.__name__, __name__, __package__, sys.argv[1:])"
    )
    assert run("-m", "pack.tool", "a", cwd=tmp_path).stdout == "rushlight __main__ pack ['a']\n"
    assert run("-m", "pack", "a", cwd=tmp_path).stdout == "rushlight pack.tool pack ['a']\n"
    shown = "import sys, torch; print(torch.__name__, __name__, sys.argv, repr(sys.path[0]))"
    assert run("-c", shown, "a", cwd=tmp_path).stdout == "rushlight __main__ ['-c', 'a'] ''\n"
    assert run("-", "a", cwd=tmp_path, stdin=shown).stdout == "rushlight __main__ ['-', 'a'] ''\n"
    missing = run("-m", "nowhere", cwd=tmp_path)
    assert missing.returncode == 1 and "No module named nowhere" in missing.stderr


def test_a_directory_runs_its_main(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("import sys, torch; print(torch.__name__, sys.argv)")
    assert run("app", "a", cwd=tmp_path).stdout == "rushlight ['app', 'a']\n"


def test_the_command_line_explains_itself(tmp_path):
    shown = run("-h", cwd=tmp_path)
    assert shown.returncode == 0 and "usage: python -m rushlight" in shown.stdout
    assert run("-V", cwd=tmp_path).stdout == f"rushlight {rushlight.__version__}\n"
    for wrong, text in (
        ((), "usage: python -m rushlight COMMAND"),
        (("run",), "a script is missing"),
        (("--nonsense",), "unknown option --nonsense"),
        (("-m",), "argument expected for the -m option"),
        (("run", "-W"), "argument expected for the -W option"),
        (("run", "-u"), "a script is missing"),
        (
            ("nowhere.py",),
            f"can't open file '{tmp_path / 'nowhere.py'}': [Errno 2] No such file or directory",
        ),
    ):
        done = run(*wrong, cwd=tmp_path)
        assert done.returncode == 2 and text in done.stderr


# ---- options of the interpreter ----
def test_options_of_python(tmp_path):
    (tmp_path / "script.py").write_text(
        "import sys, torch\n"
        "print(torch.__name__, sys.argv, sys.warnoptions, sys._xoptions, sys.stdout.write_through)\n"
        "print(sys.flags.optimize, sys.flags.dont_write_bytecode, sys.path[0])\n"
        "import warnings\n"
        "warnings.warn('told')\n"
    )
    options = ("-u", "-W", "error", "-Ximporttime=0", "-O", "-B")
    done = run("run", *options, "script.py", "-W", cwd=tmp_path, command=("-W", "ignore", "-m", "rushlight"))
    assert done.stdout.splitlines() == [
        "rushlight ['script.py', '-W'] ['ignore', 'error'] {'importtime': '0'} True",
        f"1 1 {tmp_path}",
    ]
    assert done.returncode == 1 and done.stderr.endswith("\nUserWarning: told\n")
    short = run("-u", "-c", "import torch; print(torch.__name__)", cwd=tmp_path)
    assert short.stdout == "rushlight\n"


# ---- interpreters that a program starts ----
CHILD = """
import importlib.metadata, importlib.util, json, os, sys
print(importlib.util.find_spec("torch") is not None, importlib.metadata.version("torch"))
from torch.nn import Linear
import torch
print(torch.__name__, Linear.__module__, sys.modules["sitecustomize"].NAME)
print(os.environ["PYTHONPATH"].split(os.pathsep)[1:] == {rest!r})
"""


def test_children_have_it_too(tmp_path):
    """Not a torch that is installed; what the user has on PYTHONPATH stays there."""
    other = tmp_path / "site"
    (other / "torch").mkdir(parents=True)
    (other / "torch" / "__init__.py").write_text("raise RuntimeError('the other torch')")
    (other / "sitecustomize.py").write_text("NAME = 'of the user'")
    (tmp_path / "child.py").write_text(CHILD.format(rest=[str(SOURCE), str(other)]))
    lines = output(
        """
import os, subprocess, sys
import rushlight
rushlight.install_as_torch()  # again: nothing happens
subprocess.run([sys.executable, "child.py"], check=True)
subprocess.run([sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, 'child.py'])"])
os.environ["PYTHONPATH"] = rushlight._alias.SITE
lost = subprocess.run([sys.executable, "-S", "-c", "import torch"], capture_output=True, text=True)
print(lost.stderr.splitlines()[-1])
""",
        tmp_path,
        extra_path=[other],
    )
    version = f"2.13.0+rushlight{rushlight.__version__}"
    seen = [f"True {version}", "rushlight torch.nn.modules.linear of the user", "True"]
    assert lines[:6] == [*seen, *seen]
    assert lines[6].startswith(
        f"ImportError: {SOURCE}/rushlight/_alias/site/torch/__init__.py stands for rushlight"
    )


def test_workers_of_pytest_have_it(tmp_path):
    """They are told the import path of the process that starts them, as it was."""
    (tmp_path / "test_it.py").write_text(
        "import os, torch\ndef test():\n"
        "    assert torch.__name__ == 'rushlight' and os.environ['PYTEST_XDIST_WORKER']\n"
    )
    done = run("-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "test_it.py", cwd=tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


# ---- without the command ----
def test_install_as_torch_in_a_notebook(tmp_path):
    code = (
        "import sys, rushlight\n"
        "hasattr(rushlight, 'load_ipython_extension') and rushlight.load_ipython_extension(None)\n"
        "print(sys.modules['torch'] is rushlight)\n"  # where einops looks for it
        "import torch; print(torch.nn is rushlight.nn, torch.__version__)\n"
    )
    done = run("-c", code, cwd=tmp_path, command=())
    assert done.stdout == f"True\nTrue 2.13.0+rushlight{rushlight.__version__}\n", done.stderr
    code = "import sys; sys.modules['torch'] = sys; import rushlight; rushlight.install_as_torch()"
    done = run("-c", code, cwd=tmp_path, command=())
    assert done.stderr.endswith("rushlight cannot take its place in this process\n")


def test_the_runner_is_in_no_stack(tmp_path):
    lines = output(
        """
import json, warnings, torch
from torch.profiler import profile
x = torch.tensor([-1.0], requires_grad=True)
with warnings.catch_warnings(record=True) as said, torch.autograd.detect_anomaly():
    try:
        x.sqrt().backward()
    except RuntimeError:
        text = str(said[-1].message)
print(text.count("File "), "script.py" in text)
with profile(with_stack=True) as found:
    x.exp()
found.export_chrome_trace("trace.json")
names = [each["name"] for each in json.load(open("trace.json"))["traceEvents"]]
print([name for name in names if "_command" in name or "runpy" in name or "__main__.py" in name])
print(any(name.startswith("script.py") or "/script.py" in name for name in names))
""",
        tmp_path,
    )
    assert lines == ["1 True", "[]", "True"]


def test_without_the_command_torch_is_left_alone(tmp_path):
    code = (
        "import sys, rushlight.nn, rushlight.optim; print([m for m in sys.modules if m.startswith('torch')])"
    )
    assert run("-c", code, cwd=tmp_path, command=()).stdout == "[]\n"


def test_the_version_compares_by_its_numbers():
    from rushlight.torch_version import TorchVersion

    version = TorchVersion("2.13.0+cpu")
    assert (
        version > "2.9" and version >= "2.13" and version == "2.13.0" and version < "3" and version <= (2, 13)
    )
    assert version > (1, 99) and version != "2.12.1" and version != "2.13.0+other" and version == "2.13.0+cpu"
    assert version.split("+") == ["2.13.0", "cpu"] and {version: 1}["2.13.0+cpu"] == 1


SAFETENSORS = """
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
tensors = {"b": torch.ones(3), "a": torch.arange(2, dtype=torch.bfloat16)}
save_file(tensors, "x.safetensors", metadata={"format": "pt"})
print(save(tensors, {"format": "pt"}) == open("x.safetensors", "rb").read())
print(load_file("x.safetensors")["a"].dtype, load(save(tensors))["b"].tolist())
print(torch.load("x.safetensors")["b"])
with safe_open("x.safetensors", framework="pt", device="cpu") as file:
    print(file.keys(), file.metadata(), file.get_tensor("a").tolist(), file.get_slice("b")[1:].tolist())
model = torch.nn.Sequential(torch.nn.Linear(2, 3))
save_model(model, "m.safetensors")
print(load_model(torch.nn.Sequential(torch.nn.Linear(2, 3)), "m.safetensors"))
try:
    load(bytes(8))
except SafetensorError as error:
    print("refused")
"""
HIDDEN = """
import sys
from importlib.machinery import PathFinder

class Hidden(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.startswith("safetensors") else super().find_spec(name, path, target)

sys.meta_path[:] = [Hidden if finder is PathFinder else finder for finder in sys.meta_path]
"""


@pytest.mark.parametrize("hidden", [False, True], ids=["with the package", "without it"])
def test_safetensors(hidden, tmp_path):
    end = "import safetensors\nprint(safetensors.__spec__.name, hasattr(safetensors, 'serialize'))"
    lines = output(HIDDEN * hidden + SAFETENSORS + end, tmp_path)
    assert lines == [
        "True",
        "torch.bfloat16 [1.0, 1.0, 1.0]",
        "tensor([1., 1., 1.])",
        "['a', 'b'] {'format': 'pt'} [0.0, 1.0] [1.0, 1.0]",
        "(set(), [])",
        "refused",
        "rushlight.safetensors False" if hidden else "safetensors True",
    ]


def test_torch_has_itself_by_its_name(tmp_path):
    lines = output("import torch\nprint(torch.torch is torch, torch.torch.Tensor)", tmp_path)
    assert lines == ["True <class 'torch.Tensor'>"]
